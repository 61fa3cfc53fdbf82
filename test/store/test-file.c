/* store/file: the suite; many processes on one directory; locks, crashes and files of others.
 *
 * Its other processes are forks that end in the middle of things, which valgrind takes for leaks.
 *
 * ctest labels: no-valgrind */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/heap.h"
#include "lib/store_suite.h"
#include "lib/test.h"
#include "lib/verify_rig.h"
#include "store/file/key.h"

#define PROCESSES 4
#define STEPS     25

static uv_loop_t loop;
static s3lect_store_t store;
static s3l_store_suite_t suite;
static char dir[64];
static unsigned closed;

static void on_close(s3lect_store_t* s) {
  closed++;
}

static void open_in(const char* where) {
  closed = 0;
  memset(&store, 0, sizeof(store));
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_file_init(&loop, &store, where, NULL), 0);
  suite = (s3l_store_suite_t){.loop = &loop,
                              .store = &store,
                              .timeout_ms = 20000,
                              .fresh_etags = true,
                              .guarded_deletes = true,
                              .clear_conflicts = true};
  s3l_suite_prefix(&suite);
}

static void close_it(void) {
  s3lect_store_close(&store, on_close);
  assert_int_equal(closed, 0);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(closed, 1);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static int open_store(void** state) {
  snprintf(dir, sizeof(dir), "/tmp/s3lect-file-XXXXXX");
  assert_non_null(mkdtemp(dir));
  open_in(dir);
  *state = &suite;
  return 0;
}

static char* path_of(const char* name) {
  static char path[4096];
  snprintf(path, sizeof(path), "%s/%s", dir, name);
  return path;
}

/* Removes the directory with what is in it, one level of directories included. */
static void remove_tree(const char* path) {
  DIR* d = opendir(path);
  char name[4096];
  assert_non_null(d);
  for (struct dirent* e; (e = readdir(d)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
      continue;
    snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
    if (unlink(name) != 0)
      remove_tree(name);
  }
  closedir(d);
  assert_int_equal(rmdir(path), 0);
}

static int close_store(void** state) {
  close_it();
  remove_tree(dir);
  return 0;
}

static void write_file(const char* name, const char* text) {
  FILE* f = fopen(path_of(name), "we");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static const char* read_file(const char* name) {
  static char text[4096];
  FILE* f = fopen(path_of(name), "re");
  size_t n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
  text[n] = '\0';
  if (f != NULL)
    fclose(f);
  return text;
}

static s3l_suite_req_t* new_request(void) {
  s3l_suite_req_t* r = calloc(1, sizeof(*r));
  assert_non_null(r);
  suite.prefix[0] = '\0';
  return r;
}

/* ---- Keys and files ---- */

static void an_object_is_a_file_of_its_name(void** state) {
  s3l_suite_req_t* r = new_request();
  assert_int_equal(s3l_suite_put(&suite, r, "lock.json", S3LECT_IF_ABSENT, NULL, "{}\n")->status,
                   0);
  char id[40] = "";
  assert_int_equal(sscanf(read_file("lock.json"), "s3lect 1 %32[0-9a-f]\n", id), 1);
  assert_string_equal(read_file("lock.json") + 42, "{}\n");
  assert_int_equal(strlen(r->etag), 34);
  assert_memory_equal(r->etag + 1, id, 32);
  assert_true(r->result.store_time_ms > 0 && r->result.modified_ms > 0);
  assert_true(r->result.store_time_ms - r->result.modified_ms < 60000);
  /* It is still there for whoever opens the directory next. */
  char etag[256];
  snprintf(etag, sizeof(etag), "%s", r->etag);
  close_it();
  open_in(dir);
  suite.prefix[0] = '\0';
  assert_int_equal(s3l_suite_get(&suite, r, "lock.json", NULL)->status, 0);
  assert_string_equal(r->etag, etag);
  assert_string_equal(r->body, "{}\n");
  free(r);
}

static void no_key_leaves_the_directory(void** state) {
  static const char* const keys[] = {
      "..",   ".",   "../x", "/etc/passwd", "a/../../b",   ".hidden",     "a//b",
      "a/b/", "%2F", "+",    "a+",          ".s3lect-tmp", ".s3lect-lock"};
  s3l_suite_req_t* r = new_request();
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    char path[S3L_FILE_PATH_MAX], back[S3L_STORE_KEY_MAX + 1];
    s3l_file_path(keys[i], path);
    assert_null(strchr(path, '/'));
    assert_true(path[0] != '.');
    assert_true(s3l_file_key(s3l_span_cstr(path), back));
    assert_string_equal(back, keys[i]);
    assert_int_equal(s3l_suite_put(&suite, r, keys[i], S3LECT_IF_ABSENT, NULL, keys[i])->status, 0);
    assert_memory_equal(read_file(path), "s3lect 1 ", 9);
  }
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    assert_int_equal(s3l_suite_get(&suite, r, keys[i], NULL)->status, 0);
    assert_string_equal(r->body, keys[i]);
  }
  free(r);
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
  s3l_suite_req_t* r = new_request();
  char etag[256];
  write_file("lock.json", "{\"leaderID\":\"by hand\"}");
  assert_int_equal(s3l_suite_get(&suite, r, "lock.json", NULL)->status, 0);
  assert_string_equal(r->body, "{\"leaderID\":\"by hand\"}");
  assert_memory_equal(r->etag, "\"foreign-", 9);
  snprintf(etag, sizeof(etag), "%s", r->etag);
  assert_int_equal(s3l_suite_get(&suite, r, "lock.json", etag)->status, S3LECT_ENOTMODIFIED);
  assert_int_equal(s3l_suite_put(&suite, r, "lock.json", S3LECT_IF_ABSENT, NULL, "x")->status,
                   S3LECT_EPRECONDITION);
  write_file("lock.json", "edited once more");
  assert_int_equal(s3l_suite_put(&suite, r, "lock.json", S3LECT_IF_MATCH, etag, "x")->status,
                   S3LECT_EPRECONDITION);
  assert_int_equal(s3l_suite_get(&suite, r, "lock.json", etag)->status, 0);
  snprintf(etag, sizeof(etag), "%s", r->etag);
  assert_int_equal(s3l_suite_put(&suite, r, "lock.json", S3LECT_IF_MATCH, etag, "x")->status, 0);
  assert_memory_equal(read_file("lock.json"), "s3lect 1 ", 9);
  free(r);
}

static void leftovers_of_a_crash_do_no_harm(void** state) {
  s3l_suite_req_t* r = new_request();
  write_file(".s3lect-tmp-1", "half a rec");
  assert_int_equal(s3l_suite_put(&suite, r, "k", S3LECT_IF_ABSENT, NULL, "whole")->status, 0);
  write_file("no%key", "");
  assert_int_equal(mkdir(path_of("folder"), 0777), 0);
  s3l_suite_prepare(&suite, r, "k");
  r->req.key = "";
  r->req.max_keys = 10;
  assert_int_equal(s3l_suite_do(r, s3lect_store_list)->status, 0);
  assert_int_equal(r->keys_len, 1);
  assert_string_equal(r->keys[0], "k");
  assert_int_equal(s3l_suite_get(&suite, r, "folder", NULL)->status, UV_EISDIR);
  assert_int_equal(r->result.outcome, S3LECT_NOT_APPLIED);
  assert_int_equal(s3l_suite_put(&suite, r, "folder", S3LECT_ALWAYS, NULL, "x")->status, UV_EISDIR);
  assert_int_equal(r->result.outcome, S3LECT_NOT_APPLIED);
  free(r);
}

/* ---- The lock ---- */

static int hold_lock(void) {
  int fd = open(path_of(".s3lect-lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
  return fd;
}

/* As by a process that was stopped in the middle of a write. */
static void a_lock_that_is_held_is_waited_for_in_vain(void** state) {
  s3l_suite_req_t* r = new_request();
  char lock_message[128];
  int fd = hold_lock();
  snprintf(lock_message, sizeof(lock_message), "%s/.s3lect-lock: another process holds the lock",
           dir);
  s3l_suite_prepare(&suite, r, "k");
  r->req.condition = S3LECT_IF_ABSENT;
  r->req.timeout_ms = 100;
  /* The time may end in the middle of a try, or before the first one: then it is asked again. */
  int asked = 0;
  do
    assert_int_equal(s3l_suite_do(r, s3lect_store_put)->status, UV_ETIMEDOUT);
  while (strcmp(r->message, lock_message) != 0 && ++asked < 100);
  assert_int_equal(r->result.outcome, S3LECT_NOT_APPLIED);
  assert_string_equal(r->message, lock_message);
  assert_int_equal(s3l_suite_get(&suite, r, "k", NULL)->status, S3LECT_ENOTFOUND); /* reads go on */
  close(fd);
  assert_int_equal(s3l_suite_put(&suite, r, "k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
  free(r);
}

static void on_timer(uv_timer_t* timer) {
  close(*(int*)timer->data);
  uv_close((uv_handle_t*)timer, NULL);
}

static void a_lock_that_is_given_up_is_taken(void** state) {
  s3l_suite_req_t* r = new_request();
  uv_timer_t timer;
  int fd = hold_lock();
  uv_timer_init(&loop, &timer);
  timer.data = &fd;
  uv_timer_start(&timer, on_timer, 50, 0);
  assert_int_equal(s3l_suite_put(&suite, r, "k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
  free(r);
}

/* Whoever removes the lock file makes a second lock: writers notice, and take the new one. */
static void a_lock_file_that_is_gone_is_no_lock(void** state) {
  s3l_suite_req_t* r = new_request();
  int fd = hold_lock();
  assert_int_equal(unlink(path_of(".s3lect-lock")), 0);
  assert_int_equal(s3l_suite_put(&suite, r, "k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
  close(fd);
  free(r);
}

/* ---- Many processes ---- */

/* Adds one to the counter in the object, so many times, each by compare-and-swap. */
static int count_up(void) {
  s3l_suite_req_t* r = new_request();
  int done = 0;
  while (done < STEPS) {
    char etag[256], body[32];
    if (s3l_suite_get(&suite, r, "counter", NULL)->status != 0)
      return 1;
    snprintf(etag, sizeof(etag), "%s", r->etag);
    snprintf(body, sizeof(body), "%ld", strtol(r->body, NULL, 10) + 1);
    int status = s3l_suite_put(&suite, r, "counter", S3LECT_IF_MATCH, etag, body)->status;
    if (status == 0)
      done++;
    else if (status != S3LECT_EPRECONDITION)
      return 2;
  }
  free(r);
  return 0;
}

static void swaps_hold_between_processes(void** state) {
  pid_t pids[PROCESSES];
  char expected[32];
  s3l_suite_req_t* r = new_request();
  assert_int_equal(s3l_suite_put(&suite, r, "counter", S3LECT_ALWAYS, NULL, "0")->status, 0);
  close_it(); /* threads do not survive a fork */
  for (int i = 0; i < PROCESSES; i++) {
    pids[i] = fork();
    assert_true(pids[i] >= 0);
    if (pids[i] == 0) {
      open_in(dir);
      _exit(count_up());
    }
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  open_in(dir);
  suite.prefix[0] = '\0';
  assert_int_equal(s3l_suite_get(&suite, r, "counter", NULL)->status, 0);
  snprintf(expected, sizeof(expected), "%d", PROCESSES * STEPS);
  assert_string_equal(r->body, expected);
  free(r);
}

static void is_good_for_the_lockfile(void** state) {
  static s3l_verify_rig_t rig;
  s3lect_verify_options_t o;
  s3lect_verify_options_init(&o, sizeof(o));
  o.store = &store;
  s3l_verify_rig_run(&rig, &o);
  s3l_verify_rig_failed(&rig, (const char* const[]){NULL});
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(s3l_verify_rig_check(&rig, "equal-bodies"), S3LECT_CHECK_PASSED);
  assert_int_equal(rig.report.leftovers, 0);
}

/* ---- The rest ---- */

static void names_what_cannot_be_opened(void** state) {
  s3lect_store_t s;
  write_file("file", "");
  assert_int_equal(s3lect_store_file_init(&loop, &s, NULL, NULL), S3LECT_EOPTION);
  assert_int_equal(s3lect_store_file_init(&loop, &s, "", NULL), S3LECT_EOPTION);
  assert_int_equal(s3lect_store_file_init(&loop, &s, "/nonexistent/x", NULL), UV_ENOENT);
  assert_int_equal(s3lect_store_file_init(&loop, &s, path_of("file"), NULL), UV_ENOTDIR);
}

static unsigned ended;

static void on_ended(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  (void)req;
  if (r->status != 0)
    assert_int_equal(r->status, UV_ECANCELED);
  assert_int_equal(closed, 0);
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
    assert_int_equal(op(&store, &req[i]), 0);
  }
  close_it();
  assert_int_equal(ended, 6);
  open_in(dir);
}

static void close_in_callback(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  (void)r;
  s3lect_store_close(req->store, on_close);
}

static void may_be_closed_in_a_callback(void** state) {
  s3lect_store_req_t req = {.key = "k", .timeout_ms = 10000, .cb = close_in_callback};
  assert_int_equal(s3lect_store_put(&store, &req), 0);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(closed, 1);
  assert_int_equal(uv_loop_close(&loop), 0);
  open_in(dir);
}

static void lets_the_loop_end(void** state) {
  s3l_suite_req_t* r = new_request();
  assert_int_equal(s3l_suite_get(&suite, r, "x", NULL)->status, S3LECT_ENOTFOUND);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  free(r);
}

static int last_status;

static void on_any_end(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  (void)req;
  last_status = r->status;
  ended++;
}

static void try_op(int (*op)(s3lect_store_t*, s3lect_store_req_t*), s3lect_store_req_t* req) {
  unsigned before = ended;
  last_status = op(&store, req);
  if (last_status == 0)
    while (ended == before)
      uv_run(&loop, UV_RUN_ONCE);
  assert_true(last_status == 0 || last_status == UV_ENOMEM || last_status == S3LECT_ENOTFOUND);
}

static void survives_memory_running_out(void** state) {
  bool failed = true;
  close_it();
  for (size_t n = 0; failed; n++) {
    s3l_heap_install();
    assert_int_equal(uv_loop_init(&loop), 0);
    closed = 0;
    s3l_heap_fail_at(n, false);
    int err = s3lect_store_file_init(&loop, &store, dir, NULL);
    assert_true(err == 0 || err == UV_ENOMEM);
    if (err == 0) {
      s3lect_store_req_t req = {.key = "k", .timeout_ms = 10000, .cb = on_any_end, .max_keys = 5};
      try_op(s3lect_store_put, &req);
      try_op(s3lect_store_get, &req);
      try_op(s3lect_store_list, &req);
      try_op(s3lect_store_del, &req);
      s3lect_store_close(&store, on_close);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(closed, err == 0 ? 1 : 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    failed = s3l_heap_fail_end();
    s3l_heap_remove();
  }
  open_in(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {S3L_STORE_SUITE_TESTS};
  const struct CMUnitTest own[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, open_store, close_store)
      T(an_object_is_a_file_of_its_name),  T(no_key_leaves_the_directory),
      T(long_names_go_on_in_directories),  T(a_file_of_somebody_elses_is_an_object),
      T(leftovers_of_a_crash_do_no_harm),  T(a_lock_that_is_held_is_waited_for_in_vain),
      T(a_lock_that_is_given_up_is_taken), T(a_lock_file_that_is_gone_is_no_lock),
      T(swaps_hold_between_processes),     T(is_good_for_the_lockfile),
      T(names_what_cannot_be_opened),      T(close_ends_requests),
      T(may_be_closed_in_a_callback),      T(lets_the_loop_end),
      T(survives_memory_running_out),
  };
  int failed = cmocka_run_group_tests_name("suite", tests, open_store, close_store);
  return failed + cmocka_run_group_tests_name("own", own, NULL, NULL);
}
