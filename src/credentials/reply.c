#include "credentials/reply.h"

#include <string.h>

#include "s3lect/errno.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/timefmt.h"
#include "util/xml.h"

#define SHOWN_CODE_MAX    64
#define SHOWN_MESSAGE_MAX 240
#define MESSAGE_MAX       2048
#define SECONDS_MAX       UINT64_C(253402300799) /* the end of the year 9999 */

/* The texts of a document; wiped after use. Each has room for one character more than is allowed,
 * so that s3l_creds_new says what is wrong with a text that is too long. */
typedef struct texts_s {
  char access_key[S3L_CREDS_ACCESS_KEY_MAX + 2];
  char secret[S3L_CREDS_SECRET_MAX + 2];
  char token[S3L_CREDS_TOKEN_MAX + 2];
  char expiration[64];
} texts_t;

void s3l_reply_put_shown(s3l_buf_t* b, s3l_span_t text, size_t max) {
  while (text.n > 0 && (unsigned char)text.p[0] <= 0x20) {
    text.p++;
    text.n--;
  }
  for (size_t i = 0; i < text.n && i < max && text.p[i] != '\n'; i++) {
    char c = text.p[i];
    if ((unsigned char)c >= 0x20 && c != 0x7f)
      s3l_buf_putc(b, c);
  }
}

static int fail(s3l_buf_t* why, const char* text) {
  s3l_buf_puts(why, text);
  return S3LECT_ECREDENTIALS;
}

static bool contains(s3l_span_t text, s3l_span_t part) {
  while (text.n >= part.n && !s3l_span_starts_with(text, part))
    s3l_span_skip(&text, 1);
  return part.n > 0 && text.n >= part.n;
}

/* ": CODE: MESSAGE", or what there is of it. It could repeat the secret as it came, and then show a
 * part of it, or only as it is shown, without control characters. */
static void put_code(s3l_buf_t* why, const char* code, const char* message, s3l_span_t secret) {
  size_t start = why->len;
  s3l_buf_puts(why, code[0] != '\0' ? ": " : "");
  s3l_reply_put_shown(why, s3l_span_cstr(code), SHOWN_CODE_MAX);
  s3l_buf_puts(why, message[0] != '\0' ? ": " : "");
  s3l_reply_put_shown(why, s3l_span_cstr(message), SHOWN_MESSAGE_MAX);
  s3l_span_t shown = {why->p + start, why->len - start};
  if (!contains(shown, secret) && !contains(s3l_span_cstr(code), secret) &&
      !contains(s3l_span_cstr(message), secret))
    return;
  s3l_wipe(why->p + start, why->len - start);
  why->len = start;
  s3l_buf_puts(why, ": an error that is not shown, since it repeats a secret");
}

/* The Unix time of this machine that stands for the service's `time_ms`: one of the clocks may be
 * wrong. */
static int64_t local_ms(const s3l_http_reply_t* reply, int64_t time_ms, int64_t now_ms) {
  int64_t date_ms;
  if (!s3l_time_parse_http(s3l_http_reply_header(reply, "date"), &date_ms))
    return time_ms;
  return time_ms - date_ms + now_ms;
}

/* Keys, or, if `alone`, a token. `expiration` is empty for keys that do not end. `reply` NULL: by
 * this machine's clock. */
static int make(const texts_t* t, bool alone, const s3l_http_reply_t* reply, int64_t now_ms,
                s3lect_credentials_t** out, s3l_buf_t* why) {
  s3lect_error_t error = {0};
  int64_t expires_ms = 0;
  if (t->expiration[0] != '\0') {
    if (!s3l_time_parse_rfc3339(s3l_span_cstr(t->expiration), &expires_ms))
      return fail(why, "the expiration is not an RFC 3339 time");
    if (reply != NULL)
      expires_ms = local_ms(reply, expires_ms, now_ms);
    if (expires_ms <= 0)
      expires_ms = 1; /* long ago; 0 would mean never */
  }
  int err = (alone ? s3l_creds_new
                   : s3l_creds_new_keys)(s3l_span_cstr(t->access_key), s3l_span_cstr(t->secret),
                                         s3l_span_cstr(t->token), expires_ms, out, &error);
  s3l_buf_puts(why, error.text);
  return err;
}

/* ---- JSON ---- */

/* False if the member is there and is not a string, or too long. An absent one is empty. */
static bool take(const s3l_json_t* j, const char* name, char* out, size_t cap) {
  int err = s3l_json_get_string(j, S3L_JSON_ROOT, name, out, cap);
  return err == 0 || err == S3LECT_ENOTFOUND;
}

/* `reply` NULL: the output of a program, whose keys need not be temporary. */
static int read_json(const s3l_json_t* j, const s3l_http_reply_t* reply, int64_t now_ms,
                     s3lect_credentials_t** out, s3l_buf_t* why) {
  texts_t t = {0};
  int err;
  if (!take(j, "AccessKeyId", t.access_key, sizeof t.access_key) ||
      !take(j, "SecretAccessKey", t.secret, sizeof t.secret) ||
      !take(j, reply != NULL ? "Token" : "SessionToken", t.token, sizeof t.token) ||
      !take(j, "Expiration", t.expiration, sizeof t.expiration))
    err = fail(why, "a member of the JSON is not a string, or too long");
  else if (reply != NULL && (t.token[0] == '\0' || t.expiration[0] == '\0'))
    err = fail(why, "the JSON lacks AccessKeyId, SecretAccessKey, Token or Expiration");
  else
    err = make(&t, false, reply, now_ms, out, why);
  s3l_wipe(&t, sizeof t);
  return err;
}

/* The forms of AWS (Code, Message), of OAuth (error, error_description) and of Google's interfaces
 * (error, an object with status and message). */
static void put_json_error(const s3l_json_t* j, s3l_span_t secret, s3l_buf_t* why) {
  char code[SHOWN_CODE_MAX + 1] = "", message[MESSAGE_MAX] = "";
  const char *code_name = "Code", *message_name = "Message";
  int object = S3L_JSON_ROOT;
  if (s3l_json_get_object(j, S3L_JSON_ROOT, "error", &object) == 0) {
    code_name = "status";
  } else if (s3l_json_has(j, S3L_JSON_ROOT, "error")) {
    code_name = "error";
    message_name = "error_description";
  }
  (void)s3l_json_get_string(j, object, code_name, code, sizeof code);
  (void)s3l_json_get_string(j, object, message_name, message, sizeof message);
  put_code(why, code, message, secret);
}

int s3l_reply_service_json(const s3l_http_reply_t* reply, int64_t now_ms,
                           s3lect_credentials_t** out, s3l_buf_t* why) {
  s3l_json_t j;
  if (s3l_json_parse(&j, reply->body) != 0)
    return fail(why, "the answer is not a JSON object");
  if (s3l_json_has(&j, S3L_JSON_ROOT, "AccessKeyId"))
    return read_json(&j, reply, now_ms, out, why);
  s3l_buf_puts(why, "the answer holds no credentials"); /* IMDS reports failures with a 200 */
  put_json_error(&j, (s3l_span_t){NULL, 0}, why);
  return S3LECT_ECREDENTIALS;
}

/* ---- Tokens ---- */

/* 0, or as s3l_json_get_u64. */
static int get_seconds(const s3l_json_t* j, const char* name, uint64_t* out) {
  char text[24];
  int err = s3l_json_get_u64(j, S3L_JSON_ROOT, name, out);
  if (err == S3LECT_ERECORD && s3l_json_get_string(j, S3L_JSON_ROOT, name, text, sizeof text) == 0)
    err = s3l_span_to_u64(s3l_span_cstr(text), out) ? 0 : S3LECT_ERECORD;
  return err == 0 && *out > SECONDS_MAX ? S3LECT_ERECORD : err;
}

/* NULL, or what is wrong. */
static const char* find_end(const s3l_json_t* j, const s3l_http_reply_t* reply, int64_t now_ms,
                            int64_t* out) {
  uint64_t seconds;
  int err = get_seconds(j, "expires_in", &seconds);
  if (err == 0) {
    *out = now_ms + (int64_t)seconds * 1000;
    return NULL;
  }
  if (err == S3LECT_ENOTFOUND)
    err = get_seconds(j, "expires_on", &seconds);
  if (err != 0)
    return err == S3LECT_ENOTFOUND ? "the answer holds no expires_in"
                                   : "expires_in or expires_on of the answer is no number of "
                                     "seconds";
  *out = local_ms(reply, (int64_t)seconds * 1000, now_ms);
  if (*out <= 0)
    *out = 1; /* long ago; 0 would mean never */
  return NULL;
}

int s3l_reply_token_json(const s3l_http_reply_t* reply, int64_t now_ms, s3lect_credentials_t** out,
                         s3l_buf_t* why) {
  const s3l_span_t none = {NULL, 0};
  char token[S3L_CREDS_TOKEN_MAX + 2], type[24];
  s3l_json_t j;
  int64_t expires_ms = 0;
  s3lect_error_t error = {0};
  if (s3l_json_parse(&j, reply->body) != 0)
    return fail(why, "the answer is not a JSON object");
  if (!s3l_json_has(&j, S3L_JSON_ROOT, "access_token")) {
    s3l_buf_puts(why, "the answer holds no access_token");
    put_json_error(&j, none, why);
    return S3LECT_ECREDENTIALS;
  }
  if (!take(&j, "token_type", type, sizeof type) ||
      (type[0] != '\0' && !s3l_span_ieq(s3l_span_cstr(type), S3L_SPAN("Bearer"))))
    return fail(why, "token_type of the answer is not Bearer");
  const char* fault = find_end(&j, reply, now_ms, &expires_ms);
  if (fault != NULL)
    return fail(why, fault);
  if (!take(&j, "access_token", token, sizeof token) || token[0] == '\0') {
    s3l_wipe(token, sizeof token);
    return fail(why, "access_token of the answer is not a string, empty, or too long");
  }
  int err = s3l_creds_new(none, none, s3l_span_cstr(token), expires_ms, out, &error);
  s3l_wipe(token, sizeof token);
  s3l_buf_puts(why, error.text);
  return err;
}

int s3l_reply_impersonated_json(const s3l_http_reply_t* reply, int64_t now_ms,
                                s3lect_credentials_t** out, s3l_buf_t* why) {
  texts_t t = {0};
  s3l_json_t j;
  int err;
  if (s3l_json_parse(&j, reply->body) != 0)
    return fail(why, "the answer is not a JSON object");
  if (take(&j, "accessToken", t.token, sizeof t.token) && t.token[0] != '\0' &&
      take(&j, "expireTime", t.expiration, sizeof t.expiration) && t.expiration[0] != '\0')
    err = make(&t, true, reply, now_ms, out, why);
  else
    err = fail(why, "the answer lacks accessToken or expireTime");
  s3l_wipe(&t, sizeof t);
  return err;
}

int s3l_reply_process_json(s3l_span_t text, s3lect_credentials_t** out, s3l_buf_t* why) {
  s3l_json_t j;
  uint64_t version;
  while (text.n > 0 && (unsigned char)text.p[text.n - 1] <= 0x20)
    text.n--;
  if (s3l_json_parse(&j, text) != 0)
    return fail(why, "its output is not a JSON object");
  if (s3l_json_get_u64(&j, S3L_JSON_ROOT, "Version", &version) != 0 || version != 1)
    return fail(why, "its output must have \"Version\": 1");
  return read_json(&j, NULL, 0, out, why);
}

/* ---- XML ---- */

int s3l_reply_service_xml(const s3l_http_reply_t* reply, int64_t now_ms, s3lect_credentials_t** out,
                          s3l_buf_t* why) {
  s3l_span_t body = reply->body, inner;
  texts_t t = {0};
  int err;
  if (!s3l_xml_next(&body, "Credentials", &inner))
    return fail(why, "the answer of the service holds no credentials");
  if (s3l_xml_text(inner, "AccessKeyId", t.access_key, sizeof t.access_key) &&
      s3l_xml_text(inner, "SecretAccessKey", t.secret, sizeof t.secret) &&
      s3l_xml_text(inner, "SessionToken", t.token, sizeof t.token) &&
      s3l_xml_text(inner, "Expiration", t.expiration, sizeof t.expiration) && t.token[0] != '\0' &&
      t.expiration[0] != '\0')
    err = make(&t, false, reply, now_ms, out, why);
  else
    err = fail(why, "the answer of the service lacks a part of the credentials");
  s3l_wipe(&t, sizeof t);
  return err;
}

void s3l_reply_put_error(s3l_span_t body, s3l_span_t secret, s3l_buf_t* why) {
  char code[SHOWN_CODE_MAX + 1], message[SHOWN_MESSAGE_MAX + 1];
  s3l_span_t inner;
  s3l_json_t j;
  if (s3l_xml_next(&body, "Error", &inner)) {
    (void)s3l_xml_text(inner, "Code", code, sizeof code);
    (void)s3l_xml_text(inner, "Message", message, sizeof message);
    if (code[0] != '\0')
      put_code(why, code, message, secret);
  } else if (s3l_json_parse(&j, body) == 0) {
    put_json_error(&j, secret, why);
  }
}
