/* sim/clock.h: a node's clock over true time.
 *
 * True time is what the simulator counts (ns since the run began); a node only ever sees its own
 * clock, which runs at a rate of 1 + ppb / 10^9 of it. The rate may change; the reading never
 * jumps. Its timers run on a second such clock, which NTP slews. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>

#include "core/lease.h"

#define SIM_BILLION INT64_C(1000000000)

typedef struct sim_clock_s {
  s3l_ns_t true_base;
  s3l_ns_t boot_base;
  int64_t ppb;
} sim_clock_t;

/** What the clock shows at true time t, rounded down. */
static inline s3l_ns_t sim_clock_read(const sim_clock_t* c, s3l_ns_t t) {
  s3l_ns_t d = t - c->true_base;
  int64_t part = d % SIM_BILLION * c->ppb;
  /* Rounded down for a slow clock too, whose part is negative. */
  int64_t fine = part >= 0 ? part / SIM_BILLION : -((-part + SIM_BILLION - 1) / SIM_BILLION);
  return c->boot_base + d + d / SIM_BILLION * c->ppb + fine;
}

/** The first true time at which the clock shows `boot` or more; not before the base. */
static inline s3l_ns_t sim_clock_when(const sim_clock_t* c, s3l_ns_t boot) {
  s3l_ns_t d = boot - c->boot_base;
  if (d <= 0)
    return c->true_base;
  int64_t rate = SIM_BILLION + c->ppb;
  s3l_ns_t t = c->true_base + d / rate * SIM_BILLION + d % rate * SIM_BILLION / rate;
  while (sim_clock_read(c, t) >= boot && t > c->true_base)
    t--;
  while (sim_clock_read(c, t) < boot)
    t++;
  return t;
}

static inline void sim_clock_set_rate(sim_clock_t* c, s3l_ns_t t, int64_t ppb) {
  c->boot_base = sim_clock_read(c, t);
  c->true_base = t;
  c->ppb = ppb;
}

#endif
