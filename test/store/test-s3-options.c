/* store/s3/options: what options and environment come to, and what is said about bad ones. */
#include <stdlib.h>
#include <string.h>

#include "lib/s3_config.h"
#include "lib/test.h"

static void finds_aws(void** state) {
  s3lect_store_s3_options_t o = s3l_config_good();
  s3l_config_assert_host(&o, "my-bucket.s3.us-east-1.amazonaws.com",
                         "my-bucket.s3.us-east-1.amazonaws.com", 443, true, false);
  o.region = "cn-north-1";
  s3l_config_assert_host(&o, "my-bucket.s3.cn-north-1.amazonaws.com.cn",
                         "my-bucket.s3.cn-north-1.amazonaws.com.cn", 443, true, false);
  assert_string_equal(s3l_config.endpoint.region, "cn-north-1");
  o.region = "eu-west-1";
  o.bucket = "my.bucket"; /* the certificate's name would not match */
  s3l_config_assert_host(&o, "s3.eu-west-1.amazonaws.com", "s3.eu-west-1.amazonaws.com", 443, true,
                         true);
  o.bucket = "my-bucket";
  o.addressing = S3LECT_ADDRESSING_PATH;
  s3l_config_assert_host(&o, "s3.eu-west-1.amazonaws.com", "s3.eu-west-1.amazonaws.com", 443, true,
                         true);
}

static void finds_other_endpoints(void** state) {
  s3lect_store_s3_options_t o = s3l_config_good();
  o.endpoint = "http://localhost:9000";
  s3l_config_assert_host(&o, "localhost:9000", "localhost", 9000, false, true);
  o.endpoint = "https://store.example/";
  s3l_config_assert_host(&o, "store.example", "store.example", 443, true, true);
  o.endpoint = "http://[::1]:80";
  s3l_config_assert_host(&o, "[::1]", "::1", 80, false, true);
  o.endpoint = "http://[::1]:443";
  s3l_config_assert_host(&o, "[::1]:443", "::1", 443, false, true);
  o.endpoint = "http://store.example:8080";
  o.addressing = S3LECT_ADDRESSING_VIRTUAL_HOST;
  s3l_config_assert_host(&o, "my-bucket.store.example:8080", "my-bucket.store.example", 8080, false,
                         false);
  o.bucket = "my.bucket"; /* fine without TLS */
  s3l_config_assert_host(&o, "my.bucket.store.example:8080", "my.bucket.store.example", 8080, false,
                         false);
  o.addressing = S3LECT_ADDRESSING_AUTO;
  o.bucket = "My_Bucket";
  s3l_config_assert_host(&o, "store.example:8080", "store.example", 8080, false, true);
}

static void finds_directory_buckets(void** state) {
  s3lect_store_s3_options_t o = s3l_config_good();
  o.bucket = "my-locks--usw2-az1--x-s3";
  o.region = "us-west-2";
  s3l_config_assert_host(&o, "my-locks--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com",
                         "my-locks--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com", 443,
                         true, false);
  assert_true(s3l_config.endpoint.express);
  o.use_dualstack = 1;
  s3l_config_assert_host(
      &o, "my-locks--usw2-az1--x-s3.s3express-usw2-az1.dualstack.us-west-2.amazonaws.com",
      "my-locks--usw2-az1--x-s3.s3express-usw2-az1.dualstack.us-west-2.amazonaws.com", 443, true,
      false);
  o.use_dualstack = 0;
  o.bucket = "a--b--usw2-lax1-az1--x-s3"; /* a local zone */
  s3l_config_assert_host(
      &o, "a--b--usw2-lax1-az1--x-s3.s3express-usw2-lax1-az1.us-west-2.amazonaws.com",
      "a--b--usw2-lax1-az1--x-s3.s3express-usw2-lax1-az1.us-west-2.amazonaws.com", 443, true,
      false);
  assert_false(s3l_s3_endpoint_move(&s3l_config.endpoint, S3L_SPAN("us-east-1")));
  /* Another endpoint: the bucket is in the host's name wherever it can be. */
  o.endpoint = "http://localhost:9000";
  s3l_config_assert_host(&o, "a--b--usw2-lax1-az1--x-s3.localhost:9000",
                         "a--b--usw2-lax1-az1--x-s3.localhost", 9000, false, false);
  o.endpoint = "http://127.0.0.1:9000";
  s3l_config_assert_host(&o, "127.0.0.1:9000", "127.0.0.1", 9000, false, true);
  assert_true(s3l_config.endpoint.express);
  o.bucket = "my-locks--x-s3-not";
  assert_int_equal(s3l_config_make(&o), 0);
  assert_false(s3l_config.endpoint.express);
}

static void reads_the_environment(void** state) {
  s3lect_store_s3_options_t o = s3l_config_good();
  o.access_key_id = o.secret_access_key = NULL;
  setenv("AWS_ACCESS_KEY_ID", "EK", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "ES", 1);
  setenv("AWS_SECURITY_TOKEN", "OLD", 1);
  setenv("AWS_DEFAULT_REGION", "eu-north-1", 1);
  setenv("AWS_ENDPOINT_URL", "http://all:1", 1);
  s3l_config_assert_host(&o, "all:1", "all", 1, false, true);
  assert_string_equal(s3l_config.remote.access_key, "EK");
  assert_string_equal(s3l_config.remote.secret, "ES");
  assert_string_equal(s3l_config.remote.token, "OLD");
  assert_string_equal(s3l_config.endpoint.region, "eu-north-1");
  setenv("AWS_SESSION_TOKEN", "NEW", 1);
  setenv("AWS_REGION", "eu-south-1", 1);
  setenv("AWS_ENDPOINT_URL_S3", "http://s3:2", 1);
  s3l_config_assert_host(&o, "s3:2", "s3", 2, false, true);
  assert_string_equal(s3l_config.remote.token, "NEW");
  assert_string_equal(s3l_config.endpoint.region, "eu-south-1");
  /* Empty counts as unset. */
  setenv("AWS_ENDPOINT_URL_S3", "", 1);
  setenv("AWS_REGION", "", 1);
  setenv("AWS_SESSION_TOKEN", "", 1);
  s3l_config_assert_host(&o, "all:1", "all", 1, false, true);
  assert_string_equal(s3l_config.remote.token, "OLD");
  assert_string_equal(s3l_config.endpoint.region, "eu-north-1");
  /* Options come first; and with keys of one's own no token of the environment's. */
  o.endpoint = "http://own:3";
  o.region = "us-west-1";
  o.access_key_id = "AK";
  o.secret_access_key = "secret";
  s3l_config_assert_host(&o, "own:3", "own", 3, false, true);
  assert_string_equal(s3l_config.endpoint.region, "us-west-1");
  assert_string_equal(s3l_config.remote.access_key, "AK");
  assert_null(s3l_config.remote.token);
}

static void fills_in_defaults(void** state) {
  s3lect_store_s3_options_t o = s3l_config_good();
  o.connect_timeout_ms = o.tls_timeout_ms = o.idle_timeout_ms = o.max_connections = 0;
  assert_int_equal(s3l_config_make(&o), 0);
  assert_int_equal(s3l_config.remote.http.connect_timeout_ms, 1000);
  assert_int_equal(s3l_config.remote.http.tls_timeout_ms, 2000);
  assert_int_equal(s3l_config.remote.http.first_byte_timeout_ms, 0);
  assert_int_equal(s3l_config.remote.http.idle_timeout_ms, 60000);
  assert_int_equal(s3l_config.remote.http.max_connections, 64);
  assert_null(s3l_config.remote.http.ca_file);
  o.connect_timeout_ms = 5;
  o.max_connections = 2;
  assert_int_equal(s3l_config_make(&o), 0);
  assert_int_equal(s3l_config.remote.http.connect_timeout_ms, 5);
  assert_int_equal(s3l_config.remote.http.max_connections, 2);
}

static void refuses_bad_options(void** state) {
#define REFUSED(change, text)                                                                      \
  do {                                                                                             \
    s3lect_store_s3_options_t o = s3l_config_good();                                               \
    change;                                                                                        \
    s3l_config_assert_refused(&o, S3LECT_EOPTION, text);                                           \
  } while (0)
  REFUSED(o.bucket = NULL, "bucket: not set; name the bucket that holds the lockfile");
  REFUSED(o.bucket = "", "bucket: not set; name the bucket that holds the lockfile");
  REFUSED(o.bucket = "My_Bucket", "bucket \"My_Bucket\": not a bucket name; use 3 to 63 lower-case "
                                  "letters, digits, '-' and '.'");
  REFUSED(o.bucket = "ab",
          "bucket \"ab\": not a bucket name; use 3 to 63 lower-case letters, digits, "
          "'-' and '.'");
  REFUSED(o.bucket = "a/b", "bucket \"a/b\": not a bucket name; use 3 to 63 lower-case letters, "
                            "digits, '-' and '.'");
  REFUSED((o.endpoint = "http://h", o.bucket = "a b\n"),
          "bucket \"a b?\": not a bucket name; use 3 to 255 letters, digits, '-', '.' and '_'");
  REFUSED(o.bucket = "x--x-s3", "bucket \"x--x-s3\": not the name of a directory bucket, which is "
                                "BASE--ZONE--x-s3, as in locks--usw2-az1--x-s3");
  REFUSED(o.bucket = "x.y--usw2-az1--x-s3",
          "bucket \"x.y--usw2-az1--x-s3\": not the name of a directory bucket, which is "
          "BASE--ZONE--x-s3, as in locks--usw2-az1--x-s3");
  REFUSED((o.bucket = "x--usw2-az1--x-s3", o.addressing = S3LECT_ADDRESSING_PATH),
          "addressing: AWS serves directory buckets (S3 Express One Zone) in virtual-host style "
          "only");
  REFUSED((o.bucket = "x--usw2-az1--x-s3", o.server_side_encryption = "AES256"),
          "server_side_encryption: a directory bucket encrypts as its own default says: set it "
          "there");
  REFUSED(o.endpoint = "ftp://x", "endpoint \"ftp://x\": must begin with http:// or https://");
  REFUSED(o.endpoint = "localhost:9000",
          "endpoint \"localhost:9000\": must begin with http:// or https://");
  REFUSED(o.endpoint = "http://h:0", "endpoint \"http://h:0\": must have a port of 1 to 65535");
  REFUSED(o.endpoint = "http://h/bucket", "endpoint \"http://h/bucket\": must end with the host or "
                                          "port; the bucket is an option of its own");
  REFUSED(setenv("AWS_ENDPOINT_URL_S3", "x", 1),
          "AWS_ENDPOINT_URL_S3 \"x\": must begin with http:// or https://");
  REFUSED(o.region = "eu west", "region \"eu west\": not a region; give one like eu-central-1");
  REFUSED(o.region = "a\r\nb", "region \"a??b\": not a region; give one like eu-central-1");
  REFUSED(
      (o.endpoint = "http://10.0.0.1", o.addressing = S3LECT_ADDRESSING_VIRTUAL_HOST),
      "addressing: virtual-host style needs a host name in the endpoint, not an address; use path "
      "style");
  REFUSED(
      (o.bucket = "a.b", o.addressing = S3LECT_ADDRESSING_VIRTUAL_HOST),
      "addressing: virtual-host style over https cannot be used with a bucket name that has dots; "
      "use path style");
  REFUSED(o.addressing = 7,
          "addressing: not one of S3LECT_ADDRESSING_AUTO, _PATH and _VIRTUAL_HOST");
  REFUSED((o.endpoint = "http://h", o.use_dualstack = 1),
          "use_dualstack: is for AWS's own endpoints, and another endpoint is set");
  REFUSED(o.use_dualstack = 2, "use_dualstack: not one of -1, 0 and 1");
  REFUSED(setenv("AWS_USE_DUALSTACK_ENDPOINT", "yes", 1),
          "AWS_USE_DUALSTACK_ENDPOINT \"yes\": must be true or false");
  REFUSED(o.secret_access_key = "has blank",
          "secret_access_key: holds a blank, a line end or another character that no key has");
  REFUSED(o.session_token = "a\r\nX: y",
          "session_token: holds a blank, a line end or another character that no key has");
  REFUSED(o.max_connections = 1025, "max_connections: at most 1024");
#undef REFUSED
  s3lect_store_s3_options_t o = s3l_config_good();
  o.secret_access_key = NULL;
  s3l_config_assert_refused(
      &o, S3LECT_ECREDENTIALS,
      "secret_access_key: not set; access key and secret are needed together");
  o.access_key_id = NULL;
  assert_int_equal(s3l_config_make(&o), 0); /* they are looked for when they are needed */
  assert_null(s3l_config.remote.access_key);
  setenv("AWS_SECRET_ACCESS_KEY", "x", 1);
  s3l_config_assert_refused(
      &o, S3LECT_ECREDENTIALS,
      "AWS_ACCESS_KEY_ID: not set; access key and secret are needed together");
  o = s3l_config_good();
  o.ca_file = "/nonexistent/ca.pem";
  s3l_config_assert_refused(
      &o, S3LECT_ETLS,
      "ca_file \"/nonexistent/ca.pem\": cannot be read; give a file of PEM certificates");
  o.ca_file = NULL;
  setenv("AWS_CA_BUNDLE", S3L_TEST_DIR "/CMakeLists.txt", 1); /* a file, but not of certificates */
  s3lect_error_t error;
  assert_int_equal(s3lect_store_s3_options_check(&o, &error), S3LECT_ETLS);
  static const char begin[] = "AWS_CA_BUNDLE \"" S3L_TEST_DIR "/CMakeLists.txt\": ";
  assert_memory_equal(error.text, begin, sizeof(begin) - 1);
  o.endpoint = "http://h"; /* and without TLS nobody needs it */
  assert_int_equal(s3l_config_make(&o), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_aws),
      cmocka_unit_test(finds_other_endpoints),
      cmocka_unit_test(finds_directory_buckets),
      cmocka_unit_test(reads_the_environment),
      cmocka_unit_test(fills_in_defaults),
      cmocka_unit_test(refuses_bad_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
