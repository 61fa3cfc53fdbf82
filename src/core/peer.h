/* core/peer.h: probing the leader, and how much its answers count (design rule 9).
 *
 * With peer_mode a follower probes the observed leader instead of reading the store. An answer
 * makes nobody leader and prolongs no validity: it can only move the follower's own next read of
 * the store. What it may move depends on what the answer is:
 *
 *   authenticated  from the leader itself, over verified TLS, with its ETag and the validity that
 *                  is left. The answer counts as a read: a later write becomes the observation,
 *                  first seen at the answer's receipt. As long as that validity lasts the store is
 *                  not read. Then the write that the answer was about may be replaced, by
 *                  compare-and-swap on that very write, which is what the leader's validity rests
 *                  on: a renewal in between, known to the leader or not, makes the swap fail. A
 *                  late answer counts from its receipt, which is later than the leader meant
 *   unverified     the same from a peer that may not be the leader: plain HTTP. An attacker who
 *                  predicts an ETag could have it observed before it is written, so the observation
 *                  does not change, and no take-over becomes possible earlier. The answer only
 *                  spaces out the reads of a store that showed a leader renewing, until the renewal
 *                  that it announces is overdue
 *   legacy         "I lead", by the Go package, whatever its store says: spaces out reads likewise
 *
 * Unverified and legacy answers never space reads out further than STORE_READ_AT_LEAST infrequent
 * intervals, so that a false peer keeps a dead election alive for that long at most.
 *
 * The validity that is left of one write can only shrink: its end is the earliest that was ever
 * told, and an answer that provably moves it is refused. A leader becomes suspect by no answer, a
 * late one, a refusal or a contradiction. The follower then reads the store at once, and at the
 * frequent interval until an answer is acceptable again. It probes a suspect leader at that
 * interval too, or ever less often if that leader never answered: it may have an address, but no
 * peer server. A leader that no longer leads may not have written its release yet: that read is
 * repeated by the retry schedule.
 *
 * A leader that resigns may have written the follower's own claim: core/grant.h. */
#ifndef S3L_CORE_PEER_H
#define S3L_CORE_PEER_H

#include "core/state.h"

/** Standing begins: no leader was probed. */
void s3l_peer_reset(s3l_core_t* c);
/** Whether the observed leader is one to be probed. */
bool s3l_peer_is_probed(const s3l_core_t* c);
/** No store read is due before; 0 if the leader's answer does not count, or no longer. */
s3l_ns_t s3l_peer_covers_until(const s3l_core_t* c);
/** The next read is due in `ms`, give or take 10 %. A follower that is not watching would sleep
 * through the instant at which the record may be replaced (design rule 3): it reads then. */
void s3l_peer_read_after(s3l_core_t* c, uint32_t ms);
/** The store was read; `steady`: a leader that renews. Sets the next read, and how
 * often to look. */
void s3l_peer_store_read(s3l_core_t* c, bool steady);
/** Takes in the end of a probe. True if by it this elector's own claim is observed, which was
 * granted. */
bool s3l_peer_answered(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* result);
/** When a probe, or the end of one, is due. */
s3l_ns_t s3l_peer_due(const s3l_core_t* c);
/** Does it; false if nothing was due. */
bool s3l_peer_tick(s3l_core_t* c, s3l_effects_t* fx);

#endif
