/* on_no_leader: told once when no leader is known any more, and never while one is.
 *
 * ctest labels: tsan */
#include <stdio.h>
#include <string.h>

#include "lib/election.h"
#include "lib/test.h"

static s3l_election_t el;
static s3l_candidate_t a, b;

/* What b was told: "a7" for a new leader a, "-" for none. */
static char story[256];
static void (*rig_new_leader)(s3lect_elector_t* e, const s3lect_event_t* ev);
static void (*rig_no_leader)(s3lect_elector_t* e, const s3lect_event_t* ev);

static void on_new_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  size_t n = strlen(story);
  (void)snprintf(story + n, sizeof story - n, "%s ", ev->leader_id);
  rig_new_leader(e, ev);
}

static void on_no_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  size_t n = strlen(story);
  assert_int_equal(ev->kind, S3LECT_EVENT_NO_LEADER);
  assert_string_equal(ev->leader_addr, "");
  (void)snprintf(story + n, sizeof story - n, "- ");
  rig_no_leader(e, ev);
}

static int setup(void** state) {
  (void)state;
  story[0] = '\0';
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_init(&el, &b, "b");
  b.o.observer = 1;
  rig_new_leader = b.o.on_new_leader;
  rig_no_leader = b.o.on_no_leader;
  b.o.on_new_leader = on_new_leader;
  b.o.on_no_leader = on_no_leader;
  return 0;
}

static int teardown(void** state) {
  (void)state;
  s3l_election_end(&el);
  return 0;
}

static void test_release(void** state) {
  s3l_election_seed(&el);
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.absences, 1, "the release of the last leader");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &b.leaders, 1, "a to lead");
  s3l_election_wait(&el, &a.renewed, 4, "renewals");
  unsigned before = a.absences;
  assert_int_equal(before, 1); /* as it began */
  assert_int_equal(s3lect_elector_resign(&a.e), 0);
  s3l_election_wait(&el, &a.absences, before + 1, "the resigned leader to know of none");
  s3l_election_wait(&el, &b.absences, 2, "the release");
  s3l_candidate_close(&a);
  assert_string_equal(story, "- a - ");
}

static void test_expiry(void** state) {
  s3l_election_seed(&el);
  a.o.no_release = 1;
  s3l_election_lead(&el, &a, &b);
  s3l_election_wait(&el, &a.renewed, 4, "renewals");
  assert_int_equal(b.absences, 0);
  s3l_candidate_close(&a);
  s3l_election_wait(&el, &b.absences, 1, "a's time to pass");
  s3lect_status_t status = {.size = sizeof status};
  assert_int_equal(s3lect_elector_status(&b.e, &status), 0);
  assert_true(s3lect_now_ns() >= status.leader_until_ns);
  assert_string_equal(story, "a - ");
}

static void test_deletion_and_start(void** state) {
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.absences, 1, "that there is nothing");
  s3l_election_seed(&el);
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &b.leaders, 1, "a to lead");
  assert_int_equal(s3lect_elector_stop(&b.e), 0);
  s3l_candidate_close(&a);
  assert_int_equal(b.absences, 1); /* a stopped elector is told nothing */
  assert_int_equal(s3lect_elector_start(&b.e), 0);
  s3l_election_wait(&el, &b.absences, 2, "the release, after another start");
  assert_string_equal(story, "- a - ");
}

/* A leader that was silent for too long, and renews before anybody has taken over. */
static void test_return(void** state) {
  static const char* const records[] = {
      "{\"leaderID\":\"x\",\"leaderAddr\":\"\",\"lastUpdated\":\"2024-01-01T00:00:00Z\","
      "\"epoch\":7,\"incarnation\":\"0123456789abcdef0123456789abcdef\",\"write\":1,"
      "\"leaderTimeoutMs\":2400,\"validity_ms\":2400,\"transitions\":3}",
      "{\"leaderID\":\"x\",\"leaderAddr\":\"\",\"lastUpdated\":\"2024-01-01T00:00:09Z\","
      "\"epoch\":7,\"incarnation\":\"0123456789abcdef0123456789abcdef\",\"write\":2,"
      "\"leaderTimeoutMs\":2400,\"validity_ms\":2400,\"transitions\":3}",
  };
  s3l_election_put(&el, records[0], strlen(records[0]));
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.absences, 1, "x's time to pass");
  s3l_election_put(&el, records[1], strlen(records[1]));
  s3l_election_wait(&el, &b.absences, 2, "x's time to pass again");
  assert_string_equal(story, "x - x - ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(test_release),
      T(test_expiry),
      T(test_deletion_and_start),
      T(test_return),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
