/* util/versioned: structs of other versions. */
#include "util/versioned.h"

#include <errno.h>
#include <string.h>

#include "lib/test.h"

typedef struct known_s {
  size_t size;
  uint32_t first;
  uint32_t second;
} known_t;

static int copy(unsigned char* from, size_t size, known_t* to) {
  s3lect_error_t error;
  memcpy(from, &size, sizeof(size));
  s3l_error_clear(&error);
  int err = s3l_versioned_copy(&error, "known", from, to, sizeof(*to));
  assert_int_equal(error.code, err);
  assert_int_equal(s3l_versioned_copy(NULL, "known", from, to, sizeof(*to)), err);
  assert_true(err != 0 || to->size == sizeof(*to));
  return err;
}

static void takes_larger_structs(void** state) {
  static unsigned char bytes[S3L_SIZED_MAX + 64];
  known_t from = {.first = 7, .second = 9}, to;
  memcpy(bytes, &from, sizeof(from));
  memset(&to, 0xff, sizeof(to));
  assert_int_equal(copy(bytes, sizeof(from), &to), 0);
  assert_int_equal(to.first, 7);
  assert_int_equal(to.second, 9);
  assert_int_equal(copy(bytes, S3L_SIZED_MAX, &to), 0);
  for (size_t i = sizeof(from); i < S3L_SIZED_MAX; i++) {
    bytes[i] = 1;
    assert_int_equal(copy(bytes, i, &to), 0);
    assert_int_equal(copy(bytes, i + 1, &to), -ENOTSUP);
    bytes[i] = 0;
  }
}

static void refuses_sizes_that_are_none(void** state) {
  known_t from = {.first = 7}, to;
  const size_t bad[] = {0, 1, sizeof(known_t) - 1, S3L_SIZED_MAX + 1, SIZE_MAX};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    assert_int_equal(copy((unsigned char*)&from, bad[i], &to), -EINVAL);
    assert_int_equal(to.first, 0);
  }
}

static void zero_is_what_is_usual(void** state) {
  assert_int_equal(s3l_or_default(0, 7), 7);
  assert_int_equal(s3l_or_default(UINT32_MAX, 7), UINT32_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_larger_structs),
      cmocka_unit_test(refuses_sizes_that_are_none),
      cmocka_unit_test(zero_is_what_is_usual),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
