/* cli/list.h (L8): what `list` and `watch` at a prefix share. */
#ifndef S3L_CLI_LIST_H
#define S3L_CLI_LIST_H

#include "scan.h"
#include "store.h"

/** A scan of the prefix that the options name, for a store that is open. */
cli_scan_t cli_list_scan(cli_once_t* once);

/** Whether an object of the scan decides an election now. */
bool cli_list_is_election(const cli_election_t* election);

/** For how long an election's object is known not to have changed since it was read. */
int64_t cli_list_unchanged_ms(const cli_scan_t* scan, const cli_election_t* election);

/** The rows of all elections, in memory that the caller frees (s3l_free); NULL without memory. */
cli_view_row_t* cli_list_rows(const cli_scan_t* scan, size_t* len);

/** Says that a pass has failed. Returns CLI_EXIT_FAILED. */
int cli_list_failed(const cli_options_t* options, int error, const s3lect_store_result_t* result);

/** `watch` at a prefix: says which leaders have changed. Returns the exit status. */
int cli_watch_prefix(const cli_options_t* options);

#endif
