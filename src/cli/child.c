#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static void lost(cli_child_t* child) {
  uv_poll_stop(&child->poll);
  if (child->pid > 0)
    kill(-child->pid, SIGKILL);
  child->on_lost(child);
}

/* Reads what the guard has reported. False if the guard is gone. */
static bool receive(cli_child_t* child) {
  guard_report_t report;
  while (!uv_is_closing((uv_handle_t*)&child->poll)) {
    ssize_t n = recv(child->fd, &report, sizeof report, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return true;
    if (n != (ssize_t)sizeof report)
      return false;
    if (report.kind == GUARD_STARTED)
      child->pid = report.pid;
    if (report.kind == GUARD_GONE) {
      child->pid = 0;
      child->running = false;
    }
    child->on_report(child, &report);
  }
  return true;
}

static void on_readable(uv_poll_t* poll, int status, int events) {
  cli_child_t* child = poll->data;
  (void)events;
  if (status != 0 || !receive(child))
    lost(child);
}

int cli_child_open(cli_child_t* child, uv_loop_t* loop, int fd) {
  child->fd = fd;
  int r = uv_poll_init(loop, &child->poll, fd);
  if (r != 0)
    return r;
  child->poll.data = child;
  return uv_poll_start(&child->poll, UV_READABLE, on_readable);
}

static void order(cli_child_t* child, guard_order_t message) {
  if (!child->running)
    return;
  /* A guard that takes no orders any more acts on the last bound it was told; one that is gone
   * shows as the end of the socket. */
  ssize_t sent = send(child->fd, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
  (void)sent;
}

void cli_child_start(cli_child_t* child, uint64_t epoch, int64_t bound_ns, int64_t grace_ns) {
  child->running = true;
  order(child,
        (guard_order_t){
            .kind = GUARD_START, .epoch = epoch, .bound_ns = bound_ns, .grace_ns = grace_ns});
}

void cli_child_bound(cli_child_t* child, int64_t bound_ns) {
  order(child, (guard_order_t){.kind = GUARD_BOUND, .bound_ns = bound_ns});
}

void cli_child_signal(cli_child_t* child, int signum) {
  order(child, (guard_order_t){.kind = GUARD_SIGNAL, .signum = signum});
}

void cli_child_stop(cli_child_t* child, int signum) {
  order(child, (guard_order_t){.kind = GUARD_STOP, .signum = signum});
}

void cli_child_kill(cli_child_t* child) {
  order(child, (guard_order_t){.kind = GUARD_KILL});
}

void cli_child_make_sure(cli_child_t* child) {
  /* Reports that wait in the socket come first: the group's ID may be another's after GONE. */
  if (!receive(child))
    return; /* on_readable will find the same */
  if (child->running && child->pid > 0)
    kill(-child->pid, SIGKILL);
}

static void on_closed(uv_handle_t* handle) {
  cli_child_t* child = handle->data;
  close(child->fd);
}

void cli_child_close(cli_child_t* child) {
  if (!uv_is_closing((uv_handle_t*)&child->poll))
    uv_close((uv_handle_t*)&child->poll, on_closed);
}
