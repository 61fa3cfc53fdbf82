/* sim/node.c: executes a core's effects, as the libuv executor does. */
#include <stdio.h>
#include <string.h>

#include "loop/clock.h"
#include "sim/core_step.h"
#include "sim/mutants.h"
#include "sim/observe.h"
#include "sim/world.h"

/* More steps than this in one second of true time, and the core runs in circles. */
#define STEPS_PER_SECOND_MAX 500
/* How late a timer may fire: libuv's grain and a busy loop's turn, together with the rounding up to
 * a millisecond less than S3L_STOP_EARLY. */
#define TIMER_LATE_MAX (3 * S3L_MS)

static void notify(sim_world_t* w, unsigned i, const s3l_effect_t* e) {
  sim_node_t* n = &w->nodes[i];
  oracle_note_t note = {.kind = (oracle_note_kind_t)e->note,
                        .epoch = e->epoch,
                        .valid_until = e->valid_until,
                        .leader_id = n->leader,
                        .value = n->value_seen};
  oracle_note(&w->oracle, (int)i, w->t, &note);
  sim_saw_note(w, i, e);
  if (e->note == S3LECT_EVENT_STOPPED_LEADING && n->plan->config.stop_ack_ms > 0 &&
      n->plan->ack_delay_ms != UINT32_MAX)
    sim_push(w, w->t + n->plan->ack_delay_ms * S3L_MS, SIM_ON_APP, i, n->life);
  if (e->note == S3LECT_EVENT_STARTED_LEADING || e->note == S3LECT_EVENT_RENEWED)
    sim_peer_led(w, i);
  if (e->note == S3LECT_EVENT_VALUE && n->core.announced)
    sim_answer_waiting(w, i);
}

static void standing_is_over(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  if (n->request != SIM_NO_REQUEST || n->gc != SIM_NO_REQUEST || n->ask.active)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: stops with a request", i);
  if (n->closing)
    sim_crash(w, i); /* the process ends, in good order */
  s3l_ns_t at = n->start_at > w->t ? n->start_at : w->t;
  sim_push(w, at, SIM_ON_BEGIN, i, 0);
}

static void execute(sim_world_t* w, unsigned i) {
  for (size_t k = 0; k < w->effects.len; k++) {
    const s3l_effect_t* e = &w->effects.at[k];
    switch (e->kind) {
    case S3L_DO_READ:
    case S3L_DO_WRITE:
    case S3L_DO_LIST:
    case S3L_DO_GC:
      sim_issue(w, i, e);
      break;
    case S3L_DO_CANCEL:
      sim_cancel(w, i, w->nodes[i].request);
      break;
    case S3L_DO_GC_CANCEL:
      sim_cancel(w, i, w->nodes[i].gc);
      break;
    case S3L_DO_NOTIFY:
      notify(w, i, e);
      break;
    case S3L_DO_STOPPED:
      standing_is_over(w, i);
      return;
    case S3L_DO_RELEASED:
      sim_answer_waiting(w, i);
      break;
    case S3L_DO_PROBE:
      sim_ask(w, i, e);
      break;
    case S3L_DO_PROBE_CANCEL:
      sim_ask_cancel(w, i);
      break;
    }
  }
}

/* Every third process publishes nothing at first: its epoch must not keep the value of another. */
void sim_publish(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  if (n->core.op.kind > S3L_OP_READ)
    return;
  if ((n->life + n->values) % 3 == 0)
    n->value[0] = '\0';
  else
    (void)snprintf(n->value, sizeof n->value, "%u.%u.%u", i, n->life % 1000, n->values % 100000);
  s3l_core_set_value(&n->core, n->value, n->values % 2 == 1);
  n->values++;
  n->value_at = w->t + S3L_SECOND * (s3l_ns_t)(3 + n->values % 7);
}

/* The node's application changes its intervals: none is longer than planned. */
static void reconfigure(sim_world_t* w, unsigned i, s3l_ns_t boot) {
  sim_node_t* n = &w->nodes[i];
  const s3l_core_config_t* planned = &n->plan->config;
  s3l_core_config_t c = n->core.config;
  n->config_at = w->t + S3L_SECOND * sim_between(&n->app, 60, 900);
  if (n->core.op.kind > S3L_OP_READ)
    return;
  c.renew_interval_ms =
      (uint32_t)sim_between(&n->app, planned->renew_interval_ms / 2, planned->renew_interval_ms);
  c.frequent_interval_ms = (uint32_t)sim_between(&n->app, planned->frequent_interval_ms / 2,
                                                 planned->frequent_interval_ms);
  c.infrequent_interval_ms = (uint32_t)sim_between(&n->app, planned->infrequent_interval_ms / 2,
                                                   planned->infrequent_interval_ms);
  s3l_core_reconfigure(&n->core, boot, &c);
  sim_know(w, i, &c);
  sim_met(w, n->core.announced ? SIM_MET_UPDATED_LEADING : SIM_MET_UPDATED);
}

static void count_step(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  if (w->t - n->second >= S3L_SECOND) {
    n->second = w->t;
    n->steps = 0;
  }
  if (++n->steps > STEPS_PER_SECOND_MAX)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: runs in circles", i);
}

/* What other threads see. As in the executor: where the validity before is over by now, a later one
 * comes too late. Returns false then. */
static bool publish(sim_world_t* w, unsigned i) {
  const sim_node_t* n = &w->nodes[i];
  s3l_ns_t valid = s3l_core_valid_until(&n->core);
  s3l_ns_t before = w->oracle.nodes[i].valid_until;
  bool late =
      valid > before && before > 0 && sim_boot(w, n) >= before && !S3L_MUTANT(PUBLISHED_LATE);
  w->digest = sim_mix(w->digest, (uint64_t)valid);
  oracle_valid(&w->oracle, (int)i, w->t, late ? 0 : valid);
  for (size_t k = 0; late && k < w->effects.len; k++) {
    s3l_effect_t* e = &w->effects.at[k];
    if (e->kind == S3L_DO_NOTIFY &&
        (e->note == S3LECT_EVENT_RENEWED || e->note == S3LECT_EVENT_EXPIRING))
      e->note = S3LECT_EVENT_ERROR; /* nobody is told of it */
  }
  return !late;
}

/* What the core thinks is under way, and what its application was told, is so. */
static void check_agreement(sim_world_t* w, unsigned i) {
  const sim_node_t* n = &w->nodes[i];
  const oracle_node_t* o = &w->oracle.nodes[i];
  bool requests = (n->core.op.kind != S3L_OP_NONE) == (n->request != SIM_NO_REQUEST);
  if (!requests || n->core.peer.probing != n->ask.active)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: waits for nothing", i);
  if (o->started != n->core.announced || (o->started && o->promised != o->valid_until))
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1,
                "n%u: tells of a validity %.3f ms off is_leader's", i,
                (double)(o->promised - o->valid_until) / 1e6);
}

void sim_step(sim_world_t* w, unsigned i, s3l_event_t* ev) {
  sim_node_t* n = &w->nodes[i];
  s3l_ns_t boot = n->stopped_at != 0 ? sim_clock_read(&n->clock, n->stopped_at) : sim_boot(w, n);
  n->stopped_at = 0;
  ev->candidate = sim_candidate(w, i, ev->successor != NULL ? ev->successor : n->core.successor);
  ev->wall_ms = sim_wall_ms(w, n);
  /* Not in a quiet spell, whose requests are counted. */
  if ((w->plan->troubles & SIM_BIT(OPTIONS)) != 0 && !sim_is_calm(w) && w->t >= n->value_at)
    sim_publish(w, i);
  if ((w->plan->troubles & SIM_BIT(OPTIONS)) != 0 && !sim_is_calm(w) && w->t >= n->config_at)
    reconfigure(w, i, boot);
  count_step(w, i);
  sim_before_t before = sim_look(&n->core);
  const char* wrong = sim_core_step(&n->core, boot, ev, &w->effects);
  if (wrong != NULL)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: does not hold: %s", i, wrong);
  w->digest = sim_mix(w->digest, (uint64_t)boot ^ (uint64_t)ev->kind << 60);
  bool published = publish(w, i);
  sim_saw_step(w, i, &before, ev);
  if (w->saw_step != NULL)
    w->saw_step(w, i, ev);
  if (w->log != NULL) {
    sim_log_event(w->log, w->t, i, ev);
    sim_log_effects(w->log, w->t, i, boot, &w->effects);
  }
  if (w->effects.changed) {
    memcpy(n->leader, w->effects.seen.leader_id, sizeof n->leader);
    memcpy(n->leader_addr, w->effects.seen.leader_addr, sizeof n->leader_addr);
    memcpy(n->value_seen, w->effects.seen.value, sizeof n->value_seen);
  }
  execute(w, i);
  oracle_told(&w->oracle, (int)i, w->t);
  if (published && n->process == SIM_UP)
    check_agreement(w, i);
  if (!published) {
    s3l_event_t expired = {.kind = S3L_EV_EXPIRED};
    sim_step(w, i, &expired);
  }
  sim_rearm(w, i);
}

static uint64_t sleep_ms(s3l_ns_t left) {
  if (S3L_MUTANT(TIMER_TRUSTED))
    return left > 0 ? (uint64_t)((left + S3L_MS - 1) / S3L_MS) : 0;
  return s3l_clock_sleep_ms(left);
}

void sim_rearm(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  if (n->process == SIM_DOWN)
    return;
  s3l_ns_t deadline = s3l_core_deadline(&n->core);
  s3l_ns_t due = S3L_NEVER;
  if (deadline != S3L_NEVER)
    due = sim_slewed_in(w, n, (s3l_ns_t)sleep_ms(deadline - sim_boot(w, n)));
  if (n->request != SIM_NO_REQUEST && w->requests[n->request].timeout_slewed < due)
    due = w->requests[n->request].timeout_slewed;
  if (n->ask.active && n->ask.timeout_slewed < due)
    due = n->ask.timeout_slewed;
  if (n->gc != SIM_NO_REQUEST && w->requests[n->gc].timeout_slewed < due)
    due = w->requests[n->gc].timeout_slewed;
  if (due == S3L_NEVER)
    return;
  s3l_ns_t at = sim_clock_when(&n->slewed, due);
  if (at < w->t)
    at = w->t;
  /* A timer that is set for earlier stays, and is set anew when it fires. */
  if (at >= n->timer_at)
    return;
  n->timer_at = at;
  sim_push(w, at + (s3l_ns_t)sim_below(&n->rnd, TIMER_LATE_MAX), SIM_ON_TIMER, i, ++n->timer_stamp);
}

void sim_on_timer(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  s3l_ns_t now = sim_slewed_in(w, n, 0);
  n->timer_at = S3L_NEVER;
  if (n->request != SIM_NO_REQUEST && w->requests[n->request].timeout_slewed <= now)
    sim_timed_out(w, n->request);
  if (n->gc != SIM_NO_REQUEST && w->requests[n->gc].timeout_slewed <= now)
    sim_timed_out(w, n->gc);
  if (n->ask.active && n->ask.timeout_slewed <= now)
    sim_ask_timed_out(w, i);
  if (n->process == SIM_UP && s3l_core_deadline(&n->core) <= sim_boot(w, n)) {
    s3l_event_t ev = {.kind = S3L_EV_TICK};
    sim_step(w, i, &ev);
  }
  sim_rearm(w, i);
}

void sim_stop(sim_world_t* w, unsigned i, bool closes, s3l_ns_t start_at) {
  sim_node_t* n = &w->nodes[i];
  n->closing = closes;
  n->start_at = start_at;
  sim_saw_stop(w, i, closes);
  s3l_event_t ev = {.kind = S3L_EV_STOP,
                    .reason = closes ? S3LECT_REASON_CLOSED : S3LECT_REASON_STOPPED};
  sim_step(w, i, &ev);
}
