/* Listings of Azure's store while keys come and go: each shows the keys that there are, wherever
 * the service ends its pages.
 *
 * Input: a digit for what a marker names (0: the last key that was listed; 1: the next one), then
 * commands of two digits: "p" and a key creates it; "d" and a key deletes it; "l", a key to begin
 * after ("-": none) and a digit for the number of keys lists. Behind each "l" stand the lengths of
 * the pages, a digit each, up to a line end; then 3. */
#include <stdio.h>
#include <uv.h>

#include "fuzz.h"
#include "s3lect/store_azure.h"
#include "store/remote.h"

#define REQUEST_MAX 32768
#define PAGES_MAX   100

enum { KEYS = 10 };

typedef struct service_s {
  bool there[KEYS];
  bool names_next;
  char body[4096];
} service_t;

static int find(const char* text, const char* name) {
  const char* at = strstr(text, name);
  return at != NULL ? at[strlen(name)] - '0' : -1;
}

static int next_key(const service_t* s, int from) {
  while (from < KEYS && !s->there[from])
    from++;
  return from;
}

/* One page of at most `most` keys, from the marker in the request. */
static s3l_http_reply_t answer(service_t* s, const char* request, unsigned most) {
  static const s3l_http_header_t none;
  int marker = find(request, "marker=m");
  int at = next_key(s, marker < 0 ? 0 : s->names_next ? marker : marker + 1);
  int last = at - 1;
  size_t n = (size_t)snprintf(s->body, sizeof(s->body), "<EnumerationResults><Blobs>");
  if (most == 0 && !s->names_next && last < 0)
    most = 1; /* no key to name */
  for (; at < KEYS && most > 0; most--) {
    n += (size_t)snprintf(s->body + n, sizeof(s->body) - n,
                          "<Blob><Name>k%d</Name><Etag>0x%d</Etag></Blob>", at, at);
    last = at;
    at = next_key(s, at + 1);
  }
  n += (size_t)snprintf(s->body + n, sizeof(s->body) - n, "</Blobs>");
  if (at < KEYS)
    n += (size_t)snprintf(s->body + n, sizeof(s->body) - n, "<NextMarker>m%d</NextMarker>",
                          s->names_next ? at : last);
  n += (size_t)snprintf(s->body + n, sizeof(s->body) - n, "</EnumerationResults>");
  return (s3l_http_reply_t){
      .http_status = 200, .sent = true, .headers = &none, .body = {s->body, n}};
}

static void check(const service_t* s, const s3lect_store_req_t* req,
                  const s3lect_store_result_t* r) {
  int key = next_key(s, req->after != NULL ? req->after[1] - '0' + 1 : 0);
  FUZZ_CHECK(r->entries_len <= req->max_keys);
  for (size_t i = 0; i < r->entries_len; i++) {
    FUZZ_CHECK(key < KEYS && r->entries[i].key[1] - '0' == key);
    key = next_key(s, key + 1);
  }
  FUZZ_CHECK((r->truncated != 0) == (key < KEYS));
  FUZZ_CHECK(r->truncated == 0 || r->entries_len > 0);
}

static void list(service_t* s, s3l_remote_t* remote, const char* after, unsigned max,
                 s3l_span_t lengths) {
  static char buf[REQUEST_MAX];
  const s3l_s3_keys_t keys = {.access_key = S3L_SPAN("acct"), .secret = S3L_SPAN("a2V5")};
  s3lect_store_req_t req = {.op = S3LECT_OP_LIST, .key = "k", .after = after, .max_keys = max};
  s3l_remote_req_t* rr = S3L_STORE_REQ_STATE(&req, s3l_remote_req_t);
  s3lect_store_result_t r;
  size_t len, page = 0;
  rr->req = &req;
  do {
    s3l_s3_request_t request = {.op = S3L_S3_LIST,
                                .key = s3l_span_cstr(req.key),
                                .after = s3l_span_cstr(after),
                                .max_keys = max};
    FUZZ_CHECK(remote->dialect->write(remote, rr, &keys, &request, INT64_C(1700000000000), buf,
                                      sizeof(buf) - 1, &len) == 0);
    buf[len] = '\0';
    FUZZ_CHECK(page == 0 || find(buf, "marker=m") >= 0); /* it goes on */
    unsigned most = page < lengths.n ? (unsigned)(uint8_t)(lengths.p[page] - '0') % KEYS : 3;
    unsigned asked = (unsigned)find(buf, "maxresults=");
    s3l_http_reply_t reply = answer(s, buf, after == NULL && most > asked ? asked : most);
    r = s3l_remote_result(remote, rr, &reply);
    FUZZ_CHECK(page++ < PAGES_MAX + lengths.n); /* it ends */
  } while (r.status == S3L_REMOTE_MORE);
  FUZZ_CHECK(r.status == 0);
  remote->dialect->end(remote, rr, &r);
  check(s, &req, &r);
}

static void run(fuzz_input_t* in, s3l_remote_t* remote) {
  service_t s = {.names_next = fuzz_choice(in, 2) == 1};
  while (in->n > 0) {
    char after[] = "k0";
    uint8_t command = fuzz_u8(in);
    bool from_start = in->n > 0 && *in->p == '-';
    unsigned key = fuzz_choice(in, KEYS);
    after[1] = (char)('0' + key);
    if (command == 'p' || command == 'd')
      s.there[key] = command == 'p';
    if (command != 'l')
      continue;
    unsigned max = fuzz_choice(in, KEYS);
    list(&s, remote, from_start ? NULL : after, max > 0 ? max : 1, fuzz_line(in));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_input_t in = {data, size};
  static uv_loop_t loop; /* open for good: that takes longer than all else */
  static bool opened;
  s3lect_store_t store;
  s3lect_store_azure_options_t o;
  s3lect_store_azure_options_init(&o, sizeof(o));
  o.account = "acct";
  o.container = "locks";
  o.endpoint = "http://127.0.0.1:9";
  o.account_key = "a2V5";
  if (!opened)
    opened = uv_loop_init(&loop) == 0;
  FUZZ_CHECK(opened && s3lect_store_azure_init(&loop, &store, &o, NULL) == 0);
  run(&in, store.internal);
  s3lect_store_close(&store, NULL);
  FUZZ_CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
  return 0;
}
