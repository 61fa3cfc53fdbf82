#include "core/grant.h"

#include <string.h>

#include "core/effects.h"
#include "core/observation.h"
#include "core/record.h"
#include "util/assert.h"

/* Whether this elector would lead by the next epoch if it were granted now, as far as it knows. The
 * leader must be known to be itself, and to hold the question. */
static bool is_candidate(const s3l_core_t* c, uint32_t wait_ms) {
  bool free = c->now >= c->hold_until && !c->ack_owed;
  return c->config.candidacy && !c->config.observer && wait_ms > 0 && free &&
         c->phase == S3L_PHASE_STANDING && c->peer.answer == S3L_ANSWER_AUTHENTICATED &&
         c->config.protocol->grants && s3l_has_next_epoch(c) &&
         c->observed.record.epoch == c->epoch_seen && c->observed.record.transitions > 0;
}

static void fill_candidacy(s3l_core_t* c, s3lect_record_t* r) {
  memset(r, 0, sizeof *r);
  memcpy(r->leader_id, c->config.id, strlen(c->config.id));
  memcpy(r->leader_addr, c->config.addr, strlen(c->config.addr));
  memcpy(r->incarnation, c->incarnation, sizeof r->incarnation);
  r->epoch = c->observed.record.epoch + 1;
  r->write = c->write;
  r->leader_timeout_ms = c->config.leader_timeout_ms;
  r->renew_interval_ms = c->config.renew_interval_ms;
  r->last_updated_ms = c->wall_ms;
  r->acquired_ms = c->wall_ms;
  r->transitions = s3l_next_transition(c->observed.record.transitions);
}

void s3l_grant_ask(s3l_core_t* c, s3l_effects_t* fx, s3l_effect_t* question) {
  bool withdraws = c->phase == S3L_PHASE_LEAVING;
  S3L_ASSERT(!withdraws || c->peer.open);
  if (!withdraws && !is_candidate(c, question->wait_ms))
    return;
  bool again = s3l_core_sent(c, c->observed.record.epoch + 1, c->write) != NULL;
  if (!withdraws && !(S3L_MUTANT(GRANT_NUMBER_KEPT) && again))
    c->write++;
  fill_candidacy(c, &fx->record);
  fx->record.released = withdraws;
  question->candidacy = true;
  if (withdraws)
    return;
  c->peer.open = true;
  c->sent[c->write % S3L_SENT_MAX] =
      (s3l_sent_t){.epoch = fx->record.epoch, .write = c->write & UINT64_MAX >> 1, .at = c->now};
}

bool s3l_grant_is_answer(const s3l_core_t* c, const s3l_peer_result_t* r) {
  return r->kind == S3L_PEER_LEADING && c->peer.open && r->authenticated &&
         s3l_is_usable_etag(r->etag) && strcmp(r->etag, c->observed.etag) != 0 &&
         strcmp(r->record->incarnation, c->incarnation) == 0 &&
         r->record->epoch == c->observed.record.epoch + 1 && c->op.kind == S3L_OP_NONE &&
         s3l_core_sent(c, r->record->epoch, r->record->write) != NULL;
}

bool s3l_grant_is_possible(const s3l_core_t* c, const s3lect_record_t* r) {
  const s3l_observed_record_t* own = &c->observed.record;
  return r != NULL && c->config.protocol->grants && own->epoch == c->epoch &&
         own->epoch == c->epoch_seen && s3l_has_next_epoch(c) && r->epoch == own->epoch + 1 &&
         !r->released && r->write > 0 && r->leader_timeout_ms == c->config.leader_timeout_ms &&
         r->leader_id[0] != '\0' && r->incarnation[0] != '\0' &&
         strcmp(r->incarnation, c->incarnation) != 0 && strcmp(r->leader_id, c->config.id) != 0 &&
         (c->successor == NULL || strcmp(r->leader_id, c->successor) == 0);
}

void s3l_grant_fill(const s3l_op_t* op, const s3lect_record_t* candidate, s3lect_record_t* r) {
  S3L_ASSERT(candidate != NULL && candidate->epoch == op->epoch);
  *r = *candidate;
  memset(r->successor, 0, sizeof r->successor);
  memset(r->value, 0, sizeof r->value);
  r->released = 0;
  r->last_updated_ms = op->wall_ms;
  r->acquired_ms = op->acquired_ms;
  r->transitions = op->transitions;
  r->claim = s3l_record_is_claim(r);
  S3L_ASSERT(!r->claim);
}
