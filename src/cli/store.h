/* cli/store.h (L8): the store that the command line names (S3, or files of this machine), and what
 * the commands without an elector share. */
#ifndef S3L_CLI_STORE_H
#define S3L_CLI_STORE_H

#include "options.h"

/** Says on stderr what is wrong with the store's options, if anything. Returns 0 or
 * CLI_EXIT_USAGE. */
int cli_store_check(const cli_options_t* options);

/** Opens it. Returns 0, or a code after a line on stderr, with nothing to clean up. */
int cli_store_open(const cli_options_t* options, uv_loop_t* loop, s3lect_store_t* store);

/** Says that a read of the store has failed, with `error` and what the store said, or "". Returns
 * CLI_EXIT_FAILED. */
int cli_store_failed(const cli_options_t* options, int error, const char* why);

/** Says what is wrong with an elector's or store's option, if anything. Returns 0 or
 * CLI_EXIT_USAGE. */
int cli_usage(const s3lect_error_t* error);

/** One use of the store, as `status` and `verify` make. */
typedef struct cli_once_s {
  const cli_options_t* options;
  s3lect_elector_options_t defaults; /* of an elector at that key */
  uv_loop_t loop;
  s3lect_store_t store;
  int exit_code; /* CLI_EXIT_FAILED until the command sets it */
} cli_once_t;

/** Checks the options, opens loop and store, calls start and runs the loop. What start begins must
 * close the store in the end; if start returns a code, nothing has begun. Returns the exit
 * status. */
int cli_once(cli_once_t* once, const cli_options_t* options, int (*start)(cli_once_t* once));

/** The prefix or the election that the options name, for a store that is open. */
s3lect_list_options_t cli_list_options(cli_once_t* once);

#endif
