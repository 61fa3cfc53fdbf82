/* http/client.c: requests, their queue and the pool; see client.h. Connections are in conn.c.
 *
 * submit, cancel and close only move requests between lists and start `soon`; everything that calls
 * out (compose, done, the close callback) runs from the loop, in on_soon or in a connection's
 * events. After a call-out nothing is assumed about the request, and lists are read afresh. The
 * client itself cannot go away during a call-out, since it is freed by a task of its own. */
#include "http/client.h"

#include <stdio.h>
#include <string.h>

#include "http/conn.h"
#include "http/queue.h"
#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/mutant.h"

#define NS_PER_MS        1000000
#define RISK_NS          (100 * INT64_C(1000000)) /* a shorter wait endangers no lease */
#define HOLD_MS          30  /* for servers to read what was sent but for the last bytes */
#define HOLD_MAX_MS      250 /* for connections that are still being opened */
#define CROWDED_AGAIN_MS 3600000

/* Of a request. 0 is also what a request has that was never submitted. */
enum { OVER = 0, QUEUED, ACTIVE, ENDING };

struct s3l_http_client_s {
  s3l_conn_pool_t pool; /* first: tests look into it */
  s3l_task_t soon;      /* does what must not be done inside a call; at last, the end */

  s3l_http_queue_t queue;
  s3l_list_t ending; /* requests whose done is owed */

  s3l_deadline_t release; /* when the last bytes that connections keep back go out */
  bool releasing;         /* it is set for good: no other connection is waited for */
  s3l_deadline_t growth;  /* when waiting alone makes the queue worth another connection */

  bool closing;
  bool shut;             /* closing, and all requests are over */
  int64_t crowded_at_ns; /* when a reply may say again that renewals wait for long */
  void (*close_cb)(void* arg);
  void* close_arg;
};

static s3l_http_client_t* client_of(s3l_conn_pool_t* pool) {
  return S3L_CONTAINER_OF(pool, s3l_http_client_t, pool);
}

static void wake(s3l_http_client_t* c) {
  s3l_loop_defer(c->pool.loop, &c->soon);
}

/* ---- the end of a request ---- */

static unsigned to_ms(int64_t ns) {
  return ns > 0 ? (unsigned)((ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* Whether a renewal that waited for so long used half of the time that it had until it was due,
 * although all connections are open; and nobody was told for a while. */
static bool is_at_risk(const s3l_http_client_t* c, const s3l_http_req_t* req, int64_t waited_ns) {
  return req->due_ns > req->since_ns && req->since_ns + 2 * waited_ns > req->due_ns &&
         waited_ns > c->pool.round_trip_ns + RISK_NS &&
         c->pool.conns_len >= c->pool.options.max_connections && req->since_ns >= c->crowded_at_ns;
}

static void say_crowded(s3l_http_client_t* c, int64_t waited_ns) {
  unsigned reply_ms = to_ms(c->pool.round_trip_ns);
  c->crowded_at_ns = s3l_clock_in_ms(CROWDED_AGAIN_MS);
  s3l_conn_say(&c->pool,
               "a renewal waited %u ms for one of %u connections, and a reply takes %u ms: set "
               "max_connections above electors x %u ms / renewal interval",
               to_ms(waited_ns), (unsigned)c->pool.conns_len, reply_ms, reply_ms);
}

static void finish(s3l_http_client_t* c, s3l_http_req_t* req, int status, const s3l_conn_t* conn,
                   const char* message) {
  s3l_http_reply_t reply = {.status = status,
                            .sent = req->sent,
                            .message = message,
                            .connections = (uint32_t)c->pool.conns_len};
  if (req->state == ACTIVE)
    reply.waited_ns = req->at.active.sent_ns - req->since_ns;
  else if (req->state == QUEUED)
    reply.waited_ns = s3l_clock_lease_ns() - req->since_ns;
  if (conn != NULL) {
    reply.http_status = conn->parse.status;
    reply.headers = conn->parse.headers;
    reply.headers_len = conn->parse.headers_len;
    reply.body =
        (s3l_span_t){conn->parse.body_len > 0 ? conn->parse.body : "", conn->parse.body_len};
  }
  if (status == 0 && reply.http_status < 300 && is_at_risk(c, req, reply.waited_ns)) {
    say_crowded(c, reply.waited_ns);
    reply.crowded = true;
    reply.message = c->pool.message;
  }
  s3l_loop_deadline_clear(c->pool.loop, &req->deadline);
  req->state = OVER;
  req->done(req, &reply);
}

static void close_conns(s3l_list_t* conns) {
  while (!s3l_list_empty(conns))
    s3l_conn_close(S3L_CONTAINER_OF(conns->next, s3l_conn_t, link));
}

/* Makes a request one whose done is owed, with a connection's closing if it was on one. */
static void set_ending(s3l_http_client_t* c, s3l_http_req_t* req, s3l_list_t* list, int error) {
  if (req->state == QUEUED)
    s3l_http_queue_remove(&c->queue, req);
  else
    s3l_conn_close(req->at.active.conn);
  req->state = ENDING;
  req->pending_error = (int16_t)error;
  s3l_list_push_back(list, &req->at.list);
}

static void finish_all(s3l_http_client_t* c, s3l_list_t* list, const char* message) {
  while (!s3l_list_empty(list)) {
    s3l_http_req_t* req = S3L_CONTAINER_OF(list->next, s3l_http_req_t, at.list);
    s3l_list_remove(&req->at.list);
    finish(c, req, req->pending_error, NULL, message);
  }
}

static void on_req_deadline(s3l_deadline_t* deadline) {
  s3l_http_req_t* req = S3L_CONTAINER_OF(deadline, s3l_http_req_t, deadline);
  s3l_http_client_t* c = req->client;
  unsigned ms = to_ms(req->until_ns - req->since_ns);
  if (req->state == ENDING)
    return; /* done is owed already */
  if (req->state == ACTIVE) {
    s3l_conn_t* conn = req->at.active.conn;
    if (s3l_http1_begun(&conn->parse))
      s3l_conn_say(&c->pool, "reply of %s: not complete within %u ms", c->pool.origin, ms);
    else
      s3l_conn_say(&c->pool, "no reply from %s within %u ms", c->pool.origin, ms);
    s3l_conn_close(conn);
    finish(c, req, UV_ETIMEDOUT, conn, c->pool.message);
    return;
  }
  s3l_http_queue_remove(&c->queue, req);
  bool crowded = c->pool.opening_len == 0 || c->pool.opening_len < c->pool.conns_len;
  if (crowded)
    s3l_conn_say(&c->pool, "no connection to %s became free within %u ms", c->pool.origin, ms);
  else if (S3L_CONTAINER_OF(c->pool.opening.next, s3l_conn_t, link)->state == S3L_CONN_HANDSHAKING)
    s3l_conn_say(&c->pool, "TLS handshake with %s: not complete within %u ms", c->pool.origin, ms);
  else
    s3l_conn_say(&c->pool, "connect to %s: no answer within %u ms", c->pool.peer, ms);
  finish(c, req, crowded ? (int)S3LECT_ECROWDED : UV_ETIMEDOUT, NULL, c->pool.message);
}

/* Ends a request that is not sent, or, if it is replayed, not sent again. */
static void give_up(s3l_http_client_t* c, s3l_http_req_t* req, int64_t now_ns) {
  S3L_ASSERT(req->state == QUEUED && req->sent == req->replayed);
  s3l_http_queue_remove(&c->queue, req);
  s3l_conn_say(&c->pool,
               "not sent to %s: waited %u ms for one of %u connections, and a reply takes %u ms",
               c->pool.origin, to_ms(now_ns - req->since_ns), (unsigned)c->pool.conns_len,
               to_ms(c->pool.round_trip_ns));
  finish(c, req, S3LECT_ECROWDED, NULL, c->pool.message);
}

/* ---- the pool ---- */

/* An idle connection that may carry the request; dead ones are closed. */
static s3l_conn_t* find_idle(s3l_http_client_t* c, const s3l_http_req_t* req, int64_t now_ns) {
  s3l_list_t* idle = &c->pool.idle;
  for (s3l_list_t* l = idle->next; l != idle;) {
    s3l_conn_t* conn = S3L_CONTAINER_OF(l, s3l_conn_t, link);
    l = l->next;
    if (s3l_conn_is_dead(conn, now_ns))
      s3l_conn_close(conn);
    else if (!(conn->reused && s3l_http_queue_wants_fresh(&c->pool, req)))
      return conn;
  }
  return NULL;
}

/* Sends the first request that an idle connection may carry, or ends it unsent. False: there is
 * none. */
static bool send_one(s3l_http_client_t* c, int64_t now_ns) {
  s3l_http_req_t* req = s3l_http_queue_first(&c->queue);
  s3l_conn_t* conn = req != NULL ? find_idle(c, req, now_ns) : NULL;
  if (conn == NULL && !s3l_list_empty(&c->pool.idle)) {
    req = s3l_http_queue_first_for_used(&c->queue, &c->pool);
    conn = req != NULL ? find_idle(c, req, now_ns) : NULL;
  }
  if (conn == NULL)
    return false;
  if (s3l_http_queue_is_hopeless(&c->queue, &c->pool, req, now_ns)) {
    give_up(c, req, now_ns);
    return true;
  }
  s3l_http_queue_remove(&c->queue, req);
  req->state = ACTIVE;
  s3l_conn_send(conn, req, now_ns);
  return true;
}

/* ---- requests that go together ---- */

static s3l_conn_t* find_held(s3l_http_client_t* c) {
  for (s3l_list_t* l = c->pool.busy.next; l != &c->pool.busy; l = l->next) {
    s3l_conn_t* conn = S3L_CONTAINER_OF(l, s3l_conn_t, link);
    if (conn->held > 0 && !conn->stream.user_write)
      return conn;
  }
  return NULL;
}

static void on_release(s3l_deadline_t* deadline) {
  s3l_http_client_t* c = S3L_CONTAINER_OF(deadline, s3l_http_client_t, release);
  s3l_conn_t* conn;
  while (!c->closing && (conn = find_held(c)) != NULL)
    s3l_conn_send_held(conn);
  c->releasing = c->pool.held > 0; /* the rest of those is still on its way */
  if (c->releasing && !c->closing)
    s3l_loop_deadline_set(c->pool.loop, &c->release, s3l_clock_in_ms(HOLD_MS));
}

static void watch_held(s3l_http_client_t* c) {
  if (c->pool.held == 0 || c->releasing || c->closing)
    return;
  c->releasing = c->pool.opening_len == 0 || c->queue.together == 0; /* no more to come */
  if (c->releasing || !c->release.set)
    s3l_loop_deadline_set(c->pool.loop, &c->release,
                          s3l_clock_in_ms(c->releasing ? HOLD_MS : HOLD_MAX_MS));
}

static void on_conn_failed(s3l_conn_pool_t* pool, int status, int64_t since_ns) {
  s3l_http_client_t* c = client_of(pool);
  s3l_list_t failed;
  s3l_list_init(&failed);
  size_t most = s3l_http_queue_open_failed(&c->queue, pool, since_ns);
  s3l_http_queue_take(&c->queue, since_ns, most, &failed);
  for (s3l_list_t* l = failed.next; l != &failed; l = l->next) {
    s3l_http_req_t* req = S3L_CONTAINER_OF(l, s3l_http_req_t, at.list);
    req->state = ENDING;
    req->pending_error = (int16_t)status;
  }
  if (c->queue.len > 0)
    wake(c);
  finish_all(c, &failed, c->pool.message);
}

static void dispatch(s3l_http_client_t* c) {
  s3l_conn_pool_t* p = &c->pool;
  int64_t now_ns = p->now_ns;
  while (!c->closing && send_one(c, now_ns)) {
  }
  if (c->closing || c->queue.len == 0)
    return watch_held(c);
  /* If a connection is idle, the first request wants a fresh one: then a used one makes room. */
  bool fresh = !s3l_list_empty(&p->idle) && p->opening_len == 0;
  if (fresh && p->conns_len >= p->options.max_connections && c->queue.together == 0)
    s3l_conn_close(S3L_CONTAINER_OF(p->idle.prev, s3l_conn_t, link));
  while (fresh || s3l_http_queue_opens_at(&c->queue, p) <= now_ns) {
    int rc = s3l_conn_open(p);
    fresh = false;
    if (rc == 0)
      continue;
    s3l_conn_say(p, "connect to %s: %s", p->peer, uv_strerror(rc));
    on_conn_failed(p, rc, now_ns);
    break;
  }
  s3l_loop_deadline_set(p->loop, &c->growth, s3l_http_queue_opens_at(&c->queue, p));
  watch_held(c);
}

static void on_growth(s3l_deadline_t* deadline) {
  s3l_http_client_t* c = S3L_CONTAINER_OF(deadline, s3l_http_client_t, growth);
  c->pool.now_ns = s3l_clock_lease_ns();
  dispatch(c);
}

/* ---- the end of the client ---- */

static void on_left(s3l_task_t* task) {
  s3l_http_client_t* c = S3L_CONTAINER_OF(task, s3l_http_client_t, soon);
  void (*cb)(void*) = c->close_cb;
  void* arg = c->close_arg;
  s3l_tls_context_free(c->pool.tls);
  s3l_wipe(&c->pool.proxy, sizeof(c->pool.proxy)); /* it may hold a password */
  s3l_free(c);
  if (cb != NULL)
    cb(arg);
}

static void leave(s3l_http_client_t* c) {
  s3l_task_init(&c->soon, on_left);
  s3l_loop_leave(c->pool.loop, &c->soon);
}

/* ---- what connections report ---- */

static void on_conn_ready(s3l_conn_pool_t* pool) {
  dispatch(client_of(pool));
}

static void on_conn_gone(s3l_conn_pool_t* pool) {
  s3l_http_client_t* c = client_of(pool);
  if (c->shut && pool->sockets == 0)
    leave(c);
  else if (c->queue.len > 0)
    wake(c);
}

static void on_req_done(s3l_conn_t* conn, s3l_http_req_t* req, int status) {
  s3l_http_client_t* c = client_of(conn->pool);
  if (status == 0 && !req->replayable)
    c->pool.require_fresh = false;
  if (c->queue.len > 0 && conn->state == S3L_CONN_IDLE)
    wake(c);
  finish(c, req, status, conn, status != 0 ? c->pool.message : NULL);
}

static void on_req_replay(s3l_conn_pool_t* pool, s3l_http_req_t* req) {
  s3l_http_client_t* c = client_of(pool);
  req->replayed = true;
  req->state = QUEUED;
  s3l_http_queue_add(&c->queue, req);
  close_conns(&pool->idle); /* the one that died was the most recently used of them */
  wake(c);
}

static const s3l_conn_events_t conn_events = {.ready = on_conn_ready,
                                              .failed = on_conn_failed,
                                              .done = on_req_done,
                                              .replay = on_req_replay,
                                              .gone = on_conn_gone};

/* ---- turns ---- */

static void shut_down(s3l_http_client_t* c) {
  s3l_list_t ending;
  s3l_list_move(&c->ending, &ending);
  while (c->queue.len > 0)
    set_ending(c, s3l_http_queue_first(&c->queue), &ending, UV_ECANCELED);
  while (!s3l_list_empty(&c->pool.busy)) {
    s3l_conn_t* conn = S3L_CONTAINER_OF(c->pool.busy.next, s3l_conn_t, link);
    set_ending(c, conn->req, &ending, UV_ECANCELED);
  }
  close_conns(&c->pool.opening);
  close_conns(&c->pool.idle);
  finish_all(c, &ending, NULL);
  s3l_loop_deadline_clear(c->pool.loop, &c->release);
  s3l_loop_deadline_clear(c->pool.loop, &c->growth);
  s3l_task_cancel(&c->soon);
  c->shut = true;
  on_conn_gone(&c->pool);
}

static void on_soon(s3l_task_t* task) {
  s3l_http_client_t* c = S3L_CONTAINER_OF(task, s3l_http_client_t, soon);
  s3l_list_t ending;
  if (c->closing) {
    shut_down(c);
    return;
  }
  s3l_list_move(&c->ending, &ending);
  finish_all(c, &ending, NULL);
  dispatch(c);
}

/* ---- what the owner calls ---- */

/* Where to, and what that is called in messages. */
static int take_origin(s3l_http_client_t* c, const char* host, uint16_t port,
                       const s3l_proxy_t* proxy) {
  if (host == NULL || host[0] == 0 || strlen(host) >= sizeof(c->pool.host))
    return UV_EINVAL;
  (void)s3l_span_copy(s3l_span_cstr(host), c->pool.host, sizeof(c->pool.host));
  c->pool.options.port = port;
  s3l_wipe(&c->pool.proxy, sizeof(c->pool.proxy)); /* it may hold a password */
  if (proxy != NULL)
    c->pool.proxy = *proxy;
  const char* format = strchr(c->pool.host, ':') != NULL ? "[%s]:%u" : "%s:%u";
  snprintf(c->pool.origin, sizeof(c->pool.origin), format, c->pool.host, (unsigned)port);
  if (!c->pool.proxy.used) {
    memcpy(c->pool.peer, c->pool.origin, sizeof(c->pool.origin));
    return 0;
  }
  format = strchr(c->pool.proxy.host, ':') != NULL ? "proxy [%s]:%u" : "proxy %s:%u";
  snprintf(c->pool.peer, sizeof(c->pool.peer), format, c->pool.proxy.host,
           (unsigned)c->pool.proxy.port);
  return 0;
}

static int copy_options(s3l_http_client_t* c, const s3l_http_client_options_t* options) {
  c->pool.options = *options;
  c->pool.options.host = NULL;
  c->pool.options.ca_file = c->pool.options.ca_option = NULL;
  c->pool.options.tls_options = NULL;
  c->pool.options.error = NULL;
  c->pool.options.proxy = NULL;
  if (c->pool.options.max_connections == 0)
    c->pool.options.max_connections = 1;
  return take_origin(c, options->host, options->port, options->proxy);
}

static int create_tls(s3l_http_client_t* c, const s3l_http_client_options_t* options) {
  const s3l_tls_client_options_t files = {
      .ca = {.option = options->ca_option, .file = options->ca_file}};
  return s3l_tls_context_new_client(options->tls_options != NULL ? options->tls_options : &files,
                                    &c->pool.tls, options->error);
}

int s3l_http_client_create(uv_loop_t* loop, const s3l_http_client_options_t* options,
                           s3l_http_client_t** out) {
  s3l_http_client_t* c = s3l_calloc(1, sizeof(*c));
  if (c == NULL)
    return UV_ENOMEM;
  int rc = copy_options(c, options);
  if (rc == 0 && options->tls)
    rc = create_tls(c, options);
  if (rc == 0)
    rc = s3l_loop_join(loop, &c->pool.loop);
  if (rc != 0) {
    s3l_tls_context_free(c->pool.tls);
    s3l_free(c);
    return rc;
  }
  c->pool.events = &conn_events;
  s3l_list_init(&c->ending);
  s3l_list_init(&c->pool.opening);
  s3l_list_init(&c->pool.idle);
  s3l_list_init(&c->pool.busy);
  s3l_deadline_init(&c->release, on_release);
  s3l_deadline_init(&c->growth, on_growth);
  s3l_loop_deadline_ref(c->pool.loop, &c->growth, false); /* requests do, where they are to */
  s3l_task_init(&c->soon, on_soon);
  *out = c;
  return 0;
}

int s3l_http_client_submit(s3l_http_client_t* c, s3l_http_req_t* req) {
  if (c->closing)
    return UV_ECANCELED;
  S3L_ASSERT(req->state == OVER && req->compose != NULL && req->done != NULL);
  S3L_ASSERT(req->until_ns != 0);
  req->client = c;
  req->since_ns = c->pool.now_ns = s3l_clock_lease_ns();
  req->state = QUEUED;
  req->sent = false;
  req->replayed = false;
  req->pending_error = 0;
  s3l_deadline_init(&req->deadline, on_req_deadline);
  s3l_loop_deadline_ref(c->pool.loop, &req->deadline, !c->pool.options.background);
  s3l_loop_deadline_set(c->pool.loop, &req->deadline, req->until_ns);
  if (S3L_MUTANT(DEADLINE_LOST) && c->pool.conns_len == 0)
    s3l_loop_deadline_clear(c->pool.loop, &req->deadline);
  s3l_http_queue_add(&c->queue, req);
  wake(c);
  return 0;
}

void s3l_http_client_cancel(s3l_http_req_t* req) {
  if (req->state != QUEUED && req->state != ACTIVE)
    return;
  s3l_http_client_t* c = req->client;
  set_ending(c, req, &c->ending, UV_ECANCELED);
  wake(c);
}

int s3l_http_client_set_origin(s3l_http_client_t* c, const char* host, uint16_t port,
                               const s3l_proxy_t* proxy) {
  int err = take_origin(c, host, port, proxy);
  if (err != 0)
    return err;
  if (c->pool.tls != NULL)
    s3l_tls_context_forget(c->pool.tls);
  for (s3l_list_t* l = c->pool.busy.next; l != &c->pool.busy; l = l->next)
    S3L_CONTAINER_OF(l, s3l_conn_t, link)->last = true;
  close_conns(&c->pool.opening);
  close_conns(&c->pool.idle);
  return 0;
}

void s3l_http_client_close(s3l_http_client_t* c, void (*cb)(void* arg), void* arg) {
  S3L_ASSERT(!c->closing);
  c->closing = true;
  c->close_cb = cb;
  c->close_arg = arg;
  wake(c);
}

s3l_span_t s3l_http_reply_header(const s3l_http_reply_t* reply, const char* name) {
  s3l_span_t want = s3l_span_cstr(name);
  const s3l_http_header_t* end = reply->headers + reply->headers_len;
  for (const s3l_http_header_t* h = reply->headers; h < end; h++)
    if (h->name.n == want.n && s3l_span_ieq(h->name, want))
      return h->value;
  return (s3l_span_t){NULL, 0};
}
