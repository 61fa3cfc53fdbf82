#include "wire/s3_request.h"

#include "s3lect/errno.h"
#include "util/base64.h"
#include "util/hex.h"

#define CHECKSUM_SIZE (S3L_SHA256_SIZE * 4 / 3 + 4)

static bool draft_query(s3l_draft_t* d) {
  const s3l_s3_request_t* r = d->request;
  if (r->op == S3L_S3_SESSION)
    return s3l_draft_query(d, &(s3l_sigv4_pair_t){S3L_SPAN("session"), S3L_SPAN("")}, 1);
  if (r->op == S3L_S3_GET && r->version.n > 0)
    return s3l_draft_query(d, &(s3l_sigv4_pair_t){S3L_SPAN("versionId"), r->version}, 1);
  return true;
}

/* The body's hash in base64. */
static s3l_span_t make_checksum(const s3l_draft_t* d, char text[CHECKSUM_SIZE]) {
  uint8_t hash[S3L_SHA256_SIZE];
  s3l_buf_t b;
  (void)s3l_hex_decode(d->sig.payload_hash, hash, sizeof(hash)); /* we wrote it */
  s3l_buf_init(&b, text, CHECKSUM_SIZE);
  s3l_base64_encode(&b, hash, sizeof(hash));
  return s3l_buf_span(&b);
}

/* CreateSession is signed with keys that are not a session's. */
static s3l_span_t token_header(const s3l_draft_t* d) {
  return d->target->express && d->request->op != S3L_S3_SESSION ? S3L_SPAN("x-amz-s3session-token")
                                                                : S3L_SPAN("x-amz-security-token");
}

/* `checksum` must stay until the draft ends. */
static void draft_headers(s3l_draft_t* d, char checksum[CHECKSUM_SIZE]) {
  const s3l_s3_target_t* target = d->target;
  const s3l_s3_request_t* r = d->request;
  if (r->op == S3L_S3_PUT)
    s3l_draft_header(d, S3L_SPAN("content-type"), S3L_SPAN("application/json"));
  s3l_draft_header(d, S3L_SPAN("host"), target->host);
  if (r->if_match.p != NULL)
    s3l_draft_header(d, S3L_SPAN("if-match"), r->if_match);
  if (r->if_none_match.p != NULL)
    s3l_draft_header(d, S3L_SPAN("if-none-match"), r->if_none_match);
  if (r->op == S3L_S3_PUT && target->checksum)
    s3l_draft_header(d, S3L_SPAN("x-amz-checksum-sha256"), make_checksum(d, checksum));
  s3l_draft_header(d, S3L_SPAN("x-amz-content-sha256"), d->sig.payload_hash);
  s3l_draft_header(d, S3L_SPAN("x-amz-date"), s3l_span_cstr(d->scope.time));
  if (target->owner.n > 0)
    s3l_draft_header(d, S3L_SPAN("x-amz-expected-bucket-owner"), target->owner);
  if (d->keys->token.n > 0)
    s3l_draft_header(d, token_header(d), d->keys->token);
  for (size_t i = 0; r->op == S3L_S3_PUT && i < target->headers_len; i++)
    s3l_draft_header(d, target->headers[i].name, target->headers[i].value);
}

/* The service in the signature's scope. */
static s3l_span_t service_of(const s3l_s3_target_t* target) {
  return target->express ? S3L_SPAN("s3express") : S3L_SPAN("s3");
}

static bool inputs_are_valid(const s3l_s3_target_t* target) {
  if (target->headers_len > S3L_S3_HEADERS_MAX || !s3l_draft_is_clean(target->owner))
    return false;
  for (size_t i = 0; i < target->headers_len; i++) {
    if (!s3l_draft_is_clean(target->headers[i].name) ||
        !s3l_draft_is_clean(target->headers[i].value))
      return false;
  }
  return true;
}

int s3l_s3_request_write(s3l_signer_t* signer, const s3l_s3_target_t* target,
                         const s3l_s3_keys_t* keys, const s3l_s3_request_t* request,
                         int64_t time_ms, char* buf, size_t cap, size_t* len) {
  s3l_draft_t d;
  char checksum[CHECKSUM_SIZE];
  *len = 0;
  if (keys->access_key.n == 0 || !inputs_are_valid(target) ||
      !s3l_sigv4_scope(&d.scope, time_ms, target->region, service_of(target)) ||
      !s3l_draft_begin(&d, signer, target, keys, request) || !draft_query(&d))
    return S3LECT_EOPTION;
  draft_headers(&d, checksum);
  return s3l_draft_end(&d, signer, buf, cap, len);
}
