/* store/memory.c: a store in this process's memory.
 *
 * Linearizable by being single-threaded: each operation happens as a whole in the loop iteration
 * after the one that asked for it, in the order in which they were asked for, and its callback
 * follows at once. A cancelled request is never carried out, so that its outcome is
 * S3LECT_NOT_APPLIED. ETags come from a counter: none is ever used twice. */
#include <stdbool.h>
#include <string.h>

#include "loop/loop.h"
#include "store/store.h"
#include "util/buf.h"
#include "util/error.h"
#include "util/list.h"
#include "util/mem.h"
#include "util/span.h"

typedef struct object_s {
  s3lect_store_entry_t entry; /* its strings are in this block */
  char etag[32];
  char* body;
  size_t room; /* a body that fits needs no other block */
  char text[]; /* the key, its NUL, the body */
} object_t;

typedef struct memory_s {
  s3l_loop_t* loop;
  s3l_task_t end;
  s3lect_store_t* store;
  object_t** objects; /* in the order of keys */
  size_t objects_len;
  size_t objects_cap;
  uint64_t writes;
  bool closing;
  s3lect_store_close_cb close_cb;
} memory_t;

typedef struct state_s {
  s3l_task_t task;
  memory_t* memory; /* req->store may be another store, which has passed the request on */
  s3lect_store_req_t* req;
  bool cancelled;
} state_t;

S3L_STORE_REQ_STATE_FITS(state_t);

/* ---- Objects ---- */

/* The index of the first object whose key is not less. */
static size_t lower_bound(const memory_t* m, const char* key) {
  size_t from = 0, to = m->objects_len;
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    if (strcmp(m->objects[mid]->text, key) < 0)
      from = mid + 1;
    else
      to = mid;
  }
  return from;
}

static bool reserve_object(memory_t* m) {
  object_t** p = s3l_grow(m->objects, m->objects_len, &m->objects_cap, sizeof(*p));
  if (p != NULL)
    m->objects = p;
  return p != NULL;
}

static object_t* new_object(const s3lect_store_req_t* req) {
  size_t key_size = strlen(req->key) + 1;
  object_t* o = s3l_malloc(sizeof(*o) + key_size + req->body_len);
  if (o == NULL)
    return NULL;
  memcpy(o->text, req->key, key_size);
  o->body = o->text + key_size;
  o->room = req->body_len;
  return o;
}

/* ---- Operations; `at` is where the object is, or would be ---- */

static void show_version(const object_t* o, s3lect_store_result_t* r) {
  r->etag = o->etag;
  r->modified_ms = o->entry.modified_ms;
}

static int do_get(const s3lect_store_req_t* req, const object_t* o, int refusal,
                  s3lect_store_result_t* r) {
  if (o != NULL)
    show_version(o, r);
  if (refusal != 0)
    return refusal;
  if (o->entry.body_len > s3l_store_body_max(req))
    return S3LECT_ETOOBIG;
  r->body = o->body;
  r->body_len = o->entry.body_len;
  return 0;
}

static int do_put(memory_t* m, const s3lect_store_req_t* req, size_t at, object_t* old,
                  s3lect_store_result_t* r) {
  object_t* o = old;
  if (old == NULL || old->room < req->body_len) {
    o = reserve_object(m) ? new_object(req) : NULL;
    if (o == NULL)
      return UV_ENOMEM;
    if (old == NULL)
      memmove(&m->objects[at + 1], &m->objects[at], (m->objects_len++ - at) * sizeof(object_t*));
    s3l_free(old);
    m->objects[at] = o;
  }
  if (req->body_len > 0)
    memcpy(o->body, req->body, req->body_len);
  s3l_buf_t etag;
  s3l_buf_init(&etag, o->etag, sizeof(o->etag));
  s3l_buf_puts(&etag, "\"memory-");
  s3l_buf_u64(&etag, ++m->writes);
  s3l_buf_putc(&etag, '"');
  (void)s3l_buf_cstr(&etag);
  o->entry = (s3lect_store_entry_t){o->text, o->etag, req->body_len, s3l_clock_wall_ms(), NULL};
  show_version(o, r);
  return 0;
}

/* As on S3, deleting an object that does not exist succeeds, unless there is a condition. */
static int do_del(memory_t* m, size_t at, object_t* o) {
  if (o != NULL)
    memmove(&m->objects[at], &m->objects[at + 1], (--m->objects_len - at) * sizeof(object_t*));
  s3l_free(o);
  return 0;
}

/* The caller frees *entries after the callback; it may stay NULL. */
static int do_list(memory_t* m, const s3lect_store_req_t* req, size_t at, s3lect_store_result_t* r,
                   s3lect_store_entry_t** entries) {
  s3l_span_t prefix = s3l_span_cstr(req->key);
  *entries = s3l_calloc(req->max_keys, sizeof(**entries));
  if (*entries == NULL)
    return UV_ENOMEM;
  r->entries = *entries;
  for (size_t i = at; i < m->objects_len && r->truncated == 0; i++) {
    const s3lect_store_entry_t* e = &m->objects[i]->entry;
    if (!s3l_span_starts_with(s3l_span_cstr(e->key), prefix))
      break;
    if (req->after != NULL && strcmp(e->key, req->after) <= 0)
      continue;
    if (r->entries_len == req->max_keys)
      r->truncated = 1;
    else
      (*entries)[r->entries_len++] = *e;
  }
  return 0;
}

static int do_op(memory_t* m, const s3lect_store_req_t* req, s3lect_store_result_t* r,
                 s3lect_store_entry_t** entries) {
  size_t at = lower_bound(m, req->key);
  r->store_time_ms = s3l_clock_wall_ms();
  if (req->op == S3LECT_OP_LIST)
    return do_list(m, req, at, r, entries);
  bool found = at < m->objects_len && strcmp(m->objects[at]->entry.key, req->key) == 0;
  object_t* o = found ? m->objects[at] : NULL;
  int refusal = s3l_store_check_condition(req, found ? o->etag : NULL);
  if (req->op == S3LECT_OP_GET)
    return do_get(req, o, refusal, r);
  if (refusal != 0)
    return refusal;
  return req->op == S3LECT_OP_PUT ? do_put(m, req, at, o, r) : do_del(m, at, o);
}

/* Carries out a request and ends it. The callback may free the request with its state. */
static void on_task(s3l_task_t* task) {
  state_t* s = S3L_CONTAINER_OF(task, state_t, task);
  s3lect_store_entry_t* entries = NULL;
  s3lect_store_result_t r = {0};
  bool cancelled = s->cancelled || s->memory->closing;
  s3l_store_settle(&r, cancelled ? UV_ECANCELED : do_op(s->memory, s->req, &r, &entries));
  s->req->cb(s->req, &r);
  s3l_free(entries);
}

/* ---- The store's vtable ---- */

static int submit(s3lect_store_t* store, s3lect_store_req_t* req) {
  memory_t* m = store->internal;
  state_t* s = S3L_STORE_REQ_STATE(req, state_t);
  if (m->closing)
    return UV_ECANCELED;
  *s = (state_t){.memory = m, .req = req};
  s3l_task_init(&s->task, on_task);
  s3l_loop_defer(m->loop, &s->task);
  return 0;
}

static void memory_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  (void)store;
  S3L_STORE_REQ_STATE(req, state_t)->cancelled = true;
}

static void on_end(s3l_task_t* task) {
  memory_t* m = S3L_CONTAINER_OF(task, memory_t, end);
  s3lect_store_t* store = m->store;
  s3lect_store_close_cb cb = m->close_cb;
  for (size_t i = 0; i < m->objects_len; i++)
    s3l_free(m->objects[i]);
  s3l_free(m->objects);
  s3l_free(m);
  store->internal = NULL;
  if (cb != NULL)
    cb(store);
}

static void memory_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  memory_t* m = store->internal;
  m->closing = true;
  m->close_cb = cb;
  s3l_loop_leave(m->loop, &m->end); /* after the requests that wait */
}

static const s3lect_store_ops_t memory_ops = {
    .version = S3LECT_STORE_VERSION,
    .get = submit,
    .put = submit,
    .del = submit,
    .list = submit,
    .cancel = memory_cancel,
    .close = memory_close,
};

int s3lect_store_memory_init(uv_loop_t* loop, s3lect_store_t* store, s3lect_error_t* error) {
  memory_t* m = s3l_calloc(1, sizeof(*m));
  s3l_error_clear(error);
  if (m == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  int err = s3l_loop_join(loop, &m->loop);
  if (err != 0) {
    s3l_free(m);
    return s3l_error_end(error, err);
  }
  s3l_task_init(&m->end, on_end);
  m->store = store;
  store->loop = loop;
  store->ops = &memory_ops;
  store->internal = m;
  return 0;
}
