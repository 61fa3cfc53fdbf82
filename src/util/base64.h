/* util/base64.h: bytes to base64 (RFC 4648). */
#ifndef S3L_UTIL_BASE64_H
#define S3L_UTIL_BASE64_H

#include "util/buf.h"

/** With the alphabet of section 4, and padding. */
void s3l_base64_encode(s3l_buf_t* b, const void* bytes, size_t n);

/** With the alphabet of section 5, which is safe in URLs, and without padding, as in a JWT. */
void s3l_base64url_encode(s3l_buf_t* b, const void* bytes, size_t n);

#endif
