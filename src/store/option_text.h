/* store/option_text.h (L5): what is said of an option: its name, its value, and what is wrong. */
#ifndef S3L_STORE_OPTION_TEXT_H
#define S3L_STORE_OPTION_TEXT_H

#include "util/buf.h"

/** Writes `name "value": reason`, on one line and bounded, whatever is in the value; without it
 * where value is NULL. Returns err. */
int s3l_option_fail(s3l_buf_t* message, int err, const char* name, const char* value,
                    const char* reason);

#endif
