/* world/system.c: the system calls of src and of the fake S3, over the simulated kernel. The linker
 * puts these in their place (--wrap); descriptors that the simulated kernel has not given go to the
 * real one. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "world/service.h"
#include "world/socket.h"

#define WRAPPED(result, name, ...)                                                                 \
  result __real_##name(__VA_ARGS__);                                                               \
  result __wrap_##name(__VA_ARGS__);                                                               \
  result __wrap_##name(__VA_ARGS__)

/* The kernel's way to tell an error. */
static int told(long rc) {
  if (rc >= 0)
    return (int)rc;
  errno = (int)-rc;
  return -1;
}

/* ---- Sockets ---- */

WRAPPED(int, socket, int family, int type, int protocol) {
  if (world.here == NULL)
    return __real_socket(family, type, protocol);
  return told(family == AF_INET ? world_sock_open(world.here, WORLD_FRESH) : -EAFNOSUPPORT);
}

WRAPPED(int, bind, int fd, const struct sockaddr* address, socklen_t len) {
  world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return __real_bind(fd, address, len);
  return told(world_sock_bind(s, (const struct sockaddr_in*)(const void*)address));
}

WRAPPED(int, listen, int fd, int backlog) {
  world_sock_t* s = world_sock(fd);
  return s == NULL ? __real_listen(fd, backlog) : told(world_sock_listen(s));
}

WRAPPED(int, accept4, int fd, struct sockaddr* address, socklen_t* len, int flags) {
  world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return __real_accept4(fd, address, len, flags);
  int got = world_sock_accept(s);
  if (got >= 0) {
    memcpy(address, &world_sock(got)->remote, sizeof(struct sockaddr_in));
    *len = sizeof(struct sockaddr_in);
  }
  return told(got);
}

WRAPPED(int, getsockname, int fd, struct sockaddr* address, socklen_t* len) {
  const world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return __real_getsockname(fd, address, len);
  memcpy(address, &s->local, sizeof(s->local));
  *len = sizeof(s->local);
  return 0;
}

WRAPPED(int, setsockopt, int fd, int level, int name, const void* value, socklen_t len) {
  return world_sock(fd) == NULL ? __real_setsockopt(fd, level, name, value, len) : 0;
}

WRAPPED(int, shutdown, int fd, int how) {
  world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return __real_shutdown(fd, how);
  world_sock_shutdown(s);
  return 0;
}

WRAPPED(ssize_t, send, int fd, const void* p, size_t n, int flags) {
  world_sock_t* s = world_sock(fd);
  return s == NULL ? __real_send(fd, p, n, flags) : told(world_sock_send(s, p, n));
}

WRAPPED(ssize_t, recv, int fd, void* p, size_t n, int flags) {
  world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return __real_recv(fd, p, n, flags);
  return told((flags & MSG_PEEK) != 0 ? world_sock_peek(s) : world_sock_recv(s, p, n));
}

WRAPPED(int, poll, struct pollfd* fds, nfds_t n, int timeout) {
  const world_sock_t* s = n == 1 ? world_sock(fds[0].fd) : NULL;
  if (s == NULL)
    return __real_poll(fds, n, timeout);
  fds[0].revents = world_sock_is_readable(s) ? POLLIN : 0;
  return fds[0].revents != 0;
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list args;
  va_start(args, command);
  long value = va_arg(args, long);
  va_end(args);
  return world_sock(fd) == NULL ? __real_fcntl(fd, command, value) : 0;
}

WRAPPED(int, close, int fd) {
  world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return __real_close(fd);
  world_sock_close(s, false);
  return 0;
}

/* ---- Suspension ---- */

WRAPPED(int, timerfd_create, clockid_t clock, int flags) {
  if (world.here == NULL)
    return __real_timerfd_create(clock, flags);
  int fd = world_sock_open(world.here, WORLD_TIMERFD);
  if (fd >= 0)
    world.here->suspend = world_sock(fd);
  return told(fd);
}

WRAPPED(int, timerfd_settime, int fd, int flags, const struct itimerspec* at,
        struct itimerspec* was) {
  return world_sock(fd) == NULL ? __real_timerfd_settime(fd, flags, at, was) : 0;
}

WRAPPED(ssize_t, read, int fd, void* p, size_t n) {
  world_sock_t* s = world_sock(fd);
  if (s == NULL)
    return __real_read(fd, p, n);
  int error = s->cancelled > 0 ? ECANCELED : EAGAIN;
  s->cancelled = 0;
  return told(-error);
}

/* ---- Clocks and environment ---- */

/* Lease time counts what was slept by itself: what was suspended is one number for all processes of
 * a machine, and here many machines share one process. */
WRAPPED(int, clock_gettime, clockid_t id, struct timespec* t) {
  int64_t ns;
  if (world.here == NULL)
    return __real_clock_gettime(id, t);
  if (id == CLOCK_REALTIME)
    ns = world_wall_ms(world.here) * WORLD_MS;
  else if (id == CLOCK_MONOTONIC_RAW)
    ns = sim_clock_read(&world.here->lease, world.now);
  else
    ns = sim_clock_read(&world.here->timer, world.now);
  *t = (struct timespec){.tv_sec = ns / WORLD_S, .tv_nsec = ns % WORLD_S};
  world_stall();
  return 0;
}

WRAPPED(char*, getenv, const char* name) {
  static char url[] = WORLD_SERVICE_URL;
  if (world.here == NULL)
    return __real_getenv(name);
  return strcmp(name, "AWS_CONTAINER_CREDENTIALS_FULL_URI") == 0 ? url : NULL;
}
