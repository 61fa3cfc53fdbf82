#include "loop/suspend.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/timerfd.h>
#endif

/* A timer that never fires, but is cancelled when the clock is set. */
int s3l_suspend_open(void) {
#ifdef TFD_TIMER_CANCEL_ON_SET
  const struct itimerspec never = {
      .it_value.tv_sec = sizeof(time_t) > sizeof(int32_t) ? (time_t)INT64_MAX : (time_t)INT32_MAX};
  int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0)
    return -1;
  if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
    return fd;
  (void)close(fd);
#endif
  return -1;
}

bool s3l_suspend_read(int fd) {
  uint64_t times;
  return read(fd, &times, sizeof times) >= 0 || errno == ECANCELED || errno == EAGAIN ||
         errno == EINTR;
}
