/* elector/metrics.h: what is counted of an elector whose metrics are asked for, and its
 * text for Prometheus (text exposition format 0.0.4).
 *
 * A request's result is one of a few words, so that the number of series is bounded: "ok",
 * "not_modified", "not_found", "refused" (412, 409), "throttled", "failed" (had no effect),
 * "unknown" (a write that may have had one). */
#ifndef S3L_METRICS_H
#define S3L_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "s3lect/elector.h"
#include "s3lect/store.h"
#include "util/buf.h"

/* Upper bounds, in ms, of the renewal latency's histogram; one more counts what is above. */
#define S3L_LATENCY_BOUNDS                                                                         \
  { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000 }
#define S3L_LATENCY_BUCKETS 11

typedef enum {
  S3L_RESULT_OK = 0,
  S3L_RESULT_NOT_MODIFIED,
  S3L_RESULT_NOT_FOUND,
  S3L_RESULT_REFUSED,
  S3L_RESULT_THROTTLED,
  S3L_RESULT_FAILED,
  S3L_RESULT_UNKNOWN,
  S3L_RESULTS
} s3l_metrics_result_t;

typedef struct s3l_histogram_s {
  uint64_t buckets[S3L_LATENCY_BUCKETS];
  uint64_t sum_ns;
} s3l_histogram_t;

typedef struct s3l_metrics_s {
  uint64_t requests[2][S3L_RESULTS]; /* reads, writes */
  s3l_histogram_t latency;           /* of renewals, sent to confirmed */
  s3l_histogram_t waits;             /* of requests, for a connection to the store */
  uint64_t connections;              /* of the store, when a request ended last */
  int64_t sent_ns; /* when the request under way went out; 0: before counting began */
} s3l_metrics_t;

/** One elector's line in every family. */
typedef struct s3l_metrics_row_s {
  const char* election; /* the lockfile's key */
  const char* path;     /* where it is asked for: what tells the rows of a server apart */
  const char* id;
  uint64_t is_leader; /* 0 or 1 */
  uint64_t epoch;
  uint64_t transitions;
  uint64_t valid_for_ms;
  s3lect_stats_t stats;
  const s3l_metrics_t* metrics;
} s3l_metrics_row_t;

/** A request to the store has ended. */
void s3l_metrics_request(s3l_metrics_t* m, bool is_write, const s3lect_store_result_t* result);

/** A renewal was confirmed, so long after it was sent. */
void s3l_metrics_renewed(s3l_metrics_t* m, int64_t latency_ns);

/** Writes the page. */
void s3l_metrics_render(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n);

#endif
