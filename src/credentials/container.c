#include "credentials/container.h"

#include <string.h>

#include "credentials/reply.h"
#include "s3lect/errno.h"

#define TOKEN_FILE_MAX 16384
#define ATTEMPTS       3

void s3l_container_init(s3l_container_t* c, uv_loop_t* loop, const s3l_settings_t* settings) {
  memset(c, 0, sizeof(*c));
  c->settings = settings;
  s3l_service_init(&c->service, loop, settings->ca_file, NULL);
}

bool s3l_container_is_configured(const s3l_settings_t* s) {
  return s->container_relative != NULL || s->container_full != NULL;
}

static void finish(s3l_container_t* c, int status, s3l_creds_t* creds) {
  s3l_creds_fetch_t* fetch = c->fetch;
  const char* why = s3l_buf_cstr(&c->why);
  c->fetch = NULL;
  s3l_file_free(&c->token_file);
  fetch->done(fetch, status, creds, why != NULL ? why : "the container's agent failed");
}

static void fail(s3l_container_t* c, const char* text) {
  s3l_buf_puts(&c->why, text);
  finish(c, S3LECT_ECREDENTIALS, NULL);
}

/* The file wins, as in the SDKs. */
static s3l_span_t token(const s3l_container_t* c) {
  return c->settings->container_token_file != NULL ? s3l_file_line(&c->token_file)
                                                   : s3l_span_cstr(c->settings->container_token);
}

static bool is_header_value(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
      return false;
  }
  return true;
}

static bool compose(s3l_service_t* service, s3l_buf_t* b) {
  const s3l_container_t* c = service->call.data;
  s3l_service_put_head(service, b, "GET", s3l_span_cstr(c->target));
  s3l_buf_puts(b, "accept: application/json\r\n");
  if (token(c).n > 0) {
    s3l_buf_puts(b, "authorization: ");
    s3l_buf_put(b, token(c));
    s3l_buf_puts(b, "\r\n");
  }
  s3l_buf_puts(b, "\r\n");
  return true;
}

static void on_reply(s3l_service_t* service, bool ok, const s3l_http_reply_t* reply,
                     const char* why) {
  s3l_container_t* c = service->call.data;
  s3l_creds_t* creds = NULL;
  int status = S3LECT_ECREDENTIALS;
  if (ok) {
    status = s3l_reply_service_json(reply, c->settings->wall_ms(), &creds, &c->why);
  } else {
    s3l_buf_puts(&c->why, why);
    if (reply->http_status != 0)
      s3l_reply_put_error(reply->body, &c->why);
  }
  finish(c, status, creds);
}

static void ask(s3l_container_t* c) {
  const s3l_service_call_t call = {.data = c,
                                   .compose = compose,
                                   .done = on_reply,
                                   .timeout_ms = c->settings->service_timeout_ms,
                                   .attempts = ATTEMPTS,
                                   .delay_ms = c->settings->retry_delay_ms};
  if (!is_header_value(token(c))) /* it would smuggle other headers in */
    fail(c, "the authorization token holds a line end or another control character");
  else
    s3l_service_call(&c->service, &call);
}

static void end_if_closed(s3l_container_t* c);

static void put_token_file(s3l_container_t* c) {
  s3l_buf_puts(&c->why, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE ");
  s3l_reply_put_shown(&c->why, s3l_span_cstr(c->settings->container_token_file),
                      S3L_PATH_SHOWN_MAX);
  s3l_buf_puts(&c->why, ": ");
}

static void on_token(s3l_file_t* file, int status) {
  s3l_container_t* c = file->data;
  if (c->closing) {
    end_if_closed(c);
    return;
  }
  if (status == 0 && s3l_file_line(file).n > 0) {
    ask(c);
    return;
  }
  put_token_file(c);
  fail(c, status == 0                ? "is empty"
          : status == S3LECT_ETOOBIG ? "is too large to be one"
                                     : s3lect_strerror(status));
}

/* The whole URL is in `text`; path and query of it become the target. */
static bool aim(s3l_container_t* c, s3l_span_t text, const char* name) {
  const char* reason = NULL;
  s3l_url_t url = {0};
  s3l_buf_t target;
  if (!s3l_url_parse(text, &url, &reason)) {
    s3l_buf_puts(&c->why, name);
    s3l_buf_puts(&c->why, " ");
    fail(c, reason);
    return false;
  }
  s3l_buf_init(&target, c->target, sizeof(c->target));
  s3l_buf_put(&target, url.path.n > 0 ? url.path : S3L_SPAN("/"));
  if (url.query.p != NULL) {
    s3l_buf_putc(&target, '?');
    s3l_buf_put(&target, url.query);
  }
  if (s3l_buf_cstr(&target) == NULL) {
    s3l_buf_puts(&c->why, name);
    fail(c, " is too long");
    return false;
  }
  int err = s3l_service_aim(&c->service, &url, &c->why);
  if (err != 0)
    finish(c, err == UV_ENOMEM ? err : S3LECT_ECREDENTIALS, NULL);
  return err == 0;
}

static bool aim_anywhere(s3l_container_t* c) {
  char text[2048];
  s3l_buf_t b;
  if (c->settings->container_relative == NULL)
    return aim(c, s3l_span_cstr(c->settings->container_full), "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (c->settings->container_relative[0] != '/') { /* it could change the host */
    fail(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with '/'");
    return false;
  }
  s3l_buf_init(&b, text, sizeof(text));
  s3l_buf_puts(&b, c->settings->container_host);
  s3l_buf_puts(&b, c->settings->container_relative);
  if (b.overflow) {
    fail(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is too long");
    return false;
  }
  return aim(c, s3l_buf_span(&b), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
}

void s3l_container_fetch(s3l_container_t* c, s3l_creds_fetch_t* fetch) {
  c->fetch = fetch;
  s3l_buf_init(&c->why, c->why_text, sizeof(c->why_text));
  if (!aim_anywhere(c))
    return;
  if (c->settings->container_token_file == NULL) {
    ask(c);
    return;
  }
  c->token_file.data = c;
  int err = s3l_file_start(&c->token_file, c->service.loop, c->settings->container_token_file,
                           TOKEN_FILE_MAX, on_token);
  if (err != 0) {
    put_token_file(c);
    s3l_buf_puts(&c->why, s3lect_strerror(err));
    finish(c, err == UV_ENOMEM ? err : S3LECT_ECREDENTIALS, NULL);
  }
}

static void end_if_closed(s3l_container_t* c) {
  if (c->token_file.busy)
    return;
  s3l_file_free(&c->token_file);
  s3l_service_close(&c->service, c->close_cb, c->close_arg);
}

void s3l_container_close(s3l_container_t* c, void (*cb)(void* arg), void* arg) {
  c->closing = true;
  c->close_cb = cb;
  c->close_arg = arg;
  s3l_file_cancel(&c->token_file);
  end_if_closed(c);
}
