#include "elect.h"

#include <string.h>
#include <unistd.h>

#include "session.h"

int cli_elect(const cli_options_t* options) {
  cli_session_t session;
  memset(&session, 0, sizeof session);
  int r = cli_session_open(&session, options, STDOUT_FILENO);
  if (r != 0)
    return r;
  cli_session_listen(&session);
  return cli_session_run(&session);
}
