#include "credentials/metadata.h"

#include <string.h>

#include "credentials/reply.h"

/* ---- A container's agent ---- */

#define FULL_URI       "AWS_CONTAINER_CREDENTIALS_FULL_URI"
#define RELATIVE_URI   "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
#define TOKEN_FILE     "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
#define TOKEN_FILE_MAX 16384
#define ATTEMPTS       3

bool s3l_container_is_configured(const s3l_settings_t* s) {
  return s->container_relative != NULL || s->container_full != NULL;
}

/* The file wins, as in the SDKs. */
static s3l_span_t agent_token(const s3l_service_t* s) {
  return s->settings->container_token_file != NULL ? s3l_file_line(&s->token_file)
                                                   : s3l_span_cstr(s->settings->container_token);
}

static bool compose_agent(s3l_service_t* s, s3l_buf_t* b) {
  s3l_span_t token = agent_token(s);
  s3l_service_put_head(s, b, "GET", "", "");
  s3l_buf_puts(b, "accept: application/json\r\n");
  if (token.n > 0)
    s3l_buf_printf(b, "authorization: %.*s\r\n", (int)token.n, token.p);
  s3l_buf_puts(b, "\r\n");
  return true;
}

static void ask_agent(s3l_service_t* s) {
  static const s3l_service_call_t call = {.compose = compose_agent,
                                          .parse = s3l_reply_service_json};
  if (!s3l_service_is_header_value(agent_token(s))) /* it would smuggle other headers in */
    s3l_service_fail(s, "the authorization token holds a line end or another control character");
  else
    s3l_service_call(s, &call, s->settings->service_timeout_ms, ATTEMPTS);
}

void s3l_container_fetch(s3l_service_t* s) {
  const s3l_settings_t* settings = s->settings;
  s3l_service_origin_t origin = {
      .url = s3l_span_cstr(settings->container_full), .name = FULL_URI, .query = true};
  char text[2048];
  s3l_buf_t b;
  if (settings->container_relative != NULL) {
    if (settings->container_relative[0] != '/') { /* it could change the host */
      s3l_service_fail(s, RELATIVE_URI " must begin with '/'");
      return;
    }
    s3l_buf_init(&b, text, sizeof text);
    s3l_buf_printf(&b, "%s%s", settings->container_host, settings->container_relative);
    if (b.overflow) {
      s3l_service_fail(s, RELATIVE_URI " is too long");
      return;
    }
    origin.url = s3l_buf_span(&b);
    origin.name = RELATIVE_URI;
  }
  if (!s3l_service_set_origin(s, &origin))
    return;
  if (settings->container_token_file != NULL)
    s3l_service_read_token(s, settings->container_token_file, TOKEN_FILE_MAX, TOKEN_FILE,
                           ask_agent);
  else
    ask_agent(s);
}

/* ---- The instance metadata service ---- */

#define ENDPOINT_4     "http://169.254.169.254"
#define ENDPOINT_6     "http://[fd00:ec2::254]"
#define TOKEN_PATH     "/latest/api/token"
#define ROLE_PATH      "/latest/meta-data/iam/security-credentials/"
#define TOKEN_TTL      "600" /* a token serves one question */
#define TIMEOUT_MS     1000
#define TIMEOUT_MAX_S  60
#define ATTEMPTS_MAX   10
#define STATIC_LIFE_MS 600000 /* AWS may honour keys that it cannot renew beyond their end */

static uint32_t number_or(const char* text, uint64_t most, uint32_t fallback) {
  uint64_t n;
  bool is_one = s3l_span_to_u64(s3l_span_cstr(text), &n) && n >= 1 && n <= most;
  return is_one ? (uint32_t)n : fallback;
}

static void call_imds(s3l_service_t* s, const s3l_service_call_t* call) {
  const s3l_settings_t* settings = s->settings;
  uint32_t timeout_ms = settings->imds_timeout == NULL
                            ? TIMEOUT_MS
                            : 1000 * number_or(settings->imds_timeout, TIMEOUT_MAX_S, 1);
  s3l_service_call(s, call, timeout_ms, number_or(settings->imds_attempts, ATTEMPTS_MAX, 1));
}

static bool compose_token(s3l_service_t* s, s3l_buf_t* b) {
  s3l_service_put_head(s, b, "PUT", TOKEN_PATH, "");
  s3l_buf_puts(b,
               "content-length: 0\r\nx-aws-ec2-metadata-token-ttl-seconds: " TOKEN_TTL "\r\n\r\n");
  return true;
}

/* Of the list of roles, when none is known yet, or of one role's keys. */
static bool compose_get(s3l_service_t* s, s3l_buf_t* b) {
  s3l_service_put_head(s, b, "GET", ROLE_PATH, s->role);
  s3l_buf_printf(b, "x-aws-ec2-metadata-token: %s\r\n\r\n", s->token);
  return true;
}

/* A body of one word, as a header or a path may hold it. */
static bool take_word(s3l_span_t body, char* out, size_t cap) {
  while (body.n > 0 && (unsigned char)body.p[body.n - 1] <= 0x20)
    body.n--;
  return body.n > 0 && s3l_span_is_visible(body) && s3l_span_copy(body, out, cap);
}

static void on_role(s3l_service_t* s, const s3l_http_reply_t* reply) {
  static const s3l_service_call_t get_keys = {
      .compose = compose_get, .parse = s3l_reply_service_json, .least_life_ms = STATIC_LIFE_MS};
  s3l_span_t first = reply->body;
  const char* lf = first.n > 0 ? memchr(first.p, '\n', first.n) : NULL;
  if (lf != NULL)
    first.n = (size_t)(lf - first.p);
  if (reply->http_status == 404)
    s3l_service_fail(s, "the instance has no role (no instance profile is attached)");
  else if (!s3l_service_is_good(reply))
    s3l_service_fail_reply(s, reply, NULL);
  else if (take_word(first, s->role, sizeof s->role))
    call_imds(s, &get_keys);
  else
    s3l_service_fail(s, "the name of the instance's role is none");
}

static void on_token(s3l_service_t* s, const s3l_http_reply_t* reply) {
  static const s3l_service_call_t get_role = {.compose = compose_get, .done = on_role};
  int http = reply->http_status;
  if (http == 403 || http == 404 || http == 405)
    s3l_service_fail_reply(
        s, reply, " to the request for a token: there is no metadata service of version 2");
  else if (reply->status == UV_ETIMEDOUT)
    s3l_service_fail_reply(s, reply,
                           " (not an EC2 instance; or a container on one whose "
                           "HttpPutResponseHopLimit is 1)");
  else if (!s3l_service_is_good(reply))
    s3l_service_fail_reply(s, reply, NULL);
  else if (take_word(reply->body, s->token, sizeof s->token))
    call_imds(s, &get_role);
  else
    s3l_service_fail(s, "the metadata service's token is none");
}

void s3l_imds_fetch(s3l_service_t* s) {
  static const s3l_service_call_t put_token = {.compose = compose_token, .done = on_token};
  const char* mode = s->settings->imds_mode;
  bool six = mode != NULL && s3l_span_ieq(s3l_span_cstr(mode), S3L_SPAN("IPv6"));
  const char* url = s->settings->imds_endpoint != NULL ? s->settings->imds_endpoint
                    : six                              ? ENDPOINT_6
                                                       : ENDPOINT_4;
  const s3l_service_origin_t origin = {.url = s3l_span_cstr(url),
                                       .name = "AWS_EC2_METADATA_SERVICE_ENDPOINT"};
  s->role[0] = '\0';
  if (!s3l_service_set_origin(s, &origin))
    return;
  for (size_t n = strlen(s->path); n > 0 && s->path[n - 1] == '/'; n--)
    s->path[n - 1] = '\0';
  call_imds(s, &put_token);
}
