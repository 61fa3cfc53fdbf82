/* `s3lect audit`: what it says of logs that are as they must be and of logs that are not, of the
 * logs of real elections, and of epoch files that have been kept.
 *
 * ctest labels: no-valgrind. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

/* Writes an event into a log of the scratch folder. `at` and `until` are ms of lease time; wall
 * time is that and `ahead`. */
static void event(const char* log, const char* id, const char* kind, int epoch, int at, int until,
                  int ahead) {
  FILE* file = fopen(s3proc_path(&s3, log), "ae");
  assert_non_null(file);
  fprintf(file,
          "{\"event\":\"%s\",\"id\":\"%s\",\"epoch\":%d,\"leader\":\"\",\"reason\":\"closed\","
          "\"boottime_ns\":1,\"lease_ns\":%d000000,\"valid_until_ns\":%d000000,"
          "\"time\":\"2026-01-01T00:00:%02d.%03dZ\"}\n",
          kind, id, epoch, at, until, (at + ahead) / 1000, (at + ahead) % 1000);
  assert_int_equal(fclose(file), 0);
}

static void leads(const char* log, const char* id, int epoch, int from, int until, int ahead) {
  event(log, id, "started_leading", epoch, from, from + 3000, ahead);
  event(log, id, "stopped_leading", epoch, until, until, ahead);
}

static void text(const char* log, const char* what) {
  FILE* file = fopen(s3proc_path(&s3, log), "ae");
  assert_non_null(file);
  assert_true(fputs(what, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* Audits the logs a and b of the scratch folder; gives the JSON, or what is said on stderr. */
static const char* audit(int status, const char* more, const char* value) {
  static char line[16384];
  char program[512], a[384], b[384];
  snprintf(program, sizeof program, "%s/src/s3lect", s3.build_dir);
  snprintf(a, sizeof a, "%s", s3proc_path(&s3, "a"));
  snprintf(b, sizeof b, "%s", s3proc_path(&s3, "b"));
  const char* argv[] = {program, "audit", "--json", a, b, more, value, NULL};
  proc_t* p = proc_spawn(&s3.procs, argv, NULL);
  if (proc_wait(p) != status)
    fail_msg("exit status %d: %s", proc_wait(p), proc_try_line(p, PROC_ERR, "", true));
  snprintf(line, sizeof line, "%s", proc_line(p, status == 2 ? PROC_ERR : PROC_OUT, ""));
  proc_forget(p);
  return line;
}

static void assert_counts(const char* json, int overlaps, int possible, int same, int fell) {
  assert_int_equal(proc_json_i64(json, "overlaps"), overlaps);
  assert_int_equal(proc_json_i64(json, "possible_overlaps"), possible);
  assert_int_equal(proc_json_i64(json, "same_epochs"), same);
  assert_int_equal(proc_json_i64(json, "epoch_fells"), fell);
}

static void all_is_well(void** state) {
  leads("a", "a", 7, 1000, 5000, 0);
  leads("b", "b", 8, 8000, 9000, 0);
  leads("a", "a", 9, 13000, 14000, 0);
  const char* json = audit(0, NULL, NULL);
  assert_counts(json, 0, 0, 0, 0);
  assert_int_equal(proc_json_i64(json, "wrong"), 0);
  assert_int_equal(proc_json_i64(json, "close"), 0);
  assert_non_null(strstr(json, "{\"id\":\"b\",\"epoch\":8,\"from\":\"2026-01-01T00:00:08.000Z\","
                               "\"until\":\"2026-01-01T00:00:09.000Z\","
                               "\"at_the_latest\":\"2026-01-01T00:00:09.000Z\","
                               "\"reason\":\"closed\"}"));
}

/* They lead together for 500 ms: more or less than what the clocks can hide. */
static void an_overlap(void** state) {
  leads("a", "a", 7, 1000, 5000, 0);
  leads("b", "b", 8, 4500, 6000, 0);
  assert_counts(audit(1, "--one-machine", NULL), 1, 0, 0, 0);
  assert_counts(audit(1, "--clock-error", "249ms"), 1, 0, 0, 0);
  assert_counts(audit(0, "--clock-error", "250ms"), 0, 1, 0, 0);
  assert_counts(audit(0, NULL, NULL), 0, 1, 0, 0);
}

/* Lease times of one machine are exact, whatever its wall clock did between. */
static void one_machine_is_exact(void** state) {
  leads("a", "a", 7, 1000, 5000, 0);
  leads("b", "b", 8, 5001, 6000, 10000);
  assert_counts(audit(0, "--one-machine", NULL), 0, 0, 0, 0);
  leads("b", "b", 9, 6000, 7000, 10000);
  leads("a", "a", 10, 6999, 8000, 0);
  assert_counts(audit(1, "--one-machine", NULL), 1, 0, 0, 0);
}

/* A hand-over of 100 ms: clocks that are wrong by 1 s could hide an overlap. */
static void a_close_hand_over(void** state) {
  leads("a", "a", 7, 1000, 5000, 0);
  leads("b", "b", 8, 5100, 6000, 0);
  const char* json = audit(0, NULL, NULL);
  assert_counts(json, 0, 0, 0, 0);
  assert_int_equal(proc_json_i64(json, "close"), 1);
  assert_int_equal(proc_json_i64(audit(0, "--one-machine", NULL), "close"), 0);
}

/* Until its last event a process led for certain, then possibly until its validity ended. */
static void an_end_that_nobody_logged(void** state) {
  event("a", "a", "started_leading", 7, 1000, 4000, 0);
  event("a", "a", "renewed", 7, 2000, 5000, 0);
  event("a", "a", "error", 7, 3000, 5000, 0);
  leads("b", "b", 8, 3500, 9000, 0);
  const char* json = audit(0, "--one-machine", NULL);
  assert_counts(json, 0, 1, 0, 0);
  assert_int_equal(proc_json_i64(json, "unlogged_ends"), 1);
  assert_int_equal(proc_json_i64(json, "unlogged_ends"), 1);
  leads("b", "b", 9, 12000, 13000, 0);
  event("a", "a", "started_leading", 10, 14000, 17000, 0);
  event("a", "a", "error", 10, 16000, 17000, 0);
  leads("b", "b", 11, 15500, 18000, 0);
  assert_counts(audit(1, "--one-machine", NULL), 1, 1, 0, 0);
}

static void epochs_that_do_not_grow(void** state) {
  leads("a", "a", 7, 1000, 2000, 0);
  leads("b", "b", 7, 10000, 11000, 0);
  assert_counts(audit(1, NULL, NULL), 0, 0, 1, 0);
  leads("a", "a", 6, 20000, 21000, 0);
  assert_counts(audit(1, NULL, NULL), 0, 0, 1, 1);
}

static void what_is_no_log(void** state) {
  assert_non_null(strstr(audit(2, NULL, NULL), "/a cannot be opened: No such file"));
  text("a", "");
  text("b", "\n");
  assert_non_null(strstr(audit(2, NULL, NULL), "there is no leadership in it"));
  leads("a", "a", 7, 1000, 2000, 0);
  text("b", "hello\n");
  assert_non_null(strstr(audit(2, NULL, NULL), "/b, line 2: no event of s3lect elect"));
  leads("b", "b", 8, 10000, 11000, 0);
  text("a", "{\"event\":\"new_leader\",\"leader\":\"a\",\"addr\":\"\",\"epoch\":7}\n");
  assert_non_null(strstr(audit(2, NULL, NULL), "/a, line 3: the event lacks id, "));
}

static void an_instant_that_cannot_be(void** state) {
  leads("b", "b", 8, 10000, 11000, 0);
  text("a", "{\"event\":\"started_leading\",\"id\":\"a\",\"epoch\":7,\"lease_ns\":1,"
            "\"valid_until_ns\":-9223372036854775808,\"time\":\"2026-11-23T00:00:00Z\"}\n");
  assert_non_null(strstr(audit(2, NULL, NULL), "/a, line 1: the event has a negative lease_ns"));
}

/* A crash may cut the last line. */
static void a_line_that_was_cut(void** state) {
  leads("a", "a", 7, 1000, 2000, 0);
  text("a", "{\"event\":\"started_lea");
  leads("b", "b", 8, 10000, 11000, 0);
  assert_counts(audit(0, NULL, NULL), 0, 0, 0, 0);
}

static void a_picture(void** state) {
  leads("a", "a<\\u001b[2J&", 7, 1000, 5000, 0);
  leads("b", "b", 8, 2000, 6000, 0);
  char svg[384];
  snprintf(svg, sizeof svg, "%s", s3proc_path(&s3, "svg"));
  assert_counts(audit(1, "--svg", svg), 1, 0, 0, 0);
  const char* picture = s3proc_text(&s3, "svg");
  assert_memory_equal(picture, "<svg ", 5);
  assert_non_null(strstr(picture, ">a&#60;?[2J&#38;</text>"));
  assert_non_null(strstr(picture, "fill=\"#d02020\""));
  assert_null(strchr(picture, '\x1b'));
  assert_non_null(strstr(picture, "</svg>\n"));
}

static proc_t* elect_into(const char* log, const char* id, const char* more) {
  char through[512];
  snprintf(through, sizeof through, "exec >>%s; exec \"$@\"", s3proc_path(&s3, log));
  s3.through = through;
  proc_t* p = s3proc_s3lect(&s3, "elect", id, (const char*[]){more, NULL});
  s3.through = NULL;
  return p;
}

static void logs_of_an_election(void** state) {
  proc_t* a = elect_into("a", "a", NULL);
  s3proc_await_text(&s3, "a", "started_leading");
  proc_t* b = elect_into("b", "b", NULL);
  s3proc_await_text(&s3, "b", "new_leader");
  proc_signal(a, SIGKILL);
  proc_wait(a);
  s3proc_await_text(&s3, "b", "started_leading");
  proc_t* c = elect_into("a", "c", NULL);
  s3proc_await_text(&s3, "a", "\"id\":\"c\"");
  assert_int_equal(proc_end(b, SIGTERM), 0);
  s3proc_await_text(&s3, "a", "\"event\":\"started_leading\",\"id\":\"c\"");
  assert_int_equal(proc_end(c, SIGTERM), 0);
  const char* json = audit(0, "--one-machine", NULL);
  assert_counts(json, 0, 0, 0, 0);
  assert_int_equal(proc_json_i64(json, "unlogged_ends"), 1);
  assert_int_equal(proc_json_i64(json, "unlogged_ends"), 1);
  assert_non_null(strstr(json, "{\"id\":\"c\",\"epoch\":"));
  assert_int_equal(proc_json_i64(audit(0, NULL, NULL), "overlaps"), 0);
}

static void files_that_were_kept(void** state) {
  if (!s3l_test_epochs())
    return;
  for (int i = 0; i < 3; i++) {
    char id[2] = {(char)('a' + i), '\0'};
    proc_t* p = s3proc_s3lect(&s3, "elect", id, (const char*[]){"--keep-epochs", NULL});
    proc_line(p, PROC_OUT, "started_leading");
    assert_int_equal(proc_end(p, SIGTERM), 0);
  }
  proc_t* p = s3proc_s3lect(&s3, "audit", NULL, (const char*[]){"--json", NULL});
  const char* json = proc_line(p, PROC_OUT, "");
  assert_counts(json, 0, 0, 0, 0);
  assert_non_null(strstr(json, "{\"id\":\"x\",\"epoch\":1000,"));
  assert_non_null(strstr(json, "{\"id\":\"c\",\"epoch\":1003,"));
  assert_int_equal(proc_wait(p), 0);
}

static int begin_versioned(void** state) {
  s3proc_begin_versioned(&s3, S3L_BUILD_DIR);
  return 0;
}

/* Puts a version of the lockfile. */
static void version(const char* id, int epoch, bool released) {
  char body[512];
  snprintf(body, sizeof body,
           "{\"leaderID\":\"%s\",\"leaderAddr\":\"\",\"lastUpdated\":\"%s\",\"epoch\":%d,"
           "\"incarnation\":\"%032d\",\"leaderTimeoutMs\":4000}",
           id, released ? "0001-01-01T00:00:00Z" : "2026-01-01T00:00:00Z", epoch, epoch);
  s3proc_put(&s3, body);
}

/* Audits the lockfile's versions. */
static const char* audit_versions(int status, const char* more) {
  static char line[65536];
  proc_t* p = s3proc_s3lect(&s3, "audit", NULL, (const char*[]){"--json", more, NULL});
  assert_int_equal(proc_wait(p), status);
  snprintf(line, sizeof line, "%s", proc_line(p, status == 2 ? PROC_ERR : PROC_OUT, ""));
  proc_forget(p);
  return line;
}

static void versions_of_an_election(void** state) {
  if (s3l_test_epochs())
    return;
  s3proc_seed(&s3);
  for (int i = 0; i < 3; i++) {
    char id[2] = {(char)('a' + i), '\0'};
    proc_t* p = s3proc_s3lect(&s3, "elect", id, NULL);
    proc_line(p, PROC_OUT, "renewed");
    assert_int_equal(proc_end(p, SIGTERM), 0);
  }
  const char* json = audit_versions(0, NULL);
  assert_counts(json, 0, 0, 0, 0);
  assert_non_null(strstr(json, "{\"id\":\"a\",\"epoch\":1001,"));
  assert_non_null(strstr(json, "{\"id\":\"c\",\"epoch\":1003,"));
  json = audit_versions(0, "--last=2");
  assert_null(strstr(json, "{\"id\":\"b\","));
  assert_non_null(strstr(json, "{\"id\":\"c\",\"epoch\":1003,"));
}

/* A store that lets a deposed leader write again, whatever its clock shows. */
static void versions_that_are_wrong(void** state) {
  if (s3l_test_epochs())
    return;
  version("a", 7, false);
  version("b", 8, true);
  assert_counts(audit_versions(0, NULL), 0, 0, 0, 0); /* too soon by less than can be told */
  version("a", 7, false);
  const char* json = audit_versions(1, NULL);
  assert_int_equal(proc_json_i64(json, "wrong"), 1);
  assert_int_equal(proc_json_i64(json, "epoch_fells"), 1);
  assert_int_equal(proc_json_i64(json, "same_epochs"), 1);
}

static void no_versions(void** state) {
  if (s3l_test_epochs())
    return;
  s3proc_seed(&s3);
  proc_t* p = s3proc_s3lect(&s3, "audit", NULL, NULL);
  assert_int_equal(proc_wait(p), 1);
  proc_line(p, PROC_ERR, "s3lect audit: cannot read s3://test/lock.json: ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_file, end)
#define V(f) cmocka_unit_test_setup_teardown(f, begin_versioned, end)
#define S(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
      T(all_is_well),
      T(an_overlap),
      T(one_machine_is_exact),
      T(a_close_hand_over),
      T(an_end_that_nobody_logged),
      T(epochs_that_do_not_grow),
      T(what_is_no_log),
      T(an_instant_that_cannot_be),
      T(a_line_that_was_cut),
      T(a_picture),
      S(logs_of_an_election),
      S(files_that_were_kept),
      V(versions_of_an_election),
      V(versions_that_are_wrong),
      S(no_versions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
