/* cli/notify.h (L8): tells systemd how the service is (Type=notify, WatchdogSec=; sd_notify(3)).
 *
 * systemd names a socket in $NOTIFY_SOCKET, and gets datagrams there:
 *   READY=1     the process takes part in the election
 *   STATUS=     its role, which `systemctl status` shows
 *   STOPPING=1  it has begun to end
 *   WATCHDOG=1  the loop turns; at half of $WATCHDOG_USEC
 * Without $NOTIFY_SOCKET nothing happens. A datagram for which the socket has no room is sent again
 * later; the loop never waits. */
#ifndef S3L_CLI_NOTIFY_H
#define S3L_CLI_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#define CLI_NOTIFY_STATUS 320 /* a role and the ID of a leader */

typedef struct cli_notify_s {
  struct sockaddr_un to;
  socklen_t to_len; /* 0: nobody wants to know */
  uint64_t watchdog_ms;
  int fd;
  uv_timer_t watchdog;
  uv_timer_t retry;
  bool stopping;
  char status[CLI_NOTIFY_STATUS];
} cli_notify_t;

/** Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment:
 * systemd does not ask the processes that this one starts. To be called while there is one thread.
 */
void cli_notify_init(cli_notify_t* notify);

/** Opens the socket. Errors: a negative errno, or those of uv_timer_init. */
int cli_notify_open(cli_notify_t* notify, uv_loop_t* loop);

/** READY=1 and this status; one line. */
void cli_notify_ready(cli_notify_t* notify, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/** STOPPING=1, once. */
void cli_notify_stopping(cli_notify_t* notify);

/** No-op if it is not open. */
void cli_notify_close(cli_notify_t* notify);

#endif
