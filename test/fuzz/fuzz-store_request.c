/* Requests to a store behind HTTP: whatever stands in keys, markers and ETags, one request goes
 * out, to the object that was meant, with the headers that were meant and no others.
 *
 * Input: a digit each for the store (0: S3, 1: Azure, 2: Google), the operation, which conditions
 * there are (bit 2: the credentials are a token alone) and the time; then a line each: host,
 * bucket, token, If-Match, If-None-Match, start-after or marker; then the key, which may hold
 * anything but is cut at a byte 0xff; behind that the body. */
#include <stdbool.h>

#include "fuzz.h"
#include "s3lect/errno.h"
#include "util/hex.h"
#include "wire/azure_request.h"
#include "wire/gcs_request.h"
#include "wire/s3_request.h"

#define SEND_MAX 32768
#define TEXT_MAX 8192 /* of a path or a value, decoded */

typedef enum { S3, AZURE, GCS } store_t;

typedef struct case_s {
  store_t store;
  s3l_s3_target_t target;
  s3l_s3_keys_t keys;
  s3l_s3_request_t r;
  int64_t time_ms;
} case_t;

static s3l_signer_t signer;
static s3l_sha256_t engine;

static s3l_span_t take_key(fuzz_input_t* in) {
  const uint8_t* end = in->n > 0 ? memchr(in->p, 0xff, in->n) : NULL;
  s3l_span_t key = fuzz_bytes(in, end != NULL ? (size_t)(end - in->p) : in->n);
  (void)fuzz_u8(in);
  return key;
}

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

enum { IF_MATCH = 4, IF_NONE_MATCH, AUTHORIZATION, COMMON = 8 };

static const char* const names[COMMON] = {"host",          "user-agent",  "content-length",
                                          "cache-control", "if-match",    "if-none-match",
                                          "authorization", "content-type"};
static const char* const own_names[][3] = {
    [S3] = {"x-amz-content-sha256", "x-amz-date", "x-amz-security-token"},
    [AZURE] = {"x-ms-blob-type", "x-ms-date", "x-ms-version"},
    [GCS] = {"x-goog-content-sha256", "x-goog-date", "x-goog-if-generation-match"},
};

/* "name: value", and gives a bit for each of the names that may stand in a request. */
static unsigned check_header(store_t store, s3l_span_t line) {
  size_t n = 0;
  while (n < line.n && is_name_char(line.p[n]))
    n++;
  FUZZ_CHECK(n > 0 && n + 2 <= line.n && line.p[n] == ':' && line.p[n + 1] == ' ');
  for (size_t i = n; i < line.n; i++)
    FUZZ_CHECK(((unsigned char)line.p[i] >= 0x20 || line.p[i] == '\t') && line.p[i] != 0x7f);
  for (int i = 0; i < COMMON + 3; i++) {
    const char* name = i < COMMON ? names[i] : own_names[store][i - COMMON];
    if (s3l_span_eq((s3l_span_t){line.p, n}, s3l_span_cstr(name)))
      return 1u << i;
  }
  FUZZ_CHECK(0 && "a header of that name");
  return 0;
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

/* ---- The request line ---- */

static bool is_unreserved(char c) {
  return is_name_char(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '~';
}

/* Decodes up to a character that must be escaped within names and values. */
static s3l_span_t take_text(s3l_span_t* s, bool path, char out[TEXT_MAX]) {
  size_t n = 0;
  while (s->n > 0 && (is_unreserved(s->p[0]) || s->p[0] == '%' || (path && s->p[0] == '/'))) {
    size_t used = s->p[0] == '%' ? 3 : 1;
    FUZZ_CHECK(n < TEXT_MAX && used <= s->n);
    out[n] = s->p[0];
    if (used == 3)
      FUZZ_CHECK(s3l_hex_decode((s3l_span_t){s->p + 1, 2}, (uint8_t*)out + n, 1));
    n++;
    s3l_span_skip(s, used);
  }
  return (s3l_span_t){out, n};
}

static bool is_of_bucket(const s3l_s3_request_t* r) {
  return r->op == S3L_S3_LIST || r->op == S3L_S3_SESSION;
}

/* The path is "/BUCKET/KEY", decoded. */
static void check_path(s3l_span_t* s, const case_t* c) {
  char out[TEXT_MAX];
  FUZZ_CHECK(s3l_span_take(s, '/'));
  s3l_span_t path = take_text(s, true, out);
  FUZZ_CHECK(s3l_span_starts_with(path, c->target.bucket));
  s3l_span_skip(&path, c->target.bucket.n);
  if (!is_of_bucket(&c->r) && c->target.bucket.n > 0)
    FUZZ_CHECK(s3l_span_take(&path, '/'));
  FUZZ_CHECK(s3l_span_eq(path, is_of_bucket(&c->r) ? S3L_SPAN("") : c->r.key));
}

/* The parameters of a listing; the prefix and the marker are those that were given. */
static void check_query(s3l_span_t* s, const case_t* c) {
  static const char* const others[] = {"list-type", "max-keys", "comp", "maxresults", "restype"};
  char name_out[TEXT_MAX], out[TEXT_MAX];
  const s3l_span_t marker = c->store == AZURE ? S3L_SPAN("marker") : S3L_SPAN("start-after");
  size_t prefixes = 0, markers = 0;
  FUZZ_CHECK(c->r.op == S3L_S3_LIST && s3l_span_take(s, '?'));
  do {
    s3l_span_t name = take_text(s, false, name_out);
    FUZZ_CHECK(s3l_span_take(s, '='));
    s3l_span_t value = take_text(s, false, out);
    bool known = false;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
      known |= s3l_span_eq(name, s3l_span_cstr(others[i]));
    if (known)
      continue;
    bool is_prefix = s3l_span_eq(name, S3L_SPAN("prefix"));
    FUZZ_CHECK(is_prefix || s3l_span_eq(name, marker));
    FUZZ_CHECK(s3l_span_eq(value, is_prefix ? c->r.key : c->r.after));
    prefixes += is_prefix;
    markers += !is_prefix;
  } while (s3l_span_take(s, '&'));
  FUZZ_CHECK(prefixes == (c->r.key.n > 0) && markers == (c->r.after.n > 0));
}

/* A shared access signature stands at the end of the query, as it was given. */
static bool has_sas(const case_t* c) {
  return c->store == AZURE && c->keys.access_key.n == 0 && s3l_azure_is_sas(c->keys.token);
}

static void check_request_line(s3l_span_t line, const case_t* c) {
  size_t blanks = 0;
  for (size_t i = 0; i < line.n; i++) {
    FUZZ_CHECK((unsigned char)line.p[i] >= 0x20 && (unsigned char)line.p[i] < 0x7f);
    blanks += line.p[i] == ' ';
  }
  FUZZ_CHECK(blanks == 2 && s3l_span_ends_with(line, S3L_SPAN(" HTTP/1.1")));
  line.n -= 9;
  while (!s3l_span_take(&line, ' '))
    s3l_span_skip(&line, 1);
  if (has_sas(c)) {
    FUZZ_CHECK(s3l_span_ends_with(line, c->keys.token));
    line.n -= c->keys.token.n + 1;
    FUZZ_CHECK(line.p[line.n] == (c->r.op == S3L_S3_LIST ? '&' : '?'));
  }
  check_path(&line, c);
  if (c->r.op == S3L_S3_LIST)
    check_query(&line, c);
  FUZZ_CHECK(line.n == 0);
}

static void check_text(s3l_span_t text, const case_t* c) {
  const unsigned generation = 1u << (COMMON + 2);
  unsigned seen = 0;
  check_request_line(take_line(&text), c);
  for (s3l_span_t line = take_line(&text); line.n > 0; line = take_line(&text)) {
    unsigned bit = check_header(c->store, line);
    FUZZ_CHECK((seen & bit) == 0);
    seen |= bit;
  }
  bool matches = (seen & (c->store == GCS ? generation : 1u << IF_MATCH)) != 0;
  FUZZ_CHECK(matches == (c->r.if_match.p != NULL));
  FUZZ_CHECK(((seen & 1u << IF_NONE_MATCH) != 0) == (c->r.if_none_match.p != NULL));
  FUZZ_CHECK(((seen & 1u << AUTHORIZATION) != 0) == !has_sas(c));
  FUZZ_CHECK(s3l_span_eq(text, c->r.op == S3L_S3_PUT ? c->r.body : (s3l_span_t){"", 0}));
}

/* ---- The request ---- */

static int write_request(const case_t* c, char* buf, size_t cap, size_t* len) {
  switch (c->store) {
  case AZURE:
    return s3l_azure_request_write(&engine, &c->target, &c->keys, &c->r, c->time_ms, buf, cap, len);
  case GCS:
    return s3l_gcs_request_write(&signer, &c->target, &c->keys, &c->r, c->time_ms, buf, cap, len);
  case S3:
  default:
    return s3l_s3_request_write(&signer, &c->target, &c->keys, &c->r, c->time_ms, buf, cap, len);
  }
}

static case_t read_case(fuzz_input_t* in) {
  case_t c = {.store = (store_t)fuzz_choice(in, 3),
              .target = {.region = S3L_SPAN("us-east-1"), .user_agent = S3L_SPAN("s3lect/0")}};
  c.r.op = (s3l_s3_op_t)fuzz_choice(in, c.store == S3 ? 5 : 4);
  unsigned conditions = fuzz_choice(in, 8);
  c.time_ms = INT64_C(1700000000000) + fuzz_choice(in, 256) * INT64_C(86400000);
  (void)fuzz_line(in);
  if ((conditions & 4) == 0)
    c.keys = (s3l_s3_keys_t){.access_key = S3L_SPAN("test"), .secret = S3L_SPAN("testtest")};
  c.target.host = fuzz_line(in);
  c.target.bucket = fuzz_line(in);
  c.keys.token = fuzz_line(in);
  s3l_span_t if_match = fuzz_line(in);
  s3l_span_t if_none_match = fuzz_line(in);
  if (conditions & 1)
    c.r.if_match = if_match;
  if (conditions & 2)
    c.r.if_none_match = if_none_match;
  c.r.after = fuzz_line(in);
  c.r.max_keys = 7;
  c.r.key = take_key(in);
  c.r.body = fuzz_rest(in);
  return c;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool opened;
  fuzz_input_t in = {data, size};
  case_t c = read_case(&in);
  if (!opened)
    opened = s3l_signer_open(&signer) && s3l_sha256_open(&engine);
  FUZZ_CHECK(opened);
  char* buf = malloc(SEND_MAX);
  size_t len = 0;
  FUZZ_CHECK(buf != NULL);
  int rc = write_request(&c, buf, SEND_MAX, &len);
  FUZZ_CHECK(rc == 0 || ((rc == S3LECT_EOPTION || rc == S3LECT_ETOOBIG) && len == 0));
  if (rc == 0) {
    FUZZ_CHECK(len <= SEND_MAX);
    check_text((s3l_span_t){buf, len}, &c);
    /* What is written fits into just that much room, and is the same the second time. */
    char* again = malloc(len);
    FUZZ_CHECK(again != NULL);
    FUZZ_CHECK(write_request(&c, again, len, &len) == 0 && memcmp(buf, again, len) == 0);
    free(again);
  }
  free(buf);
  return 0;
}
