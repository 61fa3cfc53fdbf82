/* util/url.h: http and https URLs as spans, and percent-encoding as S3 signs it.
 *
 * Only what an endpoint needs: user information, fragments, zone identifiers and escapes within the
 * host are refused. The spans point into the text that was parsed. */
#ifndef S3L_UTIL_URL_H
#define S3L_UTIL_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/span.h"

typedef struct s3l_url_s {
  bool tls;         /* https */
  bool ip6;         /* host is an IPv6 literal (given without its brackets) */
  s3l_span_t host;  /* 1..253 bytes */
  uint16_t port;    /* 80 or 443 where none is given */
  s3l_span_t path;  /* from the first '/', without query; may be empty */
  s3l_span_t query; /* behind '?'; p == NULL where there is none */
} s3l_url_t;

/** False, with a reason such as "must name a host", if it is no such URL. `reason` may be NULL. */
bool s3l_url_parse(s3l_span_t text, s3l_url_t* url, const char** reason);

/** True for an address literal, of either family. */
bool s3l_url_host_is_ip(s3l_span_t host);

/** Writes "host:port" as in a Host header: brackets around an IPv6 address, without the scheme's
 * standard port. */
void s3l_url_put_host(s3l_buf_t* b, s3l_span_t host, bool ip6, uint16_t port, bool tls);

/** Percent-encodes every byte but A-Z a-z 0-9 - . _ ~, and with `keep_slash` but '/'. */
void s3l_url_encode(s3l_buf_t* b, s3l_span_t s, bool keep_slash);

#endif
