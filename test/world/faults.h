/* world/faults.h: what goes wrong: faults that begin at times that the seed decides, and end. */
#ifndef WORLD_FAULTS_H
#define WORLD_FAULTS_H

#include "world/world.h"

/* Rows: id, name. */
#define WORLD_FAULTS(XX)                                                                           \
  XX(PARTITION, "partition")                                                                       \
  XX(SLOW, "slow")                                                                                 \
  XX(REFUSE, "refuse")                                                                             \
  XX(FREEZE, "freeze")                                                                             \
  XX(RESTART, "restart")                                                                           \
  XX(EMPTY, "empty")                                                                               \
  XX(DNS, "dns")                                                                                   \
  XX(MOVE, "move")                                                                                 \
  XX(HTTP, "http")                                                                                 \
  XX(BREAK, "break")                                                                               \
  XX(FDS, "fds")                                                                                   \
  XX(MEMORY, "memory")                                                                             \
  XX(PAUSE, "pause")                                                                               \
  XX(STARVE, "starve")                                                                             \
  XX(KILL, "kill")                                                                                 \
  XX(CRASH, "crash")                                                                               \
  XX(LEAVE, "leave")                                                                               \
  XX(VERIFY, "verify")                                                                             \
  XX(RESIGN, "resign")                                                                             \
  XX(WALL, "wall")                                                                                 \
  XX(RATE, "rate")                                                                                 \
  XX(SLEW, "slew")                                                                                 \
  XX(SUSPEND, "suspend")                                                                           \
  XX(TRICKLE, "trickle")                                                                           \
  XX(STALL, "stall")                                                                               \
  XX(LIAR, "liar")                                                                                 \
  XX(PROXY, "proxy")                                                                               \
  XX(FROZEN_VM, "frozen-vm")

typedef enum {
#define XX(id, name) WORLD_FAULT_##id,
  WORLD_FAULTS(XX)
#undef XX
      WORLD_FAULT_END
} world_fault_t;

const char* world_fault_name(world_fault_t fault);

extern struct world_chaos_s {
  world_event_t next;
  bool on;    /* faults may begin */
  bool quiet; /* ... harmless ones only */
  uint32_t allowed;
  s3l_prng_t random;
  uint64_t counts[WORLD_FAULT_END];
  uint32_t gap_s;
} world_chaos;

void world_chaos_begin(uint64_t seed, uint32_t allowed);
/** All is well from here on. */
void world_heal(void);

#endif
