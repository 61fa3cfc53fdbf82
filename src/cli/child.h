/* cli/child.h (L8): s3lect's side of the guard: sends orders and receives reports, on the loop.
 *
 * It also watches the guard. If the guard does not report a SIGKILL that is due, it is continued
 * (it may have been stopped), then killed, so that the keeper ends the guard's children: both
 * within the margin, before leadership ends. */
#ifndef S3L_CLI_CHILD_H
#define S3L_CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "alarm.h"
#include "guard.h"

typedef struct cli_child_s cli_child_t;

struct cli_child_s {
  void* data; /* the owner's */
  /* Receives the guard's reports, and this module's own: LOST, STUCK, and GONE with GUARD_DIED or
   * GUARD_UNKNOWN. After LOST no command can be started any more. */
  void (*on_report)(cli_child_t* child, const guard_report_t* report);
  int64_t margin_ns; /* how long before the end of leadership the bound is */
  int64_t remind_ns; /* between two STUCK reports */
  int fd;            /* as guard_fork gives it */
  pid_t keeper;      /* likewise; 0: it has ended */

  uv_poll_t poll;
  cli_alarm_t alarm;
  pid_t guard;  /* 0 until READY */
  pid_t pid;    /* the command's; 0 if unknown or gone */
  bool running; /* from START to GONE */
  bool killing; /* since KILLING */
  bool lost;
  bool ended;        /* the socket has ended */
  bool keeper_ended; /* by itself, after it had ended all processes */
  unsigned overdue;  /* how often the guard was late: continued, then killed */
  int64_t grace_ns;  /* of the running command */
  int64_t bound_ns;  /* by when KILLING or GONE should have come */
  int64_t stop_ns;   /* likewise, for the order to stop */
};

/** Begins to listen to the guard. The fields above `poll` are the caller's to set. Errors: those of
 * uv_poll_init. */
int cli_child_open(cli_child_t* child, uv_loop_t* loop);

/** Starts the command; it must not be running. */
void cli_child_start(cli_child_t* child, uint64_t epoch, int64_t bound_ns, int64_t grace_ns);

/* The functions below have no effect while the command does not run. */

void cli_child_bound(cli_child_t* child, int64_t bound_ns);
void cli_child_signal(cli_child_t* child, int signum);
/** Ends the command: signum now, SIGKILL after the grace. */
void cli_child_stop(cli_child_t* child, int signum);
void cli_child_kill(cli_child_t* child);

/** Sends SIGKILL to the group without the guard, once leadership has ended. */
void cli_child_ensure_killed(cli_child_t* child);

/** Closes the socket. If the command still runs, the guard kills its group. */
void cli_child_close(cli_child_t* child);

#endif
