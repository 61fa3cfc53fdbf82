/* cli/cgroup.h (L8): a cgroup (version 2) for the command, where this process may make one: a
 * process of root's, or in a unit with Delegate=yes. Killing it takes all processes at once, those
 * of other users included; only a process that was moved to another cgroup escapes. Where there is
 * none, each function does nothing. */
#ifndef S3L_CLI_CGROUP_H
#define S3L_CLI_CGROUP_H

#include <sys/types.h>

#define CLI_CGROUP_SIZE 4096

typedef struct cli_cgroup_s {
  char path[CLI_CGROUP_SIZE]; /* of its directory; "" if there is none */
} cli_cgroup_t;

/** Names the cgroup of the guard `pid`, below the one in which this process runs. */
void cli_cgroup_name(cli_cgroup_t* cgroup, pid_t pid);
/** Makes it. If that cannot be, or its kernel has no cgroup.kill, `path` becomes "". */
void cli_cgroup_make(cli_cgroup_t* cgroup);
/** Moves the calling process into it, and so all that it will start; removes it if that fails. */
void cli_cgroup_enter(const cli_cgroup_t* cgroup);
void cli_cgroup_kill(const cli_cgroup_t* cgroup);
/** Returns 0 if no process was left in it, EBUSY if one is, else ENOENT or another errno. */
int cli_cgroup_remove(const cli_cgroup_t* cgroup);

#endif
