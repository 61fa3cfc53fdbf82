/* cli/pipes.h (L8): files that are pipes, such as a shell's `--peer-key <(COMMAND)`.
 *
 * A pipe can be read once, but certificates and keys are read by the check of the options, by each
 * of their users and again on SIGHUP. So its text is copied into a file in memory, whose name takes
 * the pipe's place. */
#ifndef S3L_CLI_PIPES_H
#define S3L_CLI_PIPES_H

#include "options.h"

/** Copies what the options name and is a pipe. Waits at most ten seconds for its writers, while
 * nothing else runs yet; a pipe without a writer stays as it is, and is refused like every other
 * special file. Returns 0 or S3LECT_EOPTION with `error`. */
int cli_pipes_copy(cli_options_t* options, s3lect_error_t* error);

#endif
