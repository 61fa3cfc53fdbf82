#include "chaos/relay.h"

#include <string.h>

/* One of the two connections of a pair. What it has received waits in `bytes` for the other. */
typedef struct side_s {
  s3l_test_conn_t tcp; /* first */
  struct side_s* other;
  bool target; /* else the client */
  bool ended;  /* sends no more */
  unsigned ticked;
  size_t passed, waiting;
  char bytes[sizeof(((s3l_test_server_t*)NULL)->buf)];
} side_t;

static side_t* side_of(s3l_test_conn_t* tcp) {
  return (side_t*)(void*)tcp;
}

static chaos_relay_t* relay_of(const side_t* side) {
  return side->tcp.server->data;
}

static const chaos_way_t* way_of(const side_t* from) {
  return &relay_of(from)->ways[from->target ? CHAOS_DOWN : CHAOS_UP];
}

static void drop(side_t* side, bool reset) {
  if (side->other != NULL) {
    side->other->other = NULL;
    s3l_test_conn_cut(&side->other->tcp, reset);
  }
  side->other = NULL;
  s3l_test_conn_cut(&side->tcp, reset);
}

/* Reads on when nothing waits any more. */
static void read_on(side_t* from) {
  if (from->waiting == 0 && !from->ended && from->other->tcp.unsent == 0)
    s3l_test_conn_pause(&from->tcp, false);
}

/* Passes up to `most` of the waiting bytes on. */
static void pass(side_t* from, size_t most) {
  const chaos_way_t* way = way_of(from);
  size_t n = from->waiting < most ? from->waiting : most;
  if (from->other == NULL || !from->other->tcp.ready)
    return;
  bool cuts = way->cut_after > 0 && from->passed + n >= way->cut_after;
  if (cuts)
    n = way->cut_after > from->passed ? way->cut_after - from->passed : 0;
  s3l_test_conn_send(&from->other->tcp, from->bytes, n);
  from->passed += n;
  from->waiting -= n;
  memmove(from->bytes, from->bytes + n, from->waiting);
  if (cuts)
    drop(from, way->cut_after % 2 != 0);
  else
    read_on(from);
}

static void pass_if_prompt(side_t* from) {
  if (!way_of(from)->held && !way_of(from)->slow)
    pass(from, sizeof from->bytes);
}

static void on_data(s3l_test_conn_t* tcp, const char* p, size_t n) {
  side_t* side = side_of(tcp);
  if (side->other == NULL || n > sizeof side->bytes - side->waiting) {
    drop(side, true);
    return;
  }
  memcpy(side->bytes + side->waiting, p, n);
  side->waiting += n;
  s3l_test_conn_pause(tcp, true);
  pass_if_prompt(side);
}

static void on_sent(s3l_test_conn_t* tcp) {
  side_t* from = side_of(tcp)->other;
  if (from != NULL && from->ended && side_of(tcp)->ended)
    drop(from, false);
  else if (from != NULL)
    read_on(from);
}

static void on_ready(s3l_test_conn_t* tcp) {
  side_t* side = side_of(tcp);
  chaos_relay_t* relay = relay_of(side);
  if (side->target) {
    if (side->other != NULL)
      pass_if_prompt(side->other);
    return;
  }
  side_t* target =
      side_of(s3l_test_server_dial(&relay->tcp, (const struct sockaddr*)(void*)&relay->to));
  target->target = true;
  target->other = side;
  side->other = target;
}

static void on_end(s3l_test_conn_t* tcp, int status) {
  side_t* side = side_of(tcp);
  side->ended = true;
  if (status != UV_EOF || side->other == NULL || !side->other->tcp.ready)
    drop(side, true);
  else if (!side->other->ended)
    s3l_test_conn_shutdown(&side->other->tcp);
  else if (side->other->tcp.unsent == 0)
    drop(side, false);
}

/* The next connection that has not had its turn in this tick. A turn may remove connections. */
static side_t* next_side(chaos_relay_t* relay) {
  for (s3l_list_t* l = relay->tcp.conns.next; l != &relay->tcp.conns; l = l->next) {
    side_t* side = side_of(S3L_CONTAINER_OF(l, s3l_test_conn_t, link));
    if (side->ticked != relay->ticks)
      return side;
  }
  return NULL;
}

static void pass_all(chaos_relay_t* relay) {
  relay->ticks++;
  for (side_t* side; (side = next_side(relay)) != NULL;) {
    const chaos_way_t* way = way_of(side);
    side->ticked = relay->ticks;
    if (!way->held && side->waiting > 0)
      pass(side, way->slow && way->step > 0 ? way->step : sizeof side->bytes);
  }
}

static void on_tick(uv_timer_t* timer) {
  pass_all(timer->data);
}

void chaos_relay_open(chaos_relay_t* relay, uv_loop_t* loop, uint16_t target) {
  struct sockaddr_storage own = {0};
  memset(relay, 0, sizeof *relay);
  (void)uv_ip4_addr("127.0.0.1", target, (struct sockaddr_in*)(void*)&relay->to);
  (void)uv_ip4_addr("127.0.0.1", 0, (struct sockaddr_in*)(void*)&own);
  s3l_test_server_init(&relay->tcp, loop, sizeof(side_t));
  relay->tcp.data = relay->tick.data = relay;
  relay->tcp.on_ready = on_ready;
  relay->tcp.on_data = on_data;
  relay->tcp.on_sent = on_sent;
  relay->tcp.on_end = on_end;
  if (uv_timer_init(loop, &relay->tick) != 0 || s3l_test_server_listen(&relay->tcp, &own) != 0)
    abort();
  relay->tick.data = relay;
  relay->port = relay->tcp.port;
}

void chaos_relay_misbehave(chaos_relay_t* relay, const chaos_way_t ways[2], unsigned tick_ms) {
  memcpy(relay->ways, ways, sizeof relay->ways);
  if (uv_timer_start(&relay->tick, on_tick, tick_ms, tick_ms) != 0)
    abort();
}

void chaos_relay_heal(chaos_relay_t* relay, bool reset) {
  memset(relay->ways, 0, sizeof relay->ways);
  uv_timer_stop(&relay->tick);
  if (!reset) {
    pass_all(relay);
    return;
  }
  while (!s3l_list_empty(&relay->tcp.conns))
    drop(side_of(S3L_CONTAINER_OF(relay->tcp.conns.next, s3l_test_conn_t, link)), true);
}

void chaos_relay_close(chaos_relay_t* relay) {
  s3l_test_server_close(&relay->tcp, true);
  uv_close((uv_handle_t*)&relay->tick, NULL);
}
