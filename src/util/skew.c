#include "util/skew.h"

static bool is_within(int64_t ms, int64_t least_ms) {
  return ms > -least_ms && ms < least_ms;
}

bool s3l_skew_learn(int64_t* offset_ms, int64_t service_ms, int64_t now_ms, int64_t least_ms) {
  int64_t offset = service_ms - now_ms;
  if (service_ms == 0 || is_within(offset - *offset_ms, least_ms))
    return false;
  *offset_ms = is_within(offset, least_ms) ? 0 : offset;
  return true;
}
