/* http/server_internal.h: what server.c and server_conn.c share of the server. */
#ifndef S3L_HTTP_SERVER_INTERNAL_H
#define S3L_HTTP_SERVER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/server.h"
#include "http/server_conn.h"
#include "loop/loop.h"
#include "net/listen.h"
#include "net/tls_context.h"
#include "util/list.h"
#include "util/timefmt.h"

struct s3l_http_server_s {
  s3l_loop_t* loop;
  s3l_http_server_options_t options; /* with defaults filled in; what points outside is NULL */
  s3l_tls_context_t* tls;            /* NULL: plain */
  s3l_http_server_stats_t stats;

  s3l_listener_t listener;
  s3l_deadline_t grace;
  s3l_task_t soon; /* does what is ready, or begins to close; at last, the end */
  unsigned refs;   /* itself until it has finished, its listener, and connections */

  s3l_list_t idle;    /* READING, no byte of a request yet; the longest idle first */
  s3l_list_t pending; /* HANDSHAKING, and READING with a part of a request; the oldest first */
  s3l_list_t busy;    /* QUEUED, OPEN, ANSWERED */
  s3l_list_t stalled; /* WRITING; the longest stalled first */
  s3l_list_t lingering;
  s3l_list_t ready; /* of all states but CLOSING */

  unsigned written; /* answers, since on_soon began */

  int64_t date_s; /* what `date` is for */
  char date[S3L_TIME_HTTP_SIZE];

  bool closing;
  bool shut; /* closing, and no longer listening */
  uint32_t grace_ms;
  void (*close_cb)(void* arg);
  void* close_arg;
  char read_buf[S3L_STREAM_READ_MAX]; /* of all connections */
};

/** Has s3l_sconn_work called in one of the next turns. */
void s3l_server_ready(s3l_sconn_t* conn);

/** Whether one more answer may be written now, else in a later turn. */
bool s3l_server_may_write(s3l_http_server_t* server);

/** The connection is closing: it is off the lists. */
void s3l_server_conn_gone(s3l_http_server_t* server);

/** One reference less; ends the server with its last. */
void s3l_server_unref(s3l_http_server_t* server);

/** The time of day, for a header. */
const char* s3l_server_date(s3l_http_server_t* server);

#endif
