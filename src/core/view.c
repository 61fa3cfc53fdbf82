/* core/view.c: what a reply shows of the lockfile, and when what it shows may be replaced.
 *
 * The observation (design rule 3) restarts whenever the ETag changes: what counts is how long this
 * elector itself has seen one version stand, by its own clock, from the receipt of the first reply
 * that showed it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/internal.h"
#include "core/record.h"
#include "s3lect/errno.h"
#include "util/assert.h"

/* Margin of the store-clock shortcut: Date and Last-Modified each have a grain of one second. */
#define STORE_CLOCK_MARGIN (2 * S3L_SECOND)
/* FNV-1a over a string and its NUL. */
#define FINGERPRINT_OF_NOTHING UINT64_C(0xcbf29ce484222325)
static uint64_t fingerprint(uint64_t h, const char* s) {
  do {
    h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
  } while (*s++ != '\0');
  return h;
}

uint64_t s3l_view_fingerprint(const char* text) {
  return fingerprint(FINGERPRINT_OF_NOTHING, text);
}

static uint64_t leader_fingerprint(const s3l_observed_record_t* r) {
  return fingerprint(r->leader ^ r->epoch, r->incarnation);
}

/* Where its leader may be asked; nobody asks himself. */
static uint64_t peer_address(const s3l_core_t* c, const s3lect_record_t* r) {
  bool usable = r->leader_addr[0] != '\0' && strcmp(r->leader_addr, c->config.addr) != 0;
  return usable ? fingerprint(FINGERPRINT_OF_NOTHING, r->leader_addr) : 0;
}

s3l_observed_record_t s3l_view_without_names(const s3l_core_t* c, const s3lect_record_t* r) {
  /* Of an epoch file without an incarnation, damaged, copied or of others' making, nobody knows
   * whether it was led: that it has ended tells nothing of whoever led before. */
  bool vouched = c->config.epochs == NULL || r->incarnation[0] != '\0';
  bool succeeds = r->successor[0] == '\0' || strcmp(r->successor, c->config.id) == 0;
  s3l_observed_record_t kept = {
      .last_updated_ms = r->last_updated_ms,
      .epoch = r->epoch,
      .write = r->write,
      .acquired_ms = r->acquired_ms,
      .transitions = r->transitions,
      .leader = fingerprint(FINGERPRINT_OF_NOTHING, r->leader_id),
      .addr = peer_address(c, r),
      .leader_timeout_ms = r->leader_timeout_ms,
      .renew_interval_ms = r->renew_interval_ms,
      .released = r->released != 0 && vouched,
      .claim = r->claim != 0,
      .namesake = strcmp(r->leader_id, c->config.id) == 0,
      .successor_first = r->released != 0 && !succeeds,
  };
  memcpy(kept.incarnation, r->incarnation, sizeof kept.incarnation);
  return kept;
}

/* Whether the record in view is one that nobody leads by: a claim, or a record of one's own that is
 * as good as one, because what it was written over is gone. */
static bool is_provisional(const s3l_core_t* c) {
  return c->observed.record.claim || (c->observed.own && c->provisional);
}

bool s3l_core_names_leader(const s3l_core_t* c) {
  return c->observed.kind == S3L_OBSERVED_RECORD && !c->observed.record.released &&
         !is_provisional(c);
}

void s3l_core_record(const s3l_core_t* c, s3lect_record_t* r) {
  const s3l_observed_record_t* kept = &c->observed.record;
  memset(r, 0, sizeof *r);
  r->last_updated_ms = kept->last_updated_ms;
  r->epoch = kept->epoch;
  memcpy(r->incarnation, kept->incarnation, sizeof r->incarnation);
  r->write = kept->write;
  r->leader_timeout_ms = kept->leader_timeout_ms;
  r->renew_interval_ms = kept->renew_interval_ms;
  r->acquired_ms = kept->acquired_ms;
  r->transitions = kept->transitions;
  r->released = kept->released;
  r->claim = !kept->released && is_provisional(c);
}

bool s3l_view_is_own_claim(const s3l_core_t* c) {
  return c->observed.kind == S3L_OBSERVED_RECORD && c->observed.own && !c->observed.record.released;
}

uint32_t s3l_view_renew_ms(const s3l_core_t* c) {
  uint32_t ms = c->observed.record.renew_interval_ms;
  return ms > 0 ? ms : c->config.renew_interval_ms;
}

s3l_ns_t s3l_view_wait(const s3l_core_t* c) {
  uint32_t t = c->config.leader_timeout_ms;
  /* Of a record that is gone or unreadable, or was before one's own provisional claim, the timeout
   * is unknown: the largest one ever seen. */
  bool known = c->observed.kind == S3L_OBSERVED_RECORD && !(c->observed.own && c->provisional) &&
               !(c->config.epochs != NULL && s3l_epochs_is_unfounded(c));
  uint32_t seen = S3L_MUTANT(OWN_TIMEOUT_ONLY) ? 0
                  : known                      ? c->observed.record.leader_timeout_ms
                                               : c->timeout_seen_ms;
  return s3l_lease_wait((t > seen ? t : seen) * S3L_MS, c->config.drift_ppm);
}

/* Age by the store's own clock; -1 if the reply does not tell. */
static s3l_ns_t store_age(const s3lect_store_result_t* r) {
  if (r->store_time_ms <= 0 || r->modified_ms <= 0 || r->store_time_ms < r->modified_ms)
    return -1;
  int64_t ms = r->store_time_ms - r->modified_ms;
  return ms > S3L_NEVER / S3L_MS ? S3L_NEVER : ms * S3L_MS;
}

static void apply_store_clock(s3l_core_t* c, const s3lect_store_result_t* r) {
  s3l_ns_t age = store_age(r);
  if (!c->config.store_clock || age < 0 || c->observed.kind == S3L_OBSERVED_ABSENT ||
      s3l_epochs_is_claim(c))
    return;
  s3l_ns_t needed =
      s3l_ns_add(s3l_view_wait(c), S3L_MUTANT(STORE_CLOCK_NO_MARGIN) ? 0 : STORE_CLOCK_MARGIN);
  s3l_ns_t takeover_at = s3l_ns_add(c->now, needed > age ? needed - age : 0);
  if (takeover_at < c->observed.takeover_at)
    c->observed.takeover_at = takeover_at;
}

/* Whether a claim over this view is provisional. */
bool s3l_view_is_unfounded(const s3l_core_t* c) {
  const s3l_observation_t* v = &c->observed;
  if (c->config.epochs != NULL)
    return s3l_epochs_is_unfounded(c);
  return v->kind == S3L_OBSERVED_ABSENT ||
         (v->kind == S3L_OBSERVED_RECORD && v->record.released && v->record.epoch == 0 &&
          !S3L_MUTANT(FOREIGN_RELEASE_TRUSTED));
}

/* Whether the claim of one's own in view was an provisional one when it was made, or may have been.
 */
static bool made_unfounded(const s3l_core_t* c) {
  const s3l_sent_t* s = s3l_write_sent(c, c->observed.record.epoch, c->observed.record.write);
  if (S3L_MUTANT(EPOCHS_CLAIM_LED))
    return s == NULL;
  if (c->config.epochs != NULL && s3l_epochs_is_unwatched(c, s))
    return true;
  return (s == NULL || s->provisional) && !S3L_MUTANT(ABSENCE_IS_FREEDOM);
}

s3l_ns_t s3l_view_head_start(const s3l_core_t* c) {
  s3l_ns_t half = c->config.leader_timeout_ms * S3L_MS / 2;
  s3l_ns_t most = half < S3L_SUCCESSOR_PRIORITY ? half : S3L_SUCCESSOR_PRIORITY;
  return c->observed.record.successor_first && !S3L_MUTANT(NO_HEAD_START) ? most : 0;
}

static s3l_ns_t takeover_at(const s3l_core_t* c) {
  const s3l_observation_t* v = &c->observed;
  if (c->config.epochs != NULL)
    return s3l_epochs_legal_at(c);
  if (s3l_view_is_unfounded(c))
    return s3l_ns_add(c->now, S3L_EPOCH_SEED_WAIT); /* the claim then stands for the whole wait */
  if (v->kind == S3L_OBSERVED_RECORD && v->record.released)
    return s3l_ns_add(c->now, s3l_view_head_start(c));
  if (S3L_MUTANT(DAMAGE_IS_FREEDOM) && v->kind == S3L_OBSERVED_FOREIGN)
    return c->now;
  if (v->own && !c->provisional)
    return c->now; /* nobody but this incarnation can lead by it, and it knows whether it does */
  int64_t age_ms = c->wall_ms - v->record.last_updated_ms;
  if (S3L_MUTANT(WALL_CLOCK_EXPIRY) && v->kind == S3L_OBSERVED_RECORD &&
      age_ms > s3l_view_wait(c) / S3L_MS)
    return c->now;
  return s3l_ns_add(c->now, s3l_view_wait(c));
}

static bool same_leadership(const s3l_observed_record_t* a, const s3l_observed_record_t* b) {
  return a->epoch == b->epoch && !a->released && !b->released && a->leader == b->leader &&
         strcmp(a->incarnation, b->incarnation) == 0;
}

static bool same_write(const s3l_observed_record_t* a, const s3l_observed_record_t* b) {
  return a->incarnation[0] != '\0' && strcmp(a->incarnation, b->incarnation) == 0 &&
         a->write == b->write && a->released == b->released;
}

/* The lockfile is not what it was, but fx->seen: everything that was known of it starts again. */
static void set_view(s3l_core_t* c, s3l_effects_t* fx, s3l_observed_kind_t kind, const char* etag) {
  s3l_observation_t* v = &c->observed;
  const s3lect_record_t* record = &fx->seen;
  s3l_observed_record_t kept = s3l_view_without_names(c, record);
  bool goes_on = kind == S3L_OBSERVED_RECORD && v->kind == S3L_OBSERVED_RECORD &&
                 same_leadership(&v->record, &kept);
  fx->changed = true;
  v->overwrote_own = s3l_view_is_own_claim(c);
  v->pending = true;
  v->same_write = kind == S3L_OBSERVED_RECORD && same_write(&v->record, &kept);
  v->renewing = goes_on;
  if (!goes_on)
    v->takeover_before = v->takeover_at;
  v->kind = kind;
  v->record = kept;
  v->own = kind == S3L_OBSERVED_RECORD && (strcmp(record->incarnation, c->incarnation) == 0 ||
                                           (S3L_MUTANT(INCARNATION_IGNORED) && kept.namesake));
  v->first_seen = c->now;
  memset(v->etag, 0, sizeof v->etag);
  memcpy(v->etag, etag, strlen(etag));
  c->refused = false;
  c->disputed_told = false;
  if (kind == S3L_OBSERVED_RECORD) {
    if (record->epoch > c->epoch_seen)
      c->epoch_seen = record->epoch;
    if (record->leader_timeout_ms > c->timeout_seen_ms)
      c->timeout_seen_ms = record->leader_timeout_ms;
  }
  /* Who resigned lets others go first, unless they give leadership back by name. */
  if (record->released && strcmp(record->successor, c->config.id) == 0)
    c->hold_until = c->now;
  s3l_epochs_view_changed(c);
  c->provisional = v->own && made_unfounded(c);
  if (!S3L_MUTANT(OBSERVATION_NOT_RESET) || v->takeover_at == 0 || v->own)
    v->takeover_at = takeover_at(c);
  s3l_peer_view_changed(c, goes_on);
}

bool s3l_view_is_usable_etag(const char* etag) {
  return etag != NULL && etag[0] != '\0' && strlen(etag) < S3LECT_ETAG_SIZE;
}

/* What a reply shows has been parsed, into fx->seen. A body that was too large to be read is empty
 * here. */
static void show(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r, int err,
                 bool is_file) {
  set_view(c, fx, err == 0 ? S3L_OBSERVED_RECORD : S3L_OBSERVED_FOREIGN, r->etag);
  c->observed.fault = err == S3LECT_ETOOBIG ? "its size: over 64 KiB"
                      : err != 0 ? s3l_record_fault((s3l_span_t){r->body, r->body_len}, is_file)
                                 : NULL;
}

static void show_object(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  if (strcmp(r->etag, c->observed.etag) == 0)
    return; /* a view without an object has no ETag: nothing is equal to it */
  memset(&fx->seen, 0, sizeof fx->seen);
  int err =
      r->status != 0 ? r->status : s3l_record_parse((s3l_span_t){r->body, r->body_len}, &fx->seen);
  show(c, fx, r, err, false);
}

void s3l_view_show_file(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r,
                        uint64_t number) {
  memset(&fx->seen, 0, sizeof fx->seen);
  int err = r->status != 0
                ? r->status
                : s3l_record_parse_file((s3l_span_t){r->body, r->body_len}, number, &fx->seen);
  show(c, fx, r, err, true);
}

void s3l_view_restart(s3l_core_t* c) {
  c->observed.first_seen = c->now;
  c->provisional = c->observed.own && made_unfounded(c);
  c->observed.takeover_at = takeover_at(c);
}

void s3l_view_show_absence(s3l_core_t* c, s3l_effects_t* fx) {
  if (c->observed.kind == S3L_OBSERVED_ABSENT)
    return;
  memset(&fx->seen, 0, sizeof fx->seen);
  set_view(c, fx, S3L_OBSERVED_ABSENT, "");
}

void s3l_view_told(s3l_core_t* c, s3l_effects_t* fx, const s3lect_record_t* record,
                   const char* etag) {
  fx->seen = *record;
  s3l_epochs_told(c);
  set_view(c, fx, S3L_OBSERVED_RECORD, etag);
}

void s3l_view_forget(s3l_core_t* c, s3l_effects_t* fx) {
  memset(&c->observed, 0, sizeof c->observed);
  memset(&fx->seen, 0, sizeof fx->seen);
  fx->changed = true;
}

void s3l_view_look_after(s3l_core_t* c, uint32_t ms) {
  s3l_ns_t at = s3l_ns_add(c->now, s3l_core_jitter(c, ms));
  bool sleeps = !c->watching && c->observed.takeover_at < at && !S3L_MUTANT(ASLEEP);
  c->poll_at = sleeps ? c->observed.takeover_at : at;
}

/* Sets when the next read is due. A leader that was seen to renew not long ago is stable: the
 * follower need not watch it, and reads at the infrequent interval. */
static void set_watching(s3l_core_t* c, const s3lect_store_result_t* r) {
  const s3l_observation_t* v = &c->observed;
  s3l_ns_t late = s3l_view_renew_ms(c) * (2 * S3L_MS);
  bool fresh =
      c->now < v->takeover_at && c->now - v->first_seen < late && store_age(r) <= late + S3L_SECOND;
  bool followed = !v->own || c->config.epochs == NULL; /* nobody leads by a file of one's own */
  c->watching =
      S3L_MUTANT(ALWAYS_WATCHING) ||
      !(v->kind == S3L_OBSERVED_RECORD && !v->record.released && v->renewing && fresh && followed);
  s3l_view_look_after(c, c->watching ? c->config.frequent_interval_ms
                                     : c->config.infrequent_interval_ms);
  s3l_peer_store_told(c, !c->watching);
}

void s3l_view_read_over(s3l_core_t* c, const s3lect_store_result_t* r) {
  apply_store_clock(c, r);
  c->read_back = false; /* from here on the leader in view may be asked */
  set_watching(c, r);
}

bool s3l_view_read(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  bool oversized = r->status == S3LECT_ETOOBIG && s3l_view_is_usable_etag(r->etag);
  if ((r->status == 0 && s3l_view_is_usable_etag(r->etag)) || oversized)
    show_object(c, fx, r);
  else if (r->status == S3LECT_ENOTFOUND)
    s3l_view_show_absence(c, fx);
  else if (r->status != S3LECT_ENOTMODIFIED || c->observed.etag[0] == '\0')
    return false;
  s3l_view_read_over(c, r);
  return true;
}

void s3l_view_written(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const char* etag) {
  S3L_ASSERT(s3l_view_is_usable_etag(etag));
  s3l_write_record(c, op, &fx->seen);
  set_view(c, fx, S3L_OBSERVED_RECORD, etag);
  S3L_ASSERT(c->observed.own);
}

/* A follower with another leader timeout waits for the larger one of both, and as a leader makes
 * all others wait otherwise. */
static void report_timeout(s3l_core_t* c, s3l_effects_t* fx) {
  uint32_t other_ms = c->observed.record.leader_timeout_ms, own_ms = c->config.leader_timeout_ms;
  if (c->observed.own || c->observed.record.namesake || c->config.observer || other_ms == 0 ||
      other_ms == own_ms)
    return;
  (void)snprintf(fx->text, sizeof fx->text,
                 "the leader has a leader timeout of %" PRIu32 " ms, this elector one of %" PRIu32
                 " ms: give all electors of an election the same",
                 other_ms, own_ms);
  s3l_core_error_once(c, fx, S3LECT_ETIMING, fx->text);
}

static void report_leader(s3l_core_t* c, s3l_effects_t* fx) {
  uint64_t h = leader_fingerprint(&c->observed.record);
  bool nameless = c->observed.record.leader == fingerprint(FINGERPRINT_OF_NOTHING, "");
  if (h == c->leader_told || nameless)
    return;
  c->leader_told = h;
  bool claims = is_provisional(c) && !S3L_MUTANT(CLAIM_TOLD);
  if (claims && !c->observed.own)
    return; /* another's claim names no leader, and is no news */
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = claims ? S3LECT_EVENT_CLAIMING : S3LECT_EVENT_NEW_LEADER;
  e->epoch = c->observed.record.epoch;
  e->takeover_at = claims ? c->observed.takeover_at : c->observed.takeover_before;
  report_timeout(c, fx);
}

/* Another process with our server ID is alive if it renews, or if it took our own record. A record
 * of our ID that just stands there is what an earlier run of ours left. */
static void report_duplicate(s3l_core_t* c, s3l_effects_t* fx) {
  const s3l_observation_t* v = &c->observed;
  if (v->own || !v->record.namesake || !(v->renewing || v->overwrote_own))
    return;
  uint64_t h = fingerprint(FINGERPRINT_OF_NOTHING, v->record.incarnation);
  if (h == c->duplicate_told)
    return;
  c->duplicate_told = h;
  const char* addr = fx->seen.leader_addr;
  bool elsewhere = addr[0] != '\0' && strcmp(addr, c->config.addr) != 0;
  (void)snprintf(fx->text, sizeof fx->text,
                 "another process%s%s has this server ID, too; give each its own",
                 elsewhere ? " at " : "", elsewhere ? addr : "");
  s3l_core_error_once(c, fx, S3LECT_EDUPID, fx->text);
}

static void report_damage(s3l_core_t* c, s3l_effects_t* fx) {
  (void)snprintf(fx->text, sizeof fx->text,
                 "no valid record: %s; it is left for a leader timeout, then replaced",
                 c->observed.fault != NULL ? c->observed.fault : "its body");
  s3l_core_error(c, fx, S3LECT_ERECORD, fx->text);
}

/* Why nobody takes over, once for each state of the lockfile but a leader's renewals. */
static void report_end_of_epochs(s3l_core_t* c, s3l_effects_t* fx) {
  static const char file[] =
      "the epoch file lock-9999999998.json has the highest number there is, so "
      "nobody can take over: delete it";
  bool told = c->observed.own || c->observed.renewing;
  if (!told && !c->config.observer && !s3l_write_has_next_epoch(c))
    s3l_core_error(c, fx, S3LECT_EEPOCH, c->config.epochs != NULL ? file : NULL);
}

void s3l_view_report(s3l_core_t* c, s3l_effects_t* fx) {
  if (!c->observed.pending)
    return;
  c->observed.pending = false;
  report_end_of_epochs(c, fx);
  if (c->observed.kind == S3L_OBSERVED_FOREIGN && s3l_write_has_next_epoch(c))
    report_damage(c, fx);
  if (c->observed.kind != S3L_OBSERVED_RECORD || c->observed.record.released)
    return;
  report_leader(c, fx);
  report_duplicate(c, fx);
}
