/* store/gcs/options: what options and environment come to, and what is said about bad ones. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "s3lect.h"
#include "store/gcs/options.h"

static s3lect_store_gcs_options_t good(void) {
  s3lect_store_gcs_options_t o;
  s3lect_store_gcs_options_init(&o, sizeof(o));
  o.bucket = "my-bucket";
  return o;
}

static s3l_gcs_config_t config;

static void configure(const s3lect_store_gcs_options_t* o) {
  s3lect_error_t error;
  if (s3l_gcs_configure(o, &config, &error) != 0)
    fail_msg("%s", error.text);
}

static void goes_to(const s3lect_store_gcs_options_t* o, const char* header, const char* host,
                    unsigned port, bool tls) {
  configure(o);
  assert_string_equal(config.remote.host_header, header);
  assert_string_equal(config.remote.host, host);
  assert_int_equal(config.remote.http.port, port);
  assert_int_equal(config.remote.http.tls, tls);
}

static void refused(const s3lect_store_gcs_options_t* o, int code, const char* text) {
  s3lect_error_t error;
  s3lect_store_t store;
  uv_loop_t loop;
  assert_int_equal(s3lect_store_gcs_options_check(o, &error), code);
  if (strstr(error.text, text) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", error.text, text);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_gcs_init(&loop, &store, o, NULL), code);
  assert_int_equal(uv_loop_close(&loop), 0); /* nothing to clean up */
}

static void finds_the_endpoint(void** state) {
  s3lect_store_gcs_options_t o = good();
  goes_to(&o, "storage.googleapis.com", "storage.googleapis.com", 443, true);
  assert_true(config.takes_token && !config.emulator);
  o.endpoint = "https://storage.p.googleapis.com/";
  goes_to(&o, "storage.p.googleapis.com", "storage.p.googleapis.com", 443, true);
  o.endpoint = "http://[::1]:8080";
  goes_to(&o, "[::1]:8080", "::1", 8080, false);
  assert_true(config.takes_token);
}

static void finds_an_emulator(void** state) {
  s3lect_store_gcs_options_t o = good();
  setenv("STORAGE_EMULATOR_HOST", "gcs:4443", 1);
  goes_to(&o, "gcs:4443", "gcs", 4443, false);
  assert_true(config.emulator && config.takes_token);
  setenv("STORAGE_EMULATOR_HOST", "https://gcs.example", 1);
  goes_to(&o, "gcs.example", "gcs.example", 443, true);
  assert_true(config.emulator);
  o.endpoint = "https://storage.example";
  goes_to(&o, "storage.example", "storage.example", 443, true);
  assert_false(config.emulator);
  o.endpoint = NULL;
  setenv("STORAGE_EMULATOR_HOST", "gcs:x", 1);
  refused(&o, S3LECT_EOPTION, "STORAGE_EMULATOR_HOST");
  char longest[600];
  memset(longest, 'a', sizeof(longest));
  longest[sizeof(longest) - 1] = '\0';
  setenv("STORAGE_EMULATOR_HOST", longest, 1);
  refused(&o, S3LECT_EOPTION, "STORAGE_EMULATOR_HOST");
  setenv("STORAGE_EMULATOR_HOST", "", 1);
  goes_to(&o, "storage.googleapis.com", "storage.googleapis.com", 443, true);
  unsetenv("STORAGE_EMULATOR_HOST");
}

static void finds_keys(void** state) {
  s3lect_store_gcs_options_t o = good();
  configure(&o);
  assert_null(config.remote.access_key);
  setenv("GS_ACCESS_KEY_ID", "GOOGENV", 1);
  setenv("GS_SECRET_ACCESS_KEY", "environment", 1);
  configure(&o);
  assert_string_equal(config.remote.access_key, "GOOGENV");
  assert_string_equal(config.remote.secret, "environment");
  o.access_key_id = "GOOGOPTION";
  o.secret_access_key = "option";
  configure(&o);
  assert_string_equal(config.remote.access_key, "GOOGOPTION");
  assert_string_equal(config.remote.secret, "option");
  o.secret_access_key = NULL; /* not the other one of the environment */
  refused(&o, S3LECT_ECREDENTIALS, "secret_access_key: not set");
  o.access_key_id = NULL;
  unsetenv("GS_ACCESS_KEY_ID");
  refused(&o, S3LECT_ECREDENTIALS, "GS_ACCESS_KEY_ID: not set");
  unsetenv("GS_SECRET_ACCESS_KEY");
}

static void takes_one_source(void** state) {
  uv_loop_t loop;
  s3lect_credentials_provider_t provider;
  s3lect_store_gcs_options_t o = good();
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_credentials_static_init(&loop, &provider, NULL, NULL, "token", NULL), 0);
  setenv("GS_ACCESS_KEY_ID", "GOOGENV", 1); /* does not count */
  o.credentials = &provider;
  configure(&o);
  assert_null(config.remote.access_key);
  o.access_key_id = "GOOG";
  o.secret_access_key = "secret";
  refused(&o, S3LECT_EOPTION, "credentials: give one only of access_key_id and credentials");
  unsetenv("GS_ACCESS_KEY_ID");
  s3lect_credentials_close(&provider, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void refuses_nonsense(void** state) {
  static const char* const buckets[] = {"",        "ab",   "My-bucket", "-bucket", "buc/",
                                        "bucket.", "a..b", "bu cket",   "é",       "bucket\r\n"};
  s3lect_store_gcs_options_t o = good();
  char longest[224];
  for (size_t i = 0; i < sizeof(buckets) / sizeof(buckets[0]); i++) {
    o.bucket = buckets[i];
    refused(&o, S3LECT_EOPTION, "bucket");
  }
  memset(longest, 'a', sizeof(longest));
  longest[223] = '\0';
  o.bucket = longest;
  refused(&o, S3LECT_EOPTION, "not a bucket name; use 3 to 222");
  longest[222] = '\0';
  assert_int_equal(s3lect_store_gcs_options_check(&o, NULL), 0);
  o = good();
  o.endpoint = "ftp://x";
  refused(&o, S3LECT_EOPTION, "endpoint");
  o.endpoint = "https://user:hidden@gateway";
  refused(&o, S3LECT_EOPTION, "endpoint: must not contain user information");
  o.endpoint = "https://storage.googleapis.com/my-bucket";
  refused(&o, S3LECT_EOPTION, "the bucket is an option of its own");
  o = good();
  o.ca_file = "/no/such/file";
  refused(&o, S3LECT_ETLS, "ca_file");
  o = good();
  o.access_key_id = "GOOG X";
  o.secret_access_key = "secret";
  refused(&o, S3LECT_EOPTION, "access_key_id: holds a blank");
  o = good();
  o.max_connections = 1025;
  refused(&o, S3LECT_EOPTION, "max_connections");
  o = good();
  o.size = 1;
  refused(&o, UV_EINVAL, "size");
}

/* No other process on the way may read a token; a signature is no secret. */
static void tokens_want_https(void** state) {
  s3lect_store_gcs_options_t o = good();
  o.endpoint = "http://gcs.example:4443";
  refused(&o, S3LECT_EOPTION,
          "endpoint \"http://gcs.example:4443\": tokens are not sent over plain http, but for "
          "loopback addresses; use https, or STORAGE_EMULATOR_HOST for an emulator");
  o.access_key_id = "GOOG";
  o.secret_access_key = "secret";
  configure(&o);
  assert_false(config.takes_token);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_endpoint), cmocka_unit_test(finds_an_emulator),
      cmocka_unit_test(finds_keys),         cmocka_unit_test(takes_one_source),
      cmocka_unit_test(refuses_nonsense),   cmocka_unit_test(tokens_want_https),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
