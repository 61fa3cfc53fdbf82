#include "elector/executor.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "core/trace.h"
#include "elector/options.h"
#include "util/assert.h"
#include "util/buf.h"
#include "util/hex.h"
#include "util/list.h"
#include "util/mem.h"

#define MESSAGE_SIZE      1024 /* of an event, with the NUL: as much as a store says */
#define INCARNATION_BYTES ((S3LECT_INCARNATION_SIZE - 1) / 2)
S3L_STATIC_ASSERT(sizeof(((s3l_executor_t*)0)->random) == INCARNATION_BYTES + sizeof(uint64_t),
                  "incarnation and seed");

int64_t s3l_executor_valid_until(s3l_executor_t* d) {
  int64_t valid = atomic_load_explicit(&d->valid_until, memory_order_acquire);
  while (valid != 0 && s3l_clock_lease_ns() >= valid)
    if (atomic_compare_exchange_weak_explicit(&d->valid_until, &valid, 0, memory_order_acq_rel,
                                              memory_order_acquire))
      return 0;
  return valid;
}

/* Whether a later validity of the epoch that is shown could be published: the process may have been
 * stopped since the core's reading of the clock, and other threads may have seen the end. */
static bool prolong(s3l_executor_t* d, int64_t valid) {
  int64_t before = d->shown;
  return s3l_clock_lease_ns() < before &&
         atomic_compare_exchange_strong_explicit(&d->valid_until, &before, valid,
                                                 memory_order_acq_rel, memory_order_acquire);
}

/* What other threads see. The epoch goes first: whoever sees the new validity sees it too. */
static void publish(s3l_executor_t* d) {
  int64_t valid = s3l_executor_is_withdrawn(d) ? 0 : s3l_core_valid_until(&d->core);
  bool same = valid != 0 && d->shown_epoch == d->core.epoch;
  atomic_store_explicit(&d->epoch, d->core.epoch, memory_order_release);
  if (same && valid == d->shown)
    return;
  if (same && !prolong(d, valid)) {
    d->expired = true;
    valid = 0;
  }
  if (!same || valid == 0)
    atomic_store_explicit(&d->valid_until, valid, memory_order_release);
  d->shown = valid;
  if (valid != 0)
    d->shown_epoch = d->core.epoch;
}

void s3l_executor_withdraw(s3l_executor_t* d) {
  atomic_store_explicit(&d->valid_until, 0, memory_order_release);
}

/* Effects. */

static s3lect_event_cb callback_for(const s3l_executor_t* d, s3lect_event_kind_t note) {
  switch (note) {
  case S3LECT_EVENT_STARTED_LEADING:
    return d->on_started_leading;
  case S3LECT_EVENT_STOPPED_LEADING:
    return d->on_stopped_leading;
  case S3LECT_EVENT_NEW_LEADER:
    return d->on_new_leader;
  case S3LECT_EVENT_RENEWED:
    return d->on_renewed;
  case S3LECT_EVENT_ERROR:
    return d->on_error;
  case S3LECT_EVENT_CLAIMING:
    return d->on_claiming;
  }
  return NULL;
}

/* An error is forgotten when it could have occurred again twice, and has not. */
static bool is_to_be_told(s3l_executor_t* d, int error, const char* message) {
  const s3l_core_config_t* o = &d->core.config;
  int64_t look = o->frequent_interval_ms > o->infrequent_interval_ms ? o->frequent_interval_ms
                                                                     : o->infrequent_interval_ms;
  int64_t forget = 2 * (look + S3L_RETRIES * (int64_t)o->request_timeout_ms + S3L_RETRY_TOTAL_MS);
  return s3l_repeats_tell(&d->repeats, error, message, s3l_clock_lease_ns(), forget * S3L_MS);
}

static void notify(s3l_executor_t* d, const s3l_effect_t* e) {
  s3lect_event_cb cb = callback_for(d, e->note);
  if (e->note == S3LECT_EVENT_RENEWED && d->expired)
    return;
  if (e->note == S3LECT_EVENT_RENEWED)
    s3l_registration_renewed(d, d->core.now);
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
  bool led = s3l_core_names_leader(&d->core);
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
  };
  cb(d->handle, &event);
}

/* What the store tells its operator beside the result. */
static void report_notice(s3l_executor_t* d, const s3lect_store_result_t* r) {
  if (r->notice != 0 && (r->status == 0 || r->status == S3LECT_ENOTMODIFIED))
    s3l_executor_report(d, r->notice, r->message);
}

static void on_store_done(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  s3l_executor_t* d = req->data;
  report_notice(d, r);
  s3lect_store_result_t unusable;
  s3l_listing_t listing;
  s3l_event_t event = {.kind = S3L_EV_DONE, .result = r};
  if (r->status == 0 && s3l_files_is_listing(d)) {
    unusable = *r;
    unusable.status = s3l_files_listed(d, r, &listing);
    if (unusable.status == 0)
      event.listing = &listing;
    else
      event.result = &unusable;
  }
  s3l_registration_done(d, req->body != NULL, r->status, r->outcome);
  s3l_executor_run(d, &event);
}

static void submit(s3l_executor_t* d, const s3l_effect_t* e, const s3lect_record_t* record) {
  s3lect_store_t* store = d->req.store;
  s3lect_store_req_t* req = &d->req;
  req->condition = e->condition;
  req->etag = e->etag[0] != '\0' ? e->etag : NULL;
  req->timeout_ms = e->timeout_ms;
  req->flags = 0;
  int err;
  if (e->kind != S3L_DO_LIST && e->file > 0)
    s3l_files_name(d, e);
  if (e->kind == S3L_DO_LIST) {
    s3l_files_list(d, e);
    err = s3lect_store_list(store, req);
  } else if (e->kind == S3L_DO_READ) {
    req->body = NULL;
    req->body_len = 0;
    err = s3lect_store_get(store, req);
  } else {
    req->flags = e->disputed ? S3LECT_REQ_ETAG_DISPUTED : 0;
    bool named = record->successor[0] != '\0';
    char* body = named ? d->transfer->body : d->body;
    req->body = body;
    size_t cap = named ? d->transfer->body_size : d->body_size;
    req->body_len = d->core.config.protocol->encode(record, body, cap);
    S3L_ASSERT(req->body_len > 0);
    err = s3lect_store_put(store, req);
  }
  d->submit_error = err;
  s3l_registration_sent(d, d->core.now);
}

static void trace_line(s3l_executor_t* d, const char* line) {
  d->on_trace(d->handle, line);
}

static void execute(s3l_executor_t* d, const s3l_effects_t* fx) {
  for (size_t i = 0; i < fx->len; i++) {
    const s3l_effect_t* e = &fx->at[i];
    if (d->on_trace != NULL) {
      char line[S3L_TRACE_SIZE];
      s3l_trace_effect(e, &fx->record, d->core.now, line, sizeof line);
      trace_line(d, line);
    }
    switch (e->kind) {
    case S3L_DO_READ:
    case S3L_DO_WRITE:
    case S3L_DO_LIST:
      submit(d, e, &fx->record);
      break;
    case S3L_DO_GC:
      s3l_files_gc(d, e);
      break;
    case S3L_DO_GC_CANCEL:
      s3l_files_gc_cancel(d);
      break;
    case S3L_DO_CANCEL:
      if (!d->ended) /* else the request's end is about to be told */
        s3lect_store_cancel(d->req.store, &d->req);
      break;
    case S3L_DO_NOTIFY:
      notify(d, e);
      break;
    case S3L_DO_STOPPED:
      break; /* the phase says it */
    case S3L_DO_RELEASED:
      s3l_registration_parted(d);
      break;
    case S3L_DO_PROBE:
      s3l_probe_begin(d, e);
      break;
    case S3L_DO_PROBE_CANCEL:
      s3l_probe_cancel(d);
      break;
    }
  }
}

/* Steps. */

static void step(s3l_executor_t* d, s3l_event_t* event) {
  s3l_effects_t fx;
  event->wall_ms = s3l_clock_wall_ms();
  if (d->on_trace != NULL) {
    char line[S3L_TRACE_SIZE];
    s3l_trace_event(event, line, sizeof line);
    trace_line(d, line);
  }
  s3l_core_step(&d->core, s3l_clock_lease_ns(), event, &fx);
  publish(d);
  const s3l_core_config_t* own = &d->core.config;
  bool named = !fx.changed || s3l_leader_names_keep(&d->names, &fx.seen, own->id, own->addr);
  execute(d, &fx);
  if (!named) {
    s3l_leader_names_forget(&d->names);
    s3l_executor_report(d, UV_ENOMEM,
                        "the leader's name is lost until the next change of the record");
  }
}

static s3l_event_t start_event(const s3l_executor_t* d, char incarnation[S3LECT_INCARNATION_SIZE]) {
  s3l_event_t event = {.kind = S3L_EV_START, .incarnation = incarnation};
  s3l_hex_encode(d->random, INCARNATION_BYTES, incarnation);
  incarnation[S3LECT_INCARNATION_SIZE - 1] = '\0';
  memcpy(&event.seed, d->random + INCARNATION_BYTES, sizeof event.seed);
  return event;
}

/* One thing that was asked for; false if there is nothing more to do now. */
static bool step_asked(s3l_executor_t* d) {
  char incarnation[S3LECT_INCARNATION_SIZE];
  s3l_event_t event = {.kind = S3L_EV_TICK};
  if (d->submit_error != 0) {
    s3lect_store_result_t failed = {.status = d->submit_error, .outcome = S3LECT_NOT_APPLIED};
    d->submit_error = 0;
    event = (s3l_event_t){.kind = S3L_EV_DONE, .result = &failed};
    step(d, &event);
    return true;
  }
  s3l_peer_result_t unasked;
  s3lect_store_result_t failed;
  if (s3l_files_gc_failed(d, &failed)) {
    event = (s3l_event_t){.kind = S3L_EV_GC_DONE, .result = &failed};
  } else if (s3l_probe_failed(d, &unasked)) {
    event = (s3l_event_t){.kind = S3L_EV_PEER, .peer = &unasked};
  } else if (d->expired) {
    event.kind = S3L_EV_EXPIRED;
    d->expired = false;
  } else if (d->ask_ack != 0) {
    event = (s3l_event_t){.kind = S3L_EV_ACK, .epoch = d->ask_ack};
    d->ask_ack = 0;
  } else if (d->ask_resign) {
    event.kind = d->ask_transfer ? S3L_EV_TRANSFER : S3L_EV_RESIGN;
    event.successor = d->ask_transfer ? d->transfer->successor : NULL;
    d->ask_resign = false;
    d->ask_transfer = false;
  } else if (d->ask_stop != 0) {
    event.kind = S3L_EV_STOP;
    event.reason = (s3lect_reason_t)d->ask_stop;
    d->ask_stop = 0;
  } else if (d->ask_start && d->core.phase == S3L_PHASE_STOPPED) {
    if (!s3l_preflight_is_open(d))
      return d->ask_stop != 0; /* it may have told the application something */
    d->ask_start = false;
    s3l_protocol_check_ask(d);
    event = start_event(d, incarnation);
  } else {
    return false;
  }
  step(d, &event);
  return true;
}

static void on_left(s3l_task_t* task) {
  s3l_executor_t* d = S3L_CONTAINER_OF(task, s3l_executor_t, wake);
  s3lect_elector_t* handle = d->handle;
  s3lect_elector_cb cb = d->close_cb;
  s3l_registration_close(d);
  s3l_probe_end(d);
  handle->internal = NULL;
  s3l_leader_names_forget(&d->names);
  s3l_free(d->transfer);
  s3l_free(d);
  if (cb != NULL)
    cb(handle);
}

static void end(s3l_executor_t* d) {
  d->left = true;
  s3l_loop_deadline_clear(d->loop, &d->deadline);
  s3l_task_cancel(&d->wake);
  s3l_task_init(&d->wake, on_left);
  s3l_loop_leave(d->loop, &d->wake);
}

static void arm(s3l_executor_t* d) {
  int64_t deadline = s3l_core_deadline(&d->core);
  int64_t preflight = s3l_preflight_deadline(d);
  s3l_loop_deadline_set(d->loop, &d->deadline, preflight < deadline ? preflight : deadline);
}

/* The executor was woken for what was asked for, before the core has anything to do. */
static bool is_early(const s3l_executor_t* d, const s3l_event_t* event) {
  return event->kind == S3L_EV_TICK && s3l_clock_lease_ns() < s3l_core_deadline(&d->core);
}

void s3l_executor_run(s3l_executor_t* d, const s3l_event_t* event) {
  S3L_ASSERT(!d->running);
  d->running = true;
  d->ended = event->kind == S3L_EV_DONE;
  /* What was asked for came first: a renewal that is confirmed after a resignation renews nothing.
   */
  while (step_asked(d))
    ;
  s3l_event_t copy = *event;
  d->ended = false;
  if (d->core.phase != S3L_PHASE_STOPPED && !is_early(d, event))
    step(d, &copy);
  while (step_asked(d))
    ;
  s3l_protocol_check_tend(d);
  d->running = false;
  if (d->closing && d->core.phase == S3L_PHASE_STOPPED && !s3l_preflight_is_busy(d) &&
      !s3l_protocol_check_is_busy(d))
    end(d);
  else
    arm(d);
}

void s3l_executor_report(s3l_executor_t* d, int error, const char* message) {
  s3l_effect_t e = {.note = S3LECT_EVENT_ERROR,
                    .error = error,
                    .epoch = 0,
                    .valid_until = s3l_core_valid_until(&d->core),
                    .message = message};
  notify(d, &e);
}

void s3l_executor_record(const s3l_executor_t* d, s3lect_record_t* record) {
  s3l_core_record(&d->core, record);
  memcpy(record->leader_id, d->names.id, strlen(d->names.id));
  memcpy(record->leader_addr, d->names.addr, strlen(d->names.addr));
  const char* successor = s3l_leader_names_successor(&d->names);
  memcpy(record->successor, successor, strlen(successor));
}

void s3l_executor_wake(s3l_executor_t* d) {
  if (!d->running && !d->left)
    s3l_loop_defer(d->loop, &d->wake);
}

static void tick(s3l_executor_t* d) {
  s3l_executor_run(d, &(s3l_event_t){.kind = S3L_EV_TICK});
}

static void on_deadline(s3l_deadline_t* deadline) {
  tick(S3L_CONTAINER_OF(deadline, s3l_executor_t, deadline));
}

static void on_wake(s3l_task_t* task) {
  tick(S3L_CONTAINER_OF(task, s3l_executor_t, wake));
}

/* Puts a string at *at, and *at behind it. */
static const char* keep(char** at, const char* text) {
  size_t size = strlen(text) + 1;
  char* kept = memcpy(*at, text, size);
  *at += size;
  return kept;
}

/* An executor of that many bytes, in its loop. NULL: no memory. */
static s3l_executor_t* create(uv_loop_t* loop, size_t size) {
  s3l_executor_t* d = s3l_calloc(1, size);
  if (d == NULL || s3l_loop_join(loop, &d->loop) != 0) {
    s3l_free(d);
    return NULL;
  }
  s3l_deadline_init(&d->deadline, on_deadline);
  s3l_task_init(&d->wake, on_wake);
  return d;
}

int s3l_executor_create(s3lect_elector_t* handle, const s3lect_elector_options_t* o,
                        s3l_executor_t** out) {
  size_t preflight = o->verify_on_start != 0 ? sizeof(s3l_preflight_t) : 0;
  size_t files = s3l_files_size(o);
  size_t body = s3l_record_encode_max(o->server_id, o->server_addr, "") +
                (files > 0 ? S3L_RECORD_FILE_MORE : 0);
  size_t probe = o->peer_client != NULL ? sizeof(s3l_probe_t) : 0;
  bool usual = strcmp(o->peer_health_path, S3LECT_PEER_HEALTH_PATH) == 0;
  size_t path = usual ? 0 : strlen(o->peer_health_path) + 1;
  size_t key = files > 0 ? 0 : strlen(o->lockfile_path) + 1;
  size_t strings = key + strlen(o->server_id) + 1 + strlen(o->server_addr) + 1 + path;
  s3l_executor_t* d = create(handle->loop, sizeof *d + preflight + probe + files + body + strings);
  if (d == NULL)
    return UV_ENOMEM;
  char* at = (char*)(d + 1);
  if (preflight > 0) {
    d->preflight = (s3l_preflight_t*)(void*)at;
    d->preflight->retry_ms = o->frequent_interval_ms;
    at += preflight;
  }
  if (probe > 0) {
    d->probe = (s3l_probe_t*)(void*)at;
    at += probe;
  }
  s3l_files_t* f = files > 0 ? s3l_files_init(d, at, o) : NULL;
  at += files;
  d->body = at;
  d->body_size = body;
  at += body;
  if (f == NULL)
    d->req.key = keep(&at, o->lockfile_path);
  const char* id = keep(&at, o->server_id);
  s3l_core_config_t config = s3l_elector_options_core(o, id, keep(&at, o->server_addr));
  config.epochs = f != NULL ? &f->state : NULL;
  s3l_core_init(&d->core, &config);
  d->peer_path = usual ? S3LECT_PEER_HEALTH_PATH : keep(&at, o->peer_health_path);
  if (d->probe != NULL)
    s3l_probe_init(d, o, d->peer_path);
  s3l_leader_names_init(&d->names);
  atomic_init(&d->valid_until, 0);
  atomic_init(&d->epoch, 0);
  d->handle = handle;
  d->req.data = d;
  d->req.store = o->store;
  d->req.body_max = S3L_RECORD_BODY_MAX;
  d->req.cb = on_store_done;
  d->on_started_leading = o->on_started_leading;
  d->on_stopped_leading = o->on_stopped_leading;
  d->on_new_leader = o->on_new_leader;
  d->on_renewed = o->on_renewed;
  d->on_error = o->on_error;
  d->on_claiming = o->on_claiming;
  d->on_trace = o->on_trace;
  *out = d;
  return 0;
}
