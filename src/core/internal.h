/* core/internal.h: what the core's files share. Not for its users.
 *
 *   core.c    the step: what is due, what an event means; the schedule of attempts
 *   view.c    what a reply shows of the lockfile, and when it may be replaced
 *   lead.c    becoming and being leader, and ceasing to be
 *   write.c   the records that are written, and what became of them
 *   peer.c    probing the leader, and how much its answers count
 *   epochs.c  the epoch-file protocol: where it differs; also epochs_read.c, epochs_sweep.c,
 *             epochs_files.c */
#ifndef S3L_CORE_INTERNAL_H
#define S3L_CORE_INTERNAL_H

#include "core/core.h"
#include "core/mutant.h"

static inline uint64_t s3l_larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* core.c */

s3l_effect_t* s3l_core_effect(s3l_effects_t* fx, s3l_effect_kind_t kind);
void s3l_core_error(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message);
/** The same of an error that the core itself does not repeat. */
void s3l_core_error_once(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message);
/** ms, give or take 10 %. */
s3l_ns_t s3l_core_jitter(s3l_core_t* c, uint32_t ms);
/** An attempt of a write or of its read-back failed: sets when the next may come, or ends the
 * operation (and reports it). */
void s3l_core_attempt_failed(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);
/** The operation under way has done what it was for. */
void s3l_core_operation_done(s3l_core_t* c);
/** Begins a request of a read: sets what all have in common. */
s3l_effect_t* s3l_core_send_read(s3l_core_t* c, s3l_effects_t* fx, s3l_effect_kind_t kind);

/* view.c */

/** Nothing is known of the lockfile. */
void s3l_view_forget(s3l_core_t* c, s3l_effects_t* fx);
/** Takes in a reply to a read. False if it told nothing of the lockfile (it failed). */
bool s3l_view_read(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);
/** The view is `record`, as its own leader said. */
void s3l_view_told(s3l_core_t* c, s3l_effects_t* fx, const s3lect_record_t* record,
                   const char* etag);
/** The view is the absence of a lockfile; of an epoch file, and the file that a reply shows. */
void s3l_view_show_absence(s3l_core_t* c, s3l_effects_t* fx);
void s3l_view_show_file(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result,
                        uint64_t number);
/** What is in view is taken to be seen for the first time. */
void s3l_view_restart(s3l_core_t* c);
/** The next read is due in `ms`, give or take 10 %. A follower that is not watching would sleep
 * through the instant at which the record may be replaced (design rule 3): it reads then. */
void s3l_view_look_after(s3l_core_t* c, uint32_t ms);
/** A read is over that ended with this reply: how soon is it to be looked again? */
void s3l_view_read_over(s3l_core_t* c, const s3lect_store_result_t* result);
/** The view is what this elector just wrote. */
void s3l_view_written(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const char* etag);
bool s3l_view_is_usable_etag(const char* etag);
/** What the view would keep of a record. */
s3l_observed_record_t s3l_view_without_names(const s3l_core_t* c, const s3lect_record_t* record);
/** Of an ETag and the like. */
uint64_t s3l_view_fingerprint(const char* text);
/** Whether a claim that is written over the view is an provisional one. */
bool s3l_view_is_unfounded(const s3l_core_t* c);
/** How long others than the successor that a release names let it go first; 0 if it names none. */
s3l_ns_t s3l_view_head_start(const s3l_core_t* c);
/** T * (1 + drift) of the record in view. */
s3l_ns_t s3l_view_wait(const s3l_core_t* c);
/** The renewal interval of the leader in view: one's own where the record does not tell. */
uint32_t s3l_view_renew_ms(const s3l_core_t* c);
/** Whether the view is a record of this incarnation that is not released. */
bool s3l_view_is_own_claim(const s3l_core_t* c);
/** Tells the application what a changed view means: a new leader, a duplicate, something foreign.
 * Apart from taking it in, so that the end of one's own leadership is told first. */
void s3l_view_report(s3l_core_t* c, s3l_effects_t* fx);

/** An epoch from the store's clock must lie beyond any that there was before the reply which showed
 * the place free. That reply's Date is early by up to its grain, so the grain is let pass. */
#define S3L_EPOCH_SEED_WAIT (S3L_SECOND + 100 * S3L_MS)

/* lead.c */

/** T * (1 - drift): how long a lease lasts. */
s3l_ns_t s3l_lead_hold(const s3l_core_t* c);
/** Whether enough is left of a lease that began then. With less than a third the first renewal
 * might come too late: the claim, which stands in the store, is first written again. */
bool s3l_lead_is_enough(const s3l_core_t* c, s3l_ns_t lease_from);
/** Leads the epoch in view, whose newest write was sent at `sent_at`, if enough of its lease is
 * left; else nothing. */
void s3l_lead_if_valid(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at);
/** A write of the epoch that is led, sent at `sent_at`, is known to have landed. */
void s3l_lead_renewed(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at);
/** Ends leadership, if there is one, at once. */
void s3l_lead_stop(s3l_core_t* c, s3l_effects_t* fx, s3lect_reason_t reason);
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

/** The store's time now, in ms: its last Date, carried on by one's own clock, but never beyond what
 * the store's clock shows. 0 if it was never told. */
uint64_t s3l_write_store_time(const s3l_core_t* c);
/** Unix time that an epoch may be made of, in ms; 0 if it lies so far in the future (from 2286 on)
 * that it must be damage: in seconds it has to stay below the highest number of an epoch file. */
uint64_t s3l_write_epoch_time(int64_t unix_ms);
/** Whether a higher epoch than every one that was seen can be written. */
bool s3l_write_has_next_epoch(const s3l_core_t* c);
void s3l_write_note_store_time(s3l_core_t* c, const s3lect_store_result_t* result);
void s3l_write_send(s3l_core_t* c, s3l_effects_t* fx, s3l_op_kind_t kind);
void s3l_write_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                    const s3lect_store_result_t* result);
/** The record that `op` wrote, or is to write. */
void s3l_write_record(const s3l_core_t* c, const s3l_op_t* op, s3lect_record_t* record);
/** What is remembered of the sending of a write of this incarnation; NULL if it is too long ago. */
const s3l_sent_t* s3l_write_sent(const s3l_core_t* c, uint64_t epoch, uint64_t write);

/* epochs.c: of the first group, called whatever the protocol, each does nothing in that of the
 * lockfile. */

/** The view is about to be what its leader said. */
void s3l_epochs_told(s3l_core_t* c);
/** The view has changed, whatever by. */
void s3l_epochs_view_changed(s3l_core_t* c);
/** Whether a read is under way that goes on with another request. */
bool s3l_epochs_is_reading(const s3l_core_t* c);
/** A write is in view that the elector sent itself. */
void s3l_epochs_wrote(s3l_core_t* c, const s3l_op_t* op);
/** True if the store has no If-Match, as this reply tells: the write may be sent again, without. */
bool s3l_epochs_learns_plain(s3l_core_t* c, const s3l_op_t* op,
                             const s3lect_store_result_t* result);
/** While leading: how long validity may come to last by the write in view. What is promised of that
 * write must not end sooner: a listing prolongs validity, and is no write that others could see. */
s3l_ns_t s3l_epochs_valid_at_most(const s3l_core_t* c);
/** What the lease of a write that was sent then counts from. */
s3l_ns_t s3l_epochs_lease_from(const s3l_core_t* c, s3l_ns_t sent_at);
/** Leadership begins by a write that was sent then. */
void s3l_epochs_leads(s3l_core_t* c, s3l_ns_t sent_at);
/** Whether an provisional claim is in view, which is not led, and stands for longer than a leader's
 * file. */
bool s3l_epochs_is_claim(const s3l_core_t* c);
/** Whether the file of one's own in view may be led: its predecessor stood after it had landed. And
 * whether that is to be found out. */
bool s3l_epochs_is_checked(const s3l_core_t* c);
bool s3l_epochs_wants_check(const s3l_core_t* c);
/** The leader in view, being itself, says that it leads. */
void s3l_epochs_vouched(s3l_core_t* c, s3l_ns_t asked_at);
/** When the leader looks whether its file is still the highest; S3L_NEVER: not before the next
 * renewal. */
s3l_ns_t s3l_epochs_look_at(const s3l_core_t* c);
/** Of a listing's old files, notes those that may go. */
void s3l_epochs_note_old(s3l_core_t* c, const s3l_event_t* done);
/** Removes old files, beside everything else, and when it next wants to be called for that. */
void s3l_epochs_tick(s3l_core_t* c, s3l_effects_t* fx);
s3l_ns_t s3l_epochs_deadline(const s3l_core_t* c);
bool s3l_epochs_is_sweeping(const s3l_core_t* c);
void s3l_epochs_swept(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* result);
/** Standing begins. */
void s3l_epochs_reset(s3l_core_t* c);

/* The second group is for that protocol only. */

typedef enum { S3L_READ_FAILED = 0, S3L_READ_TOLD, S3L_READ_GOES_ON } s3l_read_end_t;

void s3l_epochs_send_read(s3l_core_t* c, s3l_effects_t* fx);
s3l_read_end_t s3l_epochs_read_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                                    const s3l_event_t* done);
/** c->op is a write that is about to be sent by `effect`: which file, on which condition. */
void s3l_epochs_sending(s3l_core_t* c, s3l_effect_t* effect);
/** The number of the file that a take-over creates; `store_ms`: the store's time, 0 if unknown. */
uint64_t s3l_epochs_next(const s3l_core_t* c, uint64_t store_ms);
s3l_ns_t s3l_epochs_legal_at(const s3l_core_t* c);
/** Whether all but the time allows to create the next file at `t`; else it is read once more. */
bool s3l_epochs_may_create(const s3l_core_t* c, s3l_ns_t t);
bool s3l_epochs_is_unfounded(const s3l_core_t* c);
/** While leading: a write that was sent then is known to have landed. True if it is the newest; the
 * lease goes on as soon as a listing is clean that was sent later. */
bool s3l_epochs_wrote_newer(s3l_core_t* c, s3l_ns_t sent_at);
/** Whether the files may have been deleted, unnoticed, since the write in view was sent. */
bool s3l_epochs_is_unwatched(const s3l_core_t* c, const s3l_sent_t* sent);

#endif
