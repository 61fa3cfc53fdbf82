/* core/core.c: the step: what an event means, and what is due. */
#include "core/core.h"

#include <string.h>

#include "core/internal.h"
#include "core/record.h"
#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/error_kind.h"

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

static s3l_ns_t later(s3l_ns_t a, s3l_ns_t b) {
  return a > b ? a : b;
}

static s3l_ns_t sooner(s3l_ns_t a, s3l_ns_t b) {
  return a < b ? a : b;
}

s3l_effect_t* s3l_core_effect(s3l_effects_t* fx, s3l_effect_kind_t kind) {
  S3L_ASSERT(fx->len < S3L_EFFECTS_MAX);
  s3l_effect_t* e = &fx->at[fx->len++];
  memset(e, 0, sizeof *e);
  e->kind = kind;
  return e;
}

void s3l_core_error(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message) {
  S3L_ASSERT(error < 0);
  c->last_error = error;
  s3l_effect_t* e = s3l_core_effect(fx, S3L_DO_NOTIFY);
  e->note = S3LECT_EVENT_ERROR;
  e->error = error;
  e->message = message;
  e->epoch = c->announced ? c->epoch : 0;
  e->valid_until = s3l_core_valid_until(c);
}

void s3l_core_error_once(s3l_core_t* c, s3l_effects_t* fx, int error, const char* message) {
  s3l_core_error(c, fx, error, message);
  fx->at[fx->len - 1].once = true;
}

s3l_ns_t s3l_core_jitter(s3l_core_t* c, uint32_t ms) {
  uint64_t fifth_us = (uint64_t)ms * 1000 / 5;
  return ms * S3L_MS - (s3l_ns_t)(fifth_us / 2) * 1000 +
         (s3l_ns_t)s3l_prng_below(&c->prng, fifth_us + 1) * 1000;
}

void s3l_core_operation_done(s3l_core_t* c) {
  c->attempt = 0;
  c->not_before = c->now;
}

/* Delay before the attempt after `failed` failed ones; S3L_NEVER: the operation is given up. */
static s3l_ns_t next_attempt(s3l_core_t* c, uint32_t failed, const s3lect_store_result_t* r) {
  s3l_ns_t delay = s3l_error_is_lasting(r->status) ? S3L_NEVER : s3l_retry_delay(failed);
  if (delay == S3L_NEVER)
    return S3L_NEVER;
  c->stats.retries++;
  return later(delay, sooner(r->retry_after_ms * S3L_MS, S3L_SECOND));
}

static void report_failure(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  c->stats.failures++;
  s3l_core_error(c, fx, r->status != 0 ? r->status : S3LECT_EETAG, r->message);
}

/* The release that is owed is given up: a leadership, or a claim, may stand in the store. */
static void give_up_release(s3l_core_t* c, s3l_effects_t* fx, const char* why) {
  bool stands = s3l_view_is_own_claim(c) && !c->provisional && s3l_epochs_is_checked(c);
  c->release_owed = false;
  if (stands)
    s3l_core_error_once(c, fx, S3LECT_ERELEASE, why);
}

void s3l_core_attempt_failed(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  s3l_ns_t delay = next_attempt(c, ++c->attempt, r);
  if (delay != S3L_NEVER) {
    c->not_before = s3l_ns_add(c->now, delay);
    c->read_back_at = c->not_before;
    return;
  }
  c->attempt = 0;
  report_failure(c, fx, r);
  if (c->release_owed) {
    give_up_release(c, fx, r->message);
    c->not_before = c->now;
  } else if (c->leading) {
    c->not_before = later(s3l_ns_add(c->now, 100 * S3L_MS),
                          s3l_ns_add(c->op_started, c->config.renew_interval_ms * S3L_MS));
  } else {
    c->not_before = s3l_ns_add(c->now, s3l_core_jitter(c, c->config.frequent_interval_ms));
  }
  c->read_back_at = c->not_before;
}

static void poll_failed(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  s3l_ns_t delay = next_attempt(c, ++c->poll_attempt, r);
  if (delay == S3L_NEVER) {
    c->poll_attempt = 0;
    report_failure(c, fx, r);
    delay = s3l_core_jitter(c, c->config.frequent_interval_ms);
  }
  c->poll_at = s3l_ns_add(c->now, delay);
}

/* What is due next, and when. Does not look at leadership's own timers: s3l_lead_tick does. */

/* Others take a released record at once. So it is released only if nobody can still act as leader:
 * not the leader whose record was deleted before an provisional claim, and not this elector's own
 * application, for whichever leadership it has not acknowledged (design rule 11). */
static bool may_release(const s3l_core_t* c) {
  return s3l_view_is_own_claim(c) && (!c->provisional || S3L_MUTANT(CLAIM_RELEASED)) &&
         s3l_epochs_is_checked(c) &&
         (c->unacknowledged == 0 || S3L_MUTANT(ACK_IGNORED) ||
          (S3L_MUTANT(ACK_OF_ONE_EPOCH) && c->observed.record.epoch != c->unacknowledged));
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

/* The next epoch file is created only after one more look; see core/epochs.c. */
static due_t due_look(const s3l_core_t* c, s3l_ns_t at, s3l_ns_t poll_at) {
  bool waits = c->config.epochs->failed || poll_at < at;
  return (due_t){ACT_READ, later(waits ? poll_at : at, c->now)};
}

static due_t due_as_follower(const s3l_core_t* c) {
  due_t poll = {ACT_READ, later(c->poll_at, c->now)};
  bool wants = !c->config.observer && c->observed.kind != S3L_OBSERVED_UNKNOWN && c->watching &&
               s3l_write_has_next_epoch(c);
  if (S3L_MUTANT(NEVER_TAKES_OVER) && s3l_core_names_leader(c) && !c->observed.own)
    wants = false;
  s3l_ns_t at = later(later(c->observed.takeover_at, c->hold_until), c->not_before);
  if (c->ack_owed)
    at = later(at, c->ack_until);
  if (s3l_epochs_is_reading(c))
    return (due_t){ACT_READ, c->now};
  if (s3l_epochs_wants_check(c))
    return due_look(c, c->now, poll.at);
  if (wants && c->config.epochs != NULL && !s3l_epochs_may_create(c, later(at, c->now)))
    return due_look(c, at, poll.at);
  return wants && at <= poll.at ? (due_t){ACT_TAKE_OVER, at} : poll;
}

static due_t due_as_leader(const s3l_core_t* c) {
  due_t renew = {ACT_RENEW, later(c->renew_at, c->not_before)};
  s3l_ns_t look_at = s3l_epochs_look_at(c);
  return look_at < renew.at ? (due_t){ACT_READ, look_at} : renew;
}

static due_t due(const s3l_core_t* c) {
  if (c->phase == S3L_PHASE_STOPPED)
    return (due_t){ACT_NONE, S3L_NEVER};
  bool leaving = c->phase == S3L_PHASE_LEAVING;
  if (c->op.kind != S3L_OP_NONE) {
    s3l_ns_t at = leaving ? (c->release_owed ? sooner(c->op.overdue_at, c->leave_by) : c->now)
                          : c->op.overdue_at;
    return (due_t){ACT_CANCEL, c->op.cancelled ? S3L_NEVER : at};
  }
  if (c->release_owed)
    return due_release(c);
  if (leaving && (c->peer.probing || s3l_epochs_is_sweeping(c)))
    return (due_t){ACT_NONE, S3L_NEVER};
  if (leaving)
    return (due_t){ACT_FINISH, c->now};
  if (c->read_back)
    return (due_t){ACT_READ, c->read_back_at};
  if (c->leading)
    return due_as_leader(c);
  return due_as_follower(c);
}

s3l_effect_t* s3l_core_send_read(s3l_core_t* c, s3l_effects_t* fx, s3l_effect_kind_t kind) {
  s3l_op_t* op = &c->op;
  memset(op, 0, sizeof *op);
  op->kind = S3L_OP_READ;
  op->sent_at = c->now;
  s3l_effect_t* e = s3l_core_effect(fx, kind);
  e->etag = "";
  e->timeout_ms = c->config.request_timeout_ms;
  s3l_ns_t bound = c->leading                      ? c->valid_until
                   : c->phase == S3L_PHASE_LEAVING ? c->leave_by
                                                   : S3L_NEVER;
  if ((bound - c->now) / S3L_MS < e->timeout_ms)
    e->timeout_ms = (uint32_t)later((bound - c->now) / S3L_MS, 1);
  op->overdue_at = s3l_ns_add(c->now, e->timeout_ms * S3L_MS + S3L_OVERDUE);
  c->stats.reads++;
  S3L_MUTATE(SENDS_TWICE, fx, c->stats.reads);
  return e;
}

static void send_read(s3l_core_t* c, s3l_effects_t* fx) {
  if (c->config.epochs != NULL) {
    s3l_epochs_send_read(c, fx);
    return;
  }
  s3l_effect_t* e = s3l_core_send_read(c, fx, S3L_DO_READ);
  c->op.conditional = !c->read_back && c->observed.etag[0] != '\0';
  if (c->op.conditional) {
    e->condition = S3LECT_IF_CHANGED;
    e->etag = c->observed.etag;
  }
}

/* Tells that a leadership is over in the store too, as soon as that is so. */
static void part(s3l_core_t* c, s3l_effects_t* fx) {
  if (!c->releasing || c->release_owed)
    return;
  c->releasing = false;
  c->successor = NULL;
  (void)s3l_core_effect(fx, S3L_DO_RELEASED);
}

static void perform(s3l_core_t* c, s3l_effects_t* fx, act_t act) {
  switch (act) {
  case ACT_CANCEL:
    c->op.cancelled = true;
    (void)s3l_core_effect(fx, S3L_DO_CANCEL);
    break;
  case ACT_READ:
    send_read(c, fx);
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
    give_up_release(c, fx,
                    c->unacknowledged != 0
                        ? "not released: the application has not acknowledged the end"
                        : "not released: the store has not answered in time");
    c->ack_owed = false;
    break;
  case ACT_FINISH:
    part(c, fx);
    c->phase = S3L_PHASE_STOPPED;
    (void)s3l_core_effect(fx, S3L_DO_STOPPED);
    break;
  case ACT_NONE:
    S3L_UNREACHABLE();
  }
}

/* Events. */

static void start(s3l_core_t* c, s3l_effects_t* fx, const s3l_event_t* ev) {
  S3L_ASSERT(c->phase == S3L_PHASE_STOPPED && c->op.kind == S3L_OP_NONE && !c->peer.probing);
  S3L_ASSERT(strlen(ev->incarnation) == S3LECT_INCARNATION_SIZE - 1);
  memcpy(c->incarnation, ev->incarnation, sizeof c->incarnation);
  s3l_prng_seed(&c->prng, ev->seed);
  c->phase = S3L_PHASE_STANDING;
  c->write = 0;
  memset(c->sent, 0, sizeof c->sent);
  s3l_view_forget(c, fx);
  s3l_peer_reset(c);
  s3l_epochs_reset(c);
  c->read_back = false;
  c->uncertain = 0;
  c->refused = false;
  c->disputed_told = false;
  c->watching = true;
  c->attempt = 0;
  c->poll_attempt = 0;
  c->not_before = c->now;
  c->poll_at = c->now;
  c->hold_until = 0;
  c->release_owed = false;
  c->ack_owed = false;
  c->leader_told = 0;
  c->duplicate_told = 0;
}

/* Whether the store holds, or may come to hold, a claim of ours that others would wait for. */
static bool may_own_claim(const s3l_core_t* c) {
  return s3l_view_is_own_claim(c) || c->op.kind == S3L_OP_TAKE_OVER || c->uncertain != 0;
}

static void resign(s3l_core_t* c, s3l_effects_t* fx, const char* successor) {
  if (!c->leading)
    return;
  c->successor = successor;
  if (!S3L_MUTANT(RELEASE_BEFORE_STOP))
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
  c->leave_by =
      s3l_ns_add(c->ack_owed ? c->ack_until : c->now, c->config.release_timeout_ms * S3L_MS);
}

/* One that is late may be about a leadership before the last: that says nothing about the last. */
static void acknowledged(s3l_core_t* c, uint64_t epoch) {
  bool owed = c->ack_owed;
  if (epoch < c->unacknowledged)
    return;
  c->ack_owed = false;
  c->unacknowledged = 0;
  if (owed && c->phase == S3L_PHASE_LEAVING)
    c->leave_by = s3l_ns_add(c->now, c->config.release_timeout_ms * S3L_MS);
}

static s3l_read_end_t take_in(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op,
                              const s3l_event_t* ev) {
  const s3lect_store_result_t* r = ev->result;
  if (c->config.epochs != NULL)
    return s3l_epochs_read_done(c, fx, op, ev);
  if (r->status == S3LECT_ENOTMODIFIED)
    c->stats.reads_not_modified++;
  return s3l_view_read(c, fx, r) ? S3L_READ_TOLD : S3L_READ_FAILED;
}

static void read_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_op_t* op, const s3l_event_t* ev) {
  bool read_back = c->read_back;
  s3l_read_end_t end = take_in(c, fx, op, ev);
  if (end == S3L_READ_TOLD) {
    /* An ETag that changes by itself is no progress: the schedule must not begin anew with it. */
    bool changed = c->observed.first_seen == c->now && !c->observed.same_write;
    if (read_back && changed)
      s3l_core_operation_done(c); /* what was to be written is overtaken */
    c->read_back = false;
    c->poll_attempt = 0;
    s3l_lead_resolve(c, fx);
    s3l_view_report(c, fx);
  } else if (end == S3L_READ_GOES_ON) {
    return; /* with another request, at once */
  } else if (c->read_back) {
    s3l_core_attempt_failed(c, fx, ev->result);
  } else {
    poll_failed(c, fx, ev->result);
  }
}

static void request_done(s3l_core_t* c, s3l_effects_t* fx, const s3l_event_t* ev) {
  s3l_op_t op = c->op;
  S3L_ASSERT(op.kind != S3L_OP_NONE);
  c->op.kind = S3L_OP_NONE;
  s3l_write_note_store_time(c, ev->result);
  if (op.kind == S3L_OP_READ)
    read_done(c, fx, &op, ev);
  else
    s3l_write_done(c, fx, &op, ev->result);
}

/* Design rule 9: whatever a peer says, it makes nobody leader and prolongs nothing. */
static void peer_answered(s3l_core_t* c, s3l_effects_t* fx, const s3l_peer_result_t* r) {
  s3l_ns_t valid_until = c->valid_until;
  bool leading = c->leading;
  s3l_peer_answered(c, fx, r);
  S3L_ASSERT(c->leading == leading && c->valid_until == valid_until);
  (void)leading;
  (void)valid_until;
}

static void check_invariants(const s3l_core_t* c) {
  S3L_ASSERT(!c->leading || c->now < c->valid_until);
  S3L_ASSERT(!c->leading || (s3l_view_is_own_claim(c) && c->observed.record.epoch == c->epoch));
  S3L_ASSERT(!c->leading || (c->phase == S3L_PHASE_STANDING && c->epoch == c->epoch_led));
  S3L_ASSERT(c->leading || (!c->announced && c->valid_until == 0));
  S3L_ASSERT(c->phase != S3L_PHASE_STOPPED || (c->op.kind == S3L_OP_NONE && !c->peer.probing));
  S3L_ASSERT(!c->releasing || c->release_owed);
  S3L_ASSERT(!c->peer.probing || c->peer.cancelled || s3l_peer_is_asked(c));
  S3L_ASSERT(s3l_peer_covers_until(c) == 0 || s3l_peer_is_asked(c));
  (void)c;
}

void s3l_core_init(s3l_core_t* c, const s3l_core_config_t* config) {
  S3L_ASSERT(config->leader_timeout_ms > 0 && config->renew_interval_ms > 0);
  S3L_ASSERT(strlen(config->id) > 0 && strlen(config->id) < S3LECT_ID_SIZE);
  S3L_ASSERT(strlen(config->addr) < S3LECT_ADDR_SIZE);
  S3L_ASSERT(!config->peer_mode || (config->peer_interval_ms > 0 && config->peer_timeout_ms > 0));
  memset(c, 0, sizeof *c);
  c->config = *config;
}

void s3l_core_step(s3l_core_t* c, s3l_ns_t now, const s3l_event_t* ev, s3l_effects_t* fx) {
  fx->len = 0;
  fx->changed = false;
  c->now = later(now, c->now);
  c->wall_ms = ev->wall_ms;
  s3l_lead_tick(c,
                fx); /* first of all: nothing that arrives late may act for a lease that is over */
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
    s3l_epochs_swept(c, fx, ev->result);
    break;
  }
  do
    for (due_t d = due(c); d.at <= c->now; d = due(c))
      perform(c, fx, d.act);
  while (s3l_peer_tick(c, fx));
  s3l_epochs_tick(c, fx);
  part(c, fx);
  check_invariants(c);
}

s3l_ns_t s3l_core_deadline(const s3l_core_t* c) {
  s3l_ns_t at = sooner(due(c).at, sooner(s3l_peer_due(c), s3l_epochs_deadline(c)));
  if (c->leading) {
    if (!S3L_MUTANT(NO_SELF_STOP))
      at = sooner(at, c->valid_until - S3L_STOP_EARLY);
    if (!c->announced)
      at = sooner(at, c->announce_at);
  }
  return at;
}

s3l_ns_t s3l_core_valid_until(const s3l_core_t* c) {
  return c->announced ? c->valid_until : 0;
}

bool s3l_core_confirmed(const s3l_core_t* c, s3l_ns_t now, s3l_confirmed_t* out) {
  memset(out, 0, sizeof *out);
  if (!c->announced || now >= c->valid_until)
    return false;
  S3L_ASSERT(s3l_view_is_own_claim(c)); /* what is in view of one's own, the store confirmed */
  s3l_core_record(c, &out->record);
  memcpy(out->record.leader_id, c->config.id, strlen(c->config.id));
  memcpy(out->record.leader_addr, c->config.addr, strlen(c->config.addr));
  out->etag = c->observed.etag;
  s3l_ns_t until = s3l_epochs_valid_at_most(c);
  out->valid_for_ms = (uint64_t)((until - now + S3L_MS - 1) / S3L_MS);
  return true;
}
