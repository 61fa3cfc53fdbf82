/* util/base64.h: bytes to base64 (RFC 4648). */
#ifndef S3L_UTIL_BASE64_H
#define S3L_UTIL_BASE64_H

#include <stdint.h>
#include <sys/types.h>

#include "util/buf.h"

/** With the alphabet of section 4, and padding. */
void s3l_base64_encode(s3l_buf_t* b, const void* bytes, size_t n);

/** With the alphabet of section 5, which is safe in URLs, and without padding, as in a JWT. */
void s3l_base64url_encode(s3l_buf_t* b, const void* bytes, size_t n);

/** Reads the first form, with its padding. Returns the number of bytes, or -1 if it is no base64 or
 * has more than `cap` bytes. */
ssize_t s3l_base64_decode(s3l_span_t text, uint8_t* out, size_t cap);

#endif
