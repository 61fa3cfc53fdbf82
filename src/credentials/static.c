/* credentials/static.c: credentials that do not change, from options or from the environment.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "credentials/credentials.h"
#include "s3lect/errno.h"
#include "util/mem.h"

typedef struct fixed_s {
  s3l_creds_provider_t provider;
  s3l_creds_t creds;
} fixed_t;

static const s3l_creds_t* fixed_get(s3l_creds_provider_t* provider, s3l_creds_wait_t* wait) {
  (void)wait; /* nobody ever has to */
  return &S3L_CONTAINER_OF(provider, fixed_t, provider)->creds;
}

static void wipe_and_free(char* s) {
  if (s != NULL)
    s3l_wipe(s, strlen(s));
  s3l_free(s);
}

static void fixed_close(s3l_creds_provider_t* provider, void (*cb)(void* arg), void* arg) {
  fixed_t* f = S3L_CONTAINER_OF(provider, fixed_t, provider);
  wipe_and_free(f->creds.access_key);
  wipe_and_free(f->creds.secret);
  wipe_and_free(f->creds.token);
  s3l_free(f);
  if (cb != NULL)
    cb(arg);
}

static const char* fixed_why(const s3l_creds_provider_t* provider) {
  (void)provider;
  return "";
}

static void fixed_refused(s3l_creds_provider_t* provider) {
  (void)provider; /* there are no others */
}

static const s3l_creds_ops_t fixed_ops = {
    .get = fixed_get, .why = fixed_why, .refused = fixed_refused, .close = fixed_close};

static bool is_empty(const char* s) {
  return s == NULL || s[0] == '\0';
}

int s3l_creds_static(const char* access_key, const char* secret, const char* token,
                     s3l_creds_provider_t** out) {
  if (is_empty(access_key) || is_empty(secret))
    return S3LECT_ECREDENTIALS;
  fixed_t* f = s3l_calloc(1, sizeof(*f));
  if (f == NULL)
    return UV_ENOMEM;
  f->provider.ops = &fixed_ops;
  f->creds.access_key = s3l_strdup(access_key);
  f->creds.secret = s3l_strdup(secret);
  f->creds.token = is_empty(token) ? NULL : s3l_strdup(token);
  if (f->creds.access_key == NULL || f->creds.secret == NULL ||
      (!is_empty(token) && f->creds.token == NULL)) {
    fixed_close(&f->provider, NULL, NULL);
    return UV_ENOMEM;
  }
  *out = &f->provider;
  return 0;
}

static const char* variable(const char* name) {
  const char* value = getenv(name);
  return is_empty(value) ? NULL : value;
}

s3l_creds_environment_t s3l_creds_environment(void) {
  s3l_creds_environment_t e = {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                               variable("AWS_SESSION_TOKEN")};
  if (e.token == NULL)
    e.token = variable("AWS_SECURITY_TOKEN");
  return e;
}
