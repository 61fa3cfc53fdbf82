/* wire/azure_reply.h: what a reply of Azure Blob Storage means, by the table of
 * wire/azure_errors.h. */
#ifndef S3L_WIRE_AZURE_REPLY_H
#define S3L_WIRE_AZURE_REPLY_H

#include "wire/store_reply.h"

/** All rows, for the docs page. */
const s3l_store_row_t* s3l_azure_rows(size_t* n);

s3l_store_verdict_t s3l_azure_verdict(s3l_op_t op, int http_status, s3l_span_t code);

/** Reads an error: the code from its header or, where there is none, from the body; the message
 * without the lines that repeat the request's ID and time. The spans may be absent. */
void s3l_azure_error_parse(s3l_span_t code, s3l_span_t request_id, s3l_span_t body,
                           s3l_store_error_t* error);

#endif
