/* credentials/google_file: the files of application default credentials, what is sent for them, and
 * what is said of broken ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/google_file.h"
#include "lib/google_files.h"
#include "lib/test.h"
#include "s3lect/errno.h"

#define NOW 1730023200000

static s3l_google_file_t file;
static char why_text[512], out_text[65536];
static s3l_buf_t why, out;

static int parse(const char* text) {
  s3l_buf_init(&why, why_text, sizeof(why_text));
  s3l_buf_init(&out, out_text, sizeof(out_text));
  int err = s3l_google_file_parse(&file, s3l_span_cstr(text), &why);
  assert_non_null(s3l_buf_cstr(&why));
  return err;
}

static void accepts(const char* text, s3l_google_type_t type, const char* token_url) {
  if (parse(text) != 0)
    fail_msg("%s", why_text);
  assert_int_equal(file.type, type);
  assert_string_equal(file.token_url, token_url);
}

static void refuses(const char* text, const char* want) {
  assert_int_equal(parse(text), S3LECT_ECREDENTIALS);
  assert_string_equal(why_text, want);
}

static void wrote(const char* want) {
  assert_string_equal(s3l_buf_cstr(&out), want);
  s3l_buf_init(&out, out_text, sizeof(out_text));
}

static void signs(void) {
  s3l_span_t jwt;
  if (s3l_google_assertion(&file, NOW, &jwt, &why) != 0)
    fail_msg("%s", s3l_buf_cstr(&why));
  assert_true(s3l_span_copy(jwt, out_text, sizeof(out_text)));
}

static void signs_not(const char* want) {
  s3l_span_t jwt;
  assert_int_equal(s3l_google_assertion(&file, NOW, &jwt, &why), S3LECT_ECREDENTIALS);
  assert_string_equal(s3l_buf_cstr(&why), want);
}

/* ---- Service accounts ---- */

#define TOKEN_URL "https://oauth2.googleapis.com/token"
#define HEADER_64 "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0"
#define CLAIMS_64                                                                                  \
  "eyJpc3MiOiJlbGVjdG9yQHByb2plY3QuaWFtLmdzZXJ2aWNlYWNjb3VudC5jb20iLCJzY29wZSI6Imh0dHBzOi"         \
  "8vd3d3Lmdvb2dsZWFwaXMuY29tL2F1dGgvZGV2c3RvcmFnZS5yZWFkX3dyaXRlIiwiYXVkIjoiaHR0cHM6Ly9v"         \
  "YXV0aDIuZ29vZ2xlYXBpcy5jb20vdG9rZW4iLCJpYXQiOjE3MzAwMjMxOTAsImV4cCI6MTczMDAyNjc5MH0"
#define SIGNATURE_64                                                                               \
  "AGqQsFOBOT50Y--pX64JrUc-ytmi8hub7LOdzPRhMbdXXv1IKT6mnWf7WYEr991QRdKvlyZg87VFC2g2MVR_IF"         \
  "NjccxrswILPgpM2dL_Mibd-w_Fhhv5W-tOaM9E_YuVL6-fyzaY7T3Nc4jgxFsj8DQlRtdKlSheE2xqmeg7qpFc"         \
  "VfF2uUx8AnnHWAFYhmMbHO0tALoixAvFrIKO6-N5c3gqeHAjJKCn3gaqZsFT6rmJHeVwiPKV3ygiyB7PeDt5xN"         \
  "pJk0rFwgfm_ZMw3cDIeIkSAo2UOVnEHXjolKhg7RWoRbwG0S-yNArOdPAEkgXTGSkIATWR85WwHPzKdMhjUA"

static void service_accounts_sign(void** state) {
  accepts(S3L_GOOGLE_KEY_FILE(TOKEN_URL), S3L_GOOGLE_SERVICE_ACCOUNT, TOKEN_URL);
  assert_string_equal(file.impersonation_url, "");
  signs();
  char *token = out_text, copy[2048];
  assert_true(s3l_span_copy(s3l_span_cstr(out_text), copy, sizeof(copy)));
  assert_string_equal(strsep(&token, "."), HEADER_64);
  assert_string_equal(strsep(&token, "."), CLAIMS_64);
  assert_string_equal(strsep(&token, "."), SIGNATURE_64);
  assert_null(token);
}

/* Only the key's ID and the URL may be absent. */
static void service_accounts_need_little(void** state) {
  accepts("{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":\"k\"}",
          S3L_GOOGLE_SERVICE_ACCOUNT, TOKEN_URL);
  signs_not("private_key holds no private key in PEM form");
  refuses("{\"type\":\"service_account\",\"client_email\":\"e\"}", "private_key is missing");
  refuses("{\"type\":\"service_account\",\"private_key\":\"k\"}", "client_email is missing");
  refuses("{\"type\":\"service_account\",\"private_key\":\"k\",\"client_email\":\"\"}",
          "client_email is missing");
  refuses("{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":1}",
          "private_key is not a string, or too long");
  refuses("{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":\"k\",\"token_"
          "uri\":[]}",
          "token_uri is not a string, or too long");
  refuses("{\"type\":\"service_account\",\"client_email\":\"a\\u0000b\",\"private_key\":\"k\"}",
          "client_email is not a string, or too long");
}

/* Whatever the account is called, the claims are JSON. */
static void names_are_escaped(void** state) {
  accepts("{\"type\":\"service_account\",\"client_email\":\"a\\\"b\\\\\",\"private_key\":"
          "\"" S3L_RSA_KEY("\\n") "\",\"token_uri\":\"u\"}",
          S3L_GOOGLE_SERVICE_ACCOUNT, "u");
  signs();
  /* {"alg":"RS256","typ":"JWT"} and {"iss":"a\"b\\","scope" */
  assert_memory_equal(out_text, "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJhXCJiXFwiLCJzY29w",
                      65);
}

static void long_names_overflow(void** state) {
  static char text[16384], name[5001];
  memset(name, 'x', sizeof(name) - 1);
  snprintf(text, sizeof(text),
           "{\"type\":\"service_account\",\"client_email\":\"%s\","
           "\"private_key\":\"%s\"}",
           name, S3L_RSA_KEY("\\n"));
  accepts(text, S3L_GOOGLE_SERVICE_ACCOUNT, TOKEN_URL);
  signs_not("private_key cannot sign: client_email, private_key_id or token_uri is too long");
}

/* ---- Users ---- */

static void users_send_their_refresh_token(void** state) {
  accepts("{\"type\":\"authorized_user\",\"client_id\":\"i\",\"client_secret\":\"s\","
          "\"refresh_token\":\"r\"}",
          S3L_GOOGLE_USER, TOKEN_URL);
  accepts(S3L_GOOGLE_USER_FILE("https://x/t"), S3L_GOOGLE_USER, "https://x/t");
  assert_string_equal(file.client_id, "id.apps.example");
  assert_string_equal(file.client_secret, S3L_GOOGLE_SECRET);
  assert_string_equal(file.refresh_token, S3L_GOOGLE_REFRESH);
  refuses("{\"type\":\"authorized_user\",\"client_id\":\"i\",\"client_secret\":\"s\"}",
          "refresh_token is missing");
}

/* ---- External accounts ---- */

#define EXTERNAL(source, more) S3L_GOOGLE_EXTERNAL_FILE("https://sts.x/t", source, more)

static void subject_is(const char* text, const char* want) {
  s3l_span_t token;
  assert_int_equal(s3l_google_subject(&file, s3l_span_cstr(text), &token, &why), 0);
  assert_int_equal(token.n, strlen(want));
  assert_memory_equal(token.p, want, token.n);
}

static void subject_is_wrong(const char* text, const char* want) {
  s3l_span_t token;
  s3l_buf_init(&why, why_text, sizeof(why_text));
  assert_int_equal(s3l_google_subject(&file, s3l_span_cstr(text), &token, &why),
                   S3LECT_ECREDENTIALS);
  assert_string_equal(s3l_buf_cstr(&why), want);
}

#define NOT_SO "credential_source gave no subject token in its format"

static void external_accounts_exchange(void** state) {
  accepts(EXTERNAL("\"file\":\"/var/token\"", ""), S3L_GOOGLE_EXTERNAL, "https://sts.x/t");
  assert_string_equal(file.url, "");
  assert_string_equal(file.path, "/var/token");
  subject_is("a.b+c \r\n", "a.b+c");
  subject_is_wrong(" \n", NOT_SO);
  static char large[S3L_GOOGLE_TEXT_MAX];
  memset(large, 'x', sizeof(large) - 1);
  subject_is_wrong(large, NOT_SO);
  assert_string_equal(file.subject_type, "urn:ietf:params:oauth:token-type:jwt");
  assert_string_equal(s3l_google_scope(&file), S3L_GOOGLE_SCOPE);
}

static void subject_tokens_come_in_json(void** state) {
  accepts(EXTERNAL("\"url\":\"http://169.254.169.254/x\",\"format\":{\"type\":\"json\","
                   "\"subject_token_field_name\":\"value\"}",
                   ""),
          S3L_GOOGLE_EXTERNAL, "https://sts.x/t");
  assert_string_equal(file.path, "");
  assert_string_equal(file.url, "http://169.254.169.254/x");
  subject_is("{\"value\":\"a\\u0062c\"}\n", "abc");
  subject_is_wrong("a.b.c", NOT_SO);
  subject_is_wrong("{}", NOT_SO);
  subject_is_wrong("{\"value\":\"\"}", NOT_SO);
  subject_is_wrong("{\"value\":{}}", NOT_SO);
  subject_is_wrong("{\"value\":\"a\\u0000\"}", NOT_SO);
}

static void subject_tokens_are_asked_for_with_headers(void** state) {
  static const char bad[] = "headers must be names and values of HTTP headers";
  static const char* const broken[] = {"\"a b\":\"1\"",  "\"a:\":\"1\"", "\"\":\"1\"",
                                       "\"a\":1",        "\"a\":null",   "\"a\":\"1\\r\\nb: 2\"",
                                       "\"a\\n\":\"1\"", "\"a\":{}"};
  char text[1024];
  accepts(EXTERNAL("\"url\":\"u\"", ""), S3L_GOOGLE_EXTERNAL, "https://sts.x/t");
  assert_string_equal(file.headers, "");
  accepts(
      EXTERNAL("\"url\":\"u\",\"headers\":{\"Metadata\":\"True\",\"Authorization\":\"Bearer x\"}",
               ""),
      S3L_GOOGLE_EXTERNAL, "https://sts.x/t");
  assert_string_equal(file.headers, "Metadata: True\r\nAuthorization: Bearer x\r\n");
  for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
    snprintf(text, sizeof(text), EXTERNAL("\"url\":\"u\",\"headers\":{%s}", ""), broken[i]);
    refuses(text, bad);
  }
}

static void names_broken_external_accounts(void** state) {
  static const char kinds[] = "credential_source must have a file or a url, and no environment_id";
  static const char format[] = "format must be text or json";
  accepts(EXTERNAL("\"file\":\"f\",\"format\":{\"type\":\"text\"}", ""), S3L_GOOGLE_EXTERNAL,
          "https://sts.x/t");
  refuses(EXTERNAL("", ""), kinds);
  refuses(EXTERNAL("\"executable\":{\"command\":\"x\"}", ""), kinds);
  refuses(EXTERNAL("\"environment_id\":\"aws1\",\"url\":\"http://169.254.169.254/\"", ""), kinds);
  refuses(EXTERNAL("\"file\":\"f\",\"url\":\"u\"", ""), kinds);
  refuses(EXTERNAL("\"file\":{}", ""), "file is not a string, or too long");
  refuses(EXTERNAL("\"file\":\"f\",\"format\":{\"type\":\"xml\"}", ""), format);
  refuses(EXTERNAL("\"file\":\"f\",\"format\":{\"type\":\"json\"}", ""),
          "subject_token_field_name is missing");
  refuses("{\"type\":\"external_account\",\"audience\":\"a\",\"subject_token_type\":\"t\"}",
          "credential_source is missing, or not an object");
  refuses("{\"type\":\"external_account\",\"audience\":\"a\"}", "subject_token_type is missing");
}

/* ---- Impersonation ---- */

static void writes_impersonations(void** state) {
  accepts(EXTERNAL("\"file\":\"f\"", ",\"service_account_impersonation_url\":\"https://i/x:g\""),
          S3L_GOOGLE_EXTERNAL, "https://sts.x/t");
  assert_string_equal(file.impersonation_url, "https://i/x:g");
  s3l_google_put_impersonation(&file, &out);
  wrote("{\"scope\":[\"https://www.googleapis.com/auth/devstorage.read_write\"],\"delegates\":[]}");
  accepts(EXTERNAL("\"file\":\"f\"",
                   ",\"service_account_impersonation_url\":\"https://i/x:g\","
                   "\"service_account_impersonation\":{\"token_lifetime_seconds\":1200}"),
          S3L_GOOGLE_EXTERNAL, "https://sts.x/t");
  s3l_google_put_impersonation(&file, &out);
  wrote("{\"scope\":[\"https://www.googleapis.com/auth/devstorage.read_write\"],\"delegates\":[],"
        "\"lifetime\":\"1200s\"}");
  assert_string_equal(s3l_google_scope(&file), "https://www.googleapis.com/auth/cloud-platform");
}

static void accounts_impersonate(void** state) {
  accepts(S3L_GOOGLE_IMPERSONATED_FILE("https://i/x:g", S3L_GOOGLE_USER_FILE("https://x/t"),
                                       ",\"delegates\":[\"a@x\",\"b@x\"]"),
          S3L_GOOGLE_USER, "https://x/t");
  assert_string_equal(file.impersonation_url, "https://i/x:g");
  assert_string_equal(file.refresh_token, S3L_GOOGLE_REFRESH);
  s3l_google_put_impersonation(&file, &out);
  wrote("{\"scope\":[\"https://www.googleapis.com/auth/devstorage.read_write\"],"
        "\"delegates\":[\"a@x\",\"b@x\"]}");
  accepts(S3L_GOOGLE_IMPERSONATED_FILE("https://i/x:g", S3L_GOOGLE_KEY_FILE("https://x/t"), ""),
          S3L_GOOGLE_SERVICE_ACCOUNT, "https://x/t");
  signs();
  refuses(S3L_GOOGLE_IMPERSONATED_FILE("https://i", "{\"type\":\"authorized_user\"}", ""),
          "client_id is missing");
  refuses(S3L_GOOGLE_IMPERSONATED_FILE("", S3L_GOOGLE_USER_FILE("https://x/t"), ""),
          "service_account_impersonation_url is missing");
  refuses(S3L_GOOGLE_IMPERSONATED_FILE("https://i", "[]", ""),
          "source_credentials is missing, or not an object");
  refuses(S3L_GOOGLE_IMPERSONATED_FILE("https://i", EXTERNAL("\"file\":\"f\"", ""), ""),
          "type external_account is not supported");
  refuses(S3L_GOOGLE_IMPERSONATED_FILE("https://i", S3L_GOOGLE_USER_FILE("https://x/t"),
                                       ",\"delegates\":\"a@x\""),
          "delegates is not a list, or too long");
}

/* ---- Files that are none ---- */

static void names_other_files(void** state) {
  static char huge[S3L_GOOGLE_FILE_MAX + 64], deep[400];
  refuses("", "is not a JSON object");
  refuses("[]", "is not a JSON object");
  refuses("{\"type\":\"service_account\"", "is not a JSON object");
  refuses("{}", "type is missing");
  refuses("{\"type\":1}", "type is not a string, or too long");
  refuses("{\"type\":\"gdch_service_account\"}", "type gdch_service_account is not supported");
  refuses("{\"type\":\"a\\u0007\\u001b[1m\"}", "type a[1m is not supported");
  refuses("{\"type\":\"service_account\",\"universe_domain\":\"example.org\"}",
          "universe_domain must be googleapis.com");
  snprintf(huge, sizeof(huge), "{\"type\":\"%*s\"}", S3L_GOOGLE_FILE_MAX, "x");
  refuses(huge, "is not a JSON object");
  memset(deep, '{', 100);
  refuses(deep, "is not a JSON object");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(service_accounts_sign),
      cmocka_unit_test(service_accounts_need_little),
      cmocka_unit_test(names_are_escaped),
      cmocka_unit_test(long_names_overflow),
      cmocka_unit_test(users_send_their_refresh_token),
      cmocka_unit_test(external_accounts_exchange),
      cmocka_unit_test(subject_tokens_come_in_json),
      cmocka_unit_test(subject_tokens_are_asked_for_with_headers),
      cmocka_unit_test(names_broken_external_accounts),
      cmocka_unit_test(writes_impersonations),
      cmocka_unit_test(accounts_impersonate),
      cmocka_unit_test(names_other_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
