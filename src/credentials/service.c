#include "credentials/service.h"

#include <stdio.h>
#include <string.h>

#include "s3lect/errno.h"
#include "s3lect/version.h"
#include "util/error_kind.h"
#include "util/mem.h"
#include "util/timefmt.h"

#define CONNECT_MS 2000
#define TLS_MS     3000
#define IDLE_MS    1000 /* its buffers hold secrets until it is closed */

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

/* ---- The client ---- */

void s3l_service_init(s3l_service_t* s, uv_loop_t* loop, const char* ca_file,
                      const s3l_proxy_rules_t* proxies) {
  memset(s, 0, sizeof(*s));
  s->loop = loop;
  s->ca_file = ca_file;
  s->proxies = proxies;
}

static void end_if_closed(s3l_service_t* s) {
  if (!s->closing || s->clients > 0 || s->has_timer || s->close_cb == NULL)
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

static bool write_host(const s3l_url_t* url, char* out, size_t cap) {
  s3l_buf_t b;
  s3l_buf_init(&b, out, cap);
  s3l_url_put_host(&b, url->host, url->ip6, url->port, url->tls);
  return s3l_buf_cstr(&b) != NULL;
}

/* False, with a line in `why`, if what names it is wrong. */
static bool choose_proxy(const s3l_service_t* s, const s3l_url_t* url, s3l_proxy_t* out,
                         s3l_buf_t* why) {
  const char *name, *reason;
  memset(out, 0, sizeof(*out));
  if (s->proxies == NULL || !url->tls ||
      s3l_proxy_choose(s->proxies, true, url->host, url->port, out, &name, &reason))
    return true;
  s3l_buf_puts(why, name);
  s3l_buf_putc(why, ' ');
  s3l_buf_puts(why, reason);
  return false;
}

int s3l_service_aim(s3l_service_t* s, const s3l_url_t* url, s3l_buf_t* why) {
  char host[S3L_SERVICE_HOST_MAX], header[S3L_SERVICE_HOST_MAX];
  s3lect_error_t error = {0};
  if (!s3l_span_copy(url->host, host, sizeof(host)) || !write_host(url, header, sizeof(header)))
    return S3LECT_ECREDENTIALS; /* a host that was parsed always fits */
  if (!s3l_service_allows(url)) {
    s3l_buf_puts(why, "http://");
    s3l_buf_puts(why, header);
    s3l_buf_puts(why,
                 ": plain http is only for loopback and for the metadata addresses of AWS; use "
                 "https");
    return S3LECT_ECREDENTIALS;
  }
  if (s->client != NULL && s->tls == url->tls && strcmp(header, s->host_header) == 0)
    return 0;
  s3l_proxy_t proxy;
  if (!choose_proxy(s, url, &proxy, why))
    return S3LECT_EOPTION;
  const s3l_http_client_options_t options = {.host = host,
                                             .port = url->port,
                                             .proxy = &proxy,
                                             .tls = url->tls,
                                             .ca_file = url->tls ? s->ca_file : NULL,
                                             .connect_timeout_ms = CONNECT_MS,
                                             .tls_timeout_ms = TLS_MS,
                                             .idle_timeout_ms = IDLE_MS,
                                             .max_connections = 1,
                                             .secret = true,
                                             .ca_option = "ca_file",
                                             .error = &error};
  close_client(s);
  int err = s3l_http_client_create(s->loop, &options, &s->client);
  s3l_wipe(&proxy, sizeof(proxy));
  if (err != 0) {
    s->client = NULL;
    (void)s3l_error_end(&error, err);
    s3l_buf_puts(why, error.text);
    return err;
  }
  s->clients++;
  s->tls = url->tls;
  memcpy(s->host_header, header, sizeof(s->host_header));
  return 0;
}

/* ---- A call ---- */

void s3l_service_put_head(const s3l_service_t* s, s3l_buf_t* b, const char* method,
                          s3l_span_t path) {
  s3l_buf_puts(b, method);
  s3l_buf_putc(b, ' ');
  s3l_buf_put(b, path.n > 0 ? path : S3L_SPAN("/"));
  s3l_buf_puts(b, " HTTP/1.1\r\nhost: ");
  s3l_buf_puts(b, s->host_header);
  s3l_buf_puts(b, "\r\nuser-agent: s3lect/" S3LECT_VERSION_STRING "\r\n");
}

static ssize_t on_compose(s3l_http_req_t* req, char* buf, size_t cap) {
  s3l_service_t* s = req->data;
  s3l_buf_t b;
  s3l_buf_init(&b, buf, cap);
  if (!s->call.compose(s, &b) || b.overflow)
    return UV_ENOBUFS;
  return (ssize_t)b.len;
}

static bool is_worth_another(s3l_service_t* s, const s3l_http_reply_t* reply) {
  if (s->attempt >= s->call.attempts)
    return false;
  if (reply->http_status == 0)
    return s3l_error_is_transient(reply->status);
  return reply->http_status >= 500 || reply->http_status == 429 ||
         (s->call.passing != NULL && reply->status == 0 && s->call.passing(s, reply));
}

static void submit(s3l_service_t* s);

static void on_timer(uv_timer_t* timer) {
  s3l_service_t* s = S3L_CONTAINER_OF(timer, s3l_service_t, timer);
  submit(s);
}

static void on_done(s3l_http_req_t* req, const s3l_http_reply_t* reply) {
  s3l_service_t* s = req->data;
  if (s->closing)
    return;
  bool ok = reply->status == 0 && reply->http_status == 200;
  if (!ok && is_worth_another(s, reply)) {
    (void)uv_timer_start(&s->timer, on_timer, s->call.delay_ms, 0);
    return;
  }
  s->busy = false;
  s->why[0] = '\0';
  if (reply->status == UV_ENOBUFS)
    (void)snprintf(s->why, sizeof(s->why), "what there is to be sent to %s is too long",
                   s->host_header);
  else if (reply->status != 0)
    (void)snprintf(s->why, sizeof(s->why), "%s",
                   reply->message != NULL ? reply->message : s3lect_strerror(reply->status));
  else if (!ok)
    (void)snprintf(s->why, sizeof(s->why), "%s answered %d", s->host_header, reply->http_status);
  s->call.done(s, ok, reply, s->why);
}

static void submit(s3l_service_t* s) {
  s->attempt++;
  s->req.data = s;
  s->req.compose = on_compose;
  s->req.done = on_done;
  s->req.timeout_ms = s->call.timeout_ms;
  s->req.body_max = S3L_SERVICE_BODY_MAX;
  s->req.replayable = true;                         /* asking twice for credentials harms nobody */
  (void)s3l_http_client_submit(s->client, &s->req); /* refused only when it is closing */
}

void s3l_service_call(s3l_service_t* s, const s3l_service_call_t* call) {
  if (!s->has_timer)
    (void)uv_timer_init(s->loop, &s->timer); /* cannot fail */
  s->has_timer = true;
  s->call = *call;
  s->attempt = 0;
  s->busy = true;
  submit(s);
}

int64_t s3l_service_local_ms(const s3l_http_reply_t* reply, int64_t time_ms, int64_t now_ms) {
  int64_t date_ms;
  if (!s3l_time_parse_http(s3l_http_reply_header(reply, "date"), &date_ms))
    return time_ms;
  return time_ms - date_ms + now_ms;
}

/* ---- The end ---- */

static void on_timer_closed(uv_handle_t* handle) {
  s3l_service_t* s = S3L_CONTAINER_OF(handle, s3l_service_t, timer);
  s->has_timer = false;
  end_if_closed(s);
}

void s3l_service_close(s3l_service_t* s, void (*cb)(void* arg), void* arg) {
  s->closing = true;
  s->close_cb = cb;
  s->close_arg = arg;
  close_client(s);
  if (s->has_timer)
    uv_close((uv_handle_t*)&s->timer, on_timer_closed);
  end_if_closed(s);
}
