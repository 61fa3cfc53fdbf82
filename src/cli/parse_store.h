/* cli/parse_store.h (L8): the value of --store, and which options go with which store. */
#ifndef S3L_CLI_PARSE_STORE_H
#define S3L_CLI_PARSE_STORE_H

#include "options.h"

/** Reads --store into its parts. Returns 0, or S3LECT_EOPTION with `error`. */
int cli_store_parse(cli_options_t* options, s3lect_error_t* error);

/** Whether the key in --store may be the beginning of keys. */
bool cli_store_may_be_prefix(const cli_options_t* options);

/** Puts what was read into the options of the store. */
void cli_store_finish(cli_options_t* options);

#endif
