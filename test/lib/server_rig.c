#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/server_rig.h"
#include "lib/wait.h"
#include "net/tcp.h"
#include "util/list.h"

static char read_buf[S3L_STREAM_READ_MAX]; /* of all raw clients */

/* ---- the owner ---- */

static void forget_held(s3l_server_rig_t* rig, const s3l_http_exchange_t* ex) {
  size_t i = 0;
  while (i < rig->held_len && rig->held[i] != ex)
    i++;
  assert_true(i < rig->held_len);
  rig->held_len--;
  memmove(&rig->held[i], &rig->held[i + 1], (rig->held_len - i) * sizeof(rig->held[0]));
}

static void on_gone(s3l_http_exchange_t* ex) {
  s3l_server_rig_t* rig = ex->data;
  assert_false(rig->in_call);
  assert_ptr_equal(s3l_http_server_data(ex->server), rig);
  forget_held(rig, ex);
  rig->gone++;
}

static void hold(s3l_server_rig_t* rig, s3l_http_exchange_t* ex) {
  int rc = s3l_http_hold(ex, on_gone);
  if (rc != 0) {
    assert_int_equal(rc, UV_EBUSY);
    (void)s3l_http_refuse(ex, 503);
    return;
  }
  assert_true(rig->held_len < S3L_RIG_HELD_MAX);
  ex->data = rig;
  rig->held[rig->held_len++] = ex;
}

static void answer_path(s3l_server_rig_t* rig, s3l_http_exchange_t* ex) {
  static const s3l_http_header_t etag = {{"ETag", 4}, {"\"e\"", 3}};
  static const s3l_http_header_t broken = {{"A", 1}, {"b\r\nc", 4}};
  s3l_http_answer_t answer = {.status = 200,
                              .content_type = "text/plain",
                              .headers = &etag,
                              .headers_len = 1,
                              .body = S3L_SPAN("hello")};
  if (ex->request->method == S3L_HTTP_OTHER) {
    (void)s3l_http_refuse(ex, 405);
  } else if (strcmp(rig->path, "/hold") == 0) {
    hold(rig, ex);
  } else if (strcmp(rig->path, "/") == 0) {
    (void)s3l_http_reply(ex, &answer);
  } else if (strcmp(rig->path, "/big") == 0) {
    answer.body = (s3l_span_t){rig->big, S3L_RIG_BIG};
    (void)s3l_http_reply(ex, &answer);
  } else if (strcmp(rig->path, "/header") == 0) {
    answer.headers = &broken;
    assert_int_equal(s3l_http_reply(ex, &answer), UV_EINVAL);
  } else {
    (void)s3l_http_refuse(ex, 404);
  }
}

static void on_request(s3l_http_server_t* server, s3l_http_exchange_t* ex) {
  s3l_server_rig_t* rig = s3l_http_server_data(server);
  assert_false(rig->in_call);
  assert_ptr_equal(ex->server, server);
  assert_null(ex->data);
  rig->requests++;
  assert_true(s3l_span_copy(ex->request->path, rig->path, sizeof(rig->path)));
  snprintf(rig->client_name, sizeof(rig->client_name), "%s",
           ex->client_name != NULL ? ex->client_name : "");
  rig->verified = ex->verified;
  if (rig->before != NULL)
    rig->before(rig, ex);
  rig->in_call = true;
  answer_path(rig, ex);
  rig->in_call = false;
}

/* ---- its life ---- */

void s3l_server_rig_init(s3l_server_rig_t* rig) {
  memset(rig, 0, sizeof(*rig));
  assert_int_equal(uv_loop_init(&rig->loop), 0);
  assert_int_equal(s3l_deadlines_init(&rig->deadlines, &rig->loop), 0);
  rig->big = calloc(1, S3L_RIG_BIG);
  assert_non_null(rig->big);
  /* Long enough never to matter where a test does not set its own. */
  rig->options = (s3l_http_server_options_t){.listen = "127.0.0.1:0",
                                             .on_request = on_request,
                                             .data = rig,
                                             .tls_time_ms = 60000,
                                             .header_time_ms = 60000,
                                             .idle_time_ms = 60000,
                                             .write_time_ms = 60000};
}

void s3l_server_rig_start(s3l_server_rig_t* rig) {
  char why[256] = "";
  rig->options.why = why;
  rig->options.why_cap = sizeof(why);
  if (s3l_http_server_create(&rig->loop, &rig->options, &rig->server) != 0)
    fail_msg("%s", why);
}

void s3l_server_rig_answer(s3l_server_rig_t* rig, const char* body) {
  assert_true(rig->held_len > 0);
  s3l_http_exchange_t* ex = rig->held[0];
  const s3l_http_answer_t answer = {.status = 200, .body = s3l_span_cstr(body)};
  forget_held(rig, ex);
  bool in_call = rig->in_call;
  rig->in_call = true;
  assert_int_equal(s3l_http_reply(ex, &answer), 0);
  rig->in_call = in_call;
}

static void on_closed(void* arg) {
  s3l_server_rig_t* rig = arg;
  assert_false(rig->in_call);
  rig->closed++;
}

void s3l_server_rig_close(s3l_server_rig_t* rig, uint32_t grace_ms) {
  bool in_call = rig->in_call;
  rig->in_call = true;
  s3l_http_server_close(rig->server, grace_ms, on_closed, rig);
  rig->in_call = in_call;
  rig->server = NULL;
}

s3l_http_server_stats_t s3l_server_rig_stats(const s3l_server_rig_t* rig) {
  s3l_http_server_stats_t stats;
  s3l_http_server_stats(rig->server, &stats);
  return stats;
}

void s3l_server_rig_wait(s3l_server_rig_t* rig, const unsigned* counter, unsigned n) {
  s3l_wait_count(&rig->loop, counter, n, "the server's owner");
}

typedef struct want_s {
  s3l_server_rig_t* rig;
  size_t n;
} want_t;

static bool is_held(void* arg) {
  const want_t* w = arg;
  return w->rig->held_len == w->n;
}

static bool is_connected(void* arg) {
  const want_t* w = arg;
  return s3l_server_rig_stats(w->rig).connections == w->n;
}

void s3l_server_rig_wait_held(s3l_server_rig_t* rig, size_t n) {
  want_t w = {rig, n};
  s3l_wait(&rig->loop, is_held, &w, "held exchanges");
}

void s3l_server_rig_wait_connections(s3l_server_rig_t* rig, size_t n) {
  want_t w = {rig, n};
  s3l_wait(&rig->loop, is_connected, &w, "connections");
}

void s3l_server_rig_end(s3l_server_rig_t* rig) {
  if (rig->server != NULL)
    s3l_server_rig_close(rig, 0);
  s3l_server_rig_wait(rig, &rig->closed, 1);
  s3l_deadlines_close(&rig->deadlines, NULL);
  s3l_wait_loop_end(&rig->loop);
  assert_int_equal(rig->closed, 1);
  assert_int_equal(rig->held_len, 0);
  free(rig->big);
}

/* ---- raw clients ---- */

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

static void on_raw_written(s3l_stream_t* s, int status) {
  (void)s;
  (void)status;
}

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

s3l_caller_t* s3l_caller_new(s3l_server_rig_t* rig, s3l_tls_context_t* tls) {
  s3l_caller_t* raw = calloc(1, sizeof(*raw));
  assert_non_null(raw);
  raw->rig = rig;
  raw->tls = tls;
  return raw;
}

void s3l_caller_begin(s3l_caller_t* raw) {
  assert_int_equal(s3l_dial_start(&raw->dial, &raw->rig->loop, &raw->rig->deadlines, NULL,
                                  "127.0.0.1", s3l_http_server_port(raw->rig->server), on_dialed),
                   0);
}

static bool is_ready_or_ended(void* arg) {
  const s3l_caller_t* raw = arg;
  return raw->ready > 0 || raw->ended > 0;
}

void s3l_caller_open(s3l_caller_t* raw) {
  s3l_caller_begin(raw);
  s3l_wait(&raw->rig->loop, is_ready_or_ended, raw, "a raw client's connection");
}

void s3l_caller_send_bytes(s3l_caller_t* raw, const char* data, size_t n) {
  bool handed;
  int rc = s3l_stream_write(&raw->stream, data, n, &handed);
  /* The server may have closed; what it has said before is to be read. */
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
  s3l_wait(&raw->rig->loop, has_text, &w, want);
  if (strstr(raw->text, want) == NULL)
    fail_msg("not \"%s\" but the end (%d), and \"%.500s\"", want, raw->status, raw->text);
}

void s3l_caller_forget(s3l_caller_t* raw) {
  raw->text[0] = '\0';
}

void s3l_caller_expect_end(s3l_caller_t* raw) {
  s3l_wait_count(&raw->rig->loop, &raw->ended, 1, "the end of a raw client's connection");
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
  s3l_wait_count(&raw->rig->loop, &raw->closed, 1, "a raw client's closing");
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
  free(raw);
}
