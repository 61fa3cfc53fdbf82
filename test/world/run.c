/* world/run.c: see run.h.
 *
 * A run consists of chapters: faults come and go, then all is well for a while, in which there must
 * be one lasting leader, and requests as rare as promised. In the end everything is closed. */
#include "world/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/bucket.h"
#include "world/names.h"
#include "world/service.h"
#include "world/socket.h"

#define CHAPTER_S    3600
#define QUIET_S      600
#define ACTIVE_MAX   24
#define CLOSE_WAIT_S 400

typedef struct active_s {
  world_event_t end;
  bool on;
  world_fault_t kind;
  uint32_t a, b;
  int rule;
} active_t;

/* What must cost no leader its lease, and no follower a read: these go on when all is well. */
#define HARMLESS                                                                                   \
  (1u << WORLD_FAULT_DNS | 1u << WORLD_FAULT_WALL | 1u << WORLD_FAULT_RATE |                       \
   1u << WORLD_FAULT_SLEW | 1u << WORLD_FAULT_VERIFY)

static struct {
  world_event_t next;
  bool on;    /* faults may begin */
  bool quiet; /* ... harmless ones only */
  uint32_t allowed;
  s3l_prng_t random;
  active_t active[ACTIVE_MAX];
  uint64_t counts[WORLD_FAULT_END];
  uint32_t gap_s;
} chaos;

const char* world_fault_name(world_fault_t fault) {
  static const char* const names[] = {
#define XX(id, name) name,
      WORLD_FAULTS(XX)
#undef XX
  };
  return names[fault];
}

static world_node_t* some_node(void) {
  return &election.nodes[sim_below(&chaos.random, (uint32_t)election.nodes_len)];
}

/* ---- What the store may do wrong without breaking its promise ---- */

static const char* const http_faults[] = {
    "{\"latency_ms\":%u}",
    "{\"reply_delay_ms\":%u}",
    "{\"status\":500,\"count\":3}",
    "{\"status\":503,\"count\":5}",
    "{\"status\":503,\"after_effect\":true,\"count\":2}",
    "{\"status\":500,\"after_effect\":true,\"count\":2}",
    "{\"status\":502,\"html\":\"<html>Bad Gateway</html>\",\"count\":4}",
    "{\"status\":502,\"html\":\"<html>Bad Gateway</html>\",\"after_effect\":true,\"count\":2}",
    "{\"status\":404,\"html\":\"<html>no such page</html>\",\"count\":3}",
    "{\"status\":404,\"html\":\"<html>no such page</html>\",\"after_effect\":true,\"count\":2}",
    "{\"status\":403,\"html\":\"<html>blocked</html>\",\"count\":3}",
    "{\"status\":409,\"code\":\"OperationAborted\",\"count\":2,\"match\":{\"method\":\"PUT\"}}",
    "{\"drop_before\":true,\"count\":3}",
    "{\"drop_after\":true,\"count\":3}",
    "{\"drop_after\":true,\"count\":2,\"match\":{\"method\":\"PUT\"}}",
    "{\"reset_mid_reply\":true,\"count\":3}",
    "{\"stall\":true,\"count\":2}",
    "{\"stall_after\":true,\"count\":2}",
    "{\"late_ms\":%u,\"count\":2,\"match\":{\"method\":\"PUT\"}}",
    "{\"truncate\":true,\"count\":2}",
    "{\"garbage\":true,\"count\":2}",
    "{\"http10\":true,\"count\":20}",
    "{\"chunked\":true,\"count\":20}",
    "{\"close_after\":true,\"count\":10}",
    "{\"weak_etag\":true,\"count\":10}",
    "{\"plain_404\":true,\"count\":5,\"match\":{\"method\":\"GET\"}}",
};

static int add_http_fault(void) {
  char json[256];
  size_t n = sizeof(http_faults) / sizeof(http_faults[0]);
  const char* form = http_faults[sim_below(&chaos.random, (uint32_t)n)];
  const char* at = strstr(form, "%u");
  if (at == NULL)
    return world_bucket_fault(form);
  snprintf(json, sizeof(json), "%.*s%u%s", (int)(at - form), form,
           (unsigned)sim_heavy(&chaos.random, 400, 7), at + 2);
  return world_bucket_fault(json);
}

/* ---- Faults ---- */

static uint32_t some_machine(void) {
  return sim_chance(&chaos.random, 700)
             ? WORLD_STORE_MACHINE
             : (uint32_t)sim_below(&chaos.random, (uint32_t)election.nodes_len);
}

static void partition(active_t* f, bool on) {
  if (f->rule & 1)
    world_way_block(f->a, f->b, on);
  if (f->rule & 2)
    world_way_block(f->b, f->a, on);
}

static void slow(const active_t* f, bool on) {
  for (uint32_t m = 0; m < WORLD_MACHINES; m++) {
    world_way_t* ways[2] = {&world_net.way[f->a][m], &world_net.way[m][f->a]};
    for (int i = 0; i < 2; i++) {
      ways[i]->delay_ns = on ? f->b * WORLD_MS / 2 : 2 * WORLD_MS;
      ways[i]->jitter_ns = on ? f->b * WORLD_MS : WORLD_MS;
    }
  }
}

static world_host_t* host_of(const world_node_t* n) {
  return world_host_at(UINT32_C(0x0a000001) + (uint32_t)n->index);
}

static int64_t random_rate(int64_t bound_ppb) {
  return sim_between(&chaos.random, -bound_ppb, bound_ppb);
}

/* The machine sleeps: nothing runs, and its timers' clock stands still. */
static void suspend(active_t* f, bool on) {
  world_node_t* n = &election.nodes[f->a];
  world_host_t* h = host_of(n);
  if (h == NULL)
    return;
  if (on) {
    sim_clock_set_rate(&h->timer, world.now, -SIM_BILLION);
    world_node_pause(n, f->end.at);
    return;
  }
  world_node_rates(n, n->lease_ppb, n->timer_ppb);
  if (h->suspend != NULL)
    world_sock_resumed(h->suspend);
}

static void lock_out(active_t* f) {
  f->b = sim_chance(&chaos.random, 500);
  world_block(f->b ? world_service.host : bucket.host, f->end.at);
}

static void begin_fault(active_t* f) {
  world_node_t* n = some_node();
  world_host_t* h = host_of(n);
  s3l_prng_t* r = &chaos.random;
  int64_t drift = 9999000;
  f->a = (uint32_t)n->index;
  switch (f->kind) {
  case WORLD_FAULT_PARTITION:
    f->b = some_machine();
    f->rule = (int)sim_between(r, 1, 3);
    if (f->a != f->b)
      partition(f, true);
    break;
  case WORLD_FAULT_SLOW:
    f->a = sim_chance(r, 300) ? WORLD_STORE_MACHINE : f->a;
    f->b = (uint32_t)sim_heavy(r, 100, 5);
    slow(f, true);
    break;
  case WORLD_FAULT_REFUSE:
    world_bucket_listen(false);
    break;
  case WORLD_FAULT_FREEZE:
    lock_out(f);
    break;
  case WORLD_FAULT_VERIFY:
    world_node_verify(n);
    break;
  case WORLD_FAULT_RESTART:
    world_bucket_restart();
    break;
  case WORLD_FAULT_EMPTY:
    world_bucket_empty();
    break;
  case WORLD_FAULT_DNS:
    world_names.error = sim_chance(r, 300) ? UV_EAI_AGAIN : sim_chance(r, 500) ? UV_EAI_NONAME : 0;
    world_names.delay_ns = sim_heavy(r, 100, 6) * WORLD_MS;
    break;
  case WORLD_FAULT_MOVE:
    world_bucket_move((uint32_t)s3l_prng_next(r));
    break;
  case WORLD_FAULT_HTTP:
    f->rule = add_http_fault();
    break;
  case WORLD_FAULT_BREAK:
    if (h != NULL)
      (void)world_break_one(h, (uint32_t)s3l_prng_next(r));
    break;
  case WORLD_FAULT_FDS:
    if (h != NULL)
      h->fds_max = h->fds + sim_below(r, 3);
    break;
  case WORLD_FAULT_MEMORY:
    n->alloc_fail = sim_chance(r, 300) ? 1000 : 20 + (uint32_t)sim_below(r, 300);
    if (h != NULL)
      h->alloc_fail = n->alloc_fail;
    break;
  case WORLD_FAULT_PAUSE:
    world_node_pause(n, f->end.at);
    break;
  case WORLD_FAULT_STARVE:
    if (h != NULL)
      h->wake_ns = sim_heavy(r, 5, 5) * WORLD_MS;
    oracle_blocked(&election.oracle, n->index, f->end.at);
    n->blocked_until = f->end.at > n->blocked_until ? f->end.at : n->blocked_until;
    break;
  case WORLD_FAULT_KILL:
    world_node_end(n, WORLD_KILLED);
    break;
  case WORLD_FAULT_CRASH:
    world_node_end(n, WORLD_CRASHED);
    break;
  case WORLD_FAULT_LEAVE:
    world_node_end(n, WORLD_LEAVES);
    break;
  case WORLD_FAULT_RESIGN:
    for (int i = 0; i < election.nodes_len; i++)
      if (oracle_believes(&election.oracle, i, world.now))
        world_node_resign(&election.nodes[i], sim_chance(r, 500)
                                                  ? (int)sim_below(r, (uint32_t)election.nodes_len)
                                                  : -1);
    break;
  case WORLD_FAULT_WALL:
    if (h != NULL)
      h->wall_ms += sim_between(r, -7200000, 7200000);
    break;
  case WORLD_FAULT_RATE:
    world_node_rates(n, random_rate(drift), n->timer_ppb);
    break;
  case WORLD_FAULT_SLEW:
    world_node_rates(n, n->lease_ppb, random_rate(83000000));
    break;
  case WORLD_FAULT_SUSPEND:
    suspend(f, true);
    break;
  case WORLD_FAULT_TRICKLE:
    world_net.cut_per_mille = 900;
    world_net.send_space = (size_t)sim_between(r, 1, 600);
    break;
  case WORLD_FAULT_END:
    break;
  }
}

static void end_fault(active_t* f) {
  world_node_t* n = &election.nodes[f->a < WORLD_NODES ? f->a : 0];
  world_host_t* h = host_of(n);
  f->on = false;
  switch (f->kind) {
  case WORLD_FAULT_PARTITION:
    partition(f, false);
    break;
  case WORLD_FAULT_SLOW:
    slow(f, false);
    break;
  case WORLD_FAULT_REFUSE:
    world_bucket_listen(true);
    break;
  case WORLD_FAULT_DNS:
    world_names.error = 0;
    world_names.delay_ns = 0;
    break;
  case WORLD_FAULT_HTTP:
    world_bucket_clear(f->rule);
    break;
  case WORLD_FAULT_FDS:
    if (h != NULL)
      h->fds_max = 1024;
    break;
  case WORLD_FAULT_MEMORY:
    n->alloc_fail = 0;
    if (h != NULL)
      h->alloc_fail = 0;
    break;
  case WORLD_FAULT_STARVE:
    if (h != NULL)
      h->wake_ns = 5 * WORLD_US;
    break;
  case WORLD_FAULT_KILL:
  case WORLD_FAULT_CRASH:
  case WORLD_FAULT_LEAVE:
    world_node_begin(n);
    break;
  case WORLD_FAULT_SUSPEND:
    suspend(f, false);
    break;
  case WORLD_FAULT_TRICKLE:
    world_net.cut_per_mille = 100;
    world_net.send_space = WORLD_SEND_SPACE;
    break;
  default:
    break;
  }
}

static void on_end(world_event_t* event) {
  active_t* f = S3L_CONTAINER_OF(event, active_t, end);
  if (!f->on)
    return;
  world_log("end of %s", world_fault_name(f->kind));
  end_fault(f);
}

static void start_fault(void) {
  active_t* f = NULL;
  for (size_t i = 0; i < ACTIVE_MAX && f == NULL; i++)
    if (!chaos.active[i].on)
      f = &chaos.active[i];
  world_fault_t kind = (world_fault_t)sim_below(&chaos.random, WORLD_FAULT_END);
  int64_t for_ns = sim_heavy(&chaos.random, 8 * WORLD_S, 5);
  if (chaos.quiet && (HARMLESS >> kind & 1) == 0)
    return;
  if (f == NULL || (chaos.allowed >> kind & 1) == 0 || world.now + for_ns < world.now)
    return;
  /* These lose something of every run: they are rarer. */
  if ((kind == WORLD_FAULT_EMPTY || kind == WORLD_FAULT_MEMORY) && sim_chance(&chaos.random, 700))
    return;
  *f = (active_t){.end.run = on_end, .on = true, .kind = kind};
  world_event_set(&f->end, world.now + for_ns);
  chaos.counts[kind]++;
  world_log("FAULT %s for %.3f s", world_fault_name(kind), (double)for_ns / 1e9);
  begin_fault(f);
}

static void on_next(world_event_t* event) {
  if (!chaos.on)
    return;
  start_fault();
  world_event_set(event, world.now + sim_heavy(&chaos.random, chaos.gap_s * WORLD_S, 3));
}

/* All is well from here on. */
static void heal(void) {
  chaos.on = false;
  world_event_clear(&chaos.next);
  for (size_t i = 0; i < ACTIVE_MAX; i++)
    if (chaos.active[i].on) {
      world_event_clear(&chaos.active[i].end);
      end_fault(&chaos.active[i]);
    }
  world_bucket_clear(0);
  for (int i = 0; i < election.nodes_len; i++) {
    world_node_t* n = &election.nodes[i];
    world_host_t* h = host_of(n);
    world_node_begin(n);
    if (h != NULL)
      h->blocked_until = world.now;
    world_node_rates(n, n->lease_ppb, n->timer_ppb);
  }
  bucket.host->blocked_until = world.now;
  world_wake(bucket.host);
  world_service.host->blocked_until = world.now;
  world_wake(world_service.host);
}

/* ---- A seed's configuration ---- */

static void configure(uint64_t seed, bool epochs) {
  static const uint32_t timeouts[] = {6000, 10000, 15000, 15000, 30000, 60000};
  s3l_prng_t r = sim_rnd(seed, 3);
  uint32_t t = timeouts[sim_below(&r, 6)];
  bool mixed = sim_chance(&r, 200);
  bool peer = sim_chance(&r, 350);
  bool store_clock = sim_chance(&r, 150);
  bool by_name = sim_chance(&r, 500);
  bool tls = sim_chance(&r, 120);
  bool peer_tls = sim_chance(&r, 400);
  bool credentials = sim_chance(&r, 250);
  for (int i = 0; i < election.nodes_len; i++) {
    world_config_t* c = &election.nodes[i].config;
    if (mixed)
      t = timeouts[sim_below(&r, 6)];
    *c = (world_config_t){.leader_timeout_ms = t,
                          .epochs = epochs,
                          .by_name = by_name,
                          .tls = tls,
                          .peer_tls = peer_tls,
                          .credentials = credentials,
                          .peer_mode = peer && !(mixed && sim_chance(&r, 300)),
                          .store_clock = store_clock};
    c->grace_period_ms = sim_chance(&r, 100) ? t / 10 : 0;
    if (sim_chance(&r, 250)) {
      c->stop_ack_ms = (uint32_t)sim_between(&r, 200, 5000);
      c->ack_delay_ms = (uint32_t)sim_between(&r, 0, 6000);
    }
    c->max_connections = sim_chance(&r, 300) ? (uint32_t)sim_between(&r, 1, 3) : 0;
    c->idle_timeout_ms = sim_chance(&r, 300) ? (uint32_t)sim_between(&r, 500, 60000) : 0;
    election.nodes[i].lease_ppb = sim_between(&r, -9999000, 9999000);
    election.nodes[i].timer_ppb = sim_between(&r, -500000, 500000);
  }
  world_log("leader timeout %u ms%s%s%s%s%s", t, mixed ? ", mixed" : "", peer ? ", peers" : "",
            peer && peer_tls ? " under TLS" : "", tls ? ", store under TLS" : "",
            credentials ? ", keys from a service" : "");
  if (epochs)
    election.oracle.epochs = true;
  election.epochs = epochs;
}

static void set_ways(void) {
  for (uint32_t a = 0; a < WORLD_MACHINES; a++)
    for (uint32_t b = 0; b < WORLD_MACHINES; b++)
      world_net.way[a][b] = (world_way_t){.delay_ns = 2 * WORLD_MS, .jitter_ns = WORLD_MS};
}

static uint32_t longest_timeout_ms(void) {
  uint32_t most = 0;
  for (int i = 0; i < election.nodes_len; i++)
    if (election.nodes[i].config.leader_timeout_ms > most)
      most = election.nodes[i].config.leader_timeout_ms;
  return most;
}

/* ---- A run ---- */

static bool is_bad(void) {
  return election.oracle.found != 0 || election.broken[0] != '\0';
}

static void chapter(int64_t from, int64_t length) {
  int64_t quiet = QUIET_S * WORLD_S;
  int64_t settle = 3 * longest_timeout_ms() * WORLD_MS + 120 * WORLD_S;
  if (length < 2 * (quiet + settle)) {
    quiet = length / 4;
    settle = length / 4 > settle ? settle : length / 4;
  }
  chaos.on = true;
  chaos.gap_s = (uint32_t)sim_between(&chaos.random, 4, 60);
  world_event_set(&chaos.next, world.now + 20 * WORLD_S);
  world_run_until(from + length - quiet - settle);
  heal();
  world_run_until(from + length - quiet);
  if (is_bad())
    return;
  oracle_quiet_begins(&election.oracle, world.now);
  chaos.on = chaos.quiet = true;
  world_event_set(&chaos.next, world.now + 10 * WORLD_S);
  world_run_until(from + length);
  chaos.quiet = false;
  oracle_quiet_ends(&election.oracle, world.now);
}

static void close_everything(void) {
  for (int i = 0; i < election.nodes_len; i++)
    world_node_end(&election.nodes[i], WORLD_LEAVES);
  int64_t until = world.now + CLOSE_WAIT_S * WORLD_S;
  while (election.ghosts > 0 && world.now < until)
    world_run_until(world.now + WORLD_S);
  if (election.ghosts > 0)
    world_broken("%u processes cannot be closed", election.ghosts);
  world_bucket_stop();
  until = world.now + CLOSE_WAIT_S * WORLD_S;
  while (!world_bucket_end() && world.now < until)
    world_run_until(world.now + WORLD_S);
  world_service_end();
  world_net_end();
  world_end();
}

static void judge(world_verdict_t* v) {
  const oracle_t* o = &election.oracle;
  v->found = o->found | (election.broken[0] != '\0' ? WORLD_FOUND_BROKEN : 0);
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    if (o->violations[i].found && v->text[0] == '\0')
      snprintf(v->text, sizeof(v->text), "%s: %.3f s: %s", oracle_check_name((oracle_check_t)i),
               (double)o->violations[i].at / 1e9, o->violations[i].text);
  if (v->text[0] == '\0')
    snprintf(v->text, sizeof(v->text), "%s", election.broken);
  v->digest = sim_mix(world.digest, world.turns);
  v->turns = world.turns;
  v->segments = world.segments;
  v->counters = election.counters;
  v->requests = bucket.requests;
  memcpy(v->faults, chaos.counts, sizeof(v->faults));
}

void world_run_seed(uint64_t seed, unsigned nodes, unsigned minutes, bool epochs, uint32_t faults,
                    world_verdict_t* verdict) {
  memset(verdict, 0, sizeof(*verdict));
  memset(&chaos, 0, sizeof(chaos));
  memset(&world_names, 0, sizeof(world_names));
  world_begin(seed);
  world_net_begin();
  set_ways();
  world_net.cut_per_mille = 100;
  world_election_begin(seed, (int)nodes);
  configure(seed, epochs);
  chaos.next.run = on_next;
  chaos.allowed = faults;
  chaos.random = sim_rnd(seed, 4);
  world_bucket_begin(seed, election.nodes[0].config.tls);
  world_service_begin(seed);
  for (int i = 0; i < election.nodes_len; i++)
    world_node_begin(&election.nodes[i]);
  int64_t length = (int64_t)minutes * 60 * WORLD_S;
  for (int64_t at = 0; at < length && !is_bad(); at += CHAPTER_S * WORLD_S)
    chapter(at, length - at < CHAPTER_S * WORLD_S ? length - at : CHAPTER_S * WORLD_S);
  if (chaos.on)
    heal();
  close_everything();
  judge(verdict);
}
