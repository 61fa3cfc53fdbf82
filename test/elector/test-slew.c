/* NTP slews the clock of the loop's timers to and fro, as far as chrony does by default
 * (lib/clocks.h), but not lease time: leadership ends by lease time, and is told of by then. Plays
 * the store itself (lib/script_store.h). */

#include "lib/clocks.h"
#include "lib/protocol.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

#define T_MS       600000
#define REQUEST_MS 590000 /* there is nothing to do in the meantime but to wait for the end */
#define SLOW_PPM   (-83333)
#define LATE_NS    INT64_C(10000000000) /* a timer that slept for all of T would be 50 s late */

static struct {
  unsigned started, stopped, closed;
  int64_t valid_until, told_at;
} seen;

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  seen.valid_until = ev->valid_until_ns;
  seen.started++;
}

static void on_renewed(s3lect_elector_t* e, const s3lect_event_t* ev) {
  seen.valid_until = ev->valid_until_ns;
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  assert_int_equal(ev->reason, S3LECT_REASON_EXPIRED);
  seen.told_at = s3lect_now_ns();
  seen.stopped++;
}

static void on_closed(s3lect_elector_t* e) {
  seen.closed++;
}

static void test_told_of_the_end_by_lease_time(void** state) {
  static s3l_script_store_t store;
  static s3lect_elector_t e;
  uv_loop_t loop;
  if (!s3l_clocks_move())
    skip();
  s3l_clocks_slew(NULL, SLOW_PPM);
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_script_store_init(&loop, &store);
  s3lect_elector_options_t o = s3l_script_store_options(&store);
  o.leader_timeout_ms = T_MS;
  o.renew_interval_ms = 1000;
  o.request_timeout_ms = s3l_test_epochs() ? REQUEST_MS / 2 : REQUEST_MS;
  o.on_started_leading = on_started;
  o.on_renewed = on_renewed;
  o.on_stopped_leading = on_stopped;
  assert_int_equal(s3lect_elector_init(&loop, &e, &o, NULL), 0);
  assert_int_equal(s3lect_elector_start(&e), 0);
  s3l_wait_pace(S3L_PACE_TIMERS);
  s3l_script_store_expect(&store, false);
  s3lect_record_t r = s3l_script_store_released();
  s3l_script_store_show(&store, &r, "\"e1\"");
  s3l_script_store_expect(&store, true);
  s3l_script_store_answer(&store, 0, S3LECT_SETTLED, "\"e2\"");
  assert_int_equal(seen.started, 1);
  s3l_wait_count(&loop, &seen.stopped, 1, "the end of leadership"); /* no renewal is answered */
  assert_true(seen.told_at < seen.valid_until + LATE_NS);
  assert_int_equal(s3lect_elector_close(&e, on_closed), 0);
  s3l_wait_count(&loop, &seen.closed, 1, "the close callback");
  s3lect_store_close(&store.store, NULL);
  s3l_wait_loop_end(&loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_told_of_the_end_by_lease_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
