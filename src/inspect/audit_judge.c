/* inspect/audit_judge.c: the leaderships: which of them overlap, and whether epochs grow. */
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "inspect/audit.h"
#include "util/mem.h"
#include "util/span.h"

int s3l_audit_add(s3l_audit_t* audit, const char id[S3LECT_ID_SIZE], uint64_t epoch,
                  s3l_leadership_t** out) {
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
  memcpy(l->seen.id, id, sizeof l->seen.id);
  grown[audit->len++] = l;
  *out = l;
  return 0;
}

void s3l_audit_set_end(s3l_leadership_t* l, bool ended, const char* reason) {
  l->seen.ended = ended;
  (void)s3l_span_copy(s3l_span_cstr(reason), l->seen.reason, sizeof l->seen.reason);
}

/* ---- The judgement ---- */

/* Whether lease times of the two are comparable. */
static bool is_exact(const s3l_leadership_t* a, const s3l_leadership_t* b) {
  return a->clock != 0 && a->clock == b->clock;
}

static int64_t error_of(const s3l_leadership_t* l, s3l_instant_t at) {
  return at == S3L_START ? l->start_error_ms : l->error_ms;
}

/* The time from an instant of a to one of b, and by how much it may be wrong. */
static int64_t diff_ms(const s3l_leadership_t* a, s3l_instant_t from, const s3l_leadership_t* b,
                       s3l_instant_t to, int64_t* error_ms) {
  bool exact = is_exact(a, b);
  *error_ms = exact ? 0 : error_of(a, from) + error_of(b, to);
  return exact ? (b->lease_ns[to] - a->lease_ns[from]) / 1000000
               : b->wall_ms[to] - a->wall_ms[from];
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

static int order_of(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int by_start(const void* a, const void* b) {
  const s3l_leadership_t *x = *(s3l_leadership_t*const*)a, *y = *(s3l_leadership_t*const*)b;
  int order = order_of(x->wall_ms[S3L_START], y->wall_ms[S3L_START]);
  if (order == 0 && is_exact(x, y))
    order = order_of(x->lease_ns[S3L_START], y->lease_ns[S3L_START]);
  return order != 0 ? order : (x->seen.epoch > y->seen.epoch) - (x->seen.epoch < y->seen.epoch);
}

/* Whether a began before b for certain. */
static bool is_before(const s3l_leadership_t* a, const s3l_leadership_t* b) {
  int64_t error, ms = diff_ms(a, S3L_START, b, S3L_START, &error);
  return is_exact(a, b) ? b->lease_ns[S3L_START] > a->lease_ns[S3L_START] : ms > error;
}

/* a starts before b, as far as can be seen. */
static int judge_pair(s3l_audit_t* audit, size_t first, size_t second) {
  const s3l_leadership_t *a = audit->all[first], *b = audit->all[second];
  int64_t error, latest_error, order_error;
  int64_t order = diff_ms(a, S3L_START, b, S3L_CERTAIN, &order_error);
  int64_t gap = diff_ms(a, S3L_CERTAIN, b, S3L_START, &error);
  int64_t latest_gap = diff_ms(a, S3L_LATEST, b, S3L_START, &latest_error);
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
  return b->wall_ms[S3L_START] - a->wall_ms[S3L_LATEST] >
         2 * (a->error_ms + b->start_error_ms) + 1000;
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
    l->seen.from_ms = l->wall_ms[S3L_START];
    l->seen.until_ms = l->wall_ms[S3L_CERTAIN];
    l->seen.latest_ms = l->wall_ms[S3L_LATEST];
  }
  size_t* running = s3l_calloc(audit->len, sizeof *running);
  int r = running != NULL ? judge_all(audit, running) : UV_ENOMEM;
  s3l_free(running);
  report->wrong = report->overlaps + report->same_epochs + report->epochs_fell > 0;
  return r;
}
