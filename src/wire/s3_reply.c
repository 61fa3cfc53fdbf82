#include "wire/s3_reply.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/timefmt.h"
#include "util/xml.h"

/* ---- Errors ---- */

/* What a store says goes to logs and terminals, as one line. */
static void take_text(s3l_span_t inner, const char* name, char* out, size_t cap) {
  (void)s3l_xml_text(inner, name, out, cap);
  for (char* p = out; *p != '\0'; p++) {
    if ((unsigned char)*p < 0x20 || *p == 0x7f)
      *p = ' ';
  }
}

bool s3l_s3_error_parse(s3l_span_t body, s3l_s3_error_t* error) {
  s3l_span_t inner;
  memset(error, 0, sizeof(*error));
  if (!s3l_xml_next(&body, "Error", &inner))
    return false;
  take_text(inner, "Code", error->code, sizeof(error->code));
  take_text(inner, "Message", error->message, sizeof(error->message));
  take_text(inner, "Region", error->region, sizeof(error->region));
  take_text(inner, "RequestId", error->request_id, sizeof(error->request_id));
  return true;
}

void s3l_s3_describe(s3l_buf_t* b, int http_status, const s3l_s3_error_t* error) {
  s3l_buf_i64(b, http_status);
  if (error->code[0] != '\0') {
    s3l_buf_putc(b, ' ');
    s3l_buf_puts(b, error->code);
  }
  if (error->message[0] != '\0') {
    s3l_buf_puts(b, ": ");
    s3l_buf_puts(b, error->message);
  }
  if (error->region[0] != '\0') {
    s3l_buf_puts(b, " (region ");
    s3l_buf_puts(b, error->region);
    s3l_buf_putc(b, ')');
  }
  if (error->request_id[0] != '\0') {
    s3l_buf_puts(b, " (request id ");
    s3l_buf_puts(b, error->request_id);
    s3l_buf_putc(b, ')');
  }
}

/* ---- Verdict ---- */

#define READS   (1u << S3L_S3_GET | 1u << S3L_S3_HEAD | 1u << S3L_S3_LIST)
#define WRITES  (1u << S3L_S3_PUT | 1u << S3L_S3_DELETE)
#define OBJECTS (1u << S3L_S3_GET | 1u << S3L_S3_HEAD)
#define ANY     (READS | WRITES)

typedef struct row_s {
  int first; /* HTTP status, from .. to */
  int last;
  const char* code; /* NULL: whatever it is */
  unsigned ops;
  int status;
  int outcome;
} row_t;

/* The first row that fits decides. NOT_APPLIED stands only where a store turns a request away
 * before it acts on it; everything that may come from behind the effect (5xx, proxies' time-outs)
 * is UNCERTAIN. An error code is looked at before its status, because stores agree on codes more
 * than on statuses. */
static const row_t rows[] = {
    /* Whatever the status: the store lacks what was asked for. */
    {400, 599, "NotImplemented", ANY, S3LECT_EUNSUPPORTED, S3L_S3_NOT_APPLIED},

    {200, 200, "", READS, 0, S3L_S3_SETTLED},
    {200, 201, "", 1u << S3L_S3_PUT, 0, S3L_S3_SETTLED},
    {204, 204, "", WRITES, 0, S3L_S3_SETTLED},
    {200, 200, "", 1u << S3L_S3_DELETE, 0, S3L_S3_SETTLED},
    /* S3 can find out about a failure after it has sent 200: the error is in the body. */
    {200, 200, NULL, ANY, S3LECT_ESERVER, S3L_S3_UNCERTAIN},
    {100, 299, NULL, ANY, S3LECT_EBADREPLY, S3L_S3_UNCERTAIN},

    {304, 304, NULL, OBJECTS, S3LECT_ENOTMODIFIED, S3L_S3_SETTLED},
    /* Some MinIO releases answer a failed If-None-Match on a PUT so. */
    {304, 304, NULL, WRITES, S3LECT_EPRECONDITION, S3L_S3_SETTLED},
    {301, 301, "PermanentRedirect", ANY, S3LECT_EREGION, S3L_S3_NOT_APPLIED},
    {300, 399, NULL, ANY, S3LECT_EREDIRECT, S3L_S3_NOT_APPLIED},

    {400, 403, "RequestTimeTooSkewed", ANY, S3LECT_ESKEW, S3L_S3_NOT_APPLIED},
    {400, 403, "RequestExpired", ANY, S3LECT_ESKEW, S3L_S3_NOT_APPLIED},
    {400, 403, "RequestInTheFuture", ANY, S3LECT_ESKEW, S3L_S3_NOT_APPLIED},
    {400, 403, "SignatureDoesNotMatch", ANY, S3LECT_ESIGNATURE, S3L_S3_NOT_APPLIED},
    {400, 403, "InvalidAccessKeyId", ANY, S3LECT_ESIGNATURE, S3L_S3_NOT_APPLIED},
    {400, 403, "InvalidToken", ANY, S3LECT_ESIGNATURE, S3L_S3_NOT_APPLIED},
    {400, 403, "ExpiredToken", ANY, S3LECT_ESIGNATURE, S3L_S3_NOT_APPLIED},
    {401, 401, NULL, ANY, S3LECT_EDENIED, S3L_S3_NOT_APPLIED},
    {403, 403, NULL, ANY, S3LECT_EDENIED, S3L_S3_NOT_APPLIED},

    {404, 404, "NoSuchBucket", ANY, S3LECT_ENOBUCKET, S3L_S3_NOT_APPLIED},
    {404, 404, NULL, 1u << S3L_S3_LIST, S3LECT_ENOBUCKET, S3L_S3_NOT_APPLIED},
    {404, 404, NULL, ANY, S3LECT_ENOTFOUND, S3L_S3_SETTLED},

    /* A proxy gave up on the store, which may still carry the request out. Tigris sheds load with
     * 408, and tells of lost replies with 499. */
    {408, 408, NULL, ANY, S3LECT_ESERVER, S3L_S3_UNCERTAIN},
    {499, 499, NULL, ANY, S3LECT_ESERVER, S3L_S3_UNCERTAIN},
    {409, 409, NULL, ANY, S3LECT_ECONFLICT, S3L_S3_SETTLED},
    {412, 412, NULL, ANY, S3LECT_EPRECONDITION, S3L_S3_SETTLED},
    {429, 429, NULL, ANY, S3LECT_ETHROTTLED, S3L_S3_NOT_APPLIED},
    /* Also 400 RequestTimeout: the body did not arrive, so nothing was written. */
    {400, 499, NULL, ANY, S3LECT_EREFUSED, S3L_S3_NOT_APPLIED},

    {501, 501, NULL, ANY, S3LECT_EUNSUPPORTED, S3L_S3_NOT_APPLIED},
    {500, 599, NULL, ANY, S3LECT_ESERVER, S3L_S3_UNCERTAIN},
};

static bool row_fits(const row_t* row, s3l_s3_op_t op, int http_status, s3l_span_t code) {
  return http_status >= row->first && http_status <= row->last && (row->ops & 1u << op) != 0 &&
         (row->code == NULL || s3l_span_eq(code, s3l_span_cstr(row->code)));
}

s3l_s3_verdict_t s3l_s3_verdict(s3l_s3_op_t op, int http_status, s3l_span_t code,
                                bool region_named) {
  s3l_s3_verdict_t v = {S3LECT_EBADREPLY, S3L_S3_UNCERTAIN};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (row_fits(&rows[i], op, http_status, code)) {
      v = (s3l_s3_verdict_t){rows[i].status, rows[i].outcome};
      break;
    }
  }
  /* A store that names the region was asked in the wrong one. Without its name, 400
   * AuthorizationHeaderMalformed may be any mistake in the header. */
  if (region_named && (v.status == S3LECT_EREDIRECT || v.status == S3LECT_EREFUSED))
    v.status = S3LECT_EREGION;
  if ((READS & 1u << op) != 0 && v.outcome == S3L_S3_UNCERTAIN)
    v.outcome = S3L_S3_NOT_APPLIED;
  return v;
}

/* ---- Headers ---- */

bool s3l_s3_etag(s3l_span_t header, char out[S3L_ETAG_MAX + 1]) {
  out[0] = '\0';
  s3l_span_t s = s3l_span_trim(header);
  if (s3l_span_starts_with(s, S3L_SPAN("W/"))) {
    s.p += 2;
    s.n -= 2;
  }
  /* "" names no version; some stores even take it to mean "absent". */
  if (s.n == 0 || s3l_span_eq(s, S3L_SPAN("\"\"")))
    return false;
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if (c <= 0x20 || c == 0x7f)
      return false;
  }
  return s3l_span_copy(s, out, S3L_ETAG_MAX + 1);
}

uint32_t s3l_s3_retry_after(s3l_span_t header, int64_t date_ms) {
  const uint64_t most = 3600 * 1000;
  uint64_t ms = 0;
  uint64_t seconds;
  int64_t until;
  s3l_span_t s = s3l_span_trim(header);
  if (s3l_span_to_u64(s, &seconds))
    ms = seconds > most / 1000 ? most : seconds * 1000;
  else if (date_ms != 0 && s3l_time_parse_http(s, &until) && until > date_ms)
    ms = (uint64_t)(until - date_ms);
  return (uint32_t)(ms > most ? most : ms);
}
