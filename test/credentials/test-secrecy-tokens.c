/* Secrets of token services: no block of memory that the library gives back holds one, and no
 * message shows one, not even where a service repeats it. test-secrecy.c shows that the watch
 * sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "credentials/azure.h"
#include "lib/creds_rig.h"
#include "lib/secret_heap.h"
#include "lib/test.h"
#include "s3lect/errno.h"

/* Each stands in requests as it is. */
#define TOKEN       "IQoJb3JpZ2luX2VjEA.bearer_token-of.the-service"
#define CLIENT      "3fR8Q~a-client-secret_which.stays"
#define JWT         "eyJhbGciOiJSUzI1NiJ9.a-federated.token"

#define TOKEN_JSON  "{\"access_token\":\"" TOKEN "\",\"expires_in\":3600}"
#define CLIENT_FORM "&client_secret=" CLIENT
#define JWT_FORM    "&client_assertion=" JWT

static s3l_creds_rig_t rig;

/* A service that so many requests reach, each with `secret`, and that answers so. */
static void begin(const char* secret, const char* reply, int requests) {
  static s3l_step_t steps[7];
  static const s3l_step_t* const scripts[] = {steps};
  for (int i = 0; i < requests; i++) {
    steps[2 * i] = (s3l_step_t)S3L_EXPECT(secret);
    steps[2 * i + 1] = (s3l_step_t)S3L_SPLIT(reply, i == 0 ? 1 : 100);
  }
  steps[2 * requests] = (s3l_step_t)S3L_SCRIPT_END;
  s3l_creds_rig_init(&rig, scripts, 1);
}

static void begin_azure(const char* secret, const char* reply, int requests) {
  begin(secret, reply, requests);
  rig.kind = &s3l_chain_azure;
  setenv("AZURE_AUTHORITY_HOST", rig.base, 1);
  setenv("AZURE_TENANT_ID", "tenant", 1);
  setenv("AZURE_CLIENT_ID", "client", 1);
}

/* ---- Memory ---- */

/* Asks twice and closes, with a third question dropped. */
static void leaves_nothing(void) {
  s3l_secret_heap_install((const char* const[S3L_SECRETS_MAX]){TOKEN, CLIENT, JWT});
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_gets(&rig, "");
  assert_string_equal(rig.token, TOKEN);
  s3l_creds_rig_leaves_nothing(&rig);
}

static void a_client_secret_leaves_nothing(void** state) {
  begin_azure(CLIENT_FORM, S3L_OK(TOKEN_JSON), 3);
  setenv("AZURE_CLIENT_SECRET", CLIENT, 1);
  leaves_nothing();
}

static void a_federated_token_leaves_nothing(void** state) {
  begin_azure(JWT_FORM, S3L_OK(TOKEN_JSON), 3);
  s3l_creds_rig_set_file(&rig, "AZURE_FEDERATED_TOKEN_FILE", "token", JWT "\n");
  leaves_nothing();
}

static void managed_identities_leave_nothing(void** state) {
  begin_azure("\r\nx-identity-header: " JWT "\r\n\r\n", S3L_OK(TOKEN_JSON), 3);
  setenv("IDENTITY_ENDPOINT", rig.base, 1);
  setenv("IDENTITY_HEADER", JWT, 1);
  leaves_nothing();
  begin_azure("\r\nmetadata: true\r\n\r\n", S3L_OK(TOKEN_JSON), 3);
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", rig.base, 1);
  leaves_nothing();
}

/* ---- Messages ---- */

static void says_nothing(void) {
  static const char* const parts[] = {"bearer_token", "3fR8Q",       "a-client",
                                      "eyJ",          "a-federated", NULL};
  s3l_creds_rig_start(&rig, NULL, 0);
  s3l_creds_rig_hides(&rig, parts);
}

static void refused_with(const char* body) {
  begin_azure(CLIENT_FORM, S3L_ANSWER("401 Unauthorized", body), 1);
  setenv("AZURE_CLIENT_SECRET", CLIENT, 1);
  says_nothing();
  assert_non_null(
      strstr(rig.why, " answered 401: an error that is not shown, since it repeats a secret"));
}

/* Even escaped, with control characters within, and in the place at which a message is cut. */
static void what_a_service_repeats_is_not_shown(void** state) {
  char body[800], words[221];
  refused_with("{\"error\":\"e\",\"error_description\":\"bad secret " CLIENT "\"}");
  refused_with("{\"error\":\"" CLIENT "\"}");
  refused_with("{\"message\":\"3fR8Q~a-client-secret_which\\u002estays\"}");
  refused_with("{\"message\":\"3fR8Q~a-client\\t-secret_which.stays\"}");
  memset(words, 'w', sizeof(words) - 1);
  words[sizeof(words) - 1] = '\0';
  snprintf(body, sizeof(body), "{\"error\":\"e\",\"error_description\":\"%s " CLIENT "\"}", words);
  refused_with(body);
  begin_azure(JWT_FORM, S3L_ANSWER("400 Bad Request", "{\"message\":\"" JWT "\"}"), 1);
  s3l_creds_rig_set_file(&rig, "AZURE_FEDERATED_TOKEN_FILE", "token", JWT "\n");
  says_nothing();
  begin_azure("\r\nx-identity-header: " JWT, S3L_ANSWER("400 Bad", "{\"message\":\"" JWT "\"}"), 1);
  setenv("IDENTITY_ENDPOINT", rig.base, 1);
  setenv("IDENTITY_HEADER", JWT, 1);
  says_nothing();
}

static void tokens_are_not_shown(void** state) {
  static const char* const bodies[] = {
      TOKEN, "{\"" TOKEN "\":1}", "{\"access_token\":\"" TOKEN " \",\"expires_in\":1}",
      "{\"access_token\":\"" TOKEN "\",\"expires_in\":\"" TOKEN "\"}",
      "{\"access_token\":\"" TOKEN "\",\"expires_in\":1,\"token_type\":\"" TOKEN "\"}"};
  for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
    begin_azure(CLIENT_FORM, S3L_OK(bodies[i]), 1);
    setenv("AZURE_CLIENT_SECRET", CLIENT, 1);
    says_nothing();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_client_secret_leaves_nothing),
      cmocka_unit_test(a_federated_token_leaves_nothing),
      cmocka_unit_test(managed_identities_leave_nothing),
      cmocka_unit_test(what_a_service_repeats_is_not_shown),
      cmocka_unit_test(tokens_are_not_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
