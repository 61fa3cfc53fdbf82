#include "credentials/imds.h"

#include <string.h>

#define ENDPOINT_4     "http://169.254.169.254"
#define ENDPOINT_6     "http://[fd00:ec2::254]"
#define TOKEN_PATH     "/latest/api/token"
#define ROLE_PATH      "/latest/meta-data/iam/security-credentials/"
#define TOKEN_TTL      "600" /* a token serves one question */
#define TIMEOUT_MS     1000
#define TIMEOUT_MAX_S  60
#define ATTEMPTS_MAX   10
#define STATIC_LIFE_MS 600000 /* AWS may honour keys that it cannot renew beyond their end */

/* ---- Requests ---- */

static void put_head(const s3l_imds_t* i, s3l_buf_t* b, const char* method, const char* path,
                     const char* last) {
  char text[512];
  s3l_buf_t whole;
  s3l_buf_init(&whole, text, sizeof(text)); /* prefix and role are bounded: it fits */
  s3l_buf_puts(&whole, i->prefix);
  s3l_buf_puts(&whole, path);
  s3l_buf_puts(&whole, last);
  s3l_service_put_head(&i->service, b, method, s3l_buf_span(&whole));
}

static bool compose_token(s3l_service_t* service, s3l_buf_t* b) {
  const s3l_imds_t* i = service->call.data;
  put_head(i, b, "PUT", TOKEN_PATH, "");
  s3l_buf_puts(b,
               "content-length: 0\r\nx-aws-ec2-metadata-token-ttl-seconds: " TOKEN_TTL "\r\n\r\n");
  return true;
}

/* Of the list of roles, when none is known yet, or of one role's keys. */
static bool compose_get(s3l_service_t* service, s3l_buf_t* b) {
  const s3l_imds_t* i = service->call.data;
  put_head(i, b, "GET", ROLE_PATH, i->role);
  s3l_buf_puts(b, "x-aws-ec2-metadata-token: ");
  s3l_buf_puts(b, service->token);
  s3l_buf_puts(b, "\r\n\r\n");
  return true;
}

static uint64_t number_or(const char* text, uint64_t most, uint64_t fallback) {
  uint64_t n;
  bool is_one = s3l_span_to_u64(s3l_span_cstr(text), &n) && n >= 1 && n <= most;
  return is_one ? n : fallback;
}

static void call(s3l_imds_t* i, bool (*compose)(s3l_service_t* service, s3l_buf_t* b),
                 void (*done)(s3l_service_t* service, const s3l_http_reply_t* reply,
                              const char* why)) {
  const s3l_settings_t* settings = i->service.settings;
  uint64_t timeout_ms = settings->imds_timeout == NULL
                            ? TIMEOUT_MS
                            : 1000 * number_or(settings->imds_timeout, TIMEOUT_MAX_S, 1);
  const s3l_service_call_t c = {.data = i,
                                .compose = compose,
                                .done = done,
                                .timeout_ms = (uint32_t)timeout_ms,
                                .attempts =
                                    (uint32_t)number_or(settings->imds_attempts, ATTEMPTS_MAX, 1)};
  s3l_service_call(&i->service, &c);
}

/* A body of one word, as a header or a path may hold it. */
static bool take_word(s3l_span_t body, char* out, size_t cap) {
  while (body.n > 0 && (unsigned char)body.p[body.n - 1] <= 0x20)
    body.n--;
  for (size_t k = 0; k < body.n; k++) {
    if ((unsigned char)body.p[k] <= 0x20 || (unsigned char)body.p[k] >= 0x7f)
      return false;
  }
  return body.n > 0 && s3l_span_copy(body, out, cap);
}

static void on_keys(s3l_service_t* s, const s3l_http_reply_t* reply, const char* why) {
  s3l_service_end_json(s, reply, why, STATIC_LIFE_MS);
}

static void on_role(s3l_service_t* s, const s3l_http_reply_t* reply, const char* why) {
  s3l_imds_t* i = s->call.data;
  s3l_span_t first = reply->body;
  const char* lf = first.n > 0 ? memchr(first.p, '\n', first.n) : NULL;
  if (lf != NULL)
    first.n = (size_t)(lf - first.p);
  if (reply->http_status == 404)
    s3l_service_fail(s, "the instance has no role (no instance profile is attached)");
  else if (why != NULL)
    s3l_service_fail_reply(s, reply, why);
  else if (take_word(first, i->role, sizeof i->role))
    call(i, compose_get, on_keys);
  else
    s3l_service_fail(s, "the name of the instance's role is none");
}

static void on_token(s3l_service_t* s, const s3l_http_reply_t* reply, const char* why) {
  s3l_imds_t* i = s->call.data;
  int http = reply->http_status;
  if (http == 403 || http == 404 || http == 405) {
    s3l_buf_puts(&s->why, why);
    s3l_service_fail(s, " to the request for a token: there is no metadata service of version 2");
  } else if (reply->status == UV_ETIMEDOUT) {
    s3l_buf_puts(&s->why, why);
    s3l_service_fail(s, " (not an EC2 instance; or a container on one whose "
                        "HttpPutResponseHopLimit is 1)");
  } else if (why != NULL) {
    s3l_service_fail_reply(s, reply, why);
  } else if (take_word(reply->body, s->token, sizeof s->token)) {
    call(i, compose_get, on_role);
  } else {
    s3l_service_fail(s, "the metadata service's token is none");
  }
}

static bool set_origin(s3l_imds_t* i) {
  const s3l_settings_t* s = i->service.settings;
  bool six = s->imds_mode != NULL && s3l_span_ieq(s3l_span_cstr(s->imds_mode), S3L_SPAN("IPv6"));
  const char* text = s->imds_endpoint != NULL ? s->imds_endpoint : six ? ENDPOINT_6 : ENDPOINT_4;
  s3l_url_t url = {0};
  if (!s3l_service_set_origin(&i->service, s3l_span_cstr(text), "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                              &url))
    return false;
  while (url.path.n > 0 && url.path.p[url.path.n - 1] == '/')
    url.path.n--;
  bool fits = s3l_span_copy(url.path, i->prefix, sizeof i->prefix);
  if (fits && url.query.p == NULL)
    return true;
  s3l_service_fail(&i->service, fits ? "AWS_EC2_METADATA_SERVICE_ENDPOINT must not have a query"
                                     : "AWS_EC2_METADATA_SERVICE_ENDPOINT is too long");
  return false;
}

void s3l_imds_fetch(s3l_imds_t* i, s3l_loop_t* loop) {
  i->role[0] = '\0';
  s3l_service_begin(&i->service, loop);
  if (set_origin(i))
    call(i, compose_token, on_token);
}
