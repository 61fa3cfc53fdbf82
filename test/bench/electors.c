/* bench/electors.c: many electors on one loop, each with a lockfile of its own, as with one
 * election per shard.
 *
 * late    a renewal that was sent more than 1 % of the interval after it was due at the latest
 * stall   how long the loop was busy in one turn: from the return of its poll to the next poll */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "core/lease.h"
#include "util/list.h"

#define STALLS_MAX (4u << 20)
#define DRIFT_PPM  10000

typedef struct elector_s {
  s3lect_elector_t handle;
  int64_t sent_ns; /* of the last confirmed write */
  struct bench_s* bench;
} elector_t;

typedef struct bench_s {
  const bench_options_t* o;
  uv_loop_t loop;
  s3lect_store_t store;
  bench_server_t server;
  elector_t* electors;
  unsigned started;
  unsigned leading;
  unsigned closed;
  bool measuring;
  uv_timer_t timer;
  uv_prepare_t prepare;
  uv_check_t check;

  uint64_t busy_since;
  uint32_t* stalls_us;
  size_t stalls_len;
  uint64_t renewals, late, lost, errors;
  int64_t lateness_max_ns;
  int64_t round_trip_max_ns;
  uint64_t busy_ns;
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
  b->busy_ns += ns;
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

/* ---- Electors ---- */

static int64_t hold_ns(const bench_t* b) {
  return s3l_lease_hold(3 * (s3l_ns_t)b->o->renew_ms * S3L_MS, DRIFT_PPM);
}

static void on_started(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  e->sent_ns = event->valid_until_ns - hold_ns(e->bench);
  e->bench->leading++;
}

static void on_stopped(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  e->bench->leading--;
  if (e->bench->measuring && event->reason != S3LECT_REASON_CLOSED)
    e->bench->lost++;
}

static void on_renewed(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  bench_t* b = e->bench;
  int64_t sent_ns = event->valid_until_ns - hold_ns(b);
  int64_t interval_ns = b->o->renew_ms * S3L_MS;
  int64_t lateness = sent_ns - e->sent_ns - interval_ns;
  int64_t round_trip = s3lect_now_ns() - sent_ns;
  e->sent_ns = sent_ns;
  if (!b->measuring)
    return;
  b->renewals++;
  b->late += lateness > interval_ns / 100;
  b->lateness_max_ns = lateness > b->lateness_max_ns ? lateness : b->lateness_max_ns;
  b->round_trip_max_ns = round_trip > b->round_trip_max_ns ? round_trip : b->round_trip_max_ns;
}

static void on_error(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  if (e->bench->errors++ == 0)
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

static void on_measured(uv_timer_t* timer) {
  bench_t* b = timer->data;
  b->measuring = false;
  for (unsigned i = 0; i < b->o->electors; i++)
    bench_require(s3lect_elector_close(&b->electors[i].handle, on_elector_closed) == 0,
                  "cannot close an elector");
}

static void on_settling(uv_timer_t* timer) {
  bench_t* b = timer->data;
  static unsigned waited_ms;
  waited_ms += 100;
  bench_require(waited_ms < 12 * b->o->renew_ms + 60000, "not all electors came to lead");
  if (b->leading < b->o->electors)
    return;
  b->measuring = true;
  uv_timer_start(timer, on_measured, b->o->seconds * 1000ull, 0);
}

static void on_starting(uv_timer_t* timer) {
  bench_t* b = timer->data;
  const uint64_t tick_ms = 10;
  uint64_t spread_ms = b->o->settle_ms != 0 ? b->o->settle_ms : b->o->renew_ms;
  uint64_t batch = b->o->electors * tick_ms / spread_ms + 1;
  for (; batch > 0 && b->started < b->o->electors; batch--)
    bench_require(s3lect_elector_start(&b->electors[b->started++].handle) == 0,
                  "cannot start an elector");
  if (b->started == b->o->electors)
    uv_timer_start(timer, on_settling, 100, 100);
  else
    uv_timer_start(timer, on_starting, tick_ms, 0);
}

static void report(const bench_t* b, size_t bytes, size_t rss_kb) {
  const bench_options_t* o = b->o;
  qsort(b->stalls_us, b->stalls_len, sizeof(uint32_t), compare_u32);
  printf("%u electors, renewing every %u ms for %u s, %s\n", o->electors, o->renew_ms, o->seconds,
         o->memory_store ? "memory store" : "fake S3 in another process, signed, plain HTTP");
  printf("  renewals                %" PRIu64 " (%" PRIu64 " per second)\n", b->renewals,
         b->renewals / o->seconds);
  printf("  renewals late           %" PRIu64 " (latest: %.1f ms after it was due)\n", b->late,
         (double)b->lateness_max_ns / 1e6);
  printf("  longest renewal         %.1f ms, sending to confirmation\n",
         (double)b->round_trip_max_ns / 1e6);
  printf("  leaderships lost        %" PRIu64 ", errors %" PRIu64 "\n", b->lost, b->errors);
  printf("  loop stall              p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, max %.3f ms\n",
         percentile_ms(b, 0.5), percentile_ms(b, 0.99), percentile_ms(b, 0.999),
         percentile_ms(b, 1));
  printf("  loop busy               %.0f %%\n",
         (double)b->busy_ns / (double)o->seconds / 1e9 * 100);
  printf("  memory of an elector    %zu bytes, and its handle of %zu\n", bytes / o->electors,
         sizeof(s3lect_elector_t));
  printf("  resident set            %zu kB\n", rss_kb);
}

static void open_store(bench_t* b) {
  static const char* const options[] = {"--buckets", BENCH_BUCKET, NULL};
  if (b->o->memory_store) {
    bench_require(s3lect_store_memory_init(&b->loop, &b->store, NULL) == 0, "cannot make a store");
  } else {
    bench_server_start(&b->server, options);
    bench_store_open(&b->loop, &b->store, &b->server, NULL);
  }
  b->store.data = b;
}

int bench_electors(const bench_options_t* o) {
  static bench_t b;
  b.o = o;
  bench_heap_install();
  b.electors = calloc(o->electors, sizeof(elector_t));
  b.stalls_us = malloc(STALLS_MAX * sizeof(uint32_t));
  bench_require(b.electors != NULL && b.stalls_us != NULL, "out of memory");
  bench_require(uv_loop_init(&b.loop) == 0, "cannot make a loop");
  open_store(&b);
  size_t before = bench_heap_live();
  for (unsigned i = 0; i < o->electors; i++)
    init_elector(&b, i);
  size_t bytes = bench_heap_live() - before;
  b.timer.data = b.prepare.data = b.check.data = &b;
  bench_require(
      uv_timer_init(&b.loop, &b.timer) == 0 && uv_prepare_init(&b.loop, &b.prepare) == 0 &&
          uv_check_init(&b.loop, &b.check) == 0 && uv_prepare_start(&b.prepare, on_prepare) == 0 &&
          uv_check_start(&b.check, on_check) == 0 &&
          uv_timer_start(&b.timer, on_starting, 0, 0) == 0,
      "cannot make handles");
  uv_unref((uv_handle_t*)&b.prepare);
  uv_unref((uv_handle_t*)&b.check);
  uv_run(&b.loop, UV_RUN_DEFAULT);
  report(&b, bytes, bench_proc_kb(getpid(), "VmHWM:"));
  if (!o->memory_store)
    bench_server_stop(&b.server);
  bench_require(uv_loop_close(&b.loop) == 0, "the loop has handles left");
  free(b.electors);
  free(b.stalls_us);
  return 0;
}
