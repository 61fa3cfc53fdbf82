/* The election over real sockets, against a store that misbehaves on command: lost and late writes,
 * refused ones, outages, a second process with the same ID, a loop that stands still.
 *
 * ctest labels: every-store */
#include <stdio.h>
#include <string.h>

#include "lib/any_store.h"
#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

static int setup(void** state) {
  static s3l_election_t el;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  *state = &el;
  return 0;
}

/* A leader of epoch 8, soon: it takes a released record over. */
static void lead(s3l_election_t* el, s3l_candidate_t* c) {
  s3l_election_seed(el);
  s3l_candidate_init(el, c, "a");
  s3l_candidate_start(c);
  s3l_election_wait(el, &c->started, 1, "leadership");
  assert_int_equal(c->epoch, 8);
}

static void test_lost_reply_to_the_take_over(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  s3l_election_seed(el);
  s3l_election_fault(el, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"drop_after\":true}");
  s3l_candidate_init(el, &c, "a");
  c.o.leader_timeout_ms = 8000; /* when it is found, enough of the lease is left */
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.started, 1, "leadership");
  s3lect_stats_t stats = s3l_candidate_stats(&c);
  assert_int_equal(stats.unknown_outcomes, 1);
  assert_int_equal(stats.unknown_resolved, 1);
  assert_int_equal(stats.writes, 1); /* found by reading, not by writing again */
  assert_int_equal(c.epoch, 8);
  s3lect_record_t r = s3l_election_record(el);
  assert_int_equal(r.write, 1);
  assert_int_equal(c.errors, 0);
  s3l_election_end(el);
}

static void test_lost_reply_to_a_renewal(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_fault(el, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"drop_after\":true}");
  s3l_election_wait(el, &c.renewed, 3, "renewals");
  s3lect_stats_t stats = s3l_candidate_stats(&c);
  assert_int_equal(stats.unknown_outcomes, 1);
  assert_int_equal(stats.unknown_resolved, 1);
  assert_int_equal(c.stopped, 0);
  assert_int_equal(c.errors, 0);
  s3l_election_end(el);
}

/* The first attempt of a renewal is cut off and carried out later, after the leader has written
 * again: it must not undo anything. */
static void test_late_landing_renewal(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_fault(el, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"late_ms\":700}");
  s3l_election_wait(el, &c.renewed, 6, "renewals");
  s3lect_stats_t stats = s3l_candidate_stats(&c);
  assert_int_equal(stats.unknown_outcomes, 1);
  assert_int_equal(stats.unknown_resolved, 0); /* by then it had not happened */
  assert_int_equal(c.stopped, 0);
  s3l_election_end(el);
}

/* It lands between the read-back and the repetition, which is then refused: found at last. */
static void test_landing_between_read_back_and_repetition(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_fault(el, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"late_ms\":150}");
  s3l_election_fault(el,
                     "{\"match\":{\"method\":\"PUT\"},\"skip\":1,\"count\":1,\"latency_ms\":300}");
  s3l_election_wait(el, &c.renewed, 3, "renewals");
  s3lect_stats_t stats = s3l_candidate_stats(&c);
  assert_int_equal(stats.unknown_outcomes, 1);
  assert_int_equal(stats.conflicts, 1);
  assert_int_equal(c.stopped, 0);
  s3l_election_end(el);
}

/* 412, 404 and 409 from a proxy or a confused store, while one's own record stands: no loss. */
static void refused_once(void** state, const char* rule) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_fault(el, rule);
  s3l_election_wait(el, &c.renewed, 3, "renewals");
  s3lect_stats_t stats = s3l_candidate_stats(&c);
  assert_int_equal(stats.conflicts, 1);
  assert_int_equal(c.stopped, 0);
  s3l_election_end(el);
}

static void test_412_on_a_renewal(void** state) {
  refused_once(state, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"status\":412,"
                      "\"code\":\"PreconditionFailed\"}");
}

static void test_404_on_a_renewal(void** state) {
  refused_once(state, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"status\":404,"
                      "\"code\":\"NoSuchKey\"}");
}

/* A gateway that has lost its route, or another store's word for it: says nothing of the object, to
 * writes and reads alike. */
static void outlasts(void** state, const char* outcome) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  char rule[160];
  lead(el, &c);
  snprintf(rule, sizeof rule, "{\"count\":2,\"status\":404,%s}", outcome);
  s3l_election_fault(el, rule);
  s3l_election_wait(el, &c.renewed, 4, "renewals");
  assert_int_equal(s3l_candidate_stats(&c).conflicts, 0);
  assert_int_equal(c.started, 1);
  assert_int_equal(c.stopped, 0);
  s3l_election_end(el);
}

static void test_404_of_a_gateway(void** state) {
  outlasts(state, "\"html\":\"default backend - 404\"");
}

static void test_404_of_a_gateway_without_a_word(void** state) {
  outlasts(state, "\"html\":\"\"");
}

static void test_404_about_something_else(void** state) {
  outlasts(state, "\"code\":\"NoSuchBucket\"");
}

static void test_409_on_a_renewal(void** state) {
  refused_once(state, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"status\":409,"
                      "\"code\":\"ConditionalRequestConflict\"}");
}

/* Now somebody else did write. */
static void test_deposed_by_another_record(void** state) {
  static const char body[] = "{\"leaderID\":\"z\",\"lastUpdated\":\"2030-01-01T00:00:00Z\","
                             "\"epoch\":90,\"validity_ms\":2400}";
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_put(el, body, sizeof body - 1);
  s3l_election_wait(el, &c.stopped, 1, "the end of leadership");
  assert_int_equal(c.reason, S3LECT_REASON_LOST);
  assert_string_equal(c.leader, "z");
  assert_string_equal(s3lect_elector_leader(&c.e), "z");
  s3l_election_wait(el, &c.started, 2, "leadership again, when that record has stood for long");
  assert_int_equal(c.epoch, el->epochs ? 9 : 91); /* of an epoch file the key decides */
  s3l_election_end(el);
}

static void test_lockfile_deleted(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_delete(el);
  s3l_election_wait(el, &c.stopped, 1, "the end of leadership");
  assert_int_equal(c.reason, S3LECT_REASON_LOST);
  s3l_election_wait(el, &c.started, 2, "leadership again");
  assert_true(c.epoch > 8);
  s3l_election_end(el);
}

static void test_duplicate_id(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t first;
  s3l_candidate_t second;
  s3l_election_seed(el);
  s3l_candidate_init(el, &first, "a");
  first.o.server_addr = "10.0.0.1:8443";
  s3l_candidate_start(&first);
  s3l_election_wait(el, &first.started, 1, "leadership");
  s3l_candidate_init(el, &second, "a");
  second.o.server_addr = "10.0.0.2:8443";
  s3l_candidate_start(&second);
  s3l_election_wait(el, &second.errors, 1, "the second to notice");
  assert_int_equal(second.error, S3LECT_EDUPID);
  assert_non_null(strstr(second.message, "another process at 10.0.0.1:8443 has"));
  assert_int_equal(second.started, 0);
  assert_int_equal(first.stopped, 0);
  assert_int_equal(s3lect_elector_is_leader(&first.e), 1);
  /* The second follows, and takes over when the first is gone. */
  s3l_candidate_close(&first);
  s3l_election_wait(el, &second.started, 1, "the second's turn");
  s3l_election_end(el);
}

/* The store does not answer for longer than the leader timeout: the leader ends by its own clock,
 * and leads again afterwards under a new epoch. */
static void test_outage_longer_than_the_leader_timeout(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_fault(el, "{\"stall\":true}");
  s3l_election_wait(el, &c.stopped, 1, "the end of leadership");
  assert_int_equal(c.reason, S3LECT_REASON_EXPIRED);
  assert_true(c.ended_ns <= c.valid_until_ns);
  s3l_election_heal(el);
  s3l_election_wait(el, &c.started, 2, "leadership again");
  assert_true(c.epoch > 8);
  s3l_election_end(el);
}

static void test_connections_refused_then_back(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  assert_int_equal(fakes3_listen(el->server, false), 0);
  fakes3_disconnect(el->server);
  s3l_election_wait(el, &c.stopped, 1, "the end of leadership");
  assert_int_equal(c.reason, S3LECT_REASON_EXPIRED);
  assert_true(c.errors > 0);
  assert_int_equal(fakes3_listen(el->server, true), 0);
  s3l_election_wait(el, &c.started, 2, "leadership again");
  s3l_election_end(el);
}

/* The loop stands still past validity: is_leader says no at once, without the loop; the end of
 * leadership is told first of all when the loop goes on, though a renewal's reply lies ready. */
static void test_blocked_loop(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  lead(el, &c);
  s3l_election_wait(el, &c.renewed, 1, "a renewal");
  unsigned renewed = c.renewed;
  while (s3lect_now_ns() <= c.valid_until_ns) /* this is the blocked loop */
    ;
  assert_int_equal(s3lect_elector_is_leader(&c.e), 0);
  assert_int_equal(s3lect_elector_valid_for_ms(&c.e), 0);
  assert_int_equal(c.stopped, 0);
  s3l_election_wait(el, &c.stopped, 1, "the end of leadership");
  assert_int_equal(c.reason, S3LECT_REASON_EXPIRED);
  assert_int_equal(c.renewed, renewed);
  assert_true(c.ended_ns <= c.valid_until_ns);
  s3l_election_wait(el, &c.started, 2, "leadership again");
  s3l_election_end(el);
}

/* Some stores behind S3's protocol. */
static void test_bare_etags_only(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  if (!s3l_any_store_is("s3")) {
    s3l_election_end(el);
    return;
  }
  s3l_election_fault(el, "{\"bare_only\":true}");
  lead(el, &c);
  s3l_election_wait(el, &c.renewed, 3, "renewals");
  s3lect_stats_t stats = s3l_candidate_stats(&c);
  assert_int_equal(stats.conflicts, 1); /* once, then the store knows */
  assert_int_equal(c.errors, 0);
  s3l_election_end(el);
}

static void test_if_match_not_implemented(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  s3l_election_seed(el);
  s3l_election_fault(el, "{\"no_if_match\":true}");
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  if (el->epochs) { /* which do without */
    s3l_election_wait(el, &c.renewed, 3, "renewals");
    assert_int_equal(c.errors, 0);
    s3l_election_end(el);
    return;
  }
  s3l_election_wait(el, &c.errors, 1, "an error");
  assert_int_equal(c.error, S3LECT_EUNSUPPORTED);
  assert_int_equal(c.started, 0);
  s3l_election_end(el);
}

/* Three at once: one leads; a hand-over; never two (the rig looks all the time). */
static void test_three_candidates_and_hand_over(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c[3];
  s3l_candidate_t* leader = NULL;
  static const char* const ids[] = {"a", "b", "c"};
  s3l_election_seed(el);
  for (size_t i = 0; i < 3; i++) {
    s3l_candidate_init(el, &c[i], ids[i]);
    s3l_candidate_start(&c[i]);
  }
  for (size_t i = 0; i < 3; i++)
    s3l_election_wait(el, &c[i].leaders, 1, "everybody to know the leader");
  s3l_election_wait(el, &el->started, 1, "it to lead");
  for (size_t i = 0; i < 3; i++)
    if (s3lect_elector_is_leader(&c[i].e))
      leader = &c[i];
  assert_non_null(leader);
  s3l_candidate_close(leader);
  assert_int_equal(leader->reason, S3LECT_REASON_CLOSED);
  for (size_t i = 0; i < 3; i++)
    if (&c[i] != leader)
      s3l_election_wait(el, &c[i].leaders, 2, "everybody to know the next leader");
  s3l_election_wait(el, &el->started, 2, "it to lead");
  assert_true(el->last_epoch == 9);
  s3l_election_end(el);
}

/* A store that takes one write a second to an object, as Google's does: a claim that follows a
 * release at once is refused, and made again. */
static void test_one_write_a_second(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c[2];
  s3l_election_seed(el);
  s3l_election_fault(el, "{\"write_interval_ms\":1000}");
  for (size_t i = 0; i < 2; i++) {
    s3l_candidate_init(el, &c[i], i == 0 ? "a" : "b");
    c[i].o.leader_timeout_ms = 8000;
    c[i].o.renew_interval_ms = 1200;
  }
  s3l_election_lead(el, &c[0], &c[1]);
  s3l_election_wait(el, &c[0].renewed, 3, "renewals");
  s3l_candidate_close(&c[0]);
  s3l_election_wait(el, &c[1].started, 1, "the next leader");
  s3l_election_wait(el, &c[1].renewed, 2, "its renewals");
  assert_int_equal(c[1].stopped, 0);
  s3l_election_end(el);
}

#define T(test) cmocka_unit_test_setup(test, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_lost_reply_to_the_take_over),
      T(test_lost_reply_to_a_renewal),
      T(test_late_landing_renewal),
      T(test_landing_between_read_back_and_repetition),
      T(test_412_on_a_renewal),
      T(test_404_on_a_renewal),
      T(test_404_of_a_gateway),
      T(test_404_of_a_gateway_without_a_word),
      T(test_404_about_something_else),
      T(test_409_on_a_renewal),
      T(test_deposed_by_another_record),
      T(test_lockfile_deleted),
      T(test_duplicate_id),
      T(test_outage_longer_than_the_leader_timeout),
      T(test_connections_refused_then_back),
      T(test_blocked_loop),
      T(test_bare_etags_only),
      T(test_if_match_not_implemented),
      T(test_three_candidates_and_hand_over),
      T(test_one_write_a_second),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
