/* conn: one accepted connection, from beginning to end.
 *
 *   a client's:   held -> dialling -> passing [-> draining] -> closing
 *   a proxy's:    greeting -> dialling -> passing [-> draining] -> closing
 *
 * A client's that finds no leader is held, unread: what it sends waits in the kernel, and nothing
 * of it is lost when a leader is found. A proxy's is never held and never sent on to another proxy:
 * it goes to the backend beside this proxy, or is told that there is no leader here. */
#ifndef TCP_PROXY_CONN_H
#define TCP_PROXY_CONN_H

#include <stdbool.h>

struct proxy_s;

/** Takes an accepted socket over. */
void conn_accept(struct proxy_s* proxy, int fd, bool from_peer);
/** The route is open: connections that are held go on. */
void conns_wake(struct proxy_s* proxy);
/** The route leads elsewhere: connections that lead to where it led are closed, or drained. */
void conns_moved(struct proxy_s* proxy);
/** The process ends: those that are held are refused. */
void conns_end_held(struct proxy_s* proxy);
/** Closes all of them at once. */
void conns_reset(struct proxy_s* proxy);

#endif
