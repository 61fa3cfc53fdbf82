#include "sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/mutants.h"
#include "sim/observe.h"

int sim_mutant, sim_mutant_also;

enum {
  RND_RUN = 5000,
  RND_NET = 6000,
  RND_HAND = 7000,
  RND_PEER_NET = 8000,
  RND_TRIALS = 9000,
  RND_APP = 10000
};

s3l_ns_t sim_boot(const sim_world_t* w, const sim_node_t* n) {
  return sim_clock_read(S3L_MUTANT(LEASE_SLEWED) ? &n->slewed : &n->clock, w->t);
}

s3l_ns_t sim_slewed_in(const sim_world_t* w, const sim_node_t* n, s3l_ns_t ms) {
  return s3l_ns_add(sim_clock_read(&n->slewed, w->t), ms * S3L_MS);
}

int64_t sim_wall_ms(const sim_world_t* w, const sim_node_t* n) {
  return w->plan->store_unix_ms + w->t / S3L_MS + n->wall_offset_ms;
}

static int64_t oracle_boot(void* ctx, int node, int64_t t) {
  const sim_world_t* w = ctx;
  const sim_node_t* n = &w->nodes[node];
  return sim_clock_read(S3L_MUTANT(LEASE_SLEWED) ? &n->slewed : &n->clock, t);
}

void sim_push(sim_world_t* w, s3l_ns_t at, int kind, unsigned index, uint32_t stamp) {
  if (w->by_hand)
    return;
  sim_item_t item = {.at = at, .kind = (uint16_t)kind, .index = (uint16_t)index, .stamp = stamp};
  if (!sim_heap_push(&w->heap, item)) {
    fprintf(stderr, "s3lect-sim: the heap is full\n");
    abort();
  }
}

void sim_met(sim_world_t* w, sim_situation_t situation) {
  w->met.count[situation]++;
}

int sim_leader(const sim_world_t* w) {
  for (unsigned i = 0; i < w->plan->nodes_len; i++)
    if (oracle_believes(&w->oracle, (int)i, w->t))
      return (int)i;
  return -1;
}

/* Processes. */

void sim_know(sim_world_t* w, unsigned i, const s3l_core_config_t* c) {
  const oracle_config_t* before = &w->oracle.nodes[i].config;
  oracle_config_t config = {.leader_timeout_ms = c->leader_timeout_ms,
                            .renew_interval_ms = c->renew_interval_ms,
                            .frequent_interval_ms = c->frequent_interval_ms,
                            .infrequent_interval_ms = c->infrequent_interval_ms,
                            .peer_mode = c->peer_mode,
                            .peer_proven = w->plan->nodes[i].peer_tls,
                            .stop_ack_ms = c->stop_ack_ms,
                            .drift_ppm = c->drift_ppm,
                            .renew_deadline_ms = c->renew_deadline_ms,
                            .warn_before_ms = c->warn_before_ms,
                            .head_start = sim_plan_head_start(c),
                            .store_clock = c->store_clock};
  /* A write of before may land yet. */
  if (before->leader_timeout_ms != 0 && before->head_start < config.head_start)
    config.head_start = before->head_start;
  oracle_set_config(&w->oracle, (int)i, &config);
}

static void init_node(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  const sim_node_plan_t* plan = &w->plan->nodes[i];
  n->plan = plan;
  n->clock = (sim_clock_t){.boot_base = plan->boot, .ppb = plan->ppb};
  n->slewed = (sim_clock_t){.boot_base = plan->boot, .ppb = plan->ppb + plan->slew_ppb};
  n->wall_offset_ms = plan->wall_offset_ms;
  n->rnd = sim_rnd(w->plan->seed, RND_RUN + i);
  n->net = sim_rnd(w->plan->seed, RND_NET + i);
  n->peer_net = sim_rnd(w->plan->seed, RND_PEER_NET + i);
  n->ask.left_at = SIM_ASKED_NOBODY;
  n->request = SIM_NO_REQUEST;
  n->gc = SIM_NO_REQUEST;
  n->timer_at = S3L_NEVER;
  n->weather = (sim_weather_t){.slow = 1, .fair = true, .peer_slow = 1};
  n->app = sim_rnd(w->plan->seed, RND_APP + i);
  n->config_at = w->plan->seed % 2 == 0 ? 0 : S3L_NEVER;
  sim_know(w, i, &plan->config);
  if ((w->nodes_out & (1u << i)) == 0)
    sim_push(w, plan->starts_at, SIM_ON_BEGIN, i, 0);
}

static void start_standing(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  uint64_t id[2] = {s3l_prng_next(&n->rnd), s3l_prng_next(&n->rnd)};
  char incarnation[S3LECT_INCARNATION_SIZE];
  snprintf(incarnation, sizeof incarnation, "%016llx%016llx", (unsigned long long)id[0],
           (unsigned long long)id[1]);
  n->ask.sent_at = 0;
  oracle_stands(&w->oracle, (int)i);
  s3l_event_t ev = {
      .kind = S3L_EV_START, .incarnation = incarnation, .seed = s3l_prng_next(&n->rnd)};
  sim_step(w, i, &ev);
}

void sim_begin(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  if (n->process == SIM_UP) {
    if (n->core.phase == S3L_PHASE_STOPPED) {
      sim_met(w, SIM_MET_STOOD_AGAIN);
      start_standing(w, i);
    }
    return;
  }
  n->process = SIM_UP;
  n->life++;
  n->dialect_bare = false;
  n->dialect_proven = false;
  n->closing = false;
  n->timer_at = S3L_NEVER;
  n->timer_stamp++;
  sim_log_line(w->log, w->t, "n%u begins", i);
  sim_saw_begin(w, i);
  s3l_core_config_t config = n->plan->config;
  config.protocol = w->plan->epochs ? &s3l_epoch_files : &s3l_lockfile;
  config.epochs = &n->epochs;
  n->epochs = (s3l_epochs_t){.keep = w->plan->keep_epochs};
  s3l_core_init(&n->core, &config);
  sim_know(w, i, &n->plan->config);
  n->values = 0;
  sim_publish(w, i);
  oracle_begins(&w->oracle, (int)i, w->t);
  start_standing(w, i);
}

void sim_crash(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  sim_forget_request(w, i);
  sim_peer_died(w, i);
  sim_saw_end(w, i);
  n->process = SIM_DOWN;
  n->paused_until = 0;
  n->stopped_at = 0;
  n->timer_at = S3L_NEVER;
  n->timer_stamp++;
  oracle_dies(&w->oracle, (int)i, w->t);
}

void sim_pause(sim_world_t* w, unsigned i, s3l_ns_t until) {
  sim_node_t* n = &w->nodes[i];
  if (until > n->paused_until)
    n->paused_until = until;
  /* What had piled up is worked off within the first milliseconds. */
  oracle_blocked(&w->oracle, (int)i, until + 5 * S3L_MS);
}

/* The loop. */

/* Of a node that is paused: comes again when it runs. What comes first then is open: timers, or
 * replies that have been waiting. Every other pause of a leader begins within the step that takes a
 * reply in, between its reading of the clock and what it tells other threads: that goes on first.
 */
static bool postponed(sim_world_t* w, const sim_item_t* item, unsigned node) {
  sim_node_t* n = &w->nodes[node];
  if (n->paused_until <= w->t)
    return false;
  s3l_ns_t order = item->kind == SIM_ON_TIMER ? (s3l_ns_t)sim_below(&n->rnd, 2) * 2000 : 1000;
  bool within = n->core.announced && n->stopped_at == 0 && n->paused_until / S3L_MS % 2 == 1;
  if (within && item->kind == SIM_ON_REPLY) {
    n->stopped_at = w->t;
    order = -1;
  }
  sim_push(w, n->paused_until + order + 1, item->kind, item->index, item->stamp);
  return true;
}

static void on_chapter(sim_world_t* w, size_t c) {
  w->chapter = c;
  w->calm_at = w->plan->chapters[c].calm_from;
  for (size_t i = w->plan->chapters[c].faults_from; i < w->plan->chapters[c].faults_to; i++)
    sim_push(w, w->plan->faults[i].at, SIM_ON_FAULT, (unsigned)i, 0);
  sim_push(w, w->plan->chapters[c].quiet_from, SIM_ON_QUIET, (unsigned)c, 0);
  sim_push(w, w->plan->chapters[c].quiet_to, SIM_ON_NOISE, (unsigned)c + 1, 0);
  if ((w->plan->troubles & SIM_BIT(PEERS)) != 0 && !w->plan->blind)
    sim_push(w, w->plan->chapters[c].quiet_to, SIM_ON_TRIAL, SIM_NODES_MAX, 0);
}

static void on_noise(sim_world_t* w, size_t c) {
  if (w->oracle.quiet) {
    oracle_quiet_ends(&w->oracle, w->t);
    if (w->plan->epochs)
      sim_files_check(w);
  }
  if (c < w->plan->chapters_len)
    on_chapter(w, c);
}

static void on_request_item(sim_world_t* w, const sim_item_t* item) {
  sim_request_t* r = &w->requests[item->index];
  if (r->stamp != item->stamp)
    return;
  if (item->kind == SIM_ON_ARRIVAL) {
    sim_on_arrival(w, item->index);
    return;
  }
  if (r->done || postponed(w, item, r->node))
    return;
  if (item->kind == SIM_ON_REPLY)
    sim_on_reply(w, item->index);
  else
    sim_on_broken(w, item->index);
}

static void on_node_item(sim_world_t* w, const sim_item_t* item) {
  sim_node_t* n = &w->nodes[item->index];
  if (item->kind == SIM_ON_TIMER && item->stamp != n->timer_stamp)
    return;
  if (item->kind == SIM_ON_APP && (item->stamp != n->life || n->process == SIM_DOWN))
    return;
  if (postponed(w, item, item->index))
    return;
  if (item->kind == SIM_ON_TIMER) {
    sim_on_timer(w, item->index);
  } else if (item->kind == SIM_ON_BEGIN) {
    sim_begin(w, item->index);
  } else {
    s3l_event_t ev = {.kind = S3L_EV_ACK, .epoch = n->core.unacknowledged};
    if (n->core.ack_owed)
      sim_met(w, SIM_MET_ACKNOWLEDGED);
    oracle_acknowledged(&w->oracle, item->index);
    sim_step(w, item->index, &ev);
  }
}

static void on_ask_item(sim_world_t* w, const sim_item_t* item) {
  const sim_ask_t* a = &w->nodes[item->index].ask;
  if (!a->active || a->stamp != item->stamp)
    return;
  int runs = item->kind == SIM_ON_ANSWER ? item->index : a->asked;
  if (runs >= 0 && postponed(w, item, (unsigned)runs))
    return;
  if (item->kind == SIM_ON_ASK)
    sim_on_ask(w, item->index);
  else if (item->kind == SIM_ON_WAITED)
    sim_on_waited(w, item->index);
  else
    sim_on_answer(w, item->index);
}

static void dispatch(sim_world_t* w, const sim_item_t* item) {
  switch (item->kind) {
  case SIM_ON_TIMER:
  case SIM_ON_BEGIN:
  case SIM_ON_APP:
    on_node_item(w, item);
    break;
  case SIM_ON_ARRIVAL:
  case SIM_ON_REPLY:
  case SIM_ON_BROKEN:
    on_request_item(w, item);
    break;
  case SIM_ON_ASK:
  case SIM_ON_WAITED:
  case SIM_ON_ANSWER:
    on_ask_item(w, item);
    break;
  case SIM_ON_TRIAL:
    sim_on_trial(w, item->index < SIM_NODES_MAX ? item->index : -1);
    break;
  case SIM_ON_FAULT:
    sim_on_fault(w, item->index);
    break;
  case SIM_ON_FAULT_END:
    sim_on_fault_end(w, item->index);
    break;
  case SIM_ON_FOREIGN:
    if (item->stamp == w->foreign.stamp)
      sim_on_foreign(w, item->index);
    break;
  case SIM_ON_QUIET:
    if (w->plan->chapters[item->index].quiet_to > w->t && !w->plan->blind)
      oracle_quiet_begins(&w->oracle, w->t);
    break;
  default:
    on_noise(w, item->index);
    break;
  }
}

void sim_world_init(sim_world_t* w, const sim_plan_t* plan) {
  memset(w, 0, offsetof(sim_world_t, heap));
  memset(&w->store, 0, offsetof(sim_store_t, at));
  for (unsigned i = 0; i < SIM_REQUESTS_MAX; i++)
    memset(&w->requests[i], 0, offsetof(sim_request_t, leader_id));
  w->plan = plan;
  w->until = plan->end;
  w->wanted = ~0u;
}

void sim_world_begin(sim_world_t* w) {
  sim_heap_init(&w->heap);
  w->store.clock.ppb = w->plan->store_ppb;
  w->store.unix_ms = w->plan->store_unix_ms;
  w->store.dialect = w->plan->dialect;
  w->store.lag = w->plan->list_lag;
  w->store.blind = w->plan->blind;
  w->store.blind_from = w->plan->blind_from;
  w->store.page = w->plan->list_page;
  w->store.no_if_match = w->plan->no_if_match;
  w->hand = sim_rnd(w->plan->seed, RND_HAND);
  w->trials = sim_rnd(w->plan->seed, RND_TRIALS);
  w->on_trial = -1;
  for (uint16_t i = 0; i < SIM_REQUESTS_MAX; i++)
    w->requests[i].next_free = i + 1 < SIM_REQUESTS_MAX ? (uint16_t)(i + 1) : SIM_NO_REQUEST;
  oracle_init(&w->oracle, (int)w->plan->nodes_len, oracle_boot, w);
  w->oracle.epochs = w->plan->epochs;
  for (unsigned i = 0; i < w->plan->nodes_len; i++)
    init_node(w, i);
  on_chapter(w, 0);
}

static void run_until(sim_world_t* w, s3l_ns_t until) {
  sim_item_t item;
  while (w->heap.len > 0 && w->heap.items[0].at <= until && (w->oracle.found & w->wanted) == 0) {
    (void)sim_heap_pop(&w->heap, &item);
    w->t = item.at;
    dispatch(w, &item);
  }
}

void sim_world_run(sim_world_t* w) {
  sim_world_begin(w);
  run_until(w, w->until);
}

void sim_world_advance(sim_world_t* w, s3l_ns_t by) {
  s3l_ns_t until = w->t + by;
  run_until(w, until);
  w->t = until;
}
