/* creds/chain: the roles of profiles, one after the other; closing at every moment, and no memory
 * at every allocation. */
#include <stdlib.h>

#include "lib/creds_rig.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/errno.h"

#define ASSUMES(role, key)                                                                         \
  S3L_EXPECT("&RoleArn=" role "&"), S3L_SEND(S3L_OK(S3L_CREDS_RIG_XML_OF(key)))
#define IS_SIGNED_WITH(key) S3L_EXPECT("\r\nauthorization: AWS4-HMAC-SHA256 Credential=" key "/")

static s3l_creds_rig_t rig;

static void open_chain(const char* profile) {
  s3l_creds_rig_start(&rig, profile, 0);
}

static void got(const char* profile, const char* access_key) {
  open_chain(profile);
  s3l_creds_rig_got(&rig, access_key);
}

static void failed(const char* profile, const char* why) {
  open_chain(profile);
  s3l_creds_rig_failed(&rig, why);
}

/* ---- Roles of profiles ---- */

static void begin_with_config(const char* config, const s3l_step_t* const* scripts, size_t n) {
  s3l_creds_rig_init(&rig, scripts, n);
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config", config);
}

/* Each is assumed with the keys of the one before. */
static void assumes_one_role_after_the_other(void** state) {
  begin_with_config("[profile c]\nrole_arn = rc\nsource_profile = b\n"
                    "[profile b]\nrole_arn = rb\nsource_profile = a\n"
                    "[profile a]\naws_access_key_id = AK\naws_secret_access_key = SK\n",
                    S3L_CREDS_RIG_SCRIPT(IS_SIGNED_WITH("AK"), ASSUMES("rb", "KB"),
                                         S3L_EXPECT("\r\nx-amz-security-token: T"),
                                         IS_SIGNED_WITH("KB"), ASSUMES("rc", "KC")));
  got("c", "KC");
}

/* The second role's refusal names the second role. */
static void names_the_role_that_failed(void** state) {
  begin_with_config("[profile c]\nrole_arn = rc\nsource_profile = b\n"
                    "[profile b]\nrole_arn = rb\nsource_profile = a\n"
                    "[profile a]\naws_access_key_id = AK\naws_secret_access_key = SK\n",
                    S3L_CREDS_RIG_SCRIPT(ASSUMES("rb", "KB"), S3L_EXPECT("&RoleArn=rc&"),
                                         S3L_SEND(S3L_ANSWER("403 Forbidden", ""))));
  failed("c", "shared files: AssumeRole of rc: 127.0.0.1:...");
}

static void a_program_can_be_the_base(void** state) {
  begin_with_config("[profile r]\nrole_arn = rr\nsource_profile = p\n[profile p]\n"
                    "credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PK\","
                    "\"SecretAccessKey\":\"SK\"}'\n",
                    S3L_CREDS_RIG_SCRIPT(IS_SIGNED_WITH("PK"), ASSUMES("rr", "KR")));
  got("r", "KR");
}

static void a_service_can_be_the_base(void** state) {
  begin_with_config(
      "[profile r]\nrole_arn = rr\ncredential_source = EcsContainer\n",
      S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("GET /c "), S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON_OF("CK")))),
                  S3L_SCRIPT(IS_SIGNED_WITH("CK"), ASSUMES("rr", "KR"))),
      2);
  setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c", 1);
  got("r", "KR");

  begin_with_config(
      "[profile r]\nrole_arn = rr\ncredential_source = Ec2InstanceMetadata\n",
      S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("PUT "), S3L_SEND(S3L_OK("t")), S3L_EXPECT("GET "),
                             S3L_SEND(S3L_OK("r")), S3L_EXPECT("GET "),
                             S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON_OF("IK")))),
                  S3L_SCRIPT(IS_SIGNED_WITH("IK"), ASSUMES("rr", "KR"))),
      2);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  setenv("AWS_METADATA_SERVICE_TIMEOUT", "30", 1);
  got("r", "KR");

  begin_with_config("[profile r]\nrole_arn = rr\ncredential_source = EcsContainer\n", NULL, 0);
  failed("r", "shared files: credential_source = EcsContainer: no "
              "AWS_CONTAINER_CREDENTIALS_*_URI is set");
  begin_with_config("[profile r]\nrole_arn = rr\ncredential_source = Environment\n", NULL, 0);
  failed("r", "shared files: credential_source = Environment: no keys in it");
}

static void a_token_can_be_the_base(void** state) {
  begin_with_config(
      "[profile r]\nrole_arn = rr\nsource_profile = w\n"
      "[profile w]\nrole_arn = rw\nweb_identity_token_file = ~/jwt\nrole_session_name = me\n",
      S3L_CREDS_RIG_SCRIPT(
          S3L_EXPECT("Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=rw&"
                     "RoleSessionName=me&WebIdentityToken=j.w.t"),
          S3L_SEND(S3L_OK(S3L_CREDS_RIG_XML_OF("WK"))), IS_SIGNED_WITH("WK"), ASSUMES("rr", "KR")));
  s3l_creds_rig_file(&rig, "jwt", "j.w.t\n");
  setenv("HOME", rig.dir, 1);
  got("r", "KR");
}

/* ---- Closing, and memory ---- */

#define SCENARIO_CONFIG                                                                            \
  "[profile r]\nrole_arn = rr\nsource_profile = p\n[profile p]\n"                                  \
  "credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PK\","                              \
  "\"SecretAccessKey\":\"SK\"}'\n"
#define SCENARIO_SCRIPT S3L_EXPECT("&RoleArn=rr&"), S3L_SEND(S3L_OK(S3L_CREDS_RIG_XML_OF("KR")))

/* After each number of turns of the loop: while files are read, a program runs, STS is asked. */
static void closes_at_every_moment(void** state) {
  unsigned turns = 0;
  for (bool over = false; !over; turns++) {
    begin_with_config(SCENARIO_CONFIG, S3L_CREDS_RIG_SCRIPT(SCENARIO_SCRIPT));
    rig.cut_short = true;
    open_chain("r");
    s3l_creds_rig_ask(&rig);
    for (unsigned i = 0; i < turns && rig.done == 0; i++)
      s3l_turn(&rig.loop);
    over = rig.done > 0;
    s3l_creds_rig_end(&rig); /* the question under way is cancelled */
  }
  assert_true(turns > 6);
}

static unsigned inside_closed;

static void on_inside_closed(s3lect_credentials_provider_t* chain) {
  inside_closed++;
}

static void close_inside(s3l_creds_rig_t* r) {
  r->chain->ops->close(r->chain, on_inside_closed);
  r->chain = NULL;
}

/* In the very callback that brings the keys, or the failure. */
static void closes_inside_the_answer(void** state) {
  inside_closed = 0;
  begin_with_config(SCENARIO_CONFIG, S3L_CREDS_RIG_SCRIPT(SCENARIO_SCRIPT));
  rig.then = close_inside;
  open_chain("r");
  s3l_creds_rig_ask(&rig);
  s3l_creds_rig_wait(&rig);
  s3l_wait_count(&rig.loop, &inside_closed, 1, "the chain to be closed");
  s3l_creds_rig_end(&rig);
  begin_with_config("[profile p]\ncredential_process = false\n", NULL, 0);
  rig.then = close_inside;
  open_chain("p");
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
  s3l_creds_rig_set_file(
      &rig, "AWS_CONFIG_FILE", "config",
      "[profile p]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PK\","
      "\"SecretAccessKey\":\"SK\"}'\n");
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  o.profile = "p";
  s3l_heap_install();
  s3l_heap_fail_at(at, on);
  int err = s3l_settings_aws(&rig.settings, &o, NULL);
  if (err == 0)
    err = s3l_chain_provider(&rig.loop, &s3l_chain_aws, &rig.settings, &rig.chain);
  if (err == 0)
    err = s3l_creds_rig_try(&rig);
  if (err == 0) {
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
  for (int on = 0; on < 2; on++) {
    size_t n = 0;
    while (run_without_memory(n, on == 1))
      n++;
    assert_true(n >= 6); /* settings, paths, chain, two files, process, keys */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
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
