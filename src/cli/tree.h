/* cli/tree.h (L8): the calling process's descendants, all generations in one pass. */
#ifndef S3L_CLI_TREE_H
#define S3L_CLI_TREE_H

#include <stdbool.h>

/** Sends signum (0: none) to every descendant of the calling process, which has one thread and is
 * their subreaper. A parent gets it before its children are looked up: after SIGKILL it cannot fork
 * another one, and cannot reap, so that no number can have become another process's. Passes repeat
 * until one finds nothing new. Returns how many descendants there were, those included that may not
 * be signalled (they run as another user). */
int cli_tree_signal(int signum);

/** Whether /proc shows the calling process's children: it is mounted, it is that of this PID
 * namespace, and the kernel has CONFIG_PROC_CHILDREN. */
bool cli_tree_is_visible(void);

#endif
