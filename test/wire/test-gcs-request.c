/* wire/gcs_request: the bytes that go out to Google Cloud Storage, checked as the store would check
 * them. Headers of Amazon's beside x-goog-if-generation-match are refused by the store, and its own
 * conditions under Amazon's names are ignored: none may ever go out. */
#include <stdio.h>
#include <string.h>

#include "lib/sent_request.h"
#include "lib/test.h"
#include "s3lect/errno.h"
#include "wire/gcs_request.h"

#define TIME_MS 1783036800000 /* 2026-07-03T00:00:00Z */

static s3l_signer_t signer;
static char sent[16384];
static size_t sent_len;

static const s3l_s3_keys_t hmac = {{"GOOGTESTACCESSKEY", 17}, {"testsecretkey", 13}, {NULL, 0}};
static const s3l_s3_keys_t token = {{NULL, 0}, {NULL, 0}, {"ya29.TOKEN-._~+/=", 17}};
/* What only S3 has is set, too: none of it may go out. */
static const s3l_sigv4_pair_t s3_header = {{"x-amz-meta-a", 12}, {"b", 1}};
static const s3l_s3_target_t target = {.host = {"storage.googleapis.com", 22},
                                       .bucket = {"test-bucket", 11},
                                       .region = {"us-east-1", 9},
                                       .user_agent = {"s3lect/test", 11},
                                       .owner = {"123456789012", 12},
                                       .headers = &s3_header,
                                       .headers_len = 1,
                                       .checksum = true};

static int write_to(const s3l_s3_target_t* t, const s3l_s3_keys_t* k, const s3l_s3_request_t* r,
                    size_t cap) {
  memset(sent, 'Z', sizeof(sent));
  return s3l_gcs_request_write(&signer, t, k, r, TIME_MS, sent, cap, &sent_len);
}

/* Nothing of Amazon's, and no condition but the generation. */
static void assert_google_only(const sent_request_t* p) {
  static const char* const of_s3[] = {"if-match", "if-none-match", "if-modified-since",
                                      "if-unmodified-since"};
  for (size_t i = 0; i < p->headers_len; i++) {
    if (s3l_span_starts_with(p->headers[i].name, S3L_SPAN("x-amz")))
      fail_msg("%.*s", (int)p->headers[i].name.n, p->headers[i].name.p);
  }
  for (size_t i = 0; i < sizeof(of_s3) / sizeof(of_s3[0]); i++)
    assert_header(p, of_s3[i], NULL);
}

static void sends(const s3l_s3_keys_t* k, const s3l_s3_request_t* r, sent_request_t* p) {
  s3l_sigv4_scope_t scope;
  assert_int_equal(write_to(&target, k, r, sizeof(sent)), 0);
  sent_request_parse((s3l_span_t){sent, sent_len}, p);
  assert_google_only(p);
  if (k->access_key.n == 0)
    return;
  assert_true(s3l_sigv4_scope_google(&scope, TIME_MS));
  assert_signature(p, "x-goog", &scope, k);
}

/* Every byte of one request. The signature was computed by an independent script. */
static void composes_a_create(void** state) {
  static const char want[] =
      "PUT /test-bucket/dir/a%20b HTTP/1.1\r\n"
      "host: storage.googleapis.com\r\n"
      "user-agent: s3lect/test\r\n"
      "content-length: 11\r\n"
      "cache-control: no-store\r\n"
      "content-type: application/json\r\n"
      "x-goog-content-sha256: 8d388f7872e05501ba67cfdb11ca1eabaa649af6b813bd7e9b314f5bc0e3a5ef\r\n"
      "x-goog-date: 20260703T000000Z\r\n"
      "x-goog-if-generation-match: 0\r\n"
      "authorization: GOOG4-HMAC-SHA256 Credential=GOOGTESTACCESSKEY/20260703/auto/storage/"
      "goog4_request, SignedHeaders=cache-control;content-type;host;x-goog-content-sha256;"
      "x-goog-date;x-goog-if-generation-match, Signature="
      "fa2dd5a1312516354f266d5e487f66eb3bd558a05be78bea838a6e2a055cc554\r\n\r\n"
      "{\"epoch\":1}";
  const s3l_s3_request_t r = {.op = S3L_S3_PUT,
                              .key = S3L_SPAN("dir/a b"),
                              .if_match = S3L_SPAN("0"),
                              .body = S3L_SPAN("{\"epoch\":1}")};
  sent_request_t p;
  sends(&hmac, &r, &p);
  assert_int_equal(sent_len, sizeof(want) - 1);
  assert_memory_equal(sent, want, sizeof(want) - 1);
}

static void conditions_are_signed(void** state) {
  s3l_s3_request_t r = {.op = S3L_S3_PUT,
                        .key = S3L_SPAN("k"),
                        .if_match = S3L_SPAN("1784000000000001"),
                        .body = S3L_SPAN("x")};
  sent_request_t p;
  sends(&hmac, &r, &p);
  assert_header(&p, "x-goog-if-generation-match", "1784000000000001");
  assert_true(sent_request_signs(&p, S3L_SPAN("x-goog-if-generation-match")));
  assert_true(sent_request_signs(&p, S3L_SPAN("cache-control")));

  r.op = S3L_S3_DELETE;
  sends(&hmac, &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("DELETE")));
  assert_header(&p, "x-goog-if-generation-match", "1784000000000001");
  assert_true(sent_request_signs(&p, S3L_SPAN("x-goog-if-generation-match")));
  assert_header(&p, "content-length", NULL);
  assert_int_equal(p.body.n, 0);

  r.if_match = (s3l_span_t){NULL, 0};
  sends(&hmac, &r, &p);
  assert_header(&p, "x-goog-if-generation-match", NULL);
}

static void tokens_are_not_signed(void** state) {
  s3l_s3_request_t r = {
      .op = S3L_S3_PUT, .key = S3L_SPAN("k"), .if_match = S3L_SPAN("17"), .body = S3L_SPAN("x")};
  sent_request_t p;
  sends(&token, &r, &p);
  assert_header(&p, "authorization", "Bearer ya29.TOKEN-._~+/=");
  assert_header(&p, "x-goog-if-generation-match", "17");
  assert_header(&p, "x-goog-date", NULL);
  assert_header(&p, "content-length", "1");
  r = (s3l_s3_request_t){.op = S3L_S3_GET, .key = S3L_SPAN("k")};
  sends(&token, &r, &p);
  assert_header(&p, "authorization", "Bearer ya29.TOKEN-._~+/=");
}

static void composes_reads(void** state) {
  s3l_s3_request_t r = {.op = S3L_S3_GET, .key = S3L_SPAN("/a//b/~é")};
  sent_request_t p;
  sends(&hmac, &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("GET")));
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/test-bucket//a//b/~%C3%A9")));
  assert_header(&p, "cache-control", "no-cache");
  r = (s3l_s3_request_t){
      .op = S3L_S3_LIST, .key = S3L_SPAN("p/é"), .after = S3L_SPAN("p/a&b"), .max_keys = 1000};
  sends(&hmac, &r, &p);
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/test-bucket")));
  assert_true(s3l_span_eq(
      p.query, S3L_SPAN("list-type=2&max-keys=1000&prefix=p%2F%C3%A9&start-after=p%2Fa%26b")));
}

/* A condition that the store would not understand is not left out: the request is not sent. */
static void other_conditions_are_refused(void** state) {
  static const char* const none[] = {"",
                                     "*",
                                     "\"17\"",
                                     "00",
                                     "017",
                                     "+17",
                                     "-1",
                                     " 17",
                                     "17 ",
                                     "0x11",
                                     "17\r\nx: y",
                                     "9223372036854775808",
                                     "99999999999999999999999",
                                     "d41d8cd98f00b204e9800998ecf8427e"};
  s3l_s3_request_t r = {.op = S3L_S3_PUT, .key = S3L_SPAN("k")};
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
    r.if_match = s3l_span_cstr(none[i]);
    assert_int_equal(write_to(&target, &hmac, &r, sizeof(sent)), S3LECT_EOPTION);
    assert_int_equal(write_to(&target, &token, &r, sizeof(sent)), S3LECT_EOPTION);
    assert_false(s3l_gcs_is_generation(r.if_match));
  }
  assert_false(s3l_gcs_is_generation(S3L_SPAN("0")));
  assert_true(s3l_gcs_is_generation(S3L_SPAN("9223372036854775807")));
  r.if_match = S3L_SPAN("9223372036854775807");
  assert_int_equal(write_to(&target, &hmac, &r, sizeof(sent)), 0);
  r.if_none_match = S3L_SPAN("*");
  assert_int_equal(write_to(&target, &hmac, &r, sizeof(sent)), S3LECT_EOPTION);
  r = (s3l_s3_request_t){.op = S3L_S3_GET, .key = S3L_SPAN("k"), .if_none_match = S3L_SPAN("17")};
  assert_int_equal(write_to(&target, &hmac, &r, sizeof(sent)), S3LECT_EOPTION);
  r = (s3l_s3_request_t){.op = S3L_S3_GET, .key = S3L_SPAN("k"), .if_match = S3L_SPAN("17")};
  assert_int_equal(write_to(&target, &hmac, &r, sizeof(sent)), S3LECT_EOPTION);
}

static void line_ends_are_refused(void** state) {
  const s3l_s3_request_t r = {.op = S3L_S3_PUT, .key = S3L_SPAN("k")};
  s3l_s3_keys_t k = token;
  s3l_s3_target_t t = target;
  k.token = S3L_SPAN("a\r\nb: c");
  assert_int_equal(write_to(&target, &k, &r, sizeof(sent)), S3LECT_EOPTION);
  t.host = S3L_SPAN("a\nb");
  assert_int_equal(write_to(&t, &hmac, &r, sizeof(sent)), S3LECT_EOPTION);
}

static void writes_within_its_buffer(void** state) {
  const s3l_s3_keys_t* const all[] = {&hmac, &token};
  const s3l_s3_request_t r = {.op = S3L_S3_PUT,
                              .key = S3L_SPAN("k"),
                              .if_match = S3L_SPAN("0"),
                              .body = S3L_SPAN("0123456789")};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(write_to(&target, all[i], &r, sizeof(sent)), 0);
    size_t whole = sent_len;
    for (size_t cap = 0; cap < whole; cap++) {
      assert_int_equal(write_to(&target, all[i], &r, cap), S3LECT_ETOOBIG);
      assert_int_equal(sent[cap], 'Z');
      assert_int_equal(sent_len, 0);
    }
    assert_int_equal(write_to(&target, all[i], &r, whole), 0);
  }
}

static int open_signer(void** state) {
  return s3l_signer_open(&signer) ? 0 : -1;
}

static int close_signer(void** state) {
  s3l_signer_close(&signer);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(composes_a_create),        cmocka_unit_test(conditions_are_signed),
      cmocka_unit_test(tokens_are_not_signed),    cmocka_unit_test(composes_reads),
      cmocka_unit_test(line_ends_are_refused),    cmocka_unit_test(other_conditions_are_refused),
      cmocka_unit_test(writes_within_its_buffer),
  };
  return cmocka_run_group_tests(tests, open_signer, close_signer);
}
