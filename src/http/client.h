/* http/client.h: HTTP/1.1 requests to one origin over a pool of kept-alive connections.
 *
 * Vocabulary
 *   origin     scheme, host and port; one client talks to one origin at a time
 *   request    embedded in its owner; queued (in the order of queue.h) until a connection is free
 *   compose    the owner's callback that writes head and body into the connection's own send
 *              buffer just before they go out, so that a queued request holds no buffer and is
 *              signed with the time at which it is sent
 *   replay     sending again after a kept-alive connection turned out to be dead before a byte of
 *              reply came; done by the client only for requests marked replayable (reads)
 *
 * Invariants
 *   - a request ends exactly once, from the loop, never inside submit or cancel;
 *   - a request that is not replayable is composed and written at most once;
 *   - `sent` in the reply is false only if no byte of the request was handed to the kernel (or to
 *     TLS): then the request cannot have had an effect;
 *   - on a warm plain connection submit, compose, reply and done make no heap allocation. */
#ifndef S3L_HTTP_CLIENT_H
#define S3L_HTTP_CLIENT_H

#include <stdint.h>
#include <uv.h>

#include "http/request.h"
#include "util/span.h"

typedef struct s3l_http_client_s s3l_http_client_t;

/** Creates a client. Errors, with nothing to clean up: UV_ENOMEM, UV_EINVAL (the host), S3LECT_ETLS
 * (the CA file). Unused connections do not keep the loop alive, requests
 * do unless they are in the background. */
int s3l_http_client_create(uv_loop_t* loop, const s3l_http_client_options_t* options,
                           s3l_http_client_t** out);

/** Queues a request. Returns 0 (done will run, later) or UV_ECANCELED if the client is closing. */
int s3l_http_client_submit(s3l_http_client_t* client, s3l_http_req_t* req);

/** Ends a request soon with UV_ECANCELED; `sent` says whether it had gone out. The connection it
 * was on is closed, because a reply may still be on its way. No-op on a request that has ended. */
void s3l_http_client_cancel(s3l_http_req_t* req);

/** Moves the client to another origin of the same scheme: what is sent from now on goes there, what
 * has been sent is still answered by the old one. `proxy` as in the options: it may be another one.
 * Requests that wait are not disturbed; compose tells where it writes for by when it is called.
 * Messages about what is out name the new origin, too.
 * Errors, with nothing changed: UV_EINVAL (the host). */
int s3l_http_client_set_origin(s3l_http_client_t* client, const char* host, uint16_t port,
                               const s3l_proxy_t* proxy);

/** Ends all requests with UV_ECANCELED, closes all connections, frees the client, then calls cb. */
void s3l_http_client_close(s3l_http_client_t* client, void (*cb)(void* arg), void* arg);

/** First header of that name, or a span with p == NULL. */
s3l_span_t s3l_http_reply_header(const s3l_http_reply_t* reply, const char* name);

#endif
