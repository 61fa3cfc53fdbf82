#include "sim/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/svg.h"

static void* must(void* p) {
  if (p == NULL) {
    fprintf(stderr, "s3lect-sim: out of memory\n");
    exit(2);
  }
  return p;
}

static void tell_violations(const oracle_t* o, unsigned wanted) {
  for (int i = 0; i < ORACLE_CHECKS_END; i++) {
    const oracle_violation_t* v = &o->violations[i];
    if (v->found && (wanted & (1u << i)) != 0)
      printf("violation of %s at %.3f ms: %s\n  (%s)\n", oracle_check_name((oracle_check_t)i),
             (double)v->at / 1e6, v->text, oracle_check_meaning((oracle_check_t)i));
  }
}

static void draw(const sim_world_t* w, const sim_log_t* log, const sim_view_t* view) {
  s3l_ns_t to = view->to > 0 ? view->to : w->t + S3L_SECOND;
  if (!sim_svg_write(view->svg, w, log, view->from, to))
    fprintf(stderr, "s3lect-sim: cannot write %s\n", view->svg);
  else
    printf("picture: %s\n", view->svg);
}

unsigned sim_show(const sim_plan_t* plan, uint32_t nodes_out, s3l_ns_t until, unsigned wanted,
                  const sim_view_t* view, sim_totals_t* totals) {
  sim_world_t* w = must(malloc(sizeof *w));
  sim_log_t log = {
      .lines = view->trace ? stdout : NULL, .from = view->from, .marking = view->svg != NULL};
  sim_world_init(w, plan);
  w->nodes_out = nodes_out;
  w->until = until;
  w->wanted = wanted;
  w->log = &log;
  sim_world_run(w);
  sim_close_marks(w);
  tell_violations(&w->oracle, wanted);
  if (view->svg != NULL)
    draw(w, &log, view);
  unsigned found = w->oracle.found & wanted;
  if (totals != NULL)
    sim_totals_add(totals, w, wanted);
  sim_log_free(&log);
  free(w);
  return found;
}

static void tell_list(const char* option, const bool* keep, size_t len) {
  const char* separator = "";
  printf(" %s ", option);
  for (size_t i = 0; i < len; i++)
    if (keep[i]) {
      printf("%s%zu", separator, i);
      separator = ",";
    }
  if (separator[0] == '\0')
    printf("none");
}

static void tell_case(const sim_case_t* c, uint64_t seed, const char* options) {
  bool nodes[SIM_NODES_MAX];
  size_t nodes_kept = 0;
  for (unsigned i = 0; i < c->full->nodes_len; i++) {
    nodes[i] = (c->nodes_out & (1u << i)) == 0;
    nodes_kept += nodes[i];
  }
  printf("shrunk to %zu of %u nodes, %zu of %zu faults, the first %.1f s; again:\n", nodes_kept,
         c->full->nodes_len, sim_case_faults(c), c->full->faults_len, (double)c->until / 1e9);
  printf("  s3lect-sim --seeds %" PRIu64 "%s --trace", seed, options);
  tell_list("--keep-nodes", nodes, c->full->nodes_len);
  tell_list("--keep-faults", c->keep, c->full->faults_len);
  printf(" --chapter %zu --shift %" PRId64 " --until %" PRId64 "\n", c->chapter, c->shift,
         c->until);
}

/* Shows the last part of a long run only. */
static s3l_ns_t start_of_interest(const sim_plan_t* plan, s3l_ns_t until) {
  s3l_ns_t t = plan->nodes[0].config.leader_timeout_ms * S3L_MS;
  s3l_ns_t first = until;
  for (size_t i = 0; i < plan->faults_len; i++)
    if (plan->faults[i].at < first)
      first = plan->faults[i].at;
  s3l_ns_t from = first - 2 * t > until - 30 * t ? first - 2 * t : until - 30 * t;
  return from > until - 3 * t ? until - 3 * t : from;
}

void sim_report(const sim_run_t* run, uint64_t seed, const sim_view_t* view, const char* options) {
  sim_plan_t* full = must(malloc(sizeof *full));
  sim_plan_t* plan = must(malloc(sizeof *plan));
  sim_world_t* w = must(malloc(sizeof *w));
  sim_case_t* c = must(malloc(sizeof *c));
  sim_plan(full, seed, run->nodes, run->hours, run->troubles);
  sim_world_init(w, full);
  w->wanted = run->wanted;
  sim_world_run(w);
  printf("seed %" PRIu64 ":\n", seed);
  tell_violations(&w->oracle, run->wanted);
  int check = 0;
  while (check < ORACLE_CHECKS_END && !w->oracle.violations[check].found)
    check++;
  sim_case_whole(c, full);
  if (check < ORACLE_CHECKS_END &&
      sim_shrink(c, (oracle_check_t)check, w->oracle.violations[check].at, plan, w)) {
    tell_case(c, seed, options);
    sim_view_t shown = {.trace = true,
                        .svg = view->svg,
                        .from = start_of_interest(plan, c->until),
                        .to = c->until + 2 * S3L_SECOND};
    if (shown.from < 0)
      shown.from = 0;
    sim_case_plan(c, plan);
    (void)sim_show(plan, c->nodes_out, c->until, 1u << check, &shown, NULL);
  } else {
    printf("it does not shrink; again:\n  s3lect-sim --seeds %" PRIu64 "%s --trace\n", seed,
           options);
  }
  free(c);
  free(w);
  free(plan);
  free(full);
}
