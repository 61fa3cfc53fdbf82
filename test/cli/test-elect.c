/* `s3lect elect`, from end to end: the real command against a fake S3 in another process. What is
 * compared are the events' own times: lease time is one clock for all processes of a machine.

 *
 * ctest labels: no-valgrind slow. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/s3proc_case.h"
#include "lib/test.h"

#define STARTED "\"event\":\"started_leading\""
#define STOPPED "\"event\":\"stopped_leading\""
#define RENEWED "\"event\":\"renewed\""
#define NEW     "\"event\":\"new_leader\""
#define NONE    "\"event\":\"no_leader\""
#define ERROR   "\"event\":\"error\""

static proc_t* elect(const char* id) {
  return s3proc_s3lect(&s3, "elect", id, NULL);
}

/* The validity that the last line with any says was in force, from all that is there. */
static int64_t last_valid_until(proc_t* proc) {
  int64_t last = 0;
  proc_rewind(proc, PROC_OUT);
  for (const char* line; (line = proc_try_line(proc, PROC_OUT, "{", true)) != NULL;) {
    int64_t until = proc_json_i64(line, "valid_until_ns");
    if (strstr(line, STARTED) != NULL || strstr(line, RENEWED) != NULL)
      last = until;
  }
  assert_true(last > 0);
  return last;
}

static void one_candidate_leads_and_releases(void** state) {
  const int signals[] = {SIGTERM, SIGINT};
  int64_t epoch = 0;
  for (int i = 0; i < 2; i++) {
    proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--addr", "10.0.0.1:80", NULL});
    const char* line = proc_line(a, PROC_OUT, STARTED);
    assert_string_equal(proc_json_string(line, "id"), "a");
    assert_string_equal(proc_json_string(line, "leader"), "a");
    assert_true(proc_json_i64(line, "epoch") > epoch);
    epoch = proc_json_i64(line, "epoch");
    int64_t until = proc_json_i64(line, "valid_until_ns");
    assert_true(proc_json_i64(line, "lease_ns") < until);
    const char* time = proc_json_string(line, "time");
    assert_int_equal(strlen(time), strlen("2024-10-27T10:30:45.123Z"));
    line = proc_line(a, PROC_OUT, RENEWED);
    assert_int_equal(proc_json_i64(line, "epoch"), epoch);
    assert_true(proc_json_i64(line, "valid_until_ns") > until);
    proc_signal(a, signals[i]);
    line = proc_line(a, PROC_OUT, STOPPED);
    assert_string_equal(proc_json_string(line, "reason"), "closed");
    assert_true(proc_json_i64(line, "valid_until_ns") <= proc_json_i64(line, "lease_ns"));
    assert_int_equal(proc_wait(a), 0);
    assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  }
}

static void hands_over_at_sigterm(void** state) {
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--addr", "10.0.0.1:80", NULL});
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, STARTED), "epoch");
  proc_t* b = elect("b");
  const char* line = proc_line(b, PROC_OUT, NEW);
  assert_string_equal(proc_json_string(line, "leader"), "a");
  assert_string_equal(proc_json_string(line, "addr"), "10.0.0.1:80");
  proc_signal(a, SIGTERM);
  int64_t ended = proc_json_i64(proc_line(a, PROC_OUT, STOPPED), "valid_until_ns");
  line = proc_line(b, PROC_OUT, NONE);
  assert_string_equal(proc_json_string(line, "leader"), "");
  assert_int_equal(proc_json_i64(line, "epoch"), epoch);
  line = proc_line(b, PROC_OUT, STARTED);
  assert_true(proc_json_i64(line, "lease_ns") >= ended);
  assert_true(proc_json_i64(line, "epoch") > epoch);
  assert_int_equal(proc_wait(a), 0);
}

static void fails_over_after_sigkill(void** state) {
  proc_t* a = elect("a");
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, STARTED), "epoch");
  proc_t* b = elect("b");
  proc_line(b, PROC_OUT, NEW);
  proc_line(a, PROC_OUT, RENEWED);
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  const char* line = proc_line(b, PROC_OUT, STARTED);
  int64_t started = proc_json_i64(line, "lease_ns");
  int64_t legal = proc_json_i64(line, "legal_ns");
  assert_true(proc_json_i64(line, "epoch") > epoch);
  assert_true(started >= last_valid_until(a));
  /* It waited for what a had been promised to be over, and says until when. */
  assert_true(legal >= last_valid_until(a) && legal <= started);
}

/* A leader that is stopped past its validity says first thing that it leads no more. */
static void knows_that_it_slept(void** state) {
  proc_t* a = elect("a");
  proc_line(a, PROC_OUT, STARTED);
  proc_t* b = elect("b");
  proc_line(b, PROC_OUT, NEW);
  proc_signal(a, SIGSTOP);
  int64_t started = proc_json_i64(proc_line(b, PROC_OUT, STARTED), "lease_ns");
  /* All that a has printed was printed before; what comes now is new. */
  while (proc_try_line(a, PROC_OUT, "{", true) != NULL)
    continue;
  proc_signal(a, SIGCONT);
  const char* line = proc_line(a, PROC_OUT, "{");
  assert_non_null(strstr(line, STOPPED));
  assert_string_equal(proc_json_string(line, "reason"), "expired");
  assert_true(proc_json_i64(line, "valid_until_ns") <= started);
  assert_true(proc_json_i64(line, "lease_ns") > started);
  assert_string_equal(proc_json_string(proc_line(a, PROC_OUT, NEW), "leader"), "b");
}

static void warns_and_ends_early(void** state) {
  const char* const options[] = {"--warn-before", "1s", "--renew-deadline", "200ms", NULL};
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", options);
  const char* line = proc_line(a, PROC_OUT, RENEWED);
  int64_t left = proc_json_i64(line, "valid_until_ns") - proc_json_i64(line, "lease_ns");
  assert_true(left <= INT64_C(1000000) * (S3PROC_T_MS * 99 / 100 - 195));
  proc_signal(s3.fake, SIGSTOP);
  line = proc_line(a, PROC_OUT, "\"event\":\"expiring\"");
  int64_t until = proc_json_i64(line, "valid_until_ns");
  assert_true(proc_json_i64(line, "lease_ns") >= until - INT64_C(1005000000));
  line = proc_line(a, PROC_OUT, STOPPED);
  assert_string_equal(proc_json_string(line, "reason"), "expired");
  assert_true(proc_json_i64(line, "valid_until_ns") <= until);
  proc_signal(s3.fake, SIGCONT);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

/* The one of low priority waits for two steps, even where nobody else stands. */
static void goes_last(void** state) {
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--priority", "1", NULL});
  int64_t free_since = proc_json_i64(proc_line(a, PROC_OUT, NONE), "lease_ns");
  int64_t started = proc_json_i64(proc_line(a, PROC_OUT, STARTED), "lease_ns");
  assert_true(started - free_since >= 2 * INT64_C(100000000));
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void stops_itself_when_the_store_is_silent(void** state) {
  proc_t* a = elect("a");
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, STARTED), "epoch");
  proc_signal(s3.fake, SIGSTOP);
  const char* line = proc_line(a, PROC_OUT, STOPPED);
  assert_string_equal(proc_json_string(line, "reason"), "expired");
  int64_t ended = proc_json_i64(line, "valid_until_ns");
  assert_true(proc_json_i64(line, "lease_ns") >= ended);
  proc_signal(s3.fake, SIGCONT);
  line = proc_line(a, PROC_OUT, STARTED);
  assert_true(proc_json_i64(line, "epoch") > epoch);
  assert_true(proc_json_i64(line, "lease_ns") > ended);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void errors_are_events(void** state) {
  proc_t* a = elect("a");
  proc_line(a, PROC_OUT, STARTED);
  proc_signal(s3.fake, SIGKILL);
  const char* line = proc_line(a, PROC_OUT, ERROR);
  assert_true(strlen(proc_json_string(line, "error")) > 0);
  assert_true(strlen(proc_json_string(line, "message")) > 0);
  assert_string_equal(proc_json_string(proc_line(a, PROC_OUT, STOPPED), "reason"), "expired");
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void says_that_it_could_not_release(void** state) {
  proc_t* a = elect("a");
  proc_line(a, PROC_OUT, STARTED);
  proc_signal(s3.fake, SIGSTOP);
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_OUT, STOPPED);
  const char* line = proc_line(a, PROC_OUT, "\"ERELEASE\"");
  assert_string_equal(proc_json_string(line, "message"),
                      "not released: the store has not answered in time");
  assert_int_equal(proc_wait(a), 0);
  proc_signal(s3.fake, SIGCONT);
}

static void a_second_signal_does_not_wait(void** state) {
  proc_t* a = elect("a");
  proc_line(a, PROC_OUT, STARTED);
  proc_signal(s3.fake, SIGSTOP); /* the release has to wait */
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_OUT, STOPPED);
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
  proc_signal(s3.fake, SIGCONT);
}

/* A closed terminal ends it as SIGTERM does; under nohup nothing happens. */
static void sighup_releases_unless_ignored(void** state) {
  s3.through = "trap '' HUP; exec \"$@\"";
  proc_t* a = elect("a");
  proc_line(a, PROC_OUT, STARTED);
  proc_signal(a, SIGHUP);
  proc_line(a, PROC_OUT, RENEWED);
  proc_line(a, PROC_OUT, RENEWED);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  s3.through = NULL;
  a = elect("a");
  proc_line(a, PROC_OUT, STARTED);
  proc_signal(a, SIGHUP);
  assert_string_equal(proc_json_string(proc_line(a, PROC_OUT, STOPPED), "reason"), "closed");
  assert_int_equal(proc_wait(a), 0);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

static void releases_when_the_end_is_acknowledged(void** state) {
  char through[512], line[64];
  assert_int_equal(mkfifo(s3proc_path(&s3, "acks"), 0600), 0);
  int fd = open(s3proc_path(&s3, "acks"), O_RDWR | O_CLOEXEC);
  assert_true(fd >= 0);
  snprintf(through, sizeof through, "exec \"$@\" <%s", s3proc_path(&s3, "acks"));
  s3.through = through;
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--stop-ack", "60s", NULL});
  proc_line(a, PROC_OUT, STARTED);
  proc_signal(a, SIGTERM);
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, STOPPED), "epoch");
  /* Not what it waits for. */
  dprintf(fd, "x\n%" PRId64 "\n", epoch - 1);
  proc_line(a, PROC_ERR, "--stop-ack: a line on standard input is not an epoch");
  s3.through = NULL;
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 0);
  snprintf(line, sizeof line, "%" PRId64 "\n", epoch);
  assert_int_equal(write(fd, line, strlen(line)), strlen(line));
  assert_int_equal(proc_wait(a), 0);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  close(fd);
}

/* Not once only: the message must not race with the end of the process. */
static void says_why_it_cannot_read_acknowledgements(void** state) {
  char through[512];
  assert_int_equal(mkfifo(s3proc_path(&s3, "acks"), 0600), 0);
  int fd = open(s3proc_path(&s3, "acks"), O_RDWR | O_CLOEXEC);
  assert_true(fd >= 0);
  snprintf(through, sizeof through, "exec \"$@\" 0>%s", s3proc_path(&s3, "acks"));
  s3.through = through;
  for (int i = 0; i < 10; i++) {
    proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--stop-ack", "60s", NULL});
    proc_line(a, PROC_ERR, "--stop-ack: standard input cannot be read (socket is not connected)");
    assert_int_equal(proc_wait(a), 1);
    proc_forget(a);
  }
  s3.through = NULL;
  close(fd);
}

/* The other options of the library: what they do is the library's tests' matter. */
static void takes_what_the_library_takes(void** state) {
  const char* more[] = {"--grace",           "100ms", "--drift", "0.5%", "--no-release",
                        "--release-timeout", "500ms", NULL};
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", more);
  proc_line(a, PROC_OUT, STARTED);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 0); /* not released */
}

static void leaves_when_its_reader_has_gone(void** state) {
  char script[1024];
  snprintf(script, sizeof script,
           "{ AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest %s/src/s3lect elect --id a "
           "--store s3://test/lock.json --endpoint %s --leader-timeout 2500ms --renew 400ms "
           "--frequent 300ms %s; echo status $? >&2; } | head -n 1",
           S3L_BUILD_DIR, s3.url, s3proc_protocol_options());
  proc_t* shell = proc_spawn(&s3.procs, (const char*[]){"/bin/sh", "-c", script, NULL}, NULL);
  proc_line(shell, PROC_ERR, "s3lect elect: events cannot be written (broken pipe): leaving");
  proc_line(shell, PROC_ERR, "status 1");
  assert_int_equal(proc_wait(shell), 0);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

static void a_bucket_that_is_not_there_is_said_at_once(void** state) {
  s3proc_begin(&s3, S3L_BUILD_DIR, "other");
  proc_t* a = elect("a");
  proc_line(a, PROC_ERR,
            "s3lect elect: --store s3://test/lock.json: there is no bucket test there: check its "
            "name, --endpoint and --region");
  assert_int_equal(proc_wait(a), 2);
  s3proc_end(&s3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
      cmocka_unit_test_setup_teardown(one_candidate_leads_and_releases, begin_empty, end),
      T(hands_over_at_sigterm),
      T(fails_over_after_sigkill),
      T(knows_that_it_slept),
      T(goes_last),
      T(warns_and_ends_early),
      T(stops_itself_when_the_store_is_silent),
      T(errors_are_events),
      T(says_that_it_could_not_release),
      T(a_second_signal_does_not_wait),
      T(sighup_releases_unless_ignored),
      T(releases_when_the_end_is_acknowledged),
      T(says_why_it_cannot_read_acknowledgements),
      T(takes_what_the_library_takes),
      T(leaves_when_its_reader_has_gone),
      cmocka_unit_test(a_bucket_that_is_not_there_is_said_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
