/* What any thread may ask: is_leader, valid_for_ms and epoch, while the loop's thread goes through
 * leaderships; to be run under ThreadSanitizer.
 *
 * ctest labels: tsan */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "lib/clocks.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

#define LEADERSHIPS 20

typedef struct shared_s {
  s3lect_elector_t e;
  _Atomic bool over;
  _Atomic unsigned seen_leading; /* answers of yes */
  _Atomic unsigned seen_not;
  _Atomic bool wrong;
} shared_t;

static void* ask(void* arg) {
  shared_t* s = arg;
  uint64_t newest = 0, led = 0, ended = 0;
  while (!atomic_load(&s->over)) {
    uint64_t epoch = s3lect_elector_epoch(&s->e);
    if (epoch < newest) /* epochs only grow, for every observer */
      atomic_store(&s->wrong, true);
    newest = epoch;
    bool leads = s3lect_elector_is_leader(&s->e);
    if (s3lect_elector_epoch(&s->e) == epoch && leads) { /* so it is about that epoch */
      led = epoch;
      if (ended == epoch) /* yes, no, yes */
        atomic_store(&s->wrong, true);
    } else if (!leads) {
      ended = led;
    }
    if (leads) {
      atomic_fetch_add(&s->seen_leading, 1);
      if (s3lect_elector_epoch(&s->e) == 0) /* the epoch is published before the validity */
        atomic_store(&s->wrong, true);
    } else {
      atomic_fetch_add(&s->seen_not, 1);
    }
    if (s3lect_elector_valid_for_ms(&s->e) > 14850)
      atomic_store(&s->wrong, true);
  }
  return NULL;
}

static unsigned asked(_Atomic unsigned* counter) {
  return atomic_load(counter);
}

/* Lets the other thread see the present state: waits for an event of its own making. */
static void let_see(_Atomic unsigned* counter) {
  unsigned before = asked(counter);
  while (asked(counter) == before)
    sched_yield();
}

static void closed(s3lect_elector_t* e) {
  ++*(unsigned*)e->data;
}

static void test_questions_from_another_thread(void** state) {
  static shared_t s;
  static s3l_script_store_t store;
  uv_loop_t loop;
  pthread_t thread;
  unsigned done = 0;
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_script_store_init(&loop, &store);
  s3lect_elector_options_t o = s3l_script_store_options(&store);
  s.e.data = &done;
  assert_int_equal(s3lect_elector_init(&loop, &s.e, &o, NULL), 0);
  assert_int_equal(pthread_create(&thread, NULL, ask, &s), 0);
  s3lect_record_t record = s3l_script_store_released();
  for (int i = 0; i < LEADERSHIPS; i++) {
    assert_int_equal(s3lect_elector_start(&s.e), 0);
    s3l_script_store_expect(&store, false);
    s3l_script_store_show(&store, &record, "\"e1\"");
    s3l_script_store_expect(&store, true);
    s3l_script_store_answer(&store, 0, S3LECT_SETTLED, "\"e2\"");
    assert_int_equal(s3lect_elector_is_leader(&s.e), 1);
    let_see(&s.seen_leading);
    assert_int_equal(s3lect_elector_stop(&s.e), 0);
    let_see(&s.seen_not);
    s3l_script_store_expect(&store, true);
    record = store.put;
    s3l_script_store_answer(&store, 0, S3LECT_SETTLED, "\"e3\"");
  }
  atomic_store(&s.over, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_false(atomic_load(&s.wrong));
  assert_true(asked(&s.seen_leading) >= LEADERSHIPS && asked(&s.seen_not) >= LEADERSHIPS);
  assert_int_equal(s3lect_elector_epoch(&s.e), 7 + LEADERSHIPS);
  assert_int_equal(s3lect_elector_close(&s.e, closed), 0);
  s3l_wait_count(&loop, &done, 1, "the close callback");
  s3lect_store_close(&store.store, NULL);
  s3l_wait_loop_end(&loop);
}

static struct {
  s3lect_elector_t e;
  int64_t valid_until;
  unsigned started, renewed, stopped, closed;
  int reason;
  _Atomic unsigned asked;
} late;

static void on_event(s3lect_elector_t* e, const s3lect_event_t* ev) {
  if (ev->kind == S3LECT_EVENT_STOPPED_LEADING)
    late.reason = ev->reason;
  else
    late.valid_until = ev->valid_until_ns;
  late.started += ev->kind == S3LECT_EVENT_STARTED_LEADING;
  late.renewed += ev->kind == S3LECT_EVENT_RENEWED;
  late.stopped += ev->kind == S3LECT_EVENT_STOPPED_LEADING;
}

static void on_late_closed(s3lect_elector_t* e) {
  late.closed++;
}

static void* see_the_end(void* arg) {
  assert_false(s3lect_elector_is_leader(&late.e));
  atomic_fetch_add(&late.asked, 1);
  return NULL;
}

/* The process is stopped here until its validity has passed; another thread is the first to go on.
 */
static void stop_here(void) {
  pthread_t thread;
  s3l_clocks_skip(late.valid_until - s3lect_now_ns());
  assert_int_equal(pthread_create(&thread, NULL, see_the_end, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A renewal was confirmed in time by the core's reading of the clock, but comes to be published
 * when the validity before it has passed, and a thread may have seen that. */
static void test_a_late_publication_revives_nothing(void** state) {
  static s3l_script_store_t store;
  uv_loop_t loop;
  if (!s3l_clocks_move())
    skip();
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_script_store_init(&loop, &store);
  s3lect_elector_options_t o = s3l_script_store_options(&store);
  o.on_started_leading = o.on_renewed = o.on_stopped_leading = on_event;
  assert_int_equal(s3lect_elector_init(&loop, &late.e, &o, NULL), 0);
  assert_int_equal(s3lect_elector_start(&late.e), 0);
  s3l_wait_pace(S3L_PACE_TIMERS);
  s3lect_record_t record = s3l_script_store_released();
  s3l_script_store_expect(&store, false);
  s3l_script_store_show(&store, &record, "\"e1\"");
  s3l_script_store_expect(&store, true);
  s3l_script_store_answer(&store, 0, S3LECT_SETTLED, "\"e2\"");
  assert_int_equal(late.started, 1);
  s3l_script_store_expect(&store, true); /* the renewal */
  unsigned renewed = late.renewed;
  s3l_clocks_after_reading(stop_here);
  s3l_script_store_answer(&store, 0, S3LECT_SETTLED, "\"e3\"");
  assert_int_equal(atomic_load(&late.asked), 1);
  assert_false(s3lect_elector_is_leader(&late.e));
  s3l_wait_count(&loop, &late.stopped, 1, "the end of leadership");
  assert_int_equal(late.reason, S3LECT_REASON_EXPIRED);
  assert_int_equal(late.renewed, renewed);
  assert_int_equal(s3lect_elector_close(&late.e, on_late_closed), 0);
  s3l_wait_count(&loop, &late.closed, 1, "the close callback");
  s3lect_store_close(&store.store, NULL);
  s3l_wait_loop_end(&loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_questions_from_another_thread),
      cmocka_unit_test(test_a_late_publication_revives_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
