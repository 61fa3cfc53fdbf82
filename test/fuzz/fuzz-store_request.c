/* Signed requests: whatever stands in keys and ETags, one request goes out, with the headers that
 * were meant and no others.
 *
 * Input: a digit each for the operation, which conditions there are and the time; then a line each:
 * host, bucket, token, If-Match, If-None-Match, start-after; then the key, which may hold anything
 * but is cut at a byte 0xff; behind that the body. */
#include <stdbool.h>

#include "fuzz.h"
#include "s3lect/errno.h"
#include "wire/s3_request.h"

#define SEND_MAX 32768

static s3l_span_t take_key(fuzz_input_t* in) {
  const uint8_t* end = in->n > 0 ? memchr(in->p, 0xff, in->n) : NULL;
  s3l_span_t key = fuzz_bytes(in, end != NULL ? (size_t)(end - in->p) : in->n);
  (void)fuzz_u8(in);
  return key;
}

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* "name: value", and gives which of the names it is that may stand in a request. */
static int check_header(s3l_span_t line) {
  static const char* const names[] = {
      "host",         "user-agent",           "content-length",       "cache-control",
      "if-match",     "if-none-match",        "x-amz-content-sha256", "x-amz-date",
      "content-type", "x-amz-security-token", "authorization"};
  size_t n = 0;
  while (n < line.n && is_name_char(line.p[n]))
    n++;
  FUZZ_CHECK(n > 0 && n + 2 <= line.n && line.p[n] == ':' && line.p[n + 1] == ' ');
  for (size_t i = n; i < line.n; i++)
    FUZZ_CHECK(((unsigned char)line.p[i] >= 0x20 || line.p[i] == '\t') && line.p[i] != 0x7f);
  for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
    if (s3l_span_eq((s3l_span_t){line.p, n}, s3l_span_cstr(names[i])))
      return i;
  }
  FUZZ_CHECK(0 && "a header of that name");
  return -1;
}

static s3l_span_t take_line(s3l_span_t* s) {
  for (size_t i = 0; i + 1 < s->n; i++) {
    if (s->p[i] == '\r' && s->p[i + 1] == '\n') {
      s3l_span_t line = {s->p, i};
      *s = (s3l_span_t){s->p + i + 2, s->n - i - 2};
      return line;
    }
    FUZZ_CHECK(s->p[i] != '\n');
  }
  FUZZ_CHECK(0 && "a line end");
  return *s;
}

static void check_request_line(s3l_span_t line) {
  size_t blanks = 0;
  for (size_t i = 0; i < line.n; i++) {
    FUZZ_CHECK((unsigned char)line.p[i] >= 0x20 && (unsigned char)line.p[i] < 0x7f);
    blanks += line.p[i] == ' ';
  }
  FUZZ_CHECK(blanks == 2 && line.n > 9 && memcmp(line.p + line.n - 9, " HTTP/1.1", 9) == 0);
}

static void check_text(s3l_span_t text, const s3l_s3_request_t* r) {
  unsigned seen = 0;
  check_request_line(take_line(&text));
  for (s3l_span_t line = take_line(&text); line.n > 0; line = take_line(&text)) {
    unsigned bit = 1u << check_header(line);
    FUZZ_CHECK((seen & bit) == 0);
    seen |= bit;
  }
  FUZZ_CHECK(((seen >> 4) & 1) == (r->if_match.p != NULL));
  FUZZ_CHECK(((seen >> 5) & 1) == (r->if_none_match.p != NULL));
  FUZZ_CHECK((seen >> 10) == 1); /* signed */
  FUZZ_CHECK(s3l_span_eq(text, r->op == S3L_S3_PUT ? r->body : (s3l_span_t){"", 0}));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static s3l_signer_t signer;
  static bool opened;
  fuzz_input_t in = {data, size};
  s3l_s3_request_t r = {.op = (s3l_s3_op_t)fuzz_choice(&in, 5)};
  unsigned conditions = fuzz_choice(&in, 4);
  int64_t time_ms = INT64_C(1700000000000) + fuzz_choice(&in, 256) * INT64_C(86400000);
  if (!opened)
    opened = s3l_signer_open(&signer);
  FUZZ_CHECK(opened);
  (void)fuzz_line(&in);
  s3l_s3_target_t target = {.region = S3L_SPAN("us-east-1"), .user_agent = S3L_SPAN("s3lect/0")};
  s3l_s3_keys_t keys = {.access_key = S3L_SPAN("test"), .secret = S3L_SPAN("testtest")};
  target.host = fuzz_line(&in);
  target.bucket = fuzz_line(&in);
  keys.token = fuzz_line(&in);
  s3l_span_t if_match = fuzz_line(&in);
  s3l_span_t if_none_match = fuzz_line(&in);
  if (conditions & 1)
    r.if_match = if_match;
  if (conditions & 2)
    r.if_none_match = if_none_match;
  r.after = fuzz_line(&in);
  r.max_keys = 7;
  r.key = take_key(&in);
  r.body = fuzz_rest(&in);
  char* buf = malloc(SEND_MAX);
  size_t len = 0;
  FUZZ_CHECK(buf != NULL);
  int rc = s3l_s3_request_write(&signer, &target, &keys, &r, time_ms, buf, SEND_MAX, &len);
  FUZZ_CHECK(rc == 0 || ((rc == S3LECT_EOPTION || rc == S3LECT_ETOOBIG) && len == 0));
  if (rc == 0) {
    FUZZ_CHECK(len <= SEND_MAX);
    check_text((s3l_span_t){buf, len}, &r);
    /* What is written fits into just that much room, and is the same the second time. */
    char* again = malloc(len);
    FUZZ_CHECK(again != NULL);
    FUZZ_CHECK(s3l_s3_request_write(&signer, &target, &keys, &r, time_ms, again, len, &len) == 0);
    FUZZ_CHECK(memcmp(buf, again, len) == 0);
    free(again);
  }
  free(buf);
  return 0;
}
