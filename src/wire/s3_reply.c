#include "wire/s3_reply.h"

#include "wire/s3_errors.h"
#include "wire/store_table.h"

static const s3l_store_row_t rows[] = {S3L_S3_ERRORS(S3L_STORE_ROW)};

const s3l_store_row_t* s3l_s3_rows(size_t* n) {
  *n = sizeof(rows) / sizeof(rows[0]);
  return rows;
}

s3l_store_verdict_t s3l_s3_verdict(s3l_s3_op_t op, int http_status, s3l_span_t code,
                                   bool region_named) {
  size_t n = sizeof(rows) / sizeof(rows[0]);
  s3l_store_verdict_t v = s3l_store_verdict(rows, n, (s3l_op_t)op, http_status, code);
  /* A store that names the region got a request for another one. Without the name, 400
   * AuthorizationHeaderMalformed may be any mistake in the header. */
  if (region_named && (v.status == S3LECT_EREDIRECT || v.status == S3LECT_EREFUSED)) {
    v.status = S3LECT_EREGION;
    v.recovery = S3L_RECOVER_REGION;
  }
  return v;
}
