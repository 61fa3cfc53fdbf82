/* bench/http_curl.c: libcurl as one would use it in a libuv program: the multi interface with its
 * sockets on uv_poll and its time-outs on a uv_timer; easy handles and connections are used again,
 * headers and body are taken in callbacks. */
#include <stdio.h>

#include "bench/http.h"

#ifndef BENCH_CURL

bench_client_t* bench_curl_open(uv_loop_t* loop, const bench_server_t* server, const char* ca_file,
                                bench_curl_t kind, size_t body_len) {
  (void)loop, (void)server, (void)body_len;
  if (ca_file == NULL && kind == BENCH_CURL_UNSIGNED)
    printf("libcurl: skipped (built without it: Debian's libcurl4-openssl-dev is missing)\n");
  return NULL;
}

#else

#  include <curl/curl.h>
#  include <string.h>

#  include "util/span.h"
#  include "wire/s3_request.h"

typedef struct curl_client_s {
  bench_client_t client;
  uv_loop_t* loop;
  uv_timer_t timer;
  uv_poll_t poll;
  bool polling;
  CURLM* multi;
  CURL* easy;
  struct curl_slist* headers;
  bench_curl_t kind;
  const char* ca_file;
  s3l_signer_t signer;
  char url[256];
  char head[4096];
  size_t head_len;
  char body[4096];
  size_t body_len;
  size_t body_expected;
} curl_client_t;

static size_t keep(char* to, size_t* len, size_t cap, const char* data, size_t n) {
  bench_require(n <= cap - *len, "a reply of libcurl's is too long");
  memcpy(to + *len, data, n);
  *len += n;
  return n;
}

static size_t on_header(char* data, size_t size, size_t n, void* arg) {
  curl_client_t* c = arg;
  return keep(c->head, &c->head_len, sizeof(c->head), data, size * n);
}

static size_t on_body(char* data, size_t size, size_t n, void* arg) {
  curl_client_t* c = arg;
  return keep(c->body, &c->body_len, sizeof(c->body), data, size * n);
}

static void take_results(curl_client_t* c) {
  CURLMsg* msg;
  int left;
  while ((msg = curl_multi_info_read(c->multi, &left)) != NULL) {
    long status = 0;
    if (msg->msg != CURLMSG_DONE)
      continue;
    CURLcode rc = msg->data.result;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    bench_require(rc == CURLE_OK && status == 200 && c->body_len >= c->body_expected,
                  "libcurl's request failed");
    curl_multi_remove_handle(c->multi, c->easy);
    c->client.pending = false;
  }
}

static void act(curl_client_t* c, curl_socket_t socket, int flags) {
  int running;
  curl_multi_socket_action(c->multi, socket, flags, &running);
  take_results(c);
}

static void on_poll(uv_poll_t* poll, int status, int events) {
  curl_client_t* c = poll->data;
  uv_os_fd_t fd = -1;
  int flags =
      (events & UV_READABLE ? CURL_CSELECT_IN : 0) | (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
  bench_require(status == 0 && uv_fileno((uv_handle_t*)poll, &fd) == 0, "poll failed");
  act(c, fd, flags);
}

static void on_timer(uv_timer_t* timer) {
  act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* One connection at a time is all that there is. */
static int on_socket(CURL* easy, curl_socket_t socket, int what, void* arg, void* unused) {
  curl_client_t* c = arg;
  if (what == CURL_POLL_REMOVE) {
    if (c->polling)
      uv_poll_stop(&c->poll);
    return 0;
  }
  if (!c->polling) {
    bench_require(uv_poll_init_socket(c->loop, &c->poll, socket) == 0, "cannot poll");
    c->polling = true;
    c->poll.data = c;
  }
  int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
  return uv_poll_start(&c->poll, events, on_poll);
}

static int on_timeout(CURLM* multi, long ms, void* arg) {
  curl_client_t* c = arg;
  if (ms < 0)
    return uv_timer_stop(&c->timer);
  return uv_timer_start(&c->timer, on_timer, (uint64_t)ms, 0);
}

/* The headers of a request of this library's. */
static void sign(curl_client_t* c) {
  char head[2048];
  size_t len = 0;
  uv_timeval64_t now;
  const char* host = strstr(c->url, "://") + 3;
  s3l_s3_target_t target = {.host = {host, strcspn(host, "/")},
                            .bucket = S3L_SPAN(BENCH_BUCKET),
                            .region = S3L_SPAN("us-east-1"),
                            .user_agent = S3L_SPAN("s3lect")};
  s3l_s3_keys_t keys = {.access_key = S3L_SPAN("test"), .secret = S3L_SPAN("testtest")};
  s3l_s3_request_t request = {.op = S3L_S3_GET, .key = S3L_SPAN(BENCH_KEY)};
  bench_require(uv_gettimeofday(&now) == 0 &&
                    s3l_s3_request_write(&c->signer, &target, &keys, &request, now.tv_sec * 1000,
                                         head, sizeof(head), &len) == 0,
                "cannot sign");
  curl_slist_free_all(c->headers);
  c->headers = NULL;
  s3l_span_t rest = {head, len};
  for (size_t n = 0; rest.n > 2; n++) {
    char* end = memmem(rest.p, rest.n, "\r\n", 2);
    *end = '\0';
    if (n > 0)
      c->headers = curl_slist_append(c->headers, rest.p);
    s3l_span_t line = {rest.p, (size_t)(end - rest.p) + 2};
    rest = (s3l_span_t){rest.p + line.n, rest.n - line.n};
  }
  curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

static void start(bench_client_t* client) {
  curl_client_t* c = (curl_client_t*)client;
  if (c->kind == BENCH_CURL_SIGNED)
    sign(c);
  c->head_len = c->body_len = 0;
  bench_require(curl_multi_add_handle(c->multi, c->easy) == CURLM_OK, "cannot add a handle");
}

static void on_poll_closed(uv_handle_t* handle) {
  curl_client_t* c = handle->data;
  curl_multi_cleanup(c->multi);
  curl_slist_free_all(c->headers);
  if (c->kind == BENCH_CURL_SIGNED)
    s3l_signer_close(&c->signer);
}

static void close_client(bench_client_t* client) {
  curl_client_t* c = (curl_client_t*)client;
  curl_easy_cleanup(c->easy);
  uv_close((uv_handle_t*)&c->timer, NULL);
  uv_close((uv_handle_t*)&c->poll, on_poll_closed);
}

static void set_options(curl_client_t* c) {
  bool ok = curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
            curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c) == CURLM_OK &&
            curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timeout) == CURLM_OK &&
            curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c) == CURLM_OK &&
            curl_easy_setopt(c->easy, CURLOPT_URL, c->url) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, 60000L) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c) == CURLE_OK;
  if (c->ca_file != NULL)
    ok = ok && curl_easy_setopt(c->easy, CURLOPT_CAINFO, c->ca_file) == CURLE_OK;
  if (c->kind == BENCH_CURL_SIGNED)
    ok = ok && s3l_signer_open(&c->signer);
  if (ok && c->kind == BENCH_CURL_SIGNS) {
    /* S3 wants it, and this libcurl does not add it by itself. */
    c->headers = curl_slist_append(NULL, "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427"
                                         "ae41e4649b934ca495991b7852b855");
    ok = curl_easy_setopt(c->easy, CURLOPT_AWS_SIGV4, "aws:amz:us-east-1:s3") == CURLE_OK &&
         curl_easy_setopt(c->easy, CURLOPT_USERPWD, "test:testtest") == CURLE_OK &&
         curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers) == CURLE_OK;
  }
  bench_require(ok, "libcurl does not know an option");
}

bench_client_t* bench_curl_open(uv_loop_t* loop, const bench_server_t* server, const char* ca_file,
                                bench_curl_t kind, size_t body_len) {
  static const char* const names[2][3] = {
      {"libcurl unsigned GET", "libcurl signed GET, its own SigV4",
       "libcurl signed GET, our signature"},
      {"libcurl unsigned GET, TLS", "libcurl signed GET, its own SigV4, TLS",
       "libcurl signed GET, our signature, TLS"}};
  static curl_client_t clients[2][3];
  curl_client_t* c = &clients[ca_file != NULL][kind];
  bench_require(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "cannot init libcurl");
  c->client =
      (bench_client_t){.name = names[ca_file != NULL][kind], .start = start, .close = close_client};
  c->loop = loop;
  c->kind = kind;
  c->ca_file = ca_file;
  c->body_expected = body_len;
  c->multi = curl_multi_init();
  c->easy = curl_easy_init();
  bench_require(c->multi != NULL && c->easy != NULL && uv_timer_init(loop, &c->timer) == 0,
                "cannot make a libcurl client");
  c->timer.data = c;
  snprintf(c->url, sizeof(c->url), "%s/" BENCH_BUCKET "/" BENCH_KEY, server->url);
  set_options(c);
  if (ca_file == NULL && kind == BENCH_CURL_UNSIGNED)
    printf("(%s)\n", curl_version());
  return &c->client;
}

#endif
