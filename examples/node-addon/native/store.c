/* The class Store of the addon, which lib/store.js wraps: one of s3lect's stores, and the provider
 * of credentials that goes with it. It calls methods of its object:
 *
 *   onCredentials(question)   see provider.c
 *   onFenced(id, error, content, epoch)   the end of a request of fenced()
 *   onListed(id, error, elections)   the end of a request of list(); see inspect.c
 *   onAudited(id, error, judgement)   the end of a request of audit(); see inspect.c
 *   onClosed()
 *
 * A store is closed when that is asked for and no elector uses it any more. Requests that are under
 * way then are cancelled. */
#include <string.h>

#include "addon.h"

#define HEADERS_MAX 16
#define KEY_SIZE    1025 /* the S3 limit, and a NUL */
#define BODY_MAX    (64u * 1024 * 1024)

typedef struct store_s {
  object_t object; /* first */
  s3lect_store_t handle;
  s3lect_credentials_provider_t* provider; /* or NULL */
  request_t* requests;
  bool closing;
} store_t;

typedef struct fenced_s {
  request_t request; /* first */
  s3lect_fenced_t fenced;
  char key[KEY_SIZE];
  char body[];
} fenced_t;

/* ---- Life ---- */

static void on_provider_closed(s3lect_credentials_provider_t* provider) {
  store_t* s = provider->data;
  s->provider = NULL;
  object_closed(&s->object);
}

static void on_closed(s3lect_store_t* handle) {
  store_t* s = handle->data;
  if (s->provider != NULL)
    s3lect_credentials_close(s->provider, on_provider_closed);
  else
    object_closed(&s->object);
}

static void store_close(object_t* object) {
  store_t* s = (store_t*)object;
  s->closing = true;
  for (request_t* r = s->requests; r != NULL; r = r->next)
    r->cancel(r);
  if (s->requests == NULL)
    s3lect_store_close(&s->handle, on_closed);
}

/* ---- Kinds ---- */

#define OPTION(kind, name, member)                                                                 \
  { name, kind, offsetof(s3lect_store_s3_options_t, member) }

static const field_t s3_fields[] = {
    OPTION(FIELD_TEXT, "bucket", bucket),
    OPTION(FIELD_TEXT, "endpoint", endpoint),
    OPTION(FIELD_TEXT, "region", region),
    OPTION(FIELD_TEXT, "accessKeyId", access_key_id),
    OPTION(FIELD_TEXT, "secretAccessKey", secret_access_key),
    OPTION(FIELD_TEXT, "sessionToken", session_token),
    OPTION(FIELD_TEXT, "caFile", ca_file),
    OPTION(FIELD_INT32, "addressing", addressing),
    OPTION(FIELD_UINT32, "connectTimeoutMs", connect_timeout_ms),
    OPTION(FIELD_UINT32, "tlsTimeoutMs", tls_timeout_ms),
    OPTION(FIELD_UINT32, "firstByteTimeoutMs", first_byte_timeout_ms),
    OPTION(FIELD_UINT32, "idleTimeoutMs", idle_timeout_ms),
    OPTION(FIELD_UINT32, "maxConnections", max_connections),
    OPTION(FIELD_TEXT, "profile", profile),
    OPTION(FIELD_TEXT, "serverSideEncryption", server_side_encryption),
    OPTION(FIELD_TEXT, "sseKmsKeyId", sse_kms_key_id),
    OPTION(FIELD_TEXT, "expectedBucketOwner", expected_bucket_owner),
    OPTION(FIELD_BOOL, "checksum", checksum),
    OPTION(FIELD_YES_NO, "useDualstack", use_dualstack),
    OPTION(FIELD_TEXT, "proxy", proxy),
};

#define AZURE(kind, name, member)                                                                  \
  { name, kind, offsetof(s3lect_store_azure_options_t, member) }

static const field_t azure_fields[] = {
    AZURE(FIELD_TEXT, "account", account),
    AZURE(FIELD_TEXT, "container", container),
    AZURE(FIELD_TEXT, "endpoint", endpoint),
    AZURE(FIELD_TEXT, "accountKey", account_key),
    AZURE(FIELD_TEXT, "sasToken", sas_token),
    AZURE(FIELD_TEXT, "connectionString", connection_string),
    AZURE(FIELD_TEXT, "caFile", ca_file),
    AZURE(FIELD_TEXT, "proxy", proxy),
    AZURE(FIELD_UINT32, "connectTimeoutMs", connect_timeout_ms),
    AZURE(FIELD_UINT32, "tlsTimeoutMs", tls_timeout_ms),
    AZURE(FIELD_UINT32, "firstByteTimeoutMs", first_byte_timeout_ms),
    AZURE(FIELD_UINT32, "idleTimeoutMs", idle_timeout_ms),
    AZURE(FIELD_UINT32, "maxConnections", max_connections),
};

#define GCS(kind, name, member)                                                                    \
  { name, kind, offsetof(s3lect_store_gcs_options_t, member) }

static const field_t gcs_fields[] = {
    GCS(FIELD_TEXT, "bucket", bucket),
    GCS(FIELD_TEXT, "endpoint", endpoint),
    GCS(FIELD_TEXT, "accessKeyId", access_key_id),
    GCS(FIELD_TEXT, "secretAccessKey", secret_access_key),
    GCS(FIELD_TEXT, "caFile", ca_file),
    GCS(FIELD_TEXT, "proxy", proxy),
    GCS(FIELD_UINT32, "connectTimeoutMs", connect_timeout_ms),
    GCS(FIELD_UINT32, "tlsTimeoutMs", tls_timeout_ms),
    GCS(FIELD_UINT32, "firstByteTimeoutMs", first_byte_timeout_ms),
    GCS(FIELD_UINT32, "idleTimeoutMs", idle_timeout_ms),
    GCS(FIELD_UINT32, "maxConnections", max_connections),
};

/* `headers` comes as an array of "Name: value". */
static bool read_headers(napi_env env, napi_value from, const char** headers, size_t* n,
                         texts_t* texts) {
  napi_value list, item;
  uint32_t length = 0;
  bool is_array = false;
  if (napi_get_named_property(env, from, "headers", &list) != napi_ok ||
      napi_is_array(env, list, &is_array) != napi_ok)
    return (error_throw_last(env), false);
  if (!is_array)
    return true;
  if (napi_get_array_length(env, list, &length) != napi_ok)
    return (error_throw_last(env), false);
  if (length > HEADERS_MAX)
    return (error_throw(env, S3LECT_EOPTION, "headers: there are too many"), false);
  for (uint32_t i = 0; i < length; i++) {
    if (napi_get_element(env, list, i, &item) != napi_ok)
      return (error_throw_last(env), false);
    headers[i] = texts_add(texts, env, item, "headers");
    if (headers[i] == NULL)
      return false;
  }
  *n = length;
  return true;
}

/* A provider, if `credentials` is a function. False: lack of memory. */
static bool open_provider(store_t* s, napi_value from,
                          s3lect_credentials_provider_t** credentials) {
  addon_t* addon = s->object.addon;
  napi_value callback;
  napi_valuetype type = napi_undefined;
  if (napi_get_named_property(addon->env, from, "credentials", &callback) == napi_ok)
    (void)napi_typeof(addon->env, callback, &type);
  if (type == napi_function)
    s->provider = *credentials = provider_open(&s->object, addon);
  return type != napi_function || s->provider != NULL;
}

/* The store could not be opened: so does its provider end. */
static int opened(const store_t* s, int r) {
  if (r != 0 && s->provider != NULL)
    s3lect_credentials_close(s->provider, NULL);
  return r;
}

/* These do what class_t asks of open. */

static int open_s3(store_t* s, napi_value from, texts_t* texts, s3lect_error_t* error) {
  addon_t* addon = s->object.addon;
  s3lect_store_s3_options_t options;
  const char* headers[HEADERS_MAX];
  s3lect_store_s3_options_init(&options, sizeof options);
  if (!fields_read(addon->env, from, s3_fields, sizeof s3_fields / sizeof *s3_fields, &options,
                   texts) ||
      !read_headers(addon->env, from, headers, &options.headers_len, texts))
    return 1;
  options.headers = headers;
  if (!open_provider(s, from, &options.credentials))
    return (error->code = UV_ENOMEM);
  return opened(s, s3lect_store_s3_init(addon->loop, &s->handle, &options, error));
}

static int open_azure(store_t* s, napi_value from, texts_t* texts, s3lect_error_t* error) {
  addon_t* addon = s->object.addon;
  s3lect_store_azure_options_t options;
  s3lect_store_azure_options_init(&options, sizeof options);
  if (!fields_read(addon->env, from, azure_fields, sizeof azure_fields / sizeof *azure_fields,
                   &options, texts))
    return 1;
  if (!open_provider(s, from, &options.credentials))
    return (error->code = UV_ENOMEM);
  return opened(s, s3lect_store_azure_init(addon->loop, &s->handle, &options, error));
}

static int open_gcs(store_t* s, napi_value from, texts_t* texts, s3lect_error_t* error) {
  addon_t* addon = s->object.addon;
  s3lect_store_gcs_options_t options;
  s3lect_store_gcs_options_init(&options, sizeof options);
  if (!fields_read(addon->env, from, gcs_fields, sizeof gcs_fields / sizeof *gcs_fields, &options,
                   texts))
    return 1;
  if (!open_provider(s, from, &options.credentials))
    return (error->code = UV_ENOMEM);
  return opened(s, s3lect_store_gcs_init(addon->loop, &s->handle, &options, error));
}

static int open_file(store_t* s, napi_value from, texts_t* texts, s3lect_error_t* error) {
  static const field_t fields[] = {{"directory", FIELD_TEXT, 0}};
  const char* directory = NULL;
  if (!fields_read(s->object.addon->env, from, fields, 1, (void*)&directory, texts))
    return 1;
  return s3lect_store_file_init(s->object.addon->loop, &s->handle, directory, error);
}

/* `share` is the Store whose objects it shares, or undefined. */
static int open_memory(store_t* s, napi_value from, texts_t* texts, s3lect_error_t* error) {
  addon_t* addon = s->object.addon;
  napi_value share;
  object_t* with;
  (void)texts;
  if (napi_get_named_property(addon->env, from, "share", &share) != napi_ok)
    return (error_throw_last(addon->env), 1);
  if (!value_is_given(addon->env, share))
    return s3lect_store_memory_init(addon->loop, &s->handle, error);
  s3lect_store_t* handle = store_of(addon->env, share, &with);
  return handle != NULL ? s3lect_store_memory_share(&s->handle, handle, error) : 1;
}

static const struct {
  const char* name;
  int (*open)(store_t* s, napi_value from, texts_t* texts, s3lect_error_t* error);
} kinds[] = {{"s3", open_s3},
             {"azure", open_azure},
             {"gcs", open_gcs},
             {"file", open_file},
             {"memory", open_memory}};

/* new Store("s3" | "azure" | "gcs" | "file" | "memory", options) */
static int store_open(object_t* object, const napi_value* argv, texts_t* texts,
                      s3lect_error_t* error) {
  store_t* s = (store_t*)object;
  char kind[8] = "";
  int r = error->code = UV_EINVAL;
  (void)napi_get_value_string_utf8(object->addon->env, argv[0], kind, sizeof kind, NULL);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kind, kinds[i].name) == 0)
      r = kinds[i].open(s, argv[1], texts, error);
  s->handle.data = s;
  return r;
}

static const class_t store_class = {.name = "Store",
                                    .mismatch = "not a store",
                                    .closed = "the store is closed",
                                    .tag = {0x3be1d5f20a9647c8, 0x91c4e07d6f2ab853},
                                    .size = sizeof(store_t),
                                    .fields = s3_fields,
                                    .fields_n = sizeof s3_fields / sizeof *s3_fields,
                                    .open = store_open,
                                    .close = store_close};

s3lect_store_t* store_of(napi_env env, napi_value value, object_t** object) {
  store_t* s = object_wanted(object_unwrap(env, value, &store_class));
  if (s == NULL)
    return NULL;
  *object = &s->object;
  return &s->handle;
}

/* ---- Requests ---- */

void request_begin(request_t* r, object_t* store, void (*cancel)(request_t* request)) {
  store_t* s = (store_t*)store;
  r->store = store;
  r->cancel = cancel;
  r->next = s->requests;
  r->link = &s->requests;
  if (r->next != NULL)
    r->next->link = &r->next;
  s->requests = r;
}

void request_end(request_t* r) {
  store_t* s = (store_t*)r->store;
  *r->link = r->next;
  if (r->next != NULL)
    r->next->link = r->link;
  memory_free(r);
  if (s->closing && s->requests == NULL)
    s3lect_store_close(&s->handle, on_closed);
}

/* ---- Fenced objects ---- */

static void on_fenced(s3lect_fenced_t* fenced, const s3lect_fenced_result_t* result) {
  request_t* r = fenced->data;
  napi_env env = r->store->addon->env;
  napi_handle_scope scope;
  if (object_enter(r->store, &scope)) {
    napi_value argv[4] = {value_number(env, r->id), value_undefined(env), value_undefined(env),
                          value_bigint(env, result->epoch)};
    if (result->status != 0)
      argv[1] = error_make(env, result->status, result->message);
    else if (fenced->body == NULL)
      (void)napi_create_buffer_copy(env, result->body_len, result->body, NULL, &argv[2]);
    object_call(r->store, scope, "onFenced", 4, argv);
  }
  request_end(r);
}

static void cancel_fenced(request_t* request) {
  s3lect_fenced_cancel(&((fenced_t*)request)->fenced);
}

/* fenced(id, key, epoch, timeoutMs, content): content undefined gets, and a Buffer puts. */
static napi_value start_fenced(napi_env env, store_t* s, const napi_value* argv) {
  void* content = NULL;
  size_t content_len = 0, key_len = 0;
  bool put = value_is_given(env, argv[4]), lossless = false;
  if (put && napi_get_buffer_info(env, argv[4], &content, &content_len) != napi_ok)
    return error_throw_last(env);
  if (content_len > BODY_MAX)
    return error_throw(env, S3LECT_EOPTION, "content: more than 64 MiB");
  fenced_t* r = memory_zeroed(sizeof *r + content_len + 1);
  if (r == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  if (napi_get_value_uint32(env, argv[0], &r->request.id) != napi_ok ||
      napi_get_value_string_utf8(env, argv[1], r->key, sizeof r->key, &key_len) != napi_ok ||
      napi_get_value_bigint_uint64(env, argv[2], &r->fenced.epoch, &lossless) != napi_ok ||
      napi_get_value_uint32(env, argv[3], &r->fenced.timeout_ms) != napi_ok) {
    memory_free(r);
    return error_throw_last(env);
  }
  if (content_len > 0)
    memcpy(r->body, content, content_len);
  r->fenced.data = r;
  r->fenced.key = r->key;
  r->fenced.body = put ? r->body : NULL;
  r->fenced.body_len = content_len;
  r->fenced.body_max = BODY_MAX;
  r->fenced.cb = on_fenced;
  int err =
      put ? s3lect_fenced_put(&s->handle, &r->fenced) : s3lect_fenced_get(&s->handle, &r->fenced);
  if (err != 0) {
    memory_free(r);
    return error_throw(env, err, NULL);
  }
  request_begin(&r->request, &s->object, cancel_fenced);
  return value_undefined(env);
}

/* ---- Methods ---- */

static store_t* store_this(napi_env env, napi_callback_info info, size_t argc, napi_value* argv) {
  return object_this(env, info, &store_class, argc, argv);
}

static napi_value store_answer(napi_env env, napi_callback_info info) {
  napi_value argv[5];
  store_t* s = store_this(env, info, 5, argv);
  if (s == NULL || s->provider == NULL)
    return value_bool(env, false);
  return provider_answer(env, s->provider, argv);
}

static napi_value store_refuse(napi_env env, napi_callback_info info) {
  napi_value argv[2];
  store_t* s = store_this(env, info, 2, argv);
  if (s == NULL || s->provider == NULL)
    return value_bool(env, false);
  return provider_refuse(env, s->provider, argv);
}

static napi_value store_fenced(napi_env env, napi_callback_info info) {
  napi_value argv[5];
  store_t* s = object_wanted(store_this(env, info, 5, argv));
  return s != NULL ? start_fenced(env, s, argv) : NULL;
}

static napi_value store_list(napi_env env, napi_callback_info info) {
  napi_value argv[2];
  store_t* s = object_wanted(store_this(env, info, 2, argv));
  return s != NULL ? list_begin(env, &s->object, &s->handle, argv) : NULL;
}

static napi_value store_audit(napi_env env, napi_callback_info info) {
  napi_value argv[2];
  store_t* s = object_wanted(store_this(env, info, 2, argv));
  return s != NULL ? audit_begin(env, &s->object, &s->handle, argv) : NULL;
}

/* cancel(id): of a request that may have ended */
static napi_value store_cancel(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  uint32_t id = 0;
  store_t* s = store_this(env, info, 1, argv);
  if (s == NULL || napi_get_value_uint32(env, argv[0], &id) != napi_ok)
    return error_throw_last(env);
  for (request_t* r = s->requests; r != NULL; r = r->next)
    if (r->id == id) {
      r->cancel(r);
      break;
    }
  return value_undefined(env);
}

/* fault(number): an s3lect_memory_fault_t, of a store in memory */
static napi_value store_fault(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  int32_t fault = 0;
  store_t* s = object_wanted(store_this(env, info, 1, argv));
  if (s == NULL)
    return NULL;
  if (napi_get_value_int32(env, argv[0], &fault) != napi_ok)
    return error_throw_last(env);
  int err = s3lect_store_memory_fault(&s->handle, fault);
  return err == 0 ? value_undefined(env) : error_throw(env, err, NULL);
}

bool store_define(napi_env env, napi_value exports) {
  const napi_property_descriptor methods[] = {
      {.utf8name = "answerCredentials", .method = store_answer},
      {.utf8name = "refuseCredentials", .method = store_refuse},
      {.utf8name = "fenced", .method = store_fenced},
      {.utf8name = "list", .method = store_list},
      {.utf8name = "audit", .method = store_audit},
      {.utf8name = "cancel", .method = store_cancel},
      {.utf8name = "fault", .method = store_fault},
  };
  napi_value store,
      azure = fields_names(env, azure_fields, sizeof azure_fields / sizeof *azure_fields),
      gcs = fields_names(env, gcs_fields, sizeof gcs_fields / sizeof *gcs_fields);
  return azure != NULL && gcs != NULL &&
         class_define(env, exports, &store_class, methods, sizeof methods / sizeof *methods) &&
         napi_get_named_property(env, exports, "Store", &store) == napi_ok &&
         napi_set_named_property(env, store, "azureOptions", azure) == napi_ok &&
         napi_set_named_property(env, store, "gcsOptions", gcs) == napi_ok;
}
