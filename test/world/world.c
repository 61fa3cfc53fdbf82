/* world/world.c: see world.h. */
#include "world/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/socket.h"

world_t world;

/* ---- Events: a binary heap ---- */

static struct {
  world_event_t** at;
  size_t len, cap;
  uint64_t order;
} heap;

static bool before(const world_event_t* a, const world_event_t* b) {
  return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void put(size_t slot, world_event_t* e) {
  heap.at[slot - 1] = e;
  e->slot = slot;
}

static void rise(world_event_t* e) {
  while (e->slot > 1 && before(e, heap.at[e->slot / 2 - 1])) {
    size_t slot = e->slot;
    put(slot, heap.at[slot / 2 - 1]);
    put(slot / 2, e);
  }
}

static void sink(world_event_t* e) {
  for (;;) {
    size_t child = 2 * e->slot;
    if (child > heap.len)
      return;
    if (child < heap.len && before(heap.at[child], heap.at[child - 1]))
      child++;
    world_event_t* c = heap.at[child - 1];
    if (!before(c, e))
      return;
    size_t slot = e->slot;
    put(slot, c);
    put(child, e);
  }
}

void world_event_clear(world_event_t* e) {
  if (e->slot == 0)
    return;
  world_event_t* last = heap.at[--heap.len];
  size_t slot = e->slot;
  e->slot = 0;
  if (last == e)
    return;
  put(slot, last);
  rise(last);
  sink(last);
}

void world_event_set(world_event_t* e, int64_t at) {
  world_event_clear(e);
  if (heap.len == heap.cap) {
    heap.cap = heap.cap > 0 ? 2 * heap.cap : 1024;
    heap.at = realloc(heap.at, heap.cap * sizeof(*heap.at));
    if (heap.at == NULL)
      abort();
  }
  e->at = at > world.now ? at : world.now;
  e->order = heap.order++;
  put(++heap.len, e);
  rise(e);
}

void world_begin(uint64_t seed) {
  FILE* log = world.log;
  if (heap.len != 0)
    abort(); /* the run before left something */
  heap.order = 0;
  world = (world_t){.log = log, .random = sim_rnd(seed, 1)};
}

void world_run_until(int64_t at) {
  while (heap.len > 0 && heap.at[0]->at <= at && !(world.stalled && heap.at[0]->apart)) {
    world_event_t* e = heap.at[0];
    world.now = e->at > world.now ? e->at : world.now;
    world_event_clear(e);
    e->run(e);
  }
  if (heap.len > 0 && heap.at[0]->at < at)
    at = heap.at[0]->at; /* an event that is to come apart */
  world.now = at > world.now ? at : world.now;
}

/* ---- Hosts ---- */

world_host_t* world_enter(world_host_t* host) {
  world_host_t* was = world.here;
  world.here = host;
  return was;
}

void world_leave(world_host_t* was) {
  world.here = was;
}

static void set_turn(world_host_t* h, int64_t at) {
  if (at == WORLD_NEVER)
    return;
  at = at > h->blocked_until ? at : h->blocked_until;
  if (h->turn.slot == 0 || at < h->turn.at)
    world_event_set(&h->turn, at);
}

static void on_turn(world_event_t* event) {
  world_host_t* h = S3L_CONTAINER_OF(event, world_host_t, turn);
  if (world.now < h->blocked_until) {
    set_turn(h, h->blocked_until);
    return;
  }
  world_host_t* was = world_enter(h);
  world.turns++;
  if (h->stall_ns > 0 && !world.stalled && sim_chance(&h->random, 200))
    h->stall_in = 1 + (unsigned)sim_below(&h->random, 9);
  world_uv_turn(h);
  h->stall_in = 0;
  set_turn(h, world_uv_next(h));
  if (h->after_turn != NULL)
    h->after_turn(h); /* the host may be gone */
  world_leave(was);
}

void world_stall(void) {
  world_host_t* h = world.here;
  if (h->stall_in == 0 || world.stalled || --h->stall_in > 0)
    return;
  int64_t until = world.now + sim_between(&h->random, 0, h->stall_ns);
  world_log("a process at %08x stands still", h->address);
  h->stalls(h, until);
  h->blocked_until = until + 1; /* no turn within its turn */
  world.stalled = true;
  (void)world_enter(NULL);
  world_run_until(until);
  world_leave(h);
  h->stalls(h, until);
  world.stalled = false;
  h->blocked_until = world.now;
}

void world_wake(world_host_t* h) {
  set_turn(h, world.now + h->wake_ns);
}

void world_block(world_host_t* h, int64_t until) {
  if (until <= h->blocked_until)
    return;
  h->blocked_until = until;
  if (h->turn.slot != 0 && h->turn.at < until)
    world_event_set(&h->turn, until);
}

world_host_t* world_host_new(uint32_t address, uint32_t machine, uint64_t seed) {
  world_host_t* h = calloc(1, sizeof(*h));
  if (h == NULL)
    abort();
  h->address = address;
  h->machine = machine;
  h->random = sim_rnd(seed, 2);
  h->turn.run = on_turn;
  h->fds_max = 1024;
  h->wake_ns = 5 * WORLD_US;
  /* A machine has been up for a while when the run begins. */
  h->lease.boot_base = h->timer.boot_base = WORLD_S * (1000 + (int64_t)machine * 77);
  h->lease.true_base = h->timer.true_base = 0;
  s3l_list_init(&h->timers);
  s3l_list_init(&h->idles);
  s3l_list_init(&h->ready);
  s3l_list_init(&h->done);
  s3l_list_init(&h->closing);
  s3l_list_init(&h->handles);
  return h;
}

static world_host_t* ended;

void world_host_end(world_host_t* h) {
  world_event_clear(&h->turn);
  h->mute = true;
  h->next = ended;
  ended = h;
}

void world_end(void) {
  while (ended != NULL) {
    world_host_t* h = ended;
    ended = h->next;
    free(h);
  }
}

static size_t count(const s3l_list_t* list) {
  size_t n = 0;
  for (const s3l_list_t* l = list->next; l != list; l = l->next)
    n++;
  return n;
}

bool world_host_is_quiet(const world_host_t* h, char* why, size_t cap) {
  size_t handles = count(&h->handles) + count(&h->closing);
  snprintf(why, cap, "%zu handles, %zu requests, %zu descriptors, %zu blocks of %zu bytes", handles,
           h->requests, h->fds, h->blocks, h->bytes);
  return handles + h->requests + h->fds + h->blocks == 0;
}

world_host_t* world_host_of(const uv_loop_t* loop) {
  return (world_host_t*)(void*)(uintptr_t)loop;
}

int64_t world_lease_ns(const world_host_t* h) {
  return sim_clock_read(&h->lease, world.now);
}

int64_t world_wall_ms(const world_host_t* h) {
  return WORLD_EPOCH_MS + world.now / WORLD_MS + h->wall_ms;
}

void world_draw(world_host_t* h, void* out, size_t n) {
  unsigned char* p = out;
  for (size_t i = 0; i < n; i++)
    p[i] = (unsigned char)(s3l_prng_next(&h->random) >> 56);
  memset(h->drawn, 0, sizeof(h->drawn));
  memcpy(h->drawn, p, n < sizeof(h->drawn) ? n : sizeof(h->drawn));
}

void world_log(const char* format, ...) {
  va_list args;
  if (world.log == NULL)
    return;
  fprintf(world.log, "%12.6f ", (double)world.now / 1e9);
  va_start(args, format);
  vfprintf(world.log, format, args);
  va_end(args);
  fputc('\n', world.log);
}
