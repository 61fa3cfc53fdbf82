#include "util/base64.h"

#define COMMON "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* `pad` '\0': the end is not padded. */
static void encode(s3l_buf_t* b, const void* bytes, size_t n, const char* digits, char pad) {
  const unsigned char* p = bytes;
  for (size_t i = 0; i < n; i += 3) {
    uint32_t v = 0;
    for (size_t k = 0; k < 3; k++)
      v = v << 8 | (i + k < n ? p[i + k] : 0u);
    for (size_t k = 0; k < 4; k++) {
      if (i + k <= n)
        s3l_buf_putc(b, digits[v >> (18 - 6 * k) & 63]);
      else if (pad != '\0')
        s3l_buf_putc(b, pad);
    }
  }
}

void s3l_base64_encode(s3l_buf_t* b, const void* bytes, size_t n) {
  encode(b, bytes, n, COMMON "+/", '=');
}

void s3l_base64url_encode(s3l_buf_t* b, const void* bytes, size_t n) {
  encode(b, bytes, n, COMMON "-_", '\0');
}
