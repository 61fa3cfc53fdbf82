#include "lib/google_rig.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"

s3l_creds_rig_t s3l_google_rig;
static s3l_creds_rig_t* const rig = &s3l_google_rig;

void s3l_google_begin(const s3l_step_t* const* scripts, size_t n) {
  s3l_creds_rig_init(rig, scripts, n);
  rig->kind = &s3l_chain_google;
}

void s3l_google_open(void) {
  s3l_creds_rig_configure(rig, NULL, 0);
  rig->settings.metadata_host =
      rig->server.port != 0 ? rig->base + strlen("http://") : "127.0.0.1:1";
  s3l_creds_rig_open(rig);
}

void s3l_google_write(const char* name, const char* form) {
  char text[8192];
  int n = snprintf(text, sizeof(text), form, rig->base, rig->base, rig->base);
  assert_true(n > 0 && (size_t)n < sizeof(text));
  s3l_creds_rig_set_file(rig, "GOOGLE_APPLICATION_CREDENTIALS", name, text);
}

void s3l_google_gets(const char* token) {
  s3l_creds_rig_gets(rig, "");
  assert_string_equal(rig->secret, "");
  assert_string_equal(rig->token, token);
}

void s3l_google_got(const char* token) {
  s3l_google_open();
  s3l_google_gets(token);
  s3l_creds_rig_end(rig);
}

void s3l_google_failed(const char* why) {
  s3l_google_open();
  s3l_creds_rig_failed(rig, why);
}

void s3l_google_write_external(const char* source, const char* more) {
  char form[2048];
  snprintf(form, sizeof(form), S3L_GOOGLE_EXTERNAL_FILE("%%s/sts", "%s", "%s"), source, more);
  s3l_google_write("adc.json", form);
}

void s3l_google_write_token_file(const char* format, const char* token) {
  char source[256];
  snprintf(source, sizeof(source), "\"file\":\"%s\"%s", s3l_creds_rig_file(rig, "token", token),
           format);
  s3l_google_write_external(source, "");
}
