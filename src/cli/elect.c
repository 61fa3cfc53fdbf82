#include "elect.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

static void on_signal(cli_session_t* session, int signum) {
  if (signum == SIGHUP)
    return; /* the session has read the certificates again */
  if (session->finishing)
    _exit(128 + signum);
  cli_session_finish(session, 0);
}

int cli_elect(const cli_options_t* options) {
  cli_session_t session;
  memset(&session, 0, sizeof session);
  session.on_signal = on_signal;
  int r = cli_session_open(&session, options, STDOUT_FILENO);
  if (r != 0)
    return r;
  if (cli_session_signal(&session, SIGTERM) != 0 || cli_session_signal(&session, SIGINT) != 0 ||
      (cli_peer_reloads(options) && cli_session_signal(&session, SIGHUP) != 0)) {
    cli_say("cannot start: no signal handlers");
    cli_session_finish(&session, CLI_EXIT_FAILED);
  }
  return cli_session_run(&session);
}
