/* The guard: the whole process group is gone at its bound, whatever happens to anybody. The
 * commands are shell scripts; those that note the time do it with /proc/uptime, which is
 * CLOCK_BOOTTIME; bounds are in lease time.
 *
 * ctest labels: no-valgrind. */
#include <s3lect.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/guard.h"
#include "lib/test.h"
#include "lib/wait.h"

#define MS          INT64_C(1000000)
#define LONG_MS     60000
#define REPORTS_MAX 16
/* What a loaded machine may be late; without the guard it would be for ever. */
#define LATE_MS 500

typedef struct test_s {
  uv_loop_t loop;
  cli_child_t child;
  guard_report_t reports[REPORTS_MAX];
  int len;
  int seen; /* reports that a wait has passed */
  bool lost;
  char dir[64];
} test_t;

static test_t t;

static void on_report(cli_child_t* child, const guard_report_t* report) {
  t.lost = t.lost || (report->kind == GUARD_GONE && report->cause == GUARD_DIED);
  assert_true(t.len < REPORTS_MAX);
  t.reports[t.len++] = *report;
}

/* Waits for the next report of a kind. */
static guard_report_t await(uint32_t kind) {
  for (;;) {
    for (; t.seen < t.len; t.seen++)
      if (t.reports[t.seen].kind == kind)
        return t.reports[t.seen++];
    assert_false(t.lost);
    s3l_turn(&t.loop);
  }
}

static void open_guard(char** argv) {
  const guard_setup_t setup = {.argv = argv, .id = "the-id"};
  t.child = (cli_child_t){.on_report = on_report, .margin_ns = 200 * MS, .remind_ns = 1000 * MS};
  assert_int_equal(guard_fork(&setup, &t.child.fd, &t.child.keeper), 0);
  assert_int_equal(cli_child_open(&t.child, &t.loop), 0);
}

static void begin(const char* script) {
  static char* argv[] = {"/bin/sh", "-c", NULL, NULL};
  static char text[2048];
  memset(&t, 0, sizeof t);
  snprintf(t.dir, sizeof t.dir, "/tmp/s3lect-guard-XXXXXX");
  assert_non_null(mkdtemp(t.dir));
  snprintf(text, sizeof text, "cd %s; %s", t.dir, script);
  argv[2] = text;
  assert_int_equal(uv_loop_init(&t.loop), 0);
  open_guard(argv);
}

static int end(void** state) {
  cli_child_close(&t.child);
  uv_run(&t.loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&t.loop), 0);
  while (wait(NULL) > 0)
    continue;
  char command[128];
  const char* const files[] = {"log", "ready", "pids", "hop"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    snprintf(command, sizeof command, "%s/%s", t.dir, files[i]);
    unlink(command);
  }
  assert_int_equal(rmdir(t.dir), 0);
  return 0;
}

static void start_for(int64_t bound_ms, int64_t grace_ms) {
  cli_child_start(&t.child, 42, s3lect_now_ns() + bound_ms * MS, grace_ms * MS);
}

/* Reads a file of the script's; "" if there is none. */
static const char* text_of(const char* name) {
  static char text[65536];
  char path[128];
  snprintf(path, sizeof path, "%s/%s", t.dir, name);
  FILE* file = fopen(path, "re");
  size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
  text[n] = '\0';
  if (file != NULL)
    fclose(file);
  return text;
}

static void on_tick(uv_timer_t* timer) {}

/* Waits until the script has made the file `ready`. */
static void await_ready(void) {
  uv_timer_t tick;
  assert_int_equal(uv_timer_init(&t.loop, &tick), 0);
  assert_int_equal(uv_timer_start(&tick, on_tick, 5, 5), 0);
  while (text_of("ready")[0] == '\0')
    s3l_turn(&t.loop);
  uv_close((uv_handle_t*)&tick, NULL);
  uv_run(&t.loop, UV_RUN_NOWAIT);
}

/* The latest time in the log, in ns. */
static int64_t last_time(void) {
  struct timespec now;
  int64_t last = 0;
  assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
  int64_t ahead = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - s3lect_now_ns();
  for (const char* p = text_of("log"); *p != '\0'; p += strcspn(p, "\n") + 1) {
    double at = strtod(p, NULL);
    last = (int64_t)(at * 1e9) > last ? (int64_t)(at * 1e9) : last;
    if (p[strcspn(p, "\n")] == '\0')
      break;
  }
  return last > 0 ? last - ahead : 0;
}

/* Every process that the script wrote into `pids` is gone. */
static void assert_all_gone(int count) {
  int n = 0;
  for (char* p = (char*)(uintptr_t)text_of("pids"); *p != '\0'; n++) {
    long pid = strtol(p, &p, 10);
    assert_true(pid > 1);
    assert_int_equal(kill((pid_t)pid, 0), -1);
    while (*p == '\n')
      p++;
  }
  assert_int_equal(n, count);
}

/* Logs the time for ever, and is deaf to everything but SIGKILL. */
#define DEAF                                                                                       \
  "trap '' TERM INT HUP QUIT; "                                                                    \
  "note() { while :; do read up rest </proc/uptime; echo $up >>log; sleep 0.01; done; }; "

/* ... as a command with a child and a grandchild, whose parent has ended. */
#define DEAF_FAMILY                                                                                \
  DEAF "( ( sh -c 'echo $PPID' >>pids; note ) & ); "                                               \
       "( sh -c 'echo $PPID' >>pids; note ) & "                                                    \
       "echo $$ >>pids; until [ $(wc -l <pids) = 3 ]; do sleep 0.01; done; echo yes >ready; note"

static void passes_on_the_exit_status(void** state) {
  begin("read pid name state parent group rest </proc/self/stat; "
        "echo $S3LECT_EPOCH $S3LECT_ID $group $$ >log; exit 7");
  start_for(LONG_MS, 100);
  int pid = await(GUARD_STARTED).pid;
  guard_report_t gone = await(GUARD_GONE);
  assert_int_equal(gone.cause, GUARD_SELF);
  assert_true(WIFEXITED(gone.status));
  assert_int_equal(WEXITSTATUS(gone.status), 7);
  char expected[64];
  snprintf(expected, sizeof expected, "42 the-id %d %d\n", pid, pid);
  assert_string_equal(text_of("log"), expected);
}

static void can_start_again(void** state) {
  begin("echo $S3LECT_EPOCH >>log; kill -KILL $$");
  start_for(LONG_MS, 100);
  assert_int_equal(WTERMSIG(await(GUARD_GONE).status), SIGKILL);
  cli_child_start(&t.child, 43, s3lect_now_ns() + LONG_MS * MS, 100 * MS);
  assert_int_equal(WTERMSIG(await(GUARD_GONE).status), SIGKILL);
  assert_string_equal(text_of("log"), "42\n43\n");
}

static void says_what_cannot_be_executed(void** state) {
  static char* missing[] = {"/nonexistent/program", NULL};
  static char* folder[] = {"/tmp", NULL};
  char** const argv[] = {missing, folder};
  const int status[] = {127, 126};
  for (int i = 0; i < 2; i++) {
    begin("");
    cli_child_close(&t.child);
    uv_run(&t.loop, UV_RUN_DEFAULT);
    open_guard(argv[i]);
    start_for(LONG_MS, 100);
    assert_true(await(GUARD_NO_EXEC).error != 0);
    assert_int_equal(WEXITSTATUS(await(GUARD_GONE).status), status[i]);
    end(NULL);
  }
}

static void refuses_to_start_too_late(void** state) {
  begin("echo ran >log");
  start_for(50, 100);
  assert_int_equal(await(GUARD_GONE).cause, GUARD_TOO_LATE);
  assert_string_equal(text_of("log"), "");
}

/* SIGTERM a grace before the bound: who heeds it has that long. */
static void asks_before_it_kills(void** state) {
  begin("trap 'echo asked >log; exit 3' TERM; echo yes >ready; while :; do sleep 0.01; done");
  start_for(2000, 1500);
  await(GUARD_STOPPING);
  guard_report_t gone = await(GUARD_GONE);
  assert_int_equal(gone.cause, GUARD_BOUNDED);
  assert_int_equal(WEXITSTATUS(gone.status), 3);
  assert_string_equal(text_of("log"), "asked\n");
}

static void kills_the_whole_group_at_the_bound(void** state) {
  begin(DEAF_FAMILY);
  int64_t bound = s3lect_now_ns() + 1500 * MS;
  cli_child_start(&t.child, 42, bound, 300 * MS);
  await_ready();
  guard_report_t gone = await(GUARD_GONE);
  assert_int_equal(gone.cause, GUARD_BOUNDED);
  assert_int_equal(WTERMSIG(gone.status), SIGKILL);
  assert_all_gone(3);
  assert_true(last_time() > 0);
  assert_true(last_time() <= bound + LATE_MS * MS);
}

static void a_renewal_moves_the_bound(void** state) {
  begin(DEAF_FAMILY);
  int64_t first = s3lect_now_ns() + 1000 * MS;
  cli_child_start(&t.child, 42, first, 200 * MS);
  cli_child_bound(&t.child, first + 1000 * MS);
  await(GUARD_GONE);
  assert_all_gone(3);
  assert_true(last_time() > first);
  assert_true(last_time() <= first + 1000 * MS + LATE_MS * MS);
}

static void stop_asks_then_kills(void** state) {
  begin(DEAF_FAMILY);
  start_for(LONG_MS, 200);
  await_ready();
  cli_child_stop(&t.child, SIGINT);
  guard_report_t gone = await(GUARD_GONE);
  assert_int_equal(gone.cause, GUARD_ORDERED);
  assert_int_equal(WTERMSIG(gone.status), SIGKILL);
  assert_all_gone(3);
}

static void kill_does_not_ask(void** state) {
  begin("trap 'echo asked >log' TERM; echo yes >ready; while :; do sleep 0.01; done");
  start_for(LONG_MS, LONG_MS / 2);
  await_ready();
  cli_child_kill(&t.child);
  assert_int_equal(WTERMSIG(await(GUARD_GONE).status), SIGKILL);
  assert_string_equal(text_of("log"), "");
}

static void signals_are_passed_on(void** state) {
  begin("trap 'echo usr1 >log; exit 0' USR1; echo yes >ready; while :; do sleep 0.01; done");
  start_for(LONG_MS, 100);
  await_ready();
  cli_child_signal(&t.child, SIGUSR1);
  assert_int_equal(await(GUARD_GONE).cause, GUARD_SELF);
  assert_string_equal(text_of("log"), "usr1\n");
}

static void a_stopped_command_still_ends(void** state) {
  begin("echo yes >ready; kill -STOP $$; while :; do sleep 0.01; done");
  start_for(LONG_MS, LONG_MS / 2);
  await_ready();
  cli_child_stop(&t.child, SIGTERM);
  assert_int_equal(WTERMSIG(await(GUARD_GONE).status), SIGTERM);
}

/* The end of s3lect, by whatever, shows the guard as the end of the socket. */
static void kills_when_its_parent_has_gone(void** state) {
  begin(DEAF_FAMILY);
  start_for(LONG_MS, 100);
  await_ready();
  cli_child_close(&t.child);
  uv_run(&t.loop, UV_RUN_DEFAULT);
  while (wait(NULL) > 0) /* the guard is this process's only child */
    continue;
  assert_all_gone(3);
}

static void what_a_command_leaves_behind_ends_with_it(void** state) {
  begin("( echo $(sh -c 'echo $PPID') >>pids; exec sleep 1000 ) & "
        "setsid sh -c 'echo $$ >>pids; trap \"\" TERM; while :; do sleep 0.01; done' & "
        "until [ -e pids ] && [ $(wc -l <pids) = 2 ]; do sleep 0.01; done; exit 5");
  start_for(LONG_MS, 200);
  guard_report_t gone = await(GUARD_GONE);
  assert_int_equal(gone.cause, GUARD_SELF);
  assert_int_equal(WEXITSTATUS(gone.status), 5);
  assert_all_gone(2);
}

/* A zombie keeps a group in being for as long as its parent, which has left the group, neither
 * reaps it nor ends. */
static void a_zombie_in_the_group_shields_nobody(void** state) {
  begin("( sleep 1000 & exec setsid sh -c 'echo $$ >>pids; exec sleep 1000' ) & "
        "until [ -s pids ]; do sleep 0.01; done; exit 5");
  start_for(LONG_MS, 200);
  guard_report_t gone = await(GUARD_GONE);
  assert_int_equal(gone.cause, GUARD_SELF);
  assert_int_equal(WEXITSTATUS(gone.status), 5);
  assert_all_gone(1);
}

/* A daemon that is a new process, in a session of its own, each time it is looked at. Each of them
 * notes the time. */
static void what_changes_its_number_ends_in_time(void** state) {
  begin("echo 'read up rest </proc/uptime; echo $up >>log; setsid sh hop & ' >hop; "
        "sh hop; sh hop; echo yes >ready; exec sleep 1000");
  int64_t bound = s3lect_now_ns() + 1500 * MS;
  cli_child_start(&t.child, 42, bound, 300 * MS);
  await_ready();
  assert_int_equal(WTERMSIG(await(GUARD_GONE).status), SIGTERM);
  int64_t last = last_time();
  assert_true(last > 0 && last <= bound + LATE_MS * MS);
}

/* Stopped, and stopped again when it is continued: s3lect kills it, and the keeper does its work.
 */
static void a_guard_that_does_not_answer_is_killed(void** state) {
  begin("setsid sh -c 'echo $$ >>pids; exec sleep 1000' & until [ -s pids ]; do sleep 0.01; "
        "done; echo yes >ready; exec sleep 1000");
  start_for(1000, 100);
  await_ready();
  t.child.overdue = 1; /* it was continued */
  assert_int_equal(kill(t.child.guard, SIGSTOP), 0);
  assert_int_equal(kill(t.child.keeper, SIGSTOP), 0);
  while (!t.lost)
    s3l_turn(&t.loop);
  assert_all_gone(1);
}

static void the_command_dies_with_the_guard(void** state) {
  begin(DEAF_FAMILY);
  start_for(LONG_MS, 100);
  await_ready();
  /* The guard is the command's parent. */
  char path[64];
  int guard = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)t.child.pid);
  FILE* stat = fopen(path, "re");
  assert_non_null(stat);
  assert_int_equal(fscanf(stat, "%*d %*s %*c %d", &guard), 1);
  fclose(stat);
  pid_t group = t.child.pid;
  assert_int_equal(kill((pid_t)guard, SIGKILL), 0);
  while (!t.lost)
    s3l_turn(&t.loop);
  /* Orphans are init's, which reaps them in its own time: gone or a zombie, but not running. */
  for (;;) {
    char state_letter = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)group);
    stat = fopen(path, "re");
    if (stat == NULL)
      break;
    int n = fscanf(stat, "%*d %*s %c", &state_letter);
    fclose(stat);
    if (n != 1 || state_letter == 'Z' || state_letter == 'X')
      break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_teardown(f, end)
      T(passes_on_the_exit_status),
      T(can_start_again),
      cmocka_unit_test(says_what_cannot_be_executed),
      T(refuses_to_start_too_late),
      T(asks_before_it_kills),
      T(kills_the_whole_group_at_the_bound),
      T(a_renewal_moves_the_bound),
      T(stop_asks_then_kills),
      T(kill_does_not_ask),
      T(signals_are_passed_on),
      T(a_stopped_command_still_ends),
      T(kills_when_its_parent_has_gone),
      T(what_a_command_leaves_behind_ends_with_it),
      T(a_zombie_in_the_group_shields_nobody),
      T(what_changes_its_number_ends_in_time),
      T(a_guard_that_does_not_answer_is_killed),
      T(the_command_dies_with_the_guard),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
