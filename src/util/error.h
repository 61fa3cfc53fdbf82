/* util/error.h: describes what is wrong with options, in the caller's s3lect_error_t.
 *
 * A public function clears the error first; the functions that it calls describe what is wrong; at
 * its end it adds a general text if none did. `error` may be NULL in all of them. */
#ifndef S3L_UTIL_ERROR_H
#define S3L_UTIL_ERROR_H

#include <stddef.h>

#include "s3lect/errno.h"

void s3l_error_clear(s3lect_error_t* error);

/** Writes "option: reason", or `option "value": reason` if `value` is not NULL: one line without
 * control characters, cut to fit. Returns `code`. */
int s3l_error_say(s3lect_error_t* error, int code, const char* option, const char* value,
                  const char* format, ...) __attribute__((format(printf, 5, 6)));

/** Describes `code` in general if `error` is empty. Returns `code`. */
int s3l_error_end(s3lect_error_t* error, int code);

#endif
