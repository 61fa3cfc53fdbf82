#include "wire/store_reply.h"

#include <string.h>

#include "util/mutant.h"
#include "util/timefmt.h"
#include "util/xml.h"
#include "wire/http_errors.h"
#include "wire/store_table.h"

/* ---- Errors ---- */

static void take_text(s3l_span_t inner, const char* name, char* out, size_t cap) {
  (void)s3l_xml_text(inner, name, out, cap);
  s3l_buf_line(out);
}

bool s3l_store_error_parse(s3l_span_t body, s3l_store_error_t* error) {
  s3l_span_t inner;
  memset(error, 0, sizeof(*error));
  if (!s3l_xml_next(&body, "Error", &inner))
    return false;
  take_text(inner, "Code", error->code, sizeof(error->code));
  take_text(inner, "Message", error->message, sizeof(error->message));
  take_text(inner, "Region", error->region, sizeof(error->region));
  take_text(inner, "Endpoint", error->endpoint, sizeof(error->endpoint));
  take_text(inner, "RequestId", error->request_id, sizeof(error->request_id));
  return true;
}

void s3l_store_error_describe(s3l_buf_t* b, int http_status, const s3l_store_error_t* error,
                              const char* advice) {
  s3l_buf_i64(b, http_status);
  if (error->code[0] != '\0')
    s3l_buf_printf(b, " %s", error->code);
  if (error->message[0] != '\0')
    s3l_buf_printf(b, ": %s", error->message);
  if (error->region[0] != '\0')
    s3l_buf_printf(b, " (region %s)", error->region);
  if (error->request_id[0] != '\0')
    s3l_buf_printf(b, " (request id %s)", error->request_id);
  if (advice != NULL)
    s3l_buf_printf(b, "; %s", advice);
}

/* ---- Verdicts ---- */

/* A pattern that ends with '*' matches every code with that beginning. */
static bool code_fits(const char* pattern, s3l_span_t code) {
  s3l_span_t p = s3l_span_cstr(pattern);
  if (p.n > 0 && p.p[p.n - 1] == '*')
    return s3l_span_starts_with(code, (s3l_span_t){p.p, p.n - 1});
  return s3l_span_eq(code, p);
}

static bool row_fits(const s3l_store_row_t* row, s3l_op_t op, int http_status, s3l_span_t code) {
  return http_status >= (int)row->first && http_status <= (int)row->last &&
         (row->ops & 1u << op) != 0 && (row->code == NULL || code_fits(row->code, code));
}

static const s3l_store_row_t http_rows[] = {S3L_HTTP_ERRORS(S3L_STORE_ROW)};

const s3l_store_row_t* s3l_http_rows(size_t* n) {
  *n = sizeof(http_rows) / sizeof(http_rows[0]);
  return http_rows;
}

static const s3l_store_row_t* find_row(const s3l_store_row_t* rows, size_t n, s3l_op_t op,
                                       int http_status, s3l_span_t code) {
  for (size_t i = 0; i < n; i++) {
    if (row_fits(&rows[i], op, http_status, code))
      return &rows[i];
  }
  return NULL;
}

s3l_store_verdict_t s3l_store_verdict(const s3l_store_row_t* rows, size_t n, s3l_op_t op,
                                      int http_status, s3l_span_t code) {
  s3l_store_verdict_t v = {S3LECT_EBADREPLY, S3LECT_UNCERTAIN, S3L_RECOVER_NOTHING, NULL};
  const s3l_store_row_t* row = find_row(rows, n, op, http_status, code);
  if (row == NULL) {
    rows = s3l_http_rows(&n);
    row = find_row(rows, n, op, http_status, code);
  }
  if (row != NULL)
    v = (s3l_store_verdict_t){row->status, row->outcome, (s3l_recover_t)row->recovery, row->advice};
  if (op != S3L_OP_PUT && op != S3L_OP_DELETE && v.outcome == S3LECT_UNCERTAIN)
    v.outcome = S3LECT_NOT_APPLIED;
  return v;
}

/* ---- Headers ---- */

bool s3l_store_etag(s3l_span_t header, char out[S3LECT_ETAG_SIZE]) {
  out[0] = '\0';
  s3l_span_t s = s3l_span_trim(header);
  if (s3l_span_starts_with(s, S3L_SPAN("W/")) && !S3L_MUTANT(WEAK_SENT)) {
    s.p += 2;
    s.n -= 2;
  }
  if (S3L_MUTANT(ETAG_SHORT) && s.n > 100)
    return false;
  /* "" names no version; some stores even take it to mean "absent". */
  if (s.n == 0 || s3l_span_eq(s, S3L_SPAN("\"\"")))
    return false;
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if (c <= 0x20 || c == 0x7f)
      return false;
  }
  return s3l_span_copy(s, out, S3LECT_ETAG_SIZE);
}

uint32_t s3l_store_retry_after(s3l_span_t header, int64_t date_ms) {
  const uint64_t most = 3600 * 1000;
  uint64_t ms = 0;
  uint64_t seconds;
  int64_t until;
  s3l_span_t s = s3l_span_trim(header);
  if (s.n == 0)
    return 0;
  if (s3l_span_to_u64(s, &seconds))
    ms = seconds > most / 1000 ? most : seconds * 1000;
  else if (date_ms != 0 && s3l_time_parse_http(s, &until) && until > date_ms)
    ms = (uint64_t)(until - date_ms);
  return (uint32_t)(ms > most ? most : ms);
}
