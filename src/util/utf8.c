#include "util/utf8.h"

size_t s3l_utf8_length(s3l_span_t s) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char* p = (const unsigned char*)s.p;
  if (s.n == 0)
    return 0;
  if (p[0] < 0x80)
    return 1;
  size_t n = p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;
  if (n == 0 || s.n < n)
    return 0;
  uint32_t code = p[0] & (0x7Fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xC0u) != 0x80u)
      return 0;
    code = code << 6 | (p[i] & 0x3Fu);
  }
  bool valid = code >= least[n] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return valid ? n : 0;
}

size_t s3l_utf8_encode(uint32_t code, char out[4]) {
  size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  if (n == 1) {
    out[0] = (char)code;
    return 1;
  }
  for (size_t i = n - 1; i > 0; i--, code >>= 6)
    out[i] = (char)(0x80u | (code & 0x3Fu));
  out[0] = (char)((0xF00u >> n & 0xFFu) | code);
  return n;
}

bool s3l_utf8_is_valid(s3l_span_t s) {
  while (s.n > 0) {
    size_t n = s3l_utf8_length(s);
    if (n == 0)
      return false;
    s3l_span_skip(&s, n);
  }
  return true;
}
