/* s3lect-world: the shipped library under deterministic simulation. See --help. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/args.h"
#include "world/bucket.h"
#include "world/crowd.h"
#include "world/mutants.h"
#include "world/run.h"
#include "world/secrets.h"
#include "world/store.h"

/* A run of at least so many simulated minutes, of all processes together, must meet every situation
 * that it can. */
#define ENOUGH_MINUTES 150000

#define JOBS_MAX       64

static const char help[] =
    "usage: s3lect-world [options]\n"
    "Runs elections of the shipped library in virtual time: its own object files over a simulated\n"
    "libuv, network and clock, against the fake S3, with seeded faults, and an oracle that "
    "judges.\n"
    "A seed decides everything. Exit 1: a promise was broken.\n"
    "\n"
    "  --seeds A..B      seeds to run, or one (default 1..10)\n"
    "  --nodes N         1 to 9 processes (default 5)\n"
    "  --minutes M       simulated, of each seed (default 360)\n"
    "  --protocol P      lockfile (default) or epochs\n"
    "  --store S         s3 (default); express: a directory bucket, under TLS, for a lockfile;\n"
    "                    azure or gcs\n"
    "  --faults LIST     all, none, or of the names that --list-faults prints (default all)\n"
    "  --seconds S       begin no further seed after S seconds\n"
    "  --jobs N          processes (default 2)\n"
    "  --crowd           thousands of electors over one store: with too few connections, and "
    "while\n"
    "                    the store is silent for 4 s, and for 6 s (by the seed modulo 3)\n"
    "  --situations      print how often each situation was met\n"
    "  --twice           run each seed twice, and compare\n"
    "  --trace           one seed: print what happens\n"
    "  --list-faults\n"
    "Of s3lect-world-mutants, whose library can be broken on purpose:\n"
    "  --mutant NAME     the broken one to run\n"
    "  --list-mutants    print them\n"
    "  --expect-caught   run every one of them; exit 1 if one survives\n";

typedef struct totals_s {
  uint64_t seeds, violations, digest;
  uint64_t turns, segments, requests;
  world_counters_t counters;
  uint64_t faults[WORLD_FAULT_END];
  uint64_t met[WORLD_SITUATIONS_END];
} totals_t;

typedef struct options_s {
  const char *seeds, *protocol, *store, *fault_names, *mutant;
  uint64_t first, last;
  uint32_t faults;
  unsigned nodes, minutes, jobs, seconds;
  bool epochs, twice, crowd, situations, trace;
  bool list_faults, list_mutants, expect_caught;
} options_t;

#define AT(field) offsetof(options_t, field)

static const s3l_arg_t rows[] = {
    {"--seeds", S3L_ARG_TEXT, AT(seeds), 0, 0, 0},
    {"--nodes", S3L_ARG_UNSIGNED, AT(nodes), 1, WORLD_NODES, 0},
    {"--minutes", S3L_ARG_UNSIGNED, AT(minutes), 1, 1000000, 0},
    {"--protocol", S3L_ARG_TEXT, AT(protocol), 0, 0, 0},
    {"--store", S3L_ARG_TEXT, AT(store), 0, 0, 0},
    {"--faults", S3L_ARG_TEXT, AT(fault_names), 0, 0, 0},
    {"--seconds", S3L_ARG_UNSIGNED, AT(seconds), 1, 86400, 0},
    {"--jobs", S3L_ARG_UNSIGNED, AT(jobs), 1, JOBS_MAX, 0},
    {"--crowd", S3L_ARG_FLAG, AT(crowd), 0, 0, 0},
    {"--situations", S3L_ARG_FLAG, AT(situations), 0, 0, 0},
    {"--twice", S3L_ARG_FLAG, AT(twice), 0, 0, 0},
    {"--trace", S3L_ARG_FLAG, AT(trace), 0, 0, 0},
    {"--list-faults", S3L_ARG_FLAG, AT(list_faults), 0, 0, 0},
    {"--mutant", S3L_ARG_TEXT, AT(mutant), 0, 0, 0},
    {"--list-mutants", S3L_ARG_FLAG, AT(list_mutants), 0, 0, 0},
    {"--expect-caught", S3L_ARG_FLAG, AT(expect_caught), 0, 0, 0},
};

_Static_assert(WORLD_FAULT_END <= 32, "a bit for each fault");

static uint32_t fault_bit(const char* name, size_t len) {
  for (int i = 0; i < WORLD_FAULT_END; i++) {
    const char* known = world_fault_name((world_fault_t)i);
    if (strlen(known) == len && memcmp(known, name, len) == 0)
      return UINT32_C(1) << i;
  }
  s3l_args_refuse("--faults", name, "must be all, none, or names that --list-faults prints");
}

static uint32_t fault_bits(const char* list) {
  uint32_t bits = 0;
  if (strcmp(list, "all") == 0)
    return UINT32_MAX;
  if (strcmp(list, "none") == 0)
    return 0;
  for (const char* name = list;;) {
    size_t len = strcspn(name, ",");
    bits |= fault_bit(name, len);
    if (name[len] == '\0')
      return bits;
    name += len + 1;
  }
}

static void parse(options_t* o, int argc, char** argv) {
  s3l_args_read("s3lect-world", help, rows, sizeof rows / sizeof rows[0], o, argc, argv);
  s3l_args_seeds(o->seeds, &o->first, &o->last);
  o->faults = fault_bits(o->fault_names);
  o->epochs = strcmp(o->protocol, "epochs") == 0;
  if (!o->epochs && strcmp(o->protocol, "lockfile") != 0)
    s3l_args_refuse("--protocol", o->protocol, "must be lockfile or epochs");
  if (!world_store_choose(o->store))
    s3l_args_refuse("--store", o->store, "must be s3, express, azure or gcs");
  if (o->epochs && world_store->lockfiles)
    s3l_args_refuse("--store", o->store, "holds no epoch files");
  if (o->mutant != NULL && !world_mutant_choose(o->mutant))
    s3l_args_refuse("--mutant", o->mutant, "must be one that --list-mutants prints");
  if (o->trace)
    world.log = stdout;
}

static void add(totals_t* t, const world_verdict_t* v) {
  t->seeds++;
  t->violations += v->found != 0;
  t->digest ^= v->digest;
  t->turns += v->turns;
  t->segments += v->segments;
  t->requests += v->requests;
  t->counters.leaderships += v->counters.leaderships;
  t->counters.renewals += v->counters.renewals;
  t->counters.errors += v->counters.errors;
  t->counters.lives += v->counters.lives;
  t->counters.verdicts += v->counters.verdicts;
  t->counters.refused_starts += v->counters.refused_starts;
  if (v->counters.bytes_most > t->counters.bytes_most)
    t->counters.bytes_most = v->counters.bytes_most;
  if (v->counters.fds_most > t->counters.fds_most)
    t->counters.fds_most = v->counters.fds_most;
  for (int i = 0; i < WORLD_FAULT_END; i++)
    t->faults[i] += v->faults[i];
  for (int i = 0; i < WORLD_SITUATIONS_END; i++)
    t->met[i] += v->met[i];
}

/* time() is the world's. */
static time_t real_time(void) {
  struct timespec t;
  return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? t.tv_sec : 0;
}

static void run_seed(const options_t* o, uint64_t seed, world_verdict_t* v) {
  if (o->crowd)
    world_crowd_run_seed(seed, v);
  else
    world_run_seed(seed, o->nodes, o->minutes, o->epochs, o->faults, v);
}

static void run_one(const options_t* o, uint64_t seed, totals_t* t) {
  world_verdict_t v, again;
  run_seed(o, seed, &v);
  if (o->twice) {
    run_seed(o, seed, &again);
    if (again.digest != v.digest) {
      v.found |= WORLD_FOUND_BROKEN;
      snprintf(v.text, sizeof(v.text), "the second run of this seed is another one");
    }
  }
  if (v.found != 0) {
    printf("seed %" PRIu64 ": %s\n", seed, v.text);
    fflush(stdout);
  }
  add(t, &v);
}

static totals_t run_share(const options_t* o, unsigned job) {
  totals_t t = {0};
  time_t stop = o->seconds > 0 ? real_time() + (time_t)o->seconds : 0;
  for (uint64_t seed = o->first + job; seed <= o->last; seed += o->jobs) {
    if (stop != 0 && real_time() >= stop)
      break;
    run_one(o, seed, &t);
  }
  return t;
}

/* One job for each process, which writes its totals into a pipe. */
static bool run_jobs(const options_t* o, totals_t* all) {
  bool fine = true;
  int pipes[JOBS_MAX][2];
  for (unsigned i = 0; i < o->jobs; i++) {
    if (pipe(pipes[i]) != 0)
      return false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
      totals_t t = run_share(o, i);
      _exit(write(pipes[i][1], &t, sizeof(t)) == (ssize_t)sizeof(t) ? 0 : 1);
    }
    close(pipes[i][1]);
  }
  for (unsigned i = 0; i < o->jobs; i++) {
    totals_t t;
    int status;
    bool got = read(pipes[i][0], &t, sizeof(t)) == (ssize_t)sizeof(t);
    fine = wait(&status) > 0 && status == 0 && got && fine;
    if (!got)
      continue;
    world_verdict_t v = {.digest = t.digest,
                         .turns = t.turns,
                         .segments = t.segments,
                         .requests = t.requests,
                         .counters = t.counters};
    memcpy(v.faults, t.faults, sizeof(v.faults));
    memcpy(v.met, t.met, sizeof(v.met));
    add(all, &v);
    all->seeds += t.seeds - 1;
    all->violations += t.violations;
  }
  return fine;
}

static void print(const totals_t* t, const options_t* o) {
  printf("seeds: %" PRIu64 " of %u simulated minutes, %u processes, %s: %" PRIu64
         " leaderships, %" PRIu64 " renewals, %" PRIu64 " requests, %" PRIu64
         " processes begun, %" PRIu64 " verdicts\n",
         t->seeds, o->minutes, o->nodes, o->epochs ? "epoch files" : "lockfile",
         t->counters.leaderships, t->counters.renewals, t->requests, t->counters.lives,
         t->counters.verdicts);
  printf("  %" PRIu64 " turns, %" PRIu64 " segments, %" PRIu64 " errors told, %" PRIu64
         " starts refused; at most %zu bytes and %zu descriptors a process; digest %016" PRIx64
         "\n ",
         t->turns, t->segments, t->counters.errors, t->counters.refused_starts,
         t->counters.bytes_most, t->counters.fds_most, t->digest);
  for (int i = 0; i < WORLD_FAULT_END; i++)
    printf(" %s %" PRIu64, world_fault_name((world_fault_t)i), t->faults[i]);
  printf("\n%" PRIu64 " violations\n", t->violations);
}

int main(int argc, char** argv) {
  options_t o = {.seeds = "1..10",
                 .protocol = "lockfile",
                 .store = "s3",
                 .fault_names = "all",
                 .nodes = 5,
                 .minutes = 360,
                 .jobs = 2};
  totals_t t = {0};
  bool fine = true;
  parse(&o, argc, argv);
  for (int i = 0; o.list_faults && i < WORLD_FAULT_END; i++)
    puts(world_fault_name((world_fault_t)i));
  if (o.list_mutants)
    world_mutants_list();
  if (o.list_faults || o.list_mutants)
    return 0;
  if (o.expect_caught)
    return world_mutants_all_caught() ? 0 : 1;
  (void)world_secrets(); /* once, for all jobs */
  if (world.log != NULL || o.first == o.last || o.jobs == 1) {
    o.jobs = 1;
    t = run_share(&o, 0);
  } else {
    fine = run_jobs(&o, &t);
  }
  world_secrets_remove();
  bool s3 = strcmp(o.store, "s3") == 0; /* the others do without some situations */
  bool enough = s3 && !o.crowd && t.seeds * o.minutes * o.nodes >= ENOUGH_MINUTES && o.nodes >= 3;
  fine = world_situations_tell(t.met, o.faults, o.situations, enough) && fine;
  print(&t, &o);
  return fine && t.violations == 0 ? 0 : 1;
}
