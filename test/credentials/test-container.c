/* creds/container against a scripted agent: ECS and EKS Pod Identity, good answers and bad ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/service.h"
#include "lib/certs.h"
#include "lib/creds_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"

#define GET "GET /v2/creds?id=1 HTTP/1.1\r\nhost: 127.0.0.1:"

static s3l_creds_rig_t rig;

static void begin(const s3l_step_t* const* scripts, size_t n) {
  s3l_creds_rig_init(&rig, scripts, n);
  setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/creds?id=1", 1);
}

static void open_chain(void) {
  s3l_creds_rig_start(&rig, NULL, S3LECT_CREDENTIALS_CONTAINER);
}

static void got_keys(void) {
  open_chain();
  s3l_creds_rig_got(&rig, "AK");
}

static void failed(const char* why) {
  open_chain();
  s3l_creds_rig_failed(&rig, why);
}

#define BEGIN(...) begin(S3L_CREDS_RIG_SCRIPTS(__VA_ARGS__))

/* One answer to the one question. */
static void answered(const char* reply, const char* why) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(GET), S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply)));
  failed(why);
}

static void gets_keys(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(GET), S3L_EXPECT("accept: application/json\r\n\r\n"),
                   S3L_SPLIT(S3L_OK(S3L_CREDS_RIG_JSON), 1)));
  open_chain();
  s3l_creds_rig_gets(&rig, "AK");
  assert_string_equal(rig.secret, "SK/+=");
  assert_string_equal(rig.token, "TOK==");
  assert_true(rig.expires_ms == S3L_CREDS_RIG_NOW + 3600000);
  s3l_creds_rig_end(&rig);
}

/* The end is told by the service's clock: what counts is how long they are good. */
static void goes_by_the_service_clock(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(GET), S3L_EXPECT("\r\n\r\n"),
                   S3L_SEND(s3l_creds_rig_reply("200 OK", "Date: Sun, 27 Oct 2024 10:50:00 GMT\r\n",
                                                S3L_CREDS_RIG_JSON))));
  open_chain();
  s3l_creds_rig_gets(&rig, "AK");
  assert_true(rig.expires_ms == S3L_CREDS_RIG_NOW + 600000);
  s3l_creds_rig_end(&rig);
}

static void shows_its_token(void** state) {
  char url[128];
  BEGIN(S3L_SCRIPT(S3L_EXPECT("GET /v1/credentials HTTP/1.1\r\n"),
                   S3L_EXPECT("\r\nauthorization: Basic abc\r\n\r\n"),
                   S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  snprintf(url, sizeof(url), "%s/v1/credentials", rig.base);
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
  setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc", 1);
  got_keys();
}

/* It is replaced while we run. */
static void reads_the_token_anew(void** state) {
  char says[256];
  BEGIN(S3L_SCRIPT(
      S3L_EXPECT("\r\nauthorization: one\r\n\r\n"), S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON)),
      S3L_EXPECT("\r\nauthorization: two\r\n\r\n"), S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "unused", 1);
  s3l_creds_rig_set_file(&rig, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token", "one\n");
  open_chain();
  s3l_creds_rig_gets(&rig, "AK");
  s3l_creds_rig_file(&rig, "token", "two");
  s3l_creds_rig_gets(&rig, "AK");
  s3l_creds_rig_file(&rig, "token", "th\r\nX-Forwarded-For: ree");
  s3l_creds_rig_fails(&rig, "container: the authorization token holds a line end or another "
                            "control character");
  s3l_creds_rig_file(&rig, "token", " \n");
  snprintf(says, sizeof(says),
           "container: AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE %s/token: is empty", rig.dir);
  s3l_creds_rig_fails(&rig, says);
  static char large[20000];
  memset(large, 'x', sizeof(large) - 1);
  s3l_creds_rig_file(&rig, "token", large);
  snprintf(says, sizeof(says),
           "container: AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE %s/token: is too large to be one",
           rig.dir);
  s3l_creds_rig_failed(&rig, says);
}

static void names_bad_answers(void** state) {
  answered(S3L_ANSWER("403 Forbidden", "{\"code\":\"AccessDenied\",\"message\":\"not\\nyours\"}"),
           "container: 127.0.0.1:...");
  assert_true(rig.done == 1);
  answered(S3L_OK("not JSON"), "container: the answer is not a JSON object");
  answered(S3L_OK("{\"AccessKeyId\":\"AK\""), "container: the answer is not a JSON object");
  answered(S3L_OK(""), "container: the answer is not a JSON object");
  answered(S3L_OK("{}"), "container: the answer holds no credentials");
  answered(S3L_OK("{\"code\":\"X\",\"message\":\"y\"}"),
           "container: the answer holds no credentials: X: y");
  answered(S3L_OK("{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\"}"),
           "container: the JSON lacks AccessKeyId, SecretAccessKey, Token or Expiration");
  answered(S3L_OK("{\"AccessKeyId\":1,\"SecretAccessKey\":\"SK\"}"),
           "container: a member of the JSON is not a string, or too long");
  answered(S3L_OK("{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"S\\r\\nK\",\"Token\":\"T\","
                  "\"Expiration\":\"" S3L_CREDS_RIG_END "\"}"),
           "container: a key holds a blank, a line end or another character that no key has");
  answered(S3L_OK("{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\",\"Token\":\"T\","
                  "\"Expiration\":\"tomorrow\"}"),
           "container: the expiration is not an RFC 3339 time");
  answered(S3L_OK("{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"\",\"Token\":\"T\","
                  "\"Expiration\":\"" S3L_CREDS_RIG_END "\"}"),
           "container: there is no secret access key");
  answered(S3L_OK("{\"AccessKeyId\":\"\",\"SecretAccessKey\":\"\",\"Token\":\"T\","
                  "\"Expiration\":\"" S3L_CREDS_RIG_END "\"}"),
           "container: " S3L_CREDS_CANNOT_SIGN);
  answered("HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n",
           "container: 127.0.0.1:...");
  answered("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{", "container: reply of...");
}

static void shows_an_error_as_one_line(void** state) {
  char want[160];
  BEGIN(
      S3L_SCRIPT(S3L_EXPECT(GET), S3L_EXPECT("\r\n\r\n"),
                 S3L_SEND(S3L_ANSWER("403 Forbidden",
                                     "{\"code\":\"AccessDenied\",\"message\":\"not\\nyours\"}"))));
  open_chain();
  snprintf(want, sizeof(want), "container: 127.0.0.1:%u answered 403: AccessDenied: not",
           (unsigned)rig.server.port);
  s3l_creds_rig_failed(&rig, want);
}

static void tries_again(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(GET), S3L_EXPECT("\r\n\r\n"), S3L_RESET),
        S3L_SCRIPT(S3L_EXPECT(GET), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ANSWER("500 Oops", "{}")),
                   S3L_EXPECT(GET), S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
  got_keys();
  /* Three times in all. */
  const char* busy = S3L_ANSWER("503 Busy", "");
  BEGIN(S3L_SCRIPT(S3L_EXPECT(GET), S3L_SEND(busy), S3L_EXPECT(GET), S3L_SEND(busy),
                   S3L_EXPECT(GET), S3L_SEND(busy)));
  failed("container: 127.0.0.1:...");
}

static void does_not_wait_for_ever(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_DEAF));
  s3l_creds_rig_configure(&rig, NULL, S3LECT_CREDENTIALS_CONTAINER);
  rig.settings.service_timeout_ms = 20;
  s3l_creds_rig_open(&rig);
  s3l_creds_rig_fails(&rig, "container: no reply from 127.0.0.1:...");
  assert_int_equal(rig.server.accepted, 3);
  s3l_creds_rig_end(&rig);
}

/* Nothing is sent where it must not be: there is not even a connection. */
static void keeps_secrets_from_the_open_network(void** state) {
  static const char* const refused[] = {"http://10.0.0.1/x",       "http://example.org/x",
                                        "http://169.254.170.3/x",  "http://169.254.0.1/x",
                                        "http://[fd00:ec2::24]/x", "http://127.0.0.1.example.org/",
                                        "http://128.0.0.1/",       "http://localhost.example.org"};
  static const char* const allowed[] = {
      "http://169.254.170.2",      "http://169.254.170.23/v1", "http://[fd00:ec2::23]/v1",
      "http://[FD00:EC2::23]:80/", "http://[::1]:1/",          "http://127.0.0.1",
      "http://127.9.9.9:8",        "http://localhost:1",       "https://example.org"};
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
    char want[256], host[128];
    begin(NULL, 0);
    unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", refused[i], 1);
    open_chain();
    snprintf(host, sizeof(host), "%s", refused[i] + 7);
    host[strcspn(host, "/")] = '\0';
    snprintf(want, sizeof(want),
             "container: http://%s: plain http is only for loopback and for the metadata "
             "addresses of clouds; use https",
             host);
    s3l_creds_rig_failed(&rig, want);
  }
  for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
    s3l_url_t url;
    assert_true(s3l_url_parse(s3l_span_cstr(allowed[i]), &url, NULL));
    assert_true(s3l_service_allows(&url));
  }
}

static void refuses_bad_addresses(void** state) {
  begin(NULL, 0);
  setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.org/x", 1);
  failed("container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with '/'");
  begin(NULL, 0);
  unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "ftp://x", 1);
  failed("container: AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with http:// "
         "or https://");
  begin(NULL, 0);
  unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  failed("container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and "
         "AWS_CONTAINER_CREDENTIALS_FULL_URI are not set");
}

/* The longest host, code and message that there may be, and none of it is lost. */
static void long_errors_are_shown_whole(void** state) {
  char body[512], code[65], text[241];
  memset(code, 'C', sizeof(code) - 1);
  memset(text, 'm', sizeof(text) - 1);
  code[sizeof(code) - 1] = text[sizeof(text) - 1] = '\0';
  snprintf(body, sizeof(body), "{\"code\":\"%s\",\"message\":\"%s\"}", code, text);
  BEGIN(S3L_SCRIPT(S3L_EXPECT(GET), S3L_SEND(S3L_ANSWER("403 Forbidden", body))));
  open_chain();
  s3l_creds_rig_ask(&rig);
  s3l_creds_rig_wait(&rig);
  assert_non_null(strstr(rig.why, code));
  assert_non_null(strstr(rig.why, text));
  s3l_creds_rig_end(&rig);
}

static void speaks_tls(void** state) {
  s3l_certs_t certs;
  s3l_tls_context_t* tls;
  char url[64];
  assert_int_equal(s3l_certs_make(&certs), 0);
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &tls, NULL), 0);
  for (int i = 0; i < 2; i++) {
    s3l_creds_rig_init(&rig, S3L_CREDS_RIG_SCRIPT(S3L_EXPECT("GET /k HTTP/1.1\r\n"),
                                                  S3L_SEND(S3L_OK(S3L_CREDS_RIG_JSON))));
    rig.server.tls = tls;
    snprintf(url, sizeof(url), "https://127.0.0.1:%u/k", (unsigned)rig.server.port);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    setenv("AWS_CA_BUNDLE", i == 0 ? certs.ca : certs.other_ca, 1);
    open_chain();
    if (i == 0)
      s3l_creds_rig_got(&rig, "AK");
    else
      s3l_creds_rig_failed(&rig, "container: TLS handshake with 127.0.0.1:...");
  }
  s3l_tls_context_free(tls);
  s3l_certs_remove(&certs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gets_keys),
      cmocka_unit_test(goes_by_the_service_clock),
      cmocka_unit_test(shows_its_token),
      cmocka_unit_test(reads_the_token_anew),
      cmocka_unit_test(names_bad_answers),
      cmocka_unit_test(shows_an_error_as_one_line),
      cmocka_unit_test(long_errors_are_shown_whole),
      cmocka_unit_test(tries_again),
      cmocka_unit_test(does_not_wait_for_ever),
      cmocka_unit_test(keeps_secrets_from_the_open_network),
      cmocka_unit_test(refuses_bad_addresses),
      cmocka_unit_test(speaks_tls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
