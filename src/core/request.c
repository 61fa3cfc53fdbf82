#include "core/request.h"

#include <string.h>

#include "core/effects.h"
#include "core/observation.h"
#include "s3lect/errno.h"
#include "util/error_kind.h"

/* Delay before the attempt after `failed` failed ones; S3L_NEVER: the operation is given up. */
static s3l_ns_t next_attempt(s3l_core_t* c, uint32_t failed, const s3lect_store_result_t* r) {
  s3l_ns_t delay = s3l_error_is_lasting(r->status) ? S3L_NEVER : s3l_retry_delay(failed);
  if (delay == S3L_NEVER)
    return S3L_NEVER;
  c->stats.retries++;
  if (r->status == S3LECT_ECROWDED) /* not sent: soon back into the queue, whose order counts */
    return s3l_sooner(delay, S3L_RETRY_CROWDED);
  return s3l_later(delay, s3l_sooner(r->retry_after_ms * S3L_MS, S3L_SECOND));
}

static void report_failure(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  c->stats.failures++;
  s3l_core_error(c, fx, r->status != 0 ? r->status : S3LECT_EETAG, r->message);
}

void s3l_request_give_up_release(s3l_core_t* c, s3l_effects_t* fx, const char* why) {
  c->release_owed = false;
  if (s3l_is_sound_claim(c))
    s3l_core_error_once(c, fx, S3LECT_ERELEASE, why);
}

void s3l_request_failed(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  s3l_ns_t delay = next_attempt(c, ++c->attempt, r);
  if (delay != S3L_NEVER) {
    c->not_before = s3l_ns_add(c->now, delay);
    c->read_back_at = c->not_before;
    return;
  }
  c->attempt = 0;
  report_failure(c, fx, r);
  if (c->release_owed) {
    s3l_request_give_up_release(c, fx, r->message);
    c->not_before = c->now;
  } else if (c->leading) {
    c->not_before = s3l_later(s3l_ns_add(c->now, 100 * S3L_MS),
                              s3l_ns_add(c->op_started, c->config.renew_interval_ms * S3L_MS));
  } else {
    c->not_before = s3l_ns_add(c->now, s3l_core_jitter(c, c->config.frequent_interval_ms));
  }
  c->read_back_at = c->not_before;
}

void s3l_request_poll_failed(s3l_core_t* c, s3l_effects_t* fx, const s3lect_store_result_t* r) {
  s3l_ns_t delay = next_attempt(c, ++c->poll_attempt, r);
  if (delay == S3L_NEVER) {
    c->poll_attempt = 0;
    report_failure(c, fx, r);
    delay = s3l_core_jitter(c, c->config.frequent_interval_ms);
  }
  c->poll_at = s3l_ns_add(c->now, delay);
}

void s3l_request_done(s3l_core_t* c) {
  c->attempt = 0;
  c->not_before = c->now;
}

s3l_effect_t* s3l_request_read(s3l_core_t* c, s3l_effects_t* fx, s3l_effect_kind_t kind,
                               bool if_changed) {
  s3l_op_t* op = &c->op;
  memset(op, 0, sizeof *op);
  op->kind = S3L_OP_READ;
  op->sent_at = c->now;
  s3l_effect_t* e = s3l_core_effect(fx, kind);
  op->conditional = if_changed && c->observed.etag[0] != '\0';
  e->condition = op->conditional ? S3LECT_IF_CHANGED : S3LECT_ALWAYS;
  e->etag = op->conditional ? c->observed.etag : "";
  e->timeout_ms = c->config.request_timeout_ms;
  s3l_ns_t bound = c->leading                      ? c->valid_until
                   : c->phase == S3L_PHASE_LEAVING ? c->leave_by
                                                   : S3L_NEVER;
  if ((bound - c->now) / S3L_MS < e->timeout_ms)
    e->timeout_ms = (uint32_t)s3l_later((bound - c->now) / S3L_MS, 1);
  op->overdue_at = s3l_ns_add(c->now, e->timeout_ms * S3L_MS + S3L_OVERDUE);
  c->stats.reads++;
  S3L_MUTATE(SENDS_TWICE, fx, c->stats.reads);
  return e;
}
