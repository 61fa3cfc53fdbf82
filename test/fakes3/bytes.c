#include "fakes3/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hex.h"
#include "util/json.h"

static void* or_abort(void* p) {
  if (p == NULL) {
    fprintf(stderr, "fakes3: out of memory\n");
    abort();
  }
  return p;
}

void* fakes3_alloc(size_t size) {
  return or_abort(calloc(1, size > 0 ? size : 1));
}

char* fakes3_dup(s3l_span_t s) {
  if (s.p == NULL)
    return NULL;
  char* p = fakes3_alloc(s.n + 1);
  if (s.n > 0)
    memcpy(p, s.p, s.n);
  return p;
}

s3l_span_t fakes3_take(s3l_span_t* s, char separator) {
  const char* at = s->n > 0 ? memchr(s->p, separator, s->n) : NULL;
  s3l_span_t piece = {s->p, at != NULL ? (size_t)(at - s->p) : s->n};
  s3l_span_skip(s, piece.n + (at != NULL ? 1 : 0));
  return piece;
}

/* Room for n more bytes and a NUL. */
static void reserve(fakes3_bytes_t* b, size_t n) {
  if (b->cap - b->n > n)
    return;
  size_t cap = b->cap > 0 ? b->cap * 2 : 256;
  while (cap - b->n <= n)
    cap *= 2;
  b->p = or_abort(realloc(b->p, cap));
  b->cap = cap;
}

void fakes3_put(fakes3_bytes_t* b, const void* p, size_t n) {
  reserve(b, n);
  if (n > 0)
    memcpy(b->p + b->n, p, n);
  b->n += n;
}

void fakes3_puts(fakes3_bytes_t* b, const char* s) {
  fakes3_put(b, s, strlen(s));
}

void fakes3_put_span(fakes3_bytes_t* b, s3l_span_t s) {
  fakes3_put(b, s.p, s.n);
}

void fakes3_printf(fakes3_bytes_t* b, const char* format, ...) {
  va_list args;
  size_t n = 0;
  do { /* twice, if it turns out to be longer than the room there is */
    reserve(b, n);
    va_start(args, format);
    int wanted = vsnprintf(b->p + b->n, b->cap - b->n, format, args);
    va_end(args);
    if (wanted < 0)
      abort();
    n = (size_t)wanted;
  } while (n >= b->cap - b->n);
  b->n += n;
}

void fakes3_shift(fakes3_bytes_t* b, size_t n) {
  if (n > 0 && b->n > n)
    memmove(b->p, b->p + n, b->n - n);
  b->n -= n;
}

void fakes3_put_json(fakes3_bytes_t* b, const char* s) {
  if (s == NULL) {
    fakes3_puts(b, "null");
    return;
  }
  s3l_span_t text = s3l_span_cstr(s);
  s3l_buf_t writer;
  reserve(b, text.n * 6 + 2);
  s3l_buf_init(&writer, b->p + b->n, b->cap - b->n);
  s3l_json_put_string(&writer, text);
  b->n += writer.len;
}

void fakes3_put_xml(fakes3_bytes_t* b, s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    switch (c) {
    case '&':
      fakes3_puts(b, "&amp;");
      break;
    case '<':
      fakes3_puts(b, "&lt;");
      break;
    case '>':
      fakes3_puts(b, "&gt;");
      break;
    case '"':
      fakes3_puts(b, "&quot;");
      break;
    default:
      if (c < 0x20)
        fakes3_printf(b, "&#x%x;", c);
      else
        fakes3_put(b, &s.p[i], 1);
    }
  }
}

static int is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void fakes3_put_uri(fakes3_bytes_t* b, s3l_span_t s, int keep_slash) {
  for (size_t i = 0; i < s.n; i++) {
    if (is_unreserved(s.p[i]) || (keep_slash && s.p[i] == '/'))
      fakes3_put(b, &s.p[i], 1);
    else
      fakes3_printf(b, "%%%02X", (unsigned)(unsigned char)s.p[i]);
  }
}

int fakes3_put_decoded(fakes3_bytes_t* b, s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (c == '%') {
      int hi = s.n - i > 2 ? s3l_hex_digit(s.p[i + 1]) : -1;
      int lo = s.n - i > 2 ? s3l_hex_digit(s.p[i + 2]) : -1;
      if (hi < 0 || lo < 0)
        return 0;
      c = (char)(hi * 16 + lo);
      i += 2;
    }
    if (c == '\0')
      return 0;
    fakes3_put(b, &c, 1);
  }
  return 1;
}

s3l_span_t fakes3_span(const fakes3_bytes_t* b) {
  return (s3l_span_t){b->p != NULL ? b->p : "", b->n};
}

const char* fakes3_cstr(fakes3_bytes_t* b) {
  reserve(b, 0);
  b->p[b->n] = '\0';
  return b->p;
}

void fakes3_bytes_free(fakes3_bytes_t* b) {
  free(b->p);
  *b = (fakes3_bytes_t){NULL, 0, 0};
}
