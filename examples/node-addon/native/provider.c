/* A provider of credentials that asks JavaScript.
 *
 * Questions and answers both go through the loop: the store may ask while JavaScript runs, and
 * JavaScript answers whenever a promise is settled, which may be inside a callback of the very
 * store.
 *
 *   IDLE -> ASKING (get) -> ASKED (JavaScript has the question) -> ANSWERED -> IDLE
 *   ASKING, ASKED -> CANCELLED -> IDLE */
#include <stdio.h>
#include <string.h>

#include "addon.h"

typedef enum { IDLE, ASKING, ASKED, ANSWERED, CANCELLED } state_t;

typedef struct provider_s {
  s3lect_credentials_provider_t handle;
  object_t* object;
  uv_async_t wake;
  state_t state;
  uint32_t question; /* the number of the one under way, or of the last */
  s3lect_credentials_req_t* req;
  s3lect_credentials_close_cb close_cb;
  /* ANSWERED: in `texts`. */
  texts_t texts;
  int status;
  s3lect_credentials_t credentials;
  const char* why;
} provider_t;

static void end_question(provider_t* p, int status, const s3lect_credentials_t* credentials,
                         const char* why) {
  s3lect_credentials_req_t* req = p->req;
  texts_t texts = p->texts; /* the store may ask anew inside the callback */
  s3lect_credentials_t copy = p->credentials;
  memset(&p->texts, 0, sizeof p->texts);
  p->req = NULL;
  p->state = IDLE;
  req->cb(req, status, credentials != NULL ? &copy : NULL, why);
  texts_free(&texts);
}

static void ask(provider_t* p) {
  napi_handle_scope scope;
  p->state = ASKED;
  if (!object_enter(p->object, &scope))
    return;
  napi_value question = value_number(p->object->addon->env, p->question);
  object_call(p->object, scope, "onCredentials", 1, &question);
}

static void on_wake(uv_async_t* wake) {
  provider_t* p = wake->data;
  if (p->state == ASKING)
    ask(p);
  else if (p->state == ANSWERED)
    end_question(p, p->status, p->status == 0 ? &p->credentials : NULL, p->why);
  else if (p->state == CANCELLED)
    end_question(p, UV_ECANCELED, NULL, NULL);
}

/* ---- The store's side ---- */

static int provider_get(s3lect_credentials_provider_t* handle, s3lect_credentials_req_t* req) {
  provider_t* p = handle->internal;
  if (uv_is_closing((uv_handle_t*)&p->wake))
    return UV_ECANCELED;
  if (p->state != IDLE)
    return UV_EBUSY;
  req->provider = handle;
  p->req = req;
  p->question++;
  p->state = ASKING;
  return uv_async_send(&p->wake);
}

static void provider_cancel(s3lect_credentials_provider_t* handle, s3lect_credentials_req_t* req) {
  provider_t* p = handle->internal;
  if (p->req != req || uv_is_closing((uv_handle_t*)&p->wake))
    return;
  texts_free(&p->texts);
  p->state = CANCELLED;
  (void)uv_async_send(&p->wake);
}

static void on_wake_closed(uv_handle_t* wake) {
  provider_t* p = wake->data;
  s3lect_credentials_close_cb cb = p->close_cb;
  if (p->req != NULL)
    end_question(p, UV_ECANCELED, NULL, NULL);
  texts_free(&p->texts);
  if (cb != NULL)
    cb(&p->handle);
  memory_free(p);
}

static void provider_close(s3lect_credentials_provider_t* handle, s3lect_credentials_close_cb cb) {
  provider_t* p = handle->internal;
  p->close_cb = cb;
  uv_close((uv_handle_t*)&p->wake, on_wake_closed);
}

static const s3lect_credentials_ops_t ops = {.version = S3LECT_CREDENTIALS_VERSION,
                                             .get = provider_get,
                                             .cancel = provider_cancel,
                                             .close = provider_close};

s3lect_credentials_provider_t* provider_open(object_t* object, addon_t* addon) {
  provider_t* p = memory_zeroed(sizeof *p);
  if (p == NULL || uv_async_init(addon->loop, &p->wake, on_wake) != 0) {
    memory_free(p);
    return NULL;
  }
  uv_unref((uv_handle_t*)&p->wake); /* who waits for the answer keeps the loop going */
  p->wake.data = p;
  p->object = object;
  p->handle.data = object;
  p->handle.loop = addon->loop;
  p->handle.ops = &ops;
  p->handle.internal = p;
  return &p->handle;
}

/* ---- JavaScript's side ---- */

/* Whether it is this question that is asked. */
static bool is_asked(napi_env env, const provider_t* p, napi_value question) {
  uint32_t number;
  return napi_get_value_uint32(env, question, &number) == napi_ok && p->state == ASKED &&
         number == p->question;
}

static napi_value answered(napi_env env, provider_t* p) {
  p->state = ANSWERED;
  (void)uv_async_send(&p->wake);
  return value_bool(env, true);
}

/* An answer that cannot be read. */
static napi_value unreadable(provider_t* p) {
  texts_free(&p->texts);
  return NULL;
}

napi_value provider_answer(napi_env env, s3lect_credentials_provider_t* handle,
                           const napi_value* argv) {
  provider_t* p = handle->internal;
  napi_valuetype token = napi_undefined;
  double expires;
  if (!is_asked(env, p, argv[0]))
    return value_bool(env, false);
  memset(&p->credentials, 0, sizeof p->credentials);
  s3lect_credentials_t* c = &p->credentials;
  c->size = sizeof *c;
  c->access_key_id = texts_add(&p->texts, env, argv[1], "accessKeyId");
  if (c->access_key_id == NULL)
    return unreadable(p);
  c->secret_access_key = texts_add(&p->texts, env, argv[2], "secretAccessKey");
  if (c->secret_access_key == NULL)
    return unreadable(p);
  (void)napi_typeof(env, argv[3], &token);
  if (token != napi_undefined) {
    c->session_token = texts_add(&p->texts, env, argv[3], "sessionToken");
    if (c->session_token == NULL)
      return unreadable(p);
  }
  if (napi_get_value_double(env, argv[4], &expires) == napi_ok && expires > 0 && expires < 1e16)
    c->expires_ms = (int64_t)expires;
  p->status = 0;
  p->why = NULL;
  return answered(env, p);
}

napi_value provider_refuse(napi_env env, s3lect_credentials_provider_t* handle,
                           const napi_value* argv) {
  provider_t* p = handle->internal;
  if (!is_asked(env, p, argv[0]))
    return value_bool(env, false);
  p->why = texts_add(&p->texts, env, argv[1], "the reason");
  if (p->why == NULL)
    return unreadable(p);
  p->status = S3LECT_ECREDENTIALS;
  return answered(env, p);
}
