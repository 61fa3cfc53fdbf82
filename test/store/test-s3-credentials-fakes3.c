/* The S3 store with keys from each source there is: a scripted IMDS, container agent and STS beside
 * a fake S3 that checks signature and token, all over sockets. Then what ends: keys that expire,
 * keys that the store refuses, services that fail meanwhile. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/cache.h"
#include "lib/creds_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"
#include "util/timefmt.h"

#define FIRST  "ASIAFIRST"
#define SECOND "ASIASECOND"
#define LATE   "2099-01-01T00:00:00Z"

/* What the services answer; the secrets and tokens are those that the fake S3 wants. */
#define JSON_OF(which, end)                                                                        \
  "{\"Version\":1,\"AccessKeyId\":\"ASIA" which "\",\"SecretAccessKey\":\"secret/" which           \
  "\",\"Token\":\"token==" which "\",\"SessionToken\":\"token==" which "\",\"Expiration\":\"" end  \
  "\"}"
#define XML_OF(which)                                                                              \
  "<R><Credentials><AccessKeyId>ASIA" which "</AccessKeyId><SecretAccessKey>secret/" which         \
  "</SecretAccessKey><SessionToken>token==" which "</SessionToken><Expiration>" LATE               \
  "</Expiration></Credentials></R>"
#define TOKEN_AND_ROLE                                                                             \
  S3L_EXPECT("PUT /latest/api/token "), S3L_SEND(S3L_OK("imds-token")),                            \
      S3L_EXPECT("x-aws-ec2-metadata-token: imds-token\r\n"), S3L_SEND(S3L_OK("role")),            \
      S3L_EXPECT("x-aws-ec2-metadata-token: imds-token\r\n")

static s3l_creds_rig_t rig; /* the services, files, environment and loop */
static unsigned called;     /* by the services' scripts, where they say so */
static int64_t life_ms;     /* of what is in `ending`, as seen when a script calls */
static char ending[1024];

/* A reply with the first keys, which end so long from now. */
static void on_call(s3l_script_server_t* server) {
  char end_at[S3L_TIME_RFC3339_SIZE], body[512];
  called++;
  assert_true(s3l_time_format_rfc3339(s3l_clock_wall_ms() + life_ms, end_at));
  snprintf(body, sizeof(body),
           "{\"AccessKeyId\":\"" FIRST "\",\"SecretAccessKey\":\"secret/FIRST\","
           "\"Token\":\"token==FIRST\",\"Expiration\":\"%s\"}",
           end_at);
  snprintf(ending, sizeof(ending), "%s", S3L_OK(body));
}

static void begin(const s3l_step_t* const* scripts, size_t n) {
  const fakes3_options_t options = {.region = "eu-west-1",
                                    .buckets = "bucket",
                                    .keys = {{FIRST, "secret/FIRST", "token==FIRST"},
                                             {SECOND, "secret/SECOND", "token==SECOND"}}};
  unsetenv("AWS_ENDPOINT_URL_S3");
  creds_store_begin(&rig, scripts, n, &options);
  rig.server.on_call = on_call;
  called = 0;
}

static void set_file(const char* variable, const char* name, const char* text) {
  setenv(variable, s3l_creds_rig_file(&rig, name, text), 1);
}

static void open_store(const char* profile) {
  s3lect_store_s3_options_t o;
  s3lect_error_t error;
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = "bucket";
  o.region = "eu-west-1";
  o.endpoint = fakes3_url(creds_store.fake);
  o.profile = profile;
  if (s3lect_store_s3_options_check(&o, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(s3lect_store_s3_init(&rig.loop, &creds_store.store, &o, NULL), 0);
}

/* A write and a read with the keys of this source, which is asked once. */
static void works(const char* profile) {
  open_store(profile);
  creds_store_works(FIRST);
}

/* ---- Each source ---- */

static void works_with_the_environment(void** state) {
  begin(NULL, 0);
  setenv("AWS_ACCESS_KEY_ID", FIRST, 1);
  setenv("AWS_SECRET_ACCESS_KEY", "secret/FIRST", 1);
  setenv("AWS_SESSION_TOKEN", "token==FIRST", 1);
  works(NULL);
}

static void works_with_shared_files(void** state) {
  static const char keys[] = "aws_access_key_id = " FIRST "\naws_secret_access_key = secret/FIRST\n"
                             "aws_session_token = token==FIRST\n";
  char text[512];
  begin(NULL, 0);
  snprintf(text, sizeof(text), "[default]\n%s", keys);
  set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", text);
  works(NULL);
  /* A profile of the options comes before the environment's keys. */
  begin(NULL, 0);
  snprintf(text, sizeof(text), "[profile p]\n%s", keys);
  set_file("AWS_CONFIG_FILE", "config", text);
  setenv("AWS_ACCESS_KEY_ID", "NOT", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "these", 1);
  works("p");
}

static void works_with_a_program(void** state) {
  begin(NULL, 0);
  set_file("AWS_CONFIG_FILE", "config",
           "[default]\ncredential_process = echo '" JSON_OF("FIRST", LATE) "'\n");
  works(NULL);
}

static void works_with_a_role(void** state) {
  begin(S3_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("Credential=BASE/"), S3L_EXPECT("&RoleArn=arn&"),
                                  S3L_SEND(S3L_OK(XML_OF("FIRST"))))));
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  set_file("AWS_CONFIG_FILE", "config",
           "[default]\nrole_arn = arn\nsource_profile = b\n[profile b]\naws_access_key_id = BASE\n"
           "aws_secret_access_key = SK\n");
  works(NULL);
}

static void works_with_web_identity(void** state) {
  begin(S3_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("Action=AssumeRoleWithWebIdentity&"),
                                  S3L_EXPECT("&WebIdentityToken=jwt"),
                                  S3L_SEND(S3L_OK(XML_OF("FIRST"))))));
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  setenv("AWS_ROLE_ARN", "arn", 1);
  set_file("AWS_WEB_IDENTITY_TOKEN_FILE", "token", "jwt");
  works(NULL);
}

static void works_in_a_container(void** state) {
  char url[96];
  begin(S3_RIG_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("GET /v1/credentials "),
                                  S3L_EXPECT("\r\nauthorization: pod\r\n"),
                                  S3L_SEND(S3L_OK(JSON_OF("FIRST", LATE))))));
  snprintf(url, sizeof(url), "%s/v1/credentials", rig.base);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
  set_file("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token", "pod");
  works(NULL);
}

static void begin_on_an_instance(const s3l_step_t* const* scripts, size_t n) {
  begin(scripts, n);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  setenv("AWS_METADATA_SERVICE_TIMEOUT", "30", 1);
}

static void works_on_an_instance(void** state) {
  begin_on_an_instance(
      S3_RIG_SCRIPTS(S3L_SCRIPT(TOKEN_AND_ROLE, S3L_SEND(S3L_OK(JSON_OF("FIRST", LATE))))));
  works(NULL);
}

static void tells_why_there_are_none(void** state) {
  begin(NULL, 0);
  setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  open_store(NULL);
  assert_int_equal(creds_store_get(), S3LECT_ECREDENTIALS);
  assert_ptr_equal(
      strstr(creds_store.r.message, "environment: AWS_ACCESS_KEY_ID is not set; web identity: "),
      creds_store.r.message);
  assert_non_null(
      strstr(creds_store.r.message, "instance metadata: AWS_EC2_METADATA_DISABLED is true"));
  creds_store_end();
}

/* ---- Keys that end ---- */

/* Nobody asks, and the next keys are there before the first have ended. */
static void keys_are_replaced_ahead_of_their_end(void** state) {
  const char* next = S3L_OK(JSON_OF("SECOND", LATE));
  begin_on_an_instance(
      S3_RIG_SCRIPTS(S3L_SCRIPT(TOKEN_AND_ROLE, S3L_CALL, S3L_SEND(ending), S3L_CLOSE),
                     S3L_SCRIPT(TOKEN_AND_ROLE, S3L_CALL, S3L_SEND(next))));
  life_ms = 4000;
  open_store(NULL);
  assert_int_equal(creds_store_put(), 0);
  assert_string_equal(creds_store_key(), FIRST);
  s3l_wait_count(&rig.loop, &called, 2, "the keys to be replaced");
  do
    assert_int_equal(creds_store_get(), 0);
  while (strcmp(creds_store_key(), FIRST) == 0); /* they are on their way */
  assert_string_equal(creds_store_key(), SECOND);
  creds_store_end();
}

/* The service fails: the first keys serve to their end, and then it is told why there are none. */
static void keys_serve_to_their_end(void** state) {
  const char* sorry = S3L_ANSWER("500 Sorry", "");
  begin_on_an_instance(
      S3_RIG_SCRIPTS(S3L_SCRIPT(TOKEN_AND_ROLE, S3L_CALL, S3L_SEND(ending), S3L_CLOSE),
                     S3L_SCRIPT(S3L_EXPECT("PUT "), S3L_CALL, S3L_SEND(sorry), S3L_CLOSE)));
  rig.cut_short = true; /* it may just be asked when we close */
  life_ms = 5000;
  open_store(NULL);
  assert_int_equal(creds_store_put(), 0);
  s3l_wait_count(&rig.loop, &called, 2, "the service to fail");
  assert_int_equal(creds_store_get(), 0); /* and for at least a quarter of their life */
  while (creds_store_get() == 0)
    ;
  assert_int_equal(creds_store.r.result.status, S3LECT_ECREDENTIALS);
  assert_non_null(strstr(creds_store.r.message, "instance metadata: "));
  assert_non_null(strstr(creds_store.r.message, " answered 500"));
  assert_string_equal(creds_store_key(), FIRST);
  creds_store_end();
}

/* What the store says of keys counts more than what they say themselves. */
static void refused_keys_are_replaced(void** state) {
  static const struct {
    const char* fault;
    int status;
  } cases[] = {{"{\"match\":{\"access_key\":\"" FIRST "\"},\"skip\":1,\"status\":400,"
                "\"code\":\"ExpiredToken\"}",
                S3LECT_ESIGNATURE},
               {"{\"match\":{\"access_key\":\"" FIRST "\"},\"skip\":1,\"status\":403,"
                "\"code\":\"ExpiredToken\"}",
                S3LECT_ESIGNATURE},
               {"{\"match\":{\"access_key\":\"" FIRST "\"},\"skip\":1,\"status\":403,"
                "\"code\":\"InvalidAccessKeyId\"}",
                S3LECT_ESIGNATURE}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    begin_on_an_instance(
        S3_RIG_SCRIPTS(S3L_SCRIPT(TOKEN_AND_ROLE, S3L_SEND(S3L_OK(JSON_OF("FIRST", LATE))),
                                  TOKEN_AND_ROLE, S3L_SEND(S3L_OK(JSON_OF("SECOND", LATE))))));
    assert_true(fakes3_fault(creds_store.fake, cases[i].fault, NULL, 0) > 0);
    open_store(NULL);
    assert_int_equal(creds_store_put(), 0);
    assert_int_equal(creds_store_get(), cases[i].status);
    creds_store_gets_with(SECOND);
    creds_store_gets_with(SECOND);
    creds_store_end();
  }
}

/* Any other refusal says nothing about the keys. */
static void other_refusals_replace_nothing(void** state) {
  begin_on_an_instance(
      S3_RIG_SCRIPTS(S3L_SCRIPT(TOKEN_AND_ROLE, S3L_SEND(S3L_OK(JSON_OF("FIRST", LATE))))));
  assert_true(fakes3_fault(creds_store.fake,
                           "{\"skip\":1,\"count\":1,\"status\":403,\"code\":\"AccessDenied\"}",
                           NULL, 0) > 0);
  open_store(NULL);
  assert_int_equal(creds_store_put(), 0);
  assert_int_not_equal(creds_store_get(), 0);
  creds_store_gets_with(FIRST);
  creds_store_end();
}

/* Keys whose secret or token is wrong are refused by the fake, so that what passed above counts. */
static void the_fake_checks(void** state) {
  static const char* const bad[][2] = {
      {"secret/OTHER", "token==FIRST"}, {"secret/FIRST", "token==OTHER"}, {"secret/FIRST", ""}};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    begin(NULL, 0);
    setenv("AWS_ACCESS_KEY_ID", FIRST, 1);
    setenv("AWS_SECRET_ACCESS_KEY", bad[i][0], 1);
    setenv("AWS_SESSION_TOKEN", bad[i][1], 1);
    open_store(NULL);
    assert_int_equal(creds_store_put(), S3LECT_ESIGNATURE);
    creds_store_end();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(works_with_the_environment),
      cmocka_unit_test(works_with_shared_files),
      cmocka_unit_test(works_with_a_program),
      cmocka_unit_test(works_with_a_role),
      cmocka_unit_test(works_with_web_identity),
      cmocka_unit_test(works_in_a_container),
      cmocka_unit_test(works_on_an_instance),
      cmocka_unit_test(tells_why_there_are_none),
      cmocka_unit_test(keys_are_replaced_ahead_of_their_end),
      cmocka_unit_test(keys_serve_to_their_end),
      cmocka_unit_test(refused_keys_are_replaced),
      cmocka_unit_test(other_refusals_replace_nothing),
      cmocka_unit_test(the_fake_checks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
