/* world/mutant_ids.h: libraries that are broken on purpose, above the core. Each is broken where
 * src says S3L_MUTANT(id), in s3lect-world-mutants only, which includes this file before every
 * source of the library.
 *
 * A row: id, name, the seed at which the search begins (the first one that was seen to catch it; 0:
 * the crowd's scenarios catch it), epoch files or not, what is broken. */
#ifndef WORLD_MUTANT_IDS_H
#define WORLD_MUTANT_IDS_H

#include <stdbool.h>

#define WORLD_MUTANTS(XX)                                                                          \
  XX(PAGE_IS_ABSENCE, "page-is-absence", 4, false, "a proxy's 404 page means: no such object")     \
  XX(LOST_IS_NOT_APPLIED, "lost-is-not-applied", 2, false,                                         \
     "a write whose reply was lost is told as never sent")                                         \
  XX(WRITE_REPLAYED, "write-replayed", 346, false,                                                 \
     "a write that was lost on a used connection is sent again on a fresh one")                    \
  XX(ETAG_OF_REQUEST, "etag-of-request", 1, false, "a write gives the ETag that it replaced")      \
  XX(SKEW_STAYS, "skew-stays", 3, false,                                                           \
     "requests are signed with a clock that the store refuses")                                    \
  XX(CREATES_ANYWAY, "creates-anyway", 1, false, "a create has no condition")                      \
  XX(SLOT_LOST, "slot-lost", 10, false, "a connection that cannot be opened keeps its place")      \
  XX(ATTEMPT_LEFT, "attempt-left", 1, false, "a connect that loses is not closed")                 \
  XX(LISTENER_STAYS_PAUSED, "listener-stays-paused", 133, false,                                   \
     "a listener that ran out of descriptors does not go on")                                      \
  XX(SLEEPS_ALL, "sleeps-all", 25, false, "a timer on the slewed clock sleeps until the deadline") \
  XX(SUSPENSION_MISSED, "suspension-missed", 13, false,                                            \
     "nothing looks at the clock after a resume")                                                  \
  XX(SLEWED_CLOCK, "slewed-clock", 1, false, "lease time is measured with the slewed clock")       \
  XX(TOLD_TWICE, "told-twice", 1, false, "a renewal is told twice")                                \
  XX(PUBLISHED_LONGER, "published-longer", 1, false, "validity is published a millisecond longer") \
  XX(PUBLISHED_LATE, "published-late", 192, false, "validity that is published late revives")      \
  XX(ONE_VERDICT, "one-verdict", 3, false, "what holds for lockfiles holds for epoch files")       \
  XX(FIRST_IN_FIRST_OUT, "first-in-first-out", 0, false,                                           \
     "requests wait in the order of their submission")                                             \
  XX(TOLD_EACH_TIME, "told-each-time", 10, false, "an error that repeats is told each time")

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
