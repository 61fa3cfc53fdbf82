/* Stores that differ from AWS, and rules: which requests they take, how often, and together. */

#include <stdio.h>
#include <string.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"

#define OLD  "\"149603e6c03516362a8da23f624db945\""
#define BARE "149603e6c03516362a8da23f624db945"

static int open_rig(void** state) {
  s3l_fakes3_open(
      &(fakes3_options_t){.keys = {{"test", "testtest", NULL}, {"other", "secret", NULL}}});
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "old"), 200);
  return 0;
}

static int swap(const char* etag) {
  return S3L_DO(.op = S3L_S3_PUT, .key = "k", .if_match = etag, .body = "new");
}

static void takes_only_bare_etags(void** state) {
  s3l_fakes3_fault("{\"bare_only\":true}");
  assert_int_equal(swap(OLD), 412);
  assert_int_equal(swap("0"), 412);
  assert_int_equal(swap(BARE), 200);
}

static void takes_no_if_match(void** state) {
  s3l_fakes3_fault("{\"no_if_match\":true}");
  assert_int_equal(swap(OLD), 501);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "absent", .if_none_match = "*", .body = "x"),
                   200);
}

static void ignores_conditions(void** state) {
  s3l_fakes3_fault("{\"ignore_conditions\":true}");
  assert_int_equal(swap("\"0\""), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .if_none_match = "*", .body = "n"), 200);
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(rig.reply.body, "n");
}

static void lists_without_end(void** state) {
  s3l_fakes3_fault("{\"endless_lists\":true}");
  for (int page = 0; page < 2; page++) {
    assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "", .after = page > 0 ? "k" : NULL), 200);
    assert_string_equal(s3l_raw_tag("Key"), "k");
    assert_string_equal(s3l_raw_tag("IsTruncated"), "true");
  }
}

static void lists_less_or_more(void** state) {
  int id = s3l_fakes3_fault("{\"empty_lists\":true}");
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "k"), 200);
  assert_null(s3l_raw_tag("Key"));
  fakes3_fault_clear(rig.server, id);
  s3l_fakes3_fault("{\"foreign_lists\":true}");
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "other/"), 200);
  assert_string_equal(s3l_raw_tag("Key"), "k");
}

static void normalises_keys(void** state) {
  s3l_fakes3_fault("{\"normalise_keys\":true}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "/a//./b/", .body = "x"), 200);
  assert_int_equal(S3L_DO(.key = "a/b/"), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "/a"), 200);
  assert_null(s3l_raw_tag("Key"));
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "a"), 200);
  assert_string_equal(s3l_raw_tag("Key"), "a/b/");
  assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "./a/b/"), 204);
  assert_int_equal(S3L_DO(.key = "a/b/"), 404);
}

static void bends_etags(void** state) {
  s3l_fakes3_fault("{\"no_etag\":true}");
  assert_int_equal(swap(OLD), 200);
  assert_null(s3l_raw_header("ETag"));
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"weak_etag\":true}");
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(s3l_raw_header("ETag"), "W/\"22af645d1859cb5ca6da0c484f1f37ea\"");
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"constant_etag\":true}");
  char first[64];
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "1"), 200);
  strncpy(first, s3l_raw_header("ETag"), sizeof(first) - 1);
  first[sizeof(first) - 1] = '\0';
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "2"), 200);
  assert_string_equal(s3l_raw_header("ETag"), first);
  assert_int_equal(swap(first), 200);
}

/* Two creates at once: both find nothing, both are told that they won. */
static void is_not_atomic(void** state) {
  static s3l_raw_t raws[2];
  for (int atomic = 0; atomic < 2; atomic++) {
    int won = 0;
    fakes3_reset(rig.server);
    fakes3_fault_clear(rig.server, 0);
    s3l_fakes3_fault(atomic ? "{\"latency_ms\":30}" : "{\"non_atomic\":30}");
    for (int i = 0; i < 2; i++)
      assert_int_equal(s3l_raw_connect(&raws[i]), 0);
    for (int i = 0; i < 2; i++) { /* both are sent before the loop runs again */
      S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .if_none_match = "*", .body = "x");
      s3l_raw_send(&raws[i], rig.bytes, rig.bytes_n);
    }
    for (int i = 0; i < 2; i++) {
      won += s3l_raw_reply(&raws[i], false) == 200 ? 1 : 0;
      s3l_raw_close(&raws[i]);
    }
    assert_int_equal(won, atomic ? 1 : 2);
  }
}

static void reads_stale(void** state) {
  int rule = s3l_fakes3_fault("{\"stale_reads\":600000,\"match\":{\"method\":\"GET\"}}");
  assert_int_equal(swap(OLD), 200);
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(rig.reply.body, "old");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "fresh", .if_none_match = "*", .body = "x"),
                   200);
  assert_int_equal(S3L_DO(.key = "fresh"), 404);
  assert_true(fakes3_fault_clear(rig.server, rule));
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(rig.reply.body, "new");
  s3l_fakes3_fault("{\"stale_reads\":0}");
  assert_int_equal(S3L_DO(.key = "fresh"), 200);
}

/* ---- Rules ---- */

static void counts_and_skips(void** state) {
  static const int expected[] = {200, 500, 500, 200, 200};
  s3l_fakes3_fault("{\"status\":500,\"skip\":1,\"count\":2}");
  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
    assert_int_equal(S3L_DO(.key = "k"), expected[i]);
}

static void matches(void** state) {
  static const struct {
    const char* match;
    s3l_fakes3_request_t hit;
    s3l_fakes3_request_t miss;
  } rows[] = {
      {"{\"method\":\"PUT\"}", {.op = S3L_S3_PUT, .key = "k"}, {.key = "k"}},
      {"{\"method\":\"LIST\"}", {.op = S3L_S3_LIST}, {.key = "k"}},
      {"{\"method\":\"GET\"}", {.op = S3L_S3_LIST}, {.op = S3L_S3_HEAD, .key = "k"}},
      {"{\"bucket\":\"bucket\"}", {.key = "k"}, {.bucket = "bucket2", .key = "k"}},
      {"{\"key\":\"ke\"}", {.key = "key"}, {.key = "k"}},
      {"{\"condition\":\"if-match\"}",
       {.op = S3L_S3_PUT, .key = "k", .if_match = "\"0\""},
       {.op = S3L_S3_PUT, .key = "k", .if_none_match = "*"}},
      {"{\"condition\":\"if-none-match\"}",
       {.op = S3L_S3_PUT, .key = "k", .if_none_match = "*"},
       {.op = S3L_S3_PUT, .key = "k", .if_match = "\"0\""}},
      {"{\"condition\":\"any\"}", {.key = "k", .if_none_match = OLD}, {.key = "k"}},
      {"{\"condition\":\"none\"}", {.key = "k"}, {.key = "k", .if_none_match = OLD}},
      {"{\"access_key\":\"other\"}",
       {.key = "k", .access_key = "other", .secret = "secret"},
       {.key = "k"}},
      {"{\"header\":{\"name\":\"User-Agent\",\"value\":\"node-1\"}}",
       {.key = "k", .user_agent = "s3lect/1 node-1"},
       {.key = "k", .user_agent = "s3lect/1 node-2"}},
      {"{\"connection\":1}", {.key = "k"}, {.key = NULL}},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char rule[256];
    snprintf(rule, sizeof(rule), "{\"status\":599,\"match\":%s}", rows[i].match);
    int id = s3l_fakes3_fault(rule);
    if (s3l_fakes3_do(&rows[i].hit) != 599)
      fail_msg("%s does not match", rows[i].match);
    if (rows[i].miss.key != NULL && s3l_fakes3_do(&rows[i].miss) == 599)
      fail_msg("%s matches too much", rows[i].match);
    assert_true(fakes3_fault_clear(rig.server, id));
  }
  s3l_fakes3_fault("{\"status\":599,\"match\":{\"connection\":1000}}");
  assert_int_equal(S3L_DO(.key = "k"), 200);
}

/* One rule per slot is applied; rules of different slots go together. */
static void combines(void** state) {
  s3l_fakes3_fault("{\"status\":500,\"count\":1}");
  s3l_fakes3_fault("{\"status\":503}");
  s3l_fakes3_fault("{\"chunked\":true}");
  s3l_fakes3_fault("{\"latency_ms\":1}");
  assert_int_equal(S3L_DO(.key = "k"), 500);
  assert_string_equal(s3l_fakes3_last()->fault, "status,chunked,latency_ms");
  assert_non_null(s3l_raw_header("Transfer-Encoding"));
  assert_int_equal(S3L_DO(.key = "k"), 503);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, s3l_close_rig)
  const struct CMUnitTest tests[] = {
      TEST(takes_only_bare_etags),
      TEST(takes_no_if_match),
      TEST(ignores_conditions),
      TEST(lists_without_end),
      TEST(lists_less_or_more),
      TEST(normalises_keys),
      TEST(bends_etags),
      TEST(is_not_atomic),
      TEST(reads_stale),
      TEST(counts_and_skips),
      TEST(matches),
      TEST(combines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
