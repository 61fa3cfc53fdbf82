/* sim/rnd.h: seeded draws. Integers only, so that a seed means the same on any machine. */
#ifndef SIM_RND_H
#define SIM_RND_H

#include <stdbool.h>
#include <stdint.h>

#include "util/prng.h"

/** A generator of its own for each purpose, so that leaving one thing out of a run (as shrinking
 * does) leaves the draws for all others as they were. */
static inline s3l_prng_t sim_rnd(uint64_t seed, uint64_t purpose) {
  s3l_prng_t g;
  s3l_prng_seed(&g, seed * UINT64_C(0x9e3779b97f4a7c15) + purpose);
  return g;
}

/** 0..n-1. The bias of the multiplication is below n / 2^32. */
static inline uint64_t sim_below(s3l_prng_t* g, uint32_t n) {
  return ((s3l_prng_next(g) >> 32) * n) >> 32;
}

/** lo..hi, both included. */
static inline int64_t sim_between(s3l_prng_t* g, int64_t lo, int64_t hi) {
  return lo + (int64_t)(s3l_prng_next(g) % (uint64_t)(hi - lo + 1));
}

/** True `per_mille` times out of a thousand. */
static inline bool sim_chance(s3l_prng_t* g, uint32_t per_mille) {
  return sim_below(g, 1000) < per_mille;
}

/** Around `typical`, with a heavy tail: one in 4^k is 2^k times as large. At most `doublings`. */
static inline int64_t sim_heavy(s3l_prng_t* g, int64_t typical, int doublings) {
  uint64_t bits = s3l_prng_next(g);
  int64_t v = typical / 2 + (int64_t)((bits >> 32) * (uint64_t)typical >> 32);
  for (int i = 0; i < doublings && (bits & 3) == 0; i++, bits >>= 2)
    v *= 2;
  return v;
}

/** Folds a value into a running digest. */
static inline uint64_t sim_mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
  return h ^ (h >> 29);
}

#endif
