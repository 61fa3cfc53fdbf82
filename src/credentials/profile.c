#include "credentials/profile.h"

#include <string.h>

#include "util/error.h"
#include "util/ini.h"

#define NAME_SHOWN_MAX 64
#define DURATION_MIN   900
#define DURATION_MAX   43200

/* The properties that are read. Those behind dualstack are known only to be refused. */
#define PROPERTIES(XX)                                                                             \
  XX(access_key, "aws_access_key_id")                                                              \
  XX(secret, "aws_secret_access_key")                                                              \
  XX(token, "aws_session_token")                                                                   \
  XX(command, "credential_process")                                                                \
  XX(role_arn, "role_arn")                                                                         \
  XX(source_profile, "source_profile")                                                             \
  XX(credential_source, "credential_source")                                                       \
  XX(web_token_file, "web_identity_token_file")                                                    \
  XX(session_name, "role_session_name")                                                            \
  XX(external_id, "external_id")                                                                   \
  XX(duration, "duration_seconds")                                                                 \
  XX(region, "region")                                                                             \
  XX(endpoint_url, "endpoint_url")                                                                 \
  XX(services, "services")                                                                         \
  XX(ignore_endpoints, "ignore_configured_endpoint_urls")                                          \
  XX(dualstack, "use_dualstack_endpoint")                                                          \
  XX(mfa_serial, "mfa_serial")                                                                     \
  XX(sso_session, "sso_session")                                                                   \
  XX(sso_start_url, "sso_start_url")                                                               \
  XX(login_session, "login_session")

typedef struct profile_s {
  bool found;
#define XX(field, name) s3l_span_t field;
  PROPERTIES(XX)
#undef XX
} profile_t;

typedef struct resolve_s {
  const s3l_settings_t* settings;
  s3l_span_t config;
  s3l_span_t credentials;
  s3l_plan_t* plan;
  s3lect_error_t* error;
  s3l_span_t visited[S3L_PROFILE_ROLES_MAX];
  size_t visited_len;
} resolve_t;

/* ---- Messages ---- */

static int refuse(const resolve_t* r, s3l_span_t name, const char* text) {
  int shown = name.n < NAME_SHOWN_MAX ? (int)name.n : NAME_SHOWN_MAX;
  return s3l_error_say(r->error, S3LECT_ECREDENTIALS, "", NULL, "profile \"%.*s\": %s", shown,
                       name.p, text);
}

static int refuse_file(const resolve_t* r, const char* path, const s3l_ini_t* ini) {
  return s3l_error_say(r->error, S3LECT_ECREDENTIALS, "", NULL, "%.400s, line %zu: %s",
                       path != NULL ? path : "the shared file", ini->line, ini->error);
}

/* ---- Reading a profile ---- */

static s3l_span_t unquoted(s3l_span_t s) {
  if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
    return (s3l_span_t){s.p + 1, s.n - 2};
  return s;
}

/* What follows "TYPE " in a section's name; p == NULL if it is of another type. */
static s3l_span_t typed_name(s3l_span_t section, s3l_span_t type) {
  if (!s3l_span_starts_with(section, type) || section.n == type.n ||
      (section.p[type.n] != ' ' && section.p[type.n] != '\t'))
    return (s3l_span_t){NULL, 0};
  return unquoted(s3l_span_trim((s3l_span_t){section.p + type.n, section.n - type.n}));
}

static void take_property(profile_t* p, const s3l_ini_item_t* item) {
  if (item->parent.p != NULL || item->value.n == 0)
    return;
#define XX(field, property)                                                                        \
  if (s3l_span_ieq(item->name, S3L_SPAN(property))) {                                              \
    p->field = item->value;                                                                        \
    return;                                                                                        \
  }
  PROPERTIES(XX)
#undef XX
}

/* Takes what one file says of the profile, in sections "[TYPE NAME]", or "[NAME]" for no type. */
static int take_part(const resolve_t* r, s3l_span_t text, const char* path, s3l_span_t type,
                     s3l_span_t name, profile_t* p) {
  s3l_ini_item_t item;
  s3l_ini_t ini;
  s3l_ini_init(&ini, text);
  while (s3l_ini_next(&ini, &item)) {
    s3l_span_t of = type.n > 0 ? typed_name(item.section, type) : item.section;
    if (of.p == NULL || !s3l_span_eq(of, name))
      continue;
    p->found = true;
    if (item.name.p != NULL)
      take_property(p, &item);
  }
  return ini.error != NULL ? refuse_file(r, path, &ini) : 0;
}

/* The last value of a property wins. */
static int read_profile(const resolve_t* r, s3l_span_t name, profile_t* p) {
  const s3l_settings_t* s = r->settings;
  memset(p, 0, sizeof(*p));
  bool is_default = s3l_span_eq(name, S3L_SPAN("default"));
  int err = is_default ? take_part(r, r->config, s->config_path, S3L_SPAN(""), name, p) : 0;
  if (err == 0)
    err = take_part(r, r->config, s->config_path, S3L_SPAN("profile"), name, p);
  return err != 0 ? err : take_part(r, r->credentials, s->credentials_path, S3L_SPAN(""), name, p);
}

static bool is_true(s3l_span_t s) {
  return s3l_span_ieq(s, S3L_SPAN("true"));
}

/* endpoint_url below "SERVICE =" in "[services NAME]", else that of the profile. The file has been
 * parsed without errors before. */
static s3l_span_t configured_endpoint(const resolve_t* r, const profile_t* p, s3l_span_t service) {
  s3l_span_t endpoint = p->endpoint_url;
  if (is_true(p->ignore_endpoints))
    return (s3l_span_t){NULL, 0};
  s3l_ini_item_t item;
  s3l_ini_t ini;
  s3l_ini_init(&ini, r->config);
  while (p->services.n > 0 && s3l_ini_next(&ini, &item)) {
    s3l_span_t of = typed_name(item.section, S3L_SPAN("services"));
    if (of.p != NULL && s3l_span_eq(of, p->services) && item.parent.p != NULL &&
        s3l_span_ieq(item.parent, service) && s3l_span_ieq(item.name, S3L_SPAN("endpoint_url")))
      endpoint = item.value;
  }
  return endpoint;
}

/* ---- Roles ---- */

static int make_role(const resolve_t* r, s3l_span_t name, const profile_t* p,
                     s3l_sts_role_t* role) {
  uint64_t duration = 0;
  if (p->mfa_serial.n > 0)
    return refuse(r, name, "mfa_serial is not supported: nobody is there to type the code");
  if (p->duration.n > 0 && (!s3l_span_to_u64(p->duration, &duration) || duration < DURATION_MIN ||
                            duration > DURATION_MAX))
    return refuse(r, name, "duration_seconds must be 900 to 43200");
  *role = (s3l_sts_role_t){.arn = p->role_arn,
                           .session_name = p->session_name,
                           .external_id = p->external_id,
                           .duration_s = (uint32_t)duration,
                           .region = s3l_span_cstr(r->settings->region),
                           .endpoint = s3l_sts_endpoint(r->settings)};
  if (!r->settings->region_named && p->region.n > 0)
    role->region = p->region;
  if (role->endpoint.n == 0 && !s3l_settings_is_true(r->settings->ignore_endpoints))
    role->endpoint = configured_endpoint(r, p, S3L_SPAN("sts"));
  return 0;
}

static int take_credential_source(const resolve_t* r, s3l_span_t name, s3l_span_t source) {
  if (s3l_span_ieq(source, S3L_SPAN("Environment")))
    r->plan->base = S3L_BASE_ENVIRONMENT;
  else if (s3l_span_ieq(source, S3L_SPAN("Ec2InstanceMetadata")))
    r->plan->base = S3L_BASE_INSTANCE;
  else if (s3l_span_ieq(source, S3L_SPAN("EcsContainer")))
    r->plan->base = S3L_BASE_CONTAINER;
  else
    return refuse(r, name,
                  "credential_source must be Environment, Ec2InstanceMetadata or EcsContainer");
  return 0;
}

static int take_static(const resolve_t* r, s3l_span_t name, const profile_t* p) {
  if (p->access_key.n == 0 || p->secret.n == 0)
    return refuse(
        r, name, "aws_access_key_id and aws_secret_access_key are needed together, one is missing");
  r->plan->base = S3L_BASE_STATIC;
  r->plan->access_key = p->access_key;
  r->plan->secret = p->secret;
  r->plan->token = p->token;
  return 0;
}

/* A profile with a role. *next becomes the profile whose keys assume it; it stays p == NULL if the
 * base has been found. */
static int take_role(resolve_t* r, s3l_span_t name, const profile_t* p, s3l_span_t* next) {
  int ways = (p->source_profile.n > 0) + (p->credential_source.n > 0) + (p->web_token_file.n > 0);
  s3l_sts_role_t role;
  if (ways != 1)
    return refuse(r, name,
                  "role_arn needs one, and only one, of source_profile, credential_source and "
                  "web_identity_token_file");
  int err = make_role(r, name, p, &role);
  if (err != 0)
    return err;
  if (p->web_token_file.n > 0) {
    r->plan->base = S3L_BASE_WEB_IDENTITY;
    r->plan->token_file = p->web_token_file;
    r->plan->web_role = role;
    return 0;
  }
  r->plan->roles[r->plan->roles_len++] = role; /* at most one for each visited profile */
  if (p->credential_source.n > 0)
    return take_credential_source(r, name, p->credential_source);
  if (s3l_span_eq(p->source_profile, name)) /* the keys in this profile itself */
    return take_static(r, name, p);
  *next = p->source_profile;
  return 0;
}

static int take_keys(const resolve_t* r, s3l_span_t name, const profile_t* p) {
  if (p->access_key.n > 0 || p->secret.n > 0)
    return take_static(r, name, p);
  if (p->command.n > 0) {
    r->plan->base = S3L_BASE_PROCESS;
    r->plan->command = p->command;
    return 0;
  }
  if (p->sso_session.n > 0 || p->sso_start_url.n > 0 || p->login_session.n > 0)
    return refuse(r, name,
                  "signing in by SSO is not supported; use credential_process = aws configure "
                  "export-credentials --profile NAME");
  if (p->source_profile.n > 0 || p->credential_source.n > 0 || p->web_token_file.n > 0)
    return refuse(r, name,
                  "source_profile, credential_source and web_identity_token_file need a role_arn");
  return r->visited_len > 1 ? refuse(r, name, "has no credentials, but is a source_profile") : 0;
}

static int visit(resolve_t* r, s3l_span_t name, s3l_span_t* next) {
  profile_t p;
  for (size_t i = 0; i < r->visited_len; i++) {
    if (s3l_span_eq(r->visited[i], name))
      return refuse(r, name, "its source_profile leads back to it");
  }
  if (r->visited_len == S3L_PROFILE_ROLES_MAX)
    return refuse(r, name, "there are too many source profiles before it");
  r->visited[r->visited_len++] = name;
  int err = read_profile(r, name, &p);
  if (err != 0)
    return err;
  if (!p.found) {
    (void)refuse(r, name,
                 r->visited_len > 1 ? "does not exist, but is a source_profile" : "does not exist");
    return r->visited_len > 1 ? S3LECT_ECREDENTIALS : S3LECT_ENOTFOUND;
  }
  return p.role_arn.n > 0 ? take_role(r, name, &p, next) : take_keys(r, name, &p);
}

/* They were found in the reverse order. */
static void reverse_roles(s3l_plan_t* plan) {
  for (size_t i = 0; i < plan->roles_len / 2; i++) {
    s3l_sts_role_t other = plan->roles[i];
    plan->roles[i] = plan->roles[plan->roles_len - 1 - i];
    plan->roles[plan->roles_len - 1 - i] = other;
  }
}

int s3l_profile_resolve(const s3l_settings_t* settings, s3l_span_t config, s3l_span_t credentials,
                        s3l_plan_t* plan, s3lect_error_t* error) {
  resolve_t r = {.settings = settings,
                 .config = config,
                 .credentials = credentials,
                 .plan = plan,
                 .error = error};
  s3l_span_t name = s3l_span_cstr(settings->profile);
  memset(plan, 0, sizeof(*plan));
  while (name.p != NULL) {
    s3l_span_t next = {NULL, 0};
    int err = visit(&r, name, &next);
    if (err != 0)
      return err;
    name = next;
  }
  reverse_roles(plan);
  return 0;
}

int s3l_profile_place(const s3l_settings_t* settings, s3l_span_t config, s3l_span_t credentials,
                      s3l_span_t service, s3l_profile_place_t* place, s3lect_error_t* error) {
  resolve_t r = {
      .settings = settings, .config = config, .credentials = credentials, .error = error};
  profile_t p;
  memset(place, 0, sizeof(*place));
  int err = read_profile(&r, s3l_span_cstr(settings->profile), &p);
  if (err != 0)
    return err;
  place->found = p.found;
  place->region = p.region;
  place->dualstack = p.dualstack;
  if (!s3l_settings_is_true(settings->ignore_endpoints))
    place->endpoint = configured_endpoint(&r, &p, service);
  return 0;
}
