#include "util/base64.h"

void s3l_base64_encode(s3l_buf_t* b, const void* bytes, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char* p = bytes;
  for (size_t i = 0; i < n; i += 3) {
    uint32_t v = 0;
    for (size_t k = 0; k < 3; k++)
      v = v << 8 | (i + k < n ? p[i + k] : 0u);
    for (size_t k = 0; k < 4; k++)
      s3l_buf_putc(b, i + k > n ? '=' : digits[v >> (18 - 6 * k) & 63]);
  }
}
