/* wire/http1_fields.c: see http1_fields.h. */
#include "wire/http1_fields.h"

#include <string.h>

#include "s3lect/errno.h"

static int fail(s3l_http1_fields_t* f, int error, const char* reason) {
  f->reason = reason;
  return error;
}

void s3l_http1_fields_start(s3l_http1_fields_t* f, s3l_http_header_t* headers, char* text,
                            size_t text_cap) {
  *f = (s3l_http1_fields_t){.headers = headers, .text = text, .text_cap = text_cap};
}

int s3l_http1_fields_put(s3l_http1_fields_t* f, const char* at, size_t n) {
  if (n > f->text_cap - f->text_len)
    return fail(f, S3LECT_ETOOBIG, S3L_HTTP1_HEAD_LONG);
  memcpy(f->text + f->text_len, at, n);
  f->text_len += n;
  return 0;
}

void s3l_http1_fields_begin(s3l_http1_fields_t* f) {
  f->name_at = f->text_len;
}

int s3l_http1_fields_name_done(s3l_http1_fields_t* f) {
  f->value_at = f->text_len;
  if (f->value_at == f->name_at) /* llhttp 8 lets ": value" pass */
    return fail(f, S3LECT_EBADREPLY, "a header has no name");
  return 0;
}

int s3l_http1_fields_value_done(s3l_http1_fields_t* f) {
  if (f->headers_len == S3L_HTTP_HEADERS_MAX)
    return fail(f, S3LECT_ETOOBIG, "there are too many headers");
  s3l_http_header_t* h = &f->headers[f->headers_len++];
  h->name = (s3l_span_t){f->text + f->name_at, f->value_at - f->name_at};
  h->value = s3l_span_trim((s3l_span_t){f->text + f->value_at, f->text_len - f->value_at});
  f->name_at = f->text_len;
  return 0;
}
