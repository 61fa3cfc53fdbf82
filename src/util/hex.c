#include "util/hex.h"

void s3l_hex_encode(const void* bytes, size_t n, char* out) {
  static const char digits[] = "0123456789abcdef";
  const uint8_t* b = bytes;
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[b[i] >> 4];
    out[2 * i + 1] = digits[b[i] & 15];
  }
}

int s3l_hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

bool s3l_hex_decode(s3l_span_t hex, uint8_t* out, size_t n) {
  if (hex.n / 2 != n || hex.n % 2 != 0)
    return false;
  for (size_t i = 0; i < n; i++) {
    int hi = s3l_hex_digit(hex.p[2 * i]);
    int lo = s3l_hex_digit(hex.p[2 * i + 1]);
    if (hi < 0 || lo < 0)
      return false;
    out[i] = (uint8_t)(hi << 4 | lo);
  }
  return true;
}
