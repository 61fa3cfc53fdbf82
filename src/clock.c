#include "clock.h"

#include <time.h>
#include <uv.h>

#include "s3lect.h"

int64_t s3l_clock_boottime_ns(void) {
#ifdef CLOCK_BOOTTIME
  struct timespec t;
  if (clock_gettime(CLOCK_BOOTTIME, &t) == 0)
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#endif
  return (int64_t)uv_hrtime();
}

int64_t s3l_clock_wall_ms(void) {
  struct timespec t;
  if (clock_gettime(CLOCK_REALTIME, &t) != 0)
    return 0;
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t s3lect_now_ns(void) {
  return s3l_clock_boottime_ns();
}
