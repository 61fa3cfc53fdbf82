#include "credentials/container.h"

#define TOKEN_FILE_MAX 16384
#define ATTEMPTS       3

bool s3l_container_is_configured(const s3l_settings_t* s) {
  return s->container_relative != NULL || s->container_full != NULL;
}

/* The file wins, as in the SDKs. */
static s3l_span_t token(const s3l_service_t* s) {
  return s->settings->container_token_file != NULL ? s3l_file_line(&s->token_file)
                                                   : s3l_span_cstr(s->settings->container_token);
}

static bool is_header_value(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
      return false;
  }
  return true;
}

static bool compose(s3l_service_t* s, s3l_buf_t* b) {
  const s3l_container_t* c = s->call.data;
  s3l_service_put_head(s, b, "GET", s3l_span_cstr(c->target));
  s3l_buf_puts(b, "accept: application/json\r\n");
  if (token(s).n > 0) {
    s3l_buf_puts(b, "authorization: ");
    s3l_buf_put(b, token(s));
    s3l_buf_puts(b, "\r\n");
  }
  s3l_buf_puts(b, "\r\n");
  return true;
}

static void on_reply(s3l_service_t* s, const s3l_http_reply_t* reply, const char* why) {
  s3l_service_end_json(s, reply, why, 0);
}

static void ask(s3l_service_t* s) {
  const s3l_service_call_t call = {.data = S3L_CONTAINER_OF(s, s3l_container_t, service),
                                   .compose = compose,
                                   .done = on_reply,
                                   .timeout_ms = s->settings->service_timeout_ms,
                                   .attempts = ATTEMPTS};
  if (!is_header_value(token(s))) /* it would smuggle other headers in */
    s3l_service_fail(s, "the authorization token holds a line end or another control character");
  else
    s3l_service_call(s, &call);
}

/* Points the service at the URL `text`, whose path and query become the target. */
static bool set_origin(s3l_container_t* c, s3l_span_t text, const char* name) {
  s3l_url_t url = {0};
  s3l_buf_t target;
  if (!s3l_service_set_origin(&c->service, text, name, &url))
    return false;
  s3l_buf_init(&target, c->target, sizeof c->target);
  s3l_buf_put(&target, url.path.n > 0 ? url.path : S3L_SPAN("/"));
  if (url.query.p != NULL) {
    s3l_buf_putc(&target, '?');
    s3l_buf_put(&target, url.query);
  }
  if (s3l_buf_cstr(&target) != NULL)
    return true;
  s3l_buf_puts(&c->service.why, name);
  s3l_service_fail(&c->service, " is too long");
  return false;
}

static bool aim_at_configured(s3l_container_t* c) {
  const s3l_settings_t* settings = c->service.settings;
  char text[2048];
  s3l_buf_t b;
  if (settings->container_relative == NULL)
    return set_origin(c, s3l_span_cstr(settings->container_full),
                      "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (settings->container_relative[0] != '/') { /* it could change the host */
    s3l_service_fail(&c->service, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with '/'");
    return false;
  }
  s3l_buf_init(&b, text, sizeof text);
  s3l_buf_puts(&b, settings->container_host);
  s3l_buf_puts(&b, settings->container_relative);
  if (b.overflow) {
    s3l_service_fail(&c->service, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is too long");
    return false;
  }
  return set_origin(c, s3l_buf_span(&b), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
}

void s3l_container_fetch(s3l_container_t* c, s3l_loop_t* loop) {
  const char* file = c->service.settings->container_token_file;
  s3l_service_begin(&c->service, loop);
  if (!aim_at_configured(c))
    return;
  if (file != NULL)
    s3l_service_read_token(&c->service, file, TOKEN_FILE_MAX,
                           "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", ask);
  else
    ask(&c->service);
}
