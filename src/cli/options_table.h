/* cli/options_table.h (L8): every option: what it is called, which commands take it, where its
 * value goes and what --help says of it. */
#ifndef S3L_CLI_OPTIONS_TABLE_H
#define S3L_CLI_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands.h"

typedef enum {
  CLI_KIND_STRING,   /* a const char* */
  CLI_KIND_DURATION, /* a uint32_t of ms */
  CLI_KIND_RATE,     /* a uint32_t of ppm */
  CLI_KIND_FLAG,     /* a uint32_t, which gets `flag` */
  CLI_KIND_LIST,     /* a cli_list_t: may be given again and again */
  CLI_KIND_HELP,
} cli_kind_t;

typedef struct cli_option_s {
  const char* name;
  const char* meta; /* what its value is called; NULL for a flag */
  int commands;     /* a set of cli_command_t */
  bool s3_only;     /* says nothing to other stores */
  cli_kind_t kind;
  size_t offset; /* of its value in cli_options_t */
  uint32_t flag;
  const char* help; /* a '\n' begins a new line */
} cli_option_t;

extern const cli_option_t cli_option_table[];
extern const size_t cli_option_count;

/** The option of that name, whatever the command; NULL if there is none. */
const cli_option_t* cli_option_find(const char* name, size_t len);

/** The one of the command that may have been meant, or NULL. */
const cli_option_t* cli_option_nearest(cli_command_t command, const char* word, size_t len);

#endif
