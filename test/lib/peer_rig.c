#include "lib/peer_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wait.h"

void s3l_peered_init(s3l_election_t* el, s3l_peered_t* p, const char* id,
                     const s3l_certs_t* certs) {
  memset(p, 0, sizeof *p);
  s3l_candidate_init(el, &p->c, id);
  s3lect_peer_server_options_init(&p->server_options, sizeof p->server_options);
  s3lect_peer_client_options_init(&p->client_options, sizeof p->client_options);
  p->server_options.listen = "127.0.0.1:0";
  if (certs == NULL) {
    p->server_options.plain_http = p->client_options.plain_http = 1;
    return;
  }
  p->server_options.cert_file = p->client_options.cert_file = certs->good;
  p->server_options.key_file = p->client_options.key_file = certs->key;
  p->server_options.client_ca_file = p->client_options.ca_file = certs->ca;
}

void s3l_peered_start(s3l_peered_t* p) {
  uv_loop_t* loop = &p->c.election->loop;
  s3lect_error_t error;
  if (s3lect_peer_server_init(loop, &p->server, &p->server_options, &error) != 0)
    fail_msg("peer server: %s", error.text);
  if (s3lect_peer_client_init(loop, &p->client, &p->client_options, &error) != 0)
    fail_msg("peer client: %s", error.text);
  snprintf(p->addr, sizeof p->addr, "127.0.0.1:%d", s3lect_peer_server_port(&p->server));
  p->c.o.server_addr = p->addr;
  p->c.o.peer_client = &p->client;
  p->open = true;
  s3l_candidate_start(&p->c);
  assert_int_equal(s3lect_peer_server_add(&p->server, &p->c.e, NULL), 0);
}

static void on_server_closed(s3lect_peer_server_t* server) {
  ++*(unsigned*)server->data;
}

static void on_client_closed(s3lect_peer_client_t* client) {
  ++*(unsigned*)client->data;
}

void s3l_peered_close(s3l_peered_t* p) {
  unsigned closed = 0;
  if (!p->open)
    return;
  p->open = false;
  if (p->c.closed == 0)
    s3l_candidate_close(&p->c);
  p->server.data = p->client.data = &closed;
  s3lect_peer_server_close(&p->server, on_server_closed);
  s3lect_peer_client_close(&p->client, on_client_closed);
  s3l_wait_count(&p->c.election->loop, &closed, 2, "peer server and client to close");
}

/* ---- Raw ---- */

typedef struct raw_s {
  uv_tcp_t tcp;
  uv_connect_t connect;
  uv_write_t write;
  const char* request;
  const char* until;
  size_t len;
  unsigned over;
  char text[65536];
} raw_t;

static void on_alloc(uv_handle_t* handle, size_t size, uv_buf_t* buf) {
  raw_t* r = handle->data;
  (void)size;
  *buf = uv_buf_init(r->text + r->len, (unsigned)(sizeof r->text - 1 - r->len));
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  raw_t* r = stream->data;
  (void)buf;
  if (n > 0)
    r->len += (size_t)n;
  r->text[r->len] = '\0';
  r->over += n < 0 || (r->until != NULL && strstr(r->text, r->until) != NULL);
}

static void on_connect(uv_connect_t* connect, int status) {
  raw_t* r = connect->data;
  uv_buf_t buf = uv_buf_init((char*)(uintptr_t)r->request, (unsigned)strlen(r->request));
  assert_int_equal(status, 0);
  assert_int_equal(uv_write(&r->write, (uv_stream_t*)&r->tcp, &buf, 1, NULL), 0);
  assert_int_equal(uv_read_start((uv_stream_t*)&r->tcp, on_alloc, on_read), 0);
}

static void on_raw_closed(uv_handle_t* handle) {
  ((raw_t*)handle->data)->over++;
}

const char* s3l_peered_raw(s3l_election_t* el, int port, const char* request, const char* until) {
  static raw_t r;
  struct sockaddr_in to;
  memset(&r, 0, sizeof r);
  r.request = request;
  r.until = until;
  r.tcp.data = r.connect.data = &r;
  assert_int_equal(uv_ip4_addr("127.0.0.1", port, &to), 0);
  assert_int_equal(uv_tcp_init(&el->loop, &r.tcp), 0);
  assert_int_equal(uv_tcp_connect(&r.connect, &r.tcp, (struct sockaddr*)&to, on_connect), 0);
  s3l_wait_count(&el->loop, &r.over, 1, "an answer of the peer server");
  r.over = 0;
  uv_close((uv_handle_t*)&r.tcp, on_raw_closed);
  s3l_wait_count(&el->loop, &r.over, 1, "a socket to close");
  return r.text;
}
