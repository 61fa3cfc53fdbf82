/* world/node.c: see node.h. */
#include "world/node.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/socket.h"

/* How late an application may be told, beyond the instant that a timer of whole ms can meet. */
#define LATE_NS (30 * WORLD_MS)
/* Within this time everything of a process is closed, whatever the network does. */
#define CLOSED_WITHIN_NS (180 * WORLD_S)

enum { NOTHING, READING, WRITING };

struct world_life_s {
  world_host_t* host;
  world_node_t* node;
  uint32_t number;
  s3lect_store_t store;
  s3lect_elector_t elector;
  s3lect_peer_client_t client;
  s3lect_peer_server_t server;
  bool has_store, has_elector, has_client, has_server; /* and are to be closed */
  bool closing;
  bool ghost;
  int64_t closing_since;
  int request; /* of the core, that is under way */
  size_t birth;
  bool started;
  uint64_t epoch;
  int64_t promised;
  world_event_t ack; /* the application's */
};

typedef struct birth_s {
  char incarnation[S3LECT_INCARNATION_SIZE];
  int node;
  uint32_t life;
  struct {
    uint64_t epoch, number;
    int64_t sent;
  } sends[WORLD_SENDS];
  size_t sends_len;
} birth_t;

struct world_election_s election;
static birth_t births[WORLD_BIRTHS];
static size_t births_len;

void world_broken(const char* format, ...) {
  va_list args;
  if (election.broken[0] != '\0')
    return;
  int n = snprintf(election.broken, sizeof(election.broken), "%.3f s: ", (double)world.now / 1e9);
  va_start(args, format);
  vsnprintf(election.broken + n, sizeof(election.broken) - (size_t)n, format, args);
  va_end(args);
  world_log("BROKEN %s", election.broken);
}

/* ---- What the oracle is told ---- */

static int64_t clock_of(void* ctx, int node, int64_t t) {
  const world_life_t* life = election.nodes[node].life;
  (void)ctx;
  return life != NULL ? sim_clock_read(&life->host->lease, t) : t;
}

static bool is_seen(const world_life_t* l) {
  return !l->ghost && l->has_elector;
}

/* What is_leader is compared with, now. */
static void look(world_life_t* l) {
  s3lect_status_t status = {.size = sizeof(status)};
  if (!is_seen(l) || s3lect_elector_status(&l->elector, &status) != 0)
    return;
  int64_t lease = world_lease_ns(l->host);
  bool leads = s3lect_elector_is_leader(&l->elector) != 0;
  if (leads != (status.valid_until_ns > lease))
    world_broken("%s: is_leader is %d, valid for %.3f ms", l->node->name, leads,
                 (double)(status.valid_until_ns - lease) / 1e6);
  oracle_valid(&election.oracle, l->node->index, world.now, status.valid_until_ns);
}

static void check_late(const world_life_t* l, const char* when) {
  int64_t late = world_lease_ns(l->host) - l->promised;
  if (l->started && late > LATE_NS && world.now > l->node->blocked_until + WORLD_MS)
    oracle_fail(&election.oracle, ORACLE_STOP_LATE, world.now, l->node->index, -1,
                "%s: %s, %.3f ms after the end of validity", l->node->name, when,
                (double)late / 1e6);
}

static void after_turn(world_host_t* host) {
  world_life_t* l = host->data;
  world_counters_t* c = &election.counters;
  c->bytes_most = host->bytes_most > c->bytes_most ? host->bytes_most : c->bytes_most;
  c->fds_most = host->fds > c->fds_most ? host->fds : c->fds_most;
  /* The oracle's own bound is the instant itself; a timer of ms comes after it. */
  oracle_blocked(&election.oracle, l->node->index, world.now);
  look(l);
  if (is_seen(l))
    check_late(l, "nothing was told");
}

static world_life_t* life_of(const s3lect_elector_t* elector) {
  return elector->data;
}

static void send_ack(world_event_t* event) {
  world_life_t* l = S3L_CONTAINER_OF(event, world_life_t, ack);
  world_host_t* was = world_enter(l->host);
  if (is_seen(l)) {
    oracle_acknowledged(&election.oracle, l->node->index);
    s3lect_elector_ack(&l->elector, l->epoch);
  }
  world_leave(was);
}

static void note(world_life_t* l, oracle_note_kind_t kind, const s3lect_event_t* e) {
  oracle_note_t n = {
      .kind = kind, .epoch = e->epoch, .valid_until = e->valid_until_ns, .leader_id = e->leader_id};
  oracle_blocked(&election.oracle, l->node->index, world.now);
  look(l);
  oracle_note(&election.oracle, l->node->index, world.now, &n);
}

static void on_event(s3lect_elector_t* elector, const s3lect_event_t* e) {
  world_life_t* l = life_of(elector);
  if (!l->has_elector)
    world_broken("%s: event %d after its elector was closed", l->node->name, e->kind);
  if (l->ghost)
    return;
  world_log("%s: %s epoch %" PRIu64 " %s%s", l->node->name, s3lect_event_name(e->kind), e->epoch,
            e->kind == S3LECT_EVENT_NEW_LEADER ? e->leader_id : "", e->message);
  switch (e->kind) {
  case S3LECT_EVENT_STARTED_LEADING:
    note(l, ORACLE_STARTED, e);
    l->started = true;
    l->epoch = e->epoch;
    l->promised = e->valid_until_ns;
    election.counters.leaderships++;
    break;
  case S3LECT_EVENT_RENEWED:
    note(l, ORACLE_RENEWED, e);
    l->promised = e->valid_until_ns;
    election.counters.renewals++;
    break;
  case S3LECT_EVENT_STOPPED_LEADING:
    check_late(l, "stopped was told");
    note(l, ORACLE_STOPPED, e);
    l->started = false;
    if (l->node->config.stop_ack_ms > 0)
      world_event_set(&l->ack, world.now + l->node->config.ack_delay_ms * WORLD_MS);
    break;
  case S3LECT_EVENT_NEW_LEADER:
    note(l, ORACLE_NEW_LEADER, e);
    break;
  case S3LECT_EVENT_ERROR:
    election.counters.errors++;
    if (e->error == S3LECT_EUNSAFE)
      world_broken("%s calls a good store unsafe: %s", l->node->name, e->message);
    break;
  default:
    break;
  }
}

/* ---- The core's requests, from its trace ---- */

static uint64_t number_after(const char* line, const char* name) {
  const char* at = strstr(line, name);
  return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void saw_write(world_life_t* l, const char* line) {
  birth_t* b = &births[l->birth];
  uint64_t epoch = number_after(line, " epoch=");
  uint64_t number = number_after(line, " n=");
  size_t i = b->sends_len++ % WORLD_SENDS;
  b->sends[i].epoch = epoch;
  b->sends[i].number = number;
  b->sends[i].sent = world_lease_ns(l->host);
  oracle_write_t w = {.node = l->node->index,
                      .life = l->number,
                      .sent_boot = world_lease_ns(l->host),
                      .epoch = epoch,
                      .number = number,
                      .incarnation = l->birth + 1,
                      .released = strstr(line, " released") != NULL,
                      .leader_id = l->node->name};
  l->request = WRITING;
  look(l);
  oracle_write_sent(&election.oracle, world.now, &w);
}

static bool begins(const char* line, const char* with) {
  return strncmp(line, with, strlen(with)) == 0;
}

static void saw_done(world_life_t* l, const char* line) {
  int node = l->node->index;
  if (l->request == READING)
    oracle_read_done(&election.oracle, node,
                     begins(line, "done ok") || begins(line, "done listed") ||
                         begins(line, "done ENOTFOUND") || begins(line, "done ENOTMODIFIED"));
  else if (l->request == WRITING)
    oracle_write_done(&election.oracle, node, strstr(line, " uncertain") != NULL);
  l->request = NOTHING;
}

static void on_trace(s3lect_elector_t* elector, const char* line) {
  world_life_t* l = life_of(elector);
  if (l->ghost)
    return;
  world_log("%s: %s", l->node->name, line);
  if (begins(line, "write")) {
    saw_write(l, line);
  } else if (begins(line, "read") || begins(line, "list ")) {
    l->request = READING;
    oracle_read_sent(&election.oracle, l->node->index, world.now);
  } else if (begins(line, "done")) {
    saw_done(l, line);
  }
}

/* ---- What lands ---- */

static const birth_t* born(const char* incarnation, uint64_t* id) {
  for (size_t i = births_len; i-- > 0;)
    if (strcmp(births[i].incarnation, incarnation) == 0) {
      *id = i + 1;
      return &births[i];
    }
  return NULL;
}

static int64_t sent_at(const birth_t* b, uint64_t epoch, uint64_t number) {
  for (size_t i = 0; i < WORLD_SENDS; i++)
    if (b->sends[i].epoch == epoch && b->sends[i].number == number)
      return b->sends[i].sent;
  return INT64_MIN / 2; /* long ago */
}

static bool parse(const char* key, const char* body, size_t n, s3lect_record_t* r) {
  if (!election.epochs)
    return strcmp(key, WORLD_KEY) == 0 && s3lect_record_parse(body, n, r) == 0;
  uint64_t number = s3lect_epoch_file_number(WORLD_KEY, key);
  return number > 0 && s3lect_epoch_file_parse(body, n, number, r) == 0;
}

void world_saw_change(const char* key, const char* body, size_t n) {
  s3lect_record_t r;
  uint64_t id = 0;
  if (strstr(key, ".verify-") != NULL)
    return;
  if (body == NULL) {
    if (!election.epochs)
      world_broken("somebody deletes the lockfile");
    return;
  }
  const birth_t* b = parse(key, body, n, &r) ? born(r.incarnation, &id) : NULL;
  if (b == NULL) {
    world_broken("%s: no candidate wrote %.*s", key, (int)(n < 120 ? n : 120), body);
    return;
  }
  world_log("store: write %" PRIu64 " of %s lands, epoch %" PRIu64, r.write, r.leader_id, r.epoch);
  oracle_write_t w = {.node = b->node,
                      .life = b->life,
                      .sent_boot = sent_at(b, r.epoch, r.write),
                      .epoch = r.epoch,
                      .number = r.write,
                      .incarnation = id,
                      .released = r.released != 0,
                      .claims = r.claim != 0,
                      .leader_id = election.nodes[b->node].name,
                      .successor = r.successor};
  oracle_write_landed(&election.oracle, world.now, &w);
}

/* ---- A life's end ---- */

static void end_life(world_life_t* l) {
  char why[160];
  if (!world_host_is_quiet(l->host, why, sizeof(why)))
    world_broken("%s is closed, and leaves %s", l->node->name, why);
  world_event_clear(&l->ack);
  if (world_host_at(l->host->address) == l->host)
    world_net.host_at[l->host->address & 255] = NULL;
  world_host_end(l->host);
  free(l);
  election.ghosts--;
}

/* When all is closed: what remains of the loop has a few turns to go. */
static void after_closing_turn(world_host_t* host) {
  world_life_t* l = host->data;
  char why[160];
  if (world_host_is_quiet(host, why, sizeof(why))) {
    end_life(l);
    return;
  }
  if (world.now - l->closing_since > CLOSED_WITHIN_NS) {
    world_broken("%s cannot be closed: %s%s%s%s; %s", l->node->name,
                 l->has_elector ? "elector " : "", l->has_server ? "server " : "",
                 l->has_client ? "client " : "", l->has_store ? "store " : "", why);
    l->closing_since = world.now;
  }
}

static void close_next(world_life_t* l);

static void on_elector_closed(s3lect_elector_t* elector) {
  world_life_t* l = life_of(elector);
  if (!l->has_elector)
    world_broken("%s: an elector is closed twice", l->node->name);
  if (!l->ghost) {
    oracle_blocked(&election.oracle, l->node->index, world.now);
    oracle_valid(&election.oracle, l->node->index, world.now, 0);
    oracle_dies(&election.oracle, l->node->index, world.now);
    l->node->life = NULL;
    l->ghost = true;
  }
  l->has_elector = false;
  close_next(l);
}

static void on_server_closed(s3lect_peer_server_t* server) {
  world_life_t* l = server->data;
  l->has_server = false;
  close_next(l);
}

static void on_client_closed(s3lect_peer_client_t* client) {
  world_life_t* l = client->data;
  l->has_client = false;
  close_next(l);
}

static void on_store_closed(s3lect_store_t* store) {
  world_life_t* l = store->data;
  l->has_store = false;
  close_next(l);
}

static void close_next(world_life_t* l) {
  l->host->after_turn = after_closing_turn;
  if (l->has_elector)
    (void)s3lect_elector_close(&l->elector, on_elector_closed);
  else if (l->has_server)
    s3lect_peer_server_close(&l->server, on_server_closed);
  else if (l->has_client)
    s3lect_peer_client_close(&l->client, on_client_closed);
  else if (l->has_store)
    s3lect_store_close(&l->store, on_store_closed);
  else
    world_wake(l->host);
}

static void close_all(world_life_t* l) {
  world_host_t* was = world_enter(l->host);
  l->closing = true;
  l->closing_since = world.now;
  election.ghosts++;
  close_next(l);
  world_wake(l->host);
  world_leave(was);
}

void world_node_end(world_node_t* n, world_end_t how) {
  world_life_t* l = n->life;
  if (l == NULL || l->closing)
    return;
  world_log("%s %s", n->name,
            how == WORLD_LEAVES   ? "leaves"
            : how == WORLD_KILLED ? "is killed"
                                  : "crashes");
  if (how == WORLD_LEAVES) {
    close_all(l);
    /* Until its elector is closed it is a candidate still. */
    l->host->after_turn = after_closing_turn;
    return;
  }
  if (how == WORLD_KILLED)
    world_break_all(l->host);
  l->host->mute = true;
  l->host->alloc_fail = 0;
  l->host->blocked_until = 0;
  sim_clock_set_rate(&l->host->timer, world.now, n->timer_ppb); /* it may have been suspended */
  world_net.host_at[l->host->address & 255] = NULL;
  oracle_blocked(&election.oracle, n->index, world.now);
  oracle_dies(&election.oracle, n->index, world.now);
  n->life = NULL;
  l->ghost = true;
  close_all(l);
}

/* ---- Its beginning ---- */

static bool open_store(world_life_t* l) {
  char endpoint[64];
  const world_config_t* c = &l->node->config;
  s3lect_error_t error;
  s3lect_store_s3_options_t o;
  s3lect_store_s3_options_init(&o, sizeof(o));
  snprintf(endpoint, sizeof(endpoint), "http://%s:%d", c->by_name ? "s3.world" : "10.0.0.200",
           WORLD_PORT);
  o.bucket = WORLD_BUCKET;
  o.endpoint = endpoint;
  o.region = "us-east-1";
  o.access_key_id = "test";
  o.secret_access_key = "testtest";
  o.max_connections = c->max_connections;
  o.idle_timeout_ms = c->idle_timeout_ms;
  int rc = s3lect_store_s3_init(&l->host->loop, &l->store, &o, &error);
  if (rc != 0 && rc != UV_ENOMEM && l->host->alloc_fail == 0)
    world_broken("store: %s", error.text);
  l->store.data = l;
  l->has_store = rc == 0;
  return rc == 0;
}

static bool open_peers(world_life_t* l) {
  char listen[64];
  s3lect_error_t error;
  s3lect_peer_client_options_t c;
  s3lect_peer_server_options_t s;
  if (!l->node->config.peer_mode)
    return true;
  s3lect_peer_client_options_init(&c, sizeof(c));
  c.plain_http = 1;
  l->client.data = l;
  l->has_client = s3lect_peer_client_init(&l->host->loop, &l->client, &c, &error) == 0;
  s3lect_peer_server_options_init(&s, sizeof(s));
  snprintf(listen, sizeof(listen), "10.0.0.%d:%d", l->node->index + 1, WORLD_PEERPORT);
  s.listen = listen;
  s.plain_http = 1;
  l->server.data = l;
  l->has_server =
      l->has_client && s3lect_peer_server_init(&l->host->loop, &l->server, &s, &error) == 0;
  return l->has_server;
}

static bool open_elector(world_life_t* l) {
  char address[64];
  const world_config_t* c = &l->node->config;
  s3lect_error_t error;
  s3lect_elector_options_t o;
  s3lect_elector_options_t all = {.size = sizeof(all)};
  s3lect_elector_options_init(&o, sizeof(o));
  snprintf(address, sizeof(address), "10.0.0.%d:%d", l->node->index + 1, WORLD_PEERPORT);
  o.lockfile_path = WORLD_KEY;
  o.server_id = l->node->name;
  o.server_addr = address; /* without peer mode nobody listens there */
  o.store = &l->store;
  o.protocol = c->epochs ? S3LECT_PROTOCOL_EPOCHS : S3LECT_PROTOCOL_LOCKFILE;
  o.leader_timeout_ms = c->leader_timeout_ms;
  o.renew_interval_ms = c->renew_interval_ms;
  o.frequent_interval_ms = c->frequent_interval_ms;
  o.infrequent_interval_ms = c->infrequent_interval_ms;
  o.request_timeout_ms = c->request_timeout_ms;
  o.grace_period_ms = c->grace_period_ms;
  o.stop_ack_ms = c->stop_ack_ms;
  o.expiry = c->store_clock ? S3LECT_EXPIRY_STORE_CLOCK : S3LECT_EXPIRY_OBSERVED;
  o.peer_client = c->peer_mode ? &l->client : NULL;
  o.on_started_leading = o.on_stopped_leading = o.on_new_leader = on_event;
  o.on_renewed = o.on_error = o.on_claiming = on_event;
  o.on_trace = on_trace;
  l->elector.data = l;
  int rc = s3lect_elector_init(&l->host->loop, &l->elector, &o, &error);
  if (rc != 0 && rc != UV_ENOMEM)
    world_broken("elector: %s", error.text);
  l->has_elector = rc == 0;
  if (rc != 0 || s3lect_elector_options_resolve(&o, &all, NULL) != 0)
    return false;
  oracle_config_t known = {.leader_timeout_ms = all.leader_timeout_ms,
                           .renew_interval_ms = all.renew_interval_ms,
                           .frequent_interval_ms = all.frequent_interval_ms,
                           .infrequent_interval_ms = all.infrequent_interval_ms,
                           .stop_ack_ms = all.stop_ack_ms,
                           .drift_ppm = all.drift_ppm,
                           .store_clock = c->store_clock,
                           .peer_mode = c->peer_mode};
  oracle_set_config(&election.oracle, l->node->index, &known);
  return true;
}

static void be_born(world_life_t* l) {
  if (births_len == WORLD_BIRTHS)
    abort();
  birth_t* b = &births[births_len];
  *b = (birth_t){.node = l->node->index, .life = l->number};
  for (size_t i = 0; i < 16; i++)
    snprintf(b->incarnation + 2 * i, 3, "%02x", l->host->drawn[i]);
  l->birth = births_len++;
}

static bool open_all(world_life_t* l) {
  if (!open_store(l) || !open_peers(l) || !open_elector(l))
    return false;
  if (l->has_server && s3lect_peer_server_add(&l->server, &l->elector, NULL) != 0)
    return false;
  if (s3lect_elector_start(&l->elector) != 0)
    return false;
  be_born(l);
  return true;
}

void world_node_begin(world_node_t* n) {
  uint32_t address = UINT32_C(0x0a000001) + (uint32_t)n->index;
  if (n->life != NULL || world_net.host_at[address & 255] != NULL)
    return;
  world_life_t* l = calloc(1, sizeof(*l));
  if (l == NULL)
    abort();
  l->node = n;
  l->ack.run = send_ack;
  l->number = ++n->lives;
  l->host = world_host_new(address, (uint32_t)n->index,
                           election.seed * 1000003 + n->lives * 16 + (uint32_t)n->index);
  l->host->data = l;
  l->host->after_turn = after_turn;
  world_net.host_at[address & 255] = l->host;
  n->life = l;
  n->blocked_until = 0;
  world_node_rates(n, n->lease_ppb, n->timer_ppb);
  oracle_begins(&election.oracle, n->index, world.now);
  election.counters.lives++;
  world_log("%s begins", n->name);
  world_host_t* was = world_enter(l->host);
  uv_update_time(&l->host->loop);
  bool fine = open_all(l);
  world_wake(l->host);
  world_leave(was);
  if (!fine) {
    election.counters.refused_starts++;
    world_node_end(n, WORLD_KILLED);
  }
}

/* ---- What happens to it ---- */

void world_node_resign(world_node_t* n, int to) {
  world_life_t* l = n->life;
  if (l == NULL || l->closing)
    return;
  world_host_t* was = world_enter(l->host);
  if (to >= 0 && to != n->index)
    (void)s3lect_elector_transfer(&l->elector, election.nodes[to].name);
  else
    (void)s3lect_elector_resign(&l->elector);
  look(l);
  world_wake(l->host);
  world_leave(was);
}

void world_node_pause(world_node_t* n, int64_t until) {
  if (n->life == NULL)
    return;
  oracle_blocked(&election.oracle, n->index, until);
  if (until > n->blocked_until)
    n->blocked_until = until;
  world_block(n->life->host, until);
}

void world_node_rates(world_node_t* n, int64_t lease_ppb, int64_t timer_ppb) {
  n->lease_ppb = lease_ppb;
  n->timer_ppb = timer_ppb;
  if (n->life == NULL)
    return;
  sim_clock_set_rate(&n->life->host->lease, world.now, lease_ppb);
  sim_clock_set_rate(&n->life->host->timer, world.now, timer_ppb);
  world_wake(n->life->host); /* its timers come at another true time */
}

/* ---- The election ---- */

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
  return world.here != NULL && world.here->alloc_fail > 0 &&
         sim_chance(&world.here->random, world.here->alloc_fail);
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

void world_election_begin(uint64_t seed, int nodes) {
  static bool hooked;
  if (!hooked)
    s3lect_set_allocator(allocate, allocate_again, allocate_zero, release);
  hooked = true;
  memset(&election, 0, sizeof(election));
  memset(births, 0, births_len * sizeof(births[0]));
  births_len = 0;
  election.seed = seed;
  election.nodes_len = nodes;
  oracle_init(&election.oracle, nodes, clock_of, NULL);
  for (int i = 0; i < nodes; i++) {
    election.nodes[i].index = i;
    snprintf(election.nodes[i].name, sizeof(election.nodes[i].name), "n%d", i);
  }
}
