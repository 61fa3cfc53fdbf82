/* sim/run.h: many seeds on several processes. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "sim/world.h"

typedef struct sim_run_s {
  uint64_t first, last; /* seeds, both included */
  unsigned nodes, hours, jobs;
  uint32_t troubles;
  unsigned wanted; /* checks that end a seed's run */
  bool stop_early; /* leave off at the first seed that violates a wanted check */
  time_t stop_at;  /* begin no further seed from then on; 0: never */
} sim_run_t;

/** So many seeds with a violation are remembered. */
#define SIM_BAD_MAX 32

typedef struct sim_totals_s {
  uint64_t seeds;
  uint64_t elections;
  uint64_t faults;
  uint64_t violations;       /* seeds that have one */
  uint64_t bad[SIM_BAD_MAX]; /* ... the first of them that were run */
  uint64_t digest;           /* of all seeds, in whatever order they were run */
  uint64_t first_bad;        /* the lowest of them; UINT64_MAX: none */
  uint64_t found[ORACLE_CHECKS_END];
  sim_situations_t met;
} sim_totals_t;

void sim_totals_add(sim_totals_t* to, const sim_world_t* w, unsigned wanted);

/** False if a worker died; a line on stderr says how. */
bool sim_run(const sim_run_t* run, sim_totals_t* totals);

#endif
