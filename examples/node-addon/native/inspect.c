/* What looks at elections from outside: the methods list() and audit() of a store, and auditLogs().
 * lib/inspect.js wraps them. */
#include <stdio.h>
#include <string.h>

#include "addon.h"

typedef struct list_s {
  request_t request; /* first */
  s3lect_list_t list;
} list_t;

#define OPTION(kind, name, member)                                                                 \
  { name, kind, offsetof(s3lect_list_options_t, member) }

static const field_t list_fields[] = {
    OPTION(FIELD_TEXT, "prefix", prefix),
    OPTION(FIELD_TEXT, "lockfilePath", lockfile_path),
    OPTION(FIELD_INT32, "protocol", protocol),
    OPTION(FIELD_UINT32, "leaderTimeoutMs", leader_timeout_ms),
    OPTION(FIELD_UINT32, "requestTimeoutMs", request_timeout_ms),
};

static napi_value election(napi_env env, const s3lect_election_t* e) {
  napi_value out;
  if (napi_create_object(env, &out) != napi_ok)
    return value_undefined(env);
  value_put(env, out, "key", value_text(env, e->key));
  value_put(env, out, "protocol", value_number(env, e->protocol));
  value_put(env, out, "state", value_text(env, s3lect_election_state_name(e->state)));
  value_put(env, out, "leaderId", value_text(env, e->record.leader_id));
  value_put(env, out, "leaderAddr", value_text(env, e->record.leader_addr));
  value_put(env, out, "epoch", value_bigint(env, e->record.epoch));
  value_put(env, out, "value", value_text(env, e->record.value));
  value_put(env, out, "ageMs", value_number(env, (double)e->age_ms));
  value_put(env, out, "byStore", value_bool(env, e->by_store != 0));
  value_put(env, out, "leaderTimeoutMs", value_number(env, e->leader_timeout_ms));
  value_put(env, out, "lastUpdated", value_number(env, (double)e->record.last_updated_ms));
  value_put(env, out, "acquired", value_number(env, (double)e->record.acquired_ms));
  value_put(env, out, "transitions", value_number(env, (double)e->record.transitions));
  value_put(env, out, "successor", value_text(env, e->record.successor));
  return out;
}

static void on_listed(s3lect_list_t* list, int status, const char* message) {
  request_t* r = list->data;
  napi_env env = r->store->addon->env;
  napi_handle_scope scope;
  if (object_enter(r->store, &scope)) {
    napi_value argv[3] = {value_number(env, r->id), value_undefined(env), value_undefined(env)};
    const s3lect_election_t* e;
    if (status != 0)
      argv[1] = error_make(env, status, message);
    else if (napi_create_array(env, &argv[2]) == napi_ok)
      for (uint32_t i = 0; (e = s3lect_list_at(list, i)) != NULL; i++)
        (void)napi_set_element(env, argv[2], i, election(env, e));
    object_call(r->store, scope, "onListed", 3, argv);
  }
  s3lect_list_free(list);
  request_end(r);
}

static void cancel_list(request_t* request) {
  s3lect_list_cancel(&((list_t*)request)->list);
}

/* Reads an id and the options of an election or a prefix. */
static bool read_options(napi_env env, const napi_value* argv, uint32_t* id,
                         s3lect_list_options_t* options, texts_t* texts) {
  s3lect_list_options_init(options, sizeof *options);
  return napi_get_value_uint32(env, argv[0], id) == napi_ok &&
         fields_read(env, argv[1], list_fields, sizeof list_fields / sizeof *list_fields, options,
                     texts);
}

napi_value list_begin(napi_env env, object_t* store, s3lect_store_t* handle,
                      const napi_value* argv) {
  s3lect_list_options_t options;
  s3lect_error_t error = {0};
  texts_t texts = {0};
  list_t* r = memory_zeroed(sizeof *r);
  if (r == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  r->list.data = r;
  bool read = read_options(env, argv, &r->request.id, &options, &texts);
  options.store = handle;
  int err = read ? s3lect_list_init(&r->list, &options, &error) : 0;
  texts_free(&texts);
  if (read && err == 0) {
    err = s3lect_list_start(&r->list, on_listed);
    if (err == 0) {
      request_begin(&r->request, store, cancel_list);
      return value_undefined(env);
    }
    s3lect_list_free(&r->list);
    error_throw(env, err, NULL);
  } else if (read) {
    error_throw_option(env, &error);
  } else {
    error_throw_last(env);
  }
  memory_free(r);
  return NULL;
}

/* ---- audit ---- */

typedef struct audit_s {
  request_t request; /* first; of a store, if one is read */
  s3lect_audit_t audit;
} audit_t;

#define AUDIT(kind, name, member)                                                                  \
  { name, kind, offsetof(s3lect_audit_options_t, member) }

static const field_t audit_fields[] = {
    AUDIT(FIELD_UINT32, "clockErrorMs", clock_error_ms),
    AUDIT(FIELD_BOOL, "oneMachine", one_machine),
    AUDIT(FIELD_UINT32, "maxVersions", max_versions),
};

static napi_value leadership(napi_env env, const s3lect_leadership_t* l) {
  napi_value out;
  if (napi_create_object(env, &out) != napi_ok)
    return value_undefined(env);
  value_put(env, out, "id", value_text(env, l->id));
  value_put(env, out, "epoch", value_bigint(env, l->epoch));
  value_put(env, out, "source", value_number(env, l->source));
  value_put(env, out, "ended", value_bool(env, l->ended != 0));
  value_put(env, out, "reason", value_text(env, l->reason));
  value_put(env, out, "from", value_number(env, (double)l->from_ms));
  value_put(env, out, "until", value_number(env, (double)l->until_ms));
  value_put(env, out, "latest", value_number(env, (double)l->latest_ms));
  return out;
}

static napi_value finding(napi_env env, const s3lect_finding_t* f) {
  napi_value out;
  if (napi_create_object(env, &out) != napi_ok)
    return value_undefined(env);
  value_put(env, out, "what", value_text(env, s3lect_finding_name(f->kind)));
  value_put(env, out, "first", value_number(env, (double)f->first));
  value_put(env, out, "second", value_number(env, (double)f->second));
  value_put(env, out, "ms", value_number(env, (double)f->ms));
  return out;
}

/* The report with leaderships and findings; NULL with an exception pending. */
static napi_value judgement(napi_env env, s3lect_audit_t* audit) {
  const s3lect_audit_report_t* report;
  napi_value out, leaderships, findings;
  int err = s3lect_audit_judge(audit, &report);
  if (err != 0)
    return error_throw(env, err, NULL);
  if (napi_create_object(env, &out) != napi_ok || napi_create_array(env, &leaderships) != napi_ok ||
      napi_create_array(env, &findings) != napi_ok)
    return error_throw_last(env);
  for (uint32_t i = 0; i < report->leaderships; i++)
    (void)napi_set_element(env, leaderships, i, leadership(env, s3lect_audit_leadership(audit, i)));
  for (uint32_t i = 0; i < report->findings; i++)
    (void)napi_set_element(env, findings, i, finding(env, s3lect_audit_finding(audit, i)));
  value_put(env, out, "wrong", value_bool(env, report->wrong != 0));
  value_put(env, out, "leaderships", leaderships);
  value_put(env, out, "findings", findings);
  value_put(env, out, "sources", value_number(env, report->sources));
  value_put(env, out, "close", value_number(env, (double)report->close));
  value_put(env, out, "unloggedEnds", value_number(env, (double)report->unlogged_ends));
  value_put(env, out, "moreVersions", value_bool(env, report->more_versions != 0));
  return out;
}

/* An audit with these options; NULL with an exception pending. */
static audit_t* audit_open(napi_env env, napi_value from) {
  s3lect_audit_options_t options;
  s3lect_error_t error = {0};
  texts_t texts = {0};
  s3lect_audit_options_init(&options, sizeof options);
  if (!fields_read(env, from, audit_fields, sizeof audit_fields / sizeof *audit_fields, &options,
                   &texts))
    return NULL;
  audit_t* a = memory_zeroed(sizeof *a);
  if (a == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  if (s3lect_audit_init(&a->audit, &options, &error) != 0) {
    memory_free(a);
    return error_throw_option(env, &error);
  }
  return a;
}

/* Adds the lines of one log, a Buffer. An unfinished last line is left out: a crash may cut it. */
static bool add_log(napi_env env, s3lect_audit_t* audit, uint32_t number, napi_value log) {
  void* data = NULL;
  size_t len = 0;
  uint32_t line = 0;
  char where[64], text[sizeof where + sizeof(((s3lect_error_t*)0)->text)];
  s3lect_error_t error;
  if (napi_get_buffer_info(env, log, &data, &len) != napi_ok)
    return (error_throw_last(env), false);
  const char *at = data, *end = at + len, *newline;
  for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))) != NULL; at = newline + 1) {
    line++;
    int err = newline > at
                  ? s3lect_audit_add_event(audit, number, at, (size_t)(newline - at), &error)
                  : 0;
    if (err != 0) {
      (void)snprintf(text, sizeof text, "logs[%u], line %u: %s", number, line, error.text);
      return (error_throw(env, err, text), false);
    }
  }
  return true;
}

napi_value audit_logs(napi_env env, napi_callback_info info) {
  napi_value argv[2], log, out = NULL;
  size_t argc = 2;
  uint32_t length = 0;
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok ||
      napi_get_array_length(env, argv[1], &length) != napi_ok)
    return error_throw_last(env);
  audit_t* a = audit_open(env, argv[0]);
  if (a == NULL)
    return NULL;
  bool good = true;
  for (uint32_t i = 0; good && i < length; i++)
    good = napi_get_element(env, argv[1], i, &log) == napi_ok && add_log(env, &a->audit, i, log);
  if (good)
    out = judgement(env, &a->audit);
  s3lect_audit_free(&a->audit);
  memory_free(a);
  return out;
}

static void on_audited(s3lect_audit_t* audit, int status, const char* message) {
  request_t* r = audit->data;
  napi_env env = r->store->addon->env;
  napi_handle_scope scope;
  if (object_enter(r->store, &scope)) {
    napi_value argv[3] = {value_number(env, r->id), value_undefined(env), value_undefined(env)};
    if (status != 0)
      argv[1] = error_make(env, status, message);
    else if ((argv[2] = judgement(env, audit)) == NULL)
      (void)napi_get_and_clear_last_exception(env, &argv[1]);
    object_call(r->store, scope, "onAudited", argv[2] != NULL ? 3 : 2, argv);
  }
  s3lect_audit_free(audit);
  request_end(r);
}

static void cancel_audit(request_t* request) {
  s3lect_audit_cancel(&((audit_t*)request)->audit);
}

napi_value audit_begin(napi_env env, object_t* store, s3lect_store_t* handle,
                       const napi_value* argv) {
  s3lect_list_options_t options;
  s3lect_error_t error = {0};
  texts_t texts = {0};
  audit_t* a = audit_open(env, argv[1]);
  if (a == NULL)
    return NULL;
  a->audit.data = a;
  bool read = read_options(env, argv, &a->request.id, &options, &texts);
  options.store = handle;
  int err = read ? s3lect_audit_read(&a->audit, &options, on_audited, &error) : 0;
  texts_free(&texts);
  if (read && err == 0) {
    request_begin(&a->request, store, cancel_audit);
    return value_undefined(env);
  }
  if (read)
    error_throw_option(env, &error);
  else
    error_throw_last(env);
  s3lect_audit_free(&a->audit);
  memory_free(a);
  return NULL;
}
