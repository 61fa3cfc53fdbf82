#include "writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cli_writer_s {
  int fd;
  cli_writer_error_cb cb;
  void* arg;
  uv_async_t failed; /* wakes the loop after an error */
  uv_thread_t thread;
  uv_mutex_t mutex; /* guards all below */
  uv_cond_t changed;
  size_t len; /* bytes in `queue` */
  int err;
  bool closing;
  bool ended;
  char queue[CLI_WRITER_CAPACITY];
  char batch[CLI_WRITER_CAPACITY]; /* the thread's own: what it is writing */
};

static int write_all(int fd, const char* bytes, size_t n) {
  while (n > 0) {
    ssize_t done = write(fd, bytes, n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return uv_translate_sys_error(errno);
    bytes += done;
    n -= (size_t)done;
  }
  return 0;
}

static void writer_main(void* arg) {
  cli_writer_t* writer = arg;
  uv_mutex_lock(&writer->mutex);
  while (writer->err == 0) {
    while (writer->len == 0 && !writer->closing)
      uv_cond_wait(&writer->changed, &writer->mutex);
    size_t n = writer->len;
    if (n == 0)
      break;
    memcpy(writer->batch, writer->queue, n);
    writer->len = 0;
    uv_mutex_unlock(&writer->mutex);
    int err = write_all(writer->fd, writer->batch, n);
    uv_mutex_lock(&writer->mutex);
    writer->err = err;
  }
  if (writer->err != 0 && !writer->closing)
    uv_async_send(&writer->failed);
  writer->ended = true;
  uv_cond_broadcast(&writer->changed);
  uv_mutex_unlock(&writer->mutex);
}

static void on_failed(uv_async_t* async) {
  cli_writer_t* writer = async->data;
  uv_mutex_lock(&writer->mutex);
  int err = writer->err;
  uv_mutex_unlock(&writer->mutex);
  if (writer->cb != NULL)
    writer->cb(writer->arg, err);
}

/* The loop handles signals: block them in the thread. */
static int start_thread(cli_writer_t* writer) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int r = uv_thread_create(&writer->thread, writer_main, writer);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return r;
}

static void on_closed(uv_handle_t* handle) {
  free(handle->data);
}

static void free_writer(cli_writer_t* writer) {
  uv_cond_destroy(&writer->changed);
  uv_mutex_destroy(&writer->mutex);
  uv_close((uv_handle_t*)&writer->failed, on_closed);
}

int cli_writer_open(cli_writer_t** out, uv_loop_t* loop, int fd, cli_writer_error_cb cb,
                    void* arg) {
  cli_writer_t* writer = calloc(1, sizeof *writer);
  if (writer == NULL)
    return UV_ENOMEM;
  writer->fd = fd;
  writer->cb = cb;
  writer->arg = arg;
  writer->failed.data = writer;
  int r = uv_mutex_init(&writer->mutex);
  if (r == 0)
    r = uv_cond_init(&writer->changed);
  if (r == 0)
    r = uv_async_init(loop, &writer->failed, on_failed);
  if (r != 0) {
    free(writer); /* without a mutex: the process is about to exit */
    return r;
  }
  uv_unref((uv_handle_t*)&writer->failed);
  r = start_thread(writer);
  if (r == 0)
    *out = writer;
  else
    free_writer(writer);
  return r;
}

int cli_writer_line(cli_writer_t* writer, const char* line, size_t len) {
  int r = UV_ENOBUFS;
  uv_mutex_lock(&writer->mutex);
  if (writer->err == 0 && len <= CLI_WRITER_CAPACITY - writer->len) {
    memcpy(writer->queue + writer->len, line, len);
    writer->len += len;
    uv_cond_signal(&writer->changed);
    r = 0;
  }
  uv_mutex_unlock(&writer->mutex);
  return r;
}

void cli_writer_close(cli_writer_t* writer, uint64_t flush_ms) {
  if (writer == NULL)
    return;
  uint64_t deadline = uv_hrtime() + flush_ms * 1000000u;
  uv_mutex_lock(&writer->mutex);
  writer->closing = true;
  uv_cond_broadcast(&writer->changed);
  for (uint64_t now = uv_hrtime(); !writer->ended && now < deadline; now = uv_hrtime())
    uv_cond_timedwait(&writer->changed, &writer->mutex, deadline - now);
  bool ended = writer->ended;
  uv_mutex_unlock(&writer->mutex);
  if (!ended) {
    /* The thread still uses everything except the loop's handle. */
    uv_close((uv_handle_t*)&writer->failed, NULL);
    return;
  }
  uv_thread_join(&writer->thread);
  free_writer(writer);
}
