/* wire/http1_parse.c: see http1_parse.h. */
#include "wire/http1_parse.h"

#include <errno.h>
#include <string.h>

#include "s3lect/errno.h"
#include "util/assert.h"
#include "util/mem.h"

#define BODY_CAP_MIN 4096

static int fail(s3l_http1_parse_t* p, int error, const char* reason) {
  if (p->error == 0) {
    p->error = error;
    p->reason = reason;
  }
  return -1;
}

static int check(s3l_http1_parse_t* p, int error) {
  return error == 0 ? 0 : fail(p, error, p->fields.reason);
}

/* After the head come trailers: not wanted. */
static int on_header_text(llhttp_t* ll, const char* at, size_t n) {
  s3l_http1_parse_t* p = ll->data;
  return p->head_done ? 0 : check(p, s3l_http1_fields_put(&p->fields, at, n));
}

static int on_header_field_complete(llhttp_t* ll) {
  s3l_http1_parse_t* p = ll->data;
  return p->head_done ? 0 : check(p, s3l_http1_fields_name_done(&p->fields));
}

static int on_header_value_complete(llhttp_t* ll) {
  s3l_http1_parse_t* p = ll->data;
  return p->head_done ? 0 : check(p, s3l_http1_fields_value_done(&p->fields));
}

static bool is_interim(const llhttp_t* ll) {
  return ll->status_code < 200;
}

static int on_headers_complete(llhttp_t* ll) {
  enum { BODY_AS_FRAMED = 0, NO_BODY = 1 };
  s3l_http1_parse_t* p = ll->data;
  if (ll->http_major != 1)
    return fail(p, S3LECT_EBADREPLY, "it is not HTTP/1.x");
  if (ll->status_code < 100 || ll->status_code == 101)
    return fail(p, S3LECT_EBADREPLY, "the status is none that was asked for");
  if (is_interim(ll))
    return NO_BODY;
  p->head_done = true;
  p->status = ll->status_code;
  p->headers_len = p->fields.headers_len;
  if (p->head_request || p->status == 204 || p->status == 304)
    return NO_BODY;
  if (ll->content_length > p->body_max)
    return fail(p, S3LECT_ETOOBIG, "the body is too long");
  return BODY_AS_FRAMED;
}

static int grow(s3l_http1_parse_t* p, size_t need) {
  uint64_t framed = p->llhttp.content_length; /* of the body or chunk, as far as it is known */
  size_t cap = p->body_cap < BODY_CAP_MIN / 2 ? BODY_CAP_MIN : p->body_cap * 2;
  if (framed <= p->body_max && cap < framed)
    cap = (size_t)framed;
  if (cap > p->body_max || p->secret) /* growing would leave copies behind */
    cap = p->body_max;
  if (cap < need)
    cap = need;
  char* body = s3l_realloc(p->body, cap);
  if (body == NULL)
    return fail(p, -ENOMEM, "out of memory");
  p->body = body;
  p->body_cap = cap;
  return 0;
}

static int on_body(llhttp_t* ll, const char* at, size_t n) {
  s3l_http1_parse_t* p = ll->data;
  if (n > p->body_max - p->body_len)
    return fail(p, S3LECT_ETOOBIG, "the body is too long");
  if (n > p->body_cap - p->body_len && grow(p, p->body_len + n) != 0)
    return -1;
  memcpy(p->body + p->body_len, at, n);
  p->body_len += n;
  return 0;
}

static int on_message_complete(llhttp_t* ll) {
  s3l_http1_parse_t* p = ll->data;
  if (!is_interim(ll)) {
    p->keep_alive = llhttp_should_keep_alive(ll) != 0; /* must be asked before llhttp goes on */
    p->done = true;
  }
  return HPE_PAUSED; /* so that bytes after the message are not taken for another one */
}

static const llhttp_settings_t settings = {
    .on_header_field = on_header_text,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_text,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static void restart(s3l_http1_parse_t* p) {
  llhttp_init(&p->llhttp, HTTP_RESPONSE, &settings);
  p->llhttp.data = p;
  s3l_http1_fields_start(&p->fields, p->headers, p->head, sizeof(p->head));
}

void s3l_http1_parse_init(s3l_http1_parse_t* p) {
  p->body = NULL;
  p->body_cap = 0;
  p->secret = false;
  s3l_http1_parse_start(p, false, 0);
}

void s3l_http1_parse_start(s3l_http1_parse_t* p, bool head_request, size_t body_max) {
  restart(p);
  if (p->body_cap > S3L_HTTP1_BODY_KEEP)
    s3l_http1_parse_free(p);
  p->status = 0;
  p->headers_len = 0;
  p->body_len = 0;
  p->body_max = body_max;
  p->keep_alive = false;
  p->reason = NULL;
  p->head_raw = 0;
  p->error = 0;
  p->head_request = head_request;
  p->head_done = false;
  p->done = false;
}

void s3l_http1_parse_free(s3l_http1_parse_t* p) {
  if (p->secret && p->body != NULL)
    s3l_wipe(p->body, p->body_cap);
  s3l_free(p->body);
  p->body = NULL;
  p->body_cap = 0;
  p->body_len = 0;
}

bool s3l_http1_parse_begun(const s3l_http1_parse_t* p) {
  return p->head_raw > 0;
}

/* One run of llhttp over `n` bytes; *used says how far it came. */
static int execute(s3l_http1_parse_t* p, const char* data, size_t n, size_t* used) {
  llhttp_errno_t e = llhttp_execute(&p->llhttp, data, n);
  *used = n;
  if (e == HPE_OK)
    return S3L_HTTP1_MORE;
  if (e == HPE_PAUSED) {
    *used = (size_t)(llhttp_get_error_pos(&p->llhttp) - data);
    S3L_ASSERT(*used <= n);
    if (p->done)
      return S3L_HTTP1_DONE;
    restart(p); /* an interim reply: the next head follows */
    return S3L_HTTP1_MORE;
  }
  fail(p, S3LECT_EBADREPLY, llhttp_get_error_reason(&p->llhttp)); /* keeps an error set earlier */
  return p->error;
}

int s3l_http1_parse_feed(s3l_http1_parse_t* p, const char* data, size_t n, size_t* used) {
  size_t at = 0;
  int rc = p->error;
  S3L_ASSERT(!p->done);
  while (rc == S3L_HTTP1_MORE && at < n) {
    size_t step = n - at;
    size_t did = 0;
    /* While a head is being read, llhttp gets no more than what a head may still have: this bounds
     * everything that is not stored too (blank lines, the reason phrase, interim replies). */
    bool in_head = !p->head_done;
    if (in_head && step > S3L_HTTP1_HEAD_MAX - p->head_raw)
      step = S3L_HTTP1_HEAD_MAX - p->head_raw;
    if (step == 0) {
      fail(p, S3LECT_ETOOBIG, S3L_HTTP1_HEAD_LONG);
      rc = p->error;
      break;
    }
    rc = execute(p, data + at, step, &did);
    at += did;
    if (in_head)
      p->head_raw += did;
  }
  *used = at;
  return rc;
}

int s3l_http1_parse_eof(s3l_http1_parse_t* p) {
  S3L_ASSERT(!p->done);
  if (p->error != 0)
    return p->error;
  (void)llhttp_finish(&p->llhttp); /* calls on_message_complete if that is a good end */
  if (p->done) {
    p->keep_alive = false;
    return S3L_HTTP1_DONE;
  }
  fail(p, S3LECT_EBADREPLY, "it ends too early");
  return p->error;
}
