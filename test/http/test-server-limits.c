/* What the HTTP server does with clients that are too many, too slow, or too fast. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/group_certs.h"
#include "lib/server_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"
#include "util/list.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static s3l_server_rig_t rig;

static s3l_caller_t* call(const char* text) {
  s3l_caller_t* c = s3l_caller_new(&rig, NULL);
  s3l_caller_open(c);
  if (text != NULL)
    s3l_caller_send(c, text);
  return c;
}

/* ---- too many ---- */

/* The one that has been idle for longest makes room. */
static void test_idle_makes_room(void** state) {
  s3l_caller_t* c[4];
  s3l_server_rig_init(&rig);
  rig.options.max_connections = 3;
  s3l_server_rig_start(&rig);
  for (int i = 0; i < 3; i++) {
    c[i] = call(GET("/"));
    s3l_caller_expect(c[i], "hello");
  }
  s3l_caller_talk(c[0], GET("/"), "hello", false); /* now the second is the oldest */
  c[3] = call(GET("/"));
  s3l_caller_expect(c[3], "hello");
  s3l_caller_expect_end(c[1]);
  s3l_caller_talk(c[0], GET("/"), "hello", false);
  s3l_caller_talk(c[2], GET("/"), "hello", false);
  s3l_http_server_stats_t stats = s3l_server_rig_stats(&rig);
  assert_int_equal(stats.evicted, 1);
  assert_int_equal(stats.refused, 0);
  assert_int_equal(stats.accepted, 4);
  assert_int_equal(stats.connections, 3);
  for (int i = 0; i < 4; i++)
    s3l_caller_free(c[i]);
  s3l_server_rig_end(&rig);
}

/* And before it those that have been refused, and neither read nor leave. */
static void test_refused_make_room(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.max_connections = 2;
  s3l_server_rig_start(&rig);
  s3l_caller_t* good = call(GET("/"));
  s3l_caller_expect(good, "hello");
  s3l_caller_t* bad = call("garbage\r\n");
  s3l_caller_expect(bad, "HTTP/1.1 400 ");
  s3l_caller_t* next = call(GET("/"));
  s3l_caller_expect(next, "hello");
  s3l_caller_talk(good, GET("/"), "hello", false);
  assert_int_equal(s3l_server_rig_stats(&rig).evicted, 1);
  s3l_caller_free(good);
  s3l_caller_free(bad);
  s3l_caller_free(next);
  s3l_server_rig_end(&rig);
}

/* Held exchanges never do. */
static void test_held_stay(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.max_connections = 2;
  rig.options.max_held = 2;
  s3l_server_rig_start(&rig);
  s3l_caller_t* a = call(GET("/hold"));
  s3l_caller_t* b = call(GET("/hold"));
  s3l_server_rig_wait_held(&rig, 2);
  s3l_caller_t* c = call(NULL);
  s3l_caller_expect_end(c);
  assert_int_equal(s3l_server_rig_stats(&rig).refused, 1);
  s3l_server_rig_answer(&rig, "still here");
  s3l_server_rig_answer(&rig, "here too");
  s3l_caller_expect(a, "still here");
  s3l_caller_expect(b, "here too");
  s3l_caller_free(a);
  s3l_caller_free(b);
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
}

/* One that dawdles over its request makes room after a while, and not before. */
static void test_slow_makes_room(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.max_connections = 1;
  s3l_server_rig_start(&rig);
  s3l_caller_t* slow = call("GET / HT");
  (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
  while (s3l_server_rig_stats(&rig).evicted == 0) {
    s3l_caller_t* c = call(NULL);
    s3l_caller_close(c);
    s3l_caller_free(c);
    s3l_http_server_stats_t stats = s3l_server_rig_stats(&rig);
    assert_true(stats.refused > 0 || stats.evicted > 0);
  }
  s3l_caller_expect_end(slow);
  s3l_caller_free(slow);
  s3l_server_rig_end(&rig);
}

/* Ten thousand connections, some with garbage in them, most left hanging: a client that is held
 * notices nothing, and there are never more than are allowed. */
static void test_flood(void** state) {
  enum { FLOOD = 10000, OPEN = 200, LIMIT = 50 };
  static int fds[OPEN];
  struct sockaddr_in to = {.sin_family = AF_INET};
  s3l_server_rig_init(&rig);
  rig.options.max_connections = LIMIT;
  s3l_server_rig_start(&rig);
  s3l_caller_t* held = call(GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  to.sin_port = htons(s3l_http_server_port(rig.server));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < FLOOD; i++) {
    int* fd = &fds[i % OPEN];
    if (i >= OPEN)
      (void)close(*fd);
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(*fd >= 0);
    assert_int_equal(connect(*fd, (struct sockaddr*)&to, sizeof(to)), 0);
    if (i % 3 == 0)
      (void)send(*fd, i % 2 ? "GET / HTTP" : "\x16\x03\x01garbage", 10, MSG_NOSIGNAL);
    if (i % 10 == 0)
      (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_true(s3l_server_rig_stats(&rig).connections <= LIMIT);
  }
  for (int i = 0; i < OPEN; i++)
    (void)close(fds[i]);
  s3l_server_rig_wait_connections(&rig, 1);
  s3l_http_server_stats_t stats = s3l_server_rig_stats(&rig);
  assert_int_equal(stats.accepted + stats.refused, FLOOD + 1);
  assert_int_equal(rig.gone, 0);
  s3l_server_rig_answer(&rig, "unmoved");
  s3l_caller_expect(held, "unmoved");
  s3l_caller_free(held);
  s3l_server_rig_end(&rig);
}

/* ---- too slow ---- */

static void test_slowloris(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.header_time_ms = 100;
  rig.options.max_header_bytes = 1u << 20;
  s3l_server_rig_start(&rig);
  s3l_caller_t* c = call("GET / HTTP/1.1\r\nHost: x\r\nA: ");
  while (c->ended == 0) {
    s3l_caller_send(c, "a");
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
  }
  assert_ptr_equal(strstr(c->text, "HTTP/1.1 408 Request Timeout\r\n"), c->text);
  assert_int_equal(s3l_server_rig_stats(&rig).timeouts_header, 1);
  assert_int_equal(rig.requests, 0);
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
}

/* A body counts as part of the request; on a connection that was idle the time starts anew. */
static void test_slow_body(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.header_time_ms = 100;
  s3l_server_rig_start(&rig);
  s3l_caller_t* c = call(GET("/"));
  s3l_caller_expect(c, "hello");
  s3l_caller_talk(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc", "HTTP/1.1 408 ",
                  true);
  assert_int_equal(s3l_server_rig_stats(&rig).timeouts_header, 1);
  assert_int_equal(rig.requests, 1);
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
}

/* Who never says anything is not told anything. */
static void test_silent(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.header_time_ms = 50;
  s3l_server_rig_start(&rig);
  s3l_caller_t* c = call(NULL);
  s3l_caller_expect_end(c);
  assert_int_equal(c->status, UV_EOF);
  assert_int_equal(c->received, 0);
  assert_int_equal(s3l_server_rig_stats(&rig).timeouts_header, 1);
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
}

static void test_idle(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.idle_time_ms = 50;
  s3l_server_rig_start(&rig);
  s3l_caller_t* c = call(GET("/"));
  s3l_caller_expect(c, "hello");
  s3l_caller_expect_end(c);
  assert_int_equal(s3l_server_rig_stats(&rig).timeouts_idle, 1);
  assert_null(strstr(c->text, "408"));
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
}

/* No time runs while an exchange is held. */
static void test_held_has_no_time(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.idle_time_ms = rig.options.header_time_ms = rig.options.write_time_ms = 20;
  s3l_server_rig_start(&rig);
  s3l_caller_t* held = call(GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  for (int i = 0; i < 3; i++) { /* each of these lives longer than those times */
    s3l_caller_t* c = call(NULL);
    s3l_caller_expect_end(c);
    s3l_caller_free(c);
  }
  s3l_server_rig_answer(&rig, "patience");
  s3l_caller_expect(held, "patience");
  s3l_caller_free(held);
  s3l_server_rig_end(&rig);
}

static bool has_write_timeout(void* arg) {
  return s3l_server_rig_stats(&rig).timeouts_write > 0;
}

static void test_client_does_not_read(void** state) {
  s3l_server_rig_init(&rig);
  rig.options.write_time_ms = 100;
  s3l_server_rig_start(&rig);
  s3l_caller_t* c = s3l_caller_new(&rig, NULL);
  c->deaf = true;
  s3l_caller_open(c);
  s3l_caller_send(c, GET("/big"));
  s3l_wait(&rig.loop, has_write_timeout, NULL, "the time for writing to pass");
  assert_int_equal(s3l_server_rig_stats(&rig).connections, 0);
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
}

static void test_slow_but_reads(void** state) {
  s3l_server_rig_init(&rig);
  s3l_server_rig_start(&rig);
  s3l_caller_t* c = call(GET("/big"));
  s3l_caller_expect(c, "200 OK");
  while (c->received < S3L_RIG_BIG)
    (void)s3l_turn(&rig.loop);
  s3l_caller_talk(c, GET("/1") GET("/2"), "404", false);
  s3l_server_rig_wait(&rig, &rig.requests, 3);
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
}

static bool has_tls_timeouts(void* arg) {
  return s3l_server_rig_stats(&rig).timeouts_tls == 2;
}

/* Silence, and the beginning of a hello, where a handshake is awaited. */
static void test_slow_handshake(void** state) {
  s3l_tls_context_t* tls;
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &tls, NULL), 0);
  s3l_server_rig_init(&rig);
  rig.options.tls = tls;
  rig.options.tls_time_ms = 50;
  s3l_server_rig_start(&rig);
  s3l_caller_t* silent = call(NULL);
  s3l_caller_t* half = s3l_caller_new(&rig, NULL);
  s3l_caller_open(half);
  s3l_caller_send_bytes(half, "\x16\x03\x01\x02\x00\x01", 6);
  s3l_wait(&rig.loop, has_tls_timeouts, NULL, "the time for handshakes to pass");
  assert_int_equal(s3l_server_rig_stats(&rig).accepted, 2);
  s3l_caller_free(silent);
  s3l_caller_free(half);
  s3l_server_rig_end(&rig);
  s3l_tls_context_free(tls);
}

/* ---- too fast ---- */

typedef struct turns_s {
  uv_prepare_t prepare;
  unsigned before;
  unsigned most;
} turns_t;

static void on_turn(uv_prepare_t* prepare) {
  turns_t* t = S3L_CONTAINER_OF(prepare, turns_t, prepare);
  if (rig.requests - t->before > t->most)
    t->most = rig.requests - t->before;
  t->before = rig.requests;
}

/* However many requests wait, a turn of the loop takes a bounded number of them. */
static void test_requests_in_turns(void** state) {
  enum { CALLERS = 200, EACH = 20 };
  static s3l_caller_t* c[CALLERS];
  static char bytes[EACH * sizeof(GET("/"))];
  turns_t turns = {.most = 0};
  for (int i = 0; i < EACH; i++)
    memcpy(bytes + (size_t)i * (sizeof(GET("/")) - 1), GET("/"), sizeof(GET("/")));
  s3l_server_rig_init(&rig);
  rig.options.max_connections = CALLERS;
  s3l_server_rig_start(&rig);
  for (int i = 0; i < CALLERS; i++)
    c[i] = call(NULL);
  assert_int_equal(uv_prepare_init(&rig.loop, &turns.prepare), 0);
  assert_int_equal(uv_prepare_start(&turns.prepare, on_turn), 0);
  for (int i = 0; i < CALLERS; i++)
    s3l_caller_send(c[i], bytes);
  s3l_server_rig_wait(&rig, &rig.requests, CALLERS * EACH);
  (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
  uv_close((uv_handle_t*)&turns.prepare, NULL);
  assert_true(turns.most > 0 && turns.most <= S3L_HTTP_SERVER_TURN_MAX);
  for (int i = 0; i < CALLERS; i++)
    s3l_caller_free(c[i]);
  s3l_server_rig_end(&rig);
}

/* Hundreds of held exchanges answered in one go, while some of their clients leave. */
static void test_answer_all_at_once(void** state) {
  enum { CALLERS = 400, LEAVE = 7 };
  static s3l_caller_t* c[CALLERS];
  unsigned gone = 0;
  s3l_server_rig_init(&rig);
  rig.options.max_connections = CALLERS;
  rig.options.max_held = CALLERS;
  s3l_server_rig_start(&rig);
  for (int i = 0; i < CALLERS; i++)
    c[i] = call(GET("/hold"));
  s3l_server_rig_wait_held(&rig, CALLERS);
  for (int i = 0; i < CALLERS; i += LEAVE) {
    s3l_stream_close(&c[i]->stream); /* the server does not know yet */
    gone++;
  }
  while (rig.held_len > 0)
    s3l_server_rig_answer(&rig, "over");
  for (int i = 0; i < CALLERS; i++) {
    if (i % LEAVE != 0)
      s3l_caller_expect(c[i], "over");
  }
  s3l_server_rig_wait_connections(&rig, CALLERS - gone);
  assert_int_equal(rig.gone, 0);
  for (int i = 0; i < CALLERS; i++)
    s3l_caller_free(c[i]);
  s3l_server_rig_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_idle_makes_room),
      cmocka_unit_test(test_refused_make_room),
      cmocka_unit_test(test_held_stay),
      cmocka_unit_test(test_slow_makes_room),
      cmocka_unit_test(test_flood),
      cmocka_unit_test(test_slowloris),
      cmocka_unit_test(test_slow_body),
      cmocka_unit_test(test_silent),
      cmocka_unit_test(test_idle),
      cmocka_unit_test(test_held_has_no_time),
      cmocka_unit_test(test_client_does_not_read),
      cmocka_unit_test(test_slow_but_reads),
      cmocka_unit_test(test_slow_handshake),
      cmocka_unit_test(test_requests_in_turns),
      cmocka_unit_test(test_answer_all_at_once),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
