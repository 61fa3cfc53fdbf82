/* Where the fields of public structs lie, and how large those are: a program that was compiled with
 * the first release's headers must go on working with a library of today. Checked by the compiler;
 * that it compiles is the test.
 *
 *   AT(type, field, offset)     a field's place never changes
 *   SIZE(type, bytes)           a shell, or what stands in arrays and structs: never changes
 *   GROWS(type, bytes)          begins with its size: new fields go behind the last one
 *
 * layout.inc is kept by layout.sh, which adds what is new and never changes a line. (Before the
 * first release there are no programs to break: take the line out, and layout.sh writes it anew.)
 *
 * ctest labels: no-valgrind */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "s3lect.h"

/* Pinned for 64-bit systems; elsewhere the numbers differ, and the same rules hold. */
#if UINTPTR_MAX == UINT64_MAX
#  define AT(type, field, offset)                                                                  \
    _Static_assert(offsetof(type, field) == (offset),                                              \
                   #type "." #field " has moved: programs that are built already would break. "    \
                         "Append new fields instead (test/abi/layout.sh)");
#  define SIZE(type, bytes)                                                                        \
    _Static_assert(                                                                                \
        sizeof(type) == (bytes), #type                                                             \
        " has another size: programs that are built already would break (test/abi/layout.sh)");
#  define GROWS(type, bytes)                                                                       \
    _Static_assert(sizeof(type) >= (bytes), #type " has lost fields of the first release");        \
    _Static_assert(offsetof(type, size) == 0, #type " must begin with its size");
#  include "layout.inc"
#endif

static void error_codes_stay(void** state) {
  (void)state;
  assert_int_equal(S3LECT_ETIMING, -5000);
  assert_int_equal(S3LECT_EPROXY, -5031);
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(error_codes_stay)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
