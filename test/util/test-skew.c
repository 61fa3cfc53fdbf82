/* util/skew: when a clock counts as wrong, and what corrects it. */
#include "lib/test.h"
#include "util/skew.h"

#define NOW INT64_C(1730023200000)

static void learns_an_offset(void** state) {
  int64_t offset = 0;
  assert_true(s3l_skew_learn(&offset, NOW - 60000, NOW, 60000));
  assert_int_equal(offset, -60000);
  assert_true(s3l_skew_learn(&offset, NOW + 7200000, NOW, 60000));
  assert_int_equal(offset, 7200000);
  /* Corrected by that, it is near enough: nothing changes. */
  assert_false(s3l_skew_learn(&offset, NOW + 7200000 + 59999, NOW, 60000));
  assert_int_equal(offset, 7200000);
  /* Set right meanwhile. */
  assert_true(s3l_skew_learn(&offset, NOW + 59999, NOW, 60000));
  assert_int_equal(offset, 0);
}

static void leaves_what_is_near_or_unknown(void** state) {
  int64_t offset = 0;
  assert_false(s3l_skew_learn(&offset, NOW + 59999, NOW, 60000));
  assert_false(s3l_skew_learn(&offset, NOW - 59999, NOW, 60000));
  assert_false(s3l_skew_learn(&offset, 0, NOW, 60000));
  assert_int_equal(offset, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(learns_an_offset),
      cmocka_unit_test(leaves_what_is_near_or_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
