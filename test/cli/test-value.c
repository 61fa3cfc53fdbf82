/* --value and --value-file: what a leader publishes, as status, list and watch show it.
 *
 * ctest labels: no-valgrind. */
#include <s3lect.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/s3proc_case.h"
#include "lib/test.h"

static const char* const json[] = {"--json", NULL};
static char file[] = "/tmp/s3lect-value-XXXXXX";

static void write_file(const char* text) {
  FILE* f = fopen(file, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

static int make_file(void** state) {
  (void)state;
  int fd = mkstemp(file);
  return fd < 0 ? -1 : close(fd);
}

static int remove_file(void** state) {
  (void)state;
  return unlink(file);
}

/* elect publishes a text; who looks sees it as it is, or made harmless for a terminal. */
static void a_text(void** state) {
  char line[4096];
  proc_t* watch = s3proc_s3lect(&s3, "watch", NULL, NULL);
  proc_t* a =
      s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--value", "v\x1b[2J\xc3\xa9", NULL});
  proc_line(a, PROC_OUT, "started_leading");
  const char* event = proc_line(watch, PROC_OUT, "\"event\":\"value\"");
  assert_string_equal(proc_json_string(event, "leader"), "a");
  assert_non_null(strstr(event, "\"value\":\"v\\u001b[2J\xc3\xa9\""));
  assert_int_equal(s3proc_status(&s3, json, line), 0);
  assert_non_null(strstr(line, "\"value\":\"v\\u001b[2J\xc3\xa9\""));
  proc_t* status = s3proc_s3lect(&s3, "status", NULL, NULL);
  assert_string_equal(proc_line(status, PROC_OUT, "value "), "value    v?[2J\xc3\xa9");
  assert_int_equal(proc_wait(status), 0);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  event = proc_line(watch, PROC_OUT, "\"event\":\"no_leader\"");
  assert_string_equal(proc_json_string(event, "value"), "");
  assert_int_equal(s3proc_status(&s3, json, line), 3);
  assert_string_equal(proc_json_string(line, "value"), "");
  /* The next leader has none: nor does its epoch. */
  proc_t* b = s3proc_s3lect(&s3, "elect", "b", NULL);
  proc_line(b, PROC_OUT, "started_leading");
  event = proc_line(watch, PROC_OUT, "\"event\":\"value\"");
  assert_string_equal(proc_json_string(event, "value"), "");
  assert_string_equal(proc_json_string(event, "leader"), "b");
  assert_int_equal(proc_end(b, SIGTERM), 0);
  assert_int_equal(proc_end(watch, SIGTERM), 0);
}

/* run reads a file, and again on SIGHUP, which its command gets as well. */
static void a_file(void** state) {
  static const char script[] = "trap 'echo hup' HUP; echo up; while :; do sleep 0.1; done";
  write_file("first\n");
  proc_t* watch = s3proc_s3lect(&s3, "watch", NULL, NULL);
  proc_t* a = s3proc_s3lect(
      &s3, "run", "a", (const char*[]){"--value-file", file, "--", "/bin/sh", "-c", script, NULL});
  proc_line(a, PROC_OUT, "up");
  const char* event = proc_line(watch, PROC_OUT, "\"event\":\"value\"");
  assert_string_equal(proc_json_string(event, "value"), "first");
  write_file("second\n");
  proc_signal(a, SIGHUP);
  event = proc_line(watch, PROC_OUT, "\"event\":\"value\"");
  assert_string_equal(proc_json_string(event, "value"), "second");
  proc_line(a, PROC_OUT, "hup");
  write_file("\xff");
  proc_signal(a, SIGHUP);
  proc_line(a, PROC_ERR, "--value-file is no text: a value is UTF-8 without NUL; the value stays");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
  assert_int_equal(proc_end(watch, SIGTERM), 0);
}

static void refused(const char* const* args, const char* message) {
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", args);
  proc_line(a, PROC_ERR, message);
  assert_int_equal(proc_wait(a), 2);
}

static void what_is_no_value(void** state) {
  char text[S3LECT_VALUE_SIZE + 1];
  memset(text, 'v', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  refused((const char*[]){"--value", text, NULL},
          "--value is too long: a value has at most 1024 bytes");
  refused((const char*[]){"--value", "\xff", NULL}, "--value is no text");
  write_file(text);
  refused((const char*[]){"--value-file", file, NULL}, "--value-file is too long");
  refused((const char*[]){"--value-file", "/nonexistent/v", NULL},
          "--value-file /nonexistent/v cannot be read: No such file");
  refused((const char*[]){"--value-file", file, "--value", "v", NULL}, "are both given");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
      T(a_text),
      T(a_file),
      T(what_is_no_value),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
