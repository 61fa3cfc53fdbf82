#include "lib/caller.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/test.h"
#include "lib/wait.h"
#include "net/tcp.h"
#include "util/list.h"

static char read_buf[S3L_STREAM_READ_MAX]; /* of all raw clients */

static s3l_caller_t* raw_of(s3l_stream_t* s) {
  return S3L_CONTAINER_OF(s, s3l_caller_t, stream);
}

static void on_raw_ready(s3l_stream_t* s) {
  raw_of(s)->ready++;
}

static void on_raw_read(s3l_stream_t* s, const char* data, size_t n) {
  s3l_caller_t* raw = raw_of(s);
  raw->received += n;
  size_t len = strlen(raw->text);
  if (n > sizeof(raw->text) - 1 - len)
    n = sizeof(raw->text) - 1 - len;
  memcpy(raw->text + len, data, n);
  raw->text[len + n] = '\0';
}

static void on_raw_end(s3l_stream_t* s, int status) {
  s3l_caller_t* raw = raw_of(s);
  raw->ended++;
  raw->status = status;
}

static void on_raw_written(s3l_stream_t* s, int status) {}

static void on_raw_closed(s3l_stream_t* s) {
  raw_of(s)->closed++;
}

static void on_dialed(s3l_dial_t* dial, int status, uv_tcp_t* tcp) {
  s3l_caller_t* raw = S3L_CONTAINER_OF(dial, s3l_caller_t, dial);
  if (status != 0) {
    raw->status = status;
    raw->ended++;
    return;
  }
  raw->open = true;
  raw->stream.loop = raw->runtime;
  raw->stream.read_buf = read_buf;
  raw->stream.on_ready = on_raw_ready;
  raw->stream.on_read = on_raw_read;
  raw->stream.on_end = on_raw_end;
  raw->stream.on_written = on_raw_written;
  raw->stream.on_closed = on_raw_closed;
  assert_int_equal(
      s3l_stream_open(&raw->stream, tcp, raw->tls, raw->tls != NULL ? "localhost" : NULL), 0);
  if (raw->deaf)
    s3l_stream_pause(&raw->stream);
  if (raw->tls == NULL)
    raw->ready++;
}

s3l_caller_t* s3l_caller_make(uv_loop_t* loop, uint16_t port, s3l_tls_context_t* tls) {
  s3l_caller_t* raw = calloc(1, sizeof(*raw));
  assert_non_null(raw);
  raw->loop = loop;
  assert_int_equal(s3l_loop_join(loop, &raw->runtime), 0);
  raw->port = port;
  raw->tls = tls;
  return raw;
}

void s3l_caller_begin(s3l_caller_t* raw) {
  assert_int_equal(
      s3l_dial_start(&raw->dial, raw->runtime, NULL, "127.0.0.1", raw->port, on_dialed), 0);
}

static bool is_ready_or_ended(void* arg) {
  const s3l_caller_t* raw = arg;
  return raw->ready > 0 || raw->ended > 0;
}

void s3l_caller_open(s3l_caller_t* raw) {
  s3l_caller_begin(raw);
  s3l_wait(raw->loop, is_ready_or_ended, raw, "a raw client's connection");
}

void s3l_caller_send_bytes(s3l_caller_t* raw, const char* data, size_t n) {
  bool handed;
  int rc = s3l_stream_write(&raw->stream, data, n, &handed);
  /* The server may have closed; its reply can still be read. */
  assert_true(rc == S3L_STREAM_WRITTEN || rc < 0);
}

void s3l_caller_send(s3l_caller_t* raw, const char* text) {
  s3l_caller_send_bytes(raw, text, strlen(text));
}

typedef struct wanted_text_s {
  const s3l_caller_t* raw;
  const char* text;
} wanted_text_t;

static bool has_text(void* arg) {
  const wanted_text_t* w = arg;
  return strstr(w->raw->text, w->text) != NULL || w->raw->ended > 0;
}

void s3l_caller_expect(s3l_caller_t* raw, const char* want) {
  wanted_text_t w = {raw, want};
  s3l_wait(raw->loop, has_text, &w, want);
  if (strstr(raw->text, want) == NULL)
    fail_msg("not \"%s\" but the end (%d), and \"%.500s\"", want, raw->status, raw->text);
}

void s3l_caller_forget(s3l_caller_t* raw) {
  raw->text[0] = '\0';
}

void s3l_caller_expect_end(s3l_caller_t* raw) {
  s3l_wait_count(raw->loop, &raw->ended, 1, "the end of a raw client's connection");
}

void s3l_caller_talk(s3l_caller_t* raw, const char* text, const char* want, bool end) {
  s3l_caller_forget(raw);
  s3l_caller_send(raw, text);
  s3l_caller_expect(raw, want);
  if (end)
    s3l_caller_expect_end(raw);
}

void s3l_caller_close(s3l_caller_t* raw) {
  if (!raw->open)
    return;
  s3l_stream_close(&raw->stream);
  s3l_wait_count(raw->loop, &raw->closed, 1, "a raw client's closing");
  raw->open = false;
}

void s3l_caller_reset(s3l_caller_t* raw) {
  struct linger off = {.l_onoff = 1, .l_linger = 0};
  uv_os_fd_t fd;
  assert_int_equal(uv_fileno((uv_handle_t*)raw->stream.tcp, &fd), 0);
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off)), 0);
  raw->stream.engine.failed = true; /* no close_notify */
  s3l_caller_close(raw);
}

void s3l_caller_free(s3l_caller_t* raw) {
  s3l_caller_close(raw);
  s3l_loop_leave(raw->runtime, NULL);
  free(raw);
}
