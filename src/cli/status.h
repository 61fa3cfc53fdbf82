/* cli/status.h (L8): `s3lect status`: read the lockfile once, say who leads. */
#ifndef S3L_CLI_STATUS_H
#define S3L_CLI_STATUS_H

#include "options.h"

/** Returns the exit status. */
int cli_status(const cli_options_t* options);

#endif
