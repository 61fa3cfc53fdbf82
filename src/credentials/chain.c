#include "credentials/chain.h"

#include <stdbool.h>
#include <string.h>

#include "credentials/cache.h"
#include "credentials/container.h"
#include "credentials/file.h"
#include "credentials/imds.h"
#include "credentials/process.h"
#include "credentials/profile.h"
#include "credentials/sts.h"
#include "s3lect/errno.h"
#include "util/mem.h"

#define FILE_MAX      (1u << 20)
#define WHY_MAX       1024
#define TOKEN_PATH    1024
#define FILES         2
#define CONFIG_FILE   0
#define KEYS_FILE     1
#define SERVICE_PARTS 3u

typedef struct chain_s {
  s3l_creds_source_t source;
  uv_loop_t* loop;
  s3l_settings_t settings;
  s3l_creds_fetch_t* fetch; /* the question under way */
  s3l_creds_fetch_t part;   /* what is asked for it just now */
  unsigned step;            /* of the order */
  uv_timer_t timer;         /* brings each question's beginning out of fetch */
  bool has_timer;

  /* Of a profile. */
  s3l_file_t files[FILES];
  int file_errors[FILES];
  s3l_plan_t plan;
  size_t role;          /* to be assumed next */
  s3l_creds_t* signing; /* keys that assume it */
  char token_path[TOKEN_PATH];

  s3l_sts_t sts;
  s3l_container_t container;
  s3l_imds_t imds;
  s3l_process_t* process; /* running, or NULL */

  s3l_buf_t why;
  char why_text[WHY_MAX];
  bool closing;
  unsigned open; /* parts not yet closed */
  void (*close_cb)(void* arg);
  void* close_arg;
} chain_t;

/* ---- The course of a question ---- */

static void try_step(chain_t* c);

/* A message that is too long is cut. */
static void say(chain_t* c, const char* text) {
  s3l_span_t s = s3l_span_cstr(text);
  size_t room = c->why.cap - c->why.len - 1;
  s3l_buf_put(&c->why, (s3l_span_t){s.p, s.n < room ? s.n : room});
}

static void free_files(chain_t* c) {
  s3l_file_free(&c->files[CONFIG_FILE]);
  s3l_file_free(&c->files[KEYS_FILE]);
}

static void finish(chain_t* c, int status, s3l_creds_t* creds) {
  s3l_creds_fetch_t* fetch = c->fetch;
  c->fetch = NULL;
  free_files(c);
  s3l_creds_free(c->signing);
  c->signing = NULL;
  if (status != 0 && status != UV_ENOMEM)
    status = S3LECT_ECREDENTIALS;
  fetch->done(fetch, status, creds, s3l_buf_cstr(&c->why));
}

/* The step is configured, but broken. */
static void fail(chain_t* c, int status, const char* text) {
  say(c, text);
  finish(c, status, NULL);
}

/* The step is not configured. */
static void skip(chain_t* c, const char* text) {
  say(c, text);
  c->step++;
  try_step(c);
}

static void on_part(s3l_creds_fetch_t* part, int status, s3l_creds_t* creds, const char* why) {
  chain_t* c = S3L_CONTAINER_OF(part, chain_t, part);
  if (status == 0)
    finish(c, 0, creds);
  else
    fail(c, status, why);
}

static s3l_creds_fetch_t* ask(chain_t* c, void (*done)(s3l_creds_fetch_t* part, int status,
                                                       s3l_creds_t* creds, const char* why)) {
  c->part = (s3l_creds_fetch_t){.data = c, .done = done};
  return &c->part;
}

/* ---- Environment ---- */

static int environment_keys(const chain_t* c, s3l_creds_t** creds, const char** why) {
  const s3l_settings_t* s = &c->settings;
  return s3l_creds_new(s3l_span_cstr(s->access_key), s3l_span_cstr(s->secret),
                       s3l_span_cstr(s->token != NULL ? s->token : s->old_token), 0, creds, why);
}

static void try_environment(chain_t* c) {
  s3l_creds_t* creds = NULL;
  const char* why;
  if (c->settings.access_key == NULL && c->settings.secret == NULL) {
    skip(c, "AWS_ACCESS_KEY_ID is not set");
    return;
  }
  int err = environment_keys(c, &creds, &why);
  if (err != 0)
    fail(c, err, why);
  else
    finish(c, 0, creds);
}

/* ---- Web identity ---- */

static void try_web_identity(chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  if (s->web_identity_token_file == NULL) {
    skip(c, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
    return;
  }
  if (s->role_arn == NULL) {
    fail(c, S3LECT_ECREDENTIALS, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    return;
  }
  const s3l_sts_role_t role = {.arn = s3l_span_cstr(s->role_arn),
                               .session_name = s3l_span_cstr(s->role_session_name),
                               .region = s3l_span_cstr(s->region),
                               .endpoint = s3l_sts_endpoint(s)};
  s3l_sts_web_identity(&c->sts, &role, s->web_identity_token_file, ask(c, on_part));
}

/* ---- Profile ---- */

static void assume_next(chain_t* c);

/* The keys of the base, or of a role. */
static void on_keys(s3l_creds_fetch_t* part, int status, s3l_creds_t* creds, const char* why) {
  chain_t* c = S3L_CONTAINER_OF(part, chain_t, part);
  c->process = NULL;
  if (status != 0) {
    fail(c, status, why);
    return;
  }
  s3l_creds_free(c->signing);
  c->signing = creds;
  assume_next(c);
}

static void assume_next(chain_t* c) {
  if (c->role == c->plan.roles_len) {
    s3l_creds_t* creds = c->signing;
    c->signing = NULL;
    finish(c, 0, creds);
    return;
  }
  s3l_sts_assume_role(&c->sts, &c->plan.roles[c->role++], c->signing, ask(c, on_keys));
}

static void begin_process(chain_t* c) {
  const char* why;
  int err = s3l_process_start(c->loop, c->plan.command, c->settings.process_timeout_ms,
                              ask(c, on_keys), &c->process, &why);
  if (err != 0)
    fail(c, err, why);
}

static void begin_profile_web_identity(chain_t* c) {
  s3l_buf_t b;
  s3l_span_t path = c->plan.token_file;
  s3l_buf_init(&b, c->token_path, sizeof(c->token_path));
  if (s3l_span_starts_with(path, S3L_SPAN("~/")) && c->settings.home != NULL) {
    s3l_buf_puts(&b, c->settings.home);
    path = (s3l_span_t){path.p + 1, path.n - 1};
  }
  s3l_buf_put(&b, path);
  if (s3l_buf_cstr(&b) == NULL)
    fail(c, S3LECT_ECREDENTIALS, "web_identity_token_file is too long a path");
  else
    s3l_sts_web_identity(&c->sts, &c->plan.web_role, c->token_path, ask(c, on_keys));
}

/* Keys that are at hand. */
static void begin_with(chain_t* c, int status, s3l_creds_t* creds, const char* why) {
  s3l_creds_fetch_t* part = ask(c, on_keys);
  part->done(part, status, creds, why);
}

static void begin_base(chain_t* c) {
  const s3l_plan_t* plan = &c->plan;
  s3l_creds_t* creds = NULL;
  const char* why = NULL;
  int err;
  switch (plan->base) {
  case S3L_BASE_STATIC:
    err = s3l_creds_new(plan->access_key, plan->secret, plan->token, 0, &creds, &why);
    begin_with(c, err, creds, why);
    break;
  case S3L_BASE_ENVIRONMENT:
    err = environment_keys(c, &creds, &why);
    begin_with(c, err, creds, err == 0 ? NULL : "credential_source = Environment: no keys in it");
    break;
  case S3L_BASE_PROCESS:
    begin_process(c);
    break;
  case S3L_BASE_WEB_IDENTITY:
    begin_profile_web_identity(c);
    break;
  case S3L_BASE_CONTAINER:
    if (s3l_container_is_configured(&c->settings))
      s3l_container_fetch(&c->container, ask(c, on_keys));
    else
      fail(c, S3LECT_ECREDENTIALS,
           "credential_source = EcsContainer: no AWS_CONTAINER_CREDENTIALS_*_URI is set");
    break;
  case S3L_BASE_INSTANCE:
    s3l_imds_fetch(&c->imds, ask(c, on_keys));
    break;
  case S3L_BASE_NONE:
    skip(c, "the profile has no credentials");
    break;
  }
}

/* Why a file gave nothing. */
static void say_file(chain_t* c, const char* path, int err) {
  if (path == NULL || err == 0)
    return;
  say(c, " (");
  say(c, path);
  say(c, ": ");
  say(c, err == S3LECT_ETOOBIG ? "too large" : s3lect_strerror(err));
  say(c, ")");
}

static void on_files_read(chain_t* c) {
  char text[WHY_MAX];
  s3l_buf_t why;
  s3l_buf_init(&why, text, sizeof(text));
  int err = s3l_profile_resolve(&c->settings, s3l_file_text(&c->files[CONFIG_FILE]),
                                s3l_file_text(&c->files[KEYS_FILE]), &c->plan, &why);
  if (err == 0) {
    c->role = 0;
    begin_base(c);
    return;
  }
  const char* line = s3l_buf_cstr(&why);
  say(c, line != NULL ? line : "the shared files are broken");
  say_file(c, c->settings.config_path, c->file_errors[CONFIG_FILE]);
  say_file(c, c->settings.credentials_path, c->file_errors[KEYS_FILE]);
  if (err == S3LECT_ENOTFOUND && !c->settings.profile_named)
    skip(c, "");
  else
    fail(c, err, "");
}

static void read_file(chain_t* c, unsigned which);

static void after_file(chain_t* c, unsigned which, int status) {
  c->file_errors[which] = status;
  if (status == UV_ENOMEM || status == S3LECT_ETOOBIG) {
    say_file(c, which == CONFIG_FILE ? c->settings.config_path : c->settings.credentials_path,
             status);
    fail(c, status, "");
  } else if (which == CONFIG_FILE) {
    read_file(c, KEYS_FILE);
  } else {
    on_files_read(c);
  }
}

static void part_closed(void* arg);

static void on_file(s3l_file_t* file, int status) {
  chain_t* c = file->data;
  if (c->closing)
    part_closed(c);
  else
    after_file(c, file == &c->files[CONFIG_FILE] ? CONFIG_FILE : KEYS_FILE, status);
}

static void read_file(chain_t* c, unsigned which) {
  const char* path = which == CONFIG_FILE ? c->settings.config_path : c->settings.credentials_path;
  c->files[which].data = c;
  int err =
      path == NULL ? UV_ENOENT : s3l_file_start(&c->files[which], c->loop, path, FILE_MAX, on_file);
  if (err != 0)
    after_file(c, which, err);
}

static void try_profile(chain_t* c) {
  read_file(c, CONFIG_FILE);
}

/* ---- Container and instance ---- */

static void try_container(chain_t* c) {
  if (s3l_container_is_configured(&c->settings))
    s3l_container_fetch(&c->container, ask(c, on_part));
  else
    skip(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are "
            "not set");
}

static void try_instance(chain_t* c) {
  if (s3l_settings_is_true(c->settings.imds_disabled))
    skip(c, "AWS_EC2_METADATA_DISABLED is true");
  else
    s3l_imds_fetch(&c->imds, ask(c, on_part));
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

/* A profile named in code comes before the environment's keys, so it takes them out. */
static bool is_wanted(const chain_t* c, uint32_t source) {
  return (c->settings.sources & source) != 0 &&
         !(source == S3LECT_CREDENTIALS_ENVIRONMENT && c->settings.opt_profile != NULL);
}

static void try_step(chain_t* c) {
  const unsigned count = sizeof(steps) / sizeof(steps[0]);
  while (c->step < count && !is_wanted(c, steps[c->step].source))
    c->step++;
  if (c->step == count) {
    finish(c, S3LECT_ECREDENTIALS, NULL);
    return;
  }
  if (c->why.len > 0)
    say(c, "; ");
  say(c, steps[c->step].name);
  steps[c->step].try(c);
}

static void on_timer(uv_timer_t* timer) {
  chain_t* c = S3L_CONTAINER_OF(timer, chain_t, timer);
  c->step = 0;
  s3l_buf_init(&c->why, c->why_text, sizeof(c->why_text));
  try_step(c);
}

static void chain_fetch(s3l_creds_source_t* source, s3l_creds_fetch_t* fetch) {
  chain_t* c = S3L_CONTAINER_OF(source, chain_t, source);
  c->fetch = fetch;
  if (!c->has_timer)
    (void)uv_timer_init(c->loop, &c->timer); /* cannot fail */
  c->has_timer = true;
  (void)uv_timer_start(&c->timer, on_timer, 0, 0);
}

/* ---- The end ---- */

static void part_closed(void* arg) {
  chain_t* c = arg;
  if (--c->open > 0)
    return;
  void (*cb)(void*) = c->close_cb;
  void* cb_arg = c->close_arg;
  free_files(c);
  s3l_creds_free(c->signing);
  s3l_settings_free(&c->settings);
  s3l_free(c);
  if (cb != NULL)
    cb(cb_arg);
}

static void on_timer_closed(uv_handle_t* handle) {
  part_closed(S3L_CONTAINER_OF(handle, chain_t, timer));
}

static void on_process_gone(s3l_creds_fetch_t* part, int status, s3l_creds_t* creds,
                            const char* why) {
  (void)status;
  (void)why;
  s3l_creds_free(creds);
  part_closed(S3L_CONTAINER_OF(part, chain_t, part));
}

static void chain_close(s3l_creds_source_t* source, void (*cb)(void* arg), void* arg) {
  chain_t* c = S3L_CONTAINER_OF(source, chain_t, source);
  c->closing = true;
  c->close_cb = cb;
  c->close_arg = arg;
  c->open = 1u + SERVICE_PARTS + (c->has_timer ? 1u : 0u) + (c->process != NULL ? 1u : 0u);
  for (int i = 0; i < FILES; i++) {
    if (c->files[i].busy)
      c->open++;
  }
  if (c->has_timer)
    uv_close((uv_handle_t*)&c->timer, on_timer_closed);
  if (c->process != NULL) {
    c->part.done = on_process_gone;
    s3l_process_cancel(c->process);
  }
  for (int i = 0; i < FILES; i++)
    s3l_file_cancel(&c->files[i]);
  s3l_sts_close(&c->sts, part_closed, c);
  s3l_container_close(&c->container, part_closed, c);
  s3l_imds_close(&c->imds, part_closed, c);
  part_closed(c); /* this function's own */
}

static const s3l_creds_source_ops_t chain_ops = {.fetch = chain_fetch, .close = chain_close};

int s3l_creds_chain_source(uv_loop_t* loop, s3l_settings_t* settings, s3l_creds_source_t** out) {
  chain_t* c = s3l_calloc(1, sizeof(*c));
  if (c == NULL) {
    s3l_settings_free(settings);
    return UV_ENOMEM;
  }
  c->source.ops = &chain_ops;
  c->loop = loop;
  c->settings = *settings;
  s3l_sts_init(&c->sts, loop, &c->settings);
  s3l_container_init(&c->container, loop, &c->settings);
  s3l_imds_init(&c->imds, loop, &c->settings);
  *out = &c->source;
  return 0;
}

int s3l_creds_chain(uv_loop_t* loop, const s3lect_credentials_chain_options_t* options,
                    s3l_creds_provider_t** out, s3lect_error_t* error) {
  s3l_settings_t settings;
  s3l_creds_source_t* source;
  int err = s3l_settings_init(&settings, options, error);
  if (err == 0)
    err = s3l_creds_chain_source(loop, &settings, &source);
  if (err == 0)
    err = s3l_creds_cache(loop, source, &s3l_creds_cache_defaults, out);
  return err;
}
