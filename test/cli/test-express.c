/* The command on a directory bucket (S3 Express One Zone) of a fake S3: verify, status, an election
 * of three processes through ends of sessions, a kill and a hand-over, and what is refused.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>

#include "lib/cli_rig.h"
#include "lib/test.h"

#define BUCKET "locks--usw2-az1--x-s3"

static const cli_rig_store_t express = {
    .fake = {.session_ms = 4000},
    .url = "s3://" BUCKET "/",
    .bucket = BUCKET,
    .keys = CLI_RIG_AWS_KEYS,
    .timing = {"--leader-timeout=2s", "--frequent=500ms", "--infrequent=500ms"},
    .checks = {{"equal-bodies", "different ETags"}, {"list", "the store cannot list objects"}},
    .epochs = "epochs    unsafe",
};

static int begin(void** state) {
  return cli_rig_begin(&express, S3L_BUILD_DIR "/src/s3lect");
}

static bool has_sessions(void* arg) {
  fakes3_counters_t c;
  fakes3_counters(cli_rig.fake, &c);
  return c.sessions >= *(uint64_t*)arg;
}

static proc_t* elect(const char* id) {
  return cli_rig_elect(id, "db", NULL);
}

static void three_elect_through_ends_of_sessions(void** state) {
  proc_t* a = elect("a");
  int64_t epoch = cli_rig_next_epoch(a);
  proc_t* others[] = {elect("b"), elect("c")};
  for (size_t i = 0; i < 2; i++)
    proc_line(others[i], PROC_OUT, "\"event\":\"new_leader\"");
  uint64_t sessions = 9; /* each process has had three */
  procs_until(&cli_rig.procs, has_sessions, &sessions);
  proc_line(a, PROC_OUT, "\"event\":\"renewed\"");
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  proc_t* d = elect("d");
  proc_end(others[0], SIGTERM);
  proc_line(others[1], PROC_OUT, "\"event\":\"new_leader\"");
  int status = proc_wait(cli_rig_s3lect("status", "db", NULL)); /* 0: somebody leads */
  assert_true(status == 0 || status == 2 || status == 3);
  proc_end(others[1], SIGTERM);
  assert_true(cli_rig_next_epoch(d) > epoch);
  assert_int_equal(proc_end(d, SIGTERM), 0);
}

static void refuses_what_needs_listings(void** state) {
  cli_rig_fails(cli_rig_s3lect("elect", "locks/", (const char*[]){"--protocol", "epochs", NULL}), 2,
                "epoch files need a store that can list its objects");
  cli_rig_fails(cli_rig_s3lect("list", "locks/", NULL), 1, "this store cannot list its objects");
}

static void says_what_to_allow(void** state) {
  cli_rig_fault("{\"match\":{\"method\":\"SESSION\"},\"status\":403,\"code\":\"AccessDenied\"}");
  cli_rig_fails(cli_rig_s3lect("status", "db", NULL), 1,
                "allow s3express:CreateSession on the directory bucket");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_rig_end)
  const struct CMUnitTest tests[] = {
      TEST(cli_rig_verify_says_lockfile),
      TEST(cli_rig_verify_finds_lies),
      TEST(three_elect_through_ends_of_sessions),
      TEST(refuses_what_needs_listings),
      TEST(says_what_to_allow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
