/* world/names.h: the name servers: which addresses a name has, and how long the answer takes. When
 * all is well they fail only for processes that know the name's present address: any other process
 * could not reach the store. */
#ifndef WORLD_NAMES_H
#define WORLD_NAMES_H

#include <netdb.h>

#include "world/world.h"

#define WORLD_NAMES     4
#define WORLD_ADDRESSES 4

typedef struct world_name_s {
  const char* name;
  uint32_t addresses[WORLD_ADDRESSES];
  size_t len;
} world_name_t;

extern struct world_names_s {
  world_name_t at[WORLD_NAMES];
  size_t len;
  int error; /* 0, or what each look-up ends with: UV_EAI_* */
  int64_t delay_ns;
} world_names;

/** 0 with *found, one block of memory; or UV_EAI_*. */
int world_look_up(world_host_t* host, const char* name, uint16_t port, struct addrinfo** found,
                  int64_t* delay_ns);

#endif
