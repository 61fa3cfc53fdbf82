/* wire/aws_host: partitions, what a region's name is, regions in hosts' names. */
#include "lib/test.h"
#include "wire/aws_host.h"

static void assert_span(s3l_span_t s, const char* wanted) {
  char text[128] = "";
  assert_true(s3l_span_copy(s.p != NULL ? s : S3L_SPAN("-"), text, sizeof(text)));
  assert_string_equal(text, wanted);
}

static void knows_partitions(void** state) {
  static const char* const cases[][2] = {{"us-east-1", ".amazonaws.com"},
                                         {"us-gov-west-1", ".amazonaws.com"},
                                         {"cn-north-1", ".amazonaws.com.cn"},
                                         {"us-iso-east-1", ".c2s.ic.gov"},
                                         {"us-isob-east-1", ".sc2s.sgov.gov"},
                                         {"us-isof-south-1", ".csp.hci.ic.gov"},
                                         {"eu-isoe-west-1", ".cloud.adc-e.uk"},
                                         {"eusc-de-east-1", ".amazonaws.eu"},
                                         {"mars", ".amazonaws.com"},
                                         {"", ".amazonaws.com"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    assert_span(s3l_aws_suffix(s3l_span_cstr(cases[i][0])), cases[i][1]);
}

static void knows_regions(void** state) {
  static const char* const good[] = {"us-east-1", "ap-southeast-12", "us-gov-west-1",
                                     "mx-central-1"};
  static const char* const bad[] = {"",          "auto",       "us-east",    "US-EAST-1",
                                    "us_east_1", "us-east-1.", "1-us-east-", "us.east-1",
                                    "-a-b-1",    "a/b-c-1"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    if (!s3l_aws_is_region(s3l_span_cstr(good[i])))
      fail_msg("%s", good[i]);
  }
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (s3l_aws_is_region(s3l_span_cstr(bad[i])))
      fail_msg("%s", bad[i]);
  }
}

static void finds_regions_in_hosts(void** state) {
  static const char* const cases[][2] = {
      {"bucket.s3.eu-west-1.amazonaws.com", "eu-west-1"},
      {"s3.eu-west-1.amazonaws.com", "eu-west-1"},
      {"my.dotted.bucket.s3.eu-west-1.amazonaws.com", "eu-west-1"},
      {"bucket.s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1"},
      {"bucket.s3-eu-west-1.amazonaws.com", "eu-west-1"},
      {"bucket.s3-us-gov-west-1.amazonaws.com", "us-gov-west-1"},
      {"s3-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"},
      {"bucket.s3.amazonaws.com", "us-east-1"},
      {"BUCKET.S3.eu-west-1.AMAZONAWS.com", "eu-west-1"},
      {"bucket.s3.cn-north-1.amazonaws.com.cn", "cn-north-1"},
      {"s3-foo-1.s3.eu-west-1.amazonaws.com", "eu-west-1"},
      /* none: */
      {"bucket.s3.cn-north-1.amazonaws.com", "-"},
      {"bucket.s3.eu-west-1.amazonaws.com.cn", "-"},
      {"bucket.s3-website-eu-west-1.amazonaws.com", "-"},
      {"bucket.s3-accelerate.amazonaws.com", "-"},
      {"bucket.sqs.eu-west-1.amazonaws.com", "-"},
      {"bucket.s3.eu-west-1.example.com", "-"},
      {"s3.eu-west-1.amazonaws.com.evil.example", "-"},
      {"eu-west-1.amazonaws.com", "-"},
      {"amazonaws.com", "-"},
      {".amazonaws.com", "-"},
      {"", "-"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    assert_span(s3l_aws_region_of_host(s3l_span_cstr(cases[i][0])), cases[i][1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knows_partitions),
      cmocka_unit_test(knows_regions),
      cmocka_unit_test(finds_regions_in_hosts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
