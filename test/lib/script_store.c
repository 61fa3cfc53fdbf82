#include "lib/script_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/record.h"
#include "lib/wait.h"
#include "s3lect.h"

static void on_pump(uv_idle_t* pump) {
  s3l_script_store_t* s = pump->data;
  s3lect_store_req_t* req = s->req;
  uv_idle_stop(pump);
  s->req = NULL;
  s->answering = false;
  req->cb(req, &s->result);
}

static void give(s3l_script_store_t* s, int status, int outcome) {
  s->result.size = sizeof s->result;
  s->result.status = status;
  s->result.outcome = outcome;
  s->answering = true;
  uv_idle_start(&s->pump, on_pump);
}

static int submit(s3lect_store_t* store, s3lect_store_req_t* req, bool put) {
  s3l_script_store_t* s = store->internal;
  int refuse = s->refuse;
  assert_null(s->req); /* one at a time */
  assert_true(req->timeout_ms > 0);
  s->refuse = 0;
  if (refuse != 0)
    return refuse;
  if (put)
    assert_int_equal(s3lect_record_parse(req->body, req->body_len, &s->put), 0);
  memset(&s->result, 0, sizeof s->result);
  s->req = req;
  s->is_put = put;
  s->requests++;
  return 0;
}

static int on_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, false);
}

static int on_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, true);
}

static void on_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3l_script_store_t* s = store->internal;
  assert_ptr_equal(req, s->req); /* never of a request that has ended */
  s->cancels++;
  if (s->answer_cancel && !s->answering)
    give(s, UV_ECANCELED, S3LECT_UNCERTAIN);
}

static s3lect_store_close_cb close_cb;

static void on_closed(uv_handle_t* pump) {
  s3l_script_store_t* s = pump->data;
  if (close_cb != NULL)
    close_cb(&s->store);
}

static void on_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  s3l_script_store_t* s = store->internal;
  assert_null(s->req);
  close_cb = cb;
  uv_close((uv_handle_t*)&s->pump, on_closed);
}

void s3l_script_store_init(uv_loop_t* loop, s3l_script_store_t* s) {
  static const s3lect_store_ops_t ops = {
      .version = S3LECT_STORE_VERSION,
      .get = on_get,
      .put = on_put,
      .cancel = on_cancel,
      .close = on_close,
  };
  memset(s, 0, sizeof *s);
  s->store.loop = loop;
  s->store.ops = &ops;
  s->store.internal = s;
  s->answer_cancel = true;
  s->pump.data = s;
  assert_int_equal(uv_idle_init(loop, &s->pump), 0);
}

static bool has_request(void* arg) {
  const s3l_script_store_t* s = arg;
  return s->req != NULL && !s->answering;
}

static bool was_taken(void* arg) {
  const s3l_script_store_t* s = arg;
  return !s->answering;
}

void s3l_script_store_expect(s3l_script_store_t* s, bool put) {
  s3l_wait(s->store.loop, has_request, s, put ? "a put" : "a get");
  assert_int_equal(s->is_put, put);
}

void s3l_script_store_answer(s3l_script_store_t* s, int status, int outcome, const char* etag) {
  assert_non_null(s->req);
  s->result.etag = NULL;
  if (etag != NULL) {
    snprintf(s->etag, sizeof s->etag, "%s", etag);
    s->result.etag = s->etag;
  }
  give(s, status, outcome);
  s3l_wait(s->store.loop, was_taken, s, "the answer to be taken");
}

void s3l_script_store_show(s3l_script_store_t* s, const s3lect_record_t* record, const char* etag) {
  assert_false(s->is_put);
  s->result.body = s->body;
  s->result.body_len = s3l_record_encode(record, s->body, sizeof s->body);
  s3l_script_store_answer(s, 0, S3LECT_SETTLED, etag);
}

s3lect_record_t s3l_script_store_released(void) {
  s3lect_record_t r;
  memset(&r, 0, sizeof r);
  snprintf(r.leader_id, sizeof r.leader_id, "b");
  snprintf(r.incarnation, sizeof r.incarnation, "%032d", 7);
  r.epoch = 7;
  r.write = 3;
  r.leader_timeout_ms = 15000;
  r.transitions = 1;
  r.released = 1;
  return r;
}
