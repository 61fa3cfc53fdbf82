/* world/application.c: see application.h. */
#include "world/application.h"

#include <stdio.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/faults.h"
#include "world/judge.h"
#include "world/situations.h"
#include "world/value.h"

#define GAP_NS  (40 * WORLD_S) /* between two wishes of one application */
#define HALF_NS (WORLD_S / 2)  /* the head start of a priority */

/* ---- Options ---- */

void world_application_options(world_life_t* l, s3lect_elector_options_t* o) {
  const world_config_t* c = &l->config;
  s3lect_elector_options_init(o, sizeof(*o));
  o->lockfile_path = WORLD_KEY;
  o->server_id = l->node->id;
  o->server_addr = l->addr; /* without peer mode nobody listens there */
  o->store = &l->store;
  o->protocol = c->epochs ? S3LECT_PROTOCOL_EPOCHS : S3LECT_PROTOCOL_LOCKFILE;
  o->leader_timeout_ms = c->leader_timeout_ms;
  o->renew_interval_ms = c->renew_interval_ms;
  o->frequent_interval_ms = c->frequent_interval_ms;
  o->infrequent_interval_ms = c->infrequent_interval_ms;
  o->request_timeout_ms = c->request_timeout_ms;
  o->grace_period_ms = c->grace_period_ms;
  o->stop_ack_ms = c->stop_ack_ms;
  o->renew_deadline_ms = c->renew_deadline_ms;
  o->warn_before_ms = c->warn_before_ms;
  o->priority = c->priority;
  o->expiry = c->store_clock ? S3LECT_EXPIRY_STORE_CLOCK : S3LECT_EXPIRY_OBSERVED;
  o->peer_client = c->peer_mode ? &l->client : NULL;
}

static int64_t head_start(const s3lect_elector_options_t* o) {
  int64_t quarter = o->renew_interval_ms * WORLD_MS / 4;
  return (3 - o->priority) * (quarter < HALF_NS ? quarter : HALF_NS);
}

/* Tells the oracle. An update takes effect a while later, so that until then the shorter head start
 * counts, and the longer request. */
static void know(world_life_t* l, const s3lect_elector_options_t* o, bool update) {
  s3lect_elector_options_t all = {.size = sizeof(all)};
  const oracle_config_t* before = &election.oracle.nodes[l->node->index].config;
  if (s3lect_elector_options_resolve(o, &all, NULL) != 0)
    return;
  int64_t request_ns = all.request_timeout_ms * WORLD_MS;
  oracle_config_t known = {.leader_timeout_ms = all.leader_timeout_ms,
                           .renew_interval_ms = all.renew_interval_ms,
                           .frequent_interval_ms = all.frequent_interval_ms,
                           .infrequent_interval_ms = all.infrequent_interval_ms,
                           .stop_ack_ms = all.stop_ack_ms,
                           .drift_ppm = all.drift_ppm,
                           .renew_deadline_ms = all.renew_deadline_ms,
                           .warn_before_ms = all.warn_before_ms,
                           .head_start = head_start(&all),
                           .store_clock = l->config.store_clock,
                           .peer_mode = l->config.peer_mode,
                           .peer_proven = l->config.peer_mode && l->config.peer_tls};
  if (update && before->head_start < known.head_start)
    known.head_start = before->head_start;
  if (!update || request_ns > l->request_ns)
    l->request_ns = request_ns;
  oracle_set_config(&election.oracle, l->node->index, &known);
}

/* ---- Wishes ---- */

void world_application_publish(world_life_t* l, bool at_once) {
  char text[S3LECT_VALUE_SIZE];
  if (!l->config.values)
    return;
  world_value_text(text, l->node->index, l->number, l->values + 1);
  int r = s3lect_elector_set_value(&l->elector, text, at_once);
  if (r == 0)
    world_judge_value(l, ++l->values);
  else if (r != UV_ENOMEM)
    world_broken("%s cannot set a value: %s", l->node->name, s3lect_strerror(r));
}

static void change_intervals(world_life_t* l) {
  static const uint32_t infrequent[] = {0, 15000, 30000, 60000}; /* 0: the default */
  s3l_prng_t* r = &l->wishes;
  uint32_t t = l->config.leader_timeout_ms;
  l->config.renew_interval_ms = sim_chance(r, 500) ? (uint32_t)sim_between(r, t / 5, t / 3) : 0;
  l->config.infrequent_interval_ms = infrequent[sim_below(r, 4)];
}

static void change_timeout(world_life_t* l) {
  const world_config_t* other =
      &election.nodes[sim_below(&l->wishes, (uint32_t)election.nodes_len)].config;
  l->config.leader_timeout_ms = other->leader_timeout_ms;
  l->config.renew_interval_ms = other->renew_interval_ms;
}

/* A leader's address is where it listens, if anybody asks it. Nobody knows the leader timeout of a
 * lockfile that is gone, which is why it differs only in runs that have no such fault. */
static void change_something(world_life_t* l) {
  bool fixed = l->config.warn_before_ms > 0 || l->config.renew_deadline_ms > 0;
  switch (sim_below(&l->wishes, 4)) {
  case 0:
    if (!election.peers)
      (void)snprintf(l->addr, sizeof(l->addr), "10.0.0.%d:%d", l->node->index + 1,
                     WORLD_PEERPORT + (int)sim_below(&l->wishes, 3));
    break;
  case 1:
    l->config.priority = (int32_t)sim_between(&l->wishes, 1, 3);
    break;
  case 2:
    if (election.mixed && !fixed)
      change_timeout(l);
    break;
  default:
    change_intervals(l);
    break;
  }
}

static void meet_update(const world_life_t* l, bool timeout, int error) {
  bool leads = oracle_believes(&election.oracle, l->node->index, world.now);
  if (timeout)
    world_meet(error == 0 ? WORLD_MET_UPDATED_TIMEOUT : WORLD_MET_UPDATE_REFUSED);
  else if (leads && error == 0)
    world_meet(WORLD_MET_UPDATED_LEADER);
  if (timeout && leads && error == 0)
    world_broken("%s changes its leader timeout while it leads", l->node->name);
}

static void update(world_life_t* l) {
  world_config_t config = l->config;
  char addr[sizeof(l->addr)];
  s3lect_elector_options_t o;
  s3lect_error_t error;
  memcpy(addr, l->addr, sizeof(addr));
  change_something(l);
  world_application_options(l, &o);
  bool timeout = config.leader_timeout_ms != l->config.leader_timeout_ms;
  int r = s3lect_elector_update(&l->elector, &o, &error);
  meet_update(l, timeout, r);
  if (r == 0) {
    know(l, &o, true);
    l->timeouts_told = l->timeouts_told || timeout;
    return;
  }
  l->config = config;
  memcpy(l->addr, addr, sizeof(addr));
  if (r != UV_ENOMEM && !(timeout && r == UV_EBUSY))
    world_broken("%s cannot be updated: %s", l->node->name, error.text);
}

static void wish(world_life_t* l) {
  world_host_t* was = world_enter(l->host);
  if (l->config.updates && sim_chance(&l->wishes, 300))
    update(l);
  else
    world_application_publish(l, sim_chance(&l->wishes, 500));
  world_wake(l->host);
  world_leave(was);
}

static void on_wish(world_event_t* event) {
  world_life_t* l = S3L_CONTAINER_OF(event, world_life_t, wish);
  if (l->ghost || l->closing)
    return;
  if (world.now < l->host->blocked_until) {
    world_event_set(event, l->host->blocked_until);
    return;
  }
  if (world_chaos.on && !world_chaos.quiet)
    wish(l);
  world_event_set(event, world.now + sim_heavy(&l->wishes, GAP_NS, 4));
}

void world_application_begin(world_life_t* l, const s3lect_elector_options_t* o) {
  know(l, o, false);
  world_application_publish(l, false);
  l->wishes = sim_rnd(election.seed * 1000003 + l->number * 16 + (uint32_t)l->node->index, 9);
  l->wish = (world_event_t){.run = on_wish, .apart = true};
  if (l->config.values || l->config.updates)
    world_event_set(&l->wish, world.now + sim_heavy(&l->wishes, GAP_NS, 4));
}

void world_application_quiet(void) {
  for (int i = 0; i < election.nodes_len; i++) {
    world_life_t* l = election.nodes[i].life;
    if (l == NULL || l->closing)
      continue;
    world_host_t* was = world_enter(l->host);
    world_application_publish(l, false);
    world_wake(l->host);
    world_leave(was);
  }
}
