/* creds/chain: the order of the sources, what ends the search, what its failure tells, the roles of
 * profiles one after the other; closing at every moment, and no memory at every allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/creds_rig.h"
#include "lib/heap.h"
#include "lib/wait.h"
#include "s3lect/errno.h"

#define JSON_OF(key)                                                                               \
  "{\"Code\":\"Success\",\"AccessKeyId\":\"" key                                                   \
  "\",\"SecretAccessKey\":\"SK\",\"Token\":\"T\",\"Expiration\":\"" S3L_CREDS_RIG_END "\"}"
#define XML_OF(key)                                                                                \
  "<R><Credentials><AccessKeyId>" key "</AccessKeyId><SecretAccessKey>SK</SecretAccessKey>"        \
  "<SessionToken>T</SessionToken><Expiration>" S3L_CREDS_RIG_END "</Expiration></Credentials></R>"

#define NOT_IN_ENVIRONMENT  "environment: AWS_ACCESS_KEY_ID is not set; "
#define NO_WEB_IDENTITY     "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; "
#define ONE_SCRIPT(...)     S3L_SCRIPTS(S3L_SCRIPT(__VA_ARGS__)), 1
#define ASSUMES(role, key)  S3L_EXPECT("&RoleArn=" role "&"), S3L_SEND(S3L_OK(XML_OF(key)))
#define IS_SIGNED_WITH(key) S3L_EXPECT("\r\nauthorization: AWS4-HMAC-SHA256 Credential=" key "/")

static s3l_creds_rig_t rig;

static void open_chain(const char* profile, uint32_t sources) {
  s3l_creds_rig_configure(&rig, profile, sources);
  s3l_creds_rig_open(&rig);
}

static void set_file(const char* variable, const char* name, const char* text) {
  setenv(variable, s3l_creds_rig_file(&rig, name, text), 1);
}

/* ---- Order ---- */

/* Every source has keys. */
static void configure_all(void) {
  char url[96];
  setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
  set_file("AWS_WEB_IDENTITY_TOKEN_FILE", "token", "jwt");
  setenv("AWS_ROLE_ARN", "arn", 1);
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
           "[default]\naws_access_key_id = FILE\naws_secret_access_key = SK\n"
           "[other]\naws_access_key_id = OTHER\naws_secret_access_key = SK\n");
  snprintf(url, sizeof(url), "%s/container", rig.base);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  setenv("AWS_METADATA_SERVICE_TIMEOUT", "30", 1);
}

/* Takes the first so many out. */
static void take_out(unsigned n) {
  static const char* const variables[] = {"AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE",
                                          "AWS_SHARED_CREDENTIALS_FILE",
                                          "AWS_CONTAINER_CREDENTIALS_FULL_URI"};
  for (unsigned i = 0; i < n; i++)
    unsetenv(variables[i]);
  if (n > 0)
    unsetenv("AWS_ACCESS_KEY_ID");
}

static void begin_with_all(unsigned taken_out, const s3l_step_t* const* scripts, size_t n) {
  s3l_creds_rig_init(&rig, scripts, n);
  configure_all();
  take_out(taken_out);
}

static void asks_in_the_order_of_the_sdks(void** state) {
  static const struct {
    const char* asked; /* NULL: nobody */
    const char* key;
  } cases[] = {{NULL, "ENV"},
               {"Action=AssumeRoleWithWebIdentity&", "WEB"},
               {NULL, "FILE"},
               {"GET /container HTTP/1.1\r\n", "CONTAINER"}};
  (void)state;
  for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char* reply = i == 1 ? S3L_OK(XML_OF("WEB")) : S3L_OK(JSON_OF("CONTAINER"));
    const s3l_step_t one[] = {S3L_EXPECT(cases[i].asked), S3L_SEND(reply), S3L_SCRIPT_END};
    const s3l_step_t* const scripts[] = {one};
    begin_with_all(i, scripts, cases[i].asked != NULL ? 1 : 0);
    open_chain(NULL, 0);
    s3l_creds_rig_gets(&rig, cases[i].key);
    s3l_creds_rig_end(&rig);
    assert_int_equal(rig.server.accepted, cases[i].asked != NULL ? 1 : 0);
  }
  begin_with_all(4, ONE_SCRIPT(S3L_EXPECT("PUT /latest/api/token "), S3L_SEND(S3L_OK("t")),
                               S3L_EXPECT("GET "), S3L_SEND(S3L_OK("r")), S3L_EXPECT("GET "),
                               S3L_SEND(S3L_OK(JSON_OF("INSTANCE")))));
  open_chain(NULL, 0);
  s3l_creds_rig_gets(&rig, "INSTANCE");
  s3l_creds_rig_end(&rig);
}

static void an_empty_variable_is_none(void** state) {
  (void)state;
  begin_with_all(0, NULL, 0);
  setenv("AWS_ACCESS_KEY_ID", "", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "", 1);
  setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "", 1);
  setenv("AWS_PROFILE", "", 1);
  open_chain(NULL, 0);
  s3l_creds_rig_gets(&rig, "FILE");
  s3l_creds_rig_end(&rig);
}

static void asks_only_what_it_is_told_to(void** state) {
  (void)state;
  begin_with_all(0, NULL, 0);
  open_chain(NULL, S3LECT_CREDENTIALS_PROFILE);
  s3l_creds_rig_gets(&rig, "FILE");
  s3l_creds_rig_end(&rig);
  begin_with_all(0, NULL, 0);
  unsetenv("AWS_ACCESS_KEY_ID");
  unsetenv("AWS_SECRET_ACCESS_KEY");
  open_chain(NULL, S3LECT_CREDENTIALS_ENVIRONMENT);
  s3l_creds_rig_fails(&rig, "environment: AWS_ACCESS_KEY_ID is not set");
  assert_string_equal(rig.why, "environment: AWS_ACCESS_KEY_ID is not set");
  s3l_creds_rig_end(&rig);
}

/* A profile of the code comes before the environment's keys; one of the environment does not. */
static void a_profile_of_the_code_comes_first(void** state) {
  (void)state;
  begin_with_all(0, NULL, 0);
  open_chain("other", 0);
  s3l_creds_rig_gets(&rig, "OTHER");
  s3l_creds_rig_end(&rig);
  begin_with_all(0, NULL, 0);
  open_chain("other", S3LECT_CREDENTIALS_ENVIRONMENT | S3LECT_CREDENTIALS_PROFILE);
  s3l_creds_rig_gets(&rig, "OTHER");
  s3l_creds_rig_end(&rig);
  begin_with_all(0, NULL, 0);
  setenv("AWS_PROFILE", "other", 1);
  open_chain(NULL, 0);
  s3l_creds_rig_gets(&rig, "ENV");
  s3l_creds_rig_end(&rig);
  begin_with_all(2, NULL, 0);
  setenv("AWS_PROFILE", "other", 1);
  open_chain(NULL, 0);
  s3l_creds_rig_gets(&rig, "OTHER");
  s3l_creds_rig_end(&rig);
}

static void reads_files_anew(void** state) {
  (void)state;
  begin_with_all(2, NULL, 0);
  open_chain(NULL, 0);
  s3l_creds_rig_gets(&rig, "FILE");
  s3l_creds_rig_file(&rig, "credentials",
                     "[default]\naws_access_key_id = NEW\naws_secret_access_key = SK\n");
  s3l_creds_rig_gets(&rig, "NEW");
  s3l_creds_rig_end(&rig);
}

/* ---- What ends the search ---- */

static void tells_all_that_was_tried(void** state) {
  (void)state;
  s3l_creds_rig_init(&rig, NULL, 0);
  setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  open_chain(NULL, 0);
  s3l_creds_rig_ask(&rig);
  s3l_creds_rig_wait(&rig);
  assert_int_equal(rig.status, S3LECT_ECREDENTIALS);
  assert_string_equal(
      rig.why, NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
      "shared files: profile \"default\": does not exist "
      "(/nonexistent/.aws/config: no such file or directory) "
      "(/nonexistent/.aws/credentials: no such file or directory); "
      "container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI "
      "are not set; instance metadata: AWS_EC2_METADATA_DISABLED is true");
  s3l_creds_rig_ask(&rig); /* from the beginning, not behind the first */
  s3l_creds_rig_wait(&rig);
  assert_ptr_equal(strstr(rig.why, "environment"), rig.why);
  assert_null(strstr(rig.why + 1, "environment"));
  s3l_creds_rig_end(&rig);
}

/* A message that is too long is cut, not lost. */
static void long_messages_are_cut(void** state) {
  static char path[1300] = "/";
  (void)state;
  memset(path + 1, 'x', sizeof(path) - 2);
  s3l_creds_rig_init(&rig, NULL, 0);
  setenv("AWS_CONFIG_FILE", path, 1);
  setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  open_chain(NULL, 0);
  s3l_creds_rig_fails(&rig, NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
                      "shared files: profile \"default\": does not exist (/xxxxx...");
  s3l_creds_rig_end(&rig);
}

/* A source that is configured but broken ends the search: nobody else is asked. */
static void stops_at_what_is_broken(void** state) {
  static const struct {
    unsigned taken_out;
    const char* variable;
    const char* value;
    const char* why;
  } cases[] = {
      {0, "AWS_ACCESS_KEY_ID", "", "environment: there is no access key"},
      {0, "AWS_SECRET_ACCESS_KEY", "", "environment: there is no secret access key"},
      {0, "AWS_SECRET_ACCESS_KEY", "a b",
       "environment: a key holds a blank, a line end or another character that no key has"},
      {1, "AWS_ROLE_ARN", "",
       NOT_IN_ENVIRONMENT
       "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not"},
      {1, "AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent/token",
       NOT_IN_ENVIRONMENT "web identity: AssumeRoleWithWebIdentity of arn: the token file: no such "
                          "file or directory"},
      {2, "AWS_PROFILE", "gone",
       NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
       "shared files: profile \"gone\": does not exist (/nonexistent/.aws/config: no such file or "
       "directory)"},
      {3, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/x",
       NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files: profile \"default\": does not exist..."},
      {4, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://10.0.0.1/",
       NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files: profile \"default\": does not exist..."}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    begin_with_all(cases[i].taken_out, ONE_SCRIPT(S3L_CLOSE));
    setenv(cases[i].variable, cases[i].value, 1);
    open_chain(NULL, 0);
    s3l_creds_rig_fails(&rig, cases[i].why);
    s3l_creds_rig_end(&rig);
    assert_int_equal(rig.server.accepted, 0);
  }
  /* A service that refuses: the instance's role is not taken instead. */
  begin_with_all(3, ONE_SCRIPT(S3L_EXPECT("GET /container "), S3L_EXPECT("\r\n\r\n"),
                               S3L_SEND(S3L_ANSWER("403 Forbidden", "{}"))));
  open_chain(NULL, 0);
  s3l_creds_rig_fails(&rig, NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files: ...");
  s3l_creds_rig_end(&rig);
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(rig.server.strays, 0);
}

static void broken_files_end_it(void** state) {
  static char large[(1 << 20) + 2];
  char want[512];
  (void)state;
  memset(large, '#', sizeof(large) - 1);
  begin_with_all(2, NULL, 0);
  set_file("AWS_CONFIG_FILE", "config", large);
  open_chain(NULL, 0);
  snprintf(want, sizeof(want),
           NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files:  (%s/config: too large)", rig.dir);
  s3l_creds_rig_fails(&rig, want);
  s3l_creds_rig_end(&rig);
  begin_with_all(2, NULL, 0);
  set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", "[default]\naws_access_key_id\n");
  open_chain(NULL, 0);
  snprintf(want, sizeof(want),
           NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
           "shared files: %s/credentials, line 2: must be \"name = value\", a section in "
           "brackets, or a comment (/nonexistent/.aws/config: no such file or directory)",
           rig.dir);
  s3l_creds_rig_fails(&rig, want);
  s3l_creds_rig_end(&rig);
  /* A default profile that is there, but without keys, is not what was meant. */
  begin_with_all(2,
                 ONE_SCRIPT(S3L_EXPECT("GET /container "), S3L_SEND(S3L_OK(JSON_OF("CONTAINER")))));
  set_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", "[default]\nregion = x\n");
  open_chain(NULL, 0);
  s3l_creds_rig_gets(&rig, "CONTAINER");
  s3l_creds_rig_end(&rig);
}

static void refuses_bad_options(void** state) {
  s3lect_credentials_chain_options_t o;
  s3l_settings_t settings;
  (void)state;
  s3l_creds_rig_clear_environment();
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  o.sources = 0x20;
  assert_int_equal(s3l_settings_init(&settings, &o), S3LECT_EOPTION);
  o.sources = 0;
  o.size = sizeof(size_t);
  assert_int_equal(s3l_settings_init(&settings, &o), UV_EINVAL);
  o.size = SIZE_MAX;
  assert_int_equal(s3l_settings_init(&settings, &o), UV_EINVAL);
  /* A newer caller's, with nothing set that is not known here, and with something. */
  struct {
    s3lect_credentials_chain_options_t o;
    char more[16];
  } newer;
  memset(&newer, 0, sizeof(newer));
  newer.o.size = sizeof(newer);
  assert_int_equal(s3l_settings_init(&settings, &newer.o), 0);
  s3l_settings_free(&settings);
  newer.more[15] = 1;
  assert_int_equal(s3l_settings_init(&settings, &newer.o), UV_ENOTSUP);
  /* An older caller's, which ends behind `profile`. */
  o.size = offsetof(s3lect_credentials_chain_options_t, region);
  o.profile = "p";
  o.region = "not to be read";
  assert_int_equal(s3l_settings_init(&settings, &o), 0);
  assert_string_equal(settings.profile, "p");
  assert_string_equal(settings.region, "us-east-1");
  s3l_settings_free(&settings);
  assert_int_equal(s3l_settings_init(&settings, NULL), 0);
  assert_string_equal(settings.profile, "default");
  s3l_settings_free(&settings);
}

/* ---- Roles of profiles ---- */

static void begin_with_config(const char* config, const s3l_step_t* const* scripts, size_t n) {
  s3l_creds_rig_init(&rig, scripts, n);
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  set_file("AWS_CONFIG_FILE", "config", config);
}

/* Each is assumed with the keys of the one before. */
static void assumes_one_role_after_the_other(void** state) {
  (void)state;
  begin_with_config("[profile c]\nrole_arn = rc\nsource_profile = b\n"
                    "[profile b]\nrole_arn = rb\nsource_profile = a\n"
                    "[profile a]\naws_access_key_id = AK\naws_secret_access_key = SK\n",
                    ONE_SCRIPT(IS_SIGNED_WITH("AK"), ASSUMES("rb", "KB"),
                               S3L_EXPECT("\r\nx-amz-security-token: T"), IS_SIGNED_WITH("KB"),
                               ASSUMES("rc", "KC")));
  open_chain("c", 0);
  s3l_creds_rig_gets(&rig, "KC");
  s3l_creds_rig_end(&rig);
}

/* The second role's refusal names the second role. */
static void names_the_role_that_failed(void** state) {
  (void)state;
  begin_with_config("[profile c]\nrole_arn = rc\nsource_profile = b\n"
                    "[profile b]\nrole_arn = rb\nsource_profile = a\n"
                    "[profile a]\naws_access_key_id = AK\naws_secret_access_key = SK\n",
                    ONE_SCRIPT(ASSUMES("rb", "KB"), S3L_EXPECT("&RoleArn=rc&"),
                               S3L_SEND(S3L_ANSWER("403 Forbidden", ""))));
  open_chain("c", 0);
  s3l_creds_rig_fails(&rig, "shared files: AssumeRole of rc: 127.0.0.1:...");
  s3l_creds_rig_end(&rig);
}

static void a_program_can_be_the_base(void** state) {
  (void)state;
  begin_with_config("[profile r]\nrole_arn = rr\nsource_profile = p\n[profile p]\n"
                    "credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PK\","
                    "\"SecretAccessKey\":\"SK\"}'\n",
                    ONE_SCRIPT(IS_SIGNED_WITH("PK"), ASSUMES("rr", "KR")));
  open_chain("r", 0);
  s3l_creds_rig_gets(&rig, "KR");
  s3l_creds_rig_end(&rig);
}

static void a_service_can_be_the_base(void** state) {
  (void)state;
  begin_with_config("[profile r]\nrole_arn = rr\ncredential_source = EcsContainer\n",
                    S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("GET /c "), S3L_SEND(S3L_OK(JSON_OF("CK")))),
                                S3L_SCRIPT(IS_SIGNED_WITH("CK"), ASSUMES("rr", "KR"))),
                    2);
  setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c", 1);
  open_chain("r", 0);
  s3l_creds_rig_gets(&rig, "KR");
  s3l_creds_rig_end(&rig);

  begin_with_config("[profile r]\nrole_arn = rr\ncredential_source = Ec2InstanceMetadata\n",
                    S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("PUT "), S3L_SEND(S3L_OK("t")),
                                           S3L_EXPECT("GET "), S3L_SEND(S3L_OK("r")),
                                           S3L_EXPECT("GET "), S3L_SEND(S3L_OK(JSON_OF("IK")))),
                                S3L_SCRIPT(IS_SIGNED_WITH("IK"), ASSUMES("rr", "KR"))),
                    2);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  setenv("AWS_METADATA_SERVICE_TIMEOUT", "30", 1);
  open_chain("r", 0);
  s3l_creds_rig_gets(&rig, "KR");
  s3l_creds_rig_end(&rig);

  begin_with_config("[profile r]\nrole_arn = rr\ncredential_source = EcsContainer\n", NULL, 0);
  open_chain("r", 0);
  s3l_creds_rig_fails(&rig, "shared files: credential_source = EcsContainer: no "
                            "AWS_CONTAINER_CREDENTIALS_*_URI is set");
  s3l_creds_rig_end(&rig);
  begin_with_config("[profile r]\nrole_arn = rr\ncredential_source = Environment\n", NULL, 0);
  open_chain("r", 0);
  s3l_creds_rig_fails(&rig, "shared files: credential_source = Environment: no keys in it");
  s3l_creds_rig_end(&rig);
}

static void a_token_can_be_the_base(void** state) {
  (void)state;
  begin_with_config(
      "[profile r]\nrole_arn = rr\nsource_profile = w\n"
      "[profile w]\nrole_arn = rw\nweb_identity_token_file = ~/jwt\nrole_session_name = me\n",
      ONE_SCRIPT(S3L_EXPECT("Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=rw&"
                            "RoleSessionName=me&WebIdentityToken=j.w.t"),
                 S3L_SEND(S3L_OK(XML_OF("WK"))), IS_SIGNED_WITH("WK"), ASSUMES("rr", "KR")));
  s3l_creds_rig_file(&rig, "jwt", "j.w.t\n");
  setenv("HOME", rig.dir, 1);
  open_chain("r", 0);
  s3l_creds_rig_gets(&rig, "KR");
  s3l_creds_rig_end(&rig);
}

/* ---- Closing, and memory ---- */

#define SCENARIO_CONFIG                                                                            \
  "[profile r]\nrole_arn = rr\nsource_profile = p\n[profile p]\n"                                  \
  "credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PK\","                              \
  "\"SecretAccessKey\":\"SK\"}'\n"
#define SCENARIO_SCRIPT S3L_EXPECT("&RoleArn=rr&"), S3L_SEND(S3L_OK(XML_OF("KR")))

/* After each number of turns of the loop: while files are read, a program runs, STS is asked. */
static void closes_at_every_moment(void** state) {
  unsigned turns = 0;
  (void)state;
  for (bool over = false; !over; turns++) {
    begin_with_config(SCENARIO_CONFIG, ONE_SCRIPT(SCENARIO_SCRIPT));
    rig.cut_short = true;
    open_chain("r", 0);
    s3l_creds_rig_ask(&rig);
    for (unsigned i = 0; i < turns && rig.done == 0; i++)
      uv_run(&rig.loop, UV_RUN_ONCE);
    over = rig.done > 0;
    s3l_creds_rig_end(&rig); /* a question that is dropped is not answered */
  }
  assert_true(turns > 6);
}

static unsigned inside_closed;

static void on_inside_closed(void* arg) {
  (void)arg;
  inside_closed++;
}

static void close_inside(s3l_creds_rig_t* r) {
  r->source->ops->close(r->source, on_inside_closed, NULL);
  r->source = NULL;
}

/* In the very callback that brings the keys, or the failure. */
static void closes_inside_the_answer(void** state) {
  (void)state;
  inside_closed = 0;
  begin_with_config(SCENARIO_CONFIG, ONE_SCRIPT(SCENARIO_SCRIPT));
  rig.then = close_inside;
  open_chain("r", 0);
  s3l_creds_rig_ask(&rig);
  s3l_creds_rig_wait(&rig);
  s3l_wait_count(&rig.loop, &inside_closed, 1, "the chain to be closed");
  s3l_creds_rig_end(&rig);
  begin_with_config("[profile p]\ncredential_process = false\n", NULL, 0);
  rig.then = close_inside;
  open_chain("p", 0);
  s3l_creds_rig_ask(&rig);
  s3l_creds_rig_wait(&rig);
  s3l_wait_count(&rig.loop, &inside_closed, 2, "the chain to be closed");
  s3l_creds_rig_end(&rig);
}

/* Files, a program and a container's agent, with allocation number `at` failing (and all later
 * ones); false when there were not so many. */
static bool run_without_memory(size_t at, bool on) {
  s3lect_credentials_chain_options_t o;
  s3l_creds_rig_init(&rig, NULL, 0);
  set_file("AWS_CONFIG_FILE", "config",
           "[profile p]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PK\","
           "\"SecretAccessKey\":\"SK\"}'\n");
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  o.profile = "p";
  s3l_heap_install();
  s3l_heap_fail_at(at, on);
  int err = s3l_settings_init(&rig.settings, &o);
  if (err == 0)
    err = s3l_creds_chain_source(&rig.loop, &rig.settings, &rig.source);
  if (err == 0) {
    s3l_creds_rig_ask(&rig);
    s3l_creds_rig_wait(&rig);
    err = rig.status;
  }
  bool failed = s3l_heap_fail_end();
  assert_int_equal(err, failed ? UV_ENOMEM : 0);
  s3l_creds_rig_end(&rig);
  s3l_heap_remove();
  return failed;
}

static void survives_without_memory(void** state) {
  (void)state;
  for (int on = 0; on < 2; on++) {
    size_t n = 0;
    while (run_without_memory(n, on == 1))
      n++;
    assert_true(n >= 6); /* settings, paths, chain, two files, process, keys */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asks_in_the_order_of_the_sdks),
      cmocka_unit_test(an_empty_variable_is_none),
      cmocka_unit_test(asks_only_what_it_is_told_to),
      cmocka_unit_test(a_profile_of_the_code_comes_first),
      cmocka_unit_test(reads_files_anew),
      cmocka_unit_test(tells_all_that_was_tried),
      cmocka_unit_test(long_messages_are_cut),
      cmocka_unit_test(stops_at_what_is_broken),
      cmocka_unit_test(broken_files_end_it),
      cmocka_unit_test(refuses_bad_options),
      cmocka_unit_test(assumes_one_role_after_the_other),
      cmocka_unit_test(names_the_role_that_failed),
      cmocka_unit_test(a_program_can_be_the_base),
      cmocka_unit_test(a_service_can_be_the_base),
      cmocka_unit_test(a_token_can_be_the_base),
      cmocka_unit_test(closes_at_every_moment),
      cmocka_unit_test(closes_inside_the_answer),
      cmocka_unit_test(survives_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
