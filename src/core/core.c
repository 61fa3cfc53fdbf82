#include "core/core.h"

#include <string.h>

#include "core/absence.h"
#include "core/effects.h"
#include "core/lead.h"
#include "core/observation.h"
#include "core/peer.h"
#include "core/request.h"
#include "core/write.h"
#include "util/assert.h"

typedef enum {
  ACT_NONE,
  ACT_CANCEL,
  ACT_READ,
  ACT_TAKE_OVER,
  ACT_RENEW,
  ACT_RELEASE,
  ACT_ABANDON, /* the release that is owed cannot, or need not, be written */
  ACT_FINISH,
} act_t;

typedef struct due_s {
  act_t act;
  s3l_ns_t at;
} due_t;

/* What is due next, and when. Leadership's own timers apart: s3l_lead_tick sees to them. */

/* Others take a released record at once. So it is released only if nobody can still act as leader:
 * neither the leader whose record was deleted before a provisional claim, nor this elector's own
 * application, for any leadership that it has not acknowledged (design rule 11). */
static bool may_release(const s3l_core_t* c) {
  bool acknowledged =
      c->unacknowledged == 0 || S3L_MUTANT(ACK_IGNORED) ||
      (S3L_MUTANT(ACK_OF_ONE_EPOCH) && c->observed.record.epoch != c->unacknowledged);
  bool sound = s3l_is_sound_claim(c) || (S3L_MUTANT(CLAIM_RELEASED) && s3l_is_own_claim(c));
  return sound && acknowledged;
}

static due_t due_release(const s3l_core_t* c) {
  due_t d = {ACT_ABANDON, c->now};
  if (c->ack_owed && !S3L_MUTANT(ACK_IGNORED))
    d.at = c->ack_until; /* not acknowledged in time: releasing would invite a second writer */
  else if (c->read_back)
    d = (due_t){ACT_READ, c->read_back_at};
  else if (may_release(c))
    d = (due_t){ACT_RELEASE, c->not_before};
  if (c->phase == S3L_PHASE_LEAVING && d.at > c->leave_by)
    d = (due_t){ACT_ABANDON, c->leave_by};
  return d;
}

static due_t due_as_follower(const s3l_core_t* c) {
  due_t poll = {ACT_READ, s3l_later(c->poll_at, c->now)};
  bool wants = !c->config.observer && c->observed.kind != S3L_OBSERVED_UNKNOWN && c->watching &&
               s3l_has_next_epoch(c);
  if (S3L_MUTANT(NEVER_TAKES_OVER) && s3l_core_names_leader(c) && !c->observed.own)
    wants = false;
  s3l_ns_t at = s3l_ns_add(c->observed.takeover_at, s3l_head_start(c));
  at = s3l_later(s3l_later(at, c->hold_until), c->not_before);
  if (c->ack_owed)
    at = s3l_later(at, c->ack_until);
  s3l_ns_t read_at = c->config.protocol->read_at(c, wants ? s3l_later(at, c->now) : S3L_NEVER);
  if (read_at != S3L_NEVER)
    return (due_t){ACT_READ, read_at};
  return wants && at <= poll.at ? (due_t){ACT_TAKE_OVER, at} : poll;
}

/* A read that is due goes before a renewal that is overdue: where renewals follow each other
 * without a rest, the next page of a listing, without which none of them counts, would never be
 * read. */
static due_t due_as_leader(const s3l_core_t* c) {
  s3l_ns_t renew_at = c->publish ? c->now : s3l_later(c->renew_at, c->now);
  due_t renew = {ACT_RENEW, s3l_later(renew_at, c->not_before)};
  s3l_ns_t read_at = c->config.protocol->read_at(c, S3L_NEVER);
  return read_at <= renew.at ? (due_t){ACT_READ, read_at} : renew;
}

static due_t due(const s3l_core_t* c) {
  if (c->phase == S3L_PHASE_STOPPED)
    return (due_t){ACT_NONE, S3L_NEVER};
  bool leaving = c->phase == S3L_PHASE_LEAVING;
  if (c->op.kind != S3L_OP_NONE) {
    s3l_ns_t at = leaving ? (c->release_owed ? s3l_sooner(c->op.overdue_at, c->leave_by) : c->now)
                          : c->op.overdue_at;
    return (due_t){ACT_CANCEL, c->op.cancelled ? S3L_NEVER : at};
  }
  if (c->release_owed)
    return due_release(c);
  bool asks = c->peer.probing || (c->peer.withdraws && c->now < c->leave_by);
  if (leaving && (asks || c->gc_busy))
    return (due_t){ACT_NONE, S3L_NEVER};
  if (leaving)
    return (due_t){ACT_FINISH, c->now};
  if (c->read_back)
    return (due_t){ACT_READ, c->read_back_at};
  if (c->leading)
    return due_as_leader(c);
  return due_as_follower(c);
}

/* Tells that a leadership is over in the store too, as soon as that is so. */
static void tell_released(s3l_core_t* c, s3l_effects_t* fx) {
  if (!c->releasing || c->release_owed)
    return;
  c->releasing = false;
  c->successor = NULL;
  (void)s3l_core_effect(fx, S3L_DO_RELEASED);
}

/* Tells that nobody leads, unless a read is under way or due, which may show a leader. */
static void tell_absence(s3l_core_t* c, s3l_effects_t* fx) {
  due_t next = due(c);
  bool reads = c->op.kind == S3L_OP_READ || (next.act == ACT_READ && next.at <= c->now);
  if (S3L_MUTANT(ABSENCE_GUESSED))
    reads = false;
  if (!reads && s3l_absence_due(c) <= c->now)
    s3l_absence_report(c, fx);
}

static void perform(s3l_core_t* c, s3l_effects_t* fx, act_t act) {
  switch (act) {
  case ACT_CANCEL:
    c->op.cancelled = true;
    (void)s3l_core_effect(fx, S3L_DO_CANCEL);
    break;
  case ACT_READ:
    c->config.protocol->send_read(c, fx);
    break;
  case ACT_TAKE_OVER:
    c->ack_owed = false; /* its time has passed */
    s3l_write_send(c, fx, S3L_OP_TAKE_OVER);
    break;
  case ACT_RENEW:
    s3l_write_send(c, fx, S3L_OP_RENEW);
    break;
  case ACT_RELEASE:
    s3l_write_send(c, fx, S3L_OP_RELEASE);
    break;
  case ACT_ABANDON:
    s3l_request_give_up_release(c, fx,
                                c->unacknowledged != 0
                                    ? "not released: the application has not acknowledged the end"
                                    : "not released: the store has not answered in time");
    c->ack_owed = false;
    break;
  case ACT_FINISH:
    tell_released(c, fx);
    c->phase = S3L_PHASE_STOPPED;
    (void)s3l_core_effect(fx, S3L_DO_STOPPED);
    break;
  case ACT_NONE:
    S3L_UNREACHABLE();
  }
}

/* Removal of old objects, beside everything else. */

static void gc(s3l_core_t* c, s3l_effects_t* fx) {
  if (c->gc_busy) {
    bool over = c->now >= c->gc_overdue_at || c->phase != S3L_PHASE_STANDING;
    if (over && !c->gc_cancelled)
      (void)s3l_core_effect(fx, S3L_DO_GC_CANCEL);
    c->gc_cancelled = c->gc_cancelled || over;
    return;
  }
  uint64_t file = c->leading ? c->config.protocol->garbage(c) : 0;
  if (file == 0)
    return;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_GC);
  e->file = file;
  e->timeout_ms = c->config.request_timeout_ms;
  c->gc_busy = true;
  c->gc_cancelled = false;
  c->gc_overdue_at = s3l_ns_add(c->now, e->timeout_ms * S3L_MS + S3L_OVERDUE);
}

static void gc_done(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  S3L_ASSERT(c->gc_busy);
  c->gc_busy = false;
  c->config.protocol->gc_done(c, fx, r);
}

static s3l_ns_t gc_deadline(const s3l_core_t* c) {
  return c->gc_busy && !c->gc_cancelled ? c->gc_overdue_at : S3L_NEVER;
}

/* Events. */

static void start(s3l_core_t* c, s3l_effects_t* fx, const s3l_event_t* ev) {
  S3L_ASSERT(c->phase == S3L_PHASE_STOPPED && c->op.kind == S3L_OP_NONE);
  S3L_ASSERT(!c->peer.probing && !c->gc_busy);
  S3L_ASSERT(strlen(ev->incarnation) == S3LECT_INCARNATION_SIZE - 1);
  memcpy(c->incarnation, ev->incarnation, sizeof c->incarnation);
  s3l_prng_seed(&c->prng, ev->seed);
  c->phase = S3L_PHASE_STANDING;
  c->write = 0;
  memset(c->sent, 0, sizeof c->sent);
  s3l_observe_nothing(c, fx);
  s3l_peer_reset(c);
  c->read_back = false;
  c->uncertain = 0;
  c->refused = false;
  c->disputed_reported = false;
  c->watching = true;
  c->attempt = 0;
  c->poll_attempt = 0;
  c->not_before = c->now;
  c->poll_at = c->now;
  c->hold_until = 0;
  c->release_owed = false;
  c->ack_owed = false;
  c->leaderless = false;
  c->leader_reported = 0;
  c->duplicate_reported = 0;
  c->value_due = true;
}

/* Whether the store holds, or may come to hold, a claim of this elector that others would wait for.
 */
static bool may_own_claim(const s3l_core_t* c) {
  return s3l_is_own_claim(c) || c->op.kind == S3L_OP_TAKE_OVER || c->uncertain != 0;
}

static void resign(s3l_core_t* c, s3l_effects_t* fx, const char* successor) {
  if (!c->leading)
    return;
  c->successor = successor;
  bool goes_on = S3L_MUTANT(RELEASE_FIRST) || (S3L_MUTANT(GRANT_FIRST) && fx->candidate != NULL);
  if (!goes_on)
    s3l_lead_stop(c, fx, S3LECT_REASON_RESIGNED);
  c->hold_until = s3l_ns_add(c->now, c->config.leader_timeout_ms * S3L_MS);
  c->release_owed = true;
}

static void transfer(s3l_core_t* c, s3l_effects_t* fx, const char* successor) {
  S3L_ASSERT(successor != NULL && successor[0] != '\0' && strlen(successor) < S3LECT_ID_SIZE);
  S3L_ASSERT(strcmp(successor, c->config.id) != 0);
  resign(c, fx, successor);
}

static void stop(s3l_core_t* c, s3l_effects_t* fx, s3lect_reason_t reason) {
  if (c->phase != S3L_PHASE_STANDING)
    return;
  c->release_owed = !c->config.no_release && (c->release_owed || may_own_claim(c));
  s3l_lead_stop(c, fx, reason);
  c->phase = S3L_PHASE_LEAVING;
  c->peer.withdraws = c->peer.open && !c->config.no_release;
  c->leave_by =
      s3l_ns_add(c->ack_owed ? c->ack_until : c->now, c->config.release_timeout_ms * S3L_MS);
}

/* A late acknowledgement may be about a leadership before the last: it says nothing about the last.
 */
static void acknowledged(s3l_core_t* c, uint64_t epoch) {
  bool owed = c->ack_owed;
  if (epoch < c->unacknowledged)
    return;
  c->ack_owed = false;
  c->unacknowledged = 0;
  if (owed && c->phase == S3L_PHASE_LEAVING)
    c->leave_by = s3l_ns_add(c->now, c->config.release_timeout_ms * S3L_MS);
}

static void read_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const s3l_event_t* ev) {
  bool read_back = c->read_back;
  switch (c->config.protocol->read_done(c, fx, op, ev)) {
  case S3L_READ_GOES_ON:
    return;
  case S3L_READ_FAILED:
    if (c->read_back)
      s3l_request_failed(c, fx, ev->result);
    else
      s3l_request_poll_failed(c, fx, ev->result);
    return;
  case S3L_READ_COMPLETE:
    break;
  }
  /* An ETag that changes by itself is no progress: the schedule must not begin anew with it. */
  bool changed = c->observed.first_seen == c->now && !c->observed.same_write;
  if (read_back && changed)
    s3l_request_done(c); /* what was to be written is overtaken */
  c->read_back = false;
  c->poll_attempt = 0;
  s3l_lead_resolve(c, fx);
  s3l_observation_report(c, fx);
}

static void request_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_event_t* ev) {
  s3l_op_t op = c->op;
  S3L_ASSERT(op.kind != S3L_OP_NONE);
  c->op.kind = S3L_OP_NONE;
  s3l_core_note_store_time(c, ev->result);
  if (op.kind == S3L_OP_READ)
    read_done(c, fx, &op, ev);
  else
    s3l_write_done(c, fx, &op, ev->result);
}

/* A follower that leaves has told its leader so, or could not: what was granted to it meanwhile is
 * released. If the leader did not say whether it still leads, the store does. */
static void withdrawn(s3l_core_t* c, const s3l_peer_result_t* r) {
  bool led = r->kind == S3L_PEER_LEADING && r->record->epoch == c->observed.record.epoch;
  bool own = s3l_is_own_claim(c);
  c->release_owed = c->release_owed || own || !led;
  c->read_back = c->read_back || (!own && !led);
  c->read_back_at = c->now;
}

/* Design rule 9: no answer of a peer makes an elector leader or prolongs its validity, but for the
 * one that its own claim has been granted: that counts like a reply of the store. */
static void peer_answered(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  S3L_MUTATE(GRANT_UNCONFIRMED, c, &r);
  s3l_ns_t valid_until = c->valid_until;
  bool leading = c->leading;
  bool withdrawal = c->peer.withdrawing;
  bool granted = s3l_peer_answered(c, fx, r);
  S3L_ASSERT(c->leading == leading && c->valid_until == valid_until);
  (void)leading;
  (void)valid_until;
  if (granted) {
    c->watching = true; /* if too little is left of the lease, it is written again */
    s3l_observation_report(c, fx);
    s3l_lead_resolve(c, fx);
  }
  if (withdrawal)
    withdrawn(c, r);
}

static void check_invariants(const s3l_core_t* c) {
  S3L_ASSERT(!c->leading || c->now < c->valid_until);
  S3L_ASSERT(!c->leading || (s3l_is_own_claim(c) && c->observed.record.epoch == c->epoch));
  S3L_ASSERT(!c->leading || c->phase == S3L_PHASE_STANDING);
  S3L_ASSERT(c->leading || (!c->announced && c->valid_until == 0));
  S3L_ASSERT(c->phase != S3L_PHASE_STOPPED || (c->op.kind == S3L_OP_NONE && !c->peer.probing));
  S3L_ASSERT(!c->releasing || c->release_owed);
  S3L_ASSERT(!c->peer.probing || c->peer.cancelled || c->peer.withdrawing || s3l_peer_is_probed(c));
  S3L_ASSERT(!c->peer.withdrawing || (c->peer.probing && c->phase == S3L_PHASE_LEAVING));
  S3L_ASSERT(s3l_peer_covers_until(c) == 0 || s3l_peer_is_probed(c));
  (void)c;
}

void s3l_core_init(s3l_core_t* c, const s3l_core_config_t* config) {
  S3L_ASSERT(config->protocol != NULL);
  S3L_ASSERT(config->leader_timeout_ms > 0 && config->renew_interval_ms > 0);
  S3L_ASSERT(strlen(config->id) > 0 && strlen(config->id) < S3LECT_ID_SIZE);
  S3L_ASSERT(strlen(config->addr) < S3LECT_ADDR_SIZE);
  S3L_ASSERT(config->priority <= S3L_PRIORITY_MAX);
  S3L_ASSERT(!config->peer_mode || (config->peer_interval_ms > 0 && config->peer_timeout_ms > 0));
  memset(c, 0, sizeof *c);
  c->config = *config;
  c->value = "";
}

bool s3l_core_is_bound(const s3l_core_t* c) {
  return c->leading || c->release_owed || c->uncertain != 0 || c->op.kind > S3L_OP_READ;
}

void s3l_core_reconfigure(s3l_core_t* c, s3l_ns_t now, const s3l_core_config_t* config) {
  bool timeout = config->leader_timeout_ms != c->config.leader_timeout_ms;
  S3L_ASSERT(config->protocol == c->config.protocol && config->drift_ppm == c->config.drift_ppm);
  S3L_ASSERT(c->op.kind <= S3L_OP_READ && (!timeout || !s3l_core_is_bound(c)));
  c->config = *config;
  if (c->phase != S3L_PHASE_STANDING)
    return;
  c->now = s3l_later(now, c->now);
  if (timeout) {
    memset(c->sent, 0, sizeof c->sent);
    if (c->observed.kind != S3L_OBSERVED_UNKNOWN)
      s3l_observe_again(c);
  }
  c->renew_at =
      s3l_sooner(c->renew_at, s3l_ns_add(c->renewed_at, config->renew_interval_ms * S3L_MS));
  c->poll_at = s3l_sooner(c->poll_at, s3l_ns_add(c->now, config->frequent_interval_ms * S3L_MS));
}

void s3l_core_set_value(s3l_core_t* c, const char* value, bool at_once) {
  S3L_ASSERT(strlen(value) < S3LECT_VALUE_SIZE);
  c->value = value;
  c->publish = (c->publish || at_once) && s3l_value_fingerprint(value) != c->observed.record.value;
}

void s3l_core_step(s3l_core_t* c, s3l_ns_t now, const s3l_event_t* ev, s3l_effects_t* fx) {
  fx->len = 0;
  fx->changed = false;
  c->now = s3l_later(now, c->now);
  c->wall_ms = ev->wall_ms;
  fx->candidate = ev->candidate;
  /* First of all: no event that arrives late may act for a lease that is over. */
  s3l_lead_tick(c, fx);
  switch (ev->kind) {
  case S3L_EV_TICK:
    break;
  case S3L_EV_START:
    start(c, fx, ev);
    break;
  case S3L_EV_DONE:
    request_done(c, fx, ev);
    break;
  case S3L_EV_RESIGN:
    resign(c, fx, NULL);
    break;
  case S3L_EV_STOP:
    stop(c, fx, ev->reason);
    break;
  case S3L_EV_EXPIRED:
    s3l_lead_stop(c, fx, S3LECT_REASON_EXPIRED);
    break;
  case S3L_EV_ACK:
    acknowledged(c, ev->epoch);
    break;
  case S3L_EV_PEER:
    peer_answered(c, fx, ev->peer);
    break;
  case S3L_EV_TRANSFER:
    transfer(c, fx, ev->successor);
    break;
  case S3L_EV_GC_DONE:
    gc_done(c, fx, ev->result);
    break;
  }
  s3l_lead_warn(c, fx); /* not before the event, which may end or renew the leadership */
  tell_absence(c, fx);
  do
    for (due_t d = due(c); d.at <= c->now; d = due(c))
      perform(c, fx, d.act);
  while (s3l_peer_tick(c, fx));
  gc(c, fx);
  tell_released(c, fx);
  check_invariants(c);
}

s3l_ns_t s3l_core_deadline(const s3l_core_t* c) {
  s3l_ns_t at = s3l_sooner(due(c).at, s3l_sooner(s3l_peer_due(c), gc_deadline(c)));
  if (c->op.kind != S3L_OP_READ)
    at = s3l_sooner(at, s3l_absence_due(c));
  if (c->leading) {
    if (!S3L_MUTANT(NO_SELF_STOP))
      at = s3l_sooner(at, c->valid_until - S3L_STOP_EARLY);
    if (!c->announced)
      at = s3l_sooner(at, c->announce_at);
    at = s3l_sooner(at, s3l_lead_warn_at(c));
  }
  return at;
}

bool s3l_core_granted(const s3l_core_t* c, const char* incarnation, s3l_confirmed_t* out) {
  memset(out, 0, sizeof *out);
  if (!s3l_core_names_leader(c) || c->observed.own || incarnation[0] == '\0' ||
      strcmp(c->observed.record.incarnation, incarnation) != 0)
    return false;
  s3l_core_record(c, &out->record);
  out->etag = c->observed.etag;
  return true;
}

bool s3l_core_confirmed(const s3l_core_t* c, s3l_ns_t now, s3l_confirmed_t* out) {
  memset(out, 0, sizeof *out);
  if (!c->announced || now >= c->valid_until)
    return false;
  S3L_ASSERT(s3l_is_own_claim(c)); /* an own record is observed once the store has confirmed it */
  s3l_core_record(c, &out->record);
  memcpy(out->record.leader_id, c->config.id, strlen(c->config.id));
  memcpy(out->record.leader_addr, c->config.addr, strlen(c->config.addr));
  if (s3l_value_fingerprint(c->value) == c->observed.record.value)
    memcpy(out->record.value, c->value, strlen(c->value));
  out->etag = c->observed.etag;
  /* With epoch files a listing may yet prolong validity by the observed write, and is no write that
   * others could see: what is promised of that write must not end sooner. */
  s3l_ns_t until = s3l_later(s3l_ns_add(c->renewed_at, s3l_core_hold(c)), c->valid_until);
  out->valid_for_ms = (uint64_t)((until - now + S3L_MS - 1) / S3L_MS);
  return true;
}
