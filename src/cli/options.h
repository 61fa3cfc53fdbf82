/* cli/options.h (L8): what the command line says, in the library's own option structs; and the
 * commands. Every option is a row of one table (options_table.h), which says where its value goes.
 */
#ifndef S3L_CLI_OPTIONS_H
#define S3L_CLI_OPTIONS_H

#include <s3lect.h>
#include <stdbool.h>

#define CLI_BUCKET_SIZE    256
#define CLI_DIRECTORY_SIZE 4096
#define CLI_LIST_MAX       16

typedef enum {
  CLI_ELECT = 1,
  CLI_RUN = 2,
  CLI_STATUS = 4,
  CLI_VERIFY = 8,
  CLI_WATCH = 16,
  CLI_LIST = 32,
  CLI_AUDIT = 64,
  CLI_PLAN = 128,
  CLI_PUT = 256,
  CLI_GET = 512,
} cli_command_t;

/** Exit statuses beside 0 and those of a command that was run. */
enum {
  CLI_EXIT_FAILED = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_NO_LEADER = 3, /* get: no object */
  CLI_EXIT_FENCED = 4,
  CLI_EXIT_CONFLICT = 75, /* EX_TEMPFAIL: run --try, another process leads */
  CLI_EXIT_LOST = 124,    /* run --once: leadership ended before the command, as of timeout(1) */
  CLI_EXIT_CANNOT_EXECUTE = 126,
  CLI_EXIT_NOT_FOUND = 127,
};

/** What --store names. */
typedef enum {
  CLI_STORE_S3,
  CLI_STORE_FILE,
  CLI_STORE_AZURE,
  CLI_STORE_GOOGLE,
} cli_store_kind_t;

/** The values of an option that may be given more than once. */
typedef struct cli_list_s {
  const char* all[CLI_LIST_MAX];
  size_t len;
} cli_list_t;

/** What the command line says. Strings point into argv. 0 and NULL: not given. */
typedef struct cli_options_s {
  cli_command_t command;
  bool help;
  const char* store; /* as given: s3://BUCKET/KEY, file:///DIRECTORY/NAME, ... */
  cli_store_kind_t kind;
  char account[CLI_BUCKET_SIZE];      /* its parts, or "": the account of Azure, */
  char bucket[CLI_BUCKET_SIZE];       /* the bucket or container, */
  char directory[CLI_DIRECTORY_SIZE]; /* of files. The key is elector.lockfile_path */
  s3lect_elector_options_t elector;
  s3lect_store_s3_options_t s3; /* with the options that all stores behind HTTP have */
  s3lect_peer_client_options_t client;
  s3lect_peer_server_options_t server; /* its certificate and plain_http are those of `client` */
  cli_list_t headers;
  char default_id[S3LECT_ID_SIZE];    /* what elector.server_id points to without --id */
  char http_listen[S3LECT_ADDR_SIZE]; /* what server.pages_listen points to, if HOST is missing */
  const char* value;                  /* elect, run */
  const char* value_file;
  uint32_t peer_client_auth;
  uint32_t peer_reload_ms; /* 0: only SIGHUP reads the certificates again */
  uint32_t kill_after_ms;
  const char* warn_signal;
  const char* events_file;
  uint32_t try_only;
  uint32_t within_ms; /* run --try, put, get */
  const char* conflict_exit_text;
  int conflict_exit; /* the same as a number, or its default */
  uint32_t once;
  uint32_t min_hold_ms;
  uint32_t standby;
  uint32_t quiet;
  uint32_t json;
  bool prefix; /* list, watch: the key in --store is the beginning of keys */
  uint32_t quick;
  const char* epoch; /* put, get: as given */
  char* title;       /* run: this process's arguments, as they lie in memory */
  size_t title_len;
  char** files; /* audit: event logs */
  size_t files_len;
  uint32_t clock_error_ms; /* audit: 0: the default */
  uint32_t one_machine;
  const char* last_text;
  uint32_t last;       /* audit: versions to read, at most */
  uint32_t latency_ms; /* plan: 0: the default */
  const char* electors_text;
  uint32_t electors; /* 0: not given */
  const char* svg;
  char** child_argv; /* run: the command, NULL-terminated */
} cli_options_t;

/** Reads the arguments that follow the command's name, by the table of options (parse.c). Stops at
 * the first problem. Returns 0, or S3LECT_EOPTION with `error`: one line with the option, its value
 * and what to do. With --help it stops there, with `help` set. */
int cli_options_parse(cli_options_t* options, cli_command_t command, int argc, char** argv,
                      s3lect_error_t* error);

/** Copies option files that are pipes, such as a shell's `--peer-key <(COMMAND)`, into memory
 * (pipes.c). Returns 0, or S3LECT_EOPTION with `error`. */
int cli_pipes_copy(cli_options_t* options, s3lect_error_t* error);

/* The commands, and what --help says of them (commands.c). */

/** Finds a command by name; 0 if there is none, with the nearest name in `hint` or NULL. */
cli_command_t cli_command_find(const char* name, const char** hint);

/** Runs the command of the options. Returns the exit status. */
int cli_command_run(const cli_options_t* options);

/** The name of a command, or of the first in a set of them. */
const char* cli_command_name(int commands);

/** The names of all commands, as "elect, run and watch". */
const char* cli_command_names(void);

/** Prints the page of a command, or with 0 the general one, on stdout. */
void cli_help(cli_command_t command);

/* Each returns the exit status. */

int cli_audit(const cli_options_t* options);
int cli_elect(const cli_options_t* options);
int cli_fenced(const cli_options_t* options); /* put and get */
int cli_list(const cli_options_t* options);
int cli_plan(const cli_options_t* options);
int cli_run(const cli_options_t* options);
int cli_status(const cli_options_t* options);
int cli_verify(const cli_options_t* options);
int cli_watch(const cli_options_t* options);

#endif
