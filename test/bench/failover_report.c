/* bench/failover_report.c: the results, as numbers. */
#include <stdio.h>

#include "bench/failover.h"

double failover_percentile(const failover_samples_t* samples, double part) {
  double rank = part * (double)samples->len;
  size_t at = (size_t)rank;
  if ((double)at < rank)
    at++;
  return samples->len == 0 ? 0 : samples->ms[at > 0 ? at - 1 : 0];
}

static void report_series(const char* what, const failover_samples_t* s) {
  printf("  %-32s %4zu  %8.1f %8.1f %8.1f %8.1f %8.1f", what, s->len, failover_percentile(s, 0),
         failover_percentile(s, 0.5), failover_percentile(s, 0.9), failover_percentile(s, 0.99),
         failover_percentile(s, 1));
  if (s->budget_ms > 0)
    printf("  %8.1f", s->budget_ms);
  printf("\n");
}

void failover_report(const bench_options_t* o, const failover_result_t* r) {
  printf("%s\n", r->peer_mode ? "Peer mode (TLS, certificates on both sides)" : "Storage mode");
  printf("  %-32s %4s  %8s %8s %8s %8s %8s  %8s\n", "ms", "n", "min", "median", "p90", "p99", "max",
         "budget");
  report_series("hand-over (SIGTERM)", &r->series[FAILOVER_HAND_OVER]);
  report_series("crash (SIGKILL), from legal on", &r->series[FAILOVER_LEGAL]);
  report_series("crash (SIGKILL), from the kill on", &r->series[FAILOVER_KILL]);
  printf("  round trip to the store %.1f ms, %u ms of it injected\n", r->round_trip_ms,
         o->latency_ms);
  printf("  leaderships %u, two at once %u, epochs that did not grow %u\n", r->leaderships,
         r->overlaps, r->stale_epochs);
  printf("  leaderships that ended by themselves %u\n", r->unasked);
}
