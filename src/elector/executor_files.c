#include "elector/executor_files.h"

#include <string.h>

#include "core/epochs.h"
#include "elector/executor.h"
#include "util/list.h"
#include "util/span.h"

#define PAGE 100 /* keys asked for at once: there are few, unless all are kept */

size_t s3l_files_size(const s3lect_elector_options_t* o) {
  if (o->protocol != S3LECT_PROTOCOL_EPOCHS)
    return 0;
  size_t prefix = strlen(o->lockfile_path);
  size_t key = prefix + S3L_EPOCHS_TAIL_SIZE;
  return sizeof(s3l_files_t) + prefix + 1 + prefix + sizeof(S3L_EPOCHS_STEM) + 2 * key;
}

/* The prefix at *at, with room for `more` bytes behind it, a NUL included; *at goes behind that. */
static char* put_prefix(char** at, const char* prefix, size_t more) {
  size_t n = strlen(prefix);
  char* kept = memcpy(*at, prefix, n + 1);
  *at += n + more;
  return kept;
}

static void on_gc_done(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  s3l_files_t* f = req->data;
  f->gc_ended = true;
  s3l_executor_run(f->executor, &(s3l_event_t){.kind = S3L_EV_GC_DONE, .result = r});
}

s3l_files_t* s3l_files_init(s3l_executor_t* d, void* memory, const s3lect_elector_options_t* o) {
  s3l_files_t* f = memory;
  char* at = (char*)(f + 1);
  f->executor = d;
  f->state.keep = o->keep_epochs != 0 || o->store->ops->del == NULL; /* nothing to remove by */
  f->prefix = put_prefix(&at, o->lockfile_path, 1);
  char* stem = put_prefix(&at, o->lockfile_path, sizeof(S3L_EPOCHS_STEM));
  memcpy(stem + strlen(o->lockfile_path), S3L_EPOCHS_STEM, sizeof(S3L_EPOCHS_STEM));
  f->stem = stem;
  f->key = put_prefix(&at, o->lockfile_path, S3L_EPOCHS_TAIL_SIZE);
  f->gc_key = put_prefix(&at, o->lockfile_path, S3L_EPOCHS_TAIL_SIZE);
  f->gc.data = f;
  f->gc.store = o->store;
  f->gc.key = f->gc_key;
  f->gc.cb = on_gc_done;
  return f;
}

bool s3l_files_is_listing(const s3l_executor_t* d) {
  const s3l_files_t* f = s3l_files_of(d);
  return f != NULL && d->req.key == f->stem;
}

s3l_files_t* s3l_files_of(const s3l_executor_t* d) {
  s3l_epochs_t* state = d->core.config.epochs;
  return state != NULL ? S3L_CONTAINER_OF(state, s3l_files_t, state) : NULL;
}

const char* s3l_files_election(const s3l_executor_t* d) {
  const s3l_files_t* f = s3l_files_of(d);
  return f != NULL ? f->prefix : d->req.key;
}

void s3l_files_name(s3l_executor_t* d, const s3l_effect_t* e) {
  s3l_files_t* f = s3l_files_of(d);
  s3l_epochs_tail(e->file, f->key + strlen(f->prefix));
  d->req.key = f->key;
}

void s3l_files_list(s3l_executor_t* d, const s3l_effect_t* e) {
  s3l_files_t* f = s3l_files_of(d);
  s3lect_store_req_t* req = &d->req;
  if (!e->more && e->file > 0) {
    size_t n = strlen(f->prefix);
    memcpy(f->after, f->prefix, n);
    s3l_epochs_tail(e->file, f->after + n);
  }
  req->key = f->stem;
  req->after = e->more || e->file > 0 ? f->after : NULL;
  req->max_keys = PAGE;
  req->body = NULL;
  req->body_len = 0;
}

int s3l_files_listed(s3l_executor_t* d, const s3lect_store_result_t* r, s3l_listing_t* listing) {
  s3l_files_t* f = s3l_files_of(d);
  size_t prefix = strlen(f->prefix);
  memset(listing, 0, sizeof *listing);
  listing->truncated = r->truncated != 0;
  for (size_t i = 0; i < r->entries_len; i++) {
    s3l_span_t key = s3l_span_cstr(r->entries[i].key);
    if (!s3l_span_starts_with(key, s3l_span_cstr(f->prefix)))
      return S3LECT_ELISTING;
    s3l_span_t tail = {key.p + prefix, key.n - prefix};
    s3l_listing_add(listing, s3l_epochs_number(tail), r->entries[i].modified_ms);
  }
  if (!listing->truncated)
    return 0;
  /* The next page begins behind this one, so this one must have an end, and get further. */
  const char* last = r->entries_len > 0 ? r->entries[r->entries_len - 1].key : "";
  if (strlen(last) > S3L_STORE_KEY_MAX || strcmp(last, d->req.after != NULL ? f->after : "") <= 0)
    return S3LECT_ELISTING;
  memcpy(f->after, last, strlen(last) + 1);
  return 0;
}

void s3l_files_gc(s3l_executor_t* d, const s3l_effect_t* e) {
  s3l_files_t* f = s3l_files_of(d);
  s3l_epochs_tail(e->file, f->gc_key + strlen(f->prefix));
  f->gc.timeout_ms = e->timeout_ms;
  f->gc_ended = false;
  f->gc_error = s3lect_store_del(f->gc.store, &f->gc);
}

void s3l_files_gc_cancel(s3l_executor_t* d) {
  s3l_files_t* f = s3l_files_of(d);
  if (!f->gc_ended && f->gc_error == 0)
    s3lect_store_cancel(f->gc.store, &f->gc);
}

bool s3l_files_gc_failed(s3l_executor_t* d, s3lect_store_result_t* result) {
  s3l_files_t* f = s3l_files_of(d);
  if (f == NULL || f->gc_error == 0)
    return false;
  *result = (s3lect_store_result_t){.status = f->gc_error, .outcome = S3LECT_NOT_APPLIED};
  f->gc_error = 0;
  f->gc_ended = true;
  return true;
}
