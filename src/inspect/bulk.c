#include "inspect/bulk.h"

#include <stdio.h>
#include <string.h>

#include "core/epochs.h"
#include "util/buf.h"

#define PAGE_KEYS 1000

static void fail(s3l_bulk_t* bulk, int error, const s3lect_store_result_t* result) {
  if (error == 0 || bulk->error != 0)
    return;
  bool told = result != NULL && result->status != 0 && result->message != NULL;
  const char* text = told && result->message[0] != '\0' ? result->message : s3lect_strerror(error);
  int n = snprintf(bulk->message, sizeof bulk->message, "%s", text);
  s3l_buf_cut(bulk->message, sizeof bulk->message, n);
  bulk->error = error;
}

/* A request or a step has ended with this. */
static void settle(s3l_bulk_t* bulk, int error, const s3lect_store_result_t* result) {
  fail(bulk, error, result);
  if (bulk->active == 0)
    bulk->ops->end(bulk, bulk->error, bulk->message);
}

/* Starts a request that is filled but for this. */
static int submit(s3l_bulk_t* bulk, int (*how)(s3lect_store_t*, s3lect_store_req_t*),
                  s3lect_store_req_t* req, bool versions, s3lect_store_cb cb) {
  req->data = bulk;
  req->flags = versions ? S3LECT_REQ_VERSIONS : 0;
  req->max_keys = PAGE_KEYS;
  req->timeout_ms = bulk->timeout_ms;
  req->cb = cb;
  int r = how(bulk->store, req);
  if (r == 0)
    bulk->active++;
  else
    req->data = NULL;
  return r;
}

/* ---- Many objects ---- */

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result);

/* Reads a further object in each lane that is free. */
static int fill_lanes(s3l_bulk_t* bulk) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < S3L_BULK_LANES; i++) {
    s3lect_store_req_t* req = &bulk->lanes[i].req;
    if (req->data != NULL)
      continue;
    req->etag = req->after = NULL;
    req->key = bulk->lanes[i].key;
    while (bulk->next < bulk->len &&
           !bulk->ops->key(bulk, bulk->next, bulk->lanes[i].key, &req->etag))
      bulk->next++;
    if (bulk->next == bulk->len)
      break;
    bulk->lanes[i].at = bulk->next++;
    r = submit(bulk, s3lect_store_get, req, req->etag != NULL, on_read);
  }
  return r;
}

static void on_read(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  s3l_bulk_t* bulk = req->data;
  size_t lane = 0;
  while (&bulk->lanes[lane].req != req)
    lane++;
  req->data = NULL;
  bulk->active--;
  if (bulk->error == 0)
    fail(bulk, bulk->ops->take(bulk, bulk->lanes[lane].at, result), result);
  settle(bulk, bulk->error == 0 ? fill_lanes(bulk) : 0, NULL);
}

/* ---- All keys ---- */

static void on_page(s3lect_store_req_t* req, const s3lect_store_result_t* result);

static int next_page(s3l_bulk_t* bulk) {
  s3lect_store_req_t* req = &bulk->lanes[0].req;
  req->key = bulk->prefix;
  req->after = bulk->after[0] != '\0' ? bulk->after : NULL;
  req->etag = bulk->after_version[0] != '\0' ? bulk->after_version : NULL;
  return submit(bulk, s3lect_store_list, req, bulk->versions, on_page);
}

/* A page that is not after the one before it would never end the listing. */
static int take_page(s3l_bulk_t* bulk, const s3lect_store_result_t* result) {
  int r = result->status;
  const char *last = "", *version = "";
  for (size_t i = 0; r == 0 && i < result->entries_len; i++) {
    const s3lect_store_entry_t* entry = &result->entries[i];
    last = entry->key;
    version = bulk->versions && entry->version != NULL ? entry->version : "";
    if (++bulk->objects > S3L_BULK_OBJECTS_MAX)
      r = S3LECT_ETOOBIG;
    else if (strlen(last) >= sizeof bulk->after || strlen(version) >= sizeof bulk->after_version)
      r = S3LECT_ELISTING;
    else
      r = bulk->ops->list(bulk, entry);
  }
  if (r != 0 || result->truncated == 0)
    return r;
  int order = strcmp(last, bulk->after);
  if (order < 0 || (order == 0 && strcmp(version, bulk->after_version) == 0))
    return S3LECT_ELISTING;
  memcpy(bulk->after, last, strlen(last) + 1);
  memcpy(bulk->after_version, version, strlen(version) + 1);
  return 0;
}

static void on_page(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  s3l_bulk_t* bulk = req->data;
  req->data = NULL;
  bulk->active--;
  int r = bulk->error == 0 ? take_page(bulk, result) : bulk->error;
  if (r == 0 && result->truncated != 0) {
    r = next_page(bulk);
  } else if (r == 0 || r == UV_EOF) {
    bulk->len = bulk->ops->listed(bulk);
    r = fill_lanes(bulk);
  }
  settle(bulk, r, result);
}

/* ---- Keys ---- */

void s3l_bulk_prefix(char prefix[S3L_BULK_KEY_SIZE], const char* path, bool files) {
  (void)snprintf(prefix, S3L_BULK_KEY_SIZE, "%s%s", path, files ? S3L_EPOCHS_STEM : "");
}

void s3l_bulk_key(char key[S3L_BULK_KEY_SIZE], s3l_span_t path, uint64_t file) {
  char tail[S3L_EPOCHS_TAIL_SIZE] = "";
  if (file != 0)
    s3l_epochs_tail(file, tail);
  memcpy(key, path.p, path.n);
  memcpy(key + path.n, tail, strlen(tail) + 1);
}

/* ---- Start and cancel ---- */

int s3l_bulk_start(s3l_bulk_t* bulk) {
  bulk->after[0] = bulk->after_version[0] = bulk->message[0] = '\0';
  bulk->objects = bulk->next = bulk->len = 0;
  bulk->error = 0;
  if (bulk->prefix != NULL)
    return next_page(bulk);
  bulk->len = bulk->ops->listed(bulk);
  return fill_lanes(bulk);
}

void s3l_bulk_cancel(s3l_bulk_t* bulk) {
  fail(bulk, UV_ECANCELED, NULL);
  for (size_t i = 0; i < S3L_BULK_LANES; i++)
    if (bulk->lanes[i].req.data != NULL)
      s3lect_store_cancel(bulk->store, &bulk->lanes[i].req);
}
