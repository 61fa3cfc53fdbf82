/* The HTTP client where all goes well: reuse, framing, queueing, closing. */
#include <stdlib.h>
#include <string.h>

#include "lib/http_rig.h"
#include "lib/test.h"
#include "util/mem.h"

static void assert_ok(const s3l_rig_req_t* r, int http_status, const char* body) {
  if (r->status != 0)
    fail_msg("status %d: %s", r->status, r->message);
  assert_int_equal(r->done, 1);
  assert_true(r->sent);
  assert_int_equal(r->http_status, http_status);
  assert_int_equal(r->body_len, strlen(body));
  assert_memory_equal(r->body, body, r->body_len);
  assert_string_equal(r->message, "");
}

/* One script on one connection, one request. */
static void one(const s3l_step_t* steps, s3l_rig_req_t* r) {
  s3l_rig_t rig;
  s3l_rig_init(&rig, S3L_SCRIPTS(steps), 1);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, r);
  s3l_rig_end(&rig);
  assert_int_equal(rig.server.failures, 0);
  assert_int_equal(rig.server.accepted, 1);
}

static void test_warm_reuse(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r[3] = {{.text = "GET /1 HTTP/1.1\r\n\r\n"},
                        {.text = "PUT /2 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"},
                        {.text = "GET /3 HTTP/1.1\r\n\r\n"}};
  const s3l_step_t* script = S3L_SCRIPT(
      S3L_EXPECT("GET /1 HTTP/1.1\r\n\r\n"),
      S3L_SEND("HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nContent-Length: 3\r\n\r\none"),
      S3L_EXPECT("PUT /2 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"),
      S3L_SEND("HTTP/1.1 412 Precondition Failed\r\nETag: \"e2\"\r\nContent-Length: 0\r\n\r\n"),
      S3L_EXPECT("GET /3 HTTP/1.1\r\n\r\n"),
      S3L_SEND("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"));
  s3l_rig_init(&rig, S3L_SCRIPTS(script), 1);
  s3l_rig_start(&rig);
  for (int i = 0; i < 3; i++)
    s3l_rig_do(&rig, &r[i]);
  s3l_rig_end(&rig);
  assert_ok(&r[0], 200, "one");
  assert_string_equal(r[0].etag, "\"e1\"");
  assert_ok(&r[1], 412, "");
  assert_string_equal(r[1].etag, "\"e2\"");
  assert_ok(&r[2], 304, "");
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(rig.server.strays, 0);
}

static void test_framing(void** state) {
  s3l_rig_req_t r = {0};
  one(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                 S3L_SPLIT("HTTP/1.1 200 OK\r\nETag: \"split\"\r\nContent-Length: 2\r\n\r\nok", 1)),
      &r);
  assert_ok(&r, 200, "ok");
  assert_string_equal(r.etag, "\"split\"");

  r = (s3l_rig_req_t){0};
  one(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND("HTTP/1.1 100 Continue\r\n\r\n"),
                 S3L_SEND("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"), S3L_SEND(S3L_RIG_OK)),
      &r);
  assert_ok(&r, 200, "ok");

  r = (s3l_rig_req_t){0};
  one(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                 S3L_SEND("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
                 S3L_SPLIT("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", 2)),
      &r);
  assert_ok(&r, 200, "hello world");

  r = (s3l_rig_req_t){0};
  one(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND("HTTP/1.1 200 OK\r\n\r\nall of it"), S3L_CLOSE),
      &r);
  assert_ok(&r, 200, "all of it");

  r = (s3l_rig_req_t){.req.head = true};
  one(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                 S3L_SEND("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")),
      &r);
  assert_ok(&r, 200, "");
}

/* Replies after which the connection is not used again. */
static void test_single_use(void** state) {
  static const char* const replies[] = {
      "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
      S3L_RIG_OK "junk",
  };
  for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
    s3l_rig_t rig;
    s3l_rig_req_t a = {0};
    s3l_rig_req_t b = {0};
    s3l_rig_init(&rig,
                 S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(replies[i])),
                             S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))),
                 2);
    s3l_rig_start(&rig);
    s3l_rig_do(&rig, &a);
    s3l_rig_do(&rig, &b);
    s3l_rig_end(&rig);
    assert_ok(&a, 200, "ok");
    assert_ok(&b, 200, "ok");
    assert_int_equal(rig.server.accepted, 2);
  }
}

/* An idle connection that the server ends, or talks on, is closed at once and not used again. */
static void test_idle_ends(void** state) {
  const s3l_step_t* const firsts[] = {
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_EXPECT("never"), S3L_SEND("x")),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_CLOSE),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_SEND("unsolicited")),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_RESET),
  };
  for (size_t i = 0; i < 4; i++) {
    s3l_rig_t rig;
    s3l_rig_req_t a = {0};
    s3l_rig_req_t b = {.text = "PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"};
    s3l_rig_init(
        &rig, S3L_SCRIPTS(firsts[i], S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))), 2);
    if (i == 0)
      rig.options.idle_timeout_ms = 1;
    s3l_rig_start(&rig);
    s3l_rig_do(&rig, &a);
    /* Until the first connection is gone on both sides; a reset or close by the server does not
     * show there as an end by the peer. */
    if (i == 0 || i == 2)
      s3l_rig_wait_for(&rig, &rig.server.ended, 1);
    else
      s3l_rig_wait_alone(&rig);
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    s3l_rig_do(&rig, &b);
    s3l_rig_end(&rig);
    assert_ok(&a, 200, "ok");
    assert_ok(&b, 200, "ok");
    assert_int_equal(rig.server.accepted, 2);
  }
}

/* Five requests, two connections: nothing is lost and the order within the queue holds. */
static void test_queueing(void** state) {
  enum { N = 5 };
  s3l_rig_t rig;
  s3l_rig_req_t r[N];
  const s3l_step_t* script = S3L_SCRIPT(
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK));
  for (uint32_t max = 1; max <= 2; max++) {
    memset(r, 0, sizeof(r));
    s3l_rig_init(&rig, S3L_SCRIPTS(script), 1);
    rig.options.max_connections = max;
    s3l_rig_start(&rig);
    for (int i = 0; i < N; i++)
      s3l_rig_submit(&rig, &r[i]);
    for (int i = 0; i < N; i++) {
      s3l_rig_wait(&rig, &r[i]);
      if (max == 1 && i + 1 < N)
        assert_int_equal(r[i + 1].done, 0);
    }
    s3l_rig_end(&rig);
    for (int i = 0; i < N; i++)
      assert_ok(&r[i], 200, "ok");
    assert_int_equal(rig.server.accepted, max);
  }
}

static void resubmit(s3l_rig_req_t* r) {
  if (r->done < 3)
    s3l_rig_submit(r->rig, r);
}

static void test_submit_from_done(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {.then = resubmit};
  s3l_rig_init(
      &rig,
      S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_EXPECT("\r\n\r\n"),
                             S3L_SEND(S3L_RIG_OK), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))),
      1);
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  s3l_rig_wait_for(&rig, &r.done, 3);
  s3l_rig_end(&rig);
  assert_int_equal(r.status, 0);
  assert_int_equal(r.composed, 3);
  assert_int_equal(rig.server.accepted, 1);
}

/* A program that has nothing else to do ends, although a connection is kept alive. */
static void test_idle_lets_the_loop_end(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  s3l_rig_init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))), 1);
  rig.server.unref = true;
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
  assert_ok(&r, 200, "ok");
  assert_int_equal(rig.server.ended, 0);
  s3l_rig_end(&rig);
}

static void test_ipv6(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  struct sockaddr_in6 address;
  uv_tcp_t probe;
  s3l_rig_init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))), 1);
  assert_int_equal(uv_ip6_addr("::1", 0, &address), 0);
  assert_int_equal(uv_tcp_init(&rig.loop, &probe), 0);
  int rc = uv_tcp_bind(&probe, (const struct sockaddr*)&address, 0);
  if (rc == 0)
    rc = uv_listen((uv_stream_t*)&probe, 1, NULL);
  uv_close((uv_handle_t*)&probe, NULL);
  if (rc != 0) {
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&rig.loop);
    print_message("no IPv6 on this machine: %s\n", uv_strerror(rc));
    skip();
  }
  rig.server.ip = "::1";
  rig.options.host = "::1";
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  s3l_rig_end(&rig);
  assert_ok(&r, 200, "ok");
}

/* Through the resolver; the server listens on IPv4 only, the name may have IPv6 first. */
static void test_name(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  s3l_rig_init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))), 1);
  rig.options.host = "localhost";
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  s3l_rig_end(&rig);
  assert_ok(&r, 200, "ok");
}

static unsigned allocations;

static void* counting_malloc(size_t n) {
  allocations++;
  return malloc(n);
}
static void* counting_calloc(size_t n, size_t size) {
  allocations++;
  return calloc(n, size);
}
static void* counting_realloc(void* p, size_t n) {
  allocations++;
  return realloc(p, n);
}

static void test_warm_request_allocates_nothing(void** state) {
  enum { N = 5 };
  static const s3l_mem_hooks_t hooks = {counting_malloc, counting_realloc, counting_calloc, free};
  s3l_rig_t rig;
  s3l_rig_req_t r[N];
  const s3l_step_t steps[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK)};
  s3l_step_t script[2 * N + 1];
  for (int i = 0; i < N; i++)
    memcpy(&script[2 * i], steps, sizeof(steps));
  script[2 * N] = (s3l_step_t)S3L_SCRIPT_END;
  memset(r, 0, sizeof(r));
  s3l_mem_set(&hooks);
  assert_int_equal(uv_replace_allocator(counting_malloc, counting_realloc, counting_calloc, free),
                   0);
  s3l_rig_init(&rig, S3L_SCRIPTS(script), 1);
  s3l_rig_start(&rig);
  allocations = 0;
  s3l_rig_do(&rig, &r[0]); /* opens the connection */
  assert_true(allocations > 0);
  s3l_rig_do(&rig, &r[1]);
  allocations = 0;
  for (int i = 2; i < N; i++)
    s3l_rig_do(&rig, &r[i]);
  assert_int_equal(allocations, 0);
  s3l_rig_end(&rig);
  for (int i = 0; i < N; i++)
    assert_ok(&r[i], 200, "ok");
  assert_int_equal(rig.server.accepted, 1);
  s3l_mem_set(NULL);
  assert_int_equal(uv_replace_allocator(malloc, realloc, calloc, free), 0);
}

static void test_bad_options(void** state) {
  s3l_rig_t rig;
  s3l_http_client_t* c = NULL;
  char host[400];
  s3l_rig_init(&rig, NULL, 0);
  rig.options.host = "";
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &c), UV_EINVAL);
  rig.options.host = NULL;
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &c), UV_EINVAL);
  memset(host, 'a', sizeof(host) - 1);
  host[sizeof(host) - 1] = 0;
  rig.options.host = host;
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &c), UV_EINVAL);
  assert_null(c);
  assert_int_equal(uv_loop_close(&rig.loop), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_warm_reuse),
      cmocka_unit_test(test_framing),
      cmocka_unit_test(test_single_use),
      cmocka_unit_test(test_idle_ends),
      cmocka_unit_test(test_queueing),
      cmocka_unit_test(test_submit_from_done),
      cmocka_unit_test(test_idle_lets_the_loop_end),
      cmocka_unit_test(test_ipv6),
      cmocka_unit_test(test_name),
      cmocka_unit_test(test_warm_request_allocates_nothing),
      cmocka_unit_test(test_bad_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
