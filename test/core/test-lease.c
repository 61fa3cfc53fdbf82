/* Lease arithmetic: what the holder and the observer count, whatever their clocks' rates. */
#include "core/lease.h"
#include "lib/test.h"

/* Whatever the clocks' rates within the bound, the holder's time is over before the observer's. */
static void test_hold_ends_before_wait(void** state) {
  const s3l_ns_t timeouts[] = {S3L_MS, 1500 * S3L_MS, 15 * S3L_SECOND,
                               INT64_C(2419200) * S3L_SECOND};
  const uint32_t drifts[] = {0, 1, 10000, 200000};
  for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
    for (size_t k = 0; k < sizeof drifts / sizeof *drifts; k++) {
      double d = drifts[k] / 1e6;
      s3l_ns_t hold = s3l_lease_hold(timeouts[i], drifts[k]);
      s3l_ns_t wait = s3l_lease_wait(timeouts[i], drifts[k]);
      assert_true(hold < timeouts[i] && wait > timeouts[i]);
      /* the holder's clock is slow by d, the observer's fast by d: true durations */
      assert_true((double)hold / (1 - d) <= (double)timeouts[i] * (1 + 1e-12));
      assert_true((double)wait / (1 + d) >= (double)timeouts[i] * (1 - 1e-12));
    }
  }
  assert_int_equal(s3l_lease_hold(15 * S3L_SECOND, 10000), INT64_C(14850000000) - 1);
  assert_int_equal(s3l_lease_wait(15 * S3L_SECOND, 10000), INT64_C(15150000000) + 1);
}

static void test_add_saturates(void** state) {
  assert_int_equal(s3l_ns_add(1, 2), 3);
  assert_int_equal(s3l_ns_add(S3L_NEVER, 1), S3L_NEVER);
  assert_int_equal(s3l_ns_add(S3L_NEVER - 5, 5), S3L_NEVER);
  assert_int_equal(s3l_ns_add(S3L_NEVER - 5, 6), S3L_NEVER);
}

static void test_retry_schedule(void** state) {
  assert_int_equal(s3l_retry_delay(1), 0);
  assert_int_equal(s3l_retry_delay(2), 100 * S3L_MS);
  assert_int_equal(s3l_retry_delay(3), S3L_SECOND);
  assert_int_equal(s3l_retry_delay(4), S3L_NEVER);
  s3l_ns_t total = s3l_retry_delay(1) + s3l_retry_delay(2) + s3l_retry_delay(3);
  assert_int_equal(total, S3L_RETRY_TOTAL_MS * S3L_MS);
}

static void test_timing_rule(void** state) {
  assert_int_equal(s3l_timing_missing_ms(5000, 3000, 15000, 10000, 1), 0);
  assert_int_equal(s3l_timing_missing_ms(5000, 8750, 15000, 10000, 1), 0);
  assert_int_equal(s3l_timing_missing_ms(5000, 8751, 15000, 10000, 1), 1);
  assert_int_equal(s3l_timing_missing_ms(500, 300, 1000, 10000, 1), 910);
  assert_true(s3l_timing_missing_ms(UINT32_MAX, UINT32_MAX, 1, 10000, 1) > UINT32_MAX);
}

static void test_defaults_fit(void** state) {
  assert_int_equal(s3l_default_renew_ms(5000, 15000), 5000);
  assert_int_equal(s3l_default_renew_ms(5000, 6000), 2000);
  assert_int_equal(s3l_default_request_timeout_ms(5000, 15000, 10000, 1), 3000);
  assert_int_equal(s3l_default_request_timeout_ms(1000, 1000, 10000, 1), 0);
  assert_int_equal(s3l_default_request_timeout_ms(5000, 15000, 10000, 2), 3000);
  assert_int_equal(s3l_default_request_timeout_ms(5000, 10000, 10000, 2), 1900);
  assert_int_equal(s3l_default_request_timeout_ms(1000, 1000, 10000, 2), 0);
  for (uint32_t t = 1800; t < 60000; t += 100) {
    uint32_t renew = s3l_default_renew_ms(5000, t);
    uint32_t request = s3l_default_request_timeout_ms(renew, t, 10000, 1);
    assert_true(request > 0);
    assert_int_equal(s3l_timing_missing_ms(renew, request, t, 10000, 1), 0);
    request = s3l_default_request_timeout_ms(renew, t, 10000, 2); /* twice in turn */
    assert_int_equal(s3l_timing_missing_ms(renew, request, t, 10000, 2), 0);
  }
}

/* What is left on the holder's clock has passed on the observer's, at opposite bounds. */
static void test_outlasts_what_is_left(void** state) {
  const s3l_ns_t left[] = {0, 1, S3L_MS, 14850 * S3L_MS, INT64_C(2419200) * S3L_SECOND};
  const uint32_t drifts[] = {0, 1, 10000, 200000};
  for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
    for (size_t k = 0; k < sizeof drifts / sizeof *drifts; k++) {
      double d = drifts[k] / 1e6;
      s3l_ns_t wait = s3l_lease_outlast(left[i], drifts[k]);
      assert_true(wait > left[i]);
      assert_true((double)wait / (1 + d) >= (double)left[i] / (1 - d) * (1 - 1e-12));
      assert_true((double)wait <= (double)left[i] * (1 + d) / (1 - d) * (1 + 1e-12) + 2);
    }
  }
  assert_int_equal(s3l_lease_outlast(9900 * S3L_MS, 10000), INT64_C(10100000000) + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hold_ends_before_wait), cmocka_unit_test(test_outlasts_what_is_left),
      cmocka_unit_test(test_add_saturates),         cmocka_unit_test(test_retry_schedule),
      cmocka_unit_test(test_timing_rule),           cmocka_unit_test(test_defaults_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
