#include "util/sized.h"

#include <string.h>

s3l_sized_t s3l_sized_copy(void* to, size_t known, const void* from, size_t size, size_t least) {
  const unsigned char* bytes = from;
  memset(to, 0, known);
  if (size < least || size > S3L_SIZED_MAX)
    return S3L_SIZED_BAD;
  for (size_t i = known; i < size; i++) {
    if (bytes[i] != 0)
      return S3L_SIZED_NEWER;
  }
  memcpy(to, from, size < known ? size : known);
  return S3L_SIZED_OK;
}
