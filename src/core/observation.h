/* core/observation.h: what is known of the lockfile, and when it may be replaced.
 *
 * The observation (design rule 3) restarts whenever the ETag changes: what counts is how long this
 * elector itself has seen one version stand, by its own clock, from the receipt of the first reply
 * that showed it. */
#ifndef S3L_CORE_OBSERVATION_H
#define S3L_CORE_OBSERVATION_H

#include "core/protocol.h"

/** An epoch from the store's clock must lie beyond any that there was before the reply which showed
 * the place free. That reply's Date is early by up to its grain, so the grain is let pass. */
#define S3L_EPOCH_SEED_WAIT (S3L_SECOND + 100 * S3L_MS)

/* Changes. Each starts the observation anew, unless the ETag says that nothing has changed. */

/** Nothing is known of the lockfile. */
void s3l_observe_nothing(s3l_core_t* c, s3l_effects_t* fx);
void s3l_observe_absence(s3l_core_t* c, s3l_effects_t* fx);
/** What a successful read of the lockfile shows; what a read of the epoch file `number` shows. */
void s3l_observe_lockfile(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);
void s3l_observe_file(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result,
                      uint64_t number);
/** The record in fx->seen, which this elector has just written: its own, or one that it granted. */
void s3l_observe_write(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const char* etag);
/** A record that its own leader answered with. */
void s3l_observe_answer(s3l_core_t* c, s3l_effects_t* fx, const s3lect_record_t* record,
                        const char* etag);
/** What is observed counts as seen for the first time. */
void s3l_observe_again(s3l_core_t* c);

/** Tells the application what a changed observation means: a new leader, a duplicate, something
 * foreign. Separate from observing, so that the end of the elector's own leadership is reported
 * first.
 */
void s3l_observation_report(s3l_core_t* c, s3l_effects_t* fx);

/* Questions. */

bool s3l_is_usable_etag(const char* etag);
/** Whether a reply to a read shows an object: its body, or that the body is too large. */
bool s3l_is_object(const s3lect_store_result_t* result);
/** What an observation keeps of a record. */
s3l_observed_record_t s3l_without_names(const s3l_core_t* c, const s3lect_record_t* record);
/** Of an ETag and the like. */
uint64_t s3l_fingerprint(const char* text);
/** The same of a value, in 32 bits: 0 if it is "". */
uint32_t s3l_value_fingerprint(const char* value);
/** Whether a record of this incarnation is observed that is not released. */
bool s3l_is_own_claim(const s3l_core_t* c);
/** Whether the observed record is one of this elector, of a leadership that is over. */
bool s3l_has_led(const s3l_core_t* c);
/** As s3l_is_own_claim, and that it may be led, as far as its predecessor matters. */
bool s3l_is_sound_claim(const s3l_core_t* c);
/** How long others than the successor that a release names let it go first; 0 if it names none. */
s3l_ns_t s3l_successor_priority(const s3l_core_t* c);
/** How long this elector lets candidates of a higher priority go first, from takeover_at on. */
s3l_ns_t s3l_head_start(const s3l_core_t* c);
/** T * (1 + drift) of the observed record. */
s3l_ns_t s3l_observation_wait(const s3l_core_t* c);
/** The renewal interval of the observed leader: the elector's own where the record has none. */
uint32_t s3l_observed_renew_ms(const s3l_core_t* c);
/** Whether a higher epoch than every observed one can be written. */
bool s3l_has_next_epoch(const s3l_core_t* c);

#endif
