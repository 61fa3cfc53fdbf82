/* The Azure store with a token of each source there is: a scripted token service beside a fake
 * Azure Blob Storage that checks bearer tokens, all over sockets. Then tokens that end, and tokens
 * that the store refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/creds_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/store_azure.h"

#define FIRST  "eyJ0.first-token"
#define SECOND "eyJ0.second-token"

#define TOKEN_OF(token, life)                                                                      \
  S3L_SEND(S3L_OK("{\"access_token\":\"" token "\",\"token_type\":\"Bearer\",\"expires_in\":" life \
                  "}"))
#define ENTRA(proof)                                                                               \
  S3L_EXPECT("POST /tenant/oauth2/v2.0/token HTTP/1.1\r\n"),                                       \
      S3L_EXPECT("scope=https%3A%2F%2Fstorage.azure.com%2F.default"), S3L_EXPECT(proof)

static s3l_creds_rig_t rig; /* the token service, files, environment and loop */
static unsigned called;     /* by the service's scripts, where they say so */

static void on_call(s3l_script_server_t* server) {
  called++;
}

static void begin(const s3l_step_t* const* scripts, size_t n) {
  const fakes3_options_t options = {
      .protocol = "azure",
      .buckets = "container",
      .keys = {{"first", "", FIRST}, {"second", "", SECOND}},
  };
  creds_store_begin(&rig, scripts, n, &options);
  rig.server.on_call = on_call;
  called = 0;
  setenv("AZURE_AUTHORITY_HOST", rig.base, 1);
  setenv("AZURE_TENANT_ID", "tenant", 1);
  setenv("AZURE_CLIENT_ID", "client", 1);
}

#define BEGIN(...) begin(S3L_CREDS_RIG_SCRIPTS(__VA_ARGS__))

static void begin_workload(const s3l_step_t* const* scripts, size_t n) {
  begin(scripts, n);
  s3l_creds_rig_set_file(&rig, "AZURE_FEDERATED_TOKEN_FILE", "token", "jwt");
}

static void open_store(void) {
  s3lect_store_azure_options_t o;
  s3lect_error_t error;
  s3lect_store_azure_options_init(&o, sizeof(o));
  o.account = FAKES3_ACCOUNT;
  o.container = "container";
  o.endpoint = fakes3_url(creds_store.fake);
  if (s3lect_store_azure_init(&rig.loop, &creds_store.store, &o, &error) != 0)
    fail_msg("%s", error.text);
}

/* A write and a read with one token. */
static void works(void) {
  open_store();
  creds_store_works("first");
}

/* ---- Each source ---- */

static void works_with_a_client_secret(void** state) {
  BEGIN(S3L_SCRIPT(ENTRA("&client_secret=s3cret"), TOKEN_OF(FIRST, "3599")));
  setenv("AZURE_CLIENT_SECRET", "s3cret", 1);
  works();
}

static void works_with_workload_identity(void** state) {
  begin_workload(S3L_CREDS_RIG_SCRIPT(ENTRA("&client_assertion=jwt"), TOKEN_OF(FIRST, "3599")));
  works();
}

static void works_with_managed_identities(void** state) {
  char url[96];
  BEGIN(S3L_SCRIPT(S3L_EXPECT("GET /msi?api-version=2019-08-01&"),
                   S3L_EXPECT("x-identity-header: h\r\n\r\n"), TOKEN_OF(FIRST, "\"3599\"")));
  snprintf(url, sizeof(url), "%s/msi", rig.base);
  setenv("IDENTITY_ENDPOINT", url, 1);
  setenv("IDENTITY_HEADER", "h", 1);
  works();
  BEGIN(S3L_SCRIPT(S3L_EXPECT("GET /metadata/identity/oauth2/token?"),
                   S3L_EXPECT("metadata: true\r\n\r\n"), TOKEN_OF(FIRST, "\"3599\"")));
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", rig.base, 1);
  works();
}

static void tells_why_there_is_none(void** state) {
  BEGIN(S3L_SCRIPT(ENTRA("&client_secret=old"),
                   S3L_SEND(S3L_ANSWER("401 Unauthorized",
                                       "{\"error\":\"invalid_client\",\"error_description\":"
                                       "\"AADSTS7000222: The client secret has expired.\"}"))));
  setenv("AZURE_CLIENT_SECRET", "old", 1);
  open_store();
  assert_int_equal(creds_store_get(), S3LECT_ECREDENTIALS);
  assert_non_null(strstr(creds_store.r.message,
                         " answered 401: invalid_client: AADSTS7000222: The client secret"));
  creds_store_end();
}

/* ---- Tokens that end ---- */

/* Nobody asks, and the next token is there before the first has ended. */
static void a_token_is_replaced_ahead_of_its_end(void** state) {
  begin_workload(S3L_CREDS_RIG_SCRIPTS(
      S3L_SCRIPT(ENTRA("&client_assertion=jwt"), TOKEN_OF(FIRST, "8")),
      S3L_SCRIPT(ENTRA("&client_assertion=newer"), TOKEN_OF(SECOND, "3599"), S3L_CALL)));
  open_store();
  assert_int_equal(creds_store_put(), 0);
  assert_string_equal(creds_store_key(), "first");
  s3l_creds_rig_file(&rig, "token", "newer");
  s3l_wait_pace(S3L_PACE_SOCKETS);
  s3l_wait_count(&rig.loop, &called, 1, "the token to be replaced");
  s3l_wait_pace(S3L_PACE_REAL);
  do
    assert_int_equal(creds_store_get(), 0);
  while (strcmp(creds_store_key(), "first") == 0); /* it is on its way */
  assert_string_equal(creds_store_key(), "second");
  creds_store_end();
}

/* The service gave a token that the store does not know: the request is sent again with another
 * one. If that is refused as well, the token is not the reason. */
static void a_refused_token_is_replaced(void** state) {
  begin_workload(S3L_CREDS_RIG_SCRIPT(ENTRA("&client_assertion=jwt"), TOKEN_OF("revoked", "3599"),
                                      ENTRA("&client_assertion=jwt"), TOKEN_OF(FIRST, "3599")));
  open_store();
  assert_int_equal(creds_store_put(), 0);
  assert_string_equal(creds_store_key(), "first");
  creds_store_end();
  begin_workload(S3L_CREDS_RIG_SCRIPT(ENTRA("&client_assertion=jwt"), TOKEN_OF("one", "3599"),
                                      ENTRA("&client_assertion=jwt"), TOKEN_OF("two", "3599")));
  open_store();
  assert_int_equal(creds_store_put(), S3LECT_ESIGNATURE);
  assert_int_equal(creds_store.r.result.outcome, S3LECT_NOT_APPLIED);
  assert_non_null(strstr(creds_store.r.message, "InvalidAuthenticationInfo"));
  creds_store_end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(works_with_a_client_secret),
      cmocka_unit_test(works_with_workload_identity),
      cmocka_unit_test(works_with_managed_identities),
      cmocka_unit_test(tells_why_there_is_none),
      cmocka_unit_test(a_token_is_replaced_ahead_of_its_end),
      cmocka_unit_test(a_refused_token_is_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
