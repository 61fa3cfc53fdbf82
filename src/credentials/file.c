#include "credentials/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "s3lect/errno.h"
#include "util/list.h"
#include "util/mem.h"

static void finish(s3l_file_t* f) {
  int status = f->cancelled ? UV_ECANCELED : f->status;
  f->busy = false;
  if (status != 0)
    s3l_file_free(f);
  f->done(f, status);
}

static void on_close(uv_fs_t* fs) {
  s3l_file_t* f = S3L_CONTAINER_OF(fs, s3l_file_t, fs);
  uv_fs_req_cleanup(fs);
  finish(f);
}

static void close_file(s3l_file_t* f, int status) {
  f->status = status;
  f->closing = true;
  if (uv_fs_close(f->loop, &f->fs, f->fd, on_close) != 0)
    finish(f);
}

static void read_more(s3l_file_t* f);

static void on_read(uv_fs_t* fs) {
  s3l_file_t* f = S3L_CONTAINER_OF(fs, s3l_file_t, fs);
  ssize_t n = fs->result;
  uv_fs_req_cleanup(fs);
  if (n <= 0 || f->cancelled) {
    close_file(f, n < 0 ? (int)n : 0);
    return;
  }
  f->len += (size_t)n;
  if (f->len == f->cap)
    close_file(f, S3LECT_ETOOBIG);
  else
    read_more(f);
}

static void read_more(s3l_file_t* f) {
  uv_buf_t into = uv_buf_init(f->buf + f->len, (unsigned)(f->cap - f->len));
  int err = uv_fs_read(f->loop, &f->fs, f->fd, &into, 1, -1, on_read);
  if (err != 0)
    close_file(f, err);
}

static void on_open(uv_fs_t* fs) {
  s3l_file_t* f = S3L_CONTAINER_OF(fs, s3l_file_t, fs);
  ssize_t fd = fs->result;
  uv_fs_req_cleanup(fs);
  if (fd < 0) {
    f->status = (int)fd;
    finish(f);
    return;
  }
  f->fd = (uv_file)fd;
  read_more(f);
}

int s3l_file_start(s3l_file_t* f, uv_loop_t* loop, const char* path, size_t max,
                   void (*done)(s3l_file_t* file, int status)) {
  f->loop = loop;
  f->done = done;
  f->len = 0;
  f->status = 0;
  f->closing = false;
  f->cancelled = false;
  f->cap = max + 1; /* one byte more shows that there is more */
  f->buf = s3l_malloc(f->cap);
  if (f->buf == NULL)
    return UV_ENOMEM;
  /* Of a pipe that nobody writes to, the open must not hang a thread of the pool for ever. */
  int err = uv_fs_open(loop, &f->fs, path, O_RDONLY | O_NONBLOCK, 0, on_open);
  f->busy = err == 0;
  if (err != 0)
    s3l_file_free(f);
  return err;
}

/* As many bytes as there were when it was opened. */
static int read_all(s3l_file_t* f, uv_file fd, size_t max) {
  uv_fs_t fs;
  int n = uv_fs_fstat(NULL, &fs, fd, NULL);
  uint64_t size = n == 0 && (fs.statbuf.st_mode & S_IFMT) == S_IFREG ? fs.statbuf.st_size : 0;
  uv_fs_req_cleanup(&fs);
  if (n != 0 || size == 0)
    return n;
  if (size > max)
    return S3LECT_ETOOBIG;
  f->cap = (size_t)size;
  f->buf = s3l_malloc(f->cap);
  if (f->buf == NULL)
    return UV_ENOMEM;
  while (f->len < f->cap) {
    uv_buf_t into = uv_buf_init(f->buf + f->len, (unsigned)(f->cap - f->len));
    n = uv_fs_read(NULL, &fs, fd, &into, 1, -1, NULL);
    uv_fs_req_cleanup(&fs);
    if (n <= 0)
      break;
    f->len += (size_t)n;
  }
  return n < 0 ? n : 0;
}

int s3l_file_read_now(s3l_file_t* f, const char* path, size_t max) {
  uv_fs_t fs;
  int fd = uv_fs_open(NULL, &fs, path, O_RDONLY | O_NONBLOCK, 0, NULL);
  uv_fs_req_cleanup(&fs);
  if (fd < 0)
    return fd;
  f->buf = NULL;
  f->cap = 0;
  f->len = 0;
  int err = read_all(f, fd, max);
  (void)uv_fs_close(NULL, &fs, fd, NULL);
  uv_fs_req_cleanup(&fs);
  if (err != 0)
    s3l_file_free(f);
  return err;
}

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

void s3l_file_cancel(s3l_file_t* f) {
  if (!f->busy)
    return;
  f->cancelled = true;
  if (!f->closing)                      /* a close that is cancelled would not close */
    (void)uv_cancel((uv_req_t*)&f->fs); /* on_open or on_read runs all the same */
}

void s3l_file_free(s3l_file_t* f) {
  if (f->buf != NULL)
    s3l_wipe(f->buf, f->cap);
  s3l_free(f->buf);
  f->buf = NULL;
  f->cap = 0;
  f->len = 0;
}
