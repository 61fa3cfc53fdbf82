#include "credentials/builtin.h"

#include <stdbool.h>
#include <string.h>

#include "credentials/chain.h"
#include "util/assert.h"
#include "util/error.h"
#include "util/mem.h"

typedef struct builtin_s {
  s3lect_credentials_provider_t* shell;
  s3l_creds_provider_t* inner;
  s3l_list_t asking;     /* requests, in order */
  s3l_creds_wait_t wait; /* one for all of them */
  uv_timer_t soon;       /* answers what can be answered now */
  s3lect_credentials_close_cb close_cb;
} builtin_t;

/* In a request's scratch space. */
typedef struct state_s {
  s3lect_credentials_req_t* req;
  s3l_list_t link; /* of builtin_t's asking; unlinked: over */
  bool cancelled;
} state_t;

S3L_STATIC_ASSERT(sizeof(state_t) <= sizeof(((s3lect_credentials_req_t*)0)->internal),
                  "a request's state must fit in its scratch space");

static state_t* state_of(s3lect_credentials_req_t* req) {
  return (state_t*)(void*)req->internal;
}

static void finish(state_t* s, int status, const s3l_creds_t* creds, const char* message) {
  s3lect_credentials_req_t* req = s->req;
  s3lect_credentials_t shown = {.size = sizeof(shown)};
  s3l_list_remove(&s->link);
  if (creds != NULL) {
    shown.access_key_id = creds->access_key;
    shown.secret_access_key = creds->secret;
    shown.session_token = creds->token;
    shown.expires_ms = creds->expires_ms;
  }
  req->cb(req, status, creds != NULL ? &shown : NULL, message);
}

static void on_soon(uv_timer_t* timer);

static void wake(builtin_t* b) {
  if (!uv_is_closing((uv_handle_t*)&b->soon))
    (void)uv_timer_start(&b->soon, on_soon, 0, 0);
}

/* The list as it is now; who asks in a callback waits for the next round. */
static void take_asking(builtin_t* b, s3l_list_t* list) {
  s3l_list_init(list);
  while (!s3l_list_empty(&b->asking)) {
    s3l_list_t* l = b->asking.next;
    s3l_list_remove(l);
    s3l_list_push_back(list, l);
  }
}

static void answer(builtin_t* b, int status) {
  s3l_list_t list;
  take_asking(b, &list);
  while (!s3l_list_empty(&list)) {
    state_t* s = S3L_CONTAINER_OF(list.next, state_t, link);
    const s3l_creds_t* creds = NULL;
    if (s->cancelled || status == UV_ECANCELED) {
      finish(s, UV_ECANCELED, NULL, NULL);
      continue;
    }
    if (status == 0 && (creds = b->inner->ops->get(b->inner, NULL)) == NULL) {
      s3l_list_remove(&s->link); /* it has ended meanwhile: once more */
      s3l_list_push_back(&b->asking, &s->link);
      wake(b);
      continue;
    }
    finish(s, status, creds, creds == NULL ? b->inner->ops->why(b->inner) : NULL);
  }
}

static void on_wait(s3l_creds_wait_t* wait, int status) {
  answer(S3L_CONTAINER_OF(wait, builtin_t, wait), status);
}

static void end_cancelled(builtin_t* b) {
  s3l_list_t list;
  take_asking(b, &list);
  while (!s3l_list_empty(&list)) {
    state_t* s = S3L_CONTAINER_OF(list.next, state_t, link);
    if (s->cancelled) {
      finish(s, UV_ECANCELED, NULL, NULL);
    } else {
      s3l_list_remove(&s->link);
      s3l_list_push_back(&b->asking, &s->link);
    }
  }
}

static void on_soon(uv_timer_t* timer) {
  builtin_t* b = S3L_CONTAINER_OF(timer, builtin_t, soon);
  end_cancelled(b);
  if (s3l_list_empty(&b->asking) || !s3l_list_empty(&b->wait.link) ||
      uv_is_closing((uv_handle_t*)timer))
    return;
  if (b->inner->ops->get(b->inner, &b->wait) != NULL)
    answer(b, 0);
}

/* ---- The public vtable ---- */

static int builtin_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  builtin_t* b = provider->internal;
  state_t* s = state_of(req);
  if (req->cb == NULL)
    return UV_EINVAL;
  if (uv_is_closing((uv_handle_t*)&b->soon))
    return UV_ECANCELED;
  req->provider = provider;
  s->req = req;
  s->cancelled = false;
  s3l_list_push_back(&b->asking, &s->link);
  wake(b);
  return 0;
}

static void builtin_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  state_t* s = state_of(req);
  if (s->link.next == NULL || s3l_list_empty(&s->link))
    return; /* over, or never asked */
  s->cancelled = true;
  wake(provider->internal);
}

static void on_inner_closed(void* arg) {
  builtin_t* b = arg;
  s3lect_credentials_provider_t* shell = b->shell;
  s3lect_credentials_close_cb cb = b->close_cb;
  s3l_free(b);
  shell->internal = NULL;
  if (cb != NULL)
    cb(shell);
}

static void on_soon_closed(uv_handle_t* handle) {
  builtin_t* b = S3L_CONTAINER_OF(handle, builtin_t, soon);
  s3l_creds_wait_end(&b->wait);
  answer(b, UV_ECANCELED);
  b->inner->ops->close(b->inner, on_inner_closed, b);
}

static void builtin_close(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb) {
  builtin_t* b = provider->internal;
  b->close_cb = cb;
  uv_close((uv_handle_t*)&b->soon, on_soon_closed);
}

static const s3lect_credentials_ops_t builtin_ops = {.version = S3LECT_CREDENTIALS_VERSION,
                                                     .get = builtin_get,
                                                     .cancel = builtin_cancel,
                                                     .close = builtin_close};

s3l_creds_provider_t* s3l_creds_builtin(const s3lect_credentials_provider_t* provider) {
  return provider->ops == &builtin_ops ? ((const builtin_t*)provider->internal)->inner : NULL;
}

/* ---- Opening ---- */

/* Takes the inner one over. */
static int open_shell(uv_loop_t* loop, s3lect_credentials_provider_t* shell,
                      s3l_creds_provider_t* inner) {
  builtin_t* b = s3l_calloc(1, sizeof(*b));
  if (b == NULL) {
    inner->ops->close(inner, NULL, NULL); /* has nothing in the loop yet */
    return UV_ENOMEM;
  }
  b->shell = shell;
  b->inner = inner;
  b->wait.cb = on_wait;
  s3l_list_init(&b->asking);
  s3l_list_init(&b->wait.link);
  (void)uv_timer_init(loop, &b->soon); /* cannot fail */
  shell->loop = loop;
  shell->ops = &builtin_ops;
  shell->internal = b;
  return 0;
}

int s3lect_credentials_static_init(uv_loop_t* loop, s3lect_credentials_provider_t* provider,
                                   const char* access_key_id, const char* secret_access_key,
                                   const char* session_token, s3lect_error_t* error) {
  s3l_creds_provider_t* inner;
  s3l_creds_t* looked_at;
  const char* why;
  s3l_error_clear(error);
  int err = s3l_creds_new(s3l_span_cstr(access_key_id), s3l_span_cstr(secret_access_key),
                          s3l_span_cstr(session_token), 0, &looked_at, &why);
  if (err != 0)
    return s3l_error_say(error, err, "", NULL, "%s", why);
  s3l_creds_free(looked_at);
  err = s3l_creds_static(access_key_id, secret_access_key, session_token, &inner);
  return s3l_error_end(error, err != 0 ? err : open_shell(loop, provider, inner));
}

void s3lect_credentials_chain_options_init(s3lect_credentials_chain_options_t* options,
                                           size_t size) {
  memset(options, 0, size);
  if (size >= sizeof(options->size))
    options->size = size;
}

int s3lect_credentials_chain_init(uv_loop_t* loop, s3lect_credentials_provider_t* provider,
                                  const s3lect_credentials_chain_options_t* options,
                                  s3lect_error_t* error) {
  s3l_creds_provider_t* inner;
  s3l_error_clear(error);
  int err = s3l_creds_chain(loop, options, &inner, error);
  return s3l_error_end(error, err != 0 ? err : open_shell(loop, provider, inner));
}

void s3lect_credentials_close(s3lect_credentials_provider_t* provider,
                              s3lect_credentials_close_cb cb) {
  provider->ops->close(provider, cb);
}
