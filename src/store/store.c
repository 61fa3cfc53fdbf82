#include "store/store.h"

#include <stdbool.h>
#include <string.h>

/* ---- The public functions ---- */

static bool condition_is_valid(const s3lect_store_req_t* req, s3l_store_op_t op) {
  switch (req->condition) {
  case S3LECT_ALWAYS:
    return true;
  case S3LECT_IF_ABSENT:
    return op == S3L_STORE_PUT;
  case S3LECT_IF_MATCH:
    return (op == S3L_STORE_PUT || op == S3L_STORE_DEL) && req->etag != NULL;
  case S3LECT_IF_CHANGED:
    return op == S3L_STORE_GET && req->etag != NULL;
  default:
    return false;
  }
}

static int check(const s3lect_store_req_t* req, s3l_store_op_t op) {
  if (req->cb == NULL || req->key == NULL || req->timeout_ms == 0 ||
      strlen(req->key) > S3L_STORE_KEY_MAX || !condition_is_valid(req, op))
    return UV_EINVAL;
  if (op == S3L_STORE_LIST)
    return req->max_keys >= 1 && req->max_keys <= 1000 ? 0 : UV_EINVAL;
  if (req->key[0] == '\0' || (op == S3L_STORE_PUT && req->body == NULL && req->body_len > 0))
    return UV_EINVAL;
  return 0;
}

typedef int (*start_fn)(s3lect_store_t* store, s3lect_store_req_t* req);

static int start(start_fn fn, s3lect_store_t* store, s3lect_store_req_t* req, s3l_store_op_t op) {
  int err = fn != NULL ? check(req, op) : UV_ENOSYS;
  if (err != 0)
    return err;
  req->store = store;
  return fn(store, req);
}

int s3lect_store_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->get, store, req, S3L_STORE_GET);
}

int s3lect_store_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->put, store, req, S3L_STORE_PUT);
}

int s3lect_store_del(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->del, store, req, S3L_STORE_DEL);
}

int s3lect_store_list(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->list, store, req, S3L_STORE_LIST);
}

void s3lect_store_cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  store->ops->cancel(store, req);
}

void s3lect_store_close(s3lect_store_t* store, s3lect_store_close_cb cb) {
  store->ops->close(store, cb);
}

/* ---- What the stores share ---- */

uint32_t s3l_store_body_max(const s3lect_store_req_t* req) {
  return req->body_max != 0 ? req->body_max : S3L_STORE_BODY_MAX_DEFAULT;
}

s3lect_store_result_t s3l_store_result(int status, int outcome) {
  return (s3lect_store_result_t){
      .size = sizeof(s3lect_store_result_t), .status = status, .outcome = outcome};
}

void* s3l_store_req_scratch(s3lect_store_req_t* req) {
  return req->internal;
}
