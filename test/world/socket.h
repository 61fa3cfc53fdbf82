/* world/socket.h: descriptors of the simulated kernel: TCP sockets, and the timerfd of
 * src/loop/suspend.c.
 *
 * Bytes leave a socket as segments, cut anywhere, each of which arrives after the delay of its way,
 * in order. A way that is blocked holds them, as TCP does, until it is open again; then they arrive
 * after a while. What a host sends while its way is blocked may so arrive very late.
 *
 * A socket lives as long as its descriptor is open, a segment is on its way to it, or its other end
 * knows it. */
#ifndef WORLD_SOCKET_H
#define WORLD_SOCKET_H

#include <netinet/in.h>
#include <sys/types.h>

#include "world/world.h"

#define WORLD_FD_BASE    (1 << 20)
#define WORLD_MACHINES   16
#define WORLD_SEND_SPACE (64 * 1024)

typedef enum {
  WORLD_FRESH,
  WORLD_LISTENING,
  WORLD_CONNECTING,
  WORLD_OPEN,
  WORLD_TIMERFD,
} world_sock_state_t;

struct world_sock_s {
  world_sock_state_t state;
  int fd;        /* -1: closed by its host */
  unsigned refs; /* segments from it or to it */
  bool queued;   /* waits to be accepted */
  world_host_t* host;
  s3l_list_t all;
  struct sockaddr_in local, remote;
  world_sock_t* other;

  char* in; /* arrived, and not read */
  size_t in_at, in_len, in_cap;
  bool in_end; /* FIN */
  int error;   /* errno of a broken connection; told by the next call */
  bool told;   /* it has been */

  size_t flying; /* sent, and not read by the other end */
  bool out_end;
  int64_t last_arrival; /* of what it sent */
  s3l_list_t held;      /* its segments behind a blocked way */

  s3l_list_t backlog; /* of a listener: sockets by `ready` */
  unsigned waiting;
  int cancelled; /* of a timerfd: readable, by ECANCELED */

  uv_stream_t* stream; /* who watches it: one of these, or neither */
  uv_poll_t* poll;
  bool connected; /* the answer to connect is here */
  s3l_list_t ready;
};

/* ---- The network's state, by machines ---- */

typedef struct world_way_s {
  bool blocked;
  int64_t delay_ns;  /* one way */
  int64_t jitter_ns; /* added, at random */
} world_way_t;

extern struct world_net_s {
  world_way_t way[WORLD_MACHINES][WORLD_MACHINES]; /* from, to */
  uint32_t cut_per_mille;                          /* of sends that are cut somewhere */
  size_t send_space;          /* bytes that a socket takes before the other end reads */
  world_host_t* host_at[256]; /* by the last byte of the address; NULL: nobody answers */
} world_net;

void world_net_begin(void);
/** Forgets what is under way. */
void world_net_end(void);
world_host_t* world_host_at(uint32_t address);
void world_way_block(uint32_t from, uint32_t to, bool blocked);
/** Whose socket listens at an address and port. */
world_sock_t* world_listener(uint32_t address, uint16_t port);
/** Resets every connection of the host, as its kernel does when the process dies. */
void world_break_all(world_host_t* host);
/** Breaks one of the host's connections with a reset, as a middle box does; false: it has none. */
bool world_break_one(world_host_t* host, uint32_t which);

/* ---- For uv.c and system.c; of world.here. Errors: -errno ---- */

world_sock_t* world_sock(int fd);
int world_sock_open(world_host_t* host, world_sock_state_t state);
void world_sock_close(world_sock_t* s, bool reset);
int world_sock_bind(world_sock_t* s, const struct sockaddr_in* address);
int world_sock_listen(world_sock_t* s);
int world_sock_accept(world_sock_t* s); /* the descriptor */
int world_sock_connect(world_sock_t* s, const struct sockaddr_in* to);
ssize_t world_sock_send(world_sock_t* s, const void* p, size_t n);
ssize_t world_sock_recv(world_sock_t* s, void* p, size_t n);
/** What recv of one byte would return, which stays where it is. */
ssize_t world_sock_peek(const world_sock_t* s);
void world_sock_shutdown(world_sock_t* s);
bool world_sock_is_readable(const world_sock_t* s);
bool world_sock_is_writable(const world_sock_t* s);
/** Tells the host's loop if the socket has something for its watcher. */
void world_sock_poke(world_sock_t* s);
void world_sock_resumed(world_sock_t* timerfd);

/** Whether the socket has what its handle waits for; uv.c. */
bool world_uv_wants(const world_sock_t* s);

#endif
