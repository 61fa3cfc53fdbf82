/* http/conn.c: see conn.h. */
#include "http/conn.h"

#include <stdarg.h>
#include <stdio.h>

#include "net/tcp.h"
#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/mutant.h"

#define NS_PER_MS 1000000
#define CHECK_NS  (100 * NS_PER_MS) /* a connection that was idle for longer may be dead */

void s3l_conn_say(s3l_conn_pool_t* p, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->message, sizeof(p->message), format, args);
  va_end(args);
}

static void set_deadline(s3l_conn_t* conn, int64_t from_ns, uint32_t ms) {
  s3l_loop_deadline_set(conn->pool->loop, &conn->deadline,
                        ms != 0 ? from_ns + (int64_t)ms * NS_PER_MS : S3L_CLOCK_NEVER);
}

static bool is_opening(const s3l_conn_t* conn) {
  return conn->state == S3L_CONN_DIALING || conn->state == S3L_CONN_TUNNELLING ||
         conn->state == S3L_CONN_HANDSHAKING;
}

static void set_held(s3l_conn_t* conn, size_t n) {
  conn->pool->held += (n > 0 ? 1u : 0u);
  conn->pool->held -= (conn->held > 0 ? 1u : 0u);
  conn->held = n;
}

/* Takes it off the pool's books. */
static void unlist(s3l_conn_t* conn) {
  s3l_conn_pool_t* p = conn->pool;
  s3l_list_remove(&conn->link);
  s3l_loop_deadline_clear(p->loop, &conn->deadline);
  if (is_opening(conn))
    p->opening_len--;
  if (!(S3L_MUTANT(SLOT_LOST) && is_opening(conn)))
    p->conns_len--;
  set_held(conn, 0);
  p->events->gone(p);
}

static void release(s3l_conn_t* conn) {
  bool secret = conn->pool->options.secret;
  s3l_http1_free(&conn->parse);
  if (secret)
    s3l_wipe(conn, sizeof(*conn));
  else
    s3l_wipe(conn->send_buf, conn->composed); /* session tokens, passwords of proxies */
  s3l_free(conn);
}

static void note_composed(s3l_conn_t* conn, size_t n) {
  if (conn->composed < n)
    conn->composed = n;
}

static void become_idle(s3l_conn_t* conn, int64_t now_ns) {
  s3l_conn_pool_t* p = conn->pool;
  if (is_opening(conn))
    p->opening_len--;
  s3l_list_remove(&conn->link);
  s3l_list_push_front(&p->idle, &conn->link);
  conn->state = S3L_CONN_IDLE;
  conn->req = NULL;
  conn->since_ns = p->now_ns = now_ns;
  set_deadline(conn, now_ns, p->options.idle_timeout_ms);
  s3l_stream_ref(&conn->stream, false);
}

void s3l_conn_close(s3l_conn_t* conn) {
  if (conn->state == S3L_CONN_CLOSING)
    return;
  if (conn->state == S3L_CONN_BUSY &&
      (S3L_MUTANT(CANCELLED_BELIEVED) ||
       (S3L_MUTANT(OLD_ANSWER_BELIEVED) && conn->pool->options.background))) {
    become_idle(conn, s3l_clock_lease_ns());
    return;
  }
  bool dialing = conn->state == S3L_CONN_DIALING;
  unlist(conn);
  conn->state = S3L_CONN_CLOSING;
  conn->req = NULL;
  if (dialing) {
    s3l_dial_cancel(&conn->dial);
    release(conn);
  } else {
    s3l_stream_close(&conn->stream);
  }
}

static void on_stream_closed(s3l_stream_t* stream) {
  s3l_conn_t* conn = S3L_CONTAINER_OF(stream, s3l_conn_t, stream);
  s3l_conn_pool_t* p = conn->pool;
  release(conn);
  p->sockets--;
  p->events->gone(p);
}

/* ---- opening ---- */

static void fail_opening(s3l_conn_t* conn, int status) {
  s3l_conn_pool_t* p = conn->pool;
  int64_t since_ns = conn->since_ns;
  s3l_conn_close(conn);
  p->events->failed(p, status, since_ns);
}

static void on_stream_ready(s3l_stream_t* stream) {
  s3l_conn_t* conn = S3L_CONTAINER_OF(stream, s3l_conn_t, stream);
  become_idle(conn, s3l_clock_lease_ns());
  conn->pool->events->ready(conn->pool);
}

static void say_handshake(s3l_conn_t* conn, int status) {
  const char* why = conn->stream.why != NULL ? conn->stream.why : uv_strerror(status);
  s3l_conn_say(conn->pool, "TLS handshake with %s: %s", conn->pool->origin, why);
}

static void say_dial(s3l_conn_t* conn, int status) {
  s3l_conn_pool_t* p = conn->pool;
  char address[64];
  s3l_dial_failed_address(&conn->dial, address, sizeof(address));
  if (address[0] == 0)
    s3l_conn_say(p, "look-up of %s: %s", p->proxy.used ? p->proxy.host : p->host,
                 uv_strerror(status));
  else if (s3l_span_eq(s3l_span_cstr(address), s3l_span_cstr(p->peer)))
    s3l_conn_say(p, "connect to %s: %s", p->peer, uv_strerror(status));
  else
    s3l_conn_say(p, "connect to %s (%s): %s", p->peer, address, uv_strerror(status));
}

/* ---- through a proxy ---- */

static void ask_proxy(s3l_conn_t* conn) {
  s3l_conn_pool_t* p = conn->pool;
  s3l_buf_t b;
  bool handed;
  conn->state = S3L_CONN_TUNNELLING;
  s3l_http1_start_reply(&conn->parse, true, 0); /* what follows the head is the tunnel */
  s3l_buf_init(&b, conn->send_buf, sizeof(conn->send_buf));
  s3l_buf_puts(&b, "CONNECT ");
  s3l_buf_puts(&b, p->origin);
  s3l_buf_puts(&b, " HTTP/1.1\r\nhost: ");
  s3l_buf_puts(&b, p->origin);
  if (p->proxy.authorization[0] != '\0') {
    s3l_buf_puts(&b, "\r\nproxy-authorization: ");
    s3l_buf_puts(&b, p->proxy.authorization);
  }
  s3l_buf_puts(&b, "\r\n\r\n");
  note_composed(conn, b.len);
  int rc = s3l_stream_write(&conn->stream, conn->send_buf, b.len, &handed);
  if (rc < 0) {
    s3l_conn_say(p, "request to %s: %s", p->peer, uv_strerror(rc));
    fail_opening(conn, rc);
  }
}

static void start_tls(s3l_conn_t* conn) {
  s3l_conn_pool_t* p = conn->pool;
  conn->state = S3L_CONN_HANDSHAKING;
  set_deadline(conn, s3l_clock_lease_ns(), p->options.tls_timeout_ms);
  int rc = s3l_stream_start_tls(&conn->stream, p->tls, p->host);
  if (rc != 0) {
    say_handshake(conn, rc);
    fail_opening(conn, rc);
  }
}

static void on_proxy_read(s3l_conn_t* conn, const char* data, size_t n) {
  s3l_conn_pool_t* p = conn->pool;
  size_t used;
  int rc = s3l_http1_feed(&conn->parse, data, n, &used);
  if (rc == S3L_HTTP1_MORE)
    return;
  int status = conn->parse.status;
  if (rc == S3L_HTTP1_DONE && status >= 200 && status <= 299 && used == n &&
      !conn->stream.user_write) {
    start_tls(conn);
    return;
  }
  if (rc < 0)
    s3l_conn_say(p, "reply of %s: %s", p->peer, conn->parse.reason);
  else if (status == 407)
    s3l_conn_say(p, "%s wants a user and a password (407)", p->peer);
  else if (status >= 200 && status <= 299)
    s3l_conn_say(p, "%s speaks before it is asked", p->peer);
  else
    s3l_conn_say(p, "%s does not connect to %s (%d)", p->peer, p->origin, status);
  fail_opening(conn, rc < 0 ? rc : S3LECT_EPROXY);
}

static void on_dialed(s3l_dial_t* dial, int status, uv_tcp_t* tcp) {
  s3l_conn_t* conn = S3L_CONTAINER_OF(dial, s3l_conn_t, dial);
  s3l_conn_pool_t* p = conn->pool;
  bool tunnel = p->proxy.used && p->tls != NULL;
  if (status != 0) {
    say_dial(conn, status);
    fail_opening(conn, status);
    return;
  }
  p->sockets++;
  conn->state = S3L_CONN_HANDSHAKING;
  s3l_tls_context_t* tls = tunnel ? NULL : p->tls;
  int rc = s3l_stream_open(&conn->stream, tcp, tls, tls != NULL ? p->host : NULL);
  if (rc != 0) {
    if (tls != NULL)
      say_handshake(conn, rc);
    else
      s3l_conn_say(p, "connect to %s: %s", p->peer, uv_strerror(rc));
    fail_opening(conn, rc);
    return;
  }
  if (tunnel)
    ask_proxy(conn);
  else if (tls != NULL)
    set_deadline(conn, s3l_clock_lease_ns(), p->options.tls_timeout_ms);
  else
    on_stream_ready(&conn->stream);
}

/* ---- a request ---- */

/* It falls to a shorter time at once and rises slowly, by a 64th of itself at most, so that the
 * replies of an outage, which all come late, hardly count. */
static void note_round_trip(s3l_conn_pool_t* p, int64_t ns) {
  int64_t before = p->round_trip_ns;
  int64_t more = ns - before < before ? ns - before : before;
  p->round_trip_ns = before == 0 || more < 0 ? ns : before + more / 64;
}

static void end_request(s3l_conn_t* conn, int status, bool keep) {
  s3l_http_req_t* req = conn->req;
  int64_t now_ns = s3l_clock_lease_ns();
  if (status == 0)
    note_round_trip(conn->pool, now_ns - conn->since_ns);
  if (keep && !conn->last)
    become_idle(conn, now_ns);
  else
    s3l_conn_close(conn);
  conn->pool->events->done(conn, req, status);
}

/* The connection is gone in the middle of a request. */
static void lose_request(s3l_conn_t* conn, int status) {
  s3l_conn_pool_t* p = conn->pool;
  s3l_http_req_t* req = conn->req;
  bool begun = s3l_http1_begun(&conn->parse);
  const char* why = conn->stream.why != NULL ? conn->stream.why : uv_strerror(status);
  S3L_ASSERT(!(conn->reused && req->replayed)); /* so it is sent again once only */
  if (!begun && conn->reused && req->replayable) {
    s3l_conn_close(conn);
    p->events->replay(p, req);
    return;
  }
  if (!begun && conn->reused)
    p->require_fresh = true;
  if (status == S3LECT_ETLS && !conn->stream.engine.failed) /* cut off: TLS itself did not fail */
    status = begun ? (int)S3LECT_EBADREPLY : UV_EOF;
  if (begun && status == UV_EOF) {
    status = s3l_http1_eof(&conn->parse);
    if (status == S3L_HTTP1_DONE) {
      end_request(conn, 0, false);
      return;
    }
    why = conn->parse.reason;
  }
  if (begun)
    s3l_conn_say(p, "reply of %s: %s", p->origin, why);
  else if (status == UV_EOF)
    s3l_conn_say(p, "%s closed the connection without a reply", p->origin);
  else
    s3l_conn_say(p, "request to %s: %s", p->origin, why);
  end_request(conn, status, false);
}

static void send_part(s3l_conn_t* conn, size_t from, size_t to) {
  bool handed;
  int rc = s3l_stream_write(&conn->stream, conn->send_buf + from, to - from, &handed);
  if (handed)
    conn->req->sent = true;
  if (rc < 0)
    lose_request(conn, rc);
  else
    set_deadline(conn, conn->since_ns, conn->pool->options.first_byte_timeout_ms);
}

bool s3l_conn_is_dead(const s3l_conn_t* conn, int64_t now_ns) {
  S3L_ASSERT(conn->state == S3L_CONN_IDLE);
  return now_ns - conn->since_ns > CHECK_NS && s3l_stream_has_input(&conn->stream);
}

void s3l_conn_send(s3l_conn_t* conn, s3l_http_req_t* req, int64_t now_ns) {
  s3l_conn_pool_t* p = conn->pool;
  S3L_ASSERT(conn->state == S3L_CONN_IDLE && conn->req == NULL);
  s3l_list_remove(&conn->link);
  s3l_list_push_back(&p->busy, &conn->link);
  conn->state = S3L_CONN_BUSY;
  conn->req = req;
  conn->since_ns = now_ns;
  req->at.active.conn = conn;
  req->at.active.sent_ns = now_ns;
  s3l_stream_ref(&conn->stream, !conn->pool->options.background);
  s3l_http1_start_reply(&conn->parse, req->head, req->body_max);
  s3l_loop_deadline_clear(p->loop, &conn->deadline);

  ssize_t n = req->compose(req, conn->send_buf, sizeof(conn->send_buf));
  note_composed(conn,
                n > 0 && (size_t)n <= sizeof(conn->send_buf) ? (size_t)n : sizeof(conn->send_buf));
  if (conn->state != S3L_CONN_BUSY)
    return; /* cancelled from within compose */
  if (n <= 0 || (size_t)n > sizeof(conn->send_buf)) {
    s3l_conn_say(p, "request to %s could not be composed", p->origin);
    end_request(conn, n < 0 ? (int)n : UV_EINVAL, true);
    return;
  }
  set_held(conn, req->together && n > 1 ? (size_t)n : 0);
  send_part(conn, 0, (size_t)n - (conn->held > 0 ? 1 : 0));
}

void s3l_conn_send_held(s3l_conn_t* conn) {
  size_t n = conn->held;
  S3L_ASSERT(conn->state == S3L_CONN_BUSY && n > 0 && !conn->stream.user_write);
  set_held(conn, 0);
  conn->req->at.active.sent_ns = s3l_clock_lease_ns(); /* until now it waited for the others */
  send_part(conn, n - 1, n);
}

static void on_stream_read(s3l_stream_t* stream, const char* data, size_t n) {
  s3l_conn_t* conn = S3L_CONTAINER_OF(stream, s3l_conn_t, stream);
  size_t used;
  if (conn->state == S3L_CONN_TUNNELLING) {
    on_proxy_read(conn, data, n);
    return;
  }
  if (conn->state != S3L_CONN_BUSY) {
    s3l_conn_close(conn); /* nobody asked for anything */
    return;
  }
  s3l_loop_deadline_clear(conn->pool->loop, &conn->deadline);
  int rc = s3l_http1_feed(&conn->parse, data, n, &used);
  if (rc == S3L_HTTP1_MORE)
    return;
  if (rc == S3L_HTTP1_DONE) {
    /* Not kept: with bytes after the reply, or where the peer answered before it had read all. */
    bool keep = conn->parse.keep_alive && used == n && !stream->user_write && conn->held == 0;
    conn->reused = true;
    end_request(conn, 0, keep);
    return;
  }
  s3l_conn_say(conn->pool, "reply of %s: %s", conn->pool->origin, conn->parse.reason);
  end_request(conn, rc, false);
}

static void on_stream_written(s3l_stream_t* stream, int status) {
  s3l_conn_t* conn = S3L_CONTAINER_OF(stream, s3l_conn_t, stream);
  if (status != 0 && conn->state == S3L_CONN_TUNNELLING) {
    s3l_conn_say(conn->pool, "request to %s: %s", conn->pool->peer, uv_strerror(status));
    fail_opening(conn, status);
  } else if (status != 0 && conn->state == S3L_CONN_BUSY) {
    lose_request(conn, status);
  }
}

static void on_stream_end(s3l_stream_t* stream, int status) {
  s3l_conn_t* conn = S3L_CONTAINER_OF(stream, s3l_conn_t, stream);
  if (conn->state == S3L_CONN_HANDSHAKING) {
    say_handshake(conn, status);
    s3l_dial_suspect(&conn->dial); /* the address may be another server's by now */
    fail_opening(conn, status);
  } else if (conn->state == S3L_CONN_TUNNELLING) {
    s3l_conn_say(conn->pool, "%s closed the connection without a tunnel", conn->pool->peer);
    fail_opening(conn, status == UV_EOF ? S3LECT_EPROXY : status);
  } else if (conn->state == S3L_CONN_BUSY) {
    lose_request(conn, status);
  } else {
    s3l_conn_close(conn);
  }
}

static void on_deadline(s3l_deadline_t* deadline) {
  s3l_conn_t* conn = S3L_CONTAINER_OF(deadline, s3l_conn_t, deadline);
  s3l_conn_pool_t* p = conn->pool;
  switch (conn->state) {
  case S3L_CONN_DIALING:
  case S3L_CONN_TUNNELLING:
    s3l_conn_say(p, "connect to %s: no answer within %u ms", p->peer,
                 p->options.connect_timeout_ms);
    s3l_dial_suspect(&conn->dial);
    fail_opening(conn, UV_ETIMEDOUT);
    break;
  case S3L_CONN_HANDSHAKING:
    s3l_conn_say(p, "TLS handshake with %s: not complete within %u ms", p->origin,
                 p->options.tls_timeout_ms);
    fail_opening(conn, UV_ETIMEDOUT);
    break;
  case S3L_CONN_BUSY:
    s3l_conn_say(p, "no reply from %s within %u ms", p->origin, p->options.first_byte_timeout_ms);
    end_request(conn, UV_ETIMEDOUT, false);
    break;
  case S3L_CONN_IDLE:
    s3l_conn_close(conn);
    break;
  case S3L_CONN_CLOSING:
    S3L_UNREACHABLE();
  }
}

int s3l_conn_open(s3l_conn_pool_t* p) {
  s3l_conn_t* conn = s3l_malloc(sizeof(*conn)); /* large: its buffers are not cleared */
  if (conn == NULL)
    return UV_ENOMEM;
  conn->pool = p;
  conn->state = S3L_CONN_DIALING;
  conn->reused = false;
  conn->composed = 0;
  conn->held = 0;
  conn->last = false;
  conn->since_ns = s3l_clock_lease_ns();
  conn->req = NULL;
  s3l_deadline_init(&conn->deadline, on_deadline);
  s3l_loop_deadline_ref(p->loop, &conn->deadline, false); /* its socket does, where it is to */
  conn->stream.loop = p->loop;
  conn->stream.read_buf = conn->read_buf;
  conn->stream.on_due = NULL;
  conn->stream.on_ready = on_stream_ready;
  conn->stream.on_read = on_stream_read;
  conn->stream.on_end = on_stream_end;
  conn->stream.on_written = on_stream_written;
  conn->stream.on_closed = on_stream_closed;
  s3l_http1_init(&conn->parse, conn->head, sizeof(conn->head));
  conn->parse.secret = p->options.secret;
  const char* host = p->proxy.used ? p->proxy.host : p->host;
  uint16_t port = p->proxy.used ? p->proxy.port : p->options.port;
  int rc = s3l_dial_start(&conn->dial, p->loop, &p->dns, host, port, on_dialed);
  if (rc != 0) {
    release(conn);
    return rc;
  }
  s3l_list_push_back(&p->opening, &conn->link);
  p->opening_len++;
  p->conns_len++;
  set_deadline(conn, conn->since_ns, p->options.connect_timeout_ms);
  return 0;
}
