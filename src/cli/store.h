/* cli/store.h (L8): the store that the command line names: S3, or files of this machine. */
#ifndef S3L_CLI_STORE_H
#define S3L_CLI_STORE_H

#include "options.h"

/** Says on stderr what is wrong with the store's options, if anything. Returns 0 or
 * CLI_EXIT_USAGE. */
int cli_store_check(const cli_options_t* options);

/** Opens it. Returns 0, or a code after a line on stderr, with nothing to clean up. */
int cli_store_open(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store);

/** Says what is wrong with an option, if anything, in the words of the command line. Returns 0 or
 * CLI_EXIT_USAGE. */
int cli_usage(const s3lect_error_t* error);

#endif
