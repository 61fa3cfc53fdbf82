/* world/world.h: virtual time, and the machines that live in it.
 *
 * Under the library's own object files stands a simulated libuv (uv.c) and a simulated kernel
 * (system.c: the system calls that src makes; socket.c: TCP), so that src/loop and src/net, and
 * all above them, run as they are shipped. One seed decides everything; a run with the same seed
 * does the same, byte for byte.
 *
 * Vocabulary
 *   true time  ns since the run began; only the simulator knows it
 *   event      something that happens at a true time
 *   host       one process on a machine of its own: a uv_loop_t, an address, clocks, descriptors
 *              and memory. A process that is killed and started again is another host with the
 *              same address
 *   turn       one iteration of a host's loop. It takes no true time; hosts run one at a time
 *   blocked    does not run: paused, suspended or starved of CPU. Its kernel goes on
 *
 * Invariants: events of one time run in the order in which they were set; code of a host runs with
 * `world.here` set to it, and with no other way to the clock, the network or randomness. */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <uv.h>

#include "sim/clock.h"
#include "util/list.h"
#include "util/prng.h"

#define WORLD_US    INT64_C(1000)
#define WORLD_MS    INT64_C(1000000)
#define WORLD_S     INT64_C(1000000000)
#define WORLD_NEVER INT64_MAX

/* Unix time at the beginning of a run: 2026-01-01. */
#define WORLD_EPOCH_MS INT64_C(1767225600000)

/* ---- Events ---- */

typedef struct world_event_s world_event_t;

struct world_event_s {
  void (*run)(world_event_t* event);
  int64_t at;
  uint64_t order;
  size_t slot; /* in the heap, from 1; 0: not set */
  bool apart;  /* not while a process stands still within its turn */
};

/** Sets the event, or moves it; a time that has passed means now. */
void world_event_set(world_event_t* event, int64_t at);
void world_event_clear(world_event_t* event);

/* ---- Hosts ---- */

typedef struct world_host_s world_host_t;
typedef struct world_sock_s world_sock_t;

struct world_host_s {
  uv_loop_t loop; /* first */
  uint32_t address;
  uint32_t machine; /* index: whose clocks and links it has */
  s3l_prng_t random;
  unsigned char drawn[32]; /* the first bytes of the last draw */

  sim_clock_t lease; /* CLOCK_MONOTONIC_RAW and what was slept */
  sim_clock_t timer; /* CLOCK_MONOTONIC, which NTP slews */
  int64_t wall_ms;   /* its wall clock is this far from the truth */

  bool mute;             /* nothing that it sends leaves it, and nothing reaches it */
  int64_t blocked_until; /* true time */
  int64_t stall_ns;      /* longest stop within a turn; 0: none */
  unsigned stall_in;     /* readings of a clock, until it stops; 0: not in this turn */
  int64_t wake_ns;       /* from an event to the turn that it causes */
  world_event_t turn;
  void (*after_turn)(world_host_t* host);            /* NULL: none */
  void (*stalls)(world_host_t* host, int64_t until); /* before it stops, and after */
  void* data;

  s3l_list_t timers;
  s3l_list_t idles;
  s3l_list_t ready;   /* sockets that have something for their handles */
  s3l_list_t done;    /* requests whose callbacks are due */
  s3l_list_t closing; /* handles; by handle_queue */
  s3l_list_t handles; /* all that are not closing */
  uint64_t timer_order;
  size_t requests; /* of all kinds, whose callbacks have not run */

  size_t fds;
  size_t fds_max;
  size_t blocks; /* of the library's memory */
  size_t bytes;
  size_t bytes_most;
  uint32_t alloc_fail;   /* per mille of allocations that fail */
  world_sock_t* suspend; /* its timerfd, or NULL */
  uint32_t told_address; /* the first of the last look-up; 0: none */
  world_host_t* next;    /* that has ended */
};

typedef struct world_s {
  int64_t now;
  world_host_t* here; /* whose code runs; NULL: the simulator's */
  bool stalled;       /* a host stands still within its turn */
  s3l_prng_t random;
  uint64_t digest; /* of all bytes that were delivered, and when */
  uint64_t turns;
  uint64_t segments;
  FILE* log; /* NULL: silent */
} world_t;

extern world_t world;

/** Empties the world for a run. */
void world_begin(uint64_t seed);
/** Runs events until the time has come, or none is left. */
void world_run_until(int64_t at);

world_host_t* world_host_new(uint32_t address, uint32_t machine, uint64_t seed);
/** The process has ended, and has closed everything; segments may still know the host. */
void world_host_end(world_host_t* host);
/** Frees the hosts that have ended. */
void world_end(void);
/** Whether its loop has a handle, a request or a descriptor left; says which in `why`. */
bool world_host_is_quiet(const world_host_t* host, char* why, size_t cap);

/** Runs a turn soon. */
void world_wake(world_host_t* host);
/** The host does not run before the time. */
void world_block(world_host_t* host, int64_t until);

/** From here on the code of a host runs; gives the host before. */
world_host_t* world_enter(world_host_t* host);
void world_leave(world_host_t* before);

/** The host that runs has read a clock. It may stop here for a while, and the world goes on. */
void world_stall(void);

int64_t world_lease_ns(const world_host_t* host);
int64_t world_wall_ms(const world_host_t* host);

void world_log(const char* format, ...) __attribute__((format(printf, 1, 2)));

/** One iteration of the loop; uv.c. */
void world_uv_turn(world_host_t* host);
/** When the host's loop has to run again, in true time; uv.c. */
int64_t world_uv_next(const world_host_t* host);

/** Bytes of randomness from a host's system. */
void world_draw(world_host_t* host, void* out, size_t n);

/** Gives the library an allocator that counts each host's blocks, and fails as its alloc_fail says.
 */
void world_memory_hook(void);

/** The host that a loop belongs to. */
world_host_t* world_host_of(const uv_loop_t* loop);

#endif
