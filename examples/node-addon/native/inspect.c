/* Requests on a store that look at elections from outside: list(). lib/inspect.js wraps them. */
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

napi_value list_begin(napi_env env, object_t* store, s3lect_store_t* handle,
                      const napi_value* argv) {
  s3lect_list_options_t options;
  s3lect_error_t error = {0};
  texts_t texts = {0};
  list_t* r = memory_zeroed(sizeof *r);
  if (r == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  s3lect_list_options_init(&options, sizeof options);
  options.store = handle;
  r->list.data = r;
  bool read = napi_get_value_uint32(env, argv[0], &r->request.id) == napi_ok &&
              fields_read(env, argv[1], list_fields, sizeof list_fields / sizeof *list_fields,
                          &options, &texts);
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
