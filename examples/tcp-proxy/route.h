/* route: where connections lead now.
 *
 *   ROUTE_NONE    nobody is known to lead: connections are held
 *   ROUTE_LOCAL   this process leads: to the backend beside it
 *   ROUTE_PEER    another one does: to its proxy, at the address in the record
 *
 * A route is open once it may be used. That of another proxy is opened by a question to it (a
 * header that asks, see header.h), which it answers only at its address for proxies, and only while
 * it leads. So whatever the record says, and whatever others have mistaken for their address, no
 * connection is ever sent anywhere but to a leader's proxy or to the backend; and what comes from a
 * proxy goes to the backend or nowhere. Loops cannot come about: no connection passes more than two
 * proxies.
 *
 * A connection that cannot be made closes the route again, and questions are asked, one at a time,
 * until it is found to work. */
#ifndef TCP_PROXY_ROUTE_H
#define TCP_PROXY_ROUTE_H

#include <s3lect.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "dial.h"

#define ROUTE_ADDRS_MAX 4
#define ROUTE_RETRY_MS  100

typedef enum { ROUTE_NONE, ROUTE_LOCAL, ROUTE_PEER } route_kind_t;

typedef struct route_s {
  struct proxy_s* proxy;
  bool silent; /* set by the owner: no connections go by this route, and nothing is printed of it */
  route_kind_t kind;
  bool open;
  uint64_t epoch;
  uint64_t version; /* changes with kind, target and epoch */
  char target[S3LECT_ADDR_SIZE];
  addr_t addrs[ROUTE_ADDRS_MAX]; /* tried in turn */
  unsigned addrs_len, addr;
  struct lookup_s* lookup; /* under way */
  uv_timer_t retry;
  dial_t probe;
  bool probing;
  int told;               /* the error that was printed last */
  unsigned probe_handles; /* whose close callback is due */
} route_t;

int route_init(route_t* route, struct proxy_s* proxy);
void route_close(route_t* route);

/** Changes it; connections that lead elsewhere are told (conns_moved). */
void route_to_backend(route_t* route, uint64_t epoch);
void route_to_peer(route_t* route, const char* addr, uint64_t epoch);
void route_to_nobody(route_t* route);

/** A connection could not be made by this route: closes it until it works again. */
void route_suspect(route_t* route, uint64_t version);
/** Where to connect now. Only of an open route. */
const addr_t* route_addr(const route_t* route);

#endif
