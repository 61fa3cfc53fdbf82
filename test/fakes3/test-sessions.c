/* The fake's directory buckets: which sessions it gives, and which requests it refuses. The
 * requests are signed by the library; test/wire/test-s3-request.c has vectors of their signatures.
 */
#include <stdio.h>
#include <string.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"

#define BUCKET "locks--usw2-az1--x-s3"

static char access_key[64], secret[64], token[64];

#define REFUSED(status, code, ...) s3l_refused(S3L_DO(.express = true, __VA_ARGS__), status, code)

/* The keys of a new session, in the variables above. */
static void create_session(const char* bucket) {
  assert_int_equal(S3L_DO(.op = S3L_S3_SESSION, .express = true, .bucket = bucket), 200);
  assert_string_equal(s3l_fakes3_last()->method, "SESSION");
  snprintf(access_key, sizeof(access_key), "%s", s3l_raw_tag("AccessKeyId"));
  snprintf(secret, sizeof(secret), "%s", s3l_raw_tag("SecretAccessKey"));
  snprintf(token, sizeof(token), "%s", s3l_raw_tag("SessionToken"));
  assert_non_null(s3l_raw_tag("Expiration"));
}

#define KEYS .access_key = access_key, .secret = secret, .token = token

static void sessions_sign_requests(void** state) {
  create_session(BUCKET);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .express = true, .bucket = BUCKET, .key = "a/b",
                          .if_none_match = "*", .body = "x", KEYS),
                   200);
  assert_int_equal(S3L_DO(.express = true, .bucket = BUCKET, .key = "a/b", KEYS), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .express = true, .bucket = BUCKET, .key = "a/b",
                          .if_match = "\"wrong\"", .body = "y", KEYS),
                   412);
}

static void wrong_sessions_are_refused(void** state) {
  create_session(BUCKET);
  REFUSED(403, "InvalidAccessKeyId", .bucket = BUCKET, .key = "k"); /* no session at all */
  REFUSED(403, "SignatureDoesNotMatch", .bucket = BUCKET, .key = "k", .access_key = access_key,
          .secret = "wrong", .token = token);
  REFUSED(400, "InvalidToken", .bucket = BUCKET, .key = "k", .access_key = access_key,
          .secret = secret, .token = "wrong");
  REFUSED(403, "AccessDenied", .bucket = "other--usw2-az1--x-s3", .key = "k", KEYS);
  /* Another service in the scope; the token's header is not the right one either. */
  s3l_refused(S3L_DO(.bucket = BUCKET, .key = "k", KEYS), 400, "InvalidRequest");
  s3l_refused(S3L_DO(.op = S3L_S3_SESSION, .bucket = BUCKET), 400, "AuthorizationHeaderMalformed");
  REFUSED(400, "AuthorizationHeaderMalformed", .bucket = "general", .key = "k");
  fakes3_end_sessions(rig.server);
  REFUSED(403, "InvalidAccessKeyId", .bucket = BUCKET, .key = "k", KEYS);
}

static void sessions_end(void** state) {
  create_session(BUCKET);
  fakes3_set_clock_offset(rig.server, 301000);
  REFUSED(400, "ExpiredToken", .bucket = BUCKET, .key = "k", .skew_ms = 301000, KEYS);
  fakes3_set_clock_offset(rig.server, 299000);
  assert_int_equal(S3L_DO(.express = true, .bucket = BUCKET, .key = "k", .skew_ms = 299000, KEYS),
                   404);
}

static void listings_have_limits(void** state) {
  create_session(BUCKET);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .express = true, .bucket = BUCKET, .key = "a/", KEYS),
                   200);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .express = true, .bucket = BUCKET, .key = "a", KEYS),
                   400);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .express = true, .bucket = BUCKET, .key = "a/",
                          .after = "a/b", KEYS),
                   400);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, s3l_open_rig, s3l_close_rig)
  const struct CMUnitTest tests[] = {
      TEST(sessions_sign_requests),
      TEST(wrong_sessions_are_refused),
      TEST(sessions_end),
      TEST(listings_have_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
