/* s3lect_verify_start on a real S3 store, which the environment names as for the store's own suite.
 * ctest labels: store */
#include <stdio.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/verify_rig.h"
#include "lib/wait.h"
#include "s3lect/store.h"

static void finds_it_good_for_the_lockfile(void** state) {
  static s3l_verify_rig_t rig;
  uv_loop_t loop;
  s3lect_store_t store;
  s3lect_store_s3_options_t s3;
  s3lect_verify_options_t o;
  s3lect_store_s3_options_init(&s3, sizeof(s3));
  s3.bucket = getenv("S3LECT_TEST_BUCKET");
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_s3_init(&loop, &store, &s3, NULL), 0);
  s3lect_verify_options_init(&o, sizeof(o));
  o.store = &store;
  o.request_timeout_ms = 20000;
  s3l_verify_rig_run(&rig, &o);
  s3l_verify_rig_print(&rig);
  s3l_verify_rig_failed(&rig, (const char* const[]){NULL});
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_not_equal(rig.report.etag_dialect, S3LECT_ETAG_UNKNOWN);
  assert_int_equal(rig.report.leftovers, 0);
  assert_int_equal(rig.report.clock_known, 1);
  s3lect_store_close(&store, NULL);
  s3l_wait_loop_end(&loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(finds_it_good_for_the_lockfile)};
  if (getenv("S3LECT_TEST_BUCKET") == NULL) {
    puts("skipped: S3LECT_TEST_BUCKET names no bucket of a real store");
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
