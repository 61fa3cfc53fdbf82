/* The suite on the fake Azure Blob Storage, and the mistakes of a set-up that only a store which
 * checks signatures finds. */
#include <stdlib.h>

#include "lib/fakes3_store.h"
#include "lib/test.h"
#include "s3lect/store_azure.h"

static s3l_suite_req_t r;
static s3lect_credentials_provider_t providers[2];

static s3lect_store_azure_options_t azure_options(void) {
  s3lect_store_azure_options_t o;
  s3lect_store_azure_options_init(&o, sizeof(o));
  o.account = FAKES3_ACCOUNT;
  o.account_key = FAKES3_ACCOUNT_KEY;
  o.container = "container";
  o.endpoint = fakes3_url(server);
  return o;
}

static void open_azure(const s3lect_store_azure_options_t* o) {
  s3lect_error_t error;
  if (s3lect_store_azure_options_check(o, &error) != 0 ||
      s3lect_store_azure_init(&loop, &store, o, &error) != 0)
    fail_msg("%s", error.text);
  use_store();
  suite.fresh_etags = true;
}

static int open_all(void** state) {
  start_server(&(fakes3_options_t){.protocol = "azure"});
  s3lect_store_azure_options_t o = azure_options();
  open_azure(&o);
  *state = &suite;
  return 0;
}

/* What becomes of requests with these options. */
static void both_end(const s3lect_store_azure_options_t* o, int status, const char* says) {
  open_azure(o);
  both_refused(status, says);
}

static void names_mistakes(void** state) {
  start_server(&(fakes3_options_t){.protocol = "azure", .buckets = "container"});
  s3lect_store_azure_options_t o = azure_options();
  o.account_key = "d3Jvbmc=";
  both_end(&o, S3LECT_ESIGNATURE, "403 AuthenticationFailed: ");
  o = azure_options();
  o.account = "nobody";
  both_end(&o, S3LECT_ESIGNATURE, "403 AuthenticationFailed: ");
  o = azure_options();
  o.container = "other";
  both_end(&o, S3LECT_ENOBUCKET, "404 ContainerNotFound: The specified container does not exist");
  o = azure_options();
  o.account_key = NULL;
  o.sas_token = "?sv=2023-11-03&ss=b&srt=co&sp=rl&se=2020-01-01T00:00:00Z&sig=AAAA";
  both_end(&o, S3LECT_ESIGNATURE, "403 AuthenticationFailed: ");
  stop_server();
}

/* A token that the caller's provider gives, and one that the store does not know. */
static void sends_tokens(void** state) {
  static const char* const tokens[] = {"of.the.application", "of.nobody"};
  start_server(&(fakes3_options_t){.protocol = "azure",
                                   .keys = {{"application", "", "of.the.application"}}});
  for (int i = 0; i < 2; i++) {
    s3lect_store_azure_options_t o = azure_options();
    assert_int_equal(
        s3lect_credentials_static_init(&loop, &providers[i], NULL, NULL, tokens[i], NULL), 0);
    o.account_key = NULL;
    o.credentials = &providers[i];
    if (i == 0) {
      open_azure(&o);
      assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
      assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->status, 0);
      close_store();
    } else {
      both_end(&o, S3LECT_ESIGNATURE, "InvalidAuthenticationInfo");
    }
    s3lect_credentials_close(&providers[i], NULL);
  }
  stop_server();
}

int main(void) {
  const struct CMUnitTest suite_tests[] = {S3L_STORE_SUITE_TESTS};
  const struct CMUnitTest tests[] = {cmocka_unit_test(names_mistakes),
                                     cmocka_unit_test(sends_tokens)};
  unsetenv("AZURE_STORAGE_CONNECTION_STRING");
  int failed = cmocka_run_group_tests(suite_tests, open_all, end_suite);
  return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
