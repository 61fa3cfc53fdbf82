/* core/absence.h: telling the application that nobody leads.
 *
 * A leader is known to this elector
 *   - while it leads itself, or has written a claim by which it is about to lead;
 *   - until takeover_at, where it observes another's record, or something that is no record;
 *   - for as long as the observed leader answers its probes, even if the record is older.
 * A record that is released or absent, or a provisional claim, shows that there is none. Nothing is
 * told while a read is under way that may show a leader: see tell_absence in core.c.
 *
 * Invariant: between two reports a leader is reported. */
#ifndef S3L_CORE_ABSENCE_H
#define S3L_CORE_ABSENCE_H

#include "core/state.h"

/** When the absence of a leader is to be told; S3L_NEVER if it has been, or is not in sight. */
s3l_ns_t s3l_absence_due(const s3l_core_t* c);
void s3l_absence_report(s3l_core_t* c, s3l_effects_t* fx);

#endif
