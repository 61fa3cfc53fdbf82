/* cli/guard.h (L8): the guard, a small process that runs the command and ends it on time.
 *
 * The command must be gone before leadership ends, even if s3lect itself is killed, stopped
 * (SIGSTOP, Ctrl-Z) or hangs. So a separate process, the guard, runs it. The guard is forked first,
 * while s3lect has one thread and nothing open. It shares only a socket with s3lect, and is told
 * until when the command may run.
 *
 * Between s3lect and the guard is the keeper, which only waits. If the guard is killed, the keeper
 * inherits its children and kills them. If s3lect has ended and the guard does not end soon,
 * because it is stopped, the keeper kills the guard. s3lect itself inherits nothing, so that its
 * own children (credential_process) stay apart from the command's.
 *
 * Vocabulary
 *   group     the command's process group: its ID is the command's pid
 *   bound     the instant, in lease time (s3lect_now_ns), by which the whole group must be gone;
 *             each renewal moves it. The end of the socket counts as a bound that has passed
 *   lead      how long before the bound SIGKILL is sent: twice the time of a recent pass over the
 *             command's processes, as rehearsed after each renewal, but part of the grace at most
 *   gone      no process of the group is left, nor any other descendant: the guard is their
 *             subreaper, so that a process that loses its parent becomes the guard's child
 *
 * SIGKILL goes to the group, to the command's cgroup if the guard may make one (cli/cgroup.h), and
 * to all descendants, all generations in one pass (cli/tree.h).
 *
 * The guard cannot end a process that hangs in the kernel or, without a cgroup, one that runs as
 * another user (sudo): GONE is then not reported, and the lockfile not released. If guard and
 * keeper are both killed, s3lect kills the group and the cgroup; without a cgroup, processes that
 * have left the group may go on running, and s3lect exits without a release (GUARD_UNKNOWN). If all
 * three are killed, the kernel kills the command itself. If s3lect and the guard are both stopped,
 * nothing happens until one of them continues. A systemd unit or a container ends the rest in these
 * cases. Guard and keeper have names and arguments of their own, so that `pkill s3lect`, `killall
 * s3lect` and `pkill -f 's3lect run'` find s3lect alone.
 *
 * Invariants: at most one group at a time; SIGKILL to the group follows at the bound, whatever
 * s3lect does; GONE is reported exactly once per START, and only when it is true. */
#ifndef S3L_CLI_GUARD_H
#define S3L_CLI_GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GUARD_NAME  "lease-guard"
#define KEEPER_NAME "lease-keeper"

typedef enum {
  GUARD_START = 1,  /* run the command, under epoch, within bound_ns */
  GUARD_BOUND = 2,  /* renewed: bound_ns moves */
  GUARD_SIGNAL = 3, /* send signum to the group */
  GUARD_STOP = 4,   /* end the group: signum now, SIGKILL after grace_ns */
  GUARD_KILL = 5,   /* end the group with SIGKILL now; KILLING is the answer */
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
  GUARD_READY = 1,    /* pid: the guard's */
  GUARD_FORKED = 2,   /* pid: the command's, which is about to be executed */
  GUARD_STARTED = 3,  /* pid: the command runs */
  GUARD_NO_EXEC = 4,  /* error: the errno of execvp; GONE follows */
  GUARD_STOPPING = 5, /* the bound is near: SIGTERM was sent */
  GUARD_KILLING = 6,  /* SIGKILL was sent */
  GUARD_GONE = 7,     /* cause; status: as waitpid(2) says, if the command ever ran */
  GUARD_LOST = 8,     /* by the keeper: the guard has ended. The socket ends when all processes that
                         the guard has left are gone */
  GUARD_STUCK = 9,    /* by cli/child.h: SIGKILL was sent, but the group still exists */
} guard_report_kind_t;

typedef enum {
  GUARD_SELF = 1,     /* the command ended by itself */
  GUARD_ORDERED = 2,  /* STOP or KILL */
  GUARD_BOUNDED = 3,  /* its bound came near */
  GUARD_TOO_LATE = 4, /* the command was not started: its bound was too near */
  GUARD_NO_FORK = 5,  /* the command was not started: error */
  GUARD_DIED = 6,     /* by cli/child.h: the guard has ended; no START works any more */
  GUARD_UNKNOWN = 7,  /* as GUARD_DIED, but the keeper was killed, too, and there is no cgroup:
                         processes of the command may still run. Only then GONE may be untrue */
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

typedef struct guard_setup_s {
  char** argv;    /* the command; copied */
  const char* id; /* the value of S3LECT_ID; copied */
  char* title;    /* this process's arguments in memory, for guard and keeper to overwrite */
  size_t title_len;
} guard_setup_t;

/** Forks keeper and guard. Call it before there are threads and signal handlers. Returns 0, with
 * s3lect's end of the socket, non-blocking, in *fd and the keeper's pid in *keeper, or an errno. */
int guard_fork(const guard_setup_t* setup, int* fd, pid_t* keeper);

#endif
