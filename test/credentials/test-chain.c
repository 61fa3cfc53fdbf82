/* creds/chain: the order of the sources, what ends the search, what its failure tells. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/creds_rig.h"
#include "lib/test.h"
#include "s3lect/errno.h"

#define NOT_IN_ENVIRONMENT "environment: AWS_ACCESS_KEY_ID is not set; "
#define NO_WEB_IDENTITY    "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; "

static s3l_creds_rig_t rig;

/* ---- Order ---- */

/* Every source has keys. */
static void configure_all(void) {
  char url[96];
  setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
  s3l_creds_rig_set_file(&rig, "AWS_WEB_IDENTITY_TOKEN_FILE", "token", "jwt");
  setenv("AWS_ROLE_ARN", "arn", 1);
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  s3l_creds_rig_set_file(&rig, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
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
  for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char* reply =
        i == 1 ? S3L_OK(S3L_CREDS_RIG_XML_OF("WEB")) : S3L_OK(S3L_CREDS_RIG_JSON_OF("CONTAINER"));
    const s3l_step_t one[] = {S3L_EXPECT(cases[i].asked), S3L_SEND(reply), S3L_SCRIPT_END};
    const s3l_step_t* const scripts[] = {one};
    begin_with_all(i, scripts, cases[i].asked != NULL ? 1 : 0);
    s3l_creds_rig_start(&rig, NULL, 0);
    s3l_creds_rig_got(&rig, cases[i].key);
    assert_int_equal(rig.server.accepted, cases[i].asked != NULL ? 1 : 0);
  }
  begin_with_all(4,
                 S3L_CREDS_RIG_SCRIPT(S3L_EXPECT("PUT /latest/api/token "), S3L_SEND(S3L_OK("t")),
                                      S3L_EXPECT("GET "), S3L_SEND(S3L_OK("r")), S3L_EXPECT("GET "),
                                      S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON_OF("INSTANCE")))));
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_got(&rig, "INSTANCE");
}

static void an_empty_variable_is_none(void** state) {
  begin_with_all(0, NULL, 0);
  setenv("AWS_ACCESS_KEY_ID", "", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "", 1);
  setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "", 1);
  setenv("AWS_PROFILE", "", 1);
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_got(&rig, "FILE");
}

static void asks_only_what_it_is_told_to(void** state) {
  begin_with_all(0, NULL, 0);
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_PROFILE);
  s3l_creds_rig_got(&rig, "FILE");
  begin_with_all(0, NULL, 0);
  unsetenv("AWS_ACCESS_KEY_ID");
  unsetenv("AWS_SECRET_ACCESS_KEY");
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_ENVIRONMENT);
  s3l_creds_rig_failed(&rig, "environment: AWS_ACCESS_KEY_ID is not set");
}

/* A profile of the code comes before the environment's keys; one of the environment does not. */
static void a_profile_of_the_code_comes_first(void** state) {
  begin_with_all(0, NULL, 0);
  s3l_creds_rig_start(&rig, "other", 0);
  s3l_creds_rig_got(&rig, "OTHER");
  begin_with_all(0, NULL, 0);
  s3l_creds_rig_start(&rig, "other", S3LECT_CREDENTIALS_ENVIRONMENT | S3LECT_CREDENTIALS_PROFILE);
  s3l_creds_rig_got(&rig, "OTHER");
  begin_with_all(0, NULL, 0);
  setenv("AWS_PROFILE", "other", 1);
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_got(&rig, "ENV");
  begin_with_all(2, NULL, 0);
  setenv("AWS_PROFILE", "other", 1);
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_got(&rig, "OTHER");
}

static void reads_files_anew(void** state) {
  begin_with_all(2, NULL, 0);
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_gets(&rig, "FILE");
  s3l_creds_rig_file(&rig, "credentials",
                     "[default]\naws_access_key_id = NEW\naws_secret_access_key = SK\n");
  s3l_creds_rig_got(&rig, "NEW");
}

/* ---- What ends the search ---- */

static void tells_all_that_was_tried(void** state) {
  s3l_creds_rig_init(&rig, NULL, 0);
  setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  s3l_creds_rig_start(&rig, NULL, 0);
  for (int i = 0; i < 2; i++) /* from the beginning, not behind the first */
    s3l_creds_rig_fails(
        &rig, NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
        "shared files: profile \"default\": does not exist "
        "(/nonexistent/.aws/config: no such file or directory) "
        "(/nonexistent/.aws/credentials: no such file or directory); "
        "container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI "
        "are not set; instance metadata: AWS_EC2_METADATA_DISABLED is true");
  s3l_creds_rig_end(&rig);
}

/* A message that is too long is cut, not lost. */
static void long_messages_are_cut(void** state) {
  static char path[1300] = "/";
  memset(path + 1, 'x', sizeof(path) - 2);
  s3l_creds_rig_init(&rig, NULL, 0);
  setenv("AWS_CONFIG_FILE", path, 1);
  setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_failed(&rig, NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
                       "shared files: profile \"default\": does not exist (/xxxxx...");
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
       NOT_IN_ENVIRONMENT "web identity: AssumeRoleWithWebIdentity of arn: the token file "
                          "/nonexistent/token: no such file or directory"},
      {2, "AWS_PROFILE", "gone",
       NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
       "shared files: profile \"gone\": does not exist (/nonexistent/.aws/config: no such file or "
       "directory)"},
      {3, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/x",
       NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files: profile \"default\": does not exist..."},
      {4, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://10.0.0.1/",
       NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files: profile \"default\": does not exist..."}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    begin_with_all(cases[i].taken_out, S3L_CREDS_RIG_SCRIPT(S3L_CLOSE));
    setenv(cases[i].variable, cases[i].value, 1);
    s3l_creds_rig_start(&rig, NULL, 0);
    s3l_creds_rig_failed(&rig, cases[i].why);
    assert_int_equal(rig.server.accepted, 0);
  }
  /* A service that refuses: the instance's role is not taken instead. */
  begin_with_all(3, S3L_CREDS_RIG_SCRIPT(S3L_EXPECT("GET /container "), S3L_EXPECT("\r\n\r\n"),
                                         S3L_SEND(S3L_ANSWER("403 Forbidden", "{}"))));
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_failed(&rig, NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files: ...");
  assert_int_equal(rig.server.accepted, 1);
  assert_int_equal(rig.server.strays, 0);
}

static void broken_files_end_it(void** state) {
  static char large[(1 << 20) + 2];
  char want[512];
  memset(large, '#', sizeof(large) - 1);
  begin_with_all(2, NULL, 0);
  s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config", large);
  s3l_creds_rig_start(&rig, NULL, 0);
  snprintf(want, sizeof(want),
           NOT_IN_ENVIRONMENT NO_WEB_IDENTITY "shared files:  (%s/config: too large)", rig.dir);
  s3l_creds_rig_failed(&rig, want);
  begin_with_all(2, NULL, 0);
  s3l_creds_rig_set_file(&rig, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
                         "[default]\naws_access_key_id\n");
  s3l_creds_rig_start(&rig, NULL, 0);
  snprintf(want, sizeof(want),
           NOT_IN_ENVIRONMENT NO_WEB_IDENTITY
           "shared files: %s/credentials, line 2: must be \"name = value\", a section in "
           "brackets, or a comment (/nonexistent/.aws/config: no such file or directory)",
           rig.dir);
  s3l_creds_rig_failed(&rig, want);
  /* A default profile that is there, but without keys, is not what was meant. */
  begin_with_all(2, S3L_CREDS_RIG_SCRIPT(S3L_EXPECT("GET /container "),
                                         S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON_OF("CONTAINER")))));
  s3l_creds_rig_set_file(&rig, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
                         "[default]\nregion = x\n");
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_got(&rig, "CONTAINER");
}

static void refuses_bad_options(void** state) {
  s3lect_credentials_chain_options_t o;
  s3l_settings_t settings;
  s3l_creds_rig_clear_environment();
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  o.sources = 0x20;
  assert_int_equal(s3l_settings_aws(&settings, &o, NULL), S3LECT_EOPTION);
  o.sources = 0;
  o.size = sizeof(size_t);
  assert_int_equal(s3l_settings_aws(&settings, &o, NULL), UV_EINVAL);
  o.size = SIZE_MAX;
  assert_int_equal(s3l_settings_aws(&settings, &o, NULL), UV_EINVAL);
  /* A newer caller's, with nothing set that is not known here, and with something. */
  struct {
    s3lect_credentials_chain_options_t o;
    char more[16];
  } newer;
  memset(&newer, 0, sizeof(newer));
  newer.o.size = sizeof(newer);
  assert_int_equal(s3l_settings_aws(&settings, &newer.o, NULL), 0);
  s3l_settings_free(&settings);
  newer.more[15] = 1;
  assert_int_equal(s3l_settings_aws(&settings, &newer.o, NULL), UV_ENOTSUP);
  assert_int_equal(s3l_settings_aws(&settings, NULL, NULL), 0);
  assert_string_equal(settings.profile, "default");
  s3l_settings_free(&settings);
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
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
