/* store/gcs with application default credentials, end to end: a key file, a token service that is
 * given its JWT, and the fake server over TLS, which knows the good token only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fakes3_store.h"
#include "lib/google_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/store_gcs.h"

#define GOOD "ya29.good"

static s3l_suite_req_t r;
static s3l_script_server_t tokens;
static char path[64];

static const fakes3_options_t as_google = {
    .protocol = "gcs", .buckets = "bucket", .keys = {{"someone", "", GOOD}}};

static void write_key_file(void) {
  char text[8192], url[64];
  snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)tokens.port);
  int n = snprintf(text, sizeof(text), S3L_GOOGLE_KEY_FILE("%s/token"), url);
  assert_true(n > 0 && (size_t)n < sizeof(text));
  snprintf(path, sizeof(path), "/tmp/s3lect-adc-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, (size_t)n), n);
  assert_int_equal(close(fd), 0);
  setenv("GOOGLE_APPLICATION_CREDENTIALS", path, 1);
}

static void begin(const s3l_step_t* const* scripts, size_t n) {
  const char* ca_file = start_tls_server(&as_google);
  s3lect_store_gcs_options_t o;
  s3lect_error_t error;
  memset(&tokens, 0, sizeof(tokens));
  tokens.scripts = scripts;
  tokens.scripts_len = n;
  tokens.unref = true;
  s3l_script_server_start(&tokens, &loop);
  s3l_creds_rig_clear_environment();
  write_key_file();
  s3lect_store_gcs_options_init(&o, sizeof(o));
  o.bucket = "bucket";
  o.endpoint = fakes3_url(server);
  o.ca_file = ca_file;
  if (s3lect_store_gcs_init(&loop, &store, &o, &error) != 0)
    fail_msg("%s", error.text);
  use_store();
}

static void end(void) {
  close_store();
  s3l_script_server_close(&tokens);
  stop_tls_server();
  assert_int_equal(unlink(path), 0);
}

#define JWT                                                                                        \
  G_POST("/token"),                                                                                \
      S3L_EXPECT("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=")

/* One token for all requests. */
static void a_key_file_is_enough(void** state) {
  char generation[64];
  begin(S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(JWT, S3L_SEND(G_TOKEN(GOOD)))));
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "one")->status, 0);
  assert_true(strlen(r.etag) < sizeof(generation));
  memcpy(generation, r.etag, strlen(r.etag) + 1);
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_MATCH, generation, "two")->status, 0);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->status, 0);
  assert_string_equal(r.body, "two");
  assert_int_equal(tokens.accepted, 1);
  end();
}

/* A token that the store refuses is replaced, and the request sent again. On a slow machine the
 * idle connection to the token service is closed before that. */
static void a_refused_token_is_replaced(void** state) {
  begin(S3L_CREDS_RIG_SCRIPTS(
      S3L_SCRIPT(JWT, S3L_SEND(G_TOKEN("ya29.revoked")), JWT, S3L_SEND(G_TOKEN(GOOD))),
      S3L_SCRIPT(JWT, S3L_SEND(G_TOKEN(GOOD)))));
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "one")->status, 0);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->status, 0);
  assert_string_equal(r.body, "one");
  end();
}

/* The message of the token service gets to the caller. */
static void a_failure_is_named(void** state) {
  begin(S3L_CREDS_RIG_SCRIPTS(S3L_SCRIPT(
      JWT, S3L_SEND(S3L_ANSWER("400 Bad Request", "{\"error\":\"invalid_grant\",\"error_"
                                                  "description\":\"Invalid JWT Signature.\"}")))));
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "one")->status,
                   S3LECT_ECREDENTIALS);
  assert_int_equal(r.result.outcome, S3LECT_NOT_APPLIED);
  assert_non_null(strstr(r.result.message, "answered 400: invalid_grant: Invalid JWT Signature."));
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_key_file_is_enough),
      cmocka_unit_test(a_refused_token_is_replaced),
      cmocka_unit_test(a_failure_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
