#include "lib/script_store.h"

#include <stdio.h>
#include <string.h>

#include "core/epochs.h"
#include "core/record.h"
#include "lib/protocol.h"
#include "lib/test.h"
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

/* ---- Epoch files ---- */

static int64_t wall_ms(void) {
  uv_timeval64_t now;
  assert_int_equal(uv_gettimeofday(&now), 0);
  return now.tv_sec * 1000 + now.tv_usec / 1000;
}

static uint64_t number_of(const char* key) {
  size_t n = strlen(key), tail = S3L_EPOCHS_TAIL_SIZE - 1;
  return n < tail ? 0 : s3l_epochs_number((s3l_span_t){key + n - tail, tail});
}

/* What is in the store now. */
static void put_file(s3l_script_store_t* s, const s3lect_record_t* record, const char* etag) {
  struct s3l_script_file_s* f = &s->files[0];
  if (f->number != record->epoch) {
    s->files[1] = *f;
    memset(f, 0, sizeof *f);
  }
  if (strcmp(f->etag, etag) != 0)
    f->modified_ms = wall_ms() / 1000 * 1000;
  f->number = record->epoch;
  f->record = *record;
  snprintf(f->etag, sizeof f->etag, "%s", etag);
}

/* Fills the answer to a listing. */
static void list_files(s3l_script_store_t* s) {
  size_t prefix = strlen(s->req->key) - strlen(S3L_EPOCHS_STEM), n = 0;
  char tail[S3L_EPOCHS_TAIL_SIZE];
  assert_true(prefix + sizeof tail <= sizeof s->keys[0]);
  for (size_t i = 2; i-- > 0;) { /* in the order of keys */
    const struct s3l_script_file_s* f = &s->files[i];
    if (f->number == 0)
      continue;
    s3l_epochs_tail(f->number, tail);
    snprintf(s->keys[n], sizeof s->keys[n], "%.*s%s", (int)prefix, s->req->key, tail);
    if (s->req->after != NULL && strcmp(s->keys[n], s->req->after) <= 0)
      continue;
    s->entries[n] = (s3lect_store_entry_t){s->keys[n], f->etag, 1, f->modified_ms, NULL};
    n++;
  }
  s->result.entries = s->entries;
  s->result.entries_len = n;
}

/* Fills the answer to a read of a file; returns its status. */
static int read_file(s3l_script_store_t* s) {
  const struct s3l_script_file_s* f = NULL;
  for (size_t i = 0; i < 2; i++)
    if (s->files[i].number != 0 && s->files[i].number == number_of(s->req->key))
      f = &s->files[i];
  if (f == NULL)
    return S3LECT_ENOTFOUND;
  snprintf(s->etag, sizeof s->etag, "%s", f->etag);
  s->result.etag = s->etag;
  s->result.modified_ms = f->modified_ms;
  if (s->req->condition == S3LECT_IF_CHANGED && strcmp(s->req->etag, f->etag) == 0)
    return S3LECT_ENOTMODIFIED;
  s->result.body = s->body;
  s->result.body_len = s3l_record_encode_file(&f->record, s->body, sizeof s->body);
  return 0;
}

/* ---- Requests ---- */

static void give(s3l_script_store_t* s, int status, int outcome) {
  s->result.size = sizeof s->result;
  s->result.status = status;
  s->result.outcome = outcome;
  s->answering = true;
  uv_idle_start(&s->pump, on_pump);
}

static void check_put(s3l_script_store_t* s, const s3lect_store_req_t* req) {
  if (!s->epochs) {
    assert_int_equal(s3lect_record_parse(req->body, req->body_len, &s->put), 0);
    return;
  }
  assert_int_equal(s3lect_epoch_file_parse(req->body, req->body_len, number_of(req->key), &s->put),
                   0);
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
    check_put(s, req);
  memset(&s->result, 0, sizeof s->result);
  s->req = req;
  s->is_put = put;
  s->is_list = false;
  s->requests++;
  return 0;
}

/* The request of protocol_check.h, which the tests do not expect, is not taken. */

static int on_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  const s3l_script_store_t* s = store->internal;
  if (s->epochs && number_of(req->key) == 0)
    return UV_ENOTSUP;
  return submit(store, req, false);
}

static int on_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, true);
}

static int on_list(s3lect_store_t* store, s3lect_store_req_t* req) {
  s3l_script_store_t* s = store->internal;
  int err = submit(store, req, false);
  s->is_list = err == 0;
  return err;
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
  static s3lect_store_ops_t ops = {
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
  s->epochs = s3l_test_epochs();
  ops.list = s->epochs ? on_list : NULL;
  s3l_wait_pace(s->epochs ? S3L_PACE_TIMERS : S3L_PACE_REAL);
  s->pump.data = s;
  assert_int_equal(uv_idle_init(loop, &s->pump), 0);
}

s3lect_elector_options_t s3l_script_store_options(s3l_script_store_t* s) {
  s3lect_elector_options_t o;
  s3lect_elector_options_init(&o, sizeof o);
  o.lockfile_path = "locks/x";
  o.protocol = s3l_test_protocol();
  o.server_id = "a";
  o.store = &s->store;
  return o;
}

static bool has_request(void* arg) {
  const s3l_script_store_t* s = arg;
  return s->req != NULL && !s->answering;
}

static bool was_taken(void* arg) {
  const s3l_script_store_t* s = arg;
  return !s->answering;
}

static void take(s3l_script_store_t* s, int status, int outcome) {
  give(s, status, outcome);
  s3l_wait(s->store.loop, was_taken, s, "the answer to be taken");
}

/* Answers a read with what is in the store; with epoch files. */
static void answer_read(s3l_script_store_t* s) {
  int status = 0;
  s->result.store_time_ms = wall_ms();
  if (s->is_list)
    list_files(s);
  else
    status = read_file(s);
  take(s, status, S3LECT_SETTLED);
}

/* The read goes on, or one follows at once. */
static void go_on(s3l_script_store_t* s) {
  while (s->epochs && has_request(s) && !s->is_put) {
    answer_read(s);
    s->requests--;
  }
}

void s3l_script_store_expect(s3l_script_store_t* s, bool put) {
  const char* what = put ? "a put" : "a read";
  s3l_wait(s->store.loop, has_request, s, what);
  while (s->epochs && put && !s->is_put) {
    go_on(s);
    s3l_wait(s->store.loop, has_request, s, what);
  }
  assert_int_equal(s->is_put, put);
}

void s3l_script_store_answer(s3l_script_store_t* s, int status, int outcome, const char* etag) {
  assert_non_null(s->req);
  bool shows = s->epochs && !s->is_put && status == S3LECT_ENOTFOUND;
  bool wrote = s->epochs && s->is_put && status == 0;
  s->result.etag = NULL;
  if (etag != NULL) {
    snprintf(s->etag, sizeof s->etag, "%s", etag);
    s->result.etag = s->etag;
  }
  if (shows)
    memset(s->files, 0, sizeof s->files);
  if (wrote)
    put_file(s, &s->put, etag);
  if (shows)
    answer_read(s);
  else
    take(s, status, outcome);
  if (shows || wrote)
    go_on(s);
}

void s3l_script_store_show(s3l_script_store_t* s, const s3lect_record_t* record, const char* etag) {
  assert_false(s->is_put);
  if (s->epochs) {
    if (s->files[0].number != record->epoch) /* it is all there is */
      memset(s->files, 0, sizeof s->files);
    put_file(s, record, etag);
    answer_read(s);
    go_on(s);
    return;
  }
  s->result.body = s->body;
  s->result.body_len = s3l_record_encode(record, s->body, sizeof s->body);
  s3l_script_store_answer(s, 0, S3LECT_SETTLED, etag);
}

void s3l_script_store_check_over(const s3l_script_store_t* s, const char* etag) {
  assert_non_null(s->req);
  assert_true(s->is_put);
  if (s->epochs && s->put.epoch != s->files[0].number) {
    assert_int_equal(s->req->condition, S3LECT_IF_ABSENT);
    assert_string_equal(s->files[0].etag, etag);
    assert_int_equal(s->put.epoch, s->files[0].number + 1);
    return;
  }
  assert_int_equal(s->req->condition, S3LECT_IF_MATCH);
  assert_string_equal(s->req->etag, etag);
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
