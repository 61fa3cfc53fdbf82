#include "core/absence.h"

#include "core/effects.h"
#include "core/observation.h"
#include "core/peer.h"
#include "util/assert.h"

/* Until when a leader is known; 0: there is none. */
static s3l_ns_t led_until(const s3l_core_t* c) {
  const s3l_observation_t* v = &c->observed;
  if (c->leading || v->kind == S3L_OBSERVED_UNKNOWN)
    return S3L_NEVER;
  if (v->kind == S3L_OBSERVED_FOREIGN)
    return v->takeover_at;
  if (!s3l_core_names_leader(c) || s3l_has_led(c))
    return 0;
  if (v->own) /* a claim that is not led yet */
    return s3l_ns_add(v->first_seen, s3l_core_hold(c));
  return s3l_later(v->takeover_at, s3l_peer_covers_until(c));
}

s3l_ns_t s3l_absence_due(const s3l_core_t* c) {
  bool open = c->phase == S3L_PHASE_STANDING && !c->leaderless;
  return open ? s3l_later(led_until(c), c->now) : S3L_NEVER;
}

void s3l_absence_report(s3l_core_t* c, s3l_effects_t* fx) {
  S3L_ASSERT(!c->leading && !c->leaderless && c->phase == S3L_PHASE_STANDING);
  const s3l_observation_t* v = &c->observed;
  bool claims = v->record.claim || (v->own && c->provisional);
  c->leaderless = true;
  c->value_due = true; /* a leader that returns publishes anew */
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_NO_LEADER;
  e->epoch = claims ? 0 : v->record.epoch;
}
