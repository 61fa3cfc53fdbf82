/* s3lect/testing.h: elections with default options in fast time, and the faults of handles of one
 * memory store. Fast time is refused where another process could notice it, and does not count the
 * time in which the process does not run. */
#include <string.h>

#include "lib/clocks.h"
#include "lib/protocol.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

#define SPEED 200

typedef struct candidate_s {
  s3lect_store_t store;
  s3lect_elector_t elector;
  unsigned started, stopped;
  int reason;
  uint64_t epoch;
} candidate_t;

static uv_loop_t loop;
static s3lect_store_t bucket;
static candidate_t one, two;
static unsigned closed;

static void on_started(s3lect_elector_t* e, const s3lect_event_t* event) {
  candidate_t* c = e->data;
  c->started++;
  c->epoch = event->epoch;
  assert_false(s3lect_elector_is_leader(c == &one ? &two.elector : &one.elector));
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* event) {
  candidate_t* c = e->data;
  c->stopped++;
  c->reason = event->reason;
}

static void on_closed(s3lect_elector_t* e) {
  s3lect_store_close(&((candidate_t*)e->data)->store, NULL);
  closed++;
}

static s3lect_elector_options_t options(candidate_t* c, const char* id) {
  s3lect_elector_options_t o;
  s3lect_elector_options_init(&o, sizeof o);
  o.lockfile_path = "locks/db";
  o.server_id = id;
  o.store = &c->store;
  o.protocol = s3l_test_protocol();
  o.on_started_leading = on_started;
  o.on_stopped_leading = on_stopped;
  return o;
}

static void stand(candidate_t* c, const char* id) {
  memset(c, 0, sizeof *c);
  assert_int_equal(s3lect_store_memory_share(&c->store, &bucket, NULL), 0);
  s3lect_elector_options_t o = options(c, id);
  assert_int_equal(s3lect_elector_init(&loop, &c->elector, &o, NULL), 0);
  c->elector.data = c;
  assert_int_equal(s3lect_elector_start(&c->elector), 0);
}

static int open_both(void** state) {
  closed = 0;
  assert_int_equal(s3lect_testing_speed(SPEED), 0);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_memory_init(&loop, &bucket, NULL), 0);
  stand(&one, "one");
  s3l_wait_count(&loop, &one.started, 1, "one leads");
  stand(&two, "two");
  return 0;
}

static int close_both(void** state) {
  s3lect_elector_close(&two.elector, on_closed);
  s3lect_elector_close(&one.elector, on_closed);
  s3lect_store_close(&bucket, NULL);
  s3l_wait_loop_end(&loop);
  assert_int_equal(closed, 2);
  return 0;
}

static void takes_as_long_as_in_production(void** state) {
  int64_t began_ns = s3lect_now_ns();
  assert_int_equal(s3lect_store_memory_fault(&one.store, S3LECT_MEMORY_SILENT), 0);
  s3l_wait_count(&loop, &two.started, 1, "two leads");
  /* A leader timeout after a renewal, which was at most 5 s ago. */
  assert_true(s3lect_now_ns() - began_ns > INT64_C(9000000000));
}

static void a_silent_store_ends_leadership(void** state) {
  assert_int_equal(s3lect_store_memory_fault(&one.store, S3LECT_MEMORY_SILENT), 0);
  s3l_wait_count(&loop, &two.started, 1, "two leads");
  assert_int_equal(one.stopped, 1);
  assert_int_equal(one.reason, S3LECT_REASON_EXPIRED);
  assert_true(two.epoch > one.epoch);
  assert_int_equal(s3lect_store_memory_fault(&one.store, S3LECT_MEMORY_WORKS), 0);
  assert_int_equal(s3lect_elector_resign(&two.elector), 0);
  s3l_wait_count(&loop, &one.started, 2, "one leads again");
}

static void a_refusing_store_ends_leadership(void** state) {
  assert_int_equal(s3lect_store_memory_fault(&one.store, S3LECT_MEMORY_REFUSES), 0);
  s3l_wait_count(&loop, &two.started, 1, "two leads");
  assert_int_equal(one.reason, S3LECT_REASON_EXPIRED);
}

static s3lect_stats_t stats(void) {
  s3lect_stats_t s = {.size = sizeof s};
  assert_int_equal(s3lect_elector_stats(&one.elector, &s), 0);
  return s;
}

static bool has_resolved(void* arg) {
  return stats().unknown_resolved >= 3;
}

static void lost_replies_do_not_end_leadership(void** state) {
  assert_int_equal(s3lect_store_memory_fault(&one.store, S3LECT_MEMORY_LOSES_REPLIES), 0);
  s3l_wait(&loop, has_resolved, NULL, "three lost replies");
  assert_int_equal(one.started, 1);
  assert_int_equal(one.stopped, 0);
  assert_true(s3lect_elector_is_leader(&one.elector));
}

/* A process that does not run for a while, and a test that is stopped in a debugger. */
static void a_stall_ends_no_leadership(void** state) {
  if (!s3l_clocks_move())
    skip();
  int64_t before_ns = s3lect_now_ns();
  s3l_clocks_skip(INT64_C(3600000000000));
  assert_true(s3lect_now_ns() - before_ns < INT64_C(3600000000000));
  assert_true(s3lect_elector_is_leader(&one.elector));
}

static void is_refused_while_in_use(void** state) {
  assert_int_equal(s3lect_testing_speed(1), UV_EBUSY);
  assert_int_equal(s3lect_testing_speed(0), UV_EINVAL);
  assert_int_equal(s3lect_testing_speed(S3LECT_TESTING_SPEED_MAX + 1), UV_EINVAL);
}

/* Also with speed 1, after a faster one: this process's time is no other process's any more. */
static void real_stores_are_refused(void** state) {
  candidate_t other = {0};
  s3lect_elector_options_t o = options(&other, "other");
  s3lect_error_t error;
  assert_int_equal(s3lect_testing_speed(1), 0);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_file_init(&loop, &other.store, "/tmp", NULL), 0);
  assert_int_equal(s3lect_elector_init(&loop, &other.elector, &o, &error), S3LECT_EOPTION);
  assert_string_equal(error.option, "store");
  assert_non_null(strstr(error.text, "s3lect_testing_speed"));
  assert_int_equal(s3lect_store_memory_share(&bucket, &other.store, &error), UV_EINVAL);
  assert_int_equal(s3lect_store_memory_fault(&other.store, S3LECT_MEMORY_SILENT), UV_EINVAL);
  s3lect_store_close(&other.store, NULL);
  s3l_wait_loop_end(&loop);
}

#define TEST_BOTH(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BOTH(takes_as_long_as_in_production),   TEST_BOTH(a_silent_store_ends_leadership),
      TEST_BOTH(a_refusing_store_ends_leadership), TEST_BOTH(lost_replies_do_not_end_leadership),
      TEST_BOTH(a_stall_ends_no_leadership),       TEST_BOTH(is_refused_while_in_use),
      cmocka_unit_test(real_stores_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
