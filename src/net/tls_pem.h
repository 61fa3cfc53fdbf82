/* net/tls_pem.h: certificates and keys from files or memory into an SSL_CTX. Private to
 * tls_context.
 *
 * Each gives NULL, or static text that says what was wrong and fits behind the name of what was
 * read; OpenSSL's own reasons are static too. */
#ifndef S3L_NET_TLS_PEM_H
#define S3L_NET_TLS_PEM_H

#include <openssl/ssl.h>

#include "net/tls_context.h"

/** Whether there is any. */
bool s3l_pem_given(const s3l_pem_t* pem);

/** A chain, the own certificate first. */
const char* s3l_pem_use_chain(SSL_CTX* ctx, const s3l_pem_t* pem);

/** The key of the chain that is in use. */
const char* s3l_pem_use_key(SSL_CTX* ctx, const s3l_pem_t* pem);

/** Authorities (and revocation lists) to trust; a server also names them to its clients. */
const char* s3l_pem_trust(SSL_CTX* ctx, const s3l_pem_t* pem, bool name_to_clients);

#endif
