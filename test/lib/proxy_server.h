/* An HTTP proxy on the caller's loop. It forwards CONNECT and absolute-form requests for any host
 * to one address. As a relay it forwards the bytes of every connection without reading them. */
#ifndef S3L_TEST_PROXY_SERVER_H
#define S3L_TEST_PROXY_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/test_server.h"

typedef struct s3l_proxy_server_s {
  /* Set before start. */
  uint16_t target;                 /* the port on 127.0.0.1 where it connects to, ... */
  struct sockaddr_storage address; /* ... or, where that is 0, an address of any kind */
  bool relay;
  bool unref;                /* nothing of the proxy keeps the loop alive */
  const char* authorization; /* the Proxy-Authorization that is required; NULL: none */
  const char* reply;         /* sent instead of connecting; NULL: none */

  /* To be read. */
  uint16_t port;
  unsigned accepted;
  unsigned tunnels;   /* CONNECTs that were granted */
  unsigned forwarded; /* connections that began with an absolute-form request */
  char head[4096];    /* of the latest connection's first request */

  s3l_test_server_t tcp;
} s3l_proxy_server_t;

void s3l_proxy_server_start(s3l_proxy_server_t* server, uv_loop_t* loop);

/** Closes everything; run the loop afterwards. */
void s3l_proxy_server_close(s3l_proxy_server_t* server);

#endif
