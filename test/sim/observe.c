#include "sim/observe.h"

#include <stdio.h>
#include <string.h>

#include "s3lect/errno.h"

sim_before_t sim_look(const s3l_core_t* c) {
  return (sim_before_t){.leading = c->leading,
                        .announced = c->announced,
                        .release_owed = c->release_owed,
                        .provisional = c->provisional,
                        .asked = c->peer.probing && !c->peer.cancelled,
                        .peer_answers = c->stats.peer_answers,
                        .peer_refused = c->stats.peer_refused,
                        .failures = c->stats.failures,
                        .late_replies = c->stats.late_replies,
                        .unknown_resolved = c->stats.unknown_resolved};
}

static void met_if(sim_world_t* w, bool condition, sim_situation_t situation) {
  if (condition)
    sim_met(w, situation);
}

static void mark_validity(sim_world_t* w, unsigned i) {
  sim_node_t* n = &w->nodes[i];
  s3l_ns_t valid = s3l_core_valid_until(&n->core);
  if (valid == n->valid_marked)
    return;
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)n->core.epoch);
  n->valid_marked = valid;
  sim_log_cut(w->log, SIM_MARK_VALID, (int)i, w->t);
  if (valid > 0)
    sim_log_mark(w->log, SIM_MARK_VALID, (int)i, w->t, sim_clock_when(&n->clock, valid), text);
}

void sim_saw_step(sim_world_t* w, unsigned i, const sim_before_t* b, const s3l_event_t* ev) {
  const s3l_core_t* c = &w->nodes[i].core;
  bool done = ev->kind == S3L_EV_DONE;
  if (c->leading != b->leading) {
    met_if(w, c->leading && done && ev->result->body != NULL, SIM_MET_LED_FROM_READ_BACK);
    met_if(w, b->leading && !b->announced, SIM_MET_GRACE_LOST);
  }
  /* A claim that stood was replaced by its maker; one that did not was, by another. */
  met_if(w, b->provisional && !c->provisional && done && c->observed.own, SIM_MET_CLAIM_STOOD);
  met_if(w, b->provisional && !c->provisional && done && !c->observed.own, SIM_MET_CLAIM_LOST);
  if (c->stats.peer_answers != b->peer_answers && !c->watching)
    sim_met(w, c->peer.answer == S3L_ANSWER_AUTHENTICATED ? SIM_MET_PEER_FOR_READ
                                                          : SIM_MET_PEER_SPACED);
  met_if(w, c->stats.peer_refused != b->peer_refused, SIM_MET_PEER_DISBELIEVED);
  met_if(w, b->asked && c->peer.probing && c->peer.cancelled, SIM_MET_PEER_MISDIRECTED);
  met_if(w, b->leading && done && ev->listing != NULL && ev->listing->highest > c->epoch,
         SIM_MET_HIGHER_FILE);
  if (c->stats.failures != b->failures)
    sim_met(w, SIM_MET_RETRIES_EXHAUSTED);
  if (c->stats.late_replies != b->late_replies)
    sim_met(w, SIM_MET_LATE_REPLY);
  if (c->stats.unknown_resolved != b->unknown_resolved)
    sim_met(w, SIM_MET_UNCERTAIN_RESOLVED);
  if (!b->leading && c->leading && w->standing.granted && w->standing.node == i)
    sim_met(w, ev->kind == S3L_EV_PEER ? SIM_MET_GRANT_TOLD : SIM_MET_GRANT_READ);
  if (b->release_owed && !c->release_owed)
    met_if(w, !(done && ev->result->status == 0), SIM_MET_RELEASE_GIVEN_UP);
  if (w->log != NULL && w->log->marking)
    mark_validity(w, i);
}

static void saw_error(sim_world_t* w, unsigned i, int error) {
  met_if(w, error == S3LECT_EDUPID, SIM_MET_DUPLICATE_TOLD);
  met_if(w, error == S3LECT_EDISPUTED, SIM_MET_DISPUTED);
  met_if(w, error == S3LECT_ERECORD, SIM_MET_DAMAGE_REPORTED);
  met_if(w, error == S3LECT_EUNSAFE, SIM_MET_BLIND);
  if (error == S3LECT_EUNSAFE && !w->plan->blind)
    oracle_fail(&w->oracle, ORACLE_CONTRACT, w->t, (int)i, -1, "n%u: calls a good store unsafe", i);
}

void sim_saw_note(sim_world_t* w, unsigned i, const s3l_effect_t* e) {
  sim_node_t* n = &w->nodes[i];
  switch (e->note) {
  case S3LECT_EVENT_ERROR:
    saw_error(w, i, e->error);
    break;
  case S3LECT_EVENT_STARTED_LEADING:
    met_if(w, n->plan->config.grace_period_ms > 0, SIM_MET_GRACE_STARTED);
    n->led_from = w->t;
    break;
  case S3LECT_EVENT_STOPPED_LEADING:
    met_if(w, e->reason == S3LECT_REASON_LOST, SIM_MET_LOST_REASON);
    met_if(w, e->reason == S3LECT_REASON_EXPIRED, SIM_MET_EXPIRED_REASON);
    met_if(w, n->plan->config.stop_ack_ms > 0 && n->plan->ack_delay_ms == UINT32_MAX,
           SIM_MET_NEVER_ACKNOWLEDGED);
    sim_log_mark(w->log, SIM_MARK_LEADING, (int)i, n->led_from, w->t, "");
    break;
  default:
    break;
  }
}

static void saw_take_over(sim_world_t* w, unsigned i, const sim_request_t* r) {
  const sim_node_t* n = &w->nodes[i];
  const s3l_observation_t* v = &n->core.observed;
  bool again = v->own && !v->record.released && v->record.epoch == r->write.epoch;
  met_if(w, again, SIM_MET_RENEWED_BEFORE_LED);
  if (!again) {
    bool counted = v->kind == S3L_OBSERVED_RECORD && v->record.epoch > 0;
    sim_met(w, counted ? SIM_MET_EPOCH_COUNTED : SIM_MET_EPOCH_SEEDED);
  }
  for (unsigned k = 0; k < w->plan->nodes_len; k++) {
    uint16_t other = w->nodes[k].request;
    met_if(w, k != i && other != SIM_NO_REQUEST && w->requests[other].op == S3L_OP_TAKE_OVER,
           SIM_MET_CONTENTION);
  }
  uint32_t t = n->plan->config.leader_timeout_ms;
  if (v->record.leader_timeout_ms > t)
    t = v->record.leader_timeout_ms;
  met_if(w,
         n->plan->config.store_clock && !v->own && !v->record.released &&
             v->kind != S3L_OBSERVED_ABSENT && sim_boot(w, n) < v->first_seen + t * S3L_MS,
         SIM_MET_STORE_CLOCK_EARLY);
  met_if(w,
         n->plan->config.peer_mode && !n->plan->config.store_clock && !v->own &&
             v->kind == S3L_OBSERVED_RECORD && !v->record.released &&
             sim_boot(w, n) < v->first_seen + t * S3L_MS,
         SIM_MET_PEER_PROMISE_TAKEN);
}

void sim_saw_issue(sim_world_t* w, unsigned i, const sim_request_t* r) {
  if (r->op == S3L_OP_TAKE_OVER)
    saw_take_over(w, i, r);
}

void sim_saw_answer(sim_world_t* w, unsigned i, const sim_answer_t* a) {
  const s3l_core_t* c = &w->nodes[i].core;
  if (c->peer.cancelled)
    return;
  s3l_ns_t most = s3l_lease_outlast(c->peer.wait_ms * S3L_MS, c->config.drift_ppm) +
                  c->config.peer_timeout_ms * S3L_MS;
  met_if(w, a->status == -110, SIM_MET_PEER_SILENT);
  met_if(w, a->status == -104 || a->status == -111, SIM_MET_PEER_REFUSED);
  met_if(w, a->kind == S3L_PEER_LEADING && sim_boot(w, &w->nodes[i]) - c->peer.sent_at > most,
         SIM_MET_PEER_LATE);
  met_if(w, a->kind == S3L_PEER_LEADING && a->record.epoch > c->observed.record.epoch,
         SIM_MET_PEER_NEWER_EPOCH);
}

static bool at_opposite_bounds(const sim_world_t* w, unsigned a, unsigned b) {
  int64_t bound = (int64_t)w->plan->nodes[0].config.drift_ppm * 1000;
  return w->nodes[a].clock.ppb == bound && w->nodes[b].clock.ppb == -bound;
}

static void saw_landing(sim_world_t* w, const sim_request_t* r) {
  const sim_node_t* n = &w->nodes[r->node];
  sim_standing_t before = w->standing;
  if (r->op == S3L_OP_TAKE_OVER) {
    if (before.released && before.successor[0] != '\0')
      sim_met(w, strcmp(before.successor, r->leader_id) == 0 ? SIM_MET_SUCCEEDED
                                                             : SIM_MET_NOT_SUCCEEDED);
    met_if(w, before.kind == SIM_STANDS_DAMAGE, SIM_MET_DAMAGE_REPLACED);
    met_if(w, before.kind == SIM_STANDS_FOREIGN && before.released, SIM_MET_FOREIGN_RELEASED);
    met_if(w, before.kind == SIM_STANDS_FOREIGN && !before.released, SIM_MET_FOREIGN_REPLACED);
    met_if(w, before.kind == SIM_STANDS_RECORD && before.released, SIM_MET_RELEASE_TAKEN);
    met_if(w,
           before.kind == SIM_STANDS_RECORD && !before.released &&
               at_opposite_bounds(w, r->node, before.node),
           SIM_MET_DRIFT_AT_BOUND);
  }
  if (r->grants) {
    const sim_ask_t* ask = &w->nodes[r->write.node].ask;
    met_if(w, !ask->active || ask->candidacy.write != r->write.number, SIM_MET_GRANT_OLD);
  }
  met_if(w,
         r->op == S3L_OP_RELEASE && before.granted && before.incarnation == r->write.incarnation &&
             w->oracle.epoch_started < r->write.epoch,
         SIM_MET_GRANT_RELEASED);
  const sim_object_t* newest = sim_store_newest(&w->store);
  if (newest == NULL || newest->number <= r->file) {
    w->standing = (sim_standing_t){.kind = SIM_STANDS_RECORD,
                                   .node = (unsigned)r->write.node,
                                   .life = r->write.life,
                                   .incarnation = r->write.incarnation,
                                   .released = r->write.released,
                                   .granted = r->grants};
    memcpy(w->standing.successor, r->successor, sizeof w->standing.successor);
  }
  if (r->done) {
    sim_met(w, SIM_MET_LATE_LANDED);
    met_if(w,
           n->process == SIM_UP && n->core.uncertain == 0 &&
               w->oracle.nodes[r->node].incarnation == r->write.incarnation,
           SIM_MET_LATE_AFTER_READ_BACK);
  }
}

void sim_saw_arrival(sim_world_t* w, const sim_request_t* r) {
  if (w->log != NULL) {
    sim_log_line(w->log, w->t, "store: n%u's write %llu %s", r->node,
                 (unsigned long long)r->write.number, r->landed ? "lands" : "is refused");
    if (r->landed)
      sim_log_mark(w->log, SIM_MARK_LANDED, r->node, w->t, w->t, "");
  }
  if (r->landed) {
    saw_landing(w, r);
  } else if (r->done) {
    bool others =
        w->standing.kind != SIM_STANDS_NOTHING && w->standing.incarnation != r->write.incarnation;
    met_if(w, others, SIM_MET_LATE_REFUSED);
    met_if(w, r->etag[0] == '\0', SIM_MET_LATE_CREATE);
  }
}

static void saw_uncertain(sim_world_t* w, const sim_request_t* r) {
  bool never = !r->landed && !r->in_limbo;
  if (r->op == S3L_OP_TAKE_OVER) {
    met_if(w, r->landed, SIM_MET_TAKE_OVER_LOST_REPLY);
    met_if(w, never, SIM_MET_TAKE_OVER_NOT_LANDED);
  } else if (r->op == S3L_OP_RENEW) {
    met_if(w, r->landed, SIM_MET_RENEWAL_LOST_REPLY);
    met_if(w, never, SIM_MET_RENEWAL_NOT_LANDED);
  } else {
    met_if(w, r->landed, SIM_MET_RELEASE_LOST_REPLY);
  }
}

void sim_saw_done(sim_world_t* w, const sim_request_t* r, const s3lect_store_result_t* result) {
  bool fine = result->status == 0 || (!r->is_write && (result->status == S3LECT_ENOTMODIFIED ||
                                                       result->status == S3LECT_ENOTFOUND));
  sim_log_mark(w->log, r->is_write ? SIM_MARK_WRITE : SIM_MARK_READ, r->node, r->sent_at, w->t,
               result->outcome == S3LECT_UNCERTAIN ? "uncertain"
               : fine                              ? "ok"
                                                   : "failed");
  if (!r->is_write)
    return;
  if (result->outcome == S3LECT_UNCERTAIN)
    saw_uncertain(w, r);
  met_if(w, result->outcome == S3LECT_NOT_APPLIED, SIM_MET_NEVER_SENT);
  if (r->op == S3L_OP_RENEW) {
    met_if(w, result->status == S3LECT_EPRECONDITION, SIM_MET_RENEWAL_412);
    met_if(w, result->status == S3LECT_ENOTFOUND, SIM_MET_RENEWAL_404);
    met_if(w, result->status == S3LECT_ECONFLICT, SIM_MET_RENEWAL_409);
  }
  met_if(w, r->op == S3L_OP_TAKE_OVER && result->status == S3LECT_EPRECONDITION,
         SIM_MET_TAKE_OVER_412);
}

void sim_saw_begin(sim_world_t* w, unsigned i) {
  met_if(w, w->standing.kind == SIM_STANDS_RECORD && w->standing.node == i && !w->standing.released,
         SIM_MET_BACK_WITHIN_LEASE);
}

void sim_saw_end(sim_world_t* w, unsigned i) {
  if (w->oracle.nodes[i].started)
    sim_log_mark(w->log, SIM_MARK_LEADING, (int)i, w->nodes[i].led_from, w->t, "");
  sim_log_cut(w->log, SIM_MARK_VALID, (int)i, w->t);
}

void sim_saw_pause(sim_world_t* w, unsigned i, s3l_ns_t until) {
  const sim_node_t* n = &w->nodes[i];
  if (n->core.leading)
    sim_met(w, sim_clock_read(&n->clock, until) >= n->core.valid_until
                   ? SIM_MET_PAUSED_OVER_VALIDITY
                   : SIM_MET_PAUSED_STILL_VALID);
  met_if(w, n->core.op.kind == S3L_OP_TAKE_OVER, SIM_MET_PAUSED_IN_TAKE_OVER);
}

void sim_saw_crash(sim_world_t* w, unsigned i) {
  const sim_node_t* n = &w->nodes[i];
  met_if(w, n->core.leading, SIM_MET_CRASHED_LEADING);
  met_if(w, n->core.op.kind == S3L_OP_TAKE_OVER, SIM_MET_CRASHED_IN_TAKE_OVER);
}

void sim_saw_stop(sim_world_t* w, unsigned i, bool closes) {
  const s3l_core_t* c = &w->nodes[i].core;
  met_if(w, c->leading, closes ? SIM_MET_CLOSED_LEADING : SIM_MET_STOPPED_LEADING);
  met_if(w, c->op.kind > S3L_OP_READ, SIM_MET_LEFT_IN_WRITE);
  met_if(w, c->uncertain != 0, SIM_MET_LEFT_UNCERTAIN);
}
