/* util/prng.h: small seedable generator (xoshiro256**), for jitter and for simulations.
 *
 * The caller owns the state, so that a seed replays a run. Not for secrets: incarnations and keys
 * come from the system's generator. */
#ifndef S3L_UTIL_PRNG_H
#define S3L_UTIL_PRNG_H

#include <stdint.h>

typedef struct s3l_prng_s {
  uint64_t s[4];
} s3l_prng_t;

/** Any seed is good, 0 included. */
void s3l_prng_seed(s3l_prng_t* g, uint64_t seed);

uint64_t s3l_prng_next(s3l_prng_t* g);

/** Evenly distributed over 0..n-1; 0 for n == 0. */
uint64_t s3l_prng_below(s3l_prng_t* g, uint64_t n);

#endif
