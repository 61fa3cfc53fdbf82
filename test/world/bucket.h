/* world/bucket.h: the store: the fake S3 on a host of its own, with several front ends (addresses),
 * and what its log must not show. */
#ifndef WORLD_BUCKET_H
#define WORLD_BUCKET_H

#include "fakes3/fakes3.h"
#include "world/world.h"

#define WORLD_STORE_MACHINE   12
#define WORLD_STORE_ADDRESS   UINT32_C(0x0a0000c8) /* 10.0.0.200 and the next ones */
#define WORLD_STORE_FRONTENDS 4 /* the first is known by its address, the others by a name */
#define WORLD_VERIFY_EVERY    7 /* of so many signatures the store computes one again */

extern struct world_bucket_s {
  world_host_t* host;
  fakes3_t* server;
  bool stopped;
  const char* dialect; /* a rule that always holds; NULL: none */
  uint64_t seq;        /* of its log, looked at */
  uint64_t requests, puts, gets, lists, deletes, faults;
} bucket;

void world_bucket_begin(uint64_t seed, bool tls);
/** Stops the server; its host is free when it has run until then. */
void world_bucket_stop(void);
/** True when it is stopped and freed. */
bool world_bucket_end(void);
int world_bucket_fault(const char* json);
/** Ends a fault; 0: all of them. */
void world_bucket_clear(int rule);
/** Makes the store speak so from now on. */
void world_bucket_speak(const char* dialect);
void world_bucket_listen(bool on);
void world_bucket_restart(void);
void world_bucket_empty(void);
/** Its name has another address from now on, and the others of the name are dead. */
void world_bucket_move(uint32_t to);

#endif
