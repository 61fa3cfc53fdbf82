/* util/sized.h (L0): structs that callers of other versions hand in.
 *
 * A public struct begins with its size, and later versions only append to it. So what an older
 * caller leaves out is zero, and what a newer one adds is nothing to us as long as it is zero, too:
 * anything else asks for what this library cannot do. */
#ifndef S3L_UTIL_SIZED_H
#define S3L_UTIL_SIZED_H

#include <stddef.h>
#include <stdint.h>

/* A size that is larger is no size, but memory that nobody has initialised. */
#define S3L_SIZED_MAX 4096

typedef enum {
  S3L_SIZED_OK = 0,
  S3L_SIZED_BAD = 1,   /* no size of this struct */
  S3L_SIZED_NEWER = 2, /* something is set that this version does not know */
} s3l_sized_t;

/** Copies a struct of `size` bytes into one of `known` bytes, zeros for what is missing. `least` is
 * the size that it had in its first version. */
s3l_sized_t s3l_sized_copy(void* to, size_t known, const void* from, size_t size, size_t least);

/** The value of a field in which 0 asks for what is usual. */
static inline uint32_t s3l_or_default(uint32_t value, uint32_t usual) {
  return value != 0 ? value : usual;
}

#endif
