/* s3lect-chaos: real processes under seeded random faults. See --help, and chaos.h. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chaos/chaos.h"

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
    "  --plan             print the plan of each seed, and do not run it\n";

static const chaos_config_t configs[] = {
    {"storage-lockfile", false, false, false, false}, {"storage-epochs", true, false, false, false},
    {"peer-lockfile", false, true, false, false},     {"peer-epochs", true, true, false, false},
    {"file-lockfile", false, false, true, false},     {"file-epochs", true, false, true, false},
    {"run-lockfile", false, false, false, true},      {"run-epochs", true, false, false, true},
};

typedef struct options_s {
  const chaos_config_t* config;
  uint64_t first, last;
  unsigned seconds;
  bool plan;
} options_t;

static _Noreturn void refuse(const char* what, const char* value) {
  fprintf(stderr, "s3lect-chaos: %s %s (see --help)\n", what, value);
  exit(2);
}

static const chaos_config_t* find_config(const char* name) {
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
    if (strcmp(configs[i].name, name) == 0)
      return &configs[i];
  refuse("there is no configuration", name);
}

static void take_seeds(options_t* options, const char* value) {
  char* end;
  options->first = options->last = strtoull(value, &end, 10);
  if (strncmp(end, "..", 2) == 0)
    options->last = strtoull(end + 2, &end, 10);
  if (*end != '\0' || options->last < options->first)
    refuse("--seeds must be A..B, not", value);
}

static options_t parse(int argc, char** argv) {
  static const struct option known[] = {
      {"config", required_argument, NULL, 'c'},  {"seeds", required_argument, NULL, 's'},
      {"seconds", required_argument, NULL, 't'}, {"plan", no_argument, NULL, 'p'},
      {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
  options_t options = {.first = 1, .last = 1, .seconds = 60};
  for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (c == 'c')
      options.config = find_config(optarg);
    else if (c == 's')
      take_seeds(&options, optarg);
    else if (c == 't')
      options.seconds = (unsigned)strtoul(optarg, NULL, 10);
    else if (c == 'p')
      options.plan = true;
    else if (c == 'h') {
      fputs(help, stdout);
      exit(0);
    } else
      exit(2);
  }
  if (options.config == NULL || options.seconds == 0 || options.seconds > 3600)
    refuse("--config NAME is missing, or --seconds is not", "1 to 3600");
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
    refuse("cannot find", "/proc/self/exe");
  setenv("S3L_TEST_PROTOCOL", options.config->epochs ? "epochs" : "lockfile", 1);
  setenv("AWS_ACCESS_KEY_ID", "test", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "testtest", 1);
  for (uint64_t seed = options.first; seed <= options.last; seed++) {
    run = (chaos_t){.config = options.config, .seed = seed, .self = self};
    if (options.plan) {
      chaos_plan_make(&run, options.seconds);
      chaos_plan_print(&run, stdout);
      continue;
    }
    chaos_run(&run, options.seconds);
    if (run.oracle.violations > 0)
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
