#include "store/s3/options.h"

#include <string.h>

#include "credentials/credentials.h"
#include "store/source.h"
#include "util/mem.h"
#include "util/versioned.h"

static int refuse(const s3l_s3_config_t* c, const char* name, const char* reason) {
  return s3l_remote_refuse(c->remote.http.error, name, reason);
}

/* ---- Credentials ---- */

typedef struct keys_s {
  const char* names[3];
  const char* values[3]; /* access key, secret, token; NULL: not set */
} keys_t;

static keys_t keys_of_options(const s3lect_store_s3_options_t* o) {
  return (keys_t){{"access_key_id", "secret_access_key", "session_token"},
                  {s3l_set_or_null(o->access_key_id), s3l_set_or_null(o->secret_access_key),
                   s3l_set_or_null(o->session_token)}};
}

static keys_t keys_of_environment(void) {
  keys_t k = {.names = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}};
  for (int i = 0; i < 3; i++)
    k.values[i] =
        s3l_source_choose(k.names[i], NULL, k.names[i], i == 2 ? "AWS_SECURITY_TOKEN" : NULL).value;
  return k;
}

static int take_keys(const keys_t* k, s3l_s3_config_t* c) {
  s3lect_error_t* error = c->remote.http.error;
  int err = s3l_remote_check_keys((s3l_source_t){k->names[0], k->values[0]},
                                  (s3l_source_t){k->names[1], k->values[1]}, error);
  if (err == 0)
    err = s3l_remote_check_secret((s3l_source_t){k->names[2], k->values[2]}, S3L_CREDS_TOKEN_MAX,
                                  error);
  c->remote.access_key = k->values[0];
  c->remote.secret = k->values[1];
  c->remote.token = k->values[2];
  return err;
}

static int build_credentials(const s3lect_store_s3_options_t* o, s3l_s3_config_t* c) {
  keys_t keys = keys_of_options(o);
  const s3lect_credentials_provider_t* provider = c->remote.credentials;
  const char* profile = s3l_set_or_null(o->profile);
  c->remote.chain.profile = profile;
  c->remote.chain.region = s3l_set_or_null(o->region); /* for STS */
  bool given = keys.values[0] != NULL || keys.values[1] != NULL || keys.values[2] != NULL;
  if (given + (provider != NULL) + (profile != NULL) > 1)
    return refuse(c, provider != NULL ? "credentials" : "profile",
                  "give one only of access_key_id, credentials and profile");
  if (provider != NULL || profile != NULL)
    return 0;
  if (!given)
    keys = keys_of_environment();
  if (!given && keys.values[0] == NULL && keys.values[1] == NULL)
    return 0; /* the chain looks for credentials */
  return take_keys(&keys, c);
}

static int build_remote(const s3lect_store_s3_options_t* o, s3l_s3_config_t* c,
                        s3lect_error_t* error) {
  const s3l_s3_endpoint_t* e = &c->endpoint;
  const s3l_remote_options_t options = {
      S3L_REMOTE_OPTIONS_OF(o),
      .ca_file = s3l_source_choose("ca_file", o->ca_file, "AWS_CA_BUNDLE", NULL)};
  (void)s3l_remote_set_host(&c->remote, s3l_span_cstr(e->host), e->port, e->tls); /* fits */
  return s3l_remote_configure(&options, &c->remote, error);
}

int s3l_s3_configure(const s3lect_store_s3_options_t* options, s3l_s3_config_t* config,
                     s3lect_error_t* error) {
  s3lect_store_s3_options_t known;
  memset(config, 0, sizeof(*config));
  int err = s3l_versioned_copy(error, "s3lect_store_s3_options", options, &known, sizeof(known));
  if (err == 0)
    err = s3l_s3_endpoint_build(&known, &config->endpoint, error);
  if (err == 0)
    err = build_remote(&known, config, error);
  if (err == 0)
    err = build_credentials(&known, config);
  if (err == 0)
    err = s3l_s3_headers_read(&known, &config->headers, error);
  if (err == 0 && config->endpoint.express && s3l_set_or_null(known.server_side_encryption))
    err = refuse(config, "server_side_encryption",
                 "a directory bucket encrypts as its own default says: set it there");
  return err;
}

void s3lect_store_s3_options_init(s3lect_store_s3_options_t* options, size_t size) {
  const s3lect_store_s3_options_t defaults = {.size = size, S3L_REMOTE_DEFAULTS};
  memset(options, 0, size);
  memcpy(options, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}

int s3lect_store_s3_options_check(const s3lect_store_s3_options_t* options, s3lect_error_t* error) {
  s3l_s3_config_t config;
  s3l_error_clear(error);
  int err = s3l_s3_configure(options, &config, error);
  if (err == 0)
    err = s3l_remote_check_tls(&config.remote);
  s3l_wipe(&config.remote.proxy, sizeof(config.remote.proxy));
  return s3l_error_end(error, err);
}
