#include "core/lead.h"

#include "core/effects.h"
#include "core/observation.h"
#include "core/request.h"
#include "s3lect/errno.h"
#include "util/assert.h"

/* Renewals are jittered towards the earlier side only: the timing rule was checked with the whole
 * interval. */
static s3l_ns_t next_renewal(s3l_core_t* c, s3l_ns_t sent_at) {
  uint32_t ms = c->config.renew_interval_ms;
  uint64_t early = s3l_prng_below(&c->prng, (uint64_t)ms * 1000 / 10 + 1);
  return s3l_ns_add(sent_at, ms * S3L_MS - (s3l_ns_t)early * 1000);
}

static void announce(s3l_core_t* c, s3l_effects_t* fx) {
  S3L_ASSERT(c->leading && !c->announced && c->now < c->valid_until);
  c->announced = true;
  c->leaderless = false;
  c->stats.leaderships++;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_STARTED_LEADING;
  e->epoch = c->epoch;
  e->valid_until = c->valid_until;
  e->takeover_at = c->observed.takeover_before;
}

s3l_ns_t s3l_lead_warn_at(const s3l_core_t* c) {
  if (!c->announced || c->warned || c->config.warn_before_ms == 0)
    return S3L_NEVER;
  return c->valid_until - S3L_STOP_EARLY - c->config.warn_before_ms * S3L_MS;
}

void s3l_lead_warn(s3l_core_t* c, s3l_effects_t* fx) {
  if (c->now < s3l_lead_warn_at(c))
    return;
  c->warned = true;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_EXPIRING;
  e->epoch = c->epoch;
  e->valid_until = c->valid_until;
}

/* A write of the epoch that is led has been applied: the next renewal is due an interval after it.
 */
static void was_applied(s3l_core_t* c, s3l_ns_t sent_at) {
  c->renewed_at = sent_at;
  c->renew_at = next_renewal(c, sent_at);
  c->poll_at = c->now;
  c->poll_attempt = 0;
  s3l_request_done(c);
}

void s3l_lead_if_valid(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at) {
  S3L_ASSERT(!c->leading && s3l_is_own_claim(c));
  s3l_ns_t lease_from = c->config.protocol->lease_from(c, sent_at);
  bool enough = lease_from > 0 && s3l_core_is_enough(c, lease_from);
  uint64_t epoch = c->observed.record.epoch;
  bool unused = epoch > c->epoch || S3L_MUTANT(EPOCHS_RESUMED);
  if (!s3l_is_sound_claim(c) || !unused || epoch < c->epoch_seen || !enough)
    return;
  if (c->phase != S3L_PHASE_STANDING || c->now < c->hold_until || c->ack_owed)
    return;
  c->leading = true;
  c->announced = false;
  c->epoch = epoch;
  c->valid_until = s3l_ns_add(lease_from, s3l_core_term(c));
  c->warned = false;
  was_applied(c, sent_at);
  c->config.protocol->inform(c, S3L_INFORM_LEADING, NULL);
  /* Another hand wrote a record that was granted: without the value. No claim ever carries one. */
  if (!c->observed.record.claim && s3l_value_fingerprint(c->value) != c->observed.record.value)
    c->publish = true;
  c->announce_at = s3l_ns_add(c->now, c->config.grace_period_ms * S3L_MS);
  s3l_lead_tick(c, fx);
}

void s3l_lead_renewed(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at) {
  S3L_ASSERT(c->leading && c->now < c->valid_until);
  const s3l_protocol_t* p = c->config.protocol;
  s3l_ns_t valid_until = s3l_ns_add(p->lease_from(c, sent_at), s3l_core_term(c));
  bool counts = valid_until > c->valid_until;
  if (sent_at > c->renewed_at)
    was_applied(c, sent_at);
  if (!counts || p->read_at(c, S3L_NEVER) != S3L_NEVER)
    return; /* or not before the next listing is clean */
  c->valid_until = valid_until;
  c->warned = S3L_MUTANT(WARNED_ONCE) && c->warned;
  c->stats.renewals++;
  if (!c->announced)
    return;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_RENEWED;
  e->epoch = c->epoch;
  e->valid_until = c->valid_until;
}

void s3l_lead_stop(s3l_core_t* c, s3l_effects_t* fx, s3lect_reason_t reason) {
  if (!c->leading)
    return;
  s3l_ns_t ended = c->now < c->valid_until ? c->now : c->valid_until;
  bool announced = c->announced;
  c->leading = false;
  c->announced = false;
  c->releasing = true;
  c->valid_until = 0;
  c->watching = true;
  c->poll_at = s3l_ns_add(c->now, s3l_core_jitter(c, c->config.frequent_interval_ms));
  c->not_before = c->now;
  c->read_back_at = c->now; /* a read-back no longer waits for the next attempt of a renewal */
  c->attempt = 0;
  if (c->observed.own)
    c->observed.takeover_at = c->now;
  if (!announced || (S3L_MUTANT(LOSS_NOT_TOLD) && reason == S3LECT_REASON_LOST))
    return;
  c->ack_owed = c->config.stop_ack_ms > 0;
  c->unacknowledged = c->ack_owed ? c->epoch : 0;
  c->ack_until = s3l_ns_add(c->now, c->config.stop_ack_ms * S3L_MS);
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_STOPPED_LEADING;
  e->reason = reason;
  e->epoch = c->epoch;
  e->valid_until = ended;
}

void s3l_lead_tick(s3l_core_t* c, s3l_effects_t* fx) {
  if (!c->leading)
    return;
  if (c->now >= c->valid_until - S3L_STOP_EARLY && !S3L_MUTANT(NO_SELF_STOP))
    s3l_lead_stop(c, fx, S3LECT_REASON_EXPIRED);
  else if (!c->announced && c->now >= c->announce_at)
    announce(c, fx);
}

void s3l_lead_resolve(s3l_core_t* c, s3l_effects_t* fx) {
  const s3l_observed_record_t* r = &c->observed.record;
  bool own = s3l_is_own_claim(c);
  const s3l_sent_t* sent = own ? s3l_core_sent(c, r->epoch, r->write) : NULL;
  if (own && r->write == c->uncertain)
    c->stats.unknown_resolved++;
  c->uncertain = 0;
  if (c->leading && !(own && r->epoch == c->epoch))
    s3l_lead_stop(c, fx, S3LECT_REASON_LOST);
  else if (c->leading && sent != NULL)
    s3l_lead_renewed(c, fx, sent->at);
  else if (!c->leading && own && sent != NULL)
    s3l_lead_if_valid(c, fx, S3L_MUTANT(READ_BACK_IS_SENDING) ? c->now : sent->at);
}

s3l_ns_t s3l_lead_due(const s3l_core_t* c) {
  return c->leading ? c->valid_until - c->config.leader_timeout_ms * S3L_MS / 3 : 0;
}
