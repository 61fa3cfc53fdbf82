/* cli/peer.h (L8): peer mode: a server at --peer-listen, a client, and the address that the record
 * gives to others; and the pages of --http, which the same server has.
 *
 * A process with --peer-listen is also a client. Without it (watch, or a candidate that cannot be
 * reached) a process is a client if --peer-ca or --peer-plain-http is given. */
#ifndef S3L_CLI_PEER_H
#define S3L_CLI_PEER_H

#include <s3lect.h>
#include <stdbool.h>

#include "certs.h"
#include "options.h"

typedef struct cli_peer_s {
  s3lect_peer_server_t server;
  s3lect_peer_client_t client;
  bool serves;
  bool answers; /* serves other processes, not only pages */
  bool asks;
  cli_certs_t certs;           /* of --peer-reload */
  char addr[S3LECT_ADDR_SIZE]; /* derived from --peer-listen if --addr is not given; else "" */
} cli_peer_t;

/** Whether the options make the process ask peers. */
bool cli_peer_asks(const cli_options_t* options);

/** Says on stderr which option is missing, if any. Returns 0 or CLI_EXIT_USAGE. */
int cli_peer_check(const cli_options_t* options);

/** Opens the server and the client that the options ask for. Returns 0, or an exit status after a
 * line on stderr, and the loop must then run once more. */
int cli_peer_open(const cli_options_t* options, uv_loop_t* loop, cli_peer_t* peer);

/** Has the server answer for the elector. */
int cli_peer_add(cli_peer_t* peer, s3lect_elector_t* elector);

/** Whether there are certificates, which SIGHUP and --peer-reload read again. */
bool cli_peer_reloads(const cli_options_t* options);
/** Reads them again and reports the result on stderr. */
void cli_peer_reload(cli_peer_t* peer);

/** Closes what is open, which takes a few turns of the loop. The elector must be closed. */
void cli_peer_close(cli_peer_t* peer);

#endif
