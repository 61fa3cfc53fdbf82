/* sim/plan_peers.c: who asks whom, and what goes wrong between. Drawn apart from the rest of the
 * plan, so that a seed means the same where nobody is asked. */
#include <string.h>

#include "sim/plan.h"
#include "sim/rnd.h"

#define MINUTE (60 * S3L_SECOND)

enum { RND_PEERS = 3, RND_PEER_FAULTS = 4, RND_PEER_NODE = 2000 };

/* All, none or half of the nodes, per mille. */
static uint32_t pick_share(s3l_prng_t* g, uint32_t all, uint32_t none) {
  uint64_t x = sim_below(g, 1000);
  return x < all ? 1000 : x < all + none ? 0 : 500;
}

void sim_plan_peer_nodes(sim_plan_t* p) {
  if ((p->troubles & SIM_BIT(PEERS)) == 0)
    return;
  s3l_prng_t g = sim_rnd(p->seed, RND_PEERS);
  uint32_t ask = pick_share(&g, 550, 200);
  uint32_t tls = pick_share(&g, 600, 200);
  uint32_t hold = pick_share(&g, 700, 100);
  for (unsigned i = 0; i < p->nodes_len; i++) {
    sim_node_plan_t* n = &p->nodes[i];
    s3l_core_config_t* c = &n->config;
    s3l_prng_t own = sim_rnd(p->seed, RND_PEER_NODE + i);
    c->peer_mode = sim_chance(&own, ask);
    n->peer_tls = sim_chance(&own, tls);
    c->candidacy = c->peer_mode && n->peer_tls;
    n->peer_holds = sim_chance(&own, hold);
    /* A word that proves nothing counts for four of these: the quiet spell must be longer. */
    if (c->peer_mode && c->infrequent_interval_ms > 2 * c->leader_timeout_ms)
      c->infrequent_interval_ms = 2 * c->leader_timeout_ms;
    c->peer_interval_ms = c->infrequent_interval_ms;
    if (sim_chance(&own, 300))
      c->peer_interval_ms = (uint32_t)sim_between(&own, 1000, c->infrequent_interval_ms);
    c->peer_timeout_ms = sim_chance(&own, 700) ? 3000 : (uint32_t)sim_between(&own, 1500, 6000);
  }
}

static void detail(s3l_prng_t* g, const sim_plan_t* p, sim_fault_t* f) {
  f->who = sim_chance(g, 800) ? SIM_WHO_LEADER : SIM_WHO_ALL;
  switch (f->kind) {
  case SIM_FAULT_PEER_CUT:
    f->a = sim_between(g, 0, 2);
    break;
  case SIM_FAULT_PEER_SLOW:
    f->a = INT64_C(1) << sim_between(g, 1, 9);
    break;
  case SIM_FAULT_PEER_STAMPS:
    break;
  case SIM_FAULT_TRANSFER:
    f->who = SIM_WHO_LEADER;
    f->a = (int64_t)sim_below(g, p->nodes_len + 1);
    break;
  default:
    f->a = sim_chance(g, 300) ? 1000 : sim_between(g, 50, 1000);
    break;
  }
}

void sim_plan_peer_faults(sim_plan_t* p, s3l_ns_t from, s3l_ns_t calm_from) {
  static const uint8_t kinds[] = {
      SIM_FAULT_PEER_CUT,   SIM_FAULT_PEER_CUT,    SIM_FAULT_PEER_CUT,    SIM_FAULT_PEER_SLOW,
      SIM_FAULT_PEER_STALE, SIM_FAULT_PEER_STALE,  SIM_FAULT_PEER_WRONG,  SIM_FAULT_PEER_LIES,
      SIM_FAULT_PEER_LIES,  SIM_FAULT_PEER_STAMPS, SIM_FAULT_PEER_STAMPS, SIM_FAULT_TRANSFER,
      SIM_FAULT_TRANSFER,
  };
  if ((p->troubles & SIM_BIT(PEERS)) == 0)
    return;
  s3l_prng_t g = sim_rnd(p->seed, RND_PEER_FAULTS + (uint64_t)(from / S3L_SECOND) * 16);
  int64_t rest = p->nodes[0].config.leader_timeout_ms * S3L_MS * 3;
  for (s3l_ns_t at = from + sim_between(&g, 0, 5 * MINUTE);
       at < calm_from && p->faults_len < SIM_FAULTS_MAX; at += sim_heavy(&g, rest + MINUTE, 3)) {
    sim_fault_t* f = &p->faults[p->faults_len++];
    memset(f, 0, sizeof *f);
    f->kind = kinds[sim_below(&g, sizeof kinds)];
    f->at = at;
    f->until = at + sim_plan_duration(&g, p);
    if (f->until > calm_from)
      f->until = calm_from;
    detail(&g, p, f);
  }
}
