/* metrics: GET /metrics, in Prometheus's text format, on a port of its own. */
#ifndef TCP_PROXY_METRICS_H
#define TCP_PROXY_METRICS_H

#include <uv.h>

#include "addr.h"

#define METRICS_CONNS_MAX   32   /* more wait in the kernel */
#define METRICS_PATIENCE_MS 5000 /* until a connection is closed, whatever it is doing */

struct proxy_s;

typedef struct metrics_s {
  struct proxy_s* proxy;
  uv_tcp_t tcp;
  bool open, waiting; /* waiting: a connection could not be accepted yet */
  unsigned conns_len;
  struct metrics_conn_s* conns;
  addr_t addr;
} metrics_t;

int metrics_open(metrics_t* metrics, struct proxy_s* proxy, const char* address);
void metrics_close(metrics_t* metrics);

#endif
