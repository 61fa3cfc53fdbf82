/* sim/mutant_ids.h: the cores that are broken on purpose. Each is broken where src/core says
 * S3L_MUTANT(id) or S3L_MUTATE(id, ...), in the simulator's own build of the core only: that
 * includes this file before every source.
 *
 * A row: id, name, the oracle's check that must trip, faults that steer to it, nodes, hours, the
 * seed at which the search begins (the first one that was seen to trip the check; 1 if none is
 * known), what is broken. */
#ifndef SIM_MUTANT_IDS_H
#define SIM_MUTANT_IDS_H

#include "core/core.h"

#define SIM_MUTANTS(XX)                                                                            \
  XX(NO_SELF_STOP, "no-self-stop", STOP_LATE, "outage,partition", 3, 4, 1,                         \
     "a leader goes on beyond its validity")                                                       \
  XX(LEASE_FROM_REPLY, "lease-from-reply", EXCLUSION, "slow,late,pause,drift,partition", 5, 24,    \
     30, "a lease starts when the reply comes, not when the write is sent")                        \
  XX(WALL_CLOCK_EXPIRY, "wall-clock-expiry", EXCLUSION, "wall", 5, 4, 1,                           \
     "a follower compares its wall clock with the record's time")                                  \
  XX(BLIND_RETRY, "blind-retry", READ_BACK, "loss", 3, 4, 1,                                       \
     "a write whose outcome is unknown is repeated without reading back")                          \
  XX(OBSERVATION_NOT_RESET, "observation-not-reset", EXCLUSION, "none", 5, 4, 1,                   \
     "a new ETag does not restart the observation")                                                \
  XX(EPOCH_NOT_RAISED, "epoch-not-raised", EPOCH_SHARED, "crash", 5, 4, 1,                         \
     "a take-over keeps the record's epoch")                                                       \
  XX(EPOCH_RESTARTED, "epoch-restarted", EPOCH_ORDER, "delete,crash", 5, 24, 1,                    \
     "epochs begin with 1 again where there is no lockfile")                                       \
  XX(STALE_EPOCH_KEPT, "stale-epoch-kept", EPOCH_ORDER, "delete,slow,pause", 2, 24, 134,           \
     "a claim over absence is replaced by its maker under the epoch that it had")                  \
  XX(CLAIM_COUNTED_ON, "claim-counted-on", EPOCH_ORDER, "delete,late,pause", 2, 24, 1071,          \
     "a claim over absence, which may have landed late, is replaced under its epoch plus one")     \
  XX(CLAIM_TOLD, "claim-told", LEADER_NAME, "none", 3, 4, 1,                                       \
     "a claim over absence is told as a leader")                                                   \
  XX(LATE_REPLY_RENEWS, "late-reply-renews", PAIRING, "pause,slow", 5, 24, 1,                      \
     "a renewal confirmed after validity renews it")                                               \
  XX(INCARNATION_IGNORED, "incarnation-ignored", EXCLUSION, "duplicate-id", 3, 4, 14,              \
     "a record with one's own server ID is one's own")                                             \
  XX(RELEASE_FIRST, "release-first", RELEASE, "leave", 3, 4, 1,                                    \
     "a resigning leader releases first and stops then")                                           \
  XX(GRANT_FIRST, "grant-first", RELEASE, "peers,leave", 3, 24, 1,                                 \
     "a resigning leader goes on until what it grants is confirmed")                               \
  XX(GRANT_UNCONFIRMED, "grant-unconfirmed", EXCLUSION, "peers,leave,slow", 5, 24, 1,              \
     "a follower leads when its leader has resigned, whatever was written")                        \
  XX(GRANT_NUMBER_KEPT, "grant-number-kept", WRITE_NUMBER, "peers,slow", 5, 24, 1,                 \
     "all questions of a follower have one write number")                                          \
  XX(NO_DRIFT_MARGIN, "no-drift-margin", EXCLUSION, "drift,pause,partition", 9, 24, 1,             \
     "clocks are taken to run at one rate")                                                        \
  XX(LEASE_SLEWED, "lease-slewed", EXCLUSION, "slew,pause,partition", 9, 24, 1,                    \
     "leases are measured with the clock that NTP slews")                                          \
  XX(PUBLISHED_LATE, "published-late", RESURRECTED, "pause,slow", 5, 24, 5,                        \
     "a validity is published although the one before has passed meanwhile")                       \
  XX(TIMER_TRUSTED, "timer-trusted", STOP_LATE, "slew,outage,partition", 3, 4, 1,                  \
     "a timer on the slewed clock sleeps until the end of a lease")                                \
  XX(OWN_TIMEOUT_ONLY, "own-timeout-only", EXCLUSION, "options,pause,partition", 5, 24, 5,         \
     "a follower waits for its own leader timeout, not for the leader's")                          \
  XX(ABSENCE_IS_FREEDOM, "absence-is-freedom", EXCLUSION, "delete", 5, 24, 1,                      \
     "a claim over absence is led at once")                                                        \
  XX(FOREIGN_RELEASE_TRUSTED, "foreign-release-trusted", EXCLUSION, "foreign,pause,partition", 5,  \
     24, 2, "a release without an epoch is taken over at once")                                    \
  XX(DAMAGE_IS_FREEDOM, "damage-is-freedom", EXCLUSION, "corrupt", 5, 24, 1,                       \
     "a lockfile that is no record is replaced at once")                                           \
  XX(READ_BACK_IS_SENDING, "read-back-is-sending", LEASE, "loss", 5, 4, 1,                         \
     "a lease found by reading back starts with the reading")                                      \
  XX(RETURN_NOT_TOLD, "return-not-told", LIVENESS, "outage,slow,pause", 3, 24, 5,                  \
     "a leader that was silent for too long and goes on is not reported again")                    \
  XX(WARNED_ONCE, "warned-once", WARNING, "options,outage,slow", 3, 24, 3,                         \
     "a leadership is warned of its end only once")                                                \
  XX(DEADLINE_IGNORED, "deadline-ignored", LEASE, "options", 3, 4, 12,                             \
     "validity ends with the lease, whatever renew_deadline_ms says")                              \
  XX(PRIORITY_IGNORED, "priority-ignored", HEAD_START, "options,leave", 5, 24, 1,                  \
     "a candidate of low priority does not wait for others")                                       \
  XX(VALUE_OUTLIVES_EPOCH, "value-outlives-epoch", VALUE, "options,crash", 3, 4, 1,                \
     "a leader without a value leaves that of the leader before standing")                         \
  XX(ABSENCE_GUESSED, "absence-guessed", LIVENESS, "options", 3, 4, 1,                             \
     "nobody is said to lead when the record is to be read again")                                 \
  XX(ALWAYS_WATCHING, "always-watching", BUDGET, "none", 3, 4, 1, "followers never slow down")     \
  XX(LOSS_NOT_TOLD, "loss-not-told", STOP_LATE, "delete,corrupt,foreign", 5, 24, 1,                \
     "an application is not told that another's record ended its leadership")                      \
  XX(WRITE_NUMBER_STUCK, "write-number-stuck", WRITE_NUMBER, "none", 3, 4, 1,                      \
     "renewals repeat the number of the write before")                                             \
  XX(ACK_IGNORED, "ack-ignored", RELEASE_ACK, "leave,options", 5, 24, 1,                           \
     "a release does not wait for the application")                                                \
  XX(ACK_OF_ONE_EPOCH, "ack-of-one-epoch", RELEASE_ACK, "leave,options,outage", 5, 24, 31,         \
     "a release waits only for the acknowledgement of the epoch that it releases")                 \
  XX(NEVER_TAKES_OVER, "never-takes-over", LIVENESS, "crash", 3, 4, 1,                             \
     "a record that is not released is never taken over")                                          \
  XX(ASLEEP, "asleep", REPLACED, "peers", 5, 24, 2,                                                \
     "a follower reads at its polling interval only, however early it may take over")              \
  XX(CLAIM_RELEASED, "claim-released", EXCLUSION, "delete,leave,partition,pause", 5, 24, 14,       \
     "a claim over absence is released before it may be led")                                      \
  XX(STORE_CLOCK_NO_MARGIN, "store-clock-no-margin", EXCLUSION,                                    \
     "store-clock,pause,crash,partition,drift", 5, 24, 2,                                          \
     "the grain of the store's times is forgotten")                                                \
  XX(SELF_NAMED, "self-named", LEADER_NAME, "none", 3, 4, 1,                                       \
     "a candidate names itself leader before its write has landed")                                \
  XX(SENDS_TWICE, "sends-twice", CONTRACT, "none", 3, 4, 1,                                        \
     "a read is asked for while a request is under way")                                           \
  XX(ANSWER_PROLONGS, "answer-prolongs", LEASE, "peers", 5, 4, 5,                                  \
     "a peer's answer prolongs a lease of one's own that has ended")                               \
  XX(HINT_IS_PROMISE, "hint-is-promise", EXCLUSION, "peers", 5, 24, 5,                             \
     "a validity that the leader itself did not provably tell is believed")                        \
  XX(PROMISE_STRETCHED, "promise-stretched", REPLACED, "peers", 5, 24, 5,                          \
     "a promise about one write may be made again and again")                                      \
  XX(PROMISE_NO_DRIFT, "promise-no-drift", EXCLUSION, "peers,pause,drift", 5, 24, 6,               \
     "what is left on the leader's clock is counted on one's own as it is")                        \
  XX(PROMISE_OF_BEFORE, "promise-of-before", EXCLUSION, "peers,pause", 5, 24, 37,                  \
     "a promise about an earlier write is taken for one about the write in view")                  \
  XX(PROMISE_OF_ANOTHER, "promise-of-another", EXCLUSION, "peers", 5, 24, 6,                       \
     "another leader's promise is taken for the leader's")                                         \
  XX(STAMP_FOR_EVER, "stamp-for-ever", LIVENESS, "peers,foreign", 5, 24, 6,                        \
     "the store is not read while somebody says that it leads")                                    \
  XX(PEERS_IN_VAIN, "peers-in-vain", BUDGET, "peers", 5, 4, 5,                                     \
     "the store is read although the leader's answer stood for it")                                \
  XX(ASKS_TWICE, "asks-twice", CONTRACT, "peers", 5, 4, 5, "the leader is asked twice at once")    \
  XX(NO_HEAD_START, "no-head-start", HEAD_START, "peers", 5, 24, 1,                                \
     "a transfer is taken over at once by whoever comes first")                                    \
  XX(EPOCHS_UNCONFIRMED, "epochs-unconfirmed", EXCLUSION, "epochs,boundary,drift", 5, 24, 2,       \
     "an epoch file is created, and led, without one more look at the one before")                 \
  XX(EPOCHS_READ_BEFORE, "epochs-read-before", EXCLUSION, "epochs,boundary,drift", 5, 24, 64,      \
     "a read that was sent before the end of the observation counts, and is the last")             \
  XX(EPOCHS_ETAG_ONLY, "epochs-etag-only", EXCLUSION, "epochs,boundary,replay,no-if-match", 5, 24, \
     1, "an epoch file with the ETag of before is taken to be unchanged")                          \
  XX(EPOCHS_PROMISE, "epochs-promise", EXCLUSION, "epochs,boundary,replay,no-if-match,peers", 5,   \
     24, 6, "a promise shortens the wait with epoch files, too")                                   \
  XX(EPOCHS_RESUMED, "epochs-resumed", EPOCH_SHARED, "epochs,pause,outage,partition", 5, 24, 3,    \
     "a leadership is resumed under its epoch")                                                    \
  XX(EPOCHS_UNLISTED, "epochs-unlisted", EXCLUSION, "epochs,corrupt,delete,no-if-match", 5, 24, 1, \
     "a leader does not look whether there is a file above its own")                               \
  XX(EPOCHS_FORGOTTEN, "epochs-forgotten", EPOCH_SHARED, "epochs,delete,partition,pause", 5, 24,   \
     19, "the number of a file that was deleted by hand is given out again")                       \
  XX(EPOCHS_BASE_UNSEEN, "epochs-base-unseen", EXCLUSION, "epochs,delete,crash,late,pause", 9, 24, \
     103, "what a file was created over may have been deleted since")                              \
  XX(EPOCHS_CLAIM_LED, "epochs-claim-led", EXCLUSION, "epochs,delete", 5, 24, 1,                   \
     "an epoch file over absence is led at once")                                                  \
  XX(EPOCHS_SWEPT_SECOND, "epochs-swept-second", CONTRACT, "epochs,crash", 3, 4, 1,                \
     "the file before the newest is removed")                                                      \
  XX(EPOCHS_SWEPT_YOUNG, "epochs-swept-young", CONTRACT, "epochs,leave", 3, 24, 1,                 \
     "an epoch file is removed however young it is")                                               \
  XX(EPOCHS_CLAIM_COUNTED_ON, "epochs-claim-counted-on", EPOCH_ORDER,                              \
     "epochs,undone,crash,delete,pause", 5, 24, 29,                                                \
     "others count on a claim over absence, which may have landed late")                           \
  XX(EPOCHS_CLAIM_HASTE, "epochs-claim-haste", EXCLUSION,                                          \
     "epochs,delete,lag,late,pause,no-if-match", 5, 24, 83,                                        \
     "a claim over absence stands for no longer than a leader's file")                             \
  XX(EPOCHS_LATE_RENEWS, "epochs-late-renews", PAIRING, "epochs,pause,slow", 5, 24, 2,             \
     "a renewal confirmed after validity renews it")                                               \
  XX(EPOCHS_BLIND_CREATE, "epochs-blind-create", READ_BACK, "epochs,loss", 3, 4, 1,                \
     "a create whose reply was lost is taken to have failed")                                      \
  XX(EPOCHS_LEASE_FROM_LISTING, "epochs-lease-from-listing", LEASE, "epochs,slow", 3, 4, 1,        \
     "a listing alone prolongs a lease")                                                           \
  XX(EPOCHS_OWN_DOUBTED, "epochs-own-doubted", BUDGET, "epochs,late", 5, 24, 1,                    \
     "a leader's own late renewal is taken for a create that landed late")                         \
  XX(EPOCHS_UNSHOWN, "epochs-unshown", EXCLUSION, "epochs,blind,pause", 5, 24, 6,                  \
     "a file that no listing shows is led all the same")                                           \
  XX(EPOCHS_LISTING_BELIEVED, "epochs-listing-believed", LIVENESS, "epochs,lag,delete,late", 5,    \
     24, 1, "a listing that does not show the newest file is believed")                            \
  XX(EPOCHS_OWN_UNCHECKED, "epochs-own-unchecked", EXCLUSION, "epochs,undone,leave", 5, 24, 110,   \
     "a file of one's own that landed late is replaced by its maker at once")                      \
  XX(EPOCHS_CHECKED_ONCE, "epochs-checked-once", EPOCH_SHARED, "epochs,undone,partition,slow", 5,  \
     24, 801, "what a file of a number that was led stands on is not looked at again")             \
  XX(EPOCHS_TAKEN_NUMBER, "epochs-taken-number", EXCLUSION, "epochs,undone,late,loss", 5, 24, 12,  \
     "a late create is counted on although another's file of that number was seen")                \
  XX(EPOCHS_NEXT_ONLY, "epochs-next-only", EXCLUSION, "epochs,corrupt,crash", 5, 24, 1,            \
     "a leader looks for the next number only, and does not see a file behind a gap")              \
  XX(EPOCHS_COPY_BELIEVED, "epochs-copy-believed", EXCLUSION, "epochs,corrupt,leave", 5, 24, 6,    \
     "a copy of a file, under another number, is its maker's")                                     \
  XX(EPOCHS_DAMAGE_IS_FREEDOM, "epochs-damage-is-freedom", EXCLUSION, "epochs,corrupt", 5, 24, 1,  \
     "above an epoch file that is no record the next one is created at once")                      \
  XX(EPOCHS_RESTARTED, "epochs-restarted", EPOCH_ORDER, "epochs,delete,crash", 5, 24, 1,           \
     "numbers begin with 1 again where there is no epoch file")                                    \
  XX(EPOCHS_TOLD_BEFORE, "epochs-told-before", EXCLUSION,                                          \
     "epochs,boundary,replay,no-if-match,peers", 5, 24, 6,                                         \
     "a file whose leader told of it is taken for unchanged whenever it was written")              \
  XX(EPOCHS_NO_HEAD_START, "epochs-no-head-start", HEAD_START, "epochs,peers", 5, 24, 1,           \
     "the next file after a transfer is created by whoever comes first")                           \
  XX(EPOCHS_NEVER_SWEPT, "epochs-never-swept", BUDGET, "epochs,crash", 3, 24, 1,                   \
     "old epoch files are never removed")                                                          \
  XX(EPOCHS_NEVER_PLAIN, "epochs-never-plain", LIVENESS, "epochs,no-if-match", 3, 4, 1,            \
     "a store without If-Match is asked for it for ever")                                          \
  XX(EPOCHS_ALWAYS_LISTING, "epochs-always-listing", BUDGET, "epochs", 3, 4, 1,                    \
     "a follower lists the files under a leader that renews")                                      \
  XX(EPOCHS_SHORT_GAP, "epochs-short-gap", REPLACED, "epochs,options,peers", 5, 24, 11,            \
     "the time until a follower lists the files counts as a gap, behind which it waits anew")

typedef enum {
  SIM_MUTANT_NONE = 0,
#define XX(id, name, check, faults, nodes, hours, seed, what) SIM_MUTANT_##id,
  SIM_MUTANTS(XX)
#undef XX
      SIM_MUTANTS_END
} sim_mutant_t;

/** Mutants in which another one is at work as well: either rule alone would suffice. */
#define SIM_MUTANTS_ALSO(XX)                                                                       \
  XX(INCARNATION_IGNORED, ABSENCE_IS_FREEDOM)                                                      \
  XX(PROMISE_OF_ANOTHER, PROMISE_OF_BEFORE)                                                        \
  XX(EPOCHS_UNCONFIRMED, EPOCHS_BASE_UNSEEN)                                                       \
  XX(EPOCHS_READ_BEFORE, EPOCHS_BASE_UNSEEN)                                                       \
  XX(EPOCHS_FORGOTTEN, EPOCHS_TAKEN_NUMBER)                                                        \
  XX(EPOCHS_LATE_RENEWS, LATE_REPLY_RENEWS)                                                        \
  XX(EPOCHS_NO_HEAD_START, NO_HEAD_START)

/** Which one runs, and which one with it. */
extern int sim_mutant, sim_mutant_also;

#define S3L_MUTANT(id) (sim_mutant == SIM_MUTANT_##id || sim_mutant_also == SIM_MUTANT_##id)
#define S3L_MUTATE(id, ...)                                                                        \
  do                                                                                               \
    if (S3L_MUTANT(id))                                                                            \
      sim_mutate_##id(__VA_ARGS__);                                                                \
  while (0)

void sim_mutate_LATE_REPLY_RENEWS(s3l_core_t* core, const s3l_op_t* op);
void sim_mutate_SELF_NAMED(s3l_effects_t* effects);
void sim_mutate_SENDS_TWICE(s3l_effects_t* effects, uint32_t sent);
void sim_mutate_ASKS_TWICE(s3l_effects_t* effects, uint32_t sent);
void sim_mutate_ANSWER_PROLONGS(s3l_core_t* core, const s3l_peer_result_t* result);
void sim_mutate_GRANT_UNCONFIRMED(s3l_core_t* core, const s3l_peer_result_t** result);

#endif
