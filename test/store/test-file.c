/* store/file: the suite; many processes on one directory; locks, crashes and files of others.
 *
 * Its other processes are forks that end in the middle of things, which valgrind takes for leaks.
 *
 * ctest labels: no-valgrind */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clocks.h"
#include "lib/dir_rig.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/verify_rig.h"
#include "lib/wait.h"
#include "store/file/key.h"

#define PROCESSES 4
#define STEPS     25

static int open_store(void** state) {
  s3l_dir_make(state);
  s3l_dir_open();
  return 0;
}

static int close_store(void** state) {
  s3l_dir_close();
  return s3l_dir_remove(state);
}

static int open_suite(void** state) {
  open_store(state);
  s3l_suite_prefix(&s3l_dir.suite);
  *state = &s3l_dir.suite;
  return 0;
}

/* ---- The clock ---- */

/* Machines that share a directory do not share a wall clock. The epoch of a claim over a lockfile
 * that is gone is the store's time, which must not go back from one machine to the next. */
static void time_is_the_file_systems(void** state) {
  static s3l_clocks_t clocks;
  static const int64_t steps_h[] = {-48, 48};
  assert_int_equal(s3l_dir_put("lock.json", S3LECT_IF_ABSENT, NULL, "{}\n")->status, 0);
  int64_t before = s3l_dir.r.result.modified_ms;
  for (size_t i = 0; i < 2; i++) {
    if (!s3l_clocks_move())
      skip();
    s3l_clocks_use(&clocks);
    s3l_clocks_change(&clocks, &clocks.wall_ns, steps_h[i] * 3600 * 1000000000);
    assert_int_equal(s3l_dir_get("absent.json", NULL)->status, S3LECT_ENOTFOUND);
    s3l_clocks_change(&clocks, &clocks.wall_ns, -steps_h[i] * 3600 * 1000000000);
    assert_in_range(s3l_dir.r.result.store_time_ms, before - 1000, before + 3600000);
  }
}

/* ---- Keys and files ---- */

static void an_object_is_a_file_of_its_name(void** state) {
  assert_int_equal(s3l_dir_put("lock.json", S3LECT_IF_ABSENT, NULL, "{}\n")->status, 0);
  char id[40] = "";
  assert_int_equal(sscanf(s3l_dir_read("lock.json"), "s3lect 1 %32[0-9a-f]\n", id), 1);
  assert_string_equal(s3l_dir_read("lock.json") + 42, "{}\n");
  assert_int_equal(strlen(s3l_dir.r.etag), 34);
  assert_memory_equal(s3l_dir.r.etag + 1, id, 32);
  assert_true(s3l_dir.r.result.store_time_ms > 0 && s3l_dir.r.result.modified_ms > 0);
  assert_true(s3l_dir.r.result.store_time_ms - s3l_dir.r.result.modified_ms < 60000);
  /* It is still there for whoever opens the directory next. */
  char etag[256];
  snprintf(etag, sizeof(etag), "%s", s3l_dir.r.etag);
  s3l_dir_close();
  s3l_dir_open();
  assert_int_equal(s3l_dir_get("lock.json", NULL)->status, 0);
  assert_string_equal(s3l_dir.r.etag, etag);
  assert_string_equal(s3l_dir.r.body, "{}\n");
}

static void no_key_leaves_the_directory(void** state) {
  static const char* const keys[] = {
      "..",   ".",   "../x", "/etc/passwd", "a/../../b",   ".hidden",     "a//b",
      "a/b/", "%2F", "+",    "a+",          ".s3lect-tmp", ".s3lect-lock"};
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    char path[S3L_FILE_PATH_MAX], back[S3L_STORE_KEY_MAX + 1];
    s3l_file_path(keys[i], path);
    assert_null(strchr(path, '/'));
    assert_true(path[0] != '.');
    assert_true(s3l_file_key(s3l_span_cstr(path), back));
    assert_string_equal(back, keys[i]);
    assert_int_equal(s3l_dir_put(keys[i], S3LECT_IF_ABSENT, NULL, keys[i])->status, 0);
    assert_memory_equal(s3l_dir_read(path), "s3lect 1 ", 9);
  }
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    assert_int_equal(s3l_dir_get(keys[i], NULL)->status, 0);
    assert_string_equal(s3l_dir.r.body, keys[i]);
  }
}

static void long_names_go_on_in_directories(void** state) {
  char key[S3L_STORE_KEY_MAX + 1], path[S3L_FILE_PATH_MAX], back[S3L_STORE_KEY_MAX + 1];
  for (size_t n = 1; n <= S3L_STORE_KEY_MAX; n++) {
    for (int c = 0; c < 3; c++) {
      memset(key, "a./"[c], n);
      key[n] = '\0';
      s3l_file_path(key, path);
      assert_true(strlen(path) < S3L_FILE_PATH_MAX);
      assert_true(s3l_file_key(s3l_span_cstr(path), back));
      assert_string_equal(back, key);
      for (char* part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/' ? 1 : 0;
        assert_true(*part != '.' && *part != '\0' && strcspn(part, "/") <= S3L_FILE_PART_MAX + 1);
      }
    }
  }
  /* What encodes otherwise is not ours. */
  static const char* const strangers[] = {"", "%6c", "a%2f", "a+", "a+/b", ".x", "a b", "%", "%00"};
  for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
    assert_false(s3l_file_key(s3l_span_cstr(strangers[i]), back));
}

/* ---- What others left there ---- */

static void a_file_of_somebody_elses_is_an_object(void** state) {
  char etag[256];
  s3l_dir_write("lock.json", "{\"leaderID\":\"by hand\"}");
  assert_int_equal(s3l_dir_get("lock.json", NULL)->status, 0);
  assert_string_equal(s3l_dir.r.body, "{\"leaderID\":\"by hand\"}");
  assert_memory_equal(s3l_dir.r.etag, "\"foreign-", 9);
  snprintf(etag, sizeof(etag), "%s", s3l_dir.r.etag);
  assert_int_equal(s3l_dir_get("lock.json", etag)->status, S3LECT_ENOTMODIFIED);
  assert_int_equal(s3l_dir_put("lock.json", S3LECT_IF_ABSENT, NULL, "x")->status,
                   S3LECT_EPRECONDITION);
  s3l_dir_write("lock.json", "edited once more");
  assert_int_equal(s3l_dir_put("lock.json", S3LECT_IF_MATCH, etag, "x")->status,
                   S3LECT_EPRECONDITION);
  assert_int_equal(s3l_dir_get("lock.json", etag)->status, 0);
  snprintf(etag, sizeof(etag), "%s", s3l_dir.r.etag);
  assert_int_equal(s3l_dir_put("lock.json", S3LECT_IF_MATCH, etag, "x")->status, 0);
  assert_memory_equal(s3l_dir_read("lock.json"), "s3lect 1 ", 9);
}

static void leftovers_of_a_crash_do_no_harm(void** state) {
  s3l_dir_write(".s3lect-tmp-1", "half a rec");
  assert_int_equal(s3l_dir_put("k", S3LECT_IF_ABSENT, NULL, "whole")->status, 0);
  s3l_dir_write("no%key", "");
  assert_int_equal(mkdir(s3l_dir_file("folder"), 0777), 0);
  assert_int_equal(s3l_dir_list()->status, 0);
  assert_int_equal(s3l_dir.r.keys_len, 1);
  assert_string_equal(s3l_dir.r.keys[0], "k");
  assert_int_equal(s3l_dir_get("folder", NULL)->status, UV_EISDIR);
  assert_int_equal(s3l_dir.r.result.outcome, S3LECT_NOT_APPLIED);
  assert_int_equal(s3l_dir_put("folder", S3LECT_ALWAYS, NULL, "x")->status, UV_EISDIR);
  assert_int_equal(s3l_dir.r.result.outcome, S3LECT_NOT_APPLIED);
}

/* ---- The lock ---- */

static int hold_lock(void) {
  int fd = open(s3l_dir_file(".s3lect-lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
  return fd;
}

/* As by a process that was stopped in the middle of a write. */
static void a_lock_that_is_held_is_waited_for_in_vain(void** state) {
  char lock_message[128];
  int fd = hold_lock();
  snprintf(lock_message, sizeof(lock_message), "%s/.s3lect-lock: another process holds the lock",
           s3l_dir.path);
  s3l_suite_prepare(&s3l_dir.suite, &s3l_dir.r, "k");
  s3l_dir.r.req.condition = S3LECT_IF_ABSENT;
  s3l_dir.r.req.timeout_ms = 100;
  /* The time may end in the middle of a try, or before the first one: then it is asked again. */
  int asked = 0;
  do
    assert_int_equal(s3l_suite_do(&s3l_dir.r, s3lect_store_put)->status, UV_ETIMEDOUT);
  while (strcmp(s3l_dir.r.message, lock_message) != 0 && ++asked < 100);
  assert_int_equal(s3l_dir.r.result.outcome, S3LECT_NOT_APPLIED);
  assert_string_equal(s3l_dir.r.message, lock_message);
  assert_int_equal(s3l_dir_get("k", NULL)->status, S3LECT_ENOTFOUND); /* reads go on */
  close(fd);
  assert_int_equal(s3l_dir_put("k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
}

static void on_timer(uv_timer_t* timer) {
  close(*(int*)timer->data);
  uv_close((uv_handle_t*)timer, NULL);
}

static void a_lock_that_is_given_up_is_taken(void** state) {
  uv_timer_t timer;
  int fd = hold_lock();
  uv_timer_init(&s3l_dir.loop, &timer);
  timer.data = &fd;
  uv_timer_start(&timer, on_timer, 50, 0);
  assert_int_equal(s3l_dir_put("k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
}

/* Whoever removes the lock file makes a second lock: writers notice, and take the new one. */
static void a_lock_file_that_is_gone_is_no_lock(void** state) {
  int fd = hold_lock();
  assert_int_equal(unlink(s3l_dir_file(".s3lect-lock")), 0);
  assert_int_equal(s3l_dir_put("k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
  close(fd);
}

/* ---- Many processes ---- */

/* Adds one to the counter in the object, so many times, each by compare-and-swap. */
static int count_up(void) {
  int done = 0;
  while (done < STEPS) {
    char etag[256], body[32];
    if (s3l_dir_get("counter", NULL)->status != 0)
      return 1;
    snprintf(etag, sizeof(etag), "%s", s3l_dir.r.etag);
    snprintf(body, sizeof(body), "%ld", strtol(s3l_dir.r.body, NULL, 10) + 1);
    int status = s3l_dir_put("counter", S3LECT_IF_MATCH, etag, body)->status;
    if (status == 0)
      done++;
    else if (status != S3LECT_EPRECONDITION)
      return 2;
  }
  return 0;
}

static void swaps_hold_between_processes(void** state) {
  pid_t pids[PROCESSES];
  char expected[32];
  assert_int_equal(s3l_dir_put("counter", S3LECT_ALWAYS, NULL, "0")->status, 0);
  s3l_dir_close(); /* threads do not survive a fork */
  for (int i = 0; i < PROCESSES; i++) {
    pids[i] = fork();
    assert_true(pids[i] >= 0);
    if (pids[i] == 0) {
      s3l_dir_open();
      _exit(count_up());
    }
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  s3l_dir_open();
  assert_int_equal(s3l_dir_get("counter", NULL)->status, 0);
  snprintf(expected, sizeof(expected), "%d", PROCESSES * STEPS);
  assert_string_equal(s3l_dir.r.body, expected);
}

static void is_good_for_the_lockfile(void** state) {
  static s3l_verify_rig_t rig;
  s3lect_verify_options_t o;
  s3lect_verify_options_init(&o, sizeof(o));
  o.store = &s3l_dir.store;
  s3l_verify_rig_run(&rig, &o);
  s3l_verify_rig_failed(&rig, (const char* const[]){NULL});
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(s3l_verify_rig_check(&rig, "equal-bodies"), S3LECT_CHECK_PASSED);
  assert_int_equal(rig.report.leftovers, 0);
}

/* ---- The rest ---- */

static void names_what_cannot_be_opened(void** state) {
  s3lect_store_t s;
  s3l_dir_write("file", "");
  assert_int_equal(s3lect_store_file_init(&s3l_dir.loop, &s, NULL, NULL), S3LECT_EOPTION);
  assert_int_equal(s3lect_store_file_init(&s3l_dir.loop, &s, "", NULL), S3LECT_EOPTION);
  assert_int_equal(s3lect_store_file_init(&s3l_dir.loop, &s, "/nonexistent/x", NULL), UV_ENOENT);
  assert_int_equal(s3lect_store_file_init(&s3l_dir.loop, &s, s3l_dir_file("file"), NULL),
                   UV_ENOTDIR);
}

static unsigned ended;

static void on_ended(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  if (r->status != 0)
    assert_int_equal(r->status, UV_ECANCELED);
  assert_int_equal(s3l_dir.closed, 0);
  ended++;
}

static void close_ends_requests(void** state) {
  s3lect_store_req_t req[6];
  ended = 0;
  for (int i = 0; i < 6; i++) {
    req[i] = (s3lect_store_req_t){.key = "k", .timeout_ms = 10000, .cb = on_ended, .max_keys = 3};
    int (*op)(s3lect_store_t*, s3lect_store_req_t*) = i < 3   ? s3lect_store_put
                                                      : i < 5 ? s3lect_store_get
                                                              : s3lect_store_list;
    assert_int_equal(op(&s3l_dir.store, &req[i]), 0);
  }
  s3l_dir_close();
  assert_int_equal(ended, 6);
  s3l_dir_open();
}

static void close_in_callback(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  s3lect_store_close(req->store, s3l_dir_on_close);
}

static void may_be_closed_in_a_callback(void** state) {
  s3lect_store_req_t req = {.key = "k", .timeout_ms = 10000, .cb = close_in_callback};
  assert_int_equal(s3lect_store_put(&s3l_dir.store, &req), 0);
  assert_int_equal(uv_run(&s3l_dir.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(s3l_dir.closed, 1);
  assert_int_equal(uv_loop_close(&s3l_dir.loop), 0);
  s3l_dir_open();
}

static void lets_the_loop_end(void** state) {
  assert_int_equal(s3l_dir_get("x", NULL)->status, S3LECT_ENOTFOUND);
  assert_int_equal(uv_run(&s3l_dir.loop, UV_RUN_DEFAULT), 0);
}

static int last_status;

static void on_any_end(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  last_status = r->status;
  ended++;
}

static void try_op(int (*op)(s3lect_store_t*, s3lect_store_req_t*), s3lect_store_req_t* req) {
  unsigned before = ended;
  last_status = op(&s3l_dir.store, req);
  if (last_status == 0)
    while (ended == before)
      s3l_turn(&s3l_dir.loop);
  assert_true(last_status == 0 || last_status == UV_ENOMEM || last_status == S3LECT_ENOTFOUND);
}

static void survives_memory_running_out(void** state) {
  bool failed = true;
  s3l_dir_close();
  for (size_t n = 0; failed; n++) {
    s3l_heap_install();
    assert_int_equal(uv_loop_init(&s3l_dir.loop), 0);
    s3l_dir.closed = 0;
    s3l_heap_fail_at(n, false);
    int err = s3lect_store_file_init(&s3l_dir.loop, &s3l_dir.store, s3l_dir.path, NULL);
    assert_true(err == 0 || err == UV_ENOMEM);
    if (err == 0) {
      s3lect_store_req_t req = {.key = "k", .timeout_ms = 10000, .cb = on_any_end, .max_keys = 5};
      try_op(s3lect_store_put, &req);
      try_op(s3lect_store_get, &req);
      try_op(s3lect_store_list, &req);
      try_op(s3lect_store_del, &req);
      s3lect_store_close(&s3l_dir.store, s3l_dir_on_close);
    }
    uv_run(&s3l_dir.loop, UV_RUN_DEFAULT);
    assert_int_equal(s3l_dir.closed, err == 0 ? 1 : 0);
    assert_int_equal(uv_loop_close(&s3l_dir.loop), 0);
    failed = s3l_heap_fail_end();
    s3l_heap_remove();
  }
  s3l_dir_open();
}

int main(void) {
  const struct CMUnitTest tests[] = {S3L_STORE_SUITE_TESTS};
  const struct CMUnitTest own[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, open_store, close_store)
      T(time_is_the_file_systems),
      T(an_object_is_a_file_of_its_name),
      T(no_key_leaves_the_directory),
      T(long_names_go_on_in_directories),
      T(a_file_of_somebody_elses_is_an_object),
      T(leftovers_of_a_crash_do_no_harm),
      T(a_lock_that_is_held_is_waited_for_in_vain),
      T(a_lock_that_is_given_up_is_taken),
      T(a_lock_file_that_is_gone_is_no_lock),
      T(swaps_hold_between_processes),
      T(is_good_for_the_lockfile),
      T(names_what_cannot_be_opened),
      T(close_ends_requests),
      T(may_be_closed_in_a_callback),
      T(lets_the_loop_end),
      T(survives_memory_running_out),
  };
  int failed = cmocka_run_group_tests_name("suite", tests, open_suite, close_store);
  return failed + cmocka_run_group_tests_name("own", own, NULL, NULL);
}
