/* sim/core_step.h: the one place in which tests step a core: golden traces, the simulator, and by
 * it the fuzzer. */
#ifndef SIM_CORE_STEP_H
#define SIM_CORE_STEP_H

#include "core/core.h"

/** s3l_core_step. Returns what does not hold afterwards of that which core/core.h promises whatever
 * the core is told; NULL: all of it holds. */
const char* sim_core_step(s3l_core_t* core, s3l_ns_t now, const s3l_event_t* event,
                          s3l_effects_t* effects);

#endif
