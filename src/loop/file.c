#include "loop/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "s3lect/errno.h"
#include "util/list.h"
#include "util/mem.h"

/* ---- Reading; in a thread of the pool, or in the caller's ---- */

/* Without O_NONBLOCK, opening a pipe that nobody writes to would block for ever. */
static int open_file(const char* path) {
  uv_fs_t fs;
  int fd = uv_fs_open(NULL, &fs, path, O_RDONLY | O_NONBLOCK, 0, NULL);
  uv_fs_req_cleanup(&fs);
  return fd;
}

static void close_file(uv_file fd) {
  uv_fs_t fs;
  (void)uv_fs_close(NULL, &fs, fd, NULL);
  uv_fs_req_cleanup(&fs);
}

/* Reads up to the file's end, or up to the end of the buffer. */
static int fill(s3l_file_t* f, uv_file fd) {
  int n = 1;
  while (f->len < f->cap && n > 0) {
    uv_fs_t fs;
    uv_buf_t into = {.base = f->buf + f->len, .len = f->cap - f->len};
    n = uv_fs_read(NULL, &fs, fd, &into, 1, -1, NULL);
    uv_fs_req_cleanup(&fs);
    if (n > 0)
      f->len += (size_t)n;
  }
  return n < 0 ? n : 0;
}

/* ---- In the thread pool ---- */

static void on_work(uv_work_t* work) {
  s3l_file_t* f = S3L_CONTAINER_OF(work, s3l_file_t, work);
  int fd = open_file(f->path);
  f->status = fd < 0 ? fd : fill(f, fd);
  if (fd >= 0)
    close_file(fd);
}

static void on_worked(uv_work_t* work, int status) {
  s3l_file_t* f = S3L_CONTAINER_OF(work, s3l_file_t, work);
  f->path = NULL;
  if (status == 0)
    status = f->cancelled ? UV_ECANCELED : f->status;
  if (status == 0 && f->len == f->cap)
    status = S3LECT_ETOOBIG;
  if (status != 0)
    s3l_file_free(f);
  f->done(f, status);
}

int s3l_file_start(s3l_file_t* f, s3l_loop_t* loop, const char* path, size_t max,
                   void (*done)(s3l_file_t* file, int status)) {
  f->done = done;
  f->len = 0;
  f->cancelled = false;
  f->cap = max + 1; /* one byte more shows that the file is too large */
  f->buf = s3l_malloc(f->cap);
  if (f->buf == NULL)
    return UV_ENOMEM;
  f->path = path;
  (void)uv_queue_work(s3l_loop_uv(loop), &f->work, on_work, on_worked); /* cannot fail */
  return 0;
}

void s3l_file_cancel(s3l_file_t* f) {
  if (f->path == NULL)
    return;
  f->cancelled = true;
  (void)uv_cancel((uv_req_t*)&f->work); /* on_worked runs in any case */
}

/* ---- At once ---- */

/* As many bytes as the file has when it is opened. */
static int read_all(s3l_file_t* f, uv_file fd, size_t max) {
  uv_fs_t fs;
  int err = uv_fs_fstat(NULL, &fs, fd, NULL);
  uint64_t size = err == 0 && (fs.statbuf.st_mode & S_IFMT) == S_IFREG ? fs.statbuf.st_size : 0;
  uv_fs_req_cleanup(&fs);
  if (err != 0 || size == 0)
    return err;
  if (size > max)
    return S3LECT_ETOOBIG;
  f->cap = (size_t)size;
  f->buf = s3l_malloc(f->cap);
  return f->buf == NULL ? UV_ENOMEM : fill(f, fd);
}

int s3l_file_read_now(s3l_file_t* f, const char* path, size_t max) {
  int fd = open_file(path);
  if (fd < 0)
    return fd;
  memset(f, 0, sizeof *f);
  int err = read_all(f, fd, max);
  close_file(fd);
  if (err != 0)
    s3l_file_free(f);
  return err;
}

/* ---- The content ---- */

s3l_span_t s3l_file_text(const s3l_file_t* f) {
  return (s3l_span_t){f->buf, f->buf != NULL ? f->len : 0};
}

s3l_span_t s3l_file_line(const s3l_file_t* f) {
  s3l_span_t s = s3l_file_text(f);
  while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= 0x20)
    s.n--;
  while (s.n > 0 && (unsigned char)s.p[0] <= 0x20) {
    s.p++;
    s.n--;
  }
  return s;
}

void s3l_file_free(s3l_file_t* f) {
  if (f->buf != NULL)
    s3l_wipe(f->buf, f->cap);
  s3l_free(f->buf);
  f->buf = NULL;
  f->cap = 0;
  f->len = 0;
}
