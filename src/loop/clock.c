#include "loop/clock.h"

#include <stdatomic.h>
#include <time.h>
#include <uv.h>

#include "s3lect.h"
#include "util/assert.h"
#include "util/mutant.h"

static int64_t read_ns(clockid_t id) {
  struct timespec t;
  if (clock_gettime(id, &t) != 0)
    return (int64_t)uv_hrtime();
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t steady_ns(void) {
  if (S3L_MUTANT(SLEWED_CLOCK))
    return read_ns(CLOCK_MONOTONIC);
#ifdef CLOCK_MONOTONIC_RAW
  return read_ns(CLOCK_MONOTONIC_RAW);
#else
  return read_ns(CLOCK_MONOTONIC);
#endif
}

#ifdef CLOCK_BOOTTIME

/* BOOTTIME is read first: a delay between the two readings makes the difference too small, never
 * too large. A later reading corrects it, so the largest one counts. */
static int64_t suspended_ns(void) {
  static _Atomic int64_t largest = INT64_MIN;
  int64_t boottime = read_ns(CLOCK_BOOTTIME);
  int64_t suspended = boottime - read_ns(CLOCK_MONOTONIC);
  int64_t before = atomic_load_explicit(&largest, memory_order_relaxed);
  while (before < suspended)
    if (atomic_compare_exchange_weak_explicit(&largest, &before, suspended, memory_order_relaxed,
                                              memory_order_relaxed))
      return suspended;
  return before;
}

/* The steady clock is read last: where the difference came out too small by a delay, that delay is
 * in this reading, so the sum is never earlier than the time of the call. */
static int64_t real_ns(void) {
  int64_t suspended = suspended_ns();
  return steady_ns() + suspended;
}

#else /* the steady clock counts suspension itself, as macOS's does, or nothing does */

static int64_t real_ns(void) {
  return steady_ns();
}

#endif

static int64_t real_wall_ms(void) {
  struct timespec t;
  if (clock_gettime(CLOCK_REALTIME, &t) != 0)
    return 0;
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- Fast time ---- */

static struct {
  _Atomic uint32_t speed; /* 0: time is real, and the rest is unused */
  uv_mutex_t lock;        /* of the rest */
  int64_t read_ns;        /* real time when the clock was read */
  int64_t now_ns;         /* lease time then */
  int64_t wall_ahead_ns;  /* wall time less lease time */
} fast;

static void init_fast(void) {
  int r = uv_mutex_init(&fast.lock);
  S3L_ASSERT(r == 0);
  (void)r;
}

/* Called with the lock. A thread that has read the clock before another one may come later. */
static int64_t advance_fast(uint32_t speed, int64_t read_ns) {
  int64_t passed_ns = read_ns - fast.read_ns;
  if (passed_ns > 0) {
    fast.read_ns = read_ns;
    fast.now_ns += speed * (passed_ns < S3L_CLOCK_STALL_NS ? passed_ns : S3L_CLOCK_STALL_NS);
  }
  return fast.now_ns;
}

static int64_t fast_ns(uint32_t speed) {
  uv_mutex_lock(&fast.lock);
  int64_t now_ns = advance_fast(speed, real_ns());
  uv_mutex_unlock(&fast.lock);
  return now_ns;
}

void s3l_clock_set_speed(uint32_t speed) {
  static uv_once_t once = UV_ONCE_INIT;
  uv_once(&once, init_fast);
  uv_mutex_lock(&fast.lock);
  uint32_t before = s3l_clock_speed();
  if (before == 0) {
    fast.now_ns = fast.read_ns = real_ns();
    fast.wall_ahead_ns = real_wall_ms() * 1000000 - fast.now_ns;
  } else {
    (void)advance_fast(before, real_ns());
  }
  atomic_store(&fast.speed, speed);
  uv_mutex_unlock(&fast.lock);
}

uint32_t s3l_clock_speed(void) {
  return atomic_load(&fast.speed);
}

uint64_t s3l_clock_timer_ms(uint64_t ms) {
  uint32_t speed = s3l_clock_speed();
  uint64_t most = S3L_CLOCK_STALL_NS / 1000000 - 1;
  if (speed == 0)
    return ms;
  return ms / speed < most ? ms / speed : most;
}

/* ---- What the library reads ---- */

int64_t s3l_clock_lease_ns(void) {
  uint32_t speed = s3l_clock_speed();
  return speed == 0 ? real_ns() : fast_ns(speed);
}

int64_t s3l_clock_in_ms(uint64_t ms) {
  return s3l_clock_lease_ns() + (int64_t)ms * 1000000;
}

int64_t s3l_clock_wall_ms(void) {
  uint32_t speed = s3l_clock_speed();
  return speed == 0 ? real_wall_ms() : (fast_ns(speed) + fast.wall_ahead_ns) / 1000000;
}

int64_t s3lect_now_ns(void) {
  return s3l_clock_lease_ns();
}
