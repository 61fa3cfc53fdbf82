/* The suite on the fake Azure and Google stores with rules that make them another store, with which
 * the library must cope as well: pages of one object, 412 for a create that lost, long ETags,
 * chunked replies. */
#include <stdio.h>
#include <string.h>

#include "lib/any_store.h"
#include "lib/fakes3_store.h"
#include "lib/test.h"

static const char* rule;

static int open_with_rule(void** state) {
  char why[256] = "";
  start_server(&(fakes3_options_t){.protocol = s3l_any_store()});
  if (fakes3_fault(server, rule, why, sizeof(why)) <= 0)
    fail_msg("%s: %s", rule, why);
  s3l_any_store_open(&loop, &store,
                     &(s3l_any_store_options_t){.url = fakes3_url(server), .bucket = "bucket"});
  use_store();
  suite.fresh_etags = true;
  *state = &suite;
  return 0;
}

/* Three objects, in pages of one where two were asked for. */
static void follows_short_pages(void** state) {
  static s3l_suite_req_t r;
  static char after[256];
  unsigned found = 0;
  for (char name[] = "list/1"; name[5] <= '3'; name[5]++)
    assert_int_equal(s3l_suite_put(&suite, &r, name, S3LECT_ALWAYS, NULL, "x")->status, 0);
  s3l_suite_prepare(&suite, &r, "list/");
  r.req.max_keys = 2;
  do {
    assert_int_equal(s3l_suite_do(&r, s3lect_store_list)->status, 0);
    assert_true(r.keys_len >= 1);
    for (size_t i = 0; i < r.keys_len; i++)
      assert_int_equal(r.keys[i][strlen(r.keys[i]) - 1], '1' + (int)found++);
    snprintf(after, sizeof(after), "%s", r.keys[r.keys_len - 1]);
    r.req.after = after;
    assert_true(found <= 3);
  } while (r.result.truncated);
  assert_int_equal(found, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {S3L_STORE_SUITE_TESTS};
  static const char* const stores[] = {"azure", "gcs"};
  const struct CMUnitTest of_pages[] = {
      cmocka_unit_test_setup_teardown(follows_short_pages, open_with_rule, end_suite)};
  static const char* const rules[] = {"{\"create_412\":true}", "{\"long_etag\":true}",
                                      "{\"chunked\":true}"};
  int failed = 0;
  for (size_t i = 0; i < 2; i++) {
    s3l_any_store_choose(stores[i]);
    rule = "{\"short_lists\":true}";
    failed += cmocka_run_group_tests_name(stores[i], of_pages, NULL, NULL);
    for (size_t k = 0; k < sizeof(rules) / sizeof(rules[0]); k++) {
      rule = rules[k];
      print_message("%s %s\n", stores[i], rule);
      failed += cmocka_run_group_tests_name(stores[i], tests, open_with_rule, end_suite);
    }
  }
  return failed;
}
