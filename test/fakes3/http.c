/* fakes3/http.c: llhttp's callbacks. They fill conn->building. A complete request becomes
 * conn->active, and the parser pauses, so that requests are served one after another. */
#include <string.h>

#include "fakes3/internal.h"

static fakes3_conn_t* conn_of(llhttp_t* parser) {
  return parser->data;
}

static int on_message_begin(llhttp_t* parser) {
  fakes3_conn_t* c = conn_of(parser);
  c->building = fakes3_request_new(c);
  return 0;
}

/* Fails (HPE_USER) if a limit is exceeded; conn.c makes the reply. */
static int append(fakes3_request_t* r, fakes3_bytes_t* to, const char* p, size_t n) {
  if (r->target.n + r->head.n + n > FAKES3_HEAD_MAX)
    return -1;
  fakes3_put(to, p, n);
  return 0;
}

static int on_url(llhttp_t* parser, const char* p, size_t n) {
  fakes3_request_t* r = conn_of(parser)->building;
  return append(r, &r->target, p, n);
}

/* Notes the end of a name or value; an empty value has an end, too. */
static int end_piece(fakes3_request_t* r) {
  if (r->ends_n == FAKES3_HEADERS_MAX * 2)
    return -1;
  r->ends[r->ends_n++] = (uint32_t)r->head.n;
  return 0;
}

static int on_header_bytes(llhttp_t* parser, const char* p, size_t n) {
  fakes3_request_t* r = conn_of(parser)->building;
  return append(r, &r->head, p, n);
}

static int on_header_end(llhttp_t* parser) {
  return end_piece(conn_of(parser)->building);
}

static void lower(char* p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (p[i] >= 'A' && p[i] <= 'Z')
      p[i] = (char)(p[i] - 'A' + 'a');
  }
}

static void make_headers(fakes3_request_t* r) {
  size_t start = 0;
  fakes3_cstr(&r->head);
  for (size_t i = 0; i + 1 < r->ends_n; i += 2) {
    size_t middle = r->ends[i], end = r->ends[i + 1];
    lower(r->head.p + start, middle - start);
    r->headers[r->headers_n++] =
        (fakes3_pair_t){{r->head.p + start, middle - start},
                        s3l_span_trim((s3l_span_t){r->head.p + middle, end - middle})};
    start = end;
  }
}

/* The S3 code of an error for which AWS rejects a request before it reads the body, or NULL. */
static const char* reject(const fakes3_request_t* r, uint64_t content_length) {
  bool body = r->method == HTTP_PUT || r->method == HTTP_POST;
  if (fakes3_header(r, "transfer-encoding") != NULL)
    return "NotImplemented";
  if (body && fakes3_header(r, "content-length") == NULL)
    return "MissingContentLength";
  return content_length > FAKES3_OBJECT_MAX ? "EntityTooLarge" : NULL;
}

static int on_headers_complete(llhttp_t* parser) {
  fakes3_conn_t* c = conn_of(parser);
  fakes3_request_t* r = c->building;
  r->method = (llhttp_method_t)parser->method;
  r->http10 = parser->http_major == 1 && parser->http_minor == 0;
  r->keep_alive = llhttp_should_keep_alive(parser) != 0;
  make_headers(r);
  bool has_length = fakes3_header(r, "content-length") != NULL;
  r->reject = reject(r, has_length ? parser->content_length : 0);
  if (fakes3_request_is_control(r) && !has_length)
    r->reject = NULL;
  if (r->reject != NULL) {
    c->building = NULL;
    c->active = r;
    return HPE_PAUSED;
  }
  if (has_length && s3l_span_ieq(fakes3_header_value(r, "expect"), S3L_SPAN("100-continue")))
    s3l_test_conn_send(&c->tcp, "HTTP/1.1 100 Continue\r\n\r\n", 25);
  if (!fakes3_request_is_control(r))
    fakes3_handle_headers(r);
  return 0;
}

static int on_body(llhttp_t* parser, const char* p, size_t n) {
  fakes3_request_t* r = conn_of(parser)->building;
  fakes3_put(&r->body, p, n);
  return 0;
}

static int on_message_complete(llhttp_t* parser) {
  fakes3_conn_t* c = conn_of(parser);
  c->active = c->building;
  c->building = NULL;
  return HPE_PAUSED;
}

const llhttp_settings_t* fakes3_http_settings(void) {
  static const llhttp_settings_t settings = {
      .on_message_begin = on_message_begin,
      .on_url = on_url,
      .on_header_field = on_header_bytes,
      .on_header_value = on_header_bytes,
      .on_header_field_complete = on_header_end,
      .on_header_value_complete = on_header_end,
      .on_headers_complete = on_headers_complete,
      .on_body = on_body,
      .on_message_complete = on_message_complete,
  };
  return &settings;
}
