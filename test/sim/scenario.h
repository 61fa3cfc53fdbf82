/* sim/scenario.h: runs made by hand, for pictures. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "sim/plan.h"

void sim_scenarios_list(void);
/** False: there is none of that name. */
bool sim_scenario(const char* name, sim_plan_t* plan);

#endif
