#include "store/s3/profile.h"

#include <stdio.h>
#include <string.h>

#include "credentials/profile.h"
#include "credentials/settings.h"
#include "loop/file.h"

#define FILE_MAX  (1u << 20)
#define SHOWN_MAX 256

s3l_source_t s3l_s3_or_property(s3l_source_t s, const s3l_s3_property_t* property) {
  bool used = s.value == NULL && property->value[0] != '\0';
  return used ? (s3l_source_t){property->name, property->value} : s;
}

typedef struct shared_file_s {
  s3l_file_t file;
  char shown[SHOWN_MAX]; /* its path, and why it could not be read: then it is like an empty one */
} shared_file_t;

static int read_file(shared_file_t* f, const char* path, s3lect_error_t* error) {
  int err = path != NULL ? s3l_file_read_now(&f->file, path, FILE_MAX) : 0;
  (void)snprintf(f->shown, SHOWN_MAX, "%.160s%s%s%s", path != NULL ? path : "(no home directory)",
                 err != 0 ? " (" : "", err != 0 ? s3lect_strerror(err) : "", err != 0 ? ")" : "");
  if (err == S3LECT_ETOOBIG)
    return s3l_error_say(error, S3LECT_EOPTION, "profile", NULL,
                         "the shared file %.256s is too large to be one", path);
  return err == UV_ENOMEM ? err : 0;
}

static int take(s3l_span_t value, const char* property, const char* profile, s3l_s3_property_t* out,
                s3lect_error_t* error) {
  (void)snprintf(out->name, sizeof(out->name), "%s of profile %.64s", property, profile);
  if (value.n == 0 || s3l_span_copy(value, out->value, sizeof(out->value)))
    return 0;
  return s3l_error_say(error, S3LECT_EOPTION, out->name, NULL, "too long, or with a NUL in it");
}

static int take_all(const s3l_settings_t* s, const shared_file_t* config, const shared_file_t* keys,
                    s3l_s3_profile_t* out, s3lect_error_t* error) {
  s3l_profile_place_t p;
  s3lect_error_t why = {0};
  int err = s3l_profile_place(s, s3l_file_text(&config->file), s3l_file_text(&keys->file),
                              S3L_SPAN("s3"), &p, &why);
  if (err != 0)
    return s3l_error_say(error, S3LECT_EOPTION, "profile", NULL, "%s", why.text);
  if (!p.found && s->profile_named)
    return s3l_error_say(error, S3LECT_EOPTION, "profile", s->profile, "not in %s or %s",
                         config->shown, keys->shown);
  err = take(p.region, "region", s->profile, &out->region, error);
  if (err == 0)
    err = take(p.endpoint, "endpoint_url", s->profile, &out->endpoint, error);
  if (err == 0)
    err = take(p.dualstack, "use_dualstack_endpoint", s->profile, &out->dualstack, error);
  return err;
}

int s3l_s3_profile_read(const char* name, s3l_s3_profile_t* out, s3lect_error_t* error) {
  s3lect_credentials_chain_options_t options;
  s3l_settings_t settings;
  shared_file_t config = {0}, keys = {0};
  memset(out, 0, sizeof(*out));
  s3lect_credentials_chain_options_init(&options, sizeof(options));
  options.profile = name;
  int err = s3l_settings_aws(&settings, &options, error);
  if (err != 0)
    return err;
  err = read_file(&config, settings.config_path, error);
  if (err == 0)
    err = read_file(&keys, settings.credentials_path, error);
  if (err == 0)
    err = take_all(&settings, &config, &keys, out, error);
  s3l_file_free(&config.file);
  s3l_file_free(&keys.file);
  s3l_settings_free(&settings);
  return err;
}
