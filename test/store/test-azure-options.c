/* store/azure/options: what options, connection strings and environment come to, and what is said
 * about bad ones. No message shows a key or a signature. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "s3lect/store_azure.h"
#include "store/azure/options.h"

#define KEY "aGlkZGVuIGtleQ=="
#define SAS "sv=2023-11-03&sig=hidden-signature"

static s3l_azure_config_t config;
static s3lect_error_t error;

static s3lect_store_azure_options_t plain(void) {
  static const char* const names[] = {"AZURE_STORAGE_CONNECTION_STRING",
                                      "AZURE_STORAGE_ACCOUNT",
                                      "AZURE_STORAGE_KEY",
                                      "AZURE_STORAGE_SAS_TOKEN",
                                      "https_proxy",
                                      "HTTPS_PROXY",
                                      "http_proxy"};
  s3lect_store_azure_options_t o;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    unsetenv(names[i]);
  s3lect_store_azure_options_init(&o, sizeof(o));
  o.container = "locks";
  return o;
}

static s3lect_store_azure_options_t good(void) {
  s3lect_store_azure_options_t o = plain();
  o.account = "acct";
  o.account_key = KEY;
  return o;
}

static void goes_to(const s3lect_store_azure_options_t* o, const char* host, unsigned port,
                    const char* path) {
  if (s3l_azure_configure(o, &config, &error) != 0)
    fail_msg("%s", error.text);
  assert_string_equal(config.remote.host_header, host);
  assert_int_equal(config.remote.http.port, port);
  assert_string_equal(config.path, path);
}

static void refused(const s3lect_store_azure_options_t* o, const char* text) {
  s3lect_error_t e;
  int err = s3lect_store_azure_options_check(o, &e);
  assert_true(err < 0);
  if (strstr(e.text, text) == NULL)
    fail_msg("\"%s\" is not \"%s\"", e.text, text);
  assert_null(strstr(e.text, "hidden"));
  assert_null(strstr(e.text, KEY));
  s3lect_store_t store;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_azure_init(&loop, &store, o, NULL), err);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void finds_the_endpoint(void** state) {
  s3lect_store_azure_options_t o = good();
  goes_to(&o, "acct.blob.core.windows.net", 443, "locks");
  assert_true(config.remote.http.tls);
  o.endpoint = "https://acct.blob.core.chinacloudapi.cn/";
  goes_to(&o, "acct.blob.core.chinacloudapi.cn", 443, "locks");
  o.endpoint = "http://127.0.0.1:10000";
  goes_to(&o, "127.0.0.1:10000", 10000, "acct/locks");
  o.endpoint = "http://localhost:10000/acct/";
  goes_to(&o, "localhost:10000", 10000, "acct/locks");
  o.endpoint = "http://[::1]:10000";
  goes_to(&o, "[::1]:10000", 10000, "acct/locks");
  o.endpoint = "https://gateway.example/blobs/acct";
  goes_to(&o, "gateway.example", 443, "blobs/acct/locks");
  o.endpoint = "http://azurite:10000"; /* an account key is not sent, so plain http is possible */
  goes_to(&o, "azurite:10000", 10000, "locks");
}

static void reads_connection_strings(void** state) {
  s3lect_store_azure_options_t o = plain();
  o.connection_string = "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" KEY
                        ";EndpointSuffix=core.usgovcloudapi.net";
  goes_to(&o, "acct.blob.core.usgovcloudapi.net", 443, "locks");
  assert_string_equal(config.key, KEY);
  assert_string_equal(config.account, "acct");
  o.connection_string = "BlobEndpoint=https://acct.blob.core.windows.net/;AccountName=acct;"
                        "SharedAccessSignature=?" SAS ";QueueEndpoint=https://x/;";
  goes_to(&o, "acct.blob.core.windows.net", 443, "locks");
  assert_string_equal(config.sas, SAS);
  assert_string_equal(config.key, "");
  o.connection_string = " usedevelopmentstorage = TRUE ";
  goes_to(&o, "127.0.0.1:10000", 10000, "devstoreaccount1/locks");
  assert_string_equal(config.account, "devstoreaccount1");
  o.endpoint = "http://127.0.0.1:9"; /* the option wins */
  goes_to(&o, "127.0.0.1:9", 9, "devstoreaccount1/locks");
}

static void reads_the_environment(void** state) {
  s3lect_store_azure_options_t o = plain();
  setenv("AZURE_STORAGE_ACCOUNT", "acct", 1);
  setenv("AZURE_STORAGE_SAS_TOKEN", SAS, 1);
  goes_to(&o, "acct.blob.core.windows.net", 443, "locks");
  assert_string_equal(config.sas, SAS);
  setenv("AZURE_STORAGE_KEY", KEY, 1);
  goes_to(&o, "acct.blob.core.windows.net", 443, "locks");
  assert_string_equal(config.key, KEY);
  setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true", 1);
  goes_to(&o, "127.0.0.1:10000", 10000, "devstoreaccount1/locks");
  o.account_key = "b3RoZXI="; /* an option goes before all variables but the account's */
  goes_to(&o, "acct.blob.core.windows.net", 443, "locks");
  assert_string_equal(config.key, "b3RoZXI=");
  o.account = "other";
  goes_to(&o, "other.blob.core.windows.net", 443, "locks");
}

static void refuses_bad_options(void** state) {
  s3lect_store_azure_options_t o = plain();
  refused(&o, "account: not set; name the storage account");
  o = good();
  o.container = NULL;
  refused(&o, "container: not set");
  o.container = "UPPER";
  refused(&o, "container \"UPPER\": not a container's name");
  o = good();
  o.account = "no-account";
  refused(&o, "account: not an account's name");
  o = good();
  o.account_key = "hidden, but no base64";
  refused(&o, "account_key: not an account key, which is base64");
  o = good();
  o.sas_token = SAS;
  refused(&o, "account_key: give one only of");
  o = good();
  o.account_key = NULL;
  o.sas_token = "hidden";
  refused(&o, "sas_token: not a shared access signature");
  o.sas_token = "sig=hidden#";
  refused(&o, "sas_token: not a shared access signature");
  o = good();
  o.endpoint = "ftp://x";
  refused(&o, "endpoint \"ftp://x\": ");
  o.endpoint = "https://x/?sig=hidden";
  refused(&o, "endpoint: must not have a query");
  o.endpoint = "https://x/?sig=hidden ";
  refused(&o, "endpoint: must not contain blanks");
  o.endpoint = "https://user:hidden@x";
  refused(&o, "endpoint: must not contain user information");
  o = good();
  o.max_connections = 2000;
  refused(&o, "max_connections: at most 1024");
  o = good();
  o.ca_file = "/nonexistent/ca.pem";
  refused(&o, "ca_file \"/nonexistent/ca.pem\": cannot be read");
}

/* A signature and a token are secrets that would be read on the way. */
static void keeps_secrets_from_plain_http(void** state) {
  s3lect_credentials_provider_t provider;
  uv_loop_t loop;
  s3lect_store_azure_options_t o = good();
  o.account_key = NULL;
  o.sas_token = SAS;
  o.endpoint = "http://azurite:10000";
  refused(&o, "endpoint: must begin with https://");
  o.endpoint = "http://127.0.0.1:10000";
  goes_to(&o, "127.0.0.1:10000", 10000, "acct/locks");
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_credentials_static_init(&loop, &provider, NULL, NULL, "token", NULL), 0);
  o.sas_token = NULL;
  o.credentials = &provider;
  o.endpoint = "http://azurite:10000";
  refused(&o, "endpoint: must begin with https://");
  s3lect_credentials_close(&provider, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void refuses_contradictions(void** state) {
  s3lect_store_azure_options_t o = plain();
  o.account = "acct";
  setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=other;AccountKey=" KEY, 1);
  refused(&o, "AZURE_STORAGE_CONNECTION_STRING: is of the account other, not of acct");
  setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=other AccountKey=" KEY, 1);
  refused(&o, "AZURE_STORAGE_CONNECTION_STRING: not an account's name"); /* a ';' is missing */
  o = plain();
  o.account = "acct";
  setenv("AZURE_STORAGE_ACCOUNT", "other", 1);
  setenv("AZURE_STORAGE_KEY", KEY, 1);
  refused(&o, "AZURE_STORAGE_KEY: belongs to AZURE_STORAGE_ACCOUNT");
  o = plain();
  o.connection_string = "AccountName=acct;hidden";
  refused(&o, "connection_string: must be NAME=VALUE pairs");
  o.connection_string = "AccountName=acct";
  refused(&o, "connection_string: has neither AccountKey nor SharedAccessSignature");
  o.connection_string = "AccountName=acct;AccountKey=hidden key";
  refused(&o, "connection_string: not an account key");
  o.connection_string = "UseDevelopmentStorage=1";
  refused(&o, "connection_string: UseDevelopmentStorage must be true");
}

static void knows_sizes(void** state) {
  struct {
    s3lect_store_azure_options_t o;
    int64_t newer;
  } big = {.o = good()};
  big.o.size = sizeof(big);
  assert_int_equal(s3lect_store_azure_options_check(&big.o, NULL), 0);
  big.newer = 1;
  assert_int_equal(s3lect_store_azure_options_check(&big.o, NULL), UV_ENOTSUP);
  big.o.size = 7;
  assert_int_equal(s3lect_store_azure_options_check(&big.o, NULL), UV_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_endpoint),
      cmocka_unit_test(reads_connection_strings),
      cmocka_unit_test(reads_the_environment),
      cmocka_unit_test(refuses_bad_options),
      cmocka_unit_test(refuses_contradictions),
      cmocka_unit_test(keeps_secrets_from_plain_http),
      cmocka_unit_test(knows_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
