/* `s3lect put` and `s3lect get`, from end to end.
 *
 * ctest labels: no-valgrind one-protocol */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/s3proc_case.h"
#include "lib/test.h"

/* Runs one of them, and gives its exit status; `line` is the first one of its output, or of its
 * messages if it failed. */
static int run(const char* command, const char* content, const char* const* more, char line[2048]) {
  char through[128];
  snprintf(through, sizeof through, "printf '%%b' '%s' | exec \"$@\"", content);
  s3.through = through;
  proc_t* proc = s3proc_s3lect(&s3, command, NULL, more);
  s3.through = NULL;
  int status = proc_wait(proc);
  const char* found = proc_try_line(proc, status == 0 ? PROC_OUT : PROC_ERR, "", true);
  snprintf(line, 2048, "%s", found != NULL ? found : "");
  proc_forget(proc);
  return status;
}

static int put(const char* epoch, const char* content) {
  char line[2048];
  return run("put", content, (const char*[]){"--epoch", epoch, NULL}, line);
}

static void assert_content(const char* content) {
  char line[2048];
  assert_int_equal(run("get", "", (const char*[]){NULL}, line), 0);
  assert_string_equal(line, content);
}

static void a_deposed_leader_is_refused(void** state) {
  (void)state;
  char line[2048];
  assert_int_equal(put("5", "first\n"), 0);
  assert_content("first");
  assert_int_equal(run("get", "", (const char*[]){"--epoch", "7", NULL}, line), 0);
  assert_string_equal(line, "first");
  assert_int_equal(run("put", "late\n", (const char*[]){"--epoch", "6", NULL}, line), 4);
  assert_string_equal(line, "s3lect put: refused: s3://test/lock.json is under epoch 7, and this "
                            "is epoch 6");
  assert_int_equal(run("get", "", (const char*[]){"--epoch", "6", NULL}, line), 4);
  assert_content("first");
  assert_int_equal(put("7", "second\n"), 0);
  assert_content("second");
}

/* The write of a leader that gave up waiting takes effect when its successor has written. */
static void a_write_on_its_way_is_refused(void** state) {
  (void)state;
  char line[2048];
  assert_int_equal(put("5", "first\n"), 0);
  s3proc_fault(&s3, "{\"match\":{\"header\":{\"name\":\"x-amz-meta-late\",\"value\":\"1\"}},"
                    "\"latency_ms\":1500}");
  const char* const late[] = {"--epoch",  "5",     "--header", "x-amz-meta-late: 1",
                              "--within", "300ms", NULL};
  assert_int_equal(run("put", "late\n", late, line), 1);
  assert_non_null(strstr(line, "; it may have been written all the same"));
  assert_int_equal(put("6", "second\n"), 0);
  /* The server carries this read out after that write. */
  s3proc_fault(&s3, "{\"match\":{\"method\":\"GET\"},\"latency_ms\":1500,\"count\":1}");
  assert_content("second");
}

static void lost_replies_are_resolved(void** state) {
  (void)state;
  s3proc_fault(&s3, "{\"match\":{\"method\":\"PUT\"},\"drop_after\":true,\"count\":1}");
  assert_int_equal(put("5", "content\n"), 0);
  assert_content("content");
}

static void what_run_gives_is_used(void** state) {
  (void)state;
  char line[2048], inner[512];
  snprintf(inner, sizeof inner,
           "echo \"by $S3LECT_EPOCH\" | %s/src/s3lect put --store s3://test/state --endpoint %s",
           s3.build_dir, s3.url);
  proc_t* leader =
      s3proc_s3lect(&s3, "run", "a", (const char*[]){"--", "/bin/sh", "-c", inner, NULL});
  assert_int_equal(proc_wait(leader), 0);
  assert_int_equal(run("get", "", (const char*[]){"--store", "s3://test/state", NULL}, line), 0);
  assert_memory_equal(line, "by 1", 4);
}

static void bad_input_is_named(void** state) {
  (void)state;
  static const struct {
    const char *command, *option, *value, *says;
    int status;
  } cases[] = {
      {"put", "--within", "1s", "s3lect put: no epoch: give --epoch N, or set S3LECT_EPOCH", 2},
      {"put", "--epoch", "0", "s3lect put: --epoch 0 is no epoch: ", 2},
      {"get", "--epoch", "-1", "s3lect get: --epoch -1 is no epoch: ", 2},
      {"get", "--epoch", "99999999999999999999", "s3lect get: --epoch 9999", 2},
      {"get", "--renew", "1s", "s3lect get: --renew is no option of this command", 2},
      {"get", "--within", "1", "s3lect get: --within 1 has no unit", 2},
      {"get", "--within", "5s", "s3lect get: there is no object s3://test/lock.json", 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char line[2048];
    const char* more[] = {cases[i].option, cases[i].value, NULL};
    assert_int_equal(run(cases[i].command, "x", more, line), cases[i].status);
    assert_memory_equal(line, cases[i].says, strlen(cases[i].says));
  }
}

static void a_lockfile_is_left_alone(void** state) {
  (void)state;
  char line[2048];
  s3proc_seed(&s3);
  assert_int_equal(run("put", "x", (const char*[]){"--epoch", "9999", NULL}, line), 1);
  assert_non_null(strstr(line, "cannot write s3://test/lock.json: the object is a lockfile"));
  assert_int_equal(s3proc_status(&s3, NULL, line), 3);
}

static void a_silent_store_ends_it_in_time(void** state) {
  (void)state;
  char line[2048];
  proc_signal(s3.fake, SIGSTOP);
  assert_int_equal(
      run("put", "x", (const char*[]){"--epoch", "5", "--within", "300ms", NULL}, line), 1);
  assert_non_null(strstr(line, "timed out"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin_empty, end)
      CASE(a_deposed_leader_is_refused),
      CASE(a_write_on_its_way_is_refused),
      CASE(lost_replies_are_resolved),
      CASE(what_run_gives_is_used),
      CASE(bad_input_is_named),
      CASE(a_lockfile_is_left_alone),
      CASE(a_silent_store_ends_it_in_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
