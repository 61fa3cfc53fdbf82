/* core/lockfile.c: the protocol of one object, which is replaced by compare-and-swap. */
#include "core/effects.h"
#include "core/observation.h"
#include "core/poll.h"
#include "core/record.h"
#include "core/request.h"
#include "s3lect/errno.h"
#include "util/assert.h"

static void send_read(s3l_core_t* c, s3l_effects_t* fx) {
  (void)s3l_request_read(c, fx, S3L_DO_READ, !c->read_back);
}

static s3l_read_end_t read_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                                const s3l_event_t* done) {
  (void)op;
  const s3lect_store_result_t* r = done->result;
  if (r->status == S3LECT_ENOTMODIFIED)
    c->stats.reads_not_modified++;
  if (s3l_is_object(r))
    s3l_observe_lockfile(c, fx, r);
  else if (r->status == S3LECT_ENOTFOUND)
    s3l_observe_absence(c, fx);
  else if (r->status != S3LECT_ENOTMODIFIED || c->observed.etag[0] == '\0')
    return S3L_READ_FAILED;
  s3l_poll_read_over(c, r);
  return S3L_READ_COMPLETE;
}

static s3l_ns_t read_at(const s3l_core_t* c, s3l_ns_t takeover_at) {
  (void)c, (void)takeover_at;
  return S3L_NEVER;
}

static bool is_provisional(const s3l_core_t* c) {
  const s3l_observation_t* v = &c->observed;
  bool go_release = v->kind == S3L_OBSERVED_RECORD && v->record.released && v->record.epoch == 0;
  return v->kind == S3L_OBSERVED_ABSENT || (go_release && !S3L_MUTANT(FOREIGN_RELEASE_TRUSTED));
}

static s3l_ns_t takeover_at(const s3l_core_t* c) {
  const s3l_observation_t* v = &c->observed;
  int64_t age_ms = c->wall_ms - v->record.last_updated_ms;
  s3l_ns_t wait = s3l_observation_wait(c);
  if (is_provisional(c))
    return s3l_ns_add(c->now, S3L_EPOCH_SEED_WAIT); /* the claim then stands for the whole wait */
  if (v->kind == S3L_OBSERVED_RECORD && v->record.released)
    return s3l_ns_add(c->now, s3l_successor_priority(c));
  if (S3L_MUTANT(DAMAGE_IS_FREEDOM) && v->kind == S3L_OBSERVED_FOREIGN)
    return c->now;
  if (S3L_MUTANT(WALL_CLOCK_EXPIRY) && v->kind == S3L_OBSERVED_RECORD && age_ms > wait / S3L_MS)
    return c->now;
  if (v->own && !c->provisional)
    return c->now; /* only this incarnation can lead by it, and it knows whether it does */
  return s3l_ns_add(c->now, wait);
}

static bool is_orphaned(const s3l_core_t* c, const s3l_sent_t* sent) {
  (void)c, (void)sent;
  return false;
}

static bool may_lead(const s3l_core_t* c) {
  (void)c;
  return true;
}

static s3l_ns_t lease_from(const s3l_core_t* c, s3l_ns_t sent_at) {
  (void)c;
  return sent_at;
}

/* A claim of this elector that was never led may be led under the epoch that it has, unless a
 * higher epoch has been observed since, or may exist: a provisional claim may have been applied
 * late. */
static bool keeps_epoch(const s3l_core_t* c) {
  return s3l_is_own_claim(c) && c->observed.record.epoch > c->epoch &&
         c->observed.record.epoch >= c->epoch_seen &&
         (!c->provisional || S3L_MUTANT(STALE_EPOCH_KEPT));
}

static uint64_t next_epoch(const s3l_core_t* c) {
  if (keeps_epoch(c))
    return c->observed.record.epoch;
  const s3l_observed_record_t* r = &c->observed.record;
  if (S3L_MUTANT(EPOCH_NOT_RAISED) && r->epoch > 0)
    return r->epoch;
  uint64_t next = c->epoch_seen + 1;
  /* A claim, or a first leader's record over a provisional one, may have been applied late, with an
   * epoch from before others that its maker never observed: unless it was led, as a release tells,
   * it does not count. */
  bool late = (r->claim || r->transitions == 1) && !S3L_MUTANT(CLAIM_COUNTED_ON);
  bool counts = c->observed.kind == S3L_OBSERVED_RECORD && r->epoch > 0;
  if (counts && (!late || r->released))
    return next;
  uint64_t seed = s3l_core_store_time(c);
  if (seed == 0 && !counts)
    seed = s3l_core_epoch_time(c->wall_ms); /* better than to begin with 1 */
  return S3L_MUTANT(EPOCH_RESTARTED) ? next : s3l_larger(seed, next);
}

static void prepare(s3l_core_t* c, s3l_effect_t* e) {
  if (c->op.kind == S3L_OP_TAKE_OVER)
    c->op.epoch = next_epoch(c);
  e->etag = c->observed.etag;
  e->condition = e->etag[0] != '\0' ? S3LECT_IF_MATCH : S3LECT_IF_ABSENT;
}

static bool adapts(s3l_core_t* c, const s3l_op_t* op, const s3lect_store_result_t* r) {
  (void)c, (void)op, (void)r;
  return false;
}

static void inform(s3l_core_t* c, s3l_inform_t what, const s3l_op_t* op) {
  (void)c, (void)what, (void)op;
}

static uint64_t garbage(const s3l_core_t* c) {
  (void)c;
  return 0;
}

static void gc_done(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  (void)c, (void)fx, (void)r;
  S3L_UNREACHABLE();
}

const s3l_protocol_t s3l_lockfile = {
    .epoch_max = S3L_EPOCH_MAX,
    .renewal_requests = 1,
    .swaps = true,
    .anonymous_release = true,
    .grants = true,
    .encode = s3l_record_encode,
    .send_read = send_read,
    .read_done = read_done,
    .read_at = read_at,
    .takeover_at = takeover_at,
    .is_provisional = is_provisional,
    .is_orphaned = is_orphaned,
    .may_lead = may_lead,
    .lease_from = lease_from,
    .prepare = prepare,
    .adapts = adapts,
    .inform = inform,
    .garbage = garbage,
    .gc_done = gc_done,
};
