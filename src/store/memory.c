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

#define ETAG_SIZE 32

typedef struct object_s {
  char* key;
  char etag[ETAG_SIZE];
  char* body; /* NULL until something is in it */
  size_t body_len;
  size_t body_cap;
  int64_t modified_ms;
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
  s3l_store_op_t op;
  bool cancelled;
} state_t;

S3L_STORE_REQ_STATE_FITS(state_t);

/* ---- Objects ---- */

/* The index of the first object whose key is not less. */
static size_t lower_bound(const memory_t* m, const char* key) {
  size_t from = 0, to = m->objects_len;
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    if (strcmp(m->objects[mid]->key, key) < 0)
      from = mid + 1;
    else
      to = mid;
  }
  return from;
}

static object_t* find_object(const memory_t* m, const char* key) {
  size_t at = lower_bound(m, key);
  return at < m->objects_len && strcmp(m->objects[at]->key, key) == 0 ? m->objects[at] : NULL;
}

static void free_object(object_t* o) {
  s3l_free(o->key);
  s3l_free(o->body);
  s3l_free(o);
}

static void remove_object(memory_t* m, object_t* o) {
  size_t at = lower_bound(m, o->key);
  m->objects_len--;
  memmove(&m->objects[at], &m->objects[at + 1], (m->objects_len - at) * sizeof(object_t*));
  free_object(o);
}

static bool reserve_object(memory_t* m) {
  if (m->objects_len < m->objects_cap)
    return true;
  size_t cap = m->objects_cap == 0 ? 8 : 2 * m->objects_cap;
  object_t** p = s3l_realloc(m->objects, cap * sizeof(object_t*));
  if (p == NULL)
    return false;
  m->objects = p;
  m->objects_cap = cap;
  return true;
}

/* Inserts a new object without a body. */
static object_t* add_object(memory_t* m, const char* key) {
  if (!reserve_object(m))
    return NULL;
  object_t* o = s3l_calloc(1, sizeof(*o));
  if (o == NULL)
    return NULL;
  o->key = s3l_strdup(key);
  if (o->key == NULL) {
    free_object(o);
    return NULL;
  }
  size_t at = lower_bound(m, key);
  memmove(&m->objects[at + 1], &m->objects[at], (m->objects_len - at) * sizeof(object_t*));
  m->objects[at] = o;
  m->objects_len++;
  return o;
}

/* Replaces the body, or leaves the object as it was and returns false. */
static bool set_body(memory_t* m, object_t* o, const void* body, size_t len) {
  s3l_buf_t b;
  if (len > o->body_cap) {
    char* p = s3l_realloc(o->body, len);
    if (p == NULL)
      return false;
    o->body = p;
    o->body_cap = len;
  }
  if (len > 0)
    memcpy(o->body, body, len);
  o->body_len = len;
  o->modified_ms = s3l_clock_wall_ms();
  s3l_buf_init(&b, o->etag, sizeof(o->etag));
  s3l_buf_puts(&b, "\"memory-");
  s3l_buf_u64(&b, ++m->writes);
  s3l_buf_putc(&b, '"');
  (void)s3l_buf_cstr(&b);
  return true;
}

/* ---- Operations ---- */

/* 0, or why the condition of a write does not hold. */
static int check_condition(const s3lect_store_req_t* req, const object_t* o) {
  if (req->condition == S3LECT_IF_ABSENT && o != NULL)
    return S3LECT_EPRECONDITION;
  if (req->condition == S3LECT_IF_MATCH && o == NULL)
    return S3LECT_ENOTFOUND;
  if (req->condition == S3LECT_IF_MATCH && strcmp(req->etag, o->etag) != 0)
    return S3LECT_EPRECONDITION;
  return 0;
}

static void do_get(memory_t* m, const s3lect_store_req_t* req, s3lect_store_result_t* r) {
  object_t* o = find_object(m, req->key);
  if (o == NULL) {
    r->status = S3LECT_ENOTFOUND;
    return;
  }
  r->etag = o->etag;
  r->modified_ms = o->modified_ms;
  if (req->condition == S3LECT_IF_CHANGED && strcmp(req->etag, o->etag) == 0) {
    r->status = S3LECT_ENOTMODIFIED;
  } else if (o->body_len > s3l_store_body_max(req)) {
    r->status = S3LECT_ETOOBIG;
  } else {
    r->body = o->body != NULL ? o->body : "";
    r->body_len = o->body_len;
  }
}

static void do_put(memory_t* m, const s3lect_store_req_t* req, s3lect_store_result_t* r) {
  object_t* o = find_object(m, req->key);
  bool fresh = o == NULL;
  r->status = check_condition(req, o);
  if (r->status != 0)
    return;
  if (fresh)
    o = add_object(m, req->key);
  if (o == NULL || !set_body(m, o, req->body, req->body_len)) {
    if (fresh && o != NULL)
      remove_object(m, o);
    r->status = UV_ENOMEM;
    r->outcome = S3LECT_NOT_APPLIED;
    return;
  }
  r->etag = o->etag;
  r->modified_ms = o->modified_ms;
}

/* As on S3, deleting an object that does not exist succeeds, unless there is a condition. */
static void do_del(memory_t* m, const s3lect_store_req_t* req, s3lect_store_result_t* r) {
  object_t* o = find_object(m, req->key);
  r->status = check_condition(req, o);
  if (r->status == 0 && o != NULL)
    remove_object(m, o);
}

static bool has_prefix(const object_t* o, const char* prefix) {
  return s3l_span_starts_with(s3l_span_cstr(o->key), s3l_span_cstr(prefix));
}

/* The caller frees *entries after the callback; it may stay NULL. */
static void do_list(memory_t* m, const s3lect_store_req_t* req, s3lect_store_result_t* r,
                    s3lect_store_entry_t** entries) {
  size_t n = 0;
  *entries = s3l_calloc(req->max_keys, sizeof(**entries));
  if (*entries == NULL) {
    r->status = UV_ENOMEM;
    r->outcome = S3LECT_NOT_APPLIED;
    return;
  }
  for (size_t i = lower_bound(m, req->key); i < m->objects_len; i++) {
    const object_t* o = m->objects[i];
    if (!has_prefix(o, req->key))
      break;
    if (req->after != NULL && strcmp(o->key, req->after) <= 0)
      continue;
    if (n == req->max_keys) {
      r->truncated = 1;
      break;
    }
    (*entries)[n++] = (s3lect_store_entry_t){o->key, o->etag, o->body_len, o->modified_ms};
  }
  r->entries = *entries;
  r->entries_len = n;
}

/* Carries out a request and ends it. The callback may free the request with its state. */
static void on_task(s3l_task_t* task) {
  state_t* s = S3L_CONTAINER_OF(task, state_t, task);
  s3lect_store_req_t* req = s->req;
  memory_t* m = s->memory;
  s3lect_store_entry_t* entries = NULL;
  s3lect_store_result_t r = s3l_store_result(0, S3LECT_SETTLED);
  if (s->cancelled || m->closing) {
    r = s3l_store_result(UV_ECANCELED, S3LECT_NOT_APPLIED);
  } else {
    r.store_time_ms = s3l_clock_wall_ms();
    switch (s->op) {
    case S3L_STORE_GET:
      do_get(m, req, &r);
      break;
    case S3L_STORE_PUT:
      do_put(m, req, &r);
      break;
    case S3L_STORE_DEL:
      do_del(m, req, &r);
      break;
    case S3L_STORE_LIST:
      do_list(m, req, &r, &entries);
      break;
    }
  }
  req->cb(req, &r);
  s3l_free(entries);
}

/* ---- The store's vtable ---- */

static int submit(s3lect_store_t* store, s3lect_store_req_t* req, s3l_store_op_t op) {
  memory_t* m = store->internal;
  state_t* s = S3L_STORE_REQ_STATE(req, state_t);
  if (m->closing)
    return UV_ECANCELED;
  *s = (state_t){.memory = m, .req = req, .op = op};
  s3l_task_init(&s->task, on_task);
  s3l_loop_defer(m->loop, &s->task);
  return 0;
}

static int memory_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_GET);
}

static int memory_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_PUT);
}

static int memory_del(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_DEL);
}

static int memory_list(s3lect_store_t* store, s3lect_store_req_t* req) {
  return submit(store, req, S3L_STORE_LIST);
}

static void memory_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  state_t* s = S3L_STORE_REQ_STATE(req, state_t);
  (void)store;
  s->cancelled = true;
}

static void on_end(s3l_task_t* task) {
  memory_t* m = S3L_CONTAINER_OF(task, memory_t, end);
  s3lect_store_t* store = m->store;
  s3lect_store_close_cb cb = m->close_cb;
  for (size_t i = 0; i < m->objects_len; i++)
    free_object(m->objects[i]);
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
    .get = memory_get,
    .put = memory_put,
    .del = memory_del,
    .list = memory_list,
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
