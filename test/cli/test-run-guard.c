/* `s3lect run` when its guard is killed or stopped, when its command cannot be ended, and when
 * nobody reads what it says.
 *
 * ctest labels: no-valgrind one-protocol slow. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cgroup.h"
#include "lib/runproc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

/* As /proc/PID/stat says. */
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

/* Four processes, of which the fourth has left the group; and the guard's pid. */
static proc_t* run_family(int* guard) {
  proc_t* a = runproc_run(&s3, "a", STRAY RUNPROC_FAMILY);
  s3proc_await_lines(&s3, "pids", 4);
  *guard = parent_of(started_pid(a));
  return a;
}

/* Nothing but SIGKILL ends the guard; its keeper then does its work, and s3lect gives up. */
static void all_is_gone_when_the_guard_is_killed(void** state) {
  int guard;
  proc_t* a = run_family(&guard);
  assert_named(guard, "lease-guard");
  assert_named(parent_of(guard), "lease-keeper");
  assert_int_equal(parent_of(parent_of(guard)), proc_pid(a));
  assert_int_equal(kill(guard, SIGKILL), 0);
  proc_line(a, PROC_ERR, "s3lect run: the guard process was killed: stopping");
  assert_int_equal(proc_wait(a), 1);
  runproc_assert_all_gone(&s3, 4);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

/* Kills guard and keeper while a stray runs, which has left the group. */
static proc_t* run_and_kill_both(void) {
  int guard;
  proc_t* a = run_family(&guard);
  int keeper = parent_of(guard);
  assert_int_equal(kill(keeper, SIGSTOP), 0);
  assert_int_equal(kill(guard, SIGKILL), 0);
  assert_int_equal(kill(keeper, SIGKILL), 0);
  return a;
}

/* How many processes in "pids" run; each is sent `signum`. One that has ended may be a zombie until
 * init has waited for it. */
static int running(int signum) {
  int count = 0;
  char* rest;
  const char* p = s3proc_text(&s3, "pids");
  for (long pid; (pid = strtol(p, &rest, 10)) > 1; p = rest) {
    char path[64], letter = 'Z';
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE* stat = fopen(path, "re");
    if (stat == NULL)
      continue;
    int n = fscanf(stat, "%*d %*s %c", &letter);
    fclose(stat);
    if (n != 1 || letter == 'Z' || letter == 'X')
      continue;
    kill((pid_t)pid, signum);
    count++;
  }
  return count;
}

/* The cgroup has the stray, too. */
static void all_is_gone_when_guard_and_keeper_are_killed(void** state) {
  cli_cgroup_t cgroup;
  cli_cgroup_name(&cgroup, getpid());
  cli_cgroup_make(&cgroup);
  if (cli_cgroup_remove(&cgroup) != 0)
    skip(); /* it takes a cgroup of version 2 that this user may make */
  proc_t* a = run_and_kill_both();
  assert_int_equal(proc_wait(a), 1);
  assert_int_equal(running(0), 0);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

#define WITHOUT_CGROUP                                                                             \
  "[ $(id -u) != 0 ] || exec unshare -m sh -c 'umount -l -a -t cgroup2; exec \"$@\"' sh \"$@\"; "  \
  "exec \"$@\""

/* Without a cgroup nobody knows what has left the group: the record is not released. */
static void does_not_release_when_guard_and_keeper_are_killed(void** state) {
  s3.through = WITHOUT_CGROUP;
  proc_t* a = run_and_kill_both();
  proc_line(a, PROC_ERR, "s3lect run: the keeper process was killed, too");
  assert_true(running(SIGKILL) > 0); /* they hold its stderr open */
  assert_int_equal(proc_wait(a), 1);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 0);
}

/* A process that was started with SIGCHLD ignored gets no exit status of its children, and that of
 * the keeper says that all is gone. */
static void sigchld_may_be_ignored_at_the_start(void** state) {
  int guard;
  s3.through = "set -- env --ignore-signal=CHLD \"$@\"; " WITHOUT_CGROUP;
  proc_t* a = run_family(&guard);
  assert_int_equal(kill(guard, SIGKILL), 0);
  proc_line(a, PROC_ERR, "s3lect run: the guard process was killed: stopping");
  assert_int_equal(proc_wait(a), 1);
  runproc_assert_all_gone(&s3, 4);
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

/* The keeper does not wait for a guard that is stopped. */
static void all_is_gone_when_the_guard_is_stopped_and_s3lect_killed(void** state) {
  int guard;
  proc_t* a = run_family(&guard);
  assert_int_equal(kill(guard, SIGSTOP), 0);
  proc_signal(a, SIGKILL);
  /* Its streams end only when the last process that holds them has. */
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  runproc_assert_all_gone(&s3, 4);
}

/* In a PID namespace whose own /proc is not mounted, descendants could not be found. */
static void refuses_to_run_without_its_proc(void** state) {
  char script[512];
  const char* env[] = {"ASAN_OPTIONS=detect_leaks=0", NULL};
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  proc_t* probe =
      proc_spawn(&s3.procs, (const char*[]){"unshare", "-rpf", "--kill-child", "true", NULL}, NULL);
  bool may = proc_wait(probe) == 0;
  snprintf(script, sizeof script,
           "exec unshare -rpf --kill-child %s/src/s3lect run --store %s true", S3L_BUILD_DIR,
           s3.store);
  proc_t* a = proc_spawn(&s3.procs, (const char*[]){"/bin/sh", "-c", script, NULL}, env);
  if (may)
    proc_line(a, PROC_ERR, "s3lect run: /proc does not show the processes that the command starts");
  assert_int_equal(proc_wait(a), 1);
  s3proc_end(&s3);
  if (!may)
    skip(); /* no user namespaces here */
}

static void all_is_gone_when_s3lect_and_guard_are_killed(void** state) {
  int guard;
  proc_t* a = run_family(&guard);
  proc_signal(a, SIGKILL);
  kill(guard, SIGKILL);
  assert_int_equal(proc_wait(a), 128 + SIGKILL);
  runproc_assert_all_gone(&s3, 4);
}

/* Daemons, each one started by the one before, that note the time. */
#define CHAIN_LEN 12
#define CHAIN                                                                                      \
  "echo 'trap \"\" TERM INT HUP QUIT; [ $1 = 0 ] || setsid sh chain $(($1 - 1)) & "                \
  "echo $$ >>pids; "                                                                               \
  "while :; do read up rest </proc/uptime; echo $S3LECT_EPOCH $up >>log; done' >chain; "           \
  "sh chain 11"

static void all_is_gone_in_time_when_the_guard_is_stopped(void** state) {
  proc_t* a = runproc_run(&s3, "a", CHAIN);
  s3proc_await_lines(&s3, "pids", CHAIN_LEN);
  kill(parent_of(started_pid(a)), SIGSTOP);
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "waiting to lead again"); /* it was continued */
  runproc_assert_all_gone(&s3, CHAIN_LEN);
  assert_true(runproc_notes(&s3).last_of_first_ns + RUNPROC_GRAIN_NS <
              runproc_last_valid_until(&s3, "a"));
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
  proc_signal(s3.fake, SIGCONT);
}

#define QUOTA "/sys/fs/cgroup/cpu/s3lect-test-run"

static bool write_text(const char* path, const char* text) {
  FILE* file = fopen(path, "we");
  bool ok = file != NULL && fputs(text, file) >= 0;
  return file != NULL && fclose(file) == 0 && ok;
}

/* Where this test may set a CPU quota, s3lect and its command have half a CPU. */
static void daemons_of_daemons_are_gone_in_time(void** state) {
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  s3proc_seed(&s3);
  bool quota = mkdir(QUOTA, 0755) == 0 || errno == EEXIST;
  if (quota && write_text(QUOTA "/cpu.cfs_quota_us", "50000"))
    s3.through = "echo $$ >" QUOTA "/cgroup.procs; exec \"$@\"";
  proc_t* a = runproc_run(&s3, "a", CHAIN);
  s3proc_await_lines(&s3, "pids", CHAIN_LEN);
  s3proc_await_text(&s3, "events-a", "\"event\":\"renewed\"");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_ERR, "waiting to lead again");
  runproc_assert_all_gone(&s3, CHAIN_LEN);
  assert_true(runproc_notes(&s3).last_of_first_ns + RUNPROC_GRAIN_NS <
              runproc_last_valid_until(&s3, "a"));
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
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
  proc_t* a = runproc_run(&s3, "a", "echo $$ >>pids; while :; do sleep 0.01; done");
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
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
}

/* Its status stays the command's. */
static void says_that_it_could_not_release(void** state) {
  proc_t* a = runproc_run(&s3, "a", "trap 'exit 7' TERM; echo begun; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "begun");
  proc_signal(s3.fake, SIGSTOP);
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_ERR, "s3lect run: ERELEASE: not released: the store has not answered in time");
  assert_int_equal(proc_wait(a), 7);
  proc_signal(s3.fake, SIGCONT);
}

/* Told to leave, it neither releases nor stops renewing before all is gone. */
static void does_not_release_before_all_is_gone(void** state) {
  char status[2048];
  proc_t* a = runproc_run(&s3, "a", "while :; do sleep 0.01; done");
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
}

/* Nobody reads stderr, and the pipe is full: s3lect leads on, and heeds SIGTERM. */
static void a_full_stderr_holds_nothing_up(void** state) {
  char through[512];
  assert_int_equal(mkfifo(s3proc_path(&s3, "full"), 0600), 0);
  int fd = open(s3proc_path(&s3, "full"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  assert_true(fd >= 0);
  while (write(fd, "full", 4) > 0)
    continue;
  assert_int_equal(errno, EAGAIN);
  snprintf(through, sizeof through, "exec \"$@\" 2>%s", s3proc_path(&s3, "full"));
  s3.through = through;
  proc_t* a = runproc_run(
      &s3, "a",
      "exec 2>/dev/null; trap 'exit 9' TERM; echo $$ >>pids; while :; do sleep 0.01; done");
  s3proc_await_lines(&s3, "pids", 1);
  s3proc_await_text(&s3, "events-a", "\"event\":\"renewed\"");
  assert_int_equal(proc_end(a, SIGTERM), 9);
  close(fd);
  s3.through = NULL;
  assert_int_equal(s3proc_status(&s3, NULL, NULL), 3);
}

/* What a credential_process leaves behind is none of s3lect's: it would not reap it, and the end of
 * the guard must not end it. */
static void adopts_nobody(void** state) {
  char through[512], text[1024], path[64];
  snprintf(text, sizeof text,
           "[profile x]\ncredential_process = /bin/sh -c \"sleep 5 & echo '{\\\"Version\\\":1,"
           "\\\"AccessKeyId\\\":\\\"test\\\",\\\"SecretAccessKey\\\":\\\"testtest\\\"}'\"\n");
  assert_true(write_text(s3proc_path(&s3, "config"), text));
  snprintf(through, sizeof through,
           "export AWS_CONFIG_FILE=%s AWS_PROFILE=x; "
           "unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY; exec \"$@\"",
           s3proc_path(&s3, "config"));
  s3.through = through;
  proc_t* a = runproc_run(&s3, "a", "echo ready; while :; do sleep 0.01; done");
  proc_line(a, PROC_OUT, "ready");
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", proc_pid(a), proc_pid(a));
  FILE* children = fopen(path, "re");
  if (children != NULL) { /* else the kernel does not say */
    assert_non_null(fgets(text, sizeof text, children));
    fclose(children);
    assert_int_equal(count(text, " "), 1); /* the keeper */
  }
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
      T(all_is_gone_when_the_guard_is_killed),
      T(all_is_gone_when_guard_and_keeper_are_killed),
      T(does_not_release_when_guard_and_keeper_are_killed),
      T(sigchld_may_be_ignored_at_the_start),
      T(all_is_gone_when_the_guard_is_stopped_and_s3lect_killed),
      cmocka_unit_test(refuses_to_run_without_its_proc),
      T(all_is_gone_when_s3lect_and_guard_are_killed),
      T(all_is_gone_in_time_when_the_guard_is_stopped),
      cmocka_unit_test(daemons_of_daemons_are_gone_in_time),
      T(does_not_stand_before_all_is_gone),
      T(says_that_it_could_not_release),
      T(does_not_release_before_all_is_gone),
      T(a_full_stderr_holds_nothing_up),
      T(adopts_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
