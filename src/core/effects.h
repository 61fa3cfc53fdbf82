/* core/effects.h: adding to the list of effects, and what else all of the core needs. */
#ifndef S3L_CORE_EFFECTS_H
#define S3L_CORE_EFFECTS_H

#include "core/state.h"
#include "util/mutant.h"

static inline s3l_ns_t s3l_later(s3l_ns_t a, s3l_ns_t b) {
  return a > b ? a : b;
}

static inline s3l_ns_t s3l_sooner(s3l_ns_t a, s3l_ns_t b) {
  return a < b ? a : b;
}

static inline uint64_t s3l_larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

s3l_effect_t* s3l_core_effect(s3l_effects_t* fx, s3l_effect_kind_t kind);
void s3l_core_error(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message);
/** The same for an error that the core itself does not repeat. */
void s3l_core_error_once(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message);

/** ms, give or take 10 %. */
s3l_ns_t s3l_core_jitter(s3l_core_t* c, uint32_t ms);

/** T * (1 - drift): how long a lease lasts. */
s3l_ns_t s3l_core_hold(const s3l_core_t* c);
/** How long of that a write makes this elector leader: all of it, unless renew_deadline_ms takes
 * more away than S3L_STOP_EARLY does. */
s3l_ns_t s3l_core_term(const s3l_core_t* c);
/** Whether enough is left of a lease that began then. With less than a third the first renewal
 * might come too late: the claim, which stands in the store, is written again first. */
bool s3l_core_is_enough(const s3l_core_t* c, s3l_ns_t lease_from);

/** What is remembered of the sending of a write of this incarnation; NULL if it is too long ago. */
const s3l_sent_t* s3l_core_sent(const s3l_core_t* c, uint64_t epoch, uint64_t write);

/** How many leaderships there are with the next one. */
uint64_t s3l_next_transition(uint64_t transitions);

/** The store's time now, in ms: its last Date, carried on by the elector's clock, but never beyond
 * what the store's clock shows. 0 if it is unknown. */
uint64_t s3l_core_store_time(const s3l_core_t* c);
/** Unix time that an epoch may be made of, in ms; 0 if it lies so far in the future (from 2286 on)
 * that it must be damage: in seconds it has to stay below the highest number of an epoch file. */
uint64_t s3l_core_epoch_time(int64_t unix_ms);
/** Keeps the time of a reply by which the store settled the request. */
void s3l_core_note_store_time(s3l_core_t* c, const s3lect_store_result_t* result);
/** Whether the store refused a write by its condition. */
bool s3l_core_is_refusal(const s3lect_store_result_t* result);

#endif
