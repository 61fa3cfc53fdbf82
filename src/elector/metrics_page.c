#include "elector/metrics_page.h"

#include <string.h>

#include "util/mem.h"

#define FIRST_PAGE 16384 /* to begin with */
#define PAGE_MAX   (64u << 20)

int s3l_metrics_begin(s3l_executor_t* d) {
  if (d->metrics == NULL)
    d->metrics = s3l_calloc(1, sizeof *d->metrics);
  return d->metrics != NULL ? 0 : UV_ENOMEM;
}

s3l_metrics_row_t s3l_metrics_row(const s3l_executor_t* d) {
  s3l_metrics_row_t row = {
      .election = d->election,
      .path = d->registration != NULL ? d->registration->peer.path : d->peer_path,
      .id = d->core.config.id,
      .is_leader = s3lect_elector_is_leader(d->handle) != 0,
      .epoch = s3lect_elector_epoch(d->handle),
      .transitions = d->core.observed.record.transitions,
      .valid_for_ms = s3lect_elector_valid_for_ms(d->handle),
      .stats = {.size = sizeof row.stats},
      .metrics = d->metrics,
  };
  (void)s3lect_elector_stats(d->handle, &row.stats);
  return row;
}

char* s3l_metrics_page(const s3l_metrics_row_t* rows, size_t n, size_t* len) {
  for (size_t cap = FIRST_PAGE; cap <= PAGE_MAX; cap *= 2) {
    s3l_buf_t b;
    char* page = s3l_malloc(cap);
    if (page == NULL)
      return NULL;
    s3l_buf_init(&b, page, cap);
    s3l_metrics_render(&b, rows, n);
    *len = b.len;
    if (!b.overflow)
      return page;
    s3l_free(page);
  }
  return NULL;
}

static int fill_rows(s3lect_elector_t* const* electors, size_t n, s3l_metrics_row_t* rows) {
  for (size_t i = 0; i < n; i++) {
    s3l_executor_t* d = electors[i]->internal;
    int err = d != NULL ? s3l_metrics_begin(d) : UV_ECANCELED;
    if (err != 0)
      return err;
    rows[i] = s3l_metrics_row(d);
  }
  return 0;
}

int s3lect_elector_metrics(s3lect_elector_t* const* electors, size_t n, char* text, size_t size) {
  size_t len = 0;
  s3l_metrics_row_t* rows = s3l_calloc(n + 1, sizeof *rows);
  int err = rows != NULL ? fill_rows(electors, n, rows) : UV_ENOMEM;
  char* page = err == 0 ? s3l_metrics_page(rows, n, &len) : NULL;
  s3l_free(rows);
  if (page == NULL)
    return err != 0 ? err : UV_ENOMEM;
  if (size > 0) {
    size_t cut = len < size ? len : size - 1;
    memcpy(text, page, cut);
    text[cut] = '\0';
  }
  s3l_free(page);
  return (int)len; /* PAGE_MAX at most */
}
