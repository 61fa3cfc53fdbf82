/* The class Elector of the addon, which lib/elector.js wraps. It calls two methods of its object:
 *
 *   onEvent(kind, epoch, leaderId, leaderAddr, reason, error, value)
 *   onClosed() */
#include <stdlib.h>

#include "addon.h"

typedef struct elector_s {
  object_t object; /* first */
  s3lect_elector_t handle;
  object_t *store, *peer_client; /* that it uses; the latter may be NULL */
} elector_t;

static const class_t elector_class;

static elector_t* elector_this(napi_env env, napi_callback_info info, size_t argc,
                               napi_value* argv) {
  return object_this(env, info, &elector_class, argc, argv);
}

s3lect_elector_t* elector_of(napi_env env, napi_value value) {
  elector_t* e = object_unwrap(env, value, &elector_class);
  if (e != NULL && e->object.closed)
    return error_throw(env, UV_ECANCELED, elector_class.closed);
  return e != NULL ? &e->handle : NULL;
}

/* ---- Events ---- */

static void on_event(s3lect_elector_t* handle, const s3lect_event_t* event) {
  elector_t* e = handle->data;
  napi_env env = e->object.addon->env;
  napi_handle_scope scope;
  if (!object_enter(&e->object, &scope))
    return;
  const napi_value argv[] = {
      value_text(env, s3lect_event_name(event->kind)),
      value_bigint(env, event->epoch),
      value_text(env, event->leader_id),
      value_text(env, event->leader_addr),
      value_text(env, s3lect_reason_name(event->reason)),
      event->kind == S3LECT_EVENT_ERROR ? error_make(env, event->error, event->message)
                                        : value_undefined(env),
      value_text(env, event->value),
  };
  object_call(&e->object, scope, "onEvent", sizeof argv / sizeof *argv, argv);
}

/* ---- Life ---- */

static void on_closed(s3lect_elector_t* handle) {
  elector_t* e = handle->data;
  object_t *store = e->store, *peer_client = e->peer_client;
  object_closed(&e->object);
  object_unuse(store);
  if (peer_client != NULL)
    object_unuse(peer_client);
}

static void elector_close(object_t* object) {
  elector_t* e = (elector_t*)object;
  s3lect_elector_ref(&e->handle); /* the loop is needed until it is closed */
  (void)s3lect_elector_close(&e->handle, on_closed);
}

#define OPTION(kind, name, member)                                                                 \
  { name, kind, offsetof(s3lect_elector_options_t, member) }

static const field_t fields[] = {
    OPTION(FIELD_TEXT, "lockfilePath", lockfile_path),
    OPTION(FIELD_TEXT, "serverId", server_id),
    OPTION(FIELD_TEXT, "serverAddr", server_addr),
    OPTION(FIELD_UINT32, "frequentIntervalMs", frequent_interval_ms),
    OPTION(FIELD_UINT32, "infrequentIntervalMs", infrequent_interval_ms),
    OPTION(FIELD_UINT32, "leaderTimeoutMs", leader_timeout_ms),
    OPTION(FIELD_UINT32, "renewIntervalMs", renew_interval_ms),
    OPTION(FIELD_UINT32, "requestTimeoutMs", request_timeout_ms),
    OPTION(FIELD_UINT32, "driftPpm", drift_ppm),
    OPTION(FIELD_UINT32, "gracePeriodMs", grace_period_ms),
    OPTION(FIELD_UINT32, "releaseTimeoutMs", release_timeout_ms),
    OPTION(FIELD_UINT32, "stopAckMs", stop_ack_ms),
    OPTION(FIELD_UINT32, "renewDeadlineMs", renew_deadline_ms),
    OPTION(FIELD_UINT32, "warnBeforeMs", warn_before_ms),
    OPTION(FIELD_INT32, "priority", priority),
    OPTION(FIELD_BOOL, "noRelease", no_release),
    OPTION(FIELD_INT32, "expiry", expiry),
    OPTION(FIELD_BOOL, "verifyOnStart", verify_on_start),
    OPTION(FIELD_BOOL, "observer", observer),
    OPTION(FIELD_INT32, "protocol", protocol),
    OPTION(FIELD_BOOL, "keepEpochs", keep_epochs),
    OPTION(FIELD_TEXT, "peerHealthPath", peer_health_path),
    OPTION(FIELD_UINT32, "peerIntervalMs", peer_interval_ms),
    OPTION(FIELD_UINT32, "peerTimeoutMs", peer_timeout_ms),
};

bool elector_fields_read(napi_env env, napi_value from, s3lect_elector_options_t* options,
                         texts_t* texts) {
  return fields_read(env, from, fields, sizeof fields / sizeof *fields, options, texts);
}

static void set_callbacks(s3lect_elector_options_t* options) {
  options->on_started_leading = on_event;
  options->on_stopped_leading = on_event;
  options->on_new_leader = on_event;
  options->on_renewed = on_event;
  options->on_error = on_event;
  options->on_claiming = on_event;
  options->on_no_leader = on_event;
  options->on_expiring = on_event;
  options->on_value = on_event;
}

/* new Elector(options, store, peerClient | undefined) */
static int elector_open(object_t* object, const napi_value* argv, texts_t* texts,
                        s3lect_error_t* error) {
  elector_t* e = (elector_t*)object;
  napi_env env = object->addon->env;
  s3lect_elector_options_t options;
  s3lect_elector_options_init(&options, sizeof options);
  options.store = store_of(env, argv[1], &e->store);
  if (options.store == NULL)
    return 1;
  if (value_is_given(env, argv[2])) {
    options.peer_client = peer_client_of(env, argv[2], &e->peer_client);
    if (options.peer_client == NULL)
      return 1;
  }
  if (!elector_fields_read(env, argv[0], &options, texts))
    return 1;
  set_callbacks(&options);
  int r = s3lect_elector_init(object->addon->loop, &e->handle, &options, error);
  if (r != 0)
    return r;
  e->handle.data = e;
  object_use(e->store);
  if (e->peer_client != NULL)
    object_use(e->peer_client);
  return 0;
}

static const class_t elector_class = {.name = "Elector",
                                      .mismatch = "not an elector",
                                      .closed = "the elector is closed",
                                      .tag = {0x8f0c1b7a53d94e21, 0xa4f7c2960be8d315},
                                      .size = sizeof(elector_t),
                                      .fields = fields,
                                      .fields_n = sizeof fields / sizeof *fields,
                                      .open = elector_open,
                                      .close = elector_close};

/* ---- Methods ---- */

/* What most of them end with: nothing, or an exception. */
static napi_value result_of(napi_env env, int r, const char* message) {
  return r == 0 ? value_undefined(env) : error_throw(env, r, message);
}

static napi_value elector_start(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  if (e == NULL)
    return NULL;
  int r = s3lect_elector_start(&e->handle);
  if (r == 0)
    object_hold(&e->object);
  return result_of(env, r,
                   r == UV_EALREADY    ? "the elector has been started already"
                   : r == UV_EBUSY     ? "the elector is still releasing the record after its stop"
                   : r == UV_ECANCELED ? elector_class.closed
                                       : NULL);
}

static napi_value elector_stop(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  if (e == NULL)
    return NULL;
  int r = s3lect_elector_stop(&e->handle);
  return result_of(env, r, r == UV_EALREADY ? "the elector does not stand" : NULL);
}

static napi_value elector_resign(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  if (e == NULL)
    return NULL;
  int r = s3lect_elector_resign(&e->handle);
  return result_of(env, r, r == UV_EINVAL ? "the elector does not lead" : NULL);
}

static napi_value elector_transfer(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  texts_t texts = {0};
  elector_t* e = elector_this(env, info, 1, argv);
  const char* to = e != NULL ? texts_add(&texts, env, argv[0], "the successor's ID") : NULL;
  int r = to != NULL ? s3lect_elector_transfer(&e->handle, to) : 0;
  texts_free(&texts);
  if (to == NULL)
    return NULL;
  return result_of(
      env, r,
      r == UV_EINVAL ? "the elector does not lead"
      : r == S3LECT_EOPTION
          ? "the successor's ID must be another's than this elector's, of 1 to 255 bytes"
          : NULL);
}

/* setValue(text, atOnce) */
static napi_value elector_set_value(napi_env env, napi_callback_info info) {
  napi_value argv[2];
  texts_t texts = {0};
  bool at_once = false;
  elector_t* e = elector_this(env, info, 2, argv);
  const char* text = e != NULL ? texts_add(&texts, env, argv[0], "the value") : NULL;
  (void)(text != NULL && napi_get_value_bool(env, argv[1], &at_once) == napi_ok);
  int r = text != NULL ? s3lect_elector_set_value(&e->handle, text, at_once) : 0;
  texts_free(&texts);
  if (text == NULL)
    return NULL;
  return result_of(env, r,
                   r == S3LECT_EOPTION ? "the value must be of at most 1024 bytes of UTF-8"
                   : r == UV_ECANCELED ? elector_class.closed
                                       : NULL);
}

/* update(options, store, peerClient | undefined) */
static napi_value elector_update(napi_env env, napi_callback_info info) {
  napi_value argv[3];
  texts_t texts = {0};
  s3lect_error_t error = {0};
  s3lect_elector_options_t options;
  object_t *store, *peer_client;
  elector_t* e = elector_this(env, info, 3, argv);
  if (e == NULL)
    return NULL;
  s3lect_elector_options_init(&options, sizeof options);
  options.store = store_of(env, argv[1], &store);
  bool given = value_is_given(env, argv[2]);
  options.peer_client = given ? peer_client_of(env, argv[2], &peer_client) : NULL;
  if (options.store == NULL || (given && options.peer_client == NULL))
    return NULL;
  bool read = elector_fields_read(env, argv[0], &options, &texts);
  int r = read ? s3lect_elector_update(&e->handle, &options, &error) : 0;
  texts_free(&texts);
  if (r != 0)
    error_throw_option(env, &error);
  return r == 0 && read ? value_undefined(env) : NULL;
}

static napi_value elector_ack(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  uint64_t epoch;
  bool lossless;
  elector_t* e = elector_this(env, info, 1, argv);
  if (e == NULL)
    return NULL;
  if (napi_get_value_bigint_uint64(env, argv[0], &epoch, &lossless) != napi_ok || !lossless)
    return error_throw(env, UV_EINVAL, "the epoch must be a bigint, as the event has it");
  s3lect_elector_ack(&e->handle, epoch);
  return value_undefined(env);
}

static napi_value elector_set_ref(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  bool ref = true;
  elector_t* e = elector_this(env, info, 1, argv);
  if (e == NULL || napi_get_value_bool(env, argv[0], &ref) != napi_ok)
    return e == NULL ? NULL : error_throw_last(env);
  if (e->object.closing)
    return value_undefined(env);
  if (ref)
    s3lect_elector_ref(&e->handle);
  else
    s3lect_elector_unref(&e->handle);
  return value_undefined(env);
}

static napi_value elector_is_leader(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  return e == NULL ? NULL : value_bool(env, s3lect_elector_is_leader(&e->handle) != 0);
}

static napi_value elector_valid_for(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  return e == NULL ? NULL : value_number(env, (double)s3lect_elector_valid_for_ms(&e->handle));
}

static napi_value elector_epoch(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  return e == NULL ? NULL : value_bigint(env, s3lect_elector_epoch(&e->handle));
}

static napi_value elector_leader(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  return e == NULL ? NULL : value_text(env, s3lect_elector_leader(&e->handle));
}

/* ---- Snapshots ---- */

static napi_value elector_status(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  s3lect_status_t s = {.size = sizeof s};
  napi_value out;
  if (e == NULL)
    return NULL;
  int r = s3lect_elector_status(&e->handle, &s);
  if (r != 0)
    return error_throw(env, r, r == UV_ECANCELED ? elector_class.closed : NULL);
  if (napi_create_object(env, &out) != napi_ok)
    return error_throw_last(env);
  char code[64];
  code_of(s.last_error, code, sizeof code);
  value_put(env, out, "role", value_number(env, s.role));
  value_put(env, out, "lastError", value_text(env, s.last_error != 0 ? code : NULL));
  code_of(s.peer_error, code, sizeof code);
  value_put(env, out, "peerError", value_text(env, s.peer_error != 0 ? code : NULL));
  value_put(env, out, "epoch", value_bigint(env, s.epoch));
  value_put(env, out, "leaderId", value_text(env, s.record.leader_id));
  value_put(env, out, "leaderAddr", value_text(env, s.record.leader_addr));
  value_put(env, out, "leaderEpoch", value_bigint(env, s.record.epoch));
  value_put(env, out, "lastUpdated", value_number(env, (double)s.record.last_updated_ms));
  value_put(env, out, "acquired", value_number(env, (double)s.record.acquired_ms));
  value_put(env, out, "transitions", value_number(env, (double)s.record.transitions));
  value_put(env, out, "released", value_bool(env, s.record.released != 0));
  value_put(env, out, "claim", value_bool(env, s.record.claim != 0));
  value_put(env, out, "successor", value_text(env, s.record.successor));
  value_put(env, out, "value", value_text(env, s.record.value));
  return out;
}

/* peerResponse(method) gives [status, body] */
static napi_value elector_peer_response(napi_env env, napi_callback_info info) {
  napi_value argv[1], out, text;
  texts_t texts = {0};
  char body[S3LECT_PEER_BODY_MAX];
  size_t n = 0;
  elector_t* e = elector_this(env, info, 1, argv);
  const char* method = e != NULL ? texts_add(&texts, env, argv[0], "the method") : NULL;
  int r =
      method != NULL ? s3lect_elector_peer_response(&e->handle, method, body, sizeof body, &n) : 0;
  texts_free(&texts);
  if (method == NULL)
    return NULL;
  if (r < 0)
    return error_throw(env, r, NULL);
  if (napi_create_array_with_length(env, 2, &out) != napi_ok ||
      napi_create_string_utf8(env, body, n, &text) != napi_ok ||
      napi_set_element(env, out, 0, value_number(env, r)) != napi_ok ||
      napi_set_element(env, out, 1, text) != napi_ok)
    return error_throw_last(env);
  return out;
}

#define COUNTER(name, member)                                                                      \
  { name, FIELD_UINT32, offsetof(s3lect_stats_t, member) }

static const field_t counters[] = {
    COUNTER("reads", reads),
    COUNTER("readsNotModified", reads_not_modified),
    COUNTER("writes", writes),
    COUNTER("renewals", renewals),
    COUNTER("leaderships", leaderships),
    COUNTER("retries", retries),
    COUNTER("failures", failures),
    COUNTER("unknownOutcomes", unknown_outcomes),
    COUNTER("unknownResolved", unknown_resolved),
    COUNTER("conflicts", conflicts),
    COUNTER("lateReplies", late_replies),
    COUNTER("peerChecks", peer_checks),
    COUNTER("peerAnswers", peer_answers),
    COUNTER("peerFailures", peer_failures),
    COUNTER("peerRefused", peer_refused),
};

static napi_value elector_stats(napi_env env, napi_callback_info info) {
  elector_t* e = elector_this(env, info, 0, NULL);
  s3lect_stats_t s = {.size = sizeof s};
  napi_value out;
  if (e == NULL)
    return NULL;
  int r = s3lect_elector_stats(&e->handle, &s);
  if (r != 0)
    return error_throw(env, r, r == UV_ECANCELED ? elector_class.closed : NULL);
  if (napi_create_object(env, &out) != napi_ok)
    return error_throw_last(env);
  for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
    const uint64_t* value = (const void*)((const char*)&s + counters[i].offset);
    value_put(env, out, counters[i].name, value_number(env, (double)*value));
  }
  return out;
}

/* This elector and those of an array; NULL with an exception pending. To be freed. */
static s3lect_elector_t** electors_of(napi_env env, elector_t* first, napi_value others,
                                      size_t* n) {
  uint32_t len = 0;
  if (napi_get_array_length(env, others, &len) != napi_ok)
    return error_throw_last(env);
  s3lect_elector_t** all = calloc(len + 1u, sizeof *all);
  if (all == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  all[0] = &first->handle;
  *n = len + 1u;
  for (uint32_t i = 0; i < len; i++) {
    napi_value other;
    all[i + 1] =
        napi_get_element(env, others, i, &other) == napi_ok ? elector_of(env, other) : NULL;
    if (all[i + 1] == NULL) {
      free(all);
      return NULL;
    }
  }
  return all;
}

/* metrics(others) */
static napi_value elector_metrics(napi_env env, napi_callback_info info) {
  napi_value argv[1], out = NULL;
  size_t n = 0;
  elector_t* e = elector_this(env, info, 1, argv);
  s3lect_elector_t** all = e != NULL ? electors_of(env, e, argv[0], &n) : NULL;
  if (all == NULL)
    return NULL;
  int len = s3lect_elector_metrics(all, n, NULL, 0);
  char* text = len >= 0 ? malloc((size_t)len + 1) : NULL;
  int r = text != NULL ? s3lect_elector_metrics(all, n, text, (size_t)len + 1) : len;
  if (r >= 0 && text != NULL && napi_create_string_utf8(env, text, (size_t)len, &out) != napi_ok)
    out = error_throw_last(env);
  else if (text == NULL)
    out = error_throw(env, len < 0 ? len : UV_ENOMEM,
                      len == UV_ECANCELED ? elector_class.closed : NULL);
  free(text);
  free(all);
  return out;
}

bool elector_define(napi_env env, napi_value exports) {
  const napi_property_descriptor methods[] = {
      {.utf8name = "start", .method = elector_start},
      {.utf8name = "stop", .method = elector_stop},
      {.utf8name = "resign", .method = elector_resign},
      {.utf8name = "transfer", .method = elector_transfer},
      {.utf8name = "setValue", .method = elector_set_value},
      {.utf8name = "update", .method = elector_update},
      {.utf8name = "ack", .method = elector_ack},
      {.utf8name = "peerResponse", .method = elector_peer_response},
      {.utf8name = "metrics", .method = elector_metrics},
      {.utf8name = "setRef", .method = elector_set_ref},
      {.utf8name = "isLeader", .method = elector_is_leader},
      {.utf8name = "validForMs", .method = elector_valid_for},
      {.utf8name = "epoch", .method = elector_epoch},
      {.utf8name = "leader", .method = elector_leader},
      {.utf8name = "status", .method = elector_status},
      {.utf8name = "stats", .method = elector_stats},
  };
  return class_define(env, exports, &elector_class, methods, sizeof methods / sizeof *methods);
}
