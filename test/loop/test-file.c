/* loop/file: small files, read in the thread pool and at once: their bounds, what is not there,
 * what is not a regular file, and cancelling. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/wait.h"
#include "loop/file.h"
#include "s3lect/errno.h"

static uv_loop_t uv;
static s3l_loop_t* loop;
static char path[128];
static s3l_file_t file;
static unsigned done;
static int status;

static int begin(void** state) {
  snprintf(path, sizeof(path), "/tmp/s3lect-file-%ld", (long)getpid());
  memset(&file, 0, sizeof(file));
  done = 0;
  assert_int_equal(uv_loop_init(&uv), 0);
  return s3l_loop_join(&uv, &loop);
}

static void on_left(s3l_task_t* task) {
  done = 100;
}

static int end(void** state) {
  s3l_task_t leave;
  s3l_file_free(&file);
  unlink(path);
  s3l_task_init(&leave, on_left);
  s3l_loop_leave(loop, &leave);
  s3l_wait_count(&uv, &done, 100, "the runtime to be left");
  s3l_wait_loop_end(&uv);
  return 0;
}

static void write_file(const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static void on_done(s3l_file_t* f, int err) {
  assert_ptr_equal(f, &file);
  status = err;
  done++;
}

/* Reads it in both ways, which must end alike. */
static int read_both(size_t max) {
  unsigned before = done;
  int now = s3l_file_read_now(&file, path, max);
  s3l_file_free(&file);
  assert_int_equal(s3l_file_start(&file, loop, path, max, on_done), 0);
  assert_int_equal(done, before); /* never inside */
  s3l_wait_count(&uv, &done, before + 1, "the file");
  assert_int_equal(status, now);
  return status;
}

static void reads_up_to_its_bound(void** state) {
  write_file(" \n token \r\n");
  assert_int_equal(read_both(11), 0);
  assert_int_equal(s3l_file_text(&file).n, 11);
  assert_true(s3l_span_eq(s3l_file_line(&file), S3L_SPAN("token")));
  s3l_file_free(&file);
  assert_int_equal(s3l_file_text(&file).n, 0);
  assert_int_equal(read_both(10), S3LECT_ETOOBIG);
  assert_null(s3l_file_text(&file).p);
  write_file("");
  assert_int_equal(read_both(10), 0);
  assert_int_equal(s3l_file_line(&file).n, 0);
}

static void tells_what_is_not_there(void** state) {
  assert_int_equal(read_both(10), UV_ENOENT);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(s3l_file_read_now(&file, path, 10), 0); /* it is not a regular file */
  assert_int_equal(s3l_file_start(&file, loop, path, 10, on_done), 0);
  s3l_wait_count(&uv, &done, 2, "the failure");
  assert_int_equal(status, UV_EISDIR);
  assert_int_equal(rmdir(path), 0);
}

/* A pipe that nobody writes to blocks neither of them. */
static void a_pipe_is_empty(void** state) {
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(read_both(10), 0);
  assert_int_equal(s3l_file_text(&file).n, 0);
}

static void a_read_can_be_cancelled(void** state) {
  s3l_file_cancel(&file); /* none is under way */
  write_file("text");
  assert_int_equal(s3l_file_start(&file, loop, path, 10, on_done), 0);
  s3l_file_cancel(&file);
  assert_int_equal(done, 0);
  s3l_wait_count(&uv, &done, 1, "the end of the read");
  assert_int_equal(status, UV_ECANCELED);
  assert_null(s3l_file_text(&file).p);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
  const struct CMUnitTest tests[] = {T(reads_up_to_its_bound), T(tells_what_is_not_there),
                                     T(a_pipe_is_empty), T(a_read_can_be_cancelled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
