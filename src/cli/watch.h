/* cli/watch.h (L8): `s3lect watch`: follows who leads, and never stands. */
#ifndef S3L_CLI_WATCH_H
#define S3L_CLI_WATCH_H

#include "options.h"

/** Returns the exit status. */
int cli_watch(const cli_options_t* options);

#endif
