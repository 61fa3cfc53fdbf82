/* wire/sha256.h: SHA-256 and HMAC-SHA-256 over OpenSSL.
 *
 * Signing is most of a request's cost, so three things are kept: an engine (the algorithm and a
 * context), a prepared HMAC key (both padded blocks hashed), and a memo of the last text's
 * beginning (two requests for one key are equal up to their time stamps).
 *
 * By default this uses libcrypto's SHA256_* functions, deprecated in OpenSSL 3: they allocate
 * nothing, and a context is copied by assignment. With S3L_SHA256_EVP it uses EVP, which in OpenSSL
 * 3.0 allocates once for each hash. That is set where libcrypto lacks the deprecated functions;
 * define it for a FIPS provider.
 *
 * One engine serves one thread and one computation at a time. The functions fail only if libcrypto
 * does, which callers report as lack of memory. */
#ifndef S3L_WIRE_SHA256_H
#define S3L_WIRE_SHA256_H

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/span.h"

#ifdef OPENSSL_NO_DEPRECATED_3_0
#  define S3L_SHA256_EVP
#endif

#define S3L_SHA256_SIZE        32
#define S3L_SHA256_BLOCK       64
#define S3L_SHA256_HEX_SIZE    64
#define S3L_SHA256_MEMO_BLOCKS 4

typedef struct s3l_sha256_s {
#ifdef S3L_SHA256_EVP
  EVP_MD* md;
  EVP_MD_CTX* ctx;
#else
  SHA256_CTX ctx;
#endif
} s3l_sha256_t;

/** A secret, which its owner must wipe. */
typedef struct s3l_hmac_key_s {
#ifdef S3L_SHA256_EVP
  uint8_t inner[S3L_SHA256_BLOCK];
  uint8_t outer[S3L_SHA256_BLOCK];
#else
  SHA256_CTX inner;
  SHA256_CTX outer;
#endif
} s3l_hmac_key_t;

/** The first blocks of the last text, with the state of the hash after each. Zeroed: empty. */
typedef struct s3l_sha256_memo_s {
#ifdef S3L_SHA256_EVP
  char unused; /* EVP's states cannot be copied without allocating */
#else
  size_t blocks;
  char text[S3L_SHA256_MEMO_BLOCKS * S3L_SHA256_BLOCK];
  SHA256_CTX after[S3L_SHA256_MEMO_BLOCKS];
#endif
} s3l_sha256_memo_t;

/** Hash of no bytes at all, in hexadecimal. */
extern const char s3l_sha256_empty_hex[S3L_SHA256_HEX_SIZE + 1];

bool s3l_sha256_open(s3l_sha256_t* engine);

/** May be called on a zeroed engine. */
void s3l_sha256_close(s3l_sha256_t* engine);

/** The hash in lower-case hexadecimal, with a NUL. */
bool s3l_sha256_hex(s3l_sha256_t* engine, s3l_span_t data, char out[S3L_SHA256_HEX_SIZE + 1]);

/** The same, without hashing again the beginning that is equal to the last text of this memo. */
bool s3l_sha256_hex_memo(s3l_sha256_t* engine, s3l_sha256_memo_t* memo, s3l_span_t data,
                         char out[S3L_SHA256_HEX_SIZE + 1]);

bool s3l_hmac_prepare(s3l_sha256_t* engine, s3l_span_t secret, s3l_hmac_key_t* key);
bool s3l_hmac(s3l_sha256_t* engine, const s3l_hmac_key_t* key, s3l_span_t data,
              uint8_t out[S3L_SHA256_SIZE]);

#endif
