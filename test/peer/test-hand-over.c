/* A leader that resigns hands over to a follower that waits: over TLS that knows both sides it
 * writes the follower's claim in place of its release. Three electors with their peer servers and
 * clients on the fake S3. Where the leader does not know who asks, it releases; with epoch files it
 * always does (core/golden/epochs-no-grant.trace, test-mode.c).
 *
 * ctest labels: no-valgrind one-protocol */
#include <stdio.h>
#include <string.h>

#include "elector/executor_state.h"
#include "lib/group_certs.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "peer/server.h"

static s3l_election_t el;
static s3l_peered_t p[3];

/* What had been seen when the successor was told that it leads. */
typedef struct seen_s {
  fakes3_counters_t store;
  s3lect_stats_t own;
} seen_t;

static s3lect_event_cb record_start;
static seen_t at_start;

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = e->data;
  fakes3_counters(el.server, &at_start.store);
  at_start.own = s3l_candidate_stats(c);
  record_start(e, ev);
}

typedef enum { MUTUAL, SERVERS_ONLY, PLAIN } trust_t;

static void begin(trust_t trust) {
  static const char* const ids[] = {"a", "b \"\\ \xc3\xa9", "c"};
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  for (size_t i = 0; i < 3; i++) {
    s3l_peered_init(&el, &p[i], ids[i], trust == PLAIN ? NULL : &certs);
    p[i].c.o.leader_timeout_ms = 6000; /* so that there is time for a question to be held */
    p[i].c.o.peer_interval_ms = 2000;
    record_start = p[i].c.o.on_started_leading;
    p[i].c.o.on_started_leading = on_started;
    if (trust == SERVERS_ONLY)
      p[i].server_options.client_ca_file = NULL;
  }
}

static void end(void) {
  for (size_t i = 0; i < 3; i++)
    s3l_peered_close(&p[i]);
  s3l_election_end(&el);
}

typedef struct waits_s {
  const s3l_peered_t* leader;
  const char* id;      /* the candidate; "": any */
  uint64_t answers[3]; /* that each had had before */
} waits_t;

/* Whether the leader, with no request of its own under way, holds the question of that candidate.
 */
static bool a_candidate_waits(void* arg) {
  const waits_t* w = arg;
  const s3l_executor_t* d = w->leader->c.e.internal;
  s3lect_record_t r;
  return d->core.op.kind == S3L_OP_NONE &&
         s3l_peer_registration_candidate(&d->registration->peer, w->id, &r) &&
         r.epoch == w->leader->c.epoch + 1;
}

/* Where nothing is granted: whether the others have asked it. */
static bool all_have_asked(void* arg) {
  const waits_t* w = arg;
  for (size_t i = 0; i < 3; i++)
    if (&p[i] != w->leader && p[i].open && p[i].c.closed == 0 &&
        s3l_candidate_stats(&p[i].c).peer_answers < w->answers[i] + 2)
      return false;
  return true;
}

static void settle(const s3l_peered_t* leader, const char* candidate, bool grants) {
  waits_t w = {.leader = leader, .id = candidate};
  for (size_t i = 0; i < 3; i++)
    w.answers[i] = p[i].open && p[i].c.closed == 0 ? s3l_candidate_stats(&p[i].c).peer_answers : 0;
  s3l_wait(&el.loop, grants ? a_candidate_waits : all_have_asked, &w, "followers that ask");
}

static void start(bool grants) {
  s3l_peered_start(&p[0]);
  s3l_election_wait(&el, &p[0].c.started, 1, "the first leadership");
  s3l_peered_start(&p[1]);
  s3l_peered_start(&p[2]);
  settle(&p[0], "", grants);
}

static bool is_succeeded(void* arg) {
  return p[1].c.started + p[2].c.started > 0;
}

static s3l_peered_t* successor(void) {
  s3l_wait(&el.loop, is_succeeded, NULL, "a successor");
  return p[1].c.started > 0 ? &p[1] : &p[2];
}

/* The successor leads by one write, that of the leader before: it has not read, either. */
static void was_granted(const fakes3_counters_t* before, const s3lect_stats_t* own) {
  assert_int_equal(at_start.store.put, before->put + 1);
  assert_int_equal(at_start.own.reads, own->reads);
}

static void test_a_closing_leader(void** state) {
  fakes3_counters_t before;
  s3lect_stats_t own[3];
  begin(MUTUAL);
  start(true);
  for (size_t i = 0; i < 3; i++)
    own[i] = s3l_candidate_stats(&p[i].c);
  fakes3_counters(el.server, &before);
  s3l_candidate_close(&p[0].c);
  s3l_peered_t* next = successor();
  was_granted(&before, &own[next - p]);
  assert_int_equal(next->c.epoch, p[0].c.epoch + 1);
  assert_int_equal(p[0].c.reason, S3LECT_REASON_CLOSED);
  /* It leads on by its own writes, and the third one follows. */
  s3l_election_wait(&el, &next->c.renewed, 3, "renewals");
  s3lect_record_t r = s3l_election_record(&el);
  assert_string_equal(r.leader_id, next->c.o.server_id);
  assert_string_equal(r.leader_addr, next->addr);
  settle(next, "", true);
  assert_string_equal(p[next == &p[1] ? 2 : 1].c.leader, next->c.o.server_id);
  end();
}

/* The leader that resigned is a follower at once, and knows whom it follows. */
static void test_a_resigning_leader_follows(void** state) {
  begin(MUTUAL);
  start(true);
  assert_int_equal(s3lect_elector_resign(&p[0].c.e), 0);
  s3l_peered_t* next = successor();
  settle(next, "", true);
  assert_string_equal(p[0].c.leader, next->c.o.server_id);
  assert_int_equal(p[0].c.started, 1);
  assert_int_equal(p[0].c.errors, 0);
  end();
}

static void test_to_a_named_follower_and_back(void** state) {
  begin(MUTUAL);
  start(true);
  for (unsigned round = 1; round <= 3; round++) {
    s3l_peered_t* from = &p[round % 2 == 1 ? 0 : 2];
    s3l_peered_t* to = &p[round % 2 == 1 ? 2 : 0];
    unsigned started = to->c.started;
    fakes3_counters_t before;
    settle(from, to->c.o.server_id, true);
    s3lect_stats_t own = s3l_candidate_stats(&to->c);
    fakes3_counters(el.server, &before);
    assert_int_equal(s3lect_elector_transfer(&from->c.e, to->c.o.server_id), 0);
    s3l_election_wait(&el, &to->c.started, started + 1, "the successor");
    was_granted(&before, &own);
    assert_int_equal(to->c.epoch, from->c.epoch + 1);
    assert_int_equal(from->c.reason, S3LECT_REASON_RESIGNED);
  }
  assert_int_equal(p[1].c.started, 0);
  end();
}

/* Who leads by a claim that another wrote publishes its own value, by a write of its own. */
static void test_the_value_of_the_successor(void** state) {
  begin(MUTUAL);
  start(true);
  assert_int_equal(s3lect_elector_set_value(&p[0].c.e, "old", 1), 0);
  assert_int_equal(s3lect_elector_set_value(&p[2].c.e, "new", 0), 0);
  s3l_election_wait(&el, &p[0].c.renewed, p[0].c.renewed + 2, "the value to be written");
  settle(&p[0], "c", true);
  assert_int_equal(s3lect_elector_transfer(&p[0].c.e, "c"), 0);
  s3l_election_wait(&el, &p[2].c.renewed, 1, "the successor to renew");
  assert_string_equal(s3l_election_record(&el).value, "new");
  end();
}

/* ---- Where it goes wrong ---- */

/* The reply to the leader's write does not come: it reads the record, and tells the follower. */
static void test_the_reply_is_lost(void** state) {
  fakes3_counters_t before;
  begin(MUTUAL);
  start(true);
  s3l_election_fault(&el, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"drop_after\":true}");
  fakes3_counters(el.server, &before);
  assert_int_equal(s3lect_elector_resign(&p[0].c.e), 0);
  s3l_peered_t* next = successor();
  assert_int_equal(at_start.store.put, before.put + 1);
  assert_int_equal(next->c.epoch, p[0].c.epoch + 1);
  s3l_election_heal(&el);
  end();
}

/* The leader and all its followers stop at once: whoever was granted leadership releases it. */
static void test_all_stop_at_once(void** state) {
  begin(MUTUAL);
  start(true);
  assert_int_equal(s3lect_elector_resign(&p[0].c.e), 0);
  assert_int_equal(s3lect_elector_stop(&p[1].c.e), 0);
  assert_int_equal(s3lect_elector_stop(&p[2].c.e), 0);
  s3l_candidate_close(&p[0].c);
  s3l_candidate_close(&p[1].c);
  s3l_candidate_close(&p[2].c);
  s3lect_record_t r = s3l_election_record(&el);
  assert_true(r.released);
  assert_int_equal(p[1].c.started + p[2].c.started, 0);
  end();
}

/* ---- Where the leader does not know who asks ---- */

static void test_it_releases(trust_t trust, bool shows) {
  fakes3_counters_t before;
  begin(trust);
  for (size_t i = 0; i < 3 && !shows; i++)
    p[i].client_options.cert_file = p[i].client_options.key_file = NULL;
  start(false);
  fakes3_counters(el.server, &before);
  s3l_candidate_close(&p[0].c);
  s3l_peered_t* next = successor();
  assert_true(at_start.store.put >= before.put + 2);
  assert_true(at_start.own.writes > 0);
  assert_true(next->c.epoch > p[0].c.epoch);
  end();
}

static void test_a_server_that_asks_for_no_certificate(void** state) {
  test_it_releases(SERVERS_ONLY, true);
}

static void test_clients_that_have_none(void** state) {
  test_it_releases(SERVERS_ONLY, false);
}

static void test_plain_http(void** state) {
  test_it_releases(PLAIN, true);
}

/* The certificates hold, but they are for another host than the one in the candidates' claims. */
static void test_certificates_of_other_hosts(void** state) {
  fakes3_counters_t before;
  begin(MUTUAL);
  for (size_t i = 0; i < 3; i++)
    p[i].client_options.cert_file = certs.wrong;
  start(false);
  fakes3_counters(el.server, &before);
  s3l_candidate_close(&p[0].c);
  (void)successor();
  assert_true(at_start.store.put >= before.put + 2);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_closing_leader),
      cmocka_unit_test(test_a_resigning_leader_follows),
      cmocka_unit_test(test_to_a_named_follower_and_back),
      cmocka_unit_test(test_the_value_of_the_successor),
      cmocka_unit_test(test_the_reply_is_lost),
      cmocka_unit_test(test_all_stop_at_once),
      cmocka_unit_test(test_a_server_that_asks_for_no_certificate),
      cmocka_unit_test(test_clients_that_have_none),
      cmocka_unit_test(test_plain_http),
      cmocka_unit_test(test_certificates_of_other_hosts),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
