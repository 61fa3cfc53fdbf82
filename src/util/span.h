/* util/span.h: a view of bytes that somebody else owns.
 *
 * All untrusted bytes are passed as spans: nothing here looks for a terminating NUL or depends on
 * the locale. p == NULL means "absent"; n == 0 with another p means "empty". */
#ifndef S3L_UTIL_SPAN_H
#define S3L_UTIL_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct s3l_span_s {
  const char* p;
  size_t n;
} s3l_span_t;

/** A span over a string literal. */
#define S3L_SPAN(literal) ((s3l_span_t){(literal), sizeof(literal) - 1})

/** A span over a NUL-terminated string; NULL gives an absent one. */
static inline s3l_span_t s3l_span_cstr(const char* s) {
  return (s3l_span_t){s, s == NULL ? 0 : strlen(s)};
}

/** Takes n bytes, which must be there, off the front. */
static inline void s3l_span_skip(s3l_span_t* s, size_t n) {
  s->p += n;
  s->n -= n;
}

/** Takes this character off the front; false if it is another one. */
static inline bool s3l_span_take(s3l_span_t* s, char c) {
  if (s->n == 0 || s->p[0] != c)
    return false;
  s3l_span_skip(s, 1);
  return true;
}

bool s3l_span_eq(s3l_span_t a, s3l_span_t b);

/** Equal, ignoring the case of ASCII letters. */
bool s3l_span_ieq(s3l_span_t a, s3l_span_t b);

bool s3l_span_starts_with(s3l_span_t s, s3l_span_t prefix);
bool s3l_span_ends_with(s3l_span_t s, s3l_span_t suffix);

/** Whether all of it is visible ASCII: no blank, no control character. */
bool s3l_span_is_visible(s3l_span_t s);

/** Without blanks and tabs at both ends. */
s3l_span_t s3l_span_trim(s3l_span_t s);

/** Reads a decimal number that fills the whole span. False on anything else, overflow included. */
bool s3l_span_to_u64(s3l_span_t s, uint64_t* out);

/** Copies into a buffer with a terminating NUL. False, with out[0] = 0, if it does not fit or holds
 * a NUL. */
bool s3l_span_copy(s3l_span_t s, char* out, size_t cap);

#endif
