#include "wire/http1_parse.h"

#include <errno.h>
#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/url.h"

#define BODY_CAP_MIN 4096

/* The first error counts: llhttp adds its own to the one that a callback gave. */
static int fail(s3l_http1_t* h, int answer, const char* reason) {
  if (h->error == 0) {
    bool too_big = answer == 413 || answer == 414 || answer == 431;
    h->error = too_big ? S3LECT_ETOOBIG : S3LECT_EBADREPLY;
    h->answer = answer;
    h->reason = reason;
  }
  return -1;
}

/* ---- Header fields; after the head come trailers, which are dropped ---- */

static int put_text(s3l_http1_t* h, const char* at, size_t n) {
  if (n > h->text_cap - h->text_len)
    return fail(h, h->in_target ? 414 : 431, "the head is too long");
  memmove(h->text + h->text_len, at, n); /* not byte by byte: see s3l_buf_put */
  h->text_len += n;
  return 0;
}

static int on_url(llhttp_t* ll, const char* at, size_t n) {
  return put_text(ll->data, at, n);
}

static int on_url_complete(llhttp_t* ll) {
  s3l_http1_t* h = ll->data;
  h->name_at = h->text_len;
  h->in_target = false;
  h->path = (s3l_span_t){h->text, h->text_len}; /* split later */
  return 0;
}

static int on_header_text(llhttp_t* ll, const char* at, size_t n) {
  s3l_http1_t* h = ll->data;
  return h->head_done ? 0 : put_text(h, at, n);
}

static int on_header_field_complete(llhttp_t* ll) {
  s3l_http1_t* h = ll->data;
  h->value_at = h->text_len;
  if (!h->head_done && h->value_at == h->name_at) /* llhttp 8 accepts ": value" */
    return fail(h, 400, "a header has no name");
  return 0;
}

static int on_header_value_complete(llhttp_t* ll) {
  s3l_http1_t* h = ll->data;
  if (h->head_done)
    return 0;
  if (h->found == S3L_HTTP_HEADERS_MAX)
    return fail(h, 431, "there are too many headers");
  h->headers[h->found++] = (s3l_http_header_t){
      .name = {h->text + h->name_at, h->value_at - h->name_at},
      .value = s3l_span_trim((s3l_span_t){h->text + h->value_at, h->text_len - h->value_at})};
  h->name_at = h->text_len;
  return 0;
}

/* ---- A request's head ---- */

static size_t count_headers(const s3l_http1_t* h, const char* name, s3l_span_t* first) {
  s3l_span_t want = s3l_span_cstr(name);
  size_t count = 0;
  *first = (s3l_span_t){NULL, 0};
  for (size_t i = 0; i < h->found; i++) {
    if (!s3l_span_ieq(h->headers[i].name, want))
      continue;
    if (count++ == 0)
      *first = h->headers[i].value;
  }
  return count;
}

/* Visible ASCII, without the characters of `none`. */
static bool is_plain(s3l_span_t s, const char* none) {
  for (size_t i = 0; i < s.n; i++) {
    if (strchr(none, s.p[i]) != NULL)
      return false;
  }
  return s3l_span_is_visible(s);
}

static int check_host(s3l_http1_t* h) {
  s3l_span_t host;
  size_t count = count_headers(h, "host", &host);
  if (count > 1)
    return fail(h, 400, "there are several Host headers");
  if (count == 0 && !h->http10)
    return fail(h, 400, "there is no Host header");
  if (!is_plain(host, "/\\?#@,\"<>"))
    return fail(h, 400, "the Host header is invalid");
  return 0;
}

static int check_framing(s3l_http1_t* h) {
  static const char unclear[] = "it is not clear where the request ends";
  s3l_span_t coding, length, expect;
  size_t codings = count_headers(h, "transfer-encoding", &coding);
  size_t lengths = count_headers(h, "content-length", &length);
  if (lengths > 1 || (codings > 0 && (lengths > 0 || h->http10)))
    return fail(h, 400, unclear);
  if (codings > 1 || (codings == 1 && !s3l_span_ieq(coding, S3L_SPAN("chunked"))))
    return fail(h, 501, "no transfer coding but chunked is understood");
  if ((codings > 0) != ((h->llhttp.flags & F_CHUNKED) != 0) ||
      (lengths > 0) != ((h->llhttp.flags & F_CONTENT_LENGTH) != 0))
    return fail(h, 400, unclear); /* llhttp sees other framing */
  if (codings == 0 && h->llhttp.content_length > h->body_max)
    return fail(h, 413, "the body is too long");
  /* The client may send without asking: the body is ignored. */
  if (count_headers(h, "expect", &expect) > 0)
    return fail(h, 417, "expectations are not met");
  return 0;
}

static int split_target(s3l_http1_t* h) {
  s3l_span_t target = h->path;
  s3l_url_t url;
  if (!is_plain(target, "#"))
    return fail(h, 400, "the target is invalid");
  if (s3l_span_eq(target, S3L_SPAN("*")))
    return 0;
  if (target.n > 0 && target.p[0] == '/') {
    const char* mark = memchr(target.p, '?', target.n);
    if (mark != NULL) {
      h->path.n = (size_t)(mark - target.p);
      h->query = (s3l_span_t){mark + 1, target.n - h->path.n - 1};
    }
    return 0;
  }
  if (!s3l_url_parse(target, &url, NULL))
    return fail(h, 400, "the target is invalid");
  h->path = url.path.n > 0 ? url.path : S3L_SPAN("/");
  h->query = url.query;
  return 0;
}

static int take_request_head(s3l_http1_t* h) {
  llhttp_t* ll = &h->llhttp;
  if (ll->http_major != 1 || ll->http_minor > 1)
    return fail(h, 505, "it is neither HTTP/1.1 nor 1.0");
  h->http10 = ll->http_minor == 0;
  if (ll->method == HTTP_CONNECT)
    return fail(h, 501, "CONNECT is for proxies");
  if (check_host(h) != 0 || check_framing(h) != 0 || split_target(h) != 0)
    return -1;
  h->method = ll->method == HTTP_GET    ? S3L_HTTP_GET
              : ll->method == HTTP_HEAD ? S3L_HTTP_HEAD
                                        : S3L_HTTP_OTHER;
  ll->upgrade = 0; /* what follows is HTTP/1.1 as before */
  h->head_done = true;
  return HPE_PAUSED; /* so that head and body are counted apart */
}

/* ---- A reply's head and body ---- */

static bool is_interim(const s3l_http1_t* h) {
  return !h->is_request && h->llhttp.status_code < 200;
}

static int take_reply_head(s3l_http1_t* h) {
  enum { BODY_AS_FRAMED = 0, NO_BODY = 1 };
  int status = h->llhttp.status_code;
  if (h->llhttp.http_major != 1)
    return fail(h, 505, "it is not HTTP/1.x");
  if (status < 100 || status == 101)
    return fail(h, 400, "the status is none that was asked for");
  if (is_interim(h))
    return NO_BODY;
  h->head_done = true;
  h->status = status;
  h->headers_len = h->found;
  if (h->head_request || status == 204 || status == 304)
    return NO_BODY;
  if (h->llhttp.content_length > h->body_max)
    return fail(h, 413, "the body is too long");
  return BODY_AS_FRAMED;
}

static int on_headers_complete(llhttp_t* ll) {
  s3l_http1_t* h = ll->data;
  return h->is_request ? take_request_head(h) : take_reply_head(h);
}

static int grow(s3l_http1_t* h, size_t need) {
  uint64_t framed = h->llhttp.content_length; /* of the body or chunk, as far as it is known */
  size_t cap = h->body_cap < BODY_CAP_MIN / 2 ? BODY_CAP_MIN : h->body_cap * 2;
  if (framed <= h->body_max && cap < framed)
    cap = (size_t)framed;
  if (cap > h->body_max || h->secret) /* growing would leave copies behind */
    cap = h->body_max;
  if (cap < need)
    cap = need;
  char* body = s3l_realloc(h->body, cap);
  if (body == NULL) {
    h->error = -ENOMEM;
    h->reason = "out of memory";
    return -1;
  }
  h->body = body;
  h->body_cap = cap;
  return 0;
}

static int on_body(llhttp_t* ll, const char* at, size_t n) {
  s3l_http1_t* h = ll->data;
  if (h->is_request)
    return 0;
  if (n > h->body_max - h->body_len)
    return fail(h, 413, "the body is too long");
  if (n > h->body_cap - h->body_len && grow(h, h->body_len + n) != 0)
    return -1;
  memmove(h->body + h->body_len, at, n);
  h->body_len += n;
  return 0;
}

static int on_message_complete(llhttp_t* ll) {
  s3l_http1_t* h = ll->data;
  if (!is_interim(h)) {
    h->keep_alive = llhttp_should_keep_alive(ll) != 0; /* must be asked before llhttp goes on */
    h->headers_len = h->found;
    h->done = true;
  }
  return HPE_PAUSED; /* so that bytes after the message are not taken for another one */
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_header_field = on_header_text,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_text,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ---- The caller's side ---- */

static void begin_head(s3l_http1_t* h) {
  llhttp_init(&h->llhttp, h->is_request ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
  h->llhttp.data = h;
  h->text_len = h->name_at = h->found = 0;
}

static void start(s3l_http1_t* h, bool is_request, size_t body_max) {
  h->is_request = h->in_target = is_request;
  h->body_max = body_max;
  h->headers_len = h->body_len = 0;
  h->keep_alive = h->http10 = false;
  h->status = h->answer = h->error = 0;
  h->reason = NULL;
  h->method = S3L_HTTP_OTHER;
  h->path = h->query = (s3l_span_t){NULL, 0};
  h->head_raw = h->body_raw = 0;
  h->last = '\0';
  h->head_done = h->done = false;
  begin_head(h);
}

void s3l_http1_init(s3l_http1_t* h, char* text, size_t text_cap) {
  h->text = text;
  h->text_cap = text_cap;
  h->body = NULL;
  h->body_cap = 0;
  h->secret = false;
  s3l_http1_start_reply(h, false, 0);
}

void s3l_http1_start_reply(s3l_http1_t* h, bool head_request, size_t body_max) {
  if (h->body_cap > S3L_HTTP1_BODY_KEEP)
    s3l_http1_free(h);
  h->head_request = head_request;
  start(h, false, body_max);
}

void s3l_http1_start_request(s3l_http1_t* h, size_t body_max) {
  start(h, true, body_max);
}

void s3l_http1_free(s3l_http1_t* h) {
  if (h->secret && h->body != NULL)
    s3l_wipe(h->body, h->body_cap);
  s3l_free(h->body);
  h->body = NULL;
  h->body_cap = 0;
  h->body_len = 0;
}

bool s3l_http1_begun(const s3l_http1_t* h) {
  return h->head_raw > 0;
}

/* Runs llhttp over `n` bytes; *used is how many it took. */
static int execute(s3l_http1_t* h, const char* data, size_t n, size_t* used) {
  llhttp_errno_t e = llhttp_execute(&h->llhttp, data, n);
  *used = n;
  if (e == HPE_OK)
    return S3L_HTTP1_MORE;
  if (e == HPE_PAUSED) {
    *used = (size_t)(llhttp_get_error_pos(&h->llhttp) - data);
    S3L_ASSERT(*used <= n);
    if (h->done)
      return S3L_HTTP1_DONE;
    if (h->is_request)
      llhttp_resume(&h->llhttp); /* its body follows */
    else
      begin_head(h); /* that was an interim reply */
    return S3L_HTTP1_MORE;
  }
  if (h->is_request && (e == HPE_PAUSED_H2_UPGRADE || e == HPE_INVALID_VERSION))
    fail(h, 505, "it is neither HTTP/1.1 nor 1.0");
  fail(h, 400, llhttp_get_error_reason(&h->llhttp)); /* keeps an error set earlier */
  return h->error;
}

/* llhttp gets no more than a head, or a request's body, may still have. This also bounds what is
 * not stored: blank lines, reason phrases, interim replies, chunk framing. */
static size_t allowance(const s3l_http1_t* h) {
  if (!h->head_done)
    return h->text_cap - h->head_raw;
  return h->is_request ? h->body_max - h->body_raw : SIZE_MAX;
}

static int fail_size(s3l_http1_t* h) {
  if (h->head_done)
    fail(h, 413, "the body is too long");
  else if (h->in_target)
    fail(h, 414, "the target is too long");
  else
    fail(h, 431, "the head is too long");
  return h->error;
}

/* Whether no line continues the one before it, and none ends without CR: llhttp accepts both. */
static bool lines_are_plain(s3l_http1_t* h, const char* head, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char last = h->last;
    h->last = head[i];
    if (head[i] == '\n' ? last != '\r' : last == '\n' && (head[i] == ' ' || head[i] == '\t'))
      return false;
  }
  return true;
}

/* After llhttp has taken the piece of a request's head. */
static int check_request_head(s3l_http1_t* h, const char* data, size_t n) {
  size_t used;
  if (!lines_are_plain(h, data, n)) {
    fail(h, 400, "a header line is folded, or ends without CR");
    return h->error;
  }
  /* A body of length 0 ends with the head: llhttp says so when it runs once more. */
  return h->head_done ? execute(h, "", 0, &used) : S3L_HTTP1_MORE;
}

int s3l_http1_feed(s3l_http1_t* h, const char* data, size_t n, size_t* used) {
  size_t at = 0;
  int rc = h->error;
  S3L_ASSERT(!h->done);
  while (rc == S3L_HTTP1_MORE && at < n) {
    bool in_head = !h->head_done;
    size_t step = n - at < allowance(h) ? n - at : allowance(h);
    size_t did;
    if (step == 0) {
      rc = fail_size(h);
      break;
    }
    rc = execute(h, data + at, step, &did);
    if (in_head)
      h->head_raw += did;
    else
      h->body_raw += did;
    if (rc == S3L_HTTP1_MORE && in_head && h->is_request)
      rc = check_request_head(h, data + at, did);
    at += did;
  }
  *used = at;
  return rc;
}

int s3l_http1_eof(s3l_http1_t* h) {
  S3L_ASSERT(!h->done);
  if (h->error != 0)
    return h->error;
  (void)llhttp_finish(&h->llhttp); /* calls on_message_complete if that is a good end */
  if (h->done) {
    h->keep_alive = false;
    return S3L_HTTP1_DONE;
  }
  fail(h, 400, "it ends too early");
  return h->error;
}
