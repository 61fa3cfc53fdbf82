/* cli/pipes.h (L8): option files that are pipes, such as a shell's `--peer-key <(COMMAND)`.
 *
 * A pipe can be read only once, but certificates and keys are read by several users and again on
 * SIGHUP. So the pipe is copied into a file in memory, whose name replaces the pipe's. */
#ifndef S3L_CLI_PIPES_H
#define S3L_CLI_PIPES_H

#include "options.h"

/** Copies the pipes that the options name. Waits at most ten seconds for their writers; nothing
 * else runs yet. A pipe without a writer stays as it is, and is refused like other special files.
 * Returns 0 or S3LECT_EOPTION with `error`. */
int cli_pipes_copy(cli_options_t* options, s3lect_error_t* error);

#endif
