/* http/exchange.h: one request to a server and its answer; what a server is told when it is
 * created, and what it counts. The rules that hold for them are in server.h. */
#ifndef S3L_HTTP_EXCHANGE_H
#define S3L_HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/span.h"
#include "wire/http1_parse.h"

typedef struct s3l_http_server_s s3l_http_server_t;
typedef struct s3l_http_exchange_s s3l_http_exchange_t;
struct s3l_tls_context_s; /* net/tls_context.h */

struct s3l_http_exchange_s {
  void* data; /* the owner's; NULL in on_request */
  s3l_http_server_t* server;

  /* The request; valid until it is answered or gone. */
  const s3l_http1_t* request;

  bool verified; /* the client has shown a certificate that holds */

  /* Private. */
  void (*on_abort)(s3l_http_exchange_t* ex);
};

typedef struct s3l_http_server_options_s {
  const char* listen;            /* as s3l_listen_parse reads it: "10.0.0.1:8443" */
  const char* listen_option;     /* what `error` calls it; NULL: "listen" */
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

/** Whether the client has shown a certificate that holds, and that is for this host name or IP
 * address. */
bool s3l_http_client_is(const s3l_http_exchange_t* ex, const char* host);

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
