/* Addresses: read, written, and looked up. */
#ifndef TCP_PROXY_ADDR_H
#define TCP_PROXY_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define ADDR_TEXT_SIZE 64

typedef struct addr_s {
  struct sockaddr_storage sa;
  socklen_t len;
} addr_t;

typedef struct host_port_s {
  char host[256]; /* without brackets */
  char port[6];   /* digits */
} host_port_t;

/** "127.0.0.1:80", "[::1]:80": an address literal with a port. */
bool addr_parse(const char* text, addr_t* addr);
/** "name:80" and the above; not port 0. */
bool addr_split(const char* text, host_port_t* out);
bool addr_is_wildcard(const addr_t* addr);
bool addr_is_loopback(const addr_t* addr);
/** As addr_parse reads it. */
void addr_format(const addr_t* addr, char out[ADDR_TEXT_SIZE]);

#endif
