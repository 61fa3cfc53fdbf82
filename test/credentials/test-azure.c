/* credentials/azure against a scripted token service: each source and its request, their order, and
 * what ends the search. The documents of the answers are those of test-token.c. */
#include "credentials/azure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/certs.h"
#include "lib/creds_rig.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"

#define SCOPE "scope=https%3A%2F%2Fstorage.azure.com%2F.default"
#define FORM  "\r\n\r\ngrant_type=client_credentials&" SCOPE "&client_id=c-1&"
#define POST                                                                                       \
  S3L_EXPECT("POST /my-tenant.example/oauth2/v2.0/token HTTP/1.1\r\nhost: 127.0.0.1:"),            \
      S3L_EXPECT("accept: application/json\r\n"                                                    \
                 "content-type: application/x-www-form-urlencoded\r\ncontent-length: ")
#define WITH_SECRET POST, S3L_EXPECT(FORM "client_secret=s%2B%2F~%26%3D")
#define WITH_FILE(token)                                                                           \
  POST, S3L_EXPECT(FORM                                                                            \
                   "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3A"  \
                   "jwt-bearer&client_assertion=" token)
#define RESOURCE "&resource=https%3A%2F%2Fstorage.azure.com&client_id=c-1 HTTP/1.1\r\n"
#define APP_SERVICE                                                                                \
  S3L_EXPECT("GET /msi/token?api-version=2019-08-01" RESOURCE),                                    \
      S3L_EXPECT("x-identity-header: h-1\r\n\r\n")
#define IMDS                                                                                       \
  S3L_EXPECT("GET /metadata/identity/oauth2/token?api-version=2018-02-01" RESOURCE),               \
      S3L_EXPECT("metadata: true\r\n\r\n")

#define TOKEN_OF(name)                                                                             \
  "{\"token_type\":\"Bearer\",\"expires_in\":3599,\"access_token\":\"" name "\"}"
#define TOKEN(name) S3L_SEND(S3L_OK(TOKEN_OF(name)))
#define STRINGS(name)                                                                              \
  S3L_SEND(S3L_OK("{\"access_token\":\"" name "\",\"client_id\":\"c-1\",\"expires_in\":\"86399\"," \
                  "\"expires_on\":\"1730109599\",\"resource\":\"https://storage.azure.com\","      \
                  "\"token_type\":\"Bearer\"}"))

static s3l_creds_rig_t rig;

/* Every source is configured; the first so many are taken out. */
static void begin(unsigned taken_out, const s3l_step_t* const* scripts, size_t n) {
  static const char* const variables[] = {"AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE",
                                          "IDENTITY_ENDPOINT"};
  char url[96];
  s3l_creds_rig_init(&rig, scripts, n);
  rig.kind = &s3l_chain_azure;
  setenv("AZURE_TENANT_ID", "my-tenant.example", 1);
  setenv("AZURE_CLIENT_ID", "c-1", 1);
  setenv("AZURE_CLIENT_SECRET", "s+/~&=", 1);
  setenv("AZURE_AUTHORITY_HOST", rig.base, 1);
  s3l_creds_rig_set_file(&rig, "AZURE_FEDERATED_TOKEN_FILE", "token", "jwt.one\n");
  snprintf(url, sizeof(url), "%s/msi/token", rig.base);
  setenv("IDENTITY_ENDPOINT", url, 1);
  setenv("IDENTITY_HEADER", "h-1", 1);
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", rig.base, 1);
  for (unsigned i = 0; i < taken_out; i++)
    unsetenv(variables[i]);
}

#define BEGIN(taken_out, ...) begin(taken_out, S3L_CREDS_RIG_SCRIPTS(__VA_ARGS__))

enum { ENVIRONMENT, WORKLOAD, APP, METADATA }; /* the first that is left */

static void open_chain(void) {
  s3l_creds_rig_start(&rig, NULL, 0);
}

static void gets(const char* token, int64_t life_ms) {
  s3l_creds_rig_gets(&rig, "");
  assert_string_equal(rig.secret, "");
  assert_string_equal(rig.token, token);
  assert_true(rig.expires_ms == S3L_CREDS_RIG_NOW + life_ms);
}

static void got(const char* token, int64_t life_ms) {
  open_chain();
  gets(token, life_ms);
  s3l_creds_rig_end(&rig);
}

static void failed(const char* why) {
  open_chain();
  s3l_creds_rig_failed(&rig, why);
}

/* ---- Sources ---- */

static void a_client_secret(void** state) {
  BEGIN(ENVIRONMENT, S3L_SCRIPT(WITH_SECRET, TOKEN("T1"), WITH_SECRET, TOKEN("T2")));
  open_chain();
  gets("T1", 3599000);
  gets("T2", 3599000);
  assert_int_equal(rig.server.accepted, 1);
  s3l_creds_rig_end(&rig);
}

static void a_federated_token(void** state) {
  char says[256];
  BEGIN(WORKLOAD, S3L_SCRIPT(WITH_FILE("jwt.one"), TOKEN("T1"), WITH_FILE("jwt.two"), TOKEN("T2")));
  open_chain();
  gets("T1", 3599000);
  s3l_creds_rig_file(&rig, "token", "jwt.two"); /* it is replaced while the process runs */
  gets("T2", 3599000);
  s3l_creds_rig_file(&rig, "token", "\n");
  snprintf(says, sizeof(says),
           "...workload identity: AZURE_FEDERATED_TOKEN_FILE %s/token: is empty", rig.dir);
  s3l_creds_rig_failed(&rig, says);
}

static void an_app_service(void** state) {
  BEGIN(APP, S3L_SCRIPT(APP_SERVICE,
                        S3L_SEND(S3L_OK("{\"access_token\":\"T1\",\"expires_on\":\"1730026800\","
                                        "\"resource\":\"x\",\"token_type\":\"Bearer\"}"))));
  got("T1", 3600000);
  /* Its URL may have a query; and no user-assigned identity is selected. */
  char url[96];
  BEGIN(APP, S3L_SCRIPT(S3L_EXPECT("GET /msi?a=b&api-version=2019-08-01&resource=https%3A%2F%2F"
                                   "storage.azure.com HTTP/1.1\r\n"),
                        S3L_EXPECT("\r\n\r\n"), TOKEN("T2")));
  unsetenv("AZURE_CLIENT_ID");
  snprintf(url, sizeof(url), "%s/msi?a=b", rig.base);
  setenv("IDENTITY_ENDPOINT", url, 1);
  got("T2", 3599000);
}

static void a_machine(void** state) {
  char url[96];
  BEGIN(METADATA, S3L_SCRIPT(IMDS, STRINGS("T1")));
  got("T1", 86399000);
  BEGIN(METADATA, S3L_SCRIPT(IMDS, STRINGS("T2")));
  snprintf(url, sizeof(url), "%s/", rig.base);
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", url, 1);
  got("T2", 86399000);
}

/* Sovereign clouds; SDKs take the authority without a scheme, too. */
static void another_authority(void** state) {
  char host[96];
  s3l_certs_t certs;
  s3l_tls_context_t* tls;
  BEGIN(ENVIRONMENT, S3L_SCRIPT(WITH_SECRET, TOKEN("T1")));
  snprintf(host, sizeof(host), "%s//", rig.base);
  setenv("AZURE_AUTHORITY_HOST", host, 1);
  got("T1", 3599000);
  assert_int_equal(s3l_certs_make(&certs), 0);
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &tls, NULL), 0);
  BEGIN(ENVIRONMENT, S3L_SCRIPT(WITH_SECRET, TOKEN("T2")));
  rig.server.tls = tls;
  snprintf(host, sizeof(host), "127.0.0.1:%u/", (unsigned)rig.server.port);
  setenv("AZURE_AUTHORITY_HOST", host, 1);
  s3l_creds_rig_configure(&rig, NULL, 0);
  rig.settings.ca_file = certs.ca;
  s3l_creds_rig_open(&rig);
  gets("T2", 3599000);
  s3l_creds_rig_end(&rig);
  s3l_tls_context_free(tls);
  s3l_certs_remove(&certs);
}

/* ---- The order ---- */

static void asks_in_the_order_of_the_sdks(void** state) {
  BEGIN(ENVIRONMENT, S3L_SCRIPT(WITH_SECRET, TOKEN("environment")));
  got("environment", 3599000);
  BEGIN(WORKLOAD, S3L_SCRIPT(WITH_FILE("jwt.one"), TOKEN("workload")));
  got("workload", 3599000);
  BEGIN(APP, S3L_SCRIPT(APP_SERVICE, TOKEN("app-service")));
  got("app-service", 3599000);
  BEGIN(METADATA, S3L_SCRIPT(IMDS, TOKEN("imds")));
  got("imds", 3599000);
}

/* A pod's variables: the client is not the environment's, which has no secret. */
static void an_empty_variable_is_none(void** state) {
  BEGIN(ENVIRONMENT, S3L_SCRIPT(WITH_FILE("jwt.one"), TOKEN("T1")));
  setenv("AZURE_CLIENT_SECRET", "", 1);
  got("T1", 3599000);
}

static void one_source_can_be_selected(void** state) {
  BEGIN(ENVIRONMENT, S3L_SCRIPT(WITH_FILE("jwt.one"), TOKEN("T1")));
  setenv("AZURE_TOKEN_CREDENTIALS", "workloadidentitycredential", 1);
  got("T1", 3599000);
  BEGIN(ENVIRONMENT, S3L_SCRIPT(WITH_SECRET, TOKEN("T2")));
  setenv("AZURE_TOKEN_CREDENTIALS", "prod", 1);
  got("T2", 3599000);
  begin(WORKLOAD, NULL, 0);
  setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential", 1);
  failed("environment: AZURE_CLIENT_SECRET is not set");
  begin(ENVIRONMENT, NULL, 0);
  setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential", 1);
  s3lect_error_t error = {0};
  s3l_creds_cache_t* cache = NULL;
  assert_int_equal(s3l_chain_cache(&rig.loop, &s3l_chain_azure, NULL, &cache, &error),
                   S3LECT_EOPTION);
  assert_string_equal(error.text,
                      "AZURE_TOKEN_CREDENTIALS \"AzureCliCredential\": selects none of "
                      "EnvironmentCredential, WorkloadIdentityCredential and "
                      "ManagedIdentityCredential; unset it, or set one of these, or prod");
  s3l_creds_rig_end(&rig);
}

/* ---- Failures ---- */

/* Never another identity than the configured one. */
static void a_failure_ends_the_search(void** state) {
  char says[256];
  BEGIN(
      ENVIRONMENT,
      S3L_SCRIPT(WITH_SECRET,
                 S3L_SEND(S3L_ANSWER(
                     "401 Unauthorized",
                     "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS7000215: "
                     "Invalid client secret provided.\\r\\nTrace ID: 0\",\"error_codes\":[1]}"))));
  open_chain();
  snprintf(says, sizeof(says),
           "environment: 127.0.0.1:%u answered 401: invalid_client: AADSTS7000215: Invalid client "
           "secret provided.",
           (unsigned)rig.server.port);
  s3l_creds_rig_fails(&rig, says);
  assert_int_equal(rig.server.strays, 0);
  s3l_creds_rig_end(&rig);
  assert_int_equal(rig.server.accepted, 1);
}

static void half_a_configuration_is_named(void** state) {
  begin(ENVIRONMENT, NULL, 0);
  unsetenv("AZURE_TENANT_ID");
  failed("environment: AZURE_CLIENT_SECRET is set, but AZURE_TENANT_ID is not");
  begin(ENVIRONMENT, NULL, 0);
  unsetenv("AZURE_CLIENT_ID");
  failed("environment: AZURE_CLIENT_SECRET is set, but AZURE_CLIENT_ID is not");
  begin(WORKLOAD, NULL, 0);
  unsetenv("AZURE_CLIENT_ID");
  failed("environment: AZURE_CLIENT_SECRET is not set; workload identity: "
         "AZURE_FEDERATED_TOKEN_FILE is set, but AZURE_CLIENT_ID is not");
  begin(WORKLOAD, NULL, 0);
  setenv("AZURE_CLIENT_CERTIFICATE_PATH", "/x.pem", 1);
  failed("environment: AZURE_CLIENT_CERTIFICATE_PATH is set, but client certificates are not "
         "supported; use AZURE_CLIENT_SECRET or a federated token");
  begin(APP, NULL, 0);
  unsetenv("IDENTITY_HEADER");
  failed("...managed identity: IDENTITY_ENDPOINT is set, but IDENTITY_HEADER is not (Azure Arc is "
         "not supported)");
}

static void no_value_changes_the_request(void** state) {
  static char large[600];
  memset(large, 'x', sizeof(large) - 1);
  BEGIN(ENVIRONMENT, S3L_SCRIPT(S3L_EXPECT("POST /..%2Fx%3F%0D%0A/oauth2/v2.0/token HTTP/1.1\r\n"),
                                S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ANSWER("404 No", ""))));
  setenv("AZURE_TENANT_ID", "../x?\r\n", 1);
  failed("environment: 127.0.0.1:...");
  begin(ENVIRONMENT, NULL, 0);
  setenv("AZURE_AUTHORITY_HOST", large, 1);
  failed("environment: AZURE_AUTHORITY_HOST or AZURE_TENANT_ID is too long");
  begin(APP, NULL, 0);
  setenv("IDENTITY_HEADER", "h\r\nX: y", 1);
  failed("...managed identity: IDENTITY_HEADER holds a blank, a line end or another character that "
         "is no part of it");
  begin(METADATA, NULL, 0);
  setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", large, 1);
  failed("...managed identity: AZURE_POD_IDENTITY_AUTHORITY_HOST is too long");
  BEGIN(METADATA, S3L_SCRIPT(S3L_EXPECT("x")));
  static char client[2000];
  memset(client, 'x', sizeof(client) - 1);
  setenv("AZURE_CLIENT_ID", client, 1);
  rig.cut_short = true; /* nothing is sent */
  failed("...managed identity: what there is to be sent to 127.0.0.1:...");
}

static void secrets_go_only_where_they_may(void** state) {
  static const char* const variables[] = {"AZURE_AUTHORITY_HOST", "AZURE_AUTHORITY_HOST",
                                          "IDENTITY_ENDPOINT", "AZURE_POD_IDENTITY_AUTHORITY_HOST"};
  for (unsigned i = 0; i < 4; i++) {
    begin(i, NULL, 0);
    setenv(variables[i], "http://10.1.2.3", 1);
    failed("...: http://10.1.2.3: plain http is only for loopback and for the metadata addresses "
           "of clouds; use https");
    begin(i, NULL, 0);
    setenv(variables[i], "http://metadata.google.internal", 1);
    failed("...plain http is only for...");
    if (i == APP)
      continue;
    begin(i, NULL, 0);
    setenv(variables[i], "http://169.254.129.2:8081", 1);
    failed("...plain http is only for...");
  }
}

/* App Service has its own addresses on the link. */
static void link_local_is_for_app_service(void** state) {
  begin(APP, NULL, 0);
  setenv("IDENTITY_ENDPOINT", "http://169.254.129.2:8081/msi/token", 1);
  s3l_creds_rig_configure(&rig, NULL, 0);
  rig.settings.retry_delay_ms = 60000;
  s3l_creds_rig_open(&rig);
  s3l_creds_rig_ask(&rig);
  for (int i = 0; i < 3; i++)
    uv_run(&rig.loop, UV_RUN_NOWAIT);
  assert_int_equal(rig.done, 0); /* it would have been refused by now */
  s3l_creds_rig_end(&rig);
}

/* ---- Another attempt ---- */

static void waits_while_imds_is_updated(void** state) {
  BEGIN(METADATA,
        S3L_SCRIPT(IMDS, S3L_SEND(S3L_ANSWER("404 Not Found", "")), IMDS,
                   S3L_SEND(S3L_ANSWER("410 Gone", "")), IMDS,
                   S3L_SEND(S3L_ANSWER("429 Too Many Requests", "{\"error\":\"slow down\"}")), IMDS,
                   S3L_SEND(S3L_ANSWER("500 Oops", "")), IMDS, S3L_SEND(S3L_ANSWER("503 Oops", "")),
                   IMDS, STRINGS("T1")));
  got("T1", 86399000);
  /* but not for ever. */
  const s3l_step_t gone[] = {IMDS, S3L_SEND(S3L_ANSWER("410 Gone", "")), S3L_CLOSE, S3L_SCRIPT_END};
  BEGIN(METADATA, gone);
  open_chain();
  s3l_creds_rig_fails(&rig, "...managed identity: 127.0.0.1:...");
  assert_non_null(strstr(rig.why, " answered 410"));
  assert_int_equal(rig.server.accepted, 6);
  s3l_creds_rig_end(&rig);
}

static void a_machine_without_an_identity(void** state) {
  char says[256];
  BEGIN(METADATA,
        S3L_SCRIPT(IMDS, S3L_SEND(S3L_ANSWER("400 Bad Request",
                                             "{\"error\":\"invalid_request\","
                                             "\"error_description\":\"Identity not found\"}"))));
  open_chain();
  snprintf(says, sizeof(says),
           "environment: AZURE_CLIENT_SECRET is not set; workload identity: "
           "AZURE_FEDERATED_TOKEN_FILE is not set; managed identity: 127.0.0.1:%u answered 400: "
           "invalid_request: Identity not found",
           (unsigned)rig.server.port);
  s3l_creds_rig_failed(&rig, says);
  assert_int_equal(rig.server.strays, 0);
}

/* A laptop: one attempt is enough. */
static void a_machine_that_is_not_of_azure(void** state) {
  const s3l_step_t none[] = {IMDS, S3L_RESET, S3L_SCRIPT_END};
  BEGIN(METADATA, none);
  failed("...(not a machine of Azure, or one that blocks its metadata service)");
  assert_int_equal(rig.server.accepted, 1);
}

/* The service of a container may start later than the container. */
static void app_service_and_entra_are_asked_again(void** state) {
  const s3l_step_t token[] = {APP_SERVICE, TOKEN("T1"), S3L_SCRIPT_END};
  BEGIN(APP, S3L_SCRIPT(APP_SERVICE, S3L_RESET),
        S3L_SCRIPT(APP_SERVICE, S3L_SEND(S3L_ANSWER("500 Oops", "")), S3L_CLOSE), token);
  got("T1", 3599000);
  const s3l_step_t busy[] = {WITH_SECRET, S3L_SEND(S3L_ANSWER("503 Busy", "<html>")), S3L_CLOSE,
                             S3L_SCRIPT_END};
  BEGIN(ENVIRONMENT, busy);
  failed("environment: 127.0.0.1:...");
  assert_int_equal(rig.server.accepted, 3);
}

/* ---- The cache over it ---- */

static unsigned waited, asked_again, closed;

static void on_wait(s3l_creds_wait_t* wait, int status, const char* why) {
  assert_int_equal(status, 0);
  waited++;
}

static void on_second_request(s3l_script_server_t* server) {
  s3l_wait_pace(S3L_PACE_REAL);
  asked_again++;
}

static void on_closed(void* arg) {
  closed++;
}

static bool has_second(void* cache) {
  const s3lect_credentials_t* creds = s3l_creds_cache_get(cache);
  assert_non_null(creds); /* the first serves until the second comes */
  return strcmp(creds->session_token, "T2") == 0;
}

/* While nobody asks for it. */
static void a_token_is_replaced_before_its_end(void** state) {
  s3l_creds_cache_options_t options = s3l_creds_cache_defaults;
  s3l_creds_user_t user = {.waited = on_wait};
  s3l_creds_wait_t wait = {0};
  waited = asked_again = closed = 0;
  BEGIN(WORKLOAD,
        S3L_SCRIPT(WITH_FILE("jwt.one"),
                   S3L_SEND(S3L_OK("{\"access_token\":\"T1\",\"expires_in\":40}"))),
        S3L_SCRIPT(WITH_FILE("jwt.two"), S3L_CALL, TOKEN("T2")));
  rig.server.on_call = on_second_request;
  s3l_creds_rig_configure(&rig, NULL, 0);
  options.wall_ms = rig.settings.wall_ms;
  s3l_creds_rig_open(&rig);
  assert_int_equal(s3l_creds_cache_open(rig.chain, true, &options, &user.cache), 0);
  rig.chain = NULL; /* the cache has it */
  assert_int_equal(s3l_creds_wait(&user, &wait, S3L_CLOCK_NEVER), 0);
  s3l_wait_count(&rig.loop, &waited, 1, "a token");
  assert_string_equal(s3l_creds_cache_get(user.cache)->session_token, "T1");
  s3l_creds_rig_file(&rig, "token", "jwt.two");
  s3l_wait_pace(S3L_PACE_SOCKETS);
  s3l_wait_count(&rig.loop, &asked_again, 1, "the service to be asked again");
  s3l_wait(&rig.loop, has_second, user.cache, "the second token");
  s3l_creds_cache_close(user.cache, on_closed, NULL);
  s3l_wait_count(&rig.loop, &closed, 1, "the cache to be closed");
  s3l_creds_rig_end(&rig);
}

/* ---- Without memory ---- */

static bool run_without_memory(size_t at, bool on) {
  s3lect_credentials_chain_options_t o;
  BEGIN(WORKLOAD, S3L_SCRIPT(WITH_FILE("jwt.one"), TOKEN("T1")));
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  s3l_heap_install();
  s3l_heap_fail_at(at, on);
  int err = rig.kind->configure(&rig.settings, &o, NULL);
  rig.settings.retry_delay_ms = 1;
  if (err == 0)
    err = s3l_chain_provider(&rig.loop, rig.kind, &rig.settings, &rig.chain);
  if (err == 0)
    err = s3l_creds_rig_try(&rig);
  if (err == 0) {
    s3l_creds_rig_wait(&rig);
    err = rig.status;
  }
  bool failed_once = s3l_heap_fail_end();
  assert_true(err == 0 || err == UV_ENOMEM || err == S3LECT_ECREDENTIALS);
  assert_true(failed_once || err == 0);
  rig.cut_short = true;
  s3l_creds_rig_end(&rig);
  s3l_heap_remove();
  return failed_once;
}

static void survives_without_memory(void** state) {
  for (int on = 0; on < 2; on++) {
    size_t n = 0;
    while (run_without_memory(n, on == 1))
      n++;
    assert_true(n >= 8); /* variables, chain, file, client, token */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_client_secret),
      cmocka_unit_test(a_federated_token),
      cmocka_unit_test(an_app_service),
      cmocka_unit_test(a_machine),
      cmocka_unit_test(another_authority),
      cmocka_unit_test(asks_in_the_order_of_the_sdks),
      cmocka_unit_test(an_empty_variable_is_none),
      cmocka_unit_test(one_source_can_be_selected),
      cmocka_unit_test(a_failure_ends_the_search),
      cmocka_unit_test(half_a_configuration_is_named),
      cmocka_unit_test(no_value_changes_the_request),
      cmocka_unit_test(secrets_go_only_where_they_may),
      cmocka_unit_test(link_local_is_for_app_service),
      cmocka_unit_test(waits_while_imds_is_updated),
      cmocka_unit_test(a_machine_without_an_identity),
      cmocka_unit_test(a_machine_that_is_not_of_azure),
      cmocka_unit_test(app_service_and_entra_are_asked_again),
      cmocka_unit_test(a_token_is_replaced_before_its_end),
      cmocka_unit_test(survives_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
