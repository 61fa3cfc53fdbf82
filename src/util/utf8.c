#include "util/utf8.h"

size_t s3l_utf8_length(s3l_span_t s) {
  const unsigned char* p = (const unsigned char*)s.p;
  size_t n;
  uint32_t code, least;
  if (s.n == 0)
    return 0;
  if (p[0] < 0x80)
    return 1;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) {
    n = 2;
    code = p[0] & 0x1Fu;
    least = 0x80;
  } else if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    n = 3;
    code = p[0] & 0x0Fu;
    least = 0x800;
  } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    n = 4;
    code = p[0] & 0x07u;
    least = 0x10000;
  } else {
    return 0;
  }
  if (s.n < n)
    return 0;
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xC0u) != 0x80u)
      return 0;
    code = code << 6 | (p[i] & 0x3Fu);
  }
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return 0;
  return n;
}

size_t s3l_utf8_encode(uint32_t code, char out[4]) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xC0u | code >> 6);
    out[1] = (char)(0x80u | (code & 0x3Fu));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (char)(0xE0u | code >> 12);
    out[1] = (char)(0x80u | (code >> 6 & 0x3Fu));
    out[2] = (char)(0x80u | (code & 0x3Fu));
    return 3;
  }
  out[0] = (char)(0xF0u | code >> 18);
  out[1] = (char)(0x80u | (code >> 12 & 0x3Fu));
  out[2] = (char)(0x80u | (code >> 6 & 0x3Fu));
  out[3] = (char)(0x80u | (code & 0x3Fu));
  return 4;
}

bool s3l_utf8_is_valid(s3l_span_t s) {
  while (s.n > 0) {
    size_t n = s3l_utf8_length(s);
    if (n == 0)
      return false;
    s.p += n;
    s.n -= n;
  }
  return true;
}
