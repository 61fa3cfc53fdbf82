/* world/memory.c: the library's memory: counted by host, and refused on command. */
#include <stdlib.h>
#include <string.h>

#include "s3lect.h"
#include "sim/rnd.h"
#include "world/judge.h"

typedef struct block_s {
  world_host_t* host;
  size_t size;
} block_t;

static void count(block_t* b, bool add) {
  world_host_t* h = b->host;
  if (h == NULL)
    return;
  h->blocks += add ? 1 : (size_t)-1;
  h->bytes += add ? b->size : (size_t)0 - b->size;
  h->bytes_most = h->bytes > h->bytes_most ? h->bytes : h->bytes_most;
}

static bool is_refused(void) {
  if (world.here == NULL || world.here->alloc_fail == 0 ||
      !sim_chance(&world.here->random, world.here->alloc_fail))
    return false;
  world_judge_no_memory(world.here);
  return true;
}

static void* allocate(size_t size) {
  if (is_refused())
    return NULL;
  block_t* b = malloc(sizeof(*b) + size);
  if (b == NULL)
    abort();
  *b = (block_t){world.here, size};
  count(b, true);
  return b + 1;
}

static void* allocate_zero(size_t n, size_t size) {
  void* p = allocate(n * size);
  return p != NULL ? memset(p, 0, n * size) : NULL;
}

static void release(void* p) {
  if (p == NULL)
    return;
  block_t* b = (block_t*)p - 1;
  count(b, false);
  free(b);
}

static void* allocate_again(void* p, size_t size) {
  if (p == NULL)
    return allocate(size);
  if (is_refused())
    return NULL;
  block_t* b = (block_t*)p - 1;
  count(b, false);
  b = realloc(b, sizeof(*b) + size);
  if (b == NULL)
    abort();
  b->size = size;
  count(b, true);
  return b + 1;
}

void world_memory_hook(void) {
  static bool hooked;
  if (!hooked)
    (void)s3lect_set_allocator(allocate, allocate_again, allocate_zero, release);
  hooked = true;
}
