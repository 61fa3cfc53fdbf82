#include "util/versioned.h"

#include <errno.h>
#include <string.h>

int s3l_versioned_copy(s3lect_error_t* error, const char* type, const void* from, void* to,
                       size_t known) {
  const unsigned char* bytes = from;
  size_t size;
  memcpy(&size, from, sizeof size);
  memset(to, 0, known);
  if (size < known || size > S3L_SIZED_MAX)
    return s3l_error_say(error, -EINVAL, "size", NULL,
                         "%zu is not a size of %s_t; call %s_init first", size, type, type);
  for (size_t i = known; i < size; i++) {
    if (bytes[i] != 0)
      return s3l_error_say(error, -ENOTSUP, "size", NULL,
                           "an option is set that this version does not know");
  }
  memcpy(to, from, known);
  memcpy(to, &known, sizeof known);
  return 0;
}

int s3l_versioned_check(s3lect_error_t* error, const char* name, const char* type, size_t size,
                        size_t known) {
  if (size >= known && size <= S3L_SIZED_MAX)
    return 0;
  return s3l_error_say(error, -EINVAL, "size", NULL, "%zu of `%s` is not a size of %s_t", size,
                       name, type);
}
