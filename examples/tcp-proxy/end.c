#include "end.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#define END_WINDOW (1024 * 1024)

static void on_poll(uv_poll_t* poll, int status, int events) {
  end_t* end = (end_t*)((char*)poll - offsetof(end_t, poll));
  if (status < 0) {
    (void)uv_poll_stop(poll);
    end->events = 0;
  }
  end->cb(end, status < 0, status < 0 ? 0 : events);
}

int end_open(end_t* end, uv_loop_t* loop, int fd, void* owner) {
  int err = uv_poll_init(loop, &end->poll, fd);
  if (err != 0) {
    close(fd);
    return err;
  }
  end->poll.data = owner;
  end->owner = owner;
  end->fd = fd;
  end->events = 0;
  return 0;
}

void end_watch(end_t* end, int events, end_cb cb) {
  end->cb = cb;
  if (events == end->events)
    return;
  end->events = events;
  if (events == 0)
    (void)uv_poll_stop(&end->poll);
  else
    (void)uv_poll_start(&end->poll, events, on_poll); /* fails only on handles that are closing */
}

void end_reset_fd(int fd) {
  struct linger now = {.l_onoff = 1, .l_linger = 0};
  (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd);
}

void end_close(end_t* end, bool reset, uv_close_cb cb) {
  uv_close((uv_handle_t*)&end->poll, cb); /* takes it out of the kernel's table first */
  if (reset)
    end_reset_fd(end->fd);
  else
    close(end->fd);
  end->fd = -1;
}

int end_listen(const addr_t* addr) {
  int on = 1;
  int fd = socket(addr->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -errno;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (const struct sockaddr*)&addr->sa, addr->len) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  int err = -errno;
  close(fd);
  return err;
}

void end_local(int fd, addr_t* addr) {
  memset(addr, 0, sizeof *addr);
  addr->len = sizeof addr->sa;
  (void)getsockname(fd, (struct sockaddr*)&addr->sa, &addr->len);
}

void end_remote(int fd, addr_t* addr) {
  memset(addr, 0, sizeof *addr);
  addr->len = sizeof addr->sa;
  (void)getpeername(fd, (struct sockaddr*)&addr->sa, &addr->len);
}

void end_tune(end_t* end, const addr_t* peer) {
  static const char plain[] = "reno";
  int on = 1;
  end->near = addr_is_loopback(peer);
  (void)setsockopt(end->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)setsockopt(end->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  /* Within a machine there is nothing to congest, and a control that paces what is sent (BBR, where
   * it is the system's) halves the throughput by its timers alone. */
  if (end->near)
    (void)setsockopt(end->fd, IPPROTO_TCP, TCP_CONGESTION, plain, sizeof plain - 1);
}

/* The other side may pace what it sends all the same, by how fast it is acknowledged. The kernel
 * acknowledges at once what leaves the window that it offers as it was, and else when it is read,
 * which is when this process has come to run: the sender takes the wait for a slow network, and
 * slows down. A window well below the buffer's size is the former. It is also all that can wait
 * here for a slow reader. Each time, since the kernel sets it anew whenever it lets the buffer
 * grow. Not between machines, where the window must hold what is on the way. */
void end_expect_much(end_t* end) {
#ifdef TCP_WINDOW_CLAMP
  int window = END_WINDOW;
  if (end->near)
    (void)setsockopt(end->fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);
#else
  (void)end;
#endif
}
