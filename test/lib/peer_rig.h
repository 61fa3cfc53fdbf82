/* Candidates of an election (lib/election.h) in peer mode: each with a peer server and a peer
 * client of its own, on loopback. */
#ifndef S3L_TEST_PEER_RIG_H
#define S3L_TEST_PEER_RIG_H

#include <stdbool.h>

#include "lib/certs.h"
#include "lib/election.h"
#include "s3lect/peer.h"

typedef struct s3l_peered_s {
  s3l_candidate_t c;
  s3lect_peer_server_t server;
  s3lect_peer_client_t client;
  s3lect_peer_server_options_t server_options; /* may be changed between _init and _start */
  s3lect_peer_client_options_t client_options;
  char addr[64];
  bool open;
} s3l_peered_t;

/** Prepares a candidate with TLS and client certificates, or with certs NULL over plain HTTP. */
void s3l_peered_init(s3l_election_t* el, s3l_peered_t* p, const char* id, const s3l_certs_t* certs);

/** Opens server and client, and starts the elector. */
void s3l_peered_start(s3l_peered_t* p);

/** Closes the elector if it is open, then server and client. */
void s3l_peered_close(s3l_peered_t* p);

#endif
