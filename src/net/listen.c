/* net/listen.c: see listen.h. */
#include "net/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/tcp.h"
#include "util/assert.h"
#include "util/list.h"
#include "util/mutant.h"

/* ---- the address ---- */

static void set_any(s3l_address_t* out, uint16_t port) {
  memset(out, 0, sizeof(*out));
  out->in6.sin6_family = AF_INET6;
  out->in6.sin6_port = htons(port);
  out->in6.sin6_addr = in6addr_any;
}

bool s3l_listen_parse(s3l_span_t text, s3l_address_t* out, const char** reason) {
  char host[INET6_ADDRSTRLEN];
  size_t colon = text.n;
  uint64_t port;
  while (colon > 0 && text.p[colon - 1] != ':')
    colon--;
  *reason = "must be ADDRESS:PORT, with a numeric port from 0 to 65535";
  if (colon == 0 || !s3l_span_to_u64((s3l_span_t){text.p + colon, text.n - colon}, &port) ||
      port > UINT16_MAX)
    return false;
  s3l_span_t name = {text.p, colon - 1};
  if (name.n == 0 || s3l_span_eq(name, S3L_SPAN("*"))) {
    set_any(out, (uint16_t)port);
    return true;
  }
  if (s3l_span_eq(name, S3L_SPAN("localhost")))
    name = S3L_SPAN("127.0.0.1");
  bool v6 = name.n >= 2 && name.p[0] == '[' && name.p[name.n - 1] == ']';
  if (v6)
    name = (s3l_span_t){name.p + 1, name.n - 2};
  *reason = "must have a numeric address, IPv6 ones in brackets: names are not looked up";
  return s3l_span_copy(name, host, sizeof(host)) && (strchr(host, ':') != NULL) == v6 &&
         s3l_address_parse(host, (uint16_t)port, out);
}

static bool is_any(const s3l_address_t* a) {
  return a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

/* ---- the socket ---- */

static int set_flags(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
    return uv_translate_sys_error(errno);
  return 0;
}

static socklen_t size_of(const s3l_address_t* a) {
  return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in4);
}

/* SO_REUSEADDR as libuv sets it: a restart does not wait for old connections to be forgotten. */
static int bind_and_listen(int fd, const s3l_address_t* a) {
  int on = 1;
  int off = 0;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
    return uv_translate_sys_error(errno);
  if (is_any(a)) /* both families through one socket, where the system can */
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(fd, &a->sa, size_of(a)) != 0 || listen(fd, S3L_LISTEN_BACKLOG) != 0)
    return uv_translate_sys_error(errno);
  return set_flags(fd);
}

static int open_socket(const s3l_address_t* a, int* out) {
  int fd = socket(a->sa.sa_family, SOCK_STREAM, 0);
  if (fd < 0)
    return uv_translate_sys_error(errno);
  int rc = bind_and_listen(fd, a);
  if (rc != 0) {
    (void)close(fd);
    return rc;
  }
  *out = fd;
  return 0;
}

/* ---- connections ---- */

static void on_readable(uv_poll_t* poll, int status, int events);

static void listen_on(s3l_listener_t* l) {
  int rc = uv_poll_start(&l->poll, UV_READABLE, on_readable);
  S3L_ASSERT(rc == 0);
  (void)rc;
}

static void on_resume(s3l_deadline_t* d) {
  if (S3L_MUTANT(LISTENER_STAYS_PAUSED))
    return;
  listen_on(S3L_CONTAINER_OF(d, s3l_listener_t, resume));
}

static void pause_for(s3l_listener_t* l, int error) {
  (void)uv_poll_stop(&l->poll);
  s3l_loop_deadline_set(l->loop, &l->resume, s3l_clock_in_ms(S3L_LISTEN_PAUSE_MS));
  l->on_pause(l, error);
}

static int accept_one(int fd, s3l_address_t* from) {
  socklen_t len = sizeof(*from);
  memset(from, 0, sizeof(*from));
#ifdef __linux__
  return accept4(fd, &from->sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
#else
  int got = accept(fd, &from->sa, &len);
  if (got >= 0 && set_flags(got) != 0) {
    (void)close(got);
    errno = ECONNABORTED;
    return -1;
  }
  return got;
#endif
}

/* Running out of something is worth a pause; what else accept reports belongs to the connection
 * that it would have given (accept(2)). */
static bool has_run_out(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

/* accept(2) wants a descriptor before it looks whether there is anybody to be accepted. */
static bool somebody_waits(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) > 0;
}

static uv_tcp_t* adopt(s3l_listener_t* l, int fd) {
  uv_tcp_t* tcp = s3l_tcp_new(s3l_loop_uv(l->loop));
  if (tcp != NULL && uv_tcp_open(tcp, fd) == 0)
    return tcp;
  if (tcp != NULL)
    s3l_tcp_close(tcp, NULL);
  (void)close(fd);
  return NULL;
}

static void on_readable(uv_poll_t* poll, int status, int events) {
  s3l_listener_t* l = S3L_CONTAINER_OF(poll, s3l_listener_t, poll);
  (void)status; /* accept says more */
  (void)events;
  for (int i = 0; i < S3L_LISTEN_ACCEPTS && !l->closing; i++) {
    s3l_address_t from;
    int fd = accept_one(l->fd, &from);
    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (fd < 0 && has_run_out(errno)) {
      int error = uv_translate_sys_error(errno);
      if (somebody_waits(l->fd))
        pause_for(l, error);
      return;
    }
    if (fd < 0)
      continue;
    if (!l->admit(l, &from)) {
      (void)close(fd);
      continue;
    }
    uv_tcp_t* tcp = adopt(l, fd);
    if (tcp == NULL) {
      pause_for(l, UV_ENOMEM);
      return;
    }
    l->on_accept(l, tcp, &from);
  }
}

/* ---- its life ---- */

int s3l_listen_open(s3l_listener_t* l, const s3l_address_t* address) {
  socklen_t len = sizeof(l->address);
  l->address = *address;
  int rc = open_socket(&l->address, &l->fd);
  if (rc == UV_EAFNOSUPPORT && is_any(address)) {
    memset(&l->address, 0, sizeof(l->address)); /* 0.0.0.0 */
    l->address.in4.sin_family = AF_INET;
    l->address.in4.sin_port = address->in6.sin6_port;
    rc = open_socket(&l->address, &l->fd);
  }
  if (rc != 0)
    return rc;
  if (getsockname(l->fd, &l->address.sa, &len) != 0) {
    rc = uv_translate_sys_error(errno);
    s3l_listen_drop(l);
  }
  return rc;
}

void s3l_listen_drop(s3l_listener_t* l) {
  (void)close(l->fd);
}

int s3l_listen_start(s3l_listener_t* l, s3l_loop_t* loop) {
  l->loop = loop;
  l->closing = false;
  s3l_deadline_init(&l->resume, on_resume);
  int rc = uv_poll_init(s3l_loop_uv(loop), &l->poll, l->fd);
  if (rc == 0)
    listen_on(l);
  else
    s3l_listen_drop(l);
  return rc;
}

void s3l_listen_ref(s3l_listener_t* l, bool keep_alive) {
  s3l_loop_deadline_ref(l->loop, &l->resume, keep_alive);
  if (keep_alive)
    uv_ref((uv_handle_t*)&l->poll);
  else
    uv_unref((uv_handle_t*)&l->poll);
}

static void on_poll_closed(uv_handle_t* handle) {
  s3l_listener_t* l = S3L_CONTAINER_OF(handle, s3l_listener_t, poll);
  l->on_closed(l);
}

void s3l_listen_close(s3l_listener_t* l) {
  if (l->closing)
    return;
  l->closing = true;
  s3l_loop_deadline_clear(l->loop, &l->resume);
  uv_close((uv_handle_t*)&l->poll, on_poll_closed);
  (void)close(l->fd); /* libuv has let go of it */
}
