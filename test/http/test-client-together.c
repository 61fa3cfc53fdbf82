/* Requests that go together: no server gets the last byte of one before all of them are out but for
 * theirs; and what else may happen to a request meanwhile. */

#include "http/conn.h"
#include "lib/http_rig.h"
#include "lib/test.h"

#define PUT     "PUT / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
#define MOST    "\r\n\r\nbod"
#define COUNT   3

#define HOLD_NS 30000000 /* for the servers to read all but the last bytes; then those go out */

static s3l_rig_t rig;
static unsigned there; /* requests of which the server has got all but the last byte */

static const s3l_step_t holds[] = {
    S3L_EXPECT(MOST), S3L_CALL,        S3L_EXPECT("y"),      S3L_SEND(S3L_RIG_OK), S3L_EXPECT(MOST),
    S3L_CALL,         S3L_EXPECT("y"), S3L_SEND(S3L_RIG_OK), S3L_SCRIPT_END};
static const s3l_step_t silent[] = {S3L_EXPECT(MOST), S3L_CALL, S3L_SCRIPT_END};

static void on_call(s3l_script_server_t* server) {
  there++;
}

static void begin(const s3l_step_t* const* scripts, size_t n, uint32_t connections) {
  there = 0;
  s3l_rig_init(&rig, scripts, n);
  rig.server.on_call = on_call;
  rig.options.max_connections = connections;
  s3l_rig_start(&rig);
}

static void assert_all_there(s3l_rig_req_t* r) {
  assert_true(there >= COUNT);
}

static void submit(s3l_rig_req_t r[COUNT], void (*then)(s3l_rig_req_t* r)) {
  for (size_t i = 0; i < COUNT; i++) {
    r[i] = (s3l_rig_req_t){.text = PUT, .then = then, .req.together = true};
    s3l_rig_submit(&rig, &r[i]);
  }
}

/* On connections that are opened first, and on open ones. */
static void test_together(void** state) {
  static s3l_rig_req_t r[COUNT];
  begin(S3L_SCRIPTS(holds), 1, COUNT);
  for (int warm = 0; warm < 2; warm++) {
    there = 0;
    submit(r, assert_all_there);
    for (size_t i = 0; i < COUNT; i++) {
      s3l_rig_wait(&rig, &r[i]);
      assert_int_equal(r[i].http_status, 200);
      assert_true(r[i].waited_ns >= HOLD_NS);
    }
    assert_int_equal(rig.server.accepted, COUNT);
  }
  s3l_rig_end(&rig);
}

/* A race on fewer connections is none: such requests have a connection each, whatever the limit. */
static void test_more_than_connections(void** state) {
  static s3l_rig_req_t r[COUNT];
  begin(S3L_SCRIPTS(holds), 1, COUNT - 1);
  submit(r, NULL);
  for (size_t i = 0; i < COUNT; i++) {
    s3l_rig_wait(&rig, &r[i]);
    assert_int_equal(r[i].http_status, 200);
  }
  assert_int_equal(rig.server.accepted, COUNT);
  s3l_rig_end(&rig);
}

/* The connection is of no use afterwards: the server still waits for a byte. */
static void test_answered_before_the_last_byte(void** state) {
  static s3l_rig_req_t r[2];
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT(MOST), S3L_SEND(S3L_RIG_OK)),
                    S3L_SCRIPT(S3L_EXPECT(MOST "y"), S3L_SEND(S3L_RIG_OK))),
        2, 1);
  for (size_t i = 0; i < 2; i++) {
    r[i] = (s3l_rig_req_t){.text = PUT, .req.together = i == 0};
    s3l_rig_do(&rig, &r[i]);
    assert_int_equal(r[i].http_status, 200);
    assert_int_equal(rig.server.accepted, i + 1);
  }
  s3l_rig_end(&rig);
}

static void test_ended_meanwhile(void** state) {
  static s3l_rig_req_t r[COUNT];
  begin(S3L_SCRIPTS(silent), 1, COUNT);
  submit(r, NULL);
  s3l_rig_wait_for(&rig, &there, 1);
  s3l_rig_cancel(&r[0]);
  s3l_rig_wait(&rig, &r[0]);
  s3l_rig_close_client(&rig);
  for (size_t i = 0; i < COUNT; i++) {
    s3l_rig_wait(&rig, &r[i]);
    assert_int_equal(r[i].status, UV_ECANCELED);
  }
  s3l_rig_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_together),
      cmocka_unit_test(test_more_than_connections),
      cmocka_unit_test(test_answered_before_the_last_byte),
      cmocka_unit_test(test_ended_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
