/* s3lect-chaos: real processes under seeded random faults. See --help, and chaos.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chaos/chaos.h"
#include "lib/args.h"
#include "sim/mutant_ids.h"

static const char help[] =
    "Usage: s3lect-chaos --config NAME [--seeds A..B] [--seconds S]\n"
    "Five processes of the s3lect command hold an election; each is behind a relay of its own. For "
    "S\n"
    "seconds a plan of faults, which the seed decides, meets processes, network and store. Then "
    "the\n"
    "faults end, one leader must stay, and all processes must exit. An oracle judges their "
    "events:\n"
    "no two leaderships overlap, epochs grow, and with run- no program writes after its "
    "leadership.\n"
    "Exit 1: something was violated; the files of that run are kept, and their folder is printed.\n"
    "\n"
    "  --config NAME      storage-, peer-, file- or run-, and lockfile or epochs: "
    "storage-lockfile\n"
    "  --seeds A..B       seeds to run, or one (default 1)\n"
    "  --seconds S        how long the faults of each seed last (default 60)\n"
    "  --plan             print the plan of each seed, and do not run it\n"
    "  --mutant NAME      break the core on purpose, and end with the seed that catches it; "
    "s3lect-sim\n"
    "                     --list-mutants prints the names\n";

static const chaos_config_t configs[] = {
    {"storage-lockfile", false, false, false, false}, {"storage-epochs", true, false, false, false},
    {"peer-lockfile", false, true, false, false},     {"peer-epochs", true, true, false, false},
    {"file-lockfile", false, false, true, false},     {"file-epochs", true, false, true, false},
    {"run-lockfile", false, false, false, true},      {"run-epochs", true, false, false, true},
};

typedef struct options_s {
  const char *name, *seeds, *mutant; /* mutant "": none */
  const chaos_config_t* config;
  uint64_t first, last;
  unsigned seconds;
  bool plan;
} options_t;

#define AT(field) offsetof(options_t, field)

static const s3l_arg_t rows[] = {
    {"--config", S3L_ARG_TEXT, AT(name), 0, 0, 0},
    {"--seeds", S3L_ARG_TEXT, AT(seeds), 0, 0, 0},
    {"--seconds", S3L_ARG_UNSIGNED, AT(seconds), 1, 3600, 0},
    {"--plan", S3L_ARG_FLAG, AT(plan), 0, 0, 0},
    {"--mutant", S3L_ARG_TEXT, AT(mutant), 0, 0, 0},
};

static const chaos_config_t* find_config(const char* name) {
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
    if (strcmp(configs[i].name, name) == 0)
      return &configs[i];
  s3l_args_refuse("--config", name, "must be one of those that --help names");
}

static void check_mutant(const char* name) {
  static const char* const names[] = {"",
#define XX(id, text, ...) text,
                                      SIM_MUTANTS(XX)
#undef XX
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i]) == 0)
      return;
  s3l_args_refuse("--mutant", name, "must be one that s3lect-sim --list-mutants prints");
}

static options_t parse(int argc, char** argv) {
  options_t options = {.name = "", .seeds = "1", .mutant = "", .seconds = 60};
  s3l_args_read("s3lect-chaos", help, rows, sizeof rows / sizeof rows[0], &options, argc, argv);
  s3l_args_seeds(options.seeds, &options.first, &options.last);
  options.config = find_config(options.name);
  check_mutant(options.mutant);
  return options;
}

static void add_up(chaos_t* sum, const chaos_t* run) {
  sum->faults += run->faults;
  sum->lives += run->lives;
  sum->errors += run->errors;
  sum->oracle.leaderships_len += run->oracle.leaderships_len;
  sum->oracle.renewals += run->oracle.renewals;
  sum->oracle.overlaps += run->oracle.overlaps;
  sum->oracle.accepted += run->oracle.accepted;
  sum->oracle.fenced += run->oracle.fenced;
  sum->oracle.unguarded_len += run->oracle.unguarded_len;
  sum->oracle.violations += run->oracle.violations;
}

int main(int argc, char** argv) {
  static char self[512];
  static chaos_t sum, run;
  if (argc == 4 && strcmp(argv[1], "--writer") == 0)
    return chaos_writer(argv[3], (unsigned)strtoul(argv[2], NULL, 10));
  options_t options = parse(argc, argv);
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0)
    s3l_args_refuse("/proc/self/exe", "", "cannot be read: mount /proc");
  setenv("S3L_TEST_PROTOCOL", options.config->epochs ? "epochs" : "lockfile", 1);
  setenv("AWS_ACCESS_KEY_ID", "test", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "testtest", 1);
  bool broken = options.mutant[0] != '\0', caught = false;
  for (uint64_t seed = options.first; seed <= options.last && !caught; seed++) {
    run = (chaos_t){.config = options.config, .seed = seed, .self = self, .mutant = options.mutant};
    if (options.plan) {
      chaos_plan_make(&run, options.seconds);
      chaos_plan_print(&run, stdout);
      free(run.plan);
      continue;
    }
    chaos_run(&run, options.seconds);
    caught = broken && run.oracle.violations > 0;
    if (run.oracle.violations > 0 && !broken)
      fprintf(stderr,
              "repeat: s3lect-chaos --config %s --seeds %" PRIu64 " --seconds %u; files: %s\n",
              options.config->name, seed, options.seconds, run.s3.dir);
    add_up(&sum, &run);
    chaos_oracle_free(&run.oracle);
  }
  if (options.plan)
    return 0;
  printf("seeds %" PRIu64 "..%" PRIu64 " of %s, %u s each: %u faults, %u processes, %zu "
         "leaderships, %u renewals, %u errors told, %u overlaps",
         options.first, options.last, options.config->name, options.seconds, sum.faults, sum.lives,
         sum.oracle.leaderships_len, sum.oracle.renewals, sum.errors, sum.oracle.overlaps);
  if (options.config->run)
    printf(", %u writes accepted, %u stopped by fencing (%zu processes left without a guard)",
           sum.oracle.accepted, sum.oracle.fenced, sum.oracle.unguarded_len);
  printf(", %u violations\n", sum.oracle.violations);
  return sum.oracle.violations > 0 ? 1 : 0;
}
