/* http/server_reply.c: see server_reply.h. */
#include "http/server_reply.h"

#include <uv.h>

#include "util/buf.h"
#include "util/mem.h"

/* Status line and the headers that every answer has, generously. */
#define FIXED_MAX 512

const char* s3l_http_status_text(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 204:
    return "No Content";
  case 304:
    return "Not Modified";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 408:
    return "Request Timeout";
  case 413:
    return "Content Too Large";
  case 414:
    return "URI Too Long";
  case 417:
    return "Expectation Failed";
  case 429:
    return "Too Many Requests";
  case 431:
    return "Request Header Fields Too Large";
  case 500:
    return "Internal Server Error";
  case 501:
    return "Not Implemented";
  case 503:
    return "Service Unavailable";
  case 505:
    return "HTTP Version Not Supported";
  default:
    return "";
  }
}

/* A line end in a header would begin another one, or the body. */
static bool is_line(s3l_span_t s) {
  for (size_t i = 0; i < s.n; i++)
    if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t')
      return false;
  return true;
}

static bool is_valid(const s3l_http_answer_t* a) {
  if (a->status < 200 || a->status > 599)
    return false;
  if (a->content_type != NULL && !is_line(s3l_span_cstr(a->content_type)))
    return false;
  for (size_t i = 0; i < a->headers_len; i++)
    if (a->headers[i].name.n == 0 || !is_line(a->headers[i].name) || !is_line(a->headers[i].value))
      return false;
  return true;
}

static void put_header(s3l_buf_t* b, s3l_span_t name, s3l_span_t value) {
  s3l_buf_put(b, name);
  s3l_buf_puts(b, ": ");
  s3l_buf_put(b, value);
  s3l_buf_puts(b, "\r\n");
}

static void put_head(s3l_buf_t* b, const s3l_http_answer_t* a, const s3l_http_reply_to_t* to) {
  s3l_buf_puts(b, "HTTP/1.1 ");
  s3l_buf_u64(b, (uint64_t)a->status);
  s3l_buf_putc(b, ' ');
  s3l_buf_puts(b, s3l_http_status_text(a->status));
  s3l_buf_puts(b, "\r\n");
  put_header(b, S3L_SPAN("Date"), s3l_span_cstr(to->date));
  put_header(b, S3L_SPAN("Cache-Control"), S3L_SPAN("no-store"));
  if (a->content_type != NULL)
    put_header(b, S3L_SPAN("Content-Type"), s3l_span_cstr(a->content_type));
  if (a->status != 204 && a->status != 304) {
    s3l_buf_puts(b, "Content-Length: ");
    s3l_buf_u64(b, a->body.n);
    s3l_buf_puts(b, "\r\n");
  }
  if (to->close)
    put_header(b, S3L_SPAN("Connection"), S3L_SPAN("close"));
  else if (to->http10)
    put_header(b, S3L_SPAN("Connection"), S3L_SPAN("keep-alive"));
  for (size_t i = 0; i < a->headers_len; i++)
    put_header(b, a->headers[i].name, a->headers[i].value);
  s3l_buf_puts(b, "\r\n");
}

int s3l_http_reply_text(const s3l_http_answer_t* a, const s3l_http_reply_to_t* to, char** text,
                        size_t* len) {
  s3l_buf_t b;
  size_t cap = FIXED_MAX + a->body.n;
  if (!is_valid(a))
    return UV_EINVAL;
  if (a->content_type != NULL)
    cap += s3l_span_cstr(a->content_type).n;
  for (size_t i = 0; i < a->headers_len; i++)
    cap += a->headers[i].name.n + a->headers[i].value.n + sizeof(": \r\n");
  char* p = s3l_malloc(cap);
  if (p == NULL)
    return UV_ENOMEM;
  s3l_buf_init(&b, p, cap);
  put_head(&b, a, to);
  if (!to->head && a->status != 204 && a->status != 304)
    s3l_buf_put(&b, a->body);
  if (b.overflow) {
    s3l_free(p);
    return UV_EINVAL;
  }
  *text = p;
  *len = b.len;
  return 0;
}
