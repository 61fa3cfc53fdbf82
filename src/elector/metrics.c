#include "elector/metrics.h"

#include <inttypes.h>
#include <stdio.h>

#include "s3lect/errno.h"

static const uint32_t bounds_ms[S3L_LATENCY_BUCKETS - 1] = S3L_LATENCY_BOUNDS;

static const char* const results[S3L_RESULTS] = {
    "ok", "not_modified", "not_found", "refused", "throttled", "failed", "unknown"};

static s3l_metrics_result_t result_of(int status, int outcome) {
  switch (status) {
  case 0:
    return S3L_RESULT_OK;
  case S3LECT_ENOTMODIFIED:
    return S3L_RESULT_NOT_MODIFIED;
  case S3LECT_ENOTFOUND:
    return S3L_RESULT_NOT_FOUND;
  case S3LECT_EPRECONDITION:
  case S3LECT_ECONFLICT:
    return S3L_RESULT_REFUSED;
  default:
    break;
  }
  if (outcome == S3LECT_UNCERTAIN)
    return S3L_RESULT_UNKNOWN;
  return status == S3LECT_ETHROTTLED ? S3L_RESULT_THROTTLED : S3L_RESULT_FAILED;
}

static void note(s3l_histogram_t* h, int64_t time_ns) {
  uint64_t ns = time_ns > 0 ? (uint64_t)time_ns : 0;
  size_t i = 0;
  while (i < S3L_LATENCY_BUCKETS - 1 && ns > bounds_ms[i] * UINT64_C(1000000))
    i++;
  h->buckets[i]++;
  h->sum_ns += ns;
}

void s3l_metrics_request(s3l_metrics_t* m, bool is_write, const s3lect_store_result_t* r) {
  m->requests[is_write][result_of(r->status, r->outcome)]++;
  m->connections = r->connections;
  note(&m->waits, r->waited_ns);
}

void s3l_metrics_renewed(s3l_metrics_t* m, int64_t latency_ns) {
  note(&m->latency, latency_ns);
}

/* ---- The page ---- */

static void head(s3l_buf_t* b, const char* name, const char* type, const char* help) {
  char lines[256];
  snprintf(lines, sizeof lines, "# HELP s3lect_%s %s\n# TYPE s3lect_%s %s\n", name, help, name,
           type);
  s3l_buf_puts(b, lines);
}

static void put_label(s3l_buf_t* b, const char* value) {
  s3l_buf_putc(b, '"');
  for (; *value != '\0'; value++) {
    if (*value == '\\' || *value == '"')
      s3l_buf_putc(b, '\\');
    if (*value == '\n')
      s3l_buf_puts(b, "\\n");
    else
      s3l_buf_putc(b, *value);
  }
  s3l_buf_putc(b, '"');
}

/* The name and labels of a sample; `more` is further labels with a comma before them, or "". */
static void begin(s3l_buf_t* b, const char* name, const s3l_metrics_row_t* r, const char* more) {
  s3l_buf_puts(b, "s3lect_");
  s3l_buf_puts(b, name);
  s3l_buf_puts(b, "{election=");
  put_label(b, r->election);
  s3l_buf_puts(b, ",id=");
  put_label(b, r->id);
  s3l_buf_puts(b, ",path=");
  put_label(b, r->path);
  s3l_buf_puts(b, more);
  s3l_buf_puts(b, "} ");
}

static void sample(s3l_buf_t* b, const char* name, const s3l_metrics_row_t* r, const char* more,
                   uint64_t value) {
  begin(b, name, r, more);
  s3l_buf_u64(b, value);
  s3l_buf_putc(b, '\n');
}

/* `value` is in units of which there are `per_second`, a power of ten. */
static void sample_seconds(s3l_buf_t* b, const char* name, const s3l_metrics_row_t* r,
                           uint64_t value, uint64_t per_second) {
  begin(b, name, r, "");
  s3l_buf_u64(b, value / per_second);
  s3l_buf_putc(b, '.');
  for (uint64_t unit = per_second / 10; unit > 0; unit /= 10)
    s3l_buf_putc(b, (char)('0' + value / unit % 10));
  s3l_buf_putc(b, '\n');
}

#define ROW(member) offsetof(s3l_metrics_row_t, member)

/* A family with one number of a row. */
typedef struct family_s {
  const char* name;
  size_t offset; /* of a uint64_t in s3l_metrics_row_t */
  const char* help;
} family_t;

static void put_families(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n, const char* type,
                         const family_t* families, size_t families_n) {
  for (const family_t* f = families; f < families + families_n; f++) {
    head(b, f->name, type, f->help);
    for (size_t i = 0; i < n; i++) {
      const void* at = (const char*)&rows[i] + f->offset;
      sample(b, f->name, &rows[i], "", *(const uint64_t*)at);
    }
  }
}

static void put_state(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n) {
  static const family_t gauges[] = {
      {"is_leader", ROW(is_leader), "1 if this process leads at this instant, else 0."},
      {"epoch", ROW(epoch), "Fencing token of the leadership held, or held last."},
      {"transitions", ROW(transitions), "Leaderships so far in this election, as the record says."},
  };
  put_families(b, rows, n, "gauge", gauges, sizeof gauges / sizeof *gauges);
  head(b, "valid_for_seconds", "gauge", "Time until leadership ends unless it is renewed.");
  for (size_t i = 0; i < n; i++)
    sample_seconds(b, "valid_for_seconds", &rows[i], rows[i].valid_for_ms, 1000);
}

static void put_requests(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n) {
  char labels[64];
  head(b, "store_requests_total", "counter", "Requests to the store by operation and result.");
  for (size_t i = 0; i < n; i++) {
    for (int k = 0; k < 2 * S3L_RESULTS; k++) {
      bool is_write = k >= S3L_RESULTS;
      int result = k % S3L_RESULTS;
      snprintf(labels, sizeof labels, ",operation=\"%s\",result=\"%s\"", is_write ? "put" : "get",
               results[result]);
      sample(b, "store_requests_total", &rows[i], labels,
             rows[i].metrics->requests[is_write][result]);
    }
  }
}

static void put_counters(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n) {
  static const family_t counters[] = {
      {"leaderships_total", ROW(stats.leaderships), "Leaderships that began here."},
      {"renewals_total", ROW(stats.renewals), "Renewals that were confirmed."},
      {"retries_total", ROW(stats.retries), "Attempts beyond an operation's first one."},
      {"failures_total", ROW(stats.failures), "Operations that were given up."},
      {"unknown_outcomes_total", ROW(stats.unknown_outcomes), "Writes whose reply was lost."},
      {"unknown_resolved_total", ROW(stats.unknown_resolved),
       "Lost writes that were found to have been carried out."},
      {"conflicts_total", ROW(stats.conflicts),
       "Writes that the store refused because another was first."},
      {"late_replies_total", ROW(stats.late_replies),
       "Renewals that were confirmed too late to count."},
      {"peer_checks_total", ROW(stats.peer_checks), "Questions to the leader."},
      {"peer_answers_total", ROW(stats.peer_answers),
       "Answers of the leader that took the place of a store read."},
      {"peer_failures_total", ROW(stats.peer_failures),
       "Questions that were not answered, or not by a leader."},
      {"peer_refused_total", ROW(stats.peer_refused),
       "Answers that could not be true and were not believed."},
  };
  put_families(b, rows, n, "counter", counters, sizeof counters / sizeof *counters);
}

static void put_histogram(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n,
                          const family_t* f) {
  char name[40], labels[32];
  head(b, f->name, "histogram", f->help);
  for (size_t i = 0; i < n; i++) {
    const void* at = (const char*)rows[i].metrics + f->offset;
    const s3l_histogram_t* h = at;
    uint64_t count = 0;
    snprintf(name, sizeof name, "%s_bucket", f->name);
    for (size_t k = 0; k < S3L_LATENCY_BUCKETS; k++) {
      count += h->buckets[k];
      if (k < S3L_LATENCY_BUCKETS - 1)
        snprintf(labels, sizeof labels, ",le=\"%" PRIu32 ".%03" PRIu32 "\"", bounds_ms[k] / 1000,
                 bounds_ms[k] % 1000);
      else
        snprintf(labels, sizeof labels, ",le=\"+Inf\"");
      sample(b, name, &rows[i], labels, count);
    }
    snprintf(name, sizeof name, "%s_sum", f->name);
    sample_seconds(b, name, &rows[i], h->sum_ns, 1000000000);
    snprintf(name, sizeof name, "%s_count", f->name);
    sample(b, name, &rows[i], "", count);
  }
}

static void put_times(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n) {
  static const family_t histograms[] = {
      {"renewal_seconds", offsetof(s3l_metrics_t, latency),
       "Time from a renewal's sending to its confirmation."},
      {"store_wait_seconds", offsetof(s3l_metrics_t, waits),
       "Time for which a request waited for a connection to the store."},
  };
  put_histogram(b, rows, n, &histograms[0]);
  put_histogram(b, rows, n, &histograms[1]);
  head(b, "store_connections", "gauge", "Connections of the store, which electors may share.");
  for (size_t i = 0; i < n; i++)
    sample(b, "store_connections", &rows[i], "", rows[i].metrics->connections);
}

void s3l_metrics_render(s3l_buf_t* b, const s3l_metrics_row_t* rows, size_t n) {
  put_state(b, rows, n);
  put_requests(b, rows, n);
  put_counters(b, rows, n);
  put_times(b, rows, n);
}
