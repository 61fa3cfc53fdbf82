/* An error that comes with every look is told once, then ever more rarely; another one at once, and
 * the same one, too, after all was well for a while. Plays the store itself (lib/script_store.h).
 */
#include <string.h>

#include "lib/clocks.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

#define LOOKS 720 /* an hour of them */

static struct {
  unsigned told, releases, closed;
  int error;
} seen;

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  seen.told++;
  seen.releases += ev->error == S3LECT_ERELEASE;
  seen.error = ev->error;
}

static void on_closed(s3lect_elector_t* e) {
  seen.closed++;
}

static void look(s3l_script_store_t* store, int status, int times) {
  int outcome = status == S3LECT_ENOTFOUND ? S3LECT_SETTLED : S3LECT_NOT_APPLIED;
  for (int i = 0; i < times; i++) {
    s3l_script_store_expect(store, false);
    s3l_script_store_answer(store, status, outcome, NULL);
  }
}

static void test_told_ever_more_rarely(void** state) {
  static s3l_script_store_t store;
  static s3lect_elector_t e;
  uv_loop_t loop;
  if (!s3l_clocks_move())
    skip();
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_script_store_init(&loop, &store);
  s3lect_elector_options_t o = s3l_script_store_options(&store);
  o.infrequent_interval_ms = 5000;
  o.observer = 1;
  o.on_error = on_error;
  assert_int_equal(s3lect_elector_init(&loop, &e, &o, NULL), 0);
  assert_int_equal(s3lect_elector_start(&e), 0);
  s3l_wait_pace(S3L_PACE_TIMERS);
  look(&store, S3LECT_EDENIED, 1);
  assert_int_equal(seen.told, 1);
  look(&store, S3LECT_EDENIED, 1);
  assert_int_equal(seen.told, 1);
  look(&store, S3LECT_EDENIED, LOOKS);
  assert_in_range(seen.told, 5, 11); /* after 10 s, 20 s more, 40 s, ... */
  unsigned before = seen.told;
  look(&store, S3LECT_ENOBUCKET, 1);
  assert_int_equal(seen.told, before + 1);
  assert_int_equal(seen.error, S3LECT_ENOBUCKET);
  look(&store, S3LECT_ENOTFOUND, 30);
  look(&store, S3LECT_ENOBUCKET, 1);
  assert_int_equal(seen.told, before + 2);
  assert_int_equal(s3lect_elector_close(&e, on_closed), 0);
  s3l_wait_count(&loop, &seen.closed, 1, "the close callback");
  s3lect_store_close(&store.store, NULL);
  s3l_wait_loop_end(&loop);
}

static bool is_stopped(void* arg) {
  s3lect_status_t status = {.size = sizeof status};
  return s3lect_elector_status(arg, &status) == 0 && status.role == S3LECT_ROLE_STOPPED;
}

/* Takes over what "b" has released, and may not release it at the end. */
static void lead_without_release(s3l_script_store_t* store, s3lect_elector_t* e, uint64_t epoch) {
  s3lect_record_t r = s3l_script_store_released();
  r.epoch = epoch - 1;
  assert_int_equal(s3lect_elector_start(e), 0);
  s3l_script_store_expect(store, false);
  s3l_script_store_show(store, &r, "\"e1\"");
  s3l_script_store_expect(store, true);
  s3l_script_store_answer(store, 0, S3LECT_SETTLED, "\"e2\"");
  assert_int_equal(s3lect_elector_is_leader(e), 1);
  assert_int_equal(s3lect_elector_stop(e), 0);
  s3l_script_store_expect(store, true);
  s3l_script_store_answer(store, S3LECT_EDENIED, S3LECT_NOT_APPLIED, NULL);
  s3l_wait(store->store.loop, is_stopped, e, "the end of standing");
}

/* Each is an event of its own, however soon it follows another one. */
static void test_every_release_that_failed_is_told(void** state) {
  static s3l_script_store_t store;
  static s3lect_elector_t e;
  uv_loop_t loop;
  memset(&seen, 0, sizeof seen);
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_script_store_init(&loop, &store);
  s3lect_elector_options_t o = s3l_script_store_options(&store);
  o.on_error = on_error;
  assert_int_equal(s3lect_elector_init(&loop, &e, &o, NULL), 0);
  lead_without_release(&store, &e, 8);
  assert_int_equal(seen.releases, 1);
  lead_without_release(&store, &e, 10);
  assert_int_equal(seen.releases, 2);
  assert_int_equal(s3lect_elector_close(&e, on_closed), 0);
  s3l_wait_count(&loop, &seen.closed, 1, "the close callback");
  s3lect_store_close(&store.store, NULL);
  s3l_wait_loop_end(&loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_told_ever_more_rarely),
      cmocka_unit_test(test_every_release_that_failed_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
