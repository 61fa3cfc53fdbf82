#include "core/observation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/effects.h"
#include "core/record.h"
#include "s3lect/errno.h"
#include "util/assert.h"

/* Two renewals show that a leader lives: one may be the last write of a dead one, applied late. */
#define RENEWALS_MAX 2

/* FNV-1a over a string and its NUL. */
#define FINGERPRINT_OF_NOTHING UINT64_C(0xcbf29ce484222325)
static uint64_t fingerprint(uint64_t h, const char* s) {
  do {
    h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
  } while (*s++ != '\0');
  return h;
}

uint64_t s3l_fingerprint(const char* text) {
  return fingerprint(FINGERPRINT_OF_NOTHING, text);
}

uint32_t s3l_value_fingerprint(const char* value) {
  uint64_t h = s3l_fingerprint(value);
  return value[0] != '\0' ? (uint32_t)(h ^ h >> 32) | 1 : 0;
}

static uint64_t leader_fingerprint(const s3l_observed_record_t* r) {
  return fingerprint(r->leader ^ r->epoch ^ r->addr, r->incarnation);
}

/* Where the record's leader may be probed; no elector probes itself. */
static uint64_t peer_address(const s3l_core_t* c, const s3lect_record_t* r) {
  bool usable = r->leader_addr[0] != '\0' && strcmp(r->leader_addr, c->config.addr) != 0;
  return usable ? fingerprint(FINGERPRINT_OF_NOTHING, r->leader_addr) : 0;
}

s3l_observed_record_t s3l_without_names(const s3l_core_t* c, const s3lect_record_t* r) {
  /* Nobody knows whether an epoch file without an incarnation (damaged, copied, of another
   * implementation) was ever led: its release tells nothing about the leader before. */
  bool believed = c->config.protocol->anonymous_release || r->incarnation[0] != '\0';
  bool named = r->successor[0] != '\0';
  bool own = strcmp(r->successor, c->config.id) == 0;
  s3l_observed_record_t kept = {
      .last_updated_ms = r->last_updated_ms,
      .epoch = r->epoch,
      .write = r->write,
      .acquired_ms = r->acquired_ms,
      .transitions = r->transitions,
      .leader = fingerprint(FINGERPRINT_OF_NOTHING, r->leader_id),
      .addr = peer_address(c, r),
      .value = s3l_value_fingerprint(r->value),
      .leader_timeout_ms = r->leader_timeout_ms,
      .renew_interval_ms = r->renew_interval_ms,
      .released = r->released != 0 && believed,
      .claim = r->claim != 0,
      .namesake = strcmp(r->leader_id, c->config.id) == 0,
      .successor_first = r->released != 0 && named && !own,
      .successor_own = r->released != 0 && own,
  };
  memcpy(kept.incarnation, r->incarnation, sizeof kept.incarnation);
  return kept;
}

/* Whether nobody leads by the observed record: it is a provisional claim, or a record of this
 * elector that counts as one, because what it was written over is gone. */
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

bool s3l_is_own_claim(const s3l_core_t* c) {
  return c->observed.kind == S3L_OBSERVED_RECORD && c->observed.own && !c->observed.record.released;
}

bool s3l_has_led(const s3l_core_t* c) {
  return c->observed.own && !c->leading && c->observed.record.epoch <= c->epoch;
}

bool s3l_is_sound_claim(const s3l_core_t* c) {
  return s3l_is_own_claim(c) && !c->provisional && c->config.protocol->may_lead(c);
}

bool s3l_has_next_epoch(const s3l_core_t* c) {
  return c->epoch_seen < c->config.protocol->epoch_max;
}

uint32_t s3l_observed_renew_ms(const s3l_core_t* c) {
  uint32_t ms = c->observed.record.renew_interval_ms;
  return ms > 0 ? ms : c->config.renew_interval_ms;
}

s3l_ns_t s3l_observation_wait(const s3l_core_t* c) {
  uint32_t t = c->config.leader_timeout_ms;
  /* A record that is gone or unreadable, or that a provisional claim was written over, may have had
   * any timeout: the largest one ever seen counts. */
  bool known = c->observed.kind == S3L_OBSERVED_RECORD && !(c->observed.own && c->provisional) &&
               !c->config.protocol->is_provisional(c);
  uint32_t seen = known ? c->observed.record.leader_timeout_ms : c->timeout_seen_ms;
  if (seen < t || S3L_MUTANT(OWN_TIMEOUT_ONLY))
    seen = t;
  return s3l_lease_wait(seen * S3L_MS, c->config.drift_ppm);
}

/* Whether the observed record, this elector's own, was a provisional claim when it was written, or
 * may have been. */
static bool was_provisional(const s3l_core_t* c) {
  const s3l_sent_t* s = s3l_core_sent(c, c->observed.record.epoch, c->observed.record.write);
  if (S3L_MUTANT(EPOCHS_CLAIM_LED))
    return s == NULL;
  return (s == NULL || s->provisional || c->config.protocol->is_orphaned(c, s)) &&
         !S3L_MUTANT(ABSENCE_IS_FREEDOM);
}

s3l_ns_t s3l_successor_priority(const s3l_core_t* c) {
  s3l_ns_t half = c->config.leader_timeout_ms * S3L_MS / 2;
  bool first = c->observed.record.successor_first && !S3L_MUTANT(NO_HEAD_START);
  return first ? s3l_sooner(half, S3L_SUCCESSOR_PRIORITY) : 0;
}

s3l_ns_t s3l_head_start(const s3l_core_t* c) {
  unsigned priority = c->config.priority;
  bool first = priority == 0 || c->observed.own || c->observed.record.successor_own;
  s3l_ns_t quarter = c->config.renew_interval_ms * S3L_MS / 4;
  unsigned steps = first || S3L_MUTANT(PRIORITY_IGNORED) ? 0 : S3L_PRIORITY_MAX - priority;
  return steps * s3l_sooner(S3L_PRIORITY_STEP, quarter);
}

static bool same_leadership(const s3l_observed_record_t* a, const s3l_observed_record_t* b) {
  return a->epoch == b->epoch && !a->released && !b->released && a->leader == b->leader &&
         strcmp(a->incarnation, b->incarnation) == 0;
}

static bool same_write(const s3l_observed_record_t* a, const s3l_observed_record_t* b) {
  return a->incarnation[0] != '\0' && strcmp(a->incarnation, b->incarnation) == 0 &&
         a->write == b->write && a->released == b->released;
}

/* What was answered about another leadership does not count for this one. */
static void forget_answers(s3l_core_t* c) {
  s3l_peer_t* p = &c->peer;
  p->misdirected = p->probing;
  p->good = false;
  p->steady = false;
  p->reported = false;
  p->error = 0;
  p->unanswered = 0;
  p->answer = S3L_ANSWER_NONE;
  p->write = 0;
  p->open = false; /* a grant replaces the record of that leadership, which is gone */
  p->probe_at = c->now;
}

/* The lockfile has changed, to fx->seen: the observation starts anew. */
static void observe(s3l_core_t* c, s3l_effects_t* fx, s3l_observed_kind_t kind, const char* etag,
                    s3l_inform_t how, const s3l_op_t* op) {
  s3l_observation_t* v = &c->observed;
  const s3lect_record_t* record = &fx->seen;
  s3l_observed_record_t kept = s3l_without_names(c, record);
  bool goes_on = kind == S3L_OBSERVED_RECORD && v->kind == S3L_OBSERVED_RECORD &&
                 same_leadership(&v->record, &kept);
  fx->changed = true;
  v->overwrote_own = s3l_is_own_claim(c);
  v->pending = true;
  v->same_write = kind == S3L_OBSERVED_RECORD && same_write(&v->record, &kept);
  v->renewing = goes_on;
  if (!goes_on)
    v->renewals = 0;
  else if (!v->same_write && v->renewals < RENEWALS_MAX)
    v->renewals++;
  if (!goes_on)
    v->takeover_before = v->takeover_at;
  if (!goes_on || kept.value != v->record.value)
    c->value_due = true;
  v->kind = (uint8_t)kind;
  v->record = kept;
  v->own = kind == S3L_OBSERVED_RECORD && (strcmp(record->incarnation, c->incarnation) == 0 ||
                                           (S3L_MUTANT(INCARNATION_IGNORED) && kept.namesake));
  if (v->own && c->publish)
    c->publish = kept.value != s3l_value_fingerprint(c->value);
  v->first_seen = c->now;
  memset(v->etag, 0, sizeof v->etag);
  memcpy(v->etag, etag, strlen(etag));
  c->refused = false;
  c->disputed_reported = false;
  if (kind == S3L_OBSERVED_RECORD) {
    if (record->epoch > c->epoch_seen)
      c->epoch_seen = record->epoch;
    if (record->leader_timeout_ms > c->timeout_seen_ms)
      c->timeout_seen_ms = record->leader_timeout_ms;
  }
  /* After a resignation others go first, unless they give leadership back by name. */
  if (record->released && strcmp(record->successor, c->config.id) == 0)
    c->hold_until = c->now;
  c->config.protocol->inform(c, how, op);
  c->provisional = v->own && was_provisional(c);
  if (!S3L_MUTANT(OBSERVATION_NOT_RESET) || v->takeover_at == 0 || v->own)
    v->takeover_at = c->config.protocol->takeover_at(c);
  c->peer.repeats = 0;
  if (!goes_on)
    forget_answers(c);
}

bool s3l_is_usable_etag(const char* etag) {
  return etag != NULL && etag[0] != '\0' && strlen(etag) < S3LECT_ETAG_SIZE;
}

bool s3l_is_object(const s3lect_store_result_t* r) {
  return (r->status == 0 || r->status == S3LECT_ETOOBIG) && s3l_is_usable_etag(r->etag);
}

/* A reply shows an object: a record in fx->seen, unless `err` says why it is none. */
static void observe_object(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r,
                           int err, bool is_file) {
  s3l_span_t body = {r->body, r->body_len};
  observe(c, fx, err == 0 ? S3L_OBSERVED_RECORD : S3L_OBSERVED_FOREIGN, r->etag, S3L_INFORM_READ,
          NULL);
  c->observed.fault = err == S3LECT_ETOOBIG ? "its size: over 64 KiB"
                      : err != 0            ? s3l_record_fault(body, is_file)
                                            : NULL;
}

void s3l_observe_lockfile(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  if (strcmp(r->etag, c->observed.etag) == 0)
    return; /* an observation without an object has no ETag, to which none is equal */
  memset(&fx->seen, 0, sizeof fx->seen);
  s3l_span_t body = {r->body, r->body_len};
  observe_object(c, fx, r, r->status != 0 ? r->status : s3l_record_parse(body, &fx->seen), false);
}

void s3l_observe_file(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r,
                      uint64_t number) {
  memset(&fx->seen, 0, sizeof fx->seen);
  s3l_span_t body = {r->body, r->body_len};
  int err = r->status != 0 ? r->status : s3l_record_parse_file(body, number, &fx->seen);
  observe_object(c, fx, r, err, true);
}

void s3l_observe_again(s3l_core_t* c) {
  c->observed.first_seen = c->now;
  c->provisional = c->observed.own && was_provisional(c);
  c->observed.takeover_at = c->config.protocol->takeover_at(c);
}

void s3l_observe_absence(s3l_core_t* c, s3l_effects_t* fx) {
  if (c->observed.kind == S3L_OBSERVED_ABSENT)
    return;
  memset(&fx->seen, 0, sizeof fx->seen);
  observe(c, fx, S3L_OBSERVED_ABSENT, "", S3L_INFORM_READ, NULL);
}

void s3l_observe_answer(s3l_core_t* c, s3l_effects_t* fx, const s3lect_record_t* record,
                        const char* etag) {
  fx->seen = *record;
  observe(c, fx, S3L_OBSERVED_RECORD, etag, S3L_INFORM_ANSWERED, NULL);
}

void s3l_observe_write(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const char* etag) {
  S3L_ASSERT(s3l_is_usable_etag(etag));
  observe(c, fx, S3L_OBSERVED_RECORD, etag, S3L_INFORM_WRITTEN, op);
  S3L_ASSERT(c->observed.own == !op->grants);
}

void s3l_observe_nothing(s3l_core_t* c, s3l_effects_t* fx) {
  memset(&c->observed, 0, sizeof c->observed);
  memset(&fx->seen, 0, sizeof fx->seen);
  fx->changed = true;
  c->config.protocol->inform(c, S3L_INFORM_START, NULL);
}

/* A follower waits for the larger of both leader timeouts, and as a leader it would change how long
 * all others wait. */
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
  bool claims = is_provisional(c) && !S3L_MUTANT(CLAIM_TOLD);
  /* A leader whose time was over, and that renews its record after all, is reported again. */
  bool returns = c->leaderless && !claims && !s3l_has_led(c) && !S3L_MUTANT(RETURN_NOT_TOLD);
  if ((h == c->leader_reported && !returns) || nameless)
    return;
  c->leader_reported = h;
  if (claims && !c->observed.own)
    return; /* another elector's claim names no leader */
  if (!claims)
    c->leaderless = false;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = claims ? S3LECT_EVENT_CLAIMING : S3LECT_EVENT_NEW_LEADER;
  e->epoch = c->observed.record.epoch;
  e->takeover_at = claims ? c->observed.takeover_at : c->observed.takeover_before;
  report_timeout(c, fx);
}

/* A value is bound to its leadership: that of the next one is reported even if the text is the
 * same, and its absence if the last one that was reported would be left. */
static void report_value(s3l_core_t* c, s3l_effects_t* fx) {
  bool any = c->observed.record.value != 0;
  if (!c->value_due || !s3l_core_names_leader(c) || s3l_has_led(c))
    return;
  if (S3L_MUTANT(VALUE_OUTLIVES_EPOCH) && !any)
    return;
  c->value_due = false;
  if (!any && !c->value_told)
    return;
  c->value_told = any;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_VALUE;
  e->epoch = c->observed.record.epoch;
}

/* Another process with this server ID is alive if it goes on renewing, or if it replaced this
 * elector's own record. A record of this ID that only stands there was left by an earlier run, even
 * if a proxy shows it with another ETag, and even if that run's last write is applied late. */
static void report_duplicate(s3l_core_t* c, s3l_effects_t* fx) {
  const s3l_observation_t* v = &c->observed;
  bool alive = v->renewals == RENEWALS_MAX || v->overwrote_own;
  if (v->own || !v->record.namesake || !alive)
    return;
  uint64_t h = fingerprint(FINGERPRINT_OF_NOTHING, v->record.incarnation);
  if (h == c->duplicate_reported)
    return;
  c->duplicate_reported = h;
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

/* Why nobody takes over, once for each state of the lockfile, a leader's renewals apart. */
static void report_end_of_epochs(s3l_core_t* c, s3l_effects_t* fx) {
  bool reported = c->observed.own || c->observed.renewing;
  if (!reported && !c->config.observer && !s3l_has_next_epoch(c))
    s3l_core_error(c, fx, S3LECT_EEPOCH, c->config.protocol->epoch_max_why);
}

void s3l_observation_report(s3l_core_t* c, s3l_effects_t* fx) {
  if (!c->observed.pending)
    return;
  c->observed.pending = false;
  report_end_of_epochs(c, fx);
  if (c->observed.kind == S3L_OBSERVED_FOREIGN && s3l_has_next_epoch(c))
    report_damage(c, fx);
  if (c->observed.kind != S3L_OBSERVED_RECORD || c->observed.record.released)
    return;
  report_leader(c, fx);
  report_value(c, fx);
  report_duplicate(c, fx);
}
