/* The signature check: AWS's published vectors, the library's signer, and everything that must not
 * pass. */

#include <string.h>
#include <time.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"

static int open_rig(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.keys = {{"test", "testtest", NULL},
                                               {"other", "secret", NULL},
                                               {"temporary", "secret", "TOKEN/+=="}}});
  return 0;
}

static void refused(int status, const char* code) {
  s3l_refused(s3l_fakes3_exchange(false), status, code);
}

/* docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html: V1 to V4 of its examples,
 * verbatim. The server's clock is put back to 2013; what a request then does is beside the point,
 * as long as it is not refused for its signature. */
#define SCOPE "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HOST  "Host: examplebucket.s3.amazonaws.com\r\n"
#define WHEN  "x-amz-date: 20130524T000000Z\r\n"

static const struct {
  const char* name;
  int status;
  const char* request;
} vectors[] = {
    {"get object", 404,
     "GET /test.txt HTTP/1.1\r\n" HOST "Authorization: " SCOPE
     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature="
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41\r\n"
     "Range: bytes=0-9\r\nx-amz-content-sha256: " EMPTY "\r\n" WHEN "\r\n"},
    {"put object", 200,
     "PUT /test%24file.text HTTP/1.1\r\n" HOST "Date: Fri, 24 May 2013 00:00:00 GMT\r\n"
     "Authorization: " SCOPE
     "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,Signature="
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd\r\n" WHEN
     "x-amz-storage-class: REDUCED_REDUNDANCY\r\nx-amz-content-sha256: "
     "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\r\n"
     "Content-Length: 21\r\n\r\nWelcome to Amazon S3."},
    {"get lifecycle", 501,
     "GET /?lifecycle HTTP/1.1\r\n" HOST "Authorization: " SCOPE
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature="
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543\r\n" WHEN
     "x-amz-content-sha256: " EMPTY "\r\n\r\n"},
    {"list objects", 501,
     "GET /?max-keys=2&prefix=J HTTP/1.1\r\n" HOST "Authorization: " SCOPE
     "SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature="
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7\r\n" WHEN
     "x-amz-content-sha256: " EMPTY "\r\n\r\n"},
};

static void accepts_published_vectors(void** state) {
  int64_t back = (1369353600 - (int64_t)time(NULL)) * 1000;
  s3l_fakes3_open(&(fakes3_options_t){
      .domain = "s3.amazonaws.com",
      .clock_offset_ms = back,
      .keys = {{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", NULL}}});
  for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
    rig.bytes_n = strlen(vectors[i].request);
    memcpy(rig.bytes, vectors[i].request, rig.bytes_n + 1);
    int status = s3l_fakes3_exchange(false);
    if (status != vectors[i].status)
      fail_msg("%s: %d\n%s", vectors[i].name, status, rig.reply.body);
    /* One digit of the signature changed: the same request does not pass. */
    char* signature = strstr(rig.bytes, "Signature=") + 10;
    *signature = *signature == '0' ? '1' : '0';
    refused(403, "SignatureDoesNotMatch");
  }
  s3l_fakes3_close();
}

static void accepts_the_library(void** state) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "a b/c+d~e=\xC3\xA9", .body = "x"), 200);
  assert_string_equal(s3l_fakes3_last()->key, "a b/c+d~e=\xC3\xA9");
  assert_int_equal(S3L_DO(.key = "a b/c+d~e=\xC3\xA9"), 200);
  assert_string_equal(rig.reply.body, "x");
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "a b/", .after = "a b/b&"), 200);
  assert_int_equal(S3L_DO(.key = "k", .access_key = "other", .secret = "secret"), 404);
  assert_int_equal(S3L_DO(.key = "k", .region = "mars-1"), 404);
  assert_int_equal(
      S3L_DO(.key = "k", .access_key = "temporary", .secret = "secret", .token = "TOKEN/+=="), 404);
  assert_int_equal(S3L_DO(.bucket = "", .key = "k", .host = "bucket.s3.localhost"), 404);
  assert_string_equal(s3l_fakes3_last()->bucket, "bucket");
}

static void refuses_wrong_keys(void** state) {
  S3L_SIGN(.key = "k", .access_key = "nobody");
  refused(403, "InvalidAccessKeyId");
  assert_string_equal(s3l_raw_tag("AWSAccessKeyId"), "nobody");
  S3L_SIGN(.key = "k", .secret = "wrong");
  refused(403, "SignatureDoesNotMatch");
  S3L_SIGN(.key = "k", .token = "unasked");
  refused(400, "InvalidToken");
  S3L_SIGN(.key = "k", .access_key = "temporary", .secret = "secret", .token = "no");
  refused(400, "InvalidToken");
  S3L_SIGN(.key = "k");
  s3l_fakes3_bend("AWS4-HMAC-SHA256 ", "AWS4-HMAC-SHA512 ");
  refused(400, "AuthorizationHeaderMalformed");
  S3L_SIGN(.key = "k");
  s3l_fakes3_bend("authorization:", "x-nothing:");
  refused(403, "AccessDenied");
}

static void refuses_wrong_times(void** state) {
  const int64_t minute = 60 * 1000;
  assert_int_equal(S3L_DO(.key = "k", .skew_ms = 14 * minute), 404);
  assert_int_equal(S3L_DO(.key = "k", .skew_ms = -14 * minute), 404);
  S3L_SIGN(.key = "k", .skew_ms = 16 * minute);
  refused(403, "RequestTimeTooSkewed");
  S3L_SIGN(.key = "k", .skew_ms = -16 * minute);
  refused(403, "RequestTimeTooSkewed");
  assert_non_null(s3l_raw_tag("ServerTime"));
  assert_non_null(s3l_raw_tag("RequestTime"));
  assert_string_equal(s3l_raw_tag("MaxAllowedSkewMilliseconds"), "900000");
  fakes3_set_clock_offset(rig.server, -16 * minute);
  S3L_SIGN(.key = "k");
  refused(403, "RequestTimeTooSkewed");
  fakes3_set_clock_offset(rig.server, 0);
}

static void refuses_what_was_tampered_with(void** state) {
  static const struct {
    const char* from;
    const char* to;
    int status;
    const char* code;
  } bends[] = {
      {"PUT /bucket/k ", "PUT /bucket/l ", 403, "SignatureDoesNotMatch"},
      {"PUT ", "DELETE ", 403, "SignatureDoesNotMatch"},
      {"PUT /bucket/k ", "PUT /bucket/k?prefix=x ", 403, "SignatureDoesNotMatch"},
      {"\"e\"", "\"f\"", 403, "SignatureDoesNotMatch"},
      {"body-here", "body-HERE", 400, "XAmzContentSHA256Mismatch"},
      {"\r\n\r\n", "\r\nx-amz-meta-a: b\r\n\r\n", 403, "AccessDenied"},
      {"\r\n\r\n", "\r\nIf-None-Match: *\r\n\r\n", 403, "AccessDenied"},
      {"us-east-1/s3", "us-west-1/s3", 403, "SignatureDoesNotMatch"},
      {"us-east-1/s3", "us-east-1/s4", 400, "AuthorizationHeaderMalformed"},
  };
  for (size_t i = 0; i < sizeof(bends) / sizeof(bends[0]); i++) {
    S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .if_match = "\"e\"", .body = "body-here");
    s3l_fakes3_bend(bends[i].from, bends[i].to);
    refused(bends[i].status, bends[i].code);
  }
}

/* What a middlebox may do: drop the condition, or its place in the signature. */
static void refuses_a_lost_condition(void** state) {
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .if_match = "\"e\"", .body = "x");
  char* line = strstr(rig.bytes, "\"e\"\r\n");
  assert_non_null(line);
  while (line[-1] != '\n')
    line--;
  char whole[64];
  size_t n = (size_t)(strstr(line, "\r\n") + 2 - line);
  assert_true(n < sizeof(whole));
  memcpy(whole, line, n);
  whole[n] = '\0';
  s3l_fakes3_bend(whole, "");
  refused(403, "SignatureDoesNotMatch");
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .if_match = "\"e\"", .body = "x");
  s3l_fakes3_bend("host;if-match;", "host;");
  refused(403, "AccessDenied");
  assert_string_equal(s3l_raw_tag("HeadersNotSigned"), "if-match");
}

/* As of a public bucket; writes still want a signature. */
static void reads_without_signature_if_told_to(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.anonymous_reads = true});
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "x"), 200);
  S3L_SIGN(.key = "k");
  s3l_fakes3_bend("authorization:", "x-nothing:");
  assert_int_equal(s3l_fakes3_exchange(false), 200);
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "y");
  s3l_fakes3_bend("authorization:", "x-nothing:");
  refused(403, "AccessDenied");
  /* One that is given must be right. */
  S3L_SIGN(.key = "k", .secret = "wrong");
  refused(403, "SignatureDoesNotMatch");
  s3l_fakes3_close();
}

/* A simulator computes some signatures only; all else that a request says of itself is checked. */
static void computes_some_signatures_if_told_to(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.verify_every = 2});
  for (int i = 0; i < 2; i++) {
    S3L_SIGN(.key = "k", .secret = "wrong");
    refused(403, "SignatureDoesNotMatch");
    S3L_SIGN(.key = "k", .secret = "wrong");
    assert_int_equal(s3l_fakes3_exchange(false), 404);
  }
  S3L_SIGN(.key = "k", .access_key = "nobody");
  refused(403, "InvalidAccessKeyId");
  s3l_fakes3_close();
}

static void refuses_another_region(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.region = "eu-north-1"});
  assert_int_equal(S3L_DO(.key = "k", .region = "eu-north-1"), 404);
  S3L_SIGN(.key = "k", .region = "us-east-1");
  refused(400, "AuthorizationHeaderMalformed");
  assert_string_equal(s3l_raw_tag("Region"), "eu-north-1");
  s3l_fakes3_close();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_published_vectors),
      cmocka_unit_test_setup_teardown(accepts_the_library, open_rig, s3l_close_rig),
      cmocka_unit_test_setup_teardown(refuses_wrong_keys, open_rig, s3l_close_rig),
      cmocka_unit_test_setup_teardown(refuses_wrong_times, open_rig, s3l_close_rig),
      cmocka_unit_test_setup_teardown(refuses_what_was_tampered_with, open_rig, s3l_close_rig),
      cmocka_unit_test_setup_teardown(refuses_a_lost_condition, open_rig, s3l_close_rig),
      cmocka_unit_test(reads_without_signature_if_told_to),
      cmocka_unit_test(computes_some_signatures_if_told_to),
      cmocka_unit_test(refuses_another_region),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
