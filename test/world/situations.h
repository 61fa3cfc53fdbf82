/* world/situations.h: what the runs must have met to be worth their time: moments in which the
 * library above the core can go wrong in a way of its own. The core's are in sim/situations.h.
 *
 * A row: name, text, the faults of which one must be allowed for it to come up; 0: none. */
#ifndef WORLD_SITUATIONS_H
#define WORLD_SITUATIONS_H

#include <stdint.h>

#include "world/faults.h"

#define WORLD_BIT(fault) (UINT32_C(1) << WORLD_FAULT_##fault)

#define WORLD_SITUATIONS(XX)                                                                       \
  XX(NEVER_SENT, "a request ended before it was sent", WORLD_BIT(REFUSE) | WORLD_BIT(PARTITION))   \
  XX(UNCERTAIN, "a write's connection broke, or its time ended, before its reply",                 \
     WORLD_BIT(PARTITION) | WORLD_BIT(HTTP))                                                       \
  XX(UNCERTAIN_LANDED, "... and the write had landed", WORLD_BIT(PARTITION) | WORLD_BIT(HTTP))     \
  XX(LATE_BYTES, "bytes arrived for a connection that its process had closed",                     \
     WORLD_BIT(PARTITION) | WORLD_BIT(SLOW))                                                       \
  XX(DEAD_KEPT, "a request went out on a kept connection that the other end no longer knew",       \
     WORLD_BIT(KILL) | WORLD_BIT(BREAK) | WORLD_BIT(RESTART))                                      \
  XX(REFUSED, "a connect was refused", WORLD_BIT(REFUSE) | WORLD_BIT(KILL))                        \
  XX(PIECES, "the kernel took a part of a write", WORLD_BIT(TRICKLE))                              \
  XX(MOVED, "a name that was resolved before has another address", WORLD_BIT(MOVE))                \
  XX(NO_NAME, "a name that was resolved before cannot be resolved", WORLD_BIT(DNS))                \
  XX(NO_DESCRIPTOR, "a socket could not be opened for want of descriptors", WORLD_BIT(FDS))        \
  XX(NO_ACCEPT, "a connection could not be accepted for want of descriptors", WORLD_BIT(FDS))      \
  XX(NO_MEMORY_START, "an allocation failed as a process began", WORLD_BIT(MEMORY))                \
  XX(NO_MEMORY_READ, "an allocation failed during a read", WORLD_BIT(MEMORY))                      \
  XX(NO_MEMORY_WRITE, "an allocation failed during a write", WORLD_BIT(MEMORY))                    \
  XX(NO_MEMORY_LEADING, "an allocation failed in a leader", WORLD_BIT(MEMORY))                     \
  XX(NOT_STARTED, "a process could not begin", WORLD_BIT(MEMORY) | WORLD_BIT(FDS))                 \
  XX(CLOSED_IN_REQUEST, "a process closed during a request", WORLD_BIT(LEAVE))                     \
  XX(CLOSED_IN_VERIFY, "a process closed while it examined the store",                             \
     WORLD_BIT(LEAVE) | WORLD_BIT(KILL))                                                           \
  XX(LIE_FOUND, "a store that lies was found unsafe", WORLD_BIT(LIAR))                             \
  XX(REDIRECTED, "a redirect was refused", WORLD_BIT(HTTP))                                        \
  XX(SKEWED, "a request was refused for its time", WORLD_BIT(WALL))                                \
  XX(KEYS_RENEWED, "a process got its second keys from the service", 0)                            \
  XX(KEYS_LATE, "a request failed for want of keys", WORLD_BIT(FREEZE) | WORLD_BIT(PARTITION))     \
  XX(TLS_FULL, "a TLS connection to the store with a full handshake", 0)                           \
  XX(TLS_RESUMED, "a TLS connection to the store with a ticket", 0)                                \
  XX(PEER_PROVEN, "a leader answered over mutual TLS", 0)                                          \
  XX(PEER_PLAIN, "a leader answered over plain HTTP", 0)                                           \
  XX(PEER_HELD, "an answer of a leader was held", 0)                                               \
  XX(PEER_ENDED, "a process that was asked said that it does not lead", 0)                         \
  XX(PEER_FAILED, "a leader could not be asked", WORLD_BIT(PARTITION) | WORLD_BIT(KILL))           \
  XX(STOOD_STILL, "a leader stood still within a turn", WORLD_BIT(STALL))                          \
  XX(STOPPED_LATE, "a leader learnt of its end after it: it had not run",                          \
     WORLD_BIT(PAUSE) | WORLD_BIT(SUSPEND) | WORLD_BIT(STALL))                                     \
  XX(GRANTED, "a leader wrote the claim of a follower in place of its release",                    \
     WORLD_BIT(RESIGN) | WORLD_BIT(LEAVE))                                                         \
  XX(RELEASE_LOST, "a release was given up", WORLD_BIT(RESIGN) | WORLD_BIT(LEAVE))                 \
  XX(FENCED, "a deposed leader's write was refused by the object's epoch", 0)                      \
  XX(DUPLICATE, "a duplicate server ID was reported", 0)                                           \
  XX(WARNED_RENEWED, "a leader was warned of its end, and renewed after all",                      \
     WORLD_BIT(FREEZE) | WORLD_BIT(PARTITION))                                                     \
  XX(WARNED_ENDED, "... and its validity ended", WORLD_BIT(FREEZE) | WORLD_BIT(PARTITION))         \
  XX(DEADLINE, "a leadership ended by its renew deadline",                                         \
     WORLD_BIT(FREEZE) | WORLD_BIT(PARTITION))                                                     \
  XX(RETURNED, "a leader whose time was over renewed after all",                                   \
     WORLD_BIT(PARTITION) | WORLD_BIT(SLOW))                                                       \
  XX(LOW_PRIORITY, "a candidate of the lowest priority took over", 0)                              \
  XX(VALUE_READ, "a follower read a value", 0)                                                     \
  XX(VALUE_BY_PEER, "a follower learnt of a value by its leader's answer", 0)                      \
  XX(VALUE_ENDED, "a leader without a value followed one with a value", 0)                         \
  XX(VALUE_LONG, "a value of 1 KiB was told", 0)                                                   \
  XX(VALUE_AT_ONCE, "a value that was published at once was known to all in time", 0)              \
  XX(HANDED_OVER, "a leader that resigned was replaced in time", 0)                                \
  XX(LEADS_AGAIN, "... and nobody else came before it", 0)                                         \
  XX(UPDATED_LEADER, "a leader's options were changed", 0)                                         \
  XX(UPDATED_TIMEOUT, "a follower's leader timeout was changed", 0)                                \
  XX(UPDATE_REFUSED, "a leader's leader timeout was not", 0)

typedef enum {
#define XX(name, text, needs) WORLD_MET_##name,
  WORLD_SITUATIONS(XX)
#undef XX
      WORLD_SITUATIONS_END
} world_situation_t;

/** How often each was met in this run. */
extern uint64_t world_met[WORLD_SITUATIONS_END];

static inline void world_meet(world_situation_t situation) {
  world_met[situation]++;
}

/** False if one was never met that can be, with these faults. Prints the counts, if it is to, and
 * what a run that is long `enough` has missed. */
bool world_situations_tell(const uint64_t met[WORLD_SITUATIONS_END], uint32_t faults, bool print,
                           bool enough);

#endif
