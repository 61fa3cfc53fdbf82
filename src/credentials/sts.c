#include "credentials/sts.h"

#include <string.h>

#include "credentials/reply.h"
#include "util/skew.h"
#include "util/timefmt.h"
#include "wire/aws_host.h"
#include "wire/sigv4.h"

#define TOKEN_FILE_MAX 20000 /* percent-encoded it still fits into the send buffer */
#define BODY_MAX       10240 /* of AssumeRole: ARN and external ID, percent-encoded */
#define HEAD_MAX       1024  /* of AssumeRoleWithWebIdentity */
#define ATTEMPTS       3
#define FORM           "application/x-www-form-urlencoded"

s3l_span_t s3l_sts_endpoint(const s3l_settings_t* s) {
  if (s3l_settings_is_true(s->ignore_endpoints))
    return (s3l_span_t){NULL, 0};
  return s3l_span_cstr(s->endpoint_sts != NULL ? s->endpoint_sts : s->endpoint_all);
}

/* ---- Requests ---- */

static void put_param(s3l_buf_t* b, const char* name, s3l_span_t value) {
  s3l_buf_puts(b, name);
  s3l_url_encode(b, value, false);
}

static void put_form(s3l_buf_t* b, const char* action, const s3l_sts_role_t* role) {
  s3l_buf_puts(b, "Action=");
  s3l_buf_puts(b, action);
  s3l_buf_puts(b, "&Version=2011-06-15");
  put_param(b, "&RoleArn=", role->arn);
  put_param(b, "&RoleSessionName=", role->session_name);
  if (role->duration_s != 0) {
    s3l_buf_puts(b, "&DurationSeconds=");
    s3l_buf_u64(b, role->duration_s);
  }
}

static void put_common_headers(const s3l_sts_t* sts, s3l_buf_t* b, size_t length) {
  s3l_service_put_head(&sts->service, b, "POST", sts->path);
  s3l_buf_puts(b, "accept: text/xml\r\ncontent-type: " FORM "\r\ncontent-length: ");
  s3l_buf_u64(b, length);
  s3l_buf_puts(b, "\r\n");
}

static bool put_signature(const s3l_sts_t* sts, s3l_buf_t* b, s3l_span_t body) {
  s3l_signer_t signer;
  s3l_sigv4_scope_t scope;
  char hash[S3L_SHA256_HEX_SIZE + 1];
  if (!s3l_signer_open(&signer))
    return false;
  bool ok = s3l_sigv4_scope(&scope, sts->service.settings->wall_ms() + sts->clock_offset_ms,
                            sts->role.region, S3L_SPAN("sts")) &&
            s3l_sha256_hex(&signer.engine, body, hash);
  s3l_span_t token = s3l_span_cstr(sts->keys->session_token);
  const s3l_sigv4_pair_t headers[] = {{S3L_SPAN("content-type"), S3L_SPAN(FORM)},
                                      {S3L_SPAN("host"), s3l_span_cstr(sts->service.host_header)},
                                      {S3L_SPAN("x-amz-date"), s3l_span_cstr(scope.time)},
                                      {S3L_SPAN("x-amz-security-token"), token}};
  const s3l_sigv4_request_t request = {.method = S3L_SPAN("POST"),
                                       .path = sts->path.n > 0 ? sts->path : S3L_SPAN("/"),
                                       .query = S3L_SPAN(""),
                                       .headers = headers,
                                       .headers_len = token.n > 0 ? 4 : 3,
                                       .payload_hash = {hash, S3L_SHA256_HEX_SIZE}};
  if (ok) {
    s3l_buf_puts(b, "x-amz-date: ");
    s3l_buf_puts(b, scope.time);
    if (token.n > 0) {
      s3l_buf_puts(b, "\r\nx-amz-security-token: ");
      s3l_buf_put(b, token);
    }
    s3l_buf_puts(b, "\r\nauthorization: ");
    ok =
        s3l_signer_authorization(&signer, &request, &scope, s3l_span_cstr(sts->keys->access_key_id),
                                 s3l_span_cstr(sts->keys->secret_access_key), b);
  }
  s3l_signer_close(&signer);
  return ok;
}

static bool compose_assume_role(s3l_service_t* service, s3l_buf_t* b) {
  s3l_sts_t* sts = service->call.data;
  char text[BODY_MAX];
  s3l_buf_t body;
  s3l_buf_init(&body, text, sizeof(text));
  put_form(&body, "AssumeRole", &sts->role);
  if (sts->role.external_id.n > 0)
    put_param(&body, "&ExternalId=", sts->role.external_id);
  if (body.overflow)
    return false;
  put_common_headers(sts, b, body.len);
  if (!put_signature(sts, b, s3l_buf_span(&body)))
    return false;
  s3l_buf_puts(b, "\r\n\r\n");
  s3l_buf_put(b, s3l_buf_span(&body));
  return true;
}

/* The token is long and a secret, so the body is written where it goes out, with room before it for
 * the head, which needs its length. */
static bool compose_web_identity(s3l_service_t* service, s3l_buf_t* b) {
  s3l_sts_t* sts = service->call.data;
  s3l_buf_t head, body;
  if (b->cap <= HEAD_MAX)
    return false;
  s3l_buf_init(&head, b->p, HEAD_MAX);
  s3l_buf_init(&body, b->p + HEAD_MAX, b->cap - HEAD_MAX);
  put_form(&body, "AssumeRoleWithWebIdentity", &sts->role);
  put_param(&body, "&WebIdentityToken=", s3l_file_line(&service->token_file));
  put_common_headers(sts, &head, body.len);
  s3l_buf_puts(&head, "\r\n");
  if (head.overflow || body.overflow)
    return false;
  memmove(b->p + head.len, body.p, body.len);
  b->len = head.len + body.len;
  return true;
}

/* A signature that STS refused while the clocks differ is made anew once, with the time of STS. */
static bool reclock(s3l_sts_t* sts, const s3l_http_reply_t* reply) {
  int64_t service_ms;
  if (sts->keys == NULL || sts->reclocked ||
      !s3l_time_parse_http(s3l_http_reply_header(reply, "date"), &service_ms))
    return false;
  sts->reclocked = s3l_skew_learn(&sts->clock_offset_ms, service_ms,
                                  sts->service.settings->wall_ms(), S3L_SKEW_PERHAPS_MS);
  return sts->reclocked;
}

/* The clock has been corrected, or STS could not reach the issuer of the token. */
static bool is_transient(s3l_service_t* service, const s3l_http_reply_t* reply) {
  char text[128];
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof(text));
  s3l_reply_put_error(reply->body, &b);
  return reclock(service->call.data, reply) ||
         s3l_span_starts_with(s3l_buf_span(&b), S3L_SPAN(": IDPCommunicationError"));
}

/* ---- Questions ---- */

static bool is_session_name(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
          strchr("_+=,.@-", c) != NULL) ||
        c == '\0')
      return false;
  }
  return s.n >= 2 && s.n <= 64;
}

static bool is_region(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-'))
      return false;
  }
  return s.n > 0 && s.n < S3L_SIGV4_REGION_MAX;
}

/* Points the service at the role's endpoint; false: the question has ended. */
static bool set_origin(s3l_sts_t* sts) {
  char aws[S3L_SIGV4_REGION_MAX + 40];
  s3l_span_t text = sts->role.endpoint;
  s3l_url_t url = {0};
  s3l_buf_t b;
  if (text.n == 0) {
    s3l_buf_init(&b, aws, sizeof aws);
    s3l_buf_puts(&b, "https://sts.");
    s3l_buf_put(&b, sts->role.region);
    s3l_buf_put(&b, s3l_aws_suffix(sts->role.region));
    text = s3l_buf_span(&b);
  }
  if (!s3l_service_set_origin(&sts->service, text, "the endpoint of STS", &url))
    return false;
  sts->path = sts->role.endpoint.n > 0 ? url.path : (s3l_span_t){NULL, 0};
  if (url.query.p != NULL)
    s3l_service_fail(&sts->service, "the endpoint of STS must not have a query");
  return url.query.p == NULL;
}

static void make_session_name(s3l_sts_t* sts) {
  s3l_buf_t name;
  s3l_buf_init(&name, sts->made_name, sizeof sts->made_name);
  s3l_buf_puts(&name, "s3lect-");
  s3l_buf_i64(&name, sts->service.settings->wall_ms());
  sts->role.session_name = s3l_buf_span(&name);
}

/* False: the question has ended. */
static bool begin(s3l_sts_t* sts, s3l_loop_t* loop, const char* action,
                  const s3l_sts_role_t* role) {
  s3l_service_t* s = &sts->service;
  sts->role = *role;
  sts->reclocked = false;
  s3l_service_begin(s, loop);
  s3l_buf_puts(&s->why, action);
  s3l_buf_puts(&s->why, " of ");
  s3l_reply_put_shown(&s->why, role->arn, 128);
  s3l_buf_puts(&s->why, ": ");
  if (s3l_span_eq(role->region, S3L_SPAN("auto"))) /* a word of other stores, unknown to AWS */
    sts->role.region = S3L_SPAN("us-east-1");
  if (role->session_name.n == 0)
    make_session_name(sts);
  if (!is_region(sts->role.region))
    s3l_service_fail(s, "the region is none");
  else if (!is_session_name(sts->role.session_name))
    s3l_service_fail(
        s, "the session name must have 2 to 64 letters, digits and characters of _+=,.@-");
  else
    return set_origin(sts);
  return false;
}

static void on_reply(s3l_service_t* s, const s3l_http_reply_t* reply, const char* why) {
  s3lect_credentials_t* creds = NULL;
  if (why != NULL) {
    s3l_service_fail_reply(s, reply, why);
    return;
  }
  int status = s3l_reply_sts_xml(reply, s->settings->wall_ms(), &creds, &s->why);
  s3l_service_end(s, status, creds);
}

static void call(s3l_service_t* s) {
  s3l_sts_t* sts = S3L_CONTAINER_OF(s, s3l_sts_t, service);
  const s3l_service_call_t c = {.data = sts,
                                .compose =
                                    sts->keys != NULL ? compose_assume_role : compose_web_identity,
                                .done = on_reply,
                                .timeout_ms = s->settings->sts_timeout_ms,
                                .attempts = ATTEMPTS,
                                .is_transient = is_transient};
  s3l_service_call(s, &c);
}

void s3l_sts_assume_role(s3l_sts_t* sts, s3l_loop_t* loop, const s3l_sts_role_t* role,
                         const s3lect_credentials_t* keys) {
  sts->keys = keys;
  if (begin(sts, loop, "AssumeRole", role))
    call(&sts->service);
}

void s3l_sts_web_identity(s3l_sts_t* sts, s3l_loop_t* loop, const s3l_sts_role_t* role,
                          const char* token_file) {
  sts->keys = NULL;
  if (begin(sts, loop, "AssumeRoleWithWebIdentity", role))
    s3l_service_read_token(&sts->service, token_file, TOKEN_FILE_MAX, "the token file", call);
}
