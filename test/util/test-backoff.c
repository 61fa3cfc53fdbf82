/* util/backoff and util/error_kind: when to try again, and what is worth it. */
#include <errno.h>

#include "lib/test.h"
#include "s3lect/errno.h"
#include "util/backoff.h"
#include "util/error_kind.h"

static void doubles_up_to_the_maximum(void** state) {
  assert_int_equal(s3l_backoff_ms(100, 1000, 1, NULL), 100);
  assert_int_equal(s3l_backoff_ms(100, 1000, 2, NULL), 200);
  assert_int_equal(s3l_backoff_ms(100, 1000, 4, NULL), 800);
  assert_int_equal(s3l_backoff_ms(100, 1000, 5, NULL), 1000);
  assert_int_equal(s3l_backoff_ms(100, 1000, UINT32_MAX, NULL), 1000);
  assert_int_equal(s3l_backoff_ms(UINT32_MAX, UINT32_MAX, 40, NULL), UINT32_MAX);
  assert_int_equal(s3l_backoff_ms(3000, 1000, 1, NULL), 1000);
  assert_int_equal(s3l_backoff_ms(0, 0, 9, NULL), 0);
}

static void takes_up_to_a_quarter_off(void** state) {
  s3l_prng_t random;
  uint32_t least = UINT32_MAX, most = 0;
  s3l_prng_seed(&random, 1);
  for (int i = 0; i < 1000; i++) {
    uint32_t ms = s3l_backoff_ms(100, 1000, 4, &random);
    least = ms < least ? ms : least;
    most = ms > most ? ms : most;
  }
  assert_in_range(least, 600, 620);
  assert_in_range(most, 780, 800);
}

static void kinds_are_those_of_the_table(void** state) {
  assert_true(s3l_error_is_transient(S3LECT_ESERVER));
  assert_false(s3l_error_is_lasting(S3LECT_ESERVER));
  assert_true(s3l_error_is_lasting(S3LECT_EDENIED));
  assert_false(s3l_error_is_transient(S3LECT_EDENIED));
  assert_false(s3l_error_is_transient(S3LECT_EPRECONDITION));
  assert_false(s3l_error_is_lasting(S3LECT_EPRECONDITION));
  assert_false(s3l_error_is_transient(0) || s3l_error_is_lasting(0));
  assert_true(s3l_error_is_transient(-ECONNREFUSED));
  assert_true(s3l_error_is_lasting(-ENOBUFS));
  assert_false(s3l_error_is_transient(-ECANCELED) || s3l_error_is_lasting(-ECANCELED));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(doubles_up_to_the_maximum),
      cmocka_unit_test(takes_up_to_a_quarter_off),
      cmocka_unit_test(kinds_are_those_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
