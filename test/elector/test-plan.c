/* s3lect_elector_plan and s3lect_plan_policy: advice, prices and permissions of every store, and
 * bad input. test/sim/test-plan.c compares the times and requests with elections. */
#include <stdio.h>
#include <string.h>

#include "lib/heap.h"
#include "lib/test.h"
#include "s3lect.h"

static s3lect_advice_t advice[S3LECT_ADVICE_MAX];

static void has(const char* text, const char* part) {
  if (strstr(text, part) == NULL)
    fail_msg("%s\nlacks %s", text, part);
}

static s3lect_elector_options_t some_elector(void) {
  s3lect_elector_options_t o;
  s3lect_elector_options_init(&o, sizeof o);
  o.lockfile_path = "locks/db";
  return o;
}

static s3lect_plan_options_t some_plan(s3lect_plan_store_t store) {
  s3lect_plan_options_t o;
  s3lect_plan_options_init(&o, sizeof o);
  o.store = (int32_t)store;
  o.bucket = "bucket";
  return o;
}

static s3lect_plan_t plan(const s3lect_elector_options_t* elector,
                          const s3lect_plan_options_t* options) {
  s3lect_plan_t p = {.size = sizeof p, .advice = advice, .advice_max = S3LECT_ADVICE_MAX};
  s3lect_error_t error;
  if (s3lect_elector_plan(elector, options, &p, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(error.code, 0);
  assert_true(p.advice_len <= S3LECT_ADVICE_MAX);
  for (uint32_t i = 0; i < p.advice_len; i++) {
    assert_memory_equal(advice[i].text, advice[i].option, strlen(advice[i].option));
    assert_int_equal(advice[i].is_unsafe, advice[i].code < S3LECT_ADVICE_WASTEFUL);
    assert_true(strlen(advice[i].text) < sizeof advice[i].text - 1); /* not cut */
  }
  return p;
}

/* Without a store, a peer client or an ID, and without memory. */
static void test_defaults(void** state) {
  s3lect_elector_options_t o = some_elector();
  s3lect_plan_options_t options = some_plan(S3LECT_PLAN_S3);
  s3l_heap_install();
  s3lect_plan_t p = plan(&o, &options);
  assert_int_equal(s3l_heap_count(), 0);
  s3l_heap_remove();
  assert_int_equal(p.crash.worst_ms, 21100);
  assert_int_equal(p.lost_machine.worst_ms, 21100);
  assert_int_equal(p.hand_over.worst_ms, 5950);
  assert_int_equal(p.first_start.worst_ms, 17100);
  assert_true(p.crash.mean_ms < p.crash.worst_ms && p.crash.mean_ms > 10000);
  assert_int_equal(p.leader.puts, 576000);
  assert_int_equal(p.leader.lists + p.leader.gets, 0);
  assert_int_equal(p.follower.gets, 576000);
  assert_int_equal(p.connections, 0);
  assert_int_equal(p.advice_len, 0);
}

static void test_prices(void** state) {
  static const struct {
    s3lect_plan_store_t store;
    const char *bucket, *source;
    unsigned leader, follower; /* cents */
  } rows[] = {
      {S3LECT_PLAN_S3, NULL, "AWS S3 Standard, us-east-1, ", 288, 23},
      {S3LECT_PLAN_S3, "locks--usw2-az1--x-s3", "AWS S3 Express One Zone, us-east-1, ", 65, 2},
      {S3LECT_PLAN_AZURE, "locks--x-s3", "Azure Blob Storage, hot LRS, ", 288, 23},
      {S3LECT_PLAN_GCS, NULL, "Google Cloud Storage Standard, ", 288, 23},
  };
  s3lect_elector_options_t o = some_elector();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    s3lect_plan_options_t options = some_plan(rows[i].store);
    options.bucket = rows[i].bucket;
    s3lect_plan_t p = plan(&o, &options);
    assert_memory_equal(p.prices, rows[i].source, strlen(rows[i].source));
    assert_string_equal(p.prices_date, "2026-11");
    assert_int_equal((unsigned)(p.leader.usd * 100 + 0.5), rows[i].leader);
    assert_int_equal((unsigned)(p.follower.usd * 100 + 0.5), rows[i].follower);
  }
  s3lect_plan_options_t options = some_plan(S3LECT_PLAN_OTHER);
  s3lect_plan_t p = plan(&o, &options);
  assert_null(p.prices);
  assert_null(p.prices_date);
  assert_true(p.leader.usd == 0 && p.follower.usd == 0);
}

static void test_peers(void** state) {
  s3lect_elector_options_t o = some_elector();
  s3lect_plan_options_t options = some_plan(S3LECT_PLAN_S3);
  options.peers = S3LECT_PLAN_PEERS;
  options.latency_ms = 20;
  s3lect_plan_t p = plan(&o, &options);
  assert_int_equal(p.hand_over.worst_ms, 5650);
  assert_int_equal(p.hand_over.mean_ms, 50);
  assert_int_equal(p.follower.gets, 0);
  assert_true(p.lost_machine.worst_ms > p.crash.worst_ms + 3000);
  options.peers = S3LECT_PLAN_PLAIN_PEERS;
  p = plan(&o, &options);
  assert_true(p.follower.gets > 0);
  assert_int_equal(p.advice_len, 1);
  assert_int_equal(advice[0].code, S3LECT_ADVICE_PLAIN_PEERS);
}

/* ---- Advice ---- */

static s3lect_elector_options_t o;
static s3lect_plan_options_t options;

static void expect(int32_t code, const char* option, const char* part) {
  s3lect_plan_t p = plan(&o, &options);
  for (uint32_t i = 0; i < p.advice_len; i++) {
    if (advice[i].code != code)
      continue;
    assert_string_equal(advice[i].option, option);
    if (strstr(advice[i].text, part) == NULL)
      fail_msg("\"%s\" does not say \"%s\"", advice[i].text, part);
    o = some_elector();
    options = some_plan(S3LECT_PLAN_S3);
    return;
  }
  fail_msg("no advice %d of %u", code, p.advice_len);
}

static void expect_none(void) {
  assert_int_equal(plan(&o, &options).advice_len, 0);
}

static void test_unsafe(void** state) {
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
  o.expiry = S3LECT_EXPIRY_STORE_CLOCK;
  expect(S3LECT_ADVICE_STORE_CLOCK, "expiry", "makes two leaders");
  o.drift_ppm = 200;
  expect_none();
  o.drift_ppm = 199;
  expect(S3LECT_ADVICE_DRIFT, "drift_ppm", "use 200 or more");
  options.latency_ms = 3000;
  expect_none();
  options.latency_ms = 3001;
  expect(S3LECT_ADVICE_SLOW_STORE, "request_timeout_ms",
         "3000 ms is less than the 3001 ms of a request");
  o.leader_timeout_ms = 30000;
  o.renew_interval_ms = 20000;
  expect(S3LECT_ADVICE_RARE_RENEWAL, "renew_interval_ms", "lower it to 10000 ms");
  options.latency_ms = 25;
  options.electors = 10000;
  assert_int_equal(plan(&o, &options).connections, 50);
  expect_none();
  options.electors = 10300;
  expect(S3LECT_ADVICE_CONNECTIONS, "electors", "need 52 connections, and the store has 64");
  options.latency_ms = 25;
  options.electors = 10300;
  options.max_connections = 66;
  expect_none();
  options.electors = 205000;
  expect(S3LECT_ADVICE_CONNECTIONS, "electors", "need 1025 connections, and the store has 66");
  options.electors = UINT32_MAX;
  options.latency_ms = UINT32_MAX;
  o.renew_interval_ms = 1;
  o.protocol = S3LECT_PROTOCOL_EPOCHS;
  expect(S3LECT_ADVICE_CONNECTIONS, "electors", "electors: need 4294967295 connections");
}

/* Google's limit of one write a second; others have none. */
static void test_fast_writes(void** state) {
  s3lect_plan_t p = {.size = sizeof p};
  s3lect_error_t error;
  o = some_elector();
  options = some_plan(S3LECT_PLAN_GCS);
  o.leader_timeout_ms = 8000;
  o.renew_interval_ms = 1112;
  expect_none();
  o.renew_interval_ms = 1111;
  options.store = S3LECT_PLAN_AZURE;
  expect_none();
  options.store = S3LECT_PLAN_GCS;
  expect(S3LECT_ADVICE_FAST_WRITES, "renew_interval_ms", "raise it to 1112 ms");
  o.leader_timeout_ms = 8000;
  o.renew_interval_ms = 999;
  expect_none();
  options.store = S3LECT_PLAN_GCS;
  assert_int_equal(s3lect_elector_plan(&o, &options, &p, &error), S3LECT_EOPTION);
  has(error.text, "renew_interval_ms: 999 ms is too short for this store");
  /* A hand-over may need two writes that come too soon: the release, and the take-over. */
  o = some_elector();
  options = some_plan(S3LECT_PLAN_AZURE);
  p = plan(&o, &options);
  uint64_t others = p.hand_over.worst_ms, crash = p.crash.worst_ms;
  options.store = S3LECT_PLAN_GCS;
  p = plan(&o, &options);
  assert_int_equal(p.hand_over.worst_ms, others + 2 * 1300);
  assert_int_equal(p.crash.worst_ms, crash);
  assert_true(p.hand_over.mean_ms < others);
}

static void test_wasteful(void** state) {
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
  o.infrequent_interval_ms = 15001;
  expect(S3LECT_ADVICE_RARE_READS, "infrequent_interval_ms", "as long as a crash");
  o.frequent_interval_ms = 5001;
  expect(S3LECT_ADVICE_RARE_SEARCH, "frequent_interval_ms", "longer than the infrequent");
  o.infrequent_interval_ms = 999;
  expect(S3LECT_ADVICE_OFTEN_READS, "infrequent_interval_ms", "more than five reads");
  o.renew_interval_ms = 1499;
  expect(S3LECT_ADVICE_OFTEN_RENEWALS, "renew_interval_ms", "5000 ms is as safe");
  o.leader_timeout_ms = 120001;
  expect(S3LECT_ADVICE_LONG_TIMEOUT, "leader_timeout_ms",
         "nobody leads for 120001 ms after a crash");
  o.no_release = 1;
  expect(S3LECT_ADVICE_NO_RELEASE, "no_release", "leave it out");
  o.grace_period_ms = 1;
  expect(S3LECT_ADVICE_GRACE, "grace_period_ms", "nobody leads for 1 ms more");
  o.protocol = S3LECT_PROTOCOL_EPOCHS;
  expect(S3LECT_ADVICE_EPOCHS, "protocol", "twice as much");
  o.protocol = S3LECT_PROTOCOL_EPOCHS;
  options.custom_endpoint = 1;
  expect_none();
  options.store = S3LECT_PLAN_AZURE; /* elsewhere, but with all that Azure can */
  expect(S3LECT_ADVICE_EPOCHS, "protocol", "twice as much");
  o.protocol = S3LECT_PROTOCOL_EPOCHS;
  o.keep_epochs = 1;
  expect(S3LECT_ADVICE_GROWING_HISTORY, "keep_epochs", "never removed");
}

/* What does not fit is counted. */
static void test_no_room(void** state) {
  s3lect_plan_t p = {.size = sizeof p};
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
  o.no_release = 1;
  o.grace_period_ms = 1;
  assert_int_equal(s3lect_elector_plan(&o, &options, &p, NULL), 0);
  assert_int_equal(p.advice_len, 2);
  memset(advice, 0, sizeof advice);
  p = (s3lect_plan_t){.size = sizeof p, .advice = advice, .advice_max = 1};
  assert_int_equal(s3lect_elector_plan(&o, &options, &p, NULL), 0);
  assert_int_equal(p.advice_len, 2);
  assert_int_equal(advice[0].code, S3LECT_ADVICE_NO_RELEASE);
  assert_int_equal(advice[1].code, 0);
}

/* ---- Permissions ---- */

static const char* policy(void) {
  static char text[S3LECT_POLICY_SIZE];
  s3lect_error_t error;
  if (s3lect_plan_policy(&o, &options, text, sizeof text, &error) != 0)
    fail_msg("%s", error.text);
  return text;
}

#define STATEMENT(actions, resource)                                                               \
  "    {\"Effect\": \"Allow\", \"Action\": [" actions "], \"Resource\": \"" resource "\"}"

static void test_policy_of_s3(void** state) {
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
  static const char objects[] =
      STATEMENT("\"s3:GetObject\", \"s3:PutObject\"", "arn:aws:s3:::bucket/locks/db");
  static const char whole[] = STATEMENT("\"s3:ListBucket\"", "arn:aws:s3:::bucket");
  char want[1024];
  snprintf(want, sizeof want,
           "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [\n%s,\n%s\n  ]\n}\n", objects,
           whole);
  assert_string_equal(policy(), want);
  o.protocol = S3LECT_PROTOCOL_EPOCHS;
  o.lockfile_path = "";
  o.verify_on_start = 1;
  options.server_side_encryption = "aws:kms:dsse";
  has(policy(), "\"s3:DeleteObject\"], \"Resource\": \"arn:aws:s3:::bucket/lock-*\"}");
  has(policy(), "\"arn:aws:s3:::bucket/.verify-*\"}");
  has(policy(), "\"kms:Decrypt\"], \"Resource\": \"arn:aws:kms:*:*:key/*\"}");
  options.sse_kms_key_id = "arn:aws:kms:eu-west-1:123456789012:key/k";
  has(policy(), "\"Resource\": \"arn:aws:kms:eu-west-1:123456789012:key/k\"}");
  o.keep_epochs = 1;
  o.verify_on_start = 0;
  assert_null(strstr(policy(), "Delete"));
  options.server_side_encryption = "AES256";
  assert_null(strstr(policy(), "kms"));
}

static void test_policy_of_others(void** state) {
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
  options.bucket = "locks--usw2-az1--x-s3";
  has(policy(), "\"s3express:CreateSession\"], \"Resource\": "
                "\"arn:aws:s3express:*:*:bucket/locks--usw2-az1--x-s3\"}");
  assert_null(strstr(policy(), "s3:"));
  options = some_plan(S3LECT_PLAN_AZURE);
  has(policy(), "containers/blobs/write\"\n  ]");
  assert_null(strstr(policy(), "delete"));
  o.verify_on_start = 1;
  has(policy(), "containers/blobs/delete\"\n  ]");
  options.store = S3LECT_PLAN_GCS;
  has(policy(), "\"storage.objects.delete\"");
  options.store = S3LECT_PLAN_OTHER;
  options.bucket = NULL;
  assert_string_equal(policy(), "");
}

/* The longest names, which JSON makes six times as long. */
static void test_long_policy(void** state) {
  static char bucket[256], key[1025], kms[1025];
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
  o.lockfile_path = memset(key, 1, 1024);
  o.verify_on_start = 1;
  options.bucket = memset(bucket, 1, 255);
  options.server_side_encryption = "aws:kms";
  options.sse_kms_key_id = memset(kms, 1, 1024);
  has(policy(), "\\u0001\"}\n  ]\n}\n");
  char text[S3LECT_POLICY_SIZE];
  size_t len = strlen(policy());
  for (size_t size = 0; size <= len; size += size < 64 ? 1 : 997)
    assert_int_equal(s3lect_plan_policy(&o, &options, text, size, NULL), UV_ENOBUFS);
  assert_int_equal(s3lect_plan_policy(&o, &options, text, len + 1, NULL), 0);
  static char longer[2048];
  options.sse_kms_key_id =
      memset(longer, 'k', sizeof longer - 1); /* not cut, which would name another key */
  assert_int_equal(s3lect_plan_policy(&o, &options, text, sizeof text, NULL), UV_ENOBUFS);
}

/* ---- Bad input ---- */

static void refused(int code, const char* says) {
  s3lect_plan_t p = {.size = sizeof p, .advice = advice, .advice_max = 7};
  s3lect_error_t error;
  char text[S3LECT_POLICY_SIZE];
  assert_int_equal(s3lect_elector_plan(&o, &options, &p, &error), code);
  assert_int_equal(error.code, code);
  has(error.text, says);
  assert_memory_equal(error.text, error.option, strlen(error.option));
  assert_int_equal(s3lect_elector_plan(&o, &options, &p, NULL), code);
  assert_int_equal(p.advice_max, 7);
  assert_int_equal(s3lect_plan_policy(&o, &options, text, sizeof text, &error), code);
  has(error.text, says);
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
}

static void test_bad_input(void** state) {
  char text[64];
  o = some_elector();
  options = some_plan(S3LECT_PLAN_S3);
  o.lockfile_path = NULL;
  refused(S3LECT_EOPTION, "lockfile_path: missing");
  o.leader_timeout_ms = 1000;
  refused(S3LECT_ETIMING, "leader_timeout_ms: 1000 ms is unsafe");
  o.server_id = "";
  refused(S3LECT_EOPTION, "server_id: missing");
  o.size--;
  refused(UV_EINVAL, "is not a size of s3lect_elector_options_t");
  options.size = 0;
  refused(UV_EINVAL, "size: 0 is not a size of s3lect_plan_options_t");
  options.store = S3LECT_PLAN_GCS + 1;
  refused(S3LECT_EOPTION, "store: out of range");
  options.store = -1;
  refused(S3LECT_EOPTION, "store: out of range");
  options.peers = 3;
  refused(S3LECT_EOPTION, "peers: out of range");
  options.bucket = "locks--usw2-az1--x-s3";
  o.protocol = S3LECT_PROTOCOL_EPOCHS;
  refused(S3LECT_EOPTION, "protocol: epoch files need a store that can list");
  s3lect_plan_t p = {.size = sizeof p - 1};
  s3lect_error_t error;
  assert_int_equal(s3lect_elector_plan(&o, &options, &p, &error), UV_EINVAL);
  has(error.text, "is not a size of s3lect_plan_t");
  options.bucket = NULL;
  assert_int_equal(s3lect_plan_policy(&o, &options, text, sizeof text, &error), S3LECT_EOPTION);
  has(error.text, "bucket: missing");
}

/* A newer caller's structs: what this library does not know stays zero, or is refused. */
static void test_newer_caller(void** state) {
  struct {
    s3lect_plan_options_t options;
    uint64_t more;
  } newer = {.options = some_plan(S3LECT_PLAN_S3)};
  struct {
    s3lect_plan_t plan;
    uint64_t more;
  } wide = {.plan = {.size = sizeof wide}, .more = 5};
  o = some_elector();
  newer.options.size = sizeof newer;
  assert_int_equal(s3lect_elector_plan(&o, &newer.options, &wide.plan, NULL), 0);
  assert_int_equal(wide.plan.size, sizeof wide);
  assert_int_equal(wide.more, 0);
  newer.more = 1;
  assert_int_equal(s3lect_elector_plan(&o, &newer.options, &wide.plan, NULL), UV_ENOTSUP);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_prices),
      cmocka_unit_test(test_peers),
      cmocka_unit_test(test_unsafe),
      cmocka_unit_test(test_fast_writes),
      cmocka_unit_test(test_wasteful),
      cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_policy_of_s3),
      cmocka_unit_test(test_policy_of_others),
      cmocka_unit_test(test_long_policy),
      cmocka_unit_test(test_bad_input),
      cmocka_unit_test(test_newer_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
