#include "credentials/sts.h"

#include <string.h>

#include "credentials/reply.h"
#include "util/skew.h"
#include "wire/aws_host.h"
#include "wire/sigv4.h"

#define BODY_MAX 10240 /* of AssumeRole: ARN and external ID, percent-encoded */
#define ATTEMPTS 3

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
  s3l_buf_printf(b, "Action=%s&Version=2011-06-15", action);
  put_param(b, "&RoleArn=", role->arn);
  put_param(b, "&RoleSessionName=", role->session_name);
  if (role->duration_s != 0)
    s3l_buf_printf(b, "&DurationSeconds=%u", (unsigned)role->duration_s);
}

static bool put_signature(const s3l_sts_t* sts, s3l_buf_t* b, s3l_span_t body) {
  s3l_signer_t signer;
  s3l_sigv4_scope_t scope;
  char hash[S3L_SHA256_HEX_SIZE + 1];
  if (!s3l_signer_open(&signer))
    return false;
  bool ok = s3l_sigv4_scope(&scope, s3l_service_now_ms(sts->service), sts->role.region,
                            S3L_SPAN("sts")) &&
            s3l_sha256_hex(&signer.engine, body, hash);
  s3l_span_t token = s3l_span_cstr(sts->keys->session_token);
  const char* path = sts->service->path[0] != '\0' ? sts->service->path : "/";
  const s3l_sigv4_pair_t headers[] = {{S3L_SPAN("content-type"), S3L_SPAN(S3L_SERVICE_FORM)},
                                      {S3L_SPAN("host"), s3l_span_cstr(sts->service->host_header)},
                                      {S3L_SPAN("x-amz-date"), s3l_span_cstr(scope.time)},
                                      {S3L_SPAN("x-amz-security-token"), token}};
  const s3l_sigv4_request_t request = {.method = S3L_SPAN("POST"),
                                       .path = s3l_span_cstr(path),
                                       .query = S3L_SPAN(""),
                                       .headers = headers,
                                       .headers_len = token.n > 0 ? 4 : 3,
                                       .payload_hash = {hash, S3L_SHA256_HEX_SIZE}};
  if (ok) {
    s3l_buf_printf(b, "x-amz-date: %s\r\n", scope.time);
    if (token.n > 0)
      s3l_buf_printf(b, "x-amz-security-token: %s\r\n", token.p);
    s3l_buf_puts(b, "authorization: ");
    ok =
        s3l_signer_authorization(&signer, &request, &scope, s3l_span_cstr(sts->keys->access_key_id),
                                 s3l_span_cstr(sts->keys->secret_access_key), b);
  }
  s3l_signer_close(&signer);
  return ok;
}

static bool compose_assume_role(s3l_service_t* service, s3l_buf_t* b) {
  s3l_sts_t* sts = service->data;
  char text[BODY_MAX];
  s3l_buf_t body;
  s3l_buf_init(&body, text, sizeof(text));
  put_form(&body, "AssumeRole", &sts->role);
  if (sts->role.external_id.n > 0)
    put_param(&body, "&ExternalId=", sts->role.external_id);
  if (body.overflow)
    return false;
  s3l_service_put_form_head(service, b, "text/xml", body.len);
  if (!put_signature(sts, b, s3l_buf_span(&body)))
    return false;
  s3l_buf_puts(b, "\r\n\r\n");
  s3l_buf_put(b, s3l_buf_span(&body));
  return true;
}

static void put_web_identity(s3l_service_t* service, s3l_buf_t* b) {
  const s3l_sts_t* sts = service->data;
  put_form(b, "AssumeRoleWithWebIdentity", &sts->role);
  put_param(b, "&WebIdentityToken=", s3l_file_line(&service->token_file));
}

static bool compose_web_identity(s3l_service_t* service, s3l_buf_t* b) {
  return s3l_service_put_form(service, b, "text/xml", put_web_identity);
}

/* A signature that was refused while the clocks differ is made anew once. Or STS could not reach
 * the issuer of the token. */
static bool is_transient(s3l_service_t* service, const s3l_http_reply_t* reply) {
  char text[128];
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof(text));
  s3l_reply_put_error(reply->body, (s3l_span_t){NULL, 0}, &b);
  const s3l_sts_t* sts = service->data;
  return (sts->keys != NULL && s3l_service_reclock(service, reply, S3L_SKEW_PERHAPS_MS)) ||
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
  s3l_service_origin_t origin = {.url = sts->role.endpoint,
                                 .name = "the endpoint of STS",
                                 .proxies = &sts->service->settings->proxies};
  s3l_buf_t b;
  if (origin.url.n == 0) {
    s3l_buf_init(&b, aws, sizeof aws);
    s3l_buf_puts(&b, "https://sts.");
    s3l_buf_put(&b, sts->role.region);
    s3l_buf_put(&b, s3l_aws_suffix(sts->role.region));
    origin.url = s3l_buf_span(&b);
  }
  return s3l_service_set_origin(sts->service, &origin);
}

static void make_session_name(s3l_sts_t* sts) {
  s3l_buf_t name;
  s3l_buf_init(&name, sts->made_name, sizeof sts->made_name);
  s3l_buf_printf(&name, "s3lect-%lld", (long long)sts->service->settings->wall_ms());
  sts->role.session_name = s3l_buf_span(&name);
}

/* False: the question has ended. */
static bool begin(s3l_sts_t* sts, const char* action, const s3l_sts_role_t* role) {
  s3l_service_t* s = sts->service;
  s->data = sts;
  sts->role = *role;
  s3l_buf_printf(s->why, "%s of ", action);
  s3l_reply_put_shown(s->why, role->arn, 128);
  s3l_buf_printf(s->why, ": ");
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

void s3l_sts_assume_role(s3l_sts_t* sts, const s3l_sts_role_t* role,
                         const s3lect_credentials_t* keys) {
  static const s3l_service_call_t call = {
      .compose = compose_assume_role, .parse = s3l_reply_service_xml, .is_transient = is_transient};
  sts->keys = keys;
  if (begin(sts, "AssumeRole", role))
    s3l_service_call(sts->service, &call, sts->service->settings->remote_timeout_ms, ATTEMPTS);
}

static void call_with_token(s3l_service_t* s) {
  s->secret = s3l_file_line(&s->token_file);
  static const s3l_service_call_t call = {.compose = compose_web_identity,
                                          .parse = s3l_reply_service_xml,
                                          .is_transient = is_transient};
  s3l_service_call(s, &call, s->settings->remote_timeout_ms, ATTEMPTS);
}

void s3l_sts_web_identity(s3l_sts_t* sts, const s3l_sts_role_t* role, const char* token_file) {
  sts->keys = NULL;
  if (begin(sts, "AssumeRoleWithWebIdentity", role))
    s3l_service_read_token(sts->service, token_file, S3L_SERVICE_TOKEN_MAX, "the token file",
                           call_with_token);
}
