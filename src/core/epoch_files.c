/* core/epoch_files.c: the protocol of one file per leadership: what may be written, when, and what
 * it is good for. How the files are read: epoch_reads.c; how old ones are removed: epoch_gc.c.
 *
 * A read is made of requests, one at a time: a listing finds the highest file, then that is read by
 * its key. The file decides, because reading it shows the newest write; a listing only shows that
 * there is no higher file. A listing may lag by less than a leader timeout. One that does not show
 * the observed file says nothing: that file is neither led nor replaced because of it.
 *
 * Creating the next file is no swap on the one before. What makes up for it:
 *   - a follower creates only after a read that was sent at the end of its observation, or later,
 *     and that still shows the same file, ETag and Last-Modified alike (confirmed);
 *   - validity is renewed only while it lasts, and an epoch that was led is never led again;
 *   - a leader is valid for as long after its last clean listing, which shows its file and none
 *     above, as after its last write (last_clean_list): a file above its own, wherever it comes
 *     from, ends its leadership within a leader timeout of landing. So an elector that watched a
 *     file stand alone for that long may lead.
 *
 * Files may be deleted by hand. The highest number ever observed is remembered: if the file of that
 * number is gone, the files below it say nothing, and count as absence. Files that nobody observed
 * are not remembered; therefore a released file invites only electors that have watched for a whole
 * leader timeout, without a gap in which a file could have come and gone (watched_from).
 *
 * All files may be deleted between the last read and the create, or before the create lands, late.
 * So the predecessor is read once more after the create has been applied. If it does not stand
 * there any more as it was, the elector's own file is orphaned and counts as a claim over absence:
 * it is neither led, nor replaced by its maker before others may. The same holds if another
 * elector's file of its number has been observed, which was deleted since.
 *
 * Over absence the claim is provisional, as it is over an absent lockfile (core.h): its number
 * comes from the store's time in seconds, so that epochs do not go back, and its maker leads by the
 * next file. Claims of that kind that others made are the first files of a line, and do not count.
 */
#include <string.h>

#include "core/effects.h"
#include "core/epoch_gc.h"
#include "core/epoch_reads.h"
#include "core/epoch_rules.h"
#include "core/observation.h"
#include "core/record.h"
#include "s3lect/errno.h"

/* Writes. */

static uint64_t next_epoch(const s3l_core_t* c) {
  if (!s3l_epoch_is_provisional(c))
    return c->config.epochs->file + 1;
  uint64_t ms = s3l_core_store_time(c);
  if (ms == 0 && c->epoch_seen == 0)
    ms = s3l_core_epoch_time(c->wall_ms);
  return s3l_larger(c->epoch_seen + 1, S3L_MUTANT(EPOCHS_RESTARTED) ? 0 : ms / 1000);
}

static void prepare(s3l_core_t* c, s3l_effect_t* e) {
  s3l_epochs_t* ep = c->config.epochs;
  ep->step = 0; /* of a read that was to go on */
  e->etag = "";
  if (c->op.kind == S3L_OP_TAKE_OVER) {
    c->op.epoch = next_epoch(c);
    e->condition = S3LECT_IF_ABSENT;
    ep->created = c->op.epoch;
    ep->predecessor = ep->file;
    ep->predecessor_etag = s3l_fingerprint(c->observed.etag);
    ep->predecessor_modified_ms = ep->modified_ms;
  } else if (ep->unconditional > 0) {
    e->condition = S3LECT_ALWAYS;
    ep->unconditional--;
  } else {
    e->condition = S3LECT_IF_MATCH;
    e->etag = c->observed.etag;
  }
  ep->written = c->op.epoch;
  e->file = c->op.epoch;
}

/* The store may have no If-Match. */
static bool adapts(s3l_core_t* c, const s3l_op_t* op, const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  bool refuses = r->status == S3LECT_EUNSUPPORTED || r->status == S3LECT_EREFUSED;
  if (ep->unconditional > 0 || !refuses || r->outcome == S3LECT_UNCERTAIN ||
      op->kind == S3L_OP_TAKE_OVER)
    return false;
  ep->unconditional = S3L_MUTANT(EPOCHS_NEVER_PLAIN) ? 0 : S3L_EPOCHS_UNCONDITIONAL;
  ep->no_if_match = true;
  c->not_before = c->now;
  return true;
}

/* Take-overs. */

static s3l_ns_t takeover_at(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  const s3l_observation_t* v = &c->observed;
  s3l_ns_t wait = s3l_observation_wait(c);
  s3l_ns_t first = s3l_ns_add(c->now, s3l_successor_priority(c));
  if (v->kind == S3L_OBSERVED_ABSENT ||
      s3l_epoch_is_orphan(c)) /* an own late release may name one */
    return s3l_later(s3l_ns_add(c->now, S3L_EPOCH_SEED_WAIT), first);
  if (v->kind == S3L_OBSERVED_RECORD && v->record.released) {
    /* If there was no file before, an old write brought it back, or a whole leadership was missed.
     */
    s3l_ns_t from = s3l_later(ep->came_at, ep->watched_from);
    return s3l_later(s3l_ns_add(from, wait), first);
  }
  if (S3L_MUTANT(EPOCHS_DAMAGE_IS_FREEDOM) && v->kind == S3L_OBSERVED_FOREIGN)
    return c->now;
  if (v->own && !c->provisional)
    return c->now;
  /* A leader may learn of a claim later by as much as listings lag, and its maker goes first. */
  if (s3l_epoch_is_first(v) && !S3L_MUTANT(EPOCHS_CLAIM_HASTE))
    wait *= v->own ? 2 : 3;
  /* Last-Modified has a grain of a second: within it an old body may come back unnoticed. */
  return s3l_ns_add(s3l_ns_add(c->now, wait),
                    ep->same_second ? s3l_lease_wait(S3L_SECOND, c->config.drift_ppm) : 0);
}

/* Whether everything but time allows to create the next file at `t`. */
static bool may_create(const s3l_core_t* c, s3l_ns_t t) {
  const s3l_epochs_t* ep = c->config.epochs;
  const s3l_observation_t* v = &c->observed;
  if (!s3l_epoch_is_listed(c, t, 2))
    return false;
  if (s3l_is_own_claim(c) && !c->provisional)
    return s3l_epoch_is_checked(c) || S3L_MUTANT(EPOCHS_OWN_UNCHECKED);
  bool invited = v->kind == S3L_OBSERVED_RECORD && v->record.released;
  return ep->confirmed || invited || (S3L_MUTANT(EPOCHS_UNCONFIRMED) && t >= v->takeover_at);
}

/* The next file is created only after one more read; a leader lists after each of its writes. */
static s3l_ns_t read_at(const s3l_core_t* c, s3l_ns_t at) {
  const s3l_epochs_t* ep = c->config.epochs;
  s3l_ns_t poll = s3l_later(c->poll_at, c->now);
  if (s3l_epoch_is_reading(c))
    return c->now;
  if (c->leading) {
    bool lists = ep->last_clean_list < c->renewed_at && !S3L_MUTANT(EPOCHS_UNLISTED);
    return lists ? c->poll_at : S3L_NEVER;
  }
  if (s3l_epoch_wants_check(c))
    return ep->failed ? poll : c->now;
  if (at == S3L_NEVER || may_create(c, at))
    return S3L_NEVER;
  return ep->failed || poll < at ? poll : at;
}

/* Leadership. */

/* Files may have been deleted, unnoticed, if they have not been watched since the sending. */
static bool is_orphaned(const s3l_core_t* c, const s3l_sent_t* sent) {
  return sent->at < c->config.epochs->watched_from || s3l_epoch_is_orphan(c);
}

static s3l_ns_t lease_from(const s3l_core_t* c, s3l_ns_t sent_at) {
  s3l_ns_t listed = c->config.epochs->last_clean_list;
  if (S3L_MUTANT(EPOCHS_UNLISTED))
    return sent_at;
  if (S3L_MUTANT(EPOCHS_LEASE_FROM_LISTING) && c->leading)
    return listed;
  return s3l_sooner(sent_at, listed);
}

/* Whether the observation is a file that was led, renewed by its leader since. With If-Match a
 * renewal lands only on the file that was led: that has not been deleted meanwhile. */
static bool is_late_renewal(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return s3l_is_own_claim(c) && ep->file == c->epoch && !ep->no_if_match &&
         c->observed.record.write > ep->led_write && !S3L_MUTANT(EPOCHS_OWN_DOUBTED);
}

static void observation_changed(s3l_core_t* c) {
  s3l_epochs_t* ep = c->config.epochs;
  bool kept = S3L_MUTANT(EPOCHS_CHECKED_ONCE) && ep->checked <= c->epoch;
  ep->confirmed = false;
  if (ep->file < S3L_EPOCHS_MAX)
    ep->below_top = s3l_larger(ep->below_top, ep->file);
  if (!c->observed.own)
    ep->others = s3l_larger(ep->others, ep->file);
  if (!c->leading && !is_late_renewal(c) && !kept)
    ep->checked = 0;
}

static void start(s3l_core_t* c) {
  s3l_epochs_t* ep = c->config.epochs;
  *ep = (s3l_epochs_t){.keep = ep->keep,
                       .unconditional = ep->unconditional,
                       .no_if_match = ep->no_if_match,
                       .below_top = ep->below_top};
}

static void inform(s3l_core_t* c, s3l_inform_t what, const s3l_op_t* op) {
  s3l_epochs_t* ep = c->config.epochs;
  switch (what) {
  case S3L_INFORM_START:
    start(c);
    return;
  case S3L_INFORM_VALID:
    s3l_epoch_valid(c);
    return;
  case S3L_INFORM_LEADING:
    ep->gc_reported = false;
    ep->led_write = c->write;
    return;
  case S3L_INFORM_WRITTEN:
    if (ep->file != op->epoch)
      ep->last_clean_list = 0;
    ep->file = op->epoch;
    ep->modified_ms = 0;
    ep->same_second = false;
    break;
  case S3L_INFORM_ANSWERED:
    ep->modified_ms = 0;
    ep->answered_ms = s3l_core_store_time(c);
    ep->same_second = false;
    break;
  case S3L_INFORM_READ:
    break;
  }
  observation_changed(c);
}

const s3l_protocol_t s3l_epoch_files = {
    .epoch_max = S3L_EPOCHS_MAX,
    .epoch_max_why = "the epoch file lock-9999999998.json has the highest number there is, so "
                     "nobody can take over: delete it",
    .renewal_requests = 2,
    .listed = true,
    .encode = s3l_record_encode_file,
    .send_read = s3l_epoch_send_read,
    .read_done = s3l_epoch_read_done,
    .read_at = read_at,
    .takeover_at = takeover_at,
    .is_provisional = s3l_epoch_is_provisional,
    .is_orphaned = is_orphaned,
    .may_lead = s3l_epoch_is_checked,
    .lease_from = lease_from,
    .prepare = prepare,
    .adapts = adapts,
    .inform = inform,
    .garbage = s3l_epoch_garbage,
    .gc_done = s3l_epoch_gc_done,
};
