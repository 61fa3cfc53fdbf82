#include "store/source.h"

#include <stddef.h>
#include <stdlib.h>

const char* s3l_set_or_null(const char* s) {
  return s != NULL && s[0] != '\0' ? s : NULL;
}

s3l_source_t s3l_source_choose(const char* option_name, const char* option, const char* env1,
                               const char* env2) {
  const char* names[3] = {option_name, env1, env2};
  const char* value = s3l_set_or_null(option);
  for (int i = 1; value == NULL && i < 3; i++) {
    if (names[i] != NULL && (value = s3l_set_or_null(getenv(names[i]))) != NULL)
      return (s3l_source_t){names[i], value};
  }
  return (s3l_source_t){option_name, value};
}
