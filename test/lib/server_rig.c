#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/server_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "util/list.h"

/* ---- the owner ---- */

static void forget_held(s3l_server_rig_t* rig, const s3l_http_exchange_t* ex) {
  size_t i = 0;
  while (i < rig->held_len && rig->held[i] != ex)
    i++;
  assert_true(i < rig->held_len);
  rig->held_len--;
  memmove(&rig->held[i], &rig->held[i + 1], (rig->held_len - i) * sizeof(rig->held[0]));
}

static void on_abort(s3l_http_exchange_t* ex) {
  s3l_server_rig_t* rig = ex->data;
  assert_false(rig->in_call);
  assert_ptr_equal(s3l_http_server_data(ex->server), rig);
  forget_held(rig, ex);
  rig->gone++;
}

static void hold(s3l_server_rig_t* rig, s3l_http_exchange_t* ex) {
  int rc = s3l_http_hold(ex, on_abort);
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
  rig->client_is_localhost = s3l_http_client_is(ex, "localhost");
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
  rig->big = calloc(1, S3L_RIG_BIG);
  assert_non_null(rig->big);
  /* Long enough never to matter where a test does not set its own. */
  rig->options = (s3l_http_server_options_t){.listen = "127.0.0.1:0",
                                             .on_request = on_request,
                                             .data = rig,
                                             .max_per_address = UINT32_MAX,
                                             .tls_time_ms = 300000,
                                             .header_time_ms = 300000,
                                             .idle_time_ms = 300000,
                                             .write_time_ms = 300000};
}

void s3l_server_rig_start(s3l_server_rig_t* rig) {
  s3lect_error_t error = {0};
  rig->options.error = &error;
  if (s3l_http_server_create(&rig->loop, &rig->options, &rig->server) != 0)
    fail_msg("%s", error.text);
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
  s3l_wait_loop_end(&rig->loop);
  assert_int_equal(rig->closed, 1);
  assert_int_equal(rig->held_len, 0);
  free(rig->big);
}

s3l_caller_t* s3l_caller_new(s3l_server_rig_t* rig, s3l_tls_context_t* tls) {
  return s3l_caller_make(&rig->loop, s3l_http_server_port(rig->server), tls);
}
