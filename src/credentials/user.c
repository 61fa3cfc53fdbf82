/* credentials/user.c: see user.h. The provider is somebody else's code: one that answers
 * inside get or cancel, or twice, breaks its contract, but nothing here. */
#include "credentials/user.h"

#include <stdbool.h>
#include <string.h>

#include "util/buf.h"
#include "util/mem.h"

#define WHY_MAX 512

typedef struct user_s {
  s3l_creds_source_t source;
  s3lect_credentials_provider_t* provider;
  s3lect_credentials_req_t req;
  s3l_creds_fetch_t* fetch; /* the question under way */
  uv_timer_t soon;          /* brings what get has said at once out of fetch */
  bool has_soon;
  bool asked;  /* the provider owes an answer */
  bool inside; /* we are in its get or cancel */
  /* What it said inside get. */
  int status;
  s3l_creds_t* creds;
  char why[WHY_MAX];
  bool closing;
  void (*close_cb)(void* arg);
  void* close_arg;
} user_t;

static void end_if_closed(user_t* u) {
  if (!u->closing || u->asked || u->has_soon)
    return;
  void (*cb)(void*) = u->close_cb;
  void* arg = u->close_arg;
  s3l_creds_free(u->creds);
  s3l_free(u);
  if (cb != NULL)
    cb(arg);
}

static void answer(user_t* u, int status, s3l_creds_t* creds, const char* why) {
  s3l_creds_fetch_t* fetch = u->fetch;
  u->fetch = NULL;
  fetch->done(fetch, status, creds, why);
}

/* A struct of an older caller may lack what came later. */
static int copy(const s3lect_credentials_t* from, s3l_creds_t** out, const char** why) {
  s3lect_credentials_t known;
  memset(&known, 0, sizeof(known));
  if (from != NULL)
    memcpy(&known, from, from->size < sizeof(known) ? from->size : sizeof(known));
  return s3l_creds_new(s3l_span_cstr(known.access_key_id), s3l_span_cstr(known.secret_access_key),
                       s3l_span_cstr(known.session_token), known.expires_ms, out, why);
}

static void keep(user_t* u, int status, s3l_creds_t* creds, const char* why) {
  s3l_buf_t b;
  s3l_span_t text = s3l_span_cstr(why);
  if (text.n >= sizeof(u->why))
    text.n = sizeof(u->why) - 1;
  s3l_buf_init(&b, u->why, sizeof(u->why));
  s3l_buf_put(&b, text);
  (void)s3l_buf_cstr(&b);
  s3l_creds_free(u->creds);
  u->creds = creds;
  u->status = status;
}

static void on_credentials(s3lect_credentials_req_t* req, int status,
                           const s3lect_credentials_t* credentials, const char* message) {
  user_t* u = req->data;
  s3l_creds_t* creds = NULL;
  if (!u->asked)
    return;
  u->asked = false;
  if (u->closing) {
    if (!u->inside)
      end_if_closed(u);
    return;
  }
  if (status == 0)
    status = copy(credentials, &creds, &message);
  if (message == NULL)
    message = s3lect_strerror(status);
  if (u->inside)
    keep(u, status, creds, message);
  else
    answer(u, status, creds, message);
}

static void on_soon(uv_timer_t* timer) {
  user_t* u = S3L_CONTAINER_OF(timer, user_t, soon);
  s3l_creds_t* creds = u->creds;
  u->creds = NULL;
  answer(u, u->status, creds, u->why);
}

static void user_fetch(s3l_creds_source_t* source, s3l_creds_fetch_t* fetch) {
  user_t* u = S3L_CONTAINER_OF(source, user_t, source);
  u->fetch = fetch;
  memset(&u->req, 0, sizeof(u->req));
  u->req.data = u;
  u->req.cb = on_credentials;
  u->req.provider = u->provider;
  u->asked = true;
  u->inside = true;
  int err = u->provider->ops->get(u->provider, &u->req);
  u->inside = false;
  if (err == 0 && u->asked)
    return;
  u->asked = false;
  if (err != 0)
    keep(u, err, NULL, s3lect_strerror(err));
  if (!u->has_soon)
    (void)uv_timer_init(u->provider->loop, &u->soon); /* cannot fail */
  u->has_soon = true;
  (void)uv_timer_start(&u->soon, on_soon, 0, 0);
}

static void on_soon_closed(uv_handle_t* handle) {
  user_t* u = S3L_CONTAINER_OF(handle, user_t, soon);
  u->has_soon = false;
  end_if_closed(u);
}

static void user_close(s3l_creds_source_t* source, void (*cb)(void* arg), void* arg) {
  user_t* u = S3L_CONTAINER_OF(source, user_t, source);
  u->closing = true;
  u->close_cb = cb;
  u->close_arg = arg;
  if (u->has_soon)
    uv_close((uv_handle_t*)&u->soon, on_soon_closed);
  u->inside = true;
  if (u->asked)
    u->provider->ops->cancel(u->provider, &u->req);
  u->inside = false;
  end_if_closed(u);
}

static const s3l_creds_source_ops_t user_ops = {.fetch = user_fetch, .close = user_close};

int s3l_creds_user(s3lect_credentials_provider_t* provider, s3l_creds_source_t** out) {
  user_t* u = s3l_calloc(1, sizeof(*u));
  if (u == NULL)
    return UV_ENOMEM;
  u->source.ops = &user_ops;
  u->provider = provider;
  *out = &u->source;
  return 0;
}
