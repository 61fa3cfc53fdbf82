/* http/request.h: one request of a client, its reply, and what a client is told when it is created.
 * The rules that hold for them are in client.h. */
#ifndef S3L_HTTP_REQUEST_H
#define S3L_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/proxy.h"
#include "loop/loop.h"
#include "util/error.h"
#include "util/list.h"
#include "util/span.h"
#include "wire/http1.h"

/* Connections that an adaptive client opens at once. */
#define S3L_HTTP_FEW 8

/* The connection's send buffer: what compose may fill. */
#define S3L_HTTP_SEND_MAX 32768

typedef struct s3l_http_req_s s3l_http_req_t;
struct s3l_http_client_s;
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
  const char* message;  /* detail for people, or NULL: "connect to 10.0.0.1:443: ..." */
  bool crowded;         /* after a 2xx, once in a while: renewals wait for so long for a connection
                           that their leases are at risk; message has the arithmetic */
  uint32_t connections; /* of the client */
  int64_t waited_ns;    /* for a connection, and then for those that go together with it */
} s3l_http_reply_t;

struct s3l_http_req_s {
  void* data;

  /* Set by the owner before submit. compose writes the whole request (head, blank line, body) to
   * buf and returns its length, or a negative error that ends the request unsent. */
  ssize_t (*compose)(s3l_http_req_t* req, char* buf, size_t cap);
  void (*done)(s3l_http_req_t* req, const s3l_http_reply_t* reply);
  int64_t until_ns;    /* lease time: bound on everything, queueing included; required */
  int64_t due_ns;      /* lease time: of requests that wait for a connection the one with the
                          earliest goes first; 0: until_ns. A renewal's is a while before its lease
                          ends */
  uint32_t body_max;   /* a longer reply body ends in S3LECT_ETOOBIG, headers delivered */
  bool replayable : 1; /* a read: may be sent again on a fresh connection */
  bool together : 1;   /* its last byte waits until all such requests that were submitted are out
                          but for theirs; then the last bytes go out at once. Each has a
                          connection of its own, beyond max_connections if need be */
  bool head : 1;       /* a HEAD request: the reply has no body whatever its headers say */

  /* The client's. All zero before the first submit. */
  bool sent : 1;
  bool replayed : 1;
  uint8_t state;
  int16_t pending_error;
  union {
    s3l_heap_node_t queue; /* QUEUED */
    struct {
      struct s3l_conn_s* conn;
      int64_t sent_ns;
    } active;        /* ACTIVE */
    s3l_list_t list; /* ENDING */
  } at;
  struct s3l_http_client_s* client;
  s3l_deadline_t deadline;
  int64_t since_ns; /* when it was submitted */
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
  uint32_t few;    /* connections that are opened as soon as requests wait; further ones by how long
                      they wait, and requests without hope are not sent (queue.h). 0: all at once, and
                      every request */
  bool background; /* not even requests keep the loop alive */
  bool secret;     /* requests and replies hold secrets: connections' buffers are wiped */
  s3lect_error_t* error; /* where create says what is wrong, or NULL. Not kept */
} s3l_http_client_options_t;

#endif
