#include "util/prng.h"

/* splitmix64: spreads a seed over the whole state, which must not be all zero. */
static uint64_t splitmix(uint64_t* x) {
  uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t v, int k) {
  return (v << k) | (v >> (64 - k));
}

void s3l_prng_seed(s3l_prng_t* g, uint64_t seed) {
  for (int i = 0; i < 4; i++)
    g->s[i] = splitmix(&seed);
}

uint64_t s3l_prng_next(s3l_prng_t* g) {
  uint64_t* s = g->s;
  uint64_t out = rotl(s[1] * 5, 7) * 9;
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotl(s[3], 45);
  return out;
}

uint64_t s3l_prng_below(s3l_prng_t* g, uint64_t n) {
  if (n == 0)
    return 0;
  /* The lowest 2^64 mod n values would make small results likelier: draw again. */
  uint64_t skip = (UINT64_C(0) - n) % n;
  for (;;) {
    uint64_t v = s3l_prng_next(g);
    if (v >= skip)
      return v % n;
  }
}
