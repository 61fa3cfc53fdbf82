/* Requests that wait for a connection: in what order they go, which of them are not sent, and
 * when another connection is opened. */
#include <string.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_hopeless),
      cmocka_unit_test(test_growth),
      cmocka_unit_test(test_stale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
