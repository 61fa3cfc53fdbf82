/* fakes3/conn.c: one connection: its socket, its TLS, its bytes to the parser and back.
 *
 * One request is at work at a time; what a client pipelines waits in `in`. A connection that is
 * closed in good order is shut down first and then deaf, until the client closes too or the linger
 * timer fires: closing with unread bytes would reset it and take the reply with it. */
#include <stdlib.h>
#include <string.h>

#include "fakes3/internal.h"

typedef struct write_s {
  uv_write_t req;
  fakes3_conn_t* conn;
  fakes3_bytes_t bytes;
  fakes3_after_t after;
} write_t;

static void parse(fakes3_conn_t* c);

static void on_closed(uv_handle_t* handle) {
  fakes3_conn_t* c = handle->data;
  fakes3_t* s = c->server;
  if (--c->handles == 0) {
    fakes3_bytes_free(&c->in);
    if (c->tls != NULL)
      fakes3_tls_free(c->tls);
    free(c);
  }
  fakes3_handle_closed(s);
}

/* Lets go of the requests. One whose effect is still to come goes on without its client. */
static void let_go(fakes3_conn_t* c) {
  fakes3_request_t* r = c->active;
  if (c->building != NULL)
    fakes3_request_finish(c->building);
  if (r == NULL)
    return;
  c->active = NULL;
  r->conn = NULL;
  if (r->entry != NULL)
    r->entry->e.client_gone = true;
  if (!uv_is_active((uv_handle_t*)&r->timer))
    fakes3_request_finish(r);
}

static void close_with(fakes3_conn_t* c, bool reset) {
  if (c->closing)
    return;
  c->closing = true;
  let_go(c);
  s3l_list_remove(&c->link);
  c->server->conns_n--;
  if (!reset || uv_tcp_close_reset(&c->tcp, on_closed) != 0)
    uv_close((uv_handle_t*)&c->tcp, on_closed);
  uv_close((uv_handle_t*)&c->linger, on_closed);
}

void fakes3_conn_close(fakes3_conn_t* c) {
  close_with(c, false);
}

void fakes3_conn_reset(fakes3_conn_t* c) {
  close_with(c, true);
}

/* ---- Sending ---- */

static void on_linger(uv_timer_t* timer) {
  fakes3_conn_close(timer->data);
}

static void on_shutdown(uv_shutdown_t* req, int status) {
  (void)status;
  free(req);
}

static void close_softly(fakes3_conn_t* c) {
  uv_shutdown_t* req = fakes3_alloc(sizeof(*req));
  c->deaf = true;
  if (uv_shutdown(req, (uv_stream_t*)&c->tcp, on_shutdown) != 0) {
    free(req);
    fakes3_conn_close(c);
    return;
  }
  uv_update_time(c->server->loop);
  if (uv_timer_start(&c->linger, on_linger, FAKES3_LINGER_MS, 0) != 0)
    fakes3_conn_close(c);
}

static void on_written(uv_write_t* req, int status) {
  write_t* w = (write_t*)(void*)req;
  fakes3_conn_t* c = w->conn;
  fakes3_after_t after = w->after;
  fakes3_bytes_free(&w->bytes);
  free(w);
  if (after == FAKES3_RESET)
    fakes3_conn_reset(c);
  else if (status != 0)
    fakes3_conn_close(c);
}

/* Takes the wire's bytes over. */
static void send_wire(fakes3_conn_t* c, fakes3_bytes_t* wire, fakes3_after_t after) {
  write_t* w = fakes3_alloc(sizeof(*w));
  w->conn = c;
  w->bytes = *wire;
  w->after = after;
  uv_buf_t buf = uv_buf_init(w->bytes.p, (unsigned)w->bytes.n);
  if (uv_write(&w->req, (uv_stream_t*)&c->tcp, &buf, 1, on_written) != 0) {
    fakes3_bytes_free(&w->bytes);
    free(w);
    fakes3_conn_close(c);
  }
}

static void send_plain(fakes3_conn_t* c, s3l_span_t bytes, fakes3_after_t after) {
  fakes3_bytes_t wire = {NULL, 0, 0};
  if (c->tls == NULL)
    fakes3_put_span(&wire, bytes);
  else if (!fakes3_tls_write(c->tls, bytes.p, bytes.n, &wire))
    after = FAKES3_RESET;
  if (c->tls != NULL && after == FAKES3_CLOSE)
    fakes3_tls_end(c->tls, &wire);
  if (wire.n > 0 || after == FAKES3_RESET)
    send_wire(c, &wire, after);
  else
    fakes3_bytes_free(&wire);
}

void fakes3_conn_send_part(fakes3_conn_t* c, s3l_span_t bytes) {
  if (!c->closing)
    send_plain(c, bytes, FAKES3_KEEP);
}

void fakes3_conn_send(fakes3_conn_t* c, s3l_span_t bytes, fakes3_after_t after) {
  if (c->closing)
    return;
  if (after != FAKES3_KEEP)
    c->deaf = true;
  send_plain(c, bytes, after);
  if (c->closing)
    return;
  if (after == FAKES3_CLOSE)
    close_softly(c);
  else if (after == FAKES3_KEEP)
    parse(c);
}

/* ---- Receiving ---- */

static void on_alloc(uv_handle_t* handle, size_t hint, uv_buf_t* buf) {
  fakes3_conn_t* c = handle->data;
  (void)hint;
  *buf = uv_buf_init(c->buf, sizeof(c->buf));
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf);

/* A client that pipelines much is not read from while a request is at work. */
static void steer_reading(fakes3_conn_t* c) {
  bool want = c->deaf || c->active == NULL || c->in.n < FAKES3_PENDING_MAX;
  if (c->closing || want == c->reading)
    return;
  int err = want ? uv_read_start((uv_stream_t*)&c->tcp, on_alloc, on_read)
                 : uv_read_stop((uv_stream_t*)&c->tcp);
  c->reading = want;
  if (err != 0)
    fakes3_conn_close(c);
}

static const char* parse_error(const fakes3_conn_t* c) {
  const fakes3_request_t* r = c->building;
  if (r != NULL &&
      (r->target.n + r->head.n > FAKES3_HEAD_MAX / 2 || r->ends_n == FAKES3_HEADERS_MAX * 2))
    return "RequestHeaderSectionTooLarge";
  return "BadRequest";
}

static void parse_once(fakes3_conn_t* c) {
  llhttp_errno_t err = llhttp_execute(&c->parser, c->in.p, c->in.n);
  if (err == HPE_OK) {
    c->in.n = 0;
    return;
  }
  if (err != HPE_PAUSED || c->active == NULL) {
    c->in.n = 0;
    c->server->counters.malformed++;
    fakes3_handle_malformed(c, parse_error(c));
    return;
  }
  fakes3_shift(&c->in, (size_t)(llhttp_get_error_pos(&c->parser) - c->in.p));
  llhttp_resume(&c->parser);
  if (c->active->reject != NULL)
    c->deaf = true;
  fakes3_handle(c->active);
}

static void parse(fakes3_conn_t* c) {
  if (c->parsing)
    return;
  c->parsing = true;
  while (!c->closing && !c->deaf && c->active == NULL && c->in.n > 0)
    parse_once(c);
  c->parsing = false;
  if (c->deaf)
    c->in.n = 0;
  steer_reading(c);
}

/* TLS and plain HTTP may come on a TLS port; what plain HTTP may ask for, handle.c decides. */
static bool begin(fakes3_conn_t* c, char first) {
  c->begun = true;
  if (c->server->tls == NULL || first != 0x16)
    return true;
  if (fakes3_does(c->server, FAKES3_DO_refuse)) {
    fakes3_conn_reset(c);
    return false;
  }
  c->tls = fakes3_tls_new(c->server->tls);
  return true;
}

static void receive_tls(fakes3_conn_t* c, const char* p, size_t n) {
  fakes3_bytes_t wire = {NULL, 0, 0};
  bool resumed;
  bool good = fakes3_tls_feed(c->tls, p, n, &c->in, &wire);
  if (fakes3_tls_established(c->tls, &resumed)) {
    c->server->counters.tls_handshakes++;
    c->server->counters.tls_resumed += resumed ? 1 : 0;
  }
  if (wire.n > 0)
    send_wire(c, &wire, FAKES3_KEEP);
  else
    fakes3_bytes_free(&wire);
  if (!good && !c->closing)
    close_softly(c);
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  fakes3_conn_t* c = stream->data;
  if (n < 0) {
    fakes3_conn_close(c);
    return;
  }
  if (n == 0 || c->deaf || (!c->begun && !begin(c, buf->base[0])))
    return;
  if (c->tls != NULL)
    receive_tls(c, buf->base, (size_t)n);
  else
    fakes3_put(&c->in, buf->base, (size_t)n);
  parse(c);
}

/* ---- Accepting ---- */

static void note_peer(fakes3_conn_t* c) {
  struct sockaddr_storage addr;
  int len = sizeof(addr);
  if (uv_tcp_getpeername(&c->tcp, (struct sockaddr*)&addr, &len) != 0)
    return;
  if (addr.ss_family == AF_INET) {
    const struct sockaddr_in* in = (const struct sockaddr_in*)&addr;
    c->source_port = ntohs(in->sin_port);
    c->loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
  } else {
    const struct sockaddr_in6* in6 = (const struct sockaddr_in6*)&addr;
    c->source_port = ntohs(in6->sin6_port);
    c->loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
  }
}

void fakes3_conn_accept(fakes3_t* s) {
  fakes3_conn_t* c = fakes3_alloc(sizeof(*c));
  c->server = s;
  c->id = ++s->counters.connections;
  if (uv_tcp_init(s->loop, &c->tcp) != 0 || uv_timer_init(s->loop, &c->linger) != 0)
    abort();
  c->tcp.data = c;
  c->linger.data = c;
  c->handles = 2;
  s->handles += 2;
  s->conns_n++;
  s3l_list_push_back(&s->conns, &c->link);
  llhttp_init(&c->parser, HTTP_REQUEST, fakes3_http_settings());
  c->parser.data = c;
  if (uv_accept((uv_stream_t*)s->listener, (uv_stream_t*)&c->tcp) != 0) {
    fakes3_conn_close(c);
    return;
  }
  note_peer(c);
  (void)uv_tcp_nodelay(&c->tcp, 1);
  steer_reading(c);
}
