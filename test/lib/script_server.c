#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/script_server.h"
#include "net/dial.h"
#include "net/stream.h"
#include "net/tcp.h"

#define RECEIVED_MAX 65536

typedef struct conn_s {
  s3l_script_server_t* server;
  s3l_list_t link;
  uv_idle_t idle; /* runs while there is a step to take */
  s3l_stream_t stream;
  const s3l_step_t* step;
  size_t sent; /* of the step's text */
  bool writing;
  unsigned handles;
  size_t received_len;
  char received[RECEIVED_MAX];
  char read_buf[S3L_STREAM_READ_MAX];
} conn_t;

static void on_idle_closed(uv_handle_t* handle);

static void conn_close(conn_t* conn) {
  if (!conn->stream.closing)
    s3l_stream_close(&conn->stream);
  if (!uv_is_closing((uv_handle_t*)&conn->idle))
    uv_close((uv_handle_t*)&conn->idle, on_idle_closed);
}

static void handle_closed(conn_t* conn) {
  if (--conn->handles > 0)
    return;
  s3l_list_remove(&conn->link);
  free(conn);
}

static void on_idle_closed(uv_handle_t* handle) {
  handle_closed(S3L_CONTAINER_OF(handle, conn_t, idle));
}

static void on_stream_closed(s3l_stream_t* stream) {
  conn_t* conn = S3L_CONTAINER_OF(stream, conn_t, stream);
  handle_closed(conn);
}

static void take_step(uv_idle_t* idle);

static void wake(conn_t* conn) {
  if (!uv_is_closing((uv_handle_t*)&conn->idle))
    assert_int_equal(uv_idle_start(&conn->idle, take_step), 0);
}

static bool find(conn_t* conn, const char* text, size_t len) {
  char* at = memmem(conn->received, conn->received_len, text, len);
  if (at == NULL)
    return false;
  size_t used = (size_t)(at - conn->received) + len;
  memmove(conn->received, conn->received + used, conn->received_len - used);
  conn->received_len -= used;
  return true;
}

static void reset(conn_t* conn) {
  struct linger off = {.l_onoff = 1, .l_linger = 0};
  uv_os_fd_t fd;
  assert_int_equal(uv_fileno((uv_handle_t*)conn->stream.tcp, &fd), 0);
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off)), 0);
  conn->stream.engine.failed = true; /* no close_notify */
  conn_close(conn);
}

/* True when the step is over. */
static bool send_piece(conn_t* conn) {
  const s3l_step_t* step = conn->step;
  size_t len = step->len != 0 ? step->len : strlen(step->text);
  size_t n = len - conn->sent;
  bool handed;
  if (step->n != 0 && n > step->n)
    n = step->n;
  int rc = s3l_stream_write(&conn->stream, step->text + conn->sent, n, &handed);
  if (rc < 0) {
    conn->server->ended++;
    conn_close(conn);
    return false;
  }
  conn->writing = rc == S3L_STREAM_PENDING;
  conn->sent += n;
  if (conn->sent < len)
    return false;
  conn->sent = 0;
  return true;
}

static void take_step(uv_idle_t* idle) {
  conn_t* conn = S3L_CONTAINER_OF(idle, conn_t, idle);
  const s3l_step_t* step = conn->step;
  size_t len = step->text != NULL ? strlen(step->text) : 0;
  bool again = true;
  switch (step->op) {
  case S3L_STEP_END:
    again = false;
    break;
  case S3L_STEP_EXPECT:
    again = find(conn, step->text, len);
    if (again)
      conn->step++;
    break;
  case S3L_STEP_SEND:
    if (send_piece(conn))
      conn->step++;
    again = !conn->writing && !conn->stream.closing;
    break;
  case S3L_STEP_CALL:
    conn->step++;
    conn->server->on_call(conn->server);
    break;
  case S3L_STEP_DEAF:
    conn->step++;
    (void)uv_read_stop((uv_stream_t*)conn->stream.tcp);
    break;
  case S3L_STEP_CLOSE:
    conn_close(conn);
    break;
  case S3L_STEP_CUT:
    conn->stream.engine.failed = true; /* then nothing is said at the close */
    conn_close(conn);
    break;
  case S3L_STEP_RESET:
    reset(conn);
    break;
  }
  if (!again)
    (void)uv_idle_stop(idle);
}

static void on_stream_ready(s3l_stream_t* stream) {
  conn_t* conn = S3L_CONTAINER_OF(stream, conn_t, stream);
  if (stream->tls && stream->engine.resumed)
    conn->server->resumed++;
  wake(conn);
}

static void on_stream_read(s3l_stream_t* stream, const char* data, size_t n) {
  conn_t* conn = S3L_CONTAINER_OF(stream, conn_t, stream);
  assert_true(n <= sizeof(conn->received) - conn->received_len);
  memcpy(conn->received + conn->received_len, data, n);
  conn->received_len += n;
  if (!conn->writing)
    wake(conn);
}

static void on_stream_end(s3l_stream_t* stream, int status) {
  conn_t* conn = S3L_CONTAINER_OF(stream, conn_t, stream);
  (void)status;
  conn->server->ended++;
  conn->server->strays += (unsigned)conn->received_len;
  if (stream->ready && conn->step->op == S3L_STEP_EXPECT &&
      !find(conn, conn->step->text, strlen(conn->step->text)))
    conn->server->failures++;
  conn_close(conn);
}

static void on_stream_written(s3l_stream_t* stream, int status) {
  conn_t* conn = S3L_CONTAINER_OF(stream, conn_t, stream);
  conn->writing = false;
  if (status == 0)
    wake(conn);
}

static void on_connection(uv_stream_t* listener, int status) {
  s3l_script_server_t* server = S3L_CONTAINER_OF(listener, s3l_script_server_t, listener);
  assert_int_equal(status, 0);
  server->accepting = true;
  conn_t* conn = calloc(1, sizeof(*conn));
  uv_tcp_t* tcp = s3l_tcp_new(server->loop);
  assert_non_null(conn);
  assert_non_null(tcp);
  assert_int_equal(uv_accept(listener, (uv_stream_t*)tcp), 0);
  conn->server = server;
  conn->handles = 2;
  size_t script =
      server->accepted < server->scripts_len ? server->accepted : server->scripts_len - 1;
  conn->step = server->scripts[script];
  server->accepted++;
  s3l_list_push_back(&server->conns, &conn->link);
  assert_int_equal(uv_idle_init(server->loop, &conn->idle), 0);
  conn->stream.read_buf = conn->read_buf;
  conn->stream.on_ready = on_stream_ready;
  conn->stream.on_read = on_stream_read;
  conn->stream.on_end = on_stream_end;
  conn->stream.on_written = on_stream_written;
  conn->stream.on_closed = on_stream_closed;
  assert_int_equal(s3l_stream_open(&conn->stream, tcp, server->tls, NULL), 0);
  server->accepting = false;
  if (server->unref)
    s3l_stream_ref(&conn->stream, false);
  if (server->tls == NULL)
    on_stream_ready(&conn->stream);
}

void s3l_script_server_start(s3l_script_server_t* server, uv_loop_t* loop) {
  s3l_address_t address;
  int len = sizeof(address);
  server->loop = loop;
  s3l_list_init(&server->conns);
  assert_true(
      s3l_address_parse(server->ip != NULL ? server->ip : "127.0.0.1", server->port, &address));
  assert_int_equal(uv_tcp_init(loop, &server->listener), 0);
  assert_int_equal(uv_tcp_bind(&server->listener, &address.sa, 0), 0);
  assert_int_equal(uv_listen((uv_stream_t*)&server->listener, 16, on_connection), 0);
  assert_int_equal(uv_tcp_getsockname(&server->listener, &address.sa, &len), 0);
  server->port =
      ntohs(address.sa.sa_family == AF_INET6 ? address.in6.sin6_port : address.in4.sin_port);
  server->listening = true;
  if (server->unref)
    uv_unref((uv_handle_t*)&server->listener);
}

void s3l_script_server_close(s3l_script_server_t* server) {
  if (server->listening)
    uv_close((uv_handle_t*)&server->listener, NULL);
  server->listening = false;
  for (s3l_list_t* l = server->conns.next; l != &server->conns; l = l->next)
    conn_close(S3L_CONTAINER_OF(l, conn_t, link));
}
