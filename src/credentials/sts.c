#include "credentials/sts.h"

#include <string.h>

#include "credentials/reply.h"
#include "s3lect/errno.h"
#include "util/mem.h"
#include "util/skew.h"
#include "util/timefmt.h"
#include "wire/aws_host.h"

#define TOKEN_FILE_MAX 20000 /* percent-encoded it still fits into the send buffer */
#define BODY_MAX       10240 /* of AssumeRole: ARN and external ID, percent-encoded */
#define HEAD_MAX       1024  /* of AssumeRoleWithWebIdentity */
#define ATTEMPTS       3
#define FORM           "application/x-www-form-urlencoded"

void s3l_sts_init(s3l_sts_t* sts, uv_loop_t* loop, const s3l_settings_t* settings) {
  memset(sts, 0, sizeof(*sts));
  sts->settings = settings;
  s3l_service_init(&sts->service, loop, settings->ca_file, &settings->proxies);
}

s3l_span_t s3l_sts_endpoint(const s3l_settings_t* s) {
  if (s3l_settings_is_true(s->ignore_endpoints))
    return (s3l_span_t){NULL, 0};
  return s3l_span_cstr(s->endpoint_sts != NULL ? s->endpoint_sts : s->endpoint_all);
}

/* ---- The end of a question ---- */

static void finish(s3l_sts_t* sts, int status, s3l_creds_t* creds) {
  s3l_creds_fetch_t* fetch = sts->fetch;
  const char* why = s3l_buf_cstr(&sts->why);
  sts->fetch = NULL;
  s3l_file_free(&sts->token_file);
  fetch->done(fetch, status, creds, why != NULL ? why : "STS failed");
}

static void fail(s3l_sts_t* sts, const char* text) {
  s3l_buf_puts(&sts->why, text);
  finish(sts, S3LECT_ECREDENTIALS, NULL);
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
  bool ok = s3l_sigv4_scope(&scope, sts->settings->wall_ms() + sts->clock_offset_ms,
                            sts->role.region, S3L_SPAN("sts")) &&
            s3l_sha256_hex(&signer.engine, body, hash);
  s3l_span_t token = s3l_span_cstr(sts->keys->token);
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
    ok = s3l_signer_authorization(&signer, &request, &scope, s3l_span_cstr(sts->keys->access_key),
                                  s3l_span_cstr(sts->keys->secret), b);
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
  put_param(&body, "&WebIdentityToken=", s3l_file_line(&sts->token_file));
  put_common_headers(sts, &head, body.len);
  s3l_buf_puts(&head, "\r\n");
  if (head.overflow || body.overflow)
    return false;
  memmove(b->p + head.len, body.p, body.len);
  b->len = head.len + body.len;
  return true;
}

/* Refused by one whose clock says something else: once, the request is signed anew, by that. */
static bool reclock(s3l_sts_t* sts, const s3l_http_reply_t* reply) {
  int64_t service_ms;
  if (sts->keys == NULL || sts->reclocked ||
      !s3l_time_parse_http(s3l_http_reply_header(reply, "date"), &service_ms))
    return false;
  sts->reclocked = s3l_skew_learn(&sts->clock_offset_ms, service_ms, sts->settings->wall_ms(),
                                  S3L_SKEW_PERHAPS_MS);
  return sts->reclocked;
}

/* The clock is put right now, or STS could not reach the one who vouches for the token. */
static bool is_passing(s3l_service_t* service, const s3l_http_reply_t* reply) {
  char text[128];
  s3l_buf_t b;
  s3l_buf_init(&b, text, sizeof(text));
  s3l_reply_put_error(reply->body, &b);
  return reclock(service->call.data, reply) ||
         s3l_span_starts_with(s3l_buf_span(&b), S3L_SPAN(": IDPCommunicationError"));
}

static void on_reply(s3l_service_t* service, bool ok, const s3l_http_reply_t* reply,
                     const char* why) {
  s3l_sts_t* sts = service->call.data;
  s3l_creds_t* creds = NULL;
  int status = S3LECT_ECREDENTIALS;
  if (ok) {
    status = s3l_reply_sts_xml(reply, sts->settings->wall_ms(), &creds, &sts->why);
  } else {
    s3l_buf_puts(&sts->why, why);
    if (reply->http_status != 0)
      s3l_reply_put_error(reply->body, &sts->why);
  }
  finish(sts, status, creds);
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

/* Aims at the role's endpoint; on failure the question has been ended. */
static bool aim(s3l_sts_t* sts) {
  char aws[S3L_SIGV4_REGION_MAX + 40];
  s3l_span_t text = sts->role.endpoint;
  const char* reason = NULL;
  s3l_url_t url = {0};
  s3l_buf_t b;
  if (text.n == 0) {
    s3l_buf_init(&b, aws, sizeof(aws));
    s3l_buf_puts(&b, "https://sts.");
    s3l_buf_put(&b, sts->role.region);
    s3l_buf_put(&b, s3l_aws_suffix(sts->role.region));
    text = s3l_buf_span(&b);
  }
  if (!s3l_url_parse(text, &url, &reason) || url.query.p != NULL) {
    s3l_buf_puts(&sts->why, "the endpoint of STS ");
    fail(sts, url.query.p != NULL ? "must not have a query" : reason);
    return false;
  }
  sts->path = sts->role.endpoint.n > 0 ? url.path : (s3l_span_t){NULL, 0};
  int err = s3l_service_aim(&sts->service, &url, &sts->why);
  if (err != 0)
    finish(sts, err == UV_ENOMEM ? err : S3LECT_ECREDENTIALS, NULL);
  return err == 0;
}

/* False if the question has been ended. */
static bool begin(s3l_sts_t* sts, const char* action, const s3l_sts_role_t* role,
                  s3l_creds_fetch_t* fetch) {
  s3l_buf_t name;
  sts->role = *role;
  sts->fetch = fetch;
  sts->reclocked = false;
  s3l_buf_init(&sts->why, sts->why_text, sizeof(sts->why_text));
  s3l_buf_puts(&sts->why, action);
  s3l_buf_puts(&sts->why, " of ");
  s3l_reply_put_shown(&sts->why, role->arn, 128);
  s3l_buf_puts(&sts->why, ": ");
  if (s3l_span_eq(role->region, S3L_SPAN("auto"))) /* other stores' word; STS is of AWS */
    sts->role.region = S3L_SPAN("us-east-1");
  if (role->session_name.n == 0) {
    s3l_buf_init(&name, sts->made_name, sizeof(sts->made_name));
    s3l_buf_puts(&name, "s3lect-");
    s3l_buf_i64(&name, sts->settings->wall_ms());
    sts->role.session_name = s3l_buf_span(&name);
  }
  if (!is_region(sts->role.region))
    fail(sts, "the region is none");
  else if (!is_session_name(sts->role.session_name))
    fail(sts, "the session name must have 2 to 64 letters, digits and characters of _+=,.@-");
  else
    return aim(sts);
  return false;
}

static void call(s3l_sts_t* sts, bool (*compose)(s3l_service_t* service, s3l_buf_t* b)) {
  const s3l_service_call_t c = {.data = sts,
                                .compose = compose,
                                .done = on_reply,
                                .timeout_ms = sts->settings->sts_timeout_ms,
                                .attempts = ATTEMPTS,
                                .delay_ms = sts->settings->retry_delay_ms,
                                .passing = is_passing};
  s3l_service_call(&sts->service, &c);
}

void s3l_sts_assume_role(s3l_sts_t* sts, const s3l_sts_role_t* role, const s3l_creds_t* keys,
                         s3l_creds_fetch_t* fetch) {
  sts->keys = keys;
  if (begin(sts, "AssumeRole", role, fetch))
    call(sts, compose_assume_role);
}

static void end_if_closed(s3l_sts_t* sts);

static void put_token_file(s3l_sts_t* sts) {
  s3l_buf_puts(&sts->why, "the token file ");
  s3l_reply_put_shown(&sts->why, s3l_span_cstr(sts->token_path), S3L_PATH_SHOWN_MAX);
  s3l_buf_puts(&sts->why, ": ");
}

static void on_token(s3l_file_t* file, int status) {
  s3l_sts_t* sts = file->data;
  if (sts->closing) {
    s3l_file_free(file);
    end_if_closed(sts);
    return;
  }
  if (status == 0 && s3l_file_line(file).n > 0) {
    call(sts, compose_web_identity);
    return;
  }
  put_token_file(sts);
  fail(sts, status == 0                ? "is empty"
            : status == S3LECT_ETOOBIG ? "is too large to be one"
                                       : s3lect_strerror(status));
}

void s3l_sts_web_identity(s3l_sts_t* sts, const s3l_sts_role_t* role, const char* token_file,
                          s3l_creds_fetch_t* fetch) {
  sts->keys = NULL;
  if (!begin(sts, "AssumeRoleWithWebIdentity", role, fetch))
    return;
  sts->token_file.data = sts;
  sts->token_path = token_file;
  int err =
      s3l_file_start(&sts->token_file, sts->service.loop, token_file, TOKEN_FILE_MAX, on_token);
  if (err != 0) {
    put_token_file(sts);
    s3l_buf_puts(&sts->why, s3lect_strerror(err));
    finish(sts, err == UV_ENOMEM ? err : S3LECT_ECREDENTIALS, NULL);
  }
}

/* ---- The end ---- */

static void end_if_closed(s3l_sts_t* sts) {
  if (sts->token_file.busy)
    return;
  s3l_file_free(&sts->token_file);
  s3l_service_close(&sts->service, sts->close_cb, sts->close_arg);
}

void s3l_sts_close(s3l_sts_t* sts, void (*cb)(void* arg), void* arg) {
  sts->closing = true;
  sts->close_cb = cb;
  sts->close_arg = arg;
  s3l_file_cancel(&sts->token_file);
  end_if_closed(sts);
}
