#include "store/s3/result.h"

#include <string.h>

#include "util/url.h"
#include "wire/aws_host.h"
#include "wire/s3_reply.h"

/* ---- Listings ---- */

static bool read_entry(s3l_span_t inner, s3lect_store_entry_t* e, s3l_buf_t* text) {
  return s3l_remote_read_contents(inner, "ETag", e, text);
}

static bool read_version(s3l_span_t inner, s3lect_store_entry_t* e, s3l_buf_t* text) {
  bool good = read_entry(inner, e, text);
  e->version = s3l_remote_take_text(inner, "VersionId", text);
  return good && e->version != NULL;
}

int s3l_s3_list(s3l_remote_t* remote, s3l_remote_req_t* rr, s3l_span_t body,
                s3lect_store_result_t* r) {
  static const s3l_remote_listing_t objects = {"ListBucketResult", "Contents", read_entry};
  static const s3l_remote_listing_t versions = {"ListVersionsResult", "Version", read_version};
  bool of_versions = (rr->req->flags & S3LECT_REQ_VERSIONS) != 0;
  s3l_span_t doc;
  int err =
      s3l_remote_read_listing(remote, rr->req, body, of_versions ? &versions : &objects, r, &doc);
  if (err == 0)
    r->truncated = s3l_remote_is_truncated(doc);
  return err;
}

/* ---- Replies ---- */

/* The region that a reply names. Stores use one of these places. */
static s3l_span_t named_region(const s3l_http_reply_t* reply, const s3l_store_error_t* error) {
  const char* unused;
  s3l_url_t url;
  s3l_span_t region = s3l_http_reply_header(reply, "x-amz-bucket-region");
  if (region.n > 0)
    return region;
  if (error->region[0] != '\0')
    return s3l_span_cstr(error->region);
  region = s3l_aws_region_of_host(s3l_span_cstr(error->endpoint));
  if (region.n == 0 && s3l_url_parse(s3l_http_reply_header(reply, "location"), &url, &unused))
    region = s3l_aws_region_of_host(url.host);
  return region;
}

/* Whether it is not the one that was asked; then the error has it. */
static bool names_other_region(const s3l_http_reply_t* reply, s3l_store_error_t* error,
                               s3l_span_t asked) {
  char name[sizeof(error->region)];
  if (!s3l_span_copy(named_region(reply, error), name, sizeof(name)) ||
      !s3l_s3_is_region(s3l_span_cstr(name)) || s3l_span_eq(s3l_span_cstr(name), asked))
    name[0] = '\0';
  memcpy(error->region, name, sizeof(name));
  return name[0] != '\0';
}

void s3l_s3_read(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                 s3l_span_t region, char named[S3L_S3_REGION_MAX], s3lect_store_result_t* r) {
  s3l_store_error_t error = {0};
  /* The body of a GET's 200 is the object, whatever it looks like. */
  bool is_object = rr->req->op == S3LECT_OP_GET && reply->http_status == 200;
  bool is_error = !is_object && s3l_store_error_parse(reply->body, &error);
  s3l_span_t code = s3l_span_cstr(error.code);
  bool foreign = s3l_remote_is_foreign_404(remote, reply, "x-amz-request-id");
  if (code.n == 0 && (is_error || foreign))
    code = S3L_SPAN("InternalError"); /* an error document without a code */
  bool other_region = reply->http_status >= 300 && names_other_region(reply, &error, region);
  s3l_store_verdict_t v =
      s3l_s3_verdict((s3l_s3_op_t)rr->req->op, reply->http_status, code, other_region);
  named[0] = '\0';
  if (other_region)
    memcpy(named, error.region, sizeof(error.region));
  s3l_remote_judge(remote, rr, reply, &v, &error, r);
}
