/* cli/peer.h (L8): peer mode as the command line asks for it: a server at --peer-listen, a client,
 * and the address that others are told.
 *
 * A process that listens also asks; one that does not (watch, or a candidate that cannot be
 * reached) asks if --peer-ca or --peer-plain-http says how. */
#ifndef S3L_CLI_PEER_H
#define S3L_CLI_PEER_H

#include <s3lect.h>
#include <stdbool.h>

#include "options.h"

typedef struct cli_peer_s {
  s3lect_peer_server_t server;
  s3lect_peer_client_t client;
  bool serves;
  bool asks;
  char addr[S3LECT_ADDR_SIZE]; /* "" unless --addr was left to be found out */
} cli_peer_t;

/** Says on stderr what is wrong with the options as they stand, if anything. Returns 0 or
 * CLI_EXIT_USAGE. */
int cli_peer_check(const cli_options_t* options);

/** Opens what is asked for, maybe nothing. Returns 0, or an exit status after a line on stderr,
 * with nothing to clean up but the loop's turns. */
int cli_peer_open(const cli_options_t* options, uv_loop_t* loop, cli_peer_t* peer);

/** Has the server answer for the elector. */
int cli_peer_add(cli_peer_t* peer, s3lect_elector_t* elector);

/** Whether there are certificates to read again: SIGHUP asks for it then. */
bool cli_peer_reloads(const cli_options_t* options);
/** Reads them again, for what is open, and says on stderr what came of it. */
void cli_peer_reload(cli_peer_t* peer);

/** Closes what is open, over the next turns of the loop. The elector must be closed. */
void cli_peer_close(cli_peer_t* peer);

#endif
