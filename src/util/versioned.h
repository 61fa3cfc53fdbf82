/* util/versioned.h: structs that callers of other versions hand in.
 *
 * A public struct begins with its size, and later versions only append to it. So what an older
 * caller leaves out is zero, and what a newer one adds is nothing to us as long as it is zero, too:
 * anything else asks for what this library cannot do. */
#ifndef S3L_UTIL_VERSIONED_H
#define S3L_UTIL_VERSIONED_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* A size that is larger is no size, but memory that nobody has initialised. */
#define S3L_SIZED_MAX 4096

/** Copies a struct of options into one of `known` bytes, zeros for what is missing; the copy's size
 * is its own. `type` is the struct's name without "_t", `least` the size that it had in its first
 * version. Errors: -EINVAL (no size of this struct), -ENOTSUP (something is set that this version
 * does not know); libuv's codes on every Unix. */
int s3l_versioned_copy(s3lect_error_t* error, const char* type, const void* from, void* to,
                       size_t known, size_t least);

/** The value of a field in which 0 asks for what is usual. */
static inline uint32_t s3l_or_default(uint32_t value, uint32_t usual) {
  return value != 0 ? value : usual;
}

#endif
