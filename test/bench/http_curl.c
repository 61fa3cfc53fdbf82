/* bench/http_curl.c: libcurl as one would use it in a libuv program: the multi interface with its
 * sockets on uv_poll and its time-outs on a uv_timer; easy handles and connections are used again,
 * headers and body are taken in callbacks. */
#include <stdio.h>

#include "bench/http.h"

#ifndef BENCH_CURL

bench_client_t* bench_curl_open(uv_loop_t* loop, const bench_server_t* server, const char* ca_file,
                                bench_curl_t kind, bool put) {
  (void)loop, (void)server, (void)put;
  if (ca_file == NULL && kind == BENCH_CURL_UNSIGNED)
    printf("libcurl: skipped (built without it: Debian's libcurl4-openssl-dev is missing)\n");
  return NULL;
}

#else

#  include <curl/curl.h>
#  include <string.h>
#  include <strings.h>

#  include "util/span.h"
#  include "wire/s3_request.h"

/* One connection; newer versions of libcurl have an event descriptor, too. */
#  define SOCKETS_MAX 4

typedef struct curl_client_s {
  bench_client_t client;
  uv_loop_t* loop;
  uv_timer_t timer;
  uv_poll_t polls[SOCKETS_MAX];
  curl_socket_t sockets[SOCKETS_MAX];
  size_t sockets_len;
  CURLM* multi;
  CURL* easy;
  struct curl_slist* headers;
  bench_curl_t kind;
  bool put;
  const char* ca_file;
  s3l_signer_t signer;
  char url[256];
  char head[4096];
  size_t head_len;
  char body[4096];
  size_t body_len;
  char sent[BENCH_RECORD_MAX]; /* put */
  size_t sent_len;
  unsigned writes;
  char etag[128]; /* "If-Match: ..." of the last put; empty before the first */
} curl_client_t;

static const char if_match[] = "If-Match: ";

static size_t keep(char* to, size_t* len, size_t cap, const char* data, size_t n) {
  bench_require(n <= cap - *len, "a reply of libcurl's is too long");
  memcpy(to + *len, data, n);
  *len += n;
  return n;
}

static size_t on_header(char* data, size_t size, size_t n, void* arg) {
  curl_client_t* c = arg;
  s3l_span_t line = {data, size * n};
  if (c->put && line.n > strlen("etag:\r\n") && strncasecmp(data, "etag:", 5) == 0) {
    s3l_span_t value = s3l_span_trim((s3l_span_t){data + 5, line.n - strlen("etag:\r\n")});
    snprintf(c->etag, sizeof(c->etag), "%s%.*s", if_match, (int)value.n, value.p);
  }
  return keep(c->head, &c->head_len, sizeof(c->head), data, line.n);
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
    bench_require(rc == CURLE_OK && status == 200 && (c->put || bench_is_record(c->body_len)),
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

static size_t find_socket(curl_client_t* c, curl_socket_t socket) {
  size_t i = 0;
  while (i < c->sockets_len && c->sockets[i] != socket)
    i++;
  if (i == c->sockets_len) {
    bench_require(i < SOCKETS_MAX && uv_poll_init_socket(c->loop, &c->polls[i], socket) == 0,
                  "cannot poll");
    c->polls[i].data = c;
    c->sockets[i] = socket;
    c->sockets_len++;
  }
  return i;
}

static int on_socket(CURL* easy, curl_socket_t socket, int what, void* arg, void* unused) {
  curl_client_t* c = arg;
  uv_poll_t* poll = &c->polls[find_socket(c, socket)];
  if (what == CURL_POLL_REMOVE)
    return uv_poll_stop(poll);
  int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
  return uv_poll_start(poll, events, on_poll);
}

static int on_timeout(CURLM* multi, long ms, void* arg) {
  curl_client_t* c = arg;
  if (ms < 0)
    return uv_timer_stop(&c->timer);
  return uv_timer_start(&c->timer, on_timer, (uint64_t)ms, 0);
}

static void add_header(curl_client_t* c, const char* line) {
  c->headers = curl_slist_append(c->headers, line);
  bench_require(c->headers != NULL, "no memory for a header");
}

/* The headers of a request of this library's. */
static void sign(curl_client_t* c) {
  char text[2048];
  size_t len = 0;
  uv_timeval64_t now;
  const char* host = strstr(c->url, "://") + 3;
  s3l_s3_target_t target = {.host = {host, strcspn(host, "/")},
                            .bucket = S3L_SPAN(BENCH_BUCKET),
                            .region = S3L_SPAN("us-east-1"),
                            .user_agent = S3L_SPAN("s3lect")};
  s3l_s3_keys_t keys = {.access_key = S3L_SPAN("test"), .secret = S3L_SPAN("testtest")};
  s3l_s3_request_t request = {.op = c->put ? S3L_S3_PUT : S3L_S3_GET,
                              .key = s3l_span_cstr(strstr(c->url, BENCH_BUCKET "/") + 6)};
  if (c->put)
    request.body = (s3l_span_t){c->sent, c->sent_len};
  if (c->etag[0] != '\0')
    request.if_match = s3l_span_cstr(c->etag + strlen(if_match));
  bench_require(uv_gettimeofday(&now) == 0 &&
                    s3l_s3_request_write(&c->signer, &target, &keys, &request, now.tv_sec * 1000,
                                         text, sizeof(text), &len) == 0,
                "cannot sign");
  char* line = strstr(text, "\r\n") + 2; /* after the request line */
  while (line[0] != '\r') {
    char* end = strstr(line, "\r\n");
    *end = '\0';
    add_header(c, line);
    line = end + 2;
  }
}

/* What libcurl wants to be given if it signs by itself: S3 demands the hash, and 7.88 does not add
 * it. */
static void prepare(curl_client_t* c) {
  char line[128] = "x-amz-content-sha256: ";
  s3l_span_t body = {c->sent, c->put ? c->sent_len : 0};
  bench_require(s3l_sha256_hex(&c->signer.engine, body, line + strlen(line)), "cannot hash");
  add_header(c, line);
  if (c->etag[0] != '\0')
    add_header(c, c->etag);
}

/* The headers of a put change each time; those of a get that libcurl signs do not. */
static void set_headers(curl_client_t* c) {
  if (c->kind == BENCH_CURL_UNSIGNED || (c->kind == BENCH_CURL_SIGNS && !c->put && c->headers))
    return;
  curl_slist_free_all(c->headers);
  c->headers = NULL;
  if (c->kind == BENCH_CURL_SIGNED)
    sign(c);
  else
    prepare(c);
  if (c->put)
    add_header(c, "Content-Type:"); /* else libcurl adds that of a form */
  curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

static void start(bench_client_t* client) {
  curl_client_t* c = (curl_client_t*)client;
  if (c->put) {
    c->sent_len = bench_record(c->sent, ++c->writes);
    curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE, (long)c->sent_len);
    curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->sent);
  }
  set_headers(c);
  c->head_len = c->body_len = 0;
  bench_require(curl_multi_add_handle(c->multi, c->easy) == CURLM_OK, "cannot add a handle");
}

static void close_client(bench_client_t* client) {
  curl_client_t* c = (curl_client_t*)client;
  curl_easy_cleanup(c->easy);
  curl_multi_cleanup(c->multi);
  curl_slist_free_all(c->headers);
  s3l_signer_close(&c->signer);
  uv_close((uv_handle_t*)&c->timer, NULL);
  for (size_t i = 0; i < c->sockets_len; i++)
    uv_close((uv_handle_t*)&c->polls[i], NULL);
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
  if (c->put)
    ok = ok && curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, "PUT") == CURLE_OK;
  if (c->kind == BENCH_CURL_SIGNS)
    ok = ok && curl_easy_setopt(c->easy, CURLOPT_AWS_SIGV4, "aws:amz:us-east-1:s3") == CURLE_OK &&
         curl_easy_setopt(c->easy, CURLOPT_USERPWD, "test:testtest") == CURLE_OK;
  bench_require(ok, "libcurl does not know an option");
}

bench_client_t* bench_curl_open(uv_loop_t* loop, const bench_server_t* server, const char* ca_file,
                                bench_curl_t kind, bool put) {
  static const char* const kinds[3] = {"", ", its own SigV4", ", our signature"};
  static struct {
    curl_client_t client;
    char name[64];
  } all[2][3][2], *slot;
  slot = &all[ca_file != NULL][kind][put];
  curl_client_t* c = &slot->client;
  bench_require(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "cannot init libcurl");
  snprintf(slot->name, sizeof(slot->name), "libcurl %s %s%s%s",
           kind == BENCH_CURL_UNSIGNED ? "unsigned" : "signed", put ? "PUT" : "GET", kinds[kind],
           ca_file != NULL ? ", TLS" : "");
  c->client = (bench_client_t){.name = slot->name, .start = start, .close = close_client};
  c->loop = loop;
  c->kind = kind;
  c->put = put;
  c->ca_file = ca_file;
  c->multi = curl_multi_init();
  c->easy = curl_easy_init();
  bench_require(c->multi != NULL && c->easy != NULL && s3l_signer_open(&c->signer) &&
                    uv_timer_init(loop, &c->timer) == 0,
                "cannot make a libcurl client");
  c->timer.data = c;
  /* A put has a key of its own, of the same length: nobody else changes its ETag. */
  snprintf(c->url, sizeof(c->url), "%s/" BENCH_BUCKET "/%s", server->url,
           !put                       ? BENCH_KEY
           : kind == BENCH_CURL_SIGNS ? "locks/curl1.json"
                                      : "locks/curl2.json");
  set_options(c);
  if (ca_file == NULL && kind == BENCH_CURL_UNSIGNED)
    printf("(%s)\n", curl_version());
  return &c->client;
}

#endif
