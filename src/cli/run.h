/* cli/run.h (L8): `s3lect run`: run a command only while leader. */
#ifndef S3L_CLI_RUN_H
#define S3L_CLI_RUN_H

#include "options.h"
#include "session.h"

/** The times at the end of a leadership, in ms. */
typedef struct cli_kill_times_s {
  uint32_t margin_ms; /* between the SIGKILL and the end of validity */
  uint32_t grace_ms;  /* between SIGTERM and SIGKILL */
  uint32_t leader_timeout_ms;
} cli_kill_times_t;

/** Derives them. Returns 0, or S3LECT_ETIMING with `error` if --kill-after leaves a
 * leader no time to renew before the command would be stopped. */
int cli_kill_times(const cli_options_t* options, cli_kill_times_t* times, s3lect_error_t* error);

/** The number of --warn-signal, with or without "SIG"; 0 if it is none. */
int cli_run_warn_signal(const cli_options_t* options);

/** Opens the file of --events. Returns 0, with -1 in *fd if there is no such option, or
 * CLI_EXIT_USAGE after a line on stderr. */
int cli_run_open_events(const cli_options_t* options, int* fd);

#endif
