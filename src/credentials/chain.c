#include "credentials/chain.h"

#include <stdbool.h>
#include <string.h>

#include "credentials/metadata.h"
#include "credentials/process.h"
#include "credentials/profile.h"
#include "credentials/sts.h"
#include "util/mem.h"

#define FILE_MAX    (1u << 20)
#define WHY_MAX     1024
#define TOKEN_PATH  1024
#define FILES       2
#define CONFIG_FILE 0
#define KEYS_FILE   1

typedef struct chain_s {
  s3lect_credentials_provider_t provider;
  s3l_settings_t settings;
  s3l_loop_t* loop;              /* NULL before the first question */
  s3l_task_t task;               /* begins each question, and frees the chain in the end */
  s3lect_credentials_req_t* req; /* the question under way, or NULL */
  unsigned step;                 /* of the order */
  bool cancelled;

  /* Of a profile. */
  s3l_file_t files[FILES];
  int file_errors[FILES];
  s3l_plan_t plan;
  size_t role;                   /* to be assumed next */
  s3lect_credentials_t* signing; /* keys that assume it */
  char token_path[TOKEN_PATH];

  s3l_service_t service;
  s3l_sts_t sts;
  s3l_process_t* process; /* running, or NULL */

  s3l_buf_t why; /* to which each source adds; a longer message is cut */
  char why_text[WHY_MAX];
  size_t why_len; /* up to the step's name */
  bool closing;
  s3lect_credentials_close_cb close_cb;
} chain_t;

/* ---- The course of a question ---- */

static void try_step(chain_t* c);
static void close_service(chain_t* c);

static void free_secrets(chain_t* c) {
  s3l_file_free(&c->files[CONFIG_FILE]);
  s3l_file_free(&c->files[KEYS_FILE]);
  s3l_creds_free(c->signing);
  c->signing = NULL;
}

static void finish(chain_t* c, int status, s3lect_credentials_t* creds) {
  s3lect_credentials_req_t* req = c->req;
  bool closing = c->closing;
  c->req = NULL;
  free_secrets(c);
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

/* The step is configured, but broken. */
static void fail(chain_t* c, const char* text) {
  s3l_buf_printf(&c->why, "%s", text);
  finish(c, S3LECT_ECREDENTIALS, NULL);
}

/* The step is not configured. */
static void skip(chain_t* c, const char* text) {
  s3l_buf_printf(&c->why, "%s", text);
  c->step++;
  try_step(c);
}

/* Keys that the step, its profile's base, or a role gave. They assume the next role, if any. */
static void on_keys(void* arg, int status, s3lect_credentials_t* creds) {
  chain_t* c = arg;
  c->process = NULL;
  if (status != 0 || c->cancelled || c->role == c->plan.roles_len) {
    finish(c, status, creds);
  } else {
    s3l_creds_free(c->signing);
    c->signing = creds;
    c->why.len = c->why_len; /* what the source of these keys began to say */
    s3l_sts_assume_role(&c->sts, &c->plan.roles[c->role++], creds);
  }
}

static void use_keys(chain_t* c, s3l_span_t access_key, s3l_span_t secret, s3l_span_t token) {
  s3lect_credentials_t* creds = NULL;
  s3lect_error_t error = {0};
  int err = s3l_creds_new_keys(access_key, secret, token, 0, &creds, &error);
  s3l_buf_printf(&c->why, "%s", error.text);
  on_keys(c, err, creds);
}

/* ---- Environment ---- */

static void use_environment(chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  use_keys(c, s3l_span_cstr(s->access_key), s3l_span_cstr(s->secret),
           s3l_span_cstr(s->token != NULL ? s->token : s->old_token));
}

static void try_environment(chain_t* c) {
  if (c->settings.access_key == NULL && c->settings.secret == NULL)
    skip(c, "AWS_ACCESS_KEY_ID is not set");
  else
    use_environment(c);
}

/* ---- Web identity ---- */

static void try_web_identity(chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  if (s->web_identity_token_file == NULL) {
    skip(c, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
    return;
  }
  if (s->role_arn == NULL) {
    fail(c, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    return;
  }
  const s3l_sts_role_t role = {.arn = s3l_span_cstr(s->role_arn),
                               .session_name = s3l_span_cstr(s->role_session_name),
                               .region = s3l_span_cstr(s->region),
                               .endpoint = s3l_sts_endpoint(s)};
  s3l_sts_web_identity(&c->sts, &role, s->web_identity_token_file);
}

/* ---- Profile ---- */

static void begin_process(chain_t* c) {
  int err = s3l_process_start(c->loop, c->plan.command, c->settings.process_timeout_ms, on_keys, c,
                              &c->why, &c->process);
  if (err != 0)
    finish(c, err, NULL);
}

static void begin_profile_web_identity(chain_t* c) {
  s3l_buf_t b;
  s3l_span_t path = c->plan.token_file;
  s3l_buf_init(&b, c->token_path, sizeof c->token_path);
  if (s3l_span_starts_with(path, S3L_SPAN("~/")) && c->settings.home != NULL) {
    s3l_buf_puts(&b, c->settings.home);
    s3l_span_skip(&path, 1);
  }
  s3l_buf_put(&b, path);
  if (s3l_buf_cstr(&b) == NULL)
    fail(c, "web_identity_token_file is too long a path");
  else
    s3l_sts_web_identity(&c->sts, &c->plan.web_role, c->token_path);
}

static void begin_base(chain_t* c) {
  const s3l_plan_t* plan = &c->plan;
  switch (plan->base) {
  case S3L_BASE_STATIC:
    use_keys(c, plan->access_key, plan->secret, plan->token);
    break;
  case S3L_BASE_ENVIRONMENT:
    if (c->settings.access_key == NULL || c->settings.secret == NULL)
      fail(c, "credential_source = Environment: no keys in it");
    else
      use_environment(c);
    break;
  case S3L_BASE_PROCESS:
    begin_process(c);
    break;
  case S3L_BASE_WEB_IDENTITY:
    begin_profile_web_identity(c);
    break;
  case S3L_BASE_CONTAINER:
    if (s3l_container_is_configured(&c->settings))
      s3l_container_fetch(&c->service);
    else
      fail(c, "credential_source = EcsContainer: no AWS_CONTAINER_CREDENTIALS_*_URI is set");
    break;
  case S3L_BASE_INSTANCE:
    s3l_imds_fetch(&c->service);
    break;
  case S3L_BASE_NONE:
    skip(c, "the profile has no credentials");
    break;
  }
}

static const char* path_of(const chain_t* c, unsigned which) {
  return which == CONFIG_FILE ? c->settings.config_path : c->settings.credentials_path;
}

/* Why a file gave nothing. */
static void say_file(chain_t* c, unsigned which, int err) {
  if (path_of(c, which) != NULL && err != 0)
    s3l_buf_printf(&c->why, " (%s: %s)", path_of(c, which),
                   err == S3LECT_ETOOBIG ? "too large" : s3lect_strerror(err));
}

static void on_files_read(chain_t* c) {
  s3lect_error_t error = {0};
  int err = s3l_profile_resolve(&c->settings, s3l_file_text(&c->files[CONFIG_FILE]),
                                s3l_file_text(&c->files[KEYS_FILE]), &c->plan, &error);
  if (err == 0) {
    begin_base(c);
    return;
  }
  s3l_buf_printf(&c->why, "%s", error.text);
  say_file(c, CONFIG_FILE, c->file_errors[CONFIG_FILE]);
  say_file(c, KEYS_FILE, c->file_errors[KEYS_FILE]);
  if (err == S3LECT_ENOTFOUND && !c->settings.profile_named)
    skip(c, "");
  else
    finish(c, err, NULL);
}

static void read_file(chain_t* c, unsigned which);

static void on_file(s3l_file_t* file, int status) {
  chain_t* c = file->data;
  unsigned which = file == &c->files[CONFIG_FILE] ? CONFIG_FILE : KEYS_FILE;
  c->file_errors[which] = status;
  if (status == UV_ENOMEM || status == UV_ECANCELED || status == S3LECT_ETOOBIG) {
    say_file(c, which, status);
    finish(c, status, NULL);
  } else if (which == CONFIG_FILE) {
    read_file(c, KEYS_FILE);
  } else {
    on_files_read(c);
  }
}

static void read_file(chain_t* c, unsigned which) {
  const char* path = path_of(c, which);
  s3l_file_t* file = &c->files[which];
  file->data = c;
  int err = path == NULL ? UV_ENOENT : s3l_file_start(file, c->loop, path, FILE_MAX, on_file);
  if (err != 0)
    on_file(file, err);
}

static void try_profile(chain_t* c) {
  read_file(c, CONFIG_FILE);
}

/* ---- Container and instance ---- */

static void try_container(chain_t* c) {
  if (s3l_container_is_configured(&c->settings))
    s3l_container_fetch(&c->service);
  else
    skip(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are "
            "not set");
}

static void try_instance(chain_t* c) {
  if (s3l_settings_is_true(c->settings.imds_disabled))
    skip(c, "AWS_EC2_METADATA_DISABLED is true");
  else
    s3l_imds_fetch(&c->service);
}

/* ---- The order ---- */

static const struct {
  uint32_t source;
  const char* name;
  void (*try)(chain_t* c);
} steps[] = {
    {S3LECT_CREDENTIALS_ENVIRONMENT, "environment: ", try_environment},
    {S3LECT_CREDENTIALS_WEB_IDENTITY, "web identity: ", try_web_identity},
    {S3LECT_CREDENTIALS_PROFILE, "shared files: ", try_profile},
    {S3LECT_CREDENTIALS_CONTAINER, "container: ", try_container},
    {S3LECT_CREDENTIALS_INSTANCE, "instance metadata: ", try_instance},
};

/* A profile that is named in code wins over the environment's keys. */
static bool is_wanted(const chain_t* c, uint32_t source) {
  return (c->settings.sources & source) != 0 &&
         !(source == S3LECT_CREDENTIALS_ENVIRONMENT && c->settings.opt_profile != NULL);
}

static void try_step(chain_t* c) {
  const unsigned count = sizeof(steps) / sizeof(steps[0]);
  while (c->step < count && !is_wanted(c, steps[c->step].source))
    c->step++;
  if (c->step == count || c->cancelled) {
    finish(c, S3LECT_ECREDENTIALS, NULL);
    return;
  }
  s3l_buf_printf(&c->why, "%s%s", c->why.len > 0 ? "; " : "", steps[c->step].name);
  c->why_len = c->why.len;
  steps[c->step].try(c);
}

/* ---- What the cache calls ---- */

static void on_begin(s3l_task_t* task) {
  chain_t* c = S3L_CONTAINER_OF(task, chain_t, task);
  c->step = 0;
  c->role = c->plan.roles_len = 0;
  s3l_buf_init(&c->why, c->why_text, sizeof c->why_text - 1);
  try_step(c);
}

static int chain_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  chain_t* c = provider->internal;
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
  chain_t* c = provider->internal;
  if (c->req != req)
    return;
  c->cancelled = true;
  if (c->process != NULL)
    s3l_process_cancel(c->process);
  for (int i = 0; i < FILES; i++)
    s3l_file_cancel(&c->files[i]);
  s3l_service_cancel(&c->service);
}

static void on_left(s3l_task_t* task) {
  chain_t* c = S3L_CONTAINER_OF(task, chain_t, task);
  s3l_settings_free(&c->settings);
  if (c->close_cb != NULL)
    c->close_cb(&c->provider);
  s3l_free(c);
}

static void on_service_closed(void* arg) {
  chain_t* c = arg;
  s3l_task_init(&c->task, on_left);
  if (c->loop != NULL)
    s3l_loop_leave(c->loop, &c->task);
  else
    on_left(&c->task);
}

static void close_service(chain_t* c) {
  s3l_service_close(&c->service, on_service_closed, c);
}

static void chain_close(s3lect_credentials_provider_t* provider, s3lect_credentials_close_cb cb) {
  chain_t* c = provider->internal;
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

int s3l_creds_chain_provider(uv_loop_t* loop, s3l_settings_t* settings,
                             s3lect_credentials_provider_t** out) {
  chain_t* c = s3l_calloc(1, sizeof *c);
  if (c == NULL) {
    s3l_settings_free(settings);
    return UV_ENOMEM;
  }
  c->settings = *settings;
  s3l_service_init(&c->service, &c->settings, &c->why, on_keys, c);
  c->sts.service = &c->service;
  c->provider.loop = loop;
  c->provider.ops = &chain_ops;
  c->provider.internal = c;
  *out = &c->provider;
  return 0;
}

int s3l_creds_chain(uv_loop_t* loop, const s3lect_credentials_chain_options_t* options,
                    s3l_creds_cache_t** out, s3lect_error_t* error) {
  s3l_settings_t settings;
  s3lect_credentials_provider_t* chain;
  int err = s3l_settings_init(&settings, options, error);
  if (err == 0)
    err = s3l_creds_chain_provider(loop, &settings, &chain);
  if (err == 0)
    err = s3l_creds_cache_open(chain, true, &s3l_creds_cache_defaults, out);
  return err;
}
