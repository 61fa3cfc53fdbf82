/* wire/http1.h: the header of an HTTP/1.1 message, for the parser and for those who read its
 * result. */
#ifndef S3L_WIRE_HTTP1_H
#define S3L_WIRE_HTTP1_H

#include <stddef.h>

#include "util/span.h"

/* S3 sends about a dozen headers; proxies add a few. */
#define S3L_HTTP_HEADERS_MAX 64

typedef struct s3l_http_header_s {
  s3l_span_t name;  /* as received; compare with s3l_span_ieq */
  s3l_span_t value; /* without surrounding blanks */
} s3l_http_header_t;

#endif
