/* world/crowd.h: one process with many electors, each in an election of its own, over one store:
 * too few connections for all of them, and a store that is silent for a while. */
#ifndef WORLD_CROWD_H
#define WORLD_CROWD_H

#include "world/run.h"

/** Runs a scenario: by the seed modulo 3 the overload, the short outage, or the long one. */
void world_crowd_run_seed(uint64_t seed, world_verdict_t* verdict);

#endif
