/* cli/options_table.h (L8): every option: its name, the commands that take it, where its value goes
 * and its text in --help. */
#ifndef S3L_CLI_OPTIONS_TABLE_H
#define S3L_CLI_OPTIONS_TABLE_H

#include <stddef.h>

#include "options.h"

typedef enum {
  CLI_KIND_STRING,   /* a const char* */
  CLI_KIND_DURATION, /* a uint32_t of ms */
  CLI_KIND_RATE,     /* a uint32_t of ppm */
  CLI_KIND_FLAG,     /* a uint32_t or int32_t, which gets `flag` */
  CLI_KIND_CHOICE,   /* an int32_t: which of the words in `meta`, from `flag` on */
  CLI_KIND_LIST,     /* a cli_list_t: the option may be given more than once */
  CLI_KIND_HELP,
} cli_kind_t;

/* Beside the commands of an option: only stores that speak S3 use it, or only those behind HTTP. */
#define CLI_OPTION_S3   0x10000
#define CLI_OPTION_HTTP 0x20000

typedef struct cli_option_s {
  const char* name;
  const char* meta; /* stands for its value in messages; NULL for a flag */
  int commands;     /* a set of cli_command_t, perhaps with one of CLI_OPTION_* */
  cli_kind_t kind;
  size_t offset;      /* of its value in cli_options_t */
  const char* member; /* the same as text: "elector.server_id" */
  uint32_t flag;      /* CLI_KIND_FLAG: its value */
  const char* help;   /* a '\n' begins a new line */
} cli_option_t;

extern const cli_option_t cli_option_table[];
extern const size_t cli_option_count;

#define CLI_NEAR_NONE 32 /* the initial value of `best`; longer words match nothing */

/** Whether the name is similar to a mistyped word, and more so than `best`, which then becomes
 * their distance: few edits for the name's length, or the word is the beginning of the name. */
bool cli_is_near(const char* word, size_t len, const char* name, size_t* best);

/** The option of that name, whatever the command; NULL if there is none. */
const cli_option_t* cli_option_find(const char* name, size_t len);

/** The command's option that may have been meant, or NULL. */
const cli_option_t* cli_option_nearest(cli_command_t command, const char* word, size_t len);

#define CLI_OPTION_SIZE 64

/** The command's name of an option of the library's, static or in `name`; NULL if there is none.
 * `peer`: it is an option of a peer client or server. */
const char* cli_option_of(const char* option, bool peer, char name[CLI_OPTION_SIZE]);

/** Says on stderr what the library found wrong, with the command's name of the option. `peer`: it
 * is an option of a peer client or server. */
void cli_say_error(const char* before, bool peer, const s3lect_error_t* error);

#endif
