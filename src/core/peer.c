/* core/peer.c: probing the leader, and how much its answers count (design rule 9).
 *
 * With peer_mode a follower asks the leader in view instead of the store. An answer makes nobody
 * leader and prolongs no validity: all that it can do is to move the follower's own next look at
 * the store. What it may move depends on who vouches for it:
 *
 *   promised   the leader itself, over verified TLS, with its ETag and the validity that is left.
 *              The answer stands for a read: a later write is taken into the view, first seen at
 *              the answer's receipt. While the promise lasts the store is not read. When it is over
 *              the write that it was about may be replaced, by compare-and-swap on that very write,
 *              which is what the leader's validity rests on: a renewal in between, known to the
 *              leader or not, makes the swap fail. An answer that comes late counts from its
 *              receipt, which is later than the leader's word
 *   hinted     the same from somebody who may not be the leader: plain HTTP. Who predicts an ETag
 *              could have it observed before it is written, so nothing of it comes into the view,
 *              and no take-over becomes legal by it. It only spaces out the reads of a store that
 *              showed a leader renewing, until the renewal that it announces is overdue
 *   stamped    "I lead", by the Go package, whatever its store says: spaces out as a hint does
 *
 * Hints and stamps never space reads out further than STORE_READ_AT_LEAST infrequent intervals, so
 * that a liar keeps a dead election alive for that long at the most.
 *
 * A promise about one write can only shrink: its end is the earliest that was ever told. Whoever
 * provably moves it is not believed. Doubt (no answer, a late one, a refusal, a lie) sends the
 * follower to the store at once and from then on at the frequent interval, until an answer is
 * acceptable again; the leader is asked again at that interval too, or ever less often where it
 * never said a word: it may have an address, but no peer server. A leader that does not lead any
 * more may not have written its release yet: that read is repeated by the retry schedule. */
#include <string.h>

#include "core/internal.h"
#include "s3lect/errno.h"
#include "util/assert.h"

/* At the least one store read in so many infrequent intervals, unless the leader is known to be
 * itself. */
#define STORE_READ_AT_LEAST 4
/* Asks follow each other no sooner, or than the frequent interval where that is less. */
#define ASK_GAP S3L_SECOND
/* So many asks in vain, the next ones follow in twice the time each. */
#define ASKS_IN_VAIN 3
/* How much later the end of a validity may seem for rounding alone, besides the drift. */
#define PROMISE_GRAIN (2 * S3L_MS)

static s3l_ns_t sooner(s3l_ns_t a, s3l_ns_t b) {
  return a < b ? a : b;
}

static s3l_ns_t later(s3l_ns_t a, s3l_ns_t b) {
  return a > b ? a : b;
}

/* How late a renewal may be before a hint is no longer worth anything. That of an epoch file waits
 * for the listing of the one before. */
static s3l_ns_t hint_margin(const s3l_core_t* c) {
  return c->config.epochs != NULL ? 3 * ASK_GAP : 2 * ASK_GAP;
}

static uint32_t leader_timeout_ms(const s3l_core_t* c) {
  uint32_t ms = c->observed.record.leader_timeout_ms;
  return ms > 0 ? ms : c->config.leader_timeout_ms;
}

void s3l_peer_reset(s3l_core_t* c) {
  S3L_ASSERT(!c->peer.probing);
  memset(&c->peer, 0, sizeof c->peer);
}

bool s3l_peer_is_asked(const s3l_core_t* c) {
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
    until = S3L_MUTANT(STAMP_FOR_EVER) ? p->until : sooner(p->until, s3l_ns_add(p->store_at, most));
  return p->good && until > c->now ? until : 0;
}

/* Applies what covers: no read is due before, and nothing is taken over. */
static void rest(s3l_core_t* c, s3l_ns_t until) {
  c->watching = false;
  if (!S3L_MUTANT(PEERS_IN_VAIN))
    c->poll_at = until;
}

/* The leader's word no longer counts: the store is read at once, unless it is watched already. */
static void suspect(s3l_core_t* c, bool was_good) {
  s3l_peer_t* p = &c->peer;
  s3l_ns_t soon = s3l_ns_add(c->now, c->config.frequent_interval_ms * S3L_MS / 10 * 11);
  p->good = false;
  if (!was_good && c->poll_at <= soon)
    return;
  p->look_again = c->op.kind == S3L_OP_READ;
  c->poll_at = c->now;
}

void s3l_peer_view_changed(s3l_core_t* c, bool goes_on) {
  s3l_peer_t* p = &c->peer;
  p->looks = 0;
  if (goes_on)
    return;
  p->misdirected = p->probing;
  p->good = false;
  p->steady = false;
  p->told = false;
  p->error = 0;
  p->unanswered = 0;
  p->answer = S3L_ANSWER_NONE;
  p->write = 0;
  p->probe_at = c->now;
}

void s3l_peer_store_told(s3l_core_t* c, bool steady) {
  s3l_peer_t* p = &c->peer;
  if (!s3l_peer_is_asked(c))
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
    /* Whom one has never got a word from is watched as without peer mode, but as often as that. */
    c->watching = p->answer != S3L_ANSWER_NONE;
    s3l_view_look_after(c, c->config.frequent_interval_ms);
  }
  if (p->look_again) {
    c->poll_at = c->now;
  } else if (p->looks > 0) {
    s3l_ns_t delay = s3l_retry_delay(S3L_RETRIES + 1u - p->looks--);
    c->poll_at = sooner(c->poll_at, s3l_ns_add(c->now, delay));
  }
  p->look_again = false;
}

static s3l_ns_t ask_gap(const s3l_core_t* c) {
  return sooner(ASK_GAP, c->config.frequent_interval_ms * S3L_MS);
}

/* How long an answer may take: the server waits by its own timers, and those that end the ask may
 * be slewed the other way. */
static s3l_ns_t patience(const s3l_core_t* c, uint32_t wait_ms) {
  s3l_ns_t wait = s3l_lease_outlast(wait_ms * S3L_MS, c->config.drift_ppm + S3L_SLEW_PPM);
  return s3l_ns_add(wait, c->config.peer_timeout_ms * S3L_MS);
}

/* When the next answer is wanted, counted from now. */
static s3l_ns_t spacing(const s3l_core_t* c) {
  const s3l_peer_t* p = &c->peer;
  s3l_ns_t most = c->config.peer_interval_ms * S3L_MS;
  if (p->answer == S3L_ANSWER_AUTHENTICATED)
    most = sooner(most, (p->until - c->now) / 2);
  if (p->answer != S3L_ANSWER_UNVERIFIED)
    return later(most, ask_gap(c));
  /* The renewal that is due should have come by then. The leader's timers count the wait: they may
   * be slewed, and drift one way while the clock of the follower drifts the other way. */
  s3l_ns_t due = p->until - hint_margin(c) - c->now;
  due = due > 0 ? s3l_lease_hold(due, 2 * c->config.drift_ppm + S3L_SLEW_PPM) : due;
  return later(sooner(most, due + ASK_GAP), 0);
}

/* "Prefer: wait" counts in whole seconds. */
static uint32_t whole_seconds(s3l_ns_t ns) {
  return (uint32_t)(ns / S3L_SECOND * 1000);
}

/* An acceptable answer came: when is the next one to be asked for? A server that waits is asked
 * again at once; any other is polled, a little early, so that followers do not all come at once. */
static void ask_again(s3l_core_t* c, const s3l_peer_result_t* r) {
  s3l_peer_t* p = &c->peer;
  s3l_ns_t space = spacing(c);
  bool waits = whole_seconds(space) > 0 && (r->held || p->wait_ms == 0);
  if (!waits)
    space -= (s3l_ns_t)s3l_prng_below(&c->prng, (uint64_t)space / 10 + 1);
  p->probe_at = waits ? c->now : c->now + space;
}

static void ask_later(s3l_core_t* c) {
  const s3l_core_config_t* o = &c->config;
  uint32_t ms = o->frequent_interval_ms;
  for (unsigned n = ASKS_IN_VAIN; n < c->peer.unanswered && ms < o->peer_interval_ms; n++)
    ms = ms < o->peer_interval_ms / 2 ? 2 * ms : o->peer_interval_ms;
  c->peer.probe_at = s3l_ns_add(c->now, s3l_core_jitter(c, ms));
}

static void failed(s3l_core_t* c, s3l_effects_t* fx, int status, const char* message) {
  s3l_peer_t* p = &c->peer;
  bool was_good = p->good;
  c->stats.peer_failures++;
  if (p->answer == S3L_ANSWER_NONE && p->unanswered < UINT8_MAX)
    p->unanswered++;
  /* Without an error the leader may just have resigned, or be in its grace period. */
  if (status == 0 && p->unanswered > ASKS_IN_VAIN) {
    status = S3LECT_EPEER;
    message = "the leader's peer address does not answer as a leader";
  }
  p->error = status != 0 ? status : S3LECT_EPEER;
  if (status != 0 && !p->told)
    s3l_core_error_once(c, fx, status, message);
  p->told = p->told || status != 0;
  suspect(c, was_good);
  ask_later(c);
}

static void refuse(s3l_core_t* c, s3l_effects_t* fx, const char* message) {
  bool was_good = c->peer.good;
  c->stats.peer_refused++;
  c->peer.told = true;
  c->peer.error = S3LECT_EPEER;
  s3l_core_error(c, fx, S3LECT_EPEER, message);
  suspect(c, was_good);
  ask_later(c);
}

/* NULL, or why an answer cannot come from the leader in view. */
static const char* contradiction(const s3l_core_t* c, const s3l_peer_result_t* r) {
  const s3l_observed_record_t* seen = &c->observed.record;
  const s3l_observed_record_t told = s3l_view_without_names(c, r->record);
  if (told.epoch < seen->epoch)
    return "the answer is of an older epoch";
  if (told.leader != seen->leader || strcmp(told.incarnation, seen->incarnation) != 0)
    return "another leader answers at the leader's address";
  if (told.released || told.addr != seen->addr ||
      told.leader_timeout_ms != seen->leader_timeout_ms ||
      told.renew_interval_ms != seen->renew_interval_ms)
    return "the answer contradicts the record in the store";
  if (r->valid_for_ms > (int64_t)leader_timeout_ms(c))
    return "the answer claims a validity beyond the leader timeout";
  return NULL;
}

/* What the answer is about is the write of before: its validity cannot end later than was told.
 * `ends` counts from the receipt, which may come late; from the probing on it is a lower bound. */
static bool is_stretched(const s3l_core_t* c, s3l_ns_t ends) {
  const s3l_peer_t* p = &c->peer;
  s3l_ns_t timeout = leader_timeout_ms(c) * S3L_MS;
  s3l_ns_t drift = s3l_lease_outlast(timeout, c->config.drift_ppm) - timeout;
  return ends - (c->now - p->sent_at) > p->until + PROMISE_GRAIN + drift;
}

/* Notes the word of an acceptable answer. False if it stretches what was told before. */
static bool take_word(s3l_core_t* c, s3l_answer_t word, uint64_t write, s3l_ns_t ends) {
  s3l_peer_t* p = &c->peer;
  bool again = word != S3L_ANSWER_LEGACY && p->answer == word && p->write == write &&
               !S3L_MUTANT(PROMISE_STRETCHED);
  if (again && is_stretched(c, ends))
    return false;
  p->until = again ? sooner(p->until, ends) : ends;
  p->answer = (uint8_t)word;
  p->write = write;
  p->good = true;
  p->told = false;
  p->error = 0;
  p->unanswered = 0;
  return true;
}

/* From the leader itself: as good as a read. NULL, or why not. */
static const char* promised(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  s3l_ns_t left = r->valid_for_ms * S3L_MS;
  bool newer = r->record->write > c->observed.record.write;
  if (newer && strcmp(r->etag, c->observed.etag) == 0)
    return "two writes have one ETag";
  if (newer)
    s3l_view_told(c, fx, r->record, r->etag);
  if (!take_word(c, S3L_ANSWER_AUTHENTICATED, r->record->write, s3l_ns_add(c->now, left)))
    return "the validity of one write was prolonged";
  s3l_epochs_vouched(c, c->peer.sent_at);
  s3l_ns_t over = s3l_ns_add(
      c->now, (S3L_MUTANT(PROMISE_NO_DRIFT) ? left : s3l_lease_outlast(left, c->config.drift_ppm)) +
                  S3L_MS);
  if (c->config.epochs == NULL ||
      S3L_MUTANT(EPOCHS_PROMISE)) /* an epoch file may come to hold an older write again */
    c->observed.takeover_at = sooner(c->observed.takeover_at, over);
  s3l_view_report(c, fx);
  return NULL;
}

/* From whoever it may be. NULL, or why not. */
static const char* hinted(s3l_core_t* c, const s3l_peer_result_t* r) {
  if (r->valid_for_ms < 0) {
    uint32_t ms = c->config.peer_interval_ms;
    s3l_ns_t next = (ms + ms / 10 + (s3l_ns_t)c->config.peer_timeout_ms) * S3L_MS;
    (void)take_word(c, S3L_ANSWER_LEGACY, 0, s3l_ns_add(c->now, next));
    return NULL;
  }
  /* A renewal was sent when the validity was whole, the next one is due an interval later. */
  s3l_ns_t hold = s3l_lease_hold(leader_timeout_ms(c) * S3L_MS, c->config.drift_ppm);
  s3l_ns_t used = hold - r->valid_for_ms * S3L_MS;
  s3l_ns_t due = s3l_view_renew_ms(c) * S3L_MS - used;
  if (due > 0)
    due = s3l_lease_outlast(due, c->config.drift_ppm);
  bool good = take_word(c, S3L_ANSWER_UNVERIFIED, r->record->write, c->now + due + hint_margin(c));
  return good ? NULL : "the validity of one write was prolonged";
}

static bool is_older(const s3l_core_t* c, uint64_t write) {
  const s3l_peer_t* p = &c->peer;
  bool hinted = p->good && p->answer == S3L_ANSWER_UNVERIFIED;
  return write < c->observed.record.write || (hinted && write < p->write);
}

/* An answer about a write before the one that is known: the store showed what landed before its
 * leader knew it, for which that waits for the reply, and for a listing where there are epoch
 * files. It says so within moments, whereas the word that counts still runs out by the write of
 * before, long before a frequent interval may be over: it would cost a read, and then a look. */
static void answered_before(s3l_core_t* c) {
  if (s3l_peer_covers_until(c) > 0)
    c->peer.probe_at = c->now;
  else
    ask_later(c);
}

static void leads(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  const s3lect_record_t* record = r->record;
  bool was_good = c->peer.good;
  bool told = c->peer.told;
  bool whole = (r->authenticated || S3L_MUTANT(HINT_IS_PROMISE)) && r->valid_for_ms >= 0 &&
               s3l_view_is_usable_etag(r->etag) && record->incarnation[0] != '\0';
  if (record->epoch > c->observed.record.epoch) {
    failed(c, fx, 0, NULL); /* the store knows */
    return;
  }
  const char* why = S3L_MUTANT(PROMISE_OF_ANOTHER) ? NULL : contradiction(c, r);
  if (why == NULL && is_older(c, record->write) && !S3L_MUTANT(PROMISE_OF_BEFORE)) {
    answered_before(c);
    return;
  }
  if (why == NULL && whole && record->write > c->observed.record.write &&
      c->op.kind != S3L_OP_NONE) {
    ask_later(c); /* the read under way asks about the view as it is, and will show this */
    return;
  }
  if (why == NULL)
    why = whole ? promised(c, fx, r) : hinted(c, r);
  if (why != NULL) {
    refuse(c, fx, why);
    return;
  }
  c->stats.peer_answers++;
  S3L_MUTATE(ANSWER_PROLONGS, c, r);
  if (told)
    s3l_core_error_once(c, fx, S3LECT_EPEERBACK, NULL);
  s3l_ns_t until = s3l_peer_covers_until(c);
  if (until > 0)
    rest(c, until);
  if (until > 0 || (c->peer.steady && c->peer.until > c->now)) {
    ask_again(c, r); /* the store's turn may have come all the same */
    return;
  }
  ask_later(c);
  if (c->peer.until <= c->now)
    suspect(c, was_good); /* else the store is watched until it shows a leader that renews */
}

void s3l_peer_answered(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  s3l_peer_t* p = &c->peer;
  S3L_ASSERT(p->probing);
  p->probing = false;
  if (p->cancelled)
    return;
  bool late = c->now - p->sent_at > patience(c, p->wait_ms);
  if (r->kind == S3L_PEER_LEADING && !late) {
    leads(c, fx, r);
  } else if (r->kind == S3L_PEER_FAILED) {
    failed(c, fx, r->status != 0 ? r->status : S3LECT_EPEER, r->message);
  } else {
    bool was_good = p->good;
    failed(c, fx, 0, NULL);
    if (was_good && r->kind == S3L_PEER_NOT_LEADING)
      p->looks = S3L_RETRIES - 1;
  }
}

/* The end of an ask that makes no sense any more, or that its executor has forgotten. */
static s3l_ns_t due_cancel(const s3l_core_t* c) {
  const s3l_peer_t* p = &c->peer;
  if (p->cancelled)
    return S3L_NEVER;
  if (p->misdirected || !s3l_peer_is_asked(c))
    return c->now;
  return s3l_ns_add(p->sent_at, patience(c, p->wait_ms) + S3L_OVERDUE);
}

s3l_ns_t s3l_peer_due(const s3l_core_t* c) {
  if (c->peer.probing)
    return due_cancel(c);
  if (!s3l_peer_is_asked(c) || c->op.kind != S3L_OP_NONE)
    return S3L_NEVER;
  s3l_ns_t at = later(c->peer.probe_at, c->now);
  return c->peer.sent_at > 0 ? later(at, c->peer.sent_at + ask_gap(c)) : at;
}

static void cancel(s3l_core_t* c, s3l_effects_t* fx) {
  c->peer.cancelled = true;
  (void)s3l_core_effect(fx, S3L_DO_PROBE_CANCEL);
  if (!c->peer.misdirected && s3l_peer_is_asked(c))
    failed(c, fx, 0, NULL); /* nothing came, not even the end of the waiting */
}

static void ask(s3l_core_t* c, s3l_effects_t* fx) {
  s3l_peer_t* p = &c->peer;
  p->probing = true;
  p->cancelled = false;
  p->misdirected = false;
  p->sent_at = c->now;
  p->wait_ms = s3l_peer_covers_until(c) > 0 ? whole_seconds(spacing(c)) : 0;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_PROBE);
  e->wait_ms = p->wait_ms;
  e->timeout_ms = (uint32_t)(patience(c, p->wait_ms) / S3L_MS) - p->wait_ms;
  c->stats.peer_checks++;
  S3L_MUTATE(ASKS_TWICE, fx, c->stats.peer_checks);
}

bool s3l_peer_tick(s3l_core_t* c, s3l_effects_t* fx) {
  if (!s3l_peer_is_asked(c))
    c->peer.good = false;
  if (s3l_peer_due(c) > c->now)
    return false;
  if (c->peer.probing)
    cancel(c, fx);
  else
    ask(c, fx);
  return true;
}
