/* credentials/google: what is said of broken answers and files, that no secret goes where it must
 * not, replacement ahead of the end, closing at every moment, and lack of memory. */
#include <stdio.h>
#include <string.h>

#include "lib/google_rig.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_creds_rig_t* const rig = &s3l_google_rig;

/* ---- Failures ---- */

static void answered(const char* reply, const char* why) {
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(reply)));
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/token"));
  s3l_google_failed(why);
}

static void names_bad_answers(void** state) {
  static char deep[1200], large[9000];
  answered(S3L_ANSWER("400 Bad Request", "{\"error\":\"invalid_grant\",\"error_description\":"
                                         "\"Token has been expired or revoked.\"}"),
           "...answered 400: invalid_grant: Token has been expired or revoked.");
  answered(S3L_OK("{}"), "...adc.json: the answer holds no access_token");
  answered(S3L_OK("{\"access_token\":"), "...adc.json: the answer is not a JSON object");
  answered(S3L_OK("{\"access_token\":1,\"expires_in\":1}"), "...adc.json: ...");
  answered(S3L_OK("{\"access_token\":\"a\\u0000b\",\"expires_in\":1}"), "...adc.json: ...");
  answered(S3L_OK("{\"access_token\":\"a b\",\"expires_in\":1}"), "...adc.json: ...");
  answered(S3L_OK("{\"access_token\":\"a\",\"expires_in\":\"soon\"}"), "...adc.json: ...");
  memset(deep, '[', sizeof(deep) - 1);
  memcpy(deep, "{\"a\":", 5);
  answered(S3L_OK(deep), "...adc.json: the answer is not a JSON object");
  snprintf(large, sizeof(large), "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n{");
  answered(large, "...adc.json: reply of 127.0.0.1:...");
}

static void names_bad_impersonations(void** state) {
  static const char* const bodies[] = {"{}", "{\"accessToken\":\"a\"}",
                                       "{\"accessToken\":1,\"expireTime\":\"" S3L_CREDS_RIG_END
                                       "\"}",
                                       "{\"accessToken\":\"a\",\"expireTime\":3}"};
  const char* form = S3L_GOOGLE_IMPERSONATED_FILE("%s/v1/elector@x:generateAccessToken",
                                                  S3L_GOOGLE_USER_FILE("%s/token"), "");
  for (size_t i = 0; i <= sizeof(bodies) / sizeof(bodies[0]); i++) {
    const char* reply = i < 4 ? S3L_OK(bodies[i])
                              : S3L_ANSWER("403 Forbidden",
                                           "{\"error\":{\"code\":403,\"message\":\"Permission 'iam."
                                           "serviceAccounts.getAccessToken' denied\",\"status\":"
                                           "\"PERMISSION_DENIED\"}}");
    G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("mine")),
                       G_IMPERSONATION, S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply)));
    s3l_google_write("adc.json", form);
    s3l_google_failed(i < 4 ? "...the answer lacks accessToken or expireTime"
                            : "...answered 403: PERMISSION_DENIED: Permission 'iam.serviceAccounts."
                              "getAccessToken' denied");
  }
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("mine")),
                     G_IMPERSONATION, S3L_EXPECT("\r\n\r\n"),
                     S3L_SEND(S3L_OK("{\"accessToken\":\"a\",\"expireTime\":\"soon\"}"))));
  s3l_google_write("adc.json", form);
  s3l_google_failed("...the expiration is not an RFC 3339 time");
}

static void names_bad_subjects(void** state) {
  G_BEGIN(S3L_SCRIPT(S3L_CLOSE));
  s3l_google_write_token_file("", " \n");
  s3l_google_failed("...the token file ...");
  G_BEGIN(S3L_SCRIPT(S3L_CLOSE));
  s3l_google_write_external("\"file\":\"/nonexistent/token\"", "");
  s3l_google_failed("...the token file /nonexistent/token: no such file or directory");
  G_BEGIN(S3L_SCRIPT(S3L_CLOSE));
  s3l_google_write_token_file(",\"format\":{\"type\":\"json\",\"subject_token_field_name\":\"t\"}",
                              "{}");
  s3l_google_failed("...credential_source gave no subject token in its format");
  G_BEGIN(S3L_SCRIPT(S3L_EXPECT("GET /id "), S3L_EXPECT("\r\n\r\n"),
                     S3L_SEND(S3L_ANSWER("404 Not Found", ""))));
  s3l_google_write_external("\"url\":\"%s/id\"", "");
  s3l_google_failed("...answered 404");
  G_BEGIN(S3L_SCRIPT(S3L_EXPECT("GET /id "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK("\n"))));
  s3l_google_write_external("\"url\":\"%s/id\"", "");
  s3l_google_failed("...credential_source gave no subject token in its format");
}

static void names_bad_keys(void** state) {
  static const char* const cases[][2] = {
      {"-----BEGIN ENCRYPTED PRIVATE KEY-----\\nMIIE\\n-----END ENCRYPTED PRIVATE KEY-----\\n",
       "...adc.json: private_key is encrypted; give it decrypted"},
      {"x", "...adc.json: private_key holds no private key in PEM form"}};
  char form[1024];
  for (size_t i = 0; i < 2; i++) {
    G_BEGIN(S3L_SCRIPT(S3L_CLOSE));
    snprintf(form, sizeof(form),
             "{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":\"%s\"}",
             cases[i][0]);
    s3l_google_write("adc.json", form);
    s3l_google_failed(cases[i][1]);
    assert_int_equal(rig->server.accepted, 0);
  }
}

/* Each place that is asked. */
static void sends_nothing_in_the_clear(void** state) {
  static const char foreign[] = "...http://10.1.2.3: plain http is only for loopback and for the "
                                "metadata addresses of clouds; use https";
  static const char* const files[] = {
      S3L_GOOGLE_KEY_FILE("http://10.1.2.3/token"), S3L_GOOGLE_USER_FILE("http://10.1.2.3/token"),
      S3L_GOOGLE_EXTERNAL_FILE("http://10.1.2.3/sts", "\"file\":\"/etc/hostname\"", ""),
      S3L_GOOGLE_EXTERNAL_FILE("https://127.0.0.1:1/sts", "\"url\":\"http://10.1.2.3/\"", "")};
  for (size_t i = 0; i < 4; i++) {
    s3l_google_begin(NULL, 0);
    s3l_google_write("adc.json", files[i]);
    s3l_google_failed(foreign);
  }
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("mine"))));
  s3l_google_write("adc.json", S3L_GOOGLE_IMPERSONATED_FILE("http://10.1.2.3/x",
                                                            S3L_GOOGLE_USER_FILE("%s/token"), ""));
  s3l_google_failed(foreign);
  /* The name of the metadata server, which DNS may lead anywhere, is for the metadata server. */
  s3l_google_begin(NULL, 0);
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("http://metadata.google.internal/token"));
  s3l_google_failed(
      "...http://metadata.google.internal: plain http is only for loopback and for the metadata "
      "addresses of clouds; use https");
  s3l_google_begin(NULL, 0);
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("oauth2.example/token"));
  s3l_google_failed("...adc.json: the URL for tokens must begin with http:// or https://");
}

static void tries_again(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_RESET),
          S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM),
                     S3L_SEND(S3L_ANSWER("503 Service Unavailable", "")), G_POST("/token"),
                     S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("one"))));
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/token"));
  s3l_google_got("one");
}

/* ---- Under a cache ---- */

static int64_t lease;

static int64_t test_lease(void) {
  return lease;
}

static int waited;

static void on_wait(s3l_creds_wait_t* wait, int status, const char* why) {
  waited = status == 0 ? 1 : status;
}

static void on_closed(void* arg) {
  ++*(unsigned*)arg;
}

static bool is_second(void* cache) {
  return strcmp(s3l_creds_cache_get(cache)->session_token, "two") == 0;
}

/* The old token serves until the new one is there. */
static void is_replaced_ahead_of_its_end(void** state) {
  unsigned closed = 0;
  s3l_creds_cache_t* cache;
  s3l_creds_wait_t wait = {0};
  s3l_creds_cache_options_t options = s3l_creds_cache_defaults;
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("one")),
                     G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN("two"))));
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/token"));
  s3l_google_open();
  options.wall_ms = rig->settings.wall_ms;
  options.lease_ms = test_lease;
  lease = 1000000;
  assert_int_equal(s3l_creds_cache_open(rig->chain, true, &options, &cache), 0);
  rig->chain = NULL; /* the cache has it */
  s3l_creds_user_t user = {.cache = cache, .waited = on_wait};
  waited = 0;
  assert_int_equal(s3l_creds_wait(&user, &wait, S3L_CLOCK_NEVER), 0);
  while (waited == 0)
    s3l_turn(&rig->loop);
  assert_string_equal(s3l_creds_cache_get(cache)->session_token, "one");
  lease += 3599000 - 290000; /* less than the five minutes */
  assert_string_equal(s3l_creds_cache_get(cache)->session_token, "one");
  s3l_wait(&rig->loop, is_second, cache, "the second token");
  s3l_creds_cache_close(cache, on_closed, &closed);
  s3l_wait_count(&rig->loop, &closed, 1, "the cache to be closed");
  s3l_creds_rig_end(rig);
}

/* ---- Closing, and memory ---- */

#define SCENARIO                                                                                   \
  S3L_EXPECT("GET /id "), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK("s1")), G_POST("/sts"),          \
      S3L_EXPECT("subject_token=s1"), S3L_SEND(G_TOKEN("federated")), G_IMPERSONATION,             \
      S3L_EXPECT("}"), S3L_SEND(G_IAM_TOKEN("one"))

static void closes_at_every_moment(void** state) {
  bool over = false;
  unsigned turns = 0;
  for (; !over; turns++) {
    G_BEGIN(S3L_SCRIPT(SCENARIO));
    s3l_google_write_external("\"url\":\"%s/id\"", G_IMPERSONATES);
    rig->cut_short = true;
    s3l_google_open();
    s3l_creds_rig_ask(rig);
    for (unsigned i = 0; i < turns && rig->done == 0; i++)
      s3l_turn(&rig->loop);
    over = rig->done > 0;
    s3l_creds_rig_end(rig); /* the question under way is cancelled */
  }
  assert_true(turns > 6);
}

/* The scenario with allocation number `at` failing, and with `on` all later ones; false when there
 * were not so many. */
static bool run_without_memory(size_t at, bool on) {
  G_BEGIN(S3L_SCRIPT(SCENARIO), S3L_SCRIPT(SCENARIO));
  s3l_google_write_external("\"url\":\"%s/id\"", G_IMPERSONATES);
  rig->cut_short = true;
  s3l_heap_install();
  s3l_heap_fail_at(at, on);
  int err = s3l_chain_google.configure(&rig->settings, NULL, NULL);
  if (err == 0)
    err = s3l_chain_provider(&rig->loop, &s3l_chain_google, &rig->settings, &rig->chain);
  if (err == 0)
    err = s3l_creds_rig_try(rig);
  if (err == 0) {
    s3l_creds_rig_wait(rig);
    err = rig->status;
  }
  bool failed = s3l_heap_fail_end();
  if (!failed && err != 0)
    fail_msg("%s: %s", s3lect_err_name(err), rig->why);
  assert_true(err == 0 || err == UV_ENOMEM || err == S3LECT_ECREDENTIALS);
  s3l_creds_rig_end(rig);
  s3l_heap_remove();
  return failed;
}

static void survives_without_memory(void** state) {
  for (int on = 0; on < 2; on++) {
    size_t n = 0;
    while (run_without_memory(n, on == 1))
      n++;
    assert_true(n >= 6); /* settings, chain, file, client, connection, tokens */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_bad_answers),
      cmocka_unit_test(names_bad_impersonations),
      cmocka_unit_test(names_bad_subjects),
      cmocka_unit_test(names_bad_keys),
      cmocka_unit_test(sends_nothing_in_the_clear),
      cmocka_unit_test(tries_again),
      cmocka_unit_test(is_replaced_ahead_of_its_end),
      cmocka_unit_test(closes_at_every_moment),
      cmocka_unit_test(survives_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
