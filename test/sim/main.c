/* s3lect-sim: attacks the election core for simulated centuries. See --help. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/args.h"
#include "sim/coverage.h"
#include "sim/mutants.h"
#include "sim/report.h"
#include "sim/run.h"
#include "sim/scenario.h"

/* A run of at least so many simulated node-hours must meet every situation it can. */
#define ENOUGH_HOURS 30000

typedef struct options_s {
  sim_run_t run;
  sim_view_t view;
  const char* seeds;
  const char* faults;
  const char* protocol;
  const char* mutant;
  const char* scenario;
  const char* keep_faults;
  const char* keep_nodes;
  unsigned seconds;
  bool situations;
  bool epochs;
  bool list_mutants, list_faults, expect_caught;
  unsigned chapter;
  int64_t shift, until;
} options_t;

static const char help[] =
    "usage: s3lect-sim [options]\n"
    "Runs elections in virtual time: nodes with the real core, a model store, seeded faults, and "
    "an\n"
    "oracle that judges. A seed decides everything. Exit 1: something was violated.\n"
    "\n"
    "  --seeds A..B       seeds to run, or one; \"random\" begins somewhere new (default 1..100)\n"
    "  --seconds S        begin no further seed after S seconds\n"
    "  --nodes N          1 to 9 (default 5)\n"
    "  --hours H          simulated, 1 to 168 (default 24)\n"
    "  --faults LIST      all, none, or of the names that --list-faults prints (default all)\n"
    "  --protocol P       lockfile (default) or epochs\n"
    "  --jobs N           processes (default 2)\n"
    "  --situations       print how often each situation was met\n"
    "  --trace            one seed: print every event and effect\n"
    "  --svg FILE         one seed, or the violation found: draw a timeline\n"
    "  --from S --to S    what of it to show, in seconds\n"
    "  --scenario NAME    a run made by hand instead of by a seed; \"list\" lists them\n"
    "  --mutant NAME      run a core that is broken on purpose; \"none\": the same build, "
    "unbroken\n"
    "  --list-mutants     print them, and what must catch each\n"
    "  --expect-caught    run every mutant; exit 1 if one survives\n"
    "Printed with a violation, to repeat its shrunk run:\n"
    "  --keep-nodes LIST --keep-faults LIST --chapter N --shift NS --until NS\n";

static uint64_t random_seed(void) {
  uint64_t v = 0;
  FILE* f = fopen("/dev/urandom", "rb");
  if (f == NULL || fread(&v, sizeof v, 1, f) != 1)
    s3l_args_refuse("--seeds", "random", "cannot read /dev/urandom");
  fclose(f);
  return v >> 24; /* short enough to be typed */
}

static void set_seeds(options_t* o, const char* value) {
  if (strcmp(value, "random") == 0) {
    o->run.first = random_seed();
    o->run.last = UINT64_MAX - 1;
  } else {
    s3l_args_seeds(value, &o->run.first, &o->run.last);
  }
}

#define AT(field) offsetof(options_t, field)

static const s3l_arg_t rows[] = {
    {"--seeds", S3L_ARG_TEXT, AT(seeds), 0, 0, 0},
    {"--seconds", S3L_ARG_UNSIGNED, AT(seconds), 1, 1000000, 0},
    {"--nodes", S3L_ARG_UNSIGNED, AT(run.nodes), 1, SIM_NODES_MAX, 0},
    {"--hours", S3L_ARG_UNSIGNED, AT(run.hours), 1, 168, 0},
    {"--faults", S3L_ARG_TEXT, AT(faults), 0, 0, 0},
    {"--protocol", S3L_ARG_TEXT, AT(protocol), 0, 0, 0},
    {"--jobs", S3L_ARG_UNSIGNED, AT(run.jobs), 1, 64, 0},
    {"--situations", S3L_ARG_FLAG, AT(situations), 0, 0, 0},
    {"--trace", S3L_ARG_FLAG, AT(view.trace), 0, 0, 0},
    {"--svg", S3L_ARG_TEXT, AT(view.svg), 0, 0, 0},
    {"--from", S3L_ARG_INT64, AT(view.from), 0, 604800, S3L_SECOND},
    {"--to", S3L_ARG_INT64, AT(view.to), 1, 604800, S3L_SECOND},
    {"--scenario", S3L_ARG_TEXT, AT(scenario), 0, 0, 0},
    {"--mutant", S3L_ARG_TEXT, AT(mutant), 0, 0, 0},
    {"--list-mutants", S3L_ARG_FLAG, AT(list_mutants), 0, 0, 0},
    {"--list-faults", S3L_ARG_FLAG, AT(list_faults), 0, 0, 0},
    {"--expect-caught", S3L_ARG_FLAG, AT(expect_caught), 0, 0, 0},
    {"--keep-nodes", S3L_ARG_TEXT, AT(keep_nodes), 0, 0, 0},
    {"--keep-faults", S3L_ARG_TEXT, AT(keep_faults), 0, 0, 0},
    {"--chapter", S3L_ARG_UNSIGNED, AT(chapter), 0, SIM_CHAPTERS_MAX - 1, 0},
    {"--shift", S3L_ARG_INT64, AT(shift), 0, INT64_MAX, 1},
    {"--until", S3L_ARG_INT64, AT(until), 1, INT64_MAX, 1},
};

static void parse(options_t* o, int argc, char** argv) {
  char bad[64];
  s3l_args_read("s3lect-sim", help, rows, sizeof rows / sizeof rows[0], o, argc, argv);
  if (o->seeds != NULL)
    set_seeds(o, o->seeds);
  if (!sim_troubles_parse(o->faults, &o->run.troubles, bad, sizeof bad))
    s3l_args_refuse("--faults", bad, "unknown; --list-faults prints the names");
  o->epochs = strcmp(o->protocol, "epochs") == 0;
  if (!o->epochs && strcmp(o->protocol, "lockfile") != 0)
    s3l_args_refuse("--protocol", o->protocol, "must be lockfile or epochs");
  if (o->epochs)
    o->run.troubles |= SIM_BIT(EPOCHS);
}

/* Numbers separated by commas, or "none". */
static void parse_list(const char* option, const char* list, bool* keep, size_t len) {
  memset(keep, 0, len * sizeof *keep);
  if (strcmp(list, "none") == 0)
    return;
  for (const char* p = list;;) {
    char* end;
    unsigned long v = strtoul(p, &end, 10);
    if (end == p || v >= len || (*end != ',' && *end != '\0'))
      s3l_args_refuse(option, list, "must be numbers separated by commas, or none");
    keep[v] = true;
    if (*end == '\0')
      return;
    p = end + 1;
  }
}

static void tell_last_line(const options_t* o, const sim_totals_t* t) {
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    if (t->found[i] > 0)
      printf("%12" PRIu64 " seeds violate %s\n", t->found[i], oracle_check_name((oracle_check_t)i));
  for (uint64_t i = 0; i < t->violations && i < SIM_BAD_MAX; i++)
    printf("%s%" PRIu64, i == 0 ? "bad seeds: " : " ", t->bad[i]);
  if (t->violations > 0)
    printf("%s\n", t->violations > SIM_BAD_MAX ? " ..." : "");
  printf("digest=%016" PRIx64 "\n", t->digest);
  printf("seeds=%" PRIu64 " sim_hours=%" PRIu64 " elections=%" PRIu64 " faults=%" PRIu64
         " violations=%" PRIu64 "\n",
         t->seeds, t->seeds * o->run.hours, t->elections, t->faults, t->violations);
}

/* One seed, or a part of one, looked at closely. */
static int run_one(const options_t* o) {
  sim_plan_t* full = malloc(sizeof *full);
  sim_plan_t* plan = malloc(sizeof *plan);
  sim_case_t* c = malloc(sizeof *c);
  if (full == NULL || plan == NULL || c == NULL)
    return 2;
  sim_plan(full, o->run.first, o->run.nodes, o->run.hours, o->run.troubles);
  uint32_t nodes_out = 0;
  s3l_ns_t until = o->until > 0 ? o->until : full->end;
  const sim_plan_t* shown = full;
  if (o->keep_faults != NULL || o->keep_nodes != NULL) {
    sim_case_whole(c, full);
    c->chapter = o->chapter < full->chapters_len ? o->chapter : 0;
    c->shift = o->shift;
    if (o->keep_faults != NULL)
      parse_list("--keep-faults", o->keep_faults, c->keep, full->faults_len);
    bool nodes[SIM_NODES_MAX] = {true, true, true, true, true, true, true, true, true};
    if (o->keep_nodes != NULL)
      parse_list("--keep-nodes", o->keep_nodes, nodes, full->nodes_len);
    for (unsigned i = 0; i < full->nodes_len; i++)
      nodes_out |= nodes[i] ? 0 : 1u << i;
    sim_case_plan(c, plan);
    shown = plan;
  }
  sim_totals_t totals;
  memset(&totals, 0, sizeof totals);
  unsigned found = sim_show(shown, nodes_out, until, o->run.wanted, &o->view, &totals);
  tell_last_line(o, &totals);
  free(c);
  free(plan);
  free(full);
  return found != 0;
}

static int run_scenario(const options_t* o) {
  sim_plan_t* plan = malloc(sizeof *plan);
  if (plan == NULL)
    return 2;
  if (strcmp(o->scenario, "list") == 0) {
    sim_scenarios_list();
    free(plan);
    return 0;
  }
  if (!sim_scenario(o->scenario, plan))
    s3l_args_refuse("--scenario", o->scenario, "unknown; \"list\" lists them");
  unsigned found = sim_show(plan, 0, plan->end, ~0u, &o->view, NULL);
  free(plan);
  return found != 0;
}

/* False if a situation that could have been met was not. */
static bool tell_situations(const options_t* o, const sim_totals_t* t) {
  bool enough = t->seeds * o->run.hours * o->run.nodes >= ENOUGH_HOURS && o->run.nodes >= 3;
  sim_coverage_t c = {.print = o->situations, .enough = enough};
  for (int i = 0; i < SIM_SITUATIONS_END; i++)
    sim_coverage_tell(&c, sim_situation_text((sim_situation_t)i),
                      sim_situation_possible((sim_situation_t)i, o->run.troubles) != 0,
                      t->met.count[i]);
  return !c.missed || !enough;
}

static int run_many(const options_t* o) {
  sim_totals_t t;
  char again[256];
  sim_run_t run = o->run;
  if (o->seconds > 0)
    run.stop_at = time(NULL) + o->seconds;
  printf("seeds from %" PRIu64 "\n", run.first);
  fflush(stdout);
  if (!sim_run(&run, &t))
    return 2;
  bool met = tell_situations(o, &t);
  snprintf(again, sizeof again, " --nodes %u --hours %u --faults %s%s%s%s", run.nodes, run.hours,
           o->faults, o->epochs ? " --protocol epochs" : "", o->mutant != NULL ? " --mutant " : "",
           o->mutant != NULL ? o->mutant : "");
  if (t.violations > 0)
    sim_report(&run, t.first_bad, &o->view, again);
  tell_last_line(o, &t);
  return t.violations > 0 || !met;
}

int main(int argc, char** argv) {
  options_t o = {
      .run = {.first = 1, .last = 100, .nodes = 5, .hours = 24, .jobs = 2, .wanted = ~0u},
      .faults = "all",
      .protocol = "lockfile"};
  parse(&o, argc, argv);
  if (o.list_mutants || o.list_faults) {
    if (o.list_mutants)
      sim_mutants_list();
    for (int i = 0; o.list_faults && i < SIM_TROUBLES_END; i++)
      printf("%-14s %s\n", sim_trouble_name((sim_trouble_t)i),
             sim_trouble_meaning((sim_trouble_t)i));
    return 0;
  }
  if ((o.mutant != NULL || o.expect_caught) && !sim_mutants_are_built_in())
    return sim_mutants_hand_over(argv);
  if (o.mutant != NULL && !sim_mutant_choose(o.mutant))
    s3l_args_refuse("--mutant", o.mutant, "unknown; --list-mutants prints the names");
  if (o.expect_caught)
    return sim_mutants_expect_caught(o.run.jobs);
  if (o.scenario != NULL)
    return run_scenario(&o);
  if (o.view.trace || (o.run.first == o.run.last && o.view.svg != NULL) || o.keep_faults != NULL ||
      o.keep_nodes != NULL)
    return run_one(&o);
  return run_many(&o);
}
