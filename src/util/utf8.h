/* util/utf8.h: UTF-8 (RFC 3629): overlong forms, surrogates and anything beyond U+10FFFF are
 * invalid. */
#ifndef S3L_UTIL_UTF8_H
#define S3L_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/span.h"

/** Length of the valid sequence at the start of s, or 0. */
size_t s3l_utf8_length(s3l_span_t s);

/** Writes a code point, which must be valid; returns the number of bytes. */
size_t s3l_utf8_encode(uint32_t code, char out[4]);

bool s3l_utf8_is_valid(s3l_span_t s);

#endif
