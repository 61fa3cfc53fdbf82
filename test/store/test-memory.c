/* store/memory: the suite, and what is particular to it: lack of memory, close, the loop, and what
 * s3lect/testing.h adds: handles that share their objects, and faults. */
#include <string.h>

#include "lib/heap.h"
#include "lib/store_suite.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/testing.h"

static uv_loop_t loop;
static s3lect_store_t store;
static s3l_store_suite_t suite;
static s3l_suite_req_t r, look;
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
  s3l_suite_clean(*state);
  s3l_suite_prepare(*state, &r, "");
  r.req.max_keys = 1;
  assert_int_equal(s3l_suite_do(&r, s3lect_store_list)->status, 0);
  assert_int_equal(r.keys_len, 0);
}

/* An idle store does not keep the loop alive. */
static void lets_the_loop_end(void** state) {
  assert_int_equal(s3l_suite_get(*state, &r, "x", NULL)->status, S3LECT_ENOTFOUND);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
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

/* Each allocation fails once; nothing is half done afterwards. */
static void bears_lack_of_memory(void** state) {
  bool succeeded = false;
  close_store(state);
  s3l_heap_install();
  open_store(state);
  for (size_t i = 0; !succeeded; i++) {
    s3l_heap_fail_at(i, true);
    s3l_suite_put(*state, &r, "oom", S3LECT_IF_ABSENT, NULL, "body");
    succeeded = r.result.status == 0;
    if (!succeeded) {
      assert_int_equal(r.result.status, UV_ENOMEM);
      assert_int_equal(r.result.outcome, S3LECT_NOT_APPLIED);
      assert_int_equal(s3l_suite_get(*state, &look, "oom", NULL)->status, S3LECT_ENOTFOUND);
    }
  }
  assert_false(s3l_heap_fail_end());
  s3l_heap_fail_at(0, true);
  char etag[256];
  memcpy(etag, r.etag, sizeof(etag));
  assert_int_equal(s3l_suite_put(*state, &r, "oom", S3LECT_IF_MATCH, etag, "a longer body")->status,
                   UV_ENOMEM);
  assert_int_equal(s3l_suite_get(*state, &look, "oom", NULL)->status, 0);
  assert_string_equal(look.result.body, "body");
  assert_string_equal(look.result.etag, etag);
  s3lect_store_t other;
  assert_int_equal(s3lect_store_memory_init(&loop, &other, NULL), UV_ENOMEM);
  (void)s3l_heap_fail_end();
  close_store(state);
  s3l_heap_remove();
  open_store(state);
}

static void has_no_versions(void** state) {
  s3l_suite_prepare(*state, &r, "k");
  r.req.etag = "1";
  r.req.flags = S3LECT_REQ_VERSIONS;
  assert_int_equal(s3lect_store_get(&store, &r.req), UV_ENOSYS);
  s3l_suite_prepare(*state, &r, "");
  r.req.flags = S3LECT_REQ_VERSIONS;
  r.req.max_keys = 1;
  assert_int_equal(s3lect_store_list(&store, &r.req), UV_ENOSYS);
}

/* The objects outlive the handle that was opened first. */
static void shares_its_objects(void** state) {
  static s3lect_store_t first, second;
  assert_int_equal(s3lect_store_memory_init(&loop, &first, NULL), 0);
  suite.store = &first;
  assert_int_equal(s3l_suite_put(&suite, &r, "a", S3LECT_ALWAYS, NULL, "text")->status, 0);
  assert_int_equal(s3lect_store_memory_share(&second, &first, NULL), 0);
  s3lect_store_close(&first, NULL);
  suite.store = &second;
  assert_int_equal(s3l_suite_get(&suite, &r, "a", NULL)->status, 0);
  assert_string_equal(r.result.body, "text");
  s3lect_store_close(&second, NULL);
  suite.store = &store;
}

/* A request of one handle under a fault: its status and outcome, and whether it took effect. */
static void expect_fault(int32_t fault, int status, int outcome, bool has_effect) {
  assert_int_equal(s3lect_store_memory_fault(&store, fault), 0);
  s3l_suite_put(&suite, &r, "faulty", S3LECT_ALWAYS, NULL, "new");
  assert_int_equal(r.result.status, status);
  assert_int_equal(r.result.outcome, outcome);
  s3l_suite_get(&suite, &look, "faulty", NULL);
  bool is_answered = fault == S3LECT_MEMORY_WORKS || fault == S3LECT_MEMORY_LOSES_REPLIES;
  assert_int_equal(look.result.status, is_answered ? 0 : status);
  assert_int_equal(look.result.outcome, is_answered ? S3LECT_SETTLED : S3LECT_NOT_APPLIED);
  assert_int_equal(s3lect_store_memory_fault(&store, S3LECT_MEMORY_WORKS), 0);
  s3l_suite_get(&suite, &look, "faulty", NULL);
  assert_string_equal(look.result.body, has_effect ? "new" : "old");
  s3l_suite_put(&suite, &r, "faulty", S3LECT_ALWAYS, NULL, "old");
}

static void has_faults(void** state) {
  s3l_wait_pace(S3L_PACE_TIMERS);
  s3l_suite_put(&suite, &r, "faulty", S3LECT_ALWAYS, NULL, "old");
  expect_fault(S3LECT_MEMORY_WORKS, 0, S3LECT_SETTLED, true);
  expect_fault(S3LECT_MEMORY_SILENT, UV_ETIMEDOUT, S3LECT_UNCERTAIN, false);
  expect_fault(S3LECT_MEMORY_LOSES_REPLIES, UV_ETIMEDOUT, S3LECT_UNCERTAIN, true);
  expect_fault(S3LECT_MEMORY_REFUSES, UV_ECONNREFUSED, S3LECT_NOT_APPLIED, false);
  assert_int_equal(s3lect_store_memory_fault(&store, S3LECT_MEMORY_REFUSES + 1), UV_EINVAL);
  assert_int_equal(s3lect_store_memory_fault(&store, -1), UV_EINVAL);
  s3l_wait_pace(S3L_PACE_REAL);
}

/* One request that waits in vain is cancelled, and close ends the other one. */
static void cancels_unanswered_requests(void** state) {
  int how[2] = {1, 1};
  s3lect_store_req_t req[2] = {0};
  assert_int_equal(s3lect_store_memory_fault(&store, S3LECT_MEMORY_SILENT), 0);
  for (int i = 0; i < 2; i++) {
    req[i] = (s3lect_store_req_t){.data = &how[i],
                                  .key = "k",
                                  .body = "x",
                                  .body_len = 1,
                                  .timeout_ms = 60000,
                                  .cb = on_ended};
    assert_int_equal(s3lect_store_put(&store, &req[i]), 0);
  }
  s3l_turn(&loop);
  assert_int_equal(how[0], 1);
  s3lect_store_cancel(&store, &req[0]);
  assert_int_equal(how[0], 1);
  s3l_turn(&loop);
  assert_int_equal(how[0], UV_ECANCELED * 10 - S3LECT_UNCERTAIN);
  assert_int_equal(how[1], 1);
  assert_int_equal(close_store(state), 0);
  assert_int_equal(how[1], UV_ECANCELED * 10 - S3LECT_UNCERTAIN);
  assert_int_equal(open_store(state), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cleans_up_after_itself),      cmocka_unit_test(lets_the_loop_end),
      cmocka_unit_test(close_ends_requests),         cmocka_unit_test(closes_from_a_callback),
      cmocka_unit_test(bears_lack_of_memory),        cmocka_unit_test(has_no_versions),
      cmocka_unit_test(shares_its_objects),          cmocka_unit_test(has_faults),
      cmocka_unit_test(cancels_unanswered_requests), S3L_STORE_SUITE_TESTS};
  return cmocka_run_group_tests(tests, open_store, close_store);
}
