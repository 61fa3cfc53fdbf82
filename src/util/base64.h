/* util/base64.h: bytes to base64 (RFC 4648 section 4), with padding. */
#ifndef S3L_UTIL_BASE64_H
#define S3L_UTIL_BASE64_H

#include "util/buf.h"

void s3l_base64_encode(s3l_buf_t* b, const void* bytes, size_t n);

#endif
