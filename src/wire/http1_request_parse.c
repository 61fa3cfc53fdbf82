/* wire/http1_request_parse.c: see http1_request_parse.h. */
#include "wire/http1_request_parse.h"

#include <errno.h>
#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/mem.h"
#include "util/url.h"

/* The first error counts: llhttp adds its own to one that a callback gave. */
static int fail(s3l_http1_request_t* r, int answer, const char* reason) {
  if (r->answer == 0) {
    r->answer = answer;
    r->reason = reason;
  }
  return -1;
}

static int check(s3l_http1_request_t* r, int error) {
  if (error == 0)
    return 0;
  if (error != S3LECT_ETOOBIG)
    return fail(r, 400, r->fields.reason);
  return fail(r, 431, r->fields.reason);
}

/* ---- what llhttp tells ---- */

static int on_url(llhttp_t* ll, const char* at, size_t n) {
  s3l_http1_request_t* r = ll->data;
  return check(r, s3l_http1_fields_put(&r->fields, at, n));
}

static int on_url_complete(llhttp_t* ll) {
  s3l_http1_request_t* r = ll->data;
  r->target_len = r->fields.text_len;
  r->in_target = false;
  s3l_http1_fields_begin(&r->fields);
  return 0;
}

/* After the head come trailers: not wanted. */
static int on_header_text(llhttp_t* ll, const char* at, size_t n) {
  s3l_http1_request_t* r = ll->data;
  return r->head_done ? 0 : check(r, s3l_http1_fields_put(&r->fields, at, n));
}

static int on_header_field_complete(llhttp_t* ll) {
  s3l_http1_request_t* r = ll->data;
  return r->head_done ? 0 : check(r, s3l_http1_fields_name_done(&r->fields));
}

static int on_header_value_complete(llhttp_t* ll) {
  s3l_http1_request_t* r = ll->data;
  return r->head_done ? 0 : check(r, s3l_http1_fields_value_done(&r->fields));
}

/* ---- what a head must be ---- */

static size_t count_headers(const s3l_http1_request_t* r, const char* name, s3l_span_t* first) {
  s3l_span_t want = s3l_span_cstr(name);
  size_t count = 0;
  *first = (s3l_span_t){NULL, 0};
  for (size_t i = 0; i < r->fields.headers_len; i++) {
    if (!s3l_span_ieq(r->headers[i].name, want))
      continue;
    if (count++ == 0)
      *first = r->headers[i].value;
  }
  return count;
}

static bool is_printable(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++)
    if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7f)
      return false;
  return true;
}

/* A host and a port have none of these: with them it would be something else. */
static bool is_host(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++)
    if (strchr("/\\?#@,\"<>", s.p[i]) != NULL)
      return false;
  return is_printable(s);
}

static int check_host(s3l_http1_request_t* r) {
  s3l_span_t host;
  size_t count = count_headers(r, "host", &host);
  if (count > 1)
    return fail(r, 400, "there are several Host headers");
  if (count == 0 && !r->http10)
    return fail(r, 400, "there is no Host header");
  if (count == 1 && !is_host(host))
    return fail(r, 400, "the Host header is none");
  return 0;
}

static int check_framing(s3l_http1_request_t* r) {
  s3l_span_t coding, length, expect;
  size_t codings = count_headers(r, "transfer-encoding", &coding);
  size_t lengths = count_headers(r, "content-length", &length);
  if (lengths > 1 || (codings > 0 && (lengths > 0 || r->http10)))
    return fail(r, 400, "it is not clear where the request ends");
  if (codings > 1 || (codings == 1 && !s3l_span_ieq(coding, S3L_SPAN("chunked"))))
    return fail(r, 501, "no transfer coding but chunked is understood");
  if ((codings > 0) != ((r->llhttp.flags & F_CHUNKED) != 0) ||
      (lengths > 0) != ((r->llhttp.flags & F_CONTENT_LENGTH) != 0))
    return fail(r, 400, "it is not clear where the request ends"); /* not as llhttp sees it */
  if (codings == 0 && r->llhttp.content_length > r->body_max)
    return fail(r, 413, "the body is too long");
  /* Whoever asks first is told to send without asking: bodies mean nothing here. */
  if (count_headers(r, "expect", &expect) > 0)
    return fail(r, 417, "expectations are not met");
  return 0;
}

static int split_target(s3l_http1_request_t* r) {
  s3l_span_t target = {r->text, r->target_len};
  s3l_url_t url;
  if (!is_printable(target) || memchr(target.p, '#', target.n) != NULL)
    return fail(r, 400, "the target is none");
  if (s3l_span_eq(target, S3L_SPAN("*"))) {
    r->path = target;
    return 0;
  }
  if (target.n > 0 && target.p[0] == '/') {
    const char* mark = memchr(target.p, '?', target.n);
    r->path = target;
    if (mark != NULL) {
      r->path.n = (size_t)(mark - target.p);
      r->query = (s3l_span_t){mark + 1, target.n - r->path.n - 1};
    }
    return 0;
  }
  if (!s3l_url_parse(target, &url, NULL))
    return fail(r, 400, "the target is none");
  r->path = url.path.n > 0 ? url.path : S3L_SPAN("/");
  r->query = url.query;
  return 0;
}

static int on_headers_complete(llhttp_t* ll) {
  s3l_http1_request_t* r = ll->data;
  if (ll->http_major != 1 || ll->http_minor > 1)
    return fail(r, 505, "it is neither HTTP/1.1 nor 1.0");
  r->http10 = ll->http_minor == 0;
  if (ll->method == HTTP_CONNECT)
    return fail(r, 501, "CONNECT is for proxies");
  if (check_host(r) != 0 || check_framing(r) != 0 || split_target(r) != 0)
    return -1;
  ll->upgrade = 0; /* what follows is HTTP/1.1 as before */
  r->head_done = true;
  return HPE_PAUSED; /* so that head and body are counted apart */
}

static int on_message_complete(llhttp_t* ll) {
  s3l_http1_request_t* r = ll->data;
  r->keep_alive = llhttp_should_keep_alive(ll) != 0; /* must be asked before llhttp goes on */
  r->done = true;
  return HPE_PAUSED; /* so that the next request waits for its turn */
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_header_field = on_header_text,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_text,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_message_complete = on_message_complete,
};

/* ---- the caller's side ---- */

int s3l_http1_request_init(s3l_http1_request_t* r, size_t head_max, size_t body_max) {
  r->text = s3l_malloc(head_max);
  if (r->text == NULL)
    return -ENOMEM;
  r->head_max = head_max;
  r->body_max = body_max;
  s3l_http1_request_start(r);
  return 0;
}

void s3l_http1_request_start(s3l_http1_request_t* r) {
  llhttp_init(&r->llhttp, HTTP_REQUEST, &settings);
  r->llhttp.data = r;
  s3l_http1_fields_start(&r->fields, r->headers, r->text, r->head_max);
  r->method = S3L_HTTP_OTHER;
  r->path = r->query = (s3l_span_t){NULL, 0};
  r->headers_len = 0;
  r->keep_alive = r->http10 = false;
  r->answer = 0;
  r->reason = NULL;
  r->head_raw = r->body_raw = r->target_len = 0;
  r->last = '\0';
  r->in_target = true;
  r->head_done = r->done = false;
}

void s3l_http1_request_free(s3l_http1_request_t* r) {
  s3l_free(r->text);
  r->text = NULL;
}

bool s3l_http1_request_begun(const s3l_http1_request_t* r) {
  return r->head_raw > 0;
}

static int finish(s3l_http1_request_t* r) {
  if (r->llhttp.method == HTTP_GET)
    r->method = S3L_HTTP_GET;
  else if (r->llhttp.method == HTTP_HEAD)
    r->method = S3L_HTTP_HEAD;
  r->headers_len = r->fields.headers_len;
  return S3L_HTTP1_DONE;
}

/* One run of llhttp over `n` bytes; *used says how far it came. False: it is over, well or not. */
static bool execute(s3l_http1_request_t* r, const char* data, size_t n, size_t* used) {
  llhttp_errno_t e = llhttp_execute(&r->llhttp, data, n);
  *used = n;
  if (e == HPE_OK)
    return true;
  if (e == HPE_PAUSED) {
    *used = (size_t)(llhttp_get_error_pos(&r->llhttp) - data);
    S3L_ASSERT(*used <= n);
    if (!r->done)
      llhttp_resume(&r->llhttp); /* the head is complete */
    return !r->done;
  }
  *used = 0;
  if (e == HPE_PAUSED_H2_UPGRADE || e == HPE_INVALID_VERSION)
    fail(r, 505, "it is neither HTTP/1.1 nor 1.0");
  fail(r, 400, llhttp_get_error_reason(&r->llhttp)); /* keeps an error set earlier */
  return false;
}

/* llhttp gets no more than what a head, or a body, may still have: this bounds everything that is
 * not stored too. 0: nothing more. */
static size_t allowance(const s3l_http1_request_t* r) {
  return r->head_done ? r->body_max - r->body_raw : r->head_max - r->head_raw;
}

static void refuse_size(s3l_http1_request_t* r) {
  if (r->head_done)
    fail(r, 413, "the body is too long");
  else if (r->in_target)
    fail(r, 414, "the target is too long");
  else
    fail(r, 431, S3L_HTTP1_HEAD_LONG);
}

/* A body of length 0 ends with the head: llhttp says so when it is run once more. */
static bool ends_with_head(s3l_http1_request_t* r) {
  size_t used;
  return !execute(r, "", 0, &used);
}

/* llhttp takes lines that go on in the next one, and such that end without CR. */
static bool lines_are_plain(s3l_http1_request_t* r, const char* head, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char last = r->last;
    r->last = head[i];
    if (head[i] == '\n' ? last != '\r' : last == '\n' && (head[i] == ' ' || head[i] == '\t'))
      return false;
  }
  return true;
}

int s3l_http1_request_feed(s3l_http1_request_t* r, const char* data, size_t n, size_t* used) {
  size_t at = 0;
  bool more = true;
  S3L_ASSERT(!r->done && r->answer == 0);
  while (more && at < n) {
    size_t step = n - at;
    size_t did = 0;
    bool in_head = !r->head_done;
    if (step > allowance(r))
      step = allowance(r);
    if (step == 0) {
      refuse_size(r);
      break;
    }
    more = execute(r, data + at, step, &did);
    at += did;
    if (in_head)
      r->head_raw += did;
    else
      r->body_raw += did;
    if (in_head && !lines_are_plain(r, data + at - did, did))
      more = fail(r, 400, "a header line is folded, or ends without CR") == 0;
    if (more && in_head && r->head_done)
      more = !ends_with_head(r);
  }
  *used = at;
  if (r->answer != 0)
    return S3L_HTTP1_REFUSED;
  return r->done ? finish(r) : S3L_HTTP1_MORE;
}
