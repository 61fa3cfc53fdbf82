#include "credentials/settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "loop/clock.h"
#include "util/assert.h"
#include "util/buf.h"
#include "util/error.h"
#include "util/mem.h"
#include "util/versioned.h"

#define PATH_MAX_BYTES 4096

/* False for lack of memory. */
static bool copy(char** to, const char* from) {
  bool is_set = from != NULL && from[0] != '\0';
  *to = is_set ? s3l_strdup(from) : NULL;
  return *to != NULL || !is_set;
}

static void drop(char** s) {
  if (*s != NULL)
    s3l_wipe(*s, strlen(*s));
  s3l_free(*s);
  *s = NULL;
}

static bool copy_environment(s3l_settings_t* s, const char* const* names, size_t names_len) {
  bool ok = copy(&s->home, getenv("HOME"));
  S3L_ASSERT(names_len <= S3L_SETTINGS_VARIABLES_MAX);
  for (size_t i = 0; i < names_len; i++)
    ok = copy(&s->variables[i], getenv(names[i])) && ok;
  if (s->home != NULL || !ok)
    return ok;
  char home[PATH_MAX_BYTES]; /* from the system's list of users */
  size_t size = sizeof(home);
  return uv_os_homedir(home, &size) != 0 || copy(&s->home, home);
}

static void set_defaults(s3l_settings_t* s) {
  s->container_host = "http://169.254.170.2";
  s->metadata_host = "169.254.169.254";
  s->service_timeout_ms = 2000;
  s->remote_timeout_ms = 5000;
  s->retry_delay_ms = 1000;
  s->process_timeout_ms = 60000;
  s->wall_ms = s3l_clock_wall_ms;
}

int s3l_settings_init(s3l_settings_t* s, const char* const* names, size_t names_len,
                      const s3lect_credentials_chain_options_t* options, s3lect_error_t* error) {
  s3lect_credentials_chain_options_t known;
  memset(s, 0, sizeof(*s));
  memset(&known, 0, sizeof(known));
  int err = options == NULL ? 0
                            : s3l_versioned_copy(error, "s3lect_credentials_chain_options", options,
                                                 &known, sizeof(known));
  if (err != 0)
    return err;
  if ((known.sources & ~S3LECT_CREDENTIALS_ALL) != 0)
    return s3l_error_say(error, S3LECT_EOPTION, "sources", NULL,
                         "0x%x has a bit that is none of S3LECT_CREDENTIALS_ALL",
                         (unsigned)known.sources);
  set_defaults(s);
  s->sources = known.sources;
  bool ok = copy_environment(s, names, names_len);
  ok = copy(&s->opt_profile, known.profile) && ok;
  ok = copy(&s->opt_region, known.region) && ok;
  ok = copy(&s->opt_ca_file, known.ca_file) && ok;
  const s3l_proxy_rules_t proxies = s3l_proxy_rules(known.proxy);
  ok = s3l_proxy_rules_copy(&proxies, &s->proxies) == 0 && ok;
  s->ca_file = s->opt_ca_file;
  if (!ok)
    s3l_settings_free(s);
  return ok ? 0 : UV_ENOMEM;
}

void s3l_settings_free(s3l_settings_t* s) {
  for (size_t i = 0; i < S3L_SETTINGS_VARIABLES_MAX; i++)
    drop(&s->variables[i]);
  drop(&s->home);
  drop(&s->opt_profile);
  drop(&s->opt_region);
  drop(&s->opt_ca_file);
  s3l_proxy_rules_free(&s->proxies);
  drop(&s->config_path);
  drop(&s->credentials_path);
}

bool s3l_settings_is_true(const char* value) {
  return value != NULL && s3l_span_ieq(s3l_span_cstr(value), S3L_SPAN("true"));
}

/* ---- AWS ---- */

/* The variable's path, with "~/" replaced, else `name` in the home folder; NULL without one. */
static bool copy_path(const s3l_settings_t* s, const char* variable, const char* name, char** to) {
  char path[PATH_MAX_BYTES];
  s3l_buf_t b;
  bool in_home = variable == NULL || strncmp(variable, "~/", 2) == 0;
  if (in_home && s->home == NULL)
    return true;
  s3l_buf_init(&b, path, sizeof(path));
  if (in_home)
    s3l_buf_puts(&b, s->home);
  s3l_buf_puts(&b, variable == NULL ? name : variable + (in_home ? 1 : 0));
  return s3l_buf_cstr(&b) == NULL || copy(to, path);
}

static int choose(s3l_settings_t* s) {
  const char* named = s->opt_profile != NULL   ? s->opt_profile
                      : s->env_profile != NULL ? s->env_profile
                                               : s->env_default_profile;
  s->profile_named = named != NULL;
  s->profile = named != NULL ? named : "default";
  s->region = s->opt_region != NULL           ? s->opt_region
              : s->env_region != NULL         ? s->env_region
              : s->env_default_region != NULL ? s->env_default_region
                                              : "us-east-1";
  s->region_named = s->opt_region != NULL || s->env_region != NULL || s->env_default_region != NULL;
  if (s->ca_file == NULL)
    s->ca_file = s->ca_bundle;
  if (s->sources == 0)
    s->sources =
        s->opt_profile != NULL ? S3LECT_CREDENTIALS_PROFILE : (uint32_t)S3LECT_CREDENTIALS_ALL;
  return copy_path(s, s->config_file, "/.aws/config", &s->config_path) &&
                 copy_path(s, s->credentials_file, "/.aws/credentials", &s->credentials_path)
             ? 0
             : UV_ENOMEM;
}

int s3l_settings_aws(s3l_settings_t* s, const s3lect_credentials_chain_options_t* options,
                     s3lect_error_t* error) {
  static const char* const names[] = {
#define XX(field, name) name,
      S3L_SETTINGS_AWS(XX)
#undef XX
  };
  int err = s3l_settings_init(s, names, sizeof(names) / sizeof(names[0]), options, error);
  if (err == 0 && (err = choose(s)) != 0)
    s3l_settings_free(s);
  return err;
}
