#include "lib/tap_store.h"

#include <stdio.h>
#include <string.h>

#include "lib/dir_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define HELD_MAX 16

s3l_tap_t s3l_tap;

static s3l_tap_kind_t tap_kind;
static s3lect_store_t inner;
static uv_idle_t pump; /* answers what is held */
static struct held_s {
  s3lect_store_req_t* req;
  bool cancelled;
} held[HELD_MAX];

static void answer(struct held_s* h) {
  static s3lect_store_entry_t entries[S3L_TAP_PAGE];
  s3lect_store_req_t* req = h->req;
  s3lect_store_result_t r = {.size = sizeof r, .outcome = S3LECT_SETTLED};
  bool truncated = false;
  if (!h->cancelled && (s3l_tap.hold || req->op != S3LECT_OP_LIST))
    return;
  int n = h->cancelled ? UV_ECANCELED : s3l_tap.page(req, entries, &truncated);
  r.status = n < 0 ? n : 0;
  r.outcome = n < 0 ? S3LECT_NOT_APPLIED : S3LECT_SETTLED;
  r.entries = entries;
  r.entries_len = n > 0 ? (size_t)n : 0;
  r.truncated = truncated;
  h->req = NULL;
  req->cb(req, &r);
}

static void on_pump(uv_idle_t* idle) {
  uv_idle_stop(idle);
  for (size_t i = 0; i < HELD_MAX; i++)
    if (held[i].req != NULL)
      answer(&held[i]);
}

static int hold(s3lect_store_req_t* req) {
  size_t i = 0;
  while (held[i].req != NULL)
    assert_true(++i < HELD_MAX);
  held[i] = (struct held_s){req, false};
  return uv_idle_start(&pump, on_pump);
}

static int tap_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3l_tap.gets++;
  return s3l_tap.hold ? hold(req) : s3lect_store_get(&inner, req);
}

static int tap_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  return s3lect_store_put(&inner, req);
}

static int tap_list(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3l_tap.lists++;
  return s3l_tap.hold || s3l_tap.page != NULL ? hold(req) : s3lect_store_list(&inner, req);
}

static void tap_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3l_tap.cancels++;
  for (size_t i = 0; i < HELD_MAX; i++)
    if (held[i].req == req) {
      held[i].cancelled = true;
      uv_idle_start(&pump, on_pump);
      return;
    }
  s3lect_store_cancel(&inner, req);
}

static void tap_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  uv_close((uv_handle_t*)&pump, NULL);
  s3lect_store_close(&inner, cb);
}

static s3lect_store_ops_t ops = {.version = S3LECT_STORE_VERSION,
                                 .get = tap_get,
                                 .put = tap_put,
                                 .list = tap_list,
                                 .cancel = tap_cancel,
                                 .close = tap_close};

static void open_inner(s3l_tap_kind_t kind) {
  char why[256] = "";
  s3lect_error_t error;
  if (kind == S3L_TAP_MEMORY) {
    assert_int_equal(s3lect_store_memory_init(&s3l_tap.loop, &inner, NULL), 0);
  } else if (kind == S3L_TAP_FILE) {
    assert_int_equal(s3l_dir_make(NULL), 0);
    assert_int_equal(s3lect_store_file_init(&s3l_tap.loop, &inner, s3l_dir.path, NULL), 0);
  } else {
    const fakes3_options_t options = {.versioned = true};
    if (fakes3_start(&s3l_tap.loop, &options, &s3l_tap.server, why, sizeof why) != 0)
      fail_msg("%s", why);
    s3lect_store_s3_options_t o;
    s3lect_store_s3_options_init(&o, sizeof o);
    o.bucket = "test";
    o.region = "us-east-1";
    o.endpoint = fakes3_url(s3l_tap.server);
    o.access_key_id = FAKES3_ACCESS_KEY;
    o.secret_access_key = FAKES3_SECRET_KEY;
    if (s3lect_store_s3_init(&s3l_tap.loop, &inner, &o, &error) != 0)
      fail_msg("%s", error.text);
  }
}

void s3l_tap_open(s3l_tap_kind_t kind) {
  s3l_tap = (s3l_tap_t){.gets = 0};
  tap_kind = kind;
  memset(held, 0, sizeof held);
  assert_int_equal(uv_loop_init(&s3l_tap.loop), 0);
  assert_int_equal(uv_idle_init(&s3l_tap.loop, &pump), 0);
  open_inner(kind);
  ops.flags = inner.ops->flags;
  s3l_tap.store = (s3lect_store_t){.loop = &s3l_tap.loop, .ops = &ops};
}

static void on_stopped(void* arg) {}

void s3l_tap_close(void) {
  s3lect_store_close(&s3l_tap.store, NULL);
  if (s3l_tap.server != NULL)
    fakes3_stop(s3l_tap.server, on_stopped, NULL);
  s3l_wait_loop_end(&s3l_tap.loop);
  if (tap_kind == S3L_TAP_FILE)
    assert_int_equal(s3l_dir_remove(NULL), 0);
}

/* ---- Objects ---- */

static void on_done(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  assert_int_equal(result->status, 0);
  ++*(unsigned*)req->data;
}

static void change(const char* key, const char* body) {
  unsigned done = 0;
  s3lect_store_req_t req = {
      .data = &done, .key = key, .body = body, .timeout_ms = S3L_WAIT_MS, .cb = on_done};
  req.body_len = body != NULL ? strlen(body) : 0;
  assert_int_equal(body != NULL ? s3lect_store_put(&inner, &req) : s3lect_store_del(&inner, &req),
                   0);
  s3l_wait_count(&s3l_tap.loop, &done, 1, "the change");
}

void s3l_tap_put(const char* key, const char* body) {
  change(key, body);
}

void s3l_tap_remove(const char* key) {
  change(key, NULL);
}
