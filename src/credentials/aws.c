#include "credentials/aws.h"

#include <stdbool.h>
#include <string.h>

#include "credentials/metadata.h"
#include "credentials/process.h"
#include "credentials/profile.h"
#include "credentials/sts.h"
#include "util/mem.h"

#define FILE_MAX    (1u << 20)
#define TOKEN_PATH  1024
#define CONFIG_FILE 0
#define KEYS_FILE   1

typedef struct aws_s {
  s3l_chain_t chain; /* first */
  int file_errors[S3L_CHAIN_FILES];
  s3l_plan_t plan;
  size_t role;                   /* to be assumed next */
  s3lect_credentials_t* signing; /* keys that assume it */
  char token_path[TOKEN_PATH];
  s3l_sts_t sts;
  s3l_process_t* process; /* running, or NULL */
} aws_t;

static aws_t* aws_of(s3l_chain_t* chain) {
  return S3L_CONTAINER_OF(chain, aws_t, chain);
}

/* ---- Keys ---- */

/* Keys that the step, its profile's base, or a role gave. They assume the next role, if any. */
static void on_keys(s3l_chain_t* c, int status, s3lect_credentials_t* creds) {
  aws_t* a = aws_of(c);
  if (status != 0 || c->cancelled || a->role == a->plan.roles_len) {
    s3l_chain_end(c, status, creds);
  } else {
    s3l_creds_free(a->signing);
    a->signing = creds;
    c->why.len = c->why_len; /* what the source of these keys began to say */
    s3l_sts_assume_role(&a->sts, &a->plan.roles[a->role++], creds);
  }
}

static void use_keys(s3l_chain_t* c, s3l_span_t access_key, s3l_span_t secret, s3l_span_t token) {
  s3lect_credentials_t* creds = NULL;
  s3lect_error_t error = {0};
  int err = s3l_creds_new_keys(access_key, secret, token, 0, &creds, &error);
  s3l_buf_printf(&c->why, "%s", error.text);
  on_keys(c, err, creds);
}

/* ---- Environment ---- */

static void use_environment(s3l_chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  use_keys(c, s3l_span_cstr(s->access_key), s3l_span_cstr(s->secret),
           s3l_span_cstr(s->token != NULL ? s->token : s->old_token));
}

static void try_environment(s3l_chain_t* c) {
  if (c->settings.access_key == NULL && c->settings.secret == NULL)
    s3l_chain_skip(c, "AWS_ACCESS_KEY_ID is not set");
  else
    use_environment(c);
}

/* ---- Web identity ---- */

static void try_web_identity(s3l_chain_t* c) {
  const s3l_settings_t* s = &c->settings;
  if (s->web_identity_token_file == NULL) {
    s3l_chain_skip(c, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
    return;
  }
  if (s->role_arn == NULL) {
    s3l_chain_fail(c, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    return;
  }
  const s3l_sts_role_t role = {.arn = s3l_span_cstr(s->role_arn),
                               .session_name = s3l_span_cstr(s->role_session_name),
                               .region = s3l_span_cstr(s->region),
                               .endpoint = s3l_sts_endpoint(s)};
  s3l_sts_web_identity(&aws_of(c)->sts, &role, s->web_identity_token_file);
}

/* ---- Profile ---- */

static void on_process_ended(void* arg, int status, s3lect_credentials_t* creds) {
  aws_t* a = arg;
  a->process = NULL;
  on_keys(&a->chain, status, creds);
}

static void begin_process(s3l_chain_t* c) {
  aws_t* a = aws_of(c);
  int err = s3l_process_start(c->loop, a->plan.command, c->settings.process_timeout_ms,
                              on_process_ended, a, &c->why, &a->process);
  if (err != 0)
    s3l_chain_end(c, err, NULL);
}

static void begin_profile_web_identity(s3l_chain_t* c) {
  s3l_buf_t b;
  s3l_span_t path = aws_of(c)->plan.token_file;
  s3l_buf_init(&b, aws_of(c)->token_path, sizeof aws_of(c)->token_path);
  if (s3l_span_starts_with(path, S3L_SPAN("~/")) && c->settings.home != NULL) {
    s3l_buf_puts(&b, c->settings.home);
    s3l_span_skip(&path, 1);
  }
  s3l_buf_put(&b, path);
  if (s3l_buf_cstr(&b) == NULL)
    s3l_chain_fail(c, "web_identity_token_file is too long a path");
  else
    s3l_sts_web_identity(&aws_of(c)->sts, &aws_of(c)->plan.web_role, aws_of(c)->token_path);
}

static void begin_base(s3l_chain_t* c) {
  const s3l_plan_t* plan = &aws_of(c)->plan;
  switch (plan->base) {
  case S3L_BASE_STATIC:
    use_keys(c, plan->access_key, plan->secret, plan->token);
    break;
  case S3L_BASE_ENVIRONMENT:
    if (c->settings.access_key == NULL || c->settings.secret == NULL)
      s3l_chain_fail(c, "credential_source = Environment: no keys in it");
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
      s3l_chain_fail(c,
                     "credential_source = EcsContainer: no AWS_CONTAINER_CREDENTIALS_*_URI is set");
    break;
  case S3L_BASE_INSTANCE:
    s3l_imds_fetch(&c->service);
    break;
  case S3L_BASE_NONE:
    s3l_chain_skip(c, "the profile has no credentials");
    break;
  }
}

static const char* path_of(const s3l_chain_t* c, unsigned which) {
  return which == CONFIG_FILE ? c->settings.config_path : c->settings.credentials_path;
}

/* Why a file gave nothing. */
static void say_file(s3l_chain_t* c, unsigned which, int err) {
  if (path_of(c, which) != NULL && err != 0)
    s3l_buf_printf(&c->why, " (%s: %s)", path_of(c, which),
                   err == S3LECT_ETOOBIG ? "too large" : s3lect_strerror(err));
}

static void on_files_read(s3l_chain_t* c) {
  s3lect_error_t error = {0};
  int err = s3l_profile_resolve(&c->settings, s3l_file_text(&c->files[CONFIG_FILE]),
                                s3l_file_text(&c->files[KEYS_FILE]), &aws_of(c)->plan, &error);
  if (err == 0) {
    begin_base(c);
    return;
  }
  s3l_buf_printf(&c->why, "%s", error.text);
  say_file(c, CONFIG_FILE, aws_of(c)->file_errors[CONFIG_FILE]);
  say_file(c, KEYS_FILE, aws_of(c)->file_errors[KEYS_FILE]);
  if (err == S3LECT_ENOTFOUND && !c->settings.profile_named)
    s3l_chain_skip(c, "");
  else
    s3l_chain_end(c, err, NULL);
}

static void read_file(s3l_chain_t* c, unsigned which);

static void on_file(s3l_file_t* file, int status) {
  s3l_chain_t* c = file->data;
  unsigned which = file == &c->files[CONFIG_FILE] ? CONFIG_FILE : KEYS_FILE;
  aws_of(c)->file_errors[which] = status;
  if (status == UV_ENOMEM || status == UV_ECANCELED || status == S3LECT_ETOOBIG) {
    say_file(c, which, status);
    s3l_chain_end(c, status, NULL);
  } else if (which == CONFIG_FILE) {
    read_file(c, KEYS_FILE);
  } else {
    on_files_read(c);
  }
}

static void read_file(s3l_chain_t* c, unsigned which) {
  const char* path = path_of(c, which);
  s3l_file_t* file = &c->files[which];
  file->data = c;
  int err = path == NULL ? UV_ENOENT : s3l_file_start(file, c->loop, path, FILE_MAX, on_file);
  if (err != 0)
    on_file(file, err);
}

static void try_profile(s3l_chain_t* c) {
  read_file(c, CONFIG_FILE);
}

/* ---- Container and instance ---- */

static void try_container(s3l_chain_t* c) {
  if (s3l_container_is_configured(&c->settings))
    s3l_container_fetch(&c->service);
  else
    s3l_chain_skip(
        c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are "
           "not set");
}

static void try_instance(s3l_chain_t* c) {
  if (s3l_settings_is_true(c->settings.imds_disabled))
    s3l_chain_skip(c, "AWS_EC2_METADATA_DISABLED is true");
  else
    s3l_imds_fetch(&c->service);
}

/* ---- The order ---- */

static const s3l_chain_step_t steps[] = {
    {"environment: ", try_environment},    {"web identity: ", try_web_identity},
    {"shared files: ", try_profile},       {"container: ", try_container},
    {"instance metadata: ", try_instance},
};

/* A profile that is named in code wins over the environment's keys. */
static bool is_wanted(const s3l_settings_t* s, unsigned step) {
  static const uint32_t sources[] = {S3LECT_CREDENTIALS_ENVIRONMENT,
                                     S3LECT_CREDENTIALS_WEB_IDENTITY, S3LECT_CREDENTIALS_PROFILE,
                                     S3LECT_CREDENTIALS_CONTAINER, S3LECT_CREDENTIALS_INSTANCE};
  return (s->sources & sources[step]) != 0 &&
         !(sources[step] == S3LECT_CREDENTIALS_ENVIRONMENT && s->opt_profile != NULL);
}

static void begin(s3l_chain_t* c) {
  aws_t* a = aws_of(c);
  a->sts.service = &c->service;
  a->role = a->plan.roles_len = 0;
}

static void cancel(s3l_chain_t* c) {
  if (aws_of(c)->process != NULL)
    s3l_process_cancel(aws_of(c)->process);
}

static void clear(s3l_chain_t* c) {
  s3l_creds_free(aws_of(c)->signing);
  aws_of(c)->signing = NULL;
}

const s3l_chain_kind_t s3l_chain_aws = {.steps = steps,
                                        .steps_len = sizeof(steps) / sizeof(steps[0]),
                                        .size = sizeof(aws_t),
                                        .configure = s3l_settings_aws,
                                        .is_wanted = is_wanted,
                                        .begin = begin,
                                        .ended = on_keys,
                                        .cancel = cancel,
                                        .clear = clear};
