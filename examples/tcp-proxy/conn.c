#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "dial.h"
#include "pass.h"
#include "proxy.h"

typedef enum { GREETING, HELD, DIALLING, PASSING, DRAINING, CLOSING } state_t;

typedef struct conn_s {
  proxy_t* proxy;
  struct conn_s *next, **link;
  state_t state;
  bool from_peer, dialled; /* dialled: `dial` has open handles */
  unsigned handles;        /* whose close callback is due */
  end_t client;
  uv_timer_t timer; /* by state: the greeting's limit, the hold's, the drain's, or idleness */
  dial_t dial;
  pass_t pass;
  uint64_t route_version; /* of the route that it goes by */
  uint64_t hold_until;    /* the loop's milliseconds */
  uint64_t moved;         /* pass.moved when last looked at */
  header_t header;        /* of the client's connection */
  size_t head_len;
  uint8_t head[HEADER_MAX];
} conn_t;

static void hold(conn_t* conn);
static void dial(conn_t* conn);

/* --- ending --------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t* handle) {
  conn_t* conn = handle->data;
  if (--conn->handles == 2 && conn->state == HELD && conn->proxy->route.open)
    dial(conn); /* which had to wait for these handles */
  if (conn->handles > 0)
    return;
  *conn->link = conn->next;
  if (conn->next != NULL)
    conn->next->link = conn->link;
  conn->proxy->conns_len--;
  free(conn);
}

static void set_state(conn_t* conn, state_t state) {
  proxy_t* proxy = conn->proxy;
  proxy->held_len -= conn->state == HELD;
  proxy->passing_len -= conn->state == PASSING;
  proxy->draining_len -= conn->state == DRAINING;
  conn->state = state;
  proxy->held_len += state == HELD;
  proxy->passing_len += state == PASSING;
  proxy->draining_len += state == DRAINING;
}

static void drop_dial(conn_t* conn, bool reset) {
  if (conn->dialled)
    dial_close(&conn->dial, reset, on_closed);
  conn->dialled = false;
}

/* A reset, unless all has been said: neither side may take a connection that was cut off for one
 * that has come to its end. */
static void close_conn(conn_t* conn, bool reset, uint64_t* count) {
  if (conn->state == CLOSING)
    return;
  ++*count;
  if (conn->state == PASSING || conn->state == DRAINING)
    pass_stop(&conn->pass);
  set_state(conn, CLOSING);
  drop_dial(conn, reset);
  end_close(&conn->client, reset, on_closed);
  uv_close((uv_handle_t*)&conn->timer, on_closed);
}

/* --- passing -------------------------------------------------------------------------------- */

static void on_drained(uv_timer_t* timer) {
  conn_t* conn = timer->data;
  close_conn(conn, true, &conn->proxy->counters.closed_moved);
}

/* It leads to a leader that no longer is. */
static void leave(conn_t* conn) {
  proxy_t* proxy = conn->proxy;
  if (proxy->options.drain_ms == 0) {
    close_conn(conn, true, &proxy->counters.closed_moved);
    return;
  }
  set_state(conn, DRAINING);
  (void)uv_timer_start(&conn->timer, on_drained, proxy->options.drain_ms, 0);
  pass_drain(&conn->pass);
}

/* One side has ended, and the other one may never: a connection on which nothing moves any more is
 * not kept for ever. Those that are open both ways are, whether they say anything or not. */
static void on_idle_check(uv_timer_t* timer) {
  conn_t* conn = timer->data;
  bool half_closed = conn->pass.up.ended || conn->pass.down.ended || conn->pass.failed;
  if (half_closed && conn->moved == conn->pass.moved)
    close_conn(conn, true, &conn->proxy->counters.closed_idle);
  conn->moved = half_closed ? conn->pass.moved : UINT64_MAX;
}

static void on_passed(pass_t* pass, pass_end_t why) {
  conn_t* conn = (conn_t*)((char*)pass - offsetof(conn_t, pass));
  counters_t* counters = &conn->proxy->counters;
  switch (why) {
  case PASS_FINISHED:
    close_conn(conn, false, &counters->finished);
    break;
  case PASS_FENCED:
    counters->closed_fenced++;
    leave(conn);
    break;
  case PASS_FROM_PEER:
    close_conn(conn, true, &counters->refused_loop);
    break;
  case PASS_BROKEN:
  case PASS_NO_MEMORY:
    close_conn(conn, true, &counters->closed_error);
    break;
  }
}

static bool answer(conn_t* conn, answer_status_t status) {
  uint8_t bytes[ANSWER_SIZE];
  answer_write(&(answer_t){.status = status, .epoch = conn->proxy->route.epoch}, bytes);
  return send(conn->client.fd, bytes, ANSWER_SIZE, MSG_NOSIGNAL) == ANSWER_SIZE;
}

static void start_passing(conn_t* conn) {
  proxy_t* proxy = conn->proxy;
  bool leading = proxy->route.kind == ROUTE_LOCAL;
  size_t head_len = 0;
  uint64_t idle = proxy->options.half_closed_ms;
  if (conn->from_peer && !answer(conn, ANSWER_LEADS)) {
    close_conn(conn, true, &proxy->counters.closed_error);
    return;
  }
  if (leading && proxy->options.proxy_protocol) {
    conn->header.from_peer = conn->header.asks = false;
    conn->header.epoch = proxy->route.epoch;
    head_len = header_write(&conn->header, conn->head);
  }
  set_state(conn, PASSING);
  conn->moved = UINT64_MAX;
  (void)uv_timer_start(&conn->timer, on_idle_check, idle, idle);
  conn->pass.leading = leading;
  conn->pass.epoch = proxy->route.epoch;
  conn->pass.inspect = !conn->from_peer;
  pass_start(&conn->pass, proxy, &conn->client, &conn->dial.end, conn->head, head_len, on_passed);
}

/* --- dialling ------------------------------------------------------------------------------- */

static void refuse(conn_t* conn, answer_status_t status) {
  (void)answer(conn, status);
  close_conn(conn, false, &conn->proxy->counters.refused_peer);
}

static void dial_failed(conn_t* conn, int err) {
  proxy_t* proxy = conn->proxy;
  proxy->counters.dial_failures++;
  drop_dial(conn, true);
  if (dial_is_local_error(err)) {
    close_conn(conn, true, &proxy->counters.refused_limit);
    return;
  }
  if (conn->from_peer)
    refuse(conn, ANSWER_NO_BACKEND);
  else
    hold(conn);
  route_suspect(&proxy->route, conn->route_version);
}

static void on_dialled(dial_t* dial, int err) {
  conn_t* conn = dial->timer.data;
  if (err != 0)
    dial_failed(conn, err);
  else
    start_passing(conn); /* the route is the one it was, or conns_moved had been here */
}

static void dial(conn_t* conn) {
  proxy_t* proxy = conn->proxy;
  bool to_peer = proxy->route.kind == ROUTE_PEER;
  /* An earlier dial's handles are still closing: on_closed comes back here. Or leadership is over,
   * and the route is about to hear of it. */
  if (conn->handles > 2 || (!to_peer && !proxy_leads(proxy, proxy->route.epoch))) {
    hold(conn);
    return;
  }
  set_state(conn, DIALLING);
  conn->route_version = proxy->route.version;
  conn->header.asks = false;
  conn->header.from_peer = true;
  conn->header.epoch = proxy->route.epoch;
  (void)uv_timer_stop(&conn->timer);
  end_watch(&conn->client, 0, conn->client.cb);
  int err =
      dial_start(&conn->dial, proxy->loop, conn, route_addr(&proxy->route),
                 proxy->options.connect_timeout_ms, to_peer ? &conn->header : NULL, on_dialled);
  conn->dialled = err == 0;
  conn->handles += err == 0 ? 2 : 0;
  if (err != 0)
    dial_failed(conn, err);
}

/* --- holding -------------------------------------------------------------------------------- */

static void on_hold_over(uv_timer_t* timer) {
  conn_t* conn = timer->data;
  close_conn(conn, true, &conn->proxy->counters.refused_hold);
}

/* Whether it is still there is all that a held client is asked. One that has said something and
 * ended its side waits for an answer; one that has ended without a word has gone. */
static void on_held_event(end_t* end, int error, int events) {
  conn_t* conn = end->owner;
  char byte;
  ssize_t n = error ? -1 : recv(end->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  (void)events;
  if (n > 0 || (n < 0 && !error && (errno == EAGAIN || errno == EINTR)))
    end_watch(end, 0, on_held_event);
  else
    close_conn(conn, true, &conn->proxy->counters.closed_error);
}

static void hold(conn_t* conn) {
  proxy_t* proxy = conn->proxy;
  uint64_t now = uv_now(proxy->loop);
  if (proxy->ending || now >= conn->hold_until) {
    close_conn(conn, true, &proxy->counters.refused_hold);
    return;
  }
  set_state(conn, HELD);
  end_watch(&conn->client, UV_DISCONNECT, on_held_event);
  (void)uv_timer_start(&conn->timer, on_hold_over, conn->hold_until - now, 0);
}

/* --- another proxy's greeting --------------------------------------------------------------- */

static void greeted(conn_t* conn) {
  proxy_t* proxy = conn->proxy;
  if (!header_read(conn->head, conn->head_len, &conn->header) || !conn->header.from_peer) {
    close_conn(conn, true, &proxy->counters.refused_header);
  } else if (proxy->route.kind != ROUTE_LOCAL || !proxy_leads(proxy, proxy->route.epoch)) {
    refuse(conn, ANSWER_NOT_LEADER);
  } else if (!proxy->route.open) {
    refuse(conn, ANSWER_NO_BACKEND);
  } else if (conn->header.asks) {
    (void)answer(conn, ANSWER_LEADS);
    close_conn(conn, false, &proxy->counters.finished);
  } else {
    dial(conn);
  }
}

/* The header, and not a byte more: what follows belongs to the client. */
static void on_greeting(end_t* end, int error, int events) {
  conn_t* conn = end->owner;
  size_t want = HEADER_PREFIX_SIZE;
  (void)events;
  if (conn->head_len >= HEADER_PREFIX_SIZE)
    want = header_length(conn->head);
  ssize_t n = error ? 0 : recv(end->fd, conn->head + conn->head_len, want - conn->head_len, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  conn->head_len += n > 0 ? (size_t)n : 0;
  want = conn->head_len >= HEADER_PREFIX_SIZE ? header_length(conn->head) : want;
  if (n <= 0 || want == 0)
    close_conn(conn, true, &conn->proxy->counters.refused_header);
  else if (conn->head_len == want)
    greeted(conn);
}

static void on_greeting_over(uv_timer_t* timer) {
  conn_t* conn = timer->data;
  close_conn(conn, true, &conn->proxy->counters.refused_header);
}

/* --- all of them ---------------------------------------------------------------------------- */

void conn_accept(proxy_t* proxy, int fd, bool from_peer) {
  conn_t* conn = proxy->conns_len < proxy->options.max_connections ? calloc(1, sizeof *conn) : NULL;
  if (conn == NULL || end_open(&conn->client, proxy->loop, fd, conn) != 0) {
    if (conn == NULL)
      end_reset_fd(fd);
    free(conn);
    proxy->counters.refused_limit++;
    return;
  }
  end_remote(fd, &conn->header.source);
  end_tune(&conn->client, &conn->header.source);
  end_local(fd, &conn->header.destination);
  conn->proxy = proxy;
  conn->from_peer = from_peer;
  conn->handles = 2;
  conn->timer.data = conn;
  (void)uv_timer_init(proxy->loop, &conn->timer); /* asks the system for nothing */
  conn->hold_until = uv_now(proxy->loop) + proxy->options.hold_ms;
  conn->link = &proxy->conns;
  conn->next = proxy->conns;
  if (conn->next != NULL)
    conn->next->link = &conn->next;
  proxy->conns = conn;
  proxy->conns_len++;
  if (from_peer) {
    (void)uv_timer_start(&conn->timer, on_greeting_over, proxy->options.connect_timeout_ms, 0);
    end_watch(&conn->client, UV_READABLE, on_greeting);
    proxy->counters.accepted_peers++;
    return;
  }
  proxy->counters.accepted_clients++;
  if (proxy->route.open)
    dial(conn);
  else
    hold(conn);
}

void conns_wake(proxy_t* proxy) {
  for (conn_t* conn = proxy->conns; conn != NULL && proxy->route.open; conn = conn->next)
    if (conn->state == HELD)
      dial(conn);
}

void conns_moved(proxy_t* proxy) {
  for (conn_t* conn = proxy->conns; conn != NULL; conn = conn->next) {
    if (conn->state == PASSING) {
      leave(conn);
    } else if (conn->state == DIALLING) {
      drop_dial(conn, true);
      if (conn->from_peer)
        refuse(conn, ANSWER_NOT_LEADER);
      else
        hold(conn);
    }
  }
}

void conns_end_held(proxy_t* proxy) {
  for (conn_t* conn = proxy->conns; conn != NULL; conn = conn->next)
    if (conn->state == HELD || conn->state == GREETING)
      close_conn(conn, true, &proxy->counters.refused_hold);
}

void conns_reset(proxy_t* proxy) {
  for (conn_t* conn = proxy->conns; conn != NULL; conn = conn->next)
    close_conn(conn, true, &proxy->counters.closed_moved);
}
