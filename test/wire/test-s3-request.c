/* wire/s3_request: the bytes that go out, checked as a store would check them: from what was sent.
 */
#include <string.h>

#include "lib/sent_request.h"
#include "lib/test.h"
#include "s3lect/errno.h"
#include "wire/s3_request.h"

#define TIME_MS 1369353600000

static s3l_signer_t signer;
static char sent[16384];
static size_t sent_len;

static const s3l_s3_keys_t keys = {
    {"AKIAIOSFODNN7EXAMPLE", 20}, {"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", 40}, {NULL, 0}};
static const s3l_s3_target_t path_style = {.host = {"127.0.0.1:9000", 14},
                                           .bucket = {"bucket", 6},
                                           .region = {"us-east-1", 9},
                                           .user_agent = {"s3lect/test", 11}};
static const s3l_s3_target_t virtual_host = {.host = {"examplebucket.s3.amazonaws.com", 30},
                                             .bucket = {"", 0},
                                             .region = {"us-east-1", 9},
                                             .user_agent = {"s3lect/test", 11}};

static int write_to(const s3l_s3_target_t* target, const s3l_s3_keys_t* k,
                    const s3l_s3_request_t* r, size_t cap) {
  memset(sent, 'Z', sizeof(sent));
  return s3l_s3_request_write(&signer, target, k, r, TIME_MS, sent, cap, &sent_len);
}

static void parse(sent_request_t* p) {
  sent_request_parse((s3l_span_t){sent, sent_len}, p);
}

static void sends(const s3l_s3_target_t* target, const s3l_s3_keys_t* k, const s3l_s3_request_t* r,
                  sent_request_t* p) {
  assert_int_equal(write_to(target, k, r, sizeof(sent)), 0);
  parse(p);
}

static void assert_signature_holds(const sent_request_t* p) {
  s3l_sigv4_scope_t scope;
  assert_true(s3l_sigv4_scope(&scope, TIME_MS, S3L_SPAN("us-east-1"), S3L_SPAN("s3")));
  assert_signature(p, "x-amz", &scope, &keys);
}

static void composes_a_get(void** state) {
  static const char want[] =
      "GET /bucket/leases/a%20b HTTP/1.1\r\n"
      "host: 127.0.0.1:9000\r\n"
      "user-agent: s3lect/test\r\n"
      "cache-control: no-cache\r\n"
      "if-none-match: \"abc\"\r\n"
      "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\r\n"
      "x-amz-date: 20130524T000000Z\r\n"
      "authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
      "aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date, Signature=";
  const s3l_s3_request_t r = {
      .op = S3L_S3_GET, .key = S3L_SPAN("leases/a b"), .if_none_match = S3L_SPAN("\"abc\"")};
  sent_request_t p;
  assert_int_equal(write_to(&path_style, &keys, &r, sizeof(sent)), 0);
  assert_memory_equal(sent, want, sizeof(want) - 1);
  parse(&p);
  assert_int_equal(p.body.n, 0);
  assert_signature_holds(&p);
}

static void composes_a_conditional_put(void** state) {
  const s3l_s3_keys_t temporary = {keys.access_key, keys.secret, S3L_SPAN("TOKEN/+==")};
  s3l_s3_request_t r = {.op = S3L_S3_PUT,
                        .key = S3L_SPAN("leases/k"),
                        .if_match = S3L_SPAN("\"d41d8\""),
                        .body = S3L_SPAN("{\"epoch\":1}")};
  sent_request_t p;
  sends(&virtual_host, &temporary, &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("PUT")));
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/leases/k")));
  assert_true(s3l_span_eq(p.body, r.body));
  assert_header(&p, "host", "examplebucket.s3.amazonaws.com");
  assert_header(&p, "content-length", "11");
  assert_header(&p, "content-type", "application/json");
  assert_header(&p, "if-match", "\"d41d8\"");
  assert_header(&p, "if-none-match", NULL);
  assert_header(&p, "x-amz-security-token", "TOKEN/+==");
  assert_header(&p, "expect", NULL);
  assert_header(&p, "transfer-encoding", NULL);
  assert_true(sent_request_signs(&p, S3L_SPAN("if-match")));
  assert_true(sent_request_signs(&p, S3L_SPAN("content-type")));
  assert_true(sent_request_signs(&p, S3L_SPAN("x-amz-security-token")));
  assert_signature_holds(&p);

  r.if_match = (s3l_span_t){NULL, 0};
  r.if_none_match = S3L_SPAN("*");
  r.body = (s3l_span_t){NULL, 0};
  sends(&virtual_host, &temporary, &r, &p);
  assert_header(&p, "if-none-match", "*");
  assert_header(&p, "content-length", "0");
  assert_true(sent_request_signs(&p, S3L_SPAN("if-none-match")));
  assert_signature_holds(&p);
}

static void composes_the_others(void** state) {
  s3l_s3_request_t r = {.op = S3L_S3_DELETE, .key = S3L_SPAN("k"), .if_match = S3L_SPAN("x")};
  sent_request_t p;
  sends(&path_style, &keys, &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("DELETE")));
  assert_true(sent_request_signs(&p, S3L_SPAN("if-match")));
  assert_header(&p, "content-length", NULL);
  assert_signature_holds(&p);

  r = (s3l_s3_request_t){.op = S3L_S3_HEAD, .key = S3L_SPAN("k")};
  sends(&path_style, &keys, &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("HEAD")));
  assert_signature_holds(&p);

  r = (s3l_s3_request_t){
      .op = S3L_S3_LIST, .key = S3L_SPAN("p/é"), .after = S3L_SPAN("p/a&b"), .max_keys = 1000};
  sends(&path_style, &keys, &r, &p);
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/bucket")));
  assert_true(s3l_span_eq(
      p.query, S3L_SPAN("list-type=2&max-keys=1000&prefix=p%2F%C3%A9&start-after=p%2Fa%26b")));
  assert_signature_holds(&p);

  r = (s3l_s3_request_t){.op = S3L_S3_LIST,
                         .key = S3L_SPAN("p"),
                         .after = S3L_SPAN("p/a"),
                         .version = S3L_SPAN("v&1"),
                         .versions = true,
                         .max_keys = 9};
  sends(&path_style, &keys, &r, &p);
  assert_true(s3l_span_eq(p.query, S3L_SPAN("key-marker=p%2Fa&max-keys=9&prefix=p&"
                                            "version-id-marker=v%261&versions=")));
  assert_signature_holds(&p);

  r = (s3l_s3_request_t){.op = S3L_S3_GET, .key = S3L_SPAN("k"), .version = S3L_SPAN("v/1")};
  sends(&path_style, &keys, &r, &p);
  assert_true(s3l_span_eq(p.query, S3L_SPAN("versionId=v%2F1")));
  assert_signature_holds(&p);

  r = (s3l_s3_request_t){.op = S3L_S3_LIST, .max_keys = 1};
  sends(&virtual_host, &keys, &r, &p);
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/")));
  assert_true(s3l_span_eq(p.query, S3L_SPAN("list-type=2&max-keys=1")));
  assert_signature_holds(&p);
}

/* What the operator adds goes out, and is signed. */
static void composes_what_was_added(void** state) {
  static const s3l_sigv4_pair_t more[] = {{{"x-zebra", 7}, {"last", 4}},
                                          {{"cache-tag", 9}, {"first  of  all", 14}}};
  s3l_s3_target_t t = path_style;
  sent_request_t p;
  t.headers = more;
  t.headers_len = 2;
  t.owner = S3L_SPAN("123456789012");
  t.checksum = true;
  s3l_s3_request_t r = {.op = S3L_S3_PUT, .key = S3L_SPAN("k"), .body = S3L_SPAN("abc")};
  sends(&t, &keys, &r, &p);
  assert_header(&p, "x-zebra", "last");
  assert_header(&p, "cache-tag", "first  of  all");
  assert_header(&p, "x-amz-expected-bucket-owner", "123456789012");
  /* SHA-256 of "abc", FIPS 180-2, in base64. */
  assert_header(&p, "x-amz-checksum-sha256", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  assert_true(sent_request_signs(&p, S3L_SPAN("x-zebra")));
  assert_true(sent_request_signs(&p, S3L_SPAN("cache-tag")));
  assert_true(sent_request_signs(&p, S3L_SPAN("x-amz-expected-bucket-owner")));
  assert_true(sent_request_signs(&p, S3L_SPAN("x-amz-checksum-sha256")));
  assert_signature_holds(&p);
  r = (s3l_s3_request_t){.op = S3L_S3_GET, .key = S3L_SPAN("k")};
  sends(&t, &keys, &r, &p);
  assert_header(&p, "x-zebra", NULL);
  assert_header(&p, "x-amz-checksum-sha256", NULL);
  assert_header(&p, "x-amz-expected-bucket-owner", "123456789012");
  assert_signature_holds(&p);
}

/* The proxy sees the whole URL, the store what was signed. */
static void composes_for_a_plain_proxy(void** state) {
  static const char line[] = "PUT http://127.0.0.1:9000/bucket/a%20b HTTP/1.1\r\n";
  s3l_s3_target_t t = path_style;
  sent_request_t p;
  t.origin = S3L_SPAN("http://127.0.0.1:9000");
  t.proxy_authorization = S3L_SPAN("Basic YTpi");
  s3l_s3_request_t r = {.op = S3L_S3_PUT, .key = S3L_SPAN("a b"), .if_none_match = S3L_SPAN("*")};
  assert_int_equal(write_to(&t, &keys, &r, sizeof(sent)), 0);
  assert_memory_equal(sent, line, sizeof(line) - 1);
  parse(&p);
  assert_header(&p, "proxy-authorization", "Basic YTpi");
  assert_false(sent_request_signs(&p, S3L_SPAN("proxy-authorization")));
  p.path = S3L_SPAN("/bucket/a%20b");
  assert_signature_holds(&p);
}

/* The span that stands there is this one. */
static void put_at(void* in, size_t at, s3l_span_t span) {
  memcpy((char*)in + at, &span, sizeof(span));
}

static void nothing_can_be_smuggled_in(void** state) {
  static const s3l_span_t evil[] = {{"a\r\nX: y", 7}, {"a\nb", 3}, {"a\rb", 3}, {"a\0b", 3}};
  static const size_t of_request[] = {offsetof(s3l_s3_request_t, if_match),
                                      offsetof(s3l_s3_request_t, if_none_match)};
  static const size_t of_keys[] = {offsetof(s3l_s3_keys_t, token),
                                   offsetof(s3l_s3_keys_t, access_key)};
  static const size_t of_target[] = {
      offsetof(s3l_s3_target_t, host), offsetof(s3l_s3_target_t, owner),
      offsetof(s3l_s3_target_t, origin), offsetof(s3l_s3_target_t, proxy_authorization),
      offsetof(s3l_s3_target_t, region)};
  const s3l_s3_request_t put = {.op = S3L_S3_PUT, .key = S3L_SPAN("k")};
  for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
    const s3l_sigv4_pair_t added[] = {{S3L_SPAN("x-a"), evil[i]}, {evil[i], S3L_SPAN("a")}};
    for (size_t k = 0; k < 2; k++) {
      s3l_s3_request_t request = put;
      s3l_s3_keys_t pair = keys;
      s3l_s3_target_t target = path_style;
      put_at(&request, of_request[k], evil[i]);
      assert_int_equal(write_to(&path_style, &keys, &request, sizeof(sent)), S3LECT_EOPTION);
      put_at(&pair, of_keys[k], evil[i]);
      assert_int_equal(write_to(&path_style, &pair, &put, sizeof(sent)), S3LECT_EOPTION);
      target.headers = &added[k];
      target.headers_len = 1;
      assert_int_equal(write_to(&target, &keys, &put, sizeof(sent)), S3LECT_EOPTION);
    }
    for (size_t k = 0; k < sizeof(of_target) / sizeof(of_target[0]); k++) {
      s3l_s3_target_t target = path_style;
      put_at(&target, of_target[k], evil[i]);
      assert_int_equal(write_to(&target, &keys, &put, sizeof(sent)), S3LECT_EOPTION);
    }
  }
  /* In a key, line ends are escaped; only NUL is refused. */
  s3l_s3_request_t r = {.op = S3L_S3_GET, .key = S3L_SPAN("a\r\nb")};
  sent_request_t p;
  sends(&path_style, &keys, &r, &p);
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/bucket/a%0D%0Ab")));
  r.key = S3L_SPAN("a\0b");
  assert_int_equal(write_to(&path_style, &keys, &r, sizeof(sent)), S3LECT_EOPTION);
  r.key = S3L_SPAN("");
  assert_int_equal(write_to(&path_style, &keys, &r, sizeof(sent)), S3LECT_EOPTION);
}

static void writes_within_its_buffer(void** state) {
  const s3l_s3_request_t r = {.op = S3L_S3_PUT,
                              .key = S3L_SPAN("k"),
                              .if_none_match = S3L_SPAN("*"),
                              .body = S3L_SPAN("0123456789")};
  assert_int_equal(write_to(&path_style, &keys, &r, sizeof(sent)), 0);
  size_t whole = sent_len;
  for (size_t cap = 0; cap < whole; cap++) {
    assert_int_equal(write_to(&path_style, &keys, &r, cap), S3LECT_ETOOBIG);
    assert_int_equal(sent[cap], 'Z');
    assert_int_equal(sent_len, 0);
  }
  assert_int_equal(write_to(&path_style, &keys, &r, whole), 0);
  /* The longest key, at its worst, and one more. */
  static char key[1024 + 256];
  memset(key, ' ', sizeof(key));
  s3l_s3_request_t big = {.op = S3L_S3_GET, .key = {key, 1024}};
  assert_int_equal(write_to(&path_style, &keys, &big, sizeof(sent)), 0);
  big.key.n = sizeof(key);
  assert_int_equal(write_to(&path_style, &keys, &big, sizeof(sent)), S3LECT_EOPTION);
}

static int open_signer(void** state) {
  return s3l_signer_open(&signer) ? 0 : -1;
}

static int close_signer(void** state) {
  s3l_signer_close(&signer);
  return 0;
}

/* Directory buckets. The signatures were computed apart from this code, by the rules of Signature
 * Version 4 with the service s3express: AWS publishes no examples of it. */
static void composes_for_a_directory_bucket(void** state) {
  const s3l_s3_target_t target = {
      .host = S3L_SPAN("examplebucket--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com"),
      .region = S3L_SPAN("us-west-2"),
      .user_agent = S3L_SPAN("s3lect/test"),
      .express = true};
  s3l_s3_keys_t k = keys;
  sent_request_t p;
  k.token = S3L_SPAN("IAM+TOKEN==");
  s3l_s3_request_t r = {.op = S3L_S3_SESSION};
  sends(&target, &k, &r, &p);
  assert_true(s3l_span_eq(p.method, S3L_SPAN("GET")));
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/")));
  assert_true(s3l_span_eq(p.query, S3L_SPAN("session=")));
  assert_header(&p, "x-amz-security-token", "IAM+TOKEN==");
  assert_header(&p, "x-amz-s3session-token", NULL);
  assert_header(&p, "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-west-2/s3express/"
                "aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;"
                "x-amz-security-token, Signature="
                "d32858e440d4e3dc06d94909cc4b5dd6c2c8e7b3dcb6c270734430be5e0d1869");

  k = (s3l_s3_keys_t){S3L_SPAN("SESSION"), S3L_SPAN("session/secret+KEY"),
                      S3L_SPAN("SESSION+TOKEN==")};
  r = (s3l_s3_request_t){.op = S3L_S3_PUT,
                         .key = S3L_SPAN("locks/db"),
                         .if_match = S3L_SPAN("\"0123\""),
                         .body = S3L_SPAN("abc")};
  sends(&target, &k, &r, &p);
  assert_true(s3l_span_eq(p.path, S3L_SPAN("/locks/db")));
  assert_header(&p, "if-match", "\"0123\"");
  assert_header(&p, "x-amz-s3session-token", "SESSION+TOKEN==");
  assert_header(&p, "x-amz-security-token", NULL);
  assert_header(&p, "authorization",
                "AWS4-HMAC-SHA256 Credential=SESSION/20130524/us-west-2/s3express/aws4_request, "
                "SignedHeaders=content-type;host;if-match;x-amz-content-sha256;x-amz-date;"
                "x-amz-s3session-token, Signature="
                "1d6811d90fa1b93de6b80c1d655ce34bd39e1bafaa5e5400b39d3b34cfefcb7d");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(composes_a_get),           cmocka_unit_test(composes_a_conditional_put),
      cmocka_unit_test(composes_what_was_added),  cmocka_unit_test(composes_for_a_plain_proxy),
      cmocka_unit_test(composes_the_others),      cmocka_unit_test(nothing_can_be_smuggled_in),
      cmocka_unit_test(writes_within_its_buffer), cmocka_unit_test(composes_for_a_directory_bucket),
  };
  return cmocka_run_group_tests(tests, open_signer, close_signer);
}
