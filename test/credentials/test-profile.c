/* creds/profile: what texts of the shared files come to, and what is said about broken ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/profile.h"
#include "lib/test.h"
#include "s3lect/errno.h"

static s3l_settings_t settings;
static s3l_plan_t plan;
static s3lect_error_t error;

static void begin(void) {
  static const char* const names[] = {
#define XX(field, name) name,
      S3L_SETTINGS_AWS(XX)
#undef XX
  };
  s3l_settings_free(&settings);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    unsetenv(names[i]);
  setenv("HOME", "/home/x", 1);
}

static int resolve(const char* profile, const char* config, const char* credentials) {
  s3lect_credentials_chain_options_t o;
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  o.profile = profile;
  s3l_settings_free(&settings);
  assert_int_equal(s3l_settings_aws(&settings, &o, NULL), 0);
  error = (s3lect_error_t){0};
  int err = s3l_profile_resolve(&settings, s3l_span_cstr(config), s3l_span_cstr(credentials), &plan,
                                &error);
  assert_int_equal(error.code == 0, err == 0);
  return err;
}

static void assert_span(s3l_span_t s, const char* want) {
  if (!s3l_span_eq(s, s3l_span_cstr(want)))
    fail_msg("got \"%.*s\", want \"%s\"", (int)s.n, s.p, want);
}

static void assert_keys(const char* access_key, const char* secret, const char* token) {
  assert_int_equal(plan.base, S3L_BASE_STATIC);
  assert_span(plan.access_key, access_key);
  assert_span(plan.secret, secret);
  assert_span(plan.token, token);
}

static void refused(const char* profile, const char* config, const char* credentials, int err,
                    const char* why) {
  assert_int_equal(resolve(profile, config, credentials), err);
  assert_string_equal(error.text, why);
}

static void finds_keys(void** state) {
  static const char keys[] = "[default]\naws_access_key_id = AK\naws_secret_access_key = SK\n"
                             "[other]\naws_access_key_id=A2\nAWS_SECRET_ACCESS_KEY=S2\n"
                             "aws_session_token=T2\n";
  begin();
  assert_int_equal(resolve(NULL, "", keys), 0);
  assert_keys("AK", "SK", "");
  assert_int_equal(resolve("other", "", keys), 0);
  assert_keys("A2", "S2", "T2");
  setenv("AWS_DEFAULT_PROFILE", "other", 1);
  assert_int_equal(resolve(NULL, "", keys), 0);
  assert_keys("A2", "S2", "T2");
  setenv("AWS_PROFILE", "default", 1);
  assert_int_equal(resolve(NULL, "", keys), 0);
  assert_keys("AK", "SK", "");
  refused("none", "", keys, S3LECT_ENOTFOUND, "profile \"none\": does not exist");
  refused("", "", "", S3LECT_ENOTFOUND, "profile \"default\": does not exist");
}

static void merges_files(void** state) {
  begin();
  /* Property by property, credentials over config, "[profile default]" over "[default]". */
  assert_int_equal(resolve(NULL,
                           "[profile default]\naws_access_key_id = P\n[default]\n"
                           "aws_access_key_id = D\naws_secret_access_key = CS\n",
                           "[default]\naws_session_token = T\n"),
                   0);
  assert_keys("P", "CS", "T");
  assert_int_equal(resolve("x y",
                           "[profile \"x y\"]\naws_access_key_id=C\n"
                           "aws_secret_access_key=S\n",
                           "[x y]\naws_access_key_id = K\n"),
                   0);
  assert_keys("K", "S", "");
  /* In config a bare name is no profile, in credentials "profile x" is none. */
  refused("x", "[x]\naws_access_key_id=C\n", "[profile x]\naws_access_key_id=C\n", S3LECT_ENOTFOUND,
          "profile \"x\": does not exist");
  /* Nested ones are not the profile's own. */
  assert_int_equal(resolve(NULL, "[default]\ns3 =\n  aws_access_key_id = N\n", ""), 0);
  assert_int_equal(plan.base, S3L_BASE_NONE);
}

static void finds_other_bases(void** state) {
  begin();
  assert_int_equal(resolve("p", "[profile p]\ncredential_process = /bin/x \"a b\" # why\n", ""), 0);
  assert_int_equal(plan.base, S3L_BASE_PROCESS);
  assert_span(plan.command, "/bin/x \"a b\"");
  assert_int_equal(resolve("w",
                           "[profile w]\nrole_arn = arn:w\nweb_identity_token_file = ~/t\n"
                           "role_session_name = me\nregion = eu-west-1\n",
                           ""),
                   0);
  assert_int_equal(plan.base, S3L_BASE_WEB_IDENTITY);
  assert_int_equal(plan.roles_len, 0);
  assert_span(plan.token_file, "~/t");
  assert_span(plan.web_role.arn, "arn:w");
  assert_span(plan.web_role.session_name, "me");
  assert_span(plan.web_role.region, "eu-west-1");
  static const struct {
    const char* name;
    s3l_base_t base;
  } sources[] = {{"Environment", S3L_BASE_ENVIRONMENT},
                 {"Ec2InstanceMetadata", S3L_BASE_INSTANCE},
                 {"EcsContainer", S3L_BASE_CONTAINER}};
  for (size_t i = 0; i < 3; i++) {
    char config[128];
    snprintf(config, sizeof(config), "[profile r]\nrole_arn = arn:r\ncredential_source = %s\n",
             sources[i].name);
    assert_int_equal(resolve("r", config, ""), 0);
    assert_int_equal(plan.base, sources[i].base);
    assert_int_equal(plan.roles_len, 1);
    assert_span(plan.roles[0].arn, "arn:r");
  }
}

static void follows_source_profiles(void** state) {
  static const char config[] =
      "[profile c]\nrole_arn = arn:c\nsource_profile = b\nexternal_id = ex\n"
      "duration_seconds = 1800\nregion = us-west-2\n"
      "[profile b]\nrole_arn = arn:b\nsource_profile = a\nrole_session_name = sess\n"
      "[profile self]\nrole_arn = arn:s\nsource_profile = self\naws_access_key_id = K\n"
      "aws_secret_access_key = S\n";
  begin();
  assert_int_equal(
      resolve("c", config, "[a]\naws_access_key_id = AK\naws_secret_access_key = SK\n"), 0);
  assert_keys("AK", "SK", "");
  assert_int_equal(plan.roles_len, 2);
  assert_span(plan.roles[0].arn, "arn:b"); /* assumed first */
  assert_span(plan.roles[0].session_name, "sess");
  assert_span(plan.roles[0].region, "us-east-1");
  assert_span(plan.roles[1].arn, "arn:c");
  assert_span(plan.roles[1].external_id, "ex");
  assert_int_equal(plan.roles[1].duration_s, 1800);
  assert_span(plan.roles[1].region, "us-west-2");
  assert_int_equal(resolve("self", config, ""), 0);
  assert_keys("K", "S", "");
  assert_int_equal(plan.roles_len, 1);
  /* A region that was asked for is better than a profile's. */
  setenv("AWS_REGION", "eu-north-1", 1);
  assert_int_equal(resolve("self", config, ""), 0);
  assert_span(plan.roles[0].region, "eu-north-1");
}

static void finds_endpoints(void** state) {
  static const char config[] = "[profile r]\nrole_arn = arn:r\ncredential_source = Environment\n"
                               "endpoint_url = https://all\nservices = local\n"
                               "[services local]\ns3 =\n  endpoint_url = https://s3\nsts =\n"
                               "  endpoint_url = https://sts\n";
  begin();
  assert_int_equal(resolve("r", config, ""), 0);
  assert_span(plan.roles[0].endpoint, "https://sts");
  setenv("AWS_ENDPOINT_URL", "https://env", 1);
  assert_int_equal(resolve("r", config, ""), 0);
  assert_span(plan.roles[0].endpoint, "https://env");
  setenv("AWS_ENDPOINT_URL_STS", "https://envsts", 1);
  assert_int_equal(resolve("r", config, ""), 0);
  assert_span(plan.roles[0].endpoint, "https://envsts");
  setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "TRUE", 1);
  assert_int_equal(resolve("r", config, ""), 0);
  assert_span(plan.roles[0].endpoint, "");
}

static void names_what_is_broken(void** state) {
  begin();
  refused("a",
          "[profile a]\nrole_arn=x\nsource_profile=b\n[profile b]\nrole_arn=y\n"
          "source_profile=a\n",
          "", S3LECT_ECREDENTIALS, "profile \"a\": its source_profile leads back to it");
  refused("a", "[profile a]\nrole_arn=x\nsource_profile=gone\n", "", S3LECT_ECREDENTIALS,
          "profile \"gone\": does not exist, but is a source_profile");
  refused("a", "[profile a]\nrole_arn=x\nsource_profile=b\n[profile b]\nregion=r\n", "",
          S3LECT_ECREDENTIALS, "profile \"b\": has no credentials, but is a source_profile");
  refused("a", "[profile a]\nrole_arn=x\n", "", S3LECT_ECREDENTIALS,
          "profile \"a\": role_arn needs one, and only one, of source_profile, credential_source "
          "and web_identity_token_file");
  refused("a", "[profile a]\nrole_arn=x\nsource_profile=b\ncredential_source=Environment\n", "",
          S3LECT_ECREDENTIALS,
          "profile \"a\": role_arn needs one, and only one, of source_profile, credential_source "
          "and web_identity_token_file");
  refused("a", "[profile a]\nrole_arn=x\ncredential_source=Moon\n", "", S3LECT_ECREDENTIALS,
          "profile \"a\": credential_source must be Environment, Ec2InstanceMetadata or "
          "EcsContainer");
  refused("a", "[profile a]\nweb_identity_token_file=/t\n", "", S3LECT_ECREDENTIALS,
          "profile \"a\": source_profile, credential_source and web_identity_token_file need a "
          "role_arn");
  refused("a", "[profile a]\nrole_arn=x\nsource_profile=a\n", "", S3LECT_ECREDENTIALS,
          "profile \"a\": aws_access_key_id and aws_secret_access_key are needed together, one is "
          "missing");
  refused("a", "", "[a]\naws_access_key_id=AK\n", S3LECT_ECREDENTIALS,
          "profile \"a\": aws_access_key_id and aws_secret_access_key are needed together, one is "
          "missing");
  refused("a", "[profile a]\nrole_arn=x\ncredential_source=Environment\nmfa_serial=m\n", "",
          S3LECT_ECREDENTIALS,
          "profile \"a\": mfa_serial is not supported: nobody is there to type the code");
  refused("a", "[profile a]\nrole_arn=x\ncredential_source=Environment\nduration_seconds=60\n", "",
          S3LECT_ECREDENTIALS, "profile \"a\": duration_seconds must be 900 to 43200");
  assert_int_equal(resolve("a", "[profile a]\nsso_session=s\n", ""), S3LECT_ECREDENTIALS);
  assert_non_null(strstr(error.text, "SSO is not supported"));
  refused(NULL, "[default]\nnonsense\n", "", S3LECT_ECREDENTIALS,
          "/home/x/.aws/config, line 2: must be \"name = value\", a section in brackets, or a "
          "comment");
  refused(NULL, "", "[default\n", S3LECT_ECREDENTIALS,
          "/home/x/.aws/credentials, line 1: a section's name must end with ']'");
}

static void bounds_the_roles(void** state) {
  char config[2048];
  size_t n = 0;
  begin();
  for (int i = 0; i < 9; i++)
    n += (size_t)snprintf(config + n, sizeof(config) - n,
                          "[profile p%d]\nrole_arn=r%d\nsource_profile=p%d\n", i, i, i + 1);
  refused("p0", config, "[p9]\naws_access_key_id=K\naws_secret_access_key=S\n", S3LECT_ECREDENTIALS,
          "profile \"p8\": there are too many source profiles before it");
  assert_int_equal(resolve("p2", config, "[p9]\naws_access_key_id=K\naws_secret_access_key=S\n"),
                   0);
  assert_int_equal(plan.roles_len, 7);
  assert_span(plan.roles[0].arn, "r8");
  assert_span(plan.roles[6].arn, "r2");
}

static void finds_the_files(void** state) {
  begin();
  assert_int_equal(resolve(NULL, "", ""), S3LECT_ENOTFOUND);
  assert_string_equal(settings.config_path, "/home/x/.aws/config");
  assert_string_equal(settings.credentials_path, "/home/x/.aws/credentials");
  setenv("AWS_CONFIG_FILE", "~/c", 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/etc/k", 1);
  assert_int_equal(resolve(NULL, "", ""), S3LECT_ENOTFOUND);
  assert_string_equal(settings.config_path, "/home/x/c");
  assert_string_equal(settings.credentials_path, "/etc/k");
}

static int end(void** state) {
  s3l_settings_free(&settings);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_keys),        cmocka_unit_test(merges_files),
      cmocka_unit_test(finds_other_bases), cmocka_unit_test(follows_source_profiles),
      cmocka_unit_test(finds_endpoints),   cmocka_unit_test(names_what_is_broken),
      cmocka_unit_test(bounds_the_roles),  cmocka_unit_test(finds_the_files),
  };
  return cmocka_run_group_tests(tests, NULL, end);
}
