/* http/server.h: a small HTTP/1.1 server on the caller's loop, hard to wear down.
 *
 * Vocabulary
 *   exchange   one request and its answer; the owner gets it in on_request
 *   hold       to leave an exchange unanswered when on_request returns (a long poll)
 *   gone       the client of a held exchange has left, or the server has closed
 *
 * Invariants
 *   - one request at a time per connection; those that are sent ahead wait;
 *   - an exchange that on_request is told of ends exactly once: by the owner's reply, or, if it is
 *     held, by on_abort, after which it must not be touched. on_abort never runs inside a call of
 * the owner's;
 *   - on_request runs from the loop, never inside a call, and not after close;
 *   - bodies of requests are read, up to a limit, and ignored;
 *   - what the server cannot accept it answers itself (400, 408, 413, 414, 417, 431, 500, 501, 503,
 *     505) and then closes the connection. Methods and paths are the owner's: s3l_http_refuse;
 *   - one turn of the loop takes S3L_LISTEN_ACCEPTS connections at most, and then reads, shakes
 *     hands and answers for about S3L_HTTP_SERVER_TURN_MS, S3L_STREAM_READ_MAX bytes of one
 *     connection at a time: a flood delays other clients, but not the loop's timers;
 *   - a client whose TLS records bring too little application data is dropped (net/tls_engine.h);
 *   - every state that a client can leave a connection in has a bound in time, but a held exchange:
 *     that one is its owner's to end.
 *
 * Where max_connections are open, a new one takes the place of one that has had its last answer,
 * else of the one that has been idle for longest, else of the one that has hung for longest,
 * for S3L_HTTP_SERVER_PATIENCE_MS at least: it has not sent a whole request, or does not take its
 * answer. Else the new connection is closed at once. A held exchange is never ended for another. A
 * client address (of IPv6 the first 64 bits) that has max_per_address connections gets a new one in
 * the place of one of its own only.
 *
 * A client that shuts down its side before its request is taken up gets its answer; of a held
 * exchange it is the end. A client that sends further requests behind a held one is not read any
 * more, so that its going away is found only by answering. */
#ifndef S3L_HTTP_SERVER_H
#define S3L_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "util/error.h"
#include "util/span.h"
#include "wire/http1_parse.h"

/* Defaults of the limits. */
#define S3L_HTTP_SERVER_MAX_CONNECTIONS  2048 /* at most half of the process's descriptors */
#define S3L_HTTP_SERVER_MAX_HEADER_BYTES 8192
#define S3L_HTTP_SERVER_MAX_BODY_BYTES   16384
#define S3L_HTTP_SERVER_TLS_TIME_MS      5000
#define S3L_HTTP_SERVER_HEADER_TIME_MS   5000
#define S3L_HTTP_SERVER_IDLE_TIME_MS     75000 /* more than two infrequent intervals */
#define S3L_HTTP_SERVER_WRITE_TIME_MS    10000

/* How long a last answer is given to reach the client before its connection is closed under it, and
 * how much of what the client still sends is thrown away meanwhile. */
#define S3L_HTTP_SERVER_LINGER_MS    1000
#define S3L_HTTP_SERVER_LINGER_BYTES (256u << 10)

#define S3L_HTTP_SERVER_PATIENCE_MS  500
#define S3L_HTTP_SERVER_TURN_MS      2
#define S3L_HTTP_SERVER_TURN_MAX     64 /* connections worked on, however quick */

typedef struct s3l_http_server_s s3l_http_server_t;
typedef struct s3l_http_exchange_s s3l_http_exchange_t;
struct s3l_tls_context_s; /* net/tls_context.h */

struct s3l_http_exchange_s {
  void* data; /* the owner's; NULL in on_request */
  s3l_http_server_t* server;

  /* The request; valid until it is answered or gone. */
  const s3l_http1_t* request;

  /* Whether the client has shown a certificate that holds, and what it is for (net/tls_engine.h);
   * NULL: not shown, or without a usable name. */
  bool verified;
  const char* client_name;

  /* Private. */
  void (*on_abort)(s3l_http_exchange_t* ex);
};

typedef struct s3l_http_server_options_s {
  const char* listen;            /* as s3l_listen_parse reads it: "10.0.0.1:8443" */
  struct s3l_tls_context_s* tls; /* the server holds its own; NULL: plain */
  void (*on_request)(s3l_http_server_t* server, s3l_http_exchange_t* ex);
  void* data;

  bool background; /* it does not keep the loop alive, nor do its connections, until it is closed */

  /* Limits; 0: the default. */
  uint32_t max_connections;
  uint32_t max_held; /* exchanges; default: three quarters of max_connections, and one less than
                        all: the rest is for requests that are answered at once */
  uint32_t max_per_address; /* connections of one client address; default: seven eighths */
  uint32_t max_header_bytes;
  uint32_t max_body_bytes;
  uint32_t tls_time_ms;    /* handshake */
  uint32_t header_time_ms; /* from accept (TLS: the end of the handshake) or, on a connection that
                              was idle, from the first byte, to the end of the request */
  uint32_t idle_time_ms;   /* between requests */
  uint32_t write_time_ms;  /* for a client to take an answer */

  s3lect_error_t* error; /* where create says what is wrong, or NULL. Not kept */
} s3l_http_server_options_t;

typedef struct s3l_http_server_stats_s {
  size_t connections; /* now */
  size_t held;        /* now */
  /* Since create. */
  uint64_t accepted;
  uint64_t refused;      /* closed at once, for want of room or memory */
  uint64_t evicted;      /* closed to make room */
  uint64_t pauses;       /* of accepting, for want of descriptors */
  uint64_t requests;     /* complete ones */
  uint64_t bad_requests; /* refused as they are */
  uint64_t gone;         /* held exchanges that ended so */
  uint64_t tls_failures; /* handshakes that the client, or its certificate, failed */
  uint64_t timeouts_tls;
  uint64_t timeouts_header;
  uint64_t timeouts_idle;
  uint64_t timeouts_write;
} s3l_http_server_stats_t;

typedef struct s3l_http_answer_s {
  int status;                       /* 200..599 */
  const char* content_type;         /* NULL: none */
  const s3l_http_header_t* headers; /* more of them; not Date, Content-Length, Connection,
                                       Cache-Control, which the server writes */
  size_t headers_len;
  s3l_span_t body; /* left out of the answer to a HEAD */
  bool close;      /* the connection ends with it */
} s3l_http_answer_t;

/** Listens. Errors, with nothing to clean up: UV_ENOMEM, UV_EINVAL (listen or a limit),
 * UV_EADDRINUSE, UV_EACCES, UV_EADDRNOTAVAIL, ... */
int s3l_http_server_create(uv_loop_t* loop, const s3l_http_server_options_t* options,
                           s3l_http_server_t** out);

void* s3l_http_server_data(const s3l_http_server_t* server);

/** The port that it listens on; the one that was given for port 0. */
uint16_t s3l_http_server_port(const s3l_http_server_t* server);

/** New connections use this context; open ones live on with theirs. Only of a server that was
 * created with one. */
void s3l_http_server_set_tls(s3l_http_server_t* server, struct s3l_tls_context_s* tls);

void s3l_http_server_stats(const s3l_http_server_t* server, s3l_http_server_stats_t* out);

/** Stops listening, closes what is idle, and gives answers that are owed or on their way `grace_ms`
 * to be made and taken; held exchanges that are left then are gone. Frees the server, then calls
 * cb. Once only. */
void s3l_http_server_close(s3l_http_server_t* server, uint32_t grace_ms, void (*cb)(void* arg),
                           void* arg);

/** Keeps the exchange beyond on_request. on_abort: see above. UV_EBUSY: max_held are held already;
 * it must be answered now. */
int s3l_http_hold(s3l_http_exchange_t* ex, void (*on_abort)(s3l_http_exchange_t* ex));

/** Answers; the exchange is over, whatever this returns. Nothing of the answer is kept. Errors, for
 * the record only: UV_ENOMEM (the connection is closed), UV_EINVAL (a header or the status cannot
 * be sent: the client gets a 500). */
int s3l_http_reply(s3l_http_exchange_t* ex, const s3l_http_answer_t* answer);

/** Answers with a status and a line of text that says it: 404, 405 (`Allow: GET, HEAD`), 503 ... */
int s3l_http_refuse(s3l_http_exchange_t* ex, int status);

#endif
