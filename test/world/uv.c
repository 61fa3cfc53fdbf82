/* world/uv.c: the part of libuv that src/loop, src/net and the fake S3 use, over the simulated
 * kernel. It behaves as libuv 1.44 on Linux does: the order of a turn (timers, idle, I/O, closing),
 * callbacks never inside calls, level-triggered polling, UV_ECANCELED at close. What libuv computes
 * only (names of errors, addresses as text) is taken from libuv itself. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/names.h"
#include "world/socket.h"

enum { ACTIVE = 1, REF = 2, CLOSING = 4, READING = 8, WRITING_OUT = 16 };

#define HANDLE(h)     ((uv_handle_t*)(h))
#define LINK(q)       ((s3l_list_t*)(void*)(q))
#define SOCK(h)       ((h)->u.reserved[0])
#define READS_A_TURN  32
#define DUE_WITHIN_MS 1

static void* must(void* p) {
  if (p == NULL)
    abort();
  return p;
}

static world_host_t* host_of(const void* handle) {
  return world_host_of(((const uv_handle_t*)handle)->loop);
}

static void init_handle(uv_loop_t* loop, void* handle, uv_handle_type type) {
  uv_handle_t* h = handle;
  h->loop = loop;
  h->type = type;
  h->close_cb = NULL;
  h->flags = REF;
  h->next_closing = NULL;
  memset(&h->u, 0, sizeof(h->u));
  s3l_list_push_back(&host_of(h)->handles, LINK(h->handle_queue));
}

void uv_ref(uv_handle_t* h) {
  h->flags |= REF;
}

void uv_unref(uv_handle_t* h) {
  h->flags &= ~(unsigned)REF;
}

int uv_is_active(const uv_handle_t* h) {
  return (h->flags & ACTIVE) != 0;
}

int uv_is_closing(const uv_handle_t* h) {
  return (h->flags & CLOSING) != 0;
}

/* ---- Time ---- */

static uint64_t timer_ms(const world_host_t* h) {
  return (uint64_t)(sim_clock_read(&h->timer, world.now) / WORLD_MS);
}

void uv_update_time(uv_loop_t* loop) {
  loop->time = timer_ms(world_host_of(loop));
}

uint64_t uv_now(const uv_loop_t* loop) {
  return loop->time;
}

uint64_t uv_hrtime(void) {
  return (uint64_t)sim_clock_read(&world.here->timer, world.now);
}

int uv_timer_init(uv_loop_t* loop, uv_timer_t* t) {
  init_handle(loop, t, UV_TIMER);
  s3l_list_init(LINK(t->heap_node));
  return 0;
}

int uv_timer_stop(uv_timer_t* t) {
  t->flags &= ~(unsigned)ACTIVE;
  s3l_list_remove(LINK(t->heap_node));
  return 0;
}

int uv_timer_start(uv_timer_t* t, uv_timer_cb cb, uint64_t timeout, uint64_t repeat) {
  world_host_t* h = host_of(t);
  if (uv_is_closing(HANDLE(t)) || cb == NULL)
    return UV_EINVAL;
  (void)uv_timer_stop(t);
  t->timer_cb = cb;
  t->timeout = t->loop->time + timeout < timeout ? UINT64_MAX : t->loop->time + timeout;
  t->repeat = repeat;
  t->start_id = h->timer_order++;
  t->flags |= ACTIVE;
  s3l_list_push_back(&h->timers, LINK(t->heap_node));
  if (world.here != h)
    world_wake(h);
  return 0;
}

static uv_timer_t* first_timer(const world_host_t* h) {
  uv_timer_t* first = NULL;
  for (s3l_list_t* l = h->timers.next; l != &h->timers; l = l->next) {
    uv_timer_t* t = S3L_CONTAINER_OF(l, uv_timer_t, heap_node);
    if (first == NULL || t->timeout < first->timeout ||
        (t->timeout == first->timeout && t->start_id < first->start_id))
      first = t;
  }
  return first;
}

static void run_timers(world_host_t* h) {
  uv_timer_t* t;
  while ((t = first_timer(h)) != NULL && t->timeout <= h->loop.time) {
    (void)uv_timer_stop(t);
    if (t->repeat > 0)
      (void)uv_timer_start(t, t->timer_cb, t->repeat, t->repeat);
    t->timer_cb(t);
  }
}

/* ---- Idle ---- */

int uv_idle_init(uv_loop_t* loop, uv_idle_t* idle) {
  init_handle(loop, idle, UV_IDLE);
  s3l_list_init(LINK(idle->queue));
  return 0;
}

int uv_idle_start(uv_idle_t* idle, uv_idle_cb cb) {
  if (uv_is_active(HANDLE(idle)))
    return 0;
  idle->idle_cb = cb;
  idle->flags |= ACTIVE;
  s3l_list_push_back(&host_of(idle)->idles, LINK(idle->queue));
  if (world.here != host_of(idle))
    world_wake(host_of(idle));
  return 0;
}

int uv_idle_stop(uv_idle_t* idle) {
  idle->flags &= ~(unsigned)ACTIVE;
  s3l_list_remove(LINK(idle->queue));
  return 0;
}

static void run_idles(world_host_t* h) {
  s3l_list_t now;
  if (s3l_list_empty(&h->idles))
    return;
  s3l_list_move(&h->idles, &now);
  while (!s3l_list_empty(&now)) {
    uv_idle_t* idle = S3L_CONTAINER_OF(now.next, uv_idle_t, queue);
    s3l_list_remove(LINK(idle->queue));
    s3l_list_push_back(&h->idles, LINK(idle->queue));
    idle->idle_cb(idle);
  }
}

/* ---- Streams ---- */

static world_sock_t* sock_of(const void* handle) {
  return SOCK((const uv_handle_t*)handle);
}

static void attach(uv_stream_t* stream, int fd) {
  world_sock_t* s = world_sock(fd);
  SOCK(stream) = s;
  s->stream = stream;
}

static int ensure_sock(uv_tcp_t* tcp) {
  if (sock_of(tcp) != NULL)
    return 0;
  int fd = world_sock_open(host_of(tcp), WORLD_FRESH);
  if (fd < 0)
    return fd;
  attach((uv_stream_t*)tcp, fd);
  return 0;
}

int uv_tcp_init(uv_loop_t* loop, uv_tcp_t* tcp) {
  init_handle(loop, tcp, UV_TCP);
  tcp->connect_req = NULL;
  tcp->shutdown_req = NULL;
  tcp->connection_cb = NULL;
  tcp->delayed_error = 0;
  tcp->accepted_fd = -1;
  tcp->write_queue_size = 0;
  s3l_list_init(LINK(tcp->write_queue));
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
  const world_sock_t* s = sock_of(handle);
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
  tcp->flags |= ACTIVE;
  host_of(tcp)->requests++;
  return world_sock_connect(sock_of(tcp), (const struct sockaddr_in*)(const void*)to);
}

int uv_tcp_bind(uv_tcp_t* tcp, const struct sockaddr* address, unsigned flags) {
  (void)flags;
  int rc = ensure_sock(tcp);
  return rc != 0 ? rc
                 : world_sock_bind(sock_of(tcp), (const struct sockaddr_in*)(const void*)address);
}

int uv_listen(uv_stream_t* stream, int backlog, uv_connection_cb cb) {
  (void)backlog;
  stream->connection_cb = cb;
  stream->flags |= ACTIVE;
  return world_sock_listen(sock_of(stream));
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
  return copy_name(&sock_of(tcp)->local, name, len);
}

int uv_tcp_getpeername(const uv_tcp_t* tcp, struct sockaddr* name, int* len) {
  return copy_name(&sock_of(tcp)->remote, name, len);
}

int uv_read_start(uv_stream_t* stream, uv_alloc_cb alloc_cb, uv_read_cb read_cb) {
  world_sock_t* s = sock_of(stream);
  if (uv_is_closing(HANDLE(stream)))
    return UV_EINVAL;
  if (s == NULL || (s->state != WORLD_OPEN && s->error == 0))
    return UV_ENOTCONN;
  if (stream->flags & READING)
    return UV_EALREADY;
  stream->alloc_cb = alloc_cb;
  stream->read_cb = read_cb;
  stream->flags |= READING | ACTIVE;
  world_sock_poke(s);
  return 0;
}

int uv_read_stop(uv_stream_t* stream) {
  stream->flags &= ~(unsigned)(READING | ACTIVE);
  return 0;
}

static bool is_reading(const uv_stream_t* stream) {
  return (stream->flags & READING) != 0 && (stream->flags & CLOSING) == 0;
}

static void read_stream(uv_stream_t* stream) {
  for (int i = 0; i < READS_A_TURN && is_reading(stream); i++) {
    uv_buf_t buf = {0};
    stream->alloc_cb(HANDLE(stream), 65536, &buf);
    if (buf.base == NULL || buf.len == 0) {
      stream->read_cb(stream, UV_ENOBUFS, &buf);
      return;
    }
    ssize_t n = world_sock_recv(sock_of(stream), buf.base, buf.len);
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
  if (sock_of(stream) == NULL || (stream->flags & WRITING_OUT) != 0)
    return UV_EPIPE;
  if (n != 1)
    abort(); /* nobody writes more at once */
  req->type = UV_WRITE;
  req->handle = stream;
  req->cb = cb;
  req->bufsml[0] = bufs[0];
  req->error = 0;
  host_of(stream)->requests++;
  stream->write_queue_size += bufs[0].len;
  s3l_list_push_back(LINK(stream->write_queue), LINK(req->queue));
  world_sock_poke(sock_of(stream));
  return 0;
}

static void end_write(uv_write_t* req, int status) {
  s3l_list_remove(LINK(req->queue));
  host_of(req->handle)->requests--;
  req->handle->write_queue_size -= req->bufsml[0].len;
  if (req->cb != NULL)
    req->cb(req, status);
}

static void write_stream(uv_stream_t* stream) {
  while (!s3l_list_empty(LINK(stream->write_queue)) && (stream->flags & CLOSING) == 0) {
    uv_write_t* req = S3L_CONTAINER_OF(LINK(stream->write_queue)->next, uv_write_t, queue);
    uv_buf_t* buf = &req->bufsml[0];
    ssize_t n = world_sock_send(sock_of(stream), buf->base, buf->len);
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
  const world_sock_t* s = sock_of(stream);
  if (s == NULL || s->state != WORLD_OPEN || (stream->flags & (WRITING_OUT | CLOSING)) != 0)
    return UV_ENOTCONN;
  req->type = UV_SHUTDOWN;
  req->handle = stream;
  req->cb = cb;
  stream->shutdown_req = req;
  stream->flags |= WRITING_OUT;
  host_of(stream)->requests++;
  world_sock_poke(sock_of(stream));
  return 0;
}

static void end_shutdown(uv_stream_t* stream, int status) {
  uv_shutdown_t* req = stream->shutdown_req;
  stream->shutdown_req = NULL;
  host_of(stream)->requests--;
  if (status == 0)
    world_sock_shutdown(sock_of(stream));
  if (req->cb != NULL)
    req->cb(req, status);
}

static void end_connect(uv_stream_t* stream, int status) {
  uv_connect_t* req = stream->connect_req;
  stream->connect_req = NULL;
  stream->flags &= ~(unsigned)ACTIVE;
  host_of(stream)->requests--;
  if (req->cb != NULL)
    req->cb(req, status);
}

static void accept_all(uv_stream_t* server) {
  while (server->accepted_fd < 0 && (server->flags & CLOSING) == 0) {
    int fd = world_sock_accept(sock_of(server));
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
  init_handle(loop, poll, UV_POLL);
  SOCK(poll) = s;
  return 0;
}

int uv_poll_start(uv_poll_t* poll, int events, uv_poll_cb cb) {
  world_sock_t* s = sock_of(poll);
  if (events != UV_READABLE)
    abort();
  poll->poll_cb = cb;
  poll->flags |= ACTIVE;
  s->poll = poll;
  world_sock_poke(s);
  return 0;
}

int uv_poll_stop(uv_poll_t* poll) {
  world_sock_t* s = sock_of(poll);
  poll->flags &= ~(unsigned)ACTIVE;
  if (s != NULL && s->poll == poll)
    s->poll = NULL;
  return 0;
}

bool world_uv_wants(const world_sock_t* s) {
  const uv_stream_t* stream = s->stream;
  if (s->poll != NULL)
    return world_sock_is_readable(s);
  if (stream == NULL || (stream->flags & CLOSING) != 0)
    return false;
  if (stream->connect_req != NULL)
    return s->connected || s->error != 0;
  if (stream->connection_cb != NULL)
    return stream->accepted_fd < 0 && world_sock_is_readable(s);
  if ((stream->flags & READING) != 0 && world_sock_is_readable(s))
    return true;
  if (stream->shutdown_req != NULL && s3l_list_empty(LINK(stream->write_queue)))
    return true;
  return !s3l_list_empty(LINK(stream->write_queue)) && world_sock_is_writable(s);
}

static void serve_stream(uv_stream_t* stream) {
  world_sock_t* s = sock_of(stream);
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
  if ((stream->flags & CLOSING) == 0)
    write_stream(stream);
  if ((stream->flags & CLOSING) == 0 && stream->shutdown_req != NULL &&
      s3l_list_empty(LINK(stream->write_queue)))
    end_shutdown(stream, s->error != 0 ? -s->error : 0);
}

/* A socket that a callback closes leaves the list; what it wants after its callbacks is for the
 * next turn. */
static void run_ready(world_host_t* h) {
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

/* ---- Look-ups and work, in the thread pool ---- */

typedef struct job_s {
  world_event_t event; /* when the pool has done it */
  s3l_list_t link;     /* in the host's done ones */
  world_host_t* host;
  uv_req_t* req;
  int status;
  bool begun; /* cannot be cancelled any more */
  uint16_t port;
  struct addrinfo* found;
  void (*finish)(struct job_s* job);
} job_t;

#define JOB(req) ((req)->reserved[0])

static void job_done(job_t* job) {
  s3l_list_push_back(&job->host->done, &job->link);
  world_wake(job->host);
}

static void on_job(world_event_t* event) {
  job_done(S3L_CONTAINER_OF(event, job_t, event));
}

static job_t* new_job(uv_loop_t* loop, uv_req_t* req, void (*finish)(job_t* job)) {
  job_t* job = must(calloc(1, sizeof(*job)));
  job->event.run = on_job;
  job->host = world_host_of(loop);
  job->req = req;
  job->finish = finish;
  job->begun = sim_chance(&job->host->random, 500);
  job->host->requests++;
  s3l_list_init(&job->link);
  JOB(req) = job;
  return job;
}

int uv_cancel(uv_req_t* req) {
  job_t* job = JOB(req);
  if (job->begun || job->event.slot == 0)
    return UV_EBUSY;
  world_event_clear(&job->event);
  job->status = req->type == UV_GETADDRINFO ? UV_EAI_CANCELED : UV_ECANCELED;
  job_done(job);
  return 0;
}

static void run_done(world_host_t* h) {
  s3l_list_t now;
  if (s3l_list_empty(&h->done))
    return;
  s3l_list_move(&h->done, &now);
  while (!s3l_list_empty(&now)) {
    job_t* job = S3L_CONTAINER_OF(now.next, job_t, link);
    s3l_list_remove(&job->link);
    h->requests--;
    job->finish(job);
    free(job);
  }
}

static void finish_look_up(job_t* job) {
  uv_getaddrinfo_t* req = (uv_getaddrinfo_t*)job->req;
  req->cb(req, job->status, job->found);
}

int uv_getaddrinfo(uv_loop_t* loop, uv_getaddrinfo_t* req, uv_getaddrinfo_cb cb, const char* node,
                   const char* service, const struct addrinfo* hints) {
  int64_t delay_ns;
  (void)hints;
  req->type = UV_GETADDRINFO;
  req->loop = loop;
  req->cb = cb;
  job_t* job = new_job(loop, (uv_req_t*)req, finish_look_up);
  job->status = world_look_up(job->host, node, (uint16_t)atoi(service), &job->found, &delay_ns);
  world_event_set(&job->event, world.now + delay_ns);
  return 0;
}

void uv_freeaddrinfo(struct addrinfo* found) {
  free(found); /* in one piece */
}

static void finish_work(job_t* job) {
  uv_work_t* req = (uv_work_t*)job->req;
  if (job->status == 0)
    req->work_cb(req);
  req->after_work_cb(req, job->status);
}

int uv_queue_work(uv_loop_t* loop, uv_work_t* req, uv_work_cb work, uv_after_work_cb after) {
  req->type = UV_WORK;
  req->loop = loop;
  req->work_cb = work;
  req->after_work_cb = after;
  job_t* job = new_job(loop, (uv_req_t*)req, finish_work);
  world_event_set(&job->event, world.now + sim_heavy(&job->host->random, WORLD_MS, 4));
  return 0;
}

/* ---- Closing ---- */

void uv_close(uv_handle_t* h, uv_close_cb cb) {
  world_host_t* host = host_of(h);
  if (uv_is_closing(h))
    abort();
  h->close_cb = cb;
  if (h->type == UV_TIMER)
    (void)uv_timer_stop((uv_timer_t*)h);
  else if (h->type == UV_IDLE)
    (void)uv_idle_stop((uv_idle_t*)h);
  else if (h->type == UV_POLL)
    (void)uv_poll_stop((uv_poll_t*)h);
  else if (h->type == UV_TCP && sock_of(h) != NULL)
    world_sock_close(sock_of(h), false);
  h->flags = (h->flags & REF) | CLOSING;
  s3l_list_remove(LINK(h->handle_queue));
  s3l_list_push_back(&host->closing, LINK(h->handle_queue));
  if (world.here != host)
    world_wake(host);
}

int uv_tcp_close_reset(uv_tcp_t* tcp, uv_close_cb cb) {
  if (tcp->flags & WRITING_OUT)
    return UV_EINVAL;
  world_sock_t* s = sock_of(tcp);
  if (s != NULL)
    world_sock_close(s, true);
  SOCK(tcp) = NULL;
  uv_close(HANDLE(tcp), cb);
  return 0;
}

static void end_requests(uv_stream_t* stream) {
  if (stream->connect_req != NULL)
    end_connect(stream, UV_ECANCELED);
  while (!s3l_list_empty(LINK(stream->write_queue)))
    end_write(S3L_CONTAINER_OF(LINK(stream->write_queue)->next, uv_write_t, queue), UV_ECANCELED);
  if (stream->shutdown_req != NULL)
    end_shutdown(stream, UV_ECANCELED);
}

static void run_closing(world_host_t* h) {
  s3l_list_t now;
  if (s3l_list_empty(&h->closing))
    return;
  s3l_list_move(&h->closing, &now);
  while (!s3l_list_empty(&now)) {
    uv_handle_t* handle = S3L_CONTAINER_OF(now.next, uv_handle_t, handle_queue);
    s3l_list_remove(LINK(handle->handle_queue));
    if (handle->type == UV_TCP)
      end_requests((uv_stream_t*)handle);
    if (handle->close_cb != NULL)
      handle->close_cb(handle);
  }
}

/* ---- A turn ---- */

void world_uv_turn(world_host_t* h) {
  uv_update_time(&h->loop);
  run_timers(h);
  run_idles(h);
  run_done(h);
  run_ready(h);
  run_closing(h);
}

int64_t world_uv_next(const world_host_t* h) {
  if (!s3l_list_empty(&h->idles) || !s3l_list_empty(&h->closing) || !s3l_list_empty(&h->ready) ||
      !s3l_list_empty(&h->done))
    return world.now + h->wake_ns;
  const uv_timer_t* t = first_timer(h);
  if (t == NULL || t->timeout > (uint64_t)(WORLD_NEVER / WORLD_MS) / 2)
    return WORLD_NEVER;
  return sim_clock_when(&h->timer, (int64_t)t->timeout * WORLD_MS);
}

/* ---- The rest ---- */

void uv_once(uv_once_t* guard, void (*callback)(void)) {
  static bool done; /* there is one guard in the library, and no other thread */
  (void)guard;
  if (!done)
    callback();
  done = true;
}

int uv_mutex_init(uv_mutex_t* mutex) {
  (void)mutex;
  return 0;
}

void uv_mutex_lock(uv_mutex_t* mutex) {
  (void)mutex;
}

void uv_mutex_unlock(uv_mutex_t* mutex) {
  (void)mutex;
}

int uv_random(uv_loop_t* loop, uv_random_t* req, void* buf, size_t n, unsigned flags,
              uv_random_cb cb) {
  (void)loop;
  (void)req;
  (void)flags;
  (void)cb;
  world_draw(world.here, buf, n);
  return 0;
}

/* The library starts no process in here, and reads no file. */
int uv_spawn(uv_loop_t* loop, uv_process_t* process, const uv_process_options_t* options) {
  (void)loop;
  (void)process;
  (void)options;
  return UV_ENOSYS;
}

int uv_os_homedir(char* buf, size_t* size) {
  (void)buf;
  (void)size;
  return UV_ENOENT;
}
