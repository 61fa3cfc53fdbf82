/* The election on a real store: the one that AWS_ENDPOINT_URL_S3, the AWS_* keys and
 * S3LECT_TEST_BUCKET name.
 *
 * ctest labels: store no-valgrind slow */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

static char key[128];

static int setup(void** state) {
  static s3l_election_t el;
  static unsigned n;
  snprintf(key, sizeof key, "s3lect-test/%lld-%u/lock", (long long)s3lect_now_ns(), n++);
  s3l_election_init(&el, NULL); /* its fake S3 is not used */
  s3l_wait_pace(S3L_PACE_REAL);
  el.key = key;
  el.s3.bucket = getenv("S3LECT_TEST_BUCKET");
  el.s3.endpoint = NULL;
  el.s3.access_key_id = NULL;
  el.s3.secret_access_key = NULL;
  s3l_election_begin(&el);
  *state = &el;
  return 0;
}

static void start(s3l_election_t* el, s3l_candidate_t* c, const char* id) {
  s3l_candidate_init(el, c, id);
  /* A real store may take its time. */
  c->o.leader_timeout_ms = 5000;
  c->o.renew_interval_ms = 500;
  c->o.request_timeout_ms = el->epochs ? 1500 : 3000;
  s3l_candidate_start(c);
}

/* From nothing: absence is observed, one creates the lockfile, renews, hands over. */
static void test_election_renewal_hand_over(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t a;
  s3l_candidate_t b;
  start(el, &a, "a");
  s3l_election_wait(el, &a.renewed, 3, "renewals");
  start(el, &b, "b");
  s3l_election_wait(el, &b.leaders, 1, "the follower to see the leader");
  assert_string_equal(b.leader, "a");
  s3l_candidate_close(&a);
  s3l_election_wait(el, &b.renewed, 2, "the next leader's renewals");
  assert_true(b.epoch > a.epoch);
  assert_int_equal(b.errors, 0);
  s3l_candidate_close(&b);
  s3l_election_delete(el);
  s3l_election_end(el);
}

/* Without a release: the follower waits the leader timeout out. */
static void test_take_over_from_a_dead_leader(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t a;
  s3l_candidate_t b;
  s3l_election_seed(el);
  s3l_candidate_init(el, &a, "a");
  a.o.leader_timeout_ms = 5000;
  a.o.request_timeout_ms = el->epochs ? 1000 : 3000;
  a.o.no_release = 1;
  s3l_candidate_start(&a);
  s3l_election_wait(el, &a.renewed, 1, "leadership");
  s3l_candidate_close(&a);
  start(el, &b, "b");
  s3l_election_wait(el, &b.started, 1, "the take-over");
  assert_true(b.epoch > a.epoch);
  /* The take-over came no sooner than the dead leader's validity ended. */
  assert_true(s3lect_now_ns() > a.valid_until_ns);
  s3l_candidate_close(&b);
  s3l_election_delete(el);
  s3l_election_end(el);
}

#define T(test) cmocka_unit_test_setup(test, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_election_renewal_hand_over),
      T(test_take_over_from_a_dead_leader),
  };
  if (getenv("S3LECT_TEST_BUCKET") == NULL || getenv("AWS_ACCESS_KEY_ID") == NULL) {
    puts("SKIPPED: no real store; set S3LECT_TEST_BUCKET, AWS_ENDPOINT_URL_S3 and the AWS keys");
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
