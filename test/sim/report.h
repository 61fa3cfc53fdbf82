/* sim/report.h: tells of one run: its trace, its picture, and what was violated. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "sim/run.h"
#include "sim/shrink.h"

typedef struct sim_view_s {
  bool trace;
  const char* svg;   /* file; NULL: none */
  s3l_ns_t from, to; /* what is shown; to 0: up to the end */
} sim_view_t;

/** Runs a plan and shows it. Returns the checks that were violated. */
unsigned sim_show(const sim_plan_t* plan, uint32_t nodes_out, s3l_ns_t until, unsigned wanted,
                  const sim_view_t* view, sim_totals_t* totals);

/** Shrinks and shows the violation of a seed. `options` are those of the command, to repeat it. */
void sim_report(const sim_run_t* run, uint64_t seed, const sim_view_t* view, const char* options);

#endif
