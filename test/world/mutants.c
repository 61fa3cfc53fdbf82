/* world/mutants.c: see mutants.h. */
#include "world/mutants.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world/crowd.h"
#include "world/mutant_ids.h"
#include "world/run.h"
#include "world/secrets.h"

#define SEEDS   300
#define MINUTES 60

int world_mutant;

static const struct {
  const char* name;
  uint64_t seed;
  bool epochs;
  const char* what;
} rows[] = {{"none", 1, false, ""},
#define XX(id, name, seed, epochs, what) {name, seed, epochs, what},
            WORLD_MUTANTS(XX)
#undef XX
};

#ifdef WORLD_MUTANTS_BUILT_IN
static const bool built_in = true;
#else
static const bool built_in;
#endif

bool world_mutant_choose(const char* name) {
  for (int i = 0; i < WORLD_MUTANTS_END && built_in; i++)
    if (strcmp(rows[i].name, name) == 0) {
      world_mutant = i;
      return true;
    }
  return false;
}

void world_mutants_list(void) {
  for (int i = 1; i < WORLD_MUTANTS_END; i++)
    printf("%-24s %s\n", rows[i].name, rows[i].what);
}

/* In a process of its own, since a broken library may also crash, which counts. */
static int search(int mutant) {
  world_verdict_t v;
  world_mutant = mutant;
  for (uint64_t seed = rows[mutant].seed; seed < rows[mutant].seed + SEEDS; seed++) {
    if (rows[mutant].seed == 0)
      world_crowd_run_seed(seed, &v);
    else
      world_run_seed(seed, 5, MINUTES, rows[mutant].epochs, UINT32_MAX, &v);
    if (v.found == 0)
      continue;
    printf("%-24s caught by seed %" PRIu64 ": %s\n", rows[mutant].name, seed, v.text);
    fflush(stdout);
    return 0;
  }
  printf("%-24s SURVIVES %d seeds\n", rows[mutant].name, SEEDS);
  fflush(stdout);
  return 1;
}

static bool is_caught(pid_t pid, int mutant) {
  int status;
  if (waitpid(pid, &status, 0) != pid)
    return false;
  if (WIFSIGNALED(status))
    printf("%-24s caught: it ends with signal %d\n", rows[mutant].name, WTERMSIG(status));
  return WIFSIGNALED(status) || status == 0;
}

bool world_mutants_all_caught(void) {
  int caught = 0;
  pid_t pids[WORLD_MUTANTS_END] = {0};
  if (!built_in) {
    fputs("s3lect-world: only s3lect-world-mutants can break the library\n", stderr);
    return false;
  }
  (void)world_secrets();
  for (int i = 1; i <= WORLD_MUTANTS_END; i++) { /* two at a time */
    fflush(stdout);
    if (i < WORLD_MUTANTS_END && (pids[i] = fork()) == 0)
      _exit(search(i));
    if (i > 1)
      caught += is_caught(pids[i - 1], i - 1);
  }
  world_secrets_remove();
  printf("%d of %d mutants caught\n", caught, WORLD_MUTANTS_END - 1);
  return caught == WORLD_MUTANTS_END - 1;
}
