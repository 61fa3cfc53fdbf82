#include "credentials/session.h"

#include <string.h>

#include "credentials/reply.h"
#include "credentials/service.h"
#include "s3lect/version.h"
#include "util/mem.h"
#include "util/skew.h"
#include "wire/s3_reply.h"

#define ATTEMPTS   3
#define WHY_MAX    1024
#define ORIGIN_MAX (S3L_SERVICE_HOST_MAX + 16)
#define BUCKET_MAX 64 /* with its NUL */

typedef struct session_s {
  s3lect_credentials_provider_t provider;
  s3l_loop_t* loop; /* NULL before the first question */
  s3l_settings_t settings;
  s3l_service_t service;
  s3l_signer_t signer;
  char origin[ORIGIN_MAX];
  char bucket[BUCKET_MAX];
  char region[S3L_SIGV4_REGION_MAX];

  s3l_creds_user_t user; /* of the cache of the credentials */
  bool keys_borrowed;
  s3l_creds_wait_t wait;
  s3lect_credentials_t* keys; /* a copy of them for the question under way, or NULL */

  s3lect_credentials_req_t* req; /* NULL: no question is under way */
  bool cancelled;
  s3l_buf_t why;
  char why_text[WHY_MAX];

  s3l_task_t left;
  s3lect_credentials_close_cb close_cb;
} session_t;

/* ---- CreateSession ---- */

static bool compose(s3l_service_t* service, s3l_buf_t* b) {
  session_t* s = service->data;
  const s3l_s3_target_t target = {.host = s3l_span_cstr(service->host_header),
                                  .bucket = s3l_span_cstr(s->bucket),
                                  .region = s3l_span_cstr(s->region),
                                  .user_agent = S3L_SPAN("s3lect/" S3LECT_VERSION_STRING),
                                  .express = true};
  const s3l_s3_keys_t keys = {s3l_span_cstr(s->keys->access_key_id),
                              s3l_span_cstr(s->keys->secret_access_key),
                              s3l_span_cstr(s->keys->session_token)};
  const s3l_s3_request_t request = {.op = S3L_S3_SESSION};
  return s3l_s3_request_write(&s->signer, &target, &keys, &request, s3l_service_now_ms(service),
                              b->p, b->cap, &b->len) == 0;
}

static s3l_store_verdict_t judge(const s3l_http_reply_t* reply, s3l_store_error_t* error) {
  (void)s3l_store_error_parse(reply->body, error);
  return s3l_s3_verdict(S3L_S3_SESSION, reply->http_status, s3l_span_cstr(error->code), false);
}

/* The signature is made anew once, if the clock was corrected. */
static bool is_transient(s3l_service_t* service, const s3l_http_reply_t* reply) {
  s3l_store_error_t error;
  s3l_recover_t recovery = judge(reply, &error).recovery;
  if (recovery == S3L_RECOVER_CLOCK)
    return s3l_service_reclock(service, reply, S3L_SKEW_MIN_MS);
  return recovery == S3L_RECOVER_SKEW_PERHAPS &&
         s3l_service_reclock(service, reply, S3L_SKEW_PERHAPS_MS);
}

static void on_reply(s3l_service_t* service, const s3l_http_reply_t* reply) {
  session_t* s = service->data;
  s3lect_credentials_t* creds = NULL;
  s3l_store_error_t error;
  if (s3l_service_is_good(reply)) {
    int status = s3l_reply_service_xml(reply, s->settings.wall_ms(), &creds, &s->why);
    s3l_service_end(service, status, creds);
    return;
  }
  if (reply->status != 0) {
    s3l_service_fail_reply(service, reply, NULL);
    return;
  }
  s3l_store_verdict_t verdict = judge(reply, &error);
  if (verdict.recovery == S3L_RECOVER_KEYS)
    s3l_creds_cache_refused(s->user.cache);
  s3l_buf_printf(&s->why, "%s answered ", service->host_header);
  s3l_store_error_describe(&s->why, reply->http_status, &error, verdict.advice);
  s3l_service_end(service, S3LECT_ECREDENTIALS, NULL);
}

/* ---- Questions ---- */

static void finish(session_t* s, int status, s3lect_credentials_t* creds) {
  s3lect_credentials_req_t* req = s->req;
  s->req = NULL;
  s3l_creds_free(s->keys);
  s->keys = NULL;
  if (s->cancelled)
    status = UV_ECANCELED;
  s->why_text[s->why.len] = '\0';
  req->cb(req, status, status == 0 ? creds : NULL, s->why_text);
  s3l_creds_free(creds);
}

static void on_ended(void* arg, int status, s3lect_credentials_t* creds) {
  finish(arg, status, creds);
}

/* Copies the credentials that sign; not 0, with a line in `why`, if that fails. */
static int copy_keys(session_t* s) {
  s3lect_error_t error = {0};
  const s3lect_credentials_t* keys = s3l_creds_cache_get(s->user.cache);
  if (keys == NULL) {
    s3l_buf_puts(&s->why, "the credentials have ended");
    return S3LECT_ECREDENTIALS;
  }
  int err =
      s3l_creds_new_keys(s3l_span_cstr(keys->access_key_id), s3l_span_cstr(keys->secret_access_key),
                         s3l_span_cstr(keys->session_token), 0, &s->keys, &error);
  s3l_buf_puts(&s->why, err != 0 ? error.text : "");
  return err;
}

static void on_waited(s3l_creds_wait_t* wait, int status, const char* why) {
  static const s3l_service_call_t call = {
      .compose = compose, .done = on_reply, .is_transient = is_transient};
  session_t* s = S3L_CONTAINER_OF(wait, session_t, wait);
  const s3l_service_origin_t origin = {.url = s3l_span_cstr(s->origin),
                                       .name = "the endpoint of the bucket",
                                       .proxies = &s->settings.proxies};
  if (status != 0) {
    s3l_buf_printf(&s->why, "%s", why != NULL ? why : s3lect_strerror(status));
    finish(s, status, NULL);
    return;
  }
  s3l_buf_puts(&s->why, "CreateSession: ");
  status = copy_keys(s);
  if (status != 0)
    finish(s, status, NULL);
  else if (s3l_service_set_origin(&s->service, &origin))
    s3l_service_call(&s->service, &call, s->settings.service_timeout_ms, ATTEMPTS);
}

/* ---- What the cache calls ---- */

static int session_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  session_t* s = provider->internal;
  if (s->loop == NULL && s3l_loop_join(provider->loop, &s->loop) != 0)
    return UV_ENOMEM;
  s->cancelled = false;
  s3l_buf_init(&s->why, s->why_text, sizeof s->why_text - 1);
  s3l_service_begin(&s->service, s->loop);
  int err = s3l_creds_wait(&s->user, &s->wait, S3L_CLOCK_NEVER);
  if (err == 0)
    s->req = req;
  return err;
}

static void session_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  session_t* s = provider->internal;
  if (s->req != req)
    return;
  s->cancelled = true;
  s3l_creds_wait_cancel(&s->wait); /* no-op, as the next, where the question is not there */
  s3l_service_cancel(&s->service);
}

static void on_left(s3l_task_t* task) {
  session_t* s = S3L_CONTAINER_OF(task, session_t, left);
  s3l_settings_free(&s->settings);
  s3l_signer_close(&s->signer);
  if (s->close_cb != NULL)
    s->close_cb(&s->provider);
  s3l_free(s);
}

static void on_keys_closed(void* arg) {
  session_t* s = arg;
  s3l_task_init(&s->left, on_left);
  if (s->loop != NULL)
    s3l_loop_leave(s->loop, &s->left);
  else
    on_left(&s->left);
}

static void on_service_closed(void* arg) {
  session_t* s = arg;
  if (s->keys_borrowed)
    on_keys_closed(s);
  else
    s3l_creds_cache_close(s->user.cache, on_keys_closed, s);
}

/* The cache closes it when no question is under way. */
static void session_close(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb) {
  session_t* s = provider->internal;
  s->close_cb = cb;
  s3l_service_close(&s->service, on_service_closed, s);
}

static const s3lect_credentials_ops_t session_ops = {.version = S3LECT_CREDENTIALS_VERSION,
                                                     .get = session_get,
                                                     .cancel = session_cancel,
                                                     .close = session_close};

/* ---- Opening ---- */

static session_t* make(uv_loop_t* loop, const s3l_settings_t* settings,
                       const s3l_session_options_t* o) {
  session_t* s = s3l_calloc(1, sizeof *s);
  if (s == NULL || !s3l_signer_open(&s->signer)) {
    s3l_free(s);
    return NULL;
  }
  s->settings = *settings;
  (void)s3l_span_copy(s3l_span_cstr(o->origin), s->origin, sizeof s->origin);
  (void)s3l_span_copy(s3l_span_cstr(o->bucket), s->bucket, sizeof s->bucket);
  (void)s3l_span_copy(s3l_span_cstr(o->region), s->region, sizeof s->region);
  s->user = (s3l_creds_user_t){.cache = o->keys, .waited = on_waited};
  s->keys_borrowed = o->keys_borrowed;
  s3l_service_init(&s->service, &s->settings, &s->why, on_ended, s);
  s->service.data = s;
  s->provider.loop = loop;
  s->provider.ops = &session_ops;
  s->provider.internal = s;
  return s;
}

int s3l_creds_session(uv_loop_t* loop, const s3lect_credentials_chain_options_t* settings,
                      const s3l_session_options_t* o, s3l_creds_cache_t** out,
                      s3lect_error_t* error) {
  s3l_settings_t copied;
  int err = s3l_settings_aws(&copied, settings, error);
  session_t* s = err == 0 ? make(loop, &copied, o) : NULL;
  if (s != NULL)
    return s3l_creds_cache_open(&s->provider, true, &s3l_creds_cache_defaults, out);
  if (err == 0)
    s3l_settings_free(&copied);
  if (!o->keys_borrowed)
    s3l_creds_cache_close(o->keys, NULL, NULL);
  return err != 0 ? err : UV_ENOMEM;
}
