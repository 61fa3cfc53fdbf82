/* store/gcs/store.c: Google Cloud Storage's XML API as a store. Its ETags are generations: see
 * s3lect/store_gcs.h. */
#include <string.h>

#include "credentials/google.h"
#include "store/gcs/options.h"
#include "store/remote.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "wire/gcs_reply.h"
#include "wire/gcs_request.h"

#define GENERATION_HEADER "x-goog-generation"
#define THROTTLED_MS      1000 /* the store takes one write a second to an object */

typedef struct gcs_s {
  s3l_remote_t remote;
  s3l_signer_t signer;
  bool takes_token; /* a token may be sent to the endpoint */
} gcs_t;

static gcs_t* gcs_of(s3l_remote_t* remote) {
  return S3L_CONTAINER_OF(remote, gcs_t, remote);
}

/* ---- One request ---- */

static int gcs_write(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_s3_keys_t* keys,
                     s3l_s3_request_t* request, int64_t now_ms, char* buf, size_t cap,
                     size_t* len) {
  gcs_t* gcs = gcs_of(remote);
  if (keys->access_key.n == 0 && !gcs->takes_token)
    return S3LECT_ECREDENTIALS;
  if (request->if_match.p != NULL && !s3l_gcs_is_generation(request->if_match))
    return S3LECT_EOPTION; /* "0" would create the object */
  if (rr->req->condition == S3LECT_IF_ABSENT && request->if_none_match.p != NULL)
    request->if_match = S3L_SPAN("0");
  request->if_none_match = (s3l_span_t){0};
  return s3l_gcs_request_write(&gcs->signer, &remote->target, keys, request, now_ms, buf, cap, len);
}

/* An object's ETag must be a generation, with which it can be replaced. */
static void check_generation(const s3lect_store_req_t* req, const s3l_http_reply_t* reply,
                             s3lect_store_result_t* r) {
  s3l_span_t generation = s3l_span_trim(s3l_http_reply_header(reply, GENERATION_HEADER));
  if (r->etag == NULL)
    return;
  if (!s3l_gcs_is_generation(generation)) {
    r->etag = NULL;
    r->body = NULL;
    r->body_len = 0;
    r->status = S3LECT_EETAG;
    r->outcome = req->op == S3LECT_OP_PUT ? S3LECT_UNCERTAIN : S3LECT_SETTLED;
  } else if (req->condition == S3LECT_IF_CHANGED && strcmp(r->etag, req->etag) == 0) {
    r->body = NULL;
    r->body_len = 0;
    r->status = S3LECT_ENOTMODIFIED;
  }
}

static void gcs_read(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                     s3lect_store_result_t* r) {
  s3l_store_error_t error = {0};
  /* The body of a GET's 200 is the object, whatever it looks like. */
  bool is_object = rr->req->op == S3LECT_OP_GET && reply->http_status == 200;
  bool is_error = !is_object && s3l_store_error_parse(reply->body, &error);
  s3l_span_t code = s3l_span_cstr(error.code);
  if (code.n == 0 && is_error)
    code = S3L_SPAN("InternalError"); /* an error document without a code */
  s3l_store_verdict_t v = s3l_gcs_verdict((s3l_op_t)rr->req->op, reply->http_status, code);
  s3l_remote_judge(remote, rr, reply, &v, &error, r);
  check_generation(rr->req, reply, r);
  if (r->status == S3LECT_ETHROTTLED && r->retry_after_ms == 0)
    r->retry_after_ms = THROTTLED_MS;
}

static bool read_entry(s3l_span_t inner, s3lect_store_entry_t* e, s3l_buf_t* text) {
  return s3l_remote_read_contents(inner, "Generation", e, text);
}

static int gcs_list(s3l_remote_t* remote, s3l_remote_req_t* rr, s3l_span_t body,
                    s3lect_store_result_t* r) {
  static const s3l_remote_listing_t objects = {"ListBucketResult", "Contents", read_entry};
  s3l_span_t doc;
  int err = s3l_remote_read_listing(remote, rr->req, body, &objects, r, &doc);
  if (err == 0)
    r->truncated = s3l_remote_is_truncated(doc);
  return err;
}

/* ---- The store ---- */

static int gcs_open(uv_loop_t* loop, s3l_remote_t* remote, const s3l_remote_config_t* config) {
  gcs_t* gcs = gcs_of(remote);
  (void)loop;
  gcs->takes_token = S3L_CONTAINER_OF(config, s3l_gcs_config_t, remote)->takes_token;
  return s3l_signer_open(&gcs->signer) ? 0 : UV_ENOMEM;
}

static void gcs_release(s3l_remote_t* remote) {
  s3l_signer_close(&gcs_of(remote)->signer);
}

static const s3l_remote_dialect_t gcs_dialect = {
    .size = sizeof(gcs_t),
    .etag_header = GENERATION_HEADER,
    .unusable_keys = S3L_GCS_CLEAR_TOKEN,
    .chain = &s3l_chain_google,
    .open = gcs_open,
    .write = gcs_write,
    .read = gcs_read,
    .list = gcs_list,
    .release = gcs_release,
};

static const s3lect_store_ops_t gcs_ops = {
    S3L_REMOTE_OPS, .flags = S3LECT_STORE_OWN_CLOCK | S3LECT_STORE_SLOW_WRITES,
    .list = s3l_remote_submit};

int s3lect_store_gcs_init(uv_loop_t* loop, s3lect_store_t* store,
                          const s3lect_store_gcs_options_t* options, s3lect_error_t* error) {
  s3l_gcs_config_t config;
  s3l_error_clear(error);
  int err = s3l_gcs_configure(options, &config, error);
  if (err == 0)
    err = s3l_remote_open(loop, store, &gcs_dialect, &gcs_ops, &config.remote);
  s3l_wipe(&config.remote.proxy, sizeof(config.remote.proxy));
  return s3l_error_end(error, err);
}
