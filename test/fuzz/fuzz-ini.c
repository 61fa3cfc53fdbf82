/* The shared files of AWS's tools, and what a profile of them comes to.
 *
 * Input: a line with the profile's name; the config file; where there is a line "====", behind it
 * the credentials file. */
#include "credentials/profile.h"
#include "fuzz.h"
#include "s3lect/errno.h"
#include "util/ini.h"

static size_t count_lines(s3l_span_t text) {
  size_t n = 1;
  for (size_t i = 0; i < text.n; i++)
    n += text.p[i] == '\n';
  return n;
}

static int is_trimmed(s3l_span_t s) {
  return s3l_span_trim(s).n == s.n;
}

static void check_item(const s3l_ini_item_t* it, s3l_span_t text) {
  FUZZ_CHECK(fuzz_within(it->section, text) && is_trimmed(it->section));
  if (it->name.p == NULL) {
    FUZZ_CHECK(it->parent.p == NULL && it->value.n == 0);
    return;
  }
  FUZZ_CHECK(it->name.n > 0 && fuzz_within(it->name, text) && is_trimmed(it->name));
  FUZZ_CHECK(memchr(it->name.p, '=', it->name.n) == NULL);
  FUZZ_CHECK(fuzz_within(it->value, text) && is_trimmed(it->value));
  FUZZ_CHECK(it->parent.p == NULL || (it->parent.n > 0 && fuzz_within(it->parent, text)));
}

static void check_ini(s3l_span_t text) {
  s3l_ini_item_t item;
  s3l_ini_t ini;
  size_t line = 0;
  s3l_ini_init(&ini, text);
  while (s3l_ini_next(&ini, &item)) {
    FUZZ_CHECK(ini.error == NULL && ini.line > line);
    line = ini.line;
    check_item(&item, text);
  }
  FUZZ_CHECK(ini.line >= line && ini.line <= count_lines(text));
  FUZZ_CHECK(ini.error == NULL || fuzz_is_line(ini.error));
  FUZZ_CHECK(!s3l_ini_next(&ini, &item));
}

/* What a plan shows lies in the files, or in the settings. */
static void check_span(s3l_span_t s, s3l_span_t config, s3l_span_t keys) {
  FUZZ_CHECK(s.n == 0 || fuzz_within(s, config) || fuzz_within(s, keys));
}

static void check_role(const s3l_sts_role_t* role, s3l_span_t config, s3l_span_t keys) {
  FUZZ_CHECK(role->arn.n > 0 && role->region.n > 0);
  FUZZ_CHECK(role->duration_s == 0 || (role->duration_s >= 900 && role->duration_s <= 43200));
  check_span(role->arn, config, keys);
  check_span(role->session_name, config, keys);
  check_span(role->external_id, config, keys);
  check_span(role->endpoint, config, keys);
}

static void check_plan(const s3l_plan_t* plan, s3l_span_t config, s3l_span_t keys) {
  FUZZ_CHECK(plan->roles_len <= S3L_PROFILE_ROLES_MAX);
  FUZZ_CHECK(plan->base != S3L_BASE_NONE || plan->roles_len == 0);
  FUZZ_CHECK((plan->base == S3L_BASE_STATIC) == (plan->access_key.n > 0));
  FUZZ_CHECK((plan->base == S3L_BASE_STATIC) == (plan->secret.n > 0));
  FUZZ_CHECK((plan->base == S3L_BASE_PROCESS) == (plan->command.n > 0));
  FUZZ_CHECK((plan->base == S3L_BASE_WEB_IDENTITY) == (plan->token_file.n > 0));
  check_span(plan->access_key, config, keys);
  check_span(plan->secret, config, keys);
  check_span(plan->token, config, keys);
  check_span(plan->command, config, keys);
  check_span(plan->token_file, config, keys);
  for (size_t i = 0; i < plan->roles_len; i++)
    check_role(&plan->roles[i], config, keys);
  if (plan->base == S3L_BASE_WEB_IDENTITY)
    check_role(&plan->web_role, config, keys);
}

static void check_place(const s3l_settings_t* settings, s3l_span_t config, s3l_span_t keys) {
  s3lect_error_t why = {0};
  s3l_profile_place_t place;
  int err = s3l_profile_place(settings, config, keys, S3L_SPAN("s3"), &place, &why);
  FUZZ_CHECK(err == 0 || err == S3LECT_ECREDENTIALS);
  FUZZ_CHECK(fuzz_is_line(why.text) && (err == 0) == (why.text[0] == '\0'));
  FUZZ_CHECK(place.found || (place.region.n == 0 && place.endpoint.n == 0));
  check_span(place.region, config, keys);
  check_span(place.endpoint, config, keys);
  check_span(place.dualstack, config, keys);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static char config_path[] = "/config", keys_path[] = "/credentials";
  fuzz_input_t in = {data, size};
  s3l_settings_t settings = {
      .region = "us-east-1", .config_path = config_path, .credentials_path = keys_path};
  s3lect_error_t why = {0};
  s3l_plan_t plan;
  char* name = fuzz_string(fuzz_line(&in));
  s3l_span_t config = fuzz_rest(&in), keys = {NULL, 0};
  const char* mark = config.n > 0 ? memmem(config.p, config.n, "====\n", 5) : NULL;
  if (mark != NULL) {
    keys = (s3l_span_t){mark + 5, config.n - (size_t)(mark + 5 - config.p)};
    config.n = (size_t)(mark - config.p);
  }
  check_ini(config);
  settings.profile = name[0] != '\0' ? name : "default";
  int err = s3l_profile_resolve(&settings, config, keys, &plan, &why);
  FUZZ_CHECK(err == 0 || err == S3LECT_ENOTFOUND || err == S3LECT_ECREDENTIALS);
  FUZZ_CHECK(fuzz_is_line(why.text) && (err == 0) == (why.text[0] == '\0'));
  if (err == 0)
    check_plan(&plan, config, keys);
  check_place(&settings, config, keys);
  free(name);
  return 0;
}
