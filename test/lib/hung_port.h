/* A loopback port on which a connect neither succeeds nor fails: its listener never accepts, and
 * its backlog is full, so that the kernel drops connection requests (Linux). */
#ifndef S3L_TEST_HUNG_PORT_H
#define S3L_TEST_HUNG_PORT_H

#include <stdint.h>

#define S3L_HUNG_FILL 8

typedef struct s3l_hung_port_s {
  uint16_t port;
  int listener;
  int fill[S3L_HUNG_FILL];
} s3l_hung_port_t;

/** `ip`: an IPv4 loopback address, any of 127.0.0.0/8; `port` 0: a free one. Asserts (cmocka). */
void s3l_hung_port_open(s3l_hung_port_t* h, const char* ip, uint16_t port);
void s3l_hung_port_close(s3l_hung_port_t* h);

#endif
