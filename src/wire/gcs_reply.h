/* wire/gcs_reply.h: what a reply of Google Cloud Storage means, by the table of wire/gcs_errors.h.
 */
#ifndef S3L_WIRE_GCS_REPLY_H
#define S3L_WIRE_GCS_REPLY_H

#include "wire/store_reply.h"

/** All rows, for the verdict and for the docs page. */
const s3l_store_row_t* s3l_gcs_rows(size_t* n);

s3l_store_verdict_t s3l_gcs_verdict(s3l_op_t op, int http_status, s3l_span_t code);

#endif
