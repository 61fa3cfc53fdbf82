/* Google's secrets: no block of memory that the library or OpenSSL gives back holds a key, a token
 * or what is shown for one, and no message shows one. */
#include <stdio.h>
#include <string.h>

#include "lib/google_rig.h"
#include "lib/secret_heap.h"
#include "lib/test.h"
#include "util/mem.h"

#define TOKEN     "ya29.a0Af_access-token.1"
#define FEDERATED "ya29.d.federated-token-2"
#define SUBJECT   "eyJhbGciOiJSUzI1NiJ9.subject"
#define PEM_PART  "PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeX"
/* Sixteen bytes of the key's private exponent. */
#define EXPONENT   "\x1d\x61\x75\x1d\x64\xe9\x49\x70\x7b\x62\x59\x0f\x9d\x0b\xa5\x7c"

#define WATCH(...) s3l_secret_heap_install((const char* const[S3L_SECRETS_MAX]){__VA_ARGS__})

static s3l_creds_rig_t* const rig = &s3l_google_rig;

/* Asks twice and closes, with a third question dropped. */
static void leaves_nothing(void) {
  s3l_google_open();
  s3l_google_gets(TOKEN);
  s3l_creds_rig_leaves_nothing(rig);
}

static void a_service_account_leaves_nothing(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT("assertion="), S3L_SPLIT(G_TOKEN(TOKEN), 1),
                     G_POST("/token"), S3L_EXPECT("assertion="), S3L_SEND(G_TOKEN(TOKEN))));
  s3l_google_write("key.json", S3L_GOOGLE_KEY_FILE("%s/token"));
  WATCH(TOKEN, PEM_PART, EXPONENT);
  leaves_nothing();
}

static void a_user_leaves_nothing(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SPLIT(G_TOKEN(TOKEN), 1),
                     G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN(TOKEN))));
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/token"));
  WATCH(TOKEN, S3L_GOOGLE_SECRET, S3L_GOOGLE_REFRESH);
  leaves_nothing();
}

static void an_external_account_leaves_nothing(void** state) {
#define ROUND                                                                                      \
  S3L_EXPECT("GET /id "), S3L_EXPECT("x-secret: " S3L_GOOGLE_SECRET "\r\n\r\n"),                   \
      S3L_SEND(S3L_OK(SUBJECT)), G_POST("/sts"), S3L_EXPECT("subject_token=" SUBJECT),             \
      S3L_SEND(G_TOKEN(FEDERATED)), G_IMPERSONATION, S3L_EXPECT("Bearer " FEDERATED "\r\n"),       \
      S3L_EXPECT("}"), S3L_SPLIT(G_IAM_TOKEN(TOKEN), 100)
  G_BEGIN(S3L_SCRIPT(ROUND, ROUND));
  s3l_google_write_external(
      "\"url\":\"%s/id\",\"headers\":{\"x-secret\":\"" S3L_GOOGLE_SECRET "\"}", G_IMPERSONATES);
  WATCH(TOKEN, FEDERATED, SUBJECT, S3L_GOOGLE_SECRET);
  leaves_nothing();
}

static void a_token_file_leaves_nothing(void** state) {
  G_BEGIN(S3L_SCRIPT(G_POST("/sts"), S3L_EXPECT("subject_token=" SUBJECT), S3L_SEND(G_TOKEN(TOKEN)),
                     G_POST("/sts"), S3L_EXPECT("subject_token=" SUBJECT),
                     S3L_SEND(G_TOKEN(TOKEN))));
  s3l_google_write_token_file(",\"format\":{\"type\":\"json\",\"subject_token_field_name\":\"t\"}",
                              "{\"t\":\"" SUBJECT "\"}");
  WATCH(TOKEN, SUBJECT);
  leaves_nothing();
}

static void the_machine_leaves_nothing(void** state) {
  G_BEGIN(S3L_SCRIPT(G_GET_TOKEN, S3L_SPLIT(G_METADATA("200 OK", G_TOKEN_BODY(TOKEN)), 1),
                     G_GET_TOKEN, S3L_SEND(G_METADATA("200 OK", G_TOKEN_BODY(TOKEN)))));
  WATCH(TOKEN);
  leaves_nothing();
}

/* ---- Messages ---- */

static void says_nothing(void) {
  static const char* const secrets[] = {
      TOKEN, FEDERATED, SUBJECT, PEM_PART, "PEAeP88", S3L_GOOGLE_SECRET, S3L_GOOGLE_REFRESH, NULL};
  s3l_google_open();
  s3l_creds_rig_hides(rig, secrets);
}

static void files_are_not_shown(void** state) {
  static const char* const broken[] = {
      PEM_PART,
      "{\"" PEM_PART "\":1}",
      "{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":\"" PEM_PART "\"}",
      "{\"type\":\"service_account\",\"private_key\":\"" PEM_PART "\"}",
      "{\"type\":\"authorized_user\",\"client_id\":\"i\",\"client_secret\":\"" S3L_GOOGLE_SECRET
      "\",\"refresh_token\":[\"" S3L_GOOGLE_REFRESH "\"]}",
      S3L_GOOGLE_EXTERNAL_FILE(
          "https://x", "\"url\":\"u\",\"headers\":{\"a\":\"" S3L_GOOGLE_SECRET "\\n\"}", ""),
      S3L_GOOGLE_USER_FILE("gopher://x")};
  for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
    s3l_google_begin(NULL, 0);
    s3l_google_write("adc.json", broken[i]);
    says_nothing();
  }
}

static void answers_are_not_shown(void** state) {
  static const char* const bodies[] = {
      TOKEN,
      "{\"" TOKEN "\":1}",
      "{\"access_token\":\"" TOKEN "\",\"expires_in\":\"" TOKEN "\"}",
      "{\"access_token\":\"" TOKEN " x\",\"expires_in\":1}",
      "{\"access_token\":{\"a\":\"" TOKEN "\"},\"expires_in\":1}",
      "{\"access_token\":\"" TOKEN "\",\"expires_in\":1,\"token_type\":\"" TOKEN "\"}"};
  for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
    G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(S3L_OK(bodies[i]))));
    s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/token"));
    says_nothing();
  }
}

/* A service that repeats what was sent to it. */
static void what_services_repeat_is_not_shown(void** state) {
  G_BEGIN(S3L_SCRIPT(
      G_POST("/token"), S3L_EXPECT(G_USER_FORM),
      S3L_SEND(S3L_ANSWER("400 Bad Request", "{\"error\":\"invalid_grant\",\"error_description\":"
                                             "\"no such token: " S3L_GOOGLE_REFRESH "\"}"))));
  s3l_google_write("adc.json", S3L_GOOGLE_USER_FILE("%s/token"));
  says_nothing();
  G_BEGIN(S3L_SCRIPT(
      G_POST("/sts"), S3L_EXPECT("subject_token=" SUBJECT),
      S3L_SEND(S3L_ANSWER("400 Bad Request", "{\"error\":\"invalid_request\",\"error_description\":"
                                             "\"no JWT: " SUBJECT "\"}"))));
  s3l_google_write_token_file("", SUBJECT);
  says_nothing();
  G_BEGIN(S3L_SCRIPT(G_POST("/token"), S3L_EXPECT(G_USER_FORM), S3L_SEND(G_TOKEN(FEDERATED)),
                     G_IMPERSONATION, S3L_EXPECT("}"),
                     S3L_SEND(S3L_ANSWER("401 Unauthorized",
                                         "{\"error\":{\"code\":401,\"status\":\"UNAUTHENTICATED\","
                                         "\"message\":\"bad token " FEDERATED "\"}}"))));
  s3l_google_write("adc.json", S3L_GOOGLE_IMPERSONATED_FILE("%s/v1/elector@x:generateAccessToken",
                                                            S3L_GOOGLE_USER_FILE("%s/token"), ""));
  says_nothing();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_service_account_leaves_nothing),
      cmocka_unit_test(a_user_leaves_nothing),
      cmocka_unit_test(an_external_account_leaves_nothing),
      cmocka_unit_test(a_token_file_leaves_nothing),
      cmocka_unit_test(the_machine_leaves_nothing),
      cmocka_unit_test(files_are_not_shown),
      cmocka_unit_test(answers_are_not_shown),
      cmocka_unit_test(what_services_repeat_is_not_shown),
  };
  s3l_secret_heap_with_openssl();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
