#include "wire/gcs_reply.h"

#include "wire/gcs_errors.h"
#include "wire/store_table.h"

static const s3l_store_row_t rows[] = {S3L_GCS_ERRORS(S3L_STORE_ROW)};

const s3l_store_row_t* s3l_gcs_rows(size_t* n) {
  *n = sizeof(rows) / sizeof(rows[0]);
  return rows;
}

s3l_store_verdict_t s3l_gcs_verdict(s3l_op_t op, int http_status, s3l_span_t code) {
  return s3l_store_verdict(rows, sizeof(rows) / sizeof(rows[0]), op, http_status, code);
}
