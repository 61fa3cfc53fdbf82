/* http/conn.h: one connection of a client, and the request that is on it. Private to http.
 *
 * States
 *   DIALING    name look-up and TCP connect
 *   TUNNELLING the proxy was asked to connect on (CONNECT), and has not answered yet
 *   HANDSHAKING    TLS handshake
 *   IDLE       open and unused; a byte or an end now closes it; does not keep the loop alive
 *   BUSY       carries a request: from compose to the last byte of the reply
 *   CLOSING    on its way out; freed when libuv has closed the socket
 *
 * The connections of one client form a pool. Each of them keeps itself in the pool's list for its
 * state, and reports to the pool's owner by a table of callbacks. One deadline bounds the state
 * that the connection is in. The buffers with a reply in them stay as they are until the next
 * request is sent or the socket is closed, so the owner can show them to whoever made the request
 * after the connection has gone back to the pool. */
#ifndef S3L_HTTP_CONN_H
#define S3L_HTTP_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "http/request.h"
#include "loop/loop.h"
#include "net/dial.h"
#include "net/dns_cache.h"
#include "net/stream.h"
#include "net/tls_context.h"
#include "util/list.h"
#include "wire/http1_parse.h"

typedef enum {
  S3L_CONN_DIALING,
  S3L_CONN_TUNNELLING,
  S3L_CONN_HANDSHAKING,
  S3L_CONN_IDLE,
  S3L_CONN_BUSY,
  S3L_CONN_CLOSING
} s3l_conn_state_t;

typedef struct s3l_conn_s s3l_conn_t;
typedef struct s3l_conn_pool_s s3l_conn_pool_t;

/* What connections report to the pool's owner. All but `gone` come from the loop. */
typedef struct s3l_conn_events_s {
  /* A connection has been opened, and is IDLE. */
  void (*ready)(s3l_conn_pool_t* pool);
  /* A connection could not be opened; `message` says why. It is closing, or freed. `since_ns`:
   * when its opening began. */
  void (*failed)(s3l_conn_pool_t* pool, int status, int64_t since_ns);
  /* A request is over. The connection is IDLE or CLOSING. status != 0: `message` says why. */
  void (*done)(s3l_conn_t* conn, s3l_http_req_t* req, int status);
  /* A kept-alive connection was found dead before any byte of the reply. It is closing. */
  void (*replay)(s3l_conn_pool_t* pool, s3l_http_req_t* req);
  /* A connection has left the lists: there is a place for another. Or its socket is closed. */
  void (*gone)(s3l_conn_pool_t* pool);
} s3l_conn_events_t;

struct s3l_conn_pool_s {
  const s3l_conn_events_t* events;
  s3l_loop_t* loop;
  s3l_tls_context_t* tls; /* NULL: plain */
  int64_t now_ns;         /* of the event that the pool saw last, which is enough for dispatching */
  int64_t round_trip_ns;  /* of late: from the sending of a request to the end of its reply, the
                             shortest of them; 0: none yet */

  s3l_list_t opening; /* connections DIALING, TUNNELLING or HANDSHAKING */
  s3l_list_t idle;    /* the most recently used first */
  s3l_list_t busy;
  size_t opening_len;
  size_t conns_len; /* all that are not closing */
  size_t sockets;   /* connections with a socket, closing ones too */
  size_t held;      /* connections that keep back the last byte of their request */

  bool require_fresh; /* a write was lost on a used connection: the next one goes on a fresh one */

  s3l_http_client_options_t options; /* what points outside is NULL; see below */
  s3l_dns_cache_t dns;               /* of the host that is dialled */
  s3l_proxy_t proxy;
  char host[S3L_HTTP_HOST_MAX];
  char origin[S3L_HTTP_HOST_MAX + 10]; /* "host:port", "[::1]:port", for people */
  char peer[S3L_HTTP_HOST_MAX + 16];   /* who is dialled: the origin, or "proxy host:port" */
  char message[512];                   /* about the latest failure */
};

struct s3l_conn_s {
  s3l_conn_pool_t* pool;
  s3l_list_t link; /* in the pool's list for its state */
  s3l_conn_state_t state;
  bool reused;         /* has carried a request before */
  bool last;           /* carries no other request: the client has moved to another origin */
  int64_t since_ns;    /* when its opening began, or BUSY, or IDLE */
  s3l_http_req_t* req; /* BUSY */
  size_t held;     /* bytes of the request in send_buf, of which the last has not gone out; or 0 */
  size_t composed; /* bytes of send_buf that have been written to; they are wiped */
  s3l_deadline_t deadline;
  s3l_stream_t stream;
  s3l_dial_t dial;
  s3l_http1_t parse;
  char head[S3L_HTTP1_HEAD_MAX]; /* of the reply */
  char send_buf[S3L_HTTP_SEND_MAX];
  char read_buf[S3L_STREAM_READ_MAX];
};

/** Begins to connect another one. Errors, with nothing left over: UV_ENOMEM, UV_EINVAL. */
int s3l_conn_open(s3l_conn_pool_t* pool);

/** Whether an IDLE connection that has not been used for a while must not be used again: the peer
 * has closed it, or has sent something, and the loop has not come to read that yet. */
bool s3l_conn_is_dead(const s3l_conn_t* conn, int64_t now_ns);

/** Composes and sends. The connection is IDLE, and BUSY afterwards unless something failed. */
void s3l_conn_send(s3l_conn_t* conn, s3l_http_req_t* req, int64_t now_ns);

/** Sends the byte that is held back, if nothing before it is still on its way. The connection is
 * BUSY; the request may end in here. */
void s3l_conn_send_held(s3l_conn_t* conn);

/** Closes it, whatever its state. Its request, if any, is the caller's to end. The pool forgets
 * the connection at once; a DIALING one is freed in here. */
void s3l_conn_close(s3l_conn_t* conn);

/** Writes the pool's message. */
__attribute__((format(printf, 2, 3))) void s3l_conn_say(s3l_conn_pool_t* pool, const char* format,
                                                        ...);

#endif
