/* What the oracle says of quiet spells: one lasting leader, and what it may cost. */
#include "sim/history.h"

/* An hour in which node 0 leads, renewing each `renew`, and the others read each `poll`; 0: never.
 */
static void quiet_hour(int64_t renew, int64_t poll) {
  int64_t from = 100 * S;
  leads(0, from, 5);
  oracle_quiet_begins(&o, from);
  uint64_t n = 2;
  for (int64_t t = from + renew; t < from + 3600 * S; t += renew) {
    writes(0, t, 5, n++);
    oracle_valid(&o, 0, t, lease(0, t));
    tells(0, t, ORACLE_RENEWED, 5, lease(0, t));
  }
  for (int64_t t = from; poll > 0 && t < from + 3600 * S; t += poll)
    for (int i = 1; i < 3; i++) {
      oracle_read_sent(&o, i, t);
      oracle_read_done(&o, i, true);
    }
  oracle_quiet_ends(&o, from + 3600 * S);
}

static void test_quiet_hour(void** state) {
  quiet_hour(4750 * MS, 12 * S);
  assert_found(0);
}

static void test_a_leader_that_writes_too_often(void** state) {
  quiet_hour(4 * S, 12 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_read_too_often(void** state) {
  quiet_hour(4750 * MS, 8 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_hardly_read(void** state) {
  quiet_hour(4750 * MS, 24 * S);
  assert_found(ONLY(BUDGET));
}

/* Whatever its interval is, a follower reads when the record that it saw may be replaced. */
static void test_followers_that_sleep(void** state) {
  for (int sleeps = 0; sleeps < 2; sleeps++) {
    (void)setup(state);
    for (int i = 0; i < 3; i++)
      o.nodes[i].config.infrequent_interval_ms = 30000;
    quiet_hour(4750 * MS, sleeps ? 30 * S : 15 * S);
    assert_found(sleeps ? ONLY(BUDGET) : 0);
  }
}

/* A swap that is refused costs what a read does; the next file is created after a look only. */
static void test_a_follower_that_tries_in_vain(void** state) {
  for (int files = 0; files < 2; files++) {
    (void)setup(state);
    o.epochs = files == 1;
    leads(0, S, 5);
    oracle_quiet_begins(&o, S);
    oracle_write_t w = record(1, 2 * S, 6, 1);
    oracle_write_sent(&o, 2 * S, &w);
    oracle_quiet_ends(&o, 3 * S);
    assert_found(files == 1 ? ONLY(BUDGET) : 0);
  }
}

static void all_in_peer_mode(bool proven) {
  for (int i = 0; i < 3; i++) {
    o.nodes[i].config.peer_mode = true;
    o.nodes[i].config.peer_proven = proven;
  }
}

static void test_followers_that_ask_a_proven_leader(void** state) {
  all_in_peer_mode(true);
  quiet_hour(4750 * MS, 0);
  assert_found(0);
}

static void test_followers_that_ask_and_read(void** state) {
  all_in_peer_mode(true);
  quiet_hour(4750 * MS, 1000 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_ask_whoever_it_is(void** state) {
  all_in_peer_mode(false);
  quiet_hour(4750 * MS, 48 * S);
  assert_found(0);
}

static void test_followers_that_trust_whoever_it_is(void** state) {
  all_in_peer_mode(false);
  quiet_hour(4750 * MS, 1000 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_ask_in_vain(void** state) {
  all_in_peer_mode(true);
  o.nodes[0].config.peer_mode = false;
  quiet_hour(4750 * MS, 5 * S);
  assert_found(0);
}

static void test_no_leader_in_quiet(void** state) {
  oracle_quiet_begins(&o, S);
  assert_found(ONLY(LIVENESS));
}

static void test_a_leader_that_is_not_known(void** state) {
  leads(0, S, 5);
  tells(1, S, ORACLE_NO_LEADER, 0, 0);
  oracle_quiet_begins(&o, 2 * S);
  assert_found(ONLY(LIVENESS));
  (void)setup(state);
  leads(0, S, 5);
  oracle_quiet_begins(&o, 2 * S);
  tells(1, 3 * S, ORACLE_NO_LEADER, 0, 0);
  assert_found(ONLY(LIVENESS));
}

static void test_a_change_of_leader_in_quiet(void** state) {
  leads(0, S, 5);
  oracle_quiet_begins(&o, 2 * S);
  assert_found(0);
  stops(0, 3 * S, 5);
  assert_found(ONLY(LIVENESS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_quiet_hour),
      T(test_a_leader_that_writes_too_often),
      T(test_followers_that_read_too_often),
      T(test_followers_that_hardly_read),
      T(test_followers_that_sleep),
      T(test_a_follower_that_tries_in_vain),
      T(test_followers_that_ask_a_proven_leader),
      T(test_followers_that_ask_and_read),
      T(test_followers_that_ask_whoever_it_is),
      T(test_followers_that_trust_whoever_it_is),
      T(test_followers_that_ask_in_vain),
      T(test_no_leader_in_quiet),
      T(test_a_leader_that_is_not_known),
      T(test_a_change_of_leader_in_quiet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
