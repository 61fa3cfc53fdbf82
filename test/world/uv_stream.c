/* world/uv_stream.c: uv_tcp_t and uv_poll_t over the simulated kernel; see uv.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "world/handles.h"

#define SOCK(h)      ((h)->u.reserved[0])
#define READS_A_TURN 32

/* ---- Streams ---- */

world_sock_t* world_uv_sock(const void* handle) {
  return SOCK((const uv_handle_t*)handle);
}

static void attach(uv_stream_t* stream, int fd) {
  world_sock_t* s = world_sock(fd);
  SOCK(stream) = s;
  s->stream = stream;
}

static int ensure_sock(uv_tcp_t* tcp) {
  if (world_uv_sock(tcp) != NULL)
    return 0;
  int fd = world_sock_open(world_uv_host(tcp), WORLD_FRESH);
  if (fd < 0)
    return fd;
  attach((uv_stream_t*)tcp, fd);
  return 0;
}

int uv_tcp_init(uv_loop_t* loop, uv_tcp_t* tcp) {
  world_uv_init(loop, tcp, UV_TCP);
  tcp->connect_req = NULL;
  tcp->shutdown_req = NULL;
  tcp->connection_cb = NULL;
  tcp->delayed_error = 0;
  tcp->accepted_fd = -1;
  tcp->write_queue_size = 0;
  s3l_list_init(WORLD_LINK(tcp->write_queue));
  return 0;
}

int uv_tcp_nodelay(uv_tcp_t* tcp, int on) {
  (void)tcp;
  (void)on;
  return 0;
}

int uv_tcp_open(uv_tcp_t* tcp, uv_os_sock_t fd) {
  if (world_sock(fd) == NULL)
    return UV_EBADF;
  attach((uv_stream_t*)tcp, fd);
  return 0;
}

int uv_fileno(const uv_handle_t* handle, uv_os_fd_t* fd) {
  const world_sock_t* s = world_uv_sock(handle);
  if (s == NULL || uv_is_closing(handle))
    return UV_EBADF;
  *fd = s->fd;
  return 0;
}

int uv_send_buffer_size(uv_handle_t* handle, int* value) {
  (void)handle;
  (void)value;
  return 0;
}

int uv_tcp_connect(uv_connect_t* req, uv_tcp_t* tcp, const struct sockaddr* to, uv_connect_cb cb) {
  if (tcp->connect_req != NULL)
    return UV_EALREADY;
  if (to->sa_family != AF_INET)
    return UV_EAFNOSUPPORT;
  int rc = ensure_sock(tcp);
  if (rc != 0)
    return rc;
  req->type = UV_CONNECT;
  req->handle = (uv_stream_t*)tcp;
  req->cb = cb;
  tcp->connect_req = req;
  tcp->flags |= WORLD_ACTIVE;
  world_uv_host(tcp)->requests++;
  return world_sock_connect(world_uv_sock(tcp), (const struct sockaddr_in*)(const void*)to);
}

int uv_tcp_bind(uv_tcp_t* tcp, const struct sockaddr* address, unsigned flags) {
  (void)flags;
  int rc = ensure_sock(tcp);
  return rc != 0
             ? rc
             : world_sock_bind(world_uv_sock(tcp), (const struct sockaddr_in*)(const void*)address);
}

int uv_listen(uv_stream_t* stream, int backlog, uv_connection_cb cb) {
  (void)backlog;
  stream->connection_cb = cb;
  stream->flags |= WORLD_ACTIVE;
  return world_sock_listen(world_uv_sock(stream));
}

int uv_accept(uv_stream_t* server, uv_stream_t* client) {
  if (server->accepted_fd < 0)
    return UV_EAGAIN;
  attach(client, server->accepted_fd);
  server->accepted_fd = -1;
  return 0;
}

static int copy_name(const struct sockaddr_in* from, struct sockaddr* name, int* len) {
  memcpy(name, from, sizeof(*from));
  *len = (int)sizeof(*from);
  return 0;
}

int uv_tcp_getsockname(const uv_tcp_t* tcp, struct sockaddr* name, int* len) {
  return copy_name(&world_uv_sock(tcp)->local, name, len);
}

int uv_tcp_getpeername(const uv_tcp_t* tcp, struct sockaddr* name, int* len) {
  return copy_name(&world_uv_sock(tcp)->remote, name, len);
}

int uv_read_start(uv_stream_t* stream, uv_alloc_cb alloc_cb, uv_read_cb read_cb) {
  world_sock_t* s = world_uv_sock(stream);
  if (uv_is_closing(WORLD_HANDLE(stream)))
    return UV_EINVAL;
  if (s == NULL || (s->state != WORLD_OPEN && s->error == 0))
    return UV_ENOTCONN;
  if (stream->flags & WORLD_READING)
    return UV_EALREADY;
  stream->alloc_cb = alloc_cb;
  stream->read_cb = read_cb;
  stream->flags |= WORLD_READING | WORLD_ACTIVE;
  world_sock_poke(s);
  return 0;
}

int uv_read_stop(uv_stream_t* stream) {
  stream->flags &= ~(unsigned)(WORLD_READING | WORLD_ACTIVE);
  return 0;
}

static bool is_reading(const uv_stream_t* stream) {
  return (stream->flags & WORLD_READING) != 0 && (stream->flags & WORLD_CLOSING) == 0;
}

static void read_stream(uv_stream_t* stream) {
  for (int i = 0; i < READS_A_TURN && is_reading(stream); i++) {
    uv_buf_t buf = {0};
    stream->alloc_cb(WORLD_HANDLE(stream), 65536, &buf);
    if (buf.base == NULL || buf.len == 0) {
      stream->read_cb(stream, UV_ENOBUFS, &buf);
      return;
    }
    ssize_t n = world_sock_recv(world_uv_sock(stream), buf.base, buf.len);
    if (n == 0 || (n < 0 && n != -EAGAIN)) {
      (void)uv_read_stop(stream);
      stream->read_cb(stream, n == 0 ? UV_EOF : n, &buf);
      return;
    }
    stream->read_cb(stream, n < 0 ? 0 : n, &buf);
    if (n < (ssize_t)buf.len)
      return;
  }
}

/* ---- Writing ---- */

int uv_write(uv_write_t* req, uv_stream_t* stream, const uv_buf_t bufs[], unsigned n,
             uv_write_cb cb) {
  if (world_uv_sock(stream) == NULL || (stream->flags & WORLD_SHUT) != 0)
    return UV_EPIPE;
  if (n != 1)
    abort(); /* nobody writes more at once */
  req->type = UV_WRITE;
  req->handle = stream;
  req->cb = cb;
  req->bufsml[0] = bufs[0];
  req->error = 0;
  world_uv_host(stream)->requests++;
  stream->write_queue_size += bufs[0].len;
  s3l_list_push_back(WORLD_LINK(stream->write_queue), WORLD_LINK(req->queue));
  world_sock_poke(world_uv_sock(stream));
  return 0;
}

static void end_write(uv_write_t* req, int status) {
  s3l_list_remove(WORLD_LINK(req->queue));
  world_uv_host(req->handle)->requests--;
  req->handle->write_queue_size -= req->bufsml[0].len;
  if (req->cb != NULL)
    req->cb(req, status);
}

static void write_stream(uv_stream_t* stream) {
  while (!s3l_list_empty(WORLD_LINK(stream->write_queue)) && (stream->flags & WORLD_CLOSING) == 0) {
    uv_write_t* req = S3L_CONTAINER_OF(WORLD_LINK(stream->write_queue)->next, uv_write_t, queue);
    uv_buf_t* buf = &req->bufsml[0];
    ssize_t n = world_sock_send(world_uv_sock(stream), buf->base, buf->len);
    if (n == -EAGAIN)
      return;
    if (n >= 0 && (size_t)n < buf->len) {
      buf->base += n;
      buf->len -= (size_t)n;
      stream->write_queue_size -= (size_t)n;
      continue;
    }
    end_write(req, n < 0 ? (int)n : 0);
  }
}

int uv_shutdown(uv_shutdown_t* req, uv_stream_t* stream, uv_shutdown_cb cb) {
  const world_sock_t* s = world_uv_sock(stream);
  if (s == NULL || s->state != WORLD_OPEN || (stream->flags & (WORLD_SHUT | WORLD_CLOSING)) != 0)
    return UV_ENOTCONN;
  req->type = UV_SHUTDOWN;
  req->handle = stream;
  req->cb = cb;
  stream->shutdown_req = req;
  stream->flags |= WORLD_SHUT;
  world_uv_host(stream)->requests++;
  world_sock_poke(world_uv_sock(stream));
  return 0;
}

static void end_shutdown(uv_stream_t* stream, int status) {
  uv_shutdown_t* req = stream->shutdown_req;
  stream->shutdown_req = NULL;
  world_uv_host(stream)->requests--;
  if (status == 0)
    world_sock_shutdown(world_uv_sock(stream));
  if (req->cb != NULL)
    req->cb(req, status);
}

static void end_connect(uv_stream_t* stream, int status) {
  uv_connect_t* req = stream->connect_req;
  stream->connect_req = NULL;
  stream->flags &= ~(unsigned)WORLD_ACTIVE;
  world_uv_host(stream)->requests--;
  if (req->cb != NULL)
    req->cb(req, status);
}

static void accept_all(uv_stream_t* server) {
  while (server->accepted_fd < 0 && (server->flags & WORLD_CLOSING) == 0) {
    int fd = world_sock_accept(world_uv_sock(server));
    if (fd < 0)
      return;
    server->accepted_fd = fd;
    server->connection_cb(server, 0);
  }
}

/* ---- Polling ---- */

int uv_poll_init(uv_loop_t* loop, uv_poll_t* poll, int fd) {
  world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return UV_EBADF;
  world_uv_init(loop, poll, UV_POLL);
  SOCK(poll) = s;
  return 0;
}

int uv_poll_start(uv_poll_t* poll, int events, uv_poll_cb cb) {
  world_sock_t* s = world_uv_sock(poll);
  if (events != UV_READABLE)
    abort();
  poll->poll_cb = cb;
  poll->flags |= WORLD_ACTIVE;
  s->poll = poll;
  world_sock_poke(s);
  return 0;
}

int uv_poll_stop(uv_poll_t* poll) {
  world_sock_t* s = world_uv_sock(poll);
  poll->flags &= ~(unsigned)WORLD_ACTIVE;
  if (s != NULL && s->poll == poll)
    s->poll = NULL;
  return 0;
}

bool world_uv_wants(const world_sock_t* s) {
  const uv_stream_t* stream = s->stream;
  if (s->poll != NULL)
    return world_sock_is_readable(s);
  if (stream == NULL || (stream->flags & WORLD_CLOSING) != 0)
    return false;
  if (stream->connect_req != NULL)
    return s->connected || s->error != 0;
  if (stream->connection_cb != NULL)
    return stream->accepted_fd < 0 && world_sock_is_readable(s);
  if ((stream->flags & WORLD_READING) != 0 && world_sock_is_readable(s))
    return true;
  if (stream->shutdown_req != NULL && s3l_list_empty(WORLD_LINK(stream->write_queue)))
    return true;
  return !s3l_list_empty(WORLD_LINK(stream->write_queue)) && world_sock_is_writable(s);
}

static void serve_stream(uv_stream_t* stream) {
  world_sock_t* s = world_uv_sock(stream);
  if (stream->connect_req != NULL) {
    end_connect(stream, -s->error);
    return;
  }
  if (stream->connection_cb != NULL) {
    accept_all(stream);
    return;
  }
  if (is_reading(stream) && world_sock_is_readable(s))
    read_stream(stream);
  if ((stream->flags & WORLD_CLOSING) == 0)
    write_stream(stream);
  if ((stream->flags & WORLD_CLOSING) == 0 && stream->shutdown_req != NULL &&
      s3l_list_empty(WORLD_LINK(stream->write_queue)))
    end_shutdown(stream, s->error != 0 ? -s->error : 0);
}

/* A socket that a callback closes leaves the list; what it wants after its callbacks is for the
 * next turn. */
void world_uv_run_ready(world_host_t* h) {
  s3l_list_t now;
  if (s3l_list_empty(&h->ready))
    return;
  s3l_list_move(&h->ready, &now);
  while (!s3l_list_empty(&now)) {
    world_sock_t* s = S3L_CONTAINER_OF(now.next, world_sock_t, ready);
    int fd = s->fd;
    s3l_list_remove(&s->ready);
    if (!world_uv_wants(s))
      continue;
    if (s->poll != NULL)
      s->poll->poll_cb(s->poll, 0, UV_READABLE);
    else
      serve_stream(s->stream);
    if (world_sock(fd) == s)
      world_sock_poke(s);
  }
}

/* ---- Closing ---- */

void world_uv_close_stream(uv_stream_t* stream) {
  if (world_uv_sock(stream) != NULL)
    world_sock_close(world_uv_sock(stream), false);
}

int uv_tcp_close_reset(uv_tcp_t* tcp, uv_close_cb cb) {
  if (tcp->flags & WORLD_SHUT)
    return UV_EINVAL;
  world_sock_t* s = world_uv_sock(tcp);
  if (s != NULL)
    world_sock_close(s, true);
  SOCK(tcp) = NULL;
  uv_close(WORLD_HANDLE(tcp), cb);
  return 0;
}

void world_uv_end_stream(uv_stream_t* stream) {
  if (stream->connect_req != NULL)
    end_connect(stream, UV_ECANCELED);
  while (!s3l_list_empty(WORLD_LINK(stream->write_queue)))
    end_write(S3L_CONTAINER_OF(WORLD_LINK(stream->write_queue)->next, uv_write_t, queue),
              UV_ECANCELED);
  if (stream->shutdown_req != NULL)
    end_shutdown(stream, UV_ECANCELED);
}
