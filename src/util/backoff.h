/* util/backoff.h: how long to wait before another attempt. */
#ifndef S3L_UTIL_BACKOFF_H
#define S3L_UTIL_BACKOFF_H

#include <stdint.h>

#include "util/prng.h"

/** The pause in ms after `failures` failures in a row (at least 1): first_ms, doubled with each
 * further failure, at most max_ms. `random`, if not NULL, takes up to a quarter off, so that many
 * processes that failed together do not come back together. */
uint32_t s3l_backoff_ms(uint32_t first_ms, uint32_t max_ms, uint32_t failures, s3l_prng_t* random);

#endif
