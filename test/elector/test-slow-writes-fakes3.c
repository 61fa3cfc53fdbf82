/* Electors on Google Cloud Storage that refuses a second write to an object within a second: what
 * comes soon after another write, and how it ends. */
#include <string.h>

#include "lib/any_store.h"
#include "lib/election.h"
#include "lib/test.h"

static s3l_election_t el;
static s3l_candidate_t a, b;

static int setup(void** state) {
  (void)state;
  s3l_any_store_choose("gcs");
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_init(&el, &b, "b");
  a.o.leader_timeout_ms = b.o.leader_timeout_ms = 20000;
  a.o.renew_interval_ms = b.o.renew_interval_ms = 3000;
  a.o.request_timeout_ms = b.o.request_timeout_ms = 0;
  a.o.release_timeout_ms = b.o.release_timeout_ms = 0; /* the default of such a store */
  s3l_election_lead(&el, &a, &b);
  s3l_election_fault(&el, "{\"write_interval_ms\":1000}");
  return 0;
}

static int teardown(void** state) {
  (void)state;
  s3l_election_end(&el);
  return 0;
}

/* Replies 429 so far. */
static unsigned refusals(void) {
  const fakes3_entry_t* e;
  unsigned n = 0;
  for (uint64_t seq = 0; (e = fakes3_log_after(el.server, seq)) != NULL; seq = e->seq)
    n += e->status == 429;
  return n;
}

/* The first attempt comes too soon, the second one within the release timeout: the successor does
 * not wait for the leader timeout. */
static void release_right_after_a_renewal(void** state) {
  (void)state;
  s3l_election_wait(&el, &a.renewed, a.renewed + 1, "a renewal");
  s3l_candidate_close(&a);
  assert_true(refusals() >= 1);
  if (a.errors > 0)
    fail_msg("%s", a.message);
  s3l_election_wait(&el, &b.started, 1, "the successor");
  if (!el.epochs) /* whose claim came too soon after the release, too */
    assert_true(refusals() >= 2);
}

/* A value that is published at once, right after a renewal, arrives; nobody stops leading. */
static void value_right_after_a_renewal(void** state) {
  (void)state;
  s3l_election_wait(&el, &a.renewed, a.renewed + 1, "a renewal");
  size_t writes = s3l_election_writes(&el);
  assert_int_equal(s3lect_elector_set_value(&a.e, "schema 42", 1), 0);
  s3l_election_wait(&el, &a.renewed, a.renewed + 1, "the renewal for the value");
  assert_true(refusals() >= 1);
  assert_int_equal(s3l_election_writes(&el), writes + 1);
  assert_string_equal(s3l_election_record(&el).value, "schema 42");
  assert_int_equal(a.stopped + a.errors, 0);
}

/* The shortest interval that is allowed, which jitter shortens further. */
static void renewals_once_a_second(void** state) {
  (void)state;
  s3lect_elector_options_t o = a.o;
  o.renew_interval_ms = 1000;
  assert_int_equal(s3lect_elector_update(&a.e, &o, NULL), 0);
  s3l_election_wait(&el, &a.renewed, a.renewed + 20, "twenty renewals");
  assert_true(refusals() >= 1);
  assert_int_equal(a.stopped + a.errors, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(release_right_after_a_renewal),
      TEST(value_right_after_a_renewal),
      TEST(renewals_once_a_second),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
