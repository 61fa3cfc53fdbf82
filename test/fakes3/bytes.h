/* fakes3/bytes.h: bytes that grow, and the fake's way to the heap: libc's, and no way back from a
 * failure. */
#ifndef FAKES3_BYTES_H
#define FAKES3_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "util/span.h"

/** Zeroed; never NULL. */
void* fakes3_alloc(size_t size);
char* fakes3_dup(s3l_span_t s);

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

/** Percent-encoded as SigV4 asks: all but A-Z a-z 0-9 - . _ ~ and, if asked, '/'. */
void fakes3_put_uri(fakes3_bytes_t* b, s3l_span_t s, int keep_slash);

/** Percent-decoded, appended. False if an escape is broken or yields NUL. */
int fakes3_put_decoded(fakes3_bytes_t* b, s3l_span_t s);

s3l_span_t fakes3_span(const fakes3_bytes_t* b);

/** With a NUL behind it that does not count. */
const char* fakes3_cstr(fakes3_bytes_t* b);

void fakes3_bytes_free(fakes3_bytes_t* b);

#endif
