#include "credentials/google_file.h"

#include <string.h>

#include "credentials/reply.h"
#include "credentials/service.h"
#include "s3lect/errno.h"
#include "util/json.h"
#include "util/mem.h"
#include "wire/jwt.h"

#define TOKEN_URL     "https://oauth2.googleapis.com/token"
#define STS_URL       "https://sts.googleapis.com/v1/token"
#define SCOPE_OF_IAM  "https://www.googleapis.com/auth/cloud-platform"
#define UNIVERSE      "googleapis.com"
#define JWT_LIFE_S    3600
#define CLOCK_SLACK_S 10 /* the clock of this machine may be ahead of Google's */
#define CLAIMS_MAX    2048
#define NAME_MAX_SIZE 64
#define VALUE_MAX     4096
#define TYPE_SHOWN    64

typedef struct reader_s {
  s3l_google_file_t* file;
  s3l_json_t json;
  int object; /* that is being read */
  s3l_buf_t* why;
} reader_t;

static bool refuse(const reader_t* r, const char* text) {
  s3l_buf_puts(r->why, text);
  return false;
}

/* Keeps a string. If it is absent, it is `fallback`, or missing if that is NULL. */
static bool take(reader_t* r, const char* name, const char* fallback, const char** out) {
  s3l_google_file_t* f = r->file;
  char* at = f->text + f->used;
  int err = s3l_json_get_string(&r->json, r->object, name, at, sizeof f->text - f->used);
  if (err == 0 && at[0] != '\0') {
    f->used += strlen(at) + 1;
    *out = at;
    return true;
  }
  if (err == S3LECT_ENOTFOUND && fallback != NULL) {
    *out = fallback;
    return true;
  }
  s3l_buf_puts(r->why, name);
  return refuse(r, err == S3LECT_ERECORD ? " is not a string, or too long" : " is missing");
}

/* Goes on within a member of the object. */
static bool enter(reader_t* r, const char* name) {
  if (s3l_json_get_object(&r->json, r->object, name, &r->object) == 0)
    return true;
  s3l_buf_puts(r->why, name);
  return refuse(r, " is missing, or not an object");
}

/* ---- External accounts ---- */

static bool take_headers(reader_t* r) {
  s3l_google_file_t* f = r->file;
  char name[NAME_MAX_SIZE], value[VALUE_MAX];
  int headers = -1, at = -1;
  bool ok = true;
  s3l_buf_t b;
  s3l_buf_init(&b, f->text + f->used, sizeof f->text - f->used);
  f->headers = b.p;
  (void)s3l_json_get_object(&r->json, r->object, "headers", &headers);
  while (ok && (at = s3l_json_member(&r->json, headers, at, name, sizeof name)) >= 0) {
    ok = name[0] != '\0' && strchr(name, ':') == NULL && s3l_span_is_visible(s3l_span_cstr(name)) &&
         s3l_json_get_string(&r->json, headers, name, value, sizeof value) == 0 &&
         s3l_service_is_header_value(s3l_span_cstr(value));
    s3l_buf_printf(&b, "%s: %s\r\n", name, ok ? value : "");
  }
  s3l_wipe(value, sizeof value);
  if (!ok || s3l_buf_cstr(&b) == NULL)
    return refuse(r, "headers must be names and values of HTTP headers");
  f->used += b.len + 1;
  return true;
}

static bool take_format(reader_t* r) {
  const char* type;
  r->file->member = "";
  if (!s3l_json_has(&r->json, r->object, "format"))
    return true;
  if (!enter(r, "format") || !take(r, "type", "text", &type))
    return false;
  if (strcmp(type, "json") == 0)
    return take(r, "subject_token_field_name", NULL, &r->file->member);
  return strcmp(type, "text") == 0 || refuse(r, "format must be text or json");
}

static bool take_source(reader_t* r) {
  s3l_google_file_t* f = r->file;
  if (!enter(r, "credential_source") || !take(r, "file", "", &f->path) ||
      !take(r, "url", "", &f->url))
    return false;
  if ((f->path[0] == '\0') == (f->url[0] == '\0') ||
      s3l_json_has(&r->json, r->object, "environment_id"))
    return refuse(r, "credential_source must have a file or a url, and no environment_id");
  return take_headers(r) && take_format(r);
}

/* ---- The file ---- */

static bool take_service_account(reader_t* r) {
  s3l_google_file_t* f = r->file;
  f->type = S3L_GOOGLE_SERVICE_ACCOUNT;
  return take(r, "client_email", NULL, &f->email) && take(r, "private_key", NULL, &f->key) &&
         take(r, "private_key_id", "", &f->key_id) &&
         take(r, "token_uri", TOKEN_URL, &f->token_url);
}

static bool take_user(reader_t* r) {
  s3l_google_file_t* f = r->file;
  f->type = S3L_GOOGLE_USER;
  return take(r, "client_id", NULL, &f->client_id) &&
         take(r, "client_secret", NULL, &f->client_secret) &&
         take(r, "refresh_token", NULL, &f->refresh_token) &&
         take(r, "token_uri", TOKEN_URL, &f->token_url);
}

static bool take_external(reader_t* r) {
  s3l_google_file_t* f = r->file;
  f->type = S3L_GOOGLE_EXTERNAL;
  return take(r, "audience", NULL, &f->audience) &&
         take(r, "subject_token_type", NULL, &f->subject_type) &&
         take(r, "token_url", STS_URL, &f->token_url) && take_source(r);
}

static bool take_account(reader_t* r) {
  const char *type, *universe;
  if (!take(r, "type", NULL, &type) || !take(r, "universe_domain", UNIVERSE, &universe))
    return false;
  if (strcmp(universe, UNIVERSE) != 0)
    return refuse(r, "universe_domain must be " UNIVERSE);
  if (strcmp(type, "service_account") == 0)
    return take_service_account(r);
  if (strcmp(type, "authorized_user") == 0)
    return take_user(r);
  if (strcmp(type, "external_account") == 0 && r->object == S3L_JSON_ROOT)
    return take_external(r);
  s3l_buf_puts(r->why, "type ");
  s3l_reply_put_shown(r->why, s3l_span_cstr(type), TYPE_SHOWN);
  return refuse(r, " is not supported");
}

/* The list of delegates is sent as it is written. */
static bool take_delegates(reader_t* r) {
  s3l_google_file_t* f = r->file;
  s3l_span_t list = S3L_SPAN("[]");
  (void)s3l_json_get_text(&r->json, S3L_JSON_ROOT, "delegates", &list);
  f->delegates = f->text + f->used;
  if (list.p[0] != '[' || !s3l_span_copy(list, f->text + f->used, sizeof f->text - f->used))
    return refuse(r, "delegates is not a list, or too long");
  f->used += list.n + 1;
  return true;
}

static bool take_file(reader_t* r) {
  s3l_google_file_t* f = r->file;
  const char* type;
  int options = -1;
  f->life_s = 0;
  (void)s3l_json_get_object(&r->json, S3L_JSON_ROOT, "service_account_impersonation", &options);
  (void)s3l_json_get_u64(&r->json, options, "token_lifetime_seconds", &f->life_s);
  if (!take(r, "type", NULL, &type))
    return false;
  bool impersonated = strcmp(type, "impersonated_service_account") == 0;
  return take(r, "service_account_impersonation_url", impersonated ? NULL : "",
              &f->impersonation_url) &&
         take_delegates(r) && (!impersonated || enter(r, "source_credentials")) && take_account(r);
}

int s3l_google_file_parse(s3l_google_file_t* f, s3l_span_t text, s3l_buf_t* why) {
  reader_t r = {.file = f, .object = S3L_JSON_ROOT, .why = why};
  f->used = 0;
  bool ok = text.n <= S3L_GOOGLE_FILE_MAX && s3l_json_parse(&r.json, text) == 0
                ? take_file(&r)
                : refuse(&r, "is not a JSON object");
  return ok ? 0 : S3LECT_ECREDENTIALS;
}

/* ---- What is made of it ---- */

const char* s3l_google_scope(const s3l_google_file_t* f) {
  return f->impersonation_url[0] != '\0' ? SCOPE_OF_IAM : S3L_GOOGLE_SCOPE;
}

int s3l_google_assertion(s3l_google_file_t* f, int64_t now_ms, s3l_span_t* out, s3l_buf_t* why) {
  char header_text[CLAIMS_MAX], claims_text[CLAIMS_MAX];
  s3l_buf_t header, claims, jwt;
  long long now_s = now_ms / 1000 - CLOCK_SLACK_S;
  s3l_buf_init(&header, header_text, sizeof header_text);
  s3l_buf_puts(&header, "{\"alg\":\"RS256\",\"typ\":\"JWT\"");
  if (f->key_id[0] != '\0')
    s3l_json_string(&header, "kid", f->key_id);
  s3l_buf_putc(&header, '}');
  s3l_buf_init(&claims, claims_text, sizeof claims_text);
  s3l_buf_putc(&claims, '{');
  s3l_json_string(&claims, "iss", f->email);
  s3l_json_string(&claims, "scope", s3l_google_scope(f));
  s3l_json_string(&claims, "aud", f->token_url);
  s3l_buf_printf(&claims, ",\"iat\":%lld,\"exp\":%lld}", now_s, now_s + JWT_LIFE_S);
  s3l_buf_init(&jwt, f->text + f->used, sizeof f->text - f->used);
  const char* wrong =
      s3l_jwt_sign(s3l_span_cstr(f->key), s3l_buf_span(&header), s3l_buf_span(&claims), &jwt);
  *out = s3l_buf_span(&jwt);
  if (wrong == NULL && (header.overflow || claims.overflow || jwt.overflow))
    wrong = "cannot sign: client_email, private_key_id or token_uri is too long";
  if (wrong != NULL)
    s3l_buf_printf(why, "private_key %s", wrong);
  return wrong == NULL ? 0 : S3LECT_ECREDENTIALS;
}

int s3l_google_subject(s3l_google_file_t* f, s3l_span_t text, s3l_span_t* out, s3l_buf_t* why) {
  s3l_json_t j;
  char* at = f->text + f->used;
  size_t room = sizeof f->text - f->used;
  int err = S3LECT_ERECORD;
  while (text.n > 0 && (unsigned char)text.p[text.n - 1] <= ' ')
    text.n--;
  if (f->member[0] == '\0')
    err = s3l_span_copy(text, at, room) ? 0 : S3LECT_ERECORD;
  else if (s3l_json_parse(&j, text) == 0)
    err = s3l_json_get_string(&j, S3L_JSON_ROOT, f->member, at, room);
  *out = s3l_span_cstr(at);
  if (err == 0 && out->n > 0)
    return 0;
  s3l_buf_puts(why, "credential_source gave no subject token in its format");
  return S3LECT_ECREDENTIALS;
}

void s3l_google_put_impersonation(const s3l_google_file_t* f, s3l_buf_t* b) {
  s3l_buf_printf(b, "{\"scope\":[\"" S3L_GOOGLE_SCOPE "\"],\"delegates\":%s", f->delegates);
  if (f->life_s > 0)
    s3l_buf_printf(b, ",\"lifetime\":\"%llus\"", (unsigned long long)f->life_s);
  s3l_buf_putc(b, '}');
}
