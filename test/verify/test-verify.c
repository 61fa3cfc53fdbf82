/* s3lect_verify_start on the memory store: the verdict, options, a cancel after each request, and
 * memory running out at each allocation. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clocks.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/verify_rig.h"
#include "lib/wait.h"
#include "loop/loop.h"
#include "s3lect/store.h"

static uv_loop_t loop;
static s3lect_store_t store;
static s3l_verify_rig_t rig;

static int open_store(void** state) {
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_memory_init(&loop, &store, NULL), 0);
  s3l_wait_pace(S3L_PACE_TIMERS);
  return 0;
}

static int close_store(void** state) {
  s3lect_store_close(&store, NULL);
  s3l_wait_loop_end(&loop);
  return 0;
}

static s3lect_verify_options_t options(void) {
  s3lect_verify_options_t o;
  s3lect_verify_options_init(&o, sizeof(o));
  o.store = &store;
  return o;
}

/* ---- A store in front of the memory store: counts, and lets a test step in ---- */

#define TOOK_NS 50000000 /* a put that went out in turn, and the time before the next one */

typedef struct front_s {
  s3lect_store_t store;
  const s3lect_store_ops_t* inner;
  s3lect_store_ops_t ops;
  unsigned requests;
  unsigned cancel_at; /* 0: never */
  int refuse;         /* what every request is refused with, if not 0 */
  s3lect_store_cb cb; /* of the run */
  /* Puts go out in turn, as over one connection. */
  bool in_turn;
  s3lect_store_req_t* waiting[S3LECT_VERIFY_CONCURRENCY_MAX]; /* the first one is under way */
  int64_t since_ns[S3LECT_VERIFY_CONCURRENCY_MAX];
  int64_t out_ns;
  size_t waiting_len;
  /* The reply to a put is lost, and then those to some reads. */
  unsigned puts, lost_put, lost_gets;
} front_t;

static front_t front;

static int pass(int (*op)(s3lect_store_t*, s3lect_store_req_t*), s3lect_store_req_t* req) {
  if (front.refuse != 0)
    return front.refuse;
  int rc = op(&store, req);
  if (++front.requests == front.cancel_at)
    s3lect_verify_cancel(&rig.verify);
  return rc;
}

static void on_lost(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  s3lect_store_result_t r = {.size = sizeof(r), .status = UV_ETIMEDOUT};
  r.outcome = req->op == S3LECT_OP_PUT ? S3LECT_UNCERTAIN : S3LECT_SETTLED;
  req->cb = front.cb;
  req->cb(req, &r);
}

static void lose_reply(s3lect_store_req_t* req) {
  front.cb = req->cb;
  req->cb = on_lost;
}

static int front_get(s3lect_store_t* s, s3lect_store_req_t* req) {
  if (front.puts >= front.lost_put && front.lost_gets > 0) {
    front.lost_gets--;
    lose_reply(req);
  }
  return pass(front.inner->get, req);
}

static void on_put_in_turn(s3lect_store_req_t* req, const s3lect_store_result_t* result);

static int put_first(void) {
  s3lect_store_req_t* req = front.waiting[0];
  front.out_ns = s3l_clock_lease_ns();
  front.cb = req->cb;
  req->cb = on_put_in_turn;
  return front.inner->put(&store, req);
}

static void on_put_in_turn(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  s3lect_store_result_t r = *result;
  s3l_clocks_skip(TOOK_NS);
  r.waited_ns = front.out_ns - front.since_ns[0];
  front.waiting_len--;
  memmove(front.waiting, front.waiting + 1, front.waiting_len * sizeof(front.waiting[0]));
  memmove(front.since_ns, front.since_ns + 1, front.waiting_len * sizeof(front.since_ns[0]));
  req->cb = front.cb;
  bool more = front.waiting_len > 0; /* else the next put may come from within the callback */
  req->cb(req, &r);
  s3l_clocks_skip(TOOK_NS);
  if (more)
    assert_int_equal(put_first(), 0);
}

static int front_put(s3lect_store_t* s, s3lect_store_req_t* req) {
  if (front.in_turn) {
    front.since_ns[front.waiting_len] = s3l_clock_lease_ns();
    front.waiting[front.waiting_len++] = req;
    return front.waiting_len == 1 ? put_first() : 0;
  }
  if (++front.puts == front.lost_put)
    lose_reply(req);
  return pass(front.inner->put, req);
}

static int front_del(s3lect_store_t* s, s3lect_store_req_t* req) {
  return pass(front.inner->del, req);
}

static int front_list(s3lect_store_t* s, s3lect_store_req_t* req) {
  return pass(front.inner->list, req);
}

static void front_cancel(s3lect_store_t* s, s3lect_store_req_t* req) {
  front.inner->cancel(&store, req);
}

static void put_front(void) {
  memset(&front, 0, sizeof(front));
  front.inner = store.ops;
  front.ops = (s3lect_store_ops_t){.version = S3LECT_STORE_VERSION,
                                   .get = front_get,
                                   .put = front_put,
                                   .del = front_del,
                                   .list = front_list,
                                   .cancel = front_cancel};
  front.store = (s3lect_store_t){.loop = &loop, .ops = &front.ops};
}

/* ---- Tests ---- */

static void trusts_memory(void** state) {
  s3lect_verify_options_t o = options();
  s3l_verify_rig_run(&rig, &o);
  s3l_verify_rig_failed(&rig, (const char* const[]){NULL});
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(s3l_verify_rig_check(&rig, "equal-bodies"), S3LECT_CHECK_PASSED);
  assert_int_equal(rig.report.etag_dialect, S3LECT_ETAG_UNKNOWN);
  assert_int_equal(rig.report.clock_known, 1);
  assert_true(llabs(rig.report.clock_offset_ms) <= rig.report.clock_error_ms);
  assert_int_equal(rig.report.leftovers, 0);
}

/* del and list may be missing: the lockfile does not depend on them, epoch files on list. */
static void does_without_list_and_delete(void** state) {
  s3lect_verify_options_t o = options();
  put_front();
  front.ops.del = NULL;
  front.ops.list = NULL;
  o.store = &front.store;
  s3l_verify_rig_run(&rig, &o);
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(rig.report.epochs.safety, S3LECT_SAFETY_UNSAFE);
  s3l_verify_rig_failed(&rig, (const char* const[]){"list", NULL});
  assert_int_equal(s3l_verify_rig_check(&rig, "delete"), S3LECT_CHECK_SKIPPED);
  assert_int_equal(rig.report.leftovers, 4);
}

/* A store that takes nothing gives no verdict, and the run ends all the same. */
static void survives_a_store_that_takes_nothing(void** state) {
  s3lect_verify_options_t o = options();
  put_front();
  front.refuse = UV_ENOMEM;
  o.store = &front.store;
  s3l_verify_rig_run(&rig, &o);
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNKNOWN);
  assert_int_equal(rig.report.error, UV_ENOMEM);
  assert_int_equal(rig.report.requests, 0);
  assert_int_equal(rig.report.leftovers, 0);
}

/* Writers of which each waits for the reply to the one before have been no race: of a store that
 * checks and writes apart they show nothing. */
static void writers_in_turn_are_no_race(void** state) {
  s3lect_verify_options_t o = options();
  if (!s3l_clocks_move())
    skip();
  put_front();
  front.in_turn = true;
  o.store = &front.store;
  s3l_verify_rig_run(&rig, &o);
  assert_int_equal(s3l_verify_rig_check(&rig, "one-create-wins"), S3LECT_CHECK_INCONCLUSIVE);
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNKNOWN);
  assert_int_equal(rig.report.epochs.safety, S3LECT_SAFETY_UNKNOWN);
  assert_int_equal(rig.report.lockfile.races, 0);
  assert_int_equal(rig.report.error, S3LECT_ECROWDED);
  assert_int_equal(rig.report.leftovers, 0);
}

/* A write that was carried out refuses its own second attempt. While reads fail, nobody knows which
 * one of the two is the reason of the refusal. */
static void a_lost_write_is_looked_for(void** state) {
  enum { SINGLE_PUTS = 6 }; /* of a quick run; the races follow */
  s3lect_verify_options_t o = options();
  if (!s3l_clocks_move())
    skip(); /* it would take minutes */
  put_front();
  o.store = &front.store;
  o.quick = 1;
  for (unsigned put = 1; put < 20; put++) {
    front.puts = 0;
    front.lost_put = put;
    front.lost_gets = 2; /* after the lost write, and after the refusal */
    s3l_verify_rig_run(&rig, &o);
    s3l_verify_rig_failed(&rig, (const char* const[]){NULL});
    assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
    front.puts = 0;
    front.lost_gets = UINT_MAX;
    s3l_verify_rig_run(&rig, &o);
    assert_int_not_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNSAFE);
    assert_int_not_equal(rig.report.epochs.safety, S3LECT_SAFETY_UNSAFE);
    if (put <= SINGLE_PUTS) {
      assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNKNOWN);
      assert_int_equal(rig.report.error, UV_ETIMEDOUT);
    }
  }
}

typedef struct look_s {
  s3lect_store_req_t req;
  unsigned done;
  size_t entries;
} look_t;

static void on_list(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  look_t* l = req->data;
  assert_int_equal(r->status, 0);
  l->entries = r->entries_len;
  l->done++;
}

static size_t count_objects(void) {
  look_t l = {.req = {.key = "", .max_keys = 100, .timeout_ms = 1000, .cb = on_list}};
  l.req.data = &l;
  assert_int_equal(s3lect_store_list(&store, &l.req), 0);
  s3l_wait_count(&loop, &l.done, 1, "a listing");
  return l.entries;
}

static void ends_when_cancelled_at_any_request(void** state) {
  s3lect_verify_options_t o = options();
  unsigned n = 1;
  put_front();
  o.store = &front.store;
  for (;; n++) {
    front.requests = 0;
    front.cancel_at = n;
    s3l_verify_rig_run(&rig, &o);
    assert_int_equal(count_objects(), 0);
    if (rig.report.error != UV_ECANCELED)
      break;
    assert_int_not_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNSAFE);
  }
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_true(n > 60); /* it was cancelled at each of so many */
}

static void cancels_before_the_first_request(void** state) {
  s3lect_verify_options_t o = options();
  s3l_verify_rig_start(&rig, &o);
  s3lect_verify_cancel(&rig.verify);
  assert_int_equal(rig.done, 0);
  s3l_wait_count(&loop, &rig.done, 1, "the end of a cancelled run");
  assert_int_equal(rig.report.error, UV_ECANCELED);
  assert_int_equal(rig.report.requests, 0);
}

static void unexpected(s3lect_verify_t* verify, const s3lect_verify_report_t* report) {
  fail_msg("a run that was refused has ended");
}

static void refuses_bad_options(void** state) {
  s3lect_verify_t v = {0};
  s3lect_verify_options_t o = options();
  char prefix[S3LECT_VERIFY_PREFIX_MAX + 2];
  assert_int_equal(s3lect_verify_start(&v, &o, NULL, NULL), UV_EINVAL);
  o.size = sizeof(o) - 1;
  assert_int_equal(s3lect_verify_start(&v, &o, unexpected, NULL), UV_EINVAL);
  o = options();
  o.store = NULL;
  assert_int_equal(s3lect_verify_start(&v, &o, unexpected, NULL), S3LECT_EOPTION);
  o = options();
  o.concurrency = 1;
  assert_int_equal(s3lect_verify_start(&v, &o, unexpected, NULL), S3LECT_EOPTION);
  o.concurrency = S3LECT_VERIFY_CONCURRENCY_MAX + 1;
  assert_int_equal(s3lect_verify_start(&v, &o, unexpected, NULL), S3LECT_EOPTION);
  o = options();
  o.prefix = "\xff";
  assert_int_equal(s3lect_verify_start(&v, &o, unexpected, NULL), S3LECT_EOPTION);
  memset(prefix, 'k', sizeof(prefix) - 1);
  prefix[sizeof(prefix) - 1] = '\0';
  o.prefix = prefix;
  assert_int_equal(s3lect_verify_start(&v, &o, unexpected, NULL), S3LECT_EOPTION);
  prefix[S3LECT_VERIFY_PREFIX_MAX] = '\0';
  s3l_verify_rig_run(&rig, &o);
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
}

static void survives_memory_running_out(void** state) {
  bool failed = true;
  for (size_t n = 0; failed; n++) {
    s3l_heap_install();
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(s3lect_store_memory_init(&loop, &store, NULL), 0);
    s3lect_verify_options_t o = options();
    o.quick = 1;
    s3l_heap_fail_at(n, false);
    int err = s3l_verify_rig_try(&rig, &o);
    if (err == 0)
      s3l_wait_count(&loop, &rig.done, 1, "the end of a verification");
    failed = s3l_heap_fail_end();
    assert_true(n > 0 || err == UV_ENOMEM);
    assert_true(err == UV_ENOMEM || rig.report.lockfile.safety == S3LECT_SAFETY_SAFE ||
                rig.report.error == UV_ENOMEM);
    s3lect_store_close(&store, NULL);
    s3l_wait_loop_end(&loop);
    s3l_heap_remove();
  }
}

static void names_things(void** state) {
  assert_string_equal(s3lect_safety_name(S3LECT_SAFETY_SAFE), "safe");
  assert_string_equal(s3lect_safety_name(S3LECT_SAFETY_UNSAFE), "unsafe");
  assert_string_equal(s3lect_safety_name(99), "unknown");
  assert_string_equal(s3lect_check_verdict_name(S3LECT_CHECK_PASSED), "passed");
  assert_string_equal(s3lect_check_verdict_name(S3LECT_CHECK_NOTED), "noted");
  assert_string_equal(s3lect_check_verdict_name(S3LECT_CHECK_FAILED), "failed");
  assert_string_equal(s3lect_check_verdict_name(S3LECT_CHECK_INCONCLUSIVE), "inconclusive");
  assert_string_equal(s3lect_check_verdict_name(99), "skipped");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, open_store, close_store)
      T(trusts_memory),
      T(does_without_list_and_delete),
      T(survives_a_store_that_takes_nothing),
      T(writers_in_turn_are_no_race),
      T(a_lost_write_is_looked_for),
      T(ends_when_cancelled_at_any_request),
      T(cancels_before_the_first_request),
      T(refuses_bad_options),
      cmocka_unit_test(survives_memory_running_out),
      cmocka_unit_test(names_things),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
