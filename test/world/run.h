/* world/run.h: one seed: its election, what happens to it, and the verdict. */
#ifndef WORLD_RUN_H
#define WORLD_RUN_H

#include "world/faults.h"
#include "world/node.h"
#include "world/situations.h"

typedef struct world_verdict_s {
  unsigned found; /* the oracle's checks; bit 31: another promise of the library */
  char text[512];
  uint64_t digest;
  uint64_t turns, segments;
  world_counters_t counters;
  uint64_t requests;
  uint64_t faults[WORLD_FAULT_END];
  uint64_t met[WORLD_SITUATIONS_END];
} world_verdict_t;

#define WORLD_FOUND_BROKEN (1u << 31)

/** Runs a seed; `faults` is a bit for each kind that may happen. */
void world_run_seed(uint64_t seed, unsigned nodes, unsigned minutes, bool epochs, uint32_t faults,
                    world_verdict_t* verdict);

#endif
