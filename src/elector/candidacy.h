/* elector/candidacy.h: the memory of a hand-over in one write (core/grant.h): what a follower says
 * with its question, and the claim that a leader takes from such a question. */
#ifndef S3L_ELECTOR_CANDIDACY_H
#define S3L_ELECTOR_CANDIDACY_H

#include "elector/executor_state.h"

/** What the probe that is about to begin says of this elector's candidacy; until the next call.
 * NULL: nothing, or there is no memory for it. */
const char* s3l_candidacy_keep(s3l_executor_t* d, const s3lect_record_t* candidacy);

/** The claim that may be written in place of a release in the step with this event, from what is
 * asked of the peer server; of a grant under way, its claim. NULL: none, or there is no memory for
 * it. */
const s3lect_record_t* s3l_candidacy_find(s3l_executor_t* d, const s3l_event_t* event);

#endif
