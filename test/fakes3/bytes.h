/* fakes3/bytes.h: a buffer that grows, and allocation from libc's heap. If memory runs out, the
 * process ends. */
#ifndef FAKES3_BYTES_H
#define FAKES3_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "util/span.h"

/** Zeroed; never NULL. */
void* fakes3_alloc(size_t size);
/** A copy with a NUL; NULL of an absent span. */
char* fakes3_dup(s3l_span_t s);

/** Takes what stands before the separator, or all of it, off the front; the separator goes, too. */
s3l_span_t fakes3_take(s3l_span_t* s, char separator);

typedef struct fakes3_bytes_s {
  char* p;
  size_t n;
  size_t cap;
} fakes3_bytes_t;

void fakes3_put(fakes3_bytes_t* b, const void* p, size_t n);
void fakes3_puts(fakes3_bytes_t* b, const char* s);
void fakes3_put_span(fakes3_bytes_t* b, s3l_span_t s);
void fakes3_printf(fakes3_bytes_t* b, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/** Drops n bytes at the front. */
void fakes3_shift(fakes3_bytes_t* b, size_t n);

/** As a JSON string, with its quotes; NULL gives null. */
void fakes3_put_json(fakes3_bytes_t* b, const char* s);

/** As XML text. */
void fakes3_put_xml(fakes3_bytes_t* b, s3l_span_t s);

/** Percent-encoded for SigV4: all but A-Z a-z 0-9 - . _ ~ and, with keep_slash, '/'. */
void fakes3_put_uri(fakes3_bytes_t* b, s3l_span_t s, int keep_slash);

/** Percent-decoded. False if an escape is malformed, or if the result contains NUL. */
int fakes3_put_decoded(fakes3_bytes_t* b, s3l_span_t s);

s3l_span_t fakes3_span(const fakes3_bytes_t* b);

/** The bytes with a NUL, which `n` does not count. */
const char* fakes3_cstr(fakes3_bytes_t* b);

void fakes3_bytes_free(fakes3_bytes_t* b);

#endif
