#include "credentials/service.h"

#include <string.h>

#include "credentials/reply.h"
#include "s3lect/version.h"
#include "util/backoff.h"
#include "util/error.h"
#include "util/error_kind.h"
#include "util/mem.h"
#include "util/skew.h"
#include "util/timefmt.h"

#define CONNECT_MS   2000
#define TLS_MS       3000
#define IDLE_MS      1000 /* the connection's buffers hold secrets until it is closed */
#define RETRY_MAX_MS 5000
#define HEAD_MAX     3072 /* of a form: path and host at their longest, and the rest */

/* ---- Where secrets may go ---- */

/* Any address of 127.0.0.0/8, in its four parts. */
static bool is_ip4_loopback(s3l_span_t host) {
  return s3l_url_host_is_ip(host) && s3l_span_starts_with(host, S3L_SPAN("127."));
}

bool s3l_service_allows(const s3l_url_t* url) {
  static const char* const metadata[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23",
                                         "169.254.169.254", "fd00:ec2::254"};
  if (url->tls || is_ip4_loopback(url->host) || s3l_span_eq(url->host, S3L_SPAN("::1")) ||
      s3l_span_ieq(url->host, S3L_SPAN("localhost")))
    return true;
  for (size_t i = 0; i < sizeof(metadata) / sizeof(metadata[0]); i++) {
    if (s3l_span_ieq(url->host, s3l_span_cstr(metadata[i])))
      return true;
  }
  return false;
}

static bool is_allowed(const s3l_service_origin_t* origin, const s3l_url_t* url) {
  return s3l_service_allows(url) ||
         (origin->link_local && s3l_url_host_is_ip(url->host) &&
          s3l_span_starts_with(url->host, S3L_SPAN("169.254."))) ||
         (origin->google_metadata && s3l_span_ieq(url->host, S3L_SPAN("metadata.google.internal")));
}

/* ---- Questions ---- */

static void submit(s3l_service_t* s);

static void on_pause(s3l_deadline_t* deadline) {
  submit(S3L_CONTAINER_OF(deadline, s3l_service_t, pause));
}

void s3l_service_init(s3l_service_t* s, const s3l_settings_t* settings, s3l_buf_t* why,
                      s3l_creds_cb ended, void* arg) {
  memset(s, 0, sizeof *s);
  s->settings = settings;
  s->why = why;
  s->ended = ended;
  s->arg = arg;
  s3l_deadline_init(&s->pause, on_pause);
  s3l_loop_seed(&s->prng);
}

void s3l_service_begin(s3l_service_t* s, s3l_loop_t* loop) {
  s->loop = loop;
  s->cancelled = false;
  s->secret = (s3l_span_t){NULL, 0};
  s->reclocked = false;
}

int64_t s3l_service_now_ms(const s3l_service_t* s) {
  return s->settings->wall_ms() + s->clock_offset_ms;
}

bool s3l_service_reclock(s3l_service_t* s, const s3l_http_reply_t* reply, int64_t least_ms) {
  int64_t service_ms;
  if (s->reclocked || !s3l_time_parse_http(s3l_http_reply_header(reply, "date"), &service_ms))
    return false;
  s->reclocked = s3l_skew_learn(&s->clock_offset_ms, service_ms, s->settings->wall_ms(), least_ms);
  return s->reclocked;
}

void s3l_service_end(s3l_service_t* s, int status, s3lect_credentials_t* creds) {
  s3l_file_free(&s->token_file);
  s3l_wipe(s->token, sizeof s->token);
  s->ended(s->arg, status, creds);
}

void s3l_service_fail(s3l_service_t* s, const char* text) {
  s3l_buf_printf(s->why, "%s", text);
  s3l_service_end(s, S3LECT_ECREDENTIALS, NULL);
}

bool s3l_service_is_good(const s3l_http_reply_t* reply) {
  return reply->status == 0 && reply->http_status == 200;
}

void s3l_service_fail_reply(s3l_service_t* s, const s3l_http_reply_t* reply, const char* note) {
  if (reply->status == UV_ENOBUFS)
    s3l_buf_printf(s->why, "what there is to be sent to %s is too long", s->host_header);
  else if (reply->status != 0)
    s3l_buf_printf(s->why, "%s",
                   reply->message != NULL ? reply->message : s3lect_strerror(reply->status));
  else
    s3l_buf_printf(s->why, "%s answered %d", s->host_header, reply->http_status);
  if (note == NULL && reply->http_status != 0)
    s3l_reply_put_error(reply->body, s->secret, s->why);
  s3l_service_fail(s, note != NULL ? note : "");
}

/* ---- The client ---- */

static void end_if_closed(s3l_service_t* s) {
  if (s->clients > 0 || s->close_cb == NULL)
    return;
  void (*cb)(void*) = s->close_cb;
  s->close_cb = NULL;
  cb(s->close_arg);
}

static void on_client_closed(void* arg) {
  s3l_service_t* s = arg;
  s->clients--;
  end_if_closed(s);
}

static void close_client(s3l_service_t* s) {
  if (s->client != NULL)
    s3l_http_client_close(s->client, on_client_closed, s);
  s->client = NULL;
}

/* False, with a line in `why`, if the setting that names the proxy is wrong. */
static bool choose_proxy(s3l_service_t* s, const s3l_url_t* url, s3l_proxy_t* out) {
  const char *name, *reason;
  memset(out, 0, sizeof *out);
  if (s->proxies == NULL || !url->tls ||
      s3l_proxy_choose(s->proxies, true, url->host, url->port, out, &name, &reason))
    return true;
  s3l_buf_printf(s->why, "%s %s", name, reason);
  return false;
}

static int open_client(s3l_service_t* s, const s3l_url_t* url) {
  char host[S3L_SERVICE_HOST_MAX];
  s3lect_error_t error = {0};
  s3l_proxy_t proxy;
  if (!choose_proxy(s, url, &proxy))
    return S3LECT_ECREDENTIALS;
  (void)s3l_span_copy(url->host, host, sizeof host); /* a host that was parsed always fits */
  const s3l_http_client_options_t options = {.host = host,
                                             .port = url->port,
                                             .proxy = &proxy,
                                             .tls = url->tls,
                                             .ca_file = url->tls ? s->settings->ca_file : NULL,
                                             .connect_timeout_ms = CONNECT_MS,
                                             .tls_timeout_ms = TLS_MS,
                                             .idle_timeout_ms = IDLE_MS,
                                             .max_connections = 1,
                                             .secret = true,
                                             .ca_option = "ca_file",
                                             .error = &error};
  int err = s3l_http_client_create(s3l_loop_uv(s->loop), &options, &s->client);
  s3l_wipe(&proxy, sizeof proxy);
  if (err != 0) {
    s->client = NULL;
    (void)s3l_error_end(&error, err);
    s3l_buf_printf(s->why, "%s", error.text);
    return err == UV_ENOMEM ? err : S3LECT_ECREDENTIALS;
  }
  s->clients++;
  s->tls = url->tls;
  return 0;
}

static int refuse_origin(s3l_service_t* s, const char* name, const char* reason) {
  s3l_buf_printf(s->why, "%s %s", name, reason);
  return S3LECT_ECREDENTIALS;
}

static int point_at(s3l_service_t* s, const s3l_service_origin_t* origin, const s3l_url_t* url) {
  char header[S3L_SERVICE_HOST_MAX];
  s3l_buf_t b;
  s3l_buf_init(&b, header, sizeof header);
  s3l_url_put_host(&b, url->host, url->ip6, url->port, url->tls);
  (void)s3l_buf_cstr(&b);
  if (!is_allowed(origin, url)) {
    s3l_buf_printf(s->why,
                   "http://%s: plain http is only for loopback and for the metadata addresses of "
                   "clouds; use https",
                   header);
    return S3LECT_ECREDENTIALS;
  }
  if (url->query.p != NULL && !origin->query)
    return refuse_origin(s, origin->name, "must not have a query");
  if (!s3l_span_copy((s3l_span_t){url->path.p, url->path.n + (url->query.p != NULL) + url->query.n},
                     s->path, sizeof s->path))
    return refuse_origin(s, origin->name, "is too long");
  if (s->client != NULL && s->tls == url->tls && s->proxies == origin->proxies &&
      strcmp(header, s->host_header) == 0)
    return 0;
  close_client(s);
  s->proxies = origin->proxies;
  memcpy(s->host_header, header, sizeof s->host_header);
  return open_client(s, url);
}

bool s3l_service_set_origin(s3l_service_t* s, const s3l_service_origin_t* origin) {
  s3l_url_t url = {0};
  const char* reason = NULL;
  int err = s3l_url_parse(origin->url, &url, &reason) ? point_at(s, origin, &url)
                                                      : refuse_origin(s, origin->name, reason);
  if (err != 0)
    s3l_service_end(s, err, NULL);
  return err == 0;
}

/* ---- A token in a file ---- */

static void on_token(s3l_file_t* file, int status) {
  s3l_service_t* s = file->data;
  if (s->cancelled)
    s3l_service_end(s, UV_ECANCELED, NULL);
  else if (status == 0 && s3l_file_line(file).n > 0)
    s->then(s);
  else {
    s3l_buf_printf(s->why, "%s ", s->token_name);
    s3l_reply_put_shown(s->why, s3l_span_cstr(s->token_path), S3L_PATH_SHOWN_MAX);
    s3l_buf_printf(s->why, ": %s",
                   status == 0                ? "is empty"
                   : status == S3LECT_ETOOBIG ? "is too large to be one"
                                              : s3lect_strerror(status));
    s3l_service_end(s, status == UV_ENOMEM ? status : S3LECT_ECREDENTIALS, NULL);
  }
}

void s3l_service_read_token(s3l_service_t* s, const char* path, size_t max, const char* name,
                            void (*then)(s3l_service_t* service)) {
  s->token_name = name;
  s->token_path = path;
  s->then = then;
  s->token_file.data = s;
  int err = s3l_file_start(&s->token_file, s->loop, path, max, on_token);
  if (err != 0)
    on_token(&s->token_file, err);
}

/* ---- Calls ---- */

void s3l_service_put_head(const s3l_service_t* s, s3l_buf_t* b, const char* method,
                          const char* more, const char* last) {
  const char* slash = s->path[0] != '/' && more[0] != '/' ? "/" : "";
  s3l_buf_printf(b,
                 "%s %s%s%s%s HTTP/1.1\r\nhost: %s\r\n"
                 "user-agent: s3lect/" S3LECT_VERSION_STRING "\r\n",
                 method, slash, s->path, more, last, s->host_header);
}

bool s3l_service_is_header_value(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++) {
    if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
      return false;
  }
  return true;
}

void s3l_service_put_form_head(const s3l_service_t* s, s3l_buf_t* b, const char* accept,
                               size_t length) {
  s3l_service_put_head(s, b, "POST", "", "");
  s3l_buf_printf(b, "accept: %s\r\ncontent-type: " S3L_SERVICE_FORM "\r\ncontent-length: %zu\r\n",
                 accept, length);
}

/* The head needs the length of the form, so room is kept for it. */
bool s3l_service_put_form(s3l_service_t* s, s3l_buf_t* b, const char* accept,
                          void (*put_form)(s3l_service_t* service, s3l_buf_t* b)) {
  s3l_buf_t head, body;
  if (b->cap <= HEAD_MAX)
    return false;
  s3l_buf_init(&head, b->p, HEAD_MAX);
  s3l_buf_init(&body, b->p + HEAD_MAX, b->cap - HEAD_MAX);
  put_form(s, &body);
  s3l_service_put_form_head(s, &head, accept, body.len);
  s3l_buf_puts(&head, "\r\n");
  if (head.overflow || body.overflow)
    return false;
  memmove(b->p + head.len, body.p, body.len);
  b->len = head.len + body.len;
  return true;
}

static ssize_t on_compose(s3l_http_req_t* req, char* buf, size_t cap) {
  s3l_service_t* s = req->data;
  s3l_buf_t b;
  s3l_buf_init(&b, buf, cap);
  if (!s->call->compose(s, &b) || b.overflow)
    return UV_ENOBUFS;
  return (ssize_t)b.len;
}

static bool is_worth_another(s3l_service_t* s, const s3l_http_reply_t* reply) {
  if (s->attempt >= s->attempts)
    return false;
  if (reply->http_status == 0)
    return s->call->absent == NULL && s3l_error_is_transient(reply->status);
  return reply->http_status >= 500 || reply->http_status == 429 ||
         (s->call->is_transient != NULL && reply->status == 0 && s->call->is_transient(s, reply));
}

/* The reply to the last call of a question. */
static void end_with(s3l_service_t* s, const s3l_http_reply_t* reply) {
  s3lect_credentials_t* creds = NULL;
  int64_t now = s->settings->wall_ms();
  if (!s3l_service_is_good(reply)) {
    s3l_service_fail_reply(s, reply, reply->http_status == 0 ? s->call->absent : NULL);
    return;
  }
  int status = s->call->parse(reply, now, &creds, s->why);
  if (status == 0 && s->call->least_life_ms > 0 && creds->expires_ms <= now)
    creds->expires_ms = now + s->call->least_life_ms;
  s3l_service_end(s, status, creds);
}

static void on_done(s3l_http_req_t* req, const s3l_http_reply_t* reply) {
  s3l_service_t* s = req->data;
  if (s->cancelled) {
    s3l_service_end(s, UV_ECANCELED, NULL);
  } else if (!s3l_service_is_good(reply) && is_worth_another(s, reply)) {
    uint32_t ms = s3l_backoff_ms(s->settings->retry_delay_ms, RETRY_MAX_MS, s->attempt, &s->prng);
    s3l_loop_deadline_set(s->loop, &s->pause, s3l_clock_in_ms(ms));
  } else if (s->call->done != NULL) {
    s->call->done(s, reply);
  } else {
    end_with(s, reply);
  }
}

static void submit(s3l_service_t* s) {
  if (s->cancelled) {
    s3l_service_end(s, UV_ECANCELED, NULL);
    return;
  }
  s->attempt++;
  s->req.until_ns = s3l_clock_in_ms(s->timeout_ms);
  (void)s3l_http_client_submit(s->client, &s->req); /* refused only when it is closing */
}

void s3l_service_call(s3l_service_t* s, const s3l_service_call_t* call, uint32_t timeout_ms,
                      uint32_t attempts) {
  s->call = call;
  s->attempts = attempts;
  s->attempt = 0;
  s->req.data = s;
  s->req.compose = on_compose;
  s->req.done = on_done;
  s->timeout_ms = timeout_ms;
  s->req.body_max = S3L_SERVICE_BODY_MAX;
  s->req.replayable = true; /* asking twice for credentials harms nobody */
  submit(s);
}

/* ---- The end ---- */

void s3l_service_cancel(s3l_service_t* s) {
  s->cancelled = true;
  s3l_file_cancel(&s->token_file);
  if (s->client != NULL)
    s3l_http_client_cancel(&s->req);
  if (s->pause.set)
    s3l_loop_deadline_set(s->loop, &s->pause, 0);
}

void s3l_service_close(s3l_service_t* s, void (*cb)(void* arg), void* arg) {
  s->close_cb = cb;
  s->close_arg = arg;
  close_client(s);
  end_if_closed(s);
}
