/* sim/mutants.h: running the broken cores, and seeing that the oracle notices. */
#ifndef SIM_MUTANTS_H
#define SIM_MUTANTS_H

#include <stdbool.h>

#include "sim/mutant_ids.h"

void sim_mutants_list(void);
/** Whether this program is the build that has them. */
bool sim_mutants_are_built_in(void);
/** Goes on as the build that has them, which lies beside this program. Returns only on failure. */
int sim_mutants_hand_over(char** argv);
/** By name, or "none". False: there is none of that name. */
bool sim_mutant_choose(const char* name);
/** Runs each until its check trips; the exit status. */
int sim_mutants_expect_caught(unsigned jobs);

#endif
