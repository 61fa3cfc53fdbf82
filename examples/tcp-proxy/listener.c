#include "listener.h"

#include <errno.h>
#include <sys/socket.h>

#include "conn.h"
#include "proxy.h"

#define ACCEPTS_PER_TURN 64
#define PAUSE_MS         100

static void on_connections(end_t* end, int error, int events);

static void on_pause_over(uv_timer_t* timer) {
  listener_t* listener = timer->data;
  end_watch(&listener->end, UV_READABLE, on_connections);
}

static void on_connections(end_t* end, int error, int events) {
  listener_t* listener = end->owner;
  (void)error;
  (void)events;
  for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
    int fd = accept4(end->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      conn_accept(listener->proxy, fd, listener->for_peers);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      /* Those that wait stay in the kernel's queue, and would wake the loop without a pause. */
      end_watch(end, 0, on_connections);
      (void)uv_timer_start(&listener->pause, on_pause_over, PAUSE_MS, 0);
      return;
    }
    if (errno != ECONNABORTED && errno != EINTR)
      return;
  }
}

int listener_open(listener_t* listener, struct proxy_s* proxy, const char* address,
                  bool for_peers) {
  addr_t addr;
  if (!addr_parse(address, &addr))
    return UV_EINVAL;
  int fd = end_listen(&addr);
  if (fd < 0)
    return fd;
  int err = end_open(&listener->end, proxy->loop, fd, listener);
  if (err != 0)
    return err;
  (void)uv_timer_init(proxy->loop, &listener->pause);
  listener->pause.data = listener;
  listener->proxy = proxy;
  listener->for_peers = for_peers;
  listener->open = true;
  end_local(fd, &listener->addr);
  end_watch(&listener->end, UV_READABLE, on_connections);
  return 0;
}

void listener_close(listener_t* listener) {
  if (!listener->open)
    return;
  listener->open = false;
  end_close(&listener->end, false, NULL);
  uv_close((uv_handle_t*)&listener->pause, NULL);
}
