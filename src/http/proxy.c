#include "http/proxy.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "util/base64.h"
#include "util/hex.h"
#include "util/mem.h"
#include "util/url.h"

#define USER_MAX 255

/* ---- Proxy URLs ---- */

static size_t find_last(s3l_span_t s, char c) {
  for (size_t i = s.n; i > 0; i--) {
    if (s.p[i - 1] == c)
      return i - 1;
  }
  return s.n;
}

static bool refuse(const char** reason, const char* text) {
  *reason = text;
  return false;
}

/* user:password with its escapes (%40) undone. */
static bool decode_user(s3l_span_t text, s3l_buf_t* out) {
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (c == '%') {
      uint8_t byte;
      if (i + 2 >= text.n || !s3l_hex_decode((s3l_span_t){text.p + i + 1, 2}, &byte, 1))
        return false;
      c = (char)byte;
      i += 2;
    }
    s3l_buf_putc(out, c);
  }
  return !out->overflow;
}

static bool take_user(s3l_span_t user, s3l_proxy_t* out, const char** reason) {
  char plain[2 * USER_MAX + 1];
  s3l_buf_t b;
  s3l_buf_init(&b, plain, sizeof(plain));
  bool good = decode_user(user, &b);
  if (good) {
    s3l_buf_t header;
    if (memchr(b.p, ':', b.len) == NULL)
      s3l_buf_putc(&b, ':');
    s3l_buf_init(&header, out->authorization, sizeof(out->authorization));
    s3l_buf_puts(&header, "Basic ");
    s3l_base64_encode(&header, b.p, b.len);
    good = !b.overflow && s3l_buf_cstr(&header) != NULL;
  }
  s3l_wipe(plain, sizeof(plain));
  return good || refuse(reason, "must have a user and password of moderate length, with a good "
                                "%XX for each special character");
}

/* The scheme, which may be missing, is cut off; a space in it would stop the URL parser anyway. */
static bool cut_scheme(s3l_span_t* text, const char** reason) {
  static const char mark[] = "://";
  for (size_t i = 0; i + 3 <= text->n; i++) {
    if (memcmp(text->p + i, mark, 3) != 0)
      continue;
    s3l_span_t scheme = {text->p, i};
    if (s3l_span_ieq(scheme, S3L_SPAN("https")))
      return refuse(reason, "must begin with http://: TLS to the proxy itself is not supported");
    if (!s3l_span_ieq(scheme, S3L_SPAN("http")))
      return refuse(reason, "must begin with http://: no other kind of proxy is supported");
    *text = (s3l_span_t){text->p + i + 3, text->n - i - 3};
    return true;
  }
  return true;
}

bool s3l_proxy_parse(s3l_span_t text, s3l_proxy_t* out, const char** reason) {
  char host[S3L_HTTP_HOST_MAX + 32];
  s3l_buf_t b;
  s3l_url_t url;
  memset(out, 0, sizeof(*out));
  text = s3l_span_trim(text);
  if (!cut_scheme(&text, reason))
    return false;
  size_t at = find_last(text, '@');
  if (at < text.n) {
    if (!take_user((s3l_span_t){text.p, at}, out, reason))
      return false;
    text = (s3l_span_t){text.p + at + 1, text.n - at - 1};
  }
  s3l_buf_init(&b, host, sizeof(host));
  s3l_buf_puts(&b, "http://");
  s3l_buf_put(&b, text);
  if (b.overflow || !s3l_url_parse(s3l_buf_span(&b), &url, reason))
    return b.overflow ? refuse(reason, "must not be that long") : false;
  if (url.query.p != NULL || (url.path.n > 0 && !s3l_span_eq(url.path, S3L_SPAN("/"))))
    return refuse(reason, "must end with the host or port");
  out->used = s3l_span_copy(url.host, out->host, sizeof(out->host));
  out->port = url.port;
  return true;
}

/* ---- NO_PROXY ---- */

typedef struct address_s {
  int bits; /* 32, 128; 0: no address */
  unsigned char bytes[16];
} address_t;

static address_t parse_address(s3l_span_t text) {
  char cstr[64];
  address_t a = {0, {0}};
  if (!s3l_span_copy(text, cstr, sizeof(cstr)))
    return a;
  if (uv_inet_pton(AF_INET, cstr, a.bytes) == 0)
    a.bits = 32;
  else if (uv_inet_pton(AF_INET6, cstr, a.bytes) == 0)
    a.bits = 128;
  return a;
}

static bool same_bits(const address_t* a, const address_t* b, uint64_t n) {
  size_t whole = (size_t)n / 8;
  unsigned rest = (unsigned)n % 8;
  if (a->bits != b->bits || n > (uint64_t)a->bits || memcmp(a->bytes, b->bytes, whole) != 0)
    return false;
  unsigned mask = 0xffu << (8 - rest) & 0xffu;
  return rest == 0 || (a->bytes[whole] & mask) == (b->bytes[whole] & mask);
}

static bool block_holds(s3l_span_t entry, const address_t* host) {
  uint64_t bits;
  size_t slash = find_last(entry, '/');
  if (host->bits == 0 || slash == entry.n)
    return false;
  address_t block = parse_address((s3l_span_t){entry.p, slash});
  return s3l_span_to_u64((s3l_span_t){entry.p + slash + 1, entry.n - slash - 1}, &bits) &&
         same_bits(&block, host, bits);
}

static bool name_fits(s3l_span_t entry, s3l_span_t host) {
  bool below_only = entry.n > 0 && entry.p[0] == '.';
  if (!below_only && s3l_span_ieq(entry, host))
    return true;
  if (below_only) {
    entry.p++;
    entry.n--;
  }
  if (entry.n == 0 || host.n <= entry.n || host.p[host.n - entry.n - 1] != '.')
    return false;
  return s3l_span_ieq((s3l_span_t){host.p + host.n - entry.n, entry.n}, entry);
}

/* Takes ":port" and brackets off an entry; false if the port is another one. */
static bool take_port(s3l_span_t* entry, uint16_t port) {
  uint64_t wanted;
  size_t colon = find_last(*entry, ':');
  bool bracketed = entry->n > 0 && entry->p[0] == '[';
  bool ip6 = !bracketed && colon < entry->n && memchr(entry->p, ':', colon) != NULL;
  if (bracketed) {
    size_t end = find_last(*entry, ']');
    if (end == entry->n)
      return false;
    s3l_span_t rest = {entry->p + end, entry->n - end};
    *entry = (s3l_span_t){entry->p + 1, end - 1};
    if (rest.n <= 1)
      return true;
    return rest.p[1] == ':' && s3l_span_to_u64((s3l_span_t){rest.p + 2, rest.n - 2}, &wanted) &&
           wanted == port;
  }
  if (ip6 || colon == entry->n)
    return true;
  bool same = s3l_span_to_u64((s3l_span_t){entry->p + colon + 1, entry->n - colon - 1}, &wanted) &&
              wanted == port;
  entry->n = colon;
  return same;
}

static bool entry_fits(s3l_span_t entry, s3l_span_t host, uint16_t port) {
  if (s3l_span_eq(entry, S3L_SPAN("*")))
    return true;
  address_t address = parse_address(host);
  if (block_holds(entry, &address))
    return true;
  if (entry.n == 0 || !take_port(&entry, port))
    return false;
  address_t wanted = parse_address(entry);
  if (address.bits != 0 || wanted.bits != 0)
    return address.bits != 0 && same_bits(&wanted, &address, (uint64_t)address.bits);
  return name_fits(entry, host);
}

bool s3l_proxy_excludes(s3l_span_t list, s3l_span_t host, uint16_t port) {
  while (list.n > 0) {
    const char* comma = memchr(list.p, ',', list.n);
    size_t n = comma != NULL ? (size_t)(comma - list.p) : list.n;
    if (entry_fits(s3l_span_trim((s3l_span_t){list.p, n}), host, port))
      return true;
    n += comma != NULL ? 1 : 0;
    list = (s3l_span_t){list.p + n, list.n - n};
  }
  return false;
}

/* ---- The environment ---- */

static const char* variable(const char* name) {
  const char* value = getenv(name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool is_local(s3l_span_t host) {
  address_t a = parse_address(host);
  static const address_t loopback6 = {128, {[15] = 1}};
  return s3l_span_ieq(host, S3L_SPAN("localhost")) || (a.bits == 32 && a.bytes[0] == 127) ||
         (a.bits == 128 && same_bits(&a, &loopback6, 128));
}

s3l_proxy_rules_t s3l_proxy_rules(const char* option) {
  s3l_proxy_rules_t r = {.option = option, .https_name = "https_proxy"};
  r.https = variable(r.https_name);
  if (r.https == NULL) {
    r.https_name = "HTTPS_PROXY";
    r.https = variable(r.https_name);
  }
  r.http = variable("http_proxy");
  r.none = variable("no_proxy");
  if (r.none == NULL)
    r.none = variable("NO_PROXY");
  return r;
}

int s3l_proxy_rules_copy(const s3l_proxy_rules_t* rules, s3l_proxy_rules_t* out) {
  *out = (s3l_proxy_rules_t){.option = s3l_strdup(rules->option),
                             .https = s3l_strdup(rules->https),
                             .https_name = rules->https_name,
                             .http = s3l_strdup(rules->http),
                             .none = s3l_strdup(rules->none)};
  if ((out->option == NULL) == (rules->option == NULL) &&
      (out->https == NULL) == (rules->https == NULL) &&
      (out->http == NULL) == (rules->http == NULL) && (out->none == NULL) == (rules->none == NULL))
    return 0;
  s3l_proxy_rules_free(out);
  return UV_ENOMEM;
}

static void drop(const char** text) {
  char* own = (char*)(uintptr_t)*text; /* that of a copy */
  if (own != NULL)
    s3l_wipe(own, strlen(own));
  s3l_free(own);
  *text = NULL;
}

void s3l_proxy_rules_free(s3l_proxy_rules_t* rules) {
  drop(&rules->option);
  drop(&rules->https);
  drop(&rules->http);
  drop(&rules->none);
}

bool s3l_proxy_choose(const s3l_proxy_rules_t* rules, bool tls, s3l_span_t host, uint16_t port,
                      s3l_proxy_t* out, const char** name, const char** reason) {
  memset(out, 0, sizeof(*out));
  *name = rules->option != NULL ? "proxy" : tls ? rules->https_name : "http_proxy";
  const char* proxy = rules->option != NULL ? rules->option : tls ? rules->https : rules->http;
  if (proxy == NULL || proxy[0] == '\0')
    return true;
  if (rules->option == NULL &&
      (is_local(host) || s3l_proxy_excludes(s3l_span_cstr(rules->none), host, port)))
    return true;
  return s3l_proxy_parse(s3l_span_cstr(proxy), out, reason);
}
