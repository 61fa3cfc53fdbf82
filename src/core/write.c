#include "core/write.h"

#include <string.h>

#include "core/effects.h"
#include "core/grant.h"
#include "core/lead.h"
#include "core/observation.h"
#include "core/record.h"
#include "core/request.h"
#include "s3lect/errno.h"
#include "util/assert.h"

/* The record that `op` wrote, or is to write; a grant that of the candidate. */
static void fill_record(const s3l_core_t* c, const s3l_op_t* op, const s3lect_record_t* candidate,
                        s3lect_record_t* r) {
  if (op->grants) {
    s3l_grant_fill(op, candidate, r);
    return;
  }
  memset(r, 0, sizeof *r);
  memcpy(r->leader_id, c->config.id, strlen(c->config.id));
  memcpy(r->leader_addr, c->config.addr, strlen(c->config.addr));
  memcpy(r->incarnation, c->incarnation, sizeof r->incarnation);
  r->epoch = op->epoch;
  r->write = c->write;
  r->leader_timeout_ms = c->config.leader_timeout_ms;
  r->renew_interval_ms = c->config.renew_interval_ms;
  r->acquired_ms = op->acquired_ms;
  r->transitions = op->transitions;
  r->released = op->kind == S3L_OP_RELEASE;
  r->claim = s3l_record_is_claim(r);
  r->last_updated_ms = r->released ? 0 : op->wall_ms;
  if (r->released && c->successor != NULL)
    memcpy(r->successor, c->successor, strlen(c->successor));
  if (!r->released && !r->claim)
    memcpy(r->value, op->value, strlen(op->value));
}

static uint32_t to_timeout_ms(s3l_ns_t left, uint32_t at_most_ms) {
  s3l_ns_t ms = left / S3L_MS;
  if (ms < 1)
    ms = 1;
  return ms < at_most_ms ? (uint32_t)ms : at_most_ms;
}

static uint32_t write_timeout(const s3l_core_t* c, s3l_op_kind_t kind) {
  uint32_t most = c->config.request_timeout_ms;
  if (kind == S3L_OP_RENEW)
    return to_timeout_ms(c->valid_until - c->now, most); /* later it renews nothing */
  if (kind == S3L_OP_RELEASE && c->phase == S3L_PHASE_LEAVING)
    return to_timeout_ms(c->leave_by - c->now, most);
  return most;
}

void s3l_write_send(s3l_core_t* c, s3l_effects_t* fx, s3l_op_kind_t kind) {
  const s3l_observed_record_t* seen = &c->observed.record;
  S3L_ASSERT(c->op.kind == S3L_OP_NONE && !c->read_back);
  S3L_ASSERT(kind == S3L_OP_TAKE_OVER ? !c->leading : s3l_is_own_claim(c));
  c->write += S3L_MUTANT(WRITE_NUMBER_STUCK) && kind == S3L_OP_RENEW ? 0 : 1;
  s3l_op_t* op = &c->op;
  *op = (s3l_op_t){.kind = kind,
                   .sent_at = c->now,
                   .wall_ms = c->wall_ms,
                   .disputed = c->refused,
                   .grants = kind == S3L_OP_RELEASE && s3l_grant_is_possible(c, fx->candidate),
                   .epoch = seen->epoch,
                   .value = c->value};
  op->epoch += op->grants;
  bool provisional = c->config.protocol->is_provisional(c);
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_WRITE);
  c->config.protocol->prepare(c, e);
  op->conditional = e->condition == S3LECT_IF_MATCH;
  bool goes_on = op->epoch == seen->epoch;
  op->transitions = goes_on       ? seen->transitions
                    : provisional ? 0
                                  : s3l_next_transition(seen->transitions);
  op->acquired_ms = goes_on ? seen->acquired_ms : c->wall_ms;
  c->sent[c->write % S3L_SENT_MAX] = (s3l_sent_t){
      .epoch = op->epoch,
      .write = c->write & UINT64_MAX >> 1,
      .provisional = provisional,
      .at = c->now,
  };
  if (c->attempt == 0)
    c->op_started = c->now;
  e->disputed = op->disputed;
  e->granted = op->grants;
  e->timeout_ms = write_timeout(c, kind);
  op->overdue_at = s3l_ns_add(c->now, e->timeout_ms * S3L_MS + S3L_OVERDUE);
  fill_record(c, op, fx->candidate, &fx->record);
  c->stats.writes++;
  S3L_MUTATE(SELF_NAMED, fx);
}

static void was_applied(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const char* etag) {
  s3l_ns_t lease_from = S3L_MUTANT(LEASE_FROM_REPLY) ? c->now : op->sent_at;
  fill_record(c, op, fx->candidate, &fx->seen);
  s3l_observe_write(c, fx, op, etag);
  s3l_observation_report(c, fx);
  s3l_request_done(c);
  switch (op->kind) {
  case S3L_OP_TAKE_OVER:
    s3l_lead_if_valid(c, fx, lease_from);
    break;
  case S3L_OP_RENEW:
    S3L_MUTATE(LATE_REPLY_RENEWS, c, op);
    if (c->leading) {
      s3l_lead_renewed(c, fx, lease_from);
    } else if (!c->release_owed) { /* else it was ended on purpose */
      c->stats.late_replies++;
      s3l_core_error(c, fx, S3LECT_ELATE, NULL);
    }
    break;
  default:
    if (S3L_MUTANT(RELEASE_FIRST) || S3L_MUTANT(GRANT_FIRST))
      s3l_lead_stop(c, fx, S3LECT_REASON_RESIGNED);
    c->release_owed = false;
    break;
  }
}

void s3l_write_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                    const s3lect_store_result_t* r) {
  if (r->status == 0 && r->outcome == S3LECT_SETTLED && s3l_is_usable_etag(r->etag)) {
    was_applied(c, fx, op, r->etag);
    return;
  }
  if (c->config.protocol->adapts(c, op, r))
    return;
  if (s3l_core_is_refusal(r)) {
    c->stats.conflicts++;
    c->read_back = true;
    c->refused = r->status == S3LECT_EPRECONDITION && op->conditional;
    if (op->disputed && c->refused && !c->disputed_reported) {
      c->disputed_reported = true;
      s3l_core_error(c, fx, S3LECT_EDISPUTED, r->message);
    }
  } else if (r->outcome != S3LECT_NOT_APPLIED) {
    c->stats.unknown_outcomes++;
    c->read_back = !S3L_MUTANT(BLIND_RETRY) &&
                   !(S3L_MUTANT(EPOCHS_BLIND_CREATE) && op->kind == S3L_OP_TAKE_OVER);
    c->uncertain = c->write;
  }
  s3l_request_failed(c, fx, r);
  if (s3l_core_is_refusal(r) && c->attempt > 0)
    c->read_back_at = c->now; /* the store answered: only the next write has to wait */
}
