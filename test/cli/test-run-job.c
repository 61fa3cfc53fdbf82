/* `s3lect run` for a job that cron starts on every machine: --try, --within, --conflict-exit,
 * --once, --min-hold and --quiet.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/runproc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

#define TURNS "while :; do sleep 0.01; done"
#define READY "trap 'exit 0' TERM; echo ready; " TURNS

/* s3lect run with more options (up to NULL), and a shell script in the scratch folder. */
static proc_t* run(const char* id, const char* const* options, const char* script) {
  static char text[2048], events[256];
  const char* more[24] = {"--events", events};
  size_t n = 2;
  snprintf(text, sizeof text, "cd %s; %s", s3.dir, script);
  snprintf(events, sizeof events, "%s/events-%s", s3.dir, id);
  while (*options != NULL)
    more[n++] = *options++;
  more[n++] = "--";
  more[n++] = "/bin/sh";
  more[n++] = "-c";
  more[n++] = text;
  return s3proc_s3lect(&s3, "run", id, more);
}

#define RUN(id, script, ...) run(id, (const char*[]){__VA_ARGS__, NULL}, script)

static void assert_silent(proc_t* proc, proc_stream_t stream) {
  proc_rewind(proc, stream);
  assert_null(proc_try_line(proc, stream, "", true));
}

/* The time of an event of that kind, and of that leader's events. */
static int64_t event_at(const char* id, const char* kind) {
  char name[64], line[1024], text[64];
  snprintf(name, sizeof name, "events-%s", id);
  snprintf(text, sizeof text, "\"event\":\"%s\"", kind);
  const char* found = strstr(s3proc_text(&s3, name), text);
  assert_non_null(found);
  snprintf(line, sizeof line, "{%.*s", (int)strcspn(found, "\n"), found);
  return proc_json_i64(line, "lease_ns");
}

static void who_does_not_lead_gives_up(void** state) {
  proc_t* a = RUN("a", READY, "--try");
  proc_line(a, PROC_OUT, "ready");
  proc_t* b = RUN("b", "echo ran", "--try");
  proc_line(b, PROC_ERR, "s3lect run: --try: a leads, giving up");
  assert_int_equal(proc_wait(b), 75);
  assert_silent(b, PROC_OUT);
  b = RUN("b", "echo ran", "--try", "--conflict-exit", "0", "--quiet");
  assert_int_equal(proc_wait(b), 0);
  assert_silent(b, PROC_OUT);
  assert_silent(b, PROC_ERR);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void who_leads_runs_the_command(void** state) {
  proc_t* a = RUN("a", "exit 7", "--try", "--once", "--quiet");
  assert_int_equal(proc_wait(a), 7);
  assert_silent(a, PROC_ERR);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3); /* released */
}

static void an_empty_store_is_no_conflict(void** state) {
  proc_t* a = RUN("a", "exit 7", "--try", "--within", "1ms");
  proc_line(a, PROC_ERR, "no current leader found");
  assert_int_equal(proc_wait(a), 7);
}

static void waits_within(void** state) {
  proc_t* a = RUN("a", READY, "--try");
  proc_line(a, PROC_OUT, "ready");
  proc_t* b = RUN("b", "exit 8", "--try", "--within", "1h");
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(proc_wait(b), 8);
}

/* A record of a leader that no process is. */
static void put_record(const char* time, int number, int timeout_ms) {
  char body[320];
  snprintf(body, sizeof body,
           "{\"leaderID\":\"other\",\"leaderAddr\":\"\",\"lastUpdated\":\"%s\",\"epoch\":1000,"
           "\"write\":%d,\"leaderTimeoutMs\":%d,\"validity_ms\":%d,\"expired\":false}",
           time, number, timeout_ms, timeout_ms);
  s3proc_put(&s3, body);
}

/* The record of a leader that is gone is no conflict, or no attempt would ever lead again: neither
 * an old one, nor one from the future, when a wall clock was wrong. */
static void a_dead_leader_is_replaced(void** state) {
  put_record("2001-01-01T00:00:00Z", 1, S3PROC_T_MS);
  proc_t* a = RUN("a", "exit 7", "--try");
  assert_int_equal(proc_wait(a), 7);
}

static void a_dead_leader_of_the_future_is_replaced(void** state) {
  put_record("2099-01-01T00:00:00Z", 1, S3PROC_T_MS);
  proc_t* a = RUN("a", "exit 7", "--try");
  assert_int_equal(proc_wait(a), 7);
}

/* A leader whose wall clock is wrong is recognised by its renewals. */
static void a_leader_with_another_clock_is_alive(void** state) {
  put_record("2001-01-01T00:00:00Z", 1, 3600000);
  proc_t* a = RUN("a", "echo ran", "--try");
  proc_line(a, PROC_ERR, "s3lect run: other leads");
  put_record("2001-01-01T00:00:01Z", 2, 3600000);
  assert_int_equal(proc_wait(a), 75);
}

/* Not the status of a conflict: cron shall mail it. */
static void a_store_that_cannot_be_read_is_an_error(void** state) {
  proc_t* a = RUN("a", "echo ran", "--try", "--quiet", "--endpoint", "http://127.0.0.1:1");
  proc_line(a, PROC_ERR, "s3lect run: --try: the store cannot be used, giving up: ECONNREFUSED: ");
  assert_int_equal(proc_wait(a), 1);
  assert_silent(a, PROC_OUT);
  a = RUN("a", "echo ran", "--try", "--within", "500ms", "--endpoint", "http://127.0.0.1:1");
  assert_int_equal(proc_wait(a), 1);
  s3proc_fault(&s3, "{\"status\":403,\"code\":\"AccessDenied\"}");
  a = RUN("a", "echo ran", "--try", "--conflict-exit", "0");
  assert_int_equal(proc_wait(a), 1);
  proc_rewind(a, PROC_ERR);
  proc_line(a, PROC_ERR, "giving up: EDENIED");
}

static void a_signal_ends_an_attempt(void** state) {
  proc_t* a = RUN("a", READY, "--try");
  proc_line(a, PROC_OUT, "ready");
  proc_t* b = RUN("b", "echo ran", "--try", "--within", "1h");
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  assert_int_equal(proc_end(b, SIGTERM), 128 + SIGTERM);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void once_is_once(void** state) {
  proc_t* a = RUN("a", "trap 'exit 0' TERM; echo x >>ran; echo ready; " TURNS, "--once", "--quiet");
  proc_line(a, PROC_OUT, "ready");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "s3lect run: leadership ended before /bin/sh did");
  proc_signal(s3.fake, SIGCONT);
  assert_int_equal(proc_wait(a), 124);
  assert_string_equal(s3proc_text(&s3, "ran"), "x\n");
}

static void holds_after_the_command(void** state) {
  proc_t* a = RUN("a", "exit 7", "--try", "--once", "--min-hold", "3s");
  proc_line(a, PROC_ERR, "s3lect run: leading on until --min-hold is over");
  proc_t* b = RUN("b", "echo ran", "--try");
  assert_int_equal(proc_wait(b), 75);
  assert_int_equal(proc_wait(a), 7);
  assert_true(event_at("a", "stopped_leading") - event_at("a", "started_leading") >=
              INT64_C(3000000000));
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3); /* released */
}

/* All attempts wait for the same claim or record to be over; those that did not win must see the
 * winner while it holds, although its command takes no time. */
static void one_of_many(void) {
  static const char* const ids[] = {"a", "b", "c", "d", "e", "f"};
  enum { MANY = sizeof ids / sizeof ids[0] };
  proc_t* all[MANY];
  int ran = 0;
  for (int i = 0; i < MANY; i++)
    all[i] = RUN(ids[i], "echo x >>ran", "--try", "--once", "--min-hold", "3s", "--infrequent",
                 "2500ms");
  for (int i = 0; i < MANY; i++) {
    int status = proc_wait(all[i]);
    assert_true(status == 0 || status == 75);
    ran += status == 0;
  }
  assert_int_equal(ran, 1);
  assert_string_equal(s3proc_text(&s3, "ran"), "x\n");
}

static void one_of_many_runs_first(void** state) {
  one_of_many();
}

static void one_of_many_runs_after_a_crash(void** state) {
  put_record("2001-01-01T00:00:00Z", 1, S3PROC_T_MS);
  one_of_many();
}

/* A signal ends the hold, but nobody else leads at once for it. */
static void a_held_record_is_not_released_early(void** state) {
  proc_t* a = RUN("a", "exit 7", "--min-hold", "1h");
  proc_line(a, PROC_ERR, "leading on");
  assert_int_equal(proc_end(a, SIGTERM), 7);
  char line[2048];
  assert_int_equal(s3proc_status(&s3, NULL, line), 0);
  assert_string_equal(line, "leader   a");
}

/* The same where the signal ends the command. */
static void an_ended_command_does_not_release_early(void** state) {
  proc_t* a = RUN("a", READY, "--min-hold", "1h");
  proc_line(a, PROC_OUT, "ready");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 0);
}

static void a_hold_ends_with_leadership(void** state) {
  proc_t* a = RUN("a", "exit 7", "--min-hold", "1h");
  proc_line(a, PROC_ERR, "leading on");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "s3lect run: leadership ended (expired)");
  proc_signal(s3.fake, SIGCONT);
  assert_int_equal(proc_wait(a), 7);
}

/* Nothing has run, so there is nothing to hold for. */
static void what_cannot_be_run_is_not_held_for(void** state) {
  proc_t* a = s3proc_s3lect(&s3, "run", "a",
                            (const char*[]){"--min-hold", "1h", "--", "no-such-program", NULL});
  assert_int_equal(proc_wait(a), 127);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
  static const struct CMUnitTest validity[] = {
      T(who_does_not_lead_gives_up),
      T(who_leads_runs_the_command),
      cmocka_unit_test_setup_teardown(an_empty_store_is_no_conflict, begin_empty, end),
      cmocka_unit_test_setup_teardown(a_dead_leader_is_replaced, begin_empty, end),
      cmocka_unit_test_setup_teardown(a_dead_leader_of_the_future_is_replaced, begin_empty, end),
      cmocka_unit_test_setup_teardown(a_leader_with_another_clock_is_alive, begin_empty, end),
      T(once_is_once),
      T(holds_after_the_command),
      cmocka_unit_test_setup_teardown(one_of_many_runs_first, begin_empty, end),
      cmocka_unit_test_setup_teardown(one_of_many_runs_after_a_crash, begin_empty, end),
      T(a_held_record_is_not_released_early),
      T(a_hold_ends_with_leadership),
  };
  static const struct CMUnitTest either[] = {
      T(waits_within),
      T(a_store_that_cannot_be_read_is_an_error),
      T(a_signal_ends_an_attempt),
      T(an_ended_command_does_not_release_early),
      T(what_cannot_be_run_is_not_held_for),
  };
  int failed = cmocka_run_group_tests(validity, NULL, NULL);
  return s3l_test_epochs() ? failed : failed + cmocka_run_group_tests(either, NULL, NULL);
}
