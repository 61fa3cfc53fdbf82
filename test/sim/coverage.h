/* sim/coverage.h: tells how often situations were met, and which never. */
#ifndef SIM_COVERAGE_H
#define SIM_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_coverage_s {
  bool print;  /* the counts */
  bool enough; /* the run was long enough to meet them all: tell which it did not */
  bool missed; /* one that is possible was never met */
} sim_coverage_t;

/** One situation; `possible`: with the faults that the run had. */
void sim_coverage_tell(sim_coverage_t* coverage, const char* text, bool possible, uint64_t met);

#endif
