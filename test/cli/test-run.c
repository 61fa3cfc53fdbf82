/* `s3lect run`, from end to end: the command runs only while its s3lect leads, and all of it is
 * gone before validity ends, whatever happens to the store or to s3lect. The scripts note the time
 * with /proc/uptime, which is CLOCK_BOOTTIME, one of the two clocks of the events.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/runproc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

static proc_t* run_family(void) {
  proc_t* a = runproc_run(&s3, "a", RUNPROC_FAMILY);
  s3proc_await_lines(&s3, "pids", 3);
  return a;
}

static void passes_on_environment_and_status(void** state) {
  proc_t* a = runproc_run(&s3, "a", "echo out $S3LECT_ID; echo err $S3LECT_EPOCH >&2; exit 42");
  proc_line(a, PROC_OUT, "out a");
  const char* line = proc_line(a, PROC_ERR, "err ");
  unsigned long epoch = strtoul(line + 4, NULL, 10);
  assert_true(epoch > 0);
  assert_int_equal(proc_wait(a), 42);
  char status[2048];
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--json", NULL}, status), 3);
  assert_string_equal(proc_json_string(status, "state"), "released");
  assert_int_equal(proc_json_i64(status, "epoch"), epoch);
}

static void a_signal_that_ends_the_command_shows(void** state) {
  proc_t* a = runproc_run(&s3, "a", "kill -SEGV $$");
  assert_int_equal(proc_wait(a), 128 + SIGSEGV);
}

/* Without a lockfile nobody knows whether there was one. */
static void says_why_it_waits(void** state) {
  proc_t* a = runproc_run(&s3, "a", "exit 5");
  proc_line(a, PROC_ERR,
            "s3lect run: no current leader found: waiting one leader timeout (2500 ms) ");
  proc_line(a, PROC_ERR, "s3lect run: leading with epoch ");
  assert_int_equal(proc_wait(a), 5);
  /* Behind a release nothing is to be waited for, or said. */
  proc_t* b = runproc_run(&s3, "b", "exit 6");
  assert_non_null(strstr(proc_line(b, PROC_ERR, ""), "s3lect run: leading with epoch "));
  assert_int_equal(proc_wait(b), 6);
}

static void says_what_cannot_be_run(void** state) {
  proc_t* a = s3proc_s3lect(&s3, "run", "a", (const char*[]){"--", "no-such-program", NULL});
  assert_non_null(strstr(proc_line(a, PROC_ERR, ""), "cannot run no-such-program: not found"));
  assert_int_equal(proc_wait(a), 127);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  a = s3proc_s3lect(&s3, "run", "a", (const char*[]){"/tmp", NULL});
  proc_line(a, PROC_ERR, "s3lect run: cannot run /tmp: Permission denied");
  assert_int_equal(proc_wait(a), 126);
}

static void sigterm_is_passed_on_and_waited_for(void** state) {
  /* The command looks who leads while it ends: it is its s3lect still. */
  char script[1024];
  snprintf(script, sizeof script,
           "trap 'AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest %s/src/s3lect status "
           "--store s3://test/lock.json --endpoint %s %s; exit 9' TERM; "
           "echo ready; while :; do sleep 0.01; done",
           S3L_BUILD_DIR, s3.url, s3proc_protocol_options());
  proc_t* a = runproc_run(&s3, "a", script);
  proc_line(a, PROC_OUT, "ready");
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_OUT, "leader   a");
  assert_int_equal(proc_wait(a), 9);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

static void a_deaf_command_is_killed(void** state) {
  proc_t* a = run_family();
  assert_int_equal(proc_end(a, SIGINT), 128 + SIGKILL);
  runproc_assert_all_gone(&s3, 3);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

static void a_second_signal_kills_the_command(void** state) {
  proc_t* a =
      runproc_run(&s3, "a", "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_OUT, "asked");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGKILL);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

static void the_command_is_warned(void** state) {
  const char* const options[] = {
      "--warn-before",
      "1500ms",
      "--warn-signal",
      "SIGUSR1",
      "--",
      "sh",
      "-c",
      "trap 'echo warned' USR1; trap 'echo asked; exit 3' TERM; echo ready; "
      "while :; do sleep 0.01; done",
      NULL};
  proc_t* a = s3proc_s3lect(&s3, "run", "a", options);
  proc_line(a, PROC_OUT, "ready");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_OUT, "warned");
  proc_line(a, PROC_ERR,
            "s3lect run: leadership could not be renewed yet, and ends in 1500 ms: "
            "sending SIGUSR1");
  proc_line(a, PROC_OUT, "asked");
  assert_null(proc_try_line(a, PROC_OUT, "warned", true)); /* once */
  proc_signal(s3.fake, SIGCONT);
  (void)proc_end(a, SIGTERM);
}

static void other_signals_are_passed_on(void** state) {
  static const struct {
    int signum;
    const char* name;
  } signals[] = {{SIGHUP, "HUP"}, {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};
  proc_t* a = runproc_run(&s3, "a",
                          "for s in HUP QUIT USR1 USR2; do trap \"echo got $s\" $s; done; "
                          "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    char expected[32];
    snprintf(expected, sizeof expected, "got %s", signals[i].name);
    proc_signal(a, signals[i].signum);
    proc_line(a, PROC_OUT, expected);
  }
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void a_follower_leaves_without_running_anything(void** state) {
  proc_t* a = runproc_run(&s3, "a", "echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  s3.procs.detached = true;
  proc_t* b = runproc_run(&s3, "b", "echo must not run");
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(b, SIGHUP); /* no terminal: nothing to reload, no reason to leave */
  proc_signal(b, SIGUSR1);
  /* what did not run is not done */
  assert_int_equal(proc_end(b, SIGTERM), 128 + SIGTERM);
  assert_null(proc_try_line(b, PROC_OUT, "must not run", false));
}

static void all_is_gone_in_time_when_the_store_is_silent(void** state) {
  proc_t* a = run_family();
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "waiting to lead again");
  runproc_assert_all_gone(&s3, 3);
  int64_t until = runproc_last_valid_until(&s3, "a");
  runproc_notes_t notes = runproc_notes(&s3);
  assert_true(notes.last_of_first_ns + RUNPROC_GRAIN_NS < until);
  /* A renewal that is confirmed in the margin after the SIGKILL would let the leadership go on.
   * After that there is a new epoch, and with it three more. */
  s3proc_await_text(&s3, "events-a", "\"event\":\"stopped_leading\"");
  proc_signal(s3.fake, SIGCONT);
  s3proc_await_lines(&s3, "pids", 6);
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGKILL);
  runproc_assert_all_gone(&s3, 6);
  notes = runproc_notes(&s3);
  assert_true(notes.last_epoch > notes.first_epoch);
}

static void who_heeds_sigterm_has_time_for_it(void** state) {
  proc_t* a = runproc_run(&s3, "a",
                          "trap 'echo asked; sleep 0.2; echo done; exit 0' TERM; echo ready; "
                          "while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_OUT, "asked");
  proc_line(a, PROC_OUT, "done");
  proc_line(a, PROC_ERR, "exited with status 0");
  proc_line(a, PROC_ERR, "waiting to lead again");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
  proc_signal(s3.fake, SIGCONT);
}

static void all_is_gone_when_s3lect_is_killed(void** state) {
  proc_t* a = run_family();
  proc_t* b = runproc_run(&s3, "b", RUNPROC_FAMILY);
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(a, SIGKILL);
  /* Its streams end only when the last process that holds them has. */
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  runproc_assert_all_gone(&s3, 3);
  s3proc_await_lines(&s3, "pids", 6);
  runproc_notes_t notes = runproc_notes(&s3);
  assert_true(notes.last_epoch > notes.first_epoch);
  assert_true(notes.last_of_first_ns < notes.first_of_last_ns);
}

static void all_is_gone_in_time_when_s3lect_is_stopped(void** state) {
  proc_t* a = run_family();
  proc_t* b = runproc_run(&s3, "b", RUNPROC_FAMILY);
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(a, SIGSTOP);
  s3proc_await_lines(&s3, "pids", 6); /* b leads */
  runproc_notes_t notes = runproc_notes(&s3);
  assert_true(notes.last_epoch > notes.first_epoch);
  assert_true(notes.last_of_first_ns + RUNPROC_GRAIN_NS < runproc_last_valid_until(&s3, "a"));
  assert_true(notes.last_of_first_ns < notes.first_of_last_ns);
  proc_signal(a, SIGCONT);
  proc_line(a, PROC_ERR, "waiting to lead again");
  proc_line(a, PROC_ERR, "s3lect run: b leads");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
}

/* The store comes back empty: its record is lost, and with it the leadership. */
static void all_is_gone_when_the_record_is_lost(void** state) {
  proc_t* a = run_family();
  s3proc_replace_fake(&s3);
  proc_line(a, PROC_ERR, "s3lect run: leadership ended (lost)");
  proc_line(a, PROC_ERR, "waiting to lead again");
  runproc_assert_all_gone(&s3, 3);
  runproc_notes_t notes = runproc_notes(&s3);
  assert_true(notes.last_of_first_ns + RUNPROC_GRAIN_NS < runproc_last_valid_until(&s3, "a"));
}

/* A store that no longer lists the epoch files ends the command, then s3lect. */
static void an_unsafe_store_ends_the_command_first(void** state) {
  if (!s3l_test_epochs())
    skip();
  proc_t* a =
      runproc_run(&s3, "a", "trap 'exit 9' TERM; echo $$ >>pids; while :; do sleep 0.01; done");
  s3proc_await_text(&s3, "events-a", "\"event\":\"renewed\"");
  s3proc_fault(&s3, "{\"empty_lists\":true}");
  proc_line(a, PROC_ERR, "/bin/sh exited with status 9");
  proc_line(a, PROC_ERR, "the store cannot hold an election: listings do not show");
  assert_int_equal(proc_wait(a), 1);
  runproc_assert_all_gone(&s3, 1);
}

/* What signals do is the same for both protocols; when validity ends is not. */
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
static const struct CMUnitTest validity[] = {
    T(passes_on_environment_and_status),
    cmocka_unit_test_setup_teardown(says_why_it_waits, begin_empty, end),
    T(sigterm_is_passed_on_and_waited_for),
    T(all_is_gone_in_time_when_the_store_is_silent),
    T(all_is_gone_when_s3lect_is_killed),
    T(all_is_gone_in_time_when_s3lect_is_stopped),
    T(all_is_gone_when_the_record_is_lost),
    T(an_unsafe_store_ends_the_command_first),
};
static const struct CMUnitTest either[] = {
    T(a_signal_that_ends_the_command_shows),
    T(says_what_cannot_be_run),
    T(a_deaf_command_is_killed),
    T(a_second_signal_kills_the_command),
    T(the_command_is_warned),
    T(other_signals_are_passed_on),
    T(a_follower_leaves_without_running_anything),
    T(who_heeds_sigterm_has_time_for_it),
};

int main(void) {
  int failed = cmocka_run_group_tests(validity, NULL, NULL);
  return s3l_test_epochs() ? failed : failed + cmocka_run_group_tests(either, NULL, NULL);
}
