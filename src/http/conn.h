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
 * What happens to a connection is told to the client by the s3l_client_conn_* functions, always
 * from the loop. One deadline bounds the state that the connection is in. The buffers with a reply
 * in them stay as they are until the next request is sent or the socket is closed, so the client
 * can show them to the request's owner after the connection has gone back to the pool. */
#ifndef S3L_HTTP_CONN_H
#define S3L_HTTP_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "http/client.h"
#include "loop/loop.h"
#include "net/dial.h"
#include "net/stream.h"
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

typedef struct s3l_conn_s {
  s3l_http_client_t* client;
  s3l_list_t link; /* in the client's list for its state */
  s3l_conn_state_t state;
  bool reused;         /* has carried a request before */
  bool last;           /* carries no other request: the client has moved to another origin */
  uint64_t seq;        /* requests up to this one were waiting when it was opened */
  s3l_http_req_t* req; /* BUSY */
  s3l_deadline_t deadline;
  s3l_dial_t dial;
  s3l_stream_t stream;
  s3l_http1_t parse;
  size_t held;     /* bytes of the request in send_buf, of which the last has not gone out; or 0 */
  size_t composed; /* bytes of send_buf that have been written to; they are wiped */
  char head[S3L_HTTP1_HEAD_MAX]; /* of the reply */
  char send_buf[S3L_HTTP_SEND_MAX];
  char read_buf[S3L_STREAM_READ_MAX];
} s3l_conn_t;

/** Begins to connect. Errors, with nothing left over: UV_ENOMEM, UV_EINVAL. */
int s3l_conn_open(s3l_http_client_t* client, s3l_conn_t** out);

/** Composes and sends. The connection is IDLE, and BUSY afterwards unless something failed. */
void s3l_conn_send(s3l_conn_t* conn, s3l_http_req_t* req);

/** Sends the byte that is held back, if nothing before it is still on its way. The connection is
 * BUSY; the request may end in here. */
void s3l_conn_send_held(s3l_conn_t* conn);

/** Closes it, whatever its state. Its request, if any, is the caller's to end. The client forgets
 * the connection at once; a DIALING one is freed in here. */
void s3l_conn_close(s3l_conn_t* conn);

/* To the client. */

/** A connection has become IDLE. */
void s3l_client_conn_ready(s3l_conn_t* conn);

/** A connection was closed, for whatever reason: there is a place for another. */
void s3l_client_conn_gone(s3l_http_client_t* client);

/** A connection could not be opened; `client->message` says why. It is closing, or freed. */
void s3l_client_conn_failed(s3l_http_client_t* client, int status, uint64_t seq);

/** A request is over. The connection is IDLE or CLOSING. status != 0: `client->message` says why.
 */
void s3l_client_req_done(s3l_conn_t* conn, s3l_http_req_t* req, int status);

/** A kept-alive connection was found dead before any byte of the reply. It is closing. */
void s3l_client_req_replay(s3l_http_client_t* client, s3l_http_req_t* req);

#endif
