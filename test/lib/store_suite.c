#include "lib/store_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/wait.h"

/* ---- Requests ---- */

static void copy_text(const char* from, size_t n, char* to, size_t cap, const char** result) {
  if (from == NULL)
    return;
  assert_true(n < cap);
  memcpy(to, from, n);
  to[n] = '\0';
  *result = to;
}

static void on_done(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  s3l_suite_req_t* r = req->data;
  r->done++;
  r->result = *result;
  r->result.etag = r->result.body = r->result.message = NULL;
  r->result.entries = NULL;
  assert_int_equal(result->size, sizeof(*result));
  if (result->etag != NULL)
    copy_text(result->etag, strlen(result->etag), r->etag, sizeof(r->etag), &r->result.etag);
  copy_text(result->body, result->body_len, r->body, sizeof(r->body), &r->result.body);
  if (result->message != NULL)
    copy_text(result->message, strlen(result->message), r->message, sizeof(r->message),
              &r->result.message);
  r->keys_len = 0;
  for (size_t i = 0; i < result->entries_len && i < 16; i++) {
    const char* ignored;
    copy_text(result->entries[i].key, strlen(result->entries[i].key), r->keys[r->keys_len++],
              sizeof(r->keys[0]), &ignored);
  }
}

void s3l_suite_prepare(s3l_store_suite_t* suite, s3l_suite_req_t* r, const char* name) {
  memset(&r->req, 0, sizeof(r->req));
  r->suite = suite;
  r->done = 0;
  int n = snprintf(r->key, sizeof(r->key), "%s%s", suite->prefix, name);
  assert_true(n > 0 && (size_t)n < sizeof(r->key));
  r->req.data = r;
  r->req.key = r->key;
  r->req.timeout_ms = suite->timeout_ms;
  r->req.cb = on_done;
}

int s3l_suite_start(s3l_suite_req_t* r, s3l_suite_op_t op) {
  r->done = 0;
  int err = op(r->suite->store, &r->req);
  assert_int_equal(r->done, 0);
  return err;
}

void s3l_suite_wait(s3l_suite_req_t* r) {
  while (r->done == 0)
    assert_true(s3l_turn(r->suite->loop) != 0 || r->done != 0);
  assert_int_equal(r->done, 1);
}

const s3lect_store_result_t* s3l_suite_do(s3l_suite_req_t* r, s3l_suite_op_t op) {
  assert_int_equal(s3l_suite_start(r, op), 0);
  s3l_suite_wait(r);
  return &r->result;
}

const s3lect_store_result_t* s3l_suite_get(s3l_store_suite_t* suite, s3l_suite_req_t* r,
                                           const char* name, const char* unless_etag) {
  s3l_suite_prepare(suite, r, name);
  r->req.condition = unless_etag != NULL ? S3LECT_IF_CHANGED : S3LECT_ALWAYS;
  r->req.etag = unless_etag;
  return s3l_suite_do(r, s3lect_store_get);
}

/* A refused swap over an ETag that a read still shows is tried once more as disputed: stores that
 * want bare ETags are found out so. */
static bool is_disputed(s3l_store_suite_t* suite, const char* name, const char* etag) {
  s3l_suite_req_t* look = calloc(1, sizeof(*look));
  assert_non_null(look);
  const s3lect_store_result_t* seen = s3l_suite_get(suite, look, name, NULL);
  bool same = seen->status == 0 && strcmp(seen->etag, etag) == 0;
  free(look);
  return same;
}

const s3lect_store_result_t* s3l_suite_put(s3l_store_suite_t* suite, s3l_suite_req_t* r,
                                           const char* name, uint32_t condition, const char* etag,
                                           const char* body) {
  s3l_suite_prepare(suite, r, name);
  r->req.condition = condition;
  r->req.etag = etag;
  r->req.body = body;
  r->req.body_len = strlen(body);
  const s3lect_store_result_t* result = s3l_suite_do(r, s3lect_store_put);
  if (condition == S3LECT_IF_MATCH && result->status == S3LECT_EPRECONDITION &&
      is_disputed(suite, name, etag)) {
    r->req.flags = S3LECT_REQ_ETAG_DISPUTED;
    result = s3l_suite_do(r, s3lect_store_put);
  }
  return result;
}

/* ---- Keys ---- */

void s3l_suite_prefix(s3l_store_suite_t* suite) {
  snprintf(suite->prefix, sizeof(suite->prefix), "s3lect-suite/%ld-%llu/", (long)uv_os_getpid(),
           (unsigned long long)uv_hrtime());
}

void s3l_suite_clean(s3l_store_suite_t* suite) {
  if (suite->store->ops->list == NULL)
    return;
  s3l_suite_req_t* list = calloc(1, sizeof(*list));
  s3l_suite_req_t* del = calloc(1, sizeof(*del));
  assert_non_null(list);
  assert_non_null(del);
  do {
    s3l_suite_prepare(suite, list, "");
    list->req.max_keys = 16;
    assert_int_equal(s3l_suite_do(list, s3lect_store_list)->status, 0);
    for (size_t i = 0; i < list->keys_len; i++) {
      s3l_suite_prepare(suite, del, "");
      del->req.key = list->keys[i];
      assert_int_equal(s3l_suite_do(del, s3lect_store_del)->status, 0);
    }
  } while (list->keys_len > 0);
  free(list);
  free(del);
}
