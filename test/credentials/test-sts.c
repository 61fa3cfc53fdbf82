/* creds/sts against a scripted STS: web identity (IRSA) and AssumeRole, good answers and bad ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/creds_rig.h"
#include "lib/test.h"
#include "wire/sigv4.h"

#define XML(kind)                                                                                  \
  "<" kind "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\n<" kind "Result>"       \
  "<AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn></AssumedRoleUser>"                  \
  "<Credentials><SessionToken>TOK&amp;</SessionToken><SecretAccessKey>SK/+=</SecretAccessKey>"     \
  "<Expiration>" S3L_CREDS_RIG_END "</Expiration><AccessKeyId>ASIA</AccessKeyId></Credentials>"    \
  "</" kind "Result></" kind "Response>"
#define WEB_XML XML("AssumeRoleWithWebIdentity")
#define ROLE    "arn:aws:iam::1:role/r"
#define WEB     "web identity: AssumeRoleWithWebIdentity of " ROLE ": "

#define WEB_BODY                                                                                   \
  "\r\n\r\nAction=AssumeRoleWithWebIdentity&Version=2011-06-15&"                                   \
  "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=me&WebIdentityToken="

static s3l_creds_rig_t rig;

static void begin(const s3l_step_t* const* scripts, size_t n) {
  s3l_creds_rig_init(&rig, scripts, n);
  setenv("AWS_ENDPOINT_URL_STS", rig.base, 1);
  setenv("AWS_ROLE_ARN", ROLE, 1);
  setenv("AWS_ROLE_SESSION_NAME", "me", 1);
  s3l_creds_rig_set_file(&rig, "AWS_WEB_IDENTITY_TOKEN_FILE", "token", "eyJ.a-b_c.d=\n");
}

static void open_chain(void) {
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_WEB_IDENTITY);
}

#define BEGIN(...) begin(S3L_CREDS_RIG_SCRIPTS(__VA_ARGS__))

static void failed(const char* why) {
  open_chain();
  s3l_creds_rig_failed(&rig, why);
}

static void answered(const char* reply, const char* why) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(WEB_BODY), S3L_SEND(reply)));
  failed(why);
}

static void gets_keys_for_a_token(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("POST / HTTP/1.1\r\nhost: 127.0.0.1:"),
                   S3L_EXPECT("\r\ncontent-type: application/x-www-form-urlencoded\r\n"),
                   S3L_EXPECT("content-length: 144"), S3L_EXPECT(WEB_BODY "eyJ.a-b_c.d%3D"),
                   S3L_SPLIT(S3L_OK(WEB_XML), 1),
                   /* the token is read anew */
                   S3L_EXPECT(WEB_BODY "second"), S3L_SEND(S3L_OK(WEB_XML))));
  open_chain();
  s3l_creds_rig_gets(&rig, "ASIA");
  assert_string_equal(rig.secret, "SK/+=");
  assert_string_equal(rig.token, "TOK&");
  assert_true(rig.expires_ms == S3L_CREDS_RIG_NOW + 3600000);
  s3l_creds_rig_file(&rig, "token", "second");
  s3l_creds_rig_got(&rig, "ASIA");
}

static void makes_a_session_name_up(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("&RoleSessionName=s3lect-1730023200000&WebIdentityToken="),
                   S3L_SEND(S3L_OK(WEB_XML))));
  unsetenv("AWS_ROLE_SESSION_NAME");
  open_chain();
  s3l_creds_rig_got(&rig, "ASIA");
}

/* Of STS's own host in the region: nothing answers within a millisecond. */
static void asks_the_region(void** state) {
  static const struct {
    const char* region;
    const char* host;
  } cases[] = {{"eu-central-1", "sts.eu-central-1.amazonaws.com:"},
               {"cn-north-1", "sts.cn-north-1.amazonaws.com.cn"},
               {"auto", "sts.us-east-1.amazonaws.com"},
               {NULL, "sts.us-east-1.amazonaws.com"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char host[64];
    begin(NULL, 0);
    unsetenv("AWS_ENDPOINT_URL_STS");
    if (cases[i].region != NULL)
      setenv("AWS_REGION", cases[i].region, 1);
    s3l_creds_rig_configure(&rig, NULL, S3LECT_CREDENTIALS_WEB_IDENTITY);
    rig.settings.remote_timeout_ms = 1;
    s3l_creds_rig_open(&rig);
    snprintf(host, sizeof(host), "...%s...", cases[i].host);
    s3l_creds_rig_failed(&rig, host);
  }
  begin(NULL, 0);
  setenv("AWS_REGION", "../x", 1);
  failed(WEB "the region is none");
}

static void names_bad_answers(void** state) {
  answered(S3L_ANSWER("403 Forbidden",
                      "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"
                      "<Message>Not authorized to perform sts:AssumeRoleWithWebIdentity</Message>"
                      "</Error><RequestId>r</RequestId></ErrorResponse>"),
           WEB "127.0.0.1:...");
  answered(S3L_ANSWER("400 Bad Request", "<ErrorResponse><Error><Code>ExpiredTokenException</Code>"
                                         "</Error></ErrorResponse>"),
           WEB "127.0.0.1:...");
  answered(S3L_OK("<html>hello</html>"), WEB "the answer of the service holds no credentials");
  answered(S3L_OK("<Credentials><AccessKeyId>A</AccessKeyId></Credentials>"),
           WEB "the answer of the service lacks a part of the credentials");
  answered(S3L_OK("<Credentials><AccessKeyId>A</AccessKeyId>"),
           WEB "the answer of the service holds no credentials");
  answered("HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n<", WEB "reply of 127.0.0.1:...");
  BEGIN(S3L_SCRIPT(S3L_EXPECT(WEB_BODY),
                   S3L_SEND(S3L_ANSWER("403 Forbidden", "<Error><Code>AccessDenied</Code>"
                                                        "<Message>No.\nNever</Message>"
                                                        "</Error>"))));
  open_chain();
  s3l_creds_rig_ask(&rig);
  s3l_creds_rig_wait(&rig);
  assert_non_null(strstr(rig.why, " answered 403: AccessDenied: No."));
  assert_null(strstr(rig.why, "eyJ")); /* the token is nowhere */
  s3l_creds_rig_end(&rig);
}

static void tries_again_where_that_helps(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(WEB_BODY), S3L_EXPECT("d%3D"),
                   S3L_SEND(S3L_ANSWER("400 Bad Request",
                                       "<ErrorResponse><Error><Code>IDPCommunicationError</Code>"
                                       "</Error></ErrorResponse>")),
                   S3L_EXPECT(WEB_BODY), S3L_EXPECT("d%3D"), S3L_SEND(S3L_ANSWER("500 Oops", "")),
                   S3L_EXPECT(WEB_BODY), S3L_EXPECT("d%3D"), S3L_SEND(S3L_OK(WEB_XML))));
  open_chain();
  s3l_creds_rig_got(&rig, "ASIA");
  BEGIN(S3L_SCRIPT(S3L_EXPECT(WEB_BODY), S3L_DEAF));
  s3l_creds_rig_configure(&rig, NULL, S3LECT_CREDENTIALS_WEB_IDENTITY);
  rig.settings.remote_timeout_ms = 20;
  s3l_creds_rig_open(&rig);
  s3l_creds_rig_failed(&rig, WEB "no reply from 127.0.0.1:...");
}

static void minds_its_inputs(void** state) {
  static char large[30000];
  static const struct {
    const char* variable;
    const char* value; /* NULL: unset */
    const char* why;
  } cases[] = {
      {"AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent/token",
       WEB "the token file /nonexistent/token: no such file or directory"},
      {"AWS_WEB_IDENTITY_TOKEN_FILE", "/tmp",
       WEB "the token file /tmp: illegal operation on a directory"},
      {"AWS_ROLE_SESSION_NAME", "a b",
       WEB "the session name must have 2 to 64 letters, digits and characters of _+=,.@-"},
      {"AWS_ROLE_ARN", NULL,
       "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not"},
      {"AWS_ENDPOINT_URL_STS", "http://sts.internal",
       WEB "http://sts.internal: plain http is only for loopback and for the metadata addresses of "
           "clouds; use https"},
      {"AWS_ENDPOINT_URL_STS", "sts.internal",
       WEB "the endpoint of STS must begin with http:// or https://"}};
  const char* const tokens[][2] = {{" \n", "is empty"}, {large, "is too large to be one"}};
  memset(large, 'x', sizeof(large) - 1);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    begin(NULL, 0);
    setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1", 1);
    if (cases[i].value != NULL)
      setenv(cases[i].variable, cases[i].value, 1);
    else
      unsetenv(cases[i].variable);
    failed(cases[i].why);
  }
  for (size_t i = 0; i < 2; i++) {
    char says[256];
    begin(NULL, 0);
    setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1", 1);
    s3l_creds_rig_file(&rig, "token", tokens[i][0]);
    snprintf(says, sizeof(says), WEB "the token file %s/token: %s", rig.dir, tokens[i][1]);
    failed(says);
  }
}

/* A message of STS is not lost because the role has a long name. */
static void long_errors_are_shown(void** state) {
  char arn[200], body[512], text[241];
  memset(arn, 'r', sizeof(arn) - 1);
  memset(text, 'm', sizeof(text) - 1);
  arn[sizeof(arn) - 1] = text[sizeof(text) - 1] = '\0';
  snprintf(
      body, sizeof(body),
      "<ErrorResponse><Error><Code>ThisCodeOfAnErrorHasSixtyFourCharactersWhichIsAsLongAsTheyGet</"
      "Code><Message>%s</Message></Error></ErrorResponse>",
      text);
  BEGIN(S3L_SCRIPT(S3L_EXPECT("&WebIdentityToken="), S3L_SEND(S3L_ANSWER("403 Forbidden", body))));
  setenv("AWS_ROLE_ARN", arn, 1);
  open_chain();
  s3l_creds_rig_ask(&rig);
  s3l_creds_rig_wait(&rig);
  assert_non_null(strstr(rig.why, "ThisCodeOfAnError"));
  assert_non_null(strstr(rig.why, text));
  s3l_creds_rig_end(&rig);
}

/* A token of the longest length that can be sent. */
static void sends_long_tokens(void** state) {
  static char token[19000];
  memset(token, 'x', sizeof(token) - 1);
  BEGIN(S3L_SCRIPT(S3L_EXPECT("content-length: 19129\r\n"), S3L_EXPECT("xxxxxxxxxxxxxxxx"),
                   S3L_SEND(S3L_OK(WEB_XML))));
  s3l_creds_rig_file(&rig, "token", token);
  open_chain();
  s3l_creds_rig_got(&rig, "ASIA");
}

/* The signature of the request that is to be expected, computed here from its parts. */
static void expected_signature(char* out, size_t cap, const char* body, const char* token) {
  char host[64], hash[S3L_SHA256_HEX_SIZE + 1];
  s3l_sigv4_scope_t scope;
  s3l_signer_t signer;
  s3l_buf_t b;
  assert_true(s3l_span_copy(s3l_span_cstr(rig.base + 7), host, sizeof(host)));
  assert_true(s3l_signer_open(&signer));
  assert_true(s3l_sha256_hex(&signer.engine, s3l_span_cstr(body), hash));
  assert_true(s3l_sigv4_scope(&scope, S3L_CREDS_RIG_NOW, S3L_SPAN("eu-west-1"), S3L_SPAN("sts")));
  const s3l_sigv4_pair_t headers[] = {
      {S3L_SPAN("content-type"), S3L_SPAN("application/x-www-form-urlencoded")},
      {S3L_SPAN("host"), s3l_span_cstr(host)},
      {S3L_SPAN("x-amz-date"), S3L_SPAN("20241027T100000Z")},
      {S3L_SPAN("x-amz-security-token"), s3l_span_cstr(token)}};
  const s3l_sigv4_request_t request = {.method = S3L_SPAN("POST"),
                                       .path = S3L_SPAN("/"),
                                       .query = S3L_SPAN(""),
                                       .headers = headers,
                                       .headers_len = token != NULL ? 4 : 3,
                                       .payload_hash = s3l_span_cstr(hash)};
  s3l_buf_init(&b, out, cap);
  s3l_buf_puts(&b, "\r\nauthorization: ");
  assert_true(
      s3l_signer_authorization(&signer, &request, &scope, S3L_SPAN("AK"), S3L_SPAN("SK"), &b));
  s3l_buf_puts(&b, "\r\n\r\n");
  s3l_buf_puts(&b, body);
  assert_non_null(s3l_buf_cstr(&b));
  s3l_signer_close(&signer);
}

#define ROLE_BODY                                                                                  \
  "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Ax%2Fr&RoleSessionName=sess&"                 \
  "DurationSeconds=900&ExternalId=e%26x"

/* A profile's role, with these lines more, by the keys of the environment. */
static void open_role(const char* more) {
  char config[256];
  snprintf(config, sizeof(config),
           "[profile p]\nrole_arn = arn:x/r\nrole_session_name = sess\n"
           "credential_source = Environment\n%s",
           more);
  s3l_creds_rig_set_file(&rig, "AWS_CONFIG_FILE", "config", config);
  setenv("AWS_ACCESS_KEY_ID", "AK", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
  s3l_creds_rig_configure(&rig, "p", 0);
  s3l_creds_rig_open(&rig);
}

static void assumes_roles(void** state) {
  char signature[1024];
  static const char* const tokens[] = {NULL, "T=="};
  for (int i = 0; i < 2; i++) {
    const s3l_step_t* const scripts[] = {S3L_SCRIPT(
        S3L_EXPECT("POST / HTTP/1.1\r\n"), S3L_EXPECT("\r\nx-amz-date: 20241027T100000Z"),
        S3L_EXPECT(signature), S3L_SEND(S3L_OK(XML("AssumeRole"))))};
    begin(scripts, 1);
    expected_signature(signature, sizeof(signature), ROLE_BODY, tokens[i]);
    setenv("AWS_REGION", "eu-west-1", 1);
    if (tokens[i] != NULL)
      setenv("AWS_SESSION_TOKEN", tokens[i], 1);
    open_role("external_id = e&x\nduration_seconds = 900\n");
    s3l_creds_rig_got(&rig, "ASIA");
  }
}

#define REFUSAL                                                                                    \
  "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>Signature expired</Message>"   \
  "</Error></ErrorResponse>"
#define SIGNED_AT(time)                                                                            \
  S3L_EXPECT("\r\nx-amz-date: 20241027T" time "Z"), S3L_EXPECT("Action=AssumeRole&")
#define REFUSED_AT(time)                                                                           \
  S3L_SEND(s3l_creds_rig_reply("403 Forbidden", "Date: Sun, 27 Oct 2024 " time " GMT\r\n", REFUSAL))
#define ASSUMED S3L_SEND(S3L_OK(XML("AssumeRole")))

/* Where our clock is wrong it is STS's time that signs, from then on; and ours again where it was
 * set right. */
static void signs_with_the_time_of_sts(void** state) {
  BEGIN(S3L_SCRIPT(SIGNED_AT("100000"), REFUSED_AT("08:30:00"), SIGNED_AT("083000"), ASSUMED,
                   SIGNED_AT("083000"), REFUSED_AT("10:00:01"), SIGNED_AT("100000"), ASSUMED));
  open_role("");
  s3l_creds_rig_gets(&rig, "ASIA");
  s3l_creds_rig_got(&rig, "ASIA");
}

static void is_refused(void) {
  open_role("");
  s3l_creds_rig_failed(&rig, "... answered 403: SignatureDoesNotMatch: Signature expired");
}

/* Once in a question; and not where the clocks agree. */
static void a_refusal_is_not_always_the_clock(void** state) {
  BEGIN(S3L_SCRIPT(SIGNED_AT("100000"), REFUSED_AT("10:04:59")));
  is_refused();
  BEGIN(S3L_SCRIPT(SIGNED_AT("100000"), REFUSED_AT("08:30:00"), SIGNED_AT("083000"),
                   REFUSED_AT("06:30:00")));
  is_refused();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gets_keys_for_a_token),
      cmocka_unit_test(makes_a_session_name_up),
      cmocka_unit_test(asks_the_region),
      cmocka_unit_test(names_bad_answers),
      cmocka_unit_test(tries_again_where_that_helps),
      cmocka_unit_test(minds_its_inputs),
      cmocka_unit_test(long_errors_are_shown),
      cmocka_unit_test(sends_long_tokens),
      cmocka_unit_test(assumes_roles),
      cmocka_unit_test(signs_with_the_time_of_sts),
      cmocka_unit_test(a_refusal_is_not_always_the_clock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
