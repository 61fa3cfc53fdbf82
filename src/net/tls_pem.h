/* net/tls_pem.h: reads certificates and keys from files or memory into an SSL_CTX. Private to
 * tls_context.
 *
 * The functions return NULL, or static text that says what is wrong; the caller puts the name of
 * the file before it. */
#ifndef S3L_NET_TLS_PEM_H
#define S3L_NET_TLS_PEM_H

#include <stdbool.h>

#include <openssl/ssl.h>

#include "util/span.h"

/** PEM text from memory, or else from a file; `file` is named in messages in both cases. An
 * encrypted key is refused: there is no prompt for a password. */
typedef struct s3l_pem_s {
  const char* option; /* its name in an error; NULL: "ca", "cert", "key", "client_ca" */
  const char* file;
  s3l_span_t text;
} s3l_pem_t;

/** Whether there is text or a file. */
bool s3l_pem_given(const s3l_pem_t* pem);

/** Uses a chain, the own certificate first. */
const char* s3l_pem_use_chain(SSL_CTX* ctx, const s3l_pem_t* pem);

/** Uses the key of the chain. */
const char* s3l_pem_use_key(SSL_CTX* ctx, const s3l_pem_t* pem);

/** Trusts authorities (and revocation lists); a server also names them to its clients. */
const char* s3l_pem_trust(SSL_CTX* ctx, const s3l_pem_t* pem, bool name_to_clients);

#endif
