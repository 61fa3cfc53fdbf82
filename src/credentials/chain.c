#include "credentials/chain.h"

#include "util/mem.h"

/* ---- The course of a question ---- */

static void close_service(s3l_chain_t* c);

void s3l_chain_end(s3l_chain_t* c, int status, s3lect_credentials_t* creds) {
  s3lect_credentials_req_t* req = c->req;
  bool closing = c->closing;
  c->req = NULL;
  for (int i = 0; i < S3L_CHAIN_FILES; i++)
    s3l_file_free(&c->files[i]);
  if (c->kind->clear != NULL)
    c->kind->clear(c);
  if (c->cancelled)
    status = UV_ECANCELED;
  else if (status != 0 && status != UV_ENOMEM)
    status = S3LECT_ECREDENTIALS;
  c->why_text[c->why.len] = '\0';
  req->cb(req, status, status == 0 ? creds : NULL, c->why_text);
  s3l_creds_free(creds);
  if (closing)
    close_service(c);
}

static void try_step(s3l_chain_t* c) {
  const s3l_chain_kind_t* kind = c->kind;
  while (c->step < kind->steps_len && kind->is_wanted != NULL &&
         !kind->is_wanted(&c->settings, c->step))
    c->step++;
  if (c->step == kind->steps_len || c->cancelled) {
    s3l_chain_end(c, S3LECT_ECREDENTIALS, NULL);
    return;
  }
  s3l_buf_printf(&c->why, "%s%s", c->why.len > 0 ? "; " : "", kind->steps[c->step].name);
  c->why_len = c->why.len;
  kind->steps[c->step].try(c);
}

void s3l_chain_skip(s3l_chain_t* c, const char* text) {
  s3l_buf_printf(&c->why, "%s", text);
  c->step++;
  try_step(c);
}

void s3l_chain_fail(s3l_chain_t* c, const char* text) {
  s3l_buf_printf(&c->why, "%s", text);
  s3l_chain_end(c, S3LECT_ECREDENTIALS, NULL);
}

static void on_service_ended(void* arg, int status, s3lect_credentials_t* creds) {
  s3l_chain_t* c = arg;
  if (c->kind->ended != NULL)
    c->kind->ended(c, status, creds);
  else
    s3l_chain_end(c, status, creds);
}

/* ---- What the cache calls ---- */

static void on_begin(s3l_task_t* task) {
  s3l_chain_t* c = S3L_CONTAINER_OF(task, s3l_chain_t, task);
  c->step = 0;
  s3l_buf_init(&c->why, c->why_text, sizeof c->why_text - 1);
  if (c->kind->begin != NULL)
    c->kind->begin(c);
  try_step(c);
}

static int chain_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  s3l_chain_t* c = provider->internal;
  if (c->loop == NULL && s3l_loop_join(provider->loop, &c->loop) != 0)
    return UV_ENOMEM;
  c->req = req;
  c->cancelled = false;
  s3l_service_begin(&c->service, c->loop);
  s3l_task_init(&c->task, on_begin);
  s3l_loop_defer(c->loop, &c->task);
  return 0;
}

static void chain_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  s3l_chain_t* c = provider->internal;
  if (c->req != req)
    return;
  c->cancelled = true;
  if (c->kind->cancel != NULL)
    c->kind->cancel(c);
  for (int i = 0; i < S3L_CHAIN_FILES; i++)
    s3l_file_cancel(&c->files[i]);
  s3l_service_cancel(&c->service);
}

static void on_left(s3l_task_t* task) {
  s3l_chain_t* c = S3L_CONTAINER_OF(task, s3l_chain_t, task);
  s3l_settings_free(&c->settings);
  if (c->close_cb != NULL)
    c->close_cb(&c->provider);
  s3l_free(c);
}

static void on_service_closed(void* arg) {
  s3l_chain_t* c = arg;
  s3l_task_init(&c->task, on_left);
  if (c->loop != NULL)
    s3l_loop_leave(c->loop, &c->task);
  else
    on_left(&c->task);
}

static void close_service(s3l_chain_t* c) {
  s3l_service_close(&c->service, on_service_closed, c);
}

static void chain_close(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb) {
  s3l_chain_t* c = provider->internal;
  c->closing = true;
  c->close_cb = cb;
  if (c->req != NULL)
    chain_cancel(provider, c->req);
  else
    close_service(c);
}

static const s3lect_credentials_ops_t chain_ops = {.version = S3LECT_CREDENTIALS_VERSION,
                                                   .get = chain_get,
                                                   .cancel = chain_cancel,
                                                   .close = chain_close};

/* ---- Opening ---- */

int s3l_chain_provider(uv_loop_t* loop, const s3l_chain_kind_t* kind, s3l_settings_t* settings,
                       s3lect_credentials_provider_t** out) {
  s3l_chain_t* c = s3l_calloc(1, kind->size);
  if (c == NULL) {
    s3l_settings_free(settings);
    return UV_ENOMEM;
  }
  c->kind = kind;
  c->settings = *settings;
  s3l_service_init(&c->service, &c->settings, &c->why, on_service_ended, c);
  c->provider.loop = loop;
  c->provider.ops = &chain_ops;
  c->provider.internal = c;
  *out = &c->provider;
  return 0;
}

int s3l_chain_cache(uv_loop_t* loop, const s3l_chain_kind_t* kind,
                    const s3lect_credentials_chain_options_t* options, s3l_creds_cache_t** out,
                    s3lect_error_t* error) {
  s3l_settings_t settings;
  s3lect_credentials_provider_t* chain;
  int err = kind->configure(&settings, options, error);
  if (err == 0)
    err = s3l_chain_provider(loop, kind, &settings, &chain);
  if (err == 0)
    err = s3l_creds_cache_open(chain, true, &s3l_creds_cache_defaults, out);
  return err;
}
