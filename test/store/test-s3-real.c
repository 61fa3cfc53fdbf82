/* The suite on a real S3 store, which the environment names: AWS_ENDPOINT_URL_S3, credentials,
 * region and S3LECT_TEST_BUCKET. ctest labels: store */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store_suite.h"
#include "lib/test.h"

static uv_loop_t loop;
static s3lect_store_t store;
static s3l_store_suite_t suite;

static int open_store(void** state) {
  s3lect_store_s3_options_t options;
  s3lect_error_t error;
  s3lect_store_s3_options_init(&options, sizeof(options));
  options.bucket = getenv("S3LECT_TEST_BUCKET");
  if (s3lect_store_s3_options_check(&options, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_s3_init(&loop, &store, &options, NULL), 0);
  /* Of real stores only the least is asked: equal bodies may get equal ETags (an MD5), and a guard
   * on a delete may be ignored. */
  suite = (s3l_store_suite_t){.loop = &loop, .store = &store, .timeout_ms = 30000};
  s3l_suite_prefix(&suite);
  *state = &suite;
  return 0;
}

static int close_store(void** state) {
  s3l_suite_clean(*state);
  s3lect_store_close(&store, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {S3L_STORE_SUITE_TESTS};
  if (getenv("S3LECT_TEST_BUCKET") == NULL) {
    puts("skipped: S3LECT_TEST_BUCKET names no bucket of a real store");
    return 77;
  }
  return cmocka_run_group_tests(tests, open_store, close_store);
}
