/* core/lead.h: becoming leader, being it, and ceasing to be it. */
#ifndef S3L_CORE_LEAD_H
#define S3L_CORE_LEAD_H

#include "core/state.h"

/** Leads the observed epoch, whose newest write was sent at `sent_at`, if enough of its lease is
 * left; else does nothing. */
void s3l_lead_if_valid(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at);
/** A write of the epoch that is led, sent at `sent_at`, is known to have been applied. */
void s3l_lead_renewed(s3l_core_t* c, s3l_effects_t* fx, s3l_ns_t sent_at);
/** Ends leadership, if there is one, at once. */
void s3l_lead_stop(s3l_core_t* c, s3l_effects_t* fx, s3lect_reason_t reason);
/** Does what time alone demands: ends leadership whose validity is over, and announces leadership
 * whose grace period is over. */
void s3l_lead_tick(s3l_core_t* c, s3l_effects_t* fx);
/** Warns of the end of leadership if that is due. */
void s3l_lead_warn(s3l_core_t* c, s3l_effects_t* fx);
/** When the warning is due; S3L_NEVER if it has been given, or is not wanted. */
s3l_ns_t s3l_lead_warn_at(const s3l_core_t* c);
/** After a read: does this elector lead still, or after all? */
void s3l_lead_resolve(s3l_core_t* c, s3l_effects_t* fx);
/** The place of a request among those that wait (due_ns in s3lect/store.h). What keeps a leadership
 * has time until a third of T before validity ends, so that leaders survive a store that is silent
 * for so long. Until then it lets other requests pass, 0, whose place is their time-out's. */
s3l_ns_t s3l_lead_due(const s3l_core_t* c);

#endif
