/* bench/scale.c: as many electors as one process can have, over a store with latency, with too few
 * connections, and through a silence of the store; and over the memory store. One row each, beside
 * what the same row was before the pool of connections sized itself and put renewals in order (at
 * 8d11b4b, in 15 to 20 s). */
#include <inttypes.h>
#include <string.h>

#include "bench/fleet.h"

typedef struct row_s {
  unsigned electors, latency_ms, max_connections, silence_ms, seconds;
  const char* before; /* renewals a second, leading, lost */
} row_t;

/* The electors start over six renewal intervals: each of them first reads and claims its lockfile.
 * Eight connections to a store with 30 ms take 267 requests a second: 1,333 electors. */
static const row_t rows[] = {
    {1000, 30, 8, 0, 20, "219/s, 1000, 0"},
    {1300, 30, 8, 0, 20, "185/s, 1052, 255"},
    {1600, 30, 8, 0, 20, ""},
    {2500, 30, 8, 0, 20, "53/s, 592, 260"},
    {2667, 30, 8, 0, 20, ""},
    {1000, 30, 8, 6000, 20, "lost 243-261"},
    {10000, 20, 8, 0, 20, "1/s, 280, 455"},
    {10000, 20, 64, 0, 20, "2124/s, 10000, 0"},
    {10000, 20, 64, 6000, 20, "lost 3484"},
    {10000, 20, 0, 0, 60, ""},
    {10000, 20, 0, 4000, 20, ""},
    {10000, 20, 0, 6000, 20, ""},
    {10000, 50, 0, 0, 60, ""},
    {10000, 50, 0, 4000, 20, ""},
    {10000, 50, 0, 6000, 20, ""},
};

static const char heads[] =
    "electors  store   silent  connections     capacity  renewals/s  leading  leading   lost  "
    "CPU of a  busy: loop,\n"
    "        latency           used/allowed           /s             at first   after         "
    "renewal      store   before\n";

static void print_row(const bench_fleet_t* f, const bench_fleet_result_t* r, const char* before) {
  char allowed[16] = "default";
  if (f->max_connections > 0)
    snprintf(allowed, sizeof(allowed), "%u", f->max_connections);
  double seconds_ns = f->seconds * 1e9;
  printf("%8u %4u ms %4.1f s  %4u/%-7s %12.0f %11.0f %9u %8u %6" PRIu64
         " %6.1f us %6.0f %% %4.0f %%   %s\n",
         f->electors, f->latency_ms, f->silence_ms / 1000.0, r->connections, allowed,
         f->latency_ms > 0 ? r->connections * 1000.0 / f->latency_ms : 0,
         (double)r->renewals / f->seconds, r->leading_before, r->leading_after, r->lost,
         bench_renewal_us(r), (double)r->busy_ns / seconds_ns * 100,
         (double)r->store_cpu_ns / seconds_ns * 100, before);
}

/* What holds on every machine, however fast it is. */
static void check(const bench_fleet_t* f, const bench_fleet_result_t* r) {
  bench_require(r->leading_before + r->regained == r->leading_after + r->lost,
                "leaderships do not add up");
  bench_require(f->max_connections == 0 || r->connections <= f->max_connections,
                "the store has more connections than it may");
}

static void run(const bench_fleet_t* f, const char* before) {
  bench_fleet_result_t r;
  bench_fleet_run(f, &r);
  print_row(f, &r, before);
  check(f, &r);
}

static void run_memory(const bench_options_t* o, unsigned electors) {
  bench_fleet_t f = {.electors = electors,
                     .renew_ms = o->renew_ms,
                     .seconds = o->seconds > 0 ? o->seconds : 20,
                     .memory_store = true};
  bench_fleet_result_t r;
  bench_fleet_run(&f, &r);
  printf("%8u memory store: %.0f renewals/s, %" PRIu64 " late, %" PRIu64
         " lost, stall p99.9 %.2f ms (longest %.2f ms), %.1f us of CPU a renewal\n",
         electors, (double)r.renewals / f.seconds, r.late, r.lost, r.stall_p999_ms, r.stall_max_ms,
         bench_renewal_us(&r));
  check(&f, &r);
}

static void run_row(const bench_options_t* o, const row_t* row) {
  bench_fleet_t f = {.electors = row->electors,
                     .renew_ms = o->renew_ms,
                     .spread_ms = o->settle_ms > 0 ? o->settle_ms : 6 * o->renew_ms,
                     .seconds = o->seconds > 0 ? o->seconds : row->seconds,
                     .latency_ms = row->latency_ms,
                     .max_connections = row->max_connections,
                     .silence_ms = row->silence_ms,
                     .overloaded = true};
  run(&f, row->before);
}

int bench_scale(const bench_options_t* o) {
  row_t one = {o->electors, o->latency_ms, o->connections, o->silence_ms, 20, ""};
  bench_heap_install();
  if (!o->memory_store)
    fputs(heads, stdout);
  if (o->electors > 0 && o->memory_store)
    run_memory(o, o->electors);
  else if (o->electors > 0)
    run_row(o, &one);
  else {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !o->memory_store; i++)
      run_row(o, &rows[i]);
    run_memory(o, 100000);
  }
  return 0;
}
