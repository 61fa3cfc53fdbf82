/* core/view: what the core makes of the store's clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/core.h"
#include "lib/core_config.h"
#include "s3lect/errno.h"

#define WALL_MS INT64_C(1730025045000)

/* The epoch of a take-over where there was no lockfile and the store said it was `store_time_ms`.
 */
static uint64_t first_epoch(int64_t store_time_ms) {
  const s3l_core_config_t config = s3l_test_core_config("a");
  const s3lect_store_result_t absent = {.status = S3LECT_ENOTFOUND, .store_time_ms = store_time_ms};
  s3l_event_t event = {.kind = S3L_EV_START,
                       .wall_ms = WALL_MS,
                       .incarnation = "0123456789abcdef0123456789abcdef",
                       .seed = 1};
  s3l_core_t core;
  s3l_effects_t fx;
  s3l_ns_t now = S3L_SECOND;
  s3l_core_init(&core, &config);
  s3l_core_step(&core, now, &event, &fx);
  assert_int_equal(fx.at[0].kind, S3L_DO_READ);
  event = (s3l_event_t){.kind = S3L_EV_DONE, .wall_ms = WALL_MS, .result = &absent};
  s3l_core_step(&core, now, &event, &fx);
  for (int i = 0; i < 10; i++) {
    if (fx.len > 0 && fx.at[0].kind == S3L_DO_WRITE)
      return fx.record.epoch;
    now = s3l_core_deadline(&core);
    if (core.op.kind == S3L_OP_READ)
      event = (s3l_event_t){.kind = S3L_EV_DONE, .wall_ms = WALL_MS, .result = &absent};
    else
      event = (s3l_event_t){.kind = S3L_EV_TICK, .wall_ms = WALL_MS};
    s3l_core_step(&core, now, &event, &fx);
  }
  fail_msg("it never takes over");
  return 0;
}

static void test_epochs_begin_with_the_stores_time(void** state) {
  (void)state;
  uint64_t epoch = first_epoch(WALL_MS + 100000);
  assert_in_range(epoch, WALL_MS + 100000, WALL_MS + 200000);
}

/* With its own clock gone mad the store does not end the counting of epochs. */
static void test_a_mad_store_time_is_not_used(void** state) {
  (void)state;
  assert_int_equal(first_epoch(INT64_MAX), WALL_MS);
  assert_int_equal(first_epoch(INT64_MAX - 1000), WALL_MS);
  assert_int_equal(first_epoch(INT64_C(9999999998000)), WALL_MS); /* no epoch file's number */
  assert_in_range(first_epoch(INT64_C(9999999000000)), INT64_C(9999999000000),
                  INT64_C(9999999997999));
  assert_int_equal(first_epoch(-1), WALL_MS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_epochs_begin_with_the_stores_time),
      cmocka_unit_test(test_a_mad_store_time_is_not_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
