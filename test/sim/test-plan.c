/* What s3lect_elector_plan says about the time without a leader and about requests is never
 * exceeded: elections in virtual time, whose leaders crash, leave, or begin on an empty store, at
 * many instants, with the options that an elector would use.
 *
 * ctest labels: slow computes. */
#include <stdio.h>
#include <string.h>

#include "elector/options.h"
#include "lib/test.h"
#include "s3lect/plan.h"
#include "sim/world.h"

#define NODES 3
#ifdef __SANITIZE_ADDRESS__
#  define SEEDS 25
#else
#  define SEEDS 250
#endif
#define LATENCY_MS 60 /* of a request, at most */

static sim_plan_t plan;
static sim_world_t w;
static s3l_ns_t started_at; /* the newest leadership: true time */
static unsigned reads[NODES], writes[NODES], lists[NODES];

static void saw_step(sim_world_t* world, unsigned i, const s3l_event_t* event) {
  for (size_t k = 0; k < w.effects.len; k++) {
    const s3l_effect_t* e = &w.effects.at[k];
    reads[i] += e->kind == S3L_DO_READ;
    writes[i] += e->kind == S3L_DO_WRITE;
    lists[i] += e->kind == S3L_DO_LIST;
    if (e->kind == S3L_DO_NOTIFY && e->note == S3LECT_EVENT_STARTED_LEADING)
      started_at = w.t;
  }
}

/* Options as the command line gives them. */
typedef struct row_s {
  uint32_t timeout, renew, frequent, infrequent, grace;
  int32_t priority;
  bool epochs, peers, plain, no_release, google;
} row_t;

static const row_t rows[] = {
    {.timeout = 0},
    {.timeout = 15000, .infrequent = 30000},
    {.timeout = 5000, .infrequent = 1000},
    {.timeout = 6000, .renew = 1000, .frequent = 500},
    {.timeout = 60000, .renew = 20000, .infrequent = 10000, .grace = 3000},
    {.timeout = 15000, .no_release = true},
    {.timeout = 15000, .priority = 1},
    {.timeout = 6000, .priority = 2, .peers = true},
    {.timeout = 0, .peers = true},
    {.timeout = 5000, .peers = true},
    {.timeout = 30000, .infrequent = 5000, .peers = true},
    {.timeout = 15000, .peers = true, .plain = true},
    {.timeout = 0, .epochs = true},
    {.timeout = 10000, .infrequent = 2000, .epochs = true},
    {.timeout = 15000, .epochs = true, .peers = true},
    {.timeout = 0, .google = true},
    {.timeout = 6000, .renew = 1000, .infrequent = 500, .google = true},
    {.timeout = 15000, .peers = true, .google = true},
    {.timeout = 15000, .peers = true, .plain = true, .google = true},
    {.timeout = 0, .epochs = true, .google = true},
};

static s3lect_elector_options_t given_of(const row_t* row) {
  s3lect_elector_options_t given;
  s3lect_elector_options_init(&given, sizeof given);
  given.lockfile_path = row->epochs ? "x/" : "x";
  given.protocol = row->epochs ? S3LECT_PROTOCOL_EPOCHS : S3LECT_PROTOCOL_LOCKFILE;
  given.leader_timeout_ms = row->timeout;
  given.renew_interval_ms = row->renew;
  given.frequent_interval_ms = row->frequent;
  given.infrequent_interval_ms = row->infrequent;
  given.grace_period_ms = row->grace;
  given.priority = row->priority;
  given.no_release = row->no_release;
  return given;
}

/* With the defaults, as an elector uses them. */
static s3lect_elector_options_t resolve(const row_t* row) {
  static const s3lect_store_ops_t google = {.flags = S3LECT_STORE_SLOW_WRITES,
                                            .list = s3lect_store_list};
  static s3lect_store_t store;
  static s3lect_peer_client_t* const client = (s3lect_peer_client_t*)(void*)&store;
  s3lect_elector_options_t given = given_of(row), all = {.size = sizeof all};
  given.server_id = "a";
  given.store = &store;
  store.ops = row->google ? &google : NULL;
  given.peer_client = row->peers ? client : NULL;
  assert_int_equal(s3lect_elector_options_resolve(&given, &all, NULL), 0);
  return all;
}

static s3lect_plan_t plan_of(const row_t* row) {
  s3lect_elector_options_t given = given_of(row);
  s3lect_plan_options_t options;
  s3lect_plan_t said = {.size = sizeof said};
  s3lect_plan_options_init(&options, sizeof options);
  options.store = row->google ? S3LECT_PLAN_GCS : S3LECT_PLAN_S3;
  options.latency_ms = LATENCY_MS;
  options.peers = row->plain   ? S3LECT_PLAN_PLAIN_PEERS
                  : row->peers ? S3LECT_PLAN_PEERS
                               : S3LECT_PLAN_NO_PEERS;
  assert_int_equal(s3lect_elector_plan(&given, &options, &said, NULL), 0);
  return said;
}

static void begin(const row_t* row, uint64_t seed) {
  s3lect_elector_options_t o = resolve(row);
  sim_plan_plain(&plan, NODES, INT64_MAX);
  plan.seed = seed;
  plan.latency = LATENCY_MS * S3L_MS / 6; /* a way; it varies, up to three times as much */
  plan.epochs = row->epochs;
  plan.slow_writes = row->google;
  for (unsigned i = 0; i < NODES; i++) {
    sim_node_plan_t* node = &plan.nodes[i];
    node->config = s3l_elector_options_core(&o, node->id, node->addr);
    node->peer_holds = row->peers;
    node->peer_tls = row->peers && !row->plain;
    node->starts_at = S3L_SECOND + i * 100 * S3L_MS;
  }
  sim_world_init(&w, &plan);
  w.saw_step = saw_step;
  started_at = 0;
  sim_world_begin(&w);
}

/* Lets time pass until there is a leadership that began after `from`. Returns how long that took.
 */
static double until_led(s3l_ns_t from, uint64_t worst_ms) {
  while (started_at <= from && w.t - from < (s3l_ns_t)(2 * worst_ms + 10000) * S3L_MS)
    sim_world_advance(&w, 10 * S3L_MS);
  assert_true(started_at > from);
  return (double)(started_at - from) / 1e6;
}

typedef struct seen_s {
  double worst, sum;
} seen_t;

static void count(seen_t* seen, double ms) {
  seen->worst = ms > seen->worst ? ms : seen->worst;
  seen->sum += ms / SEEDS;
}

/* `rare`: what only one election in thousands meets. */
static void judge(const char* what, size_t row, const seen_t* seen, s3lect_plan_time_t said,
                  double rare) {
  printf("row %zu, %s: worst %.0f of %.0f ms, mean %.0f, said %.0f\n", row, what, seen->worst,
         (double)said.worst_ms, seen->sum, (double)said.mean_ms);
  assert_true(seen->worst <= (double)said.worst_ms);
  assert_true((double)said.worst_ms <= rare + 2 * seen->worst + 1500); /* it says something */
}

/* The world rests for long enough that all follow, and then for some part of an interval. */
static void rest(uint64_t seed, const s3lect_elector_options_t* o) {
  sim_world_advance(&w, (s3l_ns_t)(4 * o->leader_timeout_ms + 40000) * S3L_MS);
  sim_world_advance(&w, (s3l_ns_t)(seed * 7919 % o->leader_timeout_ms) * S3L_MS);
}

static void play(size_t k) {
  const s3lect_elector_options_t o = resolve(&rows[k]);
  const s3lect_plan_t said = plan_of(&rows[k]);
  seen_t start = {0}, crash = {0}, hand_over = {0};
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    begin(&rows[k], seed);
    count(&start, until_led(S3L_SECOND, said.first_start.worst_ms));
    rest(seed, &o);
    s3l_ns_t from = w.t;
    int leader = sim_leader(&w);
    assert_true(leader >= 0);
    sim_crash(&w, (unsigned)leader);
    count(&crash, until_led(from, said.crash.worst_ms));
    rest(seed * 3, &o);
    from = w.t;
    leader = sim_leader(&w);
    assert_true(leader >= 0);
    sim_stop(&w, (unsigned)leader, true, S3L_NEVER);
    count(&hand_over, until_led(from, said.hand_over.worst_ms));
    assert_int_equal(w.oracle.found, 0);
  }
  judge("first start", k, &start, said.first_start, 0);
  /* Where peers ask, some of these machines are gone without a word. */
  judge("crash", k, &crash, rows[k].peers ? said.lost_machine : said.crash, 0);
  /* A question that is answered before the release has landed. */
  double rare = rows[k].peers ? 1.1 * o.frequent_interval_ms : 0;
  judge("hand-over", k, &hand_over, said.hand_over, rare);
}

#define HOURS 4

static double part_of(uint64_t month) {
  return (double)month * HOURS / 720;
}

/* Quiet hours, which cost no more than their part of the month. */
static void test_requests(void** state) {
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
    const s3lect_elector_options_t o = resolve(&rows[k]);
    const s3lect_plan_t of_row = plan_of(&rows[k]);
    begin(&rows[k], 1);
    (void)until_led(S3L_SECOND, 60000);
    rest(1, &o);
    memset(reads, 0, sizeof reads);
    memset(writes, 0, sizeof writes);
    memset(lists, 0, sizeof lists);
    sim_world_advance(&w, HOURS * 3600 * S3L_SECOND);
    int leader = sim_leader(&w);
    for (int i = 0; i < NODES; i++) {
      const s3lect_plan_requests_t* said = i == leader ? &of_row.leader : &of_row.follower;
      printf("row %zu, %s: %u writes of %.0f, %u lists of %.0f, %u reads of %.0f\n", k,
             i == leader ? "leader" : "follower", writes[i], part_of(said->puts), lists[i],
             part_of(said->lists), reads[i], part_of(said->gets));
      assert_true(writes[i] <= part_of(said->puts) + 1);
      assert_true(lists[i] <= part_of(said->lists) + 1);
      assert_true(reads[i] <= part_of(said->gets) + 1);
    }
  }
}

static void test_times(void** state) {
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
    play(k);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_requests)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
