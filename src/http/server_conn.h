/* http/server_conn.h: one connection of the server, and the exchange that is on it. Private to
 * http.
 *
 * States
 *   HANDSHAKING    TLS handshake
 *   READING    waits for a request, or reads one
 *   QUEUED     a request is complete, and waits for its turn
 *   OPEN       the exchange is with the owner
 *   ANSWERED   the answer is made, and waits for its turn
 *   WRITING    the answer is on its way, and the client slow to take it
 *   LINGERING  the last answer is out; what still comes is thrown away until the client closes
 *   CLOSING    freed when libuv has closed the socket
 *
 * One deadline bounds the state that the connection is in, but QUEUED and OPEN. */
#ifndef S3L_HTTP_SERVER_CONN_H
#define S3L_HTTP_SERVER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"
#include "loop/loop.h"
#include "net/dns_cache.h"
#include "net/stream.h"
#include "net/tls_context.h"
#include "util/list.h"
#include "util/timefmt.h"

typedef enum {
  S3L_SCONN_HANDSHAKING,
  S3L_SCONN_READING,
  S3L_SCONN_QUEUED,
  S3L_SCONN_OPEN,
  S3L_SCONN_ANSWERED,
  S3L_SCONN_WRITING,
  S3L_SCONN_LINGERING,
  S3L_SCONN_CLOSING
} s3l_sconn_state_t;

typedef struct s3l_sconn_s s3l_sconn_t;
typedef struct s3l_sconn_pool_s s3l_sconn_pool_t;

/* What the connections of one server have in common. */
struct s3l_sconn_pool_s {
  s3l_loop_t* loop;
  s3l_http_server_t* server;
  s3l_tls_context_t* tls; /* NULL: plain */
  bool closing;

  s3l_list_t idle;    /* READING, no byte of a request yet; the longest idle first */
  s3l_list_t pending; /* HANDSHAKING, and READING with a part of a request; the oldest first */
  s3l_list_t busy;    /* QUEUED, OPEN, ANSWERED */
  s3l_list_t stalled; /* WRITING; the longest stalled first */
  s3l_list_t lingering;
  s3l_list_t ready; /* those that s3l_sconn_work is owed to; of all states but CLOSING */
  s3l_task_t work;  /* calls it; deferred when a connection gets ready, and when one has closed */
  size_t sockets;   /* of closing connections too */

  unsigned may_write; /* how many more answers may be written in this turn of the loop */

  s3l_http_server_options_t options; /* with defaults filled in; what points outside is NULL */
  s3l_http_server_stats_t stats;

  int64_t date_s; /* what `date` is for */
  char date[S3L_TIME_HTTP_SIZE];

  char read_buf[S3L_STREAM_READ_MAX]; /* of all connections */
};

struct s3l_sconn_s {
  s3l_sconn_pool_t* pool;
  s3l_list_t link;  /* in the pool's idle, pending, busy, stalled or lingering */
  s3l_list_t ready; /* in the pool's list of those with something to do */
  s3l_sconn_state_t state;
  s3l_address_t from;
  int64_t since_ns; /* since when it has been in pending or stalled */
  bool timed;       /* READING: the deadline is that of the request */
  bool held;        /* OPEN */
  bool eof;         /* the client has ended its side in good order */
  bool keep;        /* WRITING: the connection may carry another request */
  s3l_deadline_t deadline;
  s3l_stream_t stream;
  s3l_http1_t request;
  s3l_http_exchange_t exchange;
  char* answer; /* WRITING */
  size_t answer_len;
  char* rest; /* what was read behind the request that is on it; the stream is paused then */
  size_t rest_len;
  size_t thrown_away; /* LINGERING */
  char head[];        /* of the request: max_header_bytes */
};

/** Takes a connection up, or closes it for want of memory. */
void s3l_sconn_open(s3l_sconn_pool_t* pool, uv_tcp_t* tcp, const s3l_address_t* from);

/** Does what it is in the ready list for. */
void s3l_sconn_work(s3l_sconn_t* conn);

/** Closes it, whatever its state but OPEN. No-op when closing already. */
void s3l_sconn_close(s3l_sconn_t* conn);

/** The same for an OPEN one, with on_abort. */
void s3l_sconn_gone(s3l_sconn_t* conn);

#endif
