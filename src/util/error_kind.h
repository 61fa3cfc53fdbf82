/* util/error_kind.h: which errors are worth another attempt, by the table in s3lect/errno.h. */
#ifndef S3L_UTIL_ERROR_KIND_H
#define S3L_UTIL_ERROR_KIND_H

#include <stdbool.h>

/** Whether the same request may succeed a little later: the kind TRANSIENT of errno.h. libuv's
 * codes are transient, except those that tell of a wrong call or of a cancelled one. */
bool s3l_error_is_transient(int code);

/** Whether another attempt would fail in the same way: the kind LASTING. */
bool s3l_error_is_lasting(int code);

#endif
