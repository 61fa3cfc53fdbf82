/* An HTTP proxy on the test's own loop: CONNECT and absolute-form requests, to whatever host they
 * name, all end at one port of this machine. */
#ifndef S3L_TEST_PROXY_SERVER_H
#define S3L_TEST_PROXY_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "util/list.h"

typedef struct s3l_proxy_server_s {
  /* Set before start. */
  uint16_t target;           /* where it connects to */
  const char* authorization; /* what Proxy-Authorization must say; NULL: nothing is asked for */
  const char* reply;         /* to give in place of a connection; NULL: none */

  /* To be read. */
  uint16_t port;
  unsigned accepted;
  unsigned tunnels;   /* CONNECTs that were granted */
  unsigned forwarded; /* connections that began with an absolute-form request */
  char head[4096];    /* of the latest connection's first request */

  uv_loop_t* loop;
  uv_tcp_t listener;
  s3l_list_t links;
} s3l_proxy_server_t;

void s3l_proxy_server_start(s3l_proxy_server_t* server, uv_loop_t* loop);

/** Closes everything; run the loop afterwards. */
void s3l_proxy_server_close(s3l_proxy_server_t* server);

#endif
