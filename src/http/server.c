/* http/server.c: the server's life, and who may come in; see server.h. Connections are in
 * server_conn.c.
 *
 * What connections have to do waits in `ready`, and is done in on_soon, as much of it in one turn
 * as is fair to the loop's other users. */
#include "http/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "http/server_conn.h"
#include "net/listen.h"
#include "net/tcp.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/versioned.h"

#define NS_PER_MS 1000000
/* A request line, a Host header and a little more. */
#define HEADER_BYTES_MIN 256
#define HEADER_BYTES_MAX (1u << 20)

struct s3l_http_server_s {
  s3l_sconn_pool_t pool; /* first: tests look into it */
  s3l_listener_t listener;
  s3l_deadline_t grace;
  uint32_t grace_ms;
  bool shut;            /* closing, and no longer listening */
  bool listener_closed; /* the listener is closed */
  void (*close_cb)(void* arg);
  void* close_arg;
};

static void wake(s3l_http_server_t* s) {
  s3l_loop_defer(s->pool.loop, &s->pool.work);
}

static s3l_sconn_t* first_of(s3l_list_t* list) {
  return s3l_list_empty(list) ? NULL : S3L_CONTAINER_OF(list->next, s3l_sconn_t, link);
}

/* ---- who may come in ---- */

/* Whether both belong to one client as far as addresses tell: a network of IPv6 clients is one. */
static bool is_same_client(const s3l_address_t* a, const s3l_address_t* b) {
  if (a->sa.sa_family != b->sa.sa_family)
    return false;
  if (a->sa.sa_family != AF_INET6)
    return a->in4.sin_addr.s_addr == b->in4.sin_addr.s_addr;
  size_t n = IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr) ? 16 : 8;
  return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, n) == 0;
}

/* The first of them that comes from the address; NULL: from any. */
static s3l_sconn_t* first_from(s3l_list_t* list, const s3l_address_t* from) {
  for (s3l_list_t* l = list->next; l != list; l = l->next) {
    s3l_sconn_t* conn = S3L_CONTAINER_OF(l, s3l_sconn_t, link);
    if (from == NULL || is_same_client(&conn->from, from))
      return conn;
  }
  return NULL;
}

/* Of two that hang, the one that has done so for longer, if it is long enough. */
static s3l_sconn_t* slower_of(s3l_sconn_t* a, s3l_sconn_t* b) {
  int64_t patience = (int64_t)S3L_HTTP_SERVER_PATIENCE_MS * NS_PER_MS;
  if (a == NULL || (b != NULL && b->since_ns < a->since_ns))
    a = b;
  return a != NULL && s3l_clock_lease_ns() - a->since_ns >= patience ? a : NULL;
}

/* `from`: only at the cost of connections from this address; NULL: of any. */
static bool make_room(s3l_http_server_t* s, const s3l_address_t* from) {
  s3l_sconn_t* victim = first_from(&s->pool.lingering, from);
  if (victim == NULL)
    victim = first_from(&s->pool.idle, from);
  if (victim == NULL)
    victim = slower_of(first_from(&s->pool.pending, from), first_from(&s->pool.stalled, from));
  if (victim == NULL)
    return false;
  s->pool.stats.evicted++;
  s3l_sconn_close(victim);
  return true;
}

static bool has_its_share(s3l_http_server_t* s, const s3l_address_t* from) {
  s3l_list_t* const lists[] = {&s->pool.idle, &s->pool.pending, &s->pool.busy, &s->pool.stalled,
                               &s->pool.lingering};
  uint32_t n = 0;
  if (s->pool.stats.connections < s->pool.options.max_per_address)
    return false;
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
    for (s3l_list_t* l = lists[i]->next; l != lists[i]; l = l->next)
      n += is_same_client(&S3L_CONTAINER_OF(l, s3l_sconn_t, link)->from, from);
  return n >= s->pool.options.max_per_address;
}

static bool admit(s3l_listener_t* l, const s3l_address_t* from) {
  s3l_http_server_t* s = S3L_CONTAINER_OF(l, s3l_http_server_t, listener);
  bool share = has_its_share(s, from);
  if (!share && s->pool.stats.connections < s->pool.options.max_connections)
    return true;
  if (make_room(s, share ? from : NULL))
    return true;
  s->pool.stats.refused++;
  return false;
}

static void on_accept(s3l_listener_t* l, uv_tcp_t* tcp, const s3l_address_t* from) {
  s3l_sconn_open(&S3L_CONTAINER_OF(l, s3l_http_server_t, listener)->pool, tcp, from);
}

/* Whoever waits gets the place of somebody idle when it goes on. */
static void on_pause(s3l_listener_t* l, int error) {
  s3l_http_server_t* s = S3L_CONTAINER_OF(l, s3l_http_server_t, listener);
  (void)error;
  s->pool.stats.pauses++;
  (void)make_room(s, NULL);
}

/* ---- its end ---- */

static void on_left(s3l_task_t* task) {
  s3l_http_server_t* s = S3L_CONTAINER_OF(task, s3l_http_server_t, pool.work);
  void (*cb)(void*) = s->close_cb;
  void* arg = s->close_arg;
  s3l_tls_context_free(s->pool.tls);
  s3l_free(s);
  if (cb != NULL)
    cb(arg);
}

static void on_listener_closed(s3l_listener_t* l) {
  s3l_http_server_t* s = S3L_CONTAINER_OF(l, s3l_http_server_t, listener);
  s->listener_closed = true;
  wake(s);
}

static void close_all(s3l_list_t* list) {
  s3l_sconn_t* conn;
  while ((conn = first_of(list)) != NULL) {
    if (conn->state == S3L_SCONN_OPEN)
      s3l_sconn_gone(conn);
    else
      s3l_sconn_close(conn);
  }
}

static void close_rest(s3l_http_server_t* s) {
  close_all(&s->pool.busy);
  close_all(&s->pool.stalled);
  close_all(&s->pool.lingering);
}

static void on_grace(s3l_deadline_t* d) {
  close_rest(S3L_CONTAINER_OF(d, s3l_http_server_t, grace));
}

static void shut(s3l_http_server_t* s) {
  s->shut = true;
  s3l_listen_close(&s->listener);
  close_all(&s->pool.idle);
  close_all(&s->pool.pending);
  if (s->grace_ms == 0)
    close_rest(s);
  else
    s3l_loop_deadline_set(s->pool.loop, &s->grace, s3l_clock_in_ms(s->grace_ms));
}

/* ---- turns ---- */

static void work(s3l_http_server_t* s) {
  int64_t end = s3l_clock_in_ms(S3L_HTTP_SERVER_TURN_MS);
  s->pool.may_write = S3L_HTTP_SERVER_TURN_MAX;
  for (int i = 0; i < S3L_HTTP_SERVER_TURN_MAX && !s3l_list_empty(&s->pool.ready); i++) {
    s3l_sconn_t* conn = S3L_CONTAINER_OF(s->pool.ready.next, s3l_sconn_t, ready);
    s3l_list_remove(&conn->ready);
    s3l_sconn_work(conn);
    if (s3l_clock_lease_ns() >= end)
      break;
  }
}

static void on_soon(s3l_task_t* task) {
  s3l_http_server_t* s = S3L_CONTAINER_OF(task, s3l_http_server_t, pool.work);
  if (s->pool.closing && !s->shut)
    shut(s);
  work(s);
  if (s->listener_closed && s->pool.sockets == 0) {
    s3l_loop_deadline_clear(s->pool.loop, &s->grace);
    s3l_task_cancel(task);
    s3l_task_init(task, on_left);
    s3l_loop_leave(s->pool.loop, task);
  } else if (!s3l_list_empty(&s->pool.ready)) {
    wake(s);
  }
}

/* ---- what the owner calls ---- */

/* The rest is the application's; above all, a leader needs some to reach its store. */
static uint32_t half_of_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return UINT32_MAX;
  rlim_t half = limit.rlim_cur / 2;
  return half == 0 ? 1 : half > UINT32_MAX ? UINT32_MAX : (uint32_t)half;
}

static int set_options(s3l_http_server_t* s, const s3l_http_server_options_t* options) {
  s3l_http_server_options_t* o = &s->pool.options;
  uint32_t half = half_of_descriptors();
  *o = *options;
  o->listen = NULL;
  o->tls = NULL;
  o->error = NULL;
  o->max_connections = s3l_or_default(o->max_connections, half < S3L_HTTP_SERVER_MAX_CONNECTIONS
                                                              ? half
                                                              : S3L_HTTP_SERVER_MAX_CONNECTIONS);
  uint32_t quarter = o->max_connections / 4;
  o->max_held = s3l_or_default(o->max_held, o->max_connections - (quarter > 0 ? quarter : 1));
  o->max_per_address =
      s3l_or_default(o->max_per_address, o->max_connections - o->max_connections / 8);
  o->max_header_bytes = s3l_or_default(o->max_header_bytes, S3L_HTTP_SERVER_MAX_HEADER_BYTES);
  o->max_body_bytes = s3l_or_default(o->max_body_bytes, S3L_HTTP_SERVER_MAX_BODY_BYTES);
  o->tls_time_ms = s3l_or_default(o->tls_time_ms, S3L_HTTP_SERVER_TLS_TIME_MS);
  o->header_time_ms = s3l_or_default(o->header_time_ms, S3L_HTTP_SERVER_HEADER_TIME_MS);
  o->idle_time_ms = s3l_or_default(o->idle_time_ms, S3L_HTTP_SERVER_IDLE_TIME_MS);
  o->write_time_ms = s3l_or_default(o->write_time_ms, S3L_HTTP_SERVER_WRITE_TIME_MS);
  if (o->max_header_bytes < HEADER_BYTES_MIN || o->max_header_bytes > HEADER_BYTES_MAX)
    return s3l_error_say(options->error, S3LECT_EOPTION, "max_header_bytes", NULL,
                         "%u; it must be from %u to %u", o->max_header_bytes, HEADER_BYTES_MIN,
                         HEADER_BYTES_MAX);
  return 0;
}

static int open_listener(s3l_http_server_t* s, const s3l_http_server_options_t* options) {
  s3l_address_t address;
  const char* reason;
  const char* name = options->listen_option != NULL ? options->listen_option : "listen";
  s3l_span_t text = s3l_span_cstr(options->listen != NULL ? options->listen : "");
  if (!s3l_listen_parse(text, &address, &reason))
    return s3l_error_say(options->error, S3LECT_EOPTION, name, text.p, "%s", reason);
  s->listener.admit = admit;
  s->listener.on_accept = on_accept;
  s->listener.on_pause = on_pause;
  s->listener.on_closed = on_listener_closed;
  int rc = s3l_listen_open(&s->listener, &address);
  return rc == 0 ? 0 : s3l_error_say(options->error, rc, name, text.p, "%s", uv_strerror(rc));
}

static int join(s3l_http_server_t* s, uv_loop_t* loop) {
  int rc = s3l_loop_join(loop, &s->pool.loop);
  if (rc != 0) {
    s3l_listen_drop(&s->listener);
    return rc;
  }
  rc = s3l_listen_start(&s->listener, s->pool.loop);
  if (rc != 0)
    s3l_loop_leave(s->pool.loop, NULL);
  return rc;
}

static void init_lists(s3l_http_server_t* s) {
  s3l_list_init(&s->pool.idle);
  s3l_list_init(&s->pool.pending);
  s3l_list_init(&s->pool.busy);
  s3l_list_init(&s->pool.stalled);
  s3l_list_init(&s->pool.lingering);
  s3l_list_init(&s->pool.ready);
}

int s3l_http_server_create(uv_loop_t* loop, const s3l_http_server_options_t* options,
                           s3l_http_server_t** out) {
  S3L_ASSERT(options->on_request != NULL);
  *out = NULL;
  s3l_http_server_t* s = s3l_calloc(1, sizeof(*s));
  if (s == NULL)
    return UV_ENOMEM;
  init_lists(s);
  s3l_deadline_init(&s->grace, on_grace);
  s->pool.server = s;
  s->pool.may_write = S3L_HTTP_SERVER_TURN_MAX;
  s3l_task_init(&s->pool.work, on_soon);
  int rc = set_options(s, options);
  if (rc == 0)
    rc = open_listener(s, options);
  if (rc == 0)
    rc = join(s, loop);
  if (rc != 0) {
    s3l_free(s);
    return rc;
  }
  s3l_listen_ref(&s->listener, !options->background);
  if (options->tls != NULL)
    s->pool.tls = s3l_tls_context_ref(options->tls);
  *out = s;
  return 0;
}

void* s3l_http_server_data(const s3l_http_server_t* s) {
  return s->pool.options.data;
}

uint16_t s3l_http_server_port(const s3l_http_server_t* s) {
  return s3l_address_port(&s->listener.address);
}

void s3l_http_server_set_tls(s3l_http_server_t* s, s3l_tls_context_t* tls) {
  S3L_ASSERT(s->pool.tls != NULL && tls != NULL);
  (void)s3l_tls_context_ref(tls);
  s3l_tls_context_free(s->pool.tls);
  s->pool.tls = tls;
}

void s3l_http_server_stats(const s3l_http_server_t* s, s3l_http_server_stats_t* out) {
  *out = s->pool.stats;
}

void s3l_http_server_close(s3l_http_server_t* s, uint32_t grace_ms, void (*cb)(void* arg),
                           void* arg) {
  S3L_ASSERT(!s->pool.closing);
  s->pool.closing = true;
  s->grace_ms = grace_ms;
  s->close_cb = cb;
  s->close_arg = arg;
  wake(s);
}
