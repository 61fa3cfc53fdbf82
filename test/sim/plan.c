#include "sim/plan.h"

#include <stdio.h>
#include <string.h>

#include "sim/rnd.h"

#define HOUR    (3600 * S3L_SECOND)
#define MINUTE  (60 * S3L_SECOND)
#define CHAPTER (4 * HOUR)

/* Purposes of generators; the ones of nodes and faults start at these. */
enum { RND_PLAN = 1, RND_FAULTS = 2, RND_FILES = 3, RND_DEADLINES = 4, RND_NODE = 1000 };

void sim_plan_config(sim_node_plan_t* node, unsigned index, uint32_t leader_timeout_ms) {
  snprintf(node->id, sizeof node->id, "node-%u", index);
  snprintf(node->addr, sizeof node->addr, "10.0.0.%u:8443", index + 1);
  s3l_core_config_t* c = &node->config;
  memset(c, 0, sizeof *c);
  c->id = node->id;
  c->addr = node->addr;
  c->leader_timeout_ms = leader_timeout_ms;
  c->frequent_interval_ms = leader_timeout_ms / 3;
  c->infrequent_interval_ms = 2 * leader_timeout_ms;
  c->drift_ppm = 10000;
  c->peer_interval_ms = c->infrequent_interval_ms;
  c->peer_timeout_ms = 3000;
  c->release_timeout_ms = 1000;
  c->renew_interval_ms = s3l_default_renew_ms(c->frequent_interval_ms, leader_timeout_ms);
  c->request_timeout_ms =
      s3l_default_request_timeout_ms(c->renew_interval_ms, leader_timeout_ms, c->drift_ppm, 1);
}

void sim_plan_plain(sim_plan_t* p, unsigned nodes, s3l_ns_t end) {
  memset(p, 0, sizeof *p);
  p->seed = 7;
  p->nodes_len = nodes;
  p->end = p->settle = end;
  p->uniform = true;
  p->store_unix_ms = INT64_C(1730025045000);
  p->list_page = 100;
  for (unsigned k = 0; k < nodes; k++) {
    sim_plan_config(&p->nodes[k], k, 15000);
    p->nodes[k].boot = S3L_SECOND;
    p->nodes[k].starts_at = (1 + k) * S3L_SECOND;
  }
  p->chapters_len = 1;
  p->chapters[0].calm_from = p->chapters[0].quiet_from = p->chapters[0].quiet_to = end;
}

static uint32_t pick_leader_timeout(s3l_prng_t* g) {
  static const uint32_t ms[] = {6000,  15000, 15000, 15000, 30000,
                                30000, 30000, 60000, 60000, 120000};
  return ms[sim_below(g, sizeof ms / sizeof ms[0])];
}

/* Options that differ from node to node; those that must agree for the promise to hold do not. */
static void vary_options(s3l_prng_t* g, sim_node_plan_t* node) {
  s3l_core_config_t* c = &node->config;
  uint32_t t = c->leader_timeout_ms;
  if (sim_chance(g, 300))
    c->frequent_interval_ms = (uint32_t)sim_between(g, t / 10, t);
  if (sim_chance(g, 300))
    c->infrequent_interval_ms = (uint32_t)sim_between(g, t / 2, 6 * (int64_t)t);
  if (sim_chance(g, 300))
    c->renew_interval_ms = (uint32_t)sim_between(g, t / 8, t / 3);
  if (sim_chance(g, 200))
    c->request_timeout_ms = (uint32_t)sim_between(g, 1000, c->request_timeout_ms);
  if (sim_chance(g, 250))
    c->grace_period_ms = (uint32_t)sim_between(g, 1, t);
  if (sim_chance(g, 250))
    c->stop_ack_ms = (uint32_t)sim_between(g, 100, t / 2);
  if (sim_chance(g, 100))
    c->no_release = true;
  node->ack_delay_ms =
      sim_chance(g, 250) ? UINT32_MAX : (uint32_t)sim_below(g, c->stop_ack_ms / 2 + 1);
}

static int64_t pick_ppb(s3l_prng_t* g, uint32_t drift_ppm, uint32_t troubles, bool at_bound) {
  int64_t bound = (int64_t)drift_ppm * 1000;
  if ((troubles & SIM_BIT(BEYOND_DRIFT)) != 0)
    bound *= 4;
  else if ((troubles & SIM_BIT(DRIFT)) == 0)
    return 0;
  if (at_bound)
    return sim_chance(g, 500) ? bound : -bound;
  return sim_between(g, -bound, bound);
}

/* chrony slews by as much as this by default. */
static int64_t pick_slew_ppb(s3l_prng_t* g, uint32_t troubles) {
  const int64_t bound = 83333000;
  if ((troubles & SIM_BIT(SLEW)) == 0)
    return 0;
  return sim_chance(g, 500) ? sim_between(g, -bound, bound) : sim_chance(g, 500) ? bound : -bound;
}

static void plan_nodes(sim_plan_t* p, s3l_prng_t* g) {
  bool vary = (p->troubles & SIM_BIT(OPTIONS)) != 0;
  bool twins = (p->troubles & SIM_BIT(DUPLICATE)) != 0 && p->nodes_len > 1 && sim_chance(g, 150);
  bool at_bound = sim_chance(g, 500);
  uint32_t t = pick_leader_timeout(g);
  uint32_t drift = sim_chance(g, 800) ? 10000 : sim_chance(g, 500) ? 1000 : 40000;
  uint32_t clocked = sim_chance(g, 200) ? 500 : 0; /* per mille of nodes */
  p->uniform = !vary || sim_chance(g, 700);
  for (unsigned i = 0; i < p->nodes_len; i++) {
    sim_node_plan_t* n = &p->nodes[i];
    s3l_prng_t own = sim_rnd(p->seed, RND_NODE + i);
    sim_plan_config(n, i, p->uniform ? t : pick_leader_timeout(&own));
    n->config.drift_ppm = drift;
    n->config.request_timeout_ms = s3l_default_request_timeout_ms(
        n->config.renew_interval_ms, n->config.leader_timeout_ms, drift, 1);
    if (vary)
      vary_options(&own, n);
    if ((p->troubles & SIM_BIT(STORE_CLOCK)) != 0)
      n->config.store_clock = sim_chance(&own, clocked);
    n->ppb = pick_ppb(&own, drift, p->troubles, at_bound);
    n->boot = sim_between(&own, S3L_SECOND, 1000 * HOUR);
    n->wall_offset_ms = (p->troubles & SIM_BIT(WALL)) != 0
                            ? sim_heavy(&own, 20000, 12) * (sim_chance(&own, 500) ? 1 : -1)
                            : sim_between(&own, -300, 300);
    n->starts_at = sim_between(&own, 0, 2 * t) * S3L_MS;
    n->slew_ppb = pick_slew_ppb(&own, p->troubles);
  }
  if (twins)
    memcpy(p->nodes[1].id, p->nodes[0].id, sizeof p->nodes[1].id);
  p->store_ppb = pick_ppb(g, drift, p->troubles, at_bound);
}

static void plan_store(sim_plan_t* p, s3l_prng_t* g) {
  static const int64_t latency_ms[] = {2, 15, 60, 150};
  p->latency = latency_ms[sim_below(g, 4)] * S3L_MS;
  p->store_unix_ms = INT64_C(1700000000000) + sim_between(g, 0, INT64_C(400000000000));
  p->dialect = SIM_TAKES_BOTH;
  if ((p->troubles & SIM_BIT(DIALECT)) != 0 && sim_chance(g, 300))
    p->dialect = sim_chance(g, 700) ? SIM_TAKES_BARE : SIM_TAKES_QUOTED;
}

/* Of a run with epoch files. A store that lags, or leaves conditions out, does so all the time. */
static void plan_files(sim_plan_t* p) {
  s3l_prng_t g = sim_rnd(p->seed, RND_FILES);
  bool lags = (p->troubles & SIM_BIT(LAG)) != 0 && sim_chance(&g, 300);
  p->keep_epochs = sim_chance(&g, 100);
  int64_t least = p->nodes[0].config.leader_timeout_ms;
  for (unsigned i = 1; i < p->nodes_len; i++)
    if (p->nodes[i].config.leader_timeout_ms < least)
      least = p->nodes[i].config.leader_timeout_ms;
  p->list_lag = lags ? sim_between(&g, 0, least / 2) * S3L_MS : 0;
  p->blind = (p->troubles & SIM_BIT(BLIND)) != 0;
  if (p->blind)
    p->blind_from = sim_chance(&g, 300) ? -1 : sim_between(&g, 0, p->end);
  p->no_if_match = (p->troubles & SIM_BIT(NO_IF_MATCH)) != 0 && sim_chance(&g, 500);
  p->list_page = sim_chance(&g, 200) ? 3 : 1000;
  /* Followers that read several times between two renewals. */
  bool often = (p->troubles & SIM_BIT(OPTIONS)) != 0 && sim_chance(&g, 150);
  for (unsigned i = 0; i < p->nodes_len; i++) {
    s3l_core_config_t* c = &p->nodes[i].config;
    if (often) {
      c->renew_interval_ms = c->leader_timeout_ms / 3;
      c->frequent_interval_ms = c->infrequent_interval_ms =
          (uint32_t)sim_between(&g, c->leader_timeout_ms / 16, c->leader_timeout_ms / 4);
    }
    uint32_t most =
        s3l_default_request_timeout_ms(c->renew_interval_ms, c->leader_timeout_ms, c->drift_ppm, 2);
    c->request_timeout_ms = c->request_timeout_ms < most ? c->request_timeout_ms : most;
  }
}

int64_t sim_plan_head_start(const s3l_core_config_t* c) {
  int64_t step = c->renew_interval_ms < 2000 ? c->renew_interval_ms * S3L_MS / 4 : 500 * S3L_MS;
  return c->priority == 0 ? 0 : (3 - c->priority) * step;
}

/* Leaders that end early, and that are warned before; candidates of several priorities. */
static void plan_deadlines(sim_plan_t* p) {
  s3l_prng_t g = sim_rnd(p->seed, RND_DEADLINES);
  for (unsigned i = 0; i < p->nodes_len; i++) {
    s3l_core_config_t* c = &p->nodes[i].config;
    int64_t used = c->renew_interval_ms + (p->epochs ? 2 : 1) * (int64_t)c->request_timeout_ms;
    int64_t hold = (int64_t)c->leader_timeout_ms * (1000000 - c->drift_ppm) / 1000000;
    int64_t left = hold - used - S3L_RETRY_TOTAL_MS;
    if (sim_chance(&g, 200) && left > 5)
      c->renew_deadline_ms = (uint32_t)sim_between(&g, 5, left);
    int64_t most = hold - c->renew_interval_ms - c->renew_deadline_ms;
    c->priority = (uint8_t)sim_below(&g, 4);
    if (sim_chance(&g, 300) && most > 2001) /* in quiet a renewal takes less than 2 s */
      c->warn_before_ms = (uint32_t)sim_between(&g, 1, most - 2000);
  }
}

s3l_ns_t sim_plan_settle(const sim_plan_t* p) {
  int64_t timeout = 0, poll = 0, retries = 0, extra = 0;
  for (unsigned i = 0; i < p->nodes_len; i++) {
    const s3l_core_config_t* c = &p->nodes[i].config;
    int64_t slow = c->infrequent_interval_ms > c->frequent_interval_ms ? c->infrequent_interval_ms
                                                                       : c->frequent_interval_ms;
    int64_t retry = 4 * (int64_t)c->request_timeout_ms + S3L_RETRY_TOTAL_MS;
    int64_t more = (int64_t)c->grace_period_ms + c->stop_ack_ms + c->release_timeout_ms;
    if (c->peer_mode) /* one last answer that lied; and a word that only spaces reads out */
      more += c->peer_interval_ms + c->peer_timeout_ms + 4 * (int64_t)c->infrequent_interval_ms;
    timeout = timeout > c->leader_timeout_ms ? timeout : c->leader_timeout_ms;
    poll = poll > slow ? poll : slow;
    retries = retries > retry ? retries : retry;
    extra = extra > more ? extra : more;
  }
  /* The last poll at the slow pace, the observation, one's own hold after a resignation or another
   * leader's (who was elected and whose claim died with it), a poll more, and requests between. */
  int64_t ms = poll * 11 / 10 + 2 * timeout + poll * 11 / 10 + 2 * retries + extra + 5000;
  if (p->epochs) /* the files must be watched for a timeout; and a claim stands for two, twice */
    ms += 4 * timeout + poll + 4 * retries;
  return ms * (1000 + p->nodes[0].config.drift_ppm / 250) / 1000 * S3L_MS;
}

s3l_ns_t sim_plan_duration(s3l_prng_t* g, const sim_plan_t* p) {
  int64_t t = p->nodes[0].config.leader_timeout_ms;
  switch (sim_below(g, 4)) {
  case 0:
    return sim_between(g, 1, t / 2) * S3L_MS;
  case 1:
    return sim_between(g, t / 2, t * 3 / 2) * S3L_MS;
  case 2:
    return sim_between(g, t, 3 * t) * S3L_MS;
  default:
    return sim_between(g, 2 * t, 10 * t) * S3L_MS;
  }
}

static uint8_t pick_who(s3l_prng_t* g, const sim_plan_t* p) {
  uint64_t x = sim_below(g, 10);
  if (x < 4)
    return SIM_WHO_LEADER;
  if (x < 5)
    return SIM_WHO_FOLLOWER;
  if (x < 6)
    return SIM_WHO_ALL;
  return (uint8_t)sim_below(g, p->nodes_len);
}

static void detail_window(s3l_prng_t* g, const sim_plan_t* p, sim_fault_t* f) {
  switch (f->kind) {
  case SIM_FAULT_LOSS:
    f->a = sim_chance(g, 300) ? 0 : sim_between(g, 1, 1000);
    f->b = sim_chance(g, 300) ? 0 : sim_between(g, 1, 1000);
    break;
  case SIM_FAULT_LATE:
    f->a = sim_between(g, 100, 1000);
    f->b = sim_between(g, 100, 4 * (int64_t)p->nodes[0].config.leader_timeout_ms);
    break;
  case SIM_FAULT_SLOW:
    f->a = INT64_C(1) << sim_between(g, 1, 9);
    break;
  case SIM_FAULT_OUTAGE:
    f->who = SIM_WHO_ALL;
    f->a = (int64_t)sim_below(g, 2);
    break;
  case SIM_FAULT_CUT:
    f->a = sim_between(g, 1, 3);
    if (f->who == SIM_WHO_ALL)
      f->who = SIM_WHO_LEADER;
    break;
  case SIM_FAULT_ERRORS:
    f->a = sim_between(g, 50, 1000);
    f->b = sim_between(g, 1, (1 << SIM_ERRORS_END) - 1);
    if (sim_chance(g, 600))
      f->b = INT64_C(1) << sim_below(g, SIM_ERRORS_END);
    break;
  default:
    break;
  }
}

static void detail(s3l_prng_t* g, const sim_plan_t* p, sim_fault_t* f) {
  f->who = pick_who(g, p);
  switch (f->kind) {
  case SIM_FAULT_PAUSE:
  case SIM_FAULT_CRASH:
  case SIM_FAULT_STOP:
  case SIM_FAULT_CLOSE:
    if (f->who == SIM_WHO_ALL && sim_chance(g, 800))
      f->who = SIM_WHO_LEADER;
    break;
  case SIM_FAULT_RESIGN:
    f->who = SIM_WHO_LEADER;
    break;
  case SIM_FAULT_WALL:
    f->a = sim_heavy(g, 5000, 15) * (sim_chance(g, 500) ? 1 : -1);
    break;
  case SIM_FAULT_RATE:
    f->a = pick_ppb(g, p->nodes[0].config.drift_ppm, p->troubles, sim_chance(g, 500));
    break;
  case SIM_FAULT_CORRUPT:
    f->a = (int64_t)sim_below(g, 8);
    break;
  case SIM_FAULT_FOREIGN: {
    int64_t t = p->nodes[0].config.leader_timeout_ms;
    f->a = sim_between(g, -3 * t, 3 * t);
    f->b = (int64_t)sim_below(g, 2);
    break;
  }
  default:
    detail_window(g, p, f);
    break;
  }
}

/* Which faults the troubles allow, each as often as it is listed. */
static size_t list_kinds(const sim_plan_t* p, uint8_t kinds[64]) {
  static const struct {
    uint32_t trouble;
    uint8_t kind, weight;
    bool uniform; /* only where all have one leader timeout */
  } rows[] = {
      {SIM_BIT(LOSS), SIM_FAULT_LOSS, 6, false},
      {SIM_BIT(LATE), SIM_FAULT_LATE, 5, false},
      {SIM_BIT(SLOW), SIM_FAULT_SLOW, 3, false},
      {SIM_BIT(OUTAGE), SIM_FAULT_OUTAGE, 3, false},
      {SIM_BIT(PARTITION), SIM_FAULT_CUT, 5, false},
      {SIM_BIT(ERRORS), SIM_FAULT_ERRORS, 4, false},
      {SIM_BIT(STUCK), SIM_FAULT_STUCK, 1, false},
      {SIM_BIT(PAUSE), SIM_FAULT_PAUSE, 7, false},
      {SIM_BIT(CRASH), SIM_FAULT_CRASH, 6, false},
      {SIM_BIT(LEAVE), SIM_FAULT_RESIGN, 3, false},
      {SIM_BIT(LEAVE), SIM_FAULT_STOP, 2, false},
      {SIM_BIT(LEAVE), SIM_FAULT_CLOSE, 2, false},
      {SIM_BIT(WALL), SIM_FAULT_WALL, 2, false},
      {SIM_BIT(DRIFT), SIM_FAULT_RATE, 2, false},
      {SIM_BIT(DELETE), SIM_FAULT_DELETE, 2, true},
      {SIM_BIT(CORRUPT), SIM_FAULT_CORRUPT, 2, true},
      {SIM_BIT(FOREIGN), SIM_FAULT_FOREIGN, 2, true},
  };
  size_t n = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if ((p->troubles & rows[i].trouble) != 0 && !(p->epochs && rows[i].kind == SIM_FAULT_FOREIGN) &&
        (p->uniform || !rows[i].uniform))
      for (int k = 0; k < rows[i].weight; k++)
        kinds[n++] = rows[i].kind;
  return n;
}

static void plan_cluster(sim_plan_t* p, s3l_prng_t* g, const uint8_t* kinds, size_t kinds_len,
                         s3l_ns_t at, s3l_ns_t calm_from) {
  s3l_ns_t t = p->nodes[0].config.leader_timeout_ms * S3L_MS;
  uint64_t many = 1 + sim_below(g, 4);
  for (uint64_t i = 0; i < many && p->faults_len < SIM_FAULTS_MAX; i++) {
    sim_fault_t* f = &p->faults[p->faults_len];
    memset(f, 0, sizeof *f);
    f->kind = kinds[sim_below(g, (uint32_t)kinds_len)];
    f->at = at + (i == 0 ? 0 : sim_between(g, 0, 2 * t));
    f->until = f->at + sim_plan_duration(g, p);
    detail(g, p, f);
    if (f->until > calm_from)
      f->until = calm_from;
    if (f->at < calm_from)
      p->faults_len++;
  }
}

static void plan_faults(sim_plan_t* p) {
  uint8_t kinds[64];
  size_t kinds_len = list_kinds(p, kinds);
  s3l_prng_t g = sim_rnd(p->seed, RND_FAULTS);
  int64_t rest = p->nodes[0].config.leader_timeout_ms * S3L_MS * 4;
  for (s3l_ns_t from = 0; from < p->end && p->chapters_len < SIM_CHAPTERS_MAX; from += CHAPTER) {
    s3l_ns_t to = from + CHAPTER < p->end ? from + CHAPTER : p->end;
    s3l_ns_t calm_from = from + (to - from) / 8 * 5;
    size_t c = p->chapters_len++;
    p->chapters[c].faults_from = p->faults_len;
    p->chapters[c].calm_from = calm_from;
    p->chapters[c].quiet_from = calm_from + p->settle;
    p->chapters[c].quiet_to = (p->troubles & SIM_BIT(PEERS)) != 0 ? to - SIM_TRIAL : to;
    s3l_ns_t at = from + sim_between(&g, 0, 3 * MINUTE);
    while (kinds_len > 0 && at < calm_from) {
      plan_cluster(p, &g, kinds, kinds_len, at, calm_from);
      at += sim_heavy(&g, rest + 2 * MINUTE, 3);
    }
    sim_plan_peer_faults(p, from, calm_from);
    p->chapters[c].faults_to = p->faults_len;
  }
}

void sim_plan(sim_plan_t* p, uint64_t seed, unsigned nodes, unsigned hours, uint32_t troubles) {
  memset(p, 0, offsetof(sim_plan_t, faults));
  s3l_prng_t g = sim_rnd(seed, RND_PLAN);
  p->seed = seed;
  p->nodes_len = nodes;
  p->troubles = troubles;
  p->end = hours * HOUR;
  plan_nodes(p, &g);
  plan_store(p, &g);
  p->epochs = (troubles & SIM_BIT(EPOCHS)) != 0;
  if (p->epochs)
    plan_files(p);
  if ((troubles & SIM_BIT(OPTIONS)) != 0)
    plan_deadlines(p);
  sim_plan_peer_nodes(p);
  p->settle = sim_plan_settle(p);
  plan_faults(p);
}
