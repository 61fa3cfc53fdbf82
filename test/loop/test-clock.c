/* Lease time from readings of the machine's clocks that the test chooses: clock_gettime is defined
 * here. Whatever NTP does to CLOCK_MONOTONIC and CLOCK_BOOTTIME, lease time passes as
 * CLOCK_MONOTONIC_RAW does, plus the time that the machine was suspended. */
#include "loop/clock.h"

#include <stdio.h>
#include <time.h>

#include "lib/test.h"

#ifdef __linux__

#  include <sys/syscall.h>
#  include <unistd.h>

#  include "s3lect.h"

#  define SECOND   INT64_C(1000000000)
#  define MS       INT64_C(1000000)
#  define SLEW_PPM 83333 /* chrony's default bound */

static struct {
  int64_t raw, monotonic, suspended;
  int64_t delay; /* passes before the next reading but one, once */
  unsigned readings;
} machine = {.raw = 1000 * SECOND, .monotonic = 1003 * SECOND, .suspended = 70 * SECOND};

static void pass(int64_t ns, int64_t slew_ppm) {
  machine.raw += ns;
  machine.monotonic += ns + ns / 1000000 * slew_ppm;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec* t) {
  int64_t ns;
  if (machine.readings++ > 0) {
    pass(machine.delay, 0);
    machine.delay = 0;
  }
  if (id == CLOCK_MONOTONIC_RAW)
    ns = machine.raw;
  else if (id == CLOCK_MONOTONIC)
    ns = machine.monotonic;
  else if (id == CLOCK_BOOTTIME)
    ns = machine.monotonic + machine.suspended;
  else
    return (int)syscall(SYS_clock_gettime, id, t);
  t->tv_sec = (time_t)(ns / SECOND);
  t->tv_nsec = (long)(ns % SECOND);
  return 0;
}

/* A reading, with a delay of so much after the first clock of it was read. */
static int64_t read_delayed(int64_t delay) {
  machine.delay = delay;
  machine.readings = 0;
  return s3l_clock_lease_ns();
}

static void test_is_raw_and_suspended(void** state) {
  assert_int_equal(s3l_clock_lease_ns(), 1070 * SECOND);
  assert_int_equal(s3lect_now_ns(), 1070 * SECOND);
}

static void test_is_not_slewed(void** state) {
  const int64_t slews[] = {SLEW_PPM, -SLEW_PPM, 500, 0};
  for (size_t i = 0; i < sizeof slews / sizeof slews[0]; i++)
    for (int k = 0; k < 100; k++) {
      int64_t before = s3l_clock_lease_ns();
      pass(15 * SECOND, slews[i]);
      assert_int_equal(s3l_clock_lease_ns() - before, 15 * SECOND);
    }
}

static void test_counts_suspension(void** state) {
  int64_t before = s3l_clock_lease_ns();
  pass(5 * SECOND, -SLEW_PPM);
  machine.suspended += 700 * SECOND;
  pass(5 * SECOND, SLEW_PPM);
  assert_int_equal(s3l_clock_lease_ns() - before, 710 * SECOND);
}

/* A delay in the middle of a reading may hide as much of a suspension that was not seen yet. The
 * result is then the time at which the reading began: never earlier, and the next one is right. */
static void test_a_delayed_reading_is_not_early(void** state) {
  int64_t before = s3l_clock_lease_ns();
  machine.suspended += 60 * SECOND;
  assert_int_equal(read_delayed(20 * MS) - before, 60 * SECOND);
  assert_int_equal(s3l_clock_lease_ns() - before, 60 * SECOND + 20 * MS);
  assert_int_equal(read_delayed(20 * MS) - before, 60 * SECOND + 40 * MS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_is_raw_and_suspended),
      cmocka_unit_test(test_is_not_slewed),
      cmocka_unit_test(test_counts_suspension),
      cmocka_unit_test(test_a_delayed_reading_is_not_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  printf("skipped: the clocks that lease time is made of are Linux's\n");
  return 77;
}

#endif
