/* proxy: what all parts of the program share, on one loop.
 *
 *   listener ---> conn ---> dial ---> pass        one client's connection, from end to end
 *                  |         |
 *   election ---> route -----+                    where connections lead now */
#ifndef TCP_PROXY_PROXY_H
#define TCP_PROXY_PROXY_H

#include <s3lect.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "buffer.h"
#include "options.h"
#include "route.h"
#include "tube.h"

struct conn_s;

/* Served on /metrics; the names are in metrics.c. */
typedef struct counters_s {
  uint64_t accepted_clients, accepted_peers;
  uint64_t refused_hold;   /* no leader was reached in time */
  uint64_t refused_limit;  /* too many connections, or no sockets left */
  uint64_t refused_peer;   /* another proxy's, while this one does not lead */
  uint64_t refused_loop;   /* another proxy's, at the clients' address */
  uint64_t refused_header; /* at the proxies' address, and not from a proxy */
  uint64_t closed_moved;   /* led to a leader that no longer is */
  uint64_t closed_fenced;  /* of those, found out right before a write to the backend */
  uint64_t closed_error;   /* one of the two sides broke it off */
  uint64_t closed_idle;    /* half closed, and nothing moved any more */
  uint64_t finished;       /* both sides have ended it */
  uint64_t dial_failures;
  uint64_t bytes_up, bytes_down; /* from clients to backends, and back */
  uint64_t leaderships;
} counters_t;

typedef struct proxy_s {
  options_t options;
  uv_loop_t* loop;
  s3lect_elector_t* elector;
  bool elector_open;
  bool ending;
  bool aside; /* out of the election, since the backend is not reached (health.h) */
  route_t route;
  buffers_t buffers;
  tubes_t tubes;
  struct conn_s* conns;
  uint32_t conns_len, held_len, passing_len, draining_len;
  counters_t counters;
} proxy_t;

/** The question before every byte that goes to the backend: does this process lead, at this instant
 * and in this epoch? A comparison with the clock, so the answer is right even if nothing has run in
 * this process for a while, and no callback has told of the end yet.
 *
 * What it cannot do: a process may be paused between this question and the write that follows it,
 * and bytes that were written before may wait in the kernel's buffers, or on the way, or in those
 * of the backend, while another one is elected. No proxy can call them back. Where that matters the
 * backend must refuse them itself, by the epoch: in the header of --proxy-protocol, or carried by
 * the clients in what they write, as README.md shows. */
static inline bool proxy_leads(const proxy_t* proxy, uint64_t epoch) {
  return proxy->elector_open && s3lect_elector_epoch(proxy->elector) == epoch &&
         s3lect_elector_is_leader(proxy->elector);
}

#endif
