/* util/assert.h: internal invariants.
 *
 * An S3L_ASSERT that fails is a bug in this library, never bad input from a caller or a peer. It
 * aborts in Debug builds and is compiled out with NDEBUG (its expression is then type-checked
 * only). */
#ifndef S3L_UTIL_ASSERT_H
#define S3L_UTIL_ASSERT_H

#include <assert.h>

#ifdef NDEBUG
#  define S3L_ASSERT(cond)  ((void)sizeof((cond) ? 1 : 0))
#  define S3L_UNREACHABLE() __builtin_unreachable()
#else
#  include <stdlib.h>
#  define S3L_ASSERT(cond)  assert(cond)
#  define S3L_UNREACHABLE() (assert(0 && "unreachable"), abort())
#endif

#define S3L_STATIC_ASSERT(cond, text) _Static_assert(cond, text)

#endif
