/* cli/guard.h (L8): the guard, a small process that runs the command and ends it on time.
 *
 * Why a process of its own: the command must be gone before leadership ends even when s3lect
 * itself cannot do anything about it, because it was killed, stopped (SIGSTOP, Ctrl-Z) or hangs.
 * The guard is forked first thing, while there is one thread and nothing is open; it shares
 * nothing with s3lect but a socket, and is told an instant up to which the command may live.
 *
 * Vocabulary
 *   group     the command's process group: its ID is the command's pid
 *   bound     the instant, in lease time (s3lect_now_ns), by which the whole group must be gone;
 *             each renewal moves it. The end of the socket counts as a bound that has passed
 *   gone      no process of the group is left, nor any other descendant: the guard is their
 *             subreaper, so that whatever loses its parent becomes the guard's child
 *
 * What no guard can end: a process that runs as another user (sudo), or one that hangs in the
 * kernel: GONE is then not reported, and the lockfile not released. Nor what forks faster, each
 * time into a session of its own, than one sweep follows the other. Where s3lect and the guard are
 * killed both at once, the kernel kills the command itself, but nothing that it has started; where
 * both are stopped, nobody does anything. Only who keeps a cgroup or a container around all of it
 * can end the rest then. Not to make it too easy, the guard has a name of its own: `pkill s3lect`
 * and `killall s3lect` find s3lect alone.
 *
 * Invariants: at most one group at a time; SIGKILL to the group follows at the bound, whatever
 * s3lect does; GONE is reported exactly once per START, and only when it is true. */
#ifndef S3L_CLI_GUARD_H
#define S3L_CLI_GUARD_H

#include <stdint.h>
#include <sys/types.h>

#define GUARD_NAME "lease-guard"

typedef enum {
  GUARD_START = 1,  /* run the command, under epoch, within bound_ns */
  GUARD_BOUND = 2,  /* renewed: bound_ns moves */
  GUARD_SIGNAL = 3, /* pass signum on to the group */
  GUARD_STOP = 4,   /* end the group: signum now, SIGKILL after grace_ns */
  GUARD_KILL = 5,   /* end the group with SIGKILL now */
} guard_order_kind_t;

/** s3lect to guard. */
typedef struct guard_order_s {
  uint32_t kind;
  int32_t signum;
  uint64_t epoch;
  int64_t bound_ns;
  int64_t grace_ns; /* between SIGTERM and SIGKILL */
} guard_order_t;

typedef enum {
  GUARD_STARTED = 1,  /* pid */
  GUARD_NO_EXEC = 2,  /* error: the errno of execvp; GONE follows */
  GUARD_STOPPING = 3, /* the bound is near: SIGTERM was sent */
  GUARD_GONE = 4,     /* cause; status: as waitpid(2) says, if the command ever ran */
} guard_report_kind_t;

typedef enum {
  GUARD_SELF = 1,     /* the command ended by itself */
  GUARD_ORDERED = 2,  /* STOP or KILL */
  GUARD_BOUNDED = 3,  /* its bound came near */
  GUARD_TOO_LATE = 4, /* it was not started: the bound was too near already */
  GUARD_NO_FORK = 5,  /* it was not started: error */
} guard_cause_t;

/** Guard to s3lect. */
typedef struct guard_report_s {
  uint32_t kind;
  int32_t pid;
  int32_t cause;
  int32_t status;
  int32_t error;
  int32_t reserved;
} guard_report_t;

/** Forks the guard. To be called before threads and signal handlers. `argv` is the command, `id`
 * what S3LECT_ID shall be. Returns 0 with s3lect's end of the socket, non-blocking, in *fd, or an
 * errno. */
int guard_fork(char** argv, const char* id, int* fd);

/** SIGKILL to the calling process's children; of the guard's these are daemons that left the group.
 * Their own children become the caller's, and are met the next time. Returns how many there were,
 * those counted that it may not kill (they run as another user); 0 also on a kernel without
 * CONFIG_PROC_CHILDREN, where the group alone has to do. */
int guard_kill_children(void);

#endif
