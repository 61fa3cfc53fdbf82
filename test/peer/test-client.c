/* The peer client against scripted leaders: what comes back in what way, its connections, and its
 * end. How leaders are reached is in test-client-reach.c. */
#include <stdio.h>
#include <string.h>

#include "lib/ask_rig.h"
#include "lib/hung_port.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "peer/message.h"
#include "s3lect/errno.h"
#include "s3lect/version.h"

/* Written by hand from the format: three members, a local offset, a line end behind them. */
#define GO_BODY                                                                                    \
  "{\"leaderID\":\"go-1\",\"leaderAddr\":\"10.0.1.42:8443\",\"lastUpdated\":\"2024-10-27T11:30:"   \
  "45.123456789+01:00\"}\n"
#define GO_REPLY                                                                                   \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sun, 27 Oct 2024 10:30:46 "          \
  "GMT\r\nContent-Length: 102\r\n\r\n" GO_BODY

static s3l_asks_t rig;

static void begin(const s3l_step_t* const* scripts, size_t n) {
  memset(&rig, 0, sizeof rig);
  s3l_asks_begin(&rig, scripts, n, NULL);
}

/* One question, and one answer. */
static s3l_asked_t once(const char* reply) {
  s3l_asked_t a = {0};
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply), S3L_CLOSE)), 1);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 1);
  s3l_asks_end(&rig);
  return a;
}

/* ---- Answers ---- */

static void test_what_go_answers(void** state) {
  s3l_asked_t a = {0};
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("GET " S3L_ASK_PATH " HTTP/1.1\r\nHost: 127.0.0.1:"),
                               S3L_EXPECT("Prefer: wait=5\r\n\r\n"), S3L_SPLIT(GO_REPLY, 1))),
        1);
  s3l_asks_start(&rig, &a, 5999);
  s3l_asks_wait(&rig, &a, 1);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  assert_string_equal(a.record.leader_id, "go-1");
  assert_string_equal(a.record.leader_addr, "10.0.1.42:8443");
  assert_true(a.record.last_updated_ms == INT64_C(1730025045123));
  assert_int_equal(a.record.epoch, 0);
  assert_string_equal(a.etag, "");
  assert_int_equal(a.valid_for_ms, -1);
  assert_false(a.held);
  assert_false(a.authenticated);
  s3l_asks_end(&rig);
}

static void test_what_ours_answers(void** state) {
  s3l_asked_t a = once(S3L_ASK_HELD);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  assert_true(a.held);
  assert_int_equal(a.record.epoch, 7);
  assert_int_equal(a.valid_for_ms, 9000);
  assert_string_equal(a.etag, "\"e\"");
  assert_false(a.authenticated); /* it was plain HTTP */
  a = once(S3L_ASK_PLAIN);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  assert_false(a.held);
  a = once(S3L_ASK_404);
  assert_int_equal(a.kind, S3L_PEER_NOT_LEADING);
}

static void test_answers_that_are_none(void** state) {
  static char big[256 + 3 * S3L_PEER_ANSWER_MAX];
  snprintf(big, sizeof big, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
           2 * S3L_PEER_ANSWER_MAX);
  size_t n = strlen(big);
  memset(big + n, ' ', 2 * S3L_PEER_ANSWER_MAX);
  const struct {
    const char* reply;
    int status;
    const char* says;
  } bad[] = {
      {"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n", S3LECT_EBADREPLY, "405"},
      {"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", S3LECT_EBADREPLY, "500"},
      {"HTTP/1.1 204 No Content\r\n\r\n", S3LECT_EBADREPLY, "204"},
      /* A redirect is not followed: there would be a connection more. */
      {"HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n",
       S3LECT_EBADREPLY, "307"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", S3LECT_ERECORD, "no leader's record"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", S3LECT_ERECORD, "no leader's record"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", S3LECT_ERECORD, "no leader's record"},
      {"\x16\x03\x01\x02 this is no HTTP at all\r\n\r\n", S3LECT_EBADREPLY, "127.0.0.1"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"leaderID\"", S3LECT_EBADREPLY,
       "127.0.0.1"},
      {"", UV_EOF, "127.0.0.1"},
      {big, S3LECT_ETOOBIG, "127.0.0.1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    s3l_asked_t a = once(bad[i].reply);
    if (a.kind != S3L_PEER_FAILED || a.status != bad[i].status ||
        strstr(a.message, bad[i].says) == NULL)
      fail_msg("case %zu: kind %d, %d (%s), \"%s\"", i, (int)a.kind, a.status,
               s3lect_err_name(a.status), a.message);
    assert_int_equal(a.done, 1);
    assert_true(rig.server.accepted <= (unsigned)(i == 9 ? 2 : 1));
  }
}

/* The time-out covers it all: a server that says nothing, half of something, or does not accept. */
static void test_slow_leaders(void** state) {
  static const s3l_step_t silent[] = {S3L_EXPECT("\r\n\r\n"), S3L_SCRIPT_END};
  static const s3l_step_t half[] = {S3L_EXPECT("\r\n\r\n"),
                                    S3L_SEND("HTTP/1.1 200 OK\r\nContent-Length: 116\r\n\r\n{"),
                                    S3L_SCRIPT_END};
  static const s3l_step_t* const both[] = {silent, half};
  s3l_asked_t a = {0}, b = {0}, c = {0};
  s3l_hung_port_t hung;
  char addr[64];
  s3l_hung_port_open(&hung, "127.0.0.1", 0);
  begin(both, 2);
  snprintf(addr, sizeof addr, "127.0.0.1:%u", hung.port);
  assert_int_equal(s3l_asks_try(&rig, &a, s3l_asks_addr(&rig.server), 80, 0), 0);
  assert_int_equal(s3l_asks_try(&rig, &b, s3l_asks_addr(&rig.server), 80, 0), 0);
  assert_int_equal(s3l_asks_try(&rig, &c, addr, 80, 0), 0);
  s3l_asks_wait(&rig, &a, 1);
  s3l_asks_wait(&rig, &b, 1);
  s3l_asks_wait(&rig, &c, 1);
  assert_int_equal(a.status, UV_ETIMEDOUT);
  assert_int_equal(b.status, UV_ETIMEDOUT);
  assert_int_equal(c.status, UV_ETIMEDOUT);
  assert_non_null(strstr(c.message, addr));
  assert_int_equal(a.kind, S3L_PEER_FAILED);
  s3l_asks_end(&rig);
  s3l_hung_port_close(&hung);
}

/* The leader's process dies while it holds a question. */
static void on_call(s3l_script_server_t* s) {
  ++*(unsigned*)s->data;
}

static void test_a_reset_while_held(void** state) {
  s3l_asked_t a = {0};
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("Prefer: wait=60"), S3L_EXPECT("\r\n\r\n"), S3L_RESET)),
        1);
  s3l_asks_start(&rig, &a, 60000);
  s3l_asks_wait(&rig, &a, 1);
  assert_int_equal(a.kind, S3L_PEER_FAILED);
  assert_true(a.status == UV_ECONNRESET || a.status == UV_EPIPE);
  assert_int_equal(rig.server.accepted, 1);
  s3l_asks_end(&rig);
}

/* The kept connection turns out to be dead: once more, for what is left of the time to wait. */
static void test_held_again_for_the_rest(void** state) {
  static const struct {
    uint32_t wait_ms;
    const char* first;
    const char* again;
  } rows[] = {{60000, "\r\nPrefer: wait=60\r\n\r\n", "\r\nPrefer: wait=5"},
              {1000, "\r\nPrefer: wait=1\r\n\r\n",
               "\r\nUser-Agent: s3lect/" S3LECT_VERSION_STRING "\r\n\r\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    s3l_asked_t a = {0};
    begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                 S3L_EXPECT(rows[i].first), S3L_CLOSE),
                      S3L_SCRIPT(S3L_EXPECT(rows[i].again), S3L_SEND(S3L_ASK_PLAIN))),
          2);
    s3l_asks_start(&rig, &a, 0);
    s3l_asks_wait(&rig, &a, 1);
    s3l_asks_start(&rig, &a, rows[i].wait_ms);
    s3l_asks_wait(&rig, &a, 2);
    assert_int_equal(a.kind, S3L_PEER_LEADING);
    /* Who had no time left to be held has been held, all the same. */
    assert_int_equal(a.held, rows[i].wait_ms == 1000);
    assert_int_equal(rig.server.accepted, 2);
    s3l_asks_end(&rig);
  }
}

static void stop_listening(s3l_script_server_t* s) {
  s3l_script_server_close(s);
}

/* Once more, and not again: whatever way the leader is dead in. */
static void test_a_leader_that_dies_with_the_connection(void** state) {
  s3l_asked_t a = {0};
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                               S3L_EXPECT("\r\n\r\n"), S3L_RESET),
                    S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_RESET)),
        2);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 1);
  s3l_asks_start(&rig, &a, 60000);
  s3l_asks_wait(&rig, &a, 2);
  assert_int_equal(a.kind, S3L_PEER_FAILED);
  assert_int_equal(rig.server.accepted, 2);
  s3l_asks_end(&rig);
  /* Gone with its port: told at once. */
  memset(&a, 0, sizeof a);
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                               S3L_EXPECT("\r\n\r\n"), S3L_CALL)),
        1);
  rig.server.on_call = stop_listening;
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 1);
  s3l_asks_start(&rig, &a, 60000);
  s3l_asks_wait(&rig, &a, 2);
  assert_int_equal(a.status, UV_ECONNREFUSED);
  assert_int_equal(rig.server.accepted, 1);
  s3l_asks_end(&rig);
}

static void test_nobody_listens(void** state) {
  s3l_asked_t a = {0};
  char addr[64];
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_CLOSE)), 1);
  snprintf(addr, sizeof addr, "%s", s3l_asks_addr(&rig.server));
  s3l_script_server_close(&rig.server);
  assert_int_equal(s3l_asks_try(&rig, &a, addr, S3L_WAIT_MS, 0), 0);
  s3l_asks_wait(&rig, &a, 1);
  assert_int_equal(a.status, UV_ECONNREFUSED);
  assert_non_null(strstr(a.message, addr));
  s3l_asks_end(&rig);
}

/* ---- Connections ---- */

static void test_one_connection_for_many_questions(void** state) {
  static s3l_step_t steps[2 * 40 + 1];
  static const s3l_step_t* const scripts[] = {steps};
  s3l_asked_t a = {0};
  for (size_t i = 0; i < 40; i++) {
    steps[2 * i] = (s3l_step_t)S3L_EXPECT("\r\n\r\n");
    steps[2 * i + 1] =
        i % 2 == 0 ? (s3l_step_t)S3L_SEND(S3L_ASK_PLAIN) : (s3l_step_t)S3L_SEND(S3L_ASK_404);
  }
  begin(scripts, 1);
  for (unsigned i = 1; i <= 40; i++) {
    s3l_asks_start(&rig, &a, 0);
    s3l_asks_wait(&rig, &a, i);
    assert_int_equal(a.kind, i % 2 == 1 ? S3L_PEER_LEADING : S3L_PEER_NOT_LEADING);
  }
  assert_int_equal(rig.server.accepted, 1);
  s3l_asks_end(&rig);
}

/* Of many electors with one leader only so many wait; the others ask without waiting. */
static void test_how_many_may_wait(void** state) {
  enum { ALL = S3L_PEER_WAITING_MAX + 12 };
  static const s3l_step_t answer_plain[] = {S3L_EXPECT("GET "), S3L_EXPECT("\r\n\r\n"), S3L_CALL,
                                            S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {answer_plain};
  static s3l_asked_t a[ALL];
  unsigned calls = 0, waiting = 0;
  memset(a, 0, sizeof a);
  begin(scripts, 1);
  rig.server.on_call = on_call;
  rig.server.data = &calls;
  for (size_t i = 0; i < ALL; i++) {
    s3l_asks_start(&rig, &a[i], 30000);
    waiting += a[i].ask.wait_ms > 0;
  }
  assert_int_equal(waiting, S3L_PEER_WAITING_MAX);
  s3l_wait_count(&rig.loop, &calls, ALL, "questions");
  assert_int_equal(rig.server.accepted, ALL);
  s3l_peer_probe_cancel(&a[0].ask); /* one that waits makes room for another */
  s3l_asks_wait(&rig, &a[0], 1);
  assert_int_equal(a[0].status, UV_ECANCELED);
  s3l_asks_start(&rig, &a[0], 30000);
  assert_true(a[0].ask.wait_ms > 0);
  s3l_asks_close(&rig);
  for (size_t i = 1; i < ALL; i++) {
    s3l_asks_wait(&rig, &a[i], 1);
    assert_int_equal(a[i].status, UV_ECANCELED);
  }
  s3l_asks_wait(&rig, &a[0], 2);
  s3l_asks_end(&rig);
}

static void test_cancel(void** state) {
  s3l_asked_t a = {0};
  unsigned calls = 0;
  static const s3l_step_t silent[] = {S3L_EXPECT("\r\n\r\n"), S3L_CALL, S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {silent};
  begin(scripts, 1);
  rig.server.on_call = on_call;
  rig.server.data = &calls;
  for (unsigned i = 1; i <= 2; i++) { /* before it is sent, and after */
    s3l_asks_start(&rig, &a, 5000);
    if (i == 2)
      s3l_wait_count(&rig.loop, &calls, 1, "a question");
    rig.in_call = true;
    s3l_peer_probe_cancel(&a.ask);
    s3l_peer_probe_cancel(&a.ask);
    rig.in_call = false;
    s3l_asks_wait(&rig, &a, i);
    assert_int_equal(a.kind, S3L_PEER_FAILED);
    assert_int_equal(a.status, UV_ECANCELED);
  }
  s3l_peer_probe_cancel(&a.ask); /* nothing */
  s3l_asks_end(&rig);
}

/* The connection to a leader of before is not kept for ever. */
static void test_a_new_leader(void** state) {
  s3l_script_server_t next = {0};
  s3l_asked_t a = {0};
  static const s3l_step_t twice[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                     S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                     S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {twice};
  memset(&rig, 0, sizeof rig);
  rig.config.idle_timeout_ms = 1;
  s3l_asks_begin(&rig, scripts, 1, NULL);
  next.scripts = scripts;
  next.scripts_len = 1;
  s3l_script_server_start(&next, &rig.loop);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 1);
  s3l_wait_count(&rig.loop, &rig.server.ended, 1, "the end of the first connection");
  assert_int_equal(s3l_asks_try(&rig, &a, s3l_asks_addr(&next), S3L_WAIT_MS, 0), 0);
  s3l_asks_wait(&rig, &a, 2);
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(next.accepted, 1);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  s3l_script_server_close(&next);
  s3l_asks_end(&rig);
}

static void test_close_with_questions_under_way(void** state) {
  s3l_asked_t a = {0}, b = {0};
  unsigned calls = 0;
  static const s3l_step_t silent[] = {S3L_EXPECT("\r\n\r\n"), S3L_CALL, S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {silent};
  begin(scripts, 1);
  rig.server.on_call = on_call;
  rig.server.data = &calls;
  s3l_peer_client_ref(rig.client);
  s3l_asks_start(&rig, &a, 5000);
  s3l_wait_count(&rig.loop, &calls, 1, "a question");
  s3l_asks_start(&rig, &b, 0); /* not yet sent */
  s3l_peer_client_t* held = rig.client;
  s3l_asks_close(&rig);
  s3l_asks_wait(&rig, &a, 1);
  s3l_asks_wait(&rig, &b, 1);
  assert_int_equal(a.status, UV_ECANCELED);
  assert_int_equal(b.status, UV_ECANCELED);
  rig.client = held; /* still there, for who holds it, but of no use */
  assert_int_equal(s3l_asks_try(&rig, &a, s3l_asks_addr(&rig.server), 1000, 0), UV_ECANCELED);
  rig.client = NULL;
  s3l_wait_count(&rig.loop, &rig.server.ended, 1, "the end of the connection");
  assert_int_equal(rig.client_closed, 0);
  s3l_peer_client_unref(held);
  s3l_wait_count(&rig.loop, &rig.client_closed, 1, "the client to close");
  s3l_asks_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_go_answers),
      cmocka_unit_test(test_what_ours_answers),
      cmocka_unit_test(test_answers_that_are_none),
      cmocka_unit_test(test_slow_leaders),
      cmocka_unit_test(test_a_reset_while_held),
      cmocka_unit_test(test_held_again_for_the_rest),
      cmocka_unit_test(test_a_leader_that_dies_with_the_connection),
      cmocka_unit_test(test_nobody_listens),
      cmocka_unit_test(test_one_connection_for_many_questions),
      cmocka_unit_test(test_how_many_may_wait),
      cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_a_new_leader),
      cmocka_unit_test(test_close_with_questions_under_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
