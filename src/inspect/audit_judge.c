/* inspect/audit_judge.c: the leaderships: which of them overlap, and whether epochs grow. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "inspect/audit.h"
#include "util/mem.h"

int s3l_audit_add(s3l_audit_t* audit, const char* id, uint64_t epoch, s3l_leadership_t** out) {
  if (audit->len == S3LECT_AUDIT_MAX)
    return S3LECT_ETOOBIG;
  s3l_leadership_t** grown =
      s3l_grow(audit->all, audit->len, &audit->cap, sizeof(s3l_leadership_t*));
  if (grown == NULL)
    return UV_ENOMEM;
  audit->all = grown;
  s3l_leadership_t* l = s3l_calloc(1, sizeof *l);
  if (l == NULL)
    return UV_ENOMEM;
  l->seen.size = sizeof l->seen;
  l->seen.epoch = epoch;
  (void)snprintf(l->seen.id, sizeof l->seen.id, "%s", id);
  grown[audit->len++] = l;
  *out = l;
  return 0;
}

void s3l_audit_set_end(s3l_leadership_t* l, bool ended, const char* reason) {
  l->seen.ended = ended;
  (void)snprintf(l->seen.reason, sizeof l->seen.reason, "%s", reason);
}

/* ---- The judgement ---- */

/* Whether the time between the two is exact. */
static bool is_exact(const s3l_instant_t* a, const s3l_instant_t* b) {
  return a->clock != 0 && a->clock == b->clock;
}

/* The time from a to b, and by how much it may be wrong. */
static int64_t diff_ms(const s3l_instant_t* a, const s3l_instant_t* b, int64_t* error_ms) {
  bool exact = is_exact(a, b);
  *error_ms = exact ? 0 : a->error_ms + b->error_ms;
  return exact ? (b->lease_ns - a->lease_ns) / 1000000 : b->wall_ms - a->wall_ms;
}

static size_t* count_of(s3lect_audit_report_t* report, s3lect_finding_kind_t kind) {
  switch (kind) {
  case S3LECT_FINDING_OVERLAP:
    return &report->overlaps;
  case S3LECT_FINDING_POSSIBLE_OVERLAP:
    return &report->possible_overlaps;
  case S3LECT_FINDING_SAME_EPOCH:
    return &report->same_epochs;
  default:
    return &report->epochs_fell;
  }
}

static int note(s3l_audit_t* audit, s3lect_finding_kind_t kind, size_t first, size_t second,
                int64_t ms) {
  s3lect_audit_report_t* report = &audit->report;
  s3lect_finding_t* grown =
      s3l_grow(audit->findings, report->findings, &audit->findings_cap, sizeof *grown);
  if (grown == NULL)
    return UV_ENOMEM;
  audit->findings = grown;
  grown[report->findings++] = (s3lect_finding_t){
      .size = sizeof *grown, .kind = (int32_t)kind, .first = first, .second = second, .ms = ms};
  ++*count_of(report, kind);
  return 0;
}

static int by_start(const void* a, const void* b) {
  const s3l_leadership_t *x = *(s3l_leadership_t*const*)a, *y = *(s3l_leadership_t*const*)b;
  if (x->start.wall_ms != y->start.wall_ms)
    return x->start.wall_ms < y->start.wall_ms ? -1 : 1;
  if (is_exact(&x->start, &y->start) && x->start.lease_ns != y->start.lease_ns)
    return x->start.lease_ns < y->start.lease_ns ? -1 : 1;
  return x->seen.epoch < y->seen.epoch ? -1 : x->seen.epoch > y->seen.epoch;
}

/* Whether a began before b for certain. */
static bool is_before(const s3l_leadership_t* a, const s3l_leadership_t* b) {
  int64_t error, ms = diff_ms(&a->start, &b->start, &error);
  return is_exact(&a->start, &b->start) ? b->start.lease_ns > a->start.lease_ns : ms > error;
}

/* a starts before b, as far as can be seen. */
static int judge_pair(s3l_audit_t* audit, size_t first, size_t second) {
  const s3l_leadership_t *a = audit->all[first], *b = audit->all[second];
  int64_t error, latest_error, order_error;
  int64_t order = diff_ms(&a->start, &b->certain, &order_error);
  int64_t gap = diff_ms(&a->certain, &b->start, &error);
  int64_t latest_gap = diff_ms(&a->latest, &b->start, &latest_error);
  int r = 0;
  if (a->seen.epoch == b->seen.epoch)
    r = note(audit, S3LECT_FINDING_SAME_EPOCH, first, second, 0);
  else if (a->seen.epoch > b->seen.epoch && is_before(a, b))
    r = note(audit, S3LECT_FINDING_EPOCH_FELL, first, second, 0);
  /* If the clocks may hide that b was over before a began, nothing is certain. */
  if (r == 0 && gap < -error && order > order_error)
    r = note(audit, S3LECT_FINDING_OVERLAP, first, second, -gap);
  else if (r == 0 && latest_gap < 0)
    r = note(audit, S3LECT_FINDING_POSSIBLE_OVERLAP, first, second, -latest_gap);
  else if (r == 0 && latest_gap < latest_error)
    audit->report.close++;
  return r;
}

/* Whether b, and all that begin after it, begin long after a's end. */
static bool is_past(const s3l_leadership_t* a, const s3l_leadership_t* b) {
  return b->start.wall_ms - a->latest.wall_ms > 2 * (a->latest.error_ms + b->start.error_ms) + 1000;
}

/* `running` holds the leaderships that may reach as far as the present one. */
static int judge_all(s3l_audit_t* audit, size_t* running) {
  s3lect_audit_report_t* report = &audit->report;
  size_t len = 0;
  uint64_t epoch = 0; /* the highest so far */
  size_t highest = 0;
  int r = 0;
  for (size_t i = 0; r == 0 && i < audit->len; i++) {
    const s3l_leadership_t* l = audit->all[i];
    size_t kept = 0;
    bool fell = false;
    for (size_t k = 0; r == 0 && k < len; k++) {
      if (is_past(audit->all[running[k]], l))
        continue;
      size_t before = report->epochs_fell + report->same_epochs;
      r = judge_pair(audit, running[k], i);
      fell = fell || report->epochs_fell + report->same_epochs > before;
      running[kept++] = running[k];
    }
    len = kept;
    if (r == 0 && !fell && i > 0 && l->seen.epoch <= epoch && is_before(audit->all[highest], l))
      r = note(audit,
               l->seen.epoch == epoch ? S3LECT_FINDING_SAME_EPOCH : S3LECT_FINDING_EPOCH_FELL,
               highest, i, 0);
    if (l->seen.epoch > epoch || i == 0) {
      epoch = l->seen.epoch;
      highest = i;
    }
    running[len++] = i;
    report->unlogged_ends += !l->seen.ended;
  }
  return r;
}

int s3l_audit_judge(s3l_audit_t* audit) {
  s3lect_audit_report_t* report = &audit->report;
  *report = (s3lect_audit_report_t){.size = sizeof *report,
                                    .sources = audit->from_store ? 1 : (uint32_t)audit->sources_len,
                                    .leaderships = audit->len,
                                    .more_versions = report->more_versions};
  if (audit->len == 0)
    return 0;
  qsort(audit->all, audit->len, sizeof(s3l_leadership_t*), by_start);
  for (size_t i = 0; i < audit->len; i++) {
    s3l_leadership_t* l = audit->all[i];
    l->seen.from_ms = l->start.wall_ms;
    l->seen.until_ms = l->certain.wall_ms;
    l->seen.latest_ms = l->latest.wall_ms;
  }
  size_t* running = s3l_calloc(audit->len, sizeof *running);
  int r = running != NULL ? judge_all(audit, running) : UV_ENOMEM;
  s3l_free(running);
  report->wrong = report->overlaps + report->same_epochs + report->epochs_fell > 0;
  return r;
}
