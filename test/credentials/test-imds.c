/* creds/imds against a scripted metadata service: version 2 only, good answers and bad ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/creds_rig.h"
#include "lib/test.h"

#define PUT         "PUT /latest/api/token HTTP/1.1\r\nhost: 127.0.0.1:"
#define TTL         "x-aws-ec2-metadata-token-ttl-seconds: 600\r\n\r\n"
#define GET_ROLE    "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1\r\n"
#define GET_KEYS    "GET /latest/meta-data/iam/security-credentials/my-role HTTP/1.1\r\n"
#define TOKEN       "\r\nx-aws-ec2-metadata-token: tok/en==\r\n\r\n"

#define TAKES_TOKEN S3L_EXPECT(PUT), S3L_EXPECT(TTL), S3L_SEND(S3L_OK("tok/en=="))
#define TAKES_ROLE  S3L_EXPECT(GET_ROLE), S3L_EXPECT(TOKEN), S3L_SEND(S3L_OK("my-role\nother"))

static s3l_creds_rig_t rig;

static void open_chain(void) {
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_INSTANCE);
}

static void begin(const s3l_step_t* const* scripts, size_t n) {
  s3l_creds_rig_init(&rig, scripts, n);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", rig.base, 1);
  setenv("AWS_METADATA_SERVICE_TIMEOUT", "30", 1);
}

#define BEGIN(...) begin(S3L_CREDS_RIG_SCRIPTS(__VA_ARGS__))

static void failed(const char* why) {
  open_chain();
  s3l_creds_rig_failed(&rig, why);
}

static void gets_keys(void** state) {
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS), S3L_EXPECT(TOKEN),
                   S3L_SPLIT(S3L_OK(S3L_CREDS_RIG_JSON), 1)));
  open_chain();
  s3l_creds_rig_gets(&rig, "AK");
  assert_string_equal(rig.secret, "SK/+=");
  assert_string_equal(rig.token, "TOK==");
  assert_true(rig.expires_ms == S3L_CREDS_RIG_NOW + 3600000);
  assert_int_equal(rig.server.accepted, 1);
  s3l_creds_rig_end(&rig);
}

/* Each time with a new token; the role may be another by then. */
static void asks_anew(void** state) {
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS), S3L_EXPECT(TOKEN),
                   S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON)), S3L_EXPECT(PUT), S3L_EXPECT(TTL),
                   S3L_SEND(S3L_OK("t2")), S3L_EXPECT(GET_ROLE),
                   S3L_EXPECT("x-aws-ec2-metadata-token: t2\r\n\r\n"), S3L_SEND(S3L_OK("r2\n")),
                   S3L_EXPECT("security-credentials/r2 HTTP/1.1\r\n"), S3L_EXPECT("\r\n\r\n"),
                   S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  open_chain();
  s3l_creds_rig_gets(&rig, "AK");
  s3l_creds_rig_got(&rig, "AK");
}

static void has_no_way_back_to_version_1(void** state) {
  static const char* const statuses[] = {"403 Forbidden", "404 Not Found",
                                         "405 Method Not Allowed"};
  for (size_t i = 0; i < 3; i++) {
    BEGIN(S3L_SCRIPT(S3L_EXPECT(PUT), S3L_EXPECT(TTL), S3L_SEND(S3L_ANSWER(statuses[i], ""))));
    failed("..."
           ": there is no metadata service of version 2"
           "...");
    assert_int_equal(rig.server.strays, 0); /* nothing more was asked */
  }
}

static void names_bad_answers(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(PUT), S3L_SEND(S3L_OK(""))));
  failed("instance metadata: the metadata service's token is none");
  BEGIN(S3L_SCRIPT(S3L_EXPECT(PUT), S3L_SEND(S3L_OK("a\r\nb"))));
  failed("instance metadata: the metadata service's token is none");
  BEGIN(S3L_SCRIPT(S3L_EXPECT(PUT), S3L_SEND(S3L_ANSWER("400 Bad Request", ""))));
  failed("instance metadata: 127.0.0.1:...");
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, S3L_EXPECT(TOKEN), S3L_SEND(S3L_ANSWER("404 Not Found", ""))));
  failed("instance metadata: the instance has no role (no instance profile is attached)");
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, S3L_EXPECT(TOKEN), S3L_SEND(S3L_OK("a role"))));
  failed("instance metadata: the name of the instance's role is none");
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS),
                   S3L_SEND(S3L_OK("{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":"
                                   "\"EC2 cannot assume the role my-role.\"}"))));
  failed("instance metadata: the answer holds no credentials: AssumeRoleUnauthorizedAccess: EC2 "
         "cannot assume the role my-role.");
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS), S3L_SEND(S3L_OK("<html>"))));
  failed("instance metadata: the answer is not a JSON object");
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS),
                   S3L_SEND("HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n{")));
  failed("instance metadata: reply of 127.0.0.1:...");
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS),
                   S3L_SEND(S3L_ANSWER("401 Unauthorized", ""))));
  failed("instance metadata: 127.0.0.1:...");
}

static void is_patient_as_told(void** state) {
  /* One attempt by default, */
  BEGIN(S3L_SCRIPT(S3L_EXPECT(PUT), S3L_RESET));
  failed("instance metadata: request to 127.0.0.1:...");
  assert_int_equal(rig.server.accepted, 1);
  /* as many as the variable says, */
  BEGIN(S3L_SCRIPT(S3L_EXPECT(PUT), S3L_RESET), S3L_SCRIPT(S3L_EXPECT(PUT), S3L_RESET),
        S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS), S3L_EXPECT(TOKEN),
                   S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  setenv("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "3", 1);
  open_chain();
  s3l_creds_rig_got(&rig, "AK");
  /* and a second long. */
  BEGIN(S3L_SCRIPT(S3L_EXPECT(PUT), S3L_DEAF));
  unsetenv("AWS_METADATA_SERVICE_TIMEOUT");
  open_chain();
  s3l_creds_rig_fails(&rig, "..."
                            "instance metadata: no reply from 127.0.0.1:"
                            "...");
  assert_non_null(strstr(rig.why,
                         "within 1000 ms (not an EC2 instance; or a container on one whose "
                         "HttpPutResponseHopLimit is 1)"));
  s3l_creds_rig_end(&rig);
}

static void asks_only_where_it_may(void** state) {
  begin(NULL, 0);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://10.1.2.3/", 1);
  failed("instance metadata: http://10.1.2.3: plain http is only for loopback and for the metadata "
         "addresses of clouds; use https");
  begin(NULL, 0);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "169.254.169.254", 1);
  failed(
      "instance metadata: AWS_EC2_METADATA_SERVICE_ENDPOINT must begin with http:// or https://");
  begin(NULL, 0);
  setenv("AWS_EC2_METADATA_DISABLED", "True", 1);
  failed("instance metadata: AWS_EC2_METADATA_DISABLED is true");
}

static void knows_a_path_in_front(void** state) {
  char url[96];
  BEGIN(S3L_SCRIPT(S3L_EXPECT("PUT /fake/latest/api/token HTTP/1.1\r\n"), S3L_EXPECT(TTL),
                   S3L_SEND(S3L_ANSWER("500 Oops", ""))));
  snprintf(url, sizeof(url), "%s/fake/", rig.base);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url, 1);
  failed("instance metadata: 127.0.0.1:...");
}

/* When the service has no new keys it gives old ones, which AWS then honours: they are used, and
 * soon asked for again. */
static void old_keys_are_better_than_none(void** state) {
  BEGIN(S3L_SCRIPT(TAKES_TOKEN, TAKES_ROLE, S3L_EXPECT(GET_KEYS), S3L_EXPECT(TOKEN),
                   S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  s3l_creds_rig_wall = S3L_CREDS_RIG_NOW + 2 * 3600000;
  open_chain();
  s3l_creds_rig_gets(&rig, "AK");
  assert_true(rig.expires_ms == s3l_creds_rig_wall + 600000);
  s3l_creds_rig_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gets_keys),
      cmocka_unit_test(asks_anew),
      cmocka_unit_test(has_no_way_back_to_version_1),
      cmocka_unit_test(names_bad_answers),
      cmocka_unit_test(is_patient_as_told),
      cmocka_unit_test(asks_only_where_it_may),
      cmocka_unit_test(knows_a_path_in_front),
      cmocka_unit_test(old_keys_are_better_than_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
