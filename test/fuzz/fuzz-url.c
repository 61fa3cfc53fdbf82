/* URLs, and percent-encoding. Input: a URL; the same bytes are encoded, too. */
#include <stdio.h>

#include "fuzz.h"
#include "util/hex.h"
#include "util/url.h"

/* Written anew from its parts it is the same URL. */
static void check_again(const s3l_url_t* url) {
  char text[8192];
  s3l_url_t again;
  int n = snprintf(text, sizeof(text), "%s://%s%.*s%s:%u%.*s%s%.*s", url->tls ? "https" : "http",
                   url->ip6 ? "[" : "", (int)url->host.n, url->host.p, url->ip6 ? "]" : "",
                   url->port, (int)url->path.n, url->path.p, url->query.p != NULL ? "?" : "",
                   (int)url->query.n, url->query.p != NULL ? url->query.p : "");
  if (n < 0 || (size_t)n >= sizeof(text))
    return;
  FUZZ_CHECK(s3l_url_parse((s3l_span_t){text, (size_t)n}, &again, NULL));
  FUZZ_CHECK(again.tls == url->tls && again.ip6 == url->ip6 && again.port == url->port);
  FUZZ_CHECK(s3l_span_eq(again.host, url->host) && s3l_span_eq(again.path, url->path));
  FUZZ_CHECK(s3l_span_eq(again.query, url->query));
  FUZZ_CHECK((again.query.p == NULL) == (url->query.p == NULL));
}

static void check_encoding(s3l_span_t s, bool keep_slash) {
  size_t cap = 3 * s.n + 1;
  size_t at = 0;
  char* text = malloc(cap);
  s3l_buf_t b;
  FUZZ_CHECK(text != NULL);
  s3l_buf_init(&b, text, cap);
  s3l_url_encode(&b, s, keep_slash);
  FUZZ_CHECK(!b.overflow && b.len >= s.n);
  for (size_t i = 0; i < b.len; i++, at++) {
    uint8_t byte = (uint8_t)text[i];
    FUZZ_CHECK(byte > 0x20 && byte < 0x7f && (byte != '/' || keep_slash) && at < s.n);
    if (byte == '%') {
      FUZZ_CHECK(s3l_hex_decode((s3l_span_t){text + i + 1, 2}, &byte, 1));
      i += 2;
    }
    FUZZ_CHECK(byte == (uint8_t)s.p[at]);
  }
  FUZZ_CHECK(at == s.n);
  s3l_buf_init(&b, text, s.n);
  s3l_url_encode(&b, s, keep_slash); /* may not fit, and says so */
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz_input_t in = {data, size};
  s3l_span_t text = fuzz_rest(&in);
  s3l_url_t url;
  const char* reason = NULL;
  if (s3l_url_parse(text, &url, &reason)) {
    FUZZ_CHECK(url.host.n >= 1 && url.host.n <= 253 && fuzz_within(url.host, text));
    FUZZ_CHECK(url.port >= 1);
    FUZZ_CHECK(url.path.n == 0 || (url.path.p[0] == '/' && fuzz_within(url.path, text)));
    FUZZ_CHECK(url.query.p == NULL || fuzz_within(url.query, text));
    FUZZ_CHECK(!url.ip6 || s3l_url_host_is_ip(url.host));
    check_again(&url);
  } else {
    FUZZ_CHECK(reason != NULL && fuzz_is_line(reason));
  }
  check_encoding(text, false);
  check_encoding(text, true);
  return 0;
}
