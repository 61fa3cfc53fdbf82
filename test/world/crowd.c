/* world/crowd.c: see crowd.h.
 *
 * Overload: electors that renew at about twice the rate that their connections can carry. Most of
 * what is carried must renew leases, and no elector that leads may lose its leadership: those for
 * which there is no room do not become leaders.
 * Outages: the store is silent for some seconds, then answers what it has received. In the shorter
 * one no leadership is lost, with the default options and a load of two thirds. In the longer one
 * the electors need all connections all the time, and leases have about half a second left when it
 * ends: one in a hundred may be lost. */
#include "world/crowd.h"

#include <stdio.h>
#include <string.h>

#include "sim/rnd.h"
#include "world/bucket.h"
#include "world/names.h"
#include "world/node.h"
#include "world/socket.h"

#define ELECTORS_MAX 10000
#define ADDRESS      UINT32_C(0x0a000001)
#define SETTLE_S     100
#define MEASURE_S    60
#define CLOSE_WAIT_S 60

typedef struct scenario_s {
  unsigned electors;
  int64_t start_s; /* over which they start */
  uint32_t leader_timeout_ms;
  uint32_t max_connections; /* 0: the default */
  uint32_t connections;     /* that it has in the end */
  int64_t way_ns;           /* to the store, and back */
  int64_t silence_ns;
  unsigned lost_max;
  unsigned goodput_percent; /* of the capacity, or of what leaders need where that is less */
} scenario_t;

static struct crowd_s {
  world_host_t* host;
  s3lect_store_t store;
  s3lect_elector_t electors[ELECTORS_MAX];
  unsigned leading, open;
  bool measuring, closed;
  uint64_t renewals, lost, leaderships;
} crowd;

static void on_started(s3lect_elector_t* elector, const s3lect_event_t* event) {
  (void)elector;
  (void)event;
  crowd.leading++;
  crowd.leaderships++;
}

static void on_stopped(s3lect_elector_t* elector, const s3lect_event_t* event) {
  (void)elector;
  (void)event;
  crowd.leading--;
  crowd.lost += crowd.measuring;
}

static void on_renewed(s3lect_elector_t* elector, const s3lect_event_t* event) {
  (void)elector;
  (void)event;
  crowd.renewals += crowd.measuring;
}

static void on_store_closed(s3lect_store_t* store) {
  (void)store;
  crowd.closed = true;
}

static void on_closed(s3lect_elector_t* elector) {
  (void)elector;
  if (--crowd.open == 0)
    s3lect_store_close(&crowd.store, on_store_closed);
}

static void open_all(const scenario_t* s) {
  s3lect_store_s3_options_t o;
  s3lect_error_t error;
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = "bucket";
  o.endpoint = "http://10.0.0.200:9000";
  o.region = "us-east-1";
  o.access_key_id = "test";
  o.secret_access_key = "testtest";
  o.max_connections = s->max_connections;
  if (s3lect_store_s3_init(&crowd.host->loop, &crowd.store, &o, &error) != 0)
    world_broken("store: %s", error.text);
  for (unsigned i = 0; i < s->electors; i++) {
    char key[32], id[32];
    s3lect_elector_options_t e;
    s3lect_elector_options_init(&e, sizeof(e));
    snprintf(key, sizeof(key), "crowd/%u", i);
    snprintf(id, sizeof(id), "elector-%u", i);
    e.lockfile_path = key;
    e.server_id = id;
    e.store = &crowd.store;
    e.leader_timeout_ms = s->leader_timeout_ms;
    e.on_started_leading = on_started;
    e.on_stopped_leading = on_stopped;
    e.on_renewed = on_renewed;
    if (s3lect_elector_init(&crowd.host->loop, &crowd.electors[i], &e, &error) != 0)
      world_broken("elector: %s", error.text);
    crowd.open++;
  }
}

static void start_all(const scenario_t* s) {
  for (unsigned i = 0; i < s->electors; i++) {
    world_run_until((int64_t)i * s->start_s * WORLD_S / s->electors);
    world_host_t* was = world_enter(crowd.host);
    uv_update_time(&crowd.host->loop);
    if (s3lect_elector_start(&crowd.electors[i]) != 0)
      world_broken("elector %u does not start", i);
    world_wake(crowd.host);
    world_leave(was);
  }
}

static void measure(const scenario_t* s) {
  int64_t begin = world.now;
  unsigned leaders = crowd.leading;
  crowd.measuring = true;
  if (s->silence_ns > 0)
    world_block(bucket.host, begin + s->silence_ns);
  world_run_until(begin + MEASURE_S * WORLD_S);
  crowd.measuring = false;
  uint64_t capacity = (uint64_t)(s->connections * MEASURE_S * WORLD_S / (2 * s->way_ns));
  uint64_t needed = UINT64_C(3) * MEASURE_S * 1000 * s->electors / s->leader_timeout_ms;
  uint64_t most = capacity < needed ? capacity : needed;
  world_log("%u led, %u lead, %llu lost, %llu renewals, room for %llu", leaders, crowd.leading,
            (unsigned long long)crowd.lost, (unsigned long long)crowd.renewals,
            (unsigned long long)most);
  if (crowd.lost > s->lost_max)
    world_broken("%llu of %u leaderships were lost", (unsigned long long)crowd.lost, leaders);
  if ((capacity >= needed || s->lost_max > 0) && leaders < s->electors)
    world_broken("only %u of %u electors lead", leaders, s->electors);
  if (crowd.renewals * 100 < most * s->goodput_percent)
    world_broken("%llu renewals in %d s; there was room for %llu",
                 (unsigned long long)crowd.renewals, MEASURE_S, (unsigned long long)most);
}

static void close_all(const scenario_t* s) {
  world_host_t* was = world_enter(crowd.host);
  uv_update_time(&crowd.host->loop);
  for (unsigned i = 0; i < s->electors; i++)
    (void)s3lect_elector_close(&crowd.electors[i], on_closed);
  world_wake(crowd.host);
  world_leave(was);
  int64_t until = world.now + CLOSE_WAIT_S * WORLD_S;
  while (!crowd.closed && world.now < until)
    world_run_until(world.now + WORLD_S);
  world_run_until(world.now + WORLD_S);
  char why[200];
  if (!crowd.closed || !world_host_is_quiet(crowd.host, why, sizeof(why)))
    world_broken("the electors cannot be closed: %s", crowd.closed ? why : "no callback");
  world_net.host_at[ADDRESS & 255] = NULL;
  world_host_end(crowd.host);
  world_bucket_stop();
  while (!world_bucket_end())
    world_run_until(world.now + WORLD_S);
  world_net_end();
  world_end();
}

void world_crowd_run_seed(uint64_t seed, world_verdict_t* v) {
  static const scenario_t scenarios[] = {{.electors = 1000,
                                          .start_s = 20,
                                          .leader_timeout_ms = 6000,
                                          .max_connections = 8,
                                          .connections = 8,
                                          .way_ns = 15 * WORLD_MS,
                                          .goodput_percent = 85},
                                         {.electors = 1000,
                                          .start_s = 20,
                                          .leader_timeout_ms = 15000,
                                          .connections = 64,
                                          .way_ns = 10 * WORLD_MS,
                                          .silence_ns = 4 * WORLD_S,
                                          .goodput_percent = 85},
                                         {.electors = ELECTORS_MAX,
                                          .start_s = 60,
                                          .leader_timeout_ms = 15000,
                                          .connections = 64,
                                          .way_ns = 25 * WORLD_MS,
                                          .silence_ns = 6 * WORLD_S,
                                          .lost_max = 100,
                                          .goodput_percent = 80}};
  const scenario_t* s = &scenarios[seed % 3];
  memset(v, 0, sizeof(*v));
  memset(&world_names, 0, sizeof(world_names));
  memset(&crowd, 0, sizeof(crowd));
  world_begin(seed);
  world_net_begin();
  for (uint32_t a = 0; a < WORLD_MACHINES; a++)
    for (uint32_t b = 0; b < WORLD_MACHINES; b++)
      world_net.way[a][b] = (world_way_t){.delay_ns = s->way_ns, .jitter_ns = s->way_ns / 10};
  world_election_begin(seed, 0);
  world_bucket_begin(seed, false);
  crowd.host = world_host_new(ADDRESS, 0, seed);
  world_net.host_at[ADDRESS & 255] = crowd.host;
  world_host_t* was = world_enter(crowd.host);
  open_all(s);
  world_leave(was);
  start_all(s);
  world_run_until(SETTLE_S * WORLD_S);
  measure(s);
  close_all(s);
  v->found = election.broken[0] != '\0' ? WORLD_FOUND_BROKEN : 0;
  snprintf(v->text, sizeof(v->text), "%s", election.broken);
  v->digest = sim_mix(world.digest, world.turns);
  v->turns = world.turns;
  v->segments = world.segments;
  v->requests = bucket.requests;
  v->counters.renewals = crowd.renewals;
  v->counters.leaderships = crowd.leaderships;
}
