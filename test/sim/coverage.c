#include "sim/coverage.h"

#include <inttypes.h>
#include <stdio.h>

void sim_coverage_tell(sim_coverage_t* c, const char* text, bool possible, uint64_t met) {
  if (c->print)
    printf("%12" PRIu64 "  %s%s\n", met, text, possible ? "" : " (cannot, with these faults)");
  if (!possible || met > 0)
    return;
  c->missed = true;
  if (c->enough)
    printf("never met: %s\n", text);
}
