/* Elections on a directory bucket (S3 Express One Zone): through the ends of sessions, through
 * sessions that the bucket ends, with leader timeouts of 2 s, and without sessions.
 *
 * ctest labels: one-protocol tsan */
#include <string.h>

#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

#define SESSION "{\"match\":{\"method\":\"SESSION\"},"

static s3l_election_t el;
static s3l_candidate_t a, b;

static void begin(const fakes3_options_t* options) {
  s3l_election_init(&el, options);
  el.s3.bucket = "locks--usw2-az1--x-s3";
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_init(&el, &b, "b");
}

static fakes3_counters_t counters(void) {
  fakes3_counters_t c;
  fakes3_counters(el.server, &c);
  return c;
}

static bool has_sessions(void* arg) {
  return counters().sessions >= *(unsigned*)arg;
}

static void wait_for_sessions(unsigned n) {
  s3l_wait(&el.loop, has_sessions, &n, "more sessions");
}

/* The leader's sessions end again and again, and its leadership does not: nothing is refused. */
static void leads_through_ends_of_sessions(void** state) {
  begin(&(fakes3_options_t){.session_ms = 8000});
  s3l_election_lead(&el, &a, &b);
  wait_for_sessions(6);
  s3l_election_wait(&el, &a.renewed, a.renewed + 2, "renewals");
  assert_int_equal(a.stopped, 0);
  assert_int_equal(el.started, 1);
  assert_int_equal(counters().unauthorized, 0);
  /* Then as ever: a hand-over, and the other leads. */
  s3l_candidate_close(&a);
  s3l_election_wait(&el, &b.started, 1, "the follower to lead");
  s3l_election_end(&el);
}

/* The bucket forgets the session in the middle of a leadership. */
static void leads_on_when_sessions_are_ended(void** state) {
  begin(NULL);
  s3l_election_lead(&el, &a, &b);
  for (unsigned i = 0; i < 3; i++) {
    unsigned renewed = a.renewed;
    fakes3_end_sessions(el.server);
    wait_for_sessions((unsigned)counters().sessions + 1);
    s3l_election_wait(&el, &a.renewed, renewed + 40, "renewals"); /* more than 10 s */
  }
  assert_int_equal(a.stopped, 0);
  assert_int_equal(el.started, 1);
  s3l_election_end(&el);
}

static bool lacks_credentials(void* arg) {
  return ((const s3l_candidate_t*)arg)->error == S3LECT_ECREDENTIALS;
}

/* No new session: the leader stops in time, and the electors go on when there are sessions. */
static void stops_without_a_session(void** state) {
  begin(&(fakes3_options_t){.session_ms = 6000});
  s3l_election_lead(&el, &a, &b);
  s3l_election_fault(&el, SESSION "\"status\":403,\"code\":\"AccessDenied\"}");
  s3l_election_wait(&el, &a.stopped, 1, "the leader to stop");
  assert_int_equal(a.reason, S3LECT_REASON_EXPIRED);
  s3l_wait(&el.loop, lacks_credentials, &b, "the follower's error"); /* not always the first */
  assert_non_null(strstr(b.message, "allow s3express:CreateSession"));
  s3l_election_heal(&el);
  s3l_election_wait(&el, &el.started, 2, "a leader");
  s3l_election_end(&el);
}

/* What the milliseconds of these buckets are good for. */
static void takes_over_within_two_seconds(void** state) {
  begin(NULL);
  s3l_candidate_t* both[] = {&a, &b};
  for (size_t i = 0; i < 2; i++) {
    both[i]->o.leader_timeout_ms = 2000;
    both[i]->o.renew_interval_ms = 500;
    both[i]->o.frequent_interval_ms = 500;
    both[i]->o.infrequent_interval_ms = 500;
    both[i]->o.request_timeout_ms = 250;
    both[i]->o.grace_period_ms = 100;
  }
  s3l_election_lead(&el, &a, &b);
  s3l_election_fault(&el, "{\"match\":{\"method\":\"PUT\",\"condition\":\"if-match\"},\"count\":12,"
                          "\"stall\":true}");
  s3l_election_wait(&el, &a.stopped, 1, "the leader to stop");
  s3l_election_wait(&el, &el.started, 2, "another leader");
  s3l_election_end(&el);
}

static void refuses_epoch_files(void** state) {
  s3lect_elector_t elector;
  s3lect_error_t error;
  begin(NULL);
  a.o.protocol = S3LECT_PROTOCOL_EPOCHS;
  a.o.lockfile_path = "locks/";
  assert_int_equal(s3lect_elector_init(&el.loop, &elector, &a.o, &error), S3LECT_EOPTION);
  assert_non_null(strstr(error.text, "epoch files need a store that can list its objects"));
  s3l_election_end(&el);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(leads_through_ends_of_sessions),
      cmocka_unit_test(leads_on_when_sessions_are_ended),
      cmocka_unit_test(stops_without_a_session),
      cmocka_unit_test(takes_over_within_two_seconds),
      cmocka_unit_test(refuses_epoch_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
