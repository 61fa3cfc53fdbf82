#include "lib/s3_config.h"

#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

s3l_s3_config_t s3l_config;
static s3lect_error_t error;

static void clear_environment(void) {
  static const char* const names[] = {"AWS_REGION",
                                      "AWS_DEFAULT_REGION",
                                      "AWS_ENDPOINT_URL_S3",
                                      "AWS_ENDPOINT_URL",
                                      "AWS_CA_BUNDLE",
                                      "AWS_ACCESS_KEY_ID",
                                      "AWS_SECRET_ACCESS_KEY",
                                      "AWS_SESSION_TOKEN",
                                      "AWS_SECURITY_TOKEN",
                                      "AWS_USE_DUALSTACK_ENDPOINT",
                                      "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
                                      "AWS_PROFILE",
                                      "AWS_DEFAULT_PROFILE",
                                      "https_proxy",
                                      "HTTPS_PROXY",
                                      "http_proxy",
                                      "no_proxy",
                                      "NO_PROXY"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    unsetenv(names[i]);
  setenv("AWS_CONFIG_FILE", "/nonexistent/config", 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials", 1);
}

s3lect_store_s3_options_t s3l_config_good(void) {
  s3lect_store_s3_options_t o;
  clear_environment();
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = "my-bucket";
  o.access_key_id = "AK";
  o.secret_access_key = "secret";
  o.connect_timeout_ms = o.tls_timeout_ms = 20000; /* a busy machine is no fault */
  return o;
}

int s3l_config_make(const s3lect_store_s3_options_t* o) {
  return s3l_s3_configure(o, &s3l_config, &error);
}

void s3l_config_assert_host(const s3lect_store_s3_options_t* o, const char* header,
                            const char* host, unsigned port, bool tls, bool path_style) {
  if (s3l_config_make(o) != 0)
    fail_msg("%s", error.text);
  assert_string_equal(s3l_config.endpoint.host_header, header);
  assert_string_equal(s3l_config.remote.http.host, host);
  assert_int_equal(s3l_config.remote.http.port, port);
  assert_int_equal(s3l_config.remote.http.tls, tls);
  assert_int_equal(s3l_config.endpoint.path_style, path_style);
}

void s3l_config_assert_refused(const s3lect_store_s3_options_t* o, int err, const char* text) {
  s3lect_error_t checked, opened;
  assert_int_equal(s3lect_store_s3_options_check(o, &checked), err);
  assert_string_equal(checked.text, text);
  assert_int_equal(checked.code, err);
  assert_memory_equal(checked.text, checked.option, strlen(checked.option));
  assert_int_equal(s3lect_store_s3_options_check(o, NULL), err);
  s3lect_store_t store;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_s3_init(&loop, &store, o, &opened), err);
  assert_string_equal(opened.text, text);
  assert_int_equal(uv_loop_close(&loop), 0);
}
