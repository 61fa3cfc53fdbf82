/* Peer servers on loopback, in two arrangements.
 *
 *   peered  a candidate of an election (lib/election.h) in peer mode, with a peer server and a peer
 *           client of its own
 *   house   one peer server with electors of several elections, on a store in memory, each the only
 *           candidate of its own; and raw clients that ask it */
#ifndef S3L_TEST_PEER_RIG_H
#define S3L_TEST_PEER_RIG_H

#include <stdbool.h>

#include "lib/caller.h"
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

/* ---- House ---- */

#define S3L_HOUSE_MAX 2

typedef struct s3l_house_s {
  uv_loop_t loop;
  s3lect_store_t store;
  s3lect_peer_server_t server;
  s3lect_peer_server_options_t options; /* may be changed between _init and _open */
  s3lect_elector_t e[S3L_HOUSE_MAX];
  s3lect_elector_options_t o[S3L_HOUSE_MAX]; /* IDs "a", "b"; may be changed before _stand */
  bool is_open[S3L_HOUSE_MAX];
  bool serves;
  unsigned started[S3L_HOUSE_MAX], stopped[S3L_HOUSE_MAX], closed[S3L_HOUSE_MAX];
  unsigned server_closed;
} s3l_house_t;

/** Prepares a house that serves plain HTTP, or with certs TLS to clients with certificates. */
void s3l_house_init(s3l_house_t* h, const s3l_certs_t* certs);

/** Opens the server, without electors. */
void s3l_house_open(s3l_house_t* h);

/** Starts elector i, without adding it to the server. */
void s3l_house_stand(s3l_house_t* h, int i);
/** Likewise, in an election that has just been released, and waits until it leads. */
void s3l_house_lead(s3l_house_t* h, int i);

/** Opens the server, at which elector 0 leads. */
void s3l_house_open_leading(s3l_house_t* h);

void s3l_house_close_elector(s3l_house_t* h, int i); /* and waits */
void s3l_house_close_server(s3l_house_t* h);         /* does not wait */

/** A raw client, not yet connected. `tls` NULL: plain. */
s3l_caller_t* s3l_house_caller(s3l_house_t* h, s3l_tls_context_t* tls);

/** What a new connection gets for one request; `until` is in it. Static memory. */
const char* s3l_house_ask(s3l_house_t* h, s3l_tls_context_t* tls, const char* request,
                          const char* until);

/** The same at pages_listen. */
const char* s3l_house_ask_pages(s3l_house_t* h, const char* request, const char* until);

/** Closes what is open, runs the loop to its end. */
void s3l_house_end(s3l_house_t* h);

#endif
