/* Linked into the command together with a core that is broken on purpose: breaks the core as the
 * environment says (sim/mutant_ids.h). */
#include "sim/mutants.h"

#include <stdlib.h>

__attribute__((constructor)) static void choose(void) {
  const char* name = getenv("S3L_CHAOS_MUTANT");
  if (name == NULL || !sim_mutant_choose(name))
    abort();
}
