/* util/timefmt: every form both ways, and what must be refused. */
#include <string.h>
#include <time.h>

#include "lib/test.h"
#include "util/prng.h"
#include "util/timefmt.h"

static void reads_rfc3339(void** state) {
  static const struct {
    const char* text;
    int64_t ms;
  } good[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2024-10-27T10:30:45Z", 1730025045000},
      {"2024-10-27T10:30:45.123Z", 1730025045123},
      {"2024-10-27T10:30:45.1Z", 1730025045100},
      {"2024-10-27T10:30:45.123999999Z", 1730025045123},
      {"2024-10-27T12:30:45+02:00", 1730025045000},
      {"2024-10-27T05:00:45-05:30", 1730025045000},
      {"2024-10-27t10:30:45z", 1730025045000},
      {"0001-01-01T00:00:00Z", -62135596800000},
      {"0001-01-01T00:00:00+23:59", -62135596800000 - 86340000},
      {"2024-02-29T00:00:00Z", 1709164800000},
      {"2000-02-29T23:59:59Z", 951868799000},
      {"1969-12-31T23:59:59.999Z", -1},
      {"9999-12-31T23:59:59.999Z", 253402300799999},
  };
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    int64_t ms = 5;
    if (!s3l_time_parse_rfc3339(s3l_span_cstr(good[i].text), &ms))
      fail_msg("refused %s", good[i].text);
    if (ms != good[i].ms)
      fail_msg("%s gave %lld", good[i].text, (long long)ms);
  }
}

static void refuses_bad_rfc3339(void** state) {
  static const char* const bad[] = {"",
                                    "2024",
                                    "2024-10-27",
                                    "2024-10-27T10:30:45",
                                    "2024-10-27 10:30:45Z",
                                    "2024-13-01T00:00:00Z",
                                    "2024-00-01T00:00:00Z",
                                    "2024-10-00T00:00:00Z",
                                    "2024-10-32T00:00:00Z",
                                    "2023-02-29T00:00:00Z",
                                    "1900-02-29T00:00:00Z",
                                    "2024-04-31T00:00:00Z",
                                    "2024-10-27T24:00:00Z",
                                    "2024-10-27T10:60:00Z",
                                    "2024-10-27T10:30:60Z",
                                    "2024-10-27T10:30:45.Z",
                                    "2024-10-27T10:30:45.1234567890Z",
                                    "2024-10-27T10:30:45,1Z",
                                    "2024-10-27T10:30:45+2:00",
                                    "2024-10-27T10:30:45+24:00",
                                    "2024-10-27T10:30:45+02:60",
                                    "2024-10-27T10:30:45+0200",
                                    "2024-10-27T10:30:45+02",
                                    "2024-10-27T10:30:45ZZ",
                                    " 2024-10-27T10:30:45Z",
                                    "2024-10-27T10:30:45Z ",
                                    "12024-10-27T10:30:45Z",
                                    "-024-10-27T10:30:45Z",
                                    "2024-1-27T10:30:45Z"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    int64_t ms = 5;
    if (s3l_time_parse_rfc3339(s3l_span_cstr(bad[i]), &ms))
      fail_msg("accepted %s", bad[i]);
    assert_int_equal(ms, 5);
  }
  /* Every truncation of a good one. */
  const char whole[] = "2024-10-27T10:30:45.123+02:00";
  for (size_t n = 0; n < sizeof(whole) - 1; n++) {
    int64_t ms;
    assert_false(s3l_time_parse_rfc3339((s3l_span_t){whole, n}, &ms));
  }
}

static void writes_rfc3339(void** state) {
  char out[S3L_TIME_RFC3339_SIZE];
  assert_true(s3l_time_format_rfc3339(1730025045123, out));
  assert_string_equal(out, "2024-10-27T10:30:45.123Z");
  assert_true(s3l_time_format_rfc3339(1730025045000, out));
  assert_string_equal(out, "2024-10-27T10:30:45Z");
  assert_true(s3l_time_format_rfc3339(1730025045007, out));
  assert_string_equal(out, "2024-10-27T10:30:45.007Z");
  assert_true(s3l_time_format_rfc3339(-62135596800000, out));
  assert_string_equal(out, "0001-01-01T00:00:00Z");
  assert_true(s3l_time_format_rfc3339(-1, out));
  assert_string_equal(out, "1969-12-31T23:59:59.999Z");
  assert_true(s3l_time_format_rfc3339_ms(1730025045000, out));
  assert_string_equal(out, "2024-10-27T10:30:45.000Z");
  assert_false(s3l_time_format_rfc3339_ms(INT64_MAX, out));
  assert_false(s3l_time_format_rfc3339(253402300800000, out));
  assert_string_equal(out, "");
  assert_false(s3l_time_format_rfc3339(INT64_MIN, out));
  assert_false(s3l_time_format_rfc3339(INT64_MAX, out));
}

static void reads_http_dates(void** state) {
  static const char* const good[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                     "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"};
  static const char* const bad[] = {"",
                                    "Sun",
                                    "Sun, 06 Nov 1994 08:49:37",
                                    "Sun, 06 Nov 1994 08:49:37 UTC",
                                    "Sun, 6 Nov 1994 08:49:37 GMT",
                                    "Sun, 06 nov 1994 08:49:37 GMT",
                                    "Sun, 31 Nov 1994 08:49:37 GMT",
                                    "Sun, 06 Nov 1994 24:49:37 GMT",
                                    "Sun, 06 Nov 1994 08:49:37 GMT ",
                                    "Sunday, 06-Nov-1994 08:49:37 GMT",
                                    "Sun Nov 6 08:49:37 1994",
                                    "Xyz, 06 Nov 1994 08:49:37 GMT",
                                    "Sun Nov  6 08:49:37 94"};
  int64_t ms = 5;
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    assert_true(s3l_time_parse_http(s3l_span_cstr(good[i]), &ms));
    assert_true(ms == 784111777000);
  }
  assert_true(s3l_time_parse_http(S3L_SPAN("Wed Nov 16 08:49:37 1994"), &ms));
  assert_true(ms == 784975777000);
  assert_true(s3l_time_parse_http(S3L_SPAN("Friday, 24-Oct-69 00:00:00 GMT"), &ms));
  assert_true(ms > 0);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (s3l_time_parse_http(s3l_span_cstr(bad[i]), &ms))
      fail_msg("accepted %s", bad[i]);
  }
}

static void amz_dates(void** state) {
  char out[S3L_TIME_AMZ_SIZE];
  int64_t ms;
  assert_true(s3l_time_format_amz(1369353600000, out));
  assert_string_equal(out, "20130524T000000Z");
  assert_true(s3l_time_parse_amz(S3L_SPAN("20130524T000000Z"), &ms));
  assert_true(ms == 1369353600000);
  assert_false(s3l_time_parse_amz(S3L_SPAN("20130524T000000"), &ms));
  assert_false(s3l_time_parse_amz(S3L_SPAN("20130524 000000Z"), &ms));
  assert_false(s3l_time_parse_amz(S3L_SPAN("20131324T000000Z"), &ms));
}

/* Against libc's calendar, over the whole range. */
static void agrees_with_libc(void** state) {
  s3l_prng_t g;
  s3l_prng_seed(&g, 1);
  for (int i = 0; i < 20000; i++) {
    int64_t ms = (int64_t)s3l_prng_below(&g, 253402300800000 + 62135596800000) - 62135596800000;
    time_t seconds = (time_t)((ms - (ms % 1000 + 1000) % 1000) / 1000);
    struct tm tm;
    char want[64], got[S3L_TIME_HTTP_SIZE], iso[S3L_TIME_RFC3339_SIZE], amz[S3L_TIME_AMZ_SIZE];
    int64_t back;
    assert_non_null(gmtime_r(&seconds, &tm));
    assert_true(strftime(want, sizeof(want), "%a, %d %b ", &tm) > 0);
    assert_true(s3l_time_format_http(ms, got));
    assert_memory_equal(got, want, strlen(want));
    assert_true(s3l_time_parse_http(s3l_span_cstr(got), &back));
    assert_true(back == (int64_t)seconds * 1000);
    assert_true(s3l_time_format_rfc3339(ms, iso));
    assert_true(s3l_time_parse_rfc3339(s3l_span_cstr(iso), &back));
    assert_true(back == ms);
    assert_true(s3l_time_format_amz(ms, amz));
    assert_true(s3l_time_parse_amz(s3l_span_cstr(amz), &back));
    assert_true(back == (int64_t)seconds * 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_rfc3339),  cmocka_unit_test(refuses_bad_rfc3339),
      cmocka_unit_test(writes_rfc3339), cmocka_unit_test(reads_http_dates),
      cmocka_unit_test(amz_dates),      cmocka_unit_test(agrees_with_libc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
