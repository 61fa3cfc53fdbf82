/* Epoch files through the public API: files of another implementation, a fake S3 that lacks
 * If-Match, the options. What the core decides stands in test/core/golden/epochs-*.trace. What
 * holds for both protocols is tested for both, elsewhere.
 *
 * ctest labels: no-valgrind one-protocol */
#include <stdlib.h>
#include <string.h>

#include "core/epochs.h"
#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

#define PREFIX "locks/"

static s3l_election_t el;
static s3l_candidate_t a, b;

static void on_put(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  assert_int_equal(r->status, 0);
  ++*(unsigned*)req->data;
}

static void put(const char* key, const char* body) {
  unsigned done = 0;
  s3lect_store_req_t req = {.data = &done, .key = key, .body = body, .cb = on_put};
  req.body_len = strlen(body);
  req.timeout_ms = S3L_WAIT_MS;
  assert_int_equal(s3lect_store_put(&el.store, &req), 0);
  s3l_election_wait(&el, &done, 1, "a put");
}

static void del(const char* key) {
  unsigned done = 0;
  s3lect_store_req_t req = {.data = &done, .key = key, .cb = on_put, .timeout_ms = S3L_WAIT_MS};
  assert_int_equal(s3lect_store_del(&el.store, &req), 0);
  s3l_election_wait(&el, &done, 1, "a deletion");
}

/* ---- Elections ---- */

/* Another implementation's file that has ended: whoever watches for a leader timeout takes over. */
#define ENDED "{\"validity_ms\":2400,\"expired\":true}"

/* One leads, renews and leaves; the other takes over at once. */
static void test_without_if_match(void** state) {
  s3l_election_init(&el, NULL);
  el.key = PREFIX;
  s3l_election_begin(&el);
  s3l_election_fault(&el, "{\"no_if_match\":true}");
  put(PREFIX "lock-0000000005.json", ENDED);
  put(PREFIX "lock-0000000007.json", ENDED);
  put(PREFIX "readme.txt", "no epoch file");
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 2, "the first leader's renewals");
  assert_int_equal(a.epoch, 8);
  s3l_candidate_init(&el, &b, "b");
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.leaders, 1, "the second to know the first");
  assert_string_equal(b.leader, "a");
  assert_int_equal(s3l_election_record(&el).epoch, 8);
  s3l_election_wait(&el, &a.renewed, a.renewed + 10, "a leader timeout and more");
  s3l_candidate_close(&a);
  s3l_election_wait(&el, &b.renewed, 1, "the second to lead");
  assert_int_equal(b.epoch, 9);
  assert_int_equal(a.errors + b.errors, 0);
  s3l_election_end(&el);
}

/* A gateway refuses If-Match once: renewals go without it for a while, not for ever. */
static void test_if_match_refused_once(void** state) {
  unsigned with = 0, without = 0;
  bool again = false;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_election_fault(&el, "{\"no_if_match\":true,\"count\":1}");
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, S3L_EPOCHS_UNCONDITIONAL + 5, "renewals");
  uint64_t seq = 0;
  for (const fakes3_entry_t* e; (e = fakes3_log_after(el.server, seq)) != NULL; seq = e->seq) {
    if (strcmp(e->method, "PUT") != 0 || e->if_none_match != NULL)
      continue;
    with += e->if_match != NULL;
    without += e->if_match == NULL;
    again = again || (without > 0 && e->if_match != NULL);
  }
  assert_true(again);
  assert_true(with >= 3 && without <= S3L_EPOCHS_UNCONDITIONAL + 1);
  assert_int_equal(a.errors, 0);
  s3l_election_end(&el);
}

/* Somebody makes the file of the highest number by hand: it is said once what to do, and when it
 * has been done the election goes on. */
static void test_a_file_of_the_highest_number(void** state) {
  s3l_election_init(&el, NULL);
  el.key = PREFIX;
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  put(PREFIX "lock-9999999998.json", "by hand");
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.errors, 1, "it to say what is wrong");
  assert_int_equal(a.error, S3LECT_EEPOCH);
  del(PREFIX "lock-9999999998.json");
  s3l_election_wait(&el, &a.started, 1, "it to lead");
  assert_true(a.epoch < 9999999998);
  assert_int_equal(a.errors, 1);
  s3l_election_end(&el);
}

/* A store whose listings do not show the files: nobody leads, and everybody says why, until the
 * listings show them. */
static void test_listings_without_the_files(void** state) {
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_fault(&el, "{\"empty_lists\":true}");
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_init(&el, &b, "b");
  s3l_candidate_start(&a);
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &a.errors, 3, "the first to say why it does not lead");
  s3l_election_wait(&el, &b.errors, 3, "the second to say why it does not lead");
  assert_int_equal(a.error, S3LECT_EUNSAFE);
  assert_int_equal(b.error, S3LECT_EUNSAFE);
  assert_int_equal(el.started, 0);
  s3l_election_heal(&el);
  s3l_election_wait(&el, &el.started, 1, "a leader");
  s3l_election_end(&el);
}

/* A leader whose file is no longer listed stops when its validity ends. It says why as soon as the
 * file has been missing for longer than a listing may lag. */
static void test_a_listing_that_goes_blind(void** state) {
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 15, "a leader, for longer than a listing may lag");
  s3l_election_fault(&el, "{\"empty_lists\":true}");
  s3l_election_wait(&el, &a.stopped, 1, "it to stop");
  assert_int_equal(a.reason, S3LECT_REASON_EXPIRED);
  s3l_election_wait(&el, &a.errors, a.errors + 2, "it to say why it does not lead");
  assert_int_equal(a.error, S3LECT_EUNSAFE);
  assert_int_equal(a.started, 1);
  s3l_election_end(&el);
}

/* A store that begins every page of a listing anew: it would be read for ever. */
static void test_a_listing_without_end(void** state) {
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_election_fault(&el, "{\"endless_lists\":true}");
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.errors, 2, "the listing to be given up, again");
  assert_int_equal(a.error, S3LECT_ELISTING);
  assert_int_equal(a.started, 0);
  s3l_election_heal(&el);
  s3l_election_wait(&el, &a.renewed, 1, "a leader");
  assert_int_equal(a.epoch, 8);
  s3l_election_end(&el);
}

/* SeaweedFS and S3Proxy show objects beside the prefix, where they take it for another one. */
static void test_a_listing_of_other_keys(void** state) {
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_election_fault(&el, "{\"foreign_lists\":true}");
  s3l_candidate_init(&el, &a, "a");
  a.o.lockfile_path = "other/";
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.errors, 1, "the listing to be refused");
  assert_int_equal(a.error, S3LECT_ELISTING);
  assert_non_null(strstr(a.message, "which does not begin with \"other/lock-\""));
  s3l_election_end(&el);
}

static void begin_in_memory(void) {
  s3l_election_init(&el, NULL); /* its fake S3 is not used */
  s3l_wait_pace(S3L_PACE_TIMERS);
  el.key = PREFIX;
  assert_int_equal(s3lect_store_memory_init(&el.loop, &el.store, NULL), 0);
}

/* From nothing: the first file takes its number from the store's clock, and is not led. */
static void test_from_nothing(void** state) {
  begin_in_memory();
  s3l_candidate_init(&el, &a, "a");
  a.o.keep_epochs = 1;
  uv_timeval64_t now;
  assert_int_equal(uv_gettimeofday(&now), 0);
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 3, "renewals");
  assert_true(a.epoch >= (uint64_t)now.tv_sec && a.epoch < (uint64_t)now.tv_sec + 100);
  assert_int_equal(s3l_election_files(&el), 2); /* the claim, and the one that is led */
  assert_int_equal(s3l_election_record(&el).epoch, a.epoch);
  s3l_election_end(&el);
}

/* ---- Options ---- */

static void check(const s3lect_elector_options_t* o, int code, const char* part) {
  s3lect_error_t error;
  assert_int_equal(s3lect_elector_options_check(o, &error), code);
  if (strstr(error.text, part) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", error.text, part);
}

static void test_options(void** state) {
  static char path[1100];
  static const s3lect_store_ops_t plain_ops = {.version = S3LECT_STORE_VERSION};
  s3lect_store_t plain = {.ops = &plain_ops};
  begin_in_memory();
  s3l_candidate_init(&el, &a, "a");
  s3lect_elector_options_t o = a.o;
  o.store = &plain;
  check(&o, S3LECT_EOPTION, "protocol: epoch files need a store that can list");
  o = a.o;
  o.lockfile_path = ""; /* all of a bucket or directory */
  check(&o, 0, "");
  o.protocol = S3LECT_PROTOCOL_LOCKFILE;
  check(&o, S3LECT_EOPTION, "missing");
  o.store = &plain;
  o.lockfile_path = "locks/db.json";
  check(&o, 0, "");
  o.protocol = 2;
  check(&o, S3LECT_EOPTION, "protocol: 2 is not an s3lect_protocol_t");
  o = a.o;
  memset(path, 'x', 1005);
  o.lockfile_path = path;
  check(&o, S3LECT_EOPTION, "has 1005 bytes; at most 1004 are allowed");
  path[1004] = '\0';
  check(&o, 0, "");
  o.request_timeout_ms = UINT32_MAX / 2 + 1;
  check(&o, S3LECT_ETIMING, "twice the request timeout 2147483648 ms");
  o.request_timeout_ms = 500;
  check(&o, S3LECT_ETIMING, "twice the request timeout 500 ms");
  o.protocol = S3LECT_PROTOCOL_LOCKFILE;
  check(&o, 0, "");
  /* What is left to the library fits. */
  o = a.o;
  o.request_timeout_ms = 0;
  o.leader_timeout_ms = 0;
  check(&o, 0, "");
  s3l_election_end(&el);
}

static void test_numbers_of_keys(void** state) {
  assert_int_equal(s3lect_epoch_file_number("a/", "a/lock-0000000042.json"), 42);
  assert_int_equal(s3lect_epoch_file_number("", "lock-0000000042.json"), 42);
  assert_int_equal(s3lect_epoch_file_number("a/", "b/lock-0000000042.json"), 0);
  assert_int_equal(s3lect_epoch_file_number("a/", "a/lock-42.json"), 0);
  assert_int_equal(s3lect_epoch_file_number("a/b", "a/"), 0);
}

int main(void) {
  assert_int_equal(setenv("S3L_TEST_PROTOCOL", "epochs", 1), 0); /* lib/protocol.h */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_if_match),
      cmocka_unit_test(test_if_match_refused_once),
      cmocka_unit_test(test_a_file_of_the_highest_number),
      cmocka_unit_test(test_listings_without_the_files),
      cmocka_unit_test(test_a_listing_that_goes_blind),
      cmocka_unit_test(test_a_listing_without_end),
      cmocka_unit_test(test_a_listing_of_other_keys),
      cmocka_unit_test(test_from_nothing),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_numbers_of_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
