#include "wire/gcs_request.h"

#include "s3lect/errno.h"

bool s3l_gcs_is_generation(s3l_span_t s) {
  uint64_t n;
  return s.n > 0 && s.p[0] != '0' && s3l_span_to_u64(s, &n) && n <= INT64_MAX;
}

static bool is_write(s3l_s3_op_t op) {
  return op == S3L_S3_PUT || op == S3L_S3_DELETE;
}

/* Any other condition would be ignored, and the write carried out. */
static bool condition_is_valid(const s3l_s3_request_t* r) {
  if (r->if_none_match.p != NULL)
    return false;
  return r->if_match.p == NULL || (is_write(r->op) && (s3l_gcs_is_generation(r->if_match) ||
                                                       s3l_span_eq(r->if_match, S3L_SPAN("0"))));
}

static void draft_headers(s3l_draft_t* d, bool is_signed) {
  const s3l_s3_request_t* r = d->request;
  if (r->op == S3L_S3_PUT) {
    s3l_draft_header(d, S3L_SPAN("cache-control"), S3L_SPAN("no-store"));
    s3l_draft_header(d, S3L_SPAN("content-type"), S3L_SPAN("application/json"));
  }
  s3l_draft_header(d, S3L_SPAN("host"), d->target->host);
  if (is_signed) {
    s3l_draft_header(d, S3L_SPAN("x-goog-content-sha256"), d->sig.payload_hash);
    s3l_draft_header(d, S3L_SPAN("x-goog-date"), s3l_span_cstr(d->scope.time));
  }
  if (r->if_match.p != NULL)
    s3l_draft_header(d, S3L_SPAN("x-goog-if-generation-match"), r->if_match);
}

int s3l_gcs_request_write(s3l_signer_t* signer, const s3l_s3_target_t* target,
                          const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                          int64_t time_ms, char* buf, size_t cap, size_t* len) {
  s3l_draft_t d;
  bool is_signed = keys->access_key.n > 0;
  *len = 0;
  if (!condition_is_valid(request) || !s3l_draft_begin(&d, signer, target, keys, request) ||
      (is_signed && !s3l_sigv4_scope_google(&d.scope, time_ms)))
    return S3LECT_EOPTION;
  draft_headers(&d, is_signed);
  return s3l_draft_end(&d, signer, buf, cap, len);
}
