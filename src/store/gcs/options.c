#include "store/gcs/options.h"

#include <stdio.h>
#include <string.h>

#include "credentials/credentials.h"
#include "credentials/service.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/versioned.h"

#define EMULATOR_TOKEN "emulator"

/* ---- Bucket ---- */

static bool bucket_is_valid(const char* s) {
  static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  size_t n = strlen(s);
  return n >= 3 && n < S3L_GCS_BUCKET_MAX &&
         strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n && strchr(ends, s[0]) != NULL &&
         strchr(ends, s[n - 1]) != NULL && strstr(s, "..") == NULL;
}

static int build_bucket(const char* bucket, s3l_gcs_config_t* c, s3lect_error_t* error) {
  bucket = s3l_set_or_null(bucket);
  if (bucket == NULL)
    return s3l_error_say(error, S3LECT_EOPTION, "bucket", NULL,
                         "not set; name the bucket that holds the lockfile");
  if (!bucket_is_valid(bucket))
    return s3l_error_say(error, S3LECT_EOPTION, "bucket", bucket,
                         "not a bucket name; use 3 to 222 lower-case letters, digits, '-', '_' and "
                         "'.', with a letter or digit at both ends");
  c->remote.bucket = bucket;
  return 0;
}

/* ---- Endpoint ---- */

static int parse_endpoint(s3l_source_t s, s3l_gcs_config_t* c, s3l_url_t* url,
                          s3lect_error_t* error) {
  int err = s3l_remote_parse_endpoint(s, url, error);
  if (err != 0)
    return err;
  (void)s3l_remote_set_host(&c->remote, url->host, url->port, url->tls); /* fits */
  c->takes_token = c->emulator || s3l_service_allows(url);
  return 0;
}

/* STORAGE_EMULATOR_HOST may be a host and a port without the scheme. */
static int find_endpoint(const char* option, s3l_gcs_config_t* c, s3l_url_t* url,
                         s3lect_error_t* error) {
  char text[S3L_REMOTE_HOST_MAX + 32];
  s3l_source_t s = s3l_source_choose("endpoint", option, S3L_GCS_EMULATOR, NULL);
  if (s.value == NULL)
    s.value = "https://storage.googleapis.com";
  c->emulator = strcmp(s.name, S3L_GCS_EMULATOR) == 0;
  if (c->emulator && strstr(s.value, "://") == NULL) {
    (void)snprintf(text, sizeof(text), "http://%.*s", S3L_REMOTE_HOST_MAX + 16, s.value);
    s.value = text;
  }
  return parse_endpoint(s, c, url, error);
}

/* ---- Credentials ---- */

static int build_credentials(const s3lect_store_gcs_options_t* o, s3l_gcs_config_t* c,
                             s3lect_error_t* error) {
  s3l_source_t id = {"access_key_id", s3l_set_or_null(o->access_key_id)};
  s3l_source_t secret = {"secret_access_key", s3l_set_or_null(o->secret_access_key)};
  bool given = id.value != NULL || secret.value != NULL;
  if (given && o->credentials != NULL)
    return s3l_remote_refuse(error, "credentials",
                             "give one only of access_key_id and credentials");
  if (!given && o->credentials == NULL) {
    id = s3l_source_choose("GS_ACCESS_KEY_ID", NULL, "GS_ACCESS_KEY_ID", NULL);
    secret = s3l_source_choose("GS_SECRET_ACCESS_KEY", NULL, "GS_SECRET_ACCESS_KEY", NULL);
  }
  if (id.value != NULL || secret.value != NULL) {
    c->remote.access_key = id.value;
    c->remote.secret = secret.value;
    return s3l_remote_check_keys(id, secret, error);
  }
  if (o->credentials == NULL && c->emulator)
    c->remote.token = EMULATOR_TOKEN;
  c->remote.chain.ca_file = c->remote.http.ca_file;
  return c->takes_token || o->credentials != NULL
             ? 0
             : s3l_error_say(error, S3LECT_EOPTION, "endpoint", o->endpoint, "%s",
                             S3L_GCS_CLEAR_TOKEN);
}

static int build_remote(const s3lect_store_gcs_options_t* o, s3l_gcs_config_t* c,
                        s3lect_error_t* error) {
  s3l_url_t url;
  int err = find_endpoint(o->endpoint, c, &url, error);
  if (err != 0)
    return err;
  const s3l_remote_options_t options = {S3L_REMOTE_OPTIONS_OF(o),
                                        .ca_file = {"ca_file", s3l_set_or_null(o->ca_file)}};
  return s3l_remote_configure(&options, &c->remote, error);
}

int s3l_gcs_configure(const s3lect_store_gcs_options_t* options, s3l_gcs_config_t* config,
                      s3lect_error_t* error) {
  s3lect_store_gcs_options_t known;
  memset(config, 0, sizeof(*config));
  int err = s3l_versioned_copy(error, "s3lect_store_gcs_options", options, &known, sizeof(known));
  if (err == 0)
    err = build_bucket(known.bucket, config, error);
  if (err == 0)
    err = build_remote(&known, config, error);
  return err != 0 ? err : build_credentials(&known, config, error);
}

void s3lect_store_gcs_options_init(s3lect_store_gcs_options_t* options, size_t size) {
  const s3lect_store_gcs_options_t defaults = {.size = size, S3L_REMOTE_DEFAULTS};
  memset(options, 0, size);
  memcpy(options, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}

int s3lect_store_gcs_options_check(const s3lect_store_gcs_options_t* options,
                                   s3lect_error_t* error) {
  s3l_gcs_config_t config;
  s3l_error_clear(error);
  int err = s3l_gcs_configure(options, &config, error);
  if (err == 0)
    err = s3l_remote_check_tls(&config.remote);
  s3l_wipe(&config.remote.proxy, sizeof(config.remote.proxy));
  return s3l_error_end(error, err);
}
