/* world/socket.c: see socket.h. */
#include "world/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/judge.h"

#define RETRANSMIT_MS 3000

typedef enum { SYN, ESTABLISHED, DATA, FIN, RST } kind_t;

typedef struct segment_s {
  world_event_t event;
  s3l_list_t all;
  s3l_list_t link; /* in `held` */
  world_sock_t* from;
  world_sock_t* to; /* NULL: SYN */
  kind_t kind;
  size_t n;
  char bytes[];
} segment_t;

struct world_net_s world_net;

static world_sock_t** fds;
static size_t fds_cap;
static s3l_list_t socks = {&socks, &socks};
static s3l_list_t segments = {&segments, &segments};

static void* must(void* p) {
  if (p == NULL)
    abort();
  return p;
}

static uint32_t address_of(const struct sockaddr_in* a) {
  return ntohl(a->sin_addr.s_addr);
}

world_host_t* world_host_at(uint32_t address) {
  return world_net.host_at[address & 255];
}

static uint32_t machine_at(uint32_t address) {
  world_host_t* h = world_host_at(address);
  return h != NULL ? h->machine : WORLD_MACHINES - 1;
}

/* ---- Descriptors ---- */

world_sock_t* world_sock(int fd) {
  size_t i = (size_t)(fd - WORLD_FD_BASE);
  return fd >= WORLD_FD_BASE && i < fds_cap ? fds[i] : NULL;
}

static int take_fd(world_sock_t* s) {
  size_t i = 0;
  if (s->host->fds >= s->host->fds_max)
    return -EMFILE;
  while (i < fds_cap && fds[i] != NULL)
    i++;
  if (i == fds_cap) {
    fds_cap = fds_cap > 0 ? 2 * fds_cap : 256;
    fds = must(realloc(fds, fds_cap * sizeof(*fds)));
    memset(fds + i, 0, (fds_cap - i) * sizeof(*fds));
  }
  fds[i] = s;
  s->host->fds++;
  s->fd = WORLD_FD_BASE + (int)i;
  return s->fd;
}

static world_sock_t* new_sock(world_host_t* host, world_sock_state_t state) {
  world_sock_t* s = must(calloc(1, sizeof(*s)));
  s->state = state;
  s->host = host;
  s->fd = -1;
  s->local.sin_family = s->remote.sin_family = AF_INET;
  s3l_list_init(&s->held);
  s3l_list_init(&s->backlog);
  s3l_list_init(&s->ready);
  s3l_list_push_back(&socks, &s->all);
  return s;
}

static void free_sock(world_sock_t* s) {
  s3l_list_remove(&s->all);
  s3l_list_remove(&s->ready);
  free(s->in);
  free(s);
}

int world_sock_open(world_host_t* host, world_sock_state_t state) {
  world_sock_t* s = new_sock(host, state);
  int fd = take_fd(s);
  if (fd < 0)
    free_sock(s);
  return fd;
}

static bool is_over(const world_sock_t* s) {
  return s == NULL || (s->fd < 0 && s->refs == 0 && !s->queued);
}

/* Frees both ends when neither is open or on its way any more. */
static void tidy(world_sock_t* s) {
  world_sock_t* other = s->other;
  if (!is_over(s) || !is_over(other))
    return;
  free_sock(s);
  if (other != NULL)
    free_sock(other);
}

/* ---- Telling the host's loop ---- */

bool world_sock_is_readable(const world_sock_t* s) {
  if (s->state == WORLD_TIMERFD)
    return s->cancelled > 0;
  if (s->state == WORLD_LISTENING)
    return !s3l_list_empty(&s->backlog);
  return s->state == WORLD_OPEN && (s->in_len > 0 || s->in_end || s->error != 0);
}

bool world_sock_is_writable(const world_sock_t* s) {
  return s->state == WORLD_OPEN && (s->error != 0 || s->flying < world_net.send_space);
}

void world_sock_poke(world_sock_t* s) {
  if (s->fd < 0 || (s->stream == NULL && s->poll == NULL) || !s3l_list_empty(&s->ready))
    return;
  if (!world_uv_wants(s))
    return;
  s3l_list_push_back(&s->host->ready, &s->ready);
  world_wake(s->host);
}

/* ---- Segments ---- */

static void on_segment(world_event_t* event);

static world_way_t* way_of(const segment_t* g) {
  uint32_t to = g->to != NULL ? g->to->host->machine : machine_at(address_of(&g->from->remote));
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
  tidy(from); /* with the other end, if it is one of a pair */
  if (!pair && to != NULL)
    tidy(to);
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

static void transmit(world_sock_t* from, world_sock_t* to, kind_t kind, const char* p, size_t n) {
  if (from->host->mute)
    return;
  segment_t* g = must(malloc(sizeof(*g) + n));
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

static void fail(world_sock_t* s, int error) {
  if (s->error == 0 && s->state != WORLD_FRESH)
    s->error = error;
  s->told = false;
  world_sock_poke(s);
}

/* ---- Arrivals ---- */

static void arrive_syn(world_sock_t* client) {
  world_sock_t* l = world_listener(address_of(&client->remote), ntohs(client->remote.sin_port));
  world_host_t* host = world_host_at(address_of(&client->remote));
  if (host == NULL || host->mute || client->fd < 0)
    return; /* nobody answers */
  if (l == NULL || l->waiting >= 128) {
    if (l == NULL)
      fail(client, ECONNREFUSED); /* as if the way back took no time */
    return;
  }
  world_sock_t* s = new_sock(host, WORLD_OPEN);
  s->local = client->remote;
  s->remote = client->local;
  s->other = client;
  client->other = s;
  s->queued = true;
  l->waiting++;
  s3l_list_push_back(&l->backlog, &s->ready);
  world_sock_poke(l);
  transmit(s, client, ESTABLISHED, NULL, 0);
}

static void reserve(world_sock_t* s, size_t n) {
  if (s->in_at > 0) {
    memmove(s->in, s->in + s->in_at, s->in_len);
    s->in_at = 0;
  }
  if (s->in_len + n <= s->in_cap)
    return;
  s->in_cap = 2 * (s->in_len + n);
  s->in = must(realloc(s->in, s->in_cap));
}

static void arrive_data(world_sock_t* s, const segment_t* g) {
  reserve(s, g->n);
  memcpy(s->in + s->in_len, g->bytes, g->n);
  s->in_len += g->n;
  world.segments++;
  uint64_t sum = 0;
  for (size_t i = 0; i < g->n; i++)
    sum = sum * 31 + (unsigned char)g->bytes[i];
  world.digest = sim_mix(sim_mix(world.digest, (uint64_t)world.now), sum);
}

/* A kernel that knows no such connection, or no longer. */
static bool is_unknown(const world_sock_t* s) {
  return s->fd < 0 && !s->queued;
}

static void arrive(segment_t* g) {
  world_sock_t* s = g->to;
  if (g->kind == SYN) {
    arrive_syn(g->from);
    return;
  }
  world_host_t* there = world_host_at(s->host->address);
  if (there == NULL || (s->host->mute && there == s->host))
    return;
  if (is_unknown(s) || s->host != there) {
    if (g->kind != RST && !g->from->host->mute && g->from->state == WORLD_OPEN)
      fail(g->from, ECONNRESET);
    return;
  }
  if (s->error != 0)
    return;
  if (g->kind == ESTABLISHED && s->state == WORLD_CONNECTING) {
    s->state = WORLD_OPEN;
    s->connected = true;
  } else if (g->kind == RST) {
    s->error = ECONNRESET;
  } else if (g->kind == FIN) {
    s->in_end = true;
  } else if (g->kind == DATA) {
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
  for (s3l_list_t* l = socks.next; l != &socks; l = l->next) {
    world_sock_t* s = S3L_CONTAINER_OF(l, world_sock_t, all);
    if (s->host->machine == from && !s3l_list_empty(&s->held)) {
      const segment_t* g = S3L_CONTAINER_OF(s->held.next, segment_t, link);
      if (!way_of(g)->blocked)
        release(s);
    }
  }
}

/* ---- Calls ---- */

world_sock_t* world_listener(uint32_t address, uint16_t port) {
  for (s3l_list_t* l = socks.next; l != &socks; l = l->next) {
    world_sock_t* s = S3L_CONTAINER_OF(l, world_sock_t, all);
    if (s->state == WORLD_LISTENING && s->fd >= 0 && s->host == world_host_at(address) &&
        ntohs(s->local.sin_port) == port)
      return s;
  }
  return NULL;
}

static uint16_t free_port(world_host_t* host) {
  uint16_t port;
  do
    port = (uint16_t)(32768 + sim_below(&host->random, 28000));
  while (world_listener(host->address, port) != NULL);
  return port;
}

int world_sock_bind(world_sock_t* s, const struct sockaddr_in* address) {
  s->local = *address;
  s->local.sin_addr.s_addr = htonl(s->host->address);
  if (address->sin_port == 0)
    s->local.sin_port = htons(free_port(s->host));
  else if (world_listener(s->host->address, ntohs(address->sin_port)) != NULL)
    return -EADDRINUSE;
  return 0;
}

int world_sock_listen(world_sock_t* s) {
  s->state = WORLD_LISTENING;
  return 0;
}

int world_sock_accept(world_sock_t* l) {
  if (s3l_list_empty(&l->backlog))
    return l->host->fds >= l->host->fds_max ? -EMFILE : -EAGAIN;
  world_sock_t* s = S3L_CONTAINER_OF(l->backlog.next, world_sock_t, ready);
  int fd = take_fd(s);
  if (fd < 0)
    return fd;
  s3l_list_remove(&s->ready);
  s->queued = false;
  l->waiting--;
  return fd;
}

int world_sock_connect(world_sock_t* s, const struct sockaddr_in* to) {
  s->state = WORLD_CONNECTING;
  s->local.sin_addr.s_addr = htonl(s->host->address);
  s->local.sin_port = htons(free_port(s->host));
  s->remote = *to;
  world_judge_connect(s->host, address_of(to), ntohs(to->sin_port));
  transmit(s, NULL, SYN, NULL, 0);
  return 0;
}

ssize_t world_sock_send(world_sock_t* s, const void* p, size_t n) {
  if (s->error != 0 || s->out_end) {
    int error = s->error == 0 || s->told ? EPIPE : s->error;
    s->told = true;
    return -error;
  }
  if (s->state != WORLD_OPEN)
    return -ENOTCONN;
  size_t space = s->flying < world_net.send_space ? world_net.send_space - s->flying : 0;
  if (space == 0)
    return -EAGAIN;
  if (n > space)
    n = space;
  s->flying += n;
  size_t cut = n;
  if (n > 1 && sim_chance(&world.random, world_net.cut_per_mille))
    cut = 1 + sim_below(&world.random, (uint32_t)(n - 1));
  transmit(s, s->other, DATA, p, cut);
  if (cut < n)
    transmit(s, s->other, DATA, (const char*)p + cut, n - cut);
  return (ssize_t)n;
}

ssize_t world_sock_recv(world_sock_t* s, void* p, size_t n) {
  if (s->in_len > 0) {
    n = n < s->in_len ? n : s->in_len;
    memcpy(p, s->in + s->in_at, n);
    s->in_at += n;
    s->in_len -= n;
    if (s->other != NULL) {
      s->other->flying -= n;
      world_sock_poke(s->other);
    }
    return (ssize_t)n;
  }
  if (s->error != 0 && !s->told) {
    s->told = true;
    return -s->error;
  }
  if (s->error != 0 || s->in_end)
    return 0;
  return s->state == WORLD_OPEN ? -EAGAIN : -ENOTCONN;
}

void world_sock_shutdown(world_sock_t* s) {
  if (s->state != WORLD_OPEN || s->out_end || s->error != 0)
    return;
  s->out_end = true;
  transmit(s, s->other, FIN, NULL, 0);
}

static void drop_backlog(world_sock_t* l) {
  while (!s3l_list_empty(&l->backlog)) {
    world_sock_t* s = S3L_CONTAINER_OF(l->backlog.next, world_sock_t, ready);
    s3l_list_remove(&s->ready);
    s->queued = false;
    transmit(s, s->other, RST, NULL, 0);
    tidy(s);
  }
}

void world_sock_close(world_sock_t* s, bool reset) {
  if (s->fd < 0)
    return;
  if (s->state == WORLD_LISTENING)
    drop_backlog(s);
  if (s->state == WORLD_OPEN && s->error == 0) {
    if (reset || s->in_len > 0)
      transmit(s, s->other, RST, NULL, 0);
    else if (!s->out_end)
      transmit(s, s->other, FIN, NULL, 0);
  }
  if (s->host->suspend == s)
    s->host->suspend = NULL;
  s->out_end = true;
  fds[s->fd - WORLD_FD_BASE] = NULL;
  s->fd = -1;
  s->host->fds--;
  s->stream = NULL;
  s->poll = NULL;
  s3l_list_remove(&s->ready);
  tidy(s);
}

void world_sock_resumed(world_sock_t* timerfd) {
  timerfd->cancelled = 1;
  world_sock_poke(timerfd);
}

/* ---- Faults ---- */

void world_break_all(world_host_t* host) {
  for (s3l_list_t* l = socks.next; l != &socks; l = l->next) {
    world_sock_t* s = S3L_CONTAINER_OF(l, world_sock_t, all);
    if (s->host == host && s->state == WORLD_OPEN && s->error == 0)
      transmit(s, s->other, RST, NULL, 0);
  }
}

static bool can_break(const world_sock_t* s, const world_host_t* host) {
  return s->host == host && s->state == WORLD_OPEN && s->fd >= 0 && s->error == 0 &&
         s->other != NULL;
}

bool world_break_one(world_host_t* host, uint32_t which) {
  uint32_t n = 0;
  for (s3l_list_t* l = socks.next; l != &socks; l = l->next)
    n += can_break(S3L_CONTAINER_OF(l, world_sock_t, all), host);
  if (n == 0)
    return false;
  which %= n;
  for (s3l_list_t* l = socks.next; l != &socks; l = l->next) {
    world_sock_t* s = S3L_CONTAINER_OF(l, world_sock_t, all);
    if (!can_break(s, host) || which-- > 0)
      continue;
    if (s->other->state == WORLD_OPEN)
      fail(s->other, ECONNRESET);
    fail(s, ECONNRESET);
    return true;
  }
  return false;
}

/* ---- A run's beginning and end ---- */

void world_net_begin(void) {
  memset(&world_net, 0, sizeof(world_net));
  world_net.send_space = WORLD_SEND_SPACE;
}

void world_net_end(void) {
  while (!s3l_list_empty(&segments))
    free_segment(S3L_CONTAINER_OF(segments.next, segment_t, all));
  while (!s3l_list_empty(&socks)) /* of hosts that are gone */
    free_sock(S3L_CONTAINER_OF(socks.next, world_sock_t, all));
}
