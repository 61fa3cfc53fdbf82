/* listener: accepts connections. */
#ifndef TCP_PROXY_LISTENER_H
#define TCP_PROXY_LISTENER_H

#include <stdbool.h>
#include <uv.h>

#include "end.h"

struct proxy_s;

typedef struct listener_s {
  struct proxy_s* proxy;
  bool for_peers, open;
  end_t end;
  uv_timer_t pause; /* while the system has no sockets left */
  addr_t addr;      /* that is listened on, with its port */
} listener_t;

/** Listens on an address literal. */
int listener_open(listener_t* listener, struct proxy_s* proxy, const char* address, bool for_peers);
void listener_close(listener_t* listener);

#endif
