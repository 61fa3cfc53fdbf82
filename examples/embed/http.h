/* A small HTTP/1.1 server: reads the head of one request, answers, closes. For load balancers and
 * orchestrators that ask who leads; not for the open Internet. */
#ifndef EMBED_HTTP_H
#define EMBED_HTTP_H

#include <stddef.h>
#include <uv.h>

#define HTTP_HEAD_MAX  4096 /* a longer request is answered with 431 */
#define HTTP_BODY_MAX  12288
#define HTTP_CONNS_MAX 128  /* more wait in the kernel */
#define HTTP_PATIENCE  5000 /* ms until a connection is closed, whatever it is doing */

typedef struct http_reply_s {
  int status;       /* 200 when the handler is called */
  const char* type; /* text/plain when the handler is called */
  size_t body_len;
  char body[HTTP_BODY_MAX];
} http_reply_t;

/** Answers "METHOD TARGET"; runs on the loop, must not block. For HEAD the body is left away. */
typedef void (*http_handler_t)(void* arg, const char* method, const char* target,
                               http_reply_t* reply);

typedef struct http_s {
  http_handler_t handler;
  void* arg;
  uv_tcp_t tcp;
  unsigned conns;
  int waiting; /* a connection waits that could not be accepted */
  struct http_conn_s* first;
} http_t;

/** Listens on an IPv4 address; port 0 takes a free one. On an error nothing is left to clean up but
 * the loop, which must run once more. */
int http_listen(http_t* http, uv_loop_t* loop, const char* ip, int port);
/** The port that it listens on, or a negative code. */
int http_port(const http_t* http);
/** Closes it and all connections. */
void http_close(http_t* http);

#endif
