/* Every case is run whole, one byte at a time, and at seeded random splits: the outcome must be the
 * same each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "s3lect/errno.h"
#include "util/prng.h"
#include "wire/http1_parse.h"

#define RANDOM_RUNS 50

typedef struct case_s {
  const char* name;
  const char* bytes;
  size_t n; /* 0: strlen(bytes) */
  bool head;
  size_t body_max; /* 0: 1000 */
  bool eof;        /* the peer closes after the bytes */

  int result;    /* S3L_HTTP1_MORE, S3L_HTTP1_DONE or an error */
  size_t unused; /* bytes left over when done */
  int status;
  const char* headers; /* "name=value|name=value" */
  const char* body;
  bool keep_alive;
} case_t;

/* A whole reply, after which the connection is kept, or ends; and one that is refused at once. */
#define REPLY(n, b, s, h, t, keep)                                                                 \
  {                                                                                                \
    .name = (n), .bytes = (b), .result = S3L_HTTP1_DONE, .status = (s), .headers = (h),            \
    .body = (t), .keep_alive = (keep)                                                              \
  }
#define KEPT(name, bytes, status, headers, body) REPLY(name, bytes, status, headers, body, true)
#define ENDS(name, bytes, status, headers, body) REPLY(name, bytes, status, headers, body, false)
#define BAD(n, b)                                                                                  \
  { .name = (n), .bytes = (b), .result = S3LECT_EBADREPLY }

static const case_t cases[] = {
    KEPT("length", "HTTP/1.1 200 OK\r\nETag: \"abc\"\r\nContent-Length: 5\r\n\r\nhello", 200,
         "ETag=\"abc\"|Content-Length=5", "hello"),
    KEPT("empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "Content-Length=0",
         NULL),
    KEPT("no reason phrase, blanks around values, empty value",
         "HTTP/1.1 200 \r\nA:  x y \t \r\nB:\r\nC:   \r\nContent-Length:0\r\n\r\n", 200,
         "A=x y|B=|C=|Content-Length=0", NULL),
    KEPT("neither reason phrase nor the blank before it",
         "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "Content-Length=0", NULL),
    KEPT("no headers at all", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", NULL),
    KEPT("304 with a length has no body",
         "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\nETag: \"e\"\r\n\r\n", 304,
         "Content-Length=77|ETag=\"e\"", NULL),
    KEPT("304 chunked has no body",
         "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", 304,
         "Transfer-Encoding=chunked", NULL),
    {.name = "HEAD with a length above the limit",
     .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 123456\r\n\r\n",
     .head = true,
     .result = S3L_HTTP1_DONE,
     .status = 200,
     .headers = "Content-Length=123456",
     .keep_alive = true},
    {.name = "HEAD without a length",
     .bytes = "HTTP/1.1 404 Not Found\r\n\r\n",
     .head = true,
     .result = S3L_HTTP1_DONE,
     .status = 404,
     .headers = "",
     .keep_alive = true},
    KEPT("interim replies are skipped, with their headers",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
         "HTTP/1.1 102 Processing\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
         200, "Content-Length=2", "hi"),
    {.name = "interim reply, then silence",
     .bytes = "HTTP/1.1 100 Continue\r\n\r\n",
     .result = S3L_HTTP1_MORE},
    {.name = "interim reply, then close",
     .bytes = "HTTP/1.1 100 Continue\r\n\r\n",
     .eof = true,
     .result = S3LECT_EBADREPLY},
    BAD("101 is refused",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
    KEPT("chunks, extension, trailer",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: 1\r\n\r\n"
         "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n",
         200, "Transfer-Encoding=chunked|A=1", "abc0123456789"),
    {.name = "chunks cut short",
     .bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
     .eof = true,
     .result = S3LECT_EBADREPLY,
     .status = 200,
     .headers = "Transfer-Encoding=chunked",
     .body = "abc"},
    {.name = "chunks, last chunk without its end",
     .bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
     .eof = true,
     .result = S3LECT_EBADREPLY,
     .status = 200,
     .headers = "Transfer-Encoding=chunked",
     .body = "abc"},
    {.name = "bad chunk size",
     .bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
     .result = S3LECT_EBADREPLY,
     .status = 200,
     .headers = "Transfer-Encoding=chunked"},
    {.name = "chunk size overflow",
     .bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\nabc\r\n",
     .result = S3LECT_EBADREPLY,
     .status = 200,
     .headers = "Transfer-Encoding=chunked"},
    {.name = "unframed, closed",
     .bytes = "HTTP/1.1 200 OK\r\nA: 1\r\n\r\nto the end",
     .eof = true,
     .result = S3L_HTTP1_DONE,
     .status = 200,
     .headers = "A=1",
     .body = "to the end"},
    {.name = "unframed, not closed",
     .bytes = "HTTP/1.1 200 OK\r\nA: 1\r\n\r\nto the end",
     .result = S3L_HTTP1_MORE,
     .status = 200,
     .headers = "A=1",
     .body = "to the end"},
    ENDS("HTTP/1.0 ends the connection", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200,
         "Content-Length=1", "x"),
    KEPT("HTTP/1.0 with keep-alive",
         "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", 200,
         "Connection=keep-alive|Content-Length=1", "x"),
    ENDS("Connection: close", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx",
         200, "Connection=Close|Content-Length=1", "x"),
    {.name = "bytes after the message",
     .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n",
     .result = S3L_HTTP1_DONE,
     .unused = 17,
     .status = 200,
     .headers = "Content-Length=1",
     .body = "x",
     .keep_alive = true},
    {.name = "bytes after a message without a body",
     .bytes = "HTTP/1.1 304 Not Modified\r\n\r\nbody?",
     .result = S3L_HTTP1_DONE,
     .unused = 5,
     .status = 304,
     .headers = "",
     .keep_alive = true},
    {.name = "body cut short",
     .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
     .eof = true,
     .result = S3LECT_EBADREPLY,
     .status = 200,
     .headers = "Content-Length=5",
     .body = "hell"},
    {.name = "head cut short",
     .bytes = "HTTP/1.1 200 OK\r\nContent-Le",
     .eof = true,
     .result = S3LECT_EBADREPLY},
    {.name = "nothing at all", .bytes = "", .eof = true, .result = S3LECT_EBADREPLY},
    {.name = "body of exactly the limit",
     .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
     .body_max = 5,
     .result = S3L_HTTP1_DONE,
     .status = 200,
     .headers = "Content-Length=5",
     .body = "hello",
     .keep_alive = true},
    {.name = "length above the limit",
     .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!",
     .body_max = 5,
     .result = S3LECT_ETOOBIG,
     .status = 200,
     .headers = "Content-Length=6"},
    BAD("length above 2^64",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551617\r\n\r\nhello!"),
    {.name = "chunks above the limit",
     .bytes =
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n",
     .body_max = 3,
     .result = S3LECT_ETOOBIG,
     .status = 200,
     .headers = "Transfer-Encoding=chunked",
     .body = "abc"},
    BAD("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"),
    BAD("length and chunks",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
    BAD("negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
    BAD("header without a name", "HTTP/1.1 200 OK\r\n: value\r\nContent-Length: 0\r\n\r\n"),
    BAD("not HTTP", "SSH-2.0-OpenSSH_9.2\r\n"),
    {.name = "a TLS alert",
     .bytes = "\x15\x03\x01\x00\x02\x02\x46",
     .n = 7,
     .result = S3LECT_EBADREPLY},
    BAD("a request", "GET / HTTP/1.1\r\n\r\n"),
    BAD("HTTP/2", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    {.name = "HTTP/0.9",
     .bytes = "HTTP/0.9 200 OK\r\n\r\n",
     .eof = true,
     .result = S3LECT_EBADREPLY},
    BAD("status below 100", "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"),
    {.name = "NUL in a value",
     .bytes = "HTTP/1.1 200 OK\r\nA: x\0y\r\n\r\n",
     .n = 28,
     .result = S3LECT_EBADREPLY},
    BAD("blank in a header name", "HTTP/1.1 200 OK\r\nA B: x\r\nContent-Length: 0\r\n\r\n"),
};

static char head_text[S3L_HTTP1_HEAD_MAX];

enum { WHOLE, BYTEWISE, RANDOM };

static int run(s3l_http1_t* p, const case_t* c, int mode, s3l_prng_t* rng, size_t* unused) {
  size_t n = c->n != 0 ? c->n : strlen(c->bytes);
  size_t at = 0;
  int rc = S3L_HTTP1_MORE;
  s3l_http1_start_reply(p, c->head, c->body_max != 0 ? c->body_max : 1000);
  assert_false(s3l_http1_begun(p));
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
    rc = s3l_http1_feed(p, copy, step, &used);
    free(copy);
    assert_true(s3l_http1_begun(p));
    assert_true(used <= step);
    if (rc == S3L_HTTP1_MORE)
      assert_int_equal(used, step);
    at += used;
  }
  *unused = n - at;
  if (rc == S3L_HTTP1_MORE && c->eof)
    rc = s3l_http1_eof(p);
  return rc;
}

static void check(s3l_http1_t* p, const case_t* c, int mode, s3l_prng_t* rng) {
  char headers[512] = "";
  size_t len = 0;
  size_t unused;
  size_t used;
  int rc = run(p, c, mode, rng, &unused);
  if (rc != c->result)
    fail_msg("%s (mode %d): result %d (%s)", c->name, mode, rc, p->reason ? p->reason : "-");
  if (rc == S3L_HTTP1_DONE)
    assert_int_equal(unused, c->unused);
  assert_int_equal(p->status, c->status);
  for (size_t i = 0; i < p->headers_len; i++)
    len += (size_t)snprintf(headers + len, sizeof(headers) - len, "%s%.*s=%.*s", i ? "|" : "",
                            (int)p->headers[i].name.n, p->headers[i].name.p,
                            (int)p->headers[i].value.n, p->headers[i].value.p);
  assert_string_equal(headers, c->headers ? c->headers : "");
  /* Of a reply that fails, how much of the body was stored may depend on the split. */
  if (rc >= 0 || mode == BYTEWISE) {
    assert_int_equal(p->body_len, c->body ? strlen(c->body) : 0);
    assert_memory_equal(p->body_len ? p->body : "", c->body ? c->body : "", p->body_len);
  }
  assert_int_equal(p->keep_alive, c->keep_alive);
  if (rc < 0) { /* and it stays so */
    assert_non_null(p->reason);
    assert_int_equal(s3l_http1_feed(p, "x", 1, &used), rc);
    assert_int_equal(s3l_http1_eof(p), rc);
  }
}

static void test_cases(void** state) {
  s3l_http1_t* p = malloc(sizeof(*p));
  s3l_prng_t rng;
  assert_non_null(p);
  s3l_prng_seed(&rng, 20241027);
  s3l_http1_init(p, head_text, sizeof(head_text));
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    check(p, &cases[i], WHOLE, &rng);
    check(p, &cases[i], BYTEWISE, &rng);
    for (int run_no = 0; run_no < RANDOM_RUNS; run_no++)
      check(p, &cases[i], RANDOM, &rng);
  }
  s3l_http1_free(p);
  free(p);
}

/* A case whose bytes are made, in the three modes. */
static void check_made(const case_t* c) {
  s3l_http1_t* p = malloc(sizeof(*p));
  s3l_prng_t rng;
  assert_non_null(p);
  s3l_prng_seed(&rng, 7);
  s3l_http1_init(p, head_text, sizeof(head_text));
  for (int mode = WHOLE; mode <= RANDOM; mode++)
    check(p, c, mode, &rng);
  s3l_http1_free(p);
  free(p);
}

/* A reply whose head has exactly n bytes, most of them in one place. */
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
  static const char* const before[] = {
      "HTTP/1.1 204 OK\r\nA: ",              /* a value */
      "HTTP/1.1 204 OK\r\n",                 /* a name */
      "HTTP/1.1 204 ",                       /* the reason phrase, which is not even stored */
      "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 204 ", /* the same after an interim reply */
  };
  static const char* const after[] = {"\r\n\r\n", ": 1\r\n\r\n", "\r\n\r\n", "\r\n\r\n"};
  for (size_t i = 0; i < 4; i++) {
    case_t c = {.name = "head above the limit", .result = S3LECT_ETOOBIG};
    char* bytes = head_of(S3L_HTTP1_HEAD_MAX + 1, before[i], after[i]);
    c.bytes = bytes;
    check_made(&c);
    free(bytes);
    if (i < 2)
      continue; /* the header would not fit into check()'s text */
    bytes = head_of(S3L_HTTP1_HEAD_MAX, before[i], after[i]);
    c = (case_t){.name = "head of exactly the limit",
                 .bytes = bytes,
                 .result = S3L_HTTP1_DONE,
                 .status = 204,
                 .keep_alive = true};
    check_made(&c);
    free(bytes);
  }
}

static void test_endless_interim(void** state) {
  static const char one[] = "HTTP/1.1 100 Continue\r\n\r\n";
  size_t n = 2 * S3L_HTTP1_HEAD_MAX / (sizeof(one) - 1);
  char* bytes = malloc(n * (sizeof(one) - 1) + 1);
  assert_non_null(bytes);
  for (size_t i = 0; i < n; i++)
    memcpy(bytes + i * (sizeof(one) - 1), one, sizeof(one));
  check_made(&(case_t){.name = "endless interim", .bytes = bytes, .result = S3LECT_ETOOBIG});
  free(bytes);
}

static void test_header_count(void** state) {
  for (int extra = 0; extra <= 1; extra++) {
    char bytes[2048];
    char headers[512] = "";
    size_t at = (size_t)snprintf(bytes, sizeof(bytes), "HTTP/1.1 204 OK\r\n");
    size_t h = 0;
    for (int i = 0; i < S3L_HTTP_HEADERS_MAX + extra; i++) {
      at += (size_t)snprintf(bytes + at, sizeof(bytes) - at, "a%d:%d\r\n", i, i);
      h += (size_t)snprintf(headers + h, sizeof(headers) - h, "%sa%d=%d", i ? "|" : "", i, i);
    }
    snprintf(bytes + at, sizeof(bytes) - at, "\r\n");
    if (extra)
      check_made(&(case_t){.name = "65 headers", .bytes = bytes, .result = S3LECT_ETOOBIG});
    else
      check_made(&(case_t){.name = "64 headers",
                           .bytes = bytes,
                           .result = S3L_HTTP1_DONE,
                           .status = 204,
                           .headers = headers,
                           .keep_alive = true});
  }
}

/* A body that makes the buffer grow several times, then a small one in the same parser. */
static void test_big_body(void** state) {
  enum { BODY = 200000, CHUNK = 1000 };
  s3l_http1_t* p = malloc(sizeof(*p));
  char* chunk = malloc(CHUNK);
  size_t used;
  static const char head[] = "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n";
  assert_non_null(p);
  assert_non_null(chunk);
  s3l_http1_init(p, head_text, sizeof(head_text));
  s3l_http1_start_reply(p, false, BODY);
  assert_int_equal(s3l_http1_feed(p, head, sizeof(head) - 1, &used), S3L_HTTP1_MORE);
  for (int i = 0; i < BODY / CHUNK; i++) {
    memset(chunk, 'a' + i % 26, CHUNK);
    assert_int_equal(s3l_http1_feed(p, chunk, CHUNK, &used), S3L_HTTP1_MORE);
  }
  assert_int_equal(s3l_http1_eof(p), S3L_HTTP1_DONE);
  assert_int_equal(p->body_len, BODY);
  for (size_t i = 0; i < BODY; i++)
    if (p->body[i] != (char)('a' + i / CHUNK % 26))
      fail_msg("byte %zu is wrong", i);
  s3l_http1_start_reply(p, false, 10); /* gives the large buffer back */
  assert_int_equal(p->body_cap, 0);
  s3l_http1_free(p);
  free(chunk);
  free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),           cmocka_unit_test(test_head_limit),
      cmocka_unit_test(test_endless_interim), cmocka_unit_test(test_header_count),
      cmocka_unit_test(test_big_body),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
