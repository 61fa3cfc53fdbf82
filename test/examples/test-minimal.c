/* examples/minimal: says what is wrong with its options, and ends on signals by releasing.
 *
 * ctest labels: no-valgrind one-protocol */

#include <signal.h>
#include <string.h>

#include "lib/s3proc.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/examples/example-minimal"

static s3proc_t s3;

static proc_t* start(const char* bucket) {
  static char endpoint[160];
  snprintf(endpoint, sizeof endpoint, "AWS_ENDPOINT_URL_S3=%s", s3.url);
  return proc_spawn(
      &s3.procs, (const char*[]){PROGRAM, bucket, "a", NULL},
      (const char*[]){endpoint, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest", NULL});
}

static void ends_by_releasing(void** state) {
  static const int signums[] = {SIGINT, SIGTERM};
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  snprintf(s3.store, sizeof s3.store, "s3://test/locks/db");
  s3proc_seed(&s3);
  for (size_t i = 0; i < 2; i++) {
    proc_t* p = start("test");
    proc_line(p, PROC_OUT, "leading, epoch ");
    proc_signal(p, signums[i]);
    proc_line(p, PROC_OUT, "not leading any more: closed");
    assert_int_equal(proc_wait(p), 0);
    proc_forget(p);
  }
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  s3proc_end(&s3);
}

static void says_what_is_wrong(void** state) {
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  proc_t* p = start("a bucket");
  proc_line(p, PROC_ERR, "bucket \"a bucket\": not a bucket name; use ");
  assert_int_equal(proc_wait(p), 1);
  s3proc_end(&s3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_by_releasing),
      cmocka_unit_test(says_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
