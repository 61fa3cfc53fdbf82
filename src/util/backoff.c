#include "util/backoff.h"

#include <stddef.h>

uint32_t s3l_backoff_ms(uint32_t first_ms, uint32_t max_ms, uint32_t failures, s3l_prng_t* random) {
  uint64_t ms = first_ms;
  for (uint32_t i = 1; i < failures && ms < max_ms; i++)
    ms *= 2;
  if (ms > max_ms)
    ms = max_ms;
  if (random != NULL)
    ms -= s3l_prng_below(random, ms / 4 + 1);
  return (uint32_t)ms;
}
