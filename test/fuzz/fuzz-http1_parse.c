/* HTTP replies: the parser must come to the same end whatever pieces the bytes arrive in.
 *
 * Input: one byte of flags (bit 0: to a HEAD request; bit 1: small body limit; bit 2: the peer
 * closes at the end), two bytes that seed the splits, then what the server sends. Replies that
 * follow one another are read one after the other, as on a kept-alive connection. */
#include "fuzz.h"
#include "util/prng.h"
#include "wire/http1_parse.h"

#define LIMIT_SMALL 16
#define LIMIT_LARGE 4096

typedef struct job_s {
  bool head;
  bool eof;
  size_t limit;
  s3l_prng_t* splits; /* NULL: all at once */
} job_t;

/* Reads one reply off the front of `s`; gives what the parser said at the end. */
static int read_reply(s3l_http1_t* p, const job_t* job, s3l_span_t* s) {
  int rc = S3L_HTTP1_MORE;
  s3l_http1_start_reply(p, job->head, job->limit);
  while (s->n > 0 && rc == S3L_HTTP1_MORE) {
    size_t step = s->n;
    size_t used = SIZE_MAX;
    if (job->splits != NULL)
      step = 1 + (size_t)s3l_prng_below(job->splits, s->n < 40 ? s->n : 40);
    char* piece = fuzz_string((s3l_span_t){s->p, step}); /* gone when it has been fed */
    rc = s3l_http1_feed(p, piece, step, &used);
    free(piece);
    FUZZ_CHECK(used <= step);
    FUZZ_CHECK(rc != S3L_HTTP1_MORE || used == step);
    s->p += used;
    s->n -= used;
  }
  if (rc == S3L_HTTP1_MORE && job->eof)
    rc = s3l_http1_eof(p);
  return rc;
}

static void check_fields(const s3l_http1_t* p, const job_t* job, int rc) {
  const s3l_span_t head = {p->text, p->text_cap};
  FUZZ_CHECK(p->status == 0 || (p->status >= 200 && p->status <= 999));
  FUZZ_CHECK(p->headers_len <= S3L_HTTP_HEADERS_MAX);
  FUZZ_CHECK(p->status != 0 || (p->headers_len == 0 && p->body_len == 0));
  FUZZ_CHECK(p->body_len <= job->limit && p->body_len <= p->body_cap);
  FUZZ_CHECK(rc != S3L_HTTP1_DONE || p->status != 0);
  FUZZ_CHECK(!(job->head && rc == S3L_HTTP1_DONE) || p->body_len == 0);
  FUZZ_CHECK(rc >= 0 || p->reason != NULL);
  for (size_t i = 0; i < p->headers_len; i++) {
    FUZZ_CHECK(fuzz_within(p->headers[i].name, head) && p->headers[i].name.n > 0);
    FUZZ_CHECK(fuzz_within(p->headers[i].value, head));
    s3l_span_t trimmed = s3l_span_trim(p->headers[i].value);
    FUZZ_CHECK(trimmed.n == p->headers[i].value.n);
  }
}

static void check_same(const s3l_http1_t* a, const s3l_http1_t* b) {
  FUZZ_CHECK(a->status == b->status && a->headers_len == b->headers_len);
  for (size_t i = 0; i < a->headers_len; i++) {
    FUZZ_CHECK(s3l_span_eq(a->headers[i].name, b->headers[i].name));
    FUZZ_CHECK(s3l_span_eq(a->headers[i].value, b->headers[i].value));
  }
}

static void check_same_reply(const s3l_http1_t* a, const s3l_http1_t* b) {
  check_same(a, b);
  FUZZ_CHECK(a->keep_alive == b->keep_alive && a->body_len == b->body_len);
  FUZZ_CHECK(a->body_len == 0 || memcmp(a->body, b->body, a->body_len) == 0);
}

static void check_error_stays(s3l_http1_t* p, int rc) {
  size_t used;
  FUZZ_CHECK(s3l_http1_feed(p, "x", 1, &used) == rc);
  FUZZ_CHECK(s3l_http1_eof(p) == rc);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static s3l_http1_t whole, split; /* large */
  fuzz_input_t in = {data, size};
  s3l_prng_t prng;
  uint8_t flags = fuzz_u8(&in);
  s3l_prng_seed(&prng, fuzz_uint(&in, 2));
  job_t job = {.head = (flags & 1) != 0,
               .eof = (flags & 4) != 0,
               .limit = (flags & 2) != 0 ? LIMIT_SMALL : LIMIT_LARGE};
  job_t pieces = job;
  pieces.splits = &prng;
  s3l_span_t a = fuzz_rest(&in);
  s3l_span_t b = a;
  static char heads[2][S3L_HTTP1_HEAD_MAX];
  s3l_http1_init(&whole, heads[0], sizeof heads[0]);
  s3l_http1_init(&split, heads[1], sizeof heads[1]);
  int rc;
  do {
    rc = read_reply(&whole, &job, &a);
    check_fields(&whole, &job, rc);
    int other = read_reply(&split, &pieces, &b);
    check_fields(&split, &pieces, other);
    FUZZ_CHECK(rc == other);
    if (rc == S3L_HTTP1_DONE) {
      FUZZ_CHECK(a.n == b.n);
      check_same_reply(&whole, &split);
    } else {
      check_same(&whole, &split);
    }
  } while (rc == S3L_HTTP1_DONE && a.n > 0);
  if (rc < 0)
    check_error_stays(&whole, rc);
  s3l_http1_free(&whole);
  s3l_http1_free(&split);
  return 0;
}
