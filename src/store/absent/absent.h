/* store/absent/absent.h: stands for a store that the library was built without: its functions
 * exist, and return UV_ENOTSUP. */
#ifndef S3L_STORE_ABSENT_H
#define S3L_STORE_ABSENT_H

#include <string.h>

#include "util/error.h"

#define S3L_STORE_ABSENT(name, option)                                                             \
  void s3lect_store_##name##_options_init(s3lect_store_##name##_options_t* options, size_t size) { \
    memset(options, 0, size);                                                                      \
    options->size = size;                                                                          \
  }                                                                                                \
  int s3lect_store_##name##_options_check(const s3lect_store_##name##_options_t* options,          \
                                          s3lect_error_t* error) {                                 \
    (void)options;                                                                                 \
    s3l_error_clear(error);                                                                        \
    return s3l_error_say(error, UV_ENOTSUP, "store", NULL,                                         \
                         "this s3lect was built without this store (" option "=OFF)");             \
  }                                                                                                \
  int s3lect_store_##name##_init(uv_loop_t* loop, s3lect_store_t* store,                           \
                                 const s3lect_store_##name##_options_t* options,                   \
                                 s3lect_error_t* error) {                                          \
    (void)loop;                                                                                    \
    (void)store;                                                                                   \
    return s3lect_store_##name##_options_check(options, error);                                    \
  }

#endif
