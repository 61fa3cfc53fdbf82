#include "sim/run.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 64

typedef struct shared_s {
  _Atomic uint64_t next;
  _Atomic bool stop;
  sim_totals_t of[JOBS_MAX];
} shared_t;

void sim_totals_add(sim_totals_t* to, const sim_world_t* w, unsigned wanted) {
  const oracle_t* o = &w->oracle;
  to->seeds++;
  to->elections += o->leaderships;
  to->faults += w->faults_met;
  to->digest += sim_mix(w->digest, w->plan->seed);
  for (int i = 0; i < SIM_SITUATIONS_END; i++)
    to->met.count[i] += w->met.count[i];
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    to->found[i] += o->violations[i].found;
  if ((o->found & wanted) == 0)
    return;
  if (to->violations < SIM_BAD_MAX)
    to->bad[to->violations] = w->plan->seed;
  to->violations++;
  if (w->plan->seed < to->first_bad)
    to->first_bad = w->plan->seed;
}

static void add_totals(sim_totals_t* to, const sim_totals_t* from) {
  to->seeds += from->seeds;
  to->elections += from->elections;
  to->faults += from->faults;
  for (uint64_t i = 0; i < from->violations && i < SIM_BAD_MAX; i++)
    if (to->violations + i < SIM_BAD_MAX)
      to->bad[to->violations + i] = from->bad[i];
  to->violations += from->violations;
  to->digest += from->digest;
  if (from->first_bad < to->first_bad)
    to->first_bad = from->first_bad;
  for (int i = 0; i < SIM_SITUATIONS_END; i++)
    to->met.count[i] += from->met.count[i];
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    to->found[i] += from->found[i];
}

static void work(const sim_run_t* run, shared_t* shared, sim_totals_t* totals) {
  sim_plan_t* plan = malloc(sizeof *plan);
  sim_world_t* world = malloc(sizeof *world);
  if (plan == NULL || world == NULL)
    abort();
  while (!atomic_load(&shared->stop)) {
    if (run->stop_at != 0 && time(NULL) >= run->stop_at)
      break;
    uint64_t seed = atomic_fetch_add(&shared->next, 1);
    if (seed > run->last)
      break;
    sim_plan(plan, seed, run->nodes, run->hours, run->troubles);
    sim_world_init(world, plan);
    world->wanted = run->wanted;
    sim_world_run(world);
    sim_totals_add(totals, world, run->wanted);
    if (run->stop_early && totals->violations > 0)
      atomic_store(&shared->stop, true);
  }
  free(world);
  free(plan);
}

static pid_t start_worker(const sim_run_t* run, shared_t* shared, unsigned i) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid != 0)
    return pid;
  work(run, shared, &shared->of[i]);
  _exit(0);
}

static bool await(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid)
    return false;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  fprintf(stderr, "s3lect-sim: a worker ended with %s %d\n",
          WIFSIGNALED(status) ? "signal" : "status",
          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return false;
}

bool sim_run(const sim_run_t* run, sim_totals_t* totals) {
  shared_t* shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return false;
  memset(totals, 0, sizeof *totals);
  totals->first_bad = UINT64_MAX;
  atomic_store(&shared->next, run->first);
  unsigned jobs = run->jobs < JOBS_MAX ? run->jobs : JOBS_MAX;
  pid_t pids[JOBS_MAX];
  for (unsigned i = 0; i < jobs; i++) {
    shared->of[i].first_bad = UINT64_MAX;
    pids[i] = start_worker(run, shared, i);
  }
  bool ok = true;
  for (unsigned i = 0; i < jobs; i++) {
    ok = await(pids[i]) && ok;
    add_totals(totals, &shared->of[i]);
  }
  munmap(shared, sizeof *shared);
  return ok;
}
