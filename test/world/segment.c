/* world/segment.c: see segment.h. */
#include "world/segment.h"

#include <errno.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/node.h"
#include "world/situations.h"

#define RETRANSMIT_MS 3000

typedef struct segment_s {
  world_event_t event;
  s3l_list_t all;
  s3l_list_t link; /* in `held` */
  world_sock_t* from;
  world_sock_t* to; /* NULL: SYN */
  world_segment_kind_t kind;
  size_t n;
  char bytes[];
} segment_t;

static s3l_list_t segments = {&segments, &segments};

static uint32_t machine_at(uint32_t address) {
  world_host_t* h = world_host_at(address);
  return h != NULL ? h->machine : WORLD_MACHINES - 1;
}

/* ---- Segments ---- */

static void on_segment(world_event_t* event);

static world_way_t* way_of(const segment_t* g) {
  uint32_t to =
      g->to != NULL ? g->to->host->machine : machine_at(world_address_of(&g->from->remote));
  return &world_net.way[g->from->host->machine][to];
}

static void free_segment(segment_t* g) {
  world_sock_t* from = g->from;
  world_sock_t* to = g->to;
  world_event_clear(&g->event);
  s3l_list_remove(&g->all);
  s3l_list_remove(&g->link);
  free(g);
  from->refs--;
  if (to != NULL)
    to->refs--;
  bool pair = to != NULL && from->other == to;
  world_sock_tidy(from); /* with the other end, if it is one of a pair */
  if (!pair && to != NULL)
    world_sock_tidy(to);
}

/* Sets out on its way; what was sent before arrives before. */
static void post(segment_t* g, int64_t extra_ns) {
  const world_way_t* way = way_of(g);
  int64_t at = world.now + way->delay_ns + extra_ns;
  if (way->jitter_ns > 0)
    at += sim_between(&world.random, 0, way->jitter_ns);
  if (at <= g->from->last_arrival)
    at = g->from->last_arrival + 1;
  g->from->last_arrival = at;
  world_event_set(&g->event, at);
}

void world_transmit(world_sock_t* from, world_sock_t* to, world_segment_kind_t kind, const char* p,
                    size_t n) {
  if (from->host->mute)
    return;
  segment_t* g = world_must(malloc(sizeof(*g) + n));
  *g = (segment_t){.event.run = on_segment, .from = from, .to = to, .kind = kind, .n = n};
  if (n > 0)
    memcpy(g->bytes, p, n);
  s3l_list_init(&g->link);
  s3l_list_push_back(&segments, &g->all);
  from->refs++;
  if (to != NULL)
    to->refs++;
  post(g, 0);
}

/* ---- Arrivals ---- */

static void arrive_syn(world_sock_t* client) {
  world_sock_t* l =
      world_listener(world_address_of(&client->remote), ntohs(client->remote.sin_port));
  world_host_t* host = world_host_at(world_address_of(&client->remote));
  if (host == NULL || host->mute || client->fd < 0)
    return; /* nobody answers */
  if (l == NULL || l->waiting >= 128) {
    if (l == NULL) {
      world_meet(WORLD_MET_REFUSED);
      world_sock_fail(client, ECONNREFUSED); /* as if the way back took no time */
    }
    return;
  }
  world_sock_t* s = world_sock_new(host, WORLD_OPEN);
  s->local = client->remote;
  s->remote = client->local;
  s->other = client;
  client->other = s;
  s->queued = true;
  l->waiting++;
  s3l_list_push_back(&l->backlog, &s->ready);
  world_sock_poke(l);
  world_transmit(s, client, WORLD_ESTABLISHED, NULL, 0);
}

static void reserve(world_sock_t* s, size_t n) {
  if (s->in_at > 0) {
    memmove(s->in, s->in + s->in_at, s->in_len);
    s->in_at = 0;
  }
  if (s->in_len + n <= s->in_cap)
    return;
  s->in_cap = 2 * (s->in_len + n);
  s->in = world_must(realloc(s->in, s->in_cap));
}

static uint64_t digest_of(uint64_t digest, const char* p, size_t n) {
  uint64_t word;
  for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
    memcpy(&word, p, sizeof(word));
    digest = digest * 31 + word;
  }
  word = 0;
  memcpy(&word, p, n);
  return digest * 31 + word;
}

static void arrive_data(world_sock_t* s, const segment_t* g) {
  reserve(s, g->n);
  memcpy(s->in + s->in_len, g->bytes, g->n);
  s->in_len += g->n;
  world.segments++;
  world.digest = digest_of(sim_mix(world.digest, (uint64_t)world.now), g->bytes, g->n);
}

/* A kernel that knows no such connection, or no longer. */
static bool is_unknown(const world_sock_t* s) {
  return s->fd < 0 && !s->queued;
}

static bool is_node(const world_host_t* h) {
  return h->machine < WORLD_NODES;
}

static void arrive(segment_t* g) {
  world_sock_t* s = g->to;
  if (g->kind == WORLD_SYN) {
    arrive_syn(g->from);
    return;
  }
  world_host_t* there = world_host_at(s->host->address);
  if (there == NULL || (s->host->mute && there == s->host))
    return;
  if (is_unknown(s) || s->host != there) {
    if (g->kind == WORLD_DATA)
      world_meet(is_node(s->host) ? WORLD_MET_LATE_BYTES : WORLD_MET_DEAD_KEPT);
    if (g->kind != WORLD_RST && !g->from->host->mute && g->from->state == WORLD_OPEN)
      world_sock_fail(g->from, ECONNRESET);
    return;
  }
  if (s->error != 0)
    return;
  if (g->kind == WORLD_ESTABLISHED && s->state == WORLD_CONNECTING) {
    s->state = WORLD_OPEN;
    s->connected = true;
  } else if (g->kind == WORLD_RST) {
    s->error = ECONNRESET;
  } else if (g->kind == WORLD_FIN) {
    s->in_end = true;
  } else if (g->kind == WORLD_DATA) {
    arrive_data(s, g);
  }
  world_sock_poke(s);
}

static void on_segment(world_event_t* event) {
  segment_t* g = S3L_CONTAINER_OF(event, segment_t, event);
  if (way_of(g)->blocked || !s3l_list_empty(&g->from->held)) {
    s3l_list_push_back(&g->from->held, &g->link);
    return;
  }
  arrive(g);
  free_segment(g);
}

/* What was held arrives when TCP sends it once more. */
static void release(world_sock_t* s) {
  s3l_list_t held;
  int64_t extra = sim_between(&world.random, 0, RETRANSMIT_MS * WORLD_MS);
  if (s3l_list_empty(&s->held))
    return;
  s->last_arrival = 0;
  s3l_list_move(&s->held, &held);
  while (!s3l_list_empty(&held)) {
    segment_t* g = S3L_CONTAINER_OF(held.next, segment_t, link);
    s3l_list_remove(&g->link);
    post(g, extra);
  }
}

void world_way_block(uint32_t from, uint32_t to, bool blocked) {
  world_net.way[from][to].blocked = blocked;
  if (blocked)
    return;
  for (s3l_list_t* l = world_socks.next; l != &world_socks; l = l->next) {
    world_sock_t* s = S3L_CONTAINER_OF(l, world_sock_t, all);
    if (s->host->machine == from && !s3l_list_empty(&s->held)) {
      const segment_t* g = S3L_CONTAINER_OF(s->held.next, segment_t, link);
      if (!way_of(g)->blocked)
        release(s);
    }
  }
}

void world_segments_end(void) {
  while (!s3l_list_empty(&segments))
    free_segment(S3L_CONTAINER_OF(segments.next, segment_t, all));
}
