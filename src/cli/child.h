/* cli/child.h (L8): s3lect's side of the guard: orders out, reports in, on the loop. */
#ifndef S3L_CLI_CHILD_H
#define S3L_CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "guard.h"

typedef struct cli_child_s cli_child_t;

struct cli_child_s {
  void* data; /* the owner's */
  /* A report of the guard's. */
  void (*on_report)(cli_child_t* child, const guard_report_t* report);
  /* The guard is gone, which nothing but SIGKILL does to it; the group has been sent SIGKILL.
   * Nothing else comes after this. */
  void (*on_lost)(cli_child_t* child);

  int fd;
  uv_poll_t poll;
  pid_t pid;    /* the command's; 0 if unknown or gone */
  bool running; /* from START to GONE */
};

/** Begins to listen to the guard behind fd. Errors: what uv_poll_init says. */
int cli_child_open(cli_child_t* child, uv_loop_t* loop, int fd);

/** Starts the command; it must not be running. */
void cli_child_start(cli_child_t* child, uint64_t epoch, int64_t bound_ns, int64_t grace_ns);

/** The rest is without effect while the command does not run. */
void cli_child_bound(cli_child_t* child, int64_t bound_ns);
void cli_child_signal(cli_child_t* child, int signum);
void cli_child_stop(cli_child_t* child, int signum);
void cli_child_kill(cli_child_t* child);

/** Sends SIGKILL to the group without the guard's help: for when it must be gone already. */
void cli_child_make_sure(cli_child_t* child);

/** Lets the guard go; if the command still ran, the guard kills its group. */
void cli_child_close(cli_child_t* child);

#endif
