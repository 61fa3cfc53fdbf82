/* store/file, where others may have put anything into the directory: links, FIFOs, files of other
 * users; where a process is stopped in the middle of a write; where a child inherits the lock.
 *
 * fsync and renameat are this program's own, so that a write can be stopped at either.
 *
 * ctest labels: no-valgrind */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/dir_rig.h"
#include "lib/test.h"

#define ALICE    12301
#define BOB      12302
#define TEAM     12303
#define SHORT_MS 200

/* ---- Stopping a write ---- */

typedef enum { NOWHERE, IN_FSYNC, IN_RENAME } place_t;

static _Atomic place_t stops_in, forks_in;
static pid_t heir;

/* Also where a test fails, and where the process is stopped. */
static void end_with_parent(void) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void arrive(place_t place) {
  if (stops_in == place)
    raise(SIGSTOP);
  if (forks_in == place) {
    forks_in = NOWHERE;
    heir = fork();
    if (heir == 0)
      end_with_parent();
    while (heir == 0)
      pause();
  }
}

int fsync(int fd) {
  arrive(IN_FSYNC);
  return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_dir, const char* from, int to_dir, const char* to) {
  arrive(IN_RENAME);
  return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

/* ---- A store in a directory ---- */

static int make_dir(void** state) {
  stops_in = forks_in = NOWHERE;
  return s3l_dir_make(state);
}

static void assert_text(const char* name, const char* expected) {
  assert_string_equal(s3l_dir_read(name), expected);
}

static struct stat stat_of(const char* name) {
  struct stat st;
  assert_int_equal(lstat(s3l_dir_file(name), &st), 0);
  return st;
}

static unsigned count_temps(void) {
  unsigned n = 0;
  DIR* d = opendir(s3l_dir.path);
  assert_non_null(d);
  for (const struct dirent* e; (e = readdir(d)) != NULL;)
    n += strncmp(e->d_name, ".s3lect-tmp", 11) == 0 ? 1 : 0;
  closedir(d);
  return n;
}

static int put(const char* key) {
  return s3l_dir_put(key, S3LECT_ALWAYS, NULL, "x")->status;
}

/* The message names the file and says what is wrong with it. */
static void assert_told(const char* name, const char* what) {
  assert_int_equal(s3l_dir.r.result.outcome, S3LECT_NOT_APPLIED);
  assert_int_equal(strncmp(s3l_dir.r.message, s3l_dir_file(name), strlen(s3l_dir_file(name))), 0);
  assert_non_null(strstr(s3l_dir.r.message, what));
}

/* ---- What lies there under the store's names ---- */

static void put_link(const char* name) {
  s3l_dir_write("target", "precious");
  assert_int_equal(symlink("target", s3l_dir_file(name)), 0);
}

static void put_fifo(const char* name) {
  assert_int_equal(mkfifo(s3l_dir_file(name), 0666), 0);
}

static void put_dir(const char* name) {
  assert_int_equal(mkdir(s3l_dir_file(name), 0700), 0);
}

static const struct {
  void (*put)(const char* name);
  int status;
  const char* message;
} things[] = {
    {put_link, UV_EFTYPE, ": is a link or another special file"},
    {put_fifo, UV_EFTYPE, ": is a link or another special file"},
    {put_dir, UV_EISDIR, ": is a directory"},
};
#define THINGS (sizeof(things) / sizeof(things[0]))

static void remove_thing(const char* name) {
  if (unlink(s3l_dir_file(name)) != 0)
    assert_int_equal(rmdir(s3l_dir_file(name)), 0);
}

static void a_lock_is_a_regular_file(void** state) {
  for (size_t i = 0; i < THINGS; i++) {
    s3l_dir_open();
    things[i].put(".s3lect-lock");
    assert_int_equal(put("k"), things[i].status);
    assert_told(".s3lect-lock", things[i].message);
    assert_int_equal(s3l_dir_get("k", NULL)->status, S3LECT_ENOTFOUND);
    remove_thing(".s3lect-lock");
    assert_int_equal(put("k"), 0);
    assert_int_equal(unlink(s3l_dir_file("k")), 0);
    assert_int_equal(unlink(s3l_dir_file(".s3lect-lock")), 0);
    s3l_dir_close();
  }
  assert_text("target", "precious");
  assert_int_equal(count_temps(), 0);
}

static void an_object_is_a_regular_file(void** state) {
  for (size_t i = 0; i < THINGS; i++) {
    s3l_dir_open();
    things[i].put("k");
    assert_int_equal(put("k"), things[i].status);
    assert_told("k", things[i].message);
    assert_int_equal(s3l_dir_get("k", NULL)->status, things[i].status);
    assert_told("k", things[i].message);
    s3l_suite_prepare(&s3l_dir.suite, &s3l_dir.r, "k");
    assert_int_equal(s3l_suite_do(&s3l_dir.r, s3lect_store_del)->status, things[i].status);
    assert_int_equal(s3l_dir_list()->status, things[i].status == UV_EISDIR ? 0 : UV_EFTYPE);
    remove_thing("k");
    assert_int_equal(put("k"), 0);
    assert_int_equal(unlink(s3l_dir_file("k")), 0);
    s3l_dir_close();
  }
  assert_text("target", "precious");
}

/* A long name goes on in a directory: not in one somewhere else. */
static void a_directory_is_not_a_link(void** state) {
  char key[301], link[256] = "", elsewhere[] = "/tmp/s3lect-elsewhere-XXXXXX";
  memset(key, 'a', sizeof(key) - 1);
  key[sizeof(key) - 1] = '\0';
  memset(link, 'a', 198);
  link[198] = '+';
  assert_non_null(mkdtemp(elsewhere));
  assert_int_equal(symlink(elsewhere, s3l_dir_file(link)), 0);
  s3l_dir_open();
  assert_int_equal(put(key), UV_EFTYPE);
  assert_told(link, ": is a link");
  assert_int_equal(s3l_dir_list()->status, 0);
  assert_int_equal(rmdir(elsewhere), 0); /* it is empty */
  assert_int_equal(unlink(s3l_dir_file(link)), 0);
  assert_int_equal(put(key), 0);
  assert_true(S_ISDIR(stat_of(link).st_mode));
  s3l_dir_close();
}

static void temporary_names_are_nobodys_guess(void** state) {
  s3l_dir_open();
  for (size_t i = 0; i < THINGS; i++) {
    things[i].put(".s3lect-tmp");
    assert_int_equal(put("k"), 0);
    remove_thing(".s3lect-tmp");
  }
  assert_text("target", "precious");
  s3l_dir_close();
}

static void age(const char* name, int64_t seconds) {
  struct timespec times[2];
  assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[0]), 0);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  assert_int_equal(utimensat(AT_FDCWD, s3l_dir_file(name), times, 0), 0);
}

static void old_leftovers_go(void** state) {
  s3l_dir_write(".s3lect-tmp-old", "half a rec");
  s3l_dir_write(".s3lect-tmp-young", "half a rec");
  s3l_dir_write(".s3lect-other", "no temporary file");
  put_link(".s3lect-tmp-link");
  age(".s3lect-tmp-old", 7200);
  age(".s3lect-other", 7200);
  age("target", 7200);
  s3l_dir_open();
  assert_int_equal(put("k"), 0);
  s3l_dir_close();
  assert_int_equal(access(s3l_dir_file(".s3lect-tmp-old"), F_OK), -1);
  assert_text(".s3lect-tmp-young", "half a rec");
  assert_text(".s3lect-other", "no temporary file");
  assert_text(".s3lect-tmp-link", "precious");
}

static void a_lock_in_use_does_not_look_old(void** state) {
  s3l_dir_open();
  assert_int_equal(put("k"), 0);
  age(".s3lect-lock", 864000);
  time_t before = stat_of(".s3lect-lock").st_mtime;
  assert_int_equal(put("k"), 0);
  assert_true(stat_of(".s3lect-lock").st_mtime > before + 800000);
  s3l_dir_close();
}

/* ---- Processes that stop, and children ---- */

/* Another process that puts, and leaves by 0 if that succeeds. */
static pid_t start_writer(place_t where) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    end_with_parent();
    stops_in = where;
    s3l_dir_open();
    _exit(put("k") == 0 ? 0 : 1);
  }
  return pid;
}

static void wait_stopped(pid_t pid) {
  int status;
  assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
  assert_true(WIFSTOPPED(status));
}

static void kill_writer(pid_t pid) {
  int status;
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void a_process_stopped_in_a_flush_keeps_nobody_out(void** state) {
  pid_t pid = start_writer(IN_FSYNC);
  wait_stopped(pid);
  assert_int_equal(count_temps(), 1);
  s3l_dir_open();
  assert_int_equal(put("k"), 0);
  s3l_dir_close();
  kill_writer(pid);
}

/* There is no way around this, but it ends with the process, and says what it is. */
static void a_process_stopped_under_the_lock_is_told_of(void** state) {
  pid_t pid = start_writer(IN_RENAME);
  wait_stopped(pid);
  s3l_dir_open();
  s3l_suite_prepare(&s3l_dir.suite, &s3l_dir.r, "k");
  s3l_dir.r.req.timeout_ms = SHORT_MS;
  do
    assert_int_equal(s3l_suite_do(&s3l_dir.r, s3lect_store_put)->status, UV_ETIMEDOUT);
  while (strstr(s3l_dir.r.message, "holds the lock") == NULL);
  assert_told(".s3lect-lock", ": another process holds the lock");
  kill_writer(pid);
  assert_int_equal(put("k"), 0);
  s3l_dir_close();
  assert_int_equal(count_temps(), 1); /* the other process's; none of the requests that timed out */
}

static void a_child_does_not_inherit_the_lock(void** state) {
  s3l_dir_open();
  forks_in = IN_RENAME;
  assert_int_equal(put("k"), 0);
  assert_true(heir > 0);
  assert_int_equal(put("k"), 0);
  s3l_dir_close();
  kill_writer(heir);
}

/* ---- Other users ---- */

/* Runs `what` as another user, and returns what it does. */
static int as_user(uid_t uid, gid_t group, int (*what)(void)) {
  int status;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    umask(077);
    if (setgroups(1, &group) != 0 || setgid(uid) != 0 || setuid(uid) != 0)
      _exit(99);
    _exit(what());
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int puts_and_gets(void) {
  s3l_dir_open();
  return put("k") == 0 && s3l_dir_get("k", NULL)->status == 0 ? 0 : 1;
}

static int can_open_lock(void) {
  return open(s3l_dir_file(".s3lect-lock"), O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1;
}

static void need_root(void) {
  if (geteuid() != 0)
    skip();
}

static void who_may_only_read_cannot_take_the_lock(void** state) {
  need_root();
  assert_int_equal(chmod(s3l_dir.path, 0755), 0);
  s3l_dir_write(".s3lect-lock", ""); /* as an umask of 022 leaves it */
  assert_int_equal(chmod(s3l_dir_file(".s3lect-lock"), 0644), 0);
  assert_int_equal(as_user(ALICE, ALICE, can_open_lock), 0);
  for (int i = 0; i < 2; i++) { /* one that was there, and a new one */
    s3l_dir_open();
    assert_int_equal(put("k"), 0);
    s3l_dir_close();
    assert_int_equal(as_user(ALICE, ALICE, can_open_lock), 1);
    assert_int_equal(unlink(s3l_dir_file(".s3lect-lock")), 0);
  }
}

static void a_group_shares_a_directory(void** state) {
  need_root();
  assert_int_equal(chown(s3l_dir.path, ALICE, TEAM), 0);
  assert_int_equal(chmod(s3l_dir.path, 0770), 0);
  assert_int_equal(as_user(ALICE, TEAM, puts_and_gets), 0);
  assert_int_equal(as_user(BOB, TEAM, puts_and_gets), 0);
  assert_int_equal(as_user(ALICE, TEAM, puts_and_gets), 0);
  assert_int_equal(stat_of(".s3lect-lock").st_mode & 0777, 0660);
}

static void what_root_leaves_is_in_nobodys_way(void** state) {
  need_root();
  assert_int_equal(chown(s3l_dir.path, ALICE, ALICE), 0);
  mode_t mask = umask(077);
  s3l_dir_write(".s3lect-tmp", "half a rec");
  s3l_dir_open();
  assert_int_equal(put("k"), 0);
  s3l_dir_close();
  umask(mask);
  assert_int_equal(stat_of("k").st_uid, ALICE);
  assert_int_equal(as_user(ALICE, ALICE, puts_and_gets), 0);
}

/* Says by its status which of the files it refused for their owner: bit 0 the lock, bit 1 k. */
static int puts_in_vain(void) {
  s3l_dir_open();
  int lock = put("fresh") == UV_EPERM &&
             strstr(s3l_dir.r.message, "/.s3lect-lock: belongs to another user");
  int object = put("k") == UV_EPERM && strstr(s3l_dir.r.message, "/k: belongs to another user");
  return lock | object << 1;
}

static void files_of_others_do_not_count_where_all_may_write(void** state) {
  s3lect_store_t s;
  s3lect_error_t error;
  need_root();
  assert_int_equal(chmod(s3l_dir.path, 01777), 0);
  assert_int_equal(as_user(ALICE, ALICE, puts_and_gets), 0);
  assert_int_equal(stat_of(".s3lect-lock").st_mode & 0777, 0600);
  assert_int_equal(chmod(s3l_dir_file(".s3lect-lock"), 0666), 0); /* an invitation */
  assert_int_equal(chmod(s3l_dir_file("k"), 0666), 0);
  assert_int_equal(as_user(BOB, BOB, puts_in_vain), 3);
  assert_int_equal(s3lect_store_file_check(s3l_dir.path, &error), 0);
  assert_int_equal(chown(s3l_dir.path, ALICE, ALICE), 0);
  assert_int_equal(s3lect_store_file_check(s3l_dir.path, &error), UV_EPERM);
  assert_non_null(strstr(error.text, "another user owns it"));
  assert_int_equal(chmod(s3l_dir.path, 0777), 0);
  assert_int_equal(s3lect_store_file_check(s3l_dir.path, &error), UV_EPERM);
  assert_non_null(strstr(error.text, "every user may write to it, and so"));
  assert_int_equal(s3lect_store_file_init(NULL, &s, s3l_dir.path, NULL), UV_EPERM);
}

static int gets_in_vain(void) {
  s3l_dir_open();
  return s3l_dir_get("k", NULL)->status == UV_EACCES &&
                 strstr(s3l_dir.r.message, s3l_dir_file("k: permission denied")) != NULL
             ? 0
             : 1;
}

static void an_unreadable_file_is_named(void** state) {
  need_root();
  assert_int_equal(chmod(s3l_dir.path, 0755), 0);
  s3l_dir_write("k", "secret");
  assert_int_equal(chmod(s3l_dir_file("k"), 0600), 0);
  assert_int_equal(as_user(BOB, BOB, gets_in_vain), 0);
}

/* Whoever opens the store now gets another directory, and so holds another election. */
static void assert_replaced(int status) {
  assert_int_equal(status, UV_ENOENT);
  assert_int_equal(s3l_dir.r.result.outcome, S3LECT_NOT_APPLIED);
  assert_int_equal(strncmp(s3l_dir.r.message, s3l_dir.path, strlen(s3l_dir.path)), 0);
  assert_non_null(strstr(s3l_dir.r.message, ": the directory was moved, removed or mounted over"));
}

static void a_directory_that_was_replaced_is_not_used(void** state) {
  char away[80];
  s3l_dir_open();
  assert_int_equal(put("k"), 0);
  snprintf(away, sizeof(away), "%s-away", s3l_dir.path);
  assert_int_equal(rename(s3l_dir.path, away), 0);
  assert_replaced(put("k"));
  assert_int_equal(mkdir(s3l_dir.path, 0700), 0);
  assert_replaced(put("k"));
  assert_replaced(s3l_dir_list()->status);
  assert_replaced(s3l_dir_get("k", NULL)->status);
  assert_int_equal(count_temps(), 0);
  assert_int_equal(rmdir(s3l_dir.path), 0);
  assert_int_equal(rename(away, s3l_dir.path), 0);
  assert_int_equal(put("k"), 0);
  s3l_dir_close();
}

static void a_relative_name_is_that_of_the_start(void** state) {
  char* absolute = strdup(s3l_dir.path);
  assert_non_null(absolute);
  assert_int_equal(chdir(s3l_dir.path), 0);
  snprintf(s3l_dir.path, sizeof(s3l_dir.path), ".");
  s3l_dir_open();
  snprintf(s3l_dir.path, sizeof(s3l_dir.path), "%s", absolute);
  free(absolute);
  assert_int_equal(chdir("/"), 0);
  assert_int_equal(put("k"), 0);
  s3l_dir_close();
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, s3l_dir_remove)
      T(a_lock_is_a_regular_file),
      T(an_object_is_a_regular_file),
      T(a_directory_is_not_a_link),
      T(temporary_names_are_nobodys_guess),
      T(old_leftovers_go),
      T(a_lock_in_use_does_not_look_old),
      T(a_process_stopped_in_a_flush_keeps_nobody_out),
      T(a_process_stopped_under_the_lock_is_told_of),
      T(a_child_does_not_inherit_the_lock),
      T(who_may_only_read_cannot_take_the_lock),
      T(a_group_shares_a_directory),
      T(a_directory_that_was_replaced_is_not_used),
      T(a_relative_name_is_that_of_the_start),
      T(what_root_leaves_is_in_nobodys_way),
      T(files_of_others_do_not_count_where_all_may_write),
      T(an_unreadable_file_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
