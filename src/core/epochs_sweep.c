/* core/epochs_sweep.c: a leader removes old epoch files: a few for each listing, one at a time,
 * beside everything else. */
#include <string.h>

#include "core/internal.h"
#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/error_kind.h"

/* The listing tells of old files which of them may go: never the newest two, nor one that is so
 * young that its number might still be wanted by a create under way. */
void s3l_epochs_note_old(s3l_core_t* c, const s3l_event_t* ev) {
  const s3lect_store_result_t* r = ev->result;
  s3l_epochs_t* ep = c->config.epochs;
  const s3l_listing_t* l = ev->listing;
  s3l_ns_t t = (s3l_ns_t)s3l_larger(c->config.leader_timeout_ms, c->timeout_seen_ms);
  int64_t young_ms = 2 * s3l_lease_wait(t * S3L_MS, c->config.drift_ppm) / S3L_MS + 2000;
  if (ep->sweeping)
    return;
  ep->sweep_len = 0;
  for (uint32_t i = 0; i < S3L_EPOCHS_GC && i + 1 < l->old_len; i++) {
    bool newest_two = (S3L_MUTANT(EPOCHS_SWEPT_SECOND) ? l->old[i] : l->old[i + 1]) >= ep->file;
    bool old = r->store_time_ms > 0 && l->old_modified_ms[i] > 0 &&
               r->store_time_ms - l->old_modified_ms[i] > young_ms;
    if (!newest_two && (old || S3L_MUTANT(EPOCHS_SWEPT_YOUNG)))
      ep->sweep[ep->sweep_len++] = l->old[i];
  }
}

void s3l_epochs_tick(s3l_core_t* c, s3l_effects_t* fx) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep == NULL)
    return;
  if (ep->sweeping) {
    bool over = c->now >= ep->sweep_overdue_at || c->phase != S3L_PHASE_STANDING;
    if (over && !ep->sweep_cancelled) {
      ep->sweep_cancelled = true;
      (void)s3l_core_effect(fx, S3L_DO_GC_CANCEL);
    }
    return;
  }
  if (!c->leading || ep->sweep_len == 0 || S3L_MUTANT(EPOCHS_NEVER_SWEPT))
    return;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_GC);
  e->file = ep->sweep[0];
  e->timeout_ms = c->config.request_timeout_ms;
  ep->sweeping = true;
  ep->sweep_cancelled = false;
  ep->sweep_overdue_at = s3l_ns_add(c->now, e->timeout_ms * S3L_MS + S3L_OVERDUE);
}

void s3l_epochs_swept(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  S3L_ASSERT(ep != NULL && ep->sweeping);
  ep->sweeping = false;
  if (r->status == 0 || r->status == S3LECT_ENOTFOUND) {
    ep->sweep_len--;
    memmove(ep->sweep, ep->sweep + 1, ep->sweep_len * sizeof ep->sweep[0]);
    return;
  }
  ep->sweep_len = 0; /* what failed comes again with the next listing */
  if (!s3l_error_is_lasting(r->status))
    return;
  ep->sweep_pause = S3L_EPOCHS_GC_PAUSE;
  if (!ep->sweep_told)
    s3l_core_error(c, fx, r->status, r->message);
  ep->sweep_told = true;
}

bool s3l_epochs_is_sweeping(const s3l_core_t* c) {
  return c->config.epochs != NULL && c->config.epochs->sweeping;
}

s3l_ns_t s3l_epochs_deadline(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return ep != NULL && ep->sweeping && !ep->sweep_cancelled ? ep->sweep_overdue_at : S3L_NEVER;
}
