/* bench/fleet.c: see fleet.h. */
#include "bench/fleet.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/lease.h"

#define STALLS_MAX (4u << 20)
#define DRIFT_PPM  10000
#define TICK_MS    100

typedef struct elector_s {
  s3lect_elector_t handle;
  int64_t sent_ns; /* of the last confirmed write */
  struct bench_s* bench;
} elector_t;

typedef struct bench_s {
  const bench_fleet_t* o;
  bench_fleet_result_t* r;
  uv_loop_t loop;
  s3lect_store_t store;
  bench_server_t server;
  elector_t* electors;
  unsigned started;
  unsigned leading;
  unsigned closed;
  unsigned waited_ms; /* in this phase */
  bool measuring;
  uv_timer_t timer;
  uv_prepare_t prepare;
  uv_check_t check;
  uint64_t busy_since;
  uint32_t* stalls_us;
  size_t stalls_len;
} bench_t;

/* ---- The loop's stalls ---- */

static void on_check(uv_check_t* handle) {
  bench_t* b = handle->data;
  b->busy_since = uv_hrtime();
}

static void on_prepare(uv_prepare_t* handle) {
  bench_t* b = handle->data;
  if (b->busy_since == 0 || !b->measuring || b->stalls_len == STALLS_MAX)
    return;
  uint64_t ns = uv_hrtime() - b->busy_since;
  b->r->busy_ns += ns;
  b->stalls_us[b->stalls_len++] = (uint32_t)(ns / 1000);
}

static int compare_u32(const void* a, const void* b) {
  uint32_t x = *(const uint32_t*)a;
  uint32_t y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static double percentile_ms(const bench_t* b, double part) {
  size_t at = (size_t)((double)b->stalls_len * part);
  if (b->stalls_len == 0)
    return 0;
  return b->stalls_us[at < b->stalls_len ? at : b->stalls_len - 1] / 1000.0;
}

/* ---- Connections and CPU ---- */

/* The only sockets of this process are the store's connections. */
static void count_connections(bench_t* b) {
  unsigned n = 0;
  char target[16];
  struct dirent* entry;
  DIR* dir = opendir("/proc/self/fd");
  bench_require(dir != NULL, "cannot read /proc/self/fd");
  while ((entry = readdir(dir)) != NULL)
    n += readlinkat(dirfd(dir), entry->d_name, target, sizeof(target)) > 7 &&
         memcmp(target, "socket:", 7) == 0;
  closedir(dir);
  b->r->connections = n > b->r->connections ? n : b->r->connections;
}

static uint64_t cpu_ns(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  bench_require(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0,
                "cannot read a process's CPU time");
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Adds what was used since this was called before. */
static void count_cpu(bench_t* b) {
  b->r->cpu_ns = cpu_ns(0) - b->r->cpu_ns;
  if (!b->o->memory_store)
    b->r->store_cpu_ns = cpu_ns(b->server.child.pid) - b->r->store_cpu_ns;
}

/* ---- Electors ---- */

static int64_t hold_ns(const bench_t* b) {
  return s3l_lease_hold(3 * (s3l_ns_t)b->o->renew_ms * S3L_MS, DRIFT_PPM);
}

static void on_started(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  bench_t* b = e->bench;
  e->sent_ns = event->valid_until_ns - hold_ns(b);
  b->leading++;
  b->r->regained += b->measuring;
}

static void on_stopped(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  e->bench->leading--;
  e->bench->r->lost += e->bench->measuring;
}

static void on_renewed(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  bench_t* b = e->bench;
  bench_fleet_result_t* r = b->r;
  int64_t sent_ns = event->valid_until_ns - hold_ns(b);
  int64_t interval_ns = b->o->renew_ms * S3L_MS;
  int64_t lateness = sent_ns - e->sent_ns - interval_ns;
  int64_t round_trip = s3lect_now_ns() - sent_ns;
  e->sent_ns = sent_ns;
  if (!b->measuring)
    return;
  r->renewals++;
  r->late += lateness > interval_ns / 100;
  r->lateness_max_ns = lateness > r->lateness_max_ns ? lateness : r->lateness_max_ns;
  r->round_trip_max_ns = round_trip > r->round_trip_max_ns ? round_trip : r->round_trip_max_ns;
}

static void on_error(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  bool expected = e->bench->o->overloaded || e->bench->o->silence_ms > 0;
  if (e->bench->r->errors++ == 0 && !expected)
    fprintf(stderr, "first error: %s\n", event->message);
}

static void init_elector(bench_t* b, unsigned i) {
  elector_t* e = &b->electors[i];
  char key[64], id[64];
  s3lect_elector_options_t o;
  s3lect_elector_options_init(&o, sizeof(o));
  snprintf(key, sizeof(key), "shards/%06u/lock.json", i);
  snprintf(id, sizeof(id), "server-%06u", i);
  o.lockfile_path = key;
  o.server_id = id;
  o.server_addr = "10.0.1.42:8443";
  o.store = &b->store;
  o.frequent_interval_ms = o.renew_interval_ms = b->o->renew_ms;
  o.leader_timeout_ms = 3 * b->o->renew_ms;
  o.drift_ppm = DRIFT_PPM;
  o.on_started_leading = on_started;
  o.on_stopped_leading = on_stopped;
  o.on_renewed = on_renewed;
  o.on_error = on_error;
  e->handle.data = e;
  e->bench = b;
  bench_require(s3lect_elector_init(&b->loop, &e->handle, &o, NULL) == 0, "cannot make an elector");
}

/* ---- Phases: start, settle, measure, close ---- */

static void on_store_closed(s3lect_store_t* store) {
  bench_t* b = store->data;
  uv_close((uv_handle_t*)&b->timer, NULL);
  uv_close((uv_handle_t*)&b->prepare, NULL);
  uv_close((uv_handle_t*)&b->check, NULL);
}

static void on_elector_closed(s3lect_elector_t* handle) {
  elector_t* e = handle->data;
  if (++e->bench->closed == e->bench->o->electors)
    s3lect_store_close(&e->bench->store, on_store_closed);
}

static void on_measuring(uv_timer_t* timer) {
  bench_t* b = timer->data;
  b->waited_ms += TICK_MS;
  if (b->waited_ms % 500 == 0)
    count_connections(b);
  if (b->waited_ms == (b->o->silence_ms + TICK_MS - 1) / TICK_MS * TICK_MS)
    kill(b->server.child.pid, SIGCONT);
  if (b->waited_ms < b->o->seconds * 1000)
    return;
  b->measuring = false;
  b->r->leading_after = b->leading;
  count_cpu(b);
  uv_timer_stop(timer);
  for (unsigned i = 0; i < b->o->electors; i++)
    bench_require(s3lect_elector_close(&b->electors[i].handle, on_elector_closed) == 0,
                  "cannot close an elector");
}

static void on_settling(uv_timer_t* timer) {
  bench_t* b = timer->data;
  b->waited_ms += TICK_MS;
  bool all_lead = b->leading == b->o->electors;
  bool late = b->waited_ms >= 12 * b->o->renew_ms;
  bench_require(all_lead || !late || b->o->overloaded, "not all electors came to lead");
  if (!all_lead && !late)
    return;
  b->measuring = true;
  b->waited_ms = 0;
  b->r->leading_before = b->leading;
  count_cpu(b);
  if (b->o->silence_ms > 0)
    kill(b->server.child.pid, SIGSTOP);
  uv_timer_start(timer, on_measuring, TICK_MS, TICK_MS);
}

static void on_starting(uv_timer_t* timer) {
  bench_t* b = timer->data;
  const uint64_t tick_ms = 10;
  uint64_t spread_ms = b->o->spread_ms != 0 ? b->o->spread_ms : b->o->renew_ms;
  uint64_t batch = b->o->electors * tick_ms / spread_ms + 1;
  for (; batch > 0 && b->started < b->o->electors; batch--)
    bench_require(s3lect_elector_start(&b->electors[b->started++].handle) == 0,
                  "cannot start an elector");
  if (b->started == b->o->electors)
    uv_timer_start(timer, on_settling, TICK_MS, TICK_MS);
  else
    uv_timer_start(timer, on_starting, tick_ms, 0);
}

/* ---- Setting up ---- */

static void open_store(bench_t* b) {
  char latency[64];
  const char* const options[] = {"--buckets", BENCH_BUCKET, "--fault", latency, NULL};
  snprintf(latency, sizeof(latency), "{\"latency_ms\":%u}", b->o->latency_ms);
  if (b->o->memory_store) {
    bench_require(s3lect_store_memory_init(&b->loop, &b->store, NULL) == 0, "cannot make a store");
  } else {
    bench_server_start(&b->server, options);
    bench_store_open(&b->loop, &b->store, &b->server, NULL, b->o->max_connections);
  }
  b->store.data = b;
}

static void start_watching(bench_t* b) {
  b->timer.data = b->prepare.data = b->check.data = b;
  bench_require(uv_timer_init(&b->loop, &b->timer) == 0 &&
                    uv_prepare_init(&b->loop, &b->prepare) == 0 &&
                    uv_check_init(&b->loop, &b->check) == 0 &&
                    uv_prepare_start(&b->prepare, on_prepare) == 0 &&
                    uv_check_start(&b->check, on_check) == 0 &&
                    uv_timer_start(&b->timer, on_starting, 0, 0) == 0,
                "cannot make handles");
  uv_unref((uv_handle_t*)&b->prepare);
  uv_unref((uv_handle_t*)&b->check);
}

static void take_stalls(bench_t* b) {
  qsort(b->stalls_us, b->stalls_len, sizeof(uint32_t), compare_u32);
  b->r->stall_p50_ms = percentile_ms(b, 0.5);
  b->r->stall_p99_ms = percentile_ms(b, 0.99);
  b->r->stall_p999_ms = percentile_ms(b, 0.999);
  b->r->stall_max_ms = percentile_ms(b, 1);
}

void bench_fleet_run(const bench_fleet_t* fleet, bench_fleet_result_t* result) {
  bench_t b = {.o = fleet, .r = result};
  memset(result, 0, sizeof(*result));
  b.electors = calloc(fleet->electors, sizeof(elector_t));
  b.stalls_us = malloc(STALLS_MAX * sizeof(uint32_t));
  bench_require(b.electors != NULL && b.stalls_us != NULL, "out of memory");
  bench_require(uv_loop_init(&b.loop) == 0, "cannot make a loop");
  open_store(&b);
  size_t before = bench_heap_live();
  for (unsigned i = 0; i < fleet->electors; i++)
    init_elector(&b, i);
  result->elector_bytes = (bench_heap_live() - before) / fleet->electors;
  start_watching(&b);
  uv_run(&b.loop, UV_RUN_DEFAULT);
  take_stalls(&b);
  if (!fleet->memory_store)
    bench_server_stop(&b.server);
  bench_require(uv_loop_close(&b.loop) == 0, "the loop has handles left");
  free(b.electors);
  free(b.stalls_us);
}
