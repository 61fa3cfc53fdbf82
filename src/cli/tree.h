/* cli/tree.h (L8): signals all descendants of the calling process. */
#ifndef S3L_CLI_TREE_H
#define S3L_CLI_TREE_H

#include <stdbool.h>

/** Sends signum (0: none) to every descendant of the calling process, which has one thread and is
 * their subreaper. A parent is signalled before its children are looked up: after SIGKILL it can
 * neither fork nor reap, so that no pid is reused meanwhile. Passes repeat until one finds nothing
 * new. Returns the number of descendants, including those that run as another user and cannot be
 * signalled. */
int cli_tree_signal(int signum);

/** Whether /proc shows the calling process's children: it is mounted, it belongs to this PID
 * namespace, and the kernel has CONFIG_PROC_CHILDREN. */
bool cli_tree_is_visible(void);

#endif
