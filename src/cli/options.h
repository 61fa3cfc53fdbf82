/* cli/options.h (L8): the command line.
 *
 * Every option is a row of one table (options_table.h). Parsing stops at the first problem and says
 * it in one line that names the option, the value and the mend. */
#ifndef S3L_CLI_OPTIONS_H
#define S3L_CLI_OPTIONS_H

#include <s3lect.h>
#include <stdbool.h>

#include "commands.h"
#include "text.h"

#define CLI_BUCKET_SIZE    256
#define CLI_DIRECTORY_SIZE 4096
#define CLI_LIST_MAX       16

/** Exit statuses beside 0 and those of a command that was run. */
enum {
  CLI_EXIT_FAILED = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_NO_LEADER = 3,
  CLI_EXIT_CANNOT_EXECUTE = 126,
  CLI_EXIT_NOT_FOUND = 127,
};

/** The values of an option that may be given more than once. */
typedef struct cli_list_s {
  const char* all[CLI_LIST_MAX];
  size_t len;
} cli_list_t;

/** What the command line says. Strings point into argv. 0 and NULL: not given. */
typedef struct cli_options_s {
  cli_command_t command;
  bool help;
  const char* store;                  /* s3://BUCKET/KEY or file:///DIRECTORY/NAME as given */
  char bucket[CLI_BUCKET_SIZE];       /* its parts; "" with a file, */
  char directory[CLI_DIRECTORY_SIZE]; /* "" with a bucket */
  const char* key;
  const char* protocol_name; /* as given; and what it is */
  int32_t protocol;          /* s3lect_protocol_t */
  uint32_t keep_epochs;
  const char* endpoint;
  const char* region;
  const char* ca_file;
  uint32_t addressing; /* s3lect_addressing_t */
  uint32_t dualstack;
  const char* proxy; /* "none": none */
  const char* profile;
  cli_list_t headers;
  const char* sse;
  const char* sse_kms_key_id;
  uint32_t checksum;
  const char* expected_bucket_owner;
  const char* id;
  char default_id[S3LECT_ID_SIZE]; /* what `id` points to when --id was not given */
  const char* addr;
  uint32_t frequent_ms;
  uint32_t infrequent_ms;
  uint32_t leader_timeout_ms;
  uint32_t renew_ms;
  uint32_t request_timeout_ms;
  uint32_t grace_ms;
  uint32_t stop_ack_ms;
  uint32_t release_timeout_ms;
  uint32_t no_release;
  uint32_t drift_ppm;
  const char* expiry_name; /* as given; and what it is */
  int32_t expiry;          /* s3lect_expiry_t */
  const char* peer_listen;
  const char* peer_cert;
  const char* peer_key;
  const char* peer_ca;
  const char* peer_path;
  uint32_t peer_client_auth;
  uint32_t peer_interval_ms;
  uint32_t peer_timeout_ms;
  uint32_t peer_plain_http;
  uint32_t peer_metrics;
  uint32_t peer_health;
  uint32_t kill_after_ms;
  const char* events_file;
  uint32_t json;
  uint32_t quick;
  uint32_t verify_on_start;
  char* title; /* run: this process's arguments, as they lie in memory */
  size_t title_len;
  char** child_argv; /* run: the command, NULL-terminated */
} cli_options_t;

/** Reads the arguments that follow the command's name. Returns 0 or S3LECT_EOPTION with a line in
 * `message`. With --help it stops there, with `help` set. */
int cli_options_parse(cli_options_t* options, cli_command_t command, int argc, char** argv,
                      char message[CLI_MESSAGE_SIZE]);

#endif
