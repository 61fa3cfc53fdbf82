/* cli/verify.h (L8): `s3lect verify`: try whether a store can hold an election. */
#ifndef S3L_CLI_VERIFY_H
#define S3L_CLI_VERIFY_H

#include "options.h"

/** Returns the exit status. */
int cli_verify(const cli_options_t* options);

#endif
