/* util/buf.h: bounded writer into the caller's memory.
 *
 * Each put writes all of its bytes or none. The first put that does not fit sets `overflow`; after
 * it nothing is written. So a text is composed without checks, and `overflow` is tested once. */
#ifndef S3L_UTIL_BUF_H
#define S3L_UTIL_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/span.h"

typedef struct s3l_buf_s {
  char* p;
  size_t cap;
  size_t len;
  bool overflow;
} s3l_buf_t;

void s3l_buf_init(s3l_buf_t* b, char* p, size_t cap);

void s3l_buf_put(s3l_buf_t* b, s3l_span_t s);
static inline void s3l_buf_puts(s3l_buf_t* b, const char* s) {
  s3l_buf_put(b, s3l_span_cstr(s));
}
void s3l_buf_putc(s3l_buf_t* b, char c);

/** What does not fit, with room for a NUL, is cut, and sets `overflow`. */
void s3l_buf_printf(s3l_buf_t* b, const char* format, ...) __attribute__((format(printf, 2, 3)));

/** In decimal. */
void s3l_buf_u64(s3l_buf_t* b, uint64_t v);
void s3l_buf_i64(s3l_buf_t* b, int64_t v);

/** What has been written. */
s3l_span_t s3l_buf_span(const s3l_buf_t* b);

/** Adds a NUL, which `len` does not count. Returns NULL if anything did not fit. */
const char* s3l_buf_cstr(s3l_buf_t* b);

/** If snprintf, whose result is `n`, had to cut the text, ends it after a word with "...". `size`
 * is the array's, at least 8. */
void s3l_buf_cut(char* text, size_t size, int n);

/** Makes foreign text safe for logs and terminals: each control character, U+0080..9F included,
 * becomes '?'. */
void s3l_buf_line(char* text);

#endif
