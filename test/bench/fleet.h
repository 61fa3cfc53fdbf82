/* bench/fleet.h: many electors on one loop, each with a lockfile of its own, as with one election
 * per shard; and what they do within a given time. */
#ifndef S3L_BENCH_FLEET_H
#define S3L_BENCH_FLEET_H

#include "bench/bench.h"

typedef struct bench_fleet_s {
  unsigned electors;
  unsigned renew_ms;        /* the leader timeout is three times that */
  unsigned spread_ms;       /* over what time they start; 0: renew_ms */
  unsigned seconds;         /* how long to measure */
  bool memory_store;        /* in place of a fake S3 in another process */
  unsigned latency_ms;      /* of the fake S3, for each request */
  unsigned max_connections; /* 0: the store's default */
  unsigned silence_ms;      /* the store stops for so long when the measurement begins */
  bool overloaded;          /* measure even if not all of them lead after 12 intervals */
} bench_fleet_t;

/* late    a renewal that was sent more than 1 % of the interval after it was due at the latest
 * stall   how long the loop was busy in one turn: from the return of its poll to the next poll */
typedef struct bench_fleet_result_s {
  uint64_t renewals, late, lost, regained, errors;
  unsigned leading_before, leading_after;
  unsigned connections; /* open at once, at most */
  int64_t lateness_max_ns;
  int64_t round_trip_max_ns;
  uint64_t busy_ns;
  uint64_t cpu_ns;       /* of this process */
  uint64_t store_cpu_ns; /* of the fake S3 */
  double stall_p50_ms, stall_p99_ms, stall_p999_ms, stall_max_ms;
  size_t elector_bytes; /* that init allocates for one */
} bench_fleet_result_t;

static inline double bench_renewal_us(const bench_fleet_result_t* r) {
  return r->renewals > 0 ? (double)r->cpu_ns / (double)r->renewals / 1000 : 0;
}

/** Starts the electors, waits until they lead, measures and closes. */
void bench_fleet_run(const bench_fleet_t* fleet, bench_fleet_result_t* result);

#endif
