/* wire/s3_reply.h: what an S3 reply means, by the table of wire/s3_errors.h. */
#ifndef S3L_WIRE_S3_REPLY_H
#define S3L_WIRE_S3_REPLY_H

#include "wire/s3_request.h"
#include "wire/store_reply.h"

/** All rows, for the docs page. */
const s3l_store_row_t* s3l_s3_rows(size_t* n);

/** `region_named`: the reply says which region the bucket is in. */
s3l_store_verdict_t s3l_s3_verdict(s3l_s3_op_t op, int http_status, s3l_span_t code,
                                   bool region_named);

#endif
