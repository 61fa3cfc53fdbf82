/* loop/testing.c: fast time as programs ask for it. */
#include "s3lect/testing.h"

#include <uv.h>

#include "loop/loop.h"

int s3lect_testing_speed(uint32_t speed) {
  if (speed < 1 || speed > S3LECT_TESTING_SPEED_MAX)
    return UV_EINVAL;
  return s3l_loop_set_speed(speed) ? 0 : UV_EBUSY;
}
