/* core/epochs.c: the epoch-file protocol: what may be written, when, and what it is good for. How
 * the files are read stands in epochs_read.c, how old ones are removed in epochs_sweep.c.
 *
 * A read is made of requests, one at a time: a listing finds the highest file, then that is read by
 * its key. What decides is the file, whose reads show the newest write; a listing only says that
 * there is no higher one. It may lag, as long as by less than a leader timeout. A listing that does
 * not show the file in view says nothing: the file is neither led nor replaced by what it shows.
 *
 * Creating the next file is no swap on the one before. What makes up for it:
 *   - a follower creates only after a read that was sent at the end of its observation, or later,
 *     and that still shows the same file, ETag and Last-Modified alike (confirmed);
 *   - validity is renewed only while it lasts, and an epoch that was led is never led again;
 *   - a leader is valid for as long after its last clean listing, which shows its file and none
 * above, as after its last write (last_clean_list): a file above its own, wherever it comes from,
 * ends its leadership within a leader timeout of its landing. So whoever watched a file stand alone
 * for that long may lead.
 *
 * Files may be deleted by hand. The highest number ever seen is remembered: where the file of that
 * number is gone, what is left below it says nothing, and counts as absence. Of what nobody could
 * see there is no memory; therefore a released file invites only those who have watched for a whole
 * leader timeout, without a gap in which a file could have come and gone (watched_from).
 *
 * All may be deleted in the moment between one's last look and one's create, or before that lands,
 * late. So the file over which one was created is read once more when that has landed; if it does
 * not stand there any more, as it was, one's own file is as good as a claim over absence: neither
 * led, nor replaced by its maker before others may. So it is if another's file of its number has
 * been seen: that was deleted since.
 *
 * Over absence the claim is provisional, as it is over an absent lockfile (core.h): its number
 * comes from the store's time in seconds, so that epochs do not go back, and its maker leads by the
 * next one. Others' claims of that kind, known by their being the first of a line, are not counted
 * on.
 */
#include <string.h>

#include "core/internal.h"
#include "s3lect/errno.h"
#include "util/assert.h"

void s3l_epochs_reset(s3l_core_t* c) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep == NULL)
    return;
  s3l_epochs_t kept = {.keep = ep->keep,
                       .plain = ep->plain,
                       .no_if_match = ep->no_if_match,
                       .below_top = ep->below_top};
  S3L_ASSERT(!ep->sweeping);
  *ep = kept;
}

/* What may be written. */

/* A file that is the first of a line and was never released: a claim over absence, or over another
 * such claim. It may have landed late, with a number from before others. */
static bool is_first_of_line(const s3l_observation_t* v) {
  if (S3L_MUTANT(EPOCHS_CLAIM_COUNTED_ON) && !v->own)
    return false;
  return v->kind == S3L_OBSERVED_RECORD && v->record.claim;
}

/* Whether one's own claim of that kind landed soon after it was sent: then nobody can have led
 * within that time by a file that came after the absence over which it was made. */
static bool landed_soon(const s3l_core_t* c) {
  const s3l_observation_t* v = &c->observed;
  const s3l_sent_t* s = s3l_write_sent(c, v->record.epoch, v->record.write);
  return v->own && s != NULL && v->first_seen - s->at <= s3l_lead_hold(c) / 2 &&
         s->at >= c->config.epochs->watched_from;
}

/* Whether it can be found out what the file of one's own in view was created over: only that of the
 * last create is remembered. And it would tell nothing where another's file of that number has been
 * seen: that was deleted by hand before one's own create landed. */
static bool knows_predecessor(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return ep->created == ep->file && ep->predecessor != 0 && ep->predecessor == ep->file - 1 &&
         (ep->file > ep->others || S3L_MUTANT(EPOCHS_TAKEN_NUMBER)) &&
         c->observed.record.epoch >= c->epoch_seen;
}

/* Whether the predecessor of the file in view, one's own, still stood when that had landed, as it
 * is now. Who does not lead finds that out anew for each of its writes: a second create of that
 * number, or an old renewal, may land when others have led, and everything has been deleted. */
bool s3l_epochs_is_checked(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return ep == NULL || ep->checked == ep->file || S3L_MUTANT(EPOCHS_BASE_UNSEEN) ||
         S3L_MUTANT(EPOCHS_CLAIM_LED);
}

/* A file of one's own whose predecessor is gone; or may be, for it cannot be found out any more. */
static bool is_orphaned(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  bool unknown = s3l_view_is_own_claim(c) && !is_first_of_line(&c->observed) &&
                 !knows_predecessor(c) && !s3l_epochs_is_checked(c);
  return c->observed.own && ep->file != 0 && (ep->orphaned == ep->file || unknown);
}

bool s3l_epochs_is_claim(const s3l_core_t* c) {
  return c->config.epochs != NULL && is_first_of_line(&c->observed);
}

bool s3l_epochs_is_unfounded(const s3l_core_t* c) {
  return c->observed.kind == S3L_OBSERVED_ABSENT || is_orphaned(c) ||
         (is_first_of_line(&c->observed) && !landed_soon(c));
}

/* The files have not been watched since it was sent: they may have been deleted in between. */
bool s3l_epochs_is_unwatched(const s3l_core_t* c, const s3l_sent_t* sent) {
  return sent == NULL || sent->at < c->config.epochs->watched_from || is_orphaned(c);
}

bool s3l_epochs_wants_check(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return ep != NULL && s3l_view_is_own_claim(c) && !c->provisional && !s3l_epochs_is_checked(c) &&
         knows_predecessor(c) &&
         !(S3L_MUTANT(EPOCHS_OWN_UNCHECKED) &&
           !s3l_lead_is_enough(
               c, s3l_write_sent(c, c->observed.record.epoch, c->observed.record.write)->at));
}

uint64_t s3l_epochs_next(const s3l_core_t* c, uint64_t store_ms) {
  if (!s3l_epochs_is_unfounded(c))
    return c->config.epochs->file + 1;
  uint64_t ms = store_ms > 0 || c->epoch_seen > 0 ? store_ms : s3l_write_epoch_time(c->wall_ms);
  return s3l_larger(c->epoch_seen + 1, S3L_MUTANT(EPOCHS_RESTARTED) ? 0 : ms / 1000);
}

s3l_ns_t s3l_epochs_legal_at(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  const s3l_observation_t* v = &c->observed;
  s3l_ns_t wait = s3l_view_wait(c);
  s3l_ns_t first = s3l_ns_add(c->now, s3l_view_head_start(c));
  if (v->kind == S3L_OBSERVED_ABSENT || is_orphaned(c)) {
    s3l_ns_t seed = s3l_ns_add(c->now, S3L_EPOCH_SEED_WAIT);
    return seed > first ? seed : first; /* the elector's own late release may name a successor */
  }
  if (v->kind == S3L_OBSERVED_RECORD && v->record.released) {
    /* Where there was none an old write brought it back, or a whole leadership was missed. */
    s3l_ns_t from = ep->came_at > ep->watched_from ? ep->came_at : ep->watched_from;
    s3l_ns_t watched = s3l_ns_add(from, wait);
    return watched > first ? watched : first;
  }
  if (S3L_MUTANT(EPOCHS_DAMAGE_IS_FREEDOM) && v->kind == S3L_OBSERVED_FOREIGN)
    return c->now;
  if (v->own && !c->provisional)
    return c->now;
  if (is_first_of_line(v)) /* a leader may learn of it later by as much as listings lag, */
    wait *= S3L_MUTANT(EPOCHS_CLAIM_HASTE) ? 1 : v->own ? 2 : 3; /* and its maker goes first */
  /* Last-Modified has a grain of a second: within it an old body may come back unnoticed. */
  return s3l_ns_add(s3l_ns_add(c->now, wait),
                    ep->same_second ? s3l_lease_wait(S3L_SECOND, c->config.drift_ppm) : 0);
}

/* Everything but time allows to create the next file at `t`. */
bool s3l_epochs_may_create(const s3l_core_t* c, s3l_ns_t t) {
  const s3l_epochs_t* ep = c->config.epochs;
  const s3l_observation_t* v = &c->observed;
  bool fresh = ep->last_clean_list > 0 && t - ep->last_clean_list <= s3l_lead_hold(c) / 2;
  if (s3l_view_is_own_claim(c) && !c->provisional)
    return fresh && (s3l_epochs_is_checked(c) || S3L_MUTANT(EPOCHS_OWN_UNCHECKED));
  bool invited = v->kind == S3L_OBSERVED_RECORD && v->record.released;
  return fresh &&
         (ep->confirmed || invited || (S3L_MUTANT(EPOCHS_UNCONFIRMED) && t >= v->takeover_at));
}

/* Writes. */

void s3l_epochs_sending(s3l_core_t* c, s3l_effect_t* e) {
  s3l_epochs_t* ep = c->config.epochs;
  ep->written = c->op.epoch;
  ep->step = 0; /* of a read that was to go on */
  if (c->op.kind == S3L_OP_TAKE_OVER) {
    ep->created = c->op.epoch;
    ep->predecessor = ep->file;
    ep->predecessor_etag = s3l_view_fingerprint(c->observed.etag);
    ep->predecessor_modified_ms = ep->modified_ms;
  }
  e->file = c->op.epoch;
  e->condition = c->op.kind == S3L_OP_TAKE_OVER ? S3LECT_IF_ABSENT
                 : ep->plain > 0                ? S3LECT_ALWAYS
                                                : S3LECT_IF_MATCH;
  if (e->condition != S3LECT_IF_MATCH)
    e->etag = "";
  if (e->condition == S3LECT_ALWAYS)
    ep->plain--;
}

bool s3l_epochs_learns_plain(s3l_core_t* c, const s3l_op_t* op, const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  bool refuses = r->status == S3LECT_EUNSUPPORTED || r->status == S3LECT_EREFUSED;
  if (ep == NULL || ep->plain > 0 || !refuses || r->outcome == S3LECT_UNCERTAIN ||
      op->kind == S3L_OP_TAKE_OVER)
    return false;
  ep->plain = S3L_MUTANT(EPOCHS_NEVER_PLAIN) ? 0 : S3L_EPOCHS_UNCONDITIONAL;
  ep->no_if_match = true;
  c->not_before = c->now;
  return true;
}

void s3l_epochs_wrote(s3l_core_t* c, const s3l_op_t* op) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep == NULL)
    return;
  if (ep->file != op->epoch)
    ep->last_clean_list = 0;
  ep->file = op->epoch;
  ep->modified_ms = 0;
  ep->same_second = false;
}

void s3l_epochs_told(s3l_core_t* c) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep == NULL)
    return;
  ep->modified_ms = 0;
  ep->told_ms = s3l_write_store_time(c);
  ep->same_second = false;
}

/* Whether the view is a file that was led, renewed by its leader since. With If-Match a renewal
 * lands on the file that was led, and on nothing else: it has not been deleted meanwhile. */
static bool is_late_renewal(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return s3l_view_is_own_claim(c) && ep->file == c->epoch_led && !ep->no_if_match &&
         c->observed.record.write > ep->led_write && !S3L_MUTANT(EPOCHS_OWN_DOUBTED);
}

void s3l_epochs_view_changed(s3l_core_t* c) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep == NULL)
    return;
  ep->confirmed = false;
  if (ep->file < S3L_EPOCHS_MAX)
    ep->below_top = s3l_larger(ep->below_top, ep->file);
  if (!c->observed.own)
    ep->others = s3l_larger(ep->others, ep->file);
  bool kept = S3L_MUTANT(EPOCHS_CHECKED_ONCE) && ep->checked <= c->epoch_led;
  if (!c->leading && !is_late_renewal(c) && !kept)
    ep->checked = 0;
}

/* Leadership. */

s3l_ns_t s3l_epochs_lease_from(const s3l_core_t* c, s3l_ns_t sent_at) {
  const s3l_epochs_t* ep = c->config.epochs;
  if (S3L_MUTANT(EPOCHS_UNLISTED))
    return sent_at;
  if (S3L_MUTANT(EPOCHS_LEASE_FROM_LISTING) && ep != NULL && c->leading)
    return ep->last_clean_list;
  return ep == NULL || sent_at < ep->last_clean_list ? sent_at : ep->last_clean_list;
}

s3l_ns_t s3l_epochs_valid_at_most(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  s3l_ns_t most = ep != NULL ? s3l_ns_add(ep->renewed_at, s3l_lead_hold(c)) : 0;
  return most > c->valid_until ? most : c->valid_until;
}

/* The listing is due. */
static void look_now(s3l_core_t* c, s3l_ns_t sent_at) {
  c->config.epochs->renewed_at = sent_at;
  c->poll_at = c->now;
  c->poll_attempt = 0;
}

void s3l_epochs_leads(s3l_core_t* c, s3l_ns_t sent_at) {
  if (c->config.epochs == NULL)
    return;
  c->config.epochs->sweep_told = false;
  c->config.epochs->led_write = c->write;
  look_now(c, sent_at);
}

bool s3l_epochs_wrote_newer(s3l_core_t* c, s3l_ns_t sent_at) {
  if (sent_at <= c->config.epochs->renewed_at)
    return false;
  look_now(c, sent_at);
  return true;
}

s3l_ns_t s3l_epochs_look_at(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  if (ep == NULL || !c->leading)
    return S3L_NEVER;
  if (s3l_epochs_is_reading(c))
    return c->now;
  return ep->last_clean_list < ep->renewed_at && !S3L_MUTANT(EPOCHS_UNLISTED) ? c->poll_at
                                                                              : S3L_NEVER;
}
