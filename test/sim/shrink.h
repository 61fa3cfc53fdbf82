/* sim/shrink.h: makes a violation small: fewer faults, fewer nodes, sooner. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim/world.h"

/** A run that is a part of another. */
typedef struct sim_case_s {
  const sim_plan_t* full;
  bool keep[SIM_FAULTS_MAX];
  uint32_t nodes_out;
  size_t chapter; /* whose faults and quiet spell count */
  s3l_ns_t shift; /* by how much earlier everything comes */
  s3l_ns_t until;
} sim_case_t;

/** All of it. */
void sim_case_whole(sim_case_t* c, const sim_plan_t* full);
size_t sim_case_faults(const sim_case_t* c);

/** Writes the plan of a case: one chapter, with the faults that are kept. */
void sim_case_plan(const sim_case_t* c, sim_plan_t* plan);

/** Shrinks a case that violates `check` at `at`; false if it does not as a case of its own. `plan`
 * and `world` are scratch, and hold the shrunk run afterwards. */
bool sim_shrink(sim_case_t* c, oracle_check_t check, s3l_ns_t at, sim_plan_t* plan,
                sim_world_t* world);

#endif
