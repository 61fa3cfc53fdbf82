/* The election on the stores that need no server: in memory, and in a directory.
 *
 * ctest labels: no-valgrind */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_election_t el;
static s3l_candidate_t a, b;
static char dir[64];

static int open_memory(void** state) {
  s3l_election_init(&el, NULL); /* its fake S3 is not used */
  s3l_wait_pace(S3L_PACE_TIMERS);
  el.key = "x";
  return s3lect_store_memory_init(&el.loop, &el.store, NULL);
}

static int open_directory(void** state) {
  s3l_election_init(&el, NULL);
  s3l_wait_pace(S3L_PACE_REAL); /* files are read and written in threads */
  el.key = "sub/x";
  snprintf(dir, sizeof dir, "/tmp/s3lect-stores-XXXXXX");
  assert_non_null(mkdtemp(dir));
  return s3lect_store_file_init(&el.loop, &el.store, dir, NULL);
}

static int close_memory(void** state) {
  s3l_election_end(&el);
  return 0;
}

/* Removes a directory and those below it. */
static void clean(const char* path) {
  char name[600];
  DIR* d = opendir(path);
  assert_non_null(d);
  for (const struct dirent* e = readdir(d); e != NULL; e = readdir(d)) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
      continue;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    if (unlink(name) != 0)
      clean(name);
  }
  closedir(d);
  assert_int_equal(rmdir(path), 0);
}

static int close_directory(void** state) {
  (void)close_memory(state);
  clean(dir);
  return 0;
}

static void test_renewal_and_hand_over(void** state) {
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 2, "renewals");
  assert_int_equal(a.epoch, 8);
  s3l_candidate_init(&el, &b, "b");
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.leaders, 1, "the follower to see the leader");
  assert_string_equal(b.leader, "a");
  assert_string_equal(s3l_election_record(&el).leader_id, "a");
  s3l_election_wait(&el, &a.renewed, a.renewed + 10, "a leader timeout and more");
  s3l_candidate_close(&a);
  s3l_election_wait(&el, &b.renewed, 1, "the follower to lead");
  assert_int_equal(b.epoch, 9);
  assert_int_equal(a.errors + b.errors, 0);
  s3l_candidate_close(&b);
  assert_int_equal(s3l_election_record(&el).released, 1);
}

static void test_take_over_from_a_dead_leader(void** state) {
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  a.o.no_release = 1;
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 1, "leadership");
  s3l_candidate_init(&el, &b, "b");
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.leaders, 1, "the follower to see the leader");
  s3l_candidate_close(&a);
  s3l_election_wait(&el, &b.started, 1, "the take-over");
  assert_int_equal(b.epoch, 9);
  assert_true(s3lect_now_ns() > a.valid_until_ns); /* no sooner than its validity ended */
  assert_int_equal(b.errors, 0);
}

/* From nothing: absence is observed, the store's clock gives the epoch. */
static void test_from_nothing(void** state) {
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 1, "leadership");
  assert_true(a.epoch > 1700000000);
  assert_int_equal(a.errors, 0);
}

/* Taken away under its leader: it stops, and nobody leads an epoch twice. */
static void test_deleted_under_its_leader(void** state) {
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 1, "leadership");
  s3l_election_delete(&el);
  s3l_election_wait(&el, &a.stopped, 1, "the end of leadership");
  assert_int_equal(a.reason, S3LECT_REASON_LOST);
  s3l_election_wait(&el, &a.started, 2, "leadership again");
  assert_true(a.epoch > 8);
}

#define M(test) cmocka_unit_test_setup_teardown(test, open_memory, close_memory)
#define D(test) cmocka_unit_test_setup_teardown(test, open_directory, close_directory)

int main(void) {
  const struct CMUnitTest tests[] = {
      M(test_renewal_and_hand_over), M(test_take_over_from_a_dead_leader),
      M(test_from_nothing),          M(test_deleted_under_its_leader),
      D(test_renewal_and_hand_over), D(test_take_over_from_a_dead_leader),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
