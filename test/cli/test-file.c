/* Elections in a file of this machine: for its processes, and no server at all.
 *
 * ctest labels: no-valgrind */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/protocol.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

/* s3lect run; its command notes who it is under which epoch, and stays. */
static proc_t* run(const char* id) {
  static char script[512];
  snprintf(script, sizeof script,
           "cd %s; echo $S3LECT_EPOCH $S3LECT_ID >>log; echo $$ >>pids; "
           "while :; do sleep 0.02; done",
           s3.dir);
  return s3proc_s3lect(&s3, "run", id, (const char*[]){"--", "/bin/sh", "-c", script, NULL});
}

/* status says once what is in the way. */
static void a_special_file_is_named_once(void** state) {
  char line[2048], says[4096];
  const char* name = s3l_test_epochs() ? "lock.jsonlock-0000000001.json" : "lock.json";
  const char* path = s3proc_path(&s3, name);
  assert_int_equal(mkfifo(path, 0600), 0);
  snprintf(says, sizeof says,
           "s3lect status: cannot read %s: %s: is a link or another special file, which the store "
           "does not use: remove it",
           s3.store, path);
  assert_int_equal(s3proc_status(&s3, NULL, line), 1);
  assert_string_equal(line, says);
}

static void one_takes_over_from_another_that_was_killed(void** state) {
  char line[2048], follower[8];
  unsigned long first = 0, second = 0;
  s3proc_seed(&s3);
  proc_t* a = run("a");
  s3proc_await_lines(&s3, "pids", 1);
  proc_t* b = run("b");
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  assert_int_equal(s3proc_status(&s3, NULL, line), 0);
  assert_string_equal(line, "leader   a");
  /* The record is a plain file, that anybody can look at. */
  const char* name = s3l_test_epochs() ? "lock.jsonlock-0000001001.json" : "lock.json";
  assert_non_null(strstr(s3proc_text(&s3, name), "\"leaderID\":\"a\""));
  assert_int_equal(sscanf(s3proc_text(&s3, "log"), "%lu a", &first), 1);
  assert_true(first > 1000);
  long pid = strtol(s3proc_text(&s3, "pids"), NULL, 10);
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  assert_int_equal(kill((pid_t)pid, 0), -1); /* its command went with it, before b's came */
  s3proc_await_lines(&s3, "log", 2);
  const char* log = strchr(s3proc_text(&s3, "log"), '\n') + 1;
  assert_int_equal(sscanf(log, "%lu %7s", &second, follower), 2);
  assert_string_equal(follower, "b");
  assert_true(second > first);
  assert_int_equal(proc_end(b, SIGTERM), 128 + SIGTERM);
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--json", NULL}, line), 3);
  assert_string_equal(proc_json_string(line, "state"), "released");
  assert_string_equal(proc_json_string(line, "last_leader"), "b");
}

static void a_file_is_good_for_an_election(void** state) {
  proc_t* verify = s3proc_s3lect(&s3, "verify", NULL, (const char*[]){"--quick", NULL});
  assert_string_equal(proc_line(verify, PROC_OUT, "lockfile"),
                      "lockfile  safe (6 races of writers)");
  assert_int_equal(proc_wait(verify), 0);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3); /* and has left no lockfile behind */
  s3proc_seed(&s3);
  proc_t* elect = s3proc_s3lect(&s3, "elect", "e", (const char*[]){"--verify-on-start", NULL});
  proc_line(elect, PROC_OUT, "\"event\":\"started_leading\"");
  assert_int_equal(proc_end(elect, SIGTERM), 0);
}

/* Those that only look need no permission to write. Root has none without its capabilities. */
static void a_directory_may_be_for_reading_only(void** state) {
  s3proc_seed(&s3);
  assert_int_equal(chmod(s3.dir, 0555), 0);
  s3.through = "[ $(id -u) != 0 ] || exec setpriv --bounding-set=-all \"$@\"; exec \"$@\"";
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  proc_t* watch = s3proc_s3lect(&s3, "watch", NULL, (const char*[]){NULL});
  proc_line(watch, PROC_OUT, "\"event\":\"no_leader\"");
  assert_int_equal(proc_end(watch, SIGTERM), 0);
  proc_t* elect = s3proc_s3lect(&s3, "elect", "e", (const char*[]){NULL});
  proc_line(elect, PROC_ERR, "cannot use the directory");
  assert_int_equal(proc_wait(elect), 2);
  s3.through = NULL;
  assert_int_equal(chmod(s3.dir, 0755), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_file, end)
      T(a_special_file_is_named_once),
      T(one_takes_over_from_another_that_was_killed),
      T(a_file_is_good_for_an_election),
      T(a_directory_may_be_for_reading_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
