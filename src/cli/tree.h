/* cli/tree.h (L8): the calling process's descendants, all generations in one pass. */
#ifndef S3L_CLI_TREE_H
#define S3L_CLI_TREE_H

/** Sends signum (0: none) to every descendant of the calling process, which has one thread and is
 * their subreaper. A parent gets it before its children are looked up: after SIGKILL it cannot fork
 * another one, and cannot reap, so that no number can have become another process's. Passes repeat
 * until one finds nothing new. Returns how many descendants there were, those included that may not
 * be signalled (they run as another user); 0 also on a kernel without CONFIG_PROC_CHILDREN. */
int cli_tree_signal(int signum);

#endif
