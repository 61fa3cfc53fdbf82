/* net/tls_context.h (L2): what all TLS connections of one owner share.
 *
 * A client context serves one origin: it holds the authorities to trust and the origin's latest
 * session, which the next connection offers for resumption (a session must never be offered to
 * another host). A server context holds a certificate and its key. TLS 1.2 or newer.
 *
 * The context must outlive its engines. */
#ifndef S3L_NET_TLS_CONTEXT_H
#define S3L_NET_TLS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

typedef struct s3l_tls_context_s {
  SSL_CTX* ssl_ctx;
  SSL_SESSION* session; /* client: offered by the next engine, or NULL */
  bool server;
} s3l_tls_context_t;

/** `ca_file`: PEM file of the authorities to trust, NULL for the system's. On failure *out is NULL,
 * and `why` (may be NULL) says what was wrong. Errors: UV_ENOMEM, S3LECT_ETLS. */
int s3l_tls_context_client(const char* ca_file, s3l_tls_context_t** out, char* why, size_t cap);

/** `cert_file`: PEM chain, the server's own certificate first. Errors as above. */
int s3l_tls_context_server(const char* cert_file, const char* key_file, s3l_tls_context_t** out,
                           char* why, size_t cap);

/** NULL is a no-op. */
void s3l_tls_context_free(s3l_tls_context_t* c);

/** Forgets the session, so that the next handshake is a full one. */
void s3l_tls_context_forget(s3l_tls_context_t* c);

#endif
