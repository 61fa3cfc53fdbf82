/* cli/options.h (L8): the command line.
 *
 * One table holds every option: what it is called, which commands take it, where its value goes
 * and what --help says of it. Parsing stops at the first problem and says it in one line that
 * names the option, the value and the mend. */
#ifndef S3L_CLI_OPTIONS_H
#define S3L_CLI_OPTIONS_H

#include <s3lect.h>
#include <stdbool.h>

#include "text.h"

#define CLI_BUCKET_SIZE 256

typedef enum {
  CLI_ELECT = 1,
  CLI_RUN = 2,
  CLI_STATUS = 4,
  CLI_VERIFY = 8,
} cli_command_t;

/** Exit statuses beside 0 and those of a command that was run. */
enum {
  CLI_EXIT_FAILED = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_NO_LEADER = 3,
  CLI_EXIT_CANNOT_EXECUTE = 126,
  CLI_EXIT_NOT_FOUND = 127,
};

/** What the command line says. Strings point into argv. 0 and NULL: not given. */
typedef struct cli_options_s {
  cli_command_t command;
  bool help;
  const char* store;            /* s3://BUCKET/KEY as given */
  char bucket[CLI_BUCKET_SIZE]; /* its parts */
  const char* key;
  const char* endpoint;
  const char* region;
  const char* ca_file;
  uint32_t addressing; /* s3lect_addressing_t */
  const char* id;
  char default_id[S3LECT_ID_SIZE]; /* what `id` points to when --id was not given */
  const char* addr;
  uint32_t frequent_ms;
  uint32_t infrequent_ms;
  uint32_t leader_timeout_ms;
  uint32_t renew_ms;
  uint32_t request_timeout_ms;
  uint32_t kill_after_ms;
  const char* events_file;
  uint32_t json;
  uint32_t quick;
  uint32_t verify_on_start;
  char** child_argv; /* run: the command, NULL-terminated */
} cli_options_t;

/** Reads the arguments that follow the command's name. Returns 0 or S3LECT_EOPTION with a line in
 * `message`. With --help it stops there, with `help` set. */
int cli_options_parse(cli_options_t* options, cli_command_t command, int argc, char** argv,
                      char message[CLI_MESSAGE_SIZE]);

/** Reads a length of time such as 500ms, 1.5s, 2m, 1h into milliseconds. Returns 0 or
 * S3LECT_EOPTION with what is wrong in `message`, to be put behind the option's name. */
int cli_duration_parse(const char* text, uint32_t* ms, char message[CLI_MESSAGE_SIZE]);

/** Finds a command by name; 0 if there is none, with the nearest name in `hint` or NULL. */
cli_command_t cli_command_find(const char* name, const char** hint);

/** Prints the page of a command, or with 0 the general one, on stdout. */
void cli_help(cli_command_t command);

#endif
