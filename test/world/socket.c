/* world/socket.c: see socket.h. */
#include "world/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/judge.h"
#include "world/segment.h"
#include "world/situations.h"

struct world_net_s world_net;

static world_sock_t** fds;
static size_t fds_cap;
s3l_list_t world_socks = {&world_socks, &world_socks};

world_host_t* world_host_at(uint32_t address) {
  return world_net.host_at[address & 255];
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
    fds = world_must(realloc(fds, fds_cap * sizeof(*fds)));
    memset(fds + i, 0, (fds_cap - i) * sizeof(*fds));
  }
  fds[i] = s;
  s->host->fds++;
  s->fd = WORLD_FD_BASE + (int)i;
  return s->fd;
}

world_sock_t* world_sock_new(world_host_t* host, world_sock_state_t state) {
  world_sock_t* s = world_must(calloc(1, sizeof(*s)));
  s->state = state;
  s->host = host;
  s->fd = -1;
  s->local.sin_family = s->remote.sin_family = AF_INET;
  s3l_list_init(&s->held);
  s3l_list_init(&s->backlog);
  s3l_list_init(&s->ready);
  s3l_list_push_back(&world_socks, &s->all);
  return s;
}

static void free_sock(world_sock_t* s) {
  s3l_list_remove(&s->all);
  s3l_list_remove(&s->ready);
  free(s->in);
  free(s);
}

int world_sock_open(world_host_t* host, world_sock_state_t state) {
  world_sock_t* s = world_sock_new(host, state);
  int fd = take_fd(s);
  if (fd < 0) {
    free_sock(s);
    world_meet(WORLD_MET_NO_DESCRIPTOR);
  }
  return fd;
}

static bool is_over(const world_sock_t* s) {
  return s == NULL || (s->fd < 0 && s->refs == 0 && !s->queued);
}

/* Frees both ends when neither is open or on its way any more. */
void world_sock_tidy(world_sock_t* s) {
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

void world_sock_fail(world_sock_t* s, int error) {
  if (s->error == 0 && s->state != WORLD_FRESH)
    s->error = error;
  s->told = false;
  world_sock_poke(s);
}

/* ---- Calls ---- */

world_sock_t* world_listener(uint32_t address, uint16_t port) {
  for (s3l_list_t* l = world_socks.next; l != &world_socks; l = l->next) {
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
  if (fd < 0) {
    world_meet(WORLD_MET_NO_ACCEPT);
    return fd;
  }
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
  world_judge_connect(s->host, world_address_of(to), ntohs(to->sin_port));
  world_transmit(s, NULL, WORLD_SYN, NULL, 0);
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
  if (n > space) {
    n = space;
    world_meet(WORLD_MET_PIECES);
  }
  s->flying += n;
  size_t cut = n;
  if (n > 1 && sim_chance(&world.random, world_net.cut_per_mille))
    cut = 1 + sim_below(&world.random, (uint32_t)(n - 1));
  world_transmit(s, s->other, WORLD_DATA, p, cut);
  if (cut < n)
    world_transmit(s, s->other, WORLD_DATA, (const char*)p + cut, n - cut);
  return (ssize_t)n;
}

ssize_t world_sock_peek(const world_sock_t* s) {
  if (s->in_len > 0)
    return 1;
  if (s->error != 0 && !s->told)
    return -s->error;
  if (s->error != 0 || s->in_end)
    return 0;
  return s->state == WORLD_OPEN ? -EAGAIN : -ENOTCONN;
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
  ssize_t rc = world_sock_peek(s);
  s->told = s->told || s->error != 0;
  return rc;
}

void world_sock_shutdown(world_sock_t* s) {
  if (s->state != WORLD_OPEN || s->out_end || s->error != 0)
    return;
  s->out_end = true;
  world_transmit(s, s->other, WORLD_FIN, NULL, 0);
}

static void drop_backlog(world_sock_t* l) {
  while (!s3l_list_empty(&l->backlog)) {
    world_sock_t* s = S3L_CONTAINER_OF(l->backlog.next, world_sock_t, ready);
    s3l_list_remove(&s->ready);
    s->queued = false;
    world_transmit(s, s->other, WORLD_RST, NULL, 0);
    world_sock_tidy(s);
  }
}

void world_sock_close(world_sock_t* s, bool reset) {
  if (s->fd < 0)
    return;
  if (s->state == WORLD_LISTENING)
    drop_backlog(s);
  if (s->state == WORLD_OPEN && s->error == 0) {
    if (reset || s->in_len > 0)
      world_transmit(s, s->other, WORLD_RST, NULL, 0);
    else if (!s->out_end)
      world_transmit(s, s->other, WORLD_FIN, NULL, 0);
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
  world_sock_tidy(s);
}

void world_sock_resumed(world_sock_t* timerfd) {
  timerfd->cancelled = 1;
  world_sock_poke(timerfd);
}

/* ---- Faults ---- */

void world_break_all(world_host_t* host) {
  for (s3l_list_t* l = world_socks.next; l != &world_socks; l = l->next) {
    world_sock_t* s = S3L_CONTAINER_OF(l, world_sock_t, all);
    if (s->host == host && s->state == WORLD_OPEN && s->error == 0)
      world_transmit(s, s->other, WORLD_RST, NULL, 0);
  }
}

static bool can_break(const world_sock_t* s, const world_host_t* host) {
  return s->host == host && s->state == WORLD_OPEN && s->fd >= 0 && s->error == 0 &&
         s->other != NULL;
}

bool world_break_one(world_host_t* host, uint32_t which) {
  uint32_t n = 0;
  for (s3l_list_t* l = world_socks.next; l != &world_socks; l = l->next)
    n += can_break(S3L_CONTAINER_OF(l, world_sock_t, all), host);
  if (n == 0)
    return false;
  which %= n;
  for (s3l_list_t* l = world_socks.next; l != &world_socks; l = l->next) {
    world_sock_t* s = S3L_CONTAINER_OF(l, world_sock_t, all);
    if (!can_break(s, host) || which-- > 0)
      continue;
    if (s->other->state == WORLD_OPEN)
      world_sock_fail(s->other, ECONNRESET);
    world_sock_fail(s, ECONNRESET);
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
  world_segments_end();
  while (!s3l_list_empty(&world_socks)) /* of hosts that are gone */
    free_sock(S3L_CONTAINER_OF(world_socks.next, world_sock_t, all));
}
