/* wire/jwt.h: signs a JSON Web Token (RFC 7519) with an RSA key: algorithm RS256 of RFC 7518, in
 * the compact form of RFC 7515, HEADER.CLAIMS.SIGNATURE.
 *
 * The key is parsed for each token: a process needs about one token an hour, and so keeps no parsed
 * key. Everything that libcrypto allocates for the key is wiped. */
#ifndef S3L_WIRE_JWT_H
#define S3L_WIRE_JWT_H

#include "util/buf.h"
#include "util/span.h"

/* Keys of 2048 to 4096 bits are accepted; RFC 7518 forbids shorter ones. */
#define S3L_JWT_KEY_BITS_MIN 2048
#define S3L_JWT_KEY_BITS_MAX 4096

/** Appends the token. `header` and `claims` are JSON texts, and `key` is a private key in PEM form:
 * PKCS #8 (PRIVATE KEY) or PKCS #1 (RSA PRIVATE KEY). Never asks for a passphrase. Returns NULL, or
 * what is wrong with the key, such as "is encrypted", or "out of memory". If the token does not
 * fit, `out` overflows. */
const char* s3l_jwt_sign(s3l_span_t key, s3l_span_t header, s3l_span_t claims, s3l_buf_t* out);

#endif
