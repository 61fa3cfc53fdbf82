/* cli/session.h (L8): what `elect`, `run` and `watch` share: a loop, a store, an elector, signals.
 *
 * Lifecycle: run opens everything, starts the elector and runs the loop until finish has closed
 * everything. finish stops the elector, which releases the lockfile if it is held; it may be called
 * from any callback, and more than once. */
#ifndef S3L_CLI_SESSION_H
#define S3L_CLI_SESSION_H

#include <s3lect.h>
#include <stdbool.h>

#include "events.h"
#include "options.h"
#include "peer.h"

typedef struct cli_session_s cli_session_t;

struct cli_session_s {
  const cli_options_t* options;
  void* data;                             /* the command's */
  int (*on_open)(cli_session_t* session); /* the loop is open; 0, or libuv's code; may be NULL */
  void (*on_event)(cli_session_t* session, const s3lect_event_t* event);
  void (*on_signal)(cli_session_t* session, int signum); /* NULL: leaves; exits at the second one */
  void (*on_leave)(cli_session_t* session, int exit_code); /* NULL: cli_session_finish */
  void (*on_released)(cli_session_t* session);             /* the elector is closed; may be NULL */

  uv_loop_t loop;
  s3lect_store_t store;
  s3lect_elector_t elector;
  cli_peer_t peer;
  uv_signal_t signals[8];
  size_t signals_len;
  cli_writer_t* messages; /* of cli_say */
  cli_events_t events;    /* writer NULL: events are not written */
  bool errors_only;       /* of the events, only errors are written */
  bool events_optional;   /* if they cannot be written, the session goes on */
  int exit_code;
  int signum; /* not 0: the process ends by this signal, not with exit_code */
  bool finishing;
  bool closed;   /* the elector is closed: its functions must not be called any more */
  bool answered; /* the store has answered: a missing bucket is no longer a typing error */
};

/** The elector's options with the library's defaults. Returns what s3lect_elector_options_resolve
 * returns. */
int cli_timing(const cli_options_t* options, s3lect_elector_options_t* timing,
               s3lect_error_t* error);

/** Says on stderr what is wrong with the options, if anything. Returns 0 or CLI_EXIT_USAGE. */
int cli_session_check(const cli_options_t* options);

/** Has on_signal called for a signal, unless this process was started with it ignored. */
int cli_session_signal(cli_session_t* session, int signum);

/** Stops the elector and closes everything; the loop then ends. The first call's exit code counts.
 */
void cli_session_finish(cli_session_t* session, int exit_code);

/** Ends the loop without a release: the record stays until its leader timeout has passed. */
void cli_session_abandon(cli_session_t* session, int exit_code);

/** Opens everything, starts the elector and runs the loop to its end. Events go to events_fd, or
 * nowhere if it is -1. Without on_signal, SIGTERM, SIGINT and SIGHUP are handled: SIGHUP reads the
 * peers' certificates and --value-file again; without any of these it ends the session as SIGTERM
 * does. Returns the exit status. */
int cli_session_run(cli_session_t* session, const cli_options_t* options, int events_fd);

#endif
