/* `s3lect run`, from end to end: the command runs only while its s3lect leads, and all of it is
 * gone before validity ends, whatever happens to the store or to s3lect. The scripts note the time
 * with /proc/uptime, which is CLOCK_BOOTTIME, one of the two clocks of the events.
 *
 * ctest labels: no-valgrind. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/protocol.h"
#include "lib/s3proc.h"

#define NOTE_GRAIN_NS INT64_C(10000000) /* /proc/uptime has two decimals, rounded down */

/* Three processes (a command, its child, an orphaned grandchild) that note the time into the file
 * "log" for ever and heed nothing but SIGKILL. "pids" holds their pids. */
#define FAMILY                                                                                     \
  "trap '' TERM INT HUP QUIT; "                                                                    \
  "note() { sh -c 'echo $PPID' >>pids; "                                                           \
  "while :; do read up rest </proc/uptime; echo $S3LECT_EPOCH $up >>log; sleep 0.01; done; }; "    \
  "( ( note ) & ); ( note ) & note"

static void begin(s3proc_t* s3) {
  s3proc_begin(s3, S3L_BUILD_DIR, NULL);
  s3proc_seed(s3);
}

static const char* events_of(const s3proc_t* s3, const char* id) {
  char name[64];
  snprintf(name, sizeof name, "events-%s", id);
  return s3proc_path(s3, name);
}

/* s3lect run, with its events in the file events-ID, in the scratch folder. */
static proc_t* run(s3proc_t* s3, const char* id, const char* script) {
  static char text[2048];
  char events[256];
  snprintf(events, sizeof events, "%s", events_of(s3, id));
  snprintf(text, sizeof text, "cd %s; %s", s3->dir, script);
  const char* more[] = {"--events", events, "--", "/bin/sh", "-c", text, NULL};
  return s3proc_s3lect(s3, "run", id, more);
}

/* The last validity that a candidate's events tell of while it led, by the clock of the notes. */
static int64_t last_valid_until(const s3proc_t* s3, const char* id) {
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

/* First and last time in the log that were noted under the log's first or last epoch. */
typedef struct notes_s {
  unsigned long first_epoch, last_epoch;
  int64_t last_of_first_ns, first_of_last_ns;
} notes_t;

static notes_t read_notes(const s3proc_t* s3) {
  notes_t notes = {0, 0, 0, 0};
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

/* Every process in "pids", of which there are so many, is gone. */
static void assert_all_gone(const s3proc_t* s3, int count) {
  int n = 0;
  for (char* p = (char*)(uintptr_t)s3proc_text(s3, "pids"); *p != '\0'; n++) {
    long pid = strtol(p, &p, 10);
    assert_true(pid > 1);
    assert_int_equal(kill((pid_t)pid, 0), -1);
    p += strspn(p, "\n");
  }
  assert_int_equal(n, count);
}

static void passes_on_environment_and_status(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", "echo out $S3LECT_ID; echo err $S3LECT_EPOCH >&2; exit 42");
  proc_line(a, PROC_OUT, "out a");
  const char* line = proc_line(a, PROC_ERR, "err ");
  unsigned long epoch = strtoul(line + 4, NULL, 10);
  assert_true(epoch > 0);
  assert_int_equal(proc_wait(a), 42);
  char status[2048];
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--json", NULL}, status), 3);
  assert_string_equal(proc_json_string(status, "state"), "released");
  assert_int_equal(proc_json_i64(status, "epoch"), epoch);
  s3proc_end(&s3);
}

static void a_signal_that_ends_the_command_shows(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", "kill -SEGV $$");
  assert_int_equal(proc_wait(a), 128 + SIGSEGV);
  s3proc_end(&s3);
}

/* Without a lockfile nobody knows whether there was one. */
static void says_why_it_waits(void** state) {
  (void)state;
  s3proc_t s3;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  proc_t* a = run(&s3, "a", "exit 5");
  proc_line(a, PROC_ERR,
            "s3lect run: no current leader found: waiting one leader timeout (2500 ms) ");
  proc_line(a, PROC_ERR, "s3lect run: leading with epoch ");
  assert_int_equal(proc_wait(a), 5);
  /* Behind a release nothing is to be waited for, or said. */
  proc_t* b = run(&s3, "b", "exit 6");
  assert_non_null(strstr(proc_line(b, PROC_ERR, ""), "s3lect run: leading with epoch "));
  assert_int_equal(proc_wait(b), 6);
  s3proc_end(&s3);
}

static void says_what_cannot_be_run(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = s3proc_s3lect(&s3, "run", "a", (const char*[]){"--", "no-such-program", NULL});
  assert_non_null(strstr(proc_line(a, PROC_ERR, ""), "cannot run no-such-program: not found"));
  assert_int_equal(proc_wait(a), 127);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  a = s3proc_s3lect(&s3, "run", "a", (const char*[]){"/tmp", NULL});
  proc_line(a, PROC_ERR, "s3lect run: cannot run /tmp: Permission denied");
  assert_int_equal(proc_wait(a), 126);
  s3proc_end(&s3);
}

static void sigterm_is_passed_on_and_waited_for(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  /* The command looks who leads while it ends: it is its s3lect still. */
  char script[1024];
  snprintf(script, sizeof script,
           "trap 'AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest %s/src/s3lect status "
           "--store s3://test/lock.json --endpoint %s %s; exit 9' TERM; "
           "echo ready; while :; do sleep 0.01; done",
           S3L_BUILD_DIR, s3.url, s3proc_protocol_options());
  proc_t* a = run(&s3, "a", script);
  proc_line(a, PROC_OUT, "ready");
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_OUT, "leader   a");
  assert_int_equal(proc_wait(a), 9);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  s3proc_end(&s3);
}

static void a_deaf_command_is_killed(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", FAMILY);
  s3proc_await_lines(&s3, "pids", 3);
  proc_signal(a, SIGINT);
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  assert_all_gone(&s3, 3);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  s3proc_end(&s3);
}

static void a_second_signal_kills_the_command(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_OUT, "asked");
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  s3proc_end(&s3);
}

static void other_signals_are_passed_on(void** state) {
  (void)state;
  static const struct {
    int signum;
    const char* name;
  } signals[] = {{SIGHUP, "HUP"}, {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a",
                  "for s in HUP QUIT USR1 USR2; do trap \"echo got $s\" $s; done; "
                  "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    char expected[32];
    snprintf(expected, sizeof expected, "got %s", signals[i].name);
    proc_signal(a, signals[i].signum);
    proc_line(a, PROC_OUT, expected);
  }
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 0);
  s3proc_end(&s3);
}

static void a_follower_leaves_without_running_anything(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", "echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  s3.procs.detached = true;
  proc_t* b = run(&s3, "b", "echo must not run");
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(b, SIGHUP); /* no terminal: nothing to reload, no reason to leave */
  proc_signal(b, SIGUSR1);
  proc_signal(b, SIGTERM); /* what did not run is not done */
  assert_int_equal(proc_wait(b), 128 + SIGTERM);
  assert_null(proc_try_line(b, PROC_OUT, "must not run", false));
  s3proc_end(&s3);
}

static void all_is_gone_in_time_when_the_store_is_silent(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", FAMILY);
  s3proc_await_lines(&s3, "pids", 3);
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "waiting to lead again");
  assert_all_gone(&s3, 3);
  int64_t until = last_valid_until(&s3, "a");
  notes_t notes = read_notes(&s3);
  assert_true(notes.last_of_first_ns + NOTE_GRAIN_NS < until);
  /* A renewal that is confirmed in the margin after the SIGKILL would let the leadership go on.
   * After that there is a new epoch, and with it three more. */
  s3proc_await_text(&s3, "events-a", "\"event\":\"stopped_leading\"");
  proc_signal(s3.fake, SIGCONT);
  s3proc_await_lines(&s3, "pids", 6);
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  assert_all_gone(&s3, 6);
  notes = read_notes(&s3);
  assert_true(notes.last_epoch > notes.first_epoch);
  s3proc_end(&s3);
}

static void who_heeds_sigterm_has_time_for_it(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a",
                  "trap 'echo asked; sleep 0.2; echo done; exit 0' TERM; echo ready; "
                  "while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_OUT, "asked");
  proc_line(a, PROC_OUT, "done");
  proc_line(a, PROC_ERR, "exited with status 0");
  proc_line(a, PROC_ERR, "waiting to lead again");
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGTERM);
  proc_signal(s3.fake, SIGCONT);
  s3proc_end(&s3);
}

static void all_is_gone_when_s3lect_is_killed(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", FAMILY);
  s3proc_await_lines(&s3, "pids", 3);
  proc_t* b = run(&s3, "b", FAMILY);
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(a, SIGKILL);
  /* Its streams end only when the last process that holds them has. */
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  assert_all_gone(&s3, 3);
  s3proc_await_lines(&s3, "pids", 6);
  notes_t notes = read_notes(&s3);
  assert_true(notes.last_epoch > notes.first_epoch);
  assert_true(notes.last_of_first_ns < notes.first_of_last_ns);
  s3proc_end(&s3);
}

static void all_is_gone_in_time_when_s3lect_is_stopped(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", FAMILY);
  s3proc_await_lines(&s3, "pids", 3);
  proc_t* b = run(&s3, "b", FAMILY);
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(a, SIGSTOP);
  s3proc_await_lines(&s3, "pids", 6); /* b leads */
  notes_t notes = read_notes(&s3);
  assert_true(notes.last_epoch > notes.first_epoch);
  assert_true(notes.last_of_first_ns + NOTE_GRAIN_NS < last_valid_until(&s3, "a"));
  assert_true(notes.last_of_first_ns < notes.first_of_last_ns);
  proc_signal(a, SIGCONT);
  proc_line(a, PROC_ERR, "waiting to lead again");
  proc_line(a, PROC_ERR, "s3lect run: b leads");
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGTERM);
  s3proc_end(&s3);
}

/* A word of /proc/PID/stat: 1 is the parent. */
static int parent_of(int pid) {
  char path[64];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE* stat = fopen(path, "re");
  assert_non_null(stat);
  assert_int_equal(fscanf(stat, "%*d %*s %*c %d", &parent), 1);
  fclose(stat);
  return parent;
}

static int started_pid(proc_t* proc) {
  const char* line = strstr(proc_line(proc, PROC_ERR, "started /bin/sh, pid "), "pid ");
  return (int)strtol(line + 4, NULL, 10);
}

/* What ps calls it, and what pkill -f looks at. */
static void assert_named(int pid, const char* name) {
  const char* const files[] = {"comm", "cmdline"};
  for (size_t i = 0; i < 2; i++) {
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
    FILE* file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, name);
  }
}

#define STRAY "setsid sh -c 'echo $$ >>pids; exec sleep 1000' & "

/* Nothing but SIGKILL ends the guard; its keeper then does its work, and s3lect gives up. */
static void all_is_gone_when_the_guard_is_killed(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", STRAY FAMILY);
  s3proc_await_lines(&s3, "pids", 4); /* the fourth has left the group */
  int guard = parent_of(started_pid(a));
  assert_named(guard, "lease-guard");
  assert_named(parent_of(guard), "lease-keeper");
  assert_int_equal(parent_of(parent_of(guard)), proc_pid(a));
  assert_int_equal(kill(guard, SIGKILL), 0);
  proc_line(a, PROC_ERR, "s3lect run: the guard process was killed: stopping");
  assert_int_equal(proc_wait(a), 1);
  assert_all_gone(&s3, 4);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  s3proc_end(&s3);
}

static void all_is_gone_when_s3lect_and_guard_are_killed(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", STRAY FAMILY);
  s3proc_await_lines(&s3, "pids", 4);
  int guard = parent_of(started_pid(a));
  proc_signal(a, SIGKILL);
  kill(guard, SIGKILL);
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  assert_all_gone(&s3, 4);
  s3proc_end(&s3);
}

/* Daemons, each one started by the one before, that note the time. */
#define CHAIN_LEN 12
#define CHAIN                                                                                      \
  "echo 'trap \"\" TERM INT HUP QUIT; [ $1 = 0 ] || setsid sh chain $(($1 - 1)) & "                \
  "echo $$ >>pids; "                                                                               \
  "while :; do read up rest </proc/uptime; echo $S3LECT_EPOCH $up >>log; done' >chain; "           \
  "sh chain 11"

static void all_is_gone_in_time_when_the_guard_is_stopped(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", CHAIN);
  s3proc_await_lines(&s3, "pids", CHAIN_LEN);
  kill(parent_of(started_pid(a)), SIGSTOP);
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "waiting to lead again"); /* it was continued */
  assert_all_gone(&s3, CHAIN_LEN);
  assert_true(read_notes(&s3).last_of_first_ns + NOTE_GRAIN_NS < last_valid_until(&s3, "a"));
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGTERM);
  proc_signal(s3.fake, SIGCONT);
  s3proc_end(&s3);
}

#define QUOTA "/sys/fs/cgroup/cpu/s3lect-test-run"

static bool write_text(const char* path, const char* text) {
  FILE* file = fopen(path, "we");
  bool ok = file != NULL && fputs(text, file) >= 0;
  return file != NULL && fclose(file) == 0 && ok;
}

/* Where this test may set a CPU quota, s3lect and its command have half a CPU. */
static void daemons_of_daemons_are_gone_in_time(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  bool quota = mkdir(QUOTA, 0755) == 0 || errno == EEXIST;
  if (quota && write_text(QUOTA "/cpu.cfs_quota_us", "50000"))
    s3.through = "echo $$ >" QUOTA "/cgroup.procs; exec \"$@\"";
  proc_t* a = run(&s3, "a", CHAIN);
  s3proc_await_lines(&s3, "pids", CHAIN_LEN);
  s3proc_await_text(&s3, "events-a", "\"event\":\"renewed\"");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "waiting to lead again");
  assert_all_gone(&s3, CHAIN_LEN);
  assert_true(read_notes(&s3).last_of_first_ns + NOTE_GRAIN_NS < last_valid_until(&s3, "a"));
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGTERM);
  proc_signal(s3.fake, SIGCONT);
  s3proc_end(&s3);
  rmdir(QUOTA);
}

static int count(const char* text, const char* what) {
  int n = 0;
  for (; (text = strstr(text, what)) != NULL; text++)
    n++;
  return n;
}

/* A process that SIGKILL does not end, as one that hangs in the kernel: this test traces it, and so
 * its remains stay until the test has waited for it. */
static void does_not_stand_before_all_is_gone(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", "echo $$ >>pids; while :; do sleep 0.01; done");
  int pid = started_pid(a);
  assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "s3lect run: leadership ended (expired)");
  proc_signal(s3.fake, SIGCONT);
  /* Each comes a leader timeout after the one before: long enough to lead again. */
  for (int i = 0; i < 3; i++)
    proc_line(a, PROC_ERR, "runs as another user or hangs in the kernel; not standing for");
  assert_int_equal(count(s3proc_text(&s3, "events-a"), "\"event\":\"started_leading\""), 1);
  assert_int_equal(waitpid(pid, NULL, __WALL), pid);
  proc_line(a, PROC_ERR, "s3lect run: waiting to lead again");
  s3proc_await_lines(&s3, "pids", 2);
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGTERM);
  s3proc_end(&s3);
}

/* Its status stays the command's. */
static void says_that_it_could_not_release(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", "trap 'exit 7' TERM; echo begun; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "begun");
  proc_signal(s3.fake, SIGSTOP);
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_ERR, "s3lect run: ERELEASE: not released: the store has not answered in time");
  assert_int_equal(proc_wait(a), 7);
  proc_signal(s3.fake, SIGCONT);
  s3proc_end(&s3);
}

/* Told to leave, it neither releases nor stops renewing before all is gone. */
static void does_not_release_before_all_is_gone(void** state) {
  (void)state;
  s3proc_t s3;
  char status[2048];
  begin(&s3);
  proc_t* a = run(&s3, "a", "while :; do sleep 0.01; done");
  int pid = started_pid(a);
  assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
  proc_signal(a, SIGTERM);
  for (int i = 0; i < 2; i++)
    proc_line(a, PROC_ERR, "hangs in the kernel; leading on until it is gone");
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--json", NULL}, status), 0);
  assert_string_equal(proc_json_string(status, "leader"), "a");
  assert_int_equal(waitpid(pid, NULL, __WALL), pid);
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  s3proc_end(&s3);
}

/* Nobody reads stderr, and the pipe is full: s3lect leads on, and heeds SIGTERM. */
static void a_full_stderr_holds_nothing_up(void** state) {
  (void)state;
  s3proc_t s3;
  char through[512];
  begin(&s3);
  assert_int_equal(mkfifo(s3proc_path(&s3, "full"), 0600), 0);
  int fd = open(s3proc_path(&s3, "full"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  assert_true(fd >= 0);
  while (write(fd, "full", 4) > 0)
    continue;
  assert_int_equal(errno, EAGAIN);
  snprintf(through, sizeof through, "exec \"$@\" 2>%s", s3proc_path(&s3, "full"));
  s3.through = through;
  proc_t* a =
      run(&s3, "a",
          "exec 2>/dev/null; trap 'exit 9' TERM; echo $$ >>pids; while :; do sleep 0.01; done");
  s3proc_await_lines(&s3, "pids", 1);
  s3proc_await_text(&s3, "events-a", "\"event\":\"renewed\"");
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 9);
  close(fd);
  s3.through = NULL;
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
  s3proc_end(&s3);
}

/* What a credential_process leaves behind is none of s3lect's: it would not reap it, and the end of
 * the guard must not end it. */
static void adopts_nobody(void** state) {
  (void)state;
  s3proc_t s3;
  char through[512], text[1024], path[64];
  begin(&s3);
  snprintf(text, sizeof text,
           "[profile x]\ncredential_process = /bin/sh -c \"sleep 5 & echo '{\\\"Version\\\":1,"
           "\\\"AccessKeyId\\\":\\\"test\\\",\\\"SecretAccessKey\\\":\\\"testtest\\\"}'\"\n");
  assert_true(write_text(s3proc_path(&s3, "config"), text));
  snprintf(through, sizeof through,
           "export AWS_CONFIG_FILE=%s AWS_PROFILE=x; "
           "unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY; exec \"$@\"",
           s3proc_path(&s3, "config"));
  s3.through = through;
  proc_t* a = run(&s3, "a", "echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", proc_pid(a), proc_pid(a));
  FILE* children = fopen(path, "re");
  if (children != NULL) { /* else the kernel does not say */
    assert_non_null(fgets(text, sizeof text, children));
    fclose(children);
    assert_int_equal(count(text, " "), 1); /* the keeper */
  }
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 128 + SIGTERM);
  s3proc_end(&s3);
}

/* The store comes back empty: its record is lost, and with it the leadership. */
static void all_is_gone_when_the_record_is_lost(void** state) {
  (void)state;
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", FAMILY);
  s3proc_await_lines(&s3, "pids", 3);
  s3proc_replace_fake(&s3);
  proc_line(a, PROC_ERR, "s3lect run: leadership ended (lost)");
  proc_line(a, PROC_ERR, "waiting to lead again");
  assert_all_gone(&s3, 3);
  notes_t notes = read_notes(&s3);
  assert_true(notes.last_of_first_ns + NOTE_GRAIN_NS < last_valid_until(&s3, "a"));
  s3proc_end(&s3);
}

/* A store that no longer lists the epoch files ends the command, then s3lect. */
static void an_unsafe_store_ends_the_command_first(void** state) {
  (void)state;
  if (!s3l_test_epochs())
    skip();
  s3proc_t s3;
  begin(&s3);
  proc_t* a = run(&s3, "a", "trap 'exit 9' TERM; echo $$ >>pids; while :; do sleep 0.01; done");
  s3proc_await_text(&s3, "events-a", "\"event\":\"renewed\"");
  s3proc_fault(&s3, "{\"empty_lists\":true}");
  proc_line(a, PROC_ERR, "/bin/sh exited with status 9");
  proc_line(a, PROC_ERR, "the store cannot hold an election: listings do not show");
  assert_int_equal(proc_wait(a), 1);
  assert_all_gone(&s3, 1);
  s3proc_end(&s3);
}

/* What the guard does is the same for both protocols; when validity ends is not. */
static const struct CMUnitTest validity[] = {
    cmocka_unit_test(passes_on_environment_and_status),
    cmocka_unit_test(says_why_it_waits),
    cmocka_unit_test(sigterm_is_passed_on_and_waited_for),
    cmocka_unit_test(all_is_gone_in_time_when_the_store_is_silent),
    cmocka_unit_test(all_is_gone_when_s3lect_is_killed),
    cmocka_unit_test(all_is_gone_in_time_when_s3lect_is_stopped),
    cmocka_unit_test(all_is_gone_when_the_record_is_lost),
    cmocka_unit_test(an_unsafe_store_ends_the_command_first),
};
static const struct CMUnitTest guard[] = {
    cmocka_unit_test(a_signal_that_ends_the_command_shows),
    cmocka_unit_test(says_what_cannot_be_run),
    cmocka_unit_test(a_deaf_command_is_killed),
    cmocka_unit_test(a_second_signal_kills_the_command),
    cmocka_unit_test(other_signals_are_passed_on),
    cmocka_unit_test(a_follower_leaves_without_running_anything),
    cmocka_unit_test(who_heeds_sigterm_has_time_for_it),
    cmocka_unit_test(all_is_gone_when_the_guard_is_killed),
    cmocka_unit_test(all_is_gone_when_s3lect_and_guard_are_killed),
    cmocka_unit_test(all_is_gone_in_time_when_the_guard_is_stopped),
    cmocka_unit_test(daemons_of_daemons_are_gone_in_time),
    cmocka_unit_test(does_not_stand_before_all_is_gone),
    cmocka_unit_test(says_that_it_could_not_release),
    cmocka_unit_test(does_not_release_before_all_is_gone),
    cmocka_unit_test(a_full_stderr_holds_nothing_up),
    cmocka_unit_test(adopts_nobody),
};

int main(void) {
  int failed = cmocka_run_group_tests(validity, NULL, NULL);
  return s3l_test_epochs() ? failed : failed + cmocka_run_group_tests(guard, NULL, NULL);
}
