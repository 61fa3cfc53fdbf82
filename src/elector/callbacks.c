#include "elector/callbacks.h"

#include <stdio.h>

#include "util/buf.h"
#include "util/mutant.h"

#define MESSAGE_SIZE 1024 /* of an event, with the NUL: as much as a store says */

bool s3l_callbacks_init(s3l_executor_t* d, const s3lect_elector_options_t* o) {
  d->on[S3LECT_EVENT_STARTED_LEADING - 1] = o->on_started_leading;
  d->on[S3LECT_EVENT_STOPPED_LEADING - 1] = o->on_stopped_leading;
  d->on[S3LECT_EVENT_NEW_LEADER - 1] = o->on_new_leader;
  d->on[S3LECT_EVENT_RENEWED - 1] = o->on_renewed;
  d->on[S3LECT_EVENT_ERROR - 1] = o->on_error;
  d->on[S3LECT_EVENT_CLAIMING - 1] = o->on_claiming;
  d->on[S3LECT_EVENT_NO_LEADER - 1] = o->on_no_leader;
  d->on[S3LECT_EVENT_EXPIRING - 1] = o->on_expiring;
  if (o->on_trace == NULL && o->on_value == NULL)
    return true;
  s3l_extras_t* x = s3l_extras_get(&d->extras);
  if (x == NULL)
    return false;
  x->on_trace = o->on_trace;
  x->on_value = o->on_value;
  return true;
}

/* An error is forgotten when it could have occurred again twice, and has not. */
static bool is_to_be_told(s3l_executor_t* d, int error, const char* message) {
  if (S3L_MUTANT(TOLD_EACH_TIME))
    return true;
  const s3l_core_config_t* o = &d->core.config;
  int64_t look = o->frequent_interval_ms > o->infrequent_interval_ms ? o->frequent_interval_ms
                                                                     : o->infrequent_interval_ms;
  int64_t forget = 2 * (look + S3L_RETRIES * (int64_t)o->request_timeout_ms + S3L_RETRY_TOTAL_MS);
  return s3l_repeats_tell(&d->repeats, error, message, s3l_clock_lease_ns(), forget * S3L_MS);
}

static s3lect_event_cb callback(const s3l_executor_t* d, s3lect_event_kind_t kind) {
  if (kind == S3LECT_EVENT_VALUE)
    return d->extras != NULL ? d->extras->on_value : NULL;
  return d->on[kind - 1];
}

void s3l_callbacks_notify(s3l_executor_t* d, const s3l_effect_t* e) {
  s3lect_event_cb cb = callback(d, e->note);
  bool valid = e->note == S3LECT_EVENT_RENEWED || e->note == S3LECT_EVENT_EXPIRING;
  if (valid && d->expired)
    return;
  if (e->note == S3LECT_EVENT_RENEWED && d->metrics != NULL && d->metrics->sent_ns != 0)
    s3l_metrics_renewed(d->metrics, d->core.now - d->metrics->sent_ns);
  const char* message = e->message != NULL ? e->message
                        : e->error != 0    ? s3lect_strerror(e->error)
                                           : "";
  if (cb == NULL ||
      (e->note == S3LECT_EVENT_ERROR && !e->once && !is_to_be_told(d, e->error, message)))
    return;
  /* Some messages hold text of others: a store's reply, the address in a record. */
  char line[MESSAGE_SIZE];
  s3l_buf_cut(line, sizeof line, snprintf(line, sizeof line, "%s", message));
  s3l_buf_line(line);
  bool led = s3l_core_names_leader(&d->core) && e->note != S3LECT_EVENT_NO_LEADER;
  s3lect_event_t event = {
      .size = sizeof event,
      .kind = (int32_t)e->note,
      .reason = (int32_t)e->reason,
      .error = e->error,
      .epoch = e->epoch,
      .valid_until_ns = e->valid_until,
      .leader_id = led ? d->names.id : "",
      .leader_addr = led ? d->names.addr : "",
      .message = line,
      .takeover_allowed_ns = e->takeover_at,
      .value = led ? s3l_leader_names_value(&d->names) : "",
  };
  cb(d->handle, &event);
  if (S3L_MUTANT(TOLD_TWICE) && e->note == S3LECT_EVENT_RENEWED)
    cb(d->handle, &event);
}

void s3l_callbacks_report(s3l_executor_t* d, int error, const char* message) {
  const s3l_effect_t e = {.note = S3LECT_EVENT_ERROR,
                          .error = error,
                          .valid_until = s3l_core_valid_until(&d->core),
                          .message = message};
  s3l_callbacks_notify(d, &e);
}

bool s3l_callbacks_want_trace(const s3l_executor_t* d) {
  return d->extras != NULL && d->extras->on_trace != NULL;
}

void s3l_callbacks_trace(s3l_executor_t* d, const char* line) {
  d->extras->on_trace(d->handle, line);
}
