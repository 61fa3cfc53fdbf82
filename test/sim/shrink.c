#include "sim/shrink.h"

#include <string.h>

#define TRIALS_MAX 2000
#define FEW        6 /* faults that are tried at another moment */

typedef struct shrink_s {
  sim_case_t* c;
  oracle_check_t check;
  sim_plan_t* plan;
  sim_world_t* world;
  int trials;
} shrink_t;

void sim_case_whole(sim_case_t* c, const sim_plan_t* full) {
  memset(c, 0, sizeof *c);
  c->full = full;
  c->until = full->end;
  for (size_t i = 0; i < full->faults_len; i++)
    c->keep[i] = true;
}

size_t sim_case_faults(const sim_case_t* c) {
  size_t n = 0;
  for (size_t i = 0; i < c->full->faults_len; i++)
    n += c->keep[i];
  return n;
}

void sim_case_plan(const sim_case_t* c, sim_plan_t* plan) {
  const sim_plan_t* full = c->full;
  memcpy(plan, full, offsetof(sim_plan_t, faults));
  for (unsigned i = 0; i < plan->nodes_len; i++) { /* they point into the plan */
    plan->nodes[i].config.id = plan->nodes[i].id;
    plan->nodes[i].config.addr = plan->nodes[i].addr;
  }
  plan->chapters_len = 1;
  plan->chapters[0] = full->chapters[c->chapter];
  plan->chapters[0].calm_from -= c->shift;
  plan->chapters[0].quiet_from -= c->shift;
  plan->chapters[0].quiet_to -= c->shift;
  plan->chapters[0].faults_from = 0;
  plan->faults_len = 0;
  for (size_t i = 0; i < full->faults_len; i++) {
    if (!c->keep[i] || full->faults[i].at < c->shift)
      continue;
    sim_fault_t* f = &plan->faults[plan->faults_len++];
    *f = full->faults[i];
    f->at -= c->shift;
    f->until -= c->shift;
  }
  plan->chapters[0].faults_to = plan->faults_len;
}

/* Whether the case still shows the violation; if so it ends there from now on. */
static bool still_fails(shrink_t* s) {
  if (s->trials++ >= TRIALS_MAX)
    return false;
  sim_case_plan(s->c, s->plan);
  sim_world_init(s->world, s->plan);
  s->world->nodes_out = s->c->nodes_out;
  s->world->until = s->c->until;
  s->world->wanted = 1u << s->check;
  sim_world_run(s->world);
  const oracle_violation_t* v = &s->world->oracle.violations[s->check];
  if (v->found)
    s->c->until = v->at;
  return v->found;
}

/* Drops what lies outside of a window before the violation, the shortest that will do. */
static void keep_recent(shrink_t* s, s3l_ns_t at) {
  static const int minutes[] = {5, 20, 60, 240};
  sim_case_t saved = *s->c;
  for (size_t k = 0; k < sizeof minutes / sizeof minutes[0]; k++) {
    s3l_ns_t from = at - minutes[k] * 60 * S3L_SECOND;
    for (size_t i = 0; i < s->c->full->faults_len; i++) {
      const sim_fault_t* f = &s->c->full->faults[i];
      s->c->keep[i] = f->until >= from && f->at <= at;
    }
    if (still_fails(s))
      return;
    *s->c = saved;
  }
}

/* Leaves out ever smaller runs of faults (Zeller's ddmin, the half that removes). */
static void drop_faults(shrink_t* s) {
  for (size_t chunk = sim_case_faults(s->c); chunk > 0; chunk /= 2) {
    size_t i = 0;
    while (i < s->c->full->faults_len) {
      sim_case_t saved = *s->c;
      size_t dropped = 0;
      while (i < s->c->full->faults_len && dropped < chunk) {
        dropped += s->c->keep[i];
        s->c->keep[i++] = false;
      }
      if (dropped > 0 && !still_fails(s))
        *s->c = saved;
    }
  }
}

static void drop_nodes(shrink_t* s) {
  for (unsigned i = 0; i < s->c->full->nodes_len; i++) {
    sim_case_t saved = *s->c;
    s->c->nodes_out |= 1u << i;
    if (!still_fails(s))
      *s->c = saved;
  }
}

/* Moves everything to soon after the start. Where in its rhythm a fault meets a node changes with
 * that, so several amounts are tried. */
static bool come_sooner(shrink_t* s) {
  s3l_ns_t first = s->c->until;
  for (size_t i = 0; i < s->c->full->faults_len; i++)
    if (s->c->keep[i] && s->c->full->faults[i].at < first)
      first = s->c->full->faults[i].at;
  s3l_ns_t t = s->c->full->nodes[0].config.leader_timeout_ms * S3L_MS;
  for (int k = 0; k < 60; k++) {
    sim_case_t saved = *s->c;
    s3l_ns_t start = 4 * t + k * t / 7;
    if (first <= start)
      return false;
    s->c->shift = first - start;
    s->c->until = saved.until - s->c->shift + 4 * t;
    if (still_fails(s))
      return true;
    *s->c = saved;
  }
  return false;
}

/* Whether the last few faults will do, if they come at another moment. */
static void keep_last(shrink_t* s) {
  size_t all = sim_case_faults(s->c);
  for (size_t few = 1; few <= FEW && few < all; few++) {
    sim_case_t saved = *s->c;
    size_t left = few;
    for (size_t i = s->c->full->faults_len; i-- > 0;) {
      s->c->keep[i] = s->c->keep[i] && left > 0;
      left -= s->c->keep[i];
    }
    if (come_sooner(s))
      return;
    *s->c = saved;
  }
  (void)come_sooner(s);
}

bool sim_shrink(sim_case_t* c, oracle_check_t check, s3l_ns_t at, sim_plan_t* plan,
                sim_world_t* world) {
  shrink_t s = {.c = c, .check = check, .plan = plan, .world = world};
  while (c->chapter + 1 < c->full->chapters_len && c->full->chapters[c->chapter].quiet_to < at)
    c->chapter++;
  c->until = at;
  if (!still_fails(&s))
    return false;
  keep_recent(&s, at);
  drop_faults(&s);
  /* What is judged over a quiet spell needs its nodes and its time. */
  if (check != ORACLE_LIVENESS && check != ORACLE_BUDGET && check != ORACLE_REPLACED) {
    drop_nodes(&s);
    keep_last(&s);
    drop_faults(&s);
    drop_nodes(&s);
  }
  s.trials = 0;
  return still_fails(&s);
}
