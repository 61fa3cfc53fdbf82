/* peer/client.h: asks leaders whether they lead.
 *
 * Vocabulary
 *   ask      one question to one leader; embedded in its owner
 *   leader   here: one address, with the kept-alive connections to it
 *   waiting  an ask that is held by the server until something changes (RFC 7240)
 *
 * Invariants
 *   - an ask ends exactly once, from the loop, never inside start or cancel;
 *   - what is answered is told as it came, and judged elsewhere: the client knows of no election;
 *   - waiting asks take a connection each, so a leader gets S3L_PEER_WAITING_MAX of them at most;
 *     asks beyond that are plain ones.
 *
 * Who may ask holds the client, which is not freed before everybody has let it go: what is asked of
 * one that is closing is refused.
 *
 * An ask that is lost with a kept connection, before a byte of its answer, is sent once more, over
 * a fresh one: a living leader is not suspected because a connection was closed meanwhile. The
 * second time it may be held only for what is left of the first, so both together end when one
 * would have; where nobody answers any more, within the time-outs of connecting and of TLS.
 *
 * A leader whose asks have all ended is kept, with its idle connections, until it has not been
 * asked for the idle time-out and another one is to be opened. */
#ifndef S3L_PEER_CLIENT_H
#define S3L_PEER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/core.h"
#include "http/client.h"
#include "net/tls_context.h"
#include "util/list.h"

#define S3L_PEER_WAITING_MAX     48
#define S3L_PEER_CONNECTIONS_MAX 64

typedef struct s3l_peer_client_s s3l_peer_client_t;
typedef struct s3l_peer_probe_s s3l_peer_probe_t;

struct s3l_peer_probe_s {
  void* data;
  const char* path; /* begins with '/'; the owner's, until done */
  void (*done)(s3l_peer_probe_t* ask, const s3l_peer_result_t* result);

  /* The client's. */
  s3l_http_req_t http;
  struct s3l_peer_leader_s* leader;
  uint32_t wait_ms;
  int64_t asked_ns; /* in lease time */
  bool waits;
  bool waited; /* sent again, when the time to wait was over */
};

typedef struct s3l_peer_client_config_s {
  bool tls;
  s3l_tls_client_options_t trust; /* its strings are copied by the TLS contexts */
  uint32_t connect_timeout_ms;
  uint32_t tls_timeout_ms; /* of the handshake, on top of that */
  uint32_t idle_timeout_ms;
} s3l_peer_client_config_t;

/** `config` is copied, what it points to is the owner's until close has ended. Errors: UV_ENOMEM.
 */
int s3l_peer_client_create(uv_loop_t* loop, const s3l_peer_client_config_t* config,
                           s3l_peer_client_t** out);

/** Asks the leader at `addr` (host:port, [v6]:port; without a port that of https or http). The
 * answer must come within `timeout_ms`, and `wait_ms` more if the server may wait. Errors:
 * UV_EINVAL (no such address), UV_ENOMEM, UV_ECANCELED (closing), S3LECT_ETLS. */
int s3l_peer_probe(s3l_peer_client_t* client, s3l_peer_probe_t* ask, const char* addr,
                   uint32_t timeout_ms, uint32_t wait_ms);

/** Ends an ask soon, as failed with UV_ECANCELED. No-op on one that has ended. */
void s3l_peer_probe_cancel(s3l_peer_probe_t* ask);

/** What is asked from now on goes by these authorities and this certificate, over new connections;
 * what is under way ends over the old ones. As in config: the owner's until the next such call. */
void s3l_peer_client_trust(s3l_peer_client_t* client, const s3l_tls_client_options_t* trust);

/** One who may ask more, one less. Not to hold a client that is closing. */
void s3l_peer_client_hold(s3l_peer_client_t* client);
void s3l_peer_client_let(s3l_peer_client_t* client);

/** Ends what is under way; once nobody holds the client any more frees it, then calls cb. Once
 * only. */
void s3l_peer_client_close(s3l_peer_client_t* client, void (*cb)(void* arg), void* arg);

#endif
