/* cli/value.h (L8): what a candidate publishes while it leads: --value and --value-file. */
#ifndef S3L_CLI_VALUE_H
#define S3L_CLI_VALUE_H

#include <s3lect.h>

#include "options.h"

/** Reads the value of the options, "" if they give none. A newline at the end of the file does not
 * belong to it. Returns 0, or S3LECT_EOPTION with `error`. */
int cli_value_read(const cli_options_t* options, char value[S3LECT_VALUE_SIZE],
                   s3lect_error_t* error);

#endif
