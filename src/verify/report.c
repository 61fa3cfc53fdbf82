/* verify/report.c: the table of checks, measurements, and the two verdicts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/clock.h"
#include "util/mutant.h"
#include "verify/run.h"

typedef s3l_verify_run_t run_t;

/* The protocol that depends on a check. */
typedef enum { FOR_NONE, FOR_EPOCH_FILES, FOR_LOCKFILE, FOR_BOTH } need_t;

static const struct {
  const char* name;
  const char* expected;
  need_t need;
  const char* reason; /* of an unsafe verdict, if the check fails */
} checks[S3L_CHECKS] = {
    [S3L_CHECK_CREATE] = {"create", "created where nothing was, with an ETag", FOR_BOTH,
                          "the store does not create objects under If-None-Match"},
    [S3L_CHECK_CREATE_AGAIN] = {"create-again", "refused", FOR_BOTH,
                                "the store ignores If-None-Match: a second create overwrote the "
                                "object"},
    [S3L_CHECK_READ] = {"read-after-write", "the newest object, at once", FOR_BOTH,
                        "the store's reads do not show the newest write"},
    [S3L_CHECK_FRESH_ETAG] = {"fresh-etag", "a new ETag for each new body", FOR_BOTH,
                              "the store's ETags do not change with the object"},
    [S3L_CHECK_CONDITIONAL_GET] = {"conditional-get", "not modified, and only if so", FOR_BOTH,
                                   "the store answers 304 although the object has changed"},
    [S3L_CHECK_ONE_CREATE] = {"one-create-wins", "exactly one of many at once", FOR_BOTH,
                              "the store checks If-None-Match, but not in one step with the write"},
    [S3L_CHECK_SWAP] = {"swap", "replaced under the ETag it has", FOR_LOCKFILE,
                        "the store cannot replace an object under If-Match"},
    [S3L_CHECK_SWAP_STALE] = {"swap-stale", "refused under an ETag it has no more", FOR_LOCKFILE,
                              "the store ignores If-Match: a swap with a wrong ETag overwrote the "
                              "object"},
    [S3L_CHECK_SWAP_MISSING] = {"swap-missing", "refused where nothing is", FOR_LOCKFILE,
                                "the store creates a missing object under If-Match"},
    [S3L_CHECK_ONE_SWAP] = {"one-swap-wins", "exactly one of many at once", FOR_LOCKFILE,
                            "the store checks If-Match, but not in one step with the write"},
    [S3L_CHECK_EQUAL_BODIES] = {"equal-bodies", "a new ETag for an equal body", FOR_NONE, NULL},
    [S3L_CHECK_LIST] = {"list", "lists what was written", FOR_EPOCH_FILES,
                        "the store's listings do not show what was written"},
    [S3L_CHECK_DELETE] = {"delete", "gone", FOR_NONE, NULL},
    [S3L_CHECK_RECREATE] = {"create-after-delete", "created", FOR_NONE, NULL},
};

void s3l_verify_report_init(run_t* run) {
  for (int i = 0; i < S3L_CHECKS; i++)
    run->checks[i] =
        (s3lect_check_t){checks[i].name, checks[i].expected, run->seen[i], S3LECT_CHECK_SKIPPED};
}

/* ---- Measures ---- */

/* The Date of a reply is cut to the second, and was made between the sending of the request and its
 * end. So each reply bounds the offset from both sides, and all replies together narrow it. */
static void measure_clock(run_t* run, int64_t sent_ms, int64_t date_ms) {
  int64_t low = date_ms - s3l_clock_wall_ms();
  int64_t high = date_ms + 1000 - sent_ms;
  if (!run->clock_known || low > run->clock_low_ms)
    run->clock_low_ms = low;
  if (!run->clock_known || high < run->clock_high_ms)
    run->clock_high_ms = high;
  run->clock_known = true;
}

void s3l_verify_measure(run_t* run, const s3l_verify_op_t* op,
                        const s3lect_store_result_t* result) {
  if (result->http_status == 0 && result->outcome != S3LECT_SETTLED)
    return; /* the store did not answer */
  int64_t us = (s3l_clock_lease_ns() - op->sent_ns) / 1000;
  bool waited = (op->req.flags & S3LECT_REQ_TOGETHER) != 0; /* for other requests, on purpose */
  if (!waited && run->latencies < S3LECT_VERIFY_REQUESTS_MAX)
    run->latency_us[run->latencies++] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
  if (result->store_time_ms != 0)
    measure_clock(run, op->sent_wall_ms, result->store_time_ms);
}

static int compare_u32(const void* a, const void* b) {
  uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return x < y ? -1 : x > y;
}

/* The smallest of the sorted values that is not less than `percent` percent of them. */
static uint32_t percentile(const run_t* run, size_t percent) {
  if (run->latencies == 0)
    return 0;
  size_t rank = (run->latencies * percent + 99) / 100;
  return run->latency_us[rank > 0 ? rank - 1 : 0];
}

/* ---- The verdict ---- */

/* The first failed check decides, else the first one without a result: a run that ended early has
 * left checks out. */
static s3lect_verdict_t judge(const run_t* run, need_t protocol, char* reason) {
  bool swaps = protocol == FOR_LOCKFILE && run->won[1] < run->won[0];
  s3lect_verdict_t verdict = {S3LECT_SAFETY_SAFE, run->won[swaps ? 1 : 0], ""};
  int cause = 0;
  for (int i = 0; i < S3L_CHECKS && verdict.safety != S3LECT_SAFETY_UNSAFE; i++) {
    int seen = run->checks[i].verdict;
    bool open = seen == S3LECT_CHECK_INCONCLUSIVE || seen == S3LECT_CHECK_SKIPPED;
    if (checks[i].need != protocol && checks[i].need != FOR_BOTH)
      continue;
    if (S3L_MUTANT(ONE_VERDICT) && checks[i].need == FOR_EPOCH_FILES)
      continue;
    if (seen != S3LECT_CHECK_FAILED && (!open || verdict.safety != S3LECT_SAFETY_SAFE))
      continue;
    verdict.safety = open ? S3LECT_SAFETY_UNKNOWN : S3LECT_SAFETY_UNSAFE;
    cause = i;
  }
  if (verdict.safety == S3LECT_SAFETY_SAFE)
    return verdict;
  bool tried = run->seen[cause][0] != '\0';
  (void)snprintf(reason, S3L_VERIFY_REASON_SIZE, "%s (%s: %s)",
                 verdict.safety == S3LECT_SAFETY_UNSAFE ? checks[cause].reason
                                                        : "the store could not be examined",
                 checks[cause].name, tried ? run->seen[cause] : s3lect_strerror(run->error));
  verdict.reason = reason;
  return verdict;
}

static void report_clock(const run_t* run, s3lect_verify_report_t* report) {
  int64_t low = run->clock_low_ms, high = run->clock_high_ms;
  if (!run->clock_known)
    return;
  /* high < low: the replies came from machines whose clocks differ. */
  int64_t width = high > low ? high - low : low - high + 1000;
  report->clock_known = 1;
  report->clock_offset_ms = low + (high - low) / 2;
  report->clock_error_ms = (uint32_t)((width + 1) / 2);
}

void s3l_verify_report(run_t* run, s3lect_verify_report_t* report) {
  s3lect_verdict_t lockfile = judge(run, FOR_LOCKFILE, run->reasons[0]);
  s3lect_verdict_t epochs = judge(run, FOR_EPOCH_FILES, run->reasons[1]);
  bool unknown = lockfile.safety == S3LECT_SAFETY_UNKNOWN || epochs.safety == S3LECT_SAFETY_UNKNOWN;
  qsort(run->latency_us, run->latencies, sizeof(run->latency_us[0]), compare_u32);
  *report = (s3lect_verify_report_t){
      .size = sizeof(*report),
      .lockfile = lockfile,
      .epochs = epochs,
      .error = unknown || run->error == UV_ECANCELED ? run->error : 0,
      .checks = run->checks,
      .checks_len = S3L_CHECKS,
      .etag_dialect = (int32_t)run->dialect,
      .etags_weak = run->etags_weak ? 1 : 0,
      .requests = run->requests,
      .leftovers = run->leftovers,
      .latency_p50_us = percentile(run, 50),
      .latency_p90_us = percentile(run, 90),
      .latency_p99_us = percentile(run, 99),
      .latency_max_us = percentile(run, 100),
  };
  report_clock(run, report);
}

/* ---- Names ---- */

const char* s3lect_safety_name(int safety) {
  return safety == S3LECT_SAFETY_SAFE     ? "safe"
         : safety == S3LECT_SAFETY_UNSAFE ? "unsafe"
                                          : "unknown";
}

const char* s3lect_check_verdict_name(int verdict) {
  static const char* const names[] = {"skipped", "passed", "noted", "failed", "inconclusive"};
  return verdict > 0 && verdict <= S3LECT_CHECK_INCONCLUSIVE ? names[verdict] : names[0];
}
