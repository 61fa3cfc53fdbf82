/* The oracle of s3lect-chaos judges histories made by hand: each of its checks can fail. */
#include <stdio.h>
#include <string.h>

#include "chaos/oracle.h"
#include "lib/test.h"

#define MS INT64_C(1000000)
#define T  (2500 * MS)

static chaos_oracle_t o;
static char told[1024];

static void on_violated(void* arg, const char* text) {
  size_t n = strlen(told);
  snprintf(told + n, sizeof told - n, "%s\n", text);
}

static int begin(void** state) {
  o = (chaos_oracle_t){.leader_timeout_ns = T, .violated = on_violated};
  told[0] = '\0';
  return 0;
}

static int end(void** state) {
  chaos_oracle_free(&o);
  return 0;
}

static void starts(unsigned life, uint64_t epoch, int64_t at_ms) {
  chaos_oracle_event(&o, life, CHAOS_STARTED, epoch, at_ms * MS, (at_ms + 2400) * MS);
}

static void renews(unsigned life, uint64_t epoch, int64_t at_ms) {
  chaos_oracle_event(&o, life, CHAOS_RENEWED, epoch, at_ms * MS, (at_ms + 2400) * MS);
}

static void stops(unsigned life, uint64_t epoch, int64_t at_ms) {
  chaos_oracle_event(&o, life, CHAOS_STOPPED, epoch, at_ms * MS, at_ms * MS);
}

/* The history holds this one violation, and no other; NULL: none. */
static void assert_told(const char* text) {
  chaos_oracle_judge(&o);
  if (o.violations != (text != NULL ? 1u : 0u))
    fail_msg("%u violations: %s", o.violations, told);
  if (text != NULL && strstr(told, text) == NULL)
    fail_msg("no \"%s\" in: %s", text, told);
}

static void nothing_wrong(void** state) {
  starts(1, 5, 1000);
  renews(1, 5, 2000);
  stops(1, 5, 4000);
  starts(2, 6, 4000);
  chaos_oracle_ended(&o, 2, 5000 * MS, false);
  starts(3, 7, 7500);
  stops(3, 7, 8000);
  chaos_oracle_ended(&o, 3, 8100 * MS, true);
  assert_told(NULL);
  assert_int_equal(o.leaderships_len, 3);
}

static void two_leaders(void** state) {
  starts(1, 5, 1000);
  starts(2, 6, 3399);
  stops(1, 5, 3400);
  stops(2, 6, 4000);
  assert_told("two leaders: life 2, epoch 6 started 1.000 ms before life 1, epoch 5 ended");
  assert_int_equal(o.overlaps, 1);
}

/* Not only neighbours in time are compared. */
static void a_long_leadership_overlaps_the_one_after_the_next(void** state) {
  starts(1, 5, 1000);
  renews(1, 5, 3000);
  starts(2, 6, 2000);
  stops(2, 6, 2100);
  starts(3, 7, 5000);
  stops(1, 5, 5400);
  stops(3, 7, 6000);
  chaos_oracle_judge(&o);
  assert_int_equal(o.overlaps, 2);
}

static void a_dead_process_leads_no_more(void** state) {
  starts(1, 5, 1000);
  chaos_oracle_ended(&o, 1, 1500 * MS, false);
  starts(2, 6, 1500);
  stops(2, 6, 2000);
  assert_told(NULL);
}

static void a_dead_process_led_until_its_death(void** state) {
  starts(1, 5, 1000);
  starts(2, 6, 1400);
  chaos_oracle_ended(&o, 1, 1500 * MS, false);
  stops(2, 6, 2000);
  assert_told("two leaders");
}

static void validity_ends_a_process_that_dies_late(void** state) {
  starts(1, 5, 1000);
  starts(2, 6, 3400);
  stops(2, 6, 4000);
  chaos_oracle_ended(&o, 1, 9000 * MS, false);
  assert_told(NULL);
}

static void an_epoch_again(void** state) {
  starts(1, 5, 1000);
  stops(1, 5, 2000);
  starts(2, 5, 3000);
  stops(2, 5, 4000);
  assert_told("epoch 5 after epoch 5");
}

static void a_smaller_epoch(void** state) {
  starts(1, 5, 1000);
  stops(1, 5, 2000);
  starts(2, 4, 3000);
  stops(2, 4, 4000);
  assert_told("epoch 4 after epoch 5");
}

static void started_twice(void** state) {
  starts(1, 5, 1000);
  starts(1, 6, 2000);
  stops(1, 6, 3000);
  assert_told("epoch 5 has not stopped");
}

static void renewed_without_a_start(void** state) {
  renews(1, 5, 1000);
  assert_told("does not lead");
}

static void stopped_under_another_epoch(void** state) {
  starts(1, 5, 1000);
  stops(1, 6, 2000);
  chaos_oracle_ended(&o, 1, 2000 * MS, false);
  assert_told("does not lead");
}

static void never_stopped(void** state) {
  starts(1, 5, 1000);
  assert_told("neither stopped nor died");
}

static void exited_without_a_stop(void** state) {
  starts(1, 5, 1000);
  chaos_oracle_ended(&o, 1, 2000 * MS, true);
  assert_told("exited in order");
}

static void a_validity_that_goes_back(void** state) {
  starts(1, 5, 1000);
  renews(1, 5, 900);
  stops(1, 5, 2000);
  assert_told("impossible validity");
}

static void a_validity_of_more_than_a_timeout(void** state) {
  chaos_oracle_event(&o, 1, CHAOS_STARTED, 5, 1000 * MS, 1000 * MS + T + 1);
  stops(1, 5, 2000);
  assert_told("more than a leader timeout");
}

static void stopped_and_still_valid(void** state) {
  starts(1, 5, 1000);
  chaos_oracle_event(&o, 1, CHAOS_STOPPED, 5, 2000 * MS, 2001 * MS);
  assert_told("its validity has not");
}

static void writes_in_time(void** state) {
  starts(1, 5, 1000);
  chaos_oracle_write(&o, 1, 5, 1999 * MS, true);
  stops(1, 5, 2000);
  starts(2, 6, 3000);
  chaos_oracle_write(&o, 2, 6, 3100 * MS, true);
  stops(2, 6, 4000);
  assert_told(NULL);
  assert_int_equal(o.accepted, 2);
}

static void a_deposed_write_gets_through(void** state) {
  chaos_oracle_write(&o, 2, 6, 3100 * MS, true);
  chaos_oracle_write(&o, 1, 5, 3200 * MS, true);
  assert_told("accepted epoch 5 after epoch 6");
}

static void a_program_outlives_its_leadership(void** state) {
  starts(1, 5, 1000);
  stops(1, 5, 2000);
  chaos_oracle_write(&o, 1, 5, 2001 * MS, true);
  assert_told("the program wrote 1.000 ms after its leadership");
}

static void a_lost_leadership_ends_its_program_within_its_validity(void** state) {
  starts(1, 5, 1000);
  chaos_oracle_event(&o, 1, CHAOS_LOST, 5, 2000 * MS, 2000 * MS);
  chaos_oracle_write(&o, 1, 5, 2100 * MS, true);
  chaos_oracle_judge(&o);
  assert_int_equal(o.violations, 0);
  chaos_oracle_write(&o, 1, 5, 3401 * MS, true);
  assert_told("the program wrote 1.000 ms after its leadership");
}

static void only_fencing_helps(void** state) {
  starts(1, 5, 1000);
  chaos_oracle_write(&o, 1, 5, 1500 * MS, false);
  stops(1, 5, 2000);
  assert_told("only fencing stopped 1 writes");
}

static void an_unguarded_program_may_outlive_it(void** state) {
  starts(1, 5, 1000);
  stops(1, 5, 2000);
  chaos_oracle_unguarded(&o, 1);
  chaos_oracle_write(&o, 1, 5, 2500 * MS, true);
  chaos_oracle_write(&o, 1, 5, 2600 * MS, false);
  assert_told(NULL);
  assert_int_equal(o.fenced, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(nothing_wrong),
      TEST(two_leaders),
      TEST(a_long_leadership_overlaps_the_one_after_the_next),
      TEST(a_dead_process_leads_no_more),
      TEST(a_dead_process_led_until_its_death),
      TEST(validity_ends_a_process_that_dies_late),
      TEST(an_epoch_again),
      TEST(a_smaller_epoch),
      TEST(started_twice),
      TEST(renewed_without_a_start),
      TEST(stopped_under_another_epoch),
      TEST(never_stopped),
      TEST(exited_without_a_stop),
      TEST(a_validity_that_goes_back),
      TEST(a_validity_of_more_than_a_timeout),
      TEST(stopped_and_still_valid),
      TEST(writes_in_time),
      TEST(a_deposed_write_gets_through),
      TEST(a_program_outlives_its_leadership),
      TEST(a_lost_leadership_ends_its_program_within_its_validity),
      TEST(only_fencing_helps),
      TEST(an_unguarded_program_may_outlive_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
