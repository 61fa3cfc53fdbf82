/* peer/client.h: asks leaders whether they lead.
 *
 * Vocabulary
 *   probe    one question to one leader; embedded in its owner
 *   leader   here: one address, with the kept-alive connections to it
 *   waiting  a probe that the server holds until something changes (RFC 7240)
 *
 * Invariants
 *   - a probe ends exactly once, from the loop, never inside its start or its cancel;
 *   - the client passes answers on and does not judge them: it knows of no election;
 *   - each waiting probe occupies a connection, so a leader gets at most S3L_PEER_WAITING_MAX of
 *     them; further probes do not wait;
 *   - the client exists until it is closed and all of its users have released it. A closing client
 *     refuses probes.
 *
 * If a kept connection is lost before a byte of the answer, the probe is sent once more over a new
 * one, so that a closed connection does not make a living leader suspect. The server may hold the
 * second one only for the rest of the time, so both together end when the first would have.
 *
 * A leader without probes is kept, with its idle connections, until the idle time-out has passed
 * and another leader is to be opened. */
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
  const char* path;      /* begins with '/'; the owner's, until done */
  const char* candidacy; /* said with it (peer/message.h); the owner's, until done; NULL: none */
  void (*done)(s3l_peer_probe_t* probe, const s3l_peer_result_t* result);

  /* The client's. */
  s3l_http_req_t http;
  struct s3l_peer_leader_s* leader;
  uint32_t wait_ms; /* 0: the server is to answer at once */
  int64_t asked_ns; /* in lease time */
  bool waited;      /* sent again, when the time to wait was over */
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
int s3l_peer_probe(s3l_peer_client_t* client, s3l_peer_probe_t* probe, const char* addr,
                   uint32_t timeout_ms, uint32_t wait_ms);

/** Ends a probe soon, as failed with UV_ECANCELED. No-op on one that has ended. */
void s3l_peer_probe_cancel(s3l_peer_probe_t* probe);

/** Later probes use these authorities and this certificate, over new connections; probes under way
 * end over the old ones. As in config: the owner's until the next such call. */
void s3l_peer_client_trust(s3l_peer_client_t* client, const s3l_tls_client_options_t* trust);

/** Whether it shows leaders a certificate, if they ask for one. */
bool s3l_peer_client_is_known(const s3l_peer_client_t* client);

/** Adds a user, and releases one. A closing client takes no more users. */
void s3l_peer_client_ref(s3l_peer_client_t* client);
void s3l_peer_client_unref(s3l_peer_client_t* client);

/** Ends all probes; once no user is left frees the client, then calls cb. Call it once only. */
void s3l_peer_client_close(s3l_peer_client_t* client, void (*cb)(void* arg), void* arg);

#endif
