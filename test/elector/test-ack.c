/* stop_ack_ms: which leadership an acknowledgement is about, above all one that comes when another
 * leadership of the same elector has begun and ended since. The store is scripted. */
#include <stdio.h>
#include <string.h>

#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/elector.h"
#include "s3lect/errno.h"

static uv_loop_t loop;
static s3l_script_store_t store;
static s3lect_elector_t elector;
static unsigned stopped, closed;
static uint64_t stopped_epoch;

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* event) {
  stopped++;
  stopped_epoch = event->epoch;
}

static void on_closed(s3lect_elector_t* e) {
  closed++;
}

static int setup(void** state) {
  stopped = closed = 0;
  memset(&elector, 0, sizeof elector);
  memset(&store, 0, sizeof store);
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_script_store_init(&loop, &store);
  s3lect_elector_options_t o = s3l_script_store_options(&store);
  o.renew_interval_ms = 50;
  o.stop_ack_ms = S3L_WAIT_MS;
  o.on_stopped_leading = on_stopped;
  assert_int_equal(s3lect_elector_init(&loop, &elector, &o, NULL), 0);
  return 0;
}

static int teardown(void** state) {
  s3lect_store_close(&store.store, NULL);
  s3l_wait_loop_end(&loop);
  return 0;
}

static void close_elector(void) {
  assert_int_equal(s3lect_elector_close(&elector, on_closed), 0);
  s3l_wait_count(&loop, &closed, 1, "the close callback");
}

/* Takes over from a record that "b" has released. */
static void lead(uint64_t released_epoch) {
  s3lect_record_t r = s3l_script_store_released();
  r.epoch = released_epoch;
  assert_int_equal(s3lect_elector_start(&elector), 0);
  s3l_script_store_expect(&store, false);
  s3l_script_store_show(&store, &r, "\"e1\"");
  s3l_script_store_expect(&store, true);
  assert_int_equal(store.put.epoch, released_epoch + 1);
  s3l_script_store_answer(&store, 0, S3LECT_SETTLED, "\"e2\"");
  assert_int_equal(s3lect_elector_is_leader(&elector), 1);
}

static bool can_start(void* arg) {
  s3lect_status_t status = {.size = sizeof status};
  return s3lect_elector_status(&elector, &status) == 0 && status.role == S3LECT_ROLE_STOPPED &&
         s3lect_elector_start(&elector) == 0 && s3lect_elector_stop(&elector) == 0;
}

/* Leads epoch 8, and loses it to "b" before it can tell that the work of it has ended; then stands
 * again, and leads epoch 10. */
static void lead_again(void) {
  s3lect_record_t r = s3l_script_store_released();
  lead(7);
  s3l_script_store_expect(&store, true);
  s3l_script_store_answer(&store, S3LECT_EPRECONDITION, S3LECT_SETTLED, NULL);
  s3l_script_store_expect(&store, false);
  r.epoch = 9;
  r.released = 0;
  r.last_updated_ms = 1730025045000;
  s3l_script_store_show(&store, &r, "\"e9\"");
  s3l_wait_count(&loop, &stopped, 1, "the end of the first leadership");
  assert_int_equal(stopped_epoch, 8);
  assert_int_equal(s3lect_elector_stop(&elector), 0);
  s3l_wait(&loop, can_start, NULL, "the end of standing");
  lead(9);
}

static void resign(void) {
  assert_int_equal(s3lect_elector_resign(&elector), 0);
  s3l_wait_count(&loop, &stopped, 2, "the end of the second leadership");
  assert_int_equal(stopped_epoch, 10);
}

/* Whatever was asked for has been looked at, and nothing came of it. */
static void assert_nothing_is_written(void) {
  unsigned requests = store.requests;
  for (int i = 0; i < 10; i++)
    (void)uv_run(&loop, UV_RUN_NOWAIT);
  assert_int_equal(store.requests, requests);
}

static void expect_release(void) {
  s3l_script_store_expect(&store, true);
  assert_int_equal(store.put.released, 1);
  assert_int_equal(store.put.epoch, 10);
  s3l_script_store_answer(&store, 0, S3LECT_SETTLED, "\"e3\"");
}

static void test_a_late_one_is_not_for_the_next(void** state) {
  lead_again();
  resign();
  s3lect_elector_ack(&elector, 8); /* the work of epoch 8 has ended at last */
  s3lect_elector_ack(&elector, 8);
  s3lect_elector_ack(&elector, 0);
  s3lect_elector_ack(&elector, 11);
  assert_nothing_is_written();
  s3lect_elector_ack(&elector, 10); /* acknowledges epoch 8 as well */
  expect_release();
  s3lect_elector_ack(&elector, 10); /* a second one has no effect */
  close_elector();
  s3lect_elector_ack(&elector, 10);
}

/* The next leadership ends in the same turn of the loop, before the executor has run. */
static void test_one_that_is_overtaken(void** state) {
  lead_again();
  s3lect_elector_ack(&elector, 8);
  resign();
  assert_nothing_is_written();
  s3lect_elector_ack(&elector, 10);
  expect_release();
  close_elector();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_late_one_is_not_for_the_next, setup, teardown),
      cmocka_unit_test_setup_teardown(test_one_that_is_overtaken, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
