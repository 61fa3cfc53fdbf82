/* net/tls_context.h: what all TLS connections of one owner share.
 *
 * A client context serves one origin: it holds the authorities to trust, the certificate to show
 * where the server asks for one, and the origin's latest session, which the next connection offers
 * for resumption (a session must never be offered to another host). A server context holds a
 * certificate and its key, and says whether clients must show one of theirs. TLS 1.2 or newer.
 *
 * Contexts are counted: an engine holds its own, so that an owner may take up a new context for new
 * connections while those that are open live on with the old one. One thread only. */
#ifndef S3L_NET_TLS_CONTEXT_H
#define S3L_NET_TLS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "net/tls_pem.h"
#include "util/error.h"

/* How long a client may resume a session with a server context, and so how long a client
 * certificate that has expired meanwhile may still be good. */
#define S3L_TLS_SESSION_S 600

typedef struct s3l_tls_context_s {
  SSL_CTX* ssl_ctx;
  SSL_SESSION* session; /* client: offered by the next engine, or NULL */
  uintptr_t generation; /* of engines: what those of an older one say of sessions is not heard */
  bool server;
  unsigned refs;
} s3l_tls_context_t;

typedef struct s3l_tls_client_options_s {
  s3l_pem_t ca;   /* authorities to trust; none: the system's */
  s3l_pem_t cert; /* chain to show to a server that asks, own certificate first; none: nothing */
  s3l_pem_t key;  /* of it */
} s3l_tls_client_options_t;

typedef enum {
  S3L_TLS_CLIENT_AUTH_NONE,     /* clients are not asked for a certificate */
  S3L_TLS_CLIENT_AUTH_OPTIONAL, /* asked; who shows a bad one is refused, who shows none is not */
  S3L_TLS_CLIENT_AUTH_REQUIRED  /* mTLS: without a good one no connection */
} s3l_tls_client_auth_t;

typedef struct s3l_tls_server_options_s {
  s3l_pem_t cert; /* chain, the server's own certificate first */
  s3l_pem_t key;
  s3l_tls_client_auth_t client_auth;
  s3l_pem_t client_ca; /* who signs the clients' certificates; not the system's authorities */
} s3l_tls_server_options_t;

/** Nothing of the options is kept. On failure *out is NULL. Errors: UV_ENOMEM, UV_EINVAL (an option
 * is missing), S3LECT_ETLS. */
int s3l_tls_context_new_client(const s3l_tls_client_options_t* options, s3l_tls_context_t** out,
                               s3lect_error_t* error);
int s3l_tls_context_new_server(const s3l_tls_server_options_t* options, s3l_tls_context_t** out,
                               s3lect_error_t* error);

/** One owner more; gives `c` back. */
s3l_tls_context_t* s3l_tls_context_ref(s3l_tls_context_t* c);

/** One owner less; the last one frees it. NULL is a no-op. */
void s3l_tls_context_free(s3l_tls_context_t* c);

/** Forgets the session, so that the next handshake is a full one. Sessions that the engines there
 * are now may still be given are not taken any more: the next engine may be for another host. */
void s3l_tls_context_forget(s3l_tls_context_t* c);

#endif
