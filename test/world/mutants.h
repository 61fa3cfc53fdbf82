/* world/mutants.h: runs the libraries of mutant_ids.h. */
#ifndef WORLD_MUTANTS_H
#define WORLD_MUTANTS_H

#include <stdbool.h>

/** False if there is none of that name, as in s3lect-world. */
bool world_mutant_choose(const char* name);
void world_mutants_list(void);
/** Runs each until it is caught; prints by which seed and which check. */
bool world_mutants_all_caught(void);

#endif
