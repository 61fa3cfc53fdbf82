/* bench/electors.c: many electors on one loop, in detail; see fleet.h. */
#include <inttypes.h>
#include <unistd.h>

#include "bench/fleet.h"

static void report(const bench_fleet_t* o, const bench_fleet_result_t* r, size_t rss_kb) {
  printf("%u electors, renewing every %u ms for %u s, %s\n", o->electors, o->renew_ms, o->seconds,
         o->memory_store ? "memory store" : "fake S3 in another process, signed, plain HTTP");
  printf("  renewals                %" PRIu64 " (%" PRIu64 " per second)\n", r->renewals,
         r->renewals / o->seconds);
  printf("  renewals late           %" PRIu64 " (latest: %.1f ms after it was due)\n", r->late,
         (double)r->lateness_max_ns / 1e6);
  printf("  longest renewal         %.1f ms, sending to confirmation\n",
         (double)r->round_trip_max_ns / 1e6);
  printf("  leaderships lost        %" PRIu64 ", errors %" PRIu64 "\n", r->lost, r->errors);
  printf("  loop stall              p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, max %.3f ms\n",
         r->stall_p50_ms, r->stall_p99_ms, r->stall_p999_ms, r->stall_max_ms);
  printf("  loop busy               %.0f %%\n",
         (double)r->busy_ns / (double)o->seconds / 1e9 * 100);
  printf("  CPU of a renewal        %.1f us\n", bench_renewal_us(r));
  printf("  memory of an elector    %zu bytes, and its handle of %zu\n", r->elector_bytes,
         sizeof(s3lect_elector_t));
  printf("  resident set            %zu kB\n", rss_kb);
}

int bench_electors(const bench_options_t* o) {
  bench_fleet_t fleet = {.electors = o->electors > 0 ? o->electors : 10000,
                         .renew_ms = o->renew_ms,
                         .spread_ms = o->settle_ms,
                         .seconds = o->seconds > 0 ? o->seconds : 20,
                         .memory_store = o->memory_store,
                         .max_connections = o->connections};
  bench_fleet_result_t result;
  bench_heap_install();
  bench_fleet_run(&fleet, &result);
  report(&fleet, &result, bench_proc_kb(getpid(), "VmHWM:"));
  return 0;
}
