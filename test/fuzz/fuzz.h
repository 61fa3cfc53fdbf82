/* fuzz/fuzz.h: what the fuzz targets share.
 *
 * A target is a file fuzz-<name>.c, with parts <name>_*.c where it is long, that defines
 * LLVMFuzzerTestOneInput; its inputs written by hand are in corpus/<name>, and words that help the
 * fuzzer in dict/<name>. It is built twice: with replay.c, which runs the corpus once, in every
 * build; and with libFuzzer, where the compiler has it (the preset "fuzz").
 *
 * A finding is a sanitizer's report, an S3L_ASSERT or a FUZZ_CHECK that fails: the promises of the
 * header under test, checked from outside. */
#ifndef S3L_FUZZ_FUZZ_H
#define S3L_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/span.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/** Holds whatever the build type, unlike S3L_ASSERT. */
#define FUZZ_CHECK(cond)                                                                           \
  do {                                                                                             \
    if (!(cond)) {                                                                                 \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);                    \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/** What is left of an input. Readers give zeros, or nothing, behind its end. */
typedef struct fuzz_input_s {
  const uint8_t* p;
  size_t n;
} fuzz_input_t;

static inline uint8_t fuzz_u8(fuzz_input_t* in) {
  if (in->n == 0)
    return 0;
  in->n--;
  return *in->p++;
}

static inline uint64_t fuzz_uint(fuzz_input_t* in, size_t bytes) {
  uint64_t v = 0;
  while (bytes-- > 0)
    v = v << 8 | fuzz_u8(in);
  return v;
}

/** A choice of 0..n-1. A digit in a hand-written input chooses what it says. */
static inline unsigned fuzz_choice(fuzz_input_t* in, unsigned n) {
  return (unsigned)(uint8_t)(fuzz_u8(in) - '0') % n;
}

/** All that is left. */
static inline s3l_span_t fuzz_rest(const fuzz_input_t* in) {
  return (s3l_span_t){in->n > 0 ? (const char*)in->p : "", in->n};
}

static inline s3l_span_t fuzz_bytes(fuzz_input_t* in, size_t n) {
  s3l_span_t s = fuzz_rest(in);
  if (s.n > n)
    s.n = n;
  if (s.n > 0)
    in->p += s.n;
  in->n -= s.n;
  return s;
}

/** Up to the next line end, which is taken too. */
static inline s3l_span_t fuzz_line(fuzz_input_t* in) {
  const uint8_t* end = in->n > 0 ? memchr(in->p, '\n', in->n) : NULL;
  s3l_span_t line = fuzz_bytes(in, end != NULL ? (size_t)(end - in->p) : in->n);
  (void)fuzz_u8(in);
  return line;
}

/** A copy of exactly that size with a NUL behind it, to be freed: overruns are seen by sanitizers.
 * Cut at the first NUL within it. */
static inline char* fuzz_string(s3l_span_t s) {
  char* copy = malloc(s.n + 1);
  FUZZ_CHECK(copy != NULL);
  if (s.n > 0)
    memcpy(copy, s.p, s.n);
  copy[s.n] = '\0';
  return copy;
}

/** Whether a lies within b. */
static inline int fuzz_within(s3l_span_t a, s3l_span_t b) {
  return a.p >= b.p && a.n <= b.n && (size_t)(a.p - b.p) <= b.n - a.n;
}

/** No control characters: fit for a log line or a header. */
static inline int fuzz_is_line(const char* s) {
  for (; *s != '\0'; s++) {
    if ((unsigned char)*s < 0x20 || *s == 0x7f)
      return 0;
  }
  return 1;
}

#endif
