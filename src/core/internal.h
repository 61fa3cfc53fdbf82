/* core/internal.h (L1): what the core's files share. Not for its users.
 *
 *   core.c    the step: what is due, what an event means; the schedule of attempts
 *   view.c    what a reply shows of the lockfile, and when it may be replaced
 *   lead.c    becoming and being leader, and ceasing to be
 *   write.c   the records that are written, and what became of them
 *   peer.c    asking the leader, and how much its answers count */
#ifndef S3L_CORE_INTERNAL_H
#define S3L_CORE_INTERNAL_H

#include "core/core.h"

/* core.c */

s3l_effect_t* s3l_core_effect(s3l_effects_t* fx, s3l_effect_kind_t kind);
void s3l_core_error(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message);
/** ms, give or take 10 %. */
s3l_ns_t s3l_core_jitter(s3l_core_t* c, uint32_t ms);
/** An attempt of a write or of its read-back failed: sets when the next may come, or ends the
 * operation (and reports it). */
void s3l_core_attempt_failed(s3l_core_t* c, s3l_effects_t* fx, const s3l_result_t* result);
/** The operation under way has done what it was for. */
void s3l_core_operation_done(s3l_core_t* c);

/* view.c */

/** Nothing is known of the lockfile. */
void s3l_view_forget(s3l_core_t* c, s3l_effects_t* fx);
/** Takes in a reply to a read. False if it told nothing of the lockfile (it failed). */
bool s3l_view_read(s3l_core_t* c, s3l_effects_t* fx, const s3l_result_t* result);
/** The view is `record`, as its own leader said. */
void s3l_view_told(s3l_core_t* c, s3l_effects_t* fx, const s3lect_record_t* record,
                   const char* etag);
/** The view is what this elector just wrote. */
void s3l_view_written(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const char* etag);
bool s3l_view_is_usable_etag(const char* etag);
/** What the view would keep of a record. */
s3l_view_record_t s3l_view_without_names(const s3l_core_t* c, const s3lect_record_t* record);
/** Whether a claim that is written over the view is an unfounded one. */
bool s3l_view_is_unfounded(const s3l_core_t* c);
/** T * (1 + drift) of the record in view. */
s3l_ns_t s3l_view_wait(const s3l_core_t* c);
/** The renewal interval of the leader in view: one's own where the record does not tell. */
uint32_t s3l_view_renew_ms(const s3l_core_t* c);
/** Whether the view is a record of this incarnation that is not released. */
bool s3l_view_is_own_claim(const s3l_core_t* c);
/** Tells the application what a changed view means: a new leader, a duplicate, something foreign.
 * Apart from taking it in, so that the end of one's own leadership is told first. */
void s3l_view_report(s3l_core_t* c, s3l_effects_t* fx);

/* lead.c */

/** Leads the epoch in view, whose newest write was sent at `sent_at`, if enough of its lease is
 * left; else nothing. */
void s3l_lead_if_valid(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at);
/** A write of the epoch that is led, sent at `sent_at`, is known to have landed. */
void s3l_lead_renewed(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at);
/** Ends leadership, if there is one, at once. */
void s3l_lead_stop(s3l_core_t* c, s3l_effects_t* fx, s3l_reason_t reason);
/** Does what time alone demands: ends leadership whose validity is over, announces one whose grace
 * period is. */
void s3l_lead_tick(s3l_core_t* c, s3l_effects_t* fx);
/** After a read-back: is it still, or after all, this elector that leads? */
void s3l_lead_resolve(s3l_core_t* c, s3l_effects_t* fx);

/* peer.c */

/** Nobody was asked. */
void s3l_peer_reset(s3l_core_t* c);
/** Whether the leader in view is one to be asked. */
bool s3l_peer_is_asked(const s3l_core_t* c);
/** No store read is due before; 0 if the leader's word does not count, or no longer. */
s3l_ns_t s3l_peer_covers_until(const s3l_core_t* c);
/** The view has changed; `goes_on`: to a later write of the same leadership. */
void s3l_peer_view_changed(s3l_core_t* c, bool goes_on);
/** The store has told what it holds; `steady`: a leader that renews. Sets the next read, and how
 * often to look. */
void s3l_peer_store_told(s3l_core_t* c, bool steady);
void s3l_peer_answered(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* result);
/** When an ask, or the end of one, is due. */
s3l_ns_t s3l_peer_due(const s3l_core_t* c);
/** Does it; false if nothing was due. */
bool s3l_peer_tick(s3l_core_t* c, s3l_effects_t* fx);

/* write.c */

void s3l_write_send(s3l_core_t* c, s3l_effects_t* fx, s3l_op_kind_t kind);
void s3l_write_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                    const s3l_result_t* result);
/** The record that `op` wrote, or is to write. */
void s3l_write_record(const s3l_core_t* c, const s3l_op_t* op, s3lect_record_t* record);
/** What is remembered of the sending of a write of this incarnation; NULL if it is too long ago. */
const s3l_sent_t* s3l_write_sent(const s3l_core_t* c, uint64_t epoch, uint64_t write);

#endif
