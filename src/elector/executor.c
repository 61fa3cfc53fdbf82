#include "elector/executor.h"

#include <stddef.h>
#include <string.h>

#include "core/lead.h"
#include "core/record.h"
#include "core/trace.h"
#include "elector/callbacks.h"
#include "elector/candidacy.h"
#include "elector/executor_files.h"
#include "elector/options.h"
#include "elector/peer_client.h"
#include "util/assert.h"
#include "util/buf.h"
#include "util/hex.h"
#include "util/list.h"
#include "util/mem.h"
#include "util/mutant.h"

#define INCARNATION_BYTES ((S3LECT_INCARNATION_SIZE - 1) / 2)
#define RANDOM_BYTES      (INCARNATION_BYTES + sizeof(uint64_t)) /* of a start: that, and a seed */

/* With names of usual length an elector takes 2 KiB: docs/performance.md. */
_Static_assert(sizeof(void*) != 8 || sizeof(s3l_executor_t) <= 1640, "an elector is too large");

static void run(s3l_executor_t* d, const s3l_event_t* event);

static void publish(s3l_executor_t* d) {
  int64_t valid = s3l_executor_is_withdrawn(d) ? 0 : s3l_core_valid_until(&d->core);
  if (S3L_MUTANT(PUBLISHED_LONGER) && valid > 0)
    valid += 1000000;
  if (!s3l_validity_publish(&d->validity, d->core.epoch, valid))
    d->expired = true;
}

/* Effects. */

static void on_done(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  s3l_executor_t* d = req->data;
  s3lect_store_result_t unusable = *r;
  s3l_listing_t listing;
  s3l_event_t event = {.kind = S3L_EV_DONE, .result = r};
  if (r->notice != 0 && (r->status == 0 || r->status == S3LECT_ENOTMODIFIED))
    s3l_callbacks_report(d, r->notice,
                         r->message); /* what the store tells its operator beside the result */
  if (r->status == 0 && d->listing) {
    unusable.status = s3l_files_listed(d->core.config.epochs, r, &listing);
    event.listing = unusable.status == 0 ? &listing : NULL;
    event.result = unusable.status == 0 ? r : &unusable;
  }
  if (d->metrics != NULL)
    s3l_metrics_request(d->metrics, req->body != NULL, r);
  run(d, &event);
}

static void on_gc_done(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  s3l_executor_t* d = req->data;
  s3l_files_gc_ended(d->core.config.epochs);
  run(d, &(s3l_event_t){.kind = S3L_EV_GC_DONE, .result = r});
}

static void submit(s3l_executor_t* d, const s3l_effect_t* e, const s3lect_record_t* record) {
  s3lect_store_req_t* req = &d->req;
  s3lect_store_t* store = req->store;
  req->condition = e->condition;
  req->etag = e->etag[0] != '\0' ? e->etag : NULL;
  req->timeout_ms = e->timeout_ms;
  req->due_ns = s3l_lead_due(&d->core);
  req->flags = e->disputed ? S3LECT_REQ_ETAG_DISPUTED : 0;
  req->body = NULL;
  req->body_len = 0;
  d->listing = e->kind == S3L_DO_LIST;
  if (d->listing)
    s3l_files_list(d->core.config.epochs, e, req);
  else if (e->file > 0)
    s3l_files_name(d->core.config.epochs, e->file, req);
  if (e->kind == S3L_DO_WRITE) {
    bool named = record->successor[0] != '\0';
    bool publishes = record->value[0] != '\0';
    const s3l_extras_t* x = d->extras;
    char* body = e->granted  ? x->granted->body
                 : named     ? x->transfer->body
                 : publishes ? x->value->body
                             : d->body;
    size_t size = e->granted  ? x->granted->body_size
                  : named     ? x->transfer->body_size
                  : publishes ? x->value->body_size
                              : d->body_size;
    req->body_len = d->core.config.protocol->encode(record, body, size);
    req->body = body;
    S3L_ASSERT(req->body_len > 0);
  }
  d->submit_error = d->listing               ? s3lect_store_list(store, req)
                    : e->kind == S3L_DO_READ ? s3lect_store_get(store, req)
                                             : s3lect_store_put(store, req);
  if (d->metrics != NULL)
    d->metrics->sent_ns = d->core.now;
}

/* The probe of the leader. */

static void on_answer(s3l_peer_probe_t* ask, const s3l_peer_result_t* result) {
  s3l_executor_t* d = ask->data;
  d->probe->pending = false;
  run(d, &(s3l_event_t){.kind = S3L_EV_PEER, .peer = result});
}

static void begin_probe(s3l_executor_t* d, const s3l_effect_t* e,
                        const s3lect_record_t* candidacy) {
  s3l_probe_t* p = d->probe;
  S3L_ASSERT(!p->pending && p->error == 0);
  p->ask.candidacy = e->candidacy ? s3l_candidacy_keep(d, candidacy) : NULL;
  p->error = s3l_peer_probe(p->client, &p->ask, d->names.addr, e->timeout_ms, e->wait_ms);
  p->pending = p->error == 0;
}

static bool probe_failed(s3l_probe_t* p, s3l_peer_result_t* result) {
  if (p == NULL || p->error == 0)
    return false;
  *result = (s3l_peer_result_t){
      .kind = S3L_PEER_FAILED,
      .status = p->error,
      .valid_for_ms = -1,
      .message = p->error == UV_EINVAL ? "the address in the record is no host:port" : NULL};
  p->error = 0;
  return true;
}

/* Followers that wait for an answer learn of the value of their leader by it. */
static void answer_with_value(s3l_executor_t* d) {
  bool leads = s3l_core_valid_until(&d->core) != 0 && !s3l_executor_is_withdrawn(d);
  if (leads && d->registration != NULL)
    s3l_peer_registration_changed(&d->registration->peer);
}

static void execute(s3l_executor_t* d, const s3l_effects_t* fx) {
  for (size_t i = 0; i < fx->len; i++) {
    const s3l_effect_t* e = &fx->at[i];
    if (s3l_callbacks_want_trace(d)) {
      char line[S3L_TRACE_SIZE];
      s3l_trace_effect(e, &fx->record, d->core.now, line, sizeof line);
      s3l_callbacks_trace(d, line);
    }
    switch (e->kind) {
    case S3L_DO_READ:
    case S3L_DO_WRITE:
    case S3L_DO_LIST:
      submit(d, e, &fx->record);
      break;
    case S3L_DO_GC:
      s3l_files_gc(d->core.config.epochs, e);
      break;
    case S3L_DO_GC_CANCEL:
      s3l_files_gc_cancel(d->core.config.epochs);
      break;
    case S3L_DO_CANCEL:
      if (!d->ended) /* else the request's end is about to be told */
        s3lect_store_cancel(d->req.store, &d->req);
      break;
    case S3L_DO_NOTIFY:
      if (e->note == S3LECT_EVENT_VALUE)
        answer_with_value(d);
      s3l_callbacks_notify(d, e);
      break;
    case S3L_DO_STOPPED:
      break; /* the phase says it */
    case S3L_DO_RELEASED:
      if (d->registration != NULL)
        s3l_peer_registration_changed(&d->registration->peer);
      break;
    case S3L_DO_PROBE:
      begin_probe(d, e, &fx->record);
      break;
    case S3L_DO_PROBE_CANCEL:
      if (d->probe->pending) /* else its end is about to be told */
        s3l_peer_probe_cancel(&d->probe->ask);
      break;
    }
  }
}

/* Steps. */

/* Puts another value and changed options into force, unless a write is under way; the options also
 * wait for the end of a transfer, for whose record there is room with the address before. */
static void apply_update(s3l_executor_t* d) {
  s3l_update_t* u = d->closing ? NULL : d->then.update;
  s3l_extras_t* x = d->extras;
  if (x != NULL && x->value_waiting != NULL && d->core.op.kind <= S3L_OP_READ)
    s3l_free(s3l_value_apply(&x->value_waiting, &x->value, &d->core));
  const char* before = d->core.config.addr;
  bool transfers = d->ask_transfer || d->core.successor != NULL;
  if (u == NULL || transfers || d->core.op.kind > S3L_OP_READ)
    return;
  memcpy(u->body, d->body, RANDOM_BYTES); /* of a start that was asked for */
  d->then.update = NULL;
  d->body = u->body;
  d->body_size = u->body_size;
  s3l_update_apply(u, &d->core, s3l_clock_lease_ns(), &d->names);
  if (d->addr_apart)
    s3l_update_free(before);
  d->addr_apart = true;
}

/* At the end of a write, since the core may send the next one at once. */
static s3l_value_t* apply_value(s3l_executor_t* d, const s3l_event_t* event) {
  s3l_extras_t* x = d->extras;
  bool waits = event->kind == S3L_EV_DONE && x != NULL && x->value_waiting != NULL;
  return waits ? s3l_value_apply(&x->value_waiting, &x->value, &d->core) : NULL;
}

static void step(s3l_executor_t* d, s3l_event_t* event) {
  s3l_effects_t fx;
  apply_update(d);
  s3l_value_t* before = apply_value(d, event);
  event->candidate = s3l_candidacy_find(d, event);
  event->wall_ms = s3l_clock_wall_ms();
  if (s3l_callbacks_want_trace(d)) {
    char line[S3L_TRACE_SIZE];
    s3l_trace_event(event, line, sizeof line);
    s3l_callbacks_trace(d, line);
  }
  s3l_core_step(&d->core, s3l_clock_lease_ns(), event, &fx);
  publish(d);
  const s3l_core_config_t* own = &d->core.config;
  bool named = !fx.changed || s3l_leader_names_keep(&d->names, &fx.seen, own->id, own->addr);
  execute(d, &fx);
  if (!named) {
    s3l_leader_names_forget(&d->names);
    s3l_callbacks_report(d, UV_ENOMEM,
                         "the leader's name is lost until the next change of the record");
  }
  s3l_free(before);
}

int s3l_executor_start(s3l_executor_t* d) {
  S3L_ASSERT(d->core.phase == S3L_PHASE_STOPPED && d->body_size >= RANDOM_BYTES);
  if (s3l_loop_random(d->body, RANDOM_BYTES) != 0)
    return UV_EIO;
  d->ask_start = true;
  s3l_executor_wake(d);
  return 0;
}

static s3l_event_t start_event(const s3l_executor_t* d, char incarnation[S3LECT_INCARNATION_SIZE]) {
  s3l_event_t event = {.kind = S3L_EV_START, .incarnation = incarnation};
  const unsigned char* random = (const unsigned char*)d->body;
  s3l_hex_encode(random, INCARNATION_BYTES, incarnation);
  incarnation[S3LECT_INCARNATION_SIZE - 1] = '\0';
  memcpy(&event.seed, random + INCARNATION_BYTES, sizeof event.seed);
  return event;
}

/* A start that waits for verify_on_start. */
static void on_preflight(s3l_preflight_t* preflight, int error, const char* message) {
  s3l_executor_t* d = preflight->data;
  if (error == S3LECT_EUNSAFE)
    d->ask_start = false;
  if (error != 0)
    s3l_callbacks_report(d, error, message);
  s3l_executor_wake(d);
}

/* The check for an election of the other protocol. */

static void on_checked(void* data, const char* message) {
  s3l_executor_t* d = data;
  d->check = NULL;
  if (message != NULL)
    s3l_callbacks_report(d, S3LECT_EPROTOCOL, message);
  s3l_executor_wake(d);
}

/* Begins a check that is due when the elector knows its election and has no request under way;
 * cancels that of an elector that no longer stands. */
static void tend_check(s3l_executor_t* d) {
  const s3l_core_t* core = &d->core;
  if (core->phase != S3L_PHASE_STANDING) {
    d->check_due = false;
    if (d->check != NULL)
      s3l_protocol_check_cancel(d->check);
  } else if (d->check_due && d->check == NULL && core->op.kind == S3L_OP_NONE &&
             core->observed.kind != S3L_OBSERVED_UNKNOWN) {
    d->check_due = false;
    d->check = s3l_protocol_check_begin(d->req.store, d->election, &core->config, on_checked, d);
  }
}

/* One thing that was asked for, or that could not be sent; false if there is nothing more to do. */
static bool step_asked(s3l_executor_t* d) {
  char incarnation[S3LECT_INCARNATION_SIZE];
  s3l_event_t event = {.kind = S3L_EV_TICK};
  s3l_peer_result_t unasked;
  s3lect_store_result_t failed = {.status = d->submit_error, .outcome = S3LECT_NOT_APPLIED};
  if (d->submit_error != 0) {
    event = (s3l_event_t){.kind = S3L_EV_DONE, .result = &failed};
    d->submit_error = 0;
  } else if (s3l_files_gc_failed(d->core.config.epochs, &failed)) {
    event = (s3l_event_t){.kind = S3L_EV_GC_DONE, .result = &failed};
  } else if (probe_failed(d->probe, &unasked)) {
    event = (s3l_event_t){.kind = S3L_EV_PEER, .peer = &unasked};
  } else if (d->expired) {
    event.kind = S3L_EV_EXPIRED;
    d->expired = false;
  } else if (d->ask_ack != 0) {
    event = (s3l_event_t){.kind = S3L_EV_ACK, .epoch = d->ask_ack};
    d->ask_ack = 0;
  } else if (d->ask_resign) {
    event.kind = d->ask_transfer ? S3L_EV_TRANSFER : S3L_EV_RESIGN;
    event.successor = d->ask_transfer ? d->extras->transfer->successor : NULL;
    d->ask_resign = false;
    d->ask_transfer = false;
  } else if (d->ask_stop != 0) {
    event.kind = S3L_EV_STOP;
    event.reason = (s3lect_reason_t)d->ask_stop;
    d->ask_stop = 0;
  } else if (d->ask_start && d->core.phase == S3L_PHASE_STOPPED) {
    if (!s3l_preflight_is_open(d->preflight, d->req.store, d->election, &d->core.config))
      return d->ask_stop != 0; /* it may have told the application something */
    d->ask_start = false;
    d->check_due = d->on[S3LECT_EVENT_ERROR - 1] != NULL && !d->core.config.observer &&
                   s3l_protocol_check_is_possible(d->req.store, &d->core.config);
    event = start_event(d, incarnation);
  } else {
    return false;
  }
  step(d, &event);
  return true;
}

void s3l_executor_unregister(s3l_executor_t* d) {
  if (d->registration == NULL)
    return;
  s3l_peer_server_remove(&d->registration->peer);
  s3l_free(d->registration);
  d->registration = NULL;
}

static void on_left(s3l_task_t* task) {
  s3l_executor_t* d = S3L_CONTAINER_OF(task, s3l_executor_t, wake);
  s3lect_elector_t* handle = d->handle;
  s3lect_elector_cb cb = d->then.close_cb;
  s3l_executor_unregister(d);
  if (d->probe != NULL)
    s3l_peer_client_unref(d->probe->client);
  handle->internal = NULL;
  s3l_leader_names_forget(&d->names);
  if (d->addr_apart)
    s3l_update_free(d->core.config.addr);
  s3l_extras_free(d->extras);
  s3l_free(d->metrics);
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
  int64_t preflight = s3l_preflight_deadline(d->preflight);
  s3l_loop_deadline_set(d->loop, &d->deadline, preflight < deadline ? preflight : deadline);
}

/* The executor was woken for what was asked for, before the core has anything to do. */
static bool is_early(const s3l_executor_t* d, const s3l_event_t* event) {
  return event->kind == S3L_EV_TICK && s3l_clock_lease_ns() < s3l_core_deadline(&d->core);
}

static void run(s3l_executor_t* d, const s3l_event_t* event) {
  S3L_ASSERT(!d->running);
  d->running = true;
  d->ended = event->kind == S3L_EV_DONE;
  apply_update(d);
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
  apply_update(d);
  tend_check(d);
  d->running = false;
  if (d->closing && d->core.phase == S3L_PHASE_STOPPED && d->check == NULL &&
      !s3l_preflight_is_busy(d->preflight))
    end(d);
  else
    arm(d);
}

void s3l_executor_record(const s3l_executor_t* d, s3lect_record_t* record) {
  s3l_core_record(&d->core, record);
  memcpy(record->leader_id, d->names.id, strlen(d->names.id));
  memcpy(record->leader_addr, d->names.addr, strlen(d->names.addr));
  const char* successor = s3l_leader_names_successor(&d->names);
  memcpy(record->successor, successor, strlen(successor));
  const char* value = s3l_leader_names_value(&d->names);
  memcpy(record->value, value, strlen(value));
}

void s3l_executor_wake(s3l_executor_t* d) {
  if (!d->running && !d->left)
    s3l_loop_defer(d->loop, &d->wake);
}

static void tick(s3l_executor_t* d) {
  run(d, &(s3l_event_t){.kind = S3L_EV_TICK});
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

/* Takes `size` bytes at *at, which is aligned as far as all sizes before were; NULL for none. */
static void* take(char** at, size_t size) {
  void* taken = size > 0 ? *at : NULL;
  *at += size;
  return taken;
}

static void init_probe(s3l_executor_t* d, s3lect_peer_client_t* client) {
  s3l_probe_t* p = d->probe;
  p->client = s3l_peer_client_of(client);
  s3l_peer_client_ref(p->client);
  p->ask.data = d;
  p->ask.path = d->peer_path;
  p->ask.done = on_answer;
}

int s3l_executor_create(s3lect_elector_t* handle, const s3lect_elector_options_t* o,
                        s3l_executor_t** out) {
  size_t preflight = o->verify_on_start != 0 ? sizeof(s3l_preflight_t) : 0;
  size_t probe = o->peer_client != NULL ? sizeof(s3l_probe_t) : 0;
  size_t files = s3l_files_size(o);
  size_t body = s3l_record_encode_max(o->server_id, o->server_addr, "") +
                (files > 0 ? S3L_RECORD_FILE_MORE : 0);
  bool usual = strcmp(o->peer_health_path, S3LECT_PEER_HEALTH_PATH) == 0;
  size_t strings = strlen(o->lockfile_path) + strlen(o->server_id) + strlen(o->server_addr) + 3 +
                   (usual ? 0 : strlen(o->peer_health_path) + 1);
  s3l_executor_t* d = s3l_calloc(1, sizeof *d + preflight + probe + files + body + strings);
  if (d == NULL || !s3l_callbacks_init(d, o) || s3l_loop_join(handle->loop, &d->loop) != 0) {
    if (d != NULL)
      s3l_extras_free(d->extras);
    s3l_free(d);
    return UV_ENOMEM;
  }
  s3l_deadline_init(&d->deadline, on_deadline);
  s3l_task_init(&d->wake, on_wake);
  char* at = (char*)(d + 1);
  d->preflight = take(&at, preflight);
  d->probe = take(&at, probe);
  void* state = take(&at, files);
  d->body = take(&at, body);
  d->body_size = (uint16_t)body;
  d->election = keep(&at, o->lockfile_path);
  d->peer_path = usual ? S3LECT_PEER_HEALTH_PATH : keep(&at, o->peer_health_path);
  const char* id = keep(&at, o->server_id);
  s3l_core_config_t config = s3l_elector_options_core(o, id, keep(&at, o->server_addr));
  config.epochs = s3l_files_init(state, o, d->election, on_gc_done, d);
  s3l_core_init(&d->core, &config);
  if (d->preflight != NULL)
    *d->preflight = (s3l_preflight_t){.data = d, .done = on_preflight};
  if (d->probe != NULL)
    init_probe(d, o->peer_client);
  s3l_leader_names_init(&d->names);
  d->handle = handle;
  d->req.data = d;
  d->req.store = o->store;
  d->req.key = d->election;
  d->req.body_max = S3L_RECORD_BODY_MAX;
  d->req.cb = on_done;
  *out = d;
  return 0;
}
