/* world/mutant_ids.h: libraries that are broken on purpose, above the core. Each is broken where
 * src says S3L_MUTANT(id), in s3lect-world-mutants only, which includes this file before every
 * source of the library.
 *
 * A row: id, name, the seed at which the search begins (the first one that was seen to catch it),
 * epoch files or not, what is broken. */
#ifndef WORLD_MUTANT_IDS_H
#define WORLD_MUTANT_IDS_H

#include <stdbool.h>

#define WORLD_MUTANTS(XX)                                                                          \
  XX(PAGE_IS_ABSENCE, "page-is-absence", 1, false, "a proxy's 404 page means: no such object")     \
  XX(LOST_IS_NOT_APPLIED, "lost-is-not-applied", 2, false,                                         \
     "a write whose reply was lost is told as never sent")                                         \
  XX(WRITE_REPLAYED, "write-replayed", 32, false,                                                  \
     "a write that was lost on a used connection is sent again on a fresh one")                    \
  XX(ETAG_OF_REQUEST, "etag-of-request", 1, false, "a write gives the ETag that it replaced")      \
  XX(SKEW_STAYS, "skew-stays", 1, false,                                                           \
     "requests are signed with a clock that the store refuses")                                    \
  XX(CREATES_ANYWAY, "creates-anyway", 1, false, "a create has no condition")                      \
  XX(SLOT_LOST, "slot-lost", 7, false, "a connection that cannot be opened keeps its place")       \
  XX(ATTEMPT_LEFT, "attempt-left", 1, false, "a connect that loses is not closed")                 \
  XX(LISTENER_STAYS_PAUSED, "listener-stays-paused", 551, false,                                   \
     "a listener that ran out of descriptors does not go on")                                      \
  XX(SLEEPS_ALL, "sleeps-all", 93, false, "a timer on the slewed clock sleeps until the deadline") \
  XX(SUSPENSION_MISSED, "suspension-missed", 13, false,                                            \
     "nothing looks at the clock after a resume")                                                  \
  XX(SLEWED_CLOCK, "slewed-clock", 2, false, "lease time is measured with the slewed clock")       \
  XX(TOLD_TWICE, "told-twice", 1, false, "a renewal is told twice")                                \
  XX(PUBLISHED_LONGER, "published-longer", 1, false, "validity is published a millisecond longer") \
  XX(ONE_VERDICT, "one-verdict", 21, false, "what holds for lockfiles holds for epoch files")      \
  XX(FIRST_IN_FIRST_OUT, "first-in-first-out", 0, false,                                           \
     "requests wait in the order of their submission")                                             \
  XX(READS_FIRST, "reads-first", 0, false, "renewals wait behind all reads")                       \
  XX(TOLD_EACH_TIME, "told-each-time", 5, false, "an error that repeats is told each time")        \
  XX(NAME_LOST, "name-lost", 47, false, "a name that is not found is no longer known")             \
  XX(NAME_FOR_EVER, "name-for-ever", 9, false, "the addresses of a name stay as they were first")  \
  XX(PORT_BELIEVED, "port-believed", 40, false, "a redirect may lead to another port")             \
  XX(UNKNOWN_IS_UNSAFE, "unknown-is-unsafe", 6, false,                                             \
     "verify calls a store unsafe that it cannot examine")                                         \
  XX(RACE_APART, "race-apart", 27, false,                                                          \
     "the writers of a race of verify do not wait for each other")                                 \
  XX(RACE_OF_ONE, "race-of-one", 101, false, "a writer that was alone has won a race of verify")   \
  XX(RACE_IN_TURN, "race-in-turn", 8531, false,                                                    \
     "writers that go out one after another are a race of verify")                                 \
  XX(LOOK_OMITTED, "look-omitted", 10151, false,                                                   \
     "a refusal is verify's finding though its own lost write may be the reason")                  \
  XX(ETAG_SHORT, "etag-short", 20, false, "an ETag of more than 100 characters is refused")        \
  XX(WEAK_SENT, "weak-sent", 18, false, "a weak ETag is sent as it came")                          \
  XX(DISPUTE_IGNORED, "dispute-ignored", 71, false, "an ETag without quotes is not tried")         \
  XX(CANCELLED_BELIEVED, "cancelled-believed", 2, false,                                           \
     "the reply to a request that has ended answers the next one")                                 \
  XX(WAITER_FORGOTTEN, "waiter-forgotten", 2, false,                                               \
     "the last one who waits for credentials is forgotten")                                        \
  XX(OLD_PEER_ASKED, "old-peer-asked", 3, false,                                                   \
     "the leader before is asked in place of the leader")                                          \
  XX(OLD_ANSWER_BELIEVED, "old-answer-believed", 784, false,                                       \
     "a leader's late answer to the probe before is taken for its answer to this one")             \
  XX(PROMISE_SHORT, "promise-short", 3, false, "a leader promises to end before it does")          \
  XX(DEADLINE_LOST, "deadline-lost", 4, false,                                                     \
     "a request that waits for a connection to be opened has no deadline")                         \
  XX(SENT_AGAIN, "sent-again", 2, false, "what the kernel took of a request is sent again")        \
  XX(FENCED_WITHOUT_CONDITION, "fenced-without-condition", 7, false,                               \
     "a fenced write has no condition")                                                            \
  XX(FENCE_NOT_LOOKED_AT, "fence-not-looked-at", 95, false,                                        \
     "a fenced write replaces a greater epoch")                                                    \
  XX(VALUE_STAYS, "value-stays", 2, false, "a value outlives its epoch in what is told")           \
  XX(VALUE_UNWRITTEN, "value-unwritten", 40, false,                                                \
     "a leader tells its peers of a value before it is written")                                   \
  XX(CHANGE_HELD, "change-held", 1342, false,                                                      \
     "a question that was sent before a value changed waits for the next change")                  \
  XX(NEXT_REMOVED, "next-removed", 1, true, "an epoch file is removed that is not the old one")

enum {
  WORLD_MUTANT_NONE,
#define XX(id, name, seed, epochs, what) WORLD_MUTANT_##id,
  WORLD_MUTANTS(XX)
#undef XX
      WORLD_MUTANTS_END
};

extern int world_mutant; /* the one that runs */

#define S3L_MUTANT(id)      (world_mutant == WORLD_MUTANT_##id)
#define S3L_MUTATE(id, ...) (void)0

#endif
