#include "lib/test_server.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LINGER_MS 2000
#define BACKLOG   1024

typedef struct write_s {
  uv_write_t req;
  s3l_test_conn_t* conn;
  size_t n;
  char bytes[];
} write_t;

static void* must(void* p) {
  if (p == NULL)
    abort();
  return p;
}

static void must_work(int err) {
  if (err != 0) {
    fprintf(stderr, "test server: %s\n", uv_strerror(err));
    abort();
  }
}

/* ---- Closing ---- */

static void one_less(s3l_test_server_t* s) {
  s->open--;
  if (s->on_quiet != NULL)
    s->on_quiet(s);
}

static void on_closed(uv_handle_t* handle) {
  s3l_test_conn_t* c = handle->data;
  s3l_test_server_t* s = c->server;
  if (--c->handles > 0)
    return;
  if (s->on_closed != NULL)
    s->on_closed(c);
  SSL_free(c->ssl);
  free(c);
  one_less(s);
}

void s3l_test_conn_cut(s3l_test_conn_t* c, bool reset) {
  if (c->closing)
    return;
  c->closing = true;
  s3l_list_remove(&c->link);
  c->server->conns_n--;
  if (!reset || uv_tcp_close_reset(&c->tcp, on_closed) != 0)
    uv_close((uv_handle_t*)&c->tcp, on_closed);
  uv_close((uv_handle_t*)&c->linger, on_closed);
}

/* ---- Sending ---- */

static void on_written(uv_write_t* req, int status) {
  write_t* w = (write_t*)(void*)req;
  s3l_test_conn_t* c = w->conn;
  c->unsent -= w->n;
  free(w);
  if (c->closing)
    return;
  if (status != 0)
    c->server->on_end(c, status);
  else if (c->unsent == 0 && c->reset)
    s3l_test_conn_cut(c, true);
  else if (c->unsent == 0 && c->server->on_sent != NULL)
    c->server->on_sent(c);
}

/* Sends what the kernel takes at once. uv_write would raise SIGPIPE if the client has closed; here
 * that is found by reading. */
static size_t send_now(s3l_test_conn_t* c, const char* p, size_t n) {
  uv_os_fd_t fd;
  if (c->unsent > 0 || uv_fileno((uv_handle_t*)&c->tcp, &fd) != 0)
    return 0;
  ssize_t sent = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0)
    return errno == EAGAIN || errno == EINTR ? 0 : n;
  return (size_t)sent;
}

static void write_wire(s3l_test_conn_t* c, const char* p, size_t n) {
  size_t sent = send_now(c, p, n);
  p += sent;
  n -= sent;
  if (n == 0)
    return;
  write_t* w = must(malloc(sizeof(*w) + n));
  w->conn = c;
  w->n = n;
  memcpy(w->bytes, p, n);
  uv_buf_t buf = uv_buf_init(w->bytes, (unsigned)n);
  c->unsent += n;
  if (uv_write(&w->req, (uv_stream_t*)&c->tcp, &buf, 1, on_written) == 0)
    return;
  c->unsent -= n; /* shut down already */
  free(w);
}

/* Sends the records that TLS has produced. */
static void flush(s3l_test_conn_t* c) {
  char* p;
  long n = BIO_get_mem_data(SSL_get_wbio(c->ssl), &p);
  if (n > 0)
    write_wire(c, p, (size_t)n);
  (void)BIO_reset(SSL_get_wbio(c->ssl));
  ERR_clear_error();
}

void s3l_test_conn_send(s3l_test_conn_t* c, const char* p, size_t n) {
  if (c->closing || n == 0)
    return;
  if (c->ssl == NULL) {
    write_wire(c, p, n);
    return;
  }
  ERR_clear_error();
  if (SSL_write(c->ssl, p, (int)n) != (int)n)
    s3l_test_conn_reset_sent(c);
  flush(c);
}

static void send_close_notify(s3l_test_conn_t* c) {
  if (c->ssl == NULL)
    return;
  ERR_clear_error();
  (void)SSL_shutdown(c->ssl);
  flush(c);
}

void s3l_test_conn_close(s3l_test_conn_t* c) {
  if (c->closing)
    return;
  send_close_notify(c);
  s3l_test_conn_cut(c, false);
}

static void on_shutdown(uv_shutdown_t* req, int status) {}

void s3l_test_conn_shutdown(s3l_test_conn_t* c) {
  if (!c->closing && uv_shutdown(&c->shutdown, (uv_stream_t*)&c->tcp, on_shutdown) != 0)
    s3l_test_conn_cut(c, false);
}

static void on_linger(uv_timer_t* timer) {
  s3l_test_conn_t* c = timer->data;
  s3l_test_conn_cut(c, c->reset);
}

void s3l_test_conn_reset_sent(s3l_test_conn_t* c) {
  if (c->closing)
    return;
  c->deaf = true;
  c->reset = true;
  if (c->unsent == 0)
    must_work(uv_timer_start(&c->linger, on_linger, 0, 0));
}

/* Closing with unread bytes would reset the connection, and data in flight would be lost. */
void s3l_test_conn_linger(s3l_test_conn_t* c) {
  if (c->closing)
    return;
  c->deaf = true;
  send_close_notify(c);
  s3l_test_conn_pause(c, false);
  s3l_test_conn_shutdown(c);
  if (c->closing)
    return;
  uv_update_time(c->server->loop);
  must_work(uv_timer_start(&c->linger, on_linger, LINGER_MS, 0));
}

/* ---- Receiving ---- */

static void be_ready(s3l_test_conn_t* c) {
  c->ready = true;
  if (c->server->on_ready != NULL)
    c->server->on_ready(c);
}

static void begin_tls(s3l_test_conn_t* c) {
  BIO* in = must(BIO_new(BIO_s_mem()));
  BIO* out = must(BIO_new(BIO_s_mem()));
  c->ssl = must(SSL_new(c->server->tls));
  SSL_set_bio(c->ssl, in, out);
  SSL_set_accept_state(c->ssl);
}

static void receive_tls(s3l_test_conn_t* c, const char* p, size_t n) {
  char plain[4096];
  int got;
  if (BIO_write(SSL_get_rbio(c->ssl), p, (int)n) != (int)n)
    abort();
  do {
    ERR_clear_error();
    got = SSL_read(c->ssl, plain, sizeof(plain));
    int err = SSL_get_error(c->ssl, got);
    flush(c);
    if (!c->ready && SSL_is_init_finished(c->ssl))
      be_ready(c);
    if (got > 0 && !c->deaf && !c->closing)
      c->server->on_data(c, plain, (size_t)got);
    else if (got <= 0 && err != SSL_ERROR_WANT_READ && !c->deaf && !c->closing)
      c->server->on_end(c, UV_EPROTO);
  } while (got > 0 && !c->closing);
}

static void on_alloc(uv_handle_t* handle, size_t hint, uv_buf_t* buf) {
  s3l_test_server_t* s = ((s3l_test_conn_t*)handle->data)->server;
  *buf = uv_buf_init(s->buf, sizeof(s->buf));
}

static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buf) {
  s3l_test_conn_t* c = stream->data;
  s3l_test_server_t* s = c->server;
  if (n == 0 || c->closing || (n > 0 && c->deaf))
    return;
  if (n < 0) {
    (void)uv_read_stop(stream);
    s->on_end(c, (int)n);
    return;
  }
  if (!c->begun) {
    c->begun = true;
    if (s->tls != NULL && (s->wants_tls == NULL || s->wants_tls(c, buf->base[0])))
      begin_tls(c);
    else if (!c->ready)
      be_ready(c);
    if (c->closing)
      return;
  }
  if (c->ssl != NULL)
    receive_tls(c, buf->base, (size_t)n);
  else
    s->on_data(c, buf->base, (size_t)n);
}

static void read_on(s3l_test_conn_t* c) {
  must_work(uv_read_start((uv_stream_t*)&c->tcp, on_alloc, on_read));
}

void s3l_test_conn_pause(s3l_test_conn_t* c, bool pause) {
  if (c->closing || pause == c->paused)
    return;
  c->paused = pause;
  if (pause)
    (void)uv_read_stop((uv_stream_t*)&c->tcp);
  else
    read_on(c);
}

/* ---- Connections ---- */

static s3l_test_conn_t* new_conn(s3l_test_server_t* s) {
  s3l_test_conn_t* c = must(calloc(1, s->conn_size));
  c->server = s;
  must_work(uv_tcp_init(s->loop, &c->tcp));
  must_work(uv_timer_init(s->loop, &c->linger));
  c->tcp.data = c->linger.data = c->connect.data = c;
  c->handles = 2;
  s->open++;
  s->conns_n++;
  s3l_list_push_back(&s->conns, &c->link);
  if (s->unref)
    uv_unref((uv_handle_t*)&c->tcp);
  return c;
}

static void on_connection(uv_stream_t* listener, int status) {
  s3l_test_server_t* s = listener->data;
  if (status != 0)
    return;
  s->accepted++;
  s3l_test_conn_t* c = new_conn(s);
  if (uv_accept(listener, (uv_stream_t*)&c->tcp) != 0) {
    s3l_test_conn_cut(c, false);
    return;
  }
  (void)uv_tcp_nodelay(&c->tcp, 1);
  read_on(c);
  if (s->on_open != NULL)
    s->on_open(c);
  if (s->tls == NULL && !c->closing)
    be_ready(c);
}

static void on_connected(uv_connect_t* connect, int status) {
  s3l_test_conn_t* c = connect->data;
  if (c->closing)
    return;
  if (status != 0) {
    c->server->on_end(c, status);
    return;
  }
  (void)uv_tcp_nodelay(&c->tcp, 1);
  read_on(c);
  be_ready(c);
}

s3l_test_conn_t* s3l_test_server_dial(s3l_test_server_t* s, const struct sockaddr* to) {
  s3l_test_conn_t* c = new_conn(s);
  must_work(uv_tcp_connect(&c->connect, &c->tcp, to, on_connected));
  return c;
}

/* ---- The server ---- */

void s3l_test_server_init(s3l_test_server_t* s, uv_loop_t* loop, size_t conn_size) {
  memset(s, 0, sizeof(*s));
  s->loop = loop;
  s->conn_size = conn_size;
  s3l_list_init(&s->conns);
}

static void on_listener_closed(uv_handle_t* handle) {
  s3l_test_server_t* s = handle->data;
  free(handle);
  one_less(s);
}

void s3l_test_server_unlisten(s3l_test_server_t* s) {
  if (s->listener != NULL)
    uv_close((uv_handle_t*)s->listener, on_listener_closed);
  s->listener = NULL;
}

/* libuv sets SO_REUSEADDR, so a port can be bound again as soon as its listener has closed. */
int s3l_test_server_listen(s3l_test_server_t* s, struct sockaddr_storage* address) {
  int len = sizeof(*address);
  s->listener = must(malloc(sizeof(*s->listener)));
  must_work(uv_tcp_init(s->loop, s->listener));
  s->listener->data = s;
  s->open++;
  if (s->unref)
    uv_unref((uv_handle_t*)s->listener);
  int err = uv_tcp_bind(s->listener, (const struct sockaddr*)address, 0);
  if (err == 0)
    err = uv_listen((uv_stream_t*)s->listener, BACKLOG, on_connection);
  if (err == 0)
    err = uv_tcp_getsockname(s->listener, (struct sockaddr*)address, &len);
  if (err != 0)
    s3l_test_server_unlisten(s);
  s->port = ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6*)address)->sin6_port
                                                 : ((const struct sockaddr_in*)address)->sin_port);
  return err;
}

void s3l_test_server_close(s3l_test_server_t* s, bool reset) {
  s3l_test_server_unlisten(s);
  for (s3l_list_t* next; !s3l_list_empty(&s->conns);) {
    next = s->conns.next;
    s3l_test_conn_t* c = S3L_CONTAINER_OF(next, s3l_test_conn_t, link);
    if (reset)
      s3l_test_conn_cut(c, true);
    else
      s3l_test_conn_close(c);
  }
}
