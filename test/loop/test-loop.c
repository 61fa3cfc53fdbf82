/* The runtime of a loop: tasks, deadlines, users that join and leave.
 *
 * ctest labels: tsan */
#include "loop/loop.h"

#include <string.h>

#include <uv.h>

#include "core/lease.h"
#include "lib/clocks.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "util/prng.h"

#define N  500
#define MS INT64_C(1000000)

typedef struct item_s {
  s3l_deadline_t deadline;
  s3l_task_t task;
  unsigned fired, ran;
} item_t;

static uv_loop_t uv;
static s3l_loop_t* loop;
static s3l_task_t left;
static item_t items[N];
static int64_t last_at;
static unsigned fired, ran, has_left;
static int order[N]; /* the items whose tasks ran */
static void (*then)(item_t* item);

static int number(const item_t* item) {
  return (int)(item - items);
}

static void on_left(s3l_task_t* task) {
  has_left++;
}

static void on_deadline(s3l_deadline_t* d) {
  item_t* item = S3L_CONTAINER_OF(d, item_t, deadline);
  assert_false(d->set);
  assert_true(s3l_clock_lease_ns() >= d->node.at_ns); /* never early */
  assert_true(d->node.at_ns >= last_at);              /* in order */
  last_at = d->node.at_ns;
  item->fired++;
  fired++;
  if (then != NULL)
    then(item);
}

static void on_task(s3l_task_t* task) {
  item_t* item = S3L_CONTAINER_OF(task, item_t, task);
  assert_false(s3l_task_is_pending(task));
  item->ran++;
  if (ran < N)
    order[ran] = number(item);
  ran++;
  if (then != NULL)
    then(item);
}

static int setup(void** state) {
  memset(items, 0, sizeof items);
  last_at = 0;
  fired = ran = has_left = 0;
  then = NULL;
  for (int i = 0; i < N; i++) {
    s3l_deadline_init(&items[i].deadline, on_deadline);
    s3l_task_init(&items[i].task, on_task);
  }
  s3l_task_init(&left, on_left);
  if (uv_loop_init(&uv) != 0)
    return -1;
  return s3l_loop_join(&uv, &loop);
}

/* Nothing is left in the loop right after the last leave. */
static int teardown(void** state) {
  if (has_left == 0)
    s3l_loop_leave(loop, &left);
  uv_run(&uv, UV_RUN_DEFAULT);
  return has_left == 1 ? uv_loop_close(&uv) : -1;
}

static void set_in(int i, uint64_t ms) {
  s3l_loop_deadline_set(loop, &items[i].deadline, s3l_clock_in_ms(ms));
}

/* ---- tasks ---- */

static void test_tasks_run_in_order_and_once(void** state) {
  const int asked[] = {3, 1, 2, 1, 3};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
    s3l_loop_defer(loop, &items[asked[i]].task);
  assert_int_equal(ran, 0); /* never inside the call */
  assert_true(s3l_task_is_pending(&items[1].task));
  uv_run(&uv, UV_RUN_DEFAULT); /* they keep the loop alive */
  assert_int_equal(ran, 3);
  assert_int_equal(order[0], 3);
  assert_int_equal(order[1], 1);
  assert_int_equal(order[2], 2);
}

static void cancel_next(item_t* item) {
  s3l_task_cancel(&item[1].task);
}

static void test_tasks_are_cancelled(void** state) {
  then = cancel_next;
  s3l_loop_defer(loop, &items[7].task);
  s3l_task_cancel(&items[7].task);
  s3l_task_cancel(&items[7].task);
  for (int i = 0; i < 4; i++)
    s3l_loop_defer(loop, &items[i].task); /* each cancels the one behind it, in its own round */
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(ran, 2);
  assert_int_equal(items[0].ran, 1);
  assert_int_equal(items[2].ran, 1);
}

static void defer_again(item_t* item) {
  s3l_loop_defer(loop, &item->task);
  if (number(item) == 0)
    s3l_loop_defer(loop, &items[5].task);
}

static void test_tasks_of_tasks_wait_for_the_next_round(void** state) {
  then = defer_again;
  s3l_loop_defer(loop, &items[0].task);
  for (unsigned round = 1; round <= 5; round++) {
    uv_run(&uv, UV_RUN_NOWAIT);
    assert_int_equal(items[0].ran, round);
    assert_int_equal(items[5].ran, round - 1);
  }
  then = NULL;
  uv_run(&uv, UV_RUN_DEFAULT);
}

/* ---- deadlines ---- */

/* Set, moved and cleared at random: those still set run once, in order, the others never. */
static void test_deadlines_at_random(void** state) {
  s3l_prng_t rng;
  unsigned want = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    bool set[N] = {false};
    s3l_prng_seed(&rng, seed);
    int64_t base = s3l_clock_lease_ns();
    last_at = 0;
    for (int i = 0; i < N; i++)
      items[i].fired = 0;
    for (int step = 0; step < 5 * N; step++) {
      size_t i = (size_t)s3l_prng_below(&rng, N);
      set[i] = s3l_prng_below(&rng, 4) != 0;
      if (set[i]) /* some of them share a time */
        s3l_loop_deadline_set(loop, &items[i].deadline,
                              base + (int64_t)s3l_prng_below(&rng, 300) * 10000);
      else
        s3l_loop_deadline_clear(loop, &items[i].deadline);
      assert_int_equal(items[i].deadline.set, set[i]);
    }
    for (int i = 0; i < N; i++)
      want += set[i];
    uv_run(&uv, UV_RUN_DEFAULT); /* they keep the loop alive */
    assert_int_equal(fired, want);
    for (int i = 0; i < N; i++)
      assert_int_equal(items[i].fired, set[i]);
  }
}

/* Near and far ones, over some minutes that pass in steps, a few of which are long: none that was
 * set is late, early, or out of order. */
static void test_deadlines_as_time_passes(void** state) {
  s3l_prng_t rng;
  if (!s3l_clocks_move())
    skip();
  s3l_prng_seed(&rng, 1);
  for (int step = 0; step < 3000; step++) {
    for (int k = 0; k < 10; k++) {
      int i = (int)s3l_prng_below(&rng, N);
      if (s3l_prng_below(&rng, 4) != 0)
        set_in(i, s3l_prng_below(&rng, i % 2 == 0 ? 200 : 40000));
      else
        s3l_loop_deadline_clear(loop, &items[i].deadline);
    }
    s3l_clocks_skip(2 * MS + (int64_t)s3l_prng_below(&rng, step % 50 == 0 ? 30000 : 40) * MS);
    int64_t now = s3l_clock_lease_ns();
    uv_run(&uv, UV_RUN_NOWAIT);
    for (int i = 0; i < N; i++)
      assert_true(!items[i].deadline.set || items[i].deadline.node.at_ns > now);
  }
  assert_true(fired > 10000);
  for (int i = 0; i < N; i++)
    s3l_loop_deadline_clear(loop, &items[i].deadline);
}

static void set_next(item_t* item) {
  int next = number(item) + 1;
  if (next == 10)
    return;
  s3l_loop_deadline_clear(loop, &items[20].deadline); /* before it is due */
  set_in(next, 1);
  set_in(20, 30000);
}

static void test_deadlines_set_and_clear_in_callbacks(void** state) {
  then = set_next;
  set_in(0, 0);
  while (fired < 10)
    s3l_turn(&uv);
  for (int i = 0; i < 10; i++)
    assert_int_equal(items[i].fired, 1);
  s3l_loop_deadline_set(loop, &items[20].deadline, S3L_CLOCK_NEVER);
  assert_false(items[20].deadline.set);
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(items[20].fired, 0);
}

static void set_in_the_past(item_t* item) {
  s3l_loop_deadline_set(loop, &item->deadline, 0);
}

/* A deadline that is set again and again for a time that has passed leaves time for I/O. */
static void test_deadlines_of_the_past_wait_for_the_next_turn(void** state) {
  then = set_in_the_past;
  set_in(0, 0);
  for (unsigned before = 0; fired < 5; before = fired) {
    uv_run(&uv, UV_RUN_NOWAIT);
    assert_true(fired <= before + 1);
  }
  s3l_loop_deadline_clear(loop, &items[0].deadline);
}

static void test_background_deadlines_do_not_keep_the_loop(void** state) {
  s3l_loop_deadline_ref(loop, &items[0].deadline, false);
  set_in(0, 60000);
  assert_int_equal(uv_run(&uv, UV_RUN_DEFAULT), 0);
  s3l_loop_deadline_ref(loop, &items[0].deadline, true);
  s3l_loop_deadline_ref(loop, &items[0].deadline, true);
  assert_int_not_equal(uv_run(&uv, UV_RUN_NOWAIT), 0);
  s3l_loop_deadline_ref(loop, &items[0].deadline, false);
  assert_int_equal(uv_run(&uv, UV_RUN_DEFAULT), 0);
  set_in(1, 5); /* this one does, and meanwhile the other runs, too */
  set_in(0, 0);
  assert_int_equal(uv_run(&uv, UV_RUN_DEFAULT), 0);
  assert_int_equal(fired, 2);
}

/* Lease time runs ahead of the clock of the loop's timers, as when the machine was suspended or NTP
 * slows that clock down. Without a descriptor that tells of a resume, the runtime's timer finds
 * out: after 90 % of the time, or sooner. */
static void test_deadlines_are_in_lease_time(void** state) {
  if (!s3l_clocks_move())
    skip();
  set_in(0, 1000);
  s3l_clocks_suspend(990 * MS);
  uint64_t from = uv_hrtime();
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(fired, 1);
  assert_true(uv_hrtime() - from < 980 * (uint64_t)MS);
}

/* Slept on the slowest clock, a timer ends before the time is over, but for a millisecond; and the
 * time does come. */
static void test_sleeps_for_a_part(void** state) {
  for (int64_t ns = 7 * MS / 2; ns < INT64_C(86400000) * MS; ns += ns / 3) {
    double slept = (double)s3l_clock_sleep_ms(ns) * 1e6 / (1 - S3L_SLEW_PPM / 1e6);
    assert_true(slept > 0 && slept < (double)ns + 1.1e6);
  }
  assert_int_equal(s3l_clock_sleep_ms(15000 * MS), 13500);
  assert_int_equal(s3l_clock_sleep_ms(1), 1);
  assert_int_equal(s3l_clock_sleep_ms(0), 0);
  assert_int_equal(s3l_clock_sleep_ms(-1000 * MS), 0);
}

/* ---- users ---- */

static void leave_here(item_t* item) {
  s3l_loop_leave(loop, &left);
  assert_int_equal(has_left, 0);
}

static void test_last_leave_in_a_deadline(void** state) {
  then = leave_here;
  set_in(0, 0);
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(has_left, 1);
  assert_int_equal(uv_loop_alive(&uv), 0);
}

static void test_last_leave_in_a_task(void** state) {
  then = leave_here;
  s3l_loop_defer(loop, &items[0].task);
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(has_left, 1);
}

static void test_tasks_before_the_last_leave_run(void** state) {
  s3l_loop_defer(loop, &items[0].task);
  s3l_loop_leave(loop, &left);
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(ran, 1);
  assert_int_equal(has_left, 1);
}

/* The runtime stays for the second user, whose deadline goes on; the first one is told meanwhile.
 */
static void test_first_of_two_leaves(void** state) {
  s3l_loop_t* same;
  assert_int_equal(s3l_loop_join(&uv, &same), 0);
  assert_ptr_equal(same, loop);
  set_in(0, 20);
  s3l_loop_leave(loop, &items[1].task);
  uv_run(&uv, UV_RUN_NOWAIT);
  assert_int_equal(ran, 1);
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(fired, 1);
}

static void join_again(item_t* item) {
  assert_int_equal(s3l_loop_join(&uv, &loop), 0);
  set_in(1, 1);
}

static void test_join_in_the_task_of_the_last_leave(void** state) {
  then = join_again;
  s3l_loop_leave(loop, &items[0].task);
  while (ran == 0)
    s3l_turn(&uv);
  then = NULL;
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(fired, 1);
}

static void test_join_right_after_the_last_leave(void** state) {
  s3l_loop_leave(loop, &items[0].task);
  join_again(NULL);
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(ran, 1);
  assert_int_equal(fired, 1);
}

static void test_join_without_memory(void** state) {
  s3l_loop_t* other = NULL;
  uv_loop_t another;
  assert_int_equal(uv_loop_init(&another), 0);
  s3l_heap_install();
  s3l_heap_fail_at(0, true);
  assert_int_equal(s3l_loop_join(&another, &other), UV_ENOMEM);
  assert_int_equal(s3l_loop_join(&uv, &other), 0); /* it is there already */
  assert_true(s3l_heap_fail_end());
  s3l_heap_remove();
  s3l_loop_leave(other, &items[0].task);
  assert_int_equal(uv_loop_close(&another), 0);
}

/* ---- two loops in two threads ---- */

typedef struct busy_s {
  uv_loop_t uv;
  s3l_loop_t* loop;
  s3l_deadline_t deadline;
  s3l_task_t task;
  unsigned fired, has_left;
} busy_t;

static void on_busy_left(s3l_task_t* task) {
  S3L_CONTAINER_OF(task, busy_t, task)->has_left++;
}

static void on_busy_deadline(s3l_deadline_t* d) {
  busy_t* b = S3L_CONTAINER_OF(d, busy_t, deadline);
  if (++b->fired % 10 != 0) {
    s3l_loop_deadline_set(b->loop, d, s3l_clock_lease_ns());
    return;
  }
  s3l_task_init(&b->task, on_busy_left);
  s3l_loop_leave(b->loop, &b->task);
}

static void run_busy(void* arg) {
  busy_t* b = arg;
  for (int i = 0; i < 20; i++) {
    assert_int_equal(uv_loop_init(&b->uv), 0);
    assert_int_equal(s3l_loop_join(&b->uv, &b->loop), 0);
    s3l_deadline_init(&b->deadline, on_busy_deadline);
    s3l_loop_deadline_set(b->loop, &b->deadline, s3l_clock_lease_ns());
    uv_run(&b->uv, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&b->uv), 0);
  }
}

/* Slots of time are counted from the machine's start: their numbers pass 32 bits after 4.6 years.
 */
static void test_deadlines_of_an_old_machine(void** state) {
  const int64_t slot = 1 << 25, years = (INT64_C(1) << 32) * slot;
  if (!s3l_clocks_move())
    skip();
  s3l_clocks_skip(years - 20000 * MS - s3l_clock_lease_ns());
  set_in(0, 1); /* the runtime sees the time */
  uv_run(&uv, UV_RUN_DEFAULT);
  for (int i = 1; i < 100; i++)
    set_in(i, (uint64_t)i * 400);
  s3l_clocks_skip(60000 * MS);
  uv_run(&uv, UV_RUN_NOWAIT);
  uv_run(&uv, UV_RUN_NOWAIT);
  assert_int_equal(fired, 100);
  for (int i = 0; i < 100; i++)
    set_in(i, 1 + (uint64_t)i);
  uv_run(&uv, UV_RUN_DEFAULT);
  assert_int_equal(fired, 200);
}

static void test_two_threads(void** state) {
  static busy_t a, b;
  uv_thread_t thread;
  assert_int_equal(uv_thread_create(&thread, run_busy, &a), 0);
  run_busy(&b);
  assert_int_equal(uv_thread_join(&thread), 0);
  assert_int_equal(a.has_left, 20);
  assert_int_equal(b.has_left, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_tasks_run_in_order_and_once, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tasks_are_cancelled, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tasks_of_tasks_wait_for_the_next_round, setup, teardown),
      cmocka_unit_test_setup_teardown(test_deadlines_at_random, setup, teardown),
      cmocka_unit_test_setup_teardown(test_deadlines_as_time_passes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_deadlines_set_and_clear_in_callbacks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_deadlines_of_the_past_wait_for_the_next_turn, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(test_background_deadlines_do_not_keep_the_loop, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(test_deadlines_are_in_lease_time, setup, teardown),
      cmocka_unit_test(test_sleeps_for_a_part),
      cmocka_unit_test_setup_teardown(test_last_leave_in_a_deadline, setup, teardown),
      cmocka_unit_test_setup_teardown(test_last_leave_in_a_task, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tasks_before_the_last_leave_run, setup, teardown),
      cmocka_unit_test_setup_teardown(test_first_of_two_leaves, setup, teardown),
      cmocka_unit_test_setup_teardown(test_join_in_the_task_of_the_last_leave, setup, teardown),
      cmocka_unit_test_setup_teardown(test_join_right_after_the_last_leave, setup, teardown),
      cmocka_unit_test_setup_teardown(test_join_without_memory, setup, teardown),
      cmocka_unit_test(test_two_threads),
      /* Last: the clocks stay there. */
      cmocka_unit_test_setup_teardown(test_deadlines_of_an_old_machine, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
