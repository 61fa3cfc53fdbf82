/* core/grant.h: handing leadership over in one write.
 *
 * Vocabulary
 *   candidacy  what a follower says with a question that its leader holds: the record that it would
 *              lead by, of the epoch after the leader's. The write number is taken for it alone, as
 *              if the write had been sent with the question
 *   grant      the write of a candidacy by a leader that has resigned, in place of its release
 *   open       said, and not answered since: it may still be granted
 *   withdrawal a question of a follower that leaves: it must not be granted any more
 *
 * Why it is safe (design rules 2, 3, 4, 8, 11)
 *   - a grant is sent where a release might be: leadership has ended and is acknowledged. It is the
 *     same compare-and-swap on the leader's own record, so that either lands, or neither;
 *   - the follower's lease counts from the sending of its question, which is before the sending of
 *     the grant. Others observe the granted record for a whole leader timeout once it has landed;
 *   - each question has a write number of its own, so that a grant cannot be taken for one of a
 *     later question, whose lease would begin later;
 *   - the follower leads by a granted record like by one of its own writes whose reply was lost:
 *     once it knows that the record stands in the store, from its leader over verified TLS or by
 *     reading. If too little is left of the lease, or it has observed anything newer, it does not.
 *
 * What it costs: a follower that dies between its question and the grant is waited for like any
 * dead leader. One that leaves in good order asks its leader once more, so that it can release what
 * was granted to it. */
#ifndef S3L_CORE_GRANT_H
#define S3L_CORE_GRANT_H

#include "core/state.h"

/** Says the follower's candidacy with the question that is about to be sent, if it may stand for
 * it; a follower that leaves says its withdrawal. */
void s3l_grant_ask(s3l_core_t* c, s3l_effects_t* fx, s3l_effect_t* question);

/** Whether an answer shows that the follower's candidacy has been granted. */
bool s3l_grant_is_answer(const s3l_core_t* c, const s3l_peer_result_t* result);

/** Whether the candidacy that came with this step may be written in place of the release. */
bool s3l_grant_is_possible(const s3l_core_t* c, const s3lect_record_t* candidate);

/** The record of a grant to that candidate. */
void s3l_grant_fill(const s3l_op_t* op, const s3lect_record_t* candidate, s3lect_record_t* record);

#endif
