/* cli/list.h (L8): what `list`, `status` and `watch` at a prefix share. */
#ifndef S3L_CLI_LIST_H
#define S3L_CLI_LIST_H

#include "election.h"
#include "store.h"

/** Initialises a list of what the options name, for a store that is open: a prefix, or one
 * election. Starts its first pass. Returns 0, or a code with nothing to free. */
int cli_list_begin(cli_once_t* once, s3lect_list_t* list, s3lect_list_cb cb);

/** The rows of all elections, in memory that the caller frees (s3l_free); NULL without memory. */
cli_view_row_t* cli_list_rows(const s3lect_list_t* list, size_t* len);

/** Says that a pass has failed. Returns CLI_EXIT_FAILED. */
int cli_list_failed(const cli_options_t* options, int error, const char* why);

/** `watch` at a prefix: says which leaders have changed. Returns the exit status. */
int cli_watch_prefix(const cli_options_t* options);

#endif
