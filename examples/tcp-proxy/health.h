/* health: asks again and again whether the backend can be reached, and takes the proxy out of the
 * election while it cannot.
 *
 * Whether a backend is there is tried as for connections (route.h): a TCP connection, closed at
 * once. After options.yield_after_ms without one the proxy stands aside: it gives up leadership,
 * and follows the election without standing in it, so that its clients reach the leader by it. As
 * soon as the backend is back it stands again. */
#ifndef TCP_PROXY_HEALTH_H
#define TCP_PROXY_HEALTH_H

#include <stdbool.h>
#include <uv.h>

#include "election.h"
#include "route.h"

typedef struct health_s {
  election_t* election;
  route_t route; /* to the backend; no connection goes by it */
  uv_timer_t timer;
  uint32_t interval_ms;
  uint32_t misses; /* since the backend was last reached; counted, so that a pause of this process
                      is one of them, however long it was */
  bool open;
} health_t;

/** Begins, if options.yield_after_ms is not 0. */
int health_start(health_t* health, election_t* election);
void health_close(health_t* health);

#endif
