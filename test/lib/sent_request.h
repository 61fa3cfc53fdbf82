/* lib/sent_request.h: a request as it goes out, read as a store would read it. */
#ifndef S3L_TEST_SENT_REQUEST_H
#define S3L_TEST_SENT_REQUEST_H

#include <stdbool.h>

#include "util/span.h"
#include "wire/s3_request.h"

typedef struct sent_request_s {
  s3l_span_t method, path, query, body;
  s3l_sigv4_pair_t headers[24];
  size_t headers_len;
} sent_request_t;

/** Splits the bytes of a request, to which its spans then point. */
void sent_request_parse(s3l_span_t bytes, sent_request_t* request);

/** The header's value, with p == NULL if there is none. It must not be there twice. */
s3l_span_t sent_request_header(const sent_request_t* request, const char* name);

/** Fails the test if the header has another value; `want` NULL: if it is there. */
void assert_header(const sent_request_t* request, const char* name, const char* want);

/** Whether the request's signature covers the header. */
bool sent_request_signs(const sent_request_t* request, s3l_span_t name);

/** What a store does: computes the signature of the request as it arrived. `prefix` is "x-amz" or
 * "x-goog". */
void assert_signature(const sent_request_t* request, const char* prefix,
                      const s3l_sigv4_scope_t* scope, const s3l_s3_keys_t* keys);

#endif
