#include "core/epoch_reads.h"

#include <string.h>

#include "core/effects.h"
#include "core/epoch_gc.h"
#include "core/epoch_rules.h"
#include "core/observation.h"
#include "core/poll.h"
#include "core/request.h"
#include "s3lect/errno.h"
#include "util/assert.h"

/* What a read is for, which decides its requests. It ends with the observation as it is now, or
 * with a failure, after which the next read begins anew. */
typedef enum {
  READ_WHOLE = 0,   /* the listing, then the highest file */
  READ_IF_CHANGED,  /* the observed file, if it changed: enough under a leader that renews */
  READ_CONFIRM,     /* the observed file, once more: the listing is fresh */
  READ_WRITTEN,     /* the file last written: did that write land? */
  READ_PREDECESSOR, /* the file over which the observed one was created: does it still stand? */
} read_t;

typedef enum { STEP_NONE = 0, STEP_LIST, STEP_FILE } step_t;

/* Reads. */

static read_t which_read(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  const s3l_observation_t* v = &c->observed;
  if (c->read_back && ep->written != 0)
    return READ_WRITTEN;
  if (c->leading || ep->file == 0)
    return READ_WHOLE;
  if (s3l_epoch_wants_check(c)) {
    /* After a gap the elector's last epoch is waited for like any other: its predecessor says
     * nothing then. */
    bool gap = ep->file <= c->epoch && c->now - ep->looked_at > s3l_epoch_gap_max(c);
    return gap ? READ_WHOLE : READ_PREDECESSOR;
  }
  if (!c->watching && v->kind == S3L_OBSERVED_RECORD && !v->record.released)
    return S3L_MUTANT(EPOCHS_ALWAYS_LISTING) ? READ_WHOLE : READ_IF_CHANGED;
  bool confirms =
      s3l_epoch_is_listed(c, c->now, 3) && !s3l_epoch_is_provisional(c) && c->now >= v->takeover_at;
  return confirms ? READ_CONFIRM : READ_WHOLE;
}

/* Whether a listing begins with the oldest files, to remove some of them. */
static bool lists_old(const s3l_core_t* c) {
  const s3l_epochs_t* ep = c->config.epochs;
  return c->leading && !ep->keep && !ep->skips && ep->gc_pause == 0;
}

static void send_list(s3l_core_t* c, s3l_effects_t* fx) {
  s3l_epochs_t* ep = c->config.epochs;
  bool from_oldest = lists_old(c);
  if (!ep->more) {
    ep->list_sent = c->now;
    ep->found = 0;
  }
  s3l_effect_t* e = s3l_request_read(c, fx, S3L_DO_LIST, false);
  e->file =
      from_oldest || c->epoch_seen == 0 || S3L_MUTANT(EPOCHS_FORGOTTEN) ? 0 : c->epoch_seen - 1;
  e->more = ep->more;
}

static void send_file(s3l_core_t* c, s3l_effects_t* fx) {
  s3l_epochs_t* ep = c->config.epochs;
  s3l_request_read(c, fx, S3L_DO_READ, ep->read == READ_IF_CHANGED)->file = ep->asked;
}

void s3l_epoch_send_read(s3l_core_t* c, s3l_effects_t* fx) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep->step == STEP_NONE) {
    ep->read = (uint8_t)which_read(c);
    ep->step = ep->read == READ_WHOLE ? STEP_LIST : STEP_FILE;
    ep->asked = ep->read == READ_WRITTEN       ? ep->written
                : ep->read == READ_PREDECESSOR ? ep->predecessor
                                               : ep->file;
    ep->more = false;
    ep->skips = false;
    ep->read_sent = c->now;
  }
  if (ep->step == STEP_LIST)
    send_list(c, fx);
  else
    send_file(c, fx);
}

bool s3l_epoch_is_reading(const s3l_core_t* c) {
  return c->config.epochs->step != STEP_NONE;
}

/* Replies. */

static s3l_read_end_t fails(s3l_epochs_t* ep) {
  ep->step = STEP_NONE;
  ep->failed = true;
  return S3L_READ_FAILED;
}

static s3l_read_end_t goes_on_with(s3l_epochs_t* ep, step_t step) {
  if (step == STEP_LIST)
    ep->read = READ_WHOLE;
  ep->step = (uint8_t)step;
  return S3L_READ_GOES_ON;
}

/* A look at the files is complete. After a gap all that was observed before is forgotten. */
static void watch(s3l_core_t* c) {
  s3l_epochs_t* ep = c->config.epochs;
  bool broken = ep->looked_at == 0 || c->now - ep->looked_at > s3l_epoch_gap_max(c);
  ep->looked_at = ep->read_sent;
  if (!broken)
    return;
  ep->watched_from = c->now;
  s3l_observe_again(c);
  ep->confirmed = false;
}

/* The listing did not show the observed file, which a read by its key showed. The files are listed
 * again, soon at first: a listing may lag by less than a leader timeout. If it lags longer, this
 * store does not show its files, and nobody can tell whether there is a higher one. */
static void list_again(s3l_core_t* c, s3l_effects_t* fx) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep->lags == 0)
    ep->lags_from = ep->list_sent;
  /* An old write may have created the file again, unchanged, long after it was first seen. */
  s3l_ns_t from = s3l_later(ep->lags_from, c->observed.first_seen);
  bool overdue = ep->list_sent - from > s3l_observation_wait(c);
  uint32_t tenth_ms = c->config.leader_timeout_ms / 10;
  uint32_t slow_ms = c->config.frequent_interval_ms;
  if (ep->lags <= S3L_RETRIES)
    ep->lags++;
  s3l_ns_t delay = s3l_retry_delay(ep->lags);
  if (delay == S3L_NEVER && overdue)
    s3l_core_error(c, fx, S3LECT_EUNSAFE,
                   "listings do not show the newest epoch file, which a read by its key shows: "
                   "nobody leads here until they do; use another prefix, without empty, \".\" and "
                   "\"..\" segments, or the lockfile protocol");
  if (delay == S3L_NEVER)
    delay = s3l_core_jitter(c, overdue || slow_ms < tenth_ms ? slow_ms : tenth_ms);
  c->poll_at = s3l_ns_add(c->now, delay);
}

static s3l_read_end_t ends(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                           const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  bool unshown = ep->read == READ_WHOLE && ep->file != 0 && ep->found != ep->file;
  if (ep->read == READ_WHOLE)
    ep->last_clean_list = unshown && !S3L_MUTANT(EPOCHS_UNSHOWN) ? 0 : ep->list_sent;
  if (ep->read == READ_WHOLE || ep->read == READ_IF_CHANGED)
    watch(c);
  s3l_ns_t sent = s3l_epoch_is_provisional(c) ? ep->list_sent : op->sent_at;
  s3l_ns_t read_at = S3L_MUTANT(EPOCHS_READ_BEFORE) ? c->now : sent;
  ep->confirmed =
      (ep->confirmed || read_at >= c->observed.takeover_at) && c->observed.first_seen < sent;
  s3l_poll_read_over(c, r);
  if (c->leading)
    c->poll_at = c->now; /* a leader's listings are spaced out by its renewals alone */
  if (unshown)
    list_again(c, fx);
  else
    ep->lags = 0;
  ep->step = STEP_NONE;
  ep->failed = unshown;
  return S3L_READ_COMPLETE;
}

/* Whether a listing that shows the elector's own file as the newest is all that it needs: it leads
 * by that file, or is about to. */
static bool needs_listing_only(const s3l_core_t* c) {
  const s3l_observed_record_t* r = &c->observed.record;
  bool unused = s3l_is_sound_claim(c) && r->epoch > c->epoch;
  const s3l_sent_t* sent = unused ? s3l_core_sent(c, r->epoch, r->write) : NULL;
  return c->leading || (sent != NULL && s3l_core_is_enough(c, sent->at));
}

static s3l_read_end_t listed(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                             const s3l_event_t* ev) {
  const s3lect_store_result_t* r = ev->result;
  s3l_epochs_t* ep = c->config.epochs;
  if (r->status != 0 || ev->listing == NULL)
    return fails(ep);
  bool from_oldest = lists_old(c);
  ep->found = s3l_larger(ep->found, ev->listing->highest);
  if (S3L_MUTANT(EPOCHS_NEXT_ONLY) && ep->file != 0 && ep->found > ep->file + 1)
    ep->found = ep->file;
  if (from_oldest)
    s3l_epoch_gc_listed(c, ev);
  else if (c->leading && ep->gc_pause > 0 && !ev->listing->truncated)
    ep->gc_pause--;
  if (ev->listing->truncated) {
    ep->skips = ep->skips || from_oldest;
    ep->more = !from_oldest;
    return S3L_READ_GOES_ON;
  }
  ep->more = false;
  if (needs_listing_only(c) && ep->found == ep->file) {
    ep->last_clean_list = ep->list_sent;
    ep->lags = 0;
    watch(c);
    if (!c->leading)
      s3l_poll_read_over(c, r);
    ep->step = STEP_NONE;
    ep->failed = false;
    return S3L_READ_COMPLETE;
  }
  if (ep->found != ep->file) {
    ep->confirmed = ep->confirmed && ep->found == 0;
    ep->last_clean_list = 0;
  }
  ep->asked = S3L_MUTANT(EPOCHS_FORGOTTEN) ? ep->found : s3l_larger(ep->found, c->epoch_seen);
  if (S3L_MUTANT(EPOCHS_LISTING_BELIEVED))
    ep->asked = ep->found;
  if (ep->asked != 0)
    return goes_on_with(ep, STEP_FILE);
  s3l_observe_absence(c, fx);
  return ends(c, fx, op, r);
}

/* A read by key shows the file. */
static void show(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  bool same = ep->asked == ep->file && strcmp(r->etag, c->observed.etag) == 0;
  /* Neither the reply to a write nor a leader's answer has a Last-Modified. For a write that was
   * learned from the leader's answer it must lie before that answer: else there was another write
   * in between. */
  bool before = r->modified_ms > 0 && (uint64_t)r->modified_ms + 1000 <= ep->answered_ms;
  if (same && ep->modified_ms == 0 && (c->observed.own || before || S3L_MUTANT(EPOCHS_TOLD_BEFORE)))
    ep->modified_ms = r->modified_ms;
  if (same && (r->modified_ms == ep->modified_ms || S3L_MUTANT(EPOCHS_ETAG_ONLY)))
    return;
  if (ep->asked != ep->file)
    ep->last_clean_list = 0;
  if (c->observed.kind == S3L_OBSERVED_ABSENT)
    ep->came_at = c->now;
  ep->file = ep->asked;
  ep->modified_ms = r->modified_ms;
  ep->same_second = r->modified_ms <= 0 || r->store_time_ms / 1000 <= r->modified_ms / 1000;
  c->epoch_seen = s3l_larger(c->epoch_seen, ep->file);
  s3l_observe_file(c, fx, r, ep->file);
}

/* The predecessor of the elector's own file, read after that had been applied. */
static s3l_read_end_t predecessor_shown(s3l_core_t* c, const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  bool there = s3l_is_object(r);
  if (!there && r->status != S3LECT_ENOTFOUND)
    return fails(ep);
  /* Others may have led, by a file that is gone, since the last look. */
  bool watched = c->now - ep->looked_at <= s3l_epoch_gap_max(c);
  if (there && watched && s3l_fingerprint(r->etag) == ep->predecessor_etag &&
      (S3L_MUTANT(EPOCHS_ETAG_ONLY) || r->modified_ms == ep->predecessor_modified_ms ||
       ep->predecessor_modified_ms == 0)) {
    ep->checked = ep->file;
  } else {
    ep->orphaned = ep->file;
    ep->confirmed = false;
    s3l_observe_again(c);
  }
  ep->step = STEP_NONE;
  ep->failed = false;
  return S3L_READ_COMPLETE;
}

static s3l_read_end_t shown(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                            const s3lect_store_result_t* r) {
  s3l_epochs_t* ep = c->config.epochs;
  if (ep->read == READ_PREDECESSOR)
    return predecessor_shown(c, r);
  if (r->status == S3LECT_ENOTMODIFIED && op->conditional) {
    c->stats.reads_not_modified++;
    if (c->now - c->observed.first_seen >= s3l_epoch_renewal_wait(c))
      return goes_on_with(ep, STEP_LIST); /* its leader does not renew: is there a higher file? */
    ep->read = READ_CONFIRM; /* not a look: it does not show whether the leader is alive */
    return ends(c, fx, op, r);
  }
  if (r->status == S3LECT_ENOTFOUND) {
    if (ep->read != READ_WHOLE)
      return goes_on_with(ep, STEP_LIST);
    if (ep->asked == ep->found)
      return fails(ep); /* deleted since it was listed, or the listing lags */
    if (ep->asked == S3L_EPOCHS_MAX && c->epoch < S3L_EPOCHS_MAX) {
      c->epoch_seen = s3l_larger(ep->below_top, c->epoch); /* made by hand, and deleted */
      ep->others = c->epoch_seen;
    }
    ep->file = 0;
    ep->modified_ms = 0;
    s3l_observe_absence(c, fx);
    return ends(c, fx, op, r);
  }
  if (!s3l_is_object(r))
    return fails(ep);
  show(c, fx, r);
  bool renewed = c->observed.first_seen == c->now && c->observed.renewing;
  if (ep->read == READ_IF_CHANGED && !renewed)
    return goes_on_with(ep, STEP_LIST);
  return ends(c, fx, op, r);
}

s3l_read_end_t s3l_epoch_read_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                                   const s3l_event_t* ev) {
  S3L_ASSERT(s3l_epoch_is_reading(c));
  return c->config.epochs->step == STEP_LIST ? listed(c, fx, op, ev) : shown(c, fx, op, ev->result);
}

/* That counts as a look: above the file of a valid leader there is none. */
void s3l_epoch_valid(s3l_core_t* c) {
  s3l_epochs_t* ep = c->config.epochs;
  s3l_ns_t probed_at = c->peer.sent_at;
  if (ep->looked_at != 0 && probed_at > ep->looked_at &&
      c->now - ep->looked_at <= s3l_epoch_gap_max(c))
    ep->looked_at = probed_at;
}
