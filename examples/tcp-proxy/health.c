#include "health.h"

#include <stdio.h>

#include "proxy.h"

#define CHECKS          5 /* within options.yield_after_ms */
#define INTERVAL_MAX_MS 1000

static void stand_aside(health_t* health) {
  proxy_t* proxy = health->election->proxy;
  if (election_stand_aside(health->election) != 0)
    return; /* tried again with the next check */
  proxy->aside = true;
  printf("aside: %s was not reached for %u ms\n", proxy->options.backend,
         proxy->options.yield_after_ms);
}

static void stand_again(health_t* health) {
  proxy_t* proxy = health->election->proxy;
  if (election_stand(health->election) != 0)
    return; /* its release is still on its way */
  proxy->aside = false;
  printf("standing: %s is back\n", proxy->options.backend);
}

static void on_check(uv_timer_t* timer) {
  health_t* health = timer->data;
  const proxy_t* proxy = health->election->proxy;
  if (!health->route.open) {
    health->misses++;
    if (!proxy->aside &&
        (uint64_t)health->misses * health->interval_ms >= proxy->options.yield_after_ms)
      stand_aside(health);
    return;
  }
  health->misses = 0;
  if (proxy->aside)
    stand_again(health);
  route_suspect(&health->route, health->route.version); /* asks again */
}

int health_start(health_t* health, election_t* election) {
  proxy_t* proxy = election->proxy;
  uint32_t interval = proxy->options.yield_after_ms / CHECKS;
  if (interval == 0)
    return 0;
  health->election = election;
  health->interval_ms = interval < INTERVAL_MAX_MS ? interval : INTERVAL_MAX_MS;
  health->timer.data = health;
  health->route.silent = true;
  int err = route_init(&health->route, proxy);
  if (err == 0)
    err = uv_timer_init(proxy->loop, &health->timer);
  if (err == 0)
    err = uv_timer_start(&health->timer, on_check, health->interval_ms, health->interval_ms);
  if (err != 0)
    return err;
  health->open = true;
  route_to_backend(&health->route, 0);
  return 0;
}

void health_close(health_t* health) {
  if (!health->open)
    return;
  health->open = false;
  route_close(&health->route);
  uv_close((uv_handle_t*)&health->timer, NULL);
}
