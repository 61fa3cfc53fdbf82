/* The warning before the end of a leadership, and its earlier end by renew_deadline_ms.
 *
 * ctest labels: tsan */
#include <string.h>

#include "lib/election.h"
#include "lib/test.h"

#define MS       INT64_C(1000000)
#define HOLD_MS  (S3L_ELECTION_T_MS * 99 / 100)
#define WARN_MS  1200
#define EARLY_MS 300

static s3l_election_t el;
static s3l_candidate_t a;

/* What a was told: "+" for a renewal, "!" for a warning, "." for the end. */
static char story[256];
static unsigned warnings;
static void (*rig_renewed)(s3lect_elector_t* e, const s3lect_event_t* ev);
static void (*rig_stopped)(s3lect_elector_t* e, const s3lect_event_t* ev);

static void add(char what) {
  size_t n = strlen(story);
  if (n + 1 < sizeof story)
    story[n] = what;
}

static void on_renewed(s3lect_elector_t* e, const s3lect_event_t* ev) {
  add('+');
  rig_renewed(e, ev);
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  add('.');
  rig_stopped(e, ev);
}

static void on_expiring(s3lect_elector_t* e, const s3lect_event_t* ev) {
  assert_int_equal(ev->kind, S3LECT_EVENT_EXPIRING);
  assert_int_equal(ev->epoch, a.epoch);
  assert_int_equal(ev->valid_until_ns, a.valid_until_ns);
  assert_true(s3lect_now_ns() >= ev->valid_until_ns - (WARN_MS + 5) * MS);
  add('!');
  warnings++;
}

static int setup(void** state) {
  (void)state;
  memset(story, 0, sizeof story);
  warnings = 0;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  a.o.warn_before_ms = WARN_MS;
  rig_renewed = a.o.on_renewed;
  rig_stopped = a.o.on_stopped_leading;
  a.o.on_renewed = on_renewed;
  a.o.on_stopped_leading = on_stopped;
  a.o.on_expiring = on_expiring;
  return 0;
}

static int teardown(void** state) {
  (void)state;
  s3l_election_end(&el);
  return 0;
}

static void test_warned_and_over(void** state) {
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 3, "renewals");
  assert_int_equal(warnings, 0);
  s3l_election_fault(&el, "{\"match\":{\"method\":\"PUT\"},\"stall\":true}");
  s3l_election_wait(&el, &a.stopped, 1, "the end");
  assert_int_equal(a.reason, S3LECT_REASON_EXPIRED);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(story, "+!."));
}

/* The danger is over with the next renewal; each validity is warned of. */
static void test_renewed_in_danger(void** state) {
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 2, "renewals");
  for (unsigned n = 1; n <= 2; n++) {
    unsigned renewed = a.renewed;
    s3l_election_fault(&el, "{\"match\":{\"method\":\"PUT\"},\"status\":503}");
    s3l_election_wait(&el, &warnings, n, "a warning");
    s3l_election_heal(&el);
    s3l_election_wait(&el, &a.renewed, renewed + 2, "the danger to be over");
    assert_int_equal(a.stopped, 0);
    assert_int_equal(warnings, n);
  }
  assert_null(strstr(story, "!!"));
}

static void test_ends_early(void** state) {
  a.o.renew_deadline_ms = EARLY_MS + 5;
  a.o.request_timeout_ms = 300;
  a.o.warn_before_ms = 0;
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 2, "renewals");
  assert_true(a.valid_until_ns - s3lect_now_ns() <= (HOLD_MS - EARLY_MS) * MS);
  assert_true(s3lect_elector_valid_for_ms(&a.e) <= HOLD_MS - EARLY_MS);
  s3l_election_fault(&el, "{\"match\":{\"method\":\"PUT\"},\"stall\":true}");
  s3l_election_wait(&el, &a.stopped, 1, "the end");
  assert_int_equal(a.reason, S3LECT_REASON_EXPIRED);
  assert_int_equal(warnings, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(test_warned_and_over),
      T(test_renewed_in_danger),
      T(test_ends_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
