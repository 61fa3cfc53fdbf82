/* The model store's epoch files: conditions, listings and how they lag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "s3lect/errno.h"
#include "sim/files.h"

static sim_store_t store;
static sim_files_t files;

static int setup(void** state) {
  (void)state;
  memset(&store, 0, sizeof store);
  memset(&files, 0, sizeof files);
  store.unix_ms = 1700000000000;
  files.page = 1000;
  return 0;
}

static int put(s3l_ns_t t, uint64_t number, s3lect_condition_t how, const char* etag,
               const char* body) {
  return sim_files_put(&files, &store, t, number, how, etag, false, body, strlen(body)).status;
}

static s3l_listing_t list(s3l_ns_t t, uint64_t after) {
  s3l_listing_t l;
  uint64_t last = 0;
  memset(&l, 0, sizeof l);
  sim_files_list(&files, t, after, &l, &last);
  return l;
}

static void test_conditions(void** state) {
  (void)state;
  char etag[SIM_ETAG_SIZE];
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, "\"x\"", "1"), S3LECT_ENOTFOUND);
  assert_int_equal(put(0, 7, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(put(0, 7, S3LECT_IF_ABSENT, "", "2"), S3LECT_EPRECONDITION);
  assert_int_equal(put(0, 8, S3LECT_IF_ABSENT, "", "1"), 0);
  memcpy(etag, sim_files_find(&files, 7)->etag, sizeof etag);
  assert_string_equal(etag, sim_files_find(&files, 8)->etag); /* the same body */
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, etag, "3"), 0);
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, etag, "4"), S3LECT_EPRECONDITION);
  assert_int_equal(put(0, 7, S3LECT_ALWAYS, "", "5"), 0);
  files.no_if_match = true;
  assert_int_equal(put(0, 7, S3LECT_IF_MATCH, etag, "6"), S3LECT_EUNSUPPORTED);
  assert_int_equal(sim_files_find(&files, 7)->body[0], '5');
}

static void test_reads(void** state) {
  (void)state;
  assert_int_equal(sim_files_get(&files, &store, 0, 7, "").status, S3LECT_ENOTFOUND);
  assert_int_equal(put(90 * S3L_SECOND + S3L_MS, 7, S3LECT_IF_ABSENT, "", "1"), 0);
  sim_reply_t r = sim_files_get(&files, &store, 100 * S3L_SECOND, 7, "");
  assert_int_equal(r.status, 0);
  assert_true(r.has_body);
  assert_int_equal(r.modified_ms, 1700000090000);
  assert_int_equal(r.store_time_ms, 1700000100000);
  const char* etag = sim_files_find(&files, 7)->etag;
  assert_int_equal(sim_files_get(&files, &store, 0, 7, etag).status, S3LECT_ENOTMODIFIED);
  sim_files_delete(&files, 0, 7);
  assert_int_equal(sim_files_get(&files, &store, 0, 7, "").status, S3LECT_ENOTFOUND);
}

static void test_listings(void** state) {
  (void)state;
  uint64_t last = 0;
  s3l_listing_t l;
  for (uint64_t n = 9; n >= 1; n--)
    assert_int_equal(put(0, n, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(list(0, 0).highest, 9);
  assert_int_equal(list(0, 8).highest, 9);
  assert_int_equal(list(0, 9).highest, 0);
  assert_int_equal(list(0, 4).old[0], 5);
  assert_int_equal(sim_files_newest(&files)->number, 9);
  sim_files_delete(&files, 0, 9);
  assert_int_equal(list(1, 0).highest, 8);
  assert_int_equal(sim_files_count(&files), 8);
  files.page = 3;
  memset(&l, 0, sizeof l);
  sim_files_list(&files, 1, 0, &l, &last);
  assert_true(l.truncated);
  assert_int_equal(l.highest, 3);
  assert_int_equal(last, 3);
  assert_false(list(1, 5).truncated);
}

static void test_listings_that_lag(void** state) {
  (void)state;
  files.lag = 5 * S3L_SECOND;
  assert_int_equal(put(10 * S3L_SECOND, 7, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(list(14 * S3L_SECOND, 0).highest, 0);
  assert_int_equal(list(15 * S3L_SECOND, 0).highest, 7);
  sim_files_delete(&files, 20 * S3L_SECOND, 7);
  assert_int_equal(list(24 * S3L_SECOND, 0).highest, 7);
  assert_int_equal(list(25 * S3L_SECOND, 0).highest, 0);
}

/* However many there were: the oldest go, and what is newest stays. */
static void test_no_end_of_files(void** state) {
  (void)state;
  for (uint64_t n = 1; n <= 3 * SIM_FILES_MAX; n++)
    assert_int_equal(put((s3l_ns_t)n, n, S3LECT_IF_ABSENT, "", "1"), 0);
  assert_int_equal(sim_files_newest(&files)->number, 3 * SIM_FILES_MAX);
  assert_true(sim_files_count(&files) <= SIM_FILES_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_conditions, setup),
      cmocka_unit_test_setup(test_reads, setup),
      cmocka_unit_test_setup(test_listings, setup),
      cmocka_unit_test_setup(test_listings_that_lag, setup),
      cmocka_unit_test_setup(test_no_end_of_files, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
