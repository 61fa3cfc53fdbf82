/* util/sized: structs of other versions. */
#include "util/sized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct known_s {
  size_t size;
  uint32_t first;
  uint32_t second;
} known_t;

static void takes_older_and_newer_structs(void** state) {
  static unsigned char bytes[S3L_SIZED_MAX + 64];
  known_t from = {.first = 7, .second = 9}, to;
  const size_t least = offsetof(known_t, second);
  (void)state;
  memcpy(bytes, &from, sizeof(from));
  memset(&to, 0xff, sizeof(to));
  assert_int_equal(s3l_sized_copy(&to, sizeof(to), bytes, least, least), S3L_SIZED_OK);
  assert_int_equal(to.first, 7);
  assert_int_equal(to.second, 0); /* behind the end of what was given */
  assert_int_equal(s3l_sized_copy(&to, sizeof(to), bytes, sizeof(from), least), S3L_SIZED_OK);
  assert_int_equal(to.second, 9);
  assert_int_equal(s3l_sized_copy(&to, sizeof(to), bytes, S3L_SIZED_MAX, least), S3L_SIZED_OK);
  for (size_t i = sizeof(from); i < S3L_SIZED_MAX; i++) {
    bytes[i] = 1;
    assert_int_equal(s3l_sized_copy(&to, sizeof(to), bytes, i, least), S3L_SIZED_OK);
    assert_int_equal(s3l_sized_copy(&to, sizeof(to), bytes, i + 1, least), S3L_SIZED_NEWER);
    bytes[i] = 0;
  }
}

static void refuses_sizes_that_are_none(void** state) {
  known_t from = {.first = 7}, to;
  const size_t least = offsetof(known_t, second);
  const size_t bad[] = {0, 1, least - 1, S3L_SIZED_MAX + 1, SIZE_MAX};
  (void)state;
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    assert_int_equal(s3l_sized_copy(&to, sizeof(to), &from, bad[i], least), S3L_SIZED_BAD);
    assert_int_equal(to.first, 0);
  }
}

static void zero_is_what_is_usual(void** state) {
  (void)state;
  assert_int_equal(s3l_or_default(0, 7), 7);
  assert_int_equal(s3l_or_default(UINT32_MAX, 7), UINT32_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_older_and_newer_structs),
      cmocka_unit_test(refuses_sizes_that_are_none),
      cmocka_unit_test(zero_is_what_is_usual),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
