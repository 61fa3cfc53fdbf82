#include "elector/repeats.h"

#include <stddef.h>

#define GAP_MIN  10u
#define GAP_MAX  3600u
#define NS_PER_S 1000000000

/* FNV-1a. */
static uint32_t hash(int error, const char* message) {
  uint32_t h = UINT32_C(0x811c9dc5) ^ (uint32_t)error;
  for (const char* p = message; *p != '\0'; p++)
    if (*p < '0' || *p > '9')
      h = (h ^ (unsigned char)*p) * UINT32_C(0x01000193);
  return h;
}

bool s3l_repeats_tell(s3l_repeats_t* r, int error, const char* message, int64_t now_ns,
                      int64_t forget_ns) {
  uint32_t what = hash(error, message);
  uint32_t now = (uint32_t)(now_ns / NS_PER_S);
  size_t oldest = 0;
  for (size_t i = 0; i < S3L_REPEATS_MAX; i++) {
    bool recent = now - r->at[i].seen < forget_ns / NS_PER_S;
    if (r->at[i].what == what && r->at[i].gap != 0 && recent) {
      r->at[i].seen = now;
      if (now < r->at[i].next)
        return false;
      r->at[i].next = now + r->at[i].gap;
      r->at[i].gap = r->at[i].gap < GAP_MAX / 2 ? 2 * r->at[i].gap : GAP_MAX;
      return true;
    }
    if (r->at[i].seen < r->at[oldest].seen)
      oldest = i;
  }
  r->at[oldest].what = what;
  r->at[oldest].seen = now;
  r->at[oldest].next = now + GAP_MIN;
  r->at[oldest].gap = 2 * GAP_MIN;
  return true;
}
