/* sim/situations.h: what a run must have met to be worth its time.
 *
 * Coverage is counted in situations, not in lines: each is a moment in which an elector can go
 * wrong in a way of its own. A row: name, text, troubles without which it cannot come up. */
#ifndef SIM_SITUATIONS_H
#define SIM_SITUATIONS_H

#include <stdint.h>

#define SIM_SITUATIONS(XX)                                                                         \
  XX(TAKE_OVER_LOST_REPLY, "take-over landed, its reply was lost", SIM_BIT(LOSS))                  \
  XX(TAKE_OVER_NOT_LANDED, "take-over uncertain, and not carried out", SIM_BIT(LOSS))              \
  XX(RENEWAL_LOST_REPLY, "renewal landed, its reply was lost", SIM_BIT(LOSS))                      \
  XX(RENEWAL_NOT_LANDED, "renewal uncertain, and not carried out", SIM_BIT(LOSS))                  \
  XX(RELEASE_LOST_REPLY, "release landed, its reply was lost", SIM_BIT(LOSS) | SIM_BIT(LEAVE))     \
  XX(UNCERTAIN_RESOLVED, "read-back showed that an uncertain write had landed", SIM_BIT(LOSS))     \
  XX(LED_FROM_READ_BACK, "leadership began with a read-back", SIM_BIT(LOSS))                       \
  XX(RENEWED_BEFORE_LED, "a take-over found to have landed was renewed before it was led",         \
     SIM_BIT(LOSS))                                                                                \
  XX(LATE_LANDED, "a write landed after its sender had given it up", SIM_BIT(LATE))                \
  XX(LATE_REFUSED, "a write arrived late and met another's record", SIM_BIT(LATE))                 \
  XX(LATE_AFTER_READ_BACK, "a write landed after a read-back had not found it", SIM_BIT(LATE))     \
  XX(LATE_CREATE, "a late create found the place taken", SIM_BIT(LATE))                            \
  XX(LATE_REPLY, "a renewal was confirmed after its validity", SIM_BIT(PAUSE))                     \
  XX(PAUSED_OVER_VALIDITY, "a leader was paused until after its validity", SIM_BIT(PAUSE))         \
  XX(PAUSED_STILL_VALID, "a leader was paused, and led on", SIM_BIT(PAUSE))                        \
  XX(PAUSED_IN_TAKE_OVER, "a process was paused with a take-over under way", SIM_BIT(PAUSE))       \
  XX(CRASHED_LEADING, "a leader crashed", SIM_BIT(CRASH))                                          \
  XX(CRASHED_IN_TAKE_OVER, "a process crashed with a take-over under way", SIM_BIT(CRASH))         \
  XX(BACK_WITHIN_LEASE, "a leader crashed and was back while its record stood", SIM_BIT(CRASH))    \
  XX(EPOCH_SEEDED, "an epoch came from the store's time", 0)                                       \
  XX(EPOCH_COUNTED, "an epoch came from the one before", 0)                                        \
  XX(CLAIM_STOOD, "a claim over absence was led when it had stood for a whole timeout", 0)         \
  XX(CLAIM_LOST, "a claim over absence was lost before that", SIM_BIT(DELETE))                     \
  XX(RESIGNED, "a leader resigned", SIM_BIT(LEAVE))                                                \
  XX(STOPPED_LEADING, "a leader stopped standing", SIM_BIT(LEAVE))                                 \
  XX(CLOSED_LEADING, "a leader closed", SIM_BIT(LEAVE))                                            \
  XX(LEFT_IN_WRITE, "standing ended with a write under way", SIM_BIT(LEAVE))                       \
  XX(LEFT_UNCERTAIN, "standing ended with a write uncertain", SIM_BIT(LEAVE) | SIM_BIT(LOSS))      \
  XX(STOOD_AGAIN, "an elector stopped and started again", SIM_BIT(LEAVE))                          \
  XX(ACKNOWLEDGED, "a release waited for the application", SIM_BIT(LEAVE) | SIM_BIT(OPTIONS))      \
  XX(NEVER_ACKNOWLEDGED, "an application never acknowledged", SIM_BIT(LEAVE) | SIM_BIT(OPTIONS))   \
  XX(RELEASE_TAKEN, "a released record was taken over", SIM_BIT(LEAVE))                            \
  XX(RELEASE_GIVEN_UP, "a release was given up", SIM_BIT(LEAVE) | SIM_BIT(LOSS))                   \
  XX(LOST_REASON, "a leader stopped because another's record stood there",                         \
     SIM_BIT(DELETE) | SIM_BIT(CORRUPT))                                                           \
  XX(EXPIRED_REASON, "a leader stopped because its validity ended", SIM_BIT(OUTAGE))               \
  XX(RENEWAL_412, "a renewal was answered 412", SIM_BIT(ERRORS))                                   \
  XX(RENEWAL_404, "a renewal was answered 404", SIM_BIT(ERRORS))                                   \
  XX(RENEWAL_409, "a renewal was answered 409", SIM_BIT(ERRORS))                                   \
  XX(TAKE_OVER_412, "a take-over was answered 412", 0)                                             \
  XX(CONTENTION, "two take-overs were under way at once", 0)                                       \
  XX(ERROR_AFTER_EFFECT, "the store failed after carrying a write out", SIM_BIT(ERRORS))           \
  XX(THROTTLED, "the store asked to slow down", SIM_BIT(ERRORS))                                   \
  XX(DENIED, "the store denied access", SIM_BIT(ERRORS))                                           \
  XX(NEVER_SENT, "a write provably never left", SIM_BIT(OUTAGE))                                   \
  XX(NO_ETAG, "a reply had no ETag", SIM_BIT(ERRORS))                                              \
  XX(RETRIES_EXHAUSTED, "an operation failed on every attempt", SIM_BIT(OUTAGE))                   \
  XX(CANCELLED, "a request that kept no timeout was cancelled", SIM_BIT(STUCK))                    \
  XX(DUPLICATE_TOLD, "a duplicate server ID was reported", SIM_BIT(DUPLICATE))                     \
  XX(DIALECT_SWITCHED, "the spelling of If-Match was changed", SIM_BIT(DIALECT))                   \
  XX(DISPUTED, "a store refused the ETag that it shows", SIM_BIT(DIALECT) | SIM_BIT(ERRORS))       \
  XX(DELETED_UNDER_LEADER, "the lockfile of a live leader was deleted", SIM_BIT(DELETE))           \
  XX(CORRUPTED_UNDER_LEADER, "the lockfile of a live leader was damaged", SIM_BIT(CORRUPT))        \
  XX(DAMAGE_REPORTED, "a damaged lockfile was reported", SIM_BIT(CORRUPT))                         \
  XX(DAMAGE_REPLACED, "a damaged lockfile was replaced", SIM_BIT(CORRUPT))                         \
  XX(FOREIGN_TOOK_OVER, "the foreign writer took a live leader's lease", SIM_BIT(FOREIGN))         \
  XX(FOREIGN_REPLACED, "the foreign writer's record was taken over", SIM_BIT(FOREIGN))             \
  XX(FOREIGN_RELEASED, "the foreign writer's release was taken over", SIM_BIT(FOREIGN))            \
  XX(STORE_CLOCK_EARLY, "the store's clock allowed a take-over before the observation ended",      \
     SIM_BIT(STORE_CLOCK) | SIM_BIT(CRASH))                                                        \
  XX(GRACE_STARTED, "a leader was announced after its grace period", SIM_BIT(OPTIONS))             \
  XX(GRACE_LOST, "a lease was lost within the grace period", SIM_BIT(OPTIONS))                     \
  XX(DRIFT_AT_BOUND, "a node took over from another with both clocks at the bound",                \
     SIM_BIT(DRIFT))                                                                               \
  XX(WALL_JUMP_LEADING, "a leader's wall clock jumped", SIM_BIT(WALL))                             \
  XX(CUT_BOTH, "a leader was cut off in both directions", SIM_BIT(PARTITION))                      \
  XX(CUT_REPLIES, "a leader's replies were cut off", SIM_BIT(PARTITION))                           \
  XX(CUT_REQUESTS, "a leader's requests were cut off", SIM_BIT(PARTITION))                         \
  XX(PEER_FOR_READ, "a leader's answer stood for a read", SIM_BIT(PEERS))                          \
  XX(PEER_SPACED, "an answer that proves nothing spaced reads out", SIM_BIT(PEERS))                \
  XX(PEER_WAITED, "an answer was held for as long as was asked", SIM_BIT(PEERS))                   \
  XX(PEER_TOLD_END, "an answer that was held told of the end of leadership", SIM_BIT(PEERS))       \
  XX(PEER_PROMISE_TAKEN, "a promise allowed a take-over before the observation ended",             \
     SIM_BIT(PEERS))                                                                               \
  XX(PEER_REFUSED, "a leader refused to be asked, or its connection broke", SIM_BIT(PEERS))        \
  XX(PEER_SILENT, "a leader gave no answer", SIM_BIT(PEERS))                                       \
  XX(PEER_LATE, "an answer came after its time", SIM_BIT(PEERS) | SIM_BIT(PAUSE))                  \
  XX(PEER_STALE, "an earlier answer was given again", SIM_BIT(PEERS))                              \
  XX(PEER_WRONG, "another node's answer was given", SIM_BIT(PEERS))                                \
  XX(PEER_LIED, "somebody between answered", SIM_BIT(PEERS))                                       \
  XX(PEER_STAMPED, "a leader that had ended said that it leads", SIM_BIT(PEERS))                   \
  XX(PEER_DISBELIEVED, "an answer was refused as impossible", SIM_BIT(PEERS))                      \
  XX(PEER_NEWER_EPOCH, "an answer was of a newer epoch than the view", SIM_BIT(PEERS))             \
  XX(PEER_MISDIRECTED, "an ask was ended because its leader leads no more", SIM_BIT(PEERS))        \
  XX(PEER_NOT_SERVING, "a leader that serves nobody was asked", SIM_BIT(PEERS))                    \
  XX(PEER_FOREIGN, "a foreign leader was asked", SIM_BIT(PEERS) | SIM_BIT(FOREIGN))                \
  XX(PEER_GRACE, "a leader was asked within its grace period", SIM_BIT(PEERS) | SIM_BIT(OPTIONS))  \
  XX(PEER_TRIED, "a leader was cut off from the store alone, and replaced", SIM_BIT(PEERS))        \
  XX(PEER_TRIED_STAMPING, "... and went on saying that it leads", SIM_BIT(PEERS))                  \
  XX(TRANSFERRED, "a leader named its successor", SIM_BIT(PEERS))                                  \
  XX(GRANT_SENT, "a leader wrote the claim of a follower in place of its release", SIM_BIT(PEERS)) \
  XX(GRANT_TOLD, "a follower led by what its leader had written and told", SIM_BIT(PEERS))         \
  XX(GRANT_READ, "a follower led by what its leader had written, found by reading",                \
     SIM_BIT(PEERS))                                                                               \
  XX(GRANT_OLD, "what was granted was a question that its sender had given up", SIM_BIT(PEERS))    \
  XX(GRANT_RELEASED, "a follower that left released what had been granted to it", SIM_BIT(PEERS))  \
  XX(SUCCEEDED, "the successor took over", SIM_BIT(PEERS))                                         \
  XX(NOT_SUCCEEDED, "another than the successor took over", SIM_BIT(PEERS))                        \
  XX(UPDATED, "a follower's intervals were changed", SIM_BIT(OPTIONS))                             \
  XX(UPDATED_LEADING, "a leader's intervals were changed", SIM_BIT(OPTIONS))                       \
  XX(BOUNDARY, "a renewal landed just before validity ended", SIM_BIT(EPOCHS) | SIM_BIT(BOUNDARY)) \
  XX(SWEPT, "an old epoch file was removed", SIM_BIT(EPOCHS))                                      \
  XX(REPLAYED, "a write landed twice", SIM_BIT(EPOCHS) | SIM_BIT(REPLAY))                          \
  XX(NO_IF_MATCH, "a store refused If-Match itself", SIM_BIT(EPOCHS) | SIM_BIT(NO_IF_MATCH))       \
  XX(LISTING_LAGGED, "a listing did not show the newest file", SIM_BIT(EPOCHS) | SIM_BIT(LAG))     \
  XX(GAP, "an old file was deleted by hand", SIM_BIT(EPOCHS) | SIM_BIT(DELETE))                    \
  XX(NEWEST_DELETED, "the newest file alone was deleted by hand",                                  \
     SIM_BIT(EPOCHS) | SIM_BIT(DELETE))                                                            \
  XX(MADE_BY_HAND, "a file was made by hand above the newest", SIM_BIT(EPOCHS) | SIM_BIT(CORRUPT)) \
  XX(BLIND, "an elector found that listings do not show its files",                                \
     SIM_BIT(EPOCHS) | SIM_BIT(BLIND))                                                             \
  XX(HIGHER_FILE, "a leader found a file above its own", SIM_BIT(EPOCHS) | SIM_BIT(CORRUPT))

typedef enum {
#define XX(name, text, needs) SIM_MET_##name,
  SIM_SITUATIONS(XX)
#undef XX
      SIM_SITUATIONS_END
} sim_situation_t;

typedef struct sim_situations_s {
  uint64_t count[SIM_SITUATIONS_END];
} sim_situations_t;

const char* sim_situation_text(sim_situation_t situation);
/** Whether a run with these troubles can meet it. */
int sim_situation_possible(sim_situation_t situation, uint32_t troubles);

#endif
