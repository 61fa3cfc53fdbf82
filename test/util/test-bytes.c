/* util/hex, util/prng and util/mem: the small ones. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "util/hex.h"
#include "util/mem.h"
#include "util/prng.h"

static void hex_both_ways(void** state) {
  const uint8_t in[4] = {0x00, 0x9f, 0xa0, 0xff};
  char text[9] = {0};
  uint8_t out[4];
  s3l_hex_encode(in, sizeof(in), text);
  assert_string_equal(text, "009fa0ff");
  assert_true(s3l_hex_decode(S3L_SPAN("009FA0ff"), out, sizeof(out)));
  assert_memory_equal(in, out, sizeof(in));
  assert_false(s3l_hex_decode(S3L_SPAN("009fa0f"), out, sizeof(out)));
  assert_false(s3l_hex_decode(S3L_SPAN("009fa0ff0"), out, sizeof(out)));
  assert_false(s3l_hex_decode(S3L_SPAN("009fa0fg"), out, sizeof(out)));
}

static void prng_replays_a_seed(void** state) {
  s3l_prng_t a, b, c;
  int same = 0;
  s3l_prng_seed(&a, 42);
  s3l_prng_seed(&b, 42);
  s3l_prng_seed(&c, 43);
  for (int i = 0; i < 100; i++) {
    uint64_t v = s3l_prng_next(&a);
    assert_true(v == s3l_prng_next(&b));
    same += v == s3l_prng_next(&c);
  }
  assert_int_equal(same, 0);
}

/* The published first output for the state 1, 2, 3, 4 is 5 * 2 rotated by 7, times 9. */
static void prng_is_xoshiro(void** state) {
  s3l_prng_t g = {{1, 2, 3, 4}};
  assert_true(s3l_prng_next(&g) == 11520);
  assert_true(s3l_prng_next(&g) == 0);
  assert_true(s3l_prng_next(&g) == 1509978240);
}

static void prng_below_is_even(void** state) {
  s3l_prng_t g;
  int counts[10] = {0};
  s3l_prng_seed(&g, 0);
  for (int i = 0; i < 100000; i++) {
    uint64_t v = s3l_prng_below(&g, 10);
    assert_true(v < 10);
    counts[v]++;
  }
  for (int i = 0; i < 10; i++)
    assert_in_range(counts[i], 9500, 10500);
  assert_int_equal(s3l_prng_below(&g, 0), 0);
  assert_int_equal(s3l_prng_below(&g, 1), 0);
  /* A bound of 3 * 2^62 must not favour the lower half, as a plain remainder would. */
  int low = 0;
  for (int i = 0; i < 3000; i++)
    low += s3l_prng_below(&g, UINT64_C(3) << 62) < UINT64_C(1) << 62;
  assert_in_range(low, 850, 1150);
}

static int mallocs, callocs, reallocs, frees;

static void* count_malloc(size_t n) {
  mallocs++;
  return malloc(n);
}

static void* count_calloc(size_t n, size_t size) {
  callocs++;
  return calloc(n, size);
}

static void* count_realloc(void* p, size_t n) {
  reallocs++;
  return realloc(p, n);
}

static void count_free(void* p) {
  frees++;
  free(p);
}

static void mem_goes_through_the_hook(void** state) {
  const s3l_mem_hooks_t hooks = {count_malloc, count_realloc, count_calloc, count_free};
  s3l_mem_set(&hooks);
  char* s = s3l_strdup("hello");
  char* z = s3l_calloc(2, 8);
  assert_non_null(s);
  assert_non_null(z);
  s = s3l_realloc(s, 100);
  assert_non_null(s);
  assert_string_equal(s, "hello");
  s3l_wipe(s, 5);
  for (int i = 0; i < 5; i++)
    assert_int_equal(s[i], 0);
  s3l_free(s);
  s3l_free(z);
  s3l_free(NULL);
  assert_int_equal(mallocs, 1);
  assert_int_equal(callocs, 1);
  assert_int_equal(reallocs, 1);
  assert_int_equal(frees, 2);
  s3l_mem_set(NULL);
  s3l_free(s3l_malloc(1));
  assert_int_equal(mallocs, 1);
  assert_null(s3l_strdup(NULL));
  assert_null(s3l_malloc(0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hex_both_ways),
      cmocka_unit_test(prng_replays_a_seed),
      cmocka_unit_test(prng_is_xoshiro),
      cmocka_unit_test(prng_below_is_even),
      cmocka_unit_test(mem_goes_through_the_hook),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
