#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void s3l_buf_init(s3l_buf_t* b, char* p, size_t cap) {
  b->p = p;
  b->cap = cap;
  b->len = 0;
  b->overflow = false;
}

void s3l_buf_put(s3l_buf_t* b, s3l_span_t s) {
  if (b->overflow || s.n > b->cap - b->len) {
    b->overflow = true;
    return;
  }
  /* With -Oz gcc makes of a memcpy one instruction, "rep movsb", which is slow for short texts. */
  if (s.n > 0)
    memmove(b->p + b->len, s.p, s.n);
  b->len += s.n;
}

void s3l_buf_putc(s3l_buf_t* b, char c) {
  if (b->overflow || b->len == b->cap)
    b->overflow = true;
  else
    b->p[b->len++] = c;
}

void s3l_buf_printf(s3l_buf_t* b, const char* format, ...) {
  size_t room = b->overflow ? 0 : b->cap - b->len;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(room > 0 ? b->p + b->len : NULL, room, format, args);
  va_end(args);
  b->overflow = n < 0 || (size_t)n >= room;
  if (!b->overflow)
    b->len += (size_t)n;
  else if (n > 0 && room > 0)
    b->len = b->cap - 1;
}

void s3l_buf_u64(s3l_buf_t* b, uint64_t v) {
  char digits[20];
  size_t at = sizeof(digits);
  do {
    digits[--at] = (char)('0' + v % 10);
    v /= 10;
  } while (v != 0);
  s3l_buf_put(b, (s3l_span_t){digits + at, sizeof(digits) - at});
}

void s3l_buf_i64(s3l_buf_t* b, int64_t v) {
  if (v < 0) {
    s3l_buf_putc(b, '-');
    s3l_buf_u64(b, UINT64_C(0) - (uint64_t)v);
  } else {
    s3l_buf_u64(b, (uint64_t)v);
  }
}

s3l_span_t s3l_buf_span(const s3l_buf_t* b) {
  return (s3l_span_t){b->p, b->len};
}

const char* s3l_buf_cstr(s3l_buf_t* b) {
  if (b->overflow || b->len >= b->cap) {
    b->overflow = true;
    return NULL;
  }
  b->p[b->len] = '\0';
  return b->p;
}

void s3l_buf_cut(char* text, size_t size, int n) {
  if (n < 0 || (size_t)n < size)
    return;
  size_t end = size - sizeof "...";
  size_t word = end;
  while (word > size / 2 && text[word] != ' ')
    word--;
  if (text[word] != ' ')
    word = end;
  memcpy(text + word, "...", sizeof "...");
}

void s3l_buf_line(char* text) {
  for (unsigned char* p = (unsigned char*)text; *p != '\0'; p++) {
    bool c1 = p[0] == 0xc2 && (p[1] & 0xe0u) == 0x80u; /* U+0080..9F, as UTF-8 */
    if (c1)
      p[1] = '?';
    if (c1 || *p < 0x20 || *p == 0x7f)
      *p = '?';
  }
}
