/* Candidates of a higher priority go first, by a bounded head start.
 *
 * ctest labels: tsan */
#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

#define STEP_NS INT64_C(500000000)

static s3l_election_t el;
static s3l_candidate_t low, high;
static int64_t free_since; /* when `low` was told last that nobody leads */
static void (*rig_no_leader)(s3lect_elector_t* e, const s3lect_event_t* ev);

static void on_no_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  free_since = s3lect_now_ns();
  rig_no_leader(e, ev);
}

static void init(s3l_candidate_t* c, const char* id, int priority) {
  s3l_candidate_init(&el, c, id);
  c->o.priority = priority;
  c->o.leader_timeout_ms = 8000;
  c->o.renew_interval_ms = 2000;
  c->o.frequent_interval_ms = c->o.infrequent_interval_ms = 200;
}

static int setup(void** state) {
  (void)state;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  init(&low, "low", 1);
  init(&high, "high", 0); /* the default is the highest */
  rig_no_leader = low.o.on_no_leader;
  low.o.on_no_leader = on_no_leader;
  return 0;
}

static int teardown(void** state) {
  (void)state;
  s3l_election_end(&el);
  return 0;
}

/* It waits for two steps, whether somebody else stands or not. */
static void test_head_start(void** state) {
  s3l_candidate_start(&low);
  s3l_election_wait(&el, &low.started, 1, "the only candidate to lead");
  assert_true(s3lect_now_ns() - free_since >= 2 * STEP_NS);
}

static void test_higher_goes_first(void** state) {
  s3l_candidate_start(&low);
  s3l_candidate_start(&high);
  s3l_election_wait(&el, &high.started, 1, "the higher priority to lead");
  assert_int_equal(low.started, 0);
  assert_int_equal(s3lect_elector_stop(&high.e), 0);
  s3l_election_wait(&el, &low.started, 1, "the lower one to lead");
}

/* A successor that is named does not wait for its own priority. */
static void test_successor(void** state) {
  s3l_candidate_start(&high);
  s3l_election_wait(&el, &high.renewed, 1, "a leader");
  s3l_candidate_start(&low);
  s3l_election_wait(&el, &low.leaders, 1, "a follower");
  s3l_election_wait(&el, &high.renewed, 7, "the follower to have watched for long enough");
  assert_int_equal(s3lect_elector_transfer(&high.e, "low"), 0);
  s3l_election_wait(&el, &low.started, 1, "the successor to lead");
}

/* It may change while the elector runs. */
static void test_update(void** state) {
  s3l_candidate_start(&high);
  s3l_election_wait(&el, &high.renewed, 1, "a leader");
  s3l_candidate_start(&low);
  s3l_election_wait(&el, &low.leaders, 1, "a follower");
  s3l_election_wait(&el, &high.renewed, 7, "the follower to have watched for long enough");
  low.o.priority = 3;
  high.o.priority = 1;
  assert_int_equal(s3lect_elector_update(&low.e, &low.o, NULL), 0);
  assert_int_equal(s3lect_elector_update(&high.e, &high.o, NULL), 0);
  assert_int_equal(s3lect_elector_stop(&high.e), 0);
  s3l_election_wait(&el, &low.started, 1, "the other one to lead");
  while (s3lect_elector_start(&high.e) == UV_EBUSY)
    s3l_turn(&el.loop);
  unsigned told = high.leaders;
  s3l_election_wait(&el, &high.leaders, told + 1, "the former leader to follow");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(test_head_start),
      T(test_higher_goes_first),
      T(test_successor),
      T(test_update),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
