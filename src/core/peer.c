#include "core/peer.h"

#include <string.h>

#include "core/effects.h"
#include "core/grant.h"
#include "core/observation.h"
#include "s3lect/errno.h"
#include "util/assert.h"

/* The store is read at least once in so many infrequent intervals, unless the leader's answers are
 * authenticated. */
#define STORE_READ_AT_LEAST 4
/* Minimum time between two probes, or the frequent interval where that is less. */
#define PROBE_GAP S3L_SECOND
/* After so many probes without an answer each next one waits twice as long. */
#define PROBES_IN_VAIN 3
/* By how much the end of a validity may move because of rounding, besides the drift. */
#define VALIDITY_GRAIN (2 * S3L_MS)

/* How late a renewal may be before an unverified answer no longer counts. */
static s3l_ns_t renewal_margin(const s3l_core_t* c) {
  return (1 + c->config.protocol->renewal_requests) * PROBE_GAP;
}

static uint32_t leader_timeout_ms(const s3l_core_t* c) {
  uint32_t ms = c->observed.record.leader_timeout_ms;
  return ms > 0 ? ms : c->config.leader_timeout_ms;
}

void s3l_peer_reset(s3l_core_t* c) {
  S3L_ASSERT(!c->peer.probing);
  memset(&c->peer, 0, sizeof c->peer);
}

bool s3l_peer_is_probed(const s3l_core_t* c) {
  bool follows = c->phase == S3L_PHASE_STANDING && !c->leading && !c->release_owed &&
                 !c->read_back && c->op.kind <= S3L_OP_READ;
  return c->config.peer_mode && follows && s3l_core_names_leader(c) && !c->observed.own &&
         c->observed.record.addr != 0;
}

s3l_ns_t s3l_peer_covers_until(const s3l_core_t* c) {
  const s3l_peer_t* p = &c->peer;
  s3l_ns_t most = c->config.infrequent_interval_ms * (STORE_READ_AT_LEAST * S3L_MS);
  s3l_ns_t until = 0;
  if (p->answer == S3L_ANSWER_AUTHENTICATED)
    until = p->write == c->observed.record.write ? p->until : 0;
  else if (p->answer != S3L_ANSWER_NONE && p->steady)
    until =
        S3L_MUTANT(STAMP_FOR_EVER) ? p->until : s3l_sooner(p->until, s3l_ns_add(p->store_at, most));
  return p->good && until > c->now ? until : 0;
}

/* The answers cover the time until then: no read is due before, and nothing is taken over. */
static void rest(s3l_core_t* c, s3l_ns_t until) {
  c->watching = false;
  if (!S3L_MUTANT(PEERS_IN_VAIN))
    c->poll_at = until;
}

/* The leader's answer no longer counts: the store is read at once, unless it is watched already. */
static void suspect(s3l_core_t* c, bool was_good) {
  s3l_peer_t* p = &c->peer;
  s3l_ns_t soon = s3l_ns_add(c->now, c->config.frequent_interval_ms * S3L_MS / 10 * 11);
  p->good = false;
  if (!was_good && c->poll_at <= soon)
    return;
  p->read_again = c->op.kind == S3L_OP_READ;
  c->poll_at = c->now;
}

void s3l_peer_read_after(s3l_core_t* c, uint32_t ms) {
  s3l_ns_t at = s3l_ns_add(c->now, s3l_core_jitter(c, ms));
  bool sleeps = !c->watching && !S3L_MUTANT(ASLEEP);
  c->poll_at = sleeps ? s3l_sooner(at, c->observed.takeover_at) : at;
}

void s3l_peer_store_read(s3l_core_t* c, bool steady) {
  s3l_peer_t* p = &c->peer;
  if (!s3l_peer_is_probed(c))
    return;
  p->steady = steady;
  p->store_at = c->now;
  s3l_ns_t until = s3l_peer_covers_until(c);
  if (until > 0) {
    rest(c, until);
    return;
  }
  p->good = false;
  if (!c->watching) {
    /* A leader that never answered is watched as without peer mode, but at the frequent interval.
     */
    c->watching = p->answer != S3L_ANSWER_NONE;
    s3l_peer_read_after(c, c->config.frequent_interval_ms);
  }
  if (p->read_again) {
    c->poll_at = c->now;
  } else if (p->repeats > 0) {
    s3l_ns_t delay = s3l_retry_delay(S3L_RETRIES + 1u - p->repeats--);
    c->poll_at = s3l_sooner(c->poll_at, s3l_ns_add(c->now, delay));
  }
  p->read_again = false;
}

static s3l_ns_t probe_gap(const s3l_core_t* c) {
  return s3l_sooner(PROBE_GAP, c->config.frequent_interval_ms * S3L_MS);
}

/* How long an answer may take: the server waits by its own timers, and the timers that end the
 * probe may be slewed the other way. */
static s3l_ns_t answer_timeout(const s3l_core_t* c, uint32_t wait_ms) {
  s3l_ns_t wait = s3l_lease_outlast(wait_ms * S3L_MS, c->config.drift_ppm + S3L_SLEW_PPM);
  return s3l_ns_add(wait, c->config.peer_timeout_ms * S3L_MS);
}

/* When the next answer is wanted, counted from now. */
static s3l_ns_t spacing(const s3l_core_t* c) {
  const s3l_peer_t* p = &c->peer;
  s3l_ns_t most = c->config.peer_interval_ms * S3L_MS;
  if (p->answer == S3L_ANSWER_AUTHENTICATED)
    most = s3l_sooner(most, (p->until - c->now) / 2);
  if (p->answer != S3L_ANSWER_UNVERIFIED)
    return s3l_later(most, probe_gap(c));
  /* The renewal that is due should have come by then. The leader's timers count the wait: they may
   * be slewed, and drift one way while the clock of the follower drifts the other way. */
  s3l_ns_t due = p->until - renewal_margin(c) - c->now;
  due = due > 0 ? s3l_lease_hold(due, 2 * c->config.drift_ppm + S3L_SLEW_PPM) : due;
  return s3l_later(s3l_sooner(most, due + PROBE_GAP), 0);
}

/* "Prefer: wait" counts in whole seconds. */
static uint32_t whole_seconds(s3l_ns_t ns) {
  return (uint32_t)(s3l_sooner(ns / S3L_SECOND, S3L_PEER_WAIT_MAX_S) * 1000);
}

/* After an acceptable answer: a server that waits is probed again at once; any other is polled, a
 * little early, so that followers do not all come at once. */
static void probe_again(s3l_core_t* c, const s3l_peer_result_t* r) {
  s3l_peer_t* p = &c->peer;
  s3l_ns_t space = spacing(c);
  bool waits = whole_seconds(space) > 0 && (r->held || p->wait_ms == 0);
  if (!waits)
    space -= (s3l_ns_t)s3l_prng_below(&c->prng, (uint64_t)space / 10 + 1);
  p->probe_at = waits ? c->now : c->now + space;
}

static void probe_later(s3l_core_t* c) {
  const s3l_core_config_t* o = &c->config;
  uint32_t ms = o->frequent_interval_ms;
  for (unsigned n = PROBES_IN_VAIN; n < c->peer.unanswered && ms < o->peer_interval_ms; n++)
    ms = ms < o->peer_interval_ms / 2 ? 2 * ms : o->peer_interval_ms;
  c->peer.probe_at = s3l_ns_add(c->now, s3l_core_jitter(c, ms));
}

static void failed(s3l_core_t* c, s3l_effects_t* fx, int status, const char* message) {
  s3l_peer_t* p = &c->peer;
  bool was_good = p->good;
  c->stats.peer_failures++;
  if (p->answer == S3L_ANSWER_NONE && p->unanswered < UINT8_MAX)
    p->unanswered++;
  /* Without an error the leader may have resigned just now, or be in its grace period. */
  if (status == 0 && p->unanswered > PROBES_IN_VAIN) {
    status = S3LECT_EPEER;
    message = "the leader's peer address does not answer as a leader";
  }
  p->error = status != 0 ? status : S3LECT_EPEER;
  if (status != 0 && !p->reported)
    s3l_core_error_once(c, fx, status, message);
  p->reported = p->reported || status != 0;
  suspect(c, was_good);
  probe_later(c);
}

static void refuse(s3l_core_t* c, s3l_effects_t* fx, const char* message) {
  bool was_good = c->peer.good;
  c->stats.peer_refused++;
  c->peer.reported = true;
  c->peer.error = S3LECT_EPEER;
  s3l_core_error(c, fx, S3LECT_EPEER, message);
  suspect(c, was_good);
  probe_later(c);
}

/* A leader that leads may change these by an update: two of its writes may differ in them. */
static bool has_other_options(const s3l_observed_record_t* a, const s3l_observed_record_t* b) {
  return a->addr != b->addr || a->renew_interval_ms != b->renew_interval_ms;
}

/* NULL, or why an answer cannot come from the leader that is observed. */
static const char* contradiction(const s3l_core_t* c, const s3l_peer_result_t* r) {
  const s3l_observed_record_t* seen = &c->observed.record;
  const s3l_observed_record_t answered = s3l_without_names(c, r->record);
  if (answered.epoch < seen->epoch)
    return "the answer is of an older epoch";
  if (answered.leader != seen->leader || strcmp(answered.incarnation, seen->incarnation) != 0)
    return "another leader answers at the leader's address";
  bool differs = has_other_options(&answered, seen) && answered.write >= seen->write;
  if (answered.released || differs || answered.leader_timeout_ms != seen->leader_timeout_ms)
    return "the answer contradicts the record in the store";
  if (r->valid_for_ms > (int64_t)leader_timeout_ms(c))
    return "the answer claims a validity beyond the leader timeout";
  return NULL;
}

/* The answer is about the same write as the one before, whose validity cannot end later than was
 * told. `ends` counts from the receipt, which may come late; counted from the sending of the probe
 * it is a lower bound. */
static bool is_stretched(const s3l_core_t* c, s3l_ns_t ends) {
  const s3l_peer_t* p = &c->peer;
  s3l_ns_t timeout = leader_timeout_ms(c) * S3L_MS;
  s3l_ns_t drift = s3l_lease_outlast(timeout, c->config.drift_ppm) - timeout;
  return ends - (c->now - p->sent_at) > p->until + VALIDITY_GRAIN + drift;
}

/* Keeps an acceptable answer. False if it stretches the validity that was told before. */
static bool accept_answer(s3l_core_t* c, s3l_answer_t answer, uint64_t write, s3l_ns_t ends) {
  s3l_peer_t* p = &c->peer;
  bool again = answer != S3L_ANSWER_LEGACY && p->answer == answer && p->write == write &&
               !S3L_MUTANT(PROMISE_STRETCHED);
  if (again && is_stretched(c, ends))
    return false;
  p->until = again ? s3l_sooner(p->until, ends) : ends;
  p->answer = (uint8_t)answer;
  p->write = write;
  p->good = true;
  p->reported = false;
  p->error = 0;
  p->unanswered = 0;
  return true;
}

/* An answer of the leader itself: counts as a read. NULL, or why not. */
static const char* authenticated(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  s3l_ns_t left = r->valid_for_ms * S3L_MS;
  bool newer = r->record->write > c->observed.record.write;
  if (newer && strcmp(r->etag, c->observed.etag) == 0)
    return "two writes have one ETag";
  if (newer)
    s3l_observe_answer(c, fx, r->record, r->etag);
  if (!accept_answer(c, S3L_ANSWER_AUTHENTICATED, r->record->write, s3l_ns_add(c->now, left)))
    return "the validity of one write was prolonged";
  c->config.protocol->inform(c, S3L_INFORM_VALID, NULL);
  s3l_ns_t outlast =
      S3L_MUTANT(PROMISE_NO_DRIFT) ? left : s3l_lease_outlast(left, c->config.drift_ppm);
  s3l_ns_t over = s3l_ns_add(c->now, outlast + S3L_MS);
  if (c->config.protocol->swaps || S3L_MUTANT(EPOCHS_PROMISE))
    c->observed.takeover_at = s3l_sooner(c->observed.takeover_at, over);
  s3l_observation_report(c, fx);
  return NULL;
}

/* An answer that may come from anybody. NULL, or why not. */
static const char* unverified(s3l_core_t* c, const s3l_peer_result_t* r) {
  if (r->valid_for_ms < 0) {
    uint32_t ms = c->config.peer_interval_ms;
    s3l_ns_t next = (ms + ms / 10 + (s3l_ns_t)c->config.peer_timeout_ms) * S3L_MS;
    (void)accept_answer(c, S3L_ANSWER_LEGACY, 0, s3l_ns_add(c->now, next));
    return NULL;
  }
  /* A renewal was sent when the validity was whole, the next one is due an interval later. */
  s3l_ns_t hold = s3l_lease_hold(leader_timeout_ms(c) * S3L_MS, c->config.drift_ppm);
  s3l_ns_t used = hold - r->valid_for_ms * S3L_MS;
  s3l_ns_t due = s3l_observed_renew_ms(c) * S3L_MS - used;
  if (due > 0)
    due = s3l_lease_outlast(due, c->config.drift_ppm);
  bool good =
      accept_answer(c, S3L_ANSWER_UNVERIFIED, r->record->write, c->now + due + renewal_margin(c));
  return good ? NULL : "the validity of one write was prolonged";
}

static bool is_older(const s3l_core_t* c, uint64_t write) {
  const s3l_peer_t* p = &c->peer;
  bool unverified = p->good && p->answer == S3L_ANSWER_UNVERIFIED;
  return write < c->observed.record.write || (unverified && write < p->write);
}

/* An answer about a write before the observed one: the store showed a write before its leader knew
 * that it had been applied (it waits for the reply, and with epoch files for a listing too). The
 * leader knows within moments, whereas the answer that counts runs out by the write before, long
 * before a frequent interval is over: that would cost a read. So it is probed again at once. */
static void answered_before(s3l_core_t* c) {
  if (s3l_peer_covers_until(c) > 0)
    c->peer.probe_at = c->now;
  else
    probe_later(c);
}

/* The leader has been updated since: the store will show it. */
static bool is_updated(const s3l_core_t* c, const s3lect_record_t* record) {
  const s3l_observed_record_t* seen = &c->observed.record;
  const s3l_observed_record_t answered = s3l_without_names(c, record);
  return answered.write > seen->write && has_other_options(&answered, seen) &&
         answered.leader == seen->leader && strcmp(answered.incarnation, seen->incarnation) == 0;
}

/* The leader has published another value since. An answer that is not authenticated does not tell
 * what, but the store will show it. */
static bool has_published(const s3l_core_t* c, const s3lect_record_t* record) {
  const s3l_observed_record_t* seen = &c->observed.record;
  return record->write > seen->write && s3l_value_fingerprint(record->value) != seen->value;
}

static void leads(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  const s3lect_record_t* record = r->record;
  bool was_good = c->peer.good;
  bool reported = c->peer.reported;
  bool whole = (r->authenticated || S3L_MUTANT(HINT_IS_PROMISE)) && r->valid_for_ms >= 0 &&
               s3l_is_usable_etag(r->etag) && record->incarnation[0] != '\0';
  if (record->epoch > c->observed.record.epoch || is_updated(c, record)) {
    failed(c, fx, 0, NULL); /* the store will show that leadership */
    return;
  }
  const char* why = S3L_MUTANT(PROMISE_OF_ANOTHER) ? NULL : contradiction(c, r);
  if (why == NULL && is_older(c, record->write) && !S3L_MUTANT(PROMISE_OF_BEFORE)) {
    answered_before(c);
    return;
  }
  if (why == NULL && whole && record->write > c->observed.record.write &&
      c->op.kind != S3L_OP_NONE) {
    probe_later(c); /* the read under way will show this write */
    return;
  }
  if (why == NULL)
    why = whole ? authenticated(c, fx, r) : unverified(c, r);
  if (why != NULL) {
    refuse(c, fx, why);
    return;
  }
  c->stats.peer_answers++;
  S3L_MUTATE(ANSWER_PROLONGS, c, r);
  if (reported)
    s3l_core_error_once(c, fx, S3LECT_EPEERBACK, NULL);
  s3l_ns_t until = s3l_peer_covers_until(c);
  if (until > 0)
    rest(c, until);
  /* The application was told that nobody leads: the store will show that this leader returns. */
  if (has_published(c, record) || c->leaderless)
    c->poll_at = c->now;
  if (until > 0 || (c->peer.steady && c->peer.until > c->now)) {
    probe_again(c, r); /* it may be time to read the store all the same */
    return;
  }
  probe_later(c);
  if (c->peer.until <= c->now)
    suspect(c, was_good); /* else the store is watched until it shows a leader that renews */
}

bool s3l_peer_answered(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  s3l_peer_t* p = &c->peer;
  S3L_ASSERT(p->probing);
  bool withdrawal = p->withdrawing;
  p->probing = false;
  p->withdrawing = false;
  if (p->cancelled)
    return false;
  if (s3l_grant_is_answer(c, r)) {
    s3l_observe_answer(c, fx, r->record, r->etag);
    return true;
  }
  if (withdrawal)
    return false;
  if (r->kind != S3L_PEER_FAILED)
    p->open = false; /* the question has been answered, and with it all before */
  bool late = c->now - p->sent_at > answer_timeout(c, p->wait_ms);
  if (r->kind == S3L_PEER_LEADING && !late) {
    leads(c, fx, r);
  } else if (r->kind == S3L_PEER_FAILED) {
    failed(c, fx, r->status != 0 ? r->status : S3LECT_EPEER, r->message);
  } else {
    bool was_good = p->good;
    failed(c, fx, 0, NULL);
    if (was_good && r->kind == S3L_PEER_NOT_LEADING)
      p->repeats = S3L_RETRIES - 1;
  }
  return false;
}

/* The end of a probe that has become useless, or that its executor has forgotten. */
static s3l_ns_t due_cancel(const s3l_core_t* c) {
  const s3l_peer_t* p = &c->peer;
  s3l_ns_t overdue_at = s3l_ns_add(p->sent_at, answer_timeout(c, p->wait_ms) + S3L_OVERDUE);
  if (p->cancelled)
    return S3L_NEVER;
  if (p->withdrawing)
    return s3l_sooner(overdue_at, c->leave_by);
  return p->misdirected || !s3l_peer_is_probed(c) ? c->now : overdue_at;
}

s3l_ns_t s3l_peer_due(const s3l_core_t* c) {
  if (c->peer.probing)
    return due_cancel(c);
  if (c->peer.withdraws && c->phase == S3L_PHASE_LEAVING && c->now < c->leave_by)
    return c->now;
  if (!s3l_peer_is_probed(c) || c->op.kind != S3L_OP_NONE)
    return S3L_NEVER;
  s3l_ns_t at = s3l_later(c->peer.probe_at, c->now);
  return c->peer.sent_at > 0 ? s3l_later(at, c->peer.sent_at + probe_gap(c)) : at;
}

static void cancel(s3l_core_t* c, s3l_effects_t* fx) {
  c->peer.cancelled = true;
  (void)s3l_core_effect(fx, S3L_DO_PROBE_CANCEL);
  if (!c->peer.misdirected && s3l_peer_is_probed(c))
    failed(c, fx, 0, NULL); /* nothing came, not even a time-out */
}

static void probe(s3l_core_t* c, s3l_effects_t* fx) {
  s3l_peer_t* p = &c->peer;
  p->probing = true;
  p->cancelled = false;
  p->misdirected = false;
  p->sent_at = c->now;
  p->withdrawing = p->withdraws;
  p->withdraws = false;
  p->wait_ms = s3l_peer_covers_until(c) > 0 ? whole_seconds(spacing(c)) : 0;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_PROBE);
  e->wait_ms = p->wait_ms;
  e->timeout_ms = (uint32_t)(answer_timeout(c, p->wait_ms) / S3L_MS) - p->wait_ms;
  s3l_grant_ask(c, fx, e);
  c->stats.peer_checks++;
  S3L_MUTATE(ASKS_TWICE, fx, c->stats.peer_checks);
}

bool s3l_peer_tick(s3l_core_t* c, s3l_effects_t* fx) {
  if (!s3l_peer_is_probed(c))
    c->peer.good = false;
  if (s3l_peer_due(c) > c->now)
    return false;
  if (c->peer.probing)
    cancel(c, fx);
  else
    probe(c, fx);
  return true;
}
