/* A thousand leaderships by epoch files, in virtual time: how many files stay, and what listing
 * them costs. */
#include <stdio.h>

#include "lib/test.h"
#include "sim/world.h"

#define LEADERSHIPS 1000

static sim_plan_t plan;
static sim_world_t w;
static unsigned lists;
static size_t files_most;

static void saw_step(sim_world_t* world, unsigned node, const s3l_event_t* event) {
  size_t files = sim_store_count(&w.store, 0);
  files_most = files > files_most ? files : files_most;
  for (size_t i = 0; i < w.effects.len; i++)
    lists += w.effects.at[i].kind == S3L_DO_LIST;
}

static void begin(bool keep) {
  sim_plan_plain(&plan, 1, INT64_MAX);
  plan.latency = 10 * S3L_MS;
  plan.epochs = true;
  plan.keep_epochs = keep;
  sim_world_init(&w, &plan);
  w.saw_step = saw_step;
  sim_world_begin(&w);
  lists = 0;
  files_most = 0;
}

/* Leads so often, each time for a while; how many lists the last leadership took. */
static unsigned lead(unsigned times, s3l_ns_t how_long) {
  unsigned before = 0;
  for (unsigned n = 1; n <= times; n++) {
    before = lists;
    while (w.oracle.leaderships < n)
      sim_world_advance(&w, 10 * S3L_MS);
    sim_world_advance(&w, how_long);
    sim_step(&w, 0, &(s3l_event_t){.kind = S3L_EV_RESIGN});
  }
  assert_int_equal(w.oracle.found, 0);
  return lists - before;
}

static void test_few_files_stay(void** state) {
  begin(false);
  unsigned at_first = lead(10, 30 * S3L_SECOND);
  begin(false);
  unsigned at_last = lead(LEADERSHIPS, 30 * S3L_SECOND);
  printf("at most %zu files; %u lists for a leadership, at first %u\n", files_most, at_last,
         at_first);
  assert_true(files_most <= 8);
  assert_true(at_last <= at_first + 1);
}

/* Leaderships too short for anything to be old: it is made good later. */
static void test_many_short_ones(void** state) {
  begin(false);
  (void)lead(200, S3L_SECOND);
  (void)lead(201, 600 * S3L_SECOND);
  assert_true(sim_store_count(&w.store, 0) <= 3);
}

/* All are kept, and a leader lists from its own file on: still one page. */
static void test_kept(void** state) {
  begin(true);
  unsigned at_last = lead(500, 30 * S3L_SECOND);
  assert_true(sim_store_count(&w.store, 0) >= 500);
  assert_true(at_last <= 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_few_files_stay),
      cmocka_unit_test(test_many_short_ones),
      cmocka_unit_test(test_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
