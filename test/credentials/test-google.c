/* credentials/google: each kind of file and the metadata server over real sockets, and their order.
 * Under valgrind a signature takes so long that connections are closed as idle between questions.
 *
 * ctest labels: no-valgrind */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/google_rig.h"
#include "lib/test.h"
#include "wire/jwt.h"

static s3l_creds_rig_t* const rig = &s3l_google_rig;

/* ---- A service account ---- */

static char assertion[2048];

/* What the form holds for the account at `now_s`. */
static void expect_assertion(int64_t now_s) {
  char claims[512];
  s3l_buf_t b;
  snprintf(claims, sizeof(claims),
           "{\"iss\":\"" S3L_GOOGLE_EMAIL "\",\"scope\":\"" G_SCOPE
           "\",\"aud\":\"%s/token\",\"iat\":%lld,\"exp\":%lld}",
           rig->base, (long long)now_s - 10, (long long)now_s + 3590);
  s3l_buf_init(&b, assertion, sizeof(assertion));
  s3l_buf_puts(&b, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
  char jwt[1536];
  s3l_buf_t j;
  s3l_buf_init(&j, jwt, sizeof(jwt));
  assert_null(s3l_jwt_sign(S3L_SPAN(S3L_RSA_KEY("\n")),
                           S3L_SPAN("{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"k1\"}"),
                           s3l_span_cstr(claims), &j));
  s3l_buf_put(&b, s3l_buf_span(&j));
  assert_non_null(s3l_buf_cstr(&b));
}

static void a_service_account_signs(void** state) {
  G_BEGIN(
      S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(assertion), S3L_SPLIT(G_TOKEN("ya29.c.one...."), 1)));
  s3l_google_write("key.json", S3L_GOOGLE_KEY_FILE("%s/token"));
  expect_assertion(S3L_CREDS_RIG_NOW / 1000);
  s3l_google_open();
  s3l_google_gets("ya29.c.one....");
  assert_true(rig->expires_ms == S3L_CREDS_RIG_NOW + 3599000);
  s3l_creds_rig_end(rig);
}

static void the_file_is_read_anew(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT("jwt-bearer"), S3L_SEND(G_TOKEN("one")),
                     G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("two"))));
  s3l_google_write("key.json", S3L_GOOGLE_KEY_FILE("%s/token"));
  s3l_google_open();
  s3l_google_gets("one");
  s3l_google_write("key.json", S3L_GOOGLE_USER_FILE("%s/token"));
  s3l_google_gets("two");
  s3l_google_write("key.json", "{");
  s3l_creds_rig_fails(rig, "...key.json: is not a JSON object");
  s3l_creds_rig_end(rig);
}

/* Only if the service's clock is far from ours, and once. */
static void a_wrong_clock_is_corrected(void** state) {
#define REFUSAL                                                                                    \
  "{\"error\":\"invalid_grant\",\"error_description\":\"Invalid JWT: Token must be a short-lived " \
  "token (60 minutes) and in a reasonable timeframe.\"}"
#define REFUSES(time)                                                                              \
  S3L_SEND(                                                                                        \
      s3l_creds_rig_reply("400 Bad Request", "Date: Sun, 27 Oct 2024 " time " GMT\r\n", REFUSAL))
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT("assertion="), REFUSES("10:30:00"),
                     G_POST("/token"), S3L_EXPECT(assertion), S3L_SEND(G_TOKEN("one")),
                     G_POST("/token"), S3L_EXPECT("assertion="), REFUSES("10:00:00"),
                     G_POST("/token"), S3L_EXPECT(assertion), S3L_SEND(G_TOKEN("two"))));
  s3l_google_write("key.json", S3L_GOOGLE_KEY_FILE("%s/token"));
  expect_assertion(S3L_CREDS_RIG_NOW / 1000 + 1800);
  s3l_google_open();
  s3l_google_gets("one");
  /* The next question begins with this time. Meanwhile our clock has been set right. */
  expect_assertion(S3L_CREDS_RIG_NOW / 1000);
  s3l_google_gets("two");
  s3l_creds_rig_end(rig);
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(assertion), REFUSES("10:04:00")));
  s3l_google_write("key.json", S3L_GOOGLE_KEY_FILE("%s/token"));
  expect_assertion(S3L_CREDS_RIG_NOW / 1000);
  s3l_google_failed(
      "...answered 400: invalid_grant: Invalid JWT: Token must be a short-lived token (60 "
      "minutes) and in a reasonable timeframe.");
  assert_int_equal(rig->server.accepted, 1);
  assert_int_equal(rig->server.strays, 0);
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT("assertion="), REFUSES("10:30:00"),
                     G_POST("/token"), S3L_EXPECT("assertion="), REFUSES("10:50:00")));
  s3l_google_write("key.json", S3L_GOOGLE_KEY_FILE("%s/token"));
  s3l_google_failed("...answered 400: invalid_grant: ...");
}

/* ---- A user, and gcloud's folder ---- */

static void a_user_refreshes(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("one"))));
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/token"));
  s3l_google_got("one");
}

static void gclouds_file_is_found(void** state) {
  char config[100], folder[120], path[180], text[512];
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("one"))));
  snprintf(text, sizeof(text), S3L_GOOGLE_USER_FILE("%s/token"), rig->base);
  s3l_creds_rig_file(rig, "application_default_credentials.json", text);
  setenv("CLOUDSDK_CONFIG", rig->dir, 1);
  s3l_google_open();
  s3l_google_gets("one");
  s3l_creds_rig_end(rig);

  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("two"))));
  snprintf(text, sizeof(text), S3L_GOOGLE_USER_FILE("%s/token"), rig->base);
  snprintf(config, sizeof(config), "%s/.config", rig->dir);
  snprintf(folder, sizeof(folder), "%s/gcloud", config);
  assert_int_equal(mkdir(config, 0700), 0);
  assert_int_equal(mkdir(folder, 0700), 0);
  setenv("HOME", rig->dir, 1);
  snprintf(path, sizeof(path), "%s",
           s3l_creds_rig_file(rig, ".config/gcloud/application_default_credentials.json", text));
  s3l_google_open();
  s3l_google_gets("two");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
  assert_int_equal(rmdir(config), 0);
  s3l_creds_rig_end(rig);
}

/* ---- External accounts ---- */

static void a_token_file_is_exchanged(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/sts"), S3L_EXPECT(G_EXCHANGE_FORM("devstorage.read_write", "first")),
                     S3L_SEND(G_TOKEN("one")), G_POST("/sts"), S3L_EXPECT("&subject_token=second"),
                     S3L_SEND(G_TOKEN("two"))));
  s3l_google_write_token_file("", "first\n");
  s3l_google_open();
  s3l_google_gets("one");
  s3l_creds_rig_file(rig, "token", "second");
  s3l_google_gets("two");
  s3l_creds_rig_end(rig);
  G_BEGIN(S3L_SCRIPT(G_POST("/sts"), S3L_EXPECT("&subject_token=t%2B1"), S3L_SEND(G_TOKEN("one"))));
  s3l_google_write_token_file(
      ",\"format\":{\"type\":\"json\",\"subject_token_field_name\":\"id_token\"}",
      "{\"id_token\":\"t\\u002b1\"}");
  s3l_google_got("one");
}

static void a_url_gives_the_token(void** state) {
  G_BEGIN(S3L_SCRIPT(S3L_EXPECT("GET /identity?a=1&b=2 HTTP/1.1\r\n"),
                     S3L_EXPECT("\r\nMetadata: True\r\nAuthorization: Bearer x y\r\n\r\n"),
                     S3L_SEND(S3L_OK("{\"value\":\"s1\"}")), G_POST("/sts"),
                     S3L_EXPECT("&subject_token=s1"), S3L_SEND(G_TOKEN("one"))));
  s3l_google_write_external("\"url\":\"%s/identity?a=1&b=2\",\"headers\":{\"Metadata\":\"True\","
                            "\"Authorization\":\"Bearer x y\"},\"format\":{\"type\":\"json\","
                            "\"subject_token_field_name\":\"value\"}",
                            "");
  s3l_google_got("one");
}

static void an_account_is_impersonated(void** state) {
  G_BEGIN(S3L_SCRIPT(
      S3L_EXPECT("GET /id "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK("s1")), G_POST("/sts"),
      S3L_EXPECT(G_EXCHANGE_FORM("cloud-platform", "s1")), S3L_SEND(G_TOKEN("federated")),
      G_IMPERSONATION, S3L_EXPECT("authorization: Bearer federated\r\n"),
      S3L_EXPECT("content-type: application/json\r\n"),
      S3L_EXPECT("\r\n\r\n{\"scope\":[\"" G_SCOPE "\"],\"delegates\":[],\"lifetime\":\"1200s\"}"),
      S3L_SEND(G_IAM_TOKEN("one"))));
  s3l_google_write_external("\"url\":\"%s/id\"", G_IMPERSONATES
                            ",\"service_account_impersonation\":{\"token_lifetime_seconds\":1200}");
  /* The three URLs are those of the STS, of the source and of the impersonation. */
  s3l_google_open();
  s3l_google_gets("one");
  assert_true(rig->expires_ms == S3L_CREDS_RIG_NOW + 3600000);
  s3l_creds_rig_end(rig);
}

static void a_user_impersonates(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("mine")),
                     G_IMPERSONATION, S3L_EXPECT("authorization: Bearer mine\r\n"),
                     S3L_EXPECT("\r\n\r\n{\"scope\":[\"" G_SCOPE "\"],\"delegates\":[\"d@x\"]}"),
                     S3L_SEND(G_IAM_TOKEN("one")),
                     /* The next question begins with the user. */
                     G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("mine")),
                     G_IMPERSONATION, S3L_EXPECT("}"), S3L_SEND(G_IAM_TOKEN("two"))));
  s3l_google_write("adc.json", S3L_GOOGLE_IMPERSONATED_FILE("%s/v1/elector@x:generateAccessToken",
                                                            S3L_GOOGLE_USER_FILE("%s/token"),
                                                            ",\"delegates\":[\"d@x\"]"));
  s3l_google_open();
  s3l_google_gets("one");
  s3l_google_gets("two");
  s3l_creds_rig_end(rig);
}

/* ---- The metadata server ---- */

#define NO_FILES                                                                                   \
  G_VARIABLE "not set; gcloud: /nonexistent/.config/gcloud/application_default_credentials.json: " \
             "no such file or directory; "
#define NO_FILES_SERVER NO_FILES "metadata server: "

static void the_machine_gives_a_token(void** state) {
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_SEND(G_METADATA("200 OK", G_TOKEN_BODY("one"))), G_GET_TOKEN,
                     S3L_SEND(G_METADATA("200 OK", G_TOKEN_BODY("two")))));
  s3l_google_open();
  s3l_google_gets("one");
  assert_true(rig->expires_ms == S3L_CREDS_RIG_NOW + 3599000);
  s3l_google_gets("two");
  s3l_creds_rig_end(rig);
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_SEND(G_METADATA("200 OK", G_TOKEN_BODY("one")))));
  setenv("GCE_METADATA_HOST", rig->base + strlen("http://"), 1);
  s3l_creds_rig_configure(rig, NULL, 0);
  rig->settings.metadata_host = "127.0.0.1:1";
  s3l_creds_rig_open(rig);
  s3l_google_gets("one");
  s3l_creds_rig_end(rig);
}

static void another_service_is_not_believed(void** state) {
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_SEND(G_TOKEN("one"))));
  s3l_google_failed(NO_FILES_SERVER "the answer lacks Metadata-Flavor: Google");
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_SEND(G_METADATA("404 Not Found", ""))));
  s3l_google_failed("...answered 404");
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_SEND(G_METADATA("200 OK", "<html>"))));
  s3l_google_failed(NO_FILES_SERVER "the answer is not a JSON object");
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_RESET));
  s3l_google_failed("... (not a machine of Google Cloud)");
  assert_int_equal(rig->server.accepted, 1);
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_SEND(G_METADATA("503 Service Unavailable", "")), G_GET_TOKEN,
                     S3L_SEND(G_METADATA("200 OK", G_TOKEN_BODY("one")))));
  s3l_google_got("one");
}

static void the_machine_is_asked_only_where_it_may(void** state) {
  s3l_google_begin(NULL, 0);
  setenv("NO_GCE_CHECK", "true", 1);
  s3l_google_failed(NO_FILES_SERVER "NO_GCE_CHECK is true");
  s3l_google_begin(NULL, 0);
  setenv("GCE_METADATA_HOST", "10.1.2.3", 1);
  s3l_google_failed(NO_FILES_SERVER
                    "http://10.1.2.3: plain http is only for loopback and for the metadata "
                    "addresses of clouds; use https");
  /* The name may be used; nobody listens on this port of the real one. */
  s3l_google_begin(NULL, 0);
  setenv("GCE_METADATA_HOST", "metadata.google.internal:1", 1);
  s3l_google_failed("... (not a machine of Google Cloud)");
  s3l_google_begin(NULL, 0);
  setenv("GCE_METADATA_HOST", "user@x", 1);
  s3l_google_failed(NO_FILES_SERVER "GCE_METADATA_HOST must not contain user information (user@)");
}

/* The machine that the test runs on may be one of Google. */
static void the_machine_has_a_default_address(void** state) {
  s3l_settings_t settings;
  s3l_creds_rig_clear_environment();
  assert_int_equal(s3l_chain_google.configure(&settings, NULL, NULL), 0);
  assert_string_equal(settings.metadata_host, "169.254.169.254");
  s3l_settings_free(&settings);
}

/* ---- The order ---- */

static void begin_with_all(const s3l_step_t* const* scripts, size_t n) {
  char text[512];
  s3l_google_begin(scripts, n);
  snprintf(text, sizeof(text), S3L_GOOGLE_USER_FILE("%s/gcloud"), rig->base);
  s3l_creds_rig_file(rig, "application_default_credentials.json", text);
  setenv("CLOUDSDK_CONFIG", rig->dir, 1);
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/variable"));
}

#define BEGIN_WITH_ALL(...) begin_with_all(S3L_CREDS_RIG_SCRIPTS(__VA_ARGS__))

static void asks_in_the_order_of_the_sdks(void** state) {
  BEGIN_WITH_ALL(S3L_SCRIPT(G_POST("/variable"), S3L_SEND(G_TOKEN("one"))));
  s3l_google_got("one");
  BEGIN_WITH_ALL(S3L_SCRIPT(G_POST("/gcloud"), S3L_SEND(G_TOKEN("two"))));
  setenv("GOOGLE_APPLICATION_CREDENTIALS", "", 1);
  s3l_google_got("two");
  BEGIN_WITH_ALL(S3L_SCRIPT(G_GET_TOKEN, S3L_SEND(G_METADATA("200 OK", G_TOKEN_BODY("three")))));
  unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
  setenv("CLOUDSDK_CONFIG", "/nonexistent", 1);
  s3l_google_got("three");
}

/* Nobody else is asked. */
static void stops_at_what_is_broken(void** state) {
  static char large[S3L_SERVICE_BODY_MAX + 2], long_path[5000];
  char want[256];
  BEGIN_WITH_ALL(S3L_SCRIPT(S3L_CLOSE));
  setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/adc.json", 1);
  s3l_google_failed(G_VARIABLE "/nonexistent/adc.json: no such file or directory");
  BEGIN_WITH_ALL(S3L_SCRIPT(S3L_CLOSE));
  unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
  s3l_creds_rig_file(rig, "application_default_credentials.json", "{\"type\":\"x\"}");
  snprintf(want, sizeof(want),
           G_VARIABLE "not set; gcloud: %s/application_default_credentials.json: type x is not "
                      "supported",
           rig->dir);
  s3l_google_failed(want);
  BEGIN_WITH_ALL(S3L_SCRIPT(S3L_CLOSE));
  memset(large, ' ', sizeof(large) - 1);
  s3l_google_write("adc.json", "{}");
  s3l_creds_rig_file(rig, "adc.json", large);
  s3l_google_failed("...adc.json: is too large");
  BEGIN_WITH_ALL(S3L_SCRIPT(S3L_CLOSE));
  memset(long_path, 'x', sizeof(long_path) - 1);
  setenv("GOOGLE_APPLICATION_CREDENTIALS", long_path, 1);
  s3l_google_failed(G_VARIABLE "is too long a path");
  BEGIN_WITH_ALL(S3L_SCRIPT(G_POST("/variable"), S3L_EXPECT(G_USER_FORM),
                            S3L_SEND(S3L_ANSWER("401 Unauthorized", "{}"))));
  s3l_google_failed("...answered 401");
  assert_int_equal(rig->server.accepted, 1);
  assert_int_equal(rig->server.strays, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_service_account_signs),
      cmocka_unit_test(the_file_is_read_anew),
      cmocka_unit_test(a_wrong_clock_is_corrected),
      cmocka_unit_test(a_user_refreshes),
      cmocka_unit_test(gclouds_file_is_found),
      cmocka_unit_test(a_token_file_is_exchanged),
      cmocka_unit_test(a_url_gives_the_token),
      cmocka_unit_test(an_account_is_impersonated),
      cmocka_unit_test(a_user_impersonates),
      cmocka_unit_test(the_machine_gives_a_token),
      cmocka_unit_test(another_service_is_not_believed),
      cmocka_unit_test(the_machine_is_asked_only_where_it_may),
      cmocka_unit_test(the_machine_has_a_default_address),
      cmocka_unit_test(asks_in_the_order_of_the_sdks),
      cmocka_unit_test(stops_at_what_is_broken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
