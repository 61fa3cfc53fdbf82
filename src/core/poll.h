/* core/poll.h: when a follower reads next, once a read has shown it the lockfile. */
#ifndef S3L_CORE_POLL_H
#define S3L_CORE_POLL_H

#include "core/state.h"

/** A read is complete that ended with this reply: sets when to read next, and whether the store's
 * clock lets the record be replaced sooner. */
void s3l_poll_read_over(s3l_core_t* c, const s3lect_store_result_t* result);

#endif
