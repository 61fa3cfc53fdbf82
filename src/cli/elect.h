/* cli/elect.h (L8): `s3lect elect`: stand in the election, print the events. */
#ifndef S3L_CLI_ELECT_H
#define S3L_CLI_ELECT_H

#include "options.h"

/** Returns the exit status. */
int cli_elect(const cli_options_t* options);

#endif
