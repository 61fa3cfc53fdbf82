/* elector/elector.c: the public handle. Calls only note what is asked for and wake the executor,
 * which acts on it from the loop; see executor.h. */
#include "s3lect/elector.h"

#include <string.h>

#include "core/record.h"
#include "elector/executor.h"
#include "elector/options.h"
#include "elector/peer_client.h"
#include "loop/clock.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/utf8.h"

static s3l_executor_t* executor_of(const s3lect_elector_t* elector) {
  return elector->internal;
}

static int check_peer_client(const s3lect_peer_client_t* client, const uv_loop_t* loop,
                             s3lect_error_t* error) {
  if (client != NULL && client->loop != loop)
    return s3l_error_say(error, UV_EINVAL, "peer_client", NULL,
                         "on another loop; open one on the elector's");
  if (client != NULL && s3l_peer_client_of(client) == NULL)
    return s3l_error_say(error, UV_ECANCELED, "peer_client", NULL,
                         "closed, or closing; give one that is open");
  return 0;
}

int s3lect_elector_init(uv_loop_t* loop, s3lect_elector_t* elector,
                        const s3lect_elector_options_t* options, s3lect_error_t* error) {
  s3lect_elector_options_t resolved;
  s3l_error_clear(error);
  int r = s3l_elector_options_resolve(options, &resolved, error);
  if (r == 0)
    r = check_peer_client(resolved.peer_client, loop, error);
  if (r != 0)
    return r;
  void* data = elector->data; /* the caller's, even before init */
  memset(elector, 0, sizeof *elector);
  elector->data = data;
  elector->loop = loop;
  s3l_executor_t* d;
  r = s3l_executor_create(elector, &resolved, &d);
  if (r == 0)
    elector->internal = d;
  return s3l_error_end(error, r);
}

static bool is_standing(const s3l_executor_t* d) {
  bool stands = d->core.phase == S3L_PHASE_STANDING || d->ask_start;
  return stands && d->ask_stop == 0;
}

int s3lect_elector_start(s3lect_elector_t* elector) {
  s3l_executor_t* d = executor_of(elector);
  if (d == NULL || d->closing)
    return UV_ECANCELED;
  if (is_standing(d))
    return UV_EALREADY;
  if (d->ask_stop != 0 || d->core.phase != S3L_PHASE_STOPPED)
    return UV_EBUSY;
  return s3l_executor_start(d);
}

int s3lect_elector_resign(s3lect_elector_t* elector) {
  s3l_executor_t* d = executor_of(elector);
  if (!s3lect_elector_is_leader(elector))
    return UV_EINVAL;
  d->ask_resign = true;
  s3l_validity_withdraw(&d->validity);
  s3l_executor_wake(d);
  return 0;
}

int s3lect_elector_transfer(s3lect_elector_t* elector, const char* to_id) {
  s3l_executor_t* d = executor_of(elector);
  size_t n = strlen(to_id);
  if (!s3lect_elector_is_leader(elector))
    return UV_EINVAL;
  const s3l_core_config_t* own = &d->core.config;
  if (n == 0 || n >= S3LECT_ID_SIZE || !s3l_utf8_is_valid(s3l_span_cstr(to_id)) ||
      strcmp(to_id, own->id) == 0)
    return S3LECT_EOPTION;
  size_t body_size = s3l_record_encode_max(own->id, own->addr, to_id) + S3L_RECORD_FILE_MORE;
  s3l_extras_t* x = s3l_extras_get(&d->extras);
  s3l_transfer_t* transfer = x != NULL ? s3l_calloc(1, sizeof *transfer + body_size) : NULL;
  if (transfer == NULL)
    return UV_ENOMEM;
  memcpy(transfer->successor, to_id, n + 1);
  transfer->body_size = body_size;
  s3l_free(x->transfer); /* who leads is through with an earlier one */
  x->transfer = transfer;
  int r = s3lect_elector_resign(elector);
  d->ask_transfer = r == 0;
  return r;
}

static void ask_stop(s3l_executor_t* d, s3lect_reason_t reason) {
  d->ask_stop = (unsigned)reason & 0xf;
  s3l_validity_withdraw(&d->validity);
  s3l_executor_wake(d);
}

int s3lect_elector_stop(s3lect_elector_t* elector) {
  s3l_executor_t* d = executor_of(elector);
  if (d == NULL || !is_standing(d))
    return UV_EALREADY;
  if (d->ask_start) { /* it has not begun: nothing to undo */
    d->ask_start = false;
    s3l_preflight_cancel(d->preflight);
    return 0;
  }
  ask_stop(d, S3LECT_REASON_STOPPED);
  return 0;
}

/* What an update may not change, and does. NULL: nothing. */
static const char* changed_option(const s3l_executor_t* d, const s3lect_elector_options_t* o) {
  const s3l_core_config_t* now = &d->core.config;
  const s3l_core_config_t then = s3l_elector_options_core(o, o->server_id, o->server_addr);
  const s3l_peer_client_t* client =
      o->peer_client != NULL ? s3l_peer_client_of(o->peer_client) : NULL;
  return strcmp(o->lockfile_path, d->election) != 0               ? "lockfile_path"
         : strcmp(o->server_id, now->id) != 0                     ? "server_id"
         : o->store != d->req.store                               ? "store"
         : then.protocol != now->protocol                         ? "protocol"
         : then.drift_ppm != now->drift_ppm                       ? "drift_ppm"
         : then.store_clock != now->store_clock                   ? "expiry"
         : then.no_release != now->no_release                     ? "no_release"
         : then.observer != now->observer                         ? "observer"
         : client != (d->probe != NULL ? d->probe->client : NULL) ? "peer_client"
         : strcmp(o->peer_health_path, d->peer_path) != 0         ? "peer_health_path"
                                                                  : NULL;
}

static int check_update(const s3l_executor_t* d, const s3lect_elector_options_t* o,
                        s3lect_error_t* error) {
  const char* name = changed_option(d, o);
  if (name != NULL)
    return s3l_error_say(error, S3LECT_EOPTION, name, NULL,
                         "cannot be changed by an update; give it as s3lect_elector_init got it");
  if (o->leader_timeout_ms != d->core.config.leader_timeout_ms && s3l_core_is_bound(&d->core))
    return s3l_error_say(
        error, UV_EBUSY, "leader_timeout_ms", NULL,
        "cannot be changed while this elector leads or is about to; resign, or try "
        "again later");
  return 0;
}

int s3lect_elector_update(s3lect_elector_t* elector, const s3lect_elector_options_t* options,
                          s3lect_error_t* error) {
  s3l_executor_t* d = executor_of(elector);
  s3lect_elector_options_t resolved;
  s3l_update_t* update;
  s3l_error_clear(error);
  if (d == NULL || d->closing)
    return s3l_error_end(error, UV_ECANCELED);
  int r = s3l_elector_options_resolve(options, &resolved, error);
  if (r == 0)
    r = check_update(d, &resolved, error);
  if (r == 0)
    r = s3l_update_make(&resolved, &d->core.config, &update);
  if (r != 0)
    return s3l_error_end(error, r);
  s3l_free(d->then.update);
  d->then.update = update;
  s3l_executor_wake(d);
  return 0;
}

int s3lect_elector_set_value(s3lect_elector_t* elector, const char* text, int at_once) {
  s3l_executor_t* d = executor_of(elector);
  s3l_value_t* value;
  if (d == NULL || d->closing)
    return UV_ECANCELED;
  s3l_extras_t* x = s3l_extras_get(&d->extras);
  if (x == NULL)
    return UV_ENOMEM;
  bool also = x->value_waiting != NULL && x->value_waiting->at_once;
  int r = s3l_value_make(d->core.config.id, text != NULL ? text : "", at_once != 0 || also, &value);
  if (r != 0)
    return r;
  s3l_free(x->value_waiting);
  x->value_waiting = value;
  s3l_executor_wake(d);
  return 0;
}

void s3lect_elector_ack(s3lect_elector_t* elector, uint64_t epoch) {
  s3l_executor_t* d = executor_of(elector);
  if (d == NULL || epoch == 0 || epoch != d->core.unacknowledged)
    return;
  d->ask_ack = epoch;
  s3l_executor_wake(d);
}

int s3lect_elector_close(s3lect_elector_t* elector, s3lect_elector_cb cb) {
  s3l_executor_t* d = executor_of(elector);
  if (d == NULL || d->closing)
    return UV_EALREADY;
  s3l_free(d->then.update);
  d->closing = true;
  d->then.close_cb = cb;
  d->ask_start = false;
  s3l_preflight_cancel(d->preflight);
  ask_stop(d, S3LECT_REASON_CLOSED);
  return 0;
}

int s3lect_elector_is_leader(const s3lect_elector_t* elector) {
  s3l_executor_t* d = executor_of(elector);
  return d != NULL && s3l_validity_until(&d->validity) != 0; /* NULL: closed */
}

uint64_t s3lect_elector_valid_for_ms(const s3lect_elector_t* elector) {
  s3l_executor_t* d = executor_of(elector);
  int64_t valid_until = d != NULL ? s3l_validity_until(&d->validity) : 0;
  int64_t left = valid_until != 0 ? valid_until - s3l_clock_lease_ns() : 0;
  return left > 0 ? (uint64_t)(left / S3L_MS) : 0;
}

uint64_t s3lect_elector_epoch(const s3lect_elector_t* elector) {
  const s3l_executor_t* d = executor_of(elector);
  return d != NULL ? atomic_load_explicit(&d->validity.epoch, memory_order_acquire) : 0;
}

const char* s3lect_elector_leader(const s3lect_elector_t* elector) {
  const s3l_executor_t* d = executor_of(elector);
  return d != NULL && s3l_core_names_leader(&d->core) ? d->names.id : "";
}

int s3lect_elector_status(const s3lect_elector_t* elector, s3lect_status_t* status) {
  const s3l_executor_t* d = executor_of(elector);
  s3lect_status_t all = {.size = sizeof all};
  if (status->size != sizeof all)
    return UV_EINVAL;
  if (d == NULL)
    return UV_ECANCELED;
  const s3l_core_t* c = &d->core;
  all.valid_until_ns = s3l_validity_until(&executor_of(elector)->validity);
  if (all.valid_until_ns != 0) {
    all.role = S3LECT_ROLE_LEADER;
  } else {
    all.role = is_standing(d) ? S3LECT_ROLE_FOLLOWER : S3LECT_ROLE_STOPPED;
  }
  int preflight = s3l_preflight_error(d->preflight);
  all.last_error = preflight != 0 ? preflight : c->last_error;
  all.epoch = s3lect_elector_epoch(elector);
  s3l_executor_record(d, &all.record);
  bool another = s3l_core_names_leader(c) && !c->observed.own;
  all.leader_until_ns = another ? c->observed.takeover_at : 0;
  all.observed = c->observed.kind != S3L_OBSERVED_UNKNOWN;
  all.peer_error = c->peer.error;
  *status = all;
  return 0;
}

int s3lect_elector_stats(const s3lect_elector_t* elector, s3lect_stats_t* stats) {
  const s3l_executor_t* d = executor_of(elector);
  size_t size = stats->size;
  if (size != sizeof *stats)
    return UV_EINVAL;
  if (d == NULL)
    return UV_ECANCELED;
  const s3l_core_stats_t* s = &d->core.stats;
  const s3lect_stats_t all = {
      .size = size,
      .reads = s->reads,
      .reads_not_modified = s->reads_not_modified,
      .writes = s->writes,
      .renewals = s->renewals,
      .leaderships = s->leaderships,
      .retries = s->retries,
      .failures = s->failures,
      .unknown_outcomes = s->unknown_outcomes,
      .unknown_resolved = s->unknown_resolved,
      .conflicts = s->conflicts,
      .late_replies = s->late_replies,
      .peer_checks = s->peer_checks,
      .peer_answers = s->peer_answers,
      .peer_failures = s->peer_failures,
      .peer_refused = s->peer_refused,
  };
  *stats = all;
  return 0;
}

void s3lect_elector_ref(s3lect_elector_t* elector) {
  s3l_executor_t* d = executor_of(elector);
  if (d != NULL)
    s3l_loop_deadline_ref(d->loop, &d->deadline, true);
}

void s3lect_elector_unref(s3lect_elector_t* elector) {
  s3l_executor_t* d = executor_of(elector);
  if (d != NULL)
    s3l_loop_deadline_ref(d->loop, &d->deadline, false);
}
