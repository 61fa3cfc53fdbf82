/* chaos/relay.h: a TCP relay before one server, which misbehaves on command.
 *
 * Each direction of a connection has its own way to misbehave. A relay holds at most one read of
 * bytes per direction and then stops reading, so that the kernel's buffers slow the sender down. */
#ifndef CHAOS_RELAY_H
#define CHAOS_RELAY_H

#include "lib/test_server.h"

typedef enum { CHAOS_UP = 0, CHAOS_DOWN = 1 } chaos_direction_t; /* to the target, and from it */

/** What a direction does to bytes; all zero: it passes them on at once. */
typedef struct chaos_way_s {
  bool held;          /* passes nothing on */
  bool slow;          /* passes bytes on at ticks of the relay only ... */
  unsigned step;      /* ... so many at each; 0: all */
  unsigned cut_after; /* resets a connection after so many bytes; 0: never */
} chaos_way_t;

typedef struct chaos_relay_s {
  s3l_test_server_t tcp;
  uv_timer_t tick;
  struct sockaddr_storage to;
  uint16_t port; /* where the relay listens */
  chaos_way_t ways[2];
  unsigned ticks;
} chaos_relay_t;

/** Listens on a port of its own. `target` is a port of 127.0.0.1. */
void chaos_relay_open(chaos_relay_t* relay, uv_loop_t* loop, uint16_t target);

/** Misbehaves from now on, on old and new connections. */
void chaos_relay_misbehave(chaos_relay_t* relay, const chaos_way_t ways[2], unsigned tick_ms);

/** Behaves again: delivers late what it holds, or, with `reset`, resets all connections. */
void chaos_relay_heal(chaos_relay_t* relay, bool reset);

/** Closes everything; run the loop afterwards. */
void chaos_relay_close(chaos_relay_t* relay);

#endif
