/* http/queue.h: the requests of a client that wait for a connection, and how many connections they
 * are worth. Private to http.
 *
 * Order: the request with the earliest `due_ns` goes first, and one without a `due_ns` counts with
 * its `until_ns`. A renewal that has time therefore lets reads pass, and one that is urgent goes
 * before all reads. A read whose turn does not come ends at its `until_ns`.
 *
 * Overload: a request that a reply can no longer reach in time is not sent while others wait (see
 * is_hopeless), so that connections carry only requests that can succeed. A client with more work
 * than its connections can carry still uses all of them for replies that count. Likewise a renewal
 * whose turn comes half a second after its submission: the elector submits it again at once, keeps
 * its place, and gets a lease that is so much longer.
 *
 * Size: `few` connections (an option) are opened as soon as requests wait; each further one only
 * when the request whose turn it is has waited for longer than a reply takes. Connections are used
 * last in, first out, so that those beyond the need become idle and reach their idle time-out. */
#ifndef S3L_HTTP_QUEUE_H
#define S3L_HTTP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "http/conn.h"

typedef struct s3l_http_queue_s {
  s3l_heap_node_t* root; /* the request that goes next */
  size_t len;
  size_t together; /* requests in it that go together */
  int64_t grow_ns; /* no growth beyond the few before this time, since an attempt failed */
} s3l_http_queue_t;

/** The request that goes next, or NULL. */
s3l_http_req_t* s3l_http_queue_first(const s3l_http_queue_t* queue);

/** Whether the request wants a connection that has not been used, since a used one may be dead too:
 * one that is sent again, and a write after another write was lost that way. */
bool s3l_http_queue_wants_fresh(const s3l_conn_pool_t* pool, const s3l_http_req_t* req);

/** The first request that a used connection may carry; NULL: there is none among those that go
 * next. */
s3l_http_req_t* s3l_http_queue_first_for_used(s3l_http_queue_t* queue, const s3l_conn_pool_t* pool);

/** Adds a request whose due_ns, until_ns and since_ns are set. */
void s3l_http_queue_add(s3l_http_queue_t* queue, s3l_http_req_t* req);
void s3l_http_queue_remove(s3l_http_queue_t* queue, s3l_http_req_t* req);

/** Removes those that were submitted at `since_ns` or before, but no more than `most`, and puts
 * them into `list`. */
void s3l_http_queue_take(s3l_http_queue_t* queue, int64_t since_ns, size_t most, s3l_list_t* list);

/** Whether a request whose turn has come must not be sent: it has too little time left to be
 * answered, or is better submitted again, and others need the connection. */
bool s3l_http_queue_is_hopeless(const s3l_http_queue_t* queue, const s3l_conn_pool_t* pool,
                                const s3l_http_req_t* req, int64_t now_ns);

/** When another connection is to be opened: 0: now; S3L_CLOCK_NEVER: not by the passing of time. */
int64_t s3l_http_queue_opens_at(const s3l_http_queue_t* queue, const s3l_conn_pool_t* pool);

/** An attempt to open a connection, which began at `since_ns`, failed. Returns how many requests
 * fail with it. Where the client has no other connection, all who waited for this one do: they
 * would meet the same, one after the other, each after its own time-out. Else the first in the
 * queue does, so that a dead origin is not dialled for ever by requests that nobody ends. Beyond
 * the few, none does: the others carry them, and attempts are a second apart. */
size_t s3l_http_queue_open_failed(s3l_http_queue_t* queue, const s3l_conn_pool_t* pool,
                                  int64_t since_ns);

#endif
