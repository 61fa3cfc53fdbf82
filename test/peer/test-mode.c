/* Peer mode through the public API: three electors with their peer servers and clients, over TLS
 * with client certificates, on the fake S3.
 *
 * ctest labels: no-valgrind */
#include <stdio.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_election_t el;
static s3l_peered_t p[3];

static void begin(bool tls) {
  static const char* const ids[] = {"a", "b", "c"};
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  for (size_t i = 0; i < 3; i++)
    s3l_peered_init(&el, &p[i], ids[i], tls ? &certs : NULL);
}

/* One leads, and the others have asked it. */
typedef struct settled_s {
  const s3l_peered_t* leader;
  uint64_t answers[3]; /* how many each had had before */
} settled_t;

static bool is_settled(void* arg) {
  const settled_t* s = arg;
  for (size_t i = 0; i < 3; i++)
    if (&p[i] != s->leader && s3l_candidate_stats(&p[i].c).peer_answers < s->answers[i] + 2)
      return false;
  return true;
}

static void settle_under(const s3l_peered_t* leader) {
  settled_t s = {.leader = leader};
  for (size_t i = 0; i < 3; i++)
    s.answers[i] = s3l_candidate_stats(&p[i].c).peer_answers;
  s3l_wait(&el.loop, is_settled, &s, "answers of the leader");
}

static void settle(void) {
  s3l_peered_start(&p[0]);
  s3l_election_wait(&el, &p[0].c.started, 1, "the first leadership");
  s3l_peered_start(&p[1]);
  s3l_peered_start(&p[2]);
  settle_under(&p[0]);
  /* A released epoch file invites only those who have watched for a leader timeout: they, too,
   * would else be in no order. */
  if (el.epochs)
    s3l_election_wait(&el, &p[0].c.renewed, p[0].c.renewed + 12, "a leader timeout");
}

/* What the followers were told that the leader publishes. */
static unsigned values;
static char value[2][S3LECT_VALUE_SIZE];

static void on_value(s3lect_elector_t* e, const s3lect_event_t* ev) {
  for (size_t i = 1; i < 3; i++)
    if (e == &p[i].c.e) {
      snprintf(value[i - 1], sizeof value[0], "%s", ev->value);
      assert_int_equal(ev->epoch, p[0].c.epoch);
      values++;
    }
}

static void end(void) {
  for (size_t i = 0; i < 3; i++)
    s3l_peered_close(&p[i]);
  s3l_election_end(&el);
}

static void test_followers_ask_the_leader(void** state) {
  fakes3_counters_t before, after;
  begin(true);
  settle();
  fakes3_counters(el.server, &before);
  unsigned renewed = p[0].c.renewed;
  s3l_election_wait(&el, &p[0].c.renewed, renewed + 12, "renewals");
  fakes3_counters(el.server, &after);
  /* One put per renewal, with epoch files a listing behind it, and nothing else. */
  assert_int_equal(after.put, before.put + 12);
  assert_int_equal(after.list, before.list + (el.epochs ? 12 : 0));
  assert_int_equal(after.requests, before.requests + (el.epochs ? 24 : 12));
  for (size_t i = 1; i < 3; i++) {
    s3lect_stats_t s = s3l_candidate_stats(&p[i].c);
    assert_int_equal(s.peer_failures + s.peer_refused, 0);
    assert_int_equal(p[i].c.errors, 0);
    assert_string_equal(p[i].c.leader, "a");
  }
  end();
}

/* By the answers alone; over plain HTTP, which anybody could forge, by a read of the store. */
static void test_a_value(void** state, bool tls) {
  fakes3_counters_t before, after;
  values = 0;
  begin(tls);
  p[1].c.o.on_value = p[2].c.o.on_value = on_value;
  settle();
  fakes3_counters(el.server, &before);
  for (unsigned n = 1; n <= 3; n++) {
    assert_int_equal(s3lect_elector_set_value(&p[0].c.e, n < 3 ? &"aup"[n % 2] : NULL, 1), 0);
    s3l_election_wait(&el, &values, 2 * n, "followers to be told");
    assert_string_equal(value[0], n < 3 ? &"aup"[n % 2] : "");
    assert_string_equal(value[1], value[0]);
  }
  fakes3_counters(el.server, &after);
  if (tls)
    assert_int_equal(after.get, before.get);
  for (size_t i = 0; i < 3; i++)
    assert_int_equal(p[i].c.errors, 0);
  end();
}

static void test_a_value_over_tls(void** state) {
  test_a_value(state, true);
}

static void test_a_value_over_plain_http(void** state) {
  test_a_value(state, false);
}

/* Whoever is next, once the first has gone. */
static bool is_succeeded(void* arg) {
  return p[1].c.started + p[2].c.started > 0;
}

static void test_a_closing_leader_is_followed_at_once(void** state) {
  begin(true);
  settle();
  s3l_candidate_close(&p[0].c);
  /* What was held was answered behind the release, so the first look showed it. */
  s3l_wait(&el.loop, is_succeeded, NULL, "a successor");
  s3l_peered_t* next = p[1].c.started > 0 ? &p[1] : &p[2];
  s3lect_stats_t s = s3l_candidate_stats(&next->c);
  assert_true(s.peer_failures >= 1); /* the 404 */
  assert_true(next->c.epoch > p[0].c.epoch);
  assert_int_equal(p[0].c.reason, S3LECT_REASON_CLOSED);
  end();
}

static void test_a_transfer_names_the_next_leader(void** state) {
  begin(true);
  settle();
  for (unsigned round = 1; round <= 3; round++) {
    s3l_peered_t* from = &p[round % 2 == 1 ? 0 : 2];
    s3l_peered_t* to = &p[round % 2 == 1 ? 2 : 0];
    unsigned started = to->c.started;
    assert_int_equal(s3lect_elector_transfer(&from->c.e, to->c.o.server_id), 0);
    assert_int_equal(s3lect_elector_is_leader(&from->c.e), 0);
    assert_int_equal(s3lect_elector_transfer(&from->c.e, "b"), UV_EINVAL);
    s3l_election_wait(&el, &to->c.started, started + 1, "the successor");
    assert_int_equal(from->c.reason, S3LECT_REASON_RESIGNED);
    settle_under(to);
  }
  assert_int_equal(p[1].c.started, 0);
  end();
}

static void test_whom_a_transfer_cannot_name(void** state) {
  char long_id[S3LECT_ID_SIZE + 1];
  begin(true);
  settle();
  memset(long_id, 'x', sizeof long_id - 1);
  long_id[sizeof long_id - 1] = '\0';
  assert_int_equal(s3lect_elector_transfer(&p[0].c.e, ""), S3LECT_EOPTION);
  assert_int_equal(s3lect_elector_transfer(&p[0].c.e, "a"), S3LECT_EOPTION);
  assert_int_equal(s3lect_elector_transfer(&p[0].c.e, long_id), S3LECT_EOPTION);
  assert_int_equal(s3lect_elector_transfer(&p[0].c.e, "\xff"), S3LECT_EOPTION);
  assert_int_equal(s3lect_elector_transfer(&p[1].c.e, "c"), UV_EINVAL);
  assert_int_equal(s3lect_elector_is_leader(&p[0].c.e), 1);
  /* One who does not stand: somebody else leads, after the head start. */
  assert_int_equal(s3lect_elector_transfer(&p[0].c.e, "nobody"), 0);
  s3l_wait(&el.loop, is_succeeded, NULL, "a successor");
  end();
}

static void test_over_plain_http_the_store_is_asked_still(void** state) {
  begin(false);
  settle();
  uint64_t reads[3];
  for (size_t i = 1; i < 3; i++)
    reads[i] = s3l_candidate_stats(&p[i].c).reads;
  s3l_candidate_close(&p[0].c);
  s3l_wait(&el.loop, is_succeeded, NULL, "a successor");
  size_t next = p[1].c.started > 0 ? 1 : 2;
  assert_true(s3l_candidate_stats(&p[next].c).reads > reads[next]);
  end();
}

static void test_who_cannot_be_trusted_is_not_believed(void** state) {
  begin(true);
  p[0].server_options.cert_file = certs.stranger;
  s3l_peered_start(&p[0]);
  s3l_election_wait(&el, &p[0].c.started, 1, "the first leadership");
  s3l_peered_start(&p[1]);
  s3l_election_wait(&el, &p[1].c.errors, 1, "a complaint");
  assert_int_equal(p[1].c.error, S3LECT_ETLSCA);
  uint64_t reads = s3l_candidate_stats(&p[1].c).reads;
  unsigned renewed = p[0].c.renewed;
  s3l_election_wait(&el, &p[0].c.renewed, renewed + 8, "renewals");
  s3lect_stats_t s = s3l_candidate_stats(&p[1].c);
  assert_true(s.reads > reads + 1); /* by the store, then */
  assert_int_equal(s.peer_answers, 0);
  assert_int_equal(p[1].c.errors, 1); /* told once */
  s3lect_status_t status = {.size = sizeof status};
  assert_int_equal(s3lect_elector_status(&p[1].c.e, &status), 0);
  assert_int_equal(status.peer_error, S3LECT_ETLSCA); /* and for as long as it is so */
  end();
}

/* ---- Closing in any order ---- */

static void on_server_closed(s3lect_peer_server_t* server) {
  ++*(unsigned*)server->data;
}

static void on_client_closed(s3lect_peer_client_t* client) {
  ++*(unsigned*)client->data;
}

static bool reads_on(void* arg) {
  return s3l_candidate_stats(&p[1].c).reads > *(const uint64_t*)arg;
}

/* Its question is held by the leader all the while. */
static void test_a_client_may_be_closed_before_its_elector(void** state) {
  unsigned closed = 0;
  s3lect_elector_t late;
  begin(true);
  settle();
  p[1].client.data = &closed;
  s3lect_peer_client_close(&p[1].client, on_client_closed);
  s3lect_peer_client_close(&p[1].client, on_client_closed); /* nothing */
  p[1].c.o.peer_client = &p[1].client;
  assert_int_equal(s3lect_elector_init(&el.loop, &late, &p[1].c.o, NULL), UV_ECANCELED);
  /* From now on it asks the store, and says so once. */
  s3l_election_wait(&el, &p[1].c.errors, 1, "a complaint");
  uint64_t reads = s3l_candidate_stats(&p[1].c).reads + 3;
  s3l_wait(&el.loop, reads_on, &reads, "reads of the store");
  assert_int_equal(p[1].c.errors, 1);
  assert_int_equal(p[1].c.error, UV_ECANCELED);
  assert_int_equal(closed, 0);
  s3l_candidate_close(&p[1].c);
  s3l_wait_count(&el.loop, &closed, 1, "the client to close");
  assert_null(p[1].client.internal);
  assert_int_equal(s3lect_elector_init(&el.loop, &late, &p[1].c.o, NULL), UV_ECANCELED);
  p[1].open = false;
  s3lect_peer_server_close(&p[1].server, NULL);
  end();
  assert_int_equal(closed, 1);
}

static void test_a_server_may_be_closed_before_its_elector(void** state) {
  unsigned closed = 0;
  begin(true);
  settle();
  p[0].server.data = &closed;
  s3lect_peer_server_close(&p[0].server, on_server_closed);
  s3l_wait_count(&el.loop, &closed, 1, "the server to close");
  /* It leads on, its followers ask the store. */
  unsigned renewed = p[0].c.renewed;
  uint64_t reads = s3l_candidate_stats(&p[1].c).reads + 3;
  s3l_wait(&el.loop, reads_on, &reads, "reads of the store");
  s3l_election_wait(&el, &p[0].c.renewed, renewed + 2, "renewals");
  assert_int_equal(p[0].c.stopped, 0);
  p[0].open = false;
  s3l_candidate_close(&p[0].c);
  s3lect_peer_client_close(&p[0].client, NULL);
  end();
}

/* Followers whose questions are held leave, for good or for a while. */
static void test_followers_may_leave_while_they_are_held(void** state) {
  begin(true);
  settle();
  s3l_candidate_close(&p[1].c);
  assert_int_equal(s3lect_elector_stop(&p[2].c.e), 0);
  unsigned renewed = p[0].c.renewed;
  s3l_election_wait(&el, &p[0].c.renewed, renewed + 2, "renewals");
  uint64_t asked = s3l_candidate_stats(&p[2].c).peer_checks;
  assert_int_equal(s3lect_elector_start(&p[2].c.e), 0);
  s3l_election_wait(&el, &p[0].c.renewed, renewed + 8, "renewals");
  assert_true(s3l_candidate_stats(&p[2].c).peer_checks > asked);
  assert_int_equal(p[2].c.errors, 0);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_followers_ask_the_leader),
      cmocka_unit_test(test_a_value_over_tls),
      cmocka_unit_test(test_a_value_over_plain_http),
      cmocka_unit_test(test_a_closing_leader_is_followed_at_once),
      cmocka_unit_test(test_a_transfer_names_the_next_leader),
      cmocka_unit_test(test_whom_a_transfer_cannot_name),
      cmocka_unit_test(test_over_plain_http_the_store_is_asked_still),
      cmocka_unit_test(test_who_cannot_be_trusted_is_not_believed),
      cmocka_unit_test(test_a_client_may_be_closed_before_its_elector),
      cmocka_unit_test(test_a_server_may_be_closed_before_its_elector),
      cmocka_unit_test(test_followers_may_leave_while_they_are_held),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
