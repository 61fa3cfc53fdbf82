#include "wire/azure_reply.h"

#include <string.h>

#include "util/xml.h"
#include "wire/azure_errors.h"
#include "wire/store_table.h"

static const s3l_store_row_t rows[] = {S3L_AZURE_ERRORS(S3L_STORE_ROW)};

const s3l_store_row_t* s3l_azure_rows(size_t* n) {
  *n = sizeof(rows) / sizeof(rows[0]);
  return rows;
}

s3l_store_verdict_t s3l_azure_verdict(s3l_op_t op, int http_status, s3l_span_t code) {
  return s3l_store_verdict(rows, sizeof(rows) / sizeof(rows[0]), op, http_status, code);
}

void s3l_azure_error_parse(s3l_span_t code, s3l_span_t request_id, s3l_span_t body,
                           s3l_store_error_t* error) {
  char message[1024];
  s3l_span_t inner;
  (void)s3l_store_error_parse(body, error);
  error->message[0] = '\0';
  if (s3l_xml_next(&body, "Error", &inner) &&
      s3l_xml_text(inner, "Message", message, sizeof(message))) {
    size_t n = strcspn(message, "\r\n");
    (void)s3l_span_copy((s3l_span_t){message, n}, error->message, sizeof(error->message));
    s3l_buf_line(error->message);
  }
  if (code.n > 0 && s3l_span_copy(s3l_span_trim(code), error->code, sizeof(error->code)))
    s3l_buf_line(error->code);
  if (request_id.n > 0 &&
      s3l_span_copy(s3l_span_trim(request_id), error->request_id, sizeof(error->request_id)))
    s3l_buf_line(error->request_id);
}
