/* world/faults.c: see faults.h. */
#include "world/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/bucket.h"
#include "world/names.h"
#include "world/node.h"
#include "world/service.h"
#include "world/socket.h"

#define ACTIVE_MAX    24
#define REPLAY_MAX_NS (120 * WORLD_S) /* that a replayed request's answer takes */

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

static active_t active[ACTIVE_MAX];

struct world_chaos_s world_chaos;

const char* world_fault_name(world_fault_t fault) {
  static const char* const names[] = {
#define XX(id, name) name,
      WORLD_FAULTS(XX)
#undef XX
  };
  return names[fault];
}

static world_node_t* some_node(void) {
  return &election.nodes[sim_below(&world_chaos.random, (uint32_t)election.nodes_len)];
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
    "{\"status\":307,\"code\":\"TemporaryRedirect\",\"count\":3,\"location\":"
    "\"http://10.0.0.200:9001\"}",
    "{\"status\":307,\"code\":\"TemporaryRedirect\",\"count\":3,\"location\":"
    "\"http://10.0.0.9:9000\"}",
    "{\"status\":409,\"code\":\"OperationAborted\",\"count\":2,\"match\":{\"method\":\"PUT\"}}",
    "{\"drop_before\":true,\"count\":3}",
    "{\"drop_after\":true,\"count\":3}",
    "{\"drop_after\":true,\"count\":1,\"match\":{\"method\":\"PUT\"}}",
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
    "{\"added_etag\":true,\"count\":20}",
    "{\"status\":400,\"code\":\"ExpiredToken\",\"count\":8}",
    "{\"status\":502,\"html\":\"<html>Bad Gateway</html>\",\"date_ms\":4102444800000,\"count\":4}",
    "{\"status\":404,\"html\":\"<html>no page</html>\",\"date_ms\":4102444800000,\"count\":4}",
    "{\"status\":503,\"date_ms\":10000000000000,\"count\":4}",
    "{\"replay_ms\":%u,\"count\":2,\"match\":{\"method\":\"PUT\"}}",
    /* The last one is for epoch files: lockfiles need If-Match. */
    "{\"status\":501,\"count\":1,"
    "\"match\":{\"method\":\"PUT\",\"condition\":\"if-match\",\"key\":\"" WORLD_KEY "lock-\"}}",
};

/* Proxies that verify may call unsafe: with them a reply does not tell what the store did. The
 * first one also answers a write that had its effect with a condition that does not hold. Epoch
 * files need reads that are new, so that the last one is for lockfiles. */
static const char* const deceptions[] = {
    "{\"replay_answer_ms\":%u,\"count\":2,\"match\":{\"method\":\"PUT\"}}",
    "{\"gzip_etag\":true,\"count\":4}",
    "{\"cached_ms\":%u,\"count\":20,\"match\":{\"method\":\"GET\"}}",
};

/* The first claim over an emptied store meets a gateway that refuses it by a page of its own, with
 * a clock of its own. The claim is sent again at once, and must not have the time of that clock. */
static const char page_before_claim[] =
    "{\"status\":429,\"html\":\"<html>Too Many Requests</html>\",\"date_ms\":4102444800000,"
    "\"count\":1,\"match\":{\"method\":\"PUT\",\"condition\":\"if-none-match\",\"key\":\"" WORLD_KEY
    "\"}}";

static int add_rule(const char* form) {
  char json[256];
  const char* at = strstr(form, "%u");
  if (at == NULL)
    return world_bucket_fault(form);
  snprintf(json, sizeof(json), "%.*s%u%s", (int)(at - form), form,
           (unsigned)sim_heavy(&world_chaos.random, 400, 7), at + 2);
  return world_bucket_fault(json);
}

static int add_http_fault(void) {
  size_t n = sizeof(http_faults) / sizeof(http_faults[0]) - !election.epochs;
  return add_rule(http_faults[sim_below(&world_chaos.random, (uint32_t)n)]);
}

static int add_deception(int64_t until) {
  size_t n = sizeof(deceptions) / sizeof(deceptions[0]) - election.epochs;
  size_t i = sim_below(&world_chaos.random, (uint32_t)n);
  if (election.lies != 0)
    return 0;
  election.lies = ++election.lie << 2; /* for neither protocol */
  if (i == 0)
    election.replays_until = until + REPLAY_MAX_NS;
  return add_rule(deceptions[i]);
}

/* The store breaks its promises about verify's objects, and about no others: a store that the
 * command must not call safe. One lie at a time, and the examination begins with it. */
static int add_lie(world_node_t* n) {
  static const struct {
    const char* rule;
    unsigned lies;
  } lies[] = {
      {"{\"non_atomic\":2000,\"match\":{\"key\":\"" WORLD_VERIFY_PREFIX "\"}}",
       WORLD_LIES_LOCKFILE | WORLD_LIES_EPOCHS},
      /* A listing has no key to match. An election of lockfiles does not depend on it. */
      {"{\"empty_lists\":true}", WORLD_LIES_EPOCHS},
      {"{\"no_if_match\":true,\"match\":{\"key\":\"" WORLD_VERIFY_PREFIX "\"}}",
       WORLD_LIES_LOCKFILE},
      {"{\"ignore_conditions\":true,\"match\":{\"key\":\"" WORLD_VERIFY_PREFIX "\"}}",
       WORLD_LIES_LOCKFILE | WORLD_LIES_EPOCHS},
      {"{\"check_early\":true,\"match\":{\"key\":\"" WORLD_VERIFY_PREFIX "\"}}",
       WORLD_LIES_LOCKFILE | WORLD_LIES_EPOCHS},
      {"{\"constant_etag\":true,\"match\":{\"key\":\"" WORLD_VERIFY_PREFIX "\"}}",
       WORLD_LIES_LOCKFILE | WORLD_LIES_EPOCHS},
  };
  size_t i = sim_below(&world_chaos.random, sizeof(lies) / sizeof(lies[0]));
  if (election.lies != 0 || bucket.dialect != NULL ||
      (election.epochs && lies[i].lies == WORLD_LIES_EPOCHS))
    return 0;
  election.lies = lies[i].lies | ++election.lie << 2;
  world_node_verify(n);
  return world_bucket_fault(lies[i].rule);
}

/* ---- Faults ---- */

static uint32_t some_machine(void) {
  return sim_chance(&world_chaos.random, 700)
             ? WORLD_STORE_MACHINE
             : (uint32_t)sim_below(&world_chaos.random, (uint32_t)election.nodes_len);
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
  return sim_between(&world_chaos.random, -bound_ppb, bound_ppb);
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
  f->b = sim_chance(&world_chaos.random, 500);
  world_block(f->b ? world_service.host : bucket.host, f->end.at);
}

static void begin_fault(active_t* f) {
  world_node_t* n = some_node();
  world_host_t* h = host_of(n);
  s3l_prng_t* r = &world_chaos.random;
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
    (void)world_bucket_fault(page_before_claim);
    election.lie++; /* an examination that is under way misses its objects */
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
    if (sim_chance(r, 300))
      world_node_verify(n);
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
  case WORLD_FAULT_STALL:
    for (int i = 0; i < election.nodes_len && sim_chance(r, 800); i++)
      if (oracle_believes(&election.oracle, i, world.now))
        f->a = (uint32_t)i;
    n = &election.nodes[f->a];
    h = host_of(n);
    if (h != NULL)
      h->stall_ns = 1500 * (int64_t)n->config.leader_timeout_ms * WORLD_US;
    break;
  case WORLD_FAULT_FROZEN_VM:
    world_node_freeze(n, f->end.at);
    break;
  case WORLD_FAULT_LIAR:
    f->rule = add_lie(n);
    break;
  case WORLD_FAULT_PROXY:
    f->rule = add_deception(f->end.at);
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
  case WORLD_FAULT_FROZEN_VM:
    world_node_rates(n, n->lease_ppb, n->timer_ppb);
    break;
  case WORLD_FAULT_TRICKLE:
    world_net.cut_per_mille = 100;
    world_net.send_space = WORLD_SEND_SPACE;
    break;
  case WORLD_FAULT_STALL:
    if (h != NULL)
      h->stall_ns = 0;
    break;
  case WORLD_FAULT_LIAR:
  case WORLD_FAULT_PROXY:
    if (f->rule != 0) {
      world_bucket_clear(f->rule);
      election.lies = 0;
    }
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
    if (!active[i].on)
      f = &active[i];
  world_fault_t kind = (world_fault_t)sim_below(&world_chaos.random, WORLD_FAULT_END);
  int64_t for_ns = sim_heavy(&world_chaos.random, 8 * WORLD_S, 5);
  if (world_chaos.quiet && kind == WORLD_FAULT_DNS)
    for_ns *= 8; /* the addresses of before are good for an hour */
  if (world_chaos.quiet && (HARMLESS >> kind & 1) == 0)
    return;
  if (f == NULL || (world_chaos.allowed >> kind & 1) == 0 || world.now + for_ns < world.now)
    return;
  /* These lose something of every run, or take much of its time: they are rarer. */
  if ((kind == WORLD_FAULT_EMPTY || kind == WORLD_FAULT_MEMORY || kind == WORLD_FAULT_VERIFY ||
       kind == WORLD_FAULT_LIAR) &&
      sim_chance(&world_chaos.random, 700))
    return;
  /* Nobody knows the leader timeout of a record that is gone (docs/safety.md, assumptions). */
  if (kind == WORLD_FAULT_EMPTY && election.mixed)
    return;
  *f = (active_t){.end = {.run = on_end, .apart = true}, .on = true, .kind = kind};
  world_event_set(&f->end, world.now + for_ns);
  world_chaos.counts[kind]++;
  world_log("FAULT %s for %.3f s", world_fault_name(kind), (double)for_ns / 1e9);
  begin_fault(f);
}

static void on_next(world_event_t* event) {
  if (!world_chaos.on)
    return;
  start_fault();
  world_event_set(event,
                  world.now + sim_heavy(&world_chaos.random, world_chaos.gap_s * WORLD_S, 3));
}

void world_heal(void) {
  world_chaos.on = false;
  world_event_clear(&world_chaos.next);
  for (size_t i = 0; i < ACTIVE_MAX; i++)
    if (active[i].on) {
      world_event_clear(&active[i].end);
      end_fault(&active[i]);
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

void world_chaos_begin(uint64_t seed, uint32_t allowed) {
  memset(&world_chaos, 0, sizeof(world_chaos));
  memset(active, 0, sizeof(active));
  world_chaos.next.run = on_next;
  world_chaos.next.apart = true;
  world_chaos.allowed = allowed;
  world_chaos.random = sim_rnd(seed, 4);
}
