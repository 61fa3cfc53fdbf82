#include "store/store.h"

#include <stdbool.h>
#include <string.h>

/* ---- The public functions ---- */

static bool condition_is_valid(const s3lect_store_req_t* req, s3lect_store_op_t op) {
  switch (req->condition) {
  case S3LECT_ALWAYS:
    return true;
  case S3LECT_IF_ABSENT:
    return op == S3LECT_OP_PUT;
  case S3LECT_IF_MATCH:
    return (op == S3LECT_OP_PUT || op == S3LECT_OP_DEL) && req->etag != NULL;
  case S3LECT_IF_CHANGED:
    return op == S3LECT_OP_GET && req->etag != NULL;
  default:
    return false;
  }
}

static int check(const s3lect_store_req_t* req, s3lect_store_op_t op) {
  if (req->cb == NULL || req->key == NULL || req->timeout_ms == 0 ||
      strlen(req->key) > S3L_STORE_KEY_MAX || !condition_is_valid(req, op))
    return UV_EINVAL;
  if (op == S3LECT_OP_LIST)
    return req->max_keys >= 1 && req->max_keys <= 1000 ? 0 : UV_EINVAL;
  if (req->key[0] == '\0' || (op == S3LECT_OP_PUT && req->body == NULL && req->body_len > 0))
    return UV_EINVAL;
  return 0;
}

typedef int (*start_fn)(s3lect_store_t* store, s3lect_store_req_t* req);

static int start(start_fn fn, s3lect_store_t* store, s3lect_store_req_t* req,
                 s3lect_store_op_t op) {
  bool asks_version = (req->flags & S3LECT_REQ_VERSIONS) != 0;
  bool can = fn != NULL && (!asks_version || (store->ops->flags & S3LECT_STORE_VERSIONS) != 0);
  int err = can ? check(req, op) : UV_ENOSYS;
  if (err != 0)
    return err;
  req->store = store;
  req->op = op;
  return fn(store, req);
}

int s3lect_store_get(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->get, store, req, S3LECT_OP_GET);
}

int s3lect_store_put(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->put, store, req, S3LECT_OP_PUT);
}

int s3lect_store_del(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->del, store, req, S3LECT_OP_DEL);
}

int s3lect_store_list(s3lect_store_t* store, s3lect_store_req_t* req) {
  return start(store->ops->list, store, req, S3LECT_OP_LIST);
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

int s3l_store_check_condition(const s3lect_store_req_t* req, const char* etag) {
  if (etag == NULL && (req->op == S3LECT_OP_GET || req->condition == S3LECT_IF_MATCH))
    return S3LECT_ENOTFOUND;
  switch (req->condition) {
  case S3LECT_IF_ABSENT:
    return etag == NULL ? 0 : S3LECT_EPRECONDITION;
  case S3LECT_IF_MATCH:
    return strcmp(req->etag, etag) == 0 ? 0 : S3LECT_EPRECONDITION;
  case S3LECT_IF_CHANGED:
    return strcmp(req->etag, etag) == 0 ? S3LECT_ENOTMODIFIED : 0;
  default:
    return 0;
  }
}

void s3l_store_settle(s3lect_store_result_t* r, int status) {
  bool answers = status == 0 || status == S3LECT_ENOTFOUND || status == S3LECT_EPRECONDITION ||
                 status == S3LECT_ENOTMODIFIED || status == S3LECT_ETOOBIG;
  r->size = sizeof(*r);
  r->status = status;
  r->outcome = answers ? S3LECT_SETTLED : S3LECT_NOT_APPLIED;
}

void* s3l_store_req_scratch(s3lect_store_req_t* req) {
  return req->internal;
}
