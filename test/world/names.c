/* world/names.c: see names.h. */
#include "world/names.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/faults.h"
#include "world/situations.h"

struct world_names_s world_names;

typedef struct answer_s {
  struct addrinfo info;
  struct sockaddr_in address;
} answer_t;

/* The order of a name's addresses is another one each time, as with S3. */
static struct addrinfo* make(world_host_t* host, const world_name_t* name, uint16_t port) {
  answer_t* a = calloc(name->len, sizeof(*a));
  size_t turn = sim_below(&host->random, (uint32_t)name->len);
  if (a == NULL)
    abort();
  for (size_t i = 0; i < name->len; i++) {
    a[i].address.sin_family = AF_INET;
    a[i].address.sin_port = htons(port);
    a[i].address.sin_addr.s_addr = htonl(name->addresses[(i + turn) % name->len]);
    a[i].info = (struct addrinfo){.ai_family = AF_INET,
                                  .ai_socktype = SOCK_STREAM,
                                  .ai_addrlen = sizeof(a[i].address),
                                  .ai_addr = (struct sockaddr*)&a[i].address,
                                  .ai_next = i + 1 < name->len ? &a[i + 1].info : NULL};
  }
  return &a->info;
}

/* What was found the last time, by any process. */
static uint32_t found_before;

static void note(const world_name_t* name, bool failed) {
  if (found_before != 0 && failed)
    world_meet(WORLD_MET_NO_NAME);
  if (failed)
    return;
  if (found_before != 0 && found_before != name->addresses[0])
    world_meet(WORLD_MET_MOVED);
  found_before = name->addresses[0];
}

static const world_name_t* find(const char* name) {
  for (size_t i = 0; i < world_names.len; i++)
    if (strcmp(world_names.at[i].name, name) == 0)
      return &world_names.at[i];
  return NULL;
}

int world_look_up(world_host_t* host, const char* name, uint16_t port, struct addrinfo** found,
                  int64_t* delay_ns) {
  const world_name_t* n = find(name);
  bool spared = world_chaos.quiet && n != NULL && host->told_address != n->addresses[0];
  *found = NULL;
  *delay_ns = sim_heavy(&host->random, WORLD_MS, 6) + (spared ? 0 : world_names.delay_ns);
  if (world_names.error != 0 && !spared) {
    note(NULL, true);
    return world_names.error;
  }
  if (host->fds >= host->fds_max || n == NULL)
    return UV_EAI_NONAME; /* as glibc says it where it has no descriptor to ask with */
  note(n, false);
  host->told_address = n->addresses[0];
  *found = make(host, n, port);
  return 0;
}
