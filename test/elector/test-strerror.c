/* strerror: every code has a name and a sentence, and no code leaks memory (libuv's own do, for
 * codes that it does not know). */

#include <string.h>
#include <uv.h>

#include "lib/test.h"
#include "s3lect/errno.h"

static void names_every_code(void** state) {
#define XX(name, value, kind, text)                                                                \
  assert_int_equal(S3LECT_##name, value);                                                          \
  assert_string_equal(s3lect_err_name(value), #name);                                              \
  assert_string_equal(s3lect_strerror(value), text);
  S3LECT_ERRNO_MAP(XX)
#undef XX
  assert_string_equal(s3lect_err_name(UV_ECONNREFUSED), "ECONNREFUSED");
  assert_string_equal(s3lect_strerror(UV_ECONNREFUSED), "connection refused");
  /* libuv's text speaks of connections. */
  assert_string_equal(s3lect_strerror(UV_EALREADY), "already done");
  assert_string_equal(s3lect_err_name(0), "OK");
  assert_string_equal(s3lect_strerror(0), "success");
}

static void knows_what_it_does_not_know(void** state) {
  static const int codes[] = {1, -5099, -4999, -12345, -2147483647 - 1, 2147483647};
  for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
    assert_string_equal(s3lect_err_name(codes[i]), "UNKNOWN");
    assert_string_equal(s3lect_strerror(codes[i]), "unknown error code");
  }
}

/* A code of ours must never hide one of libuv's. */
static void keeps_out_of_libuvs_range(void** state) {
#define XX(name, text) assert_false(UV_##name <= -5000 && UV_##name >= -5099);
  UV_ERRNO_MAP(XX)
#undef XX
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_every_code),
      cmocka_unit_test(knows_what_it_does_not_know),
      cmocka_unit_test(keeps_out_of_libuvs_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
