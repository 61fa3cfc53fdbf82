/* The suite on a real Azure Blob Storage, or on Azurite: S3LECT_TEST_STORE is
 * az://ACCOUNT/CONTAINER, and the other settings are the variables of Azure's tools.
 *
 * ctest labels: packaged */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store_suite.h"
#include "lib/test.h"
#include "s3lect/store_azure.h"

static uv_loop_t loop;
static s3lect_store_t store;
static s3l_store_suite_t suite;
static char account[64], container[64];

static int open_store(void** state) {
  s3lect_store_azure_options_t options;
  s3lect_error_t error;
  s3lect_store_azure_options_init(&options, sizeof(options));
  options.account = account;
  options.container = container;
  assert_int_equal(uv_loop_init(&loop), 0);
  if (s3lect_store_azure_init(&loop, &store, &options, &error) != 0)
    fail_msg("%s", error.text);
  suite = (s3l_store_suite_t){.loop = &loop,
                              .store = &store,
                              .timeout_ms = 30000,
                              .fresh_etags = true,
                              .guarded_deletes = true};
  s3l_suite_prefix(&suite);
  *state = &suite;
  return 0;
}

static int close_store(void** state) {
  s3l_suite_clean(*state);
  s3lect_store_close(&store, NULL);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {S3L_STORE_SUITE_TESTS};
  const char* url = getenv("S3LECT_TEST_STORE");
  if (url == NULL || sscanf(url, "az://%63[^/]/%63[^/]", account, container) != 2) {
    puts("skipped: S3LECT_TEST_STORE names no container (az://ACCOUNT/CONTAINER) of a real store");
    return 77;
  }
  return cmocka_run_group_tests(tests, open_store, close_store);
}
