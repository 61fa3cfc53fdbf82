/* Replies of a store behind HTTP, errors and listings among them, up to the result that its user
 * sees.
 *
 * Input: the store (a digit; 0: S3, 1: Azure, 2: Google), the operation (a digit; 1 is a GET whose
 * reply has no body), a byte of flags (bit 0: an ETag was given; bit 1: small body limit; bit 2:
 * the listing begins after a key), then HTTP replies as the server sends them: the second and
 * further ones are for a listing that asks for another page. A reply that ends too early is judged
 * as such.
 */
#include <stdbool.h>
#include <uv.h>

#include "fuzz.h"
#include "s3lect/store_azure.h"
#include "s3lect/store_gcs.h"
#include "store/remote.h"
#include "wire/gcs_request.h"
#include "wire/http1_parse.h"

#define ENDPOINT    "http://127.0.0.1:9"
#define PREFIX      "lock-"
#define AFTER       PREFIX "1.json"
#define REPLY_MAX   4096
#define REQUEST_MAX 32768

enum { S3, AZURE, GCS, STORES };

static const char* const etags[STORES] = {"\"given\"", "\"0x8D1\"", "1234"};

/* ---- The result ---- */

static bool holds(s3l_span_t text, const char* word) {
  s3l_span_t w = s3l_span_cstr(word);
  for (; text.n >= w.n; s3l_span_skip(&text, 1)) {
    if (memcmp(text.p, word, w.n) == 0)
      return true;
  }
  return false;
}

static void check_entries(unsigned store, const s3lect_store_req_t* req,
                          const s3lect_store_result_t* r) {
  FUZZ_CHECK(r->entries_len == 0 || r->entries != NULL);
  FUZZ_CHECK(r->entries_len == 0 || req->op == S3LECT_OP_LIST);
  for (size_t i = 0; i < r->entries_len; i++) {
    const s3lect_store_entry_t* e = &r->entries[i];
    FUZZ_CHECK(e->key != NULL && strncmp(e->key, req->key, strlen(req->key)) == 0);
    FUZZ_CHECK(e->etag == NULL || strlen(e->etag) < SIZE_MAX);
    FUZZ_CHECK(store != AZURE || e->etag == NULL || e->etag[0] == '\0' || e->etag[0] == '"');
  }
  if (store != AZURE || r->status != 0 || req->op != S3LECT_OP_LIST)
    return; /* the others begin and end listings themselves */
  FUZZ_CHECK(r->entries_len <= req->max_keys && (r->entries_len > 0 || !r->truncated));
  if (req->after != NULL && r->entries_len > 0)
    FUZZ_CHECK(strcmp(r->entries[0].key, req->after) > 0);
}

/* A reply decides only what it says: absence, with the code that the store has for it. */
static void check_status(unsigned store, const s3lect_store_req_t* req,
                         const s3l_http_reply_t* reply, s3l_span_t text,
                         const s3lect_store_result_t* r) {
  bool writes = req->op == S3LECT_OP_PUT || req->op == S3LECT_OP_DEL;
  FUZZ_CHECK(r->status <= 0);
  FUZZ_CHECK(r->outcome >= S3LECT_SETTLED && r->outcome <= S3LECT_UNCERTAIN);
  FUZZ_CHECK(writes || r->outcome != S3LECT_UNCERTAIN);
  FUZZ_CHECK(r->status != 0 || r->outcome == S3LECT_SETTLED);
  FUZZ_CHECK(r->status != 0 || (reply->http_status >= 200 && reply->http_status <= 204));
  /* A write that went out is told to have had no effect only where the store said so. */
  FUZZ_CHECK(!(writes && r->outcome == S3LECT_NOT_APPLIED) || reply->http_status >= 300);
  if (r->status == S3LECT_ENOTFOUND && store != S3)
    FUZZ_CHECK(reply->http_status == 404 &&
               holds(text, store == AZURE ? "BlobNotFound" : "NoSuchKey"));
}

static void check_result(unsigned store, const s3lect_store_req_t* req,
                         const s3l_http_reply_t* reply, s3l_span_t text,
                         const s3lect_store_result_t* r) {
  uint32_t op = req->op;
  check_status(store, req, reply, text, r);
  if (r->status == 0 && (op == S3LECT_OP_GET || op == S3LECT_OP_PUT))
    FUZZ_CHECK(r->etag != NULL);
  if (r->status == S3LECT_ENOTMODIFIED)
    FUZZ_CHECK(r->etag == req->etag || (r->etag != NULL && r->etag[0] != '\0'));
  if (r->etag != NULL)
    FUZZ_CHECK(strlen(r->etag) < S3LECT_ETAG_SIZE && fuzz_is_line(r->etag));
  if (r->etag != NULL && store == GCS)
    FUZZ_CHECK(s3l_gcs_is_generation(s3l_span_cstr(r->etag)));
  if (r->status == 0 && op == S3LECT_OP_GET)
    FUZZ_CHECK(r->body != NULL && r->body_len == reply->body.n);
  FUZZ_CHECK(r->retry_after_ms <= 3600u * 1000);
  if (r->message != NULL)
    FUZZ_CHECK(fuzz_is_line(r->message));
  check_entries(store, req, r);
}

/* ---- The store, which never connects ---- */

static int open_store(uv_loop_t* loop, unsigned store, s3lect_store_t* out) {
  if (store == AZURE) {
    s3lect_store_azure_options_t o;
    s3lect_store_azure_options_init(&o, sizeof(o));
    o.account = "acct";
    o.container = "locks";
    o.endpoint = ENDPOINT;
    o.account_key = "a2V5";
    return s3lect_store_azure_init(loop, out, &o, NULL);
  }
  if (store == GCS) {
    s3lect_store_gcs_options_t o;
    s3lect_store_gcs_options_init(&o, sizeof(o));
    o.bucket = "locks";
    o.endpoint = ENDPOINT;
    o.access_key_id = o.secret_access_key = "test";
    return s3lect_store_gcs_init(loop, out, &o, NULL);
  }
  s3lect_store_s3_options_t o;
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = "locks";
  o.endpoint = ENDPOINT;
  o.region = "us-east-1";
  o.access_key_id = o.secret_access_key = "test";
  return s3lect_store_s3_init(loop, out, &o, NULL);
}

static void write_request(s3l_remote_t* remote, s3l_remote_req_t* rr, char* buf) {
  const s3lect_store_req_t* req = rr->req;
  s3l_s3_request_t request = {.op = (s3l_s3_op_t)req->op, .key = s3l_span_cstr(req->key)};
  const s3l_s3_keys_t keys = {.access_key = S3L_SPAN("acct"), .secret = S3L_SPAN("a2V5")};
  size_t len;
  if (req->condition == S3LECT_IF_MATCH)
    request.if_match = s3l_span_cstr(req->etag);
  if (req->condition == S3LECT_IF_CHANGED)
    request.if_none_match = s3l_span_cstr(req->etag);
  request.after = s3l_span_cstr(req->after);
  request.max_keys = req->max_keys;
  FUZZ_CHECK(remote->dialect->write(remote, rr, &keys, &request, INT64_C(1700000000000), buf,
                                    REQUEST_MAX, &len) == 0);
}

/* Takes one reply off the text. */
static s3l_http_reply_t take_reply(s3l_http1_t* p, bool head, s3l_span_t* text) {
  size_t used = 0;
  s3l_http1_start_reply(p, head, REPLY_MAX);
  int rc = s3l_http1_feed(p, text->p, text->n, &used);
  s3l_span_skip(text, rc == S3L_HTTP1_DONE ? used : text->n);
  if (rc == S3L_HTTP1_MORE)
    rc = s3l_http1_begun(p) ? s3l_http1_eof(p) : UV_EOF;
  return (s3l_http_reply_t){.status = rc == S3L_HTTP1_DONE ? 0 : rc,
                            .sent = true,
                            .http_status = p->status,
                            .headers = p->headers,
                            .headers_len = p->headers_len,
                            .body = {p->body_len > 0 ? p->body : "", p->body_len},
                            .message = rc == S3L_HTTP1_DONE ? NULL : "cut off"};
}

static void run(unsigned store, s3l_remote_t* remote, s3lect_store_req_t* req, bool head,
                s3l_span_t text) {
  static s3l_http1_t p; /* large */
  static char head_text[S3L_HTTP1_HEAD_MAX], request[REQUEST_MAX];
  s3l_remote_req_t* rr = S3L_STORE_REQ_STATE(req, s3l_remote_req_t);
  s3l_http_reply_t reply;
  s3lect_store_result_t r;
  s3l_span_t all = text;
  rr->req = req;
  s3l_http1_init(&p, head_text, sizeof(head_text));
  do {
    write_request(remote, rr, request);
    reply = take_reply(&p, head, &text);
    r = s3l_remote_result(remote, rr, &reply);
    FUZZ_CHECK(r.status != S3L_REMOTE_MORE || (store == AZURE && req->op == S3LECT_OP_LIST));
  } while (r.status == S3L_REMOTE_MORE && text.n > 0);
  if (r.status == S3L_REMOTE_MORE)
    r.status = UV_ETIMEDOUT;
  if (remote->dialect->end != NULL)
    remote->dialect->end(remote, rr, &r);
  check_result(store, req, &reply, all, &r);
  s3l_http1_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const uint32_t ops[] = {S3LECT_OP_GET, S3LECT_OP_GET, S3LECT_OP_PUT, S3LECT_OP_DEL,
                                 S3LECT_OP_LIST};
  fuzz_input_t in = {data, size};
  s3lect_store_req_t req = {.key = PREFIX, .max_keys = 3};
  static uv_loop_t loop; /* open for good: that takes longer than all else */
  static bool begun;
  s3lect_store_t opened;
  unsigned store = fuzz_choice(&in, STORES);
  unsigned choice = fuzz_choice(&in, 5);
  uint8_t flags = fuzz_u8(&in);
  req.op = ops[choice];
  if ((flags & 1) != 0 && req.op != S3LECT_OP_LIST) {
    req.etag = etags[store];
    req.condition = req.op == S3LECT_OP_GET ? S3LECT_IF_CHANGED : S3LECT_IF_MATCH;
  }
  req.body_max = flags & 2 ? 8 : 0;
  if ((flags & 4) != 0 && req.op == S3LECT_OP_LIST)
    req.after = AFTER;
  if (!begun)
    begun = uv_loop_init(&loop) == 0;
  FUZZ_CHECK(begun && open_store(&loop, store, &opened) == 0);
  run(store, opened.internal, &req, choice == 1, fuzz_rest(&in));
  s3lect_store_close(&opened, NULL);
  FUZZ_CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
  return 0;
}
