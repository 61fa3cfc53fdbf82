#include "lib/clocks.h"

#ifdef __linux__

#  include <sys/syscall.h>
#  include <sys/time.h>
#  include <time.h>
#  include <unistd.h>

/* Found by shared libraries as well; a test may define one of them itself. */
#  define OURS __attribute__((weak, visibility("default")))

static s3l_clocks_t own;
static s3l_clocks_t* clocks = &own;

static _Thread_local void (*after_reading)(void);

static int64_t kernel_ns(clockid_t id) {
  struct timespec t = {0};
  (void)syscall(SYS_clock_gettime, id, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t slewed_ns(s3l_clocks_t* c) {
  int64_t raw = kernel_ns(CLOCK_MONOTONIC_RAW) + atomic_load(&c->skipped_ns);
  return atomic_load(&c->slewed_ns) +
         (raw - atomic_load(&c->slew_since_ns)) / 1000000 * atomic_load(&c->slew_ppm);
}

static int64_t ahead_ns(clockid_t id) {
  s3l_clocks_t* c = clocks;
  switch (id) {
  case CLOCK_BOOTTIME:
    return atomic_load(&c->skipped_ns) + slewed_ns(c) + atomic_load(&c->suspended_ns);
  case CLOCK_REALTIME:
  case CLOCK_REALTIME_COARSE:
    return atomic_load(&c->skipped_ns) + slewed_ns(c) + atomic_load(&c->wall_ns);
  case CLOCK_MONOTONIC:
  case CLOCK_MONOTONIC_COARSE:
    return atomic_load(&c->skipped_ns) + slewed_ns(c);
  case CLOCK_MONOTONIC_RAW:
    return atomic_load(&c->skipped_ns);
  default: /* of the CPU's time */
    return 0;
  }
}

OURS int clock_gettime(clockid_t id, struct timespec* t) {
  uint64_t changes;
  int64_t ns;
  do {
    changes = atomic_load(&clocks->changes);
    if (syscall(SYS_clock_gettime, id, t) != 0)
      return -1;
    ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec + ahead_ns(id);
  } while (atomic_load(&clocks->changes) != changes);
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

void s3l_clocks_use(s3l_clocks_t* other) {
  clocks = other;
}

void s3l_clocks_skip(int64_t ns) {
  int64_t rate = 1000000 + atomic_load(&clocks->slew_ppm);
  atomic_fetch_add(&clocks->skipped_ns, ns / rate * 1000000 + ns % rate * 1000000 / rate);
}

void s3l_clocks_slew(s3l_clocks_t* c, int64_t ppm) {
  c = c != NULL ? c : clocks;
  atomic_store(&c->slewed_ns, slewed_ns(c));
  atomic_store(&c->slew_since_ns, kernel_ns(CLOCK_MONOTONIC_RAW) + atomic_load(&c->skipped_ns));
  atomic_store(&c->slew_ppm, ppm);
}

void s3l_clocks_change(s3l_clocks_t* c, _Atomic int64_t* field, int64_t ns) {
  atomic_fetch_add(field, ns);
  atomic_fetch_add(&c->changes, 1);
}

void s3l_clocks_after_reading(void (*then)(void)) {
  after_reading = then;
}

void s3l_clocks_suspend(int64_t ns) {
  atomic_fetch_add(&clocks->suspended_ns, ns);
}

#else

bool s3l_clocks_move(void) {
  return false;
}

void s3l_clocks_skip(int64_t ns) {}

void s3l_clocks_use(s3l_clocks_t* clocks) {}

void s3l_clocks_slew(s3l_clocks_t* clocks, int64_t ppm) {}

void s3l_clocks_change(s3l_clocks_t* clocks, _Atomic int64_t* field, int64_t ns) {}

void s3l_clocks_after_reading(void (*then)(void)) {}

void s3l_clocks_suspend(int64_t ns) {}

#endif
