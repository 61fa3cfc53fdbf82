#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"
#include "util/buf.h"
#include "util/span.h"

#define RETRY_MS 100

/* ---- The environment ---- */

/* A path, or "@NAME" for the name NAME without a file (abstract). */
static bool set_address(cli_notify_t* notify, const char* text) {
  size_t len = strlen(text);
  if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof notify->to.sun_path)
    return false;
  notify->to.sun_family = AF_UNIX;
  memcpy(notify->to.sun_path, text, len + 1);
  notify->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
  if (text[0] == '@') {
    notify->to.sun_path[0] = '\0';
    notify->to_len--; /* every byte of an abstract name counts */
  }
  return true;
}

/* Half of the time within which systemd wants to hear of this process; 0: it does not. */
static uint64_t watchdog_ms(void) {
  const char* usec_text = getenv("WATCHDOG_USEC");
  const char* pid_text = getenv("WATCHDOG_PID");
  uint64_t usec, pid;
  if (usec_text == NULL || !s3l_span_to_u64(s3l_span_cstr(usec_text), &usec) || usec == 0)
    return 0;
  if (pid_text != NULL &&
      (!s3l_span_to_u64(s3l_span_cstr(pid_text), &pid) || pid != (uint64_t)getpid()))
    return 0;
  return usec / 2000 > 0 ? usec / 2000 : 1;
}

void cli_notify_init(cli_notify_t* notify) {
  const char* text = getenv("NOTIFY_SOCKET");
  notify->fd = -1;
  if (text != NULL && text[0] != '\0' && !set_address(notify, text))
    cli_note("NOTIFY_SOCKET %.200s is ignored: it is neither /PATH nor @NAME", text);
  if (notify->to_len > 0)
    notify->watchdog_ms = watchdog_ms();
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

/* ---- Datagrams ---- */

static bool send_text(const cli_notify_t* notify, const char* text) {
  ssize_t n = sendto(notify->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                     (const struct sockaddr*)&notify->to, notify->to_len);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
}

static void on_watchdog(uv_timer_t* timer) {
  (void)send_text(timer->data, "WATCHDOG=1");
}

static void on_retry(uv_timer_t* timer);

/* All that there is to say: the newest datagram replaces those that were lost. */
static void put(cli_notify_t* notify) {
  char text[CLI_NOTIFY_STATUS + 64];
  snprintf(text, sizeof text, "%s\nSTATUS=%s", notify->stopping ? "STOPPING=1" : "READY=1",
           notify->status);
  if (!send_text(notify, text))
    uv_timer_start(&notify->retry, on_retry, RETRY_MS, 0);
}

static void on_retry(uv_timer_t* timer) {
  put(timer->data);
}

void cli_notify_ready(cli_notify_t* notify, const char* format, ...) {
  char before[CLI_NOTIFY_STATUS];
  va_list args;
  if (notify->fd < 0 || notify->stopping)
    return;
  memcpy(before, notify->status, sizeof before);
  va_start(args, format);
  vsnprintf(notify->status, sizeof notify->status, format, args);
  va_end(args);
  s3l_buf_line(notify->status);
  if (strcmp(before, notify->status) != 0)
    put(notify);
}

void cli_notify_stopping(cli_notify_t* notify) {
  if (notify->fd < 0 || notify->stopping)
    return;
  notify->stopping = true;
  snprintf(notify->status, sizeof notify->status, "ending");
  put(notify);
}

/* ---- Begin and end ---- */

int cli_notify_open(cli_notify_t* notify, uv_loop_t* loop) {
  if (notify->to_len == 0)
    return 0;
  notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (notify->fd < 0)
    return -errno;
  notify->watchdog.data = notify->retry.data = notify;
  int r = uv_timer_init(loop, &notify->retry);
  if (r == 0)
    r = uv_timer_init(loop, &notify->watchdog);
  if (r != 0)
    return r;
  uv_unref((uv_handle_t*)&notify->retry);
  uv_unref((uv_handle_t*)&notify->watchdog);
  if (notify->watchdog_ms == 0)
    return 0;
  return uv_timer_start(&notify->watchdog, on_watchdog, 0, notify->watchdog_ms);
}

void cli_notify_close(cli_notify_t* notify) {
  if (notify->fd < 0 || uv_is_closing((uv_handle_t*)&notify->retry))
    return;
  uv_close((uv_handle_t*)&notify->retry, NULL);
  uv_close((uv_handle_t*)&notify->watchdog, NULL);
  close(notify->fd);
  notify->fd = -1;
}
