/* HTTP requests: the parser must come to the same end whatever pieces the bytes arrive in, and what
 * it lets through must keep the promises of its header.
 *
 * Input: one byte of flags (bit 0: small head limit; bit 1: small body limit), two bytes that seed
 * the splits, then what the client sends. Requests that follow one another are read one after the
 * other, as on a kept-alive connection. */
#include "fuzz.h"
#include "util/prng.h"
#include "wire/http1_parse.h"

/* Reads one request off the front of `s`; gives what the parser said at the end. */
static int read_request(s3l_http1_t* r, size_t body_max, s3l_prng_t* splits, s3l_span_t* s) {
  int rc = S3L_HTTP1_MORE;
  s3l_http1_start_request(r, body_max);
  while (s->n > 0 && rc == S3L_HTTP1_MORE) {
    size_t step = s->n;
    size_t used = SIZE_MAX;
    if (splits != NULL)
      step = 1 + (size_t)s3l_prng_below(splits, s->n < 40 ? s->n : 40);
    char* piece = malloc(step); /* gone when it has been fed */
    FUZZ_CHECK(piece != NULL);
    memcpy(piece, s->p, step);
    rc = s3l_http1_feed(r, piece, step, &used);
    free(piece);
    FUZZ_CHECK(used <= step);
    FUZZ_CHECK(rc != S3L_HTTP1_MORE || used == step);
    s->p += used;
    s->n -= used;
  }
  return rc;
}

static size_t count(const s3l_http1_t* r, const char* name) {
  size_t n = 0;
  for (size_t i = 0; i < r->headers_len; i++)
    n += s3l_span_ieq(r->headers[i].name, s3l_span_cstr(name));
  return n;
}

static void check_done(const s3l_http1_t* r) {
  const s3l_span_t text = {r->text, r->text_cap};
  FUZZ_CHECK(r->answer == 0 && r->headers_len <= S3L_HTTP_HEADERS_MAX);
  FUZZ_CHECK(r->head_raw <= r->text_cap && r->body_raw <= r->body_max);
  FUZZ_CHECK(r->path.n > 0 && (r->path.p[0] == '/' || s3l_span_eq(r->path, S3L_SPAN("*"))));
  for (size_t i = 0; i < r->path.n; i++)
    FUZZ_CHECK(r->path.p[i] > 0x20 && r->path.p[i] < 0x7f && r->path.p[i] != '?');
  FUZZ_CHECK(r->query.p == NULL || fuzz_within(r->query, text));
  FUZZ_CHECK(count(r, "host") == 1 || (r->http10 && count(r, "host") == 0));
  FUZZ_CHECK(count(r, "content-length") + count(r, "transfer-encoding") <= 1);
  for (size_t i = 0; i < r->headers_len; i++) {
    FUZZ_CHECK(fuzz_within(r->headers[i].name, text) && r->headers[i].name.n > 0);
    FUZZ_CHECK(fuzz_within(r->headers[i].value, text));
    FUZZ_CHECK(s3l_span_trim(r->headers[i].value).n == r->headers[i].value.n);
  }
}

static void check_same(const s3l_http1_t* a, const s3l_http1_t* b) {
  FUZZ_CHECK(a->method == b->method && a->http10 == b->http10);
  FUZZ_CHECK(a->keep_alive == b->keep_alive && a->headers_len == b->headers_len);
  FUZZ_CHECK(s3l_span_eq(a->path, b->path) && s3l_span_eq(a->query, b->query));
  for (size_t i = 0; i < a->headers_len; i++) {
    FUZZ_CHECK(s3l_span_eq(a->headers[i].name, b->headers[i].name));
    FUZZ_CHECK(s3l_span_eq(a->headers[i].value, b->headers[i].value));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static s3l_http1_t whole, split; /* large */
  fuzz_input_t in = {data, size};
  s3l_prng_t prng;
  uint8_t flags = fuzz_u8(&in);
  size_t head_max = (flags & 1) != 0 ? 64 : 4096;
  size_t body_max = (flags & 2) != 0 ? 8 : 4096;
  s3l_prng_seed(&prng, fuzz_uint(&in, 2));
  s3l_span_t a = fuzz_rest(&in);
  s3l_span_t b = a;
  static char heads[2][4096];
  s3l_http1_init(&whole, heads[0], head_max);
  s3l_http1_init(&split, heads[1], head_max);
  int rc;
  do {
    rc = read_request(&whole, body_max, NULL, &a);
    int other = read_request(&split, body_max, &prng, &b);
    FUZZ_CHECK(rc == other || (rc < 0 && other < 0));
    if (rc == S3L_HTTP1_DONE) {
      FUZZ_CHECK(a.n == b.n);
      check_same(&whole, &split);
      check_done(&whole);
    } else if (rc < 0) { /* of several faults, pieces may show another first */
      FUZZ_CHECK(whole.answer >= 400 && whole.answer <= 505 && whole.reason != NULL);
    }
  } while (rc == S3L_HTTP1_DONE && a.n > 0);
  return 0;
}
