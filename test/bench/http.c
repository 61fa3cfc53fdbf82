/* bench/http.c: what one request over a warm connection costs, in this library and in libcurl,
 * over plain HTTP and over TLS.
 *
 * Each request is one region of code that valgrind's callgrind counts and dumps under the client's
 * name: from the call that starts it until its reply has been handed over, everything that the loop
 * does for it included. Between requests the wall clock moves on to the next second, as it does
 * between two renewals, so that nothing is saved that a time stamp repeats. Without valgrind many
 * requests are run in a row instead, in three rounds, and their CPU time is printed. */
#include "bench/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "s3lect/version.h"
#include "util/span.h"

#if __has_include(<valgrind/callgrind.h>)
#  include <valgrind/callgrind.h>
#else
#  define CALLGRIND_START_INSTRUMENTATION
#  define CALLGRIND_STOP_INSTRUMENTATION
#  define CALLGRIND_DUMP_STATS_AT(name) ((void)(name))
#  define RUNNING_ON_VALGRIND           0
#endif

static const char record[] =
    "{\"leaderID\":\"server-001\",\"leaderAddr\":\"10.0.1.42:8443\",\"lastUpdated\":\"2024-10-"
    "27T10:"
    "30:45Z\",\"epoch\":1730025045123,\"incarnation\":\"0123456789abcdef0123456789abcdef\","
    "\"write\":17,\"leaderTimeoutMs\":15000,\"renewIntervalMs\":5000,\"acquired\":\"2024-10-27T10:"
    "12:00Z\",\"transitions\":4}";

size_t bench_record(char buf[BENCH_RECORD_MAX], unsigned writes) {
  int n =
      snprintf(buf, BENCH_RECORD_MAX, "%.*s%u}", (int)sizeof(record) - 3, record, 1000 + writes);
  return (size_t)n;
}

bool bench_is_record(size_t len) {
  return len >= sizeof(record) - 1;
}

/* ---- This library: the S3 store, signed ---- */

typedef struct store_client_s {
  bench_client_t client;
  s3lect_store_t store;
  s3lect_store_req_t req;
  unsigned writes;
  char etag[128];
  char body[BENCH_RECORD_MAX];
} store_client_t;

static void on_store_done(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  store_client_t* c = req->data;
  bench_require(r->status == 0, "our request failed");
  if (req->body == NULL)
    bench_require(bench_is_record(r->body_len), "our reply has the wrong body");
  bench_require(s3l_span_copy(s3l_span_cstr(r->etag), c->etag, sizeof(c->etag)), "a long ETag");
  c->client.pending = false;
}

static void store_get(bench_client_t* client) {
  store_client_t* c = (store_client_t*)client;
  c->req.body = NULL;
  c->req.body_len = 0;
  c->req.condition = S3LECT_ALWAYS;
  bench_require(s3lect_store_get(&c->store, &c->req) == 0, "cannot get");
}

/* A renewal: the record with its write number counted on, If-Match on the ETag of the last. */
static void store_put(bench_client_t* client) {
  store_client_t* c = (store_client_t*)client;
  c->req.body = c->body;
  c->req.body_len = bench_record(c->body, ++c->writes);
  c->req.condition = c->etag[0] != '\0' ? S3LECT_IF_MATCH : S3LECT_ALWAYS;
  c->req.etag = c->etag;
  bench_require(s3lect_store_put(&c->store, &c->req) == 0, "cannot put");
}

static void store_close(bench_client_t* client) {
  s3lect_store_close(&((store_client_t*)client)->store, NULL);
}

static bench_client_t* open_store(uv_loop_t* loop, const bench_server_t* server,
                                  const char* ca_file, bool put) {
  static const char* const names[2][2] = {{"s3lect signed GET", "s3lect signed PUT"},
                                          {"s3lect signed GET, TLS", "s3lect signed PUT, TLS"}};
  static store_client_t clients[2][2];
  store_client_t* c = &clients[ca_file != NULL][put];
  c->client.name = names[ca_file != NULL][put];
  c->client.start = put ? store_put : store_get;
  c->client.close = store_close;
  c->req.data = c;
  c->req.key = BENCH_KEY;
  c->req.timeout_ms = 60000; /* valgrind is slow */
  c->req.cb = on_store_done;
  bench_store_open(loop, &c->store, server, ca_file, 1);
  return &c->client;
}

/* ---- This library: the HTTP client, unsigned ---- */

typedef struct plain_client_s {
  bench_client_t client;
  s3l_http_client_t* http;
  s3l_http_req_t req;
  char head[512];
  size_t head_len;
} plain_client_t;

static ssize_t compose(s3l_http_req_t* req, char* buf, size_t cap) {
  plain_client_t* c = req->data;
  bench_require(cap >= c->head_len, "no room for a request");
  memcpy(buf, c->head, c->head_len);
  return (ssize_t)c->head_len;
}

static void on_plain_done(s3l_http_req_t* req, const s3l_http_reply_t* reply) {
  plain_client_t* c = req->data;
  bench_require(reply->status == 0 && reply->http_status == 200, "our request failed");
  bench_require(bench_is_record(reply->body.n), "our reply has the wrong body");
  c->client.pending = false;
}

static void plain_get(bench_client_t* client) {
  plain_client_t* c = (plain_client_t*)client;
  bench_require(s3l_http_client_submit(c->http, &c->req) == 0, "cannot submit");
}

static void plain_close(bench_client_t* client) {
  s3l_http_client_close(((plain_client_t*)client)->http, NULL, NULL);
}

static bench_client_t* open_plain(uv_loop_t* loop, const bench_server_t* server) {
  static plain_client_t c;
  unsigned port;
  bench_require(sscanf(server->url, "http://127.0.0.1:%u", &port) == 1, "odd server URL");
  c.client =
      (bench_client_t){.name = "s3lect unsigned GET", .start = plain_get, .close = plain_close};
  int n = snprintf(c.head, sizeof(c.head),
                   "GET /" BENCH_BUCKET "/" BENCH_KEY " HTTP/1.1\r\nhost: 127.0.0.1:%u\r\n"
                   "user-agent: s3lect/" S3LECT_VERSION_STRING "\r\naccept: */*\r\n\r\n",
                   port);
  c.head_len = (size_t)n;
  c.req = (s3l_http_req_t){
      .data = &c, .compose = compose, .done = on_plain_done, .body_max = 65536, .replayable = true};
  c.req.until_ns = s3l_clock_in_ms(3600000); /* once, as libcurl's time-out is set */
  s3l_http_client_options_t o = {
      .host = "127.0.0.1", .port = (uint16_t)port, .connect_timeout_ms = 60000};
  bench_require(s3l_http_client_create(loop, &o, &c.http) == 0, "cannot make a client");
  return &c.client;
}

/* ---- Measuring ---- */

static void run_one(uv_loop_t* loop, bench_client_t* c) {
  c->pending = true;
  c->start(c);
  while (c->pending)
    uv_run(loop, UV_RUN_ONCE);
}

static void on_second(uv_timer_t* timer) {
  *(bool*)timer->data = true;
}

static void wait_for_next_second(uv_loop_t* loop) {
  uv_timer_t timer;
  uv_timeval64_t now;
  bool come = false;
  bench_require(uv_timer_init(loop, &timer) == 0 && uv_gettimeofday(&now) == 0, "no clock");
  timer.data = &come;
  uv_update_time(loop);
  uv_timer_start(&timer, on_second, 1001 - (uint64_t)now.tv_usec / 1000, 0);
  while (!come)
    uv_run(loop, UV_RUN_ONCE);
  uv_close((uv_handle_t*)&timer, NULL);
  uv_run(loop, UV_RUN_NOWAIT);
}

static void warm(uv_loop_t* loop, bench_client_t* c) {
  for (int i = 0; i < 3; i++) /* connection, signing key, buffers */
    run_one(loop, c);
}

static void measure_one_by_one(uv_loop_t* loop, bench_client_t* c, unsigned runs) {
  for (unsigned i = 0; i < runs; i++) {
    wait_for_next_second(loop);
    CALLGRIND_START_INSTRUMENTATION;
    run_one(loop, c);
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS_AT(c->name);
  }
}

static double cpu_us(void) {
  struct rusage u;
  bench_require(getrusage(RUSAGE_SELF, &u) == 0, "no CPU time");
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void measure_many(uv_loop_t* loop, bench_client_t* c, unsigned requests) {
  printf("  %-40s", c->name);
  for (int round = 0; round < 3; round++) {
    double before_us = cpu_us();
    for (unsigned i = 0; i < requests; i++)
      run_one(loop, c);
    printf(" %8.1f", (cpu_us() - before_us) / requests);
  }
  printf(" us\n");
}

static size_t open_clients(uv_loop_t* loop, const bench_server_t* server, const char* ca_file,
                           bench_client_t** clients) {
  size_t n = 0;
  clients[n++] = open_store(loop, server, ca_file, true); /* puts what the others get */
  clients[n++] = open_store(loop, server, ca_file, false);
  if (ca_file == NULL)
    clients[n++] = open_plain(loop, server);
  for (bench_curl_t kind = BENCH_CURL_UNSIGNED; kind <= BENCH_CURL_SIGNED; kind++) {
    for (int put = 0; put <= (kind != BENCH_CURL_UNSIGNED); put++) {
      bench_client_t* curl = bench_curl_open(loop, server, ca_file, kind, put);
      if (curl != NULL)
        clients[n++] = curl;
    }
  }
  return n;
}

int bench_http(const bench_options_t* o) {
  char dir[] = "/tmp/s3lect-bench-XXXXXX";
  char ca[sizeof(dir) + 16];
  bench_client_t* clients[16];
  bench_server_t plain, tls;
  uv_loop_t loop;
  bench_require(mkdtemp(dir) != NULL, "cannot make a directory");
  snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
  const char* const options[] = {"--buckets",  BENCH_BUCKET, "--anonymous-reads",
                                 "--tls-self", dir,          NULL};
  bench_server_start(&tls, options);
  bench_server_start(&plain, (const char* const[]){options[0], options[1], options[2], NULL});
  bench_require(uv_loop_init(&loop) == 0, "cannot make a loop");
  size_t n = open_clients(&loop, &plain, NULL, clients);
  n += open_clients(&loop, &tls, ca, clients + n);
  for (size_t i = 0; i < n; i++) {
    warm(&loop, clients[i]);
    if (RUNNING_ON_VALGRIND)
      measure_one_by_one(&loop, clients[i], o->runs);
    else
      measure_many(&loop, clients[i], o->runs * 1000);
  }
  for (size_t i = 0; i < n; i++)
    clients[i]->close(clients[i]);
  uv_run(&loop, UV_RUN_DEFAULT);
  bench_require(uv_loop_close(&loop) == 0, "the loop has handles left");
  bench_server_stop(&plain);
  bench_server_stop(&tls);
  (void)unlink(ca);
  (void)rmdir(dir);
  return 0;
}
