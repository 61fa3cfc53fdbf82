/* `s3lect status`, from end to end: what it prints and how it exits.
 *
 * ctest labels: no-valgrind. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

static const char* const json[] = {"--json", NULL};

/* A text with the protocol's word for the object between. Valid until the next call. */
static const char* says(const char* before, const char* behind) {
  static char text[128];
  snprintf(text, sizeof text, "%s%s%s", before, s3proc_what(), behind);
  return text;
}

static void no_lockfile(void** state) {
  char line[2048];
  assert_int_equal(s3proc_status(&s3, NULL, line), 3);
  assert_string_equal(line, says("no leader: there is no ", ""));
  assert_int_equal(s3proc_status(&s3, json, line), 3);
  assert_string_equal(line, "{\"state\":\"absent\",\"leader\":\"\"}");
}

static void a_leader(void** state) {
  char line[2048];
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--addr", "10.0.0.1:80", NULL});
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, "started_leading"), "epoch");
  proc_t* status = s3proc_s3lect(&s3, "status", NULL, NULL);
  char expected[64];
  snprintf(expected, sizeof expected, "epoch    %lld", (long long)epoch);
  proc_line(status, PROC_OUT, "leader   a");
  proc_line(status, PROC_OUT, "address  10.0.0.1:80");
  proc_line(status, PROC_OUT, expected);
  proc_line(status, PROC_OUT, "since    20");
  proc_line(status, PROC_OUT, "renewed  ");
  assert_int_equal(proc_wait(status), 0);
  assert_int_equal(s3proc_status(&s3, json, line), 0);
  assert_string_equal(proc_json_string(line, "state"), "led");
  assert_string_equal(proc_json_string(line, "leader"), "a");
  assert_string_equal(proc_json_string(line, "address"), "10.0.0.1:80");
  assert_int_equal(proc_json_i64(line, "epoch"), epoch);
  assert_int_equal(proc_json_i64(line, "leader_timeout_ms"), S3PROC_T_MS);
  assert_int_equal(proc_json_i64(line, "transitions"), 1);
  assert_true(proc_json_i64(line, "age_ms") >= 0);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(s3proc_status(&s3, NULL, line), 3);
  const char* released = says("no leader: a released the ", " ");
  assert_memory_equal(line, released, strlen(released));
  assert_int_equal(s3proc_status(&s3, json, line), 3);
  assert_string_equal(proc_json_string(line, "state"), "released");
  assert_string_equal(proc_json_string(line, "leader"), "");
  assert_string_equal(proc_json_string(line, "last_leader"), "a");
}

/* A record without a timeout of its own is judged by --leader-timeout, and by the store's clock:
 * its lastUpdated, long past, does not count. An epoch file has one. */
static void an_old_record(void** state) {
  char line[2048];
#define GO "{\"leaderID\":\"go\",\"leaderAddr\":\"\",\"lastUpdated\":\"2001-01-01T00:00:00Z\""
  s3proc_put(&s3, GO ",\"validity_ms\":3600000}");
  const char* const strict[] = {"--leader-timeout", "1ms", NULL};
  const char* const lax[] = {"--leader-timeout=1h", NULL};
  assert_int_equal(s3proc_status(&s3, s3l_test_epochs() ? strict : lax, line), 0);
  assert_string_equal(line, "leader   go");
  s3proc_put(&s3, GO ",\"validity_ms\":1}");
#undef GO
  while (s3proc_status(&s3, s3l_test_epochs() ? lax : strict, line) == 0)
    continue;
  const char* late = says("no leader: go has not renewed the ", " for ");
  assert_memory_equal(line, late, strlen(late));
  assert_int_equal(s3proc_status(&s3, lax, line), s3l_test_epochs() ? 3 : 0);
}

/* The first candidate claims, and does not lead before its claim has stood for a leader timeout. */
static void a_claim(void** state) {
  char line[2048];
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--leader-timeout", "1h", NULL});
  proc_t* b = s3proc_s3lect(&s3, "watch", NULL, NULL);
  const char* event = proc_line(a, PROC_OUT, "\"event\":\"claiming\"");
  assert_string_equal(proc_json_string(event, "leader"), "");
  assert_int_equal(s3proc_status(&s3, NULL, line), 3);
  const char* claimed = says("no leader: a claimed the ", " ");
  assert_memory_equal(line, claimed, strlen(claimed));
  assert_int_equal(s3proc_status(&s3, json, line), 3);
  assert_string_equal(proc_json_string(line, "state"), "claiming");
  assert_string_equal(proc_json_string(line, "leader"), "");
  assert_string_equal(proc_json_string(line, "last_leader"), "a");
  assert_int_equal(proc_json_i64(line, "transitions"), 0);
  assert_string_equal(proc_json_string(proc_line(b, PROC_OUT, ""), "event"), "no_leader");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(proc_end(b, SIGTERM), 0);
  assert_null(proc_try_line(b, PROC_OUT, "new_leader", true));
}

static void what_is_no_record(void** state) {
  static const char* const bad[] = {"",   "not JSON",         "{\"leaderID\":\"a\"",
                                    "[]", "{\"leaderID\":7}", "<html>502 Bad Gateway</html>"};
  char line[2048];
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    s3proc_put(&s3, bad[i]);
    assert_int_equal(s3proc_status(&s3, NULL, line), 1);
    assert_string_equal(line, "s3lect status: cannot read s3://test/lock.json: the lockfile does "
                              "not hold a valid record");
  }
}

static void a_name_cannot_drive_the_terminal(void** state) {
  char line[2048];
  s3proc_put(&s3, "{\"leaderID\":\"a\\u001b[2J\",\"leaderAddr\":\"\","
                  "\"lastUpdated\":\"2024-01-01T00:00:00Z\",\"validity_ms\":1}");
  assert_int_equal(s3proc_status(&s3, NULL, line), 0);
  assert_string_equal(line, "leader   a?[2J");
}

static void a_store_that_cannot_be_read(void** state) {
  char line[2048];
  proc_signal(s3.fake, SIGSTOP);
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--request-timeout", "200ms", NULL}, line),
                   1);
  assert_memory_equal(line, "s3lect status: cannot read s3://test/lock.json: ", 48);
  assert_non_null(strstr(line, "timed out"));
  proc_signal(s3.fake, SIGKILL);
  proc_wait(s3.fake);
  assert_int_equal(s3proc_status(&s3, NULL, line), 1);
  const char* refused = strstr(line, "connection refused");
  assert_non_null(refused);
  assert_null(strstr(refused + 1, "connection refused")); /* said once */
}

static void a_bucket_that_is_not_there(void** state) {
  char line[2048];
  s3proc_begin(&s3, S3L_BUILD_DIR, "other");
  assert_int_equal(s3proc_status(&s3, NULL, line), 1);
  assert_non_null(strstr(line, "the bucket does not exist"));
  s3proc_end(&s3);
}

/* Neither says that there is no lockfile. */
static void a_404_about_something_else(void** state) {
  static const char* const rules[] = {
      "{\"status\":404,\"html\":\"default backend - 404\"}",
      "{\"status\":404,\"code\":\"XAdminUserNotFound\"}",
  };
  for (size_t i = 0; i < 2; i++) {
    char line[2048];
    s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
    s3proc_fault(&s3, rules[i]);
    assert_int_equal(s3proc_status(&s3, NULL, line), 1);
    assert_non_null(strstr(line, i == 0 ? "says nothing about the object" : "this access key"));
    s3proc_end(&s3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_empty, end)
      T(no_lockfile),
      T(a_leader),
      T(a_claim),
      T(an_old_record),
      T(what_is_no_record),
      T(a_name_cannot_drive_the_terminal),
      T(a_store_that_cannot_be_read),
      cmocka_unit_test(a_bucket_that_is_not_there),
      cmocka_unit_test(a_404_about_something_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
