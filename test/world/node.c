/* world/node.c: see node.h. */
#include "world/node.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/answers.h"
#include "world/application.h"
#include "world/bucket.h"
#include "world/judge.h"
#include "world/secrets.h"
#include "world/situations.h"
#include "world/socket.h"
#include "world/store.h"
#include "world/told.h"
#include "world/writer.h"

/* Within this time everything of a process is closed, whatever the network does. */
#define CLOSED_WITHIN_NS (180 * WORLD_S)

struct world_election_s election;
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

static int64_t clock_of(void* ctx, int node, int64_t t) {
  const world_life_t* life = election.nodes[node].life;
  (void)ctx;
  return life != NULL ? sim_clock_read(&life->host->lease, t) : t;
}

static world_life_t* life_of(const s3lect_elector_t* elector) {
  return elector->data;
}

/* ---- A life's end ---- */

static void end_life(world_life_t* l) {
  char why[160];
  if (!world_host_is_quiet(l->host, why, sizeof(why)))
    world_broken("%s is closed, and leaves %s", l->node->name, why);
  world_event_clear(&l->ack);
  world_event_clear(&l->wish);
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

static void on_credentials_closed(s3lect_credentials_provider_t* credentials) {
  world_life_t* l = credentials->data;
  l->has_credentials = false;
  close_next(l);
}

static void on_store_closed(s3lect_store_t* store) {
  world_life_t* l = store->data;
  l->has_store = false;
  close_next(l);
}

static void close_next(world_life_t* l) {
  l->host->after_turn = after_closing_turn;
  if (l->has_verify)
    s3lect_verify_cancel(&l->verify); /* on_verified goes on */
  else if (l->working)
    s3lect_fenced_cancel(&l->fenced); /* world_writer_event's */
  else if (l->has_elector)
    (void)s3lect_elector_close(&l->elector, on_elector_closed);
  else if (l->has_server)
    s3lect_peer_server_close(&l->server, on_server_closed);
  else if (l->has_client)
    s3lect_peer_client_close(&l->client, on_client_closed);
  else if (l->has_store)
    s3lect_store_close(&l->store, on_store_closed);
  else if (l->has_credentials)
    s3lect_credentials_close(&l->credentials, on_credentials_closed);
  else
    world_wake(l->host);
}

void world_life_go_on(world_life_t* l) {
  if (l->closing)
    close_next(l);
}

static void close_all(world_life_t* l) {
  world_host_t* was = world_enter(l->host);
  l->closing = true;
  l->closing_since = world.now;
  election.ghosts++;
  if (world_judge_in_request(l))
    world_meet(WORLD_MET_CLOSED_IN_REQUEST);
  if (l->has_verify)
    world_meet(WORLD_MET_CLOSED_IN_VERIFY);
  close_next(l);
  world_wake(l->host);
  world_leave(was);
}

void world_node_end(world_node_t* n, world_end_t how) {
  world_life_t* l = n->life;
  if (l == NULL || l->closing || (how == WORLD_LEAVES && world.now < l->host->blocked_until))
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
  world_node_rates(n, n->lease_ppb, n->timer_ppb); /* its clocks may have stood still */
  world_net.host_at[l->host->address & 255] = NULL;
  oracle_blocked(&election.oracle, n->index, world.now);
  oracle_dies(&election.oracle, n->index, world.now);
  n->life = NULL;
  l->ghost = true;
  close_all(l);
}

/* ---- Its beginning ---- */

static bool open_store(world_life_t* l) {
  s3lect_error_t error;
  int rc = world_store_open(l, &error);
  if (rc != 0 && rc != UV_ENOMEM && l->host->alloc_fail == 0)
    world_broken("store: %s", error.text);
  l->store.data = l;
  l->has_store = rc == 0;
  return rc == 0;
}

static bool open_credentials(world_life_t* l) {
  s3lect_credentials_chain_options_t o;
  if (!l->node->config.credentials)
    return true;
  s3lect_credentials_chain_options_init(&o, sizeof(o));
  o.sources = S3LECT_CREDENTIALS_CONTAINER;
  l->credentials.data = l;
  l->has_credentials =
      s3lect_credentials_chain_init(&l->host->loop, &l->credentials, &o, NULL) == 0;
  return l->has_credentials;
}

static bool open_peers(world_life_t* l) {
  char listen[64];
  s3lect_error_t error;
  s3lect_peer_client_options_t c;
  s3lect_peer_server_options_t s;
  bool tls = l->node->config.peer_tls;
  if (!l->node->config.peer_mode)
    return true;
  s3lect_peer_client_options_init(&c, sizeof(c));
  c.plain_http = !tls;
  c.ca_file = tls ? world_secrets()->ca : NULL;
  c.cert_file = tls ? world_secrets()->node : NULL;
  c.key_file = tls ? world_secrets()->key : NULL;
  l->client.data = l;
  l->has_client = s3lect_peer_client_init(&l->host->loop, &l->client, &c, &error) == 0;
  s3lect_peer_server_options_init(&s, sizeof(s));
  snprintf(listen, sizeof(listen), "10.0.0.%d:%d", l->node->index + 1, WORLD_PEERPORT);
  s.listen = listen;
  s.plain_http = !tls;
  s.client_ca_file = c.ca_file;
  s.cert_file = c.cert_file;
  s.key_file = c.key_file;
  l->server.data = l;
  l->has_server =
      l->has_client && s3lect_peer_server_init(&l->host->loop, &l->server, &s, &error) == 0;
  return l->has_server;
}

static void on_trace(s3lect_elector_t* elector, const char* line) {
  world_life_t* l = life_of(elector);
  if (!l->ghost)
    world_answers_trace(l, line);
  world_judge_trace(elector, line);
}

static void on_event(s3lect_elector_t* elector, const s3lect_event_t* event) {
  world_told_event(life_of(elector), event);
  world_writer_event(life_of(elector), event);
}

static bool open_elector(world_life_t* l) {
  s3lect_error_t error;
  s3lect_elector_options_t o;
  world_application_options(l, &o);
  o.on_started_leading = o.on_stopped_leading = o.on_new_leader = on_event;
  o.on_renewed = o.on_error = o.on_claiming = o.on_no_leader = on_event;
  o.on_expiring = o.on_value = on_event;
  o.on_trace = on_trace;
  l->elector.data = l;
  int rc = s3lect_elector_init(&l->host->loop, &l->elector, &o, &error);
  if (rc != 0 && rc != UV_ENOMEM && l->host->alloc_fail == 0)
    world_broken("elector: %s", error.text);
  l->has_elector = rc == 0;
  if (rc == 0)
    world_application_begin(l, &o);
  return rc == 0;
}

static bool open_all(world_life_t* l) {
  if (!open_credentials(l) || !open_store(l) || !open_peers(l) || !open_elector(l))
    return false;
  if (l->has_server && s3lect_peer_server_add(&l->server, &l->elector, NULL) != 0)
    return false;
  if (s3lect_elector_start(&l->elector) != 0)
    return false;
  world_judge_birth(l);
  return true;
}

static void on_stall(world_host_t* host, int64_t until) {
  world_life_t* l = host->data;
  world_node_t* n = l->node;
  if (world.stalled) { /* another thread of the process asks before this one goes on */
    if (l->has_elector)
      (void)s3lect_elector_is_leader(&l->elector);
    return;
  }
  /* What was published before the stop. The turn has only begun: it may be about to tell the end.
   */
  oracle_blocked(&election.oracle, n->index, world.now);
  world_judge_look(l);
  oracle_blocked(&election.oracle, n->index, until);
  if (l->started)
    world_meet(WORLD_MET_STOOD_STILL);
  if (until > n->blocked_until)
    n->blocked_until = until;
}

void world_node_begin(world_node_t* n) {
  uint32_t address = UINT32_C(0x0a000001) + (uint32_t)n->index;
  if (n->life != NULL || world_net.host_at[address & 255] != NULL)
    return;
  world_life_t* l = calloc(1, sizeof(*l));
  if (l == NULL)
    abort();
  l->node = n;
  l->config = n->config;
  (void)snprintf(l->addr, sizeof(l->addr), "10.0.0.%d:%d", n->index + 1, WORLD_PEERPORT);
  l->ack.run = world_judge_ack;
  l->ack.apart = true;
  l->number = ++n->lives;
  l->host = world_host_new(address, (uint32_t)n->index,
                           election.seed * 1000003 + n->lives * 16 + (uint32_t)n->index);
  l->host->data = l;
  l->host->after_turn = world_judge_turn;
  l->host->stalls = on_stall;
  world_net.host_at[address & 255] = l->host;
  n->life = l;
  n->blocked_until = 0;
  world_node_rates(n, n->lease_ppb, n->timer_ppb);
  oracle_begins(&election.oracle, n->index, world.now);
  election.counters.lives++;
  world_log("%s begins", n->name);
  l->host->alloc_fail = n->alloc_fail;
  world_host_t* was = world_enter(l->host);
  uv_update_time(&l->host->loop);
  bool fine = open_all(l);
  world_wake(l->host);
  world_leave(was);
  if (fine && sim_chance(&world.random, 150))
    world_node_verify(n); /* two requests wait for the first credentials */
  if (!fine) {
    election.counters.refused_starts++;
    world_meet(WORLD_MET_NOT_STARTED);
    world_node_end(n, WORLD_KILLED);
  }
}

/* ---- What happens to it ---- */

static void check_verdict(const world_life_t* l, const s3lect_verdict_t* verdict, unsigned lies) {
  bool lied = l->lies != 0 && l->lies == election.lies && (l->lies & lies) != 0;
  bool known = bucket.dialect != NULL && lies == WORLD_LIES_LOCKFILE &&
               strstr(bucket.dialect, "no_if_match") != NULL;
  if (l->lie == election.lie && l->lies == 0 && verdict->safety == S3LECT_SAFETY_UNSAFE && !known)
    world_broken("verify calls a good store unsafe: %s", verdict->reason);
  if (lied && verdict->safety == S3LECT_SAFETY_UNSAFE)
    world_meet(WORLD_MET_LIE_FOUND);
  if (lied && verdict->safety == S3LECT_SAFETY_SAFE)
    world_broken("verify calls a bad store safe for %s",
                 lies == WORLD_LIES_LOCKFILE ? "lockfiles" : "epoch files");
}

static void on_verified(s3lect_verify_t* verify, const s3lect_verify_report_t* report) {
  world_life_t* l = verify->data;
  l->has_verify = false;
  election.counters.verdicts += report->error == 0;
  check_verdict(l, &report->lockfile, WORLD_LIES_LOCKFILE);
  if (!world_store->lockfiles) /* else it is unsafe for epoch files */
    check_verdict(l, &report->epochs, WORLD_LIES_EPOCHS);
  world_life_go_on(l);
}

void world_node_verify(world_node_t* n) {
  world_life_t* l = n->life;
  s3lect_verify_options_t o;
  if (l == NULL || l->closing || l->has_verify)
    return;
  s3lect_verify_options_init(&o, sizeof(o));
  o.store = &l->store;
  o.prefix = WORLD_VERIFY_PREFIX;
  o.quick = 1;
  world_host_t* was = world_enter(l->host);
  l->verify.data = l;
  l->verify_since = world.now;
  l->lies = election.lies;
  l->lie = election.lie;
  l->has_verify = s3lect_verify_start(&l->verify, &o, on_verified, NULL) == 0;
  world_wake(l->host);
  world_leave(was);
}

void world_node_resign(world_node_t* n, int to) {
  world_life_t* l = n->life;
  if (l == NULL || l->closing)
    return;
  world_host_t* was = world_enter(l->host);
  if (to >= 0 && to != n->index)
    (void)s3lect_elector_transfer(&l->elector, election.nodes[to].id);
  else
    (void)s3lect_elector_resign(&l->elector);
  world_judge_look(l);
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

/* A lease that was sent before ends by the node's clock within a leader timeout. Then its wall
 * clock is behind, too, until something sets it. */
void world_node_freeze(world_node_t* n, int64_t until) {
  world_host_t* h = n->life != NULL ? n->life->host : NULL;
  if (h == NULL)
    return;
  sim_clock_set_rate(&h->timer, world.now, -SIM_BILLION);
  sim_clock_set_rate(&h->lease, world.now, -SIM_BILLION);
  h->wall_ms -= (until - world.now) / WORLD_MS;
  world_node_pause(n, until);
  oracle_beyond(&election.oracle, n->index,
                until + 2 * (int64_t)n->life->config.leader_timeout_ms * WORLD_MS);
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

void world_election_begin(uint64_t seed, int nodes) {
  world_memory_hook();
  memset(&election, 0, sizeof(election));
  world_judge_begin();
  world_answers_begin();
  world_writer_emptied();
  election.seed = seed;
  election.nodes_len = nodes;
  oracle_init(&election.oracle, nodes, clock_of, NULL);
  for (int i = 0; i < nodes; i++) {
    election.nodes[i].index = i;
    snprintf(election.nodes[i].name, sizeof(election.nodes[i].name), "n%d", i);
    election.nodes[i].id = election.nodes[i].name;
  }
}
