/* Peer mode between three nodes, in virtual time: what a stable hour costs, and how fast the next
 * leader is found. What one core makes of its leader's answers: test/core/golden/peer-*.trace. */
#include <string.h>

#include "lib/test.h"
#include "s3lect/errno.h"
#include "sim/world.h"

#define NODES 3
#define WAY   (20 * S3L_MS) /* to the store and back at the most; so far away is a peer, too */

static sim_plan_t plan;
static sim_world_t w;
static unsigned asks[NODES];
static s3l_ns_t started_at[NODES];
static s3l_ns_t takeover_at[NODES]; /* as the last notice told that tells it */

static void saw_step(sim_world_t* world, unsigned i, const s3l_event_t* event) {
  for (size_t k = 0; k < w.effects.len; k++) {
    const s3l_effect_t* e = &w.effects.at[k];
    asks[i] += e->kind == S3L_DO_PROBE;
    if (e->kind != S3L_DO_NOTIFY)
      continue;
    if (e->note == S3LECT_EVENT_STARTED_LEADING)
      started_at[i] = sim_boot(&w, &w.nodes[i]);
    if (e->note == S3LECT_EVENT_STARTED_LEADING || e->note == S3LECT_EVENT_NEW_LEADER)
      takeover_at[i] = e->takeover_at;
  }
}

static int begin(bool authenticated) {
  sim_plan_plain(&plan, NODES, INT64_MAX);
  plan.latency = WAY / 6; /* it varies, up to three times as much */
  for (int i = 0; i < NODES; i++) {
    plan.nodes[i].config.peer_mode = true;
    plan.nodes[i].peer_tls = authenticated;
    plan.nodes[i].peer_holds = true;
  }
  sim_world_init(&w, &plan);
  w.saw_step = saw_step;
  sim_world_begin(&w);
  sim_world_advance(&w, 360 * S3L_SECOND);
  return 0;
}

static int setup(void** state) {
  return begin(true);
}

static int teardown(void** state) {
  assert_int_equal(w.oracle.found, 0);
  return 0;
}

static int leader(void) {
  int i = sim_leader(&w);
  assert_true(i >= 0);
  return i;
}

static void to_leader(s3l_event_kind_t kind, const char* successor) {
  sim_step(&w, (unsigned)leader(), &(s3l_event_t){.kind = kind, .successor = successor});
}

/* Returns who leads. The oracle counts the requests of a quiet spell, and checks that, too. */
static int stable_hour(void) {
  int leads = leader();
  memset(asks, 0, sizeof asks);
  oracle_quiet_begins(&w.oracle, w.t);
  sim_world_advance(&w, 3600 * S3L_SECOND);
  oracle_quiet_ends(&w.oracle, w.t);
  assert_int_equal(leader(), leads);
  return leads;
}

static void test_a_stable_hour(void** state) {
  uint32_t renewals = w.nodes[leader()].core.stats.renewals;
  int leads = stable_hour();
  const oracle_node_t* o = w.oracle.nodes;
  assert_int_equal(o[leads].reads, 0);
  assert_int_equal(o[leads].writes, w.nodes[leads].core.stats.renewals - renewals);
  assert_in_range(o[leads].writes, 720, 800); /* one each 4.5 to 5 s */
  for (int i = 0; i < NODES; i++)
    if (i != leads) {
      assert_int_equal(o[i].reads + o[i].writes, 0);
      assert_in_range(asks[i], 3600 / 8, 3600 / 4);
    }
}

/* Of an answer over plain HTTP nobody knows whose it is: the store is read now and then. */
static void test_a_stable_hour_over_plain_http(void** state) {
  begin(false);
  int leads = stable_hour();
  for (int i = 0; i < NODES; i++)
    if (i != leads) {
      assert_int_equal(w.oracle.nodes[i].writes, 0);
      assert_in_range(w.oracle.nodes[i].reads, 29, 31); /* one in four infrequent intervals */
    }
}

static void test_hand_over(void** state) {
  int left = leader();
  to_leader(S3L_EV_RESIGN, NULL);
  assert_int_equal(sim_leader(&w), -1);
  assert_true(w.nodes[left].core.release_owed);
  sim_world_advance(&w, WAY);
  assert_false(w.nodes[left].core.release_owed);
  assert_int_equal(w.met.count[SIM_MET_PEER_TOLD_END], NODES - 1);
  sim_world_advance(&w, 3 * WAY); /* the way of the answer, a read, a take-over */
  assert_int_not_equal(leader(), left);
}

/* The connections of those who wait for its answer are reset. */
static void crash(int died) {
  for (unsigned i = 0; i < NODES; i++) {
    sim_ask_t* ask = &w.nodes[i].ask;
    if (!ask->waits)
      continue;
    ask->waits = false;
    ask->answer = (sim_answer_t){.kind = S3L_PEER_FAILED, .status = S3LECT_EPEER};
    sim_push(&w, w.t, SIM_ON_ANSWER, i, ask->stamp);
  }
  sim_crash(&w, (unsigned)died);
}

/* Its followers notice at once, wait for no longer than safety demands, and say how long that was.
 */
static void test_crash(void** state) {
  for (int round = 0; round < 20; round++) {
    s3l_ns_t legal[NODES];
    int died = leader();
    s3l_ns_t valid_until = w.nodes[died].core.valid_until;
    crash(died);
    sim_world_advance(&w, S3L_SECOND);
    for (int i = 0; i < NODES; i++)
      legal[i] = w.nodes[i].core.observed.takeover_at;
    sim_world_advance(&w, 16 * S3L_SECOND);
    int leads = leader();
    for (int i = 0; i < NODES; i++)
      if (i != died)
        assert_int_equal(takeover_at[i], legal[i]);
    assert_true(takeover_at[leads] >= valid_until);
    assert_true(started_at[leads] > takeover_at[leads]);
    assert_true(started_at[leads] <= takeover_at[leads] + 2 * WAY);
    sim_begin(&w, (unsigned)died);
    sim_world_advance(&w, 31 * S3L_SECOND + round * 777 * S3L_MS);
  }
}

static void test_transfer(void** state) {
  int leads = leader();
  for (int to = 0; to < NODES; to++) {
    if (to == leads)
      continue;
    to_leader(S3L_EV_TRANSFER, plan.nodes[to].id);
    sim_world_advance(&w, S3L_SECOND);
    assert_int_equal(leader(), to);
    sim_world_advance(&w, 30 * S3L_SECOND);
    leads = to;
  }
}

/* Somebody is named who does not stand: when the head start is over, anybody takes it. */
static void test_transfer_to_nobody(void** state) {
  int left = leader();
  to_leader(S3L_EV_TRANSFER, "z");
  sim_world_advance(&w, S3L_SUCCESSOR_PRIORITY);
  assert_int_equal(sim_leader(&w), -1);
  sim_world_advance(&w, S3L_SECOND);
  assert_int_not_equal(leader(), left);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_a_stable_hour), T(test_a_stable_hour_over_plain_http),
      T(test_hand_over),     T(test_crash),
      T(test_transfer),      T(test_transfer_to_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
