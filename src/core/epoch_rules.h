/* core/epoch_rules.h: what is known of the observed epoch file; see core/epoch_files.c. */
#ifndef S3L_CORE_EPOCH_RULES_H
#define S3L_CORE_EPOCH_RULES_H

#include "core/effects.h"

/** A claim over absence, or over another such claim: the first file of a line, never released. It
 * may have been applied late, with a number from before others. */
bool s3l_epoch_is_first(const s3l_observation_t* observed);
/** Whether the predecessor of the elector's own file still stood when that had been applied. An
 * elector that does not lead finds out anew for each of its writes: a second create of that number,
 * or an old renewal, may land after others have led and everything has been deleted. */
bool s3l_epoch_is_checked(const s3l_core_t* c);
/** Whether that is still to be found out. */
bool s3l_epoch_wants_check(const s3l_core_t* c);
/** Whether the predecessor of the elector's own file is gone; or may be, and cannot be checked. */
bool s3l_epoch_is_orphan(const s3l_core_t* c);
bool s3l_epoch_is_provisional(const s3l_core_t* c);
/** How long after the last change that it saw a follower lists the files, because the leader does
 * not renew: two renewal intervals, but not longer than the observation. Until then it reads only
 * the observed file, and an unchanged one does not show whether there is a higher file. */
s3l_ns_t s3l_epoch_renewal_wait(const s3l_core_t* c);
/** Between two looks that are further apart a file may have come and gone. The time until a
 * follower lists the files is part of it: otherwise the first listing after the leader's last
 * renewal would count as one behind a gap, and the observation would begin anew with it. */
s3l_ns_t s3l_epoch_gap_max(const s3l_core_t* c);
/** Whether the last clean listing is not older than this part of a lease. */
bool s3l_epoch_is_listed(const s3l_core_t* c, s3l_ns_t t, int part);

#endif
