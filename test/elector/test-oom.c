/* Out of memory: the allocations of a whole life of an elector are counted, then each one is made
 * to fail, once and from then on. Nothing may crash, leak or hang; what fails says UV_ENOMEM. */
#include <stdio.h>
#include <string.h>

#include "lib/heap.h"
#include "lib/protocol.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

typedef struct life_s {
  uv_loop_t loop;
  s3lect_store_t store;
  s3lect_store_req_t seed;
  char body[1024];
  unsigned put, started, failed, closed;
} life_t;

static void on_put(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  assert_int_equal(r->status, 0);
  ((life_t*)req->data)->put++;
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  ((life_t*)e->data)->started++;
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  assert_int_equal(ev->error, UV_ENOMEM);
  ((life_t*)e->data)->failed++;
}

static void on_closed(s3lect_elector_t* e) {
  ((life_t*)e->data)->closed++;
}

static bool led_or_failed(void* arg) {
  const life_t* life = arg;
  return life->started > 0 || life->failed > 0;
}

/* A released record, so that the elector need not wait. */
static void seed(life_t* life) {
  s3lect_record_t r = s3l_script_store_released();
  life->seed.data = life;
  life->seed.key = s3l_test_epochs() ? "klock-0000000007.json" : "k";
  life->seed.body = life->body;
  life->seed.body_len = s3l_test_encode(&r, life->body, sizeof life->body);
  life->seed.timeout_ms = S3L_WAIT_MS;
  life->seed.cb = on_put;
  assert_int_equal(s3lect_store_put(&life->store, &life->seed), 0);
  s3l_wait_count(&life->loop, &life->put, 1, "the seed");
}

/* One life, with allocation number n failing; false if the life had fewer. */
static bool live(size_t n, bool on) {
  life_t life;
  s3lect_elector_t e;
  s3lect_elector_options_t o;
  memset(&life, 0, sizeof life);
  assert_int_equal(uv_loop_init(&life.loop), 0);
  s3l_heap_install();
  assert_int_equal(s3lect_store_memory_init(&life.loop, &life.store, NULL), 0);
  seed(&life);
  s3lect_elector_options_init(&o, sizeof o);
  o.lockfile_path = "k";
  o.protocol = s3l_test_protocol();
  o.server_id = "a";
  o.store = &life.store;
  o.on_started_leading = on_started;
  o.on_error = on_error;
  e.data = &life;
  s3l_heap_fail_at(n, on);
  int err = s3lect_elector_init(&life.loop, &e, &o, NULL);
  assert_true(err == 0 || err == UV_ENOMEM);
  if (err == 0) {
    assert_int_equal(s3lect_elector_start(&e), 0);
    s3l_wait(&life.loop, led_or_failed, &life, "leadership or an error");
    assert_int_equal(s3lect_elector_close(&e, on_closed), 0);
    s3l_wait_count(&life.loop, &life.closed, 1, "the close callback");
  }
  bool met = s3l_heap_fail_end();
  s3lect_store_close(&life.store, NULL);
  s3l_wait_loop_end(&life.loop);
  s3l_heap_remove();
  return met;
}

static void test_each_allocation_fails(void** state) {
  size_t once = 0;
  size_t for_good = 0;
  while (live(once, false))
    once++;
  while (live(for_good, true))
    for_good++;
  assert_true(once >= 2 && for_good >= 2); /* it allocates something, so something was tested */
}

static void test_memory_store_says_so(void** state) {
  uv_loop_t loop;
  s3lect_store_t store;
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_heap_install();
  s3l_heap_fail_at(0, true);
  assert_int_equal(s3lect_store_memory_init(&loop, &store, NULL), UV_ENOMEM);
  assert_true(s3l_heap_fail_end());
  s3l_heap_remove();
  s3l_wait_loop_end(&loop);
}

/* The S3 store: every allocation of opening it. */
static void test_s3_store_says_so(void** state) {
  size_t n = 0;
  for (bool met = true; met; n++) {
    uv_loop_t loop;
    s3lect_store_t store;
    s3lect_store_s3_options_t o;
    assert_int_equal(uv_loop_init(&loop), 0);
    s3l_heap_install();
    s3lect_store_s3_options_init(&o, sizeof o);
    o.bucket = "bucket";
    o.endpoint = "http://127.0.0.1:9";
    o.access_key_id = "test";
    o.secret_access_key = "testtest";
    s3l_heap_fail_at(n, false);
    int err = s3lect_store_s3_init(&loop, &store, &o, NULL);
    met = s3l_heap_fail_end();
    assert_int_equal(err, met ? UV_ENOMEM : 0);
    if (err == 0)
      s3lect_store_close(&store, NULL);
    s3l_wait_loop_end(&loop);
    s3l_heap_remove();
  }
  assert_true(n > 2);
}

int main(void) {
  s3l_wait_pace(S3L_PACE_TIMERS); /* nothing here has a socket */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_allocation_fails),
      cmocka_unit_test(test_memory_store_says_so),
      cmocka_unit_test(test_s3_store_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
