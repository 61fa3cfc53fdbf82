#include "store/s3_profile.h"

#include <string.h>

#include "creds/file.h"
#include "creds/profile.h"
#include "creds/settings.h"
#include "s3lect/errno.h"

#define FILE_MAX (1u << 20)

/* On one line, whatever is in it. */
static void put_shown(s3l_buf_t* b, const char* text, size_t most) {
  for (size_t i = 0; text[i] != '\0' && i < most; i++)
    s3l_buf_putc(b, (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
}

static int fail(s3l_buf_t* message, const char* what, const char* value, const char* reason) {
  s3l_buf_puts(message, what);
  put_shown(message, value, 128);
  s3l_buf_puts(message, reason);
  return S3LECT_EOPTION;
}

/* A file that is not there is like an empty one. */
static int read_file(s3l_file_t* file, const char* path, s3l_buf_t* message) {
  int err = path != NULL ? s3l_file_read_now(file, path, FILE_MAX) : 0;
  if (err == S3LECT_ETOOBIG)
    return fail(message, "the shared file ", path, " is too large to be one");
  return err == UV_ENOMEM ? err : 0;
}

static int take(s3l_span_t value, const char* property, const char* profile, char* out, char* name,
                s3l_buf_t* message) {
  s3l_buf_t b;
  s3l_buf_init(&b, name, S3L_S3_PROFILE_NAME_MAX);
  s3l_buf_puts(&b, property);
  s3l_buf_puts(&b, " of profile ");
  put_shown(&b, profile, 64);
  (void)s3l_buf_cstr(&b); /* it fits */
  if (value.n == 0 || s3l_span_copy(value, out, S3L_S3_PROFILE_VALUE_MAX))
    return 0;
  return fail(message, name, "", ": too long, or with a NUL in it");
}

static int take_all(const s3l_settings_t* s, s3l_span_t config, s3l_span_t keys,
                    s3l_s3_profile_t* out, s3l_buf_t* message) {
  s3l_profile_place_t p;
  int err = s3l_profile_place(s, config, keys, S3L_SPAN("s3"), &p, message);
  if (err != 0)
    return S3LECT_EOPTION;
  if (!p.found && s->profile_named)
    return fail(message, "profile \"", s->profile,
                "\": not in ~/.aws/config or ~/.aws/credentials (or where AWS_CONFIG_FILE and "
                "AWS_SHARED_CREDENTIALS_FILE point)");
  err = take(p.region, "region", s->profile, out->region, out->region_name, message);
  if (err == 0)
    err = take(p.endpoint, "endpoint_url", s->profile, out->endpoint, out->endpoint_name, message);
  if (err == 0)
    err = take(p.dualstack, "use_dualstack_endpoint", s->profile, out->dualstack,
               out->dualstack_name, message);
  return err;
}

int s3l_s3_profile_read(const char* name, s3l_s3_profile_t* out, s3l_buf_t* message) {
  s3lect_credentials_chain_options_t options;
  s3l_settings_t settings;
  s3l_file_t config = {0}, keys = {0};
  memset(out, 0, sizeof(*out));
  s3lect_credentials_chain_options_init(&options, sizeof(options));
  options.profile = name;
  int err = s3l_settings_init(&settings, &options);
  if (err != 0)
    return err;
  err = read_file(&config, settings.config_path, message);
  if (err == 0)
    err = read_file(&keys, settings.credentials_path, message);
  if (err == 0)
    err = take_all(&settings, s3l_file_text(&config), s3l_file_text(&keys), out, message);
  s3l_file_free(&config);
  s3l_file_free(&keys);
  s3l_settings_free(&settings);
  return err;
}
