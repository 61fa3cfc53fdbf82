/* cli/commands.h (L8): the commands: their names and what --help says of them. */
#ifndef S3L_CLI_COMMANDS_H
#define S3L_CLI_COMMANDS_H

#include "options.h"

/** Finds a command by name; 0 if there is none, with the nearest name in `hint` or NULL. */
cli_command_t cli_command_find(const char* name, const char** hint);

/** Runs the command of the options. Returns the exit status. */
int cli_command_run(const cli_options_t* options);

/** The name of a command, or of the first in a set of them. */
const char* cli_command_name(int commands);

/** Prints the page of a command, or with 0 the general one, on stdout. */
void cli_help(cli_command_t command);

#endif
