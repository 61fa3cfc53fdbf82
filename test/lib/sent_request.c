#include "lib/sent_request.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"

static s3l_span_t take_until(s3l_span_t* s, const char* end) {
  size_t n = strlen(end);
  for (size_t i = 0; i + n <= s->n; i++) {
    if (memcmp(s->p + i, end, n) == 0) {
      s3l_span_t head = {s->p, i};
      s->p += i + n;
      s->n -= i + n;
      return head;
    }
  }
  fail_msg("no end of line");
  return *s;
}

void sent_request_parse(s3l_span_t rest, sent_request_t* p) {
  s3l_span_t line = take_until(&rest, "\r\n");
  p->method = take_until(&line, " ");
  s3l_span_t target = take_until(&line, " ");
  assert_true(s3l_span_eq(line, S3L_SPAN("HTTP/1.1")));
  p->path = target;
  p->query = S3L_SPAN("");
  if (memchr(target.p, '?', target.n) != NULL) {
    p->path = take_until(&target, "?");
    p->query = target;
  }
  for (p->headers_len = 0;; p->headers_len++) {
    line = take_until(&rest, "\r\n");
    if (line.n == 0)
      break;
    assert_true(p->headers_len < sizeof(p->headers) / sizeof(p->headers[0]));
    p->headers[p->headers_len].name = take_until(&line, ": ");
    p->headers[p->headers_len].value = line;
  }
  p->body = rest;
}

s3l_span_t sent_request_header(const sent_request_t* p, const char* name) {
  s3l_span_t found = {NULL, 0};
  for (size_t i = 0; i < p->headers_len; i++) {
    if (s3l_span_ieq(p->headers[i].name, s3l_span_cstr(name))) {
      assert_null(found.p);
      found = p->headers[i].value;
    }
  }
  return found;
}

void assert_header(const sent_request_t* p, const char* name, const char* want) {
  s3l_span_t value = sent_request_header(p, name);
  if (!s3l_span_eq(value, s3l_span_cstr(want)) || (value.p == NULL) != (want == NULL))
    fail_msg("%s is %.*s", name, (int)value.n, value.p == NULL ? "" : value.p);
}

bool sent_request_signs(const sent_request_t* p, s3l_span_t name) {
  s3l_span_t auth = sent_request_header(p, "authorization");
  (void)take_until(&auth, "SignedHeaders=");
  s3l_span_t list = take_until(&auth, ", ");
  while (list.n > 0) {
    const char* semicolon = memchr(list.p, ';', list.n);
    size_t n = semicolon == NULL ? list.n : (size_t)(semicolon - list.p);
    if (s3l_span_ieq((s3l_span_t){list.p, n}, name))
      return true;
    list.p += n + (semicolon != NULL);
    list.n -= n + (semicolon != NULL);
  }
  return false;
}

void assert_signature(const sent_request_t* p, const char* prefix, const s3l_sigv4_scope_t* scope,
                      const s3l_s3_keys_t* keys) {
  s3l_sigv4_pair_t signed_headers[24];
  char payload[40], date[40], hash[65], want[1024];
  (void)snprintf(payload, sizeof(payload), "%s-content-sha256", prefix);
  (void)snprintf(date, sizeof(date), "%s-date", prefix);
  s3l_sigv4_request_t r = {p->method,      p->path, p->query,
                           signed_headers, 0,       sent_request_header(p, payload)};
  s3l_signer_t store;
  s3l_buf_t b;
  for (size_t i = 0; i < p->headers_len; i++) {
    if (sent_request_signs(p, p->headers[i].name))
      signed_headers[r.headers_len++] = p->headers[i];
  }
  assert_true(s3l_signer_open(&store));
  assert_true(s3l_sha256_hex(&store.engine, p->body, hash));
  assert_header(p, payload, hash);
  assert_header(p, date, scope->time);
  s3l_buf_init(&b, want, sizeof(want));
  assert_true(s3l_signer_authorization(&store, &r, scope, keys->access_key, keys->secret, &b));
  assert_header(p, "authorization", s3l_buf_cstr(&b));
  s3l_signer_close(&store);
}
