/* world/situations.c: see situations.h. */
#include "world/situations.h"

#include "sim/coverage.h"

uint64_t world_met[WORLD_SITUATIONS_END];

bool world_situations_tell(const uint64_t met[WORLD_SITUATIONS_END], uint32_t faults, bool print,
                           bool enough) {
  static const struct {
    const char* text;
    uint32_t needs;
  } rows[] = {
#define XX(name, text, needs) {text, needs},
      WORLD_SITUATIONS(XX)
#undef XX
  };
  sim_coverage_t c = {.print = print, .enough = enough};
  for (int i = 0; i < WORLD_SITUATIONS_END; i++)
    sim_coverage_tell(&c, rows[i].text, rows[i].needs == 0 || (rows[i].needs & faults) != 0,
                      met[i]);
  return !c.missed || !enough;
}
