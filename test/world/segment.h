/* world/segment.h: what is on its way between two sockets, and what a socket does with an arrival.
 * The second half is what segment.c needs of socket.c. */
#ifndef WORLD_SEGMENT_H
#define WORLD_SEGMENT_H

#include <arpa/inet.h>
#include <stdlib.h>

#include "world/socket.h"

typedef enum {
  WORLD_SYN,
  WORLD_ESTABLISHED,
  WORLD_DATA,
  WORLD_FIN,
  WORLD_RST
} world_segment_kind_t;

/** Sends a segment; `to` is NULL for a SYN, which goes to the socket's remote address. */
void world_transmit(world_sock_t* from, world_sock_t* to, world_segment_kind_t kind, const char* p,
                    size_t n);
/** Forgets what is under way. */
void world_segments_end(void);

static inline void* world_must(void* p) {
  if (p == NULL)
    abort();
  return p;
}

static inline uint32_t world_address_of(const struct sockaddr_in* a) {
  return ntohl(a->sin_addr.s_addr);
}

extern s3l_list_t world_socks; /* all, by `all` */

world_sock_t* world_sock_new(world_host_t* host, world_sock_state_t state);
/** Breaks the connection; its next call says the errno. */
void world_sock_fail(world_sock_t* s, int error);
/** Frees both ends of a connection when neither is open or on its way any more. */
void world_sock_tidy(world_sock_t* s);

#endif
