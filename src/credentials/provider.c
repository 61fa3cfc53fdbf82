#include "credentials/provider.h"

#include <string.h>

#include "credentials/aws.h"
#include "util/assert.h"
#include "util/error.h"
#include "util/mem.h"

typedef struct shell_s {
  s3lect_credentials_provider_t* provider;
  s3l_creds_user_t user;
  s3l_loop_t* loop;
  s3l_task_t left;
  s3lect_credentials_close_cb close_cb;
} shell_t;

/* In a request's scratch space. */
typedef struct state_s {
  s3l_creds_wait_t wait;
  s3lect_credentials_req_t* req;
} state_t;

S3L_STATIC_ASSERT(sizeof(state_t) <= sizeof(((s3lect_credentials_req_t*)0)->internal),
                  "a request's state must fit in its scratch space");

static state_t* state_of(s3lect_credentials_req_t* req) {
  return (state_t*)(void*)req->internal;
}

static void on_wait(s3l_creds_wait_t* wait, int status, const char* why) {
  s3lect_credentials_req_t* req = S3L_CONTAINER_OF(wait, state_t, wait)->req;
  const shell_t* shell = req->provider->internal;
  const s3lect_credentials_t* creds = status == 0 ? s3l_creds_cache_get(shell->user.cache) : NULL;
  if (status == 0 && creds == NULL) {
    status = S3LECT_ECREDENTIALS;
    why = "the credentials have ended";
  }
  req->cb(req, status, creds, why);
}

static int shell_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  shell_t* shell = provider->internal;
  if (req->cb == NULL)
    return UV_EINVAL;
  req->provider = provider;
  state_of(req)->req = req;
  return s3l_creds_wait(&shell->user, &state_of(req)->wait, S3L_CLOCK_NEVER);
}

static void shell_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  (void)provider;
  s3l_creds_wait_cancel(&state_of(req)->wait);
}

static void on_left(s3l_task_t* task) {
  shell_t* shell = S3L_CONTAINER_OF(task, shell_t, left);
  s3lect_credentials_provider_t* provider = shell->provider;
  s3lect_credentials_close_cb cb = shell->close_cb;
  s3l_free(shell);
  provider->internal = NULL;
  if (cb != NULL)
    cb(provider);
}

static void on_cache_closed(void* arg) {
  shell_t* shell = arg;
  s3l_loop_leave(shell->loop, &shell->left);
}

static void shell_close(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb) {
  shell_t* shell = provider->internal;
  shell->close_cb = cb;
  s3l_creds_cache_close(shell->user.cache, on_cache_closed, shell);
}

static const s3lect_credentials_ops_t shell_ops = {.version = S3LECT_CREDENTIALS_VERSION,
                                                   .get = shell_get,
                                                   .cancel = shell_cancel,
                                                   .close = shell_close};

s3l_creds_cache_t* s3l_creds_provider_cache(const s3lect_credentials_provider_t* provider) {
  return provider->ops == &shell_ops ? ((const shell_t*)provider->internal)->user.cache : NULL;
}

/* ---- Opening ---- */

/* Takes the cache over. */
static int open_shell(uv_loop_t* loop, s3lect_credentials_provider_t* provider,
                      s3l_creds_cache_t* cache) {
  shell_t* shell = s3l_calloc(1, sizeof *shell);
  if (shell == NULL || s3l_loop_join(loop, &shell->loop) != 0) {
    s3l_free(shell);
    s3l_creds_cache_close(cache, NULL, NULL); /* has nothing in the loop yet */
    return UV_ENOMEM;
  }
  s3l_task_init(&shell->left, on_left);
  shell->provider = provider;
  shell->user = (s3l_creds_user_t){.cache = cache, .waited = on_wait};
  provider->loop = loop;
  provider->ops = &shell_ops;
  provider->internal = shell;
  return 0;
}

int s3lect_credentials_static_init(uv_loop_t* loop, s3lect_credentials_provider_t* provider,
                                   const char* access_key_id, const char* secret_access_key,
                                   const char* session_token, s3lect_error_t* error) {
  s3l_creds_cache_t* cache;
  s3l_error_clear(error);
  int err =
      s3l_creds_cache_fixed(loop, access_key_id, secret_access_key, session_token, &cache, error);
  return s3l_error_end(error, err != 0 ? err : open_shell(loop, provider, cache));
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
  s3l_creds_cache_t* cache;
  s3l_error_clear(error);
  int err = s3l_chain_cache(loop, &s3l_chain_aws, options, &cache, error);
  return s3l_error_end(error, err != 0 ? err : open_shell(loop, provider, cache));
}

void s3lect_credentials_close(s3lect_credentials_provider_t* provider,
                              s3lect_credentials_close_cb cb) {
  provider->ops->close(provider, cb);
}
