/* cli/parse.h (L8): reads the command line into cli_options_t, by the table of options. Stops at
 * the first problem and describes it in one line: option, value, what to do. */
#ifndef S3L_CLI_PARSE_H
#define S3L_CLI_PARSE_H

#include "options.h"

/** Reads the arguments that follow the command's name. Returns 0 or S3LECT_EOPTION with `error`.
 * With --help it stops there, with `help` set. */
int cli_options_parse(cli_options_t* options, cli_command_t command, int argc, char** argv,
                      s3lect_error_t* error);

#endif
