#include "util/url.h"

#include "util/hex.h"

#define HOST_MAX 253

static uint16_t standard_port(bool tls) {
  return tls ? 443 : 80;
}

static bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t find(s3l_span_t s, const char* any) {
  for (size_t i = 0; i < s.n; i++) {
    for (const char* p = any; *p != '\0'; p++) {
      if (s.p[i] == *p)
        return i;
    }
  }
  return s.n;
}

static s3l_span_t from(s3l_span_t s, size_t at) {
  return (s3l_span_t){s.p + at, s.n - at};
}

/* Splits "host:port" or "[v6]:port"; *port is what stands behind the colon, p == NULL without one.
 */
static bool split_authority(s3l_span_t s, s3l_url_t* url, s3l_span_t* port) {
  size_t end;
  *port = (s3l_span_t){NULL, 0};
  url->ip6 = s.n > 0 && s.p[0] == '[';
  if (url->ip6) {
    end = find(s, "]");
    if (end == s.n)
      return false;
    url->host = (s3l_span_t){s.p + 1, end - 1};
    end++;
  } else {
    end = find(s, ":");
    url->host = (s3l_span_t){s.p, end};
  }
  if (end == s.n)
    return true;
  if (s.p[end] != ':')
    return false;
  *port = from(s, end + 1);
  return true;
}

static bool host_is_valid(const s3l_url_t* url) {
  s3l_span_t h = url->host;
  size_t colons = 0;
  if (h.n == 0 || h.n > HOST_MAX)
    return false;
  for (size_t i = 0; i < h.n; i++) {
    char c = h.p[i];
    if (url->ip6 ? s3l_hex_digit(c) < 0 && c != ':' && c != '.'
                 : !is_alnum(c) && c != '-' && c != '.' && c != '_')
      return false;
    colons += c == ':';
  }
  return url->ip6 ? colons >= 2 : h.p[0] != '.' && h.p[0] != '-';
}

static bool refuse(const char** reason, const char* text) {
  if (reason != NULL)
    *reason = text;
  return false;
}

bool s3l_url_parse(s3l_span_t text, s3l_url_t* url, const char** reason) {
  s3l_span_t port;
  uint64_t number;
  if (!s3l_span_is_visible(text))
    return refuse(reason, "must not contain blanks, control or non-ASCII characters");
  size_t scheme = find(text, ":");
  s3l_span_t name = {text.p, scheme};
  url->tls = s3l_span_ieq(name, S3L_SPAN("https"));
  if ((!url->tls && !s3l_span_ieq(name, S3L_SPAN("http"))) ||
      !s3l_span_starts_with(from(text, scheme), S3L_SPAN("://")))
    return refuse(reason, "must begin with http:// or https://");
  s3l_span_t rest = from(text, scheme + 3);
  if (find(rest, "#") < rest.n)
    return refuse(reason, "must not have a fragment (#...)");
  size_t slash = find(rest, "/?");
  s3l_span_t authority = {rest.p, slash};
  rest = from(rest, slash);
  if (find(authority, "@") < authority.n)
    return refuse(reason, "must not contain user information (user@)");
  if (!split_authority(authority, url, &port) || !host_is_valid(url))
    return refuse(reason, "must name a host: http[s]://host[:port]");
  url->port = standard_port(url->tls);
  if (port.p != NULL) {
    if (port.n > 5 || !s3l_span_to_u64(port, &number) || number < 1 || number > 65535)
      return refuse(reason, "must have a port of 1 to 65535");
    url->port = (uint16_t)number;
  }
  size_t query = find(rest, "?");
  url->path = (s3l_span_t){rest.p, query};
  url->query = query < rest.n ? from(rest, query + 1) : (s3l_span_t){NULL, 0};
  return true;
}

bool s3l_url_host_is_ip(s3l_span_t host) {
  int dots = 0;
  if (find(host, ":") < host.n)
    return true;
  for (size_t i = 0; i < host.n; i++) {
    if (host.p[i] == '.')
      dots++;
    else if (!is_digit(host.p[i]))
      return false;
  }
  return dots == 3;
}

void s3l_url_put_host(s3l_buf_t* b, s3l_span_t host, bool ip6, uint16_t port, bool tls) {
  s3l_buf_puts(b, ip6 ? "[" : "");
  s3l_buf_put(b, host);
  s3l_buf_puts(b, ip6 ? "]" : "");
  if (port != standard_port(tls)) {
    s3l_buf_putc(b, ':');
    s3l_buf_u64(b, port);
  }
}

void s3l_url_encode(s3l_buf_t* b, s3l_span_t s, bool keep_slash) {
  static const char digits[] = "0123456789ABCDEF";
  size_t plain = 0; /* start of a run that needs no escape */
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slash))
      continue;
    unsigned char u = (unsigned char)c;
    const char escape[3] = {'%', digits[u >> 4], digits[u & 15]};
    s3l_buf_put(b, (s3l_span_t){s.p + plain, i - plain});
    s3l_buf_put(b, (s3l_span_t){escape, 3});
    plain = i + 1;
  }
  if (plain < s.n)
    s3l_buf_put(b, (s3l_span_t){s.p + plain, s.n - plain});
}
