/* The command on a directory bucket (S3 Express One Zone) of a fake S3: verify, status, an election
 * of three processes through ends of sessions, a kill and a hand-over, and what is refused.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fakes3/fakes3.h"
#include "lib/proc.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"
#define BUCKET  "s3://locks--usw2-az1--x-s3/"
#define STARTED "\"event\":\"started_leading\""

static procs_t procs;
static fakes3_t* server;

static int begin(void** state) {
  const fakes3_options_t options = {.session_ms = 4000};
  char why[200] = "";
  procs_begin(&procs);
  if (fakes3_start(&procs.loop, &options, &server, why, sizeof why) != 0)
    fail_msg("%s", why);
  return 0;
}

static int end(void** state) {
  fakes3_stop(server, NULL, NULL);
  procs_end(&procs);
  return 0;
}

static proc_t* s3lect(const char* command, const char* store, const char* const* more) {
  static const char* const env[] = {"AWS_ACCESS_KEY_ID=" FAKES3_ACCESS_KEY,
                                    "AWS_SECRET_ACCESS_KEY=" FAKES3_SECRET_KEY, NULL};
  const char* argv[20] = {PROGRAM, command, "--store", store, "--endpoint", fakes3_url(server)};
  for (size_t n = 6; more != NULL && *more != NULL; n++)
    argv[n] = *more++;
  return proc_spawn(&procs, argv, env);
}

static proc_t* elect(const char* id) {
  return s3lect("elect", BUCKET "db",
                (const char*[]){"--id", id, "--leader-timeout", "2s", "--frequent", "500ms",
                                "--infrequent", "500ms", NULL});
}

static void verify_says_lockfile(void** state) {
  proc_t* p = s3lect("verify", BUCKET "db", NULL);
  assert_non_null(strstr(proc_line(p, PROC_OUT, "equal-bodies"), "different ETags"));
  assert_non_null(strstr(proc_line(p, PROC_OUT, "list"), "the store cannot list objects"));
  assert_string_equal(proc_line(p, PROC_OUT, "lockfile"), "lockfile  safe (30 races of writers)");
  proc_line(p, PROC_OUT, "use       --protocol lockfile");
  assert_int_equal(proc_wait(p), 0);
}

/* Each condition is taken away, and found out. */
static void verify_finds_lies(void** state) {
  static const char* const lies[] = {"\"ignore_conditions\":true", "\"constant_etag\":true",
                                     "\"non_atomic\":20", "\"stale_reads\":500"};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    char json[128];
    snprintf(json, sizeof json, "{\"match\":{\"bucket\":\"locks--usw2-az1--x-s3\"},%s}", lies[i]);
    int rule = fakes3_fault(server, json, NULL, 0);
    assert_true(rule > 0);
    proc_t* p = s3lect("verify", BUCKET "db", NULL);
    assert_non_null(strstr(proc_line(p, PROC_OUT, "lockfile  "), "unsafe"));
    assert_int_equal(proc_wait(p), 1);
    proc_forget(p);
    assert_true(fakes3_fault_clear(server, rule));
  }
}

static bool has_sessions(void* arg) {
  fakes3_counters_t c;
  fakes3_counters(server, &c);
  return c.sessions >= *(uint64_t*)arg;
}

static void three_elect_through_ends_of_sessions(void** state) {
  proc_t* a = elect("a");
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, STARTED), "epoch");
  proc_t* others[] = {elect("b"), elect("c")};
  for (size_t i = 0; i < 2; i++)
    proc_line(others[i], PROC_OUT, "\"event\":\"new_leader\"");
  uint64_t sessions = 9; /* each process has had three */
  procs_until(&procs, has_sessions, &sessions);
  proc_line(a, PROC_OUT, "\"event\":\"renewed\"");
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  proc_t* d = elect("d");
  proc_end(others[0], SIGTERM);
  proc_line(others[1], PROC_OUT, "\"event\":\"new_leader\"");
  proc_t* p = s3lect("status", BUCKET "db", NULL);
  int status = proc_wait(p); /* 0: somebody leads */
  assert_true(status == 0 || status == 2 || status == 3);
  proc_end(others[1], SIGTERM);
  assert_true(proc_json_i64(proc_line(d, PROC_OUT, STARTED), "epoch") > epoch);
  assert_int_equal(proc_end(d, SIGTERM), 0);
}

static void refuses_what_needs_listings(void** state) {
  proc_t* p = s3lect("elect", BUCKET "locks/", (const char*[]){"--protocol", "epochs", NULL});
  proc_line(p, PROC_ERR, "epoch files need a store that can list its objects");
  assert_int_equal(proc_wait(p), 2);
  p = s3lect("list", BUCKET "locks/", NULL);
  proc_line(p, PROC_ERR, "this store cannot list its objects");
  assert_int_equal(proc_wait(p), 1);
}

static void says_what_to_allow(void** state) {
  assert_true(fakes3_fault(server,
                           "{\"match\":{\"method\":\"SESSION\"},\"status\":403,"
                           "\"code\":\"AccessDenied\"}",
                           NULL, 0) > 0);
  proc_t* p = s3lect("status", BUCKET "db", NULL);
  proc_line(p, PROC_ERR, "allow s3express:CreateSession on the directory bucket");
  assert_int_equal(proc_wait(p), 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(verify_says_lockfile),
      TEST(verify_finds_lies),
      TEST(three_elect_through_ends_of_sessions),
      TEST(refuses_what_needs_listings),
      TEST(says_what_to_allow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
