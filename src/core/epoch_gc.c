#include "core/epoch_gc.h"

#include <string.h>

#include "core/effects.h"
#include "s3lect/errno.h"
#include "util/error_kind.h"

/* Never the newest two files, nor one that is so young that a create under way might still want its
 * number. */
void s3l_epoch_gc_listed(s3l_core_t* c, const s3l_event_t* done) {
  s3l_epochs_t* ep = c->config.epochs;
  const s3l_listing_t* l = done->listing;
  int64_t now_ms = done->result->store_time_ms;
  s3l_ns_t t = (s3l_ns_t)s3l_larger(c->config.leader_timeout_ms, c->timeout_seen_ms);
  int64_t young_ms = 2 * s3l_lease_wait(t * S3L_MS, c->config.drift_ppm) / S3L_MS + 2000;
  if (c->gc_busy)
    return;
  ep->gc_len = 0;
  for (uint32_t i = 0; i < S3L_EPOCHS_GC && i + 1 < l->old_len; i++) {
    bool newest_two = l->old[S3L_MUTANT(EPOCHS_SWEPT_SECOND) ? i : i + 1] >= ep->file;
    bool old = now_ms > 0 && l->old_modified_ms[i] > 0 && now_ms - l->old_modified_ms[i] > young_ms;
    if (!newest_two && (old || S3L_MUTANT(EPOCHS_SWEPT_YOUNG)))
      ep->gc[ep->gc_len++] = l->old[i];
  }
}

uint64_t s3l_epoch_garbage(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return ep->gc_len > 0 && !S3L_MUTANT(EPOCHS_NEVER_SWEPT) ? ep->gc[0] : 0;
}

void s3l_epoch_gc_done(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  if (r->status == 0 || r->status == S3LECT_ENOTFOUND) {
    ep->gc_len--;
    memmove(ep->gc, ep->gc + 1, ep->gc_len * sizeof ep->gc[0]);
    return;
  }
  ep->gc_len = 0; /* the next listing shows again what was not removed */
  if (!s3l_error_is_lasting(r->status))
    return;
  ep->gc_pause = S3L_EPOCHS_GC_PAUSE;
  if (!ep->gc_reported)
    s3l_core_error(c, fx, r->status, r->message);
  ep->gc_reported = true;
}
