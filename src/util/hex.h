/* util/hex.h: bytes to lower-case hexadecimal and back. */
#ifndef S3L_UTIL_HEX_H
#define S3L_UTIL_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/span.h"

/** Writes 2 * n characters, without a NUL. */
void s3l_hex_encode(const void* bytes, size_t n, char* out);

/** Value of one hexadecimal digit of either case, or -1. */
int s3l_hex_digit(char c);

/** Reads exactly n bytes from exactly 2 * n digits of either case. */
bool s3l_hex_decode(s3l_span_t hex, uint8_t* out, size_t n);

#endif
