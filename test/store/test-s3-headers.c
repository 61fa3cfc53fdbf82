/* store/s3/headers: what operators add to requests goes out, signed, on every write and on nothing
 * else, and what would break a request or change its meaning is refused with a reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/s3_rig.h"
#include "lib/test.h"

#define OWNER "123456789012"
#define KEY   "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

/* ---- Over sockets ---- */

static void add_all(s3lect_store_s3_options_t* o) {
  static const char* const headers[] = {"X-Tigris-Consistent: true", "x-amz-storage-class:STANDARD",
                                        "x-amz-meta-app: \t two  words "};
  o->headers = headers;
  o->headers_len = 3;
  o->server_side_encryption = "aws:kms";
  o->sse_kms_key_id = KEY;
  o->expected_bucket_owner = OWNER;
  o->checksum = 1;
}

static void puts_carry_them_signed(void** state) {
  s3_rig_t* rig = S3_RIG_WITH(
      add_all,
      S3L_SCRIPT(
          S3L_EXPECT("PUT /bucket/leases/k HTTP/1.1\r\n"),
          /* SHA-256 of the body, in base64. */
          S3L_EXPECT("\r\nx-amz-checksum-sha256: jTiPeHLgVQG6Z8/bEcoeq6pkmva4E71+mzFPW8Djpe8=\r\n"),
          S3L_EXPECT("\r\nx-amz-expected-bucket-owner: " OWNER "\r\n"),
          S3L_EXPECT("x-amz-server-side-encryption: aws:kms\r\n"),
          S3L_EXPECT("x-amz-server-side-encryption-aws-kms-key-id: " KEY "\r\n"),
          S3L_EXPECT("X-Tigris-Consistent: true\r\n"),
          S3L_EXPECT("x-amz-storage-class: STANDARD\r\n"),
          S3L_EXPECT("x-amz-meta-app: two  words\r\n"),
          S3L_EXPECT("SignedHeaders=content-type;host;if-match;x-amz-checksum-sha256;"
                     "x-amz-content-sha256;x-amz-date;x-amz-expected-bucket-owner;x-amz-meta-app;"
                     "x-amz-server-side-encryption;x-amz-server-side-encryption-aws-kms-key-id;"
                     "x-amz-storage-class;x-tigris-consistent, Signature="),
          S3L_EXPECT("\r\n\r\n" S3_BODY), S3L_SEND(S3_PUT_OK)));
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  s3_rig_close(rig);
}

/* A read with encryption headers is refused by S3; the owner is for every request. */
static void other_requests_carry_the_owner_only(void** state) {
#define PLAIN                                                                                      \
  S3L_EXPECT("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-expected-bucket-owner,"),   \
      S3L_EXPECT("\r\n\r\n")
  s3_rig_t* rig = S3_RIG_WITH(
      add_all,
      S3L_SCRIPT(S3L_EXPECT("GET /bucket/leases/k HTTP/1.1\r\n"),
                 S3L_EXPECT("cache-control: no-cache\r\n"),
                 S3L_EXPECT("x-amz-expected-bucket-owner: " OWNER "\r\nauthorization: "), PLAIN,
                 S3L_SEND(S3_GET_OK), S3L_EXPECT("GET /bucket?list-type=2"),
                 S3L_EXPECT("cache-control: no-cache\r\n"),
                 S3L_EXPECT("x-amz-expected-bucket-owner: " OWNER "\r\nauthorization: "), PLAIN,
                 S3L_SEND("HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n"
                          "<ListBucketResult/>"),
                 S3L_EXPECT("DELETE /bucket/leases/k HTTP/1.1\r\n"),
                 S3L_EXPECT("x-amz-expected-bucket-owner: " OWNER "\r\nauthorization: "), PLAIN,
                 S3L_SEND("HTTP/1.1 204 No Content\r\n\r\n")));
#undef PLAIN
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  s3l_suite_prepare(&rig->suite, &rig->r, "p/");
  rig->r.req.max_keys = 3;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_list), 0, S3LECT_SETTLED, 200);
  s3l_suite_prepare(&rig->suite, &rig->r, "leases/k");
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_del), 0, S3LECT_SETTLED, 204);
  s3_rig_close(rig);
}

/* As many and as long as may be, with the longest key and a long token: they fit. */
static void add_the_most(s3lect_store_s3_options_t* o) {
  static char lines[12][320], token[8193];
  static const char* headers[12];
  for (int i = 0; i < 12; i++) {
    int n = snprintf(lines[i], sizeof(lines[i]), "x-amz-meta-%053d:", i);
    memset(lines[i] + n, 'v', 256 - 64);
    lines[i][n + 256 - 64] = '\0';
    headers[i] = lines[i];
  }
  memset(token, 't', sizeof(token) - 1);
  o->headers = headers;
  o->headers_len = 12;
  o->session_token = token;
  o->expected_bucket_owner = OWNER;
  o->checksum = 1;
}

static void the_most_that_is_accepted_can_be_sent(void** state) {
  static char key[1025];
  s3_rig_t* rig =
      S3_RIG_WITH(add_the_most, S3L_SCRIPT(S3L_EXPECT(";x-amz-security-token, Signature="),
                                           S3L_EXPECT("\r\n\r\n" S3_BODY), S3L_SEND(S3_PUT_OK)));
  memset(key, ' ', sizeof(key) - 1); /* three bytes each in the path */
  s3_rig_prepare_put(rig, S3LECT_ALWAYS, 0);
  rig->r.req.key = key;
  s3_assert_result(s3l_suite_do(&rig->r, s3lect_store_put), 0, S3LECT_SETTLED, 200);
  s3_rig_close(rig);
}

static void strings_are_copied(void** state) {
  char endpoint[64], header[] = "X-A: before", owner[] = OWNER, kind[] = "AES256";
  const char* headers[] = {header};
  s3_rig_t* rig = s3_rig_new(S3_RIG_SCRIPTS(
      S3L_SCRIPT(S3L_EXPECT("x-amz-expected-bucket-owner: " OWNER "\r\n"),
                 S3L_EXPECT("x-amz-server-side-encryption: AES256\r\n"),
                 S3L_EXPECT("X-A: before\r\n"), S3L_EXPECT(S3_BODY), S3L_SEND(S3_PUT_OK))));
  s3lect_store_s3_options_t o = s3_rig_options(endpoint, sizeof(endpoint), rig->server.port);
  o.headers = headers;
  o.headers_len = 1;
  o.expected_bucket_owner = owner;
  o.server_side_encryption = kind;
  assert_int_equal(s3lect_store_s3_init(&rig->loop, &rig->store, &o, NULL), 0);
  memset(header, 'x', sizeof(header) - 1);
  memset(owner, 'x', sizeof(owner) - 1);
  memset(kind, 'x', sizeof(kind) - 1);
  memset(headers, 0, sizeof(headers));
  memset(&o, 0xff, sizeof(o));
  s3_assert_result(s3_rig_put(rig, S3LECT_ALWAYS, 0), 0, S3LECT_SETTLED, 200);
  s3_rig_close(rig);
}

/* ---- What is refused ---- */

static s3lect_store_s3_options_t good(void) {
  static char endpoint[64];
  return s3_rig_options(endpoint, sizeof(endpoint), 1);
}

static void refused(const s3lect_store_s3_options_t* o, int err, const char* text) {
  s3lect_error_t error;
  uv_loop_t loop;
  s3lect_store_t store;
  assert_int_equal(s3lect_store_s3_options_check(o, &error), err);
  assert_string_equal(error.text, text);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_s3_init(&loop, &store, o, NULL), err);
  assert_int_equal(uv_loop_close(&loop), 0); /* nothing to clean up */
}

static int check_header(const char* line, s3lect_error_t* error) {
  s3lect_store_s3_options_t o = good();
  o.headers = &line;
  o.headers_len = 1;
  return s3lect_store_s3_options_check(&o, error);
}

static void refuses_what_is_no_header(void** state) {
  static const struct {
    const char* line;
    const char* text;
  } cases[] = {
      {"", "headers \"\": not a header; write it as \"Name: value\""},
      {"X-A", "headers \"X-A\": not a header; write it as \"Name: value\""},
      {"X-A\r\n: b",
       "headers \"X-A??: b\": not a header's name before the colon; use at most 64 letters, digits "
       "and '-'"},
      {": b",
       "headers \": b\": not a header's name before the colon; use at most 64 letters, digits and "
       "'-'"},
      {"X-A : b",
       "headers \"X-A : b\": not a header's name before the colon; use at most 64 letters, digits "
       "and '-'"},
      {" X-A: b",
       "headers \" X-A: b\": not a header's name before the colon; use at most 64 letters, digits "
       "and '-'"},
      {"X-A:",
       "headers \"X-A:\": not a header's value behind the colon; use printable ASCII characters"},
      {"X-A: b\r\nX-B: c",
       "headers \"X-A: b??X-B: c\": not a header's value behind the colon; use printable ASCII "
       "characters"},
      {"X-A: b\n c",
       "headers \"X-A: b? c\": not a header's value behind the colon; use printable ASCII "
       "characters"},
      {"X-A: b\x01",
       "headers \"X-A: b?\": not a header's value behind the colon; use printable ASCII "
       "characters"},
      {"X-A: \xc3\xa9",
       "headers \"X-A: \xc3\xa9\": not a header's value behind the colon; use printable ASCII "
       "characters"},
  };
  s3lect_error_t error;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_int_equal(check_header(cases[i].line, &error), S3LECT_EOPTION);
    assert_string_equal(error.text, cases[i].text);
  }
  char longest[96] = "";
  memset(longest, 'n', 64);
  memcpy(longest + 64, ": v", 4);
  assert_int_equal(check_header(longest, &error), 0);
  memset(longest, 'n', 65);
  memcpy(longest + 65, ": v", 4);
  assert_int_equal(check_header(longest, &error), S3LECT_EOPTION);
}

/* Whatever would clash with what s3lect sends, frame the message anew, or make the put mean
 * something else; in any letter case. */
static void refuses_headers_that_are_not_the_operators(void** state) {
  static const char* const names[] = {"Host",
                                      "content-length",
                                      "Content-Type",
                                      "CONTENT-MD5",
                                      "Content-Encoding",
                                      "Content-Range",
                                      "Range",
                                      "Transfer-Encoding",
                                      "Connection",
                                      "Keep-Alive",
                                      "TE",
                                      "Trailer",
                                      "Upgrade",
                                      "Expect",
                                      "Proxy-Connection",
                                      "proxy-authorization",
                                      "Authorization",
                                      "Accept-Encoding",
                                      "Date",
                                      "User-Agent",
                                      "If-Match",
                                      "If-None-Match",
                                      "if-unmodified-since",
                                      "x-amz-if-match-size",
                                      "X-Amz-Date",
                                      "x-amz-content-sha256",
                                      "x-amz-security-token",
                                      "x-amz-expected-bucket-owner",
                                      "x-amz-checksum-crc32",
                                      "x-amz-sdk-checksum-algorithm",
                                      "x-amz-trailer",
                                      "x-amz-decoded-content-length",
                                      "x-amz-copy-source",
                                      "x-amz-copy-source-if-match",
                                      "x-amz-write-offset-bytes",
                                      "x-amz-server-side-encryption-customer-key"};
  static const char* const fine[] = {"Cache-Control: no-store",
                                     "x-amz-server-side-encryption: AES256",
                                     "x-amz-server-side-encryption-bucket-key-enabled: true",
                                     "x-amz-tagging: a=b&c=d",
                                     "Iff: x",
                                     "x-amz-date-of: x",
                                     "Hosts: x",
                                     "x-goog-storage-class: STANDARD"};
  char line[128];
  s3lect_error_t error;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    snprintf(line, sizeof(line), "%s: x", names[i]);
    if (check_header(line, &error) != S3LECT_EOPTION)
      fail_msg("%s is accepted", line);
    assert_memory_equal(error.text, "headers \"", 9);
    assert_true(strstr(error.text, "leave it away") != NULL ||
                strstr(error.text, "is an option of its own") ||
                strstr(error.text, "set the option") || strstr(error.text, "use aws:kms"));
  }
  for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
    if (check_header(fine[i], &error) != 0)
      fail_msg("%s: %s", fine[i], error.text);
  }
}

static void refuses_too_much(void** state) {
  static char big[4096];
  const char* many[13];
  char lines[13][16];
  s3lect_store_s3_options_t o = good();
  for (int i = 0; i < 13; i++) {
    snprintf(lines[i], sizeof(lines[i]), "X-%d: y", i);
    many[i] = lines[i];
  }
  o.headers = many;
  o.headers_len = 13;
  refused(&o, S3LECT_EOPTION,
          "headers \"X-12: y\": too many headers; at most 12, those of encryption included");
  o.headers_len = SIZE_MAX; /* and stops there */
  refused(&o, S3LECT_EOPTION,
          "headers \"X-12: y\": too many headers; at most 12, those of encryption included");
  o.headers_len = 12;
  assert_int_equal(s3lect_store_s3_options_check(&o, NULL), 0);
  o.server_side_encryption = "AES256";
  refused(&o, S3LECT_EOPTION,
          "headers \"X-11: y\": too many headers; at most 12, those of encryption included");
  o = good();
  memset(big, 'v', sizeof(big) - 1);
  memcpy(big, "X-A:", 4);
  many[0] = big;
  o.headers = many;
  o.headers_len = 1;
  big[4 + 3072 - 3] = '\0';
  assert_int_equal(s3lect_store_s3_options_check(&o, NULL), 0);
  big[4 + 3072 - 3] = 'v';
  big[4 + 3072 - 3 + 1] = '\0';
  s3lect_error_t error;
  assert_int_equal(s3lect_store_s3_options_check(&o, &error), S3LECT_EOPTION);
  assert_non_null(strstr(error.text, "\": the headers are too long; at most 3072 bytes in all"));
  o.headers = NULL;
  refused(&o, S3LECT_EOPTION, "headers_len: not 0, although headers is not set");
  many[0] = NULL;
  o.headers = many;
  refused(&o, S3LECT_EOPTION, "headers \"\": not a header; write it as \"Name: value\"");
}

static void refuses_what_does_not_go_together(void** state) {
  const char* twice[] = {"X-A: 1", "x-a: 2"};
  const char* sse[] = {"X-Amz-Server-Side-Encryption: AES256"};
  s3lect_store_s3_options_t o = good();
  o.headers = twice;
  o.headers_len = 2;
  refused(&o, S3LECT_EOPTION, "headers \"x-a: 2\": this header is given twice; give it once");
  o.headers = sse;
  o.headers_len = 1;
  o.server_side_encryption = "aws:kms";
  refused(&o, S3LECT_EOPTION,
          "headers \"X-Amz-Server-Side-Encryption: AES256\": this header is given twice; give it "
          "once");
  o = good();
  o.server_side_encryption = "AES-256";
  refused(&o, S3LECT_EOPTION,
          "server_side_encryption \"AES-256\": not a kind of encryption; use AES256, aws:kms or "
          "aws:kms:dsse");
  o.server_side_encryption = NULL;
  o.sse_kms_key_id = "key";
  refused(&o, S3LECT_EOPTION,
          "sse_kms_key_id \"key\": is for encryption with aws:kms or aws:kms:dsse; ask for one of "
          "them, too");
  o.server_side_encryption = "AES256";
  refused(&o, S3LECT_EOPTION,
          "sse_kms_key_id \"key\": is for encryption with aws:kms or aws:kms:dsse; ask for one of "
          "them, too");
  o.server_side_encryption = "aws:kms:dsse";
  assert_int_equal(s3lect_store_s3_options_check(&o, NULL), 0);
  o.sse_kms_key_id = "a\r\nX-B: c";
  refused(&o, S3LECT_EOPTION,
          "sse_kms_key_id \"a??X-B: c\": not a key; give its ID, or its ARN "
          "(arn:aws:kms:REGION:ACCOUNT:key/ID)");
  static const char* const owners[] = {"12345678901", "1234567890123", "1234-5678-9012",
                                       "12345678901a"};
  for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
    char text[160];
    o = good();
    o.expected_bucket_owner = owners[i];
    snprintf(text, sizeof(text),
             "expected_bucket_owner \"%s\": not an AWS account; give its 12 digits, without dashes",
             owners[i]);
    refused(&o, S3LECT_EOPTION, text);
  }
  o = good();
  o.checksum = 2;
  refused(&o, S3LECT_EOPTION, "checksum: not 0 or 1");
}

/* Structs of another version: shorter ones are taken, longer ones if what is unknown is unset. */
static void minds_the_size(void** state) {
  struct {
    s3lect_store_s3_options_t o;
    char more[64];
  } newer;
  memset(&newer, 0, sizeof(newer));
  newer.o = good();
  newer.o.size = sizeof(newer);
  assert_int_equal(s3lect_store_s3_options_check(&newer.o, NULL), 0);
  newer.more[63] = 1;
  refused(&newer.o, UV_ENOTSUP, "size: an option is set that this version does not know");
  s3lect_store_s3_options_t o = good();
  const size_t absurd[] = {0, 1, sizeof(size_t), sizeof(o) - 1, 4097, SIZE_MAX};
  for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
    char text[128];
    o.size = absurd[i];
    snprintf(text, sizeof(text),
             "size: %zu is not a size of s3lect_store_s3_options_t; call "
             "s3lect_store_s3_options_init first",
             absurd[i]);
    refused(&o, UV_EINVAL, text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(puts_carry_them_signed),
      cmocka_unit_test(other_requests_carry_the_owner_only),
      cmocka_unit_test(the_most_that_is_accepted_can_be_sent),
      cmocka_unit_test(strings_are_copied),
      cmocka_unit_test(refuses_what_is_no_header),
      cmocka_unit_test(refuses_headers_that_are_not_the_operators),
      cmocka_unit_test(refuses_too_much),
      cmocka_unit_test(refuses_what_does_not_go_together),
      cmocka_unit_test(minds_the_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
