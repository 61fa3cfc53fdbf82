/* fakes3/conn.c: connections: feeds received bytes to the parser, and sends replies. Sockets and
 * TLS are lib/test_server.h's.
 *
 * A connection has one active request at a time; pipelined requests wait in `in`. */
#include <string.h>

#include "fakes3/internal.h"

static fakes3_conn_t* conn_of(s3l_test_conn_t* tcp) {
  return (fakes3_conn_t*)(void*)tcp;
}

static void parse(fakes3_conn_t* c);

/* Detaches the connection from its requests. A request whose effect is still to come continues. */
static void detach(fakes3_conn_t* c) {
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

static void on_closed(s3l_test_conn_t* tcp) {
  detach(conn_of(tcp));
  fakes3_bytes_free(&conn_of(tcp)->in);
}

void fakes3_conn_close(fakes3_conn_t* c) {
  detach(c);
  s3l_test_conn_cut(&c->tcp, false);
}

void fakes3_conn_reset(fakes3_conn_t* c) {
  detach(c);
  s3l_test_conn_cut(&c->tcp, true);
}

/* ---- Sending ---- */

void fakes3_conn_send(fakes3_conn_t* c, s3l_span_t bytes, fakes3_after_t after) {
  s3l_test_conn_send(&c->tcp, bytes.p, bytes.n);
  if (after == FAKES3_CLOSE)
    s3l_test_conn_linger(&c->tcp);
  else if (after == FAKES3_RESET)
    s3l_test_conn_reset_sent(&c->tcp);
  else
    parse(c);
}

/* ---- Receiving ---- */

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
    c->tcp.deaf = true;
  fakes3_handle(c->active);
}

/* While a request is active and much is pipelined behind it, reading is paused. */
static void parse(fakes3_conn_t* c) {
  if (c->parsing)
    return;
  c->parsing = true;
  while (!c->tcp.closing && !c->tcp.deaf && c->active == NULL && c->in.n > 0)
    parse_once(c);
  c->parsing = false;
  if (c->tcp.deaf)
    c->in.n = 0;
  s3l_test_conn_pause(&c->tcp, !c->tcp.deaf && c->active != NULL && c->in.n >= FAKES3_PENDING_MAX);
}

/* A TLS port accepts plain HTTP, too; handle.c restricts it to control requests. */
static bool wants_tls(s3l_test_conn_t* tcp, char first) {
  fakes3_conn_t* c = conn_of(tcp);
  if (first == 0x16 && fakes3_does(c->server, FAKES3_DO_refuse))
    fakes3_conn_reset(c);
  return first == 0x16;
}

static void on_ready(s3l_test_conn_t* tcp) {
  if (tcp->ssl == NULL)
    return;
  conn_of(tcp)->server->counters.tls_handshakes++;
  conn_of(tcp)->server->counters.tls_resumed += SSL_session_reused(tcp->ssl) == 1 ? 1 : 0;
}

static void on_data(s3l_test_conn_t* tcp, const char* p, size_t n) {
  fakes3_put(&conn_of(tcp)->in, p, n);
  parse(conn_of(tcp));
}

static void on_end(s3l_test_conn_t* tcp, int status) {
  if (status == UV_EPROTO)
    s3l_test_conn_linger(tcp);
  else
    fakes3_conn_close(conn_of(tcp));
}

/* ---- Accepting ---- */

static bool is_loopback(const uv_tcp_t* tcp) {
  struct sockaddr_storage addr;
  int len = sizeof(addr);
  if (uv_tcp_getpeername(tcp, (struct sockaddr*)&addr, &len) != 0)
    return false;
  if (addr.ss_family == AF_INET)
    return ntohl(((const struct sockaddr_in*)&addr)->sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6*)&addr)->sin6_addr);
}

static void on_open(s3l_test_conn_t* tcp) {
  fakes3_conn_t* c = conn_of(tcp);
  c->server = tcp->server->data;
  c->id = ++c->server->counters.connections;
  llhttp_init(&c->parser, HTTP_REQUEST, fakes3_http_settings());
  c->parser.data = c;
  c->loopback = is_loopback(&tcp->tcp);
}

void fakes3_conn_serve(fakes3_t* s) {
  s3l_test_server_init(&s->tcp, s->loop, sizeof(fakes3_conn_t));
  s->tcp.data = s;
  s->tcp.on_open = on_open;
  s->tcp.wants_tls = wants_tls;
  s->tcp.on_ready = on_ready;
  s->tcp.on_data = on_data;
  s->tcp.on_end = on_end;
  s->tcp.on_closed = on_closed;
}
