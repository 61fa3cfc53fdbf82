#include "util/span.h"

#include <string.h>

bool s3l_span_eq(s3l_span_t a, s3l_span_t b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool s3l_span_ieq(s3l_span_t a, s3l_span_t b) {
  if (a.n != b.n)
    return false;
  for (size_t i = 0; i < a.n; i++) {
    if (a.p[i] != b.p[i] && ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
      return false;
  }
  return true;
}

bool s3l_span_starts_with(s3l_span_t s, s3l_span_t prefix) {
  return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool s3l_span_ends_with(s3l_span_t s, s3l_span_t suffix) {
  return s.n >= suffix.n &&
         (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

bool s3l_span_is_visible(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if (c <= 0x20 || c >= 0x7f)
      return false;
  }
  return true;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

s3l_span_t s3l_span_trim(s3l_span_t s) {
  while (s.n > 0 && is_blank(s.p[0]))
    s3l_span_skip(&s, 1);
  while (s.n > 0 && is_blank(s.p[s.n - 1]))
    s.n--;
  return s;
}

bool s3l_span_to_u64(s3l_span_t s, uint64_t* out) {
  uint64_t v = 0;
  if (s.n == 0)
    return false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9')
      return false;
    uint64_t digit = (uint64_t)(s.p[i] - '0');
    if (v > (UINT64_MAX - digit) / 10)
      return false;
    v = v * 10 + digit;
  }
  *out = v;
  return true;
}

bool s3l_span_copy(s3l_span_t s, char* out, size_t cap) {
  if (cap == 0)
    return false;
  out[0] = '\0';
  if (s.n >= cap || (s.n > 0 && memchr(s.p, '\0', s.n) != NULL))
    return false;
  if (s.n > 0)
    memcpy(out, s.p, s.n);
  out[s.n] = '\0';
  return true;
}
