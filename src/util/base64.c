#include "util/base64.h"

#include <string.h>

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

ssize_t s3l_base64_decode(s3l_span_t s, uint8_t* out, size_t cap) {
  size_t pad = 0, len = 0;
  uint32_t v = 0;
  if (s.n % 4 != 0)
    return -1;
  while (pad < 2 && pad < s.n && s.p[s.n - 1 - pad] == '=')
    pad++;
  if (s.n / 4 * 3 - pad > cap)
    return -1;
  for (size_t i = 0; i < s.n; i++) {
    static const char digits[] = COMMON "+/";
    const char* at = i < s.n - pad ? memchr(digits, s.p[i], sizeof(digits) - 1) : digits;
    if (at == NULL)
      return -1;
    v = v << 6 | (uint32_t)(at - digits);
    for (unsigned k = 0; i % 4 == 3 && k < 3 && len < s.n / 4 * 3 - pad; k++)
      out[len++] = (uint8_t)(v >> (16 - 8 * k));
  }
  return (ssize_t)len;
}
