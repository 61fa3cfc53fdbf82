/* util/versioned.h: option structs that a caller built with newer headers may hand in.
 *
 * A public struct begins with its size, and a later version may only append fields. A larger struct
 * is accepted as long as the fields that this version does not know are zero. */
#ifndef S3L_UTIL_VERSIONED_H
#define S3L_UTIL_VERSIONED_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* A larger size is taken for uninitialised memory. */
#define S3L_SIZED_MAX 4096

/** Copies a struct of options into one of `known` bytes and sets the copy's size to that. `type` is
 * the struct's name without "_t". Errors: -EINVAL (smaller than `known`, or not a size), -ENOTSUP
 * (a field is set that this version does not know); libuv's codes on every Unix. */
int s3l_versioned_copy(s3lect_error_t* error, const char* type, const void* from, void* to,
                       size_t known);

/** Checks the size of a struct that the library fills, `name`. Errors: -EINVAL. */
int s3l_versioned_check(s3lect_error_t* error, const char* name, const char* type, size_t size,
                        size_t known);

/** The value of an option, or its default where it is 0. */
static inline uint32_t s3l_or_default(uint32_t value, uint32_t otherwise) {
  return value != 0 ? value : otherwise;
}

#endif
