#include "core/effects.h"

#include <string.h>

#include "core/epochs.h"
#include "core/record.h"
#include "s3lect/errno.h"
#include "util/assert.h"

s3l_effect_t* s3l_core_effect(s3l_effects_t* fx, s3l_effect_kind_t kind) {
  S3L_ASSERT(fx->len < S3L_EFFECTS_MAX);
  s3l_effect_t* e = &fx->at[fx->len++];
  memset(e, 0, sizeof *e);
  e->kind = kind;
  return e;
}

void s3l_core_error(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message) {
  S3L_ASSERT(error < 0);
  c->last_error = error;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_ERROR;
  e->error = error;
  e->message = message;
  e->epoch = c->announced ? c->epoch : 0;
  e->valid_until = s3l_core_valid_until(c);
}

void s3l_core_error_once(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message) {
  s3l_core_error(c, fx, error, message);
  fx->at[fx->len - 1].once = true;
}

s3l_ns_t s3l_core_jitter(s3l_core_t* c, uint32_t ms) {
  uint64_t fifth_us = (uint64_t)ms * 1000 / 5;
  return ms * S3L_MS - (s3l_ns_t)(fifth_us / 2) * 1000 +
         (s3l_ns_t)s3l_prng_below(&c->prng, fifth_us + 1) * 1000;
}

s3l_ns_t s3l_core_hold(const s3l_core_t* c) {
  return s3l_lease_hold(c->config.leader_timeout_ms * S3L_MS, c->config.drift_ppm);
}

s3l_ns_t s3l_core_term(const s3l_core_t* c) {
  s3l_ns_t early = s3l_later(c->config.renew_deadline_ms * S3L_MS, S3L_STOP_EARLY);
  return s3l_core_hold(c) - (S3L_MUTANT(DEADLINE_IGNORED) ? 0 : early - S3L_STOP_EARLY);
}

bool s3l_core_is_enough(const s3l_core_t* c, s3l_ns_t lease_from) {
  return lease_from + s3l_core_term(c) - c->now >= s3l_core_term(c) / 3;
}

const s3l_sent_t* s3l_core_sent(const s3l_core_t* c, uint64_t epoch, uint64_t write) {
  const s3l_sent_t* s = &c->sent[write % S3L_SENT_MAX];
  return write > 0 && s->write == write && s->epoch == epoch ? s : NULL;
}

uint64_t s3l_next_transition(uint64_t transitions) {
  return transitions + (transitions < S3L_TRANSITIONS_MAX ? 1 : 0);
}

uint64_t s3l_core_epoch_time(int64_t unix_ms) {
  return unix_ms > 0 && (uint64_t)unix_ms / 1000 < S3L_EPOCHS_MAX ? (uint64_t)unix_ms : 0;
}

uint64_t s3l_core_store_time(const s3l_core_t* c) {
  if (c->store_time_ms <= 0)
    return 0;
  int64_t passed = (c->now - c->store_time_at) / S3L_MS;
  return s3l_core_epoch_time(c->store_time_ms + passed - passed * c->config.drift_ppm / 500000);
}

bool s3l_core_is_refusal(const s3lect_store_result_t* r) {
  return r->outcome == S3LECT_SETTLED &&
         (r->status == S3LECT_EPRECONDITION || r->status == S3LECT_ENOTFOUND ||
          r->status == S3LECT_ECONFLICT);
}

/* An error page may be a proxy's, which has a clock of its own. */
void s3l_core_note_store_time(s3l_core_t* c, const s3lect_store_result_t* r) {
  bool settled =
      r->outcome == S3LECT_SETTLED && (r->status == 0 || r->status == S3LECT_ENOTMODIFIED ||
                                       r->status == S3LECT_ETOOBIG || s3l_core_is_refusal(r));
  if (settled && s3l_core_epoch_time(r->store_time_ms) > 0) {
    c->store_time_ms = r->store_time_ms;
    c->store_time_at = c->now;
  }
}
