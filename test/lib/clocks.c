#include "lib/clocks.h"

#ifdef __linux__

#  include <stdatomic.h>
#  include <sys/syscall.h>
#  include <sys/time.h>
#  include <time.h>
#  include <unistd.h>

/* Found by shared libraries as well; a test may define one of them itself. */
#  define OURS __attribute__((weak, visibility("default")))

static _Atomic int64_t skipped_ns, suspended_ns;
static _Atomic int64_t slew_ppm, slewed_since_ns; /* of CLOCK_MONOTONIC_RAW */

static _Thread_local void (*after_reading)(void);

static int64_t kernel_ns(clockid_t id) {
  struct timespec t = {0};
  (void)syscall(SYS_clock_gettime, id, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t slewed_ns(void) {
  int64_t raw = kernel_ns(CLOCK_MONOTONIC_RAW) + atomic_load(&skipped_ns);
  return (raw - atomic_load(&slewed_since_ns)) / 1000000 * atomic_load(&slew_ppm);
}

static int64_t ahead_ns(clockid_t id) {
  switch (id) {
  case CLOCK_BOOTTIME:
    return atomic_load(&skipped_ns) + slewed_ns() + atomic_load(&suspended_ns);
  case CLOCK_REALTIME:
  case CLOCK_REALTIME_COARSE:
  case CLOCK_MONOTONIC:
  case CLOCK_MONOTONIC_COARSE:
    return atomic_load(&skipped_ns) + slewed_ns();
  case CLOCK_MONOTONIC_RAW:
    return atomic_load(&skipped_ns);
  default: /* of the CPU's time */
    return 0;
  }
}

OURS int clock_gettime(clockid_t id, struct timespec* t) {
  if (syscall(SYS_clock_gettime, id, t) != 0)
    return -1;
  int64_t ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec + ahead_ns(id);
  t->tv_sec = (time_t)(ns / 1000000000);
  t->tv_nsec = (long)(ns % 1000000000);
  if (id == CLOCK_MONOTONIC_RAW && after_reading != NULL) {
    void (*then)(void) = after_reading;
    after_reading = NULL;
    then();
  }
  return 0;
}

OURS int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0)
    return -1;
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

OURS time_t time(time_t* t) {
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (t != NULL)
    *t = now.tv_sec;
  return now.tv_sec;
}

bool s3l_clocks_move(void) {
  return true;
}

void s3l_clocks_skip(int64_t ns) {
  int64_t rate = 1000000 + atomic_load(&slew_ppm);
  atomic_fetch_add(&skipped_ns, ns / rate * 1000000 + ns % rate * 1000000 / rate);
}

void s3l_clocks_slew(int64_t ppm) {
  atomic_store(&slewed_since_ns, kernel_ns(CLOCK_MONOTONIC_RAW));
  atomic_store(&slew_ppm, ppm);
}

void s3l_clocks_after_reading(void (*then)(void)) {
  after_reading = then;
}

void s3l_clocks_suspend(int64_t ns) {
  atomic_fetch_add(&suspended_ns, ns);
}

#else

bool s3l_clocks_move(void) {
  return false;
}

void s3l_clocks_skip(int64_t ns) {}

void s3l_clocks_slew(int64_t ppm) {}

void s3l_clocks_after_reading(void (*then)(void)) {}

void s3l_clocks_suspend(int64_t ns) {}

#endif
