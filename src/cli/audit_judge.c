/* cli/audit_judge.c: which leaderships overlap, and whether epochs grow. */
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "util/mem.h"

cli_leadership_t* cli_audit_add(cli_audit_t* audit) {
  cli_leadership_t* grown = s3l_grow(audit->all, audit->len, &audit->cap, sizeof *grown);
  if (grown == NULL)
    return NULL;
  audit->all = grown;
  memset(&grown[audit->len], 0, sizeof *grown);
  return &grown[audit->len++];
}

void cli_audit_free(cli_audit_t* audit) {
  s3l_free(audit->all);
  s3l_free(audit->findings);
}

int64_t cli_instant_diff_ms(const cli_instant_t* a, const cli_instant_t* b, int64_t* error_ms) {
  bool exact = a->clock != 0 && a->clock == b->clock;
  *error_ms = exact ? 0 : a->error_ms + b->error_ms;
  return exact ? (b->lease_ns - a->lease_ns) / 1000000 : b->wall_ms - a->wall_ms;
}

static int note(cli_audit_t* audit, cli_finding_kind_t kind, size_t first, size_t second,
                int64_t ms) {
  cli_finding_t* grown =
      s3l_grow(audit->findings, audit->findings_len, &audit->findings_cap, sizeof *grown);
  if (grown == NULL)
    return UV_ENOMEM;
  audit->findings = grown;
  grown[audit->findings_len++] =
      (cli_finding_t){.kind = kind, .first = first, .second = second, .ms = ms};
  audit->count[kind]++;
  return 0;
}

static int by_start(const void* a, const void* b) {
  const cli_leadership_t *x = a, *y = b;
  if (x->start.wall_ms != y->start.wall_ms)
    return x->start.wall_ms < y->start.wall_ms ? -1 : 1;
  if (x->start.clock != 0 && x->start.clock == y->start.clock)
    return x->start.lease_ns < y->start.lease_ns ? -1 : x->start.lease_ns > y->start.lease_ns;
  return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

/* Whether a began before b for certain. */
static bool is_before(const cli_leadership_t* a, const cli_leadership_t* b) {
  int64_t error, ms = cli_instant_diff_ms(&a->start, &b->start, &error);
  bool exact = a->start.clock != 0 && a->start.clock == b->start.clock;
  return exact ? b->start.lease_ns > a->start.lease_ns : ms > error;
}

/* a starts before b, as far as can be seen. */
static int judge_pair(cli_audit_t* audit, size_t first, size_t second) {
  const cli_leadership_t *a = &audit->all[first], *b = &audit->all[second];
  int64_t error, latest_error, order_error;
  int64_t order = cli_instant_diff_ms(&a->start, &b->certain, &order_error);
  int64_t gap = cli_instant_diff_ms(&a->certain, &b->start, &error);
  int64_t latest_gap = cli_instant_diff_ms(&a->latest, &b->start, &latest_error);
  int r = 0;
  if (a->epoch == b->epoch)
    r = note(audit, CLI_SAME_EPOCH, first, second, 0);
  else if (a->epoch > b->epoch && is_before(a, b))
    r = note(audit, CLI_EPOCH_FELL, first, second, 0);
  /* If the clocks may hide that b was over before a began, nothing is certain. */
  if (r == 0 && gap < -error && order > order_error)
    r = note(audit, CLI_OVERLAP, first, second, -gap);
  else if (r == 0 && latest_gap < 0)
    r = note(audit, CLI_POSSIBLE_OVERLAP, first, second, -latest_gap);
  else if (r == 0 && latest_gap < latest_error)
    audit->close++;
  return r;
}

/* Whether b, and all that begin after it, begin long after a's end. */
static bool is_past(const cli_leadership_t* a, const cli_leadership_t* b) {
  return b->start.wall_ms - a->latest.wall_ms > 2 * (a->latest.error_ms + b->start.error_ms) + 1000;
}

/* `running` holds the leaderships that may reach as far as the present one. */
static int judge_all(cli_audit_t* audit, size_t* running) {
  size_t len = 0;
  uint64_t epoch = 0; /* the highest so far */
  size_t highest = 0;
  int r = 0;
  for (size_t i = 0; r == 0 && i < audit->len; i++) {
    size_t kept = 0;
    bool fell = false;
    for (size_t k = 0; r == 0 && k < len; k++) {
      if (is_past(&audit->all[running[k]], &audit->all[i]))
        continue;
      size_t before = audit->count[CLI_EPOCH_FELL] + audit->count[CLI_SAME_EPOCH];
      r = judge_pair(audit, running[k], i);
      fell = fell || audit->count[CLI_EPOCH_FELL] + audit->count[CLI_SAME_EPOCH] > before;
      running[kept++] = running[k];
    }
    len = kept;
    const cli_leadership_t* l = &audit->all[i];
    if (r == 0 && !fell && i > 0 && l->epoch <= epoch && is_before(&audit->all[highest], l))
      r = note(audit, l->epoch == epoch ? CLI_SAME_EPOCH : CLI_EPOCH_FELL, highest, i, 0);
    if (l->epoch > epoch || i == 0) {
      epoch = l->epoch;
      highest = i;
    }
    running[len++] = i;
    audit->unlogged_ends += !l->ended;
  }
  return r;
}

int cli_audit_judge(cli_audit_t* audit) {
  if (audit->len == 0)
    return 0;
  qsort(audit->all, audit->len, sizeof *audit->all, by_start);
  size_t* running = s3l_calloc(audit->len, sizeof *running);
  int r = running != NULL ? judge_all(audit, running) : UV_ENOMEM;
  s3l_free(running);
  return r;
}

bool cli_audit_is_wrong(const cli_audit_t* audit) {
  return audit->count[CLI_OVERLAP] + audit->count[CLI_SAME_EPOCH] + audit->count[CLI_EPOCH_FELL] >
         0;
}
