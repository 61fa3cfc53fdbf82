/* util/mutant.h: the places where a simulator can break the library on purpose, to show that its
 * checks notice. test/sim/mutant_ids.h names the mutants of the core, test/world/mutant_ids.h those
 * of the rest. In every other build S3L_MUTANT(id) is false and S3L_MUTATE(id, ...) does nothing.
 */
#include <stdbool.h>

#ifndef S3L_MUTANT
#  define S3L_MUTANT(id)      false
#  define S3L_MUTATE(id, ...) (void)0
#endif
