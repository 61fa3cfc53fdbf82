#include <string.h>

#include "lib/test.h"
#include "loop/deadlines.h"
#include "util/list.h"
#include "util/prng.h"

#define N 500

typedef struct item_s {
  s3l_deadline_t deadline;
  unsigned fired;
} item_t;

static uv_loop_t loop;
static s3l_deadlines_t queue;
static item_t items[N];
static int64_t last_at;
static unsigned fired;
static void (*then)(item_t* item);

static void on_deadline(s3l_deadline_t* d) {
  item_t* item = S3L_CONTAINER_OF(d, item_t, deadline);
  assert_false(d->set);
  assert_true((int64_t)uv_hrtime() >= d->at_ns); /* never early */
  assert_true(d->at_ns >= last_at);              /* in order */
  last_at = d->at_ns;
  item->fired++;
  fired++;
  if (then != NULL)
    then(item);
}

static int setup(void** state) {
  memset(items, 0, sizeof(items));
  last_at = 0;
  fired = 0;
  then = NULL;
  for (int i = 0; i < N; i++)
    s3l_deadline_init(&items[i].deadline, on_deadline);
  if (uv_loop_init(&loop) != 0 || s3l_deadlines_init(&queue, &loop) != 0)
    return -1;
  s3l_deadlines_ref(&queue, true);
  return 0;
}

static int teardown(void** state) {
  if (!uv_is_closing((uv_handle_t*)&queue.timer))
    s3l_deadlines_close(&queue, NULL);
  uv_run(&loop, UV_RUN_DEFAULT);
  return uv_loop_close(&loop);
}

/* Set, moved and cleared at random: those still set fire once, in order, the others never. */
static void test_random(void** state) {
  s3l_prng_t rng;
  unsigned want = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    bool set[N] = {false};
    s3l_prng_seed(&rng, seed);
    uint64_t base = uv_hrtime();
    last_at = 0;
    for (int i = 0; i < N; i++)
      items[i].fired = 0;
    for (int step = 0; step < 5 * N; step++) {
      size_t i = (size_t)s3l_prng_below(&rng, N);
      set[i] = s3l_prng_below(&rng, 4) != 0;
      if (set[i]) /* some of them share a time */
        s3l_deadlines_set(&queue, &items[i].deadline, base + s3l_prng_below(&rng, 300) * 10000);
      else
        s3l_deadlines_clear(&queue, &items[i].deadline);
      assert_int_equal(items[i].deadline.set, set[i]);
    }
    for (int i = 0; i < N; i++)
      want += set[i];
    while (fired < want)
      uv_run(&loop, UV_RUN_ONCE);
    assert_null(queue.root);
    assert_int_equal(fired, want);
    for (int i = 0; i < N; i++)
      assert_int_equal(items[i].fired, set[i]);
  }
}

static void set_next(item_t* item) {
  item_t* next = item + 1;
  if (next == items + 10)
    return;
  s3l_deadlines_clear(&queue, &items[20].deadline); /* before it is due */
  s3l_deadlines_set(&queue, &next->deadline, s3l_deadline_in(1));
  s3l_deadlines_set(&queue, &items[20].deadline, s3l_deadline_in(30000));
}

static void test_callbacks_set_and_clear(void** state) {
  then = set_next;
  s3l_deadlines_set(&queue, &items[0].deadline, s3l_deadline_in(0));
  while (fired < 10)
    uv_run(&loop, UV_RUN_ONCE);
  for (int i = 0; i < 10; i++)
    assert_int_equal(items[i].fired, 1);
  s3l_deadlines_clear(&queue, &items[20].deadline);
  assert_int_equal(items[20].fired, 0);
}

static void close_queue(item_t* item) {
  (void)item;
  s3l_deadlines_close(&queue, NULL);
}

static void test_close_in_callback(void** state) {
  then = close_queue;
  uint64_t at = uv_hrtime();
  s3l_deadlines_set(&queue, &items[0].deadline, at);
  s3l_deadlines_set(&queue, &items[1].deadline, at); /* due as well, and forgotten */
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(fired, 1);
}

/* A timer of its own that nobody refs does not hold the loop. */
static void test_unref(void** state) {
  s3l_deadlines_set(&queue, &items[0].deadline, s3l_deadline_in(60000));
  s3l_deadlines_ref(&queue, false);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(fired, 0);
  s3l_deadlines_clear(&queue, &items[0].deadline);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_random, setup, teardown),
      cmocka_unit_test_setup_teardown(test_callbacks_set_and_clear, setup, teardown),
      cmocka_unit_test_setup_teardown(test_close_in_callback, setup, teardown),
      cmocka_unit_test_setup_teardown(test_unref, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
