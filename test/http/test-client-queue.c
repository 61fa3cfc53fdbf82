/* Requests that wait for a connection: in what order they go, which of them are not sent, and
 * when another connection is opened. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "http/conn.h"
#include "lib/clocks.h"
#include "lib/http_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/errno.h"

#define MS INT64_C(1000000)

static s3l_rig_t rig;
static unsigned order; /* requests composed so far */

#define ANSWER S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK)
#define CALL   S3L_EXPECT("\r\n\r\n"), S3L_CALL, S3L_SEND(S3L_RIG_OK)

static const s3l_step_t* const silent = S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"));
static const s3l_step_t* const stale = S3L_SCRIPT(ANSWER, S3L_EXPECT("\r\n\r\n"), S3L_CLOSE);
static const s3l_step_t* const good = S3L_SCRIPT(ANSWER, ANSWER, ANSWER, ANSWER);

static void begin(const s3l_step_t* const* scripts, size_t n, uint32_t connections, uint32_t few) {
  order = 0;
  s3l_rig_init(&rig, scripts, n);
  rig.options.max_connections = connections;
  rig.options.few = few;
  s3l_rig_start(&rig);
}

static s3l_conn_pool_t* pool(void) {
  return (s3l_conn_pool_t*)rig.client;
}

static void note_order(s3l_rig_req_t* r) {
  order++;
}

/* The earliest due_ns goes first, or, for requests without one, the earliest time-out. */
static void test_order(void** state) {
  enum { READ, LATE_RENEWAL, URGENT_RENEWAL, SHORT_READ, ALL };
  static const uint32_t due_ms[ALL] = {0, 90000, 10000, 0};
  static const uint32_t timeout_ms[ALL] = {60000, 30000, 50000, 20000};
  static const unsigned expected[ALL] = {3, 4, 1, 2};
  unsigned composed[ALL] = {0};
  static s3l_rig_req_t r[ALL];
  begin(S3L_SCRIPTS(good), 1, 1, 1);
  for (int i = 0; i < ALL; i++) {
    r[i] = (s3l_rig_req_t){.timeout_ms = timeout_ms[i], .in_compose = note_order};
    r[i].req.due_ns = due_ms[i] != 0 ? s3l_clock_in_ms(due_ms[i]) : 0;
    s3l_rig_submit(&rig, &r[i]);
  }
  for (unsigned n = 1; n <= ALL; n++) {
    s3l_rig_wait_for(&rig, &order, n);
    for (int i = 0; i < ALL; i++)
      composed[i] += r[i].composed > 0 && composed[i] == 0 ? n : 0;
  }
  for (int i = 0; i < ALL; i++) {
    s3l_rig_wait(&rig, &r[i]);
    assert_int_equal(r[i].status, 0);
    assert_int_equal(composed[i], expected[i]);
  }
  s3l_rig_end(&rig);
}

/* What a reply cannot reach in time is not sent while others wait; alone, it is. */
static void test_hopeless(void** state) {
  static s3l_rig_req_t hopeless[2], fine, alone;
  begin(S3L_SCRIPTS(good), 1, 1, 1);
  pool()->round_trip_ns = 40000 * MS;
  for (int i = 0; i < 2; i++) {
    hopeless[i] = (s3l_rig_req_t){.timeout_ms = 30000};
    s3l_rig_submit(&rig, &hopeless[i]);
  }
  fine = (s3l_rig_req_t){.timeout_ms = 60000};
  s3l_rig_submit(&rig, &fine);
  for (int i = 0; i < 2; i++) {
    s3l_rig_wait(&rig, &hopeless[i]);
    assert_int_equal(hopeless[i].status, S3LECT_ECROWDED);
    assert_false(hopeless[i].sent);
    assert_int_equal(hopeless[i].composed, 0);
    assert_non_null(strstr(hopeless[i].message, "and a reply takes 40000 ms"));
  }
  s3l_rig_wait(&rig, &fine);
  assert_int_equal(fine.status, 0);
  assert_true(pool()->round_trip_ns < 30000 * MS); /* a shorter one counts at once */

  pool()->round_trip_ns = 40000 * MS;
  alone = (s3l_rig_req_t){.timeout_ms = 30000};
  s3l_rig_do(&rig, &alone);
  assert_int_equal(alone.status, 0);
  s3l_rig_end(&rig);
}

static void skip_some(s3l_script_server_t* server) {
  s3l_clocks_skip(300 * MS);
}

static void skip_more(s3l_script_server_t* server) {
  s3l_clocks_skip(900 * MS);
}

/* Beyond the few, a connection is opened when a request has waited for longer than a reply takes.
 */
static void test_growth(void** state) {
  static s3l_rig_req_t r[4];
  if (!s3l_clocks_move())
    skip();
  begin(S3L_SCRIPTS(S3L_SCRIPT(ANSWER, CALL, ANSWER, ANSWER), good), 2, 4, 1);
  rig.server.on_call = skip_some;
  s3l_rig_do(&rig, &r[0]);
  assert_int_equal(rig.server.accepted, 1);
  for (int i = 1; i < 4; i++)
    s3l_rig_submit(&rig, &r[i]);
  for (int i = 1; i < 4; i++) {
    s3l_rig_wait(&rig, &r[i]);
    assert_int_equal(r[i].status, 0);
  }
  s3l_rig_wait_for(&rig, &rig.server.accepted, 2);
  s3l_rig_end(&rig);
}

/* A renewal whose turn comes late is better submitted again: its lease would begin too early. */
static void test_stale(void** state) {
  static s3l_rig_req_t r[4];
  if (!s3l_clocks_move())
    skip();
  begin(S3L_SCRIPTS(S3L_SCRIPT(CALL, CALL, CALL, CALL)), 1, 1, 1);
  rig.server.on_call = skip_more;
  for (int i = 0; i < 4; i++) {
    r[i] = (s3l_rig_req_t){.timeout_ms = 20000 + 1000 * (uint32_t)i};
    r[i].req.due_ns = i % 2 == 1 ? s3l_clock_in_ms(40000) : 0;
    s3l_rig_submit(&rig, &r[i]);
  }
  for (int i = 0; i < 4; i++)
    s3l_rig_wait(&rig, &r[i]);
  assert_int_equal(r[0].status, 0); /* the two reads went before */
  assert_int_equal(r[2].status, 0);
  assert_int_equal(r[1].status + r[3].status, S3LECT_ECROWDED); /* one of them, and the last goes */
  assert_int_equal(r[1].composed + r[3].composed, 1);
  s3l_rig_end(&rig);
}

static s3l_rig_req_t passing;

static void expect_passed(s3l_rig_req_t* r) {
  assert_int_equal(passing.composed, 1);
}

/* After a write was lost on a used connection, the next write waits for a fresh one. A read behind
 * it does not. */
static void test_read_passes_write(void** state) {
  static s3l_rig_req_t warm, lost, again, write;
  begin(S3L_SCRIPTS(stale, good), 2, 2, 0);
  s3l_rig_do(&rig, &warm);
  s3l_rig_do(&rig, &lost);
  assert_int_equal(lost.status, UV_EOF);
  again.req.replayable = true;
  s3l_rig_do(&rig, &again);
  write = (s3l_rig_req_t){.timeout_ms = 30000, .in_compose = expect_passed};
  passing.req.replayable = true;
  s3l_rig_submit(&rig, &write);
  s3l_rig_submit(&rig, &passing);
  s3l_rig_wait(&rig, &write);
  s3l_rig_wait(&rig, &passing);
  assert_int_equal(write.status, 0);
  assert_int_equal(passing.status, 0);
  s3l_rig_end(&rig);
  assert_int_equal(rig.server.accepted, 3);
}

static void make_slow(s3l_rig_req_t* r) {
  pool()->round_trip_ns = 40000 * MS;
}

/* A read that was sent once, and is hopeless when it would be sent again. */
static void test_hopeless_replay(void** state) {
  static s3l_rig_req_t warm, read, other;
  begin(S3L_SCRIPTS(stale, good), 2, 1, 1);
  s3l_rig_do(&rig, &warm);
  read = (s3l_rig_req_t){.timeout_ms = 30000, .req.replayable = true, .in_compose = make_slow};
  s3l_rig_submit(&rig, &read);
  s3l_rig_submit(&rig, &other);
  s3l_rig_wait(&rig, &read);
  s3l_rig_wait(&rig, &other);
  assert_int_equal(read.status, S3LECT_ECROWDED);
  assert_true(read.sent);
  assert_int_equal(read.composed, 1);
  assert_int_equal(other.status, 0);
  s3l_rig_end(&rig);
}

/* The pool grows by time alone, where no reply and no other request comes. */
static void test_growth_in_silence(void** state) {
  static s3l_rig_req_t hung, r;
  begin(S3L_SCRIPTS(silent, good), 2, 2, 1);
  s3l_rig_submit(&rig, &hung);
  s3l_rig_wait_for(&rig, &hung.composed, 1);
  r = (s3l_rig_req_t){.timeout_ms = 10000};
  s3l_rig_do(&rig, &r);
  assert_int_equal(r.status, 0);
  assert_int_equal(hung.done, 0);
  s3l_rig_end(&rig);
}

/* A renewal that used up half of its time in the queue says so, with the arithmetic; the next one
 * does not. */
static void test_notice(void** state) {
  static s3l_rig_req_t first, r[2];
  if (!s3l_clocks_move())
    skip();
  begin(S3L_SCRIPTS(S3L_SCRIPT(CALL, CALL, ANSWER)), 1, 1, 0);
  rig.server.on_call = skip_more;
  s3l_rig_submit(&rig, &first);
  s3l_rig_wait_for(&rig, &first.composed, 1);
  pool()->round_trip_ns = MS;
  for (uint32_t i = 0; i < 2; i++) {
    r[i].req.due_ns = s3l_clock_in_ms(1000 + i);
    s3l_rig_submit(&rig, &r[i]);
  }
  s3l_rig_wait(&rig, &first);
  for (int i = 0; i < 2; i++) {
    s3l_rig_wait(&rig, &r[i]);
    assert_int_equal(r[i].status, 0);
    assert_true(r[i].waited_ns >= 900 * MS);
  }
  assert_non_null(strstr(r[0].message, "ms for one of 1 connections"));
  assert_string_equal(r[1].message, "");
  s3l_rig_end(&rig);
}

static void limit_descriptors(rlim_t n) {
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = n;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A connection beyond the few that cannot be opened ends no request: the others carry it. */
static void test_growth_fails(void** state) {
  static s3l_rig_req_t hung, r;
  struct rlimit before;
  begin(S3L_SCRIPTS(silent, good), 2, 2, 1);
  s3l_rig_submit(&rig, &hung);
  s3l_rig_wait_for(&rig, &hung.composed, 1);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  int next = dup(0);
  assert_true(next >= 0);
  (void)close(next);
  limit_descriptors((rlim_t)next);
  s3l_rig_submit(&rig, &r);
  while (strstr(pool()->message, "too many open files") == NULL)
    assert_int_not_equal(s3l_turn(&rig.loop), 0);
  assert_int_equal(r.done, 0);
  limit_descriptors(before.rlim_cur);
  s3l_rig_cancel(&hung);
  s3l_rig_wait(&rig, &r);
  assert_int_equal(r.status, 0);
  s3l_rig_end(&rig);
}

/* A request that goes together with others gets a connection beyond max_connections; those that
 * wait beside it do not. */
static void test_together_alone_exceeds(void** state) {
  static s3l_rig_req_t r[4], together;
  begin(S3L_SCRIPTS(silent, good), 2, 1, 1);
  s3l_rig_submit(&rig, &r[0]);
  s3l_rig_wait_for(&rig, &r[0].composed, 1);
  for (int i = 1; i < 4; i++)
    s3l_rig_submit(&rig, &r[i]);
  together = (s3l_rig_req_t){.timeout_ms = 30000, .req.together = true};
  s3l_rig_submit(&rig, &together);
  s3l_rig_wait(&rig, &together);
  for (int i = 1; i < 4; i++) {
    s3l_rig_wait(&rig, &r[i]);
    assert_int_equal(r[i].status, 0);
  }
  assert_int_equal(together.status, 0);
  assert_int_equal(rig.server.accepted, 2);
  s3l_rig_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_hopeless),
      cmocka_unit_test(test_growth),
      cmocka_unit_test(test_stale),
      cmocka_unit_test(test_read_passes_write),
      cmocka_unit_test(test_hopeless_replay),
      cmocka_unit_test(test_growth_in_silence),
      cmocka_unit_test(test_notice),
      cmocka_unit_test(test_growth_fails),
      cmocka_unit_test(test_together_alone_exceeds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
