/* store/s3/headers.h: what the operator adds to requests: further headers, encryption, the bucket's
 * owner, a checksum.
 *
 * None of these may change what a put means: no conditions, no framing, no header that s3lect sets.
 */
#ifndef S3L_STORE_S3_HEADERS_H
#define S3L_STORE_S3_HEADERS_H

#include <stdbool.h>

#include "s3lect/store.h"
#include "util/error.h"
#include "wire/s3_request.h"

#define S3L_S3_HEADER_NAME_MAX 64
#define S3L_S3_HEADERS_BYTES   3072 /* names and values together */

typedef struct s3l_s3_headers_s {
  s3l_sigv4_pair_t pairs[S3L_S3_HEADERS_MAX];
  size_t len;
  s3l_span_t owner; /* n == 0: not given */
  bool checksum;
} s3l_s3_headers_t;

/** Checks the options; `out` points into them. Errors: S3LECT_EOPTION. */
int s3l_s3_headers_read(const s3lect_store_s3_options_t* options, s3l_s3_headers_t* out,
                        s3lect_error_t* error);

/** Copies headers and their text into one block, to be freed with s3l_free. NULL: out of memory. */
s3l_s3_headers_t* s3l_s3_headers_copy(const s3l_s3_headers_t* from);

#endif
