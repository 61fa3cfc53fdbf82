/* cli/child.h (L8): s3lect's side of the guard: orders out, reports in, on the loop.
 *
 * It also watches the guard. A guard that should have sent SIGKILL and has not said so is continued
 * (it may have been stopped), then killed, so that the keeper ends what the guard has left: both
 * within the margin, before leadership ends. */
#ifndef S3L_CLI_CHILD_H
#define S3L_CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "guard.h"

typedef struct cli_child_s cli_child_t;

struct cli_child_s {
  void* data; /* the owner's */
  /* A report of the guard's, or one of LOST, STUCK and GONE with GUARD_DIED of this module's own.
   * After a LOST no command can be started any more. */
  void (*on_report)(cli_child_t* child, const guard_report_t* report);
  int64_t margin_ns; /* how long before the end of leadership the bound is */
  int64_t remind_ns; /* between two reports that the group is STUCK */

  int fd;
  uv_poll_t poll;
  uv_timer_t timer;
  pid_t keeper; /* 0: it has ended */
  pid_t guard;  /* 0 until it has said so */
  pid_t pid;    /* the command's; 0 if unknown or gone */
  bool running; /* from START to GONE */
  bool killing; /* the guard is at it */
  bool lost;
  bool ended;        /* the socket has */
  bool keeper_ended; /* by itself, after all that was left */
  unsigned doubts;   /* how often the guard was late: continued, then killed */
  int64_t grace_ns;  /* of the running command */
  int64_t bound_ns;  /* by when KILLING or GONE should have come */
  int64_t stop_ns;   /* likewise, for the order to stop */
  int64_t due_ns;    /* when to look again */
};

/** Begins to listen to the guard behind fd. The fields above `fd` are the caller's to set. Errors:
 * what uv_poll_init says. */
int cli_child_open(cli_child_t* child, uv_loop_t* loop, int fd, pid_t keeper);

/** Starts the command; it must not be running. */
void cli_child_start(cli_child_t* child, uint64_t epoch, int64_t bound_ns, int64_t grace_ns);

/** The rest is without effect while the command does not run. */
void cli_child_bound(cli_child_t* child, int64_t bound_ns);
void cli_child_signal(cli_child_t* child, int signum);
/** Ends the command: signum now, SIGKILL after the grace. */
void cli_child_stop(cli_child_t* child, int signum);
void cli_child_kill(cli_child_t* child);

/** Sends SIGKILL to the group without the guard's help: for when it must be gone already. */
void cli_child_make_sure(cli_child_t* child);

/** Lets the guard go; if the command still ran, the guard kills its group. */
void cli_child_close(cli_child_t* child);

#endif
