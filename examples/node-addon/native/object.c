#include "addon.h"

#include <openssl/crypto.h>

#define METHODS_MAX 24

/* ---- Life ---- */

static void end_if_closed(addon_t* addon);

static void free_if_over(object_t* object) {
  if (object->closed && object->finalized)
    memory_free(object);
}

static void close_if_unused(object_t* object) {
  if (!object->unwanted || object->users > 0 || object->closing)
    return;
  object->closing = true;
  object->class->close(object);
}

void object_close(object_t* object) {
  object->unwanted = true;
  close_if_unused(object);
}

void object_use(object_t* object) {
  object->users++;
}

void object_unuse(object_t* object) {
  object->users--;
  close_if_unused(object);
}

static void on_finalized(napi_env env, void* data, void* hint) {
  object_t* object = data;
  (void)hint;
  object->finalized = true;
  object->held = false;
  (void)napi_delete_reference(env, object->self);
  object->self = NULL;
  object_close(object);
  free_if_over(object);
}

void object_hold(object_t* object) {
  if (object->held || object->self == NULL)
    return;
  object->held = napi_reference_ref(object->addon->env, object->self, NULL) == napi_ok;
}

/* Puts `object`, which is open, into `self`, and returns that. On failure it returns NULL, an
 * exception is pending, and the object closes by itself. */
static napi_value wrap(object_t* object, napi_value self) {
  addon_t* addon = object->addon;
  napi_env env = addon->env;
  napi_value text;
  object->next = addon->objects;
  object->link = &addon->objects;
  if (object->next != NULL)
    object->next->link = &object->next;
  addon->objects = object;
  if (napi_type_tag_object(env, self, &object->class->tag) == napi_ok &&
      napi_create_string_utf8(env, object->class->name, NAPI_AUTO_LENGTH, &text) == napi_ok &&
      napi_async_init(env, self, text, &object->context) == napi_ok &&
      napi_wrap(env, self, object, on_finalized, NULL, &object->self) == napi_ok) {
    if (object->class->held)
      object_hold(object);
    return self;
  }
  error_throw_last(env);
  object->finalized = true; /* there is no finalizer */
  object_close(object);
  return NULL;
}

/* The constructor of any class. */
static napi_value construct(napi_env env, napi_callback_info info) {
  addon_t* addon;
  void* class;
  napi_value argv[CONSTRUCTOR_ARGC], self;
  size_t argc = CONSTRUCTOR_ARGC;
  s3lect_error_t error = {0}; /* where no function of the library says what is wrong */
  texts_t texts = {0};
  if (napi_get_cb_info(env, info, &argc, argv, &self, &class) != napi_ok ||
      napi_get_instance_data(env, (void**)&addon) != napi_ok)
    return error_throw_last(env);
  object_t* object = memory_zeroed(((const class_t*)class)->size);
  if (object == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  object->class = class;
  object->addon = addon;
  int r = object->class->open(object, argv, &texts, &error);
  texts_free(&texts);
  if (r < 0)
    error_throw_option(env, &error);
  if (r != 0) {
    memory_free(object);
    return NULL;
  }
  return wrap(object, self);
}

void object_closed(object_t* object) {
  addon_t* addon = object->addon;
  napi_handle_scope scope;
  object->closed = true;
  if (object_enter(object, &scope))
    object_call(object, scope, "onClosed", 0, NULL);
  if (object->next != NULL)
    object->next->link = object->link;
  *object->link = object->next;
  (void)napi_async_destroy(addon->env, object->context);
  object->context = NULL;
  if (object->held)
    (void)napi_reference_unref(addon->env, object->self, NULL);
  object->held = false;
  free_if_over(object);
  end_if_closed(addon);
}

/* The method close() of any class. */
static napi_value close_method(napi_env env, napi_callback_info info) {
  napi_value self;
  void* class;
  if (napi_get_cb_info(env, info, NULL, NULL, &self, &class) != napi_ok)
    return error_throw_last(env);
  object_t* object = object_unwrap(env, self, class);
  if (object != NULL && !object->closed) {
    object_hold(object);
    object_close(object);
  }
  return value_undefined(env);
}

napi_value fields_names(napi_env env, const field_t* fields, size_t n) {
  napi_value names;
  if (napi_create_array(env, &names) != napi_ok)
    return NULL;
  for (uint32_t i = 0; i < n; i++)
    if (napi_set_element(env, names, i, value_text(env, fields[i].name)) != napi_ok)
      return NULL;
  return names;
}

/* The names of the options. */
static bool set_options(napi_env env, napi_value constructor, const class_t* class) {
  napi_value names = fields_names(env, class->fields, class->fields_n);
  return names != NULL && napi_set_named_property(env, constructor, "options", names) == napi_ok;
}

bool class_define(napi_env env, napi_value exports, const class_t* class,
                  const napi_property_descriptor* methods, size_t n) {
  napi_property_descriptor all[METHODS_MAX] = {
      {.utf8name = "close", .method = close_method, .data = (void*)(uintptr_t) class}};
  napi_value constructor;
  if (n >= METHODS_MAX)
    return false;
  for (size_t i = 0; i < n; i++)
    all[i + 1] = methods[i];
  return napi_define_class(env, class->name, NAPI_AUTO_LENGTH, construct, (void*)(uintptr_t) class,
                           n + 1, all, &constructor) == napi_ok &&
         set_options(env, constructor, class) &&
         napi_set_named_property(env, exports, class->name, constructor) == napi_ok;
}

/* ---- JavaScript ---- */

void* object_unwrap(napi_env env, napi_value value, const class_t* class) {
  void* data = NULL;
  bool fits = false;
  napi_valuetype type;
  if (napi_typeof(env, value, &type) == napi_ok && type == napi_object &&
      napi_check_object_type_tag(env, value, &class->tag, &fits) == napi_ok && fits &&
      napi_unwrap(env, value, &data) == napi_ok)
    return data;
  (void)napi_throw_type_error(env, "S3LECT_EINVAL", class->mismatch);
  return NULL;
}

void* object_this(napi_env env, napi_callback_info info, const class_t* class, size_t argc,
                  napi_value* argv) {
  napi_value self;
  if (napi_get_cb_info(env, info, &argc, argv, &self, NULL) != napi_ok)
    return error_throw_last(env);
  return object_unwrap(env, self, class);
}

void* object_wanted(void* data) {
  object_t* object = data;
  if (object == NULL || !object->unwanted)
    return object;
  return error_throw(object->addon->env, UV_ECANCELED, object->class->closed);
}

bool object_enter(object_t* object, napi_handle_scope* scope) {
  return !object->addon->ending && object->self != NULL &&
         napi_open_handle_scope(object->addon->env, scope) == napi_ok;
}

/* What a listener has thrown is nobody's but the process's: 'uncaughtException', or its end. */
static void tell_exception(napi_env env) {
  bool pending = false;
  napi_value exception;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending &&
      napi_get_and_clear_last_exception(env, &exception) == napi_ok)
    (void)napi_fatal_exception(env, exception);
}

void object_call(object_t* object, napi_handle_scope scope, const char* method, size_t argc,
                 const napi_value* argv) {
  napi_env env = object->addon->env;
  napi_value self, function;
  if (napi_get_reference_value(env, object->self, &self) == napi_ok && self != NULL &&
      napi_get_named_property(env, self, method, &function) == napi_ok)
    (void)napi_make_callback(env, object->context, self, function, argc, argv, NULL);
  tell_exception(env);
  (void)napi_close_handle_scope(env, scope);
}

/* ---- The end of an environment ---- */

static void on_alive_closed(uv_handle_t* handle) {
  addon_t* addon = handle->data;
  (void)napi_remove_async_cleanup_hook(addon->hook);
}

static void end_if_closed(addon_t* addon) {
  if (addon->ending && addon->objects == NULL && !uv_is_closing((uv_handle_t*)&addon->alive))
    uv_close((uv_handle_t*)&addon->alive, on_alive_closed);
}

static void on_env_end(napi_async_cleanup_hook_handle hook, void* arg) {
  addon_t* addon = arg;
  addon->hook = hook;
  addon->ending = true;
  uv_ref((uv_handle_t*)&addon->alive);
  for (object_t *object = addon->objects, *next; object != NULL; object = next) {
    next = object->next;
    object_close(object);
  }
  end_if_closed(addon);
}

/* ---- The module ---- */

static void on_alive(uv_async_t* async) {
  (void)async;
}

static void on_addon_finalized(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  memory_free(data);
}

static napi_value get_blocks(napi_env env, napi_callback_info info) {
  (void)info;
  return value_number(env, (double)memory_blocks());
}

/* testingSpeed(speed) */
static napi_value set_testing_speed(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  uint32_t speed = 0;
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok ||
      napi_get_value_uint32(env, argv[0], &speed) != napi_ok)
    return error_throw_last(env);
  int err = s3lect_testing_speed(speed);
  if (err == UV_EBUSY)
    return error_throw(env, err, "s3lect is in use in this process: call testingSpeed first");
  return err == 0 ? value_undefined(env) : error_throw(env, err, NULL);
}

static bool define_module(addon_t* addon, napi_value exports) {
  const napi_property_descriptor properties[] = {
      {.utf8name = "version",
       .value = value_text(addon->env, s3lect_version_string()),
       .attributes = napi_enumerable},
      {.utf8name = "blocks", .method = get_blocks, .attributes = napi_enumerable},
      {.utf8name = "auditLogs", .method = audit_logs, .attributes = napi_enumerable},
      {.utf8name = "plan", .method = plan_make, .attributes = napi_enumerable},
      {.utf8name = "testingSpeed", .method = set_testing_speed, .attributes = napi_enumerable},
  };
  return napi_define_properties(addon->env, exports, sizeof properties / sizeof *properties,
                                properties) == napi_ok &&
         store_define(addon->env, exports) && peer_define(addon->env, exports) &&
         elector_define(addon->env, exports);
}

/* The headers may be those of another Node. Libuv and OpenSSL keep their binary interfaces until
 * the first number of their version changes. */
static bool libraries_fit(napi_env env) {
  if (uv_version() >> 16 == UV_VERSION_MAJOR && OPENSSL_version_major() == OPENSSL_VERSION_MAJOR)
    return true;
  (void)napi_throw_error(env, NULL, "compiled for another libuv or OpenSSL than this Node has");
  return false;
}

NAPI_MODULE_EXPORT napi_value NAPI_MODULE_INITIALIZER(napi_env env, napi_value exports);

NAPI_MODULE_EXPORT napi_value NAPI_MODULE_INITIALIZER(napi_env env, napi_value exports) {
  if (!libraries_fit(env))
    return NULL;
  memory_count();
  addon_t* addon = memory_zeroed(sizeof *addon);
  if (addon == NULL)
    return error_throw(env, UV_ENOMEM, NULL);
  addon->env = env;
  if (napi_get_uv_event_loop(env, &addon->loop) != napi_ok ||
      uv_async_init(addon->loop, &addon->alive, on_alive) != 0) {
    memory_free(addon);
    return error_throw_last(env);
  }
  addon->alive.data = addon;
  uv_unref((uv_handle_t*)&addon->alive);
  /* From here on the environment's end cleans up, also after a failure. */
  if (napi_set_instance_data(env, addon, on_addon_finalized, NULL) != napi_ok ||
      napi_add_async_cleanup_hook(env, on_env_end, addon, NULL) != napi_ok ||
      !define_module(addon, exports))
    return error_throw_last(env);
  return exports;
}
