/* Every case is run whole, one byte at a time, and at seeded random splits: the outcome must be the
 * same each time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "util/prng.h"
#include "wire/http1_parse.h"

#define RANDOM_RUNS 50
#define HEAD_MAX    1024
#define BODY_MAX    32

typedef struct case_s {
  const char* name;
  const char* bytes;
  size_t n; /* 0: strlen(bytes) */

  int answer; /* != 0: refused with it; 0 and path NULL: more is needed */
  const char* method;
  const char* path;
  const char* query; /* NULL: none */
  size_t headers_len;
  size_t unused; /* bytes left over when done */
  bool close;    /* the connection is not to be kept */
} case_t;

#define H "Host: x\r\n"

/* A request that is accepted, and one that is refused. */
#define GOOD(n, b, m, p, q, headers)                                                               \
  { .name = (n), .bytes = (b), .method = (m), .path = (p), .query = (q), .headers_len = (headers) }
#define BAD(n, b, status)                                                                          \
  { .name = (n), .bytes = (b), .answer = (status) }

static const case_t cases[] = {
    GOOD("the simplest", "GET / HTTP/1.1\r\n" H "\r\n", "GET", "/", NULL, 1),
    GOOD("query", "GET /a/b%20c?x=1?&y HTTP/1.1\r\n" H "Prefer:  wait=10 \r\n\r\n", "GET",
         "/a/b%20c", "x=1?&y", 2),
    GOOD("empty query", "HEAD /? HTTP/1.1\r\n" H "\r\n", "HEAD", "/", "", 1),
    GOOD("blank line before it", "\r\nGET / HTTP/1.1\r\n" H "\r\n", "GET", "/", NULL, 1),
    GOOD("absolute form", "GET http://h:80/p?q HTTP/1.1\r\n" H "\r\n", "GET", "/p", "q", 1),
    GOOD("absolute form without a path", "GET https://[::1]:8443 HTTP/1.1\r\n" H "\r\n", "GET", "/",
         NULL, 1),
    BAD("absolute form with a user", "GET http://u@h/ HTTP/1.1\r\n" H "\r\n", 400),
    BAD("another scheme", "GET ftp://h/ HTTP/1.1\r\n" H "\r\n", 400),
    GOOD("asterisk", "OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS", "*", NULL, 1),
    BAD("fragment", "GET /a#b HTTP/1.1\r\n" H "\r\n", 400),
    BAD("CONNECT", "CONNECT h:443 HTTP/1.1\r\n" H "\r\n", 501),
    {.name = "upgrade is ignored",
     .bytes = "GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\nGET",
     .method = "GET",
     .path = "/",
     .headers_len = 3,
     .unused = 3},
    {.name = "pipelined",
     .bytes = "GET /1 HTTP/1.1\r\n" H "\r\nGET /2 HTTP/1.1\r\n" H "\r\n",
     .method = "GET",
     .path = "/1",
     .headers_len = 1,
     .unused = 28},
    {.name = "connection: close",
     .bytes = "GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n",
     .method = "GET",
     .path = "/",
     .headers_len = 2,
     .close = true},
    {.name = "HTTP/1.0 needs no host",
     .bytes = "GET / HTTP/1.0\r\n\r\n",
     .method = "GET",
     .path = "/",
     .close = true},
    GOOD("HTTP/1.0 with keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET", "/",
         NULL, 1),
    {.name = "body with a length",
     .bytes = "POST /b HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhelloX",
     .method = "POST",
     .path = "/b",
     .headers_len = 2,
     .unused = 1},
    {.name = "body of exactly the limit",
     .bytes =
         "PUT / HTTP/1.1\r\n" H "Content-Length: 32\r\n\r\n01234567890123456789012345678901GET",
     .method = "PUT",
     .path = "/",
     .headers_len = 2,
     .unused = 3},
    BAD("length above the limit", "PUT / HTTP/1.1\r\n" H "Content-Length: 33\r\n\r\n", 413),
    {.name = "length of zero",
     .bytes = "PUT / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\nG",
     .method = "PUT",
     .path = "/",
     .headers_len = 2,
     .unused = 1},
    {.name = "body not complete", .bytes = "PUT / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nab"},
    BAD("length above 2^64", "PUT / HTTP/1.1\r\n" H "Content-Length: 18446744073709551616\r\n\r\n",
        400),
    BAD("negative length", "PUT / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", 400),
    {.name = "chunks and a trailer",
     .bytes = "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n"
              "3;x=y\r\nabc\r\n0\r\nT: t\r\n\r\nGET",
     .method = "PUT",
     .path = "/",
     .headers_len = 2,
     .unused = 3},
    {.name = "chunks of exactly the limit, framing included",
     .bytes = "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
              "16\r\n0123456789012345678901\r\n1\r\n",
     .n = 80},
    BAD("chunks above the limit",
        "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
        "1C\r\n0123456789012345678901234567\r\n0\r\n\r\n",
        413),
    BAD("endless chunk extension",
        "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
        "1;eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
        413),
    BAD("endless trailer",
        "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
        "0\r\nTrailer: tttttttttttttttttttttttttttttttttttt",
        413),
    BAD("length and chunks",
        "PUT / HTTP/1.1\r\n" H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    BAD("chunks and length",
        "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400),
    BAD("two lengths", "PUT / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
        400),
    BAD("chunks in HTTP/1.0", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    BAD("gzip and chunks", "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    BAD("chunks twice",
        "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        400),
    BAD("identity", "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", 501),
    BAD("expectation", "PUT / HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        417),
    BAD("no host", "GET / HTTP/1.1\r\n\r\n", 400),
    BAD("two hosts", "GET / HTTP/1.1\r\n" H H "\r\n", 400),
    GOOD("empty host is one", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET", "/", NULL, 1),
    BAD("host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400),
    BAD("host with a blank", "GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400),
    BAD("HTTP/2", "GET / HTTP/2.0\r\n" H "\r\n", 505),
    BAD("HTTP/2 with its preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    BAD("HTTP/1.2", "GET / HTTP/1.2\r\n" H "\r\n", 505),
    BAD("HTTP/0.9", "GET /\r\n\r\n", 505),
    BAD("unknown method", "FROB / HTTP/1.1\r\n" H "\r\n", 400),
    BAD("lower case", "get / HTTP/1.1\r\n" H "\r\n", 400),
    BAD("no target", "GET  HTTP/1.1\r\n" H "\r\n", 400),
    BAD("relative target", "GET a HTTP/1.1\r\n" H "\r\n", 400),
    BAD("control character in the target", "GET /\x01 HTTP/1.1\r\n" H "\r\n", 400),
    BAD("eighth bit in the target", "GET /\xe4 HTTP/1.1\r\n" H "\r\n", 400),
    BAD("header without a name", "GET / HTTP/1.1\r\n: v\r\n\r\n", 400),
    BAD("blank before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
    {.name = "NUL in a value",
     .bytes = "GET / HTTP/1.1\r\nHost: x\r\nA: x\0y\r\n\r\n",
     .n = 35,
     .answer = 400},
    BAD("folded line", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400),
    BAD("line ends without CR", "GET / HTTP/1.1\nHost: x\n\n", 400),
    {.name = "a TLS hello", .bytes = "\x16\x03\x01\x02\x00\x01\x00", .n = 7, .answer = 400},
    BAD("a reply", "HTTP/1.1 200 OK\r\n\r\n", 400),
    {.name = "head not complete", .bytes = "GET / HTTP/1.1\r\n" H},
    {.name = "nothing", .bytes = ""},
};

enum { WHOLE, BYTEWISE, RANDOM };

static int run(s3l_http1_t* r, const case_t* c, int mode, s3l_prng_t* rng, size_t* unused) {
  size_t n = c->n != 0 ? c->n : strlen(c->bytes);
  size_t at = 0;
  int rc = S3L_HTTP1_MORE;
  s3l_http1_start_request(r, BODY_MAX);
  assert_false(s3l_http1_begun(r));
  while (rc == S3L_HTTP1_MORE && at < n) {
    size_t step = n - at;
    size_t used;
    if (mode == BYTEWISE)
      step = 1;
    else if (mode == RANDOM)
      step = 1 + (size_t)s3l_prng_below(rng, step < 20 ? step : 20);
    /* A block of its own, so that the sanitizer sees a read or a span beyond it. */
    char* copy = malloc(step);
    assert_non_null(copy);
    memcpy(copy, c->bytes + at, step);
    rc = s3l_http1_feed(r, copy, step, &used);
    free(copy);
    assert_true(used <= step);
    if (rc == S3L_HTTP1_MORE) {
      assert_int_equal(used, step);
      assert_true(s3l_http1_begun(r));
    }
    at += used;
  }
  *unused = n - at;
  return rc;
}

static void assert_span(const char* what, s3l_span_t got, const char* want) {
  if (want == NULL ? got.p != NULL : got.p == NULL || !s3l_span_eq(got, s3l_span_cstr(want)))
    fail_msg("%s: \"%.*s\", not \"%s\"", what, (int)got.n, got.n > 0 ? got.p : "",
             want != NULL ? want : "(none)");
}

static void check(s3l_http1_t* r, const case_t* c, int mode, s3l_prng_t* rng) {
  size_t unused;
  int rc = run(r, c, mode, rng, &unused);
  int want = c->answer != 0 ? r->error : c->path != NULL ? S3L_HTTP1_DONE : S3L_HTTP1_MORE;
  if (rc != want || r->answer != c->answer)
    fail_msg("%s (mode %d): result %d, answer %d (%s)", c->name, mode, rc, r->answer,
             r->reason ? r->reason : "-");
  if (rc < 0)
    assert_non_null(r->reason);
  if (rc != S3L_HTTP1_DONE) {
    assert_int_equal(r->headers_len, 0);
    return;
  }
  assert_string_equal(llhttp_method_name((llhttp_method_t)r->llhttp.method), c->method);
  assert_int_equal(r->method, strcmp(c->method, "GET") == 0    ? S3L_HTTP_GET
                              : strcmp(c->method, "HEAD") == 0 ? S3L_HTTP_HEAD
                                                               : S3L_HTTP_OTHER);
  assert_span(c->name, r->path, c->path);
  assert_span(c->name, r->query, c->query);
  assert_int_equal(r->headers_len, c->headers_len);
  if (unused != c->unused || r->keep_alive == c->close)
    fail_msg("%s (mode %d): %zu bytes left over, keep-alive %d", c->name, mode, unused,
             r->keep_alive);
}

static void check_modes(const case_t* c, size_t head_max, int random_runs) {
  s3l_http1_t* r = malloc(sizeof(*r));
  s3l_prng_t rng;
  assert_non_null(r);
  s3l_prng_seed(&rng, 20241027);
  char* head = malloc(head_max);
  assert_non_null(head);
  s3l_http1_init(r, head, head_max);
  check(r, c, WHOLE, &rng);
  check(r, c, BYTEWISE, &rng);
  for (int i = 0; i < random_runs; i++)
    check(r, c, RANDOM, &rng);
  free(head);
  free(r);
}

static void test_cases(void** state) {
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    check_modes(&cases[i], HEAD_MAX, RANDOM_RUNS);
}

/* A head of exactly n bytes, most of them in one place. */
static char* head_of(size_t n, const char* before, const char* after) {
  char* s = malloc(n + 1);
  size_t b = strlen(before);
  size_t a = strlen(after);
  assert_non_null(s);
  memcpy(s, before, b);
  memset(s + b, 'x', n - b - a);
  memcpy(s + n - a, after, a + 1);
  return s;
}

static void test_head_limit(void** state) {
  static const struct {
    const char* before;
    const char* after;
    int answer;
    size_t headers;
  } places[] = {
      {"GET / HTTP/1.1\r\nHost: x\r\nA: ", "\r\n\r\n", 431, 2},
      {"GET / HTTP/1.1\r\nHost: x\r\n", ": 1\r\n\r\n", 431, 2},
      {"GET / HTTP/1.1\r\nHost: ", "\r\n\r\n", 431, 1},
      {"GET /", " HTTP/1.1\r\nHost: x\r\n\r\n", 0, 1},
  };
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
    char* bytes = head_of(HEAD_MAX, places[i].before, places[i].after);
    char path[HEAD_MAX] = "/";
    case_t c = {.name = "head of exactly the limit",
                .bytes = bytes,
                .method = "GET",
                .path = path,
                .headers_len = places[i].headers};
    if (i == 3)
      snprintf(path, sizeof(path), "%.*s", (int)(strchr(bytes + 4, ' ') - bytes - 4), bytes + 4);
    check_modes(&c, HEAD_MAX, 5);
    free(bytes);
    bytes = head_of(HEAD_MAX + 1, places[i].before, places[i].after);
    c = (case_t){.name = "head above the limit", .bytes = bytes, .answer = 431};
    check_modes(&c, HEAD_MAX, 5);
    free(bytes);
  }
  char* bytes = head_of(2 * HEAD_MAX, "GET /", "");
  case_t c = {.name = "target above the limit", .bytes = bytes, .answer = 414};
  check_modes(&c, HEAD_MAX, 5);
  free(bytes);
}

static void test_header_count(void** state) {
  for (int extra = 0; extra <= 1; extra++) {
    char bytes[2048];
    size_t at = (size_t)snprintf(bytes, sizeof(bytes), "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < S3L_HTTP_HEADERS_MAX - 1 + extra; i++)
      at += (size_t)snprintf(bytes + at, sizeof(bytes) - at, "a%d:%d\r\n", i, i);
    snprintf(bytes + at, sizeof(bytes) - at, "\r\n");
    case_t c = {.name = "64 headers",
                .bytes = bytes,
                .method = "GET",
                .path = "/",
                .headers_len = S3L_HTTP_HEADERS_MAX};
    if (extra)
      c = (case_t){.name = "65 headers", .bytes = bytes, .answer = 431};
    check_modes(&c, sizeof(bytes), 5);
  }
}

/* Requests in one stream, read one after the other, in every mode. */
static void test_pipeline(void** state) {
  static const char bytes[] =
      "GET /1 HTTP/1.1\r\n" H "\r\n"
      "PUT /2 HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"
      "PUT /3 HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
      "GET /4 HTTP/1.1\r\n" H "\r\n";
  s3l_http1_t r;
  char head[HEAD_MAX];
  s3l_http1_init(&r, head, sizeof(head));
  s3l_http1_start_request(&r, BODY_MAX);
  for (size_t piece = 1; piece < sizeof(bytes); piece++) {
    unsigned seen = 0;
    for (size_t at = 0; at < sizeof(bytes) - 1;) {
      size_t n = sizeof(bytes) - 1 - at;
      size_t used;
      if (n > piece)
        n = piece;
      int rc = s3l_http1_feed(&r, bytes + at, n, &used);
      assert_true(rc == S3L_HTTP1_MORE || rc == S3L_HTTP1_DONE);
      at += used;
      if (rc == S3L_HTTP1_MORE)
        continue;
      assert_int_equal(r.path.n, 2);
      assert_int_equal(r.path.p[1], '1' + (int)seen);
      assert_int_equal(r.headers_len, seen == 1 || seen == 2 ? 2 : 1);
      assert_span("first header", r.headers[0].name, "Host");
      assert_span("host", r.headers[0].value, "x");
      seen++;
      s3l_http1_start_request(&r, BODY_MAX);
    }
    assert_int_equal(seen, 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_head_limit),
      cmocka_unit_test(test_header_count),
      cmocka_unit_test(test_pipeline),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
