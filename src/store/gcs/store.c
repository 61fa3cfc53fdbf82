/* store/gcs/store.c: Google Cloud Storage's XML API as a store. Its ETags are generations: see
 * s3lect/store_gcs.h. */
#include <string.h>

#include "credentials/google.h"
#include "s3lect/version.h"
#include "store/gcs/options.h"
#include "store/remote.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/mutant.h"
#include "wire/gcs_reply.h"
#include "wire/gcs_request.h"

#define GENERATION_HEADER "x-goog-generation"
#define THROTTLED_MS      1000 /* the store takes one write a second to an object */
#define EMULATOR_TOKEN    "emulator"

typedef struct gcs_s {
  s3l_remote_t remote;
  s3l_signer_t signer;
  s3l_s3_target_t target; /* points into the next two */
  char host_header[S3L_GCS_HOST_MAX + 8];
  char bucket[S3L_GCS_BUCKET_MAX];
  bool takes_token; /* a token may be sent to the endpoint */
} gcs_t;

static gcs_t* gcs_of(s3l_remote_t* remote) {
  return S3L_CONTAINER_OF(remote, gcs_t, remote);
}

/* ---- One request ---- */

static s3l_s3_request_t describe_request(const s3lect_store_req_t* req) {
  s3l_s3_request_t r = {.op = (s3l_s3_op_t)req->op, .key = s3l_span_cstr(req->key)};
  if (req->condition == S3LECT_IF_ABSENT && !S3L_MUTANT(CREATES_ANYWAY))
    r.if_match = S3L_SPAN("0");
  if (req->condition == S3LECT_IF_MATCH)
    r.if_match = s3l_span_cstr(req->etag);
  if (r.op == S3L_S3_PUT)
    r.body = (s3l_span_t){req->body, req->body_len};
  if (r.op == S3L_S3_LIST) {
    r.after = s3l_span_cstr(req->after);
    r.max_keys = req->max_keys;
  }
  return r;
}

static int gcs_write(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3lect_credentials_t* creds,
                     int64_t now_ms, char* buf, size_t cap, size_t* len) {
  gcs_t* gcs = gcs_of(remote);
  const s3l_s3_keys_t keys = {s3l_span_cstr(creds->access_key_id),
                              s3l_span_cstr(creds->secret_access_key),
                              s3l_span_cstr(creds->session_token)};
  const s3l_s3_request_t request = describe_request(rr->req);
  if (!s3l_creds_can_sign(creds) && !gcs->takes_token)
    return S3LECT_ECREDENTIALS;
  if (rr->req->condition == S3LECT_IF_MATCH && !s3l_gcs_is_generation(request.if_match))
    return S3LECT_EOPTION; /* "0" would create the object */
  return s3l_gcs_request_write(&gcs->signer, &gcs->target, &keys, &request, now_ms, buf, cap, len);
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

static bool gcs_again(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                      s3lect_store_result_t* r) {
  (void)reply;
  return remote->recovery == S3L_RECOVER_KEYS && s3l_remote_renew(remote, rr, r);
}

static void gcs_release(s3l_remote_t* remote) {
  gcs_t* gcs = gcs_of(remote);
  s3l_signer_close(&gcs->signer);
  s3l_free(gcs);
}

static const s3l_remote_dialect_t gcs_dialect = {
    .etag_header = GENERATION_HEADER,
    .unusable_keys = S3L_GCS_CLEAR_TOKEN,
    .write = gcs_write,
    .read = gcs_read,
    .list = gcs_list,
    .again = gcs_again,
    .release = gcs_release,
};

static const s3lect_store_ops_t gcs_ops = {
    .version = S3LECT_STORE_VERSION,
    .flags = S3LECT_STORE_OWN_CLOCK | S3LECT_STORE_SLOW_WRITES,
    .get = s3l_remote_submit,
    .put = s3l_remote_submit,
    .del = s3l_remote_submit,
    .list = s3l_remote_submit,
    .cancel = s3l_remote_cancel,
    .close = s3l_remote_close,
};

/* ---- Opening ---- */

/* Opens no libuv handle before the first request. */
static int open_creds(uv_loop_t* loop, gcs_t* gcs, const s3l_gcs_config_t* c) {
  s3lect_credentials_chain_options_t chain;
  if (c->access_key != NULL)
    return s3l_creds_cache_fixed(loop, c->access_key, c->secret, NULL, &gcs->remote.creds.cache,
                                 c->remote.http.error);
  if (c->emulator)
    return s3l_creds_cache_fixed(loop, NULL, NULL, EMULATOR_TOKEN, &gcs->remote.creds.cache,
                                 c->remote.http.error);
  s3lect_credentials_chain_options_init(&chain, sizeof(chain));
  chain.ca_file = c->remote.http.ca_file;
  chain.proxy = c->remote.proxies.option;
  return s3l_creds_google(loop, &chain, &gcs->remote.creds.cache, c->remote.http.error);
}

static int open_parts(uv_loop_t* loop, gcs_t* gcs, const s3l_gcs_config_t* c) {
  int err = s3l_remote_init(&gcs->remote, &gcs_dialect, &c->remote);
  memcpy(gcs->host_header, c->host_header, sizeof(gcs->host_header));
  memcpy(gcs->bucket, c->bucket, strlen(c->bucket) + 1); /* a valid name fits */
  gcs->takes_token = c->takes_token;
  gcs->target = (s3l_s3_target_t){.host = s3l_span_cstr(gcs->host_header),
                                  .bucket = s3l_span_cstr(gcs->bucket),
                                  .user_agent = S3L_SPAN("s3lect/" S3LECT_VERSION_STRING),
                                  .origin = gcs->remote.origin,
                                  .proxy_authorization = gcs->remote.proxy_authorization};
  if (err == 0)
    err = s3l_signer_open(&gcs->signer) ? 0 : UV_ENOMEM;
  return err == 0 && c->remote.credentials == NULL ? open_creds(loop, gcs, c) : err;
}

int s3lect_store_gcs_init(uv_loop_t* loop, s3lect_store_t* store,
                          const s3lect_store_gcs_options_t* options, s3lect_error_t* error) {
  s3l_gcs_config_t config;
  s3l_error_clear(error);
  int err = s3l_gcs_configure(options, &config, error);
  gcs_t* gcs = err == 0 ? s3l_calloc(1, sizeof(*gcs)) : NULL;
  if (err == 0 && gcs == NULL)
    err = UV_ENOMEM;
  if (err == 0)
    err = open_parts(loop, gcs, &config);
  if (err == 0)
    err = s3l_remote_open(loop, store, &gcs->remote, &gcs_ops, &config.remote);
  if (err != 0 && gcs != NULL)
    s3l_remote_discard(&gcs->remote);
  s3l_wipe(&config.remote.proxy, sizeof(config.remote.proxy));
  return s3l_error_end(error, err);
}
