/* core/write.c: the records that are written, and what became of them.
 *
 * Unknown is a state (design rule 5): a write that may have landed is never repeated blindly. The
 * record is read back first, and the write number in it tells which of one's writes landed last. */
#include <string.h>

#include "core/internal.h"
#include "core/record.h"
#include "s3lect/errno.h"
#include "util/assert.h"

uint64_t s3l_write_epoch_time(int64_t unix_ms) {
  return unix_ms > 0 && (uint64_t)unix_ms / 1000 < S3L_EPOCHS_MAX ? (uint64_t)unix_ms : 0;
}

/* Whether the store refused a write by its condition. */
static bool is_refusal(const s3lect_store_result_t* r) {
  return r->outcome == S3LECT_SETTLED &&
         (r->status == S3LECT_EPRECONDITION || r->status == S3LECT_ENOTFOUND ||
          r->status == S3LECT_ECONFLICT);
}

/* The time of a reply by which the store settled the request. An error page may be a proxy's, which
 * has a clock of its own. */
void s3l_write_note_store_time(s3l_core_t* c, const s3lect_store_result_t* r) {
  bool settled = r->outcome == S3LECT_SETTLED &&
                 (r->status == 0 || r->status == S3LECT_ENOTMODIFIED ||
                  r->status == S3LECT_ENOTFOUND || r->status == S3LECT_ETOOBIG || is_refusal(r));
  if (settled && s3l_write_epoch_time(r->store_time_ms) > 0) {
    c->store_time_ms = r->store_time_ms;
    c->store_time_at = c->now;
  }
}

uint64_t s3l_write_store_time(const s3l_core_t* c) {
  if (c->store_time_ms <= 0)
    return 0;
  int64_t passed = (c->now - c->store_time_at) / S3L_MS;
  return s3l_write_epoch_time(c->store_time_ms + passed - passed * c->config.drift_ppm / 500000);
}

/* A claim of one's own that was never led may be led under the epoch it has, unless a higher one
 * has been seen since, or may be out there: an provisional claim may have landed late. */
static bool keeps_epoch(const s3l_core_t* c) {
  return c->config.epochs == NULL && s3l_view_is_own_claim(c) &&
         c->observed.record.epoch > c->epoch_led && c->observed.record.epoch >= c->epoch_seen &&
         (!c->provisional || S3L_MUTANT(STALE_EPOCH_KEPT));
}

bool s3l_write_has_next_epoch(const s3l_core_t* c) {
  return c->epoch_seen < (c->config.epochs != NULL ? S3L_EPOCHS_MAX : S3L_EPOCH_MAX);
}

static uint64_t next_epoch(const s3l_core_t* c) {
  if (c->config.epochs != NULL)
    return s3l_epochs_next(c, s3l_write_store_time(c));
  if (keeps_epoch(c))
    return c->observed.record.epoch;
  const s3l_observed_record_t* r = &c->observed.record;
  if (S3L_MUTANT(EPOCH_NOT_RAISED) && r->epoch > 0)
    return r->epoch;
  uint64_t next = c->epoch_seen + 1;
  /* A claim, or a first leader's record over what was none, may have landed late, with an epoch
   * from before others that its maker never saw: unless it was led, as a release tells, it is not
   * counted on. */
  bool late = (r->claim || r->transitions == 1) && !S3L_MUTANT(CLAIM_COUNTED_ON);
  if (c->observed.kind == S3L_OBSERVED_RECORD && r->epoch > 0 && (!late || r->released))
    return next;
  uint64_t seed = s3l_write_store_time(c);
  if (seed == 0 && !(c->observed.kind == S3L_OBSERVED_RECORD && r->epoch > 0))
    seed = s3l_write_epoch_time(c->wall_ms); /* better than to begin with 1 */
  return seed > next && !S3L_MUTANT(EPOCH_RESTARTED) ? seed : next;
}

void s3l_write_record(const s3l_core_t* c, const s3l_op_t* op, s3lect_record_t* r) {
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
}

const s3l_sent_t* s3l_write_sent(const s3l_core_t* c, uint64_t epoch, uint64_t write) {
  const s3l_sent_t* s = &c->sent[write % S3L_SENT_MAX];
  return write > 0 && s->write == write && s->epoch == epoch ? s : NULL;
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
  bool goes_on = kind != S3L_OP_TAKE_OVER || keeps_epoch(c);
  S3L_ASSERT(c->op.kind == S3L_OP_NONE && !c->read_back);
  S3L_ASSERT(kind == S3L_OP_TAKE_OVER ? !c->leading : s3l_view_is_own_claim(c));
  c->write += S3L_MUTANT(WRITE_NUMBER_STUCK) && kind == S3L_OP_RENEW ? 0 : 1;
  s3l_op_t* op = &c->op;
  memset(op, 0, sizeof *op);
  op->kind = kind;
  op->sent_at = c->now;
  op->wall_ms = c->wall_ms;
  op->disputed = c->refused;
  op->epoch = kind == S3L_OP_TAKE_OVER ? next_epoch(c) : seen->epoch;
  bool claims = !goes_on && s3l_view_is_unfounded(c);
  bool counts = !goes_on && seen->transitions < S3L_TRANSITIONS_MAX;
  op->transitions = claims ? 0 : seen->transitions + (counts ? 1 : 0);
  op->acquired_ms = goes_on ? seen->acquired_ms : c->wall_ms;
  c->sent[c->write % S3L_SENT_MAX] = (s3l_sent_t){
      .epoch = op->epoch,
      .write = c->write & UINT64_MAX >> 1,
      .provisional = s3l_view_is_unfounded(c),
      .at = c->now,
  };
  if (c->attempt == 0)
    c->op_started = c->now;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_WRITE);
  e->etag = c->observed.etag;
  e->condition = e->etag[0] != '\0' ? S3LECT_IF_MATCH : S3LECT_IF_ABSENT;
  if (c->config.epochs != NULL)
    s3l_epochs_sending(c, e);
  e->disputed = op->disputed;
  e->timeout_ms = write_timeout(c, kind);
  op->overdue_at = s3l_ns_add(c->now, e->timeout_ms * S3L_MS + S3L_OVERDUE);
  s3l_write_record(c, op, &fx->record);
  c->stats.writes++;
  S3L_MUTATE(SELF_NAMED, fx);
}

static void landed(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const char* etag) {
  s3l_ns_t lease_from = S3L_MUTANT(LEASE_FROM_REPLY) ? c->now : op->sent_at;
  s3l_epochs_wrote(c, op);
  s3l_view_written(c, fx, op, etag);
  s3l_view_report(c, fx);
  s3l_core_operation_done(c);
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
    if (S3L_MUTANT(RELEASE_BEFORE_STOP))
      s3l_lead_stop(c, fx, S3LECT_REASON_RESIGNED);
    c->release_owed = false;
    break;
  }
}

void s3l_write_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                    const s3lect_store_result_t* r) {
  if (r->status == 0 && r->outcome == S3LECT_SETTLED && r->etag != NULL && r->etag[0] != '\0' &&
      strlen(r->etag) < S3LECT_ETAG_SIZE) {
    landed(c, fx, op, r->etag);
    return;
  }
  if (s3l_epochs_learns_plain(c, op, r))
    return;
  if (is_refusal(r)) {
    c->stats.conflicts++;
    c->read_back = true;
    bool swapped = c->config.epochs == NULL || op->kind != S3L_OP_TAKE_OVER;
    c->refused = r->status == S3LECT_EPRECONDITION && c->observed.etag[0] != '\0' && swapped;
    if (op->disputed && c->refused && !c->disputed_told) {
      c->disputed_told = true;
      s3l_core_error(c, fx, S3LECT_EDISPUTED, r->message);
    }
  } else if (r->outcome != S3LECT_NOT_APPLIED) {
    c->stats.unknown_outcomes++;
    c->read_back = !S3L_MUTANT(BLIND_RETRY) &&
                   !(S3L_MUTANT(EPOCHS_BLIND_CREATE) && op->kind == S3L_OP_TAKE_OVER);
    c->uncertain = c->write;
  }
  s3l_core_attempt_failed(c, fx, r);
  if (is_refusal(r) && c->attempt > 0)
    c->read_back_at = c->now; /* the store answered: only the next write has to wait */
}
