/* The HTTP client where the network, the server or the clock fails: each failure has a status, says
 * whether the request had gone out, and is named in a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/conn.h"
#include "lib/http_rig.h"
#include "lib/hung_port.h"
#include "lib/test.h"
#include "s3lect/errno.h"

#define PUT "PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"

static void assert_failed(const s3l_rig_req_t* r, int status, bool sent, const char* message) {
  if (r->status != status || strstr(r->message, message) == NULL)
    fail_msg("status %d (wanted %d): \"%s\" (wanted \"%s\")", r->status, status, r->message,
             message);
  assert_int_equal(r->done, 1);
  assert_int_equal(r->sent, sent);
}

/* What one bad reply does to a request that is not replayable. */
static void bad_reply(const s3l_step_t* steps, s3l_rig_req_t* r) {
  s3l_rig_t rig;
  s3l_rig_init(&rig, S3L_SCRIPTS(steps), 1);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, r);
  s3l_rig_end(&rig);
  assert_int_equal(rig.server.accepted, 1);
}

static void test_bad_replies(void** state) {
  s3l_rig_req_t r = {0};
  bad_reply(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                       S3L_SEND("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"), S3L_CLOSE),
            &r);
  assert_failed(&r, S3LECT_EBADREPLY, true, "ends too early");
  assert_int_equal(r.http_status, 200);

  r = (s3l_rig_req_t){0};
  bad_reply(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND("HTTP/1.1 200 OK\r\nETa"), S3L_CLOSE), &r);
  assert_failed(&r, S3LECT_EBADREPLY, true, "ends too early");
  assert_int_equal(r.http_status, 0);

  r = (s3l_rig_req_t){0};
  bad_reply(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND("220 mail.example ESMTP\r\n")), &r);
  assert_failed(&r, S3LECT_EBADREPLY, true, "reply of 127.0.0.1:");

  r = (s3l_rig_req_t){.req.body_max = 4};
  bad_reply(
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                 S3L_SEND("HTTP/1.1 200 OK\r\nETag: \"big\"\r\nContent-Length: 5\r\n\r\nhello")),
      &r);
  assert_failed(&r, S3LECT_ETOOBIG, true, "body is too long");
  assert_int_equal(r.http_status, 200);
  assert_string_equal(r.etag, "\"big\"");

  r = (s3l_rig_req_t){0};
  bad_reply(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_CLOSE), &r);
  assert_failed(&r, UV_EOF, true, "closed the connection without a reply");

  r = (s3l_rig_req_t){0};
  bad_reply(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_RESET), &r);
  assert_failed(&r, UV_ECONNRESET, true, "connection reset by peer");
  assert_int_equal(r.http_status, 0);
}

static void test_oversized_head(void** state) {
  enum { N = 20000 };
  s3l_rig_req_t r = {0};
  char* text = malloc(N + 1);
  assert_non_null(text);
  memset(text, 'x', N);
  memcpy(text, "HTTP/1.1 200 OK\r\nA: ", 20);
  text[N] = 0;
  bad_reply(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(text)), &r);
  assert_failed(&r, S3LECT_ETOOBIG, true, "head is too long");
  free(text);
}

/* The reset comes when the client has seen the head, so that it cannot overtake it. */
static void test_reset_in_reply(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  const s3l_step_t* steps =
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"),
                 S3L_SPLIT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", 1), S3L_RESET);
  s3l_rig_init(&rig, S3L_SCRIPTS(steps), 1);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  s3l_rig_end(&rig);
  assert_failed(&r, UV_ECONNRESET, true, "reply of 127.0.0.1:");
  assert_int_equal(r.http_status, 200);
}

/* Buffers of a few KiB on both sides, so that a request stays half-written for as long as the
 * server does not read. */
static void shrink(uv_handle_t* handle, int option) {
  int least = 1;
  uv_os_fd_t fd;
  assert_int_equal(uv_fileno(handle, &fd), 0);
  assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &least, sizeof(least)), 0);
}

static void shrink_send_buffer(s3l_rig_req_t* r) {
  shrink((uv_handle_t*)r->req.at.active.conn->stream.tcp, SO_SNDBUF);
}

/* A server that refuses a request by its head alone and never reads the body. The reply counts, and
 * the connection, on which nobody can tell what is body and what is not, is not used again. */
static void test_reply_before_the_body_is_read(void** state) {
  enum { N = 30000 };
  static const s3l_step_t hasty[] = {
      S3L_DEAF, S3L_SEND("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nlong"),
      S3L_SCRIPT_END};
  static char text[N + 1];
  s3l_rig_t rig;
  s3l_rig_req_t r = {.text = text, .in_compose = shrink_send_buffer};
  s3l_rig_req_t next = {0};
  memset(text, 'x', N);
  memcpy(text, "PUT / HTTP/1.1\r\nContent-Length: 29959\r\n\r\n", 41);
  s3l_rig_init(&rig, S3L_SCRIPTS(hasty, S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK))),
               2);
  s3l_rig_start(&rig);
  shrink((uv_handle_t*)rig.server.tcp.listener, SO_RCVBUF); /* what it accepts takes after it */
  s3l_rig_do(&rig, &r);
  assert_int_equal(r.status, 0);
  assert_int_equal(r.http_status, 403);
  assert_string_equal(r.body, "long");
  assert_true(r.sent);
  s3l_rig_do(&rig, &next);
  s3l_rig_end(&rig);
  assert_int_equal(next.status, 0);
  assert_int_equal(rig.server.accepted, 2);
}

/* ---- kept-alive connections that have died ---- */

/* The server answers once, and drops the connection when it has read the next request. */
static const s3l_step_t stale[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
                                   S3L_EXPECT("HTTP/1.1\r\n"), S3L_CLOSE, S3L_SCRIPT_END};
static const s3l_step_t stale_reset[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
                                         S3L_EXPECT("HTTP/1.1\r\n"), S3L_RESET, S3L_SCRIPT_END};
static const s3l_step_t stale_in_reply[] = {S3L_EXPECT("\r\n\r\n"),
                                            S3L_SEND(S3L_RIG_OK),
                                            S3L_EXPECT("HTTP/1.1\r\n"),
                                            S3L_SEND("H"),
                                            S3L_CLOSE,
                                            S3L_SCRIPT_END};
static const s3l_step_t good[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_SCRIPT_END};
static const s3l_step_t drop[] = {S3L_EXPECT("\r\n\r\n"), S3L_CLOSE, S3L_SCRIPT_END};

static void second_request(const s3l_step_t* first, const s3l_step_t* second, s3l_rig_req_t* r,
                           unsigned accepted) {
  s3l_rig_t rig;
  s3l_rig_req_t warm = {0};
  s3l_rig_init(&rig, S3L_SCRIPTS(first, second), 2);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &warm);
  assert_int_equal(warm.status, 0);
  s3l_rig_do(&rig, r);
  s3l_rig_end(&rig);
  assert_int_equal(rig.server.accepted, accepted);
  assert_int_equal(r->done, 1);
}

static void test_replay(void** state) {
  s3l_rig_req_t r = {.req.replayable = true};
  second_request(stale, good, &r, 2);
  assert_int_equal(r.status, 0);
  assert_int_equal(r.composed, 2);

  r = (s3l_rig_req_t){.req.replayable = true};
  second_request(stale_reset, good, &r, 2);
  assert_int_equal(r.status, 0);
  assert_int_equal(r.composed, 2);

  /* Once only, and only for a connection that had been used. */
  r = (s3l_rig_req_t){.req.replayable = true};
  second_request(stale, drop, &r, 2);
  assert_failed(&r, UV_EOF, true, "closed the connection without a reply");
  assert_int_equal(r.composed, 2);
  r = (s3l_rig_req_t){.req.replayable = true};
  bad_reply(drop, &r);
  assert_failed(&r, UV_EOF, true, "closed the connection without a reply");
  assert_int_equal(r.composed, 1);

  /* Not after a byte of the reply. */
  r = (s3l_rig_req_t){.req.replayable = true};
  second_request(stale_in_reply, good, &r, 1);
  assert_failed(&r, S3LECT_EBADREPLY, true, "ends too early");
  assert_int_equal(r.composed, 1);

  /* Never a write. */
  r = (s3l_rig_req_t){.text = PUT};
  second_request(stale, good, &r, 1);
  assert_failed(&r, UV_EOF, true, "closed the connection without a reply");
  assert_int_equal(r.composed, 1);
}

/* Two warm connections die at once: both requests are sent again, each on a fresh connection. */
static void test_replay_two(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t warm[2];
  s3l_rig_req_t r[2];
  memset(warm, 0, sizeof(warm));
  memset(r, 0, sizeof(r));
  s3l_rig_init(&rig, S3L_SCRIPTS(stale, stale, good), 3);
  rig.options.max_connections = 2;
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &warm[0]);
  s3l_rig_submit(&rig, &warm[1]);
  s3l_rig_wait(&rig, &warm[0]);
  s3l_rig_wait(&rig, &warm[1]);
  r[0].req.replayable = r[1].req.replayable = true;
  s3l_rig_submit(&rig, &r[0]);
  s3l_rig_submit(&rig, &r[1]);
  s3l_rig_wait(&rig, &r[0]);
  s3l_rig_wait(&rig, &r[1]);
  s3l_rig_end(&rig);
  assert_int_equal(r[0].status, 0);
  assert_int_equal(r[1].status, 0);
  assert_int_equal(rig.server.accepted, 4);
}

/* One warm connection dies while another, used as well, becomes free: the request that is sent
 * again goes on a third. Both orders, since either may be the first that the client hears of. */
static void test_replay_on_fresh_only(void** state) {
  static const s3l_step_t other[] = {
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),       S3L_EXPECT("HTTP/1.1\r\n"),
      S3L_SEND(S3L_RIG_OK),   S3L_EXPECT("HTTP/1.1\r\n"), S3L_CLOSE,
      S3L_SCRIPT_END,
  };
  for (int swap = 0; swap <= 1; swap++) {
    s3l_rig_t rig;
    s3l_rig_req_t warm[2];
    s3l_rig_req_t r[2];
    memset(warm, 0, sizeof(warm));
    memset(r, 0, sizeof(r));
    s3l_rig_init(&rig, S3L_SCRIPTS(swap ? other : stale, swap ? stale : other, good), 3);
    s3l_rig_start(&rig);
    for (int i = 0; i < 2; i++)
      s3l_rig_submit(&rig, &warm[i]);
    for (int i = 0; i < 2; i++)
      s3l_rig_wait(&rig, &warm[i]);
    for (int i = 0; i < 2; i++) {
      r[i].req.replayable = true;
      s3l_rig_submit(&rig, &r[i]);
    }
    for (int i = 0; i < 2; i++)
      s3l_rig_wait(&rig, &r[i]);
    s3l_rig_end(&rig);
    assert_int_equal(r[0].status, 0);
    assert_int_equal(r[1].status, 0);
    assert_int_equal(r[0].composed + r[1].composed, 3);
    assert_int_equal(rig.server.accepted, 3);
  }
}

/* ---- connecting ---- */

/* A loopback port where nobody listens. */
static uint16_t closed_port(uv_loop_t* loop) {
  s3l_script_server_t server = {.scripts = S3L_SCRIPTS(good), .scripts_len = 1};
  s3l_script_server_start(&server, loop);
  s3l_script_server_close(&server);
  (void)uv_run(loop, UV_RUN_DEFAULT);
  return server.port;
}

static void test_refused(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r[3];
  char want[64];
  memset(r, 0, sizeof(r));
  s3l_rig_init(&rig, NULL, 0);
  rig.options.port = closed_port(&rig.loop);
  rig.options.max_connections = 1;
  s3l_rig_start(&rig);
  for (int i = 0; i < 3; i++) /* all three wait for one connection, and fail with it */
    s3l_rig_submit(&rig, &r[i]);
  for (int i = 0; i < 3; i++)
    s3l_rig_wait(&rig, &r[i]);
  snprintf(want, sizeof(want), "connect to 127.0.0.1:%u: connection refused", rig.options.port);
  s3l_rig_end(&rig);
  for (int i = 0; i < 3; i++) {
    assert_failed(&r[i], UV_ECONNREFUSED, false, want);
    assert_int_equal(r[i].composed, 0);
  }
}

static void test_unreachable(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  s3l_rig_init(&rig, NULL, 0);
  rig.options.host = "255.255.255.255"; /* the kernel refuses TCP to a broadcast address */
  rig.options.port = 9;
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  s3l_rig_end(&rig);
  assert_int_equal(r.sent, false);
  assert_true(r.status == UV_ENETUNREACH || r.status == UV_EACCES || r.status == UV_EHOSTUNREACH);
  assert_non_null(strstr(r.message, "connect to 255.255.255.255:9: "));
}

static void test_no_such_name(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  s3l_rig_init(&rig, NULL, 0);
  rig.options.host = "no-such-host.invalid"; /* RFC 6761: never exists */
  rig.options.port = 9;
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  s3l_rig_end(&rig);
  assert_int_equal(r.sent, false);
  assert_true(r.status <= -3000 &&
              r.status > -3020); /* UV_EAI_*: which one depends on the network */
  assert_non_null(strstr(r.message, "look-up of no-such-host.invalid: "));
}

static void test_compose_errors(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r[2];
  memset(r, 0, sizeof(r));
  s3l_rig_init(&rig, S3L_SCRIPTS(good), 1);
  s3l_rig_start(&rig);
  r[0].compose_error = UV_E2BIG;
  s3l_rig_do(&rig, &r[0]);
  assert_failed(&r[0], UV_E2BIG, false, "could not be composed");
  s3l_rig_do(&rig, &r[1]); /* the connection is as good as before */
  assert_int_equal(r[1].status, 0);
  s3l_rig_end(&rig);
  assert_int_equal(rig.server.accepted, 1);
}

/* ---- time ---- */

static const s3l_step_t silent[] = {S3L_EXPECT("never"), S3L_SCRIPT_END};
static const s3l_step_t slow[] = {S3L_EXPECT("\r\n\r\n"),
                                  S3L_SEND("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nx"),
                                  S3L_SCRIPT_END};

static void test_timeouts(void** state) {
  static const struct {
    const s3l_step_t* script;
    uint32_t first_byte;
    uint32_t total;
    const char* message;
    int http_status;
  } cases[] = {
      {silent, 300, 30000, "no reply from 127.0.0.1:%u within 300 ms", 0},
      {silent, 30000, 300, "no reply from 127.0.0.1:%u within 300 ms", 0},
      {slow, 30000, 300, "reply of 127.0.0.1:%u: not complete within 300 ms", 200},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_rig_t rig;
    s3l_rig_req_t r = {.timeout_ms = cases[i].total, .req.replayable = true};
    s3l_rig_req_t queued = {0};
    char want[128];
    s3l_rig_init(&rig, S3L_SCRIPTS(cases[i].script, good), 2);
    rig.options.first_byte_timeout_ms = cases[i].first_byte;
    rig.options.max_connections = 1;
    s3l_rig_start(&rig);
    s3l_rig_submit(&rig, &r);
    s3l_rig_submit(&rig, &queued); /* gets a connection of its own when the first is given up */
    s3l_rig_wait(&rig, &r);
    s3l_rig_wait(&rig, &queued);
    s3l_rig_end(&rig);
    snprintf(want, sizeof(want), cases[i].message, rig.options.port);
    assert_failed(&r, UV_ETIMEDOUT, true, want);
    assert_int_equal(r.http_status, cases[i].http_status);
    assert_int_equal(queued.status, 0);
    assert_int_equal(rig.server.accepted, 2);
  }
}

/* The bound of a request that has ended does nothing any more. */
static void test_timeout_after_end(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {.timeout_ms = 1000};
  s3l_rig_req_t later = {.timeout_ms = 1500};
  s3l_rig_init(&rig, S3L_SCRIPTS(good), 1); /* answers once */
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  s3l_rig_do(&rig, &later);
  s3l_rig_end(&rig);
  assert_int_equal(r.done, 1);
  assert_failed(&later, UV_ETIMEDOUT, true, "within 1500 ms");
}

static void test_connect_timeout(void** state) {
  s3l_hung_port_t hung;
  s3l_hung_port_open(&hung, "127.0.0.1", 0);
  for (int total = 0; total <= 1; total++) {
    s3l_rig_t rig;
    s3l_rig_req_t r = {0};
    char want[128];
    s3l_rig_init(&rig, NULL, 0);
    rig.options.port = hung.port;
    if (total)
      r.timeout_ms = 30;
    else
      rig.options.connect_timeout_ms = 30;
    s3l_rig_start(&rig);
    s3l_rig_do(&rig, &r);
    s3l_rig_end(&rig);
    snprintf(want, sizeof(want), "connect to 127.0.0.1:%u: no answer within 30 ms", hung.port);
    assert_failed(&r, UV_ETIMEDOUT, false, want);
  }
  s3l_hung_port_close(&hung);
}

static void test_timeout_in_queue(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  s3l_rig_req_t queued = {.timeout_ms = 20};
  s3l_rig_init(&rig, S3L_SCRIPTS(silent), 1);
  rig.options.max_connections = 1;
  s3l_rig_start(&rig);
  s3l_rig_submit(&rig, &r);
  s3l_rig_wait_for(&rig, &r.composed, 1);
  s3l_rig_do(&rig, &queued);
  assert_failed(&queued, S3LECT_ECROWDED, false, "no connection to 127.0.0.1:");
  assert_int_equal(queued.composed, 0);
  assert_true(queued.waited_ns >= 20 * 1000000);
  assert_int_equal(r.done, 0);
  s3l_rig_end(&rig);
  assert_failed(&r, UV_ECANCELED, true, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_replies),
      cmocka_unit_test(test_oversized_head),
      cmocka_unit_test(test_reply_before_the_body_is_read),
      cmocka_unit_test(test_reset_in_reply),
      cmocka_unit_test(test_replay),
      cmocka_unit_test(test_replay_two),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_unreachable),
      cmocka_unit_test(test_no_such_name),
      cmocka_unit_test(test_compose_errors),
      cmocka_unit_test(test_timeouts),
      cmocka_unit_test(test_timeout_after_end),
      cmocka_unit_test(test_replay_on_fresh_only),
      cmocka_unit_test(test_connect_timeout),
      cmocka_unit_test(test_timeout_in_queue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
