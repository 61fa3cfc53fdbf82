/* store/memory: the suite, and what is particular to it: lack of memory, close, the loop. */
#include <stdlib.h>
#include <string.h>

#include "lib/store_suite.h"
#include "lib/test.h"
#include "util/mem.h"

static uv_loop_t loop;
static s3lect_store_t store;
static s3l_store_suite_t suite;
static unsigned closed;

static void on_close(s3lect_store_t* s) {
  assert_ptr_equal(s, &store);
  closed++;
}

static int open_store(void** state) {
  closed = 0;
  assert_int_equal(uv_loop_init(&loop), 0);
  memset(&store, 0, sizeof(store));
  assert_int_equal(s3lect_store_memory_init(&loop, &store, NULL), 0);
  suite = (s3l_store_suite_t){.loop = &loop,
                              .store = &store,
                              .timeout_ms = 1000,
                              .fresh_etags = true,
                              .guarded_deletes = true,
                              .clear_conflicts = true};
  s3l_suite_prefix(&suite);
  *state = &suite;
  return 0;
}

static int close_store(void** state) {
  s3lect_store_close(&store, on_close);
  assert_int_equal(closed, 0);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(closed, 1);
  assert_int_equal(uv_loop_close(&loop), 0);
  return 0;
}

static void cleans_up_after_itself(void** state) {
  s3l_suite_req_t* r = calloc(1, sizeof(*r));
  assert_non_null(r);
  s3l_suite_clean(*state);
  s3l_suite_prepare(*state, r, "");
  r->req.max_keys = 1;
  assert_int_equal(s3l_suite_do(r, s3lect_store_list)->status, 0);
  assert_int_equal(r->keys_len, 0);
  free(r);
}

/* An idle store does not keep the loop alive. */
static void lets_the_loop_end(void** state) {
  s3l_suite_req_t* r = calloc(1, sizeof(*r));
  assert_non_null(r);
  assert_int_equal(s3l_suite_get(*state, r, "x", NULL)->status, S3LECT_ENOTFOUND);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  free(r);
}

static void on_ended(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  *(int*)req->data = result->status * 10 - result->outcome;
  assert_int_equal(closed, 0); /* requests end before the store has closed */
}

static void close_ends_requests(void** state) {
  int how[2] = {1, 1};
  s3lect_store_req_t req[2] = {0};
  for (int i = 0; i < 2; i++) {
    req[i].data = &how[i];
    req[i].key = "k";
    req[i].timeout_ms = 1;
    req[i].cb = on_ended;
    assert_int_equal(s3lect_store_get(&store, &req[i]), 0);
  }
  assert_int_equal(close_store(state), 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(how[i], UV_ECANCELED * 10 - S3LECT_NOT_APPLIED);
  assert_int_equal(open_store(state), 0);
}

static void on_close_from_callback(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  (void)result;
  s3lect_store_close(req->store, on_close);
  assert_int_equal(s3lect_store_get(req->store, req), UV_ECANCELED);
}

static void closes_from_a_callback(void** state) {
  s3lect_store_req_t req = {.key = "k", .timeout_ms = 1, .cb = on_close_from_callback};
  assert_int_equal(s3lect_store_get(&store, &req), 0);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(closed, 1);
  assert_int_equal(uv_loop_close(&loop), 0);
  assert_int_equal(open_store(state), 0);
}

static int fail_after;

static void* failing_malloc(size_t n) {
  return fail_after-- > 0 ? malloc(n) : NULL;
}

static void* failing_calloc(size_t n, size_t size) {
  return fail_after-- > 0 ? calloc(n, size) : NULL;
}

static void* failing_realloc(void* p, size_t n) {
  return fail_after-- > 0 ? realloc(p, n) : NULL;
}

/* Each allocation fails once; nothing is half done afterwards. */
static void bears_lack_of_memory(void** state) {
  const s3l_mem_hooks_t hooks = {failing_malloc, failing_realloc, failing_calloc, free};
  s3l_suite_req_t* r = calloc(1, sizeof(*r));
  s3l_suite_req_t* look = calloc(1, sizeof(*look));
  bool succeeded = false;
  assert_non_null(r);
  assert_non_null(look);
  s3l_mem_set(&hooks);
  for (int i = 0; !succeeded; i++) {
    assert_true(i < 20);
    fail_after = i;
    s3l_suite_put(*state, r, "oom", S3LECT_IF_ABSENT, NULL, "body");
    succeeded = r->result.status == 0;
    if (!succeeded) {
      assert_int_equal(r->result.status, UV_ENOMEM);
      assert_int_equal(r->result.outcome, S3LECT_NOT_APPLIED);
      assert_int_equal(s3l_suite_get(*state, look, "oom", NULL)->status, S3LECT_ENOTFOUND);
    }
  }
  fail_after = 0;
  char etag[256];
  memcpy(etag, r->etag, sizeof(etag));
  assert_int_equal(s3l_suite_put(*state, r, "oom", S3LECT_IF_MATCH, etag, "a longer body")->status,
                   UV_ENOMEM);
  assert_int_equal(s3l_suite_get(*state, look, "oom", NULL)->status, 0);
  assert_string_equal(look->result.body, "body");
  assert_string_equal(look->result.etag, etag);
  s3lect_store_t other;
  assert_int_equal(s3lect_store_memory_init(&loop, &other, NULL), UV_ENOMEM);
  s3l_mem_set(NULL);
  free(r);
  free(look);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cleans_up_after_itself), cmocka_unit_test(lets_the_loop_end),
      cmocka_unit_test(close_ends_requests),    cmocka_unit_test(closes_from_a_callback),
      cmocka_unit_test(bears_lack_of_memory),   S3L_STORE_SUITE_TESTS};
  return cmocka_run_group_tests(tests, open_store, close_store);
}
