/* Elections together with another implementation of epoch files, in their plain form: a Python
 * program that shares nothing with us but the store. Skipped where there is no python3.
 *
 * ctest labels: no-valgrind one-protocol slow */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/s3proc_case.h"
#include "lib/test.h"

#define STARTED "\"event\":\"started_leading\""
#define STOPPED "\"event\":\"stopped_leading\""
#define RENEWED "\"event\":\"renewed\""

static proc_t* other(void) {
  static const char program[] = S3L_TEST_DIR "/cli/other/plain.py";
  return proc_spawn(&s3.procs,
                    (const char*[]){"python3", program, s3.url, "test", "lock.json", "2500", NULL},
                    NULL);
}

static proc_t* ours(void) {
  return s3proc_s3lect(&s3, "elect", "s3lect",
                       (const char*[]){"--protocol", "epochs", "--request-timeout", "400ms", NULL});
}

/* Waits for a line of the other implementation's: its epoch, and when it was. */
static uint64_t said(proc_t* p, const char* what, int64_t* at_ns) {
  unsigned long long epoch = 0;
  long long at = 0;
  const char* line = proc_line(p, PROC_OUT, what);
  assert_int_equal(sscanf(line + strlen(what), "%llu %lld", &epoch, &at), 2);
  if (at_ns != NULL)
    *at_ns = at;
  return epoch;
}

static uint64_t led(const char* line) {
  return (uint64_t)proc_json_i64(line, "epoch");
}

/* It leads, and is left to; it gives up, and is followed; it follows in its turn. */
static void test_hand_over_to_and_fro(void** state) {
  int64_t left, leads;
  proc_t* plain = other();
  uint64_t epoch = said(plain, "leads ", NULL);
  assert_int_equal(epoch, 1);
  proc_t* elect = ours();
  for (int i = 0; i < 8; i++) /* for longer than its validity */
    (void)said(plain, "renewed ", NULL);
  char line[2048]; /* its files name nobody, so no event says who leads; but somebody does */
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--protocol=epochs", "--json", NULL}, line),
                   0);
  assert_int_equal(led(line), 1);
  assert_null(proc_try_line(elect, PROC_OUT, STARTED, true));
  proc_signal(plain, SIGTERM);
  (void)said(plain, "left ", &left);
  assert_int_equal(proc_wait(plain), 0);
  const char* start = proc_line(elect, PROC_OUT, STARTED);
  assert_int_equal(led(start), 2);
  assert_true(proc_json_i64(start, "lease_ns") > left);

  plain = other();
  assert_int_equal(said(plain, "follows ", NULL), 2);
  for (int i = 0; i < 10; i++)
    (void)proc_line(elect, PROC_OUT, RENEWED);
  assert_null(proc_try_line(plain, PROC_OUT, "leads ", true));
  proc_signal(elect, SIGTERM);
  int64_t ended = proc_json_i64(proc_line(elect, PROC_OUT, STOPPED), "valid_until_ns");
  assert_int_equal(proc_wait(elect), 0);
  assert_int_equal(said(plain, "leads ", &leads), 3);
  assert_true(leads > ended);
  assert_int_equal(proc_end(plain, SIGTERM), 0);
}

/* Without a word: each waits until the other's validity has passed. */
static void test_fail_over_to_and_fro(void** state) {
  int64_t renewed, leads, until = 0;
  proc_t* plain = other();
  assert_int_equal(said(plain, "leads ", NULL), 1);
  proc_t* elect = ours();
  for (int i = 0; i < 4; i++)
    (void)said(plain, "renewed ", &renewed);
  assert_int_equal(proc_end(plain, SIGKILL), 128 + SIGKILL);
  const char* line = proc_line(elect, PROC_OUT, STARTED);
  assert_int_equal(led(line), 2);
  assert_true(proc_json_i64(line, "lease_ns") > renewed + 2500 * INT64_C(1000000));

  plain = other();
  assert_int_equal(said(plain, "follows ", NULL), 2);
  until = proc_json_i64(proc_line(elect, PROC_OUT, RENEWED), "valid_until_ns");
  assert_int_equal(proc_end(elect, SIGKILL), 128 + SIGKILL);
  assert_int_equal(said(plain, "leads ", &leads), 3);
  assert_true(leads > until);
  assert_int_equal(proc_end(plain, SIGTERM), 0);
}

static bool there_is_python(void) {
  procs_t procs;
  procs_begin(&procs);
  int r = proc_wait(proc_spawn(
      &procs, (const char*[]){"/bin/sh", "-c", "python3 -c 'import http.client'", NULL}, NULL));
  procs_end(&procs);
  return r == 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_hand_over_to_and_fro, begin_empty, end),
      cmocka_unit_test_setup_teardown(test_fail_over_to_and_fro, begin_empty, end),
  };
  if (!there_is_python()) {
    puts("SKIPPED: no python3");
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
