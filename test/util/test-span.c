/* util/span: comparison, trimming, numbers, copies. */
#include "lib/test.h"
#include "util/span.h"

static void compares(void** state) {
  assert_true(s3l_span_eq(S3L_SPAN("abc"), s3l_span_cstr("abc")));
  assert_false(s3l_span_eq(S3L_SPAN("abc"), S3L_SPAN("abC")));
  assert_false(s3l_span_eq(S3L_SPAN("abc"), S3L_SPAN("ab")));
  assert_true(s3l_span_eq(S3L_SPAN("a\0b"), S3L_SPAN("a\0b")));
  assert_false(s3l_span_eq(S3L_SPAN("a\0b"), S3L_SPAN("a\0c")));
  assert_true(s3l_span_ieq(S3L_SPAN("ETag"), S3L_SPAN("etAG")));
  assert_false(s3l_span_ieq(S3L_SPAN("[a"), S3L_SPAN("{a")));
  assert_true(s3l_span_starts_with(S3L_SPAN("W/x"), S3L_SPAN("W/")));
  assert_true(s3l_span_starts_with(S3L_SPAN(""), S3L_SPAN("")));
  assert_false(s3l_span_starts_with(S3L_SPAN("W"), S3L_SPAN("W/")));
  assert_true(s3l_span_ends_with(S3L_SPAN("x/W"), S3L_SPAN("/W")));
  assert_true(s3l_span_ends_with(S3L_SPAN(""), S3L_SPAN("")));
  assert_false(s3l_span_ends_with(S3L_SPAN("x/W"), S3L_SPAN("x/")));
  assert_false(s3l_span_ends_with(S3L_SPAN("W"), S3L_SPAN("/W")));
  assert_null(s3l_span_cstr(NULL).p);
}

static void trims(void** state) {
  assert_true(s3l_span_eq(s3l_span_trim(S3L_SPAN(" \t a b\t")), S3L_SPAN("a b")));
  assert_int_equal(s3l_span_trim(S3L_SPAN(" \t ")).n, 0);
  assert_true(s3l_span_eq(s3l_span_trim(S3L_SPAN("\ra")), S3L_SPAN("\ra")));
}

static void reads_numbers(void** state) {
  static const char* const bad[] = {
      "", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616", "99999999999999999999999"};
  uint64_t v = 7;
  assert_true(s3l_span_to_u64(S3L_SPAN("0"), &v));
  assert_int_equal(v, 0);
  assert_true(s3l_span_to_u64(S3L_SPAN("18446744073709551615"), &v));
  assert_true(v == UINT64_MAX);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_false(s3l_span_to_u64(s3l_span_cstr(bad[i]), &v));
  assert_true(v == UINT64_MAX);
}

static void copies(void** state) {
  char out[4] = "xyz";
  assert_true(s3l_span_copy(S3L_SPAN("abc"), out, sizeof(out)));
  assert_string_equal(out, "abc");
  assert_false(s3l_span_copy(S3L_SPAN("abcd"), out, sizeof(out)));
  assert_string_equal(out, "");
  assert_false(s3l_span_copy(S3L_SPAN("a\0b"), out, sizeof(out)));
  assert_false(s3l_span_copy(S3L_SPAN(""), out, 0));
  assert_true(s3l_span_copy((s3l_span_t){NULL, 0}, out, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compares),
      cmocka_unit_test(trims),
      cmocka_unit_test(reads_numbers),
      cmocka_unit_test(copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
