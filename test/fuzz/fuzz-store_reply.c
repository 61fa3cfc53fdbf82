/* Replies of a store, errors and listings among them, up to the result that its user sees.
 *
 * Input: the operation (a digit; 1 is a GET whose reply has no body), a byte of flags (bit 0: an
 * ETag was given; bit 1: small body limit), then an HTTP reply as the server sends it; one that
 * ends too early is judged as such. */
#include <uv.h>

#include "fuzz.h"
#include "store/s3/result.h"
#include "wire/http1_parse.h"

static void check_entries(const s3lect_store_result_t* r) {
  FUZZ_CHECK((r->entries != NULL) == (r->entries_len > 0));
  for (size_t i = 0; i < r->entries_len; i++) {
    const s3lect_store_entry_t* e = &r->entries[i];
    FUZZ_CHECK(e->key != NULL);
    FUZZ_CHECK(strlen(e->key) < SIZE_MAX && (e->etag == NULL || strlen(e->etag) < SIZE_MAX));
  }
}

static void check_result(const s3lect_store_req_t* req, const s3l_http_reply_t* reply,
                         const s3lect_store_result_t* r) {
  uint32_t op = req->op;
  bool writes = op == S3LECT_OP_PUT || op == S3LECT_OP_DEL;
  FUZZ_CHECK(r->status <= 0);
  FUZZ_CHECK(r->outcome >= S3LECT_SETTLED && r->outcome <= S3LECT_UNCERTAIN);
  FUZZ_CHECK(writes || r->outcome != S3LECT_UNCERTAIN);
  FUZZ_CHECK(r->status != 0 || r->outcome == S3LECT_SETTLED);
  /* A write that went out is told to have had no effect only where the store said so. */
  FUZZ_CHECK(!(writes && r->outcome == S3LECT_NOT_APPLIED) || reply->http_status >= 300);
  if (r->status == 0 && (op == S3LECT_OP_GET || op == S3LECT_OP_PUT))
    FUZZ_CHECK(r->etag != NULL);
  if (r->status == S3LECT_ENOTMODIFIED)
    FUZZ_CHECK(r->etag == req->etag || (r->etag != NULL && r->etag[0] != '\0'));
  if (r->etag != NULL)
    FUZZ_CHECK(strlen(r->etag) < S3LECT_ETAG_SIZE && fuzz_is_line(r->etag));
  if (r->status == 0 && op == S3LECT_OP_GET)
    FUZZ_CHECK(r->body != NULL && r->body_len == reply->body.n);
  FUZZ_CHECK(r->retry_after_ms <= 3600u * 1000);
  if (r->message != NULL)
    FUZZ_CHECK(fuzz_is_line(r->message));
  check_entries(r);
}

static void read_reply(s3l_remote_t* remote, s3l_remote_req_t* rr, const s3l_http_reply_t* reply,
                       s3lect_store_result_t* r) {
  char named[S3L_S3_REGION_MAX];
  s3l_s3_read(remote, rr, reply, S3L_SPAN("us-east-1"), named, r);
  FUZZ_CHECK(strlen(named) < sizeof(named) && fuzz_is_line(named));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static s3l_http1_t p; /* large */
  static char head[S3L_HTTP1_HEAD_MAX];
  static const uint32_t ops[] = {S3LECT_OP_GET, S3LECT_OP_GET, S3LECT_OP_PUT, S3LECT_OP_DEL,
                                 S3LECT_OP_LIST};
  static const s3l_remote_dialect_t dialect = {
      .etag_header = "etag", .read = read_reply, .list = s3l_s3_list};
  static s3l_remote_t remote = {.dialect = &dialect};
  fuzz_input_t in = {data, size};
  s3lect_store_req_t req = {.key = "k"};
  size_t used;
  unsigned choice = fuzz_choice(&in, 5);
  s3l_remote_req_t rr = {.req = &req};
  req.op = ops[choice];
  uint8_t flags = fuzz_u8(&in);
  if (flags & 1)
    req.etag = "\"given\"";
  req.body_max = flags & 2 ? 8 : 0;
  s3l_http1_init(&p, head, sizeof head);
  s3l_http1_start_reply(&p, choice == 1, 4096);
  s3l_span_t text = fuzz_rest(&in);
  int rc = s3l_http1_feed(&p, text.p, text.n, &used);
  if (rc == S3L_HTTP1_MORE)
    rc = s3l_http1_begun(&p) ? s3l_http1_eof(&p) : UV_EOF;
  s3l_http_reply_t reply = {.status = rc == S3L_HTTP1_DONE ? 0 : rc,
                            .sent = true,
                            .http_status = p.status,
                            .headers = p.headers,
                            .headers_len = p.headers_len,
                            .body = {p.body_len > 0 ? p.body : "", p.body_len},
                            .message = rc == S3L_HTTP1_DONE ? NULL : "cut off"};
  s3lect_store_result_t r = s3l_remote_result(&remote, &rr, &reply);
  check_result(&req, &reply, &r);
  s3l_remote_scratch_free(&remote.scratch);
  s3l_http1_free(&p);
  return 0;
}
