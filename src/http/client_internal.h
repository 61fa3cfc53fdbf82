/* http/client_internal.h: what client.c and conn.c share of the client. */
#ifndef S3L_HTTP_CLIENT_INTERNAL_H
#define S3L_HTTP_CLIENT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "http/client.h"
#include "http/conn.h"
#include "loop/loop.h"
#include "net/dns_cache.h"
#include "net/tls_context.h"
#include "util/list.h"

struct s3l_http_client_s {
  s3l_loop_t* loop;
  s3l_http_client_options_t options; /* what points outside is NULL; see below */
  char host[S3L_HTTP_HOST_MAX];
  char origin[S3L_HTTP_HOST_MAX + 10]; /* "host:port", "[::1]:port", for people */
  char peer[S3L_HTTP_HOST_MAX + 16];   /* who is dialled: the origin, or "proxy host:port" */
  s3l_proxy_t proxy;
  s3l_tls_context_t* tls; /* NULL: plain */
  s3l_dns_cache_t dns;    /* of the host that is dialled */

  s3l_task_t soon; /* does what must not be done inside a call; at last, the end */
  unsigned refs;   /* itself until it has shut down, and connections with a socket */

  s3l_list_t queue;  /* requests waiting, first in, first out */
  s3l_list_t ending; /* requests whose done is owed */
  size_t queue_len;
  uint64_t next_seq;

  s3l_list_t opening; /* connections DIALING or HANDSHAKING */
  s3l_list_t idle;    /* the most recently used first */
  s3l_list_t busy;
  size_t opening_len;
  size_t conns_len; /* all that are not closing */

  size_t held;            /* connections that keep back the last byte of their request */
  s3l_deadline_t release; /* when those go out */
  bool releasing;         /* it is set for good: no other connection is waited for */

  bool require_fresh; /* a write was lost on a used connection: the next one goes on a fresh one */
  bool closing;
  void (*close_cb)(void* arg);
  void* close_arg;
  char message[512]; /* about the latest failure */
};

/** Writes the client's message. */
__attribute__((format(printf, 2, 3))) void s3l_client_say(s3l_http_client_t* c, const char* format,
                                                          ...);

/** One reference less; ends the client with its last. */
void s3l_client_unref(s3l_http_client_t* c);

#endif
