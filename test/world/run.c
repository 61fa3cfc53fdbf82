/* world/run.c: see run.h.
 *
 * A run consists of chapters: faults come and go, then all is well for a while, in which there must
 * be one lasting leader, and requests as rare as promised. Then the leader publishes a value at
 * once and resigns, which others must know of in time. In the end everything is closed.
 *
 * What costs most is not in every run: the store is under TLS in 5 % of the runs, and of the 30 %
 * in peer mode 15 % are under mutual TLS; three quarters poll more rarely than by default, and
 * renew as rarely as the leader timeout allows. The store computes one signature in seven again
 * (WORLD_VERIFY_EVERY); what else a request says of itself it checks each time. */
#include "world/run.h"

#include <stdio.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/application.h"
#include "world/bucket.h"
#include "world/judge.h"
#include "world/names.h"
#include "world/service.h"
#include "world/socket.h"
#include "world/store.h"
#include "world/trial.h"

#define CHAPTER_S    3600
#define QUIET_S      600
#define CLOSE_WAIT_S 400
#define UNDER_WAY_S  120
#define GRACE_PART   10 /* of a leader timeout: a grace period */

/* ---- A seed's configuration ---- */

static void configure(uint64_t seed, bool epochs) {
  static const uint32_t timeouts[] = {6000,  10000, 15000, 15000, 15000, 30000,
                                      30000, 30000, 60000, 60000, 60000, 60000};
  static const uint32_t intervals[] = {0, 15000, 30000, 60000}; /* 0: the default */
  s3l_prng_t r = sim_rnd(seed, 3);
  uint32_t t = timeouts[sim_below(&r, 12)];
  uint32_t interval = intervals[sim_below(&r, 4)];
  bool mixed = sim_chance(&r, 200);
  bool peer = sim_chance(&r, 300);
  bool store_clock = sim_chance(&r, 150);
  bool by_name = sim_chance(&r, 500);
  bool tls = sim_chance(&r, 50) || world_store->tls;
  bool peer_tls = sim_chance(&r, 150);
  if (peer && peer_tls && t < 15000)
    t = 15000; /* as often as they ask then, TLS would take most of a run's time */
  bool seldom = sim_chance(&r, 750); /* renews as rarely as its timeout allows */
  bool credentials = sim_chance(&r, 250) && world_store->services;
  for (int i = 0; i < election.nodes_len; i++) {
    world_config_t* c = &election.nodes[i].config;
    if (mixed)
      t = timeouts[sim_below(&r, 12)];
    *c = (world_config_t){.leader_timeout_ms = t,
                          .epochs = epochs,
                          .by_name = by_name,
                          .tls = tls,
                          .peer_tls = peer_tls,
                          .credentials = credentials,
                          .peer_mode = peer && !(mixed && sim_chance(&r, 300)),
                          .store_clock = store_clock,
                          .infrequent_interval_ms = interval,
                          .renew_interval_ms = seldom ? t / 3 : 0};
    c->grace_period_ms = sim_chance(&r, 100) ? t / GRACE_PART : 0;
    if (sim_chance(&r, 250)) {
      c->stop_ack_ms = (uint32_t)sim_between(&r, 200, 5000);
      c->ack_delay_ms = (uint32_t)sim_between(&r, 0, 6000);
    }
    c->max_connections = sim_chance(&r, 300) ? (uint32_t)sim_between(&r, 1, 3) : 0;
    c->idle_timeout_ms = sim_chance(&r, 300) ? (uint32_t)sim_between(&r, 500, 60000) : 0;
    if (i > 0 && sim_chance(&r, 40))
      election.nodes[i].id = election.nodes[i - 1].id;
    /* A handshake costs as much as twenty requests. */
    if (tls && sim_chance(&r, 900))
      c->idle_timeout_ms = 120000;
    election.nodes[i].lease_ppb = sim_between(&r, -9999000, 9999000);
    election.nodes[i].timer_ppb = sim_between(&r, -500000, 500000);
  }
  world_log("leader timeout %u ms%s%s%s%s%s", t, mixed ? ", mixed" : "", peer ? ", peers" : "",
            peer && peer_tls ? " under TLS" : "", tls ? ", store under TLS" : "",
            credentials ? ", keys from a service" : "");
  if (epochs)
    election.oracle.epochs = true;
  election.epochs = epochs;
  election.mixed = mixed;
  election.peers = peer;
}

/* What applications ask for besides. Drawn apart, so that all else of a seed stays what it was. */
static void configure_applications(uint64_t seed) {
  s3l_prng_t r = sim_rnd(seed, 8);
  bool values = sim_chance(&r, 600);
  bool updates = sim_chance(&r, 400);
  bool priorities = sim_chance(&r, 500);
  bool deadlines = sim_chance(&r, 500);
  for (int i = 0; i < election.nodes_len; i++) {
    world_config_t* c = &election.nodes[i].config;
    c->values = values;
    c->updates = updates;
    c->priority = priorities ? (int32_t)sim_between(&r, 1, 3) : 0;
    uint32_t t = c->leader_timeout_ms;
    if (deadlines && sim_chance(&r, 400))
      c->renew_deadline_ms = (uint32_t)sim_between(&r, 5, t / 6);
    /* In quiet a renewal takes less than two seconds. */
    if (deadlines && sim_chance(&r, 600))
      c->warn_before_ms =
          (uint32_t)sim_between(&r, 1, t * 99 / 100 - t / 3 - c->renew_deadline_ms - 2000);
  }
}

static void set_ways(void) {
  for (uint32_t a = 0; a < WORLD_MACHINES; a++)
    for (uint32_t b = 0; b < WORLD_MACHINES; b++)
      world_net.way[a][b] = (world_way_t){.delay_ns = 2 * WORLD_MS, .jitter_ns = WORLD_MS};
}

/* What a store does all the time, and the library copes with. */
static void choose_dialect(uint64_t seed) {
  s3l_prng_t r = sim_rnd(seed, 6);
  uint32_t n = 0;
  while (world_store->dialects[n] != NULL)
    n++;
  if (sim_chance(&r, 250))
    world_bucket_speak(world_store->dialects[sim_below(&r, n - !election.epochs)]);
}

static uint32_t longest_timeout_ms(void) {
  uint32_t most = 0;
  for (int i = 0; i < election.nodes_len; i++)
    if (election.nodes[i].config.leader_timeout_ms > most)
      most = election.nodes[i].config.leader_timeout_ms;
  return most;
}

/* How long after the last fault there is a lasting leader, by the rules of docs/safety.md. The
 * worst case is a provisional claim of a process that is dead. Over the lockfile the absence before
 * it may be observed for T(1+d), and the claim for another T(1+d). With epoch files others leave
 * the claim for 3T(1+d), then make their own, which stands for 2T(1+d). Clocks may be slow by d.
 * The grace period of the new leader comes on top, and what is under way when the faults end:
 * requests that a proxy sends again later, pauses between two reads. */
static int64_t recovery_ns(void) {
  int64_t timeout = longest_timeout_ms() * WORLD_MS;
  int64_t waits = election.epochs ? 5 : 2;
  return waits * timeout * 102 / 100 + timeout / GRACE_PART + UNDER_WAY_S * WORLD_S;
}

/* ---- A run ---- */

static bool is_bad(void) {
  return election.oracle.found != 0 || election.broken[0] != '\0';
}

static void chapter(int64_t from, int64_t length) {
  int64_t quiet = QUIET_S * WORLD_S;
  int64_t settle = recovery_ns();
  if (length < 2 * (quiet + settle)) {
    quiet = length / 4;
    settle = length / 4 > settle ? settle : length / 4;
  }
  world_chaos.on = true;
  world_chaos.gap_s = (uint32_t)sim_between(&world_chaos.random, 4, 60);
  world_event_set(&world_chaos.next, world.now + 20 * WORLD_S);
  world_run_until(from + length - quiet - settle);
  world_heal();
  world_run_until(from + length - quiet);
  if (is_bad())
    return;
  oracle_quiet_begins(&election.oracle, world.now);
  world_application_quiet();
  world_chaos.on = world_chaos.quiet = true;
  world_event_set(&world_chaos.next, world.now + 10 * WORLD_S);
  world_run_until(from + length);
  world_chaos.quiet = false;
  oracle_quiet_ends(&election.oracle, world.now);
  world_judge_quiet();
  world_heal();
  if (!is_bad())
    world_trial();
}

static void close_everything(void) {
  for (int i = 0; i < election.nodes_len; i++)
    world_node_end(&election.nodes[i], WORLD_LEAVES);
  int64_t until = world.now + CLOSE_WAIT_S * WORLD_S;
  while (election.ghosts > 0 && world.now < until)
    world_run_until(world.now + WORLD_S);
  if (election.ghosts > 0)
    world_broken("%u processes cannot be closed", election.ghosts);
  world_bucket_stop();
  until = world.now + CLOSE_WAIT_S * WORLD_S;
  while (!world_bucket_end() && world.now < until)
    world_run_until(world.now + WORLD_S);
  world_service_end();
  world_net_end();
  world_end();
}

static void judge(world_verdict_t* v) {
  const oracle_t* o = &election.oracle;
  v->found = o->found | (election.broken[0] != '\0' ? WORLD_FOUND_BROKEN : 0);
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    if (o->violations[i].found && v->text[0] == '\0')
      snprintf(v->text, sizeof(v->text), "%s: %.3f s: %s", oracle_check_name((oracle_check_t)i),
               (double)o->violations[i].at / 1e9, o->violations[i].text);
  if (v->text[0] == '\0')
    snprintf(v->text, sizeof(v->text), "%s", election.broken);
  v->digest = sim_mix(world.digest, world.turns);
  v->turns = world.turns;
  v->segments = world.segments;
  v->counters = election.counters;
  v->requests = bucket.requests;
  memcpy(v->met, world_met, sizeof(v->met));
  memcpy(v->faults, world_chaos.counts, sizeof(v->faults));
}

void world_run_seed(uint64_t seed, unsigned nodes, unsigned minutes, bool epochs, uint32_t faults,
                    world_verdict_t* verdict) {
  memset(verdict, 0, sizeof(*verdict));
  memset(&world_names, 0, sizeof(world_names));
  memset(world_met, 0, sizeof(world_met));
  world_begin(seed);
  world_net_begin();
  set_ways();
  world_net.cut_per_mille = 100;
  world_election_begin(seed, (int)nodes);
  configure(seed, epochs);
  configure_applications(seed);
  world_chaos_begin(seed, faults);
  world_bucket_begin(seed, election.nodes[0].config.tls);
  choose_dialect(seed);
  world_service_begin(seed);
  for (int i = 0; i < election.nodes_len; i++)
    world_node_begin(&election.nodes[i]);
  int64_t length = (int64_t)minutes * 60 * WORLD_S;
  for (int64_t at = 0; at < length && !is_bad(); at += CHAPTER_S * WORLD_S)
    chapter(at, length - at < CHAPTER_S * WORLD_S ? length - at : CHAPTER_S * WORLD_S);
  if (world_chaos.on)
    world_heal();
  close_everything();
  judge(verdict);
}
