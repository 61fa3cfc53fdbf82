#include "lib/wait.h"

#include <poll.h>

#include "lib/clocks.h"
#include "lib/test.h"

#define STEP_MS  50 /* with S3L_PACE_SOCKETS the clocks skip this time ... */
#define GRACE_MS 5  /* ... when nothing has happened for this real time */

static s3l_pace_t pace;

void s3l_wait_pace(s3l_pace_t p) {
  pace = s3l_clocks_move() ? p : S3L_PACE_REAL;
}

/* The loop is idle: waits for input, or puts the clocks forward, towards the next timer. */
static void pass_time(uv_loop_t* loop) {
  uv_update_time(loop);
  int ms = uv_backend_timeout(loop);
  struct pollfd fd = {.fd = uv_backend_fd(loop), .events = POLLIN};
  int grace = pace == S3L_PACE_TIMERS ? 0 : GRACE_MS;
  if (ms == 0 || poll(&fd, 1, ms >= 0 && ms < grace ? ms : grace) != 0 || ms <= grace)
    return;
  int step = pace == S3L_PACE_TIMERS || ms < STEP_MS ? ms : STEP_MS;
  s3l_clocks_skip((int64_t)(step - grace) * 1000000);
}

typedef struct wait_s {
  uv_timer_t watchdog;
  uv_prepare_t before; /* looks after timers and idle handles have run ... */
  uv_check_t after;    /* ... and after input has been taken */
  bool (*done)(void* arg);
  void* arg;
  bool late;
} wait_t;

static void on_watchdog(uv_timer_t* timer) {
  wait_t* w = timer->data;
  w->late = true;
  uv_stop(timer->loop);
}

static void on_before(uv_prepare_t* before) {
  wait_t* w = before->data;
  if (w->done(w->arg))
    uv_stop(before->loop);
}

static void on_after(uv_check_t* after) {
  wait_t* w = after->data;
  if (w->done(w->arg))
    uv_stop(after->loop);
}

void s3l_wait(uv_loop_t* loop, bool (*done)(void* arg), void* arg, const char* what) {
  static wait_t w; /* static: a test that fails jumps out of here */
  w.done = done;
  w.arg = arg;
  w.late = false;
  w.watchdog.data = w.before.data = w.after.data = &w;
  assert_int_equal(uv_timer_init(loop, &w.watchdog), 0);
  assert_int_equal(uv_prepare_init(loop, &w.before), 0);
  assert_int_equal(uv_check_init(loop, &w.after), 0);
  uint64_t patience = pace == S3L_PACE_TIMERS ? 60 * S3L_WAIT_MS : S3L_WAIT_MS;
  assert_int_equal(uv_timer_start(&w.watchdog, on_watchdog, patience, 0), 0);
  assert_int_equal(uv_prepare_start(&w.before, on_before), 0);
  assert_int_equal(uv_check_start(&w.after, on_after), 0);
  while (!done(arg) && !w.late) {
    uv_run(loop, pace == S3L_PACE_REAL ? UV_RUN_DEFAULT : UV_RUN_NOWAIT);
    if (pace != S3L_PACE_REAL && !done(arg))
      pass_time(loop);
  }
  uv_close((uv_handle_t*)&w.watchdog, NULL);
  uv_close((uv_handle_t*)&w.before, NULL);
  uv_close((uv_handle_t*)&w.after, NULL);
  uv_run(loop, UV_RUN_NOWAIT); /* the handles' memory is used again by the next wait */
  if (w.late)
    fail_msg("waited %d ms in vain for: %s", S3L_WAIT_MS, what);
}

typedef struct count_s {
  const unsigned* counter;
  unsigned n;
} count_t;

static bool reached(void* arg) {
  const count_t* c = arg;
  return *c->counter >= c->n;
}

void s3l_wait_count(uv_loop_t* loop, const unsigned* counter, unsigned n, const char* what) {
  count_t c = {counter, n};
  s3l_wait(loop, reached, &c, what);
}

int s3l_turn(uv_loop_t* loop) {
  struct pollfd fd = {.fd = uv_backend_fd(loop), .events = POLLIN};
  uv_update_time(loop);
  int ms = uv_backend_timeout(loop);
  /* What the last turn began is not polled for yet: hence never without a limit. */
  (void)poll(&fd, 1, ms >= 0 && ms < GRACE_MS ? ms : GRACE_MS);
  return uv_run(loop, UV_RUN_NOWAIT);
}

void s3l_wait_loop_end(uv_loop_t* loop) {
  while (pace != S3L_PACE_REAL && uv_run(loop, UV_RUN_NOWAIT) != 0)
    pass_time(loop);
  assert_int_equal(uv_run(loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(loop), 0);
}
