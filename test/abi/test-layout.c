/* Checks the offsets and sizes of public structs and the values of public constants: a program that
 * was compiled with the first release's headers must work with today's library. The compiler checks
 * all but what functions write into structs.
 *
 *   AT(type, field, offset)     a field's place never changes
 *   SIZE(type, bytes)           a shell, or a member of arrays and structs: never changes
 *   VALUE(name, number)         an enumerator, a flag, a limit, an error code: never changes
 *   GROWS(type, bytes)          begins with its size: new fields are appended
 *
 * layout.inc is kept by layout.sh, which adds what is new and never changes a line. (The first
 * release makes it; before that there are no programs to break.)
 *
 * ctest labels: no-valgrind */
#include <string.h>

#include "lib/test.h"
#include "s3lect.h"

/* Pinned for 64-bit systems; elsewhere the numbers differ, and the same rules hold. */
#if UINTPTR_MAX == UINT64_MAX && __has_include("layout.inc")
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
#  define VALUE(name, number)                                                                      \
    _Static_assert((name) == (number), #name " stands for another number (test/abi/layout.sh)");
#  include "layout.inc"
#endif

#define ROOM 1024

/* The library writes no further than the size that the caller gives. */
#define WITHIN(init, type)                                                                         \
  do {                                                                                             \
    static _Alignas(type) unsigned char room[ROOM];                                                \
    size_t size;                                                                                   \
    memset(room, 0xa5, sizeof room);                                                               \
    init((type*)(void*)room, sizeof(type));                                                        \
    memcpy(&size, room, sizeof size);                                                              \
    assert_int_equal(size, sizeof(type));                                                          \
    for (size_t i = sizeof(type); i < ROOM; i++)                                                   \
      assert_int_equal(room[i], 0xa5);                                                             \
  } while (0)

static void defaults_fit_into_the_options(void** state) {
  WITHIN(s3lect_elector_options_init, s3lect_elector_options_t);
  WITHIN(s3lect_store_s3_options_init, s3lect_store_s3_options_t);
  WITHIN(s3lect_store_azure_options_init, s3lect_store_azure_options_t);
  WITHIN(s3lect_store_gcs_options_init, s3lect_store_gcs_options_t);
  WITHIN(s3lect_audit_options_init, s3lect_audit_options_t);
  WITHIN(s3lect_list_options_init, s3lect_list_options_t);
  WITHIN(s3lect_verify_options_init, s3lect_verify_options_t);
  WITHIN(s3lect_plan_options_init, s3lect_plan_options_t);
  WITHIN(s3lect_credentials_chain_options_init, s3lect_credentials_chain_options_t);
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_fit_into_the_options)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
