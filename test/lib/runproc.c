#include "lib/runproc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

proc_t* runproc_run(s3proc_t* s3, const char* id, const char* script) {
  static char text[2048];
  char events[256];
  snprintf(events, sizeof events, "%s/events-%s", s3->dir, id);
  snprintf(text, sizeof text, "cd %s; %s", s3->dir, script);
  const char* more[] = {"--events", events, "--", "/bin/sh", "-c", text, NULL};
  return s3proc_s3lect(s3, "run", id, more);
}

int64_t runproc_last_valid_until(const s3proc_t* s3, const char* id) {
  char name[64];
  int64_t last = 0;
  snprintf(name, sizeof name, "events-%s", id);
  for (const char* line = s3proc_text(s3, name); *line != '\0';) {
    size_t n = strcspn(line, "\n");
    char event[1024];
    snprintf(event, sizeof event, "%.*s", (int)(n < 1000 ? n : 1000), line);
    if (strstr(event, "\"started_leading\"") != NULL || strstr(event, "\"renewed\"") != NULL)
      last = proc_json_i64(event, "valid_until_ns") + proc_json_i64(event, "boottime_ns") -
             proc_json_i64(event, "lease_ns");
    line += n + (line[n] == '\n');
  }
  assert_true(last > 0);
  return last;
}

runproc_notes_t runproc_notes(const s3proc_t* s3) {
  runproc_notes_t notes = {0, 0, 0, 0};
  for (const char* p = s3proc_text(s3, "log"); *p != '\0';) {
    char* end;
    unsigned long epoch = strtoul(p, &end, 10);
    int64_t at = (int64_t)(strtod(end, &end) * 1e9);
    if (*end != '\n') /* being written */
      break;
    p = end + 1;
    if (notes.first_epoch == 0)
      notes.first_epoch = epoch;
    if (epoch == notes.first_epoch && at > notes.last_of_first_ns)
      notes.last_of_first_ns = at;
    if (epoch != notes.last_epoch || at < notes.first_of_last_ns)
      notes.first_of_last_ns = at;
    notes.last_epoch = epoch;
  }
  return notes;
}

void runproc_assert_all_gone(const s3proc_t* s3, int count) {
  int n = 0;
  for (char* p = (char*)(uintptr_t)s3proc_text(s3, "pids"); *p != '\0'; n++) {
    long pid = strtol(p, &p, 10);
    assert_true(pid > 1);
    assert_int_equal(kill((pid_t)pid, 0), -1);
    p += strspn(p, "\n");
  }
  assert_int_equal(n, count);
}
