/* store/memory.c: a store in this process's memory.
 *
 * Linearizable by being single-threaded: each operation happens as a whole in the loop iteration
 * after the one that asked for it, in the order in which they were asked for, and its callback
 * follows at once. A cancelled request is never carried out, so that its outcome is
 * S3LECT_NOT_APPLIED. ETags come from a counter: none is ever used twice.
 *
 * Several handles may have the same objects (s3lect/testing.h), which are freed with the last one.
 * A request that gets no reply because of its handle's fault waits for its time-out. */
#include <stdbool.h>
#include <string.h>

#include "loop/loop.h"
#include "s3lect/testing.h"
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

typedef struct bucket_s {
  unsigned handles;
  object_t** objects; /* in the order of keys */
  size_t objects_len;
  size_t objects_cap;
  uint64_t writes;
} bucket_t;

typedef struct memory_s {
  s3l_loop_t* loop;
  s3l_task_t end;
  s3lect_store_t* store;
  bucket_t* bucket;
  s3l_list_t unanswered; /* requests that wait for their time-out */
  int32_t fault;         /* s3lect_memory_fault_t */
  bool closing;
  s3lect_store_close_cb close_cb;
} memory_t;

typedef struct state_s {
  s3l_task_t task;
  memory_t* memory; /* req->store may be another store, which has passed the request on */
  s3lect_store_req_t* req;
  s3l_deadline_t timeout; /* of a request that gets no reply */
  s3l_list_t link;        /* in `unanswered`, from then on */
  bool was_sent;          /* it got no reply, and may have been carried out */
  bool cancelled;
} state_t;

S3L_STORE_REQ_STATE_FITS(state_t);

/* ---- Objects ---- */

/* The index of the first object whose key is not less. */
static size_t lower_bound(const bucket_t* b, const char* key) {
  size_t from = 0, to = b->objects_len;
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    if (strcmp(b->objects[mid]->text, key) < 0)
      from = mid + 1;
    else
      to = mid;
  }
  return from;
}

static bool reserve_object(bucket_t* b) {
  object_t** p = s3l_grow(b->objects, b->objects_len, &b->objects_cap, sizeof(*p));
  if (p != NULL)
    b->objects = p;
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

static int do_put(bucket_t* b, const s3lect_store_req_t* req, size_t at, object_t* old,
                  s3lect_store_result_t* r) {
  object_t* o = old;
  if (old == NULL || old->room < req->body_len) {
    o = reserve_object(b) ? new_object(req) : NULL;
    if (o == NULL)
      return UV_ENOMEM;
    if (old == NULL)
      memmove(&b->objects[at + 1], &b->objects[at], (b->objects_len++ - at) * sizeof(object_t*));
    s3l_free(old);
    b->objects[at] = o;
  }
  if (req->body_len > 0)
    memcpy(o->body, req->body, req->body_len);
  s3l_buf_t etag;
  s3l_buf_init(&etag, o->etag, sizeof(o->etag));
  s3l_buf_puts(&etag, "\"memory-");
  s3l_buf_u64(&etag, ++b->writes);
  s3l_buf_putc(&etag, '"');
  (void)s3l_buf_cstr(&etag);
  o->entry = (s3lect_store_entry_t){o->text, o->etag, req->body_len, s3l_clock_wall_ms(), NULL};
  show_version(o, r);
  return 0;
}

/* As on S3, deleting an object that does not exist succeeds, unless there is a condition. */
static int do_del(bucket_t* b, size_t at, object_t* o) {
  if (o != NULL)
    memmove(&b->objects[at], &b->objects[at + 1], (--b->objects_len - at) * sizeof(object_t*));
  s3l_free(o);
  return 0;
}

/* The caller frees *entries after the callback; it may stay NULL. */
static int do_list(bucket_t* b, const s3lect_store_req_t* req, size_t at, s3lect_store_result_t* r,
                   s3lect_store_entry_t** entries) {
  s3l_span_t prefix = s3l_span_cstr(req->key);
  *entries = s3l_calloc(req->max_keys, sizeof(**entries));
  if (*entries == NULL)
    return UV_ENOMEM;
  r->entries = *entries;
  for (size_t i = at; i < b->objects_len && r->truncated == 0; i++) {
    const s3lect_store_entry_t* e = &b->objects[i]->entry;
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

static int do_op(bucket_t* b, const s3lect_store_req_t* req, s3lect_store_result_t* r,
                 s3lect_store_entry_t** entries) {
  size_t at = lower_bound(b, req->key);
  r->store_time_ms = s3l_clock_wall_ms();
  if (req->op == S3LECT_OP_LIST)
    return do_list(b, req, at, r, entries);
  bool found = at < b->objects_len && strcmp(b->objects[at]->entry.key, req->key) == 0;
  object_t* o = found ? b->objects[at] : NULL;
  int refusal = s3l_store_check_condition(req, found ? o->etag : NULL);
  if (req->op == S3LECT_OP_GET)
    return do_get(req, o, refusal, r);
  if (refusal != 0)
    return refusal;
  return req->op == S3LECT_OP_PUT ? do_put(b, req, at, o, r) : do_del(b, at, o);
}

static bool is_write(const s3lect_store_req_t* req) {
  return req->op == S3LECT_OP_PUT || req->op == S3LECT_OP_DEL;
}

/* Ends a request; the callback may free it with its state. */
static void end(state_t* s, int status, s3lect_store_result_t* r) {
  s3l_store_settle(r, status);
  if (s->was_sent && is_write(s->req))
    r->outcome = S3LECT_UNCERTAIN;
  s->req->cb(s->req, r);
}

static void on_timeout(s3l_deadline_t* deadline) {
  state_t* s = S3L_CONTAINER_OF(deadline, state_t, timeout);
  s3l_list_remove(&s->link);
  end(s, UV_ETIMEDOUT, &(s3lect_store_result_t){0});
}

/* No reply comes; the request is lost, or only its reply. */
static void wait_in_vain(state_t* s) {
  s->was_sent = true;
  s3l_list_push_back(&s->memory->unanswered, &s->link);
  s3l_loop_deadline_set(s->memory->loop, &s->timeout, s3l_clock_in_ms(s->req->timeout_ms));
}

/* Carries out a request and ends it. */
static void on_task(s3l_task_t* task) {
  state_t* s = S3L_CONTAINER_OF(task, state_t, task);
  memory_t* m = s->memory;
  s3lect_store_entry_t* entries = NULL;
  s3lect_store_result_t r = {0};
  if (s->cancelled || m->closing) {
    end(s, UV_ECANCELED, &r);
  } else if (m->fault == S3LECT_MEMORY_REFUSES) {
    end(s, UV_ECONNREFUSED, &r);
  } else if (m->fault == S3LECT_MEMORY_SILENT) {
    wait_in_vain(s);
  } else {
    int status = do_op(m->bucket, s->req, &r, &entries);
    if (m->fault == S3LECT_MEMORY_LOSES_REPLIES && is_write(s->req))
      wait_in_vain(s);
    else
      end(s, status, &r);
  }
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
  s3l_deadline_init(&s->timeout, on_timeout);
  s3l_list_init(&s->link);
  s3l_loop_defer(m->loop, &s->task);
  return 0;
}

static void cancel(state_t* s) {
  s->cancelled = true;
  if (s3l_list_empty(&s->link))
    return; /* its task comes */
  s3l_list_remove(&s->link);
  s3l_loop_deadline_clear(s->memory->loop, &s->timeout);
  s3l_loop_defer(s->memory->loop, &s->task);
}

static void memory_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  (void)store;
  cancel(S3L_STORE_REQ_STATE(req, state_t));
}

static void free_bucket(bucket_t* b) {
  for (size_t i = 0; i < b->objects_len; i++)
    s3l_free(b->objects[i]);
  s3l_free(b->objects);
  s3l_free(b);
}

static void on_end(s3l_task_t* task) {
  memory_t* m = S3L_CONTAINER_OF(task, memory_t, end);
  s3lect_store_t* store = m->store;
  s3lect_store_close_cb cb = m->close_cb;
  if (--m->bucket->handles == 0)
    free_bucket(m->bucket);
  s3l_free(m);
  store->internal = NULL;
  if (cb != NULL)
    cb(store);
}

static void memory_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  memory_t* m = store->internal;
  m->closing = true;
  m->close_cb = cb;
  while (!s3l_list_empty(&m->unanswered))
    cancel(S3L_CONTAINER_OF(m->unanswered.next, state_t, link));
  s3l_loop_leave(m->loop, &m->end); /* after the requests that wait */
}

static const s3lect_store_ops_t memory_ops = {
    .version = S3LECT_STORE_VERSION,
    .flags = S3LECT_STORE_IN_PROCESS,
    .get = submit,
    .put = submit,
    .del = submit,
    .list = submit,
    .cancel = memory_cancel,
    .close = memory_close,
};

static int open_handle(uv_loop_t* loop, s3lect_store_t* store, bucket_t* bucket) {
  memory_t* m = s3l_calloc(1, sizeof(*m));
  if (m == NULL)
    return UV_ENOMEM;
  int err = s3l_loop_join(loop, &m->loop);
  if (err != 0) {
    s3l_free(m);
    return err;
  }
  s3l_task_init(&m->end, on_end);
  s3l_list_init(&m->unanswered);
  m->store = store;
  m->bucket = bucket;
  bucket->handles++;
  store->loop = loop;
  store->ops = &memory_ops;
  store->internal = m;
  return 0;
}

int s3lect_store_memory_init(uv_loop_t* loop, s3lect_store_t* store, s3lect_error_t* error) {
  bucket_t* bucket = s3l_calloc(1, sizeof(*bucket));
  s3l_error_clear(error);
  if (bucket == NULL)
    return s3l_error_end(error, UV_ENOMEM);
  int err = open_handle(loop, store, bucket);
  if (err != 0)
    free_bucket(bucket);
  return err != 0 ? s3l_error_end(error, err) : 0;
}

int s3lect_store_memory_share(s3lect_store_t* store, s3lect_store_t* with, s3lect_error_t* error) {
  s3l_error_clear(error);
  if (with->ops != &memory_ops)
    return s3l_error_say(error, UV_EINVAL, "with", NULL,
                         "not a store in memory; open it with s3lect_store_memory_init");
  memory_t* m = with->internal;
  int err = open_handle(with->loop, store, m->bucket);
  return err != 0 ? s3l_error_end(error, err) : 0;
}

int s3lect_store_memory_fault(s3lect_store_t* store, int32_t fault) {
  if (store->ops != &memory_ops || fault < S3LECT_MEMORY_WORKS || fault > S3LECT_MEMORY_REFUSES)
    return UV_EINVAL;
  memory_t* m = store->internal;
  m->fault = fault;
  return 0;
}
