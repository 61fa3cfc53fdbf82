#include "route.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "proxy.h"

typedef struct lookup_s {
  uv_getaddrinfo_t req;
  route_t* route; /* NULL: not wanted any more */
} lookup_t;

static void look_up(route_t* route);
static void probe(route_t* route);

/* --- opening -------------------------------------------------------------------------------- */

static void open_route(route_t* route) {
  if (route->open)
    return;
  route->open = true;
  if (route->silent)
    return;
  printf("open: %s, epoch %" PRIu64 "\n", route->target, route->epoch);
  conns_wake(route->proxy);
}

static void on_retry(uv_timer_t* timer) {
  look_up(timer->data); /* the name may mean another address by now */
}

/* The next address, at once; after the last one, after a while, and from the beginning. */
static void try_next(route_t* route) {
  if (++route->addr < route->addrs_len)
    probe(route);
  else
    (void)uv_timer_start(&route->retry, on_retry, ROUTE_RETRY_MS, 0);
}

static void on_probe_closed(uv_handle_t* handle) {
  route_t* route = handle->data;
  if (--route->probe_handles > 0 || route->kind == ROUTE_NONE || route->open)
    return;
  if (route->addr < route->addrs_len && !uv_is_active((uv_handle_t*)&route->retry))
    probe(route); /* the route has changed meanwhile, or has another address to try */
}

static void close_probe(route_t* route, bool reset) {
  if (!route->probing)
    return;
  route->probing = false;
  dial_close(&route->probe, reset, on_probe_closed);
}

static const char* why(int err) {
  if (err == UV_EAGAIN)
    return "a proxy is there, and does not lead, or does not reach its backend";
  if (err == UV_EPROTO)
    return "what is there is not where a proxy listens for others: check its --advertise";
  return uv_strerror(err);
}

static void on_probed(dial_t* dial, int err) {
  route_t* route = dial->timer.data;
  close_probe(route, err != 0);
  if (err != 0 && err != route->told && !route->silent)
    fprintf(stderr, "%s, epoch %" PRIu64 ": %s\n", route->target, route->epoch, why(err));
  route->told = err;
  if (err == 0)
    open_route(route);
  else if (++route->addr == route->addrs_len)
    (void)uv_timer_start(&route->retry, on_retry, ROUTE_RETRY_MS, 0);
}

/* One at a time: if the last one's handles are still closing, on_probe_closed comes back here. */
static void probe(route_t* route) {
  proxy_t* proxy = route->proxy;
  header_t header = {.asks = true, .from_peer = true, .epoch = route->epoch};
  if (route->probe_handles > 0)
    return;
  int err = dial_start(&route->probe, proxy->loop, route, route_addr(route),
                       proxy->options.connect_timeout_ms,
                       route->kind == ROUTE_PEER ? &header : NULL, on_probed);
  if (err != 0) {
    try_next(route);
    return;
  }
  route->probing = true;
  route->probe_handles = 2;
}

/* --- looking up ----------------------------------------------------------------------------- */

static void looked_up(route_t* route) {
  route->addr = 0;
  if (route->addrs_len == 0)
    (void)uv_timer_start(&route->retry, on_retry, ROUTE_RETRY_MS, 0);
  else
    probe(route);
}

static void on_lookup(uv_getaddrinfo_t* req, int status, struct addrinfo* list) {
  lookup_t* lookup = (lookup_t*)req;
  route_t* route = lookup->route;
  free(lookup);
  if (route != NULL) {
    route->lookup = NULL;
    for (const struct addrinfo* i = status == 0 ? list : NULL;
         i != NULL && route->addrs_len < ROUTE_ADDRS_MAX; i = i->ai_next) {
      addr_t* addr = &route->addrs[route->addrs_len++];
      memset(addr, 0, sizeof *addr);
      memcpy(&addr->sa, i->ai_addr, i->ai_addrlen);
      addr->len = i->ai_addrlen;
    }
    if (status != 0 && !route->silent)
      fprintf(stderr, "%s: %s\n", route->target, uv_strerror(status));
    looked_up(route);
  }
  uv_freeaddrinfo(list);
}

static void look_up(route_t* route) {
  static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  host_port_t parts;
  route->addrs_len = 0;
  if (addr_parse(route->target, &route->addrs[0])) {
    route->addrs_len = 1;
    looked_up(route);
    return;
  }
  if (!addr_split(route->target, &parts)) {
    fprintf(stderr, "the leader's address, \"%s\", is no HOST:PORT: it must be that of its proxy\n",
            route->target);
    return; /* until there is another leader */
  }
  lookup_t* lookup = calloc(1, sizeof *lookup);
  if (lookup != NULL)
    lookup->route = route;
  if (lookup == NULL || uv_getaddrinfo(route->proxy->loop, &lookup->req, on_lookup, parts.host,
                                       parts.port, &hints) != 0) {
    free(lookup);
    looked_up(route); /* with nothing: later */
    return;
  }
  route->lookup = lookup;
}

/* --- changing ------------------------------------------------------------------------------- */

static void stop_opening(route_t* route) {
  route->open = false;
  (void)uv_timer_stop(&route->retry);
  close_probe(route, true);
  if (route->lookup != NULL)
    route->lookup->route = NULL; /* it frees itself */
  route->lookup = NULL;
  route->addr = route->addrs_len = 0;
}

static void change(route_t* route, route_kind_t kind, const char* target, uint64_t epoch) {
  if (route->kind == kind && route->epoch == epoch && strcmp(route->target, target) == 0)
    return;
  stop_opening(route);
  route->kind = kind;
  route->epoch = epoch;
  route->version++;
  route->told = 0;
  snprintf(route->target, sizeof route->target, "%s", target);
  if (!route->silent)
    conns_moved(route->proxy);
  if (kind != ROUTE_NONE)
    look_up(route);
}

void route_to_backend(route_t* route, uint64_t epoch) {
  change(route, ROUTE_LOCAL, route->proxy->options.backend, epoch);
}

void route_to_peer(route_t* route, const char* addr, uint64_t epoch) {
  change(route, ROUTE_PEER, addr, epoch);
}

void route_to_nobody(route_t* route) {
  change(route, ROUTE_NONE, "", 0);
}

void route_suspect(route_t* route, uint64_t version) {
  if (!route->open || route->version != version)
    return;
  if (!route->silent)
    printf("closed: %s, epoch %" PRIu64 "\n", route->target, route->epoch);
  stop_opening(route);
  (void)uv_timer_start(&route->retry, on_retry, ROUTE_RETRY_MS, 0);
}

const addr_t* route_addr(const route_t* route) {
  return &route->addrs[route->addr];
}

int route_init(route_t* route, struct proxy_s* proxy) {
  route->proxy = proxy;
  route->retry.data = route;
  return uv_timer_init(proxy->loop, &route->retry);
}

void route_close(route_t* route) {
  stop_opening(route);
  route->kind = ROUTE_NONE;
  uv_close((uv_handle_t*)&route->retry, NULL);
}
