/* The classes PeerClient and PeerServer of the addon, which lib/peer.js wraps. Each calls one
 * method of its own object: onClosed(). */
#include "addon.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Client ---- */

typedef struct client_s {
  object_t object; /* first */
  s3lect_peer_client_t handle;
} client_t;

#define OPTION(kind, name, member)                                                                 \
  { name, kind, offsetof(s3lect_peer_client_options_t, member) }

static const field_t client_fields[] = {
    OPTION(FIELD_TEXT, "caFile", ca_file),
    OPTION(FIELD_TEXT, "ca", ca_pem),
    OPTION(FIELD_TEXT, "certFile", cert_file),
    OPTION(FIELD_TEXT, "cert", cert_pem),
    OPTION(FIELD_TEXT, "keyFile", key_file),
    OPTION(FIELD_TEXT, "key", key_pem),
    OPTION(FIELD_BOOL, "plainHttp", plain_http),
    OPTION(FIELD_UINT32, "connectTimeoutMs", connect_timeout_ms),
    OPTION(FIELD_UINT32, "idleTimeoutMs", idle_timeout_ms),
};

#undef OPTION

static void on_client_closed(s3lect_peer_client_t* handle) {
  object_closed(handle->data);
}

static void client_close(object_t* object) {
  s3lect_peer_client_close(&((client_t*)object)->handle, on_client_closed);
}

/* new PeerClient(options) */
static int client_open(object_t* object, const napi_value* argv, texts_t* texts,
                       s3lect_error_t* error) {
  client_t* c = (client_t*)object;
  s3lect_peer_client_options_t options;
  s3lect_peer_client_options_init(&options, sizeof options);
  if (!fields_read(object->addon->env, argv[0], client_fields, COUNT(client_fields), &options,
                   texts))
    return 1;
  int r = s3lect_peer_client_init(object->addon->loop, &c->handle, &options, error);
  c->handle.data = c;
  return r;
}

static const class_t client_class = {.name = "PeerClient",
                                     .mismatch = "not a peer client",
                                     .closed = "the peer client is closed",
                                     .tag = {0x5d2a90e7c4134fb6, 0xb83f61d20ac957e4},
                                     .size = sizeof(client_t),
                                     .fields = client_fields,
                                     .fields_n = COUNT(client_fields),
                                     .open = client_open,
                                     .close = client_close};

s3lect_peer_client_t* peer_client_of(napi_env env, napi_value value, object_t** object) {
  client_t* c = object_wanted(object_unwrap(env, value, &client_class));
  if (c == NULL)
    return NULL;
  *object = &c->object;
  return &c->handle;
}

/* reload(options | undefined) */
static napi_value client_reload(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  texts_t texts = {0};
  s3lect_error_t error;
  s3lect_peer_client_options_t options;
  s3lect_peer_client_options_init(&options, sizeof options);
  client_t* c = object_wanted(object_this(env, info, &client_class, 1, argv));
  if (c == NULL)
    return NULL;
  bool given = value_is_given(env, argv[0]);
  bool ok =
      !given || fields_read(env, argv[0], client_fields, COUNT(client_fields), &options, &texts);
  int r = ok ? s3lect_peer_client_reload(&c->handle, given ? &options : NULL, &error) : 0;
  texts_free(&texts);
  if (!ok)
    return NULL;
  return r == 0 ? value_undefined(env) : error_throw_option(env, &error);
}

/* ---- Server ---- */

typedef struct server_s {
  object_t object; /* first */
  s3lect_peer_server_t handle;
} server_t;

#define OPTION(kind, name, member)                                                                 \
  { name, kind, offsetof(s3lect_peer_server_options_t, member) }

static const field_t server_fields[] = {
    OPTION(FIELD_TEXT, "listen", listen),
    OPTION(FIELD_TEXT, "pagesListen", pages_listen),
    OPTION(FIELD_TEXT, "certFile", cert_file),
    OPTION(FIELD_TEXT, "cert", cert_pem),
    OPTION(FIELD_TEXT, "keyFile", key_file),
    OPTION(FIELD_TEXT, "key", key_pem),
    OPTION(FIELD_TEXT, "clientCaFile", client_ca_file),
    OPTION(FIELD_TEXT, "clientCa", client_ca_pem),
    OPTION(FIELD_BOOL, "plainHttp", plain_http),
    OPTION(FIELD_BOOL, "metrics", metrics),
    OPTION(FIELD_BOOL, "health", health),
    OPTION(FIELD_UINT32, "maxConnections", max_connections),
    OPTION(FIELD_UINT32, "maxHeld", max_held),
    OPTION(FIELD_UINT32, "maxPerAddress", max_per_address),
    OPTION(FIELD_UINT32, "maxHeaderBytes", max_header_bytes),
    OPTION(FIELD_UINT32, "headerTimeoutMs", header_timeout_ms),
    OPTION(FIELD_UINT32, "idleTimeoutMs", idle_timeout_ms),
    OPTION(FIELD_UINT32, "maxWaitMs", max_wait_ms),
};

static void on_server_closed(s3lect_peer_server_t* handle) {
  object_closed(handle->data);
}

static void server_close(object_t* object) {
  s3lect_peer_server_close(&((server_t*)object)->handle, on_server_closed);
}

/* new PeerServer(options) */
static int server_open(object_t* object, const napi_value* argv, texts_t* texts,
                       s3lect_error_t* error) {
  server_t* s = (server_t*)object;
  s3lect_peer_server_options_t options;
  s3lect_peer_server_options_init(&options, sizeof options);
  if (!fields_read(object->addon->env, argv[0], server_fields, COUNT(server_fields), &options,
                   texts))
    return 1;
  int r = s3lect_peer_server_init(object->addon->loop, &s->handle, &options, error);
  s->handle.data = s;
  return r;
}

static const class_t server_class = {.name = "PeerServer",
                                     .mismatch = "not a peer server",
                                     .closed = "the peer server is closed",
                                     .tag = {0x26f81ab39de0475c, 0x8e15c07b4fa36d92},
                                     .size = sizeof(server_t),
                                     .fields = server_fields,
                                     .fields_n = COUNT(server_fields),
                                     .held = true, /* while it listens, as any server */
                                     .open = server_open,
                                     .close = server_close};

static server_t* server_this(napi_env env, napi_callback_info info, size_t argc, napi_value* argv) {
  return object_wanted(object_this(env, info, &server_class, argc, argv));
}

static napi_value port_of(napi_env env, int port, const char* option) {
  if (port >= 0)
    return value_number(env, port);
  return error_throw(env, port, port == UV_EINVAL ? option : NULL);
}

static napi_value server_port(napi_env env, napi_callback_info info) {
  server_t* s = server_this(env, info, 0, NULL);
  return s == NULL ? NULL
                   : port_of(env, s3lect_peer_server_port(&s->handle), "listen is not given");
}

static napi_value server_pages_port(napi_env env, napi_callback_info info) {
  server_t* s = server_this(env, info, 0, NULL);
  return s == NULL
             ? NULL
             : port_of(env, s3lect_peer_server_pages_port(&s->handle), "pagesListen is not given");
}

/* add(elector, path | undefined) */
static napi_value server_add(napi_env env, napi_callback_info info) {
  napi_value argv[2];
  texts_t texts = {0};
  const char* path = NULL;
  server_t* s = server_this(env, info, 2, argv);
  s3lect_elector_t* elector = s != NULL ? elector_of(env, argv[0]) : NULL;
  if (elector == NULL)
    return NULL;
  if (value_is_given(env, argv[1])) {
    path = texts_add(&texts, env, argv[1], "path");
    if (path == NULL) {
      texts_free(&texts);
      return NULL;
    }
  }
  int r = s3lect_peer_server_add(&s->handle, elector, path);
  texts_free(&texts);
  if (r == 0)
    return value_undefined(env);
  return error_throw(env, r,
                     r == UV_EEXIST        ? "another elector is answered for under this path"
                     : r == UV_EALREADY    ? "the elector is with a peer server already"
                     : r == S3LECT_EOPTION ? "path must begin with a slash"
                                           : NULL);
}

/* remove(elector) gives whether it was there */
static napi_value server_remove(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  server_t* s = server_this(env, info, 1, argv);
  s3lect_elector_t* elector = s != NULL ? elector_of(env, argv[0]) : NULL;
  if (elector == NULL)
    return NULL;
  return value_bool(env, s3lect_peer_server_remove(&s->handle, elector) == 0);
}

/* reload(options | undefined) */
static napi_value server_reload(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  texts_t texts = {0};
  s3lect_error_t error;
  s3lect_peer_server_options_t options;
  s3lect_peer_server_options_init(&options, sizeof options);
  server_t* s = server_this(env, info, 1, argv);
  if (s == NULL)
    return NULL;
  bool given = value_is_given(env, argv[0]);
  bool ok =
      !given || fields_read(env, argv[0], server_fields, COUNT(server_fields), &options, &texts);
  int r = ok ? s3lect_peer_server_reload(&s->handle, given ? &options : NULL, &error) : 0;
  texts_free(&texts);
  if (!ok)
    return NULL;
  return r == 0 ? value_undefined(env) : error_throw_option(env, &error);
}

bool peer_define(napi_env env, napi_value exports) {
  const napi_property_descriptor client[] = {{.utf8name = "reload", .method = client_reload}};
  const napi_property_descriptor server[] = {
      {.utf8name = "port", .method = server_port},
      {.utf8name = "pagesPort", .method = server_pages_port},
      {.utf8name = "add", .method = server_add},
      {.utf8name = "remove", .method = server_remove},
      {.utf8name = "reload", .method = server_reload},
  };
  return class_define(env, exports, &client_class, client, COUNT(client)) &&
         class_define(env, exports, &server_class, server, COUNT(server));
}
