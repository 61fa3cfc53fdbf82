/* http/client.h: HTTP/1.1 requests to one origin over a pool of kept-alive connections.
 *
 * Vocabulary
 *   origin     scheme, host and port; one client talks to one origin at a time
 *   request    embedded in its owner; queued (first in, first out) until a connection is free
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "http/proxy.h"
#include "loop/loop.h"
#include "util/error.h"
#include "util/list.h"
#include "util/span.h"
#include "wire/http1.h"

/* The connection's send buffer: what compose may fill. */
#define S3L_HTTP_SEND_MAX 32768

typedef struct s3l_http_client_s s3l_http_client_t;
typedef struct s3l_http_req_s s3l_http_req_t;
struct s3l_conn_s;
struct s3l_tls_client_options_s; /* net/tls_context.h */

/** The end of a request; valid during the callback. With status != 0 the HTTP fields hold what had
 * been read by then (http_status 0: nothing). */
typedef struct s3l_http_reply_s {
  int status; /* 0, or UV_ETIMEDOUT, UV_ECANCELED, UV_ECONN*, UV_EAI_*, S3LECT_ETLS*, UV_EOF (the
                 peer closed before a byte of the reply), S3LECT_EBADREPLY, S3LECT_ETOOBIG, what
                 compose returned, ... */
  bool sent;
  int http_status;
  const s3l_http_header_t* headers;
  size_t headers_len;
  s3l_span_t body;
  const char* message; /* detail for people, or NULL: "connect to 10.0.0.1:443: ..." */
} s3l_http_reply_t;

struct s3l_http_req_s {
  void* data;

  /* Set by the owner before submit. compose writes the whole request (head, blank line, body) to
   * buf and returns its length, or a negative error that ends the request unsent. */
  ssize_t (*compose)(s3l_http_req_t* req, char* buf, size_t cap);
  void (*done)(s3l_http_req_t* req, const s3l_http_reply_t* reply);
  uint32_t timeout_ms; /* bound on everything, queueing included; 0: none */
  int64_t until_ns;    /* the same, in lease time; 0: timeout_ms after submit */
  uint32_t body_max;   /* a longer reply body ends in S3LECT_ETOOBIG, headers delivered */
  bool replayable;     /* a read: may be sent again on a fresh connection */
  bool together;       /* its last byte waits until all such requests that were submitted are out
                          but for theirs; then the last bytes go out at once */
  bool head;           /* a HEAD request: the reply has no body whatever its headers say */

  /* The client's. All zero before the first submit. */
  s3l_list_t link;
  s3l_http_client_t* client;
  struct s3l_conn_s* conn;
  s3l_deadline_t deadline;
  uint64_t seq; /* the order of submission */
  uint8_t state;
  bool sent;
  bool replayed;
  int pending_error;
};

typedef struct s3l_http_client_options_s {
  const char* host; /* name or address literal, without brackets; copied */
  uint16_t port;
  bool tls;
  const char* ca_file;   /* PEM, or NULL for the system's authorities */
  const char* ca_option; /* what ca_file is called in an error, or NULL. Not kept */
  /* In place of ca_file, where more is to be said: authorities in memory, a client certificate.
   * NULL: ca_file alone. Not kept. */
  const struct s3l_tls_client_options_s* tls_options;
  /* NULL or one that is not used: none. Copied. A TLS origin is reached through it by CONNECT; for
   * a plain one, it is compose that writes the request as the proxy wants it. */
  const s3l_proxy_t* proxy;
  /* Bounds in milliseconds; 0: only the request's own. */
  uint32_t connect_timeout_ms; /* look-up and connect together */
  uint32_t tls_timeout_ms;
  uint32_t first_byte_timeout_ms; /* from the sending of the request */
  uint32_t idle_timeout_ms; /* how long an unused connection is kept; 0: until the peer closes */
  uint32_t max_connections; /* 0: 1 */
  bool background;          /* not even requests keep the loop alive */
  bool secret;              /* requests and replies hold secrets: connections' buffers are wiped */
  s3lect_error_t* error;    /* where create says what is wrong, or NULL. Not kept */
} s3l_http_client_options_t;

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
