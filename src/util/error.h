/* util/error.h: says what is wrong with options, in an s3lect_error_t of the caller's.
 *
 * A public function clears the error first, functions below it say what is wrong, and its end adds
 * a text where nobody said anything. `error` may be NULL in all of them. */
#ifndef S3L_UTIL_ERROR_H
#define S3L_UTIL_ERROR_H

#include <stddef.h>

#include "s3lect/errno.h"

void s3l_error_clear(s3lect_error_t* error);

/** Writes "option: reason", or `option "value": reason` where `value` is not NULL: one line, cut to
 * what fits, without control characters. Returns `code`. */
int s3l_error_say(s3lect_error_t* error, int code, const char* option, const char* value,
                  const char* format, ...) __attribute__((format(printf, 5, 6)));

/** Describes `code` in general where nothing has been said of it. Returns `code`. */
int s3l_error_end(s3lect_error_t* error, int code);

#endif
