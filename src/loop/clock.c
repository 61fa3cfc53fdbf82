#include "loop/clock.h"

#include <stdatomic.h>
#include <time.h>
#include <uv.h>

#include "s3lect.h"
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
int64_t s3l_clock_lease_ns(void) {
  int64_t suspended = suspended_ns();
  return steady_ns() + suspended;
}

#else /* the steady clock counts suspension itself, as macOS's does, or nothing does */

int64_t s3l_clock_lease_ns(void) {
  return steady_ns();
}

#endif

int64_t s3l_clock_in_ms(uint64_t ms) {
  return s3l_clock_lease_ns() + (int64_t)ms * 1000000;
}

int64_t s3l_clock_wall_ms(void) {
  struct timespec t;
  if (clock_gettime(CLOCK_REALTIME, &t) != 0)
    return 0;
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t s3lect_now_ns(void) {
  return s3l_clock_lease_ns();
}
