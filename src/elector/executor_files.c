#include "elector/executor_files.h"

#include <string.h>

#include "store/store.h"
#include "util/list.h"
#include "util/mutant.h"
#include "util/span.h"

#define PAGE 100 /* keys asked for at once: there are few, unless all are kept */

typedef struct files_s {
  s3l_epochs_t state;
  s3lect_store_req_t gc;
  const char* prefix;
  char* stem; /* with what every epoch file's key begins: where a listing looks */
  char* key;  /* of the request under way */
  char* gc_key;
  bool paged;    /* the listing under way begins after a key */
  bool gc_ended; /* the core has not been informed yet */
  int gc_error;  /* the store did not accept the request; the core has not been informed yet */
  char after[S3L_STORE_KEY_MAX + 1]; /* where a listing begins; its last page's last key */
} files_t;

static files_t* files_of(s3l_epochs_t* state) {
  return S3L_CONTAINER_OF(state, files_t, state);
}

size_t s3l_files_size(const s3lect_elector_options_t* o) {
  if (o->protocol != S3LECT_PROTOCOL_EPOCHS)
    return 0;
  size_t key = strlen(o->lockfile_path) + S3L_EPOCHS_TAIL_SIZE;
  return sizeof(files_t) + 3 * key;
}

/* Writes the key of a file, or with 0 their stem. */
static char* put_key(const files_t* f, char* key, uint64_t file) {
  size_t n = strlen(f->prefix);
  memcpy(key, f->prefix, n);
  if (file > 0)
    s3l_epochs_tail(file, key + n);
  else
    memcpy(key + n, S3L_EPOCHS_STEM, sizeof(S3L_EPOCHS_STEM));
  return key;
}

s3l_epochs_t* s3l_files_init(void* memory, const s3lect_elector_options_t* o, const char* prefix,
                             s3lect_store_cb gc_done, void* data) {
  files_t* f = memory;
  size_t key = strlen(prefix) + S3L_EPOCHS_TAIL_SIZE;
  if (s3l_files_size(o) == 0)
    return NULL;
  f->state.keep = o->keep_epochs != 0 || o->store->ops->del == NULL; /* nothing to remove by */
  f->prefix = prefix;
  f->key = (char*)(f + 1);
  f->gc_key = f->key + key;
  f->stem = put_key(f, f->gc_key + key, 0);
  f->gc.data = data;
  f->gc.store = o->store;
  f->gc.key = f->gc_key;
  f->gc.cb = gc_done;
  return &f->state;
}

void s3l_files_name(s3l_epochs_t* state, uint64_t file, s3lect_store_req_t* req) {
  files_t* f = files_of(state);
  req->key = put_key(f, f->key, file);
}

void s3l_files_list(s3l_epochs_t* state, const s3l_effect_t* e, s3lect_store_req_t* req) {
  files_t* f = files_of(state);
  f->paged = e->more || e->file > 0;
  if (!e->more && e->file > 0)
    (void)put_key(f, f->after, e->file);
  req->key = f->stem;
  req->after = f->paged ? f->after : NULL;
  req->max_keys = PAGE;
  req->body = NULL;
  req->body_len = 0;
}

int s3l_files_listed(s3l_epochs_t* state, const s3lect_store_result_t* r, s3l_listing_t* listing) {
  files_t* f = files_of(state);
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
  if (strlen(last) > S3L_STORE_KEY_MAX || strcmp(last, f->paged ? f->after : "") <= 0)
    return S3LECT_ELISTING;
  memcpy(f->after, last, strlen(last) + 1);
  return 0;
}

void s3l_files_gc(s3l_epochs_t* state, const s3l_effect_t* e) {
  files_t* f = files_of(state);
  (void)put_key(f, f->gc_key, e->file + (S3L_MUTANT(NEXT_REMOVED) ? 2 : 0));
  f->gc.timeout_ms = e->timeout_ms;
  f->gc_ended = false;
  f->gc_error = s3lect_store_del(f->gc.store, &f->gc);
}

void s3l_files_gc_cancel(s3l_epochs_t* state) {
  files_t* f = files_of(state);
  if (!f->gc_ended && f->gc_error == 0)
    s3lect_store_cancel(f->gc.store, &f->gc);
}

void s3l_files_gc_ended(s3l_epochs_t* state) {
  files_of(state)->gc_ended = true;
}

bool s3l_files_gc_failed(s3l_epochs_t* state, s3lect_store_result_t* result) {
  files_t* f = state != NULL ? files_of(state) : NULL;
  if (f == NULL || f->gc_error == 0)
    return false;
  *result = (s3lect_store_result_t){.status = f->gc_error, .outcome = S3LECT_NOT_APPLIED};
  f->gc_error = 0;
  f->gc_ended = true;
  return true;
}
