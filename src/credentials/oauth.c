#include "credentials/oauth.h"

#include <string.h>

#include "credentials/reply.h"
#include "util/assert.h"

#define QUERY_MAX 1024

void s3l_oauth_begin(s3l_oauth_t* o, const char* header, s3l_span_t header_value) {
  S3L_ASSERT(s3l_span_is_visible(header_value)); /* a line end would smuggle headers in */
  memset(o, 0, sizeof *o);
  o->header = header;
  o->header_value = header_value;
}

void s3l_oauth_add(s3l_oauth_t* o, const char* name, s3l_span_t value) {
  S3L_ASSERT(o->fields_len < S3L_OAUTH_FIELDS_MAX);
  if (value.n == 0)
    return;
  o->fields[o->fields_len].name = name;
  o->fields[o->fields_len++].value = value;
}

static void put_fields(s3l_service_t* s, s3l_buf_t* b) {
  const s3l_oauth_t* o = s->data;
  for (unsigned i = 0; i < o->fields_len; i++) {
    s3l_buf_printf(b, "%s%s=", i > 0 ? "&" : "", o->fields[i].name);
    s3l_url_encode(b, o->fields[i].value, false);
  }
}

static bool put_get(s3l_service_t* s, s3l_buf_t* b) {
  const s3l_oauth_t* o = s->data;
  char query[QUERY_MAX];
  s3l_buf_t q;
  s3l_buf_init(&q, query, sizeof query);
  s3l_buf_putc(&q, strchr(s->path, '?') != NULL ? '&' : '?');
  put_fields(s, &q);
  if (s3l_buf_cstr(&q) == NULL)
    return false;
  s3l_service_put_head(s, b, "GET", "", query);
  s3l_buf_printf(b, "accept: application/json\r\n%s: %.*s\r\n\r\n", o->header,
                 (int)o->header_value.n, o->header_value.p);
  return true;
}

bool s3l_oauth_compose(s3l_service_t* s, s3l_buf_t* b) {
  const s3l_oauth_t* o = s->data;
  return o->header != NULL ? put_get(s, b)
                           : s3l_service_put_form(s, b, "application/json", put_fields);
}

const s3l_service_call_t s3l_oauth_call = {.compose = s3l_oauth_compose,
                                           .parse = s3l_reply_token_json};
