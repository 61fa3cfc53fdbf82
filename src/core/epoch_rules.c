#include "core/epoch_rules.h"

#include "core/observation.h"

bool s3l_epoch_is_first(const s3l_observation_t* v) {
  if (S3L_MUTANT(EPOCHS_CLAIM_COUNTED_ON) && !v->own)
    return false;
  return v->kind == S3L_OBSERVED_RECORD && v->record.claim;
}

/* Whether the elector's own claim over absence was applied soon after it was sent: then nobody can
 * have led within that time by a file that came after the absence. */
static bool landed_soon(const s3l_core_t* c) {
  const s3l_observation_t* v = &c->observed;
  const s3l_sent_t* s = s3l_core_sent(c, v->record.epoch, v->record.write);
  return v->own && s != NULL && v->first_seen - s->at <= s3l_core_hold(c) / 2 &&
         s->at >= c->config.epochs->watched_from;
}

/* Whether the predecessor of the elector's own file can be checked: only that of the last create is
 * remembered. A check would show nothing if another elector's file of that number has been
 * observed: that file was deleted by hand before this elector's create was applied. */
static bool knows_predecessor(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return ep->created == ep->file && ep->predecessor != 0 && ep->predecessor == ep->file - 1 &&
         (ep->file > ep->others || S3L_MUTANT(EPOCHS_TAKEN_NUMBER)) &&
         c->observed.record.epoch >= c->epoch_seen;
}

bool s3l_epoch_is_checked(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return ep->checked == ep->file || S3L_MUTANT(EPOCHS_BASE_UNSEEN) || S3L_MUTANT(EPOCHS_CLAIM_LED);
}

bool s3l_epoch_wants_check(const s3l_core_t* c) {
  const s3l_observed_record_t* r = &c->observed.record;
  bool wants =
      s3l_is_own_claim(c) && !c->provisional && !s3l_epoch_is_checked(c) && knows_predecessor(c);
  if (S3L_MUTANT(EPOCHS_OWN_UNCHECKED) && wants)
    return s3l_core_is_enough(c, s3l_core_sent(c, r->epoch, r->write)->at);
  return wants;
}

bool s3l_epoch_is_orphan(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  bool unknown = s3l_is_own_claim(c) && !s3l_epoch_is_first(&c->observed) &&
                 !knows_predecessor(c) && !s3l_epoch_is_checked(c);
  return c->observed.own && ep->file != 0 && (ep->orphaned == ep->file || unknown);
}

bool s3l_epoch_is_provisional(const s3l_core_t* c) {
  return c->observed.kind == S3L_OBSERVED_ABSENT || s3l_epoch_is_orphan(c) ||
         (s3l_epoch_is_first(&c->observed) && !landed_soon(c));
}

s3l_ns_t s3l_epoch_renewal_wait(const s3l_core_t* c) {
  return s3l_sooner(s3l_observed_renew_ms(c) * (2 * S3L_MS), s3l_observation_wait(c));
}

s3l_ns_t s3l_epoch_gap_max(const s3l_core_t* c) {
  const s3l_core_config_t* g = &c->config;
  uint64_t slow_ms = s3l_larger(g->infrequent_interval_ms, g->frequent_interval_ms);
  /* With peers the store is read more rarely, for as long as they answer. */
  s3l_ns_t reads = g->peer_mode ? 6 : 2;
  s3l_ns_t requests_ms = 4 * (s3l_ns_t)g->request_timeout_ms + S3L_RETRY_TOTAL_MS;
  s3l_ns_t unlisted = S3L_MUTANT(EPOCHS_SHORT_GAP) ? 0 : s3l_epoch_renewal_wait(c);
  return unlisted + (reads * (s3l_ns_t)slow_ms + requests_ms) * S3L_MS;
}

bool s3l_epoch_is_listed(const s3l_core_t* c, s3l_ns_t t, int part) {
  s3l_ns_t last = c->config.epochs->last_clean_list;
  return last > 0 && t - last <= s3l_core_hold(c) / part;
}
