#include "lib/script_server.h"

#include <string.h>

#include "lib/test.h"
#include "net/dial.h"

#define RECEIVED_MAX 65536

typedef struct conn_s {
  s3l_test_conn_t tcp; /* first */
  s3l_script_server_t* server;
  uv_idle_t* idle; /* runs while there is a step to take */
  const s3l_step_t* step;
  size_t sent; /* of the step's text */
  size_t received_len;
  char received[RECEIVED_MAX];
} conn_t;

static conn_t* conn_of(s3l_test_conn_t* tcp) {
  return (conn_t*)(void*)tcp;
}

static void on_idle_closed(uv_handle_t* handle) {
  free(handle);
}

static void end(conn_t* conn) {
  if (conn->idle != NULL)
    uv_close((uv_handle_t*)conn->idle, on_idle_closed);
  conn->idle = NULL;
}

static void on_closed(s3l_test_conn_t* tcp) {
  end(conn_of(tcp));
}

static bool find(conn_t* conn, const char* text) {
  size_t len = strlen(text);
  char* at = memmem(conn->received, conn->received_len, text, len);
  if (at == NULL)
    return false;
  size_t used = (size_t)(at - conn->received) + len;
  memmove(conn->received, conn->received + used, conn->received_len - used);
  conn->received_len -= used;
  return true;
}

/* True when the step is over. */
static bool send_piece(conn_t* conn) {
  const s3l_step_t* step = conn->step;
  size_t len = step->len != 0 ? step->len : strlen(step->text);
  size_t n = len - conn->sent;
  if (step->n != 0 && n > step->n)
    n = step->n;
  s3l_test_conn_send(&conn->tcp, step->text + conn->sent, n);
  conn->sent += n;
  if (conn->sent < len)
    return false;
  conn->sent = 0;
  return true;
}

static void take_step(uv_idle_t* idle) {
  conn_t* conn = idle->data;
  const s3l_step_t* step = conn->step;
  bool over = true;
  switch (conn->tcp.unsent > 0 ? S3L_STEP_END : step->op) {
  case S3L_STEP_END:
    over = false;
    (void)uv_idle_stop(idle);
    break;
  case S3L_STEP_EXPECT:
    over = find(conn, step->text);
    if (!over)
      (void)uv_idle_stop(idle);
    break;
  case S3L_STEP_SEND:
    over = send_piece(conn);
    break;
  case S3L_STEP_CALL:
    conn->step++;
    conn->server->on_call(conn->server);
    return;
  case S3L_STEP_DEAF:
    s3l_test_conn_pause(&conn->tcp, true);
    break;
  case S3L_STEP_CLOSE:
    s3l_test_conn_close(&conn->tcp);
    break;
  case S3L_STEP_CUT:
  case S3L_STEP_RESET:
    s3l_test_conn_cut(&conn->tcp, step->op == S3L_STEP_RESET);
    break;
  }
  if (conn->tcp.closing)
    end(conn);
  else if (over)
    conn->step++;
}

static void wake(s3l_test_conn_t* tcp) {
  conn_t* conn = conn_of(tcp);
  if (tcp->ready && conn->idle != NULL)
    assert_int_equal(uv_idle_start(conn->idle, take_step), 0);
}

static void on_open(s3l_test_conn_t* tcp) {
  conn_t* conn = conn_of(tcp);
  s3l_script_server_t* server = tcp->server->data;
  size_t script =
      server->accepted < server->scripts_len ? server->accepted : server->scripts_len - 1;
  tcp->server->tls = server->tls != NULL ? server->tls->ssl_ctx : NULL;
  conn->server = server;
  conn->step = server->scripts[script];
  server->accepted++;
  conn->idle = calloc(1, sizeof(*conn->idle));
  assert_non_null(conn->idle);
  assert_int_equal(uv_idle_init(tcp->server->loop, conn->idle), 0);
  conn->idle->data = conn;
}

static void on_ready(s3l_test_conn_t* tcp) {
  if (tcp->ssl != NULL && SSL_session_reused(tcp->ssl) == 1)
    conn_of(tcp)->server->resumed++;
  wake(tcp);
}

static void on_data(s3l_test_conn_t* tcp, const char* p, size_t n) {
  conn_t* conn = conn_of(tcp);
  assert_true(n <= sizeof(conn->received) - conn->received_len);
  memcpy(conn->received + conn->received_len, p, n);
  conn->received_len += n;
  wake(tcp);
}

static void on_end(s3l_test_conn_t* tcp, int status) {
  conn_t* conn = conn_of(tcp);
  conn->server->ended++;
  conn->server->strays += (unsigned)conn->received_len;
  if (tcp->ready && conn->step->op == S3L_STEP_EXPECT && !find(conn, conn->step->text))
    conn->server->failures++;
  s3l_test_conn_close(tcp);
  end(conn);
}

void s3l_script_server_start(s3l_script_server_t* server, uv_loop_t* loop) {
  s3l_address_t address;
  struct sockaddr_storage bound = {0};
  assert_true(
      s3l_address_parse(server->ip != NULL ? server->ip : "127.0.0.1", server->port, &address));
  memcpy(&bound, &address, sizeof(address));
  s3l_test_server_init(&server->tcp, loop, sizeof(conn_t));
  server->tcp.data = server;
  server->tcp.unref = server->unref;
  server->tcp.on_open = on_open;
  server->tcp.on_ready = on_ready;
  server->tcp.on_data = on_data;
  server->tcp.on_end = on_end;
  server->tcp.on_sent = wake;
  server->tcp.on_closed = on_closed;
  assert_int_equal(s3l_test_server_listen(&server->tcp, &bound), 0);
  server->port = server->tcp.port;
}

void s3l_script_server_close(s3l_script_server_t* server) {
  if (server->tcp.loop != NULL)
    s3l_test_server_close(&server->tcp, false);
}
