/* The fake S3 as Google Cloud Storage: generations, what differs from S3, and each way to be
 * authorised. What test-faults.c shows of the faults holds here, too: it runs for each protocol. */
#include <stdio.h>
#include <string.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"
#include "loop/clock.h"
#include "wire/gcs_request.h"

static char now[32]; /* the generation of what is stored as "there" */

static void put_old(void) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "there", .body = "old"), 200);
  snprintf(now, sizeof(now), "%s", s3l_raw_header("x-goog-generation"));
}

static int open_rig(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.protocol = "gcs"});
  put_old();
  return 0;
}

static void follows_the_table(void** state) {
  static const char md5[] = "\"149603e6c03516362a8da23f624db945\"";
  const struct {
    s3l_s3_op_t op;
    const char* key;
    const char* match; /* the generation, of writes */
    const char* none;
    int status;
    const char* code; /* NULL: none */
  } rows[] = {
      {S3L_S3_PUT, "gone", "0", NULL, 200, NULL},
      {S3L_S3_PUT, "there", "0", NULL, 412, "PreconditionFailed"},
      {S3L_S3_PUT, "there", now, NULL, 200, NULL},
      {S3L_S3_PUT, "there", "1", NULL, 412, "PreconditionFailed"},
      {S3L_S3_PUT, "gone", now, NULL, 412, "PreconditionFailed"},
      {S3L_S3_PUT, "there", "x", NULL, 400, "InvalidArgument"},
      {S3L_S3_PUT, "there", NULL, NULL, 200, NULL},
      {S3L_S3_DELETE, "there", now, NULL, 204, NULL},
      {S3L_S3_DELETE, "there", "1", NULL, 412, "PreconditionFailed"},
      {S3L_S3_DELETE, "gone", now, NULL, 404, "NoSuchKey"},
      {S3L_S3_DELETE, "gone", NULL, NULL, 404, "NoSuchKey"},
      {S3L_S3_GET, "there", NULL, md5, 304, NULL},
      {S3L_S3_GET, "there", NULL, "\"0\"", 200, NULL},
      {S3L_S3_GET, "there", "\"0\"", NULL, 412, "PreconditionFailed"},
      {S3L_S3_GET, "gone", NULL, NULL, 404, "NoSuchKey"},
      {S3L_S3_HEAD, "there", NULL, NULL, 200, NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    print_message("row %zu\n", i);
    fakes3_reset(rig.server);
    put_old(); /* to which `now` refers */
    s3l_said(S3L_DO(.op = rows[i].op, .key = rows[i].key, .if_match = rows[i].match,
                    .if_none_match = rows[i].none, .body = "new"),
             rows[i].status, rows[i].code);
    bool there = strcmp(rows[i].key, "there") == 0;
    bool put = there && rows[i].op == S3L_S3_PUT && rows[i].status == 200;
    bool deleted = there && rows[i].status == 204;
    assert_int_equal(S3L_DO(.key = "there"), deleted ? 404 : 200);
    if (!deleted)
      assert_string_equal(rig.reply.body, put ? "new" : "old");
  }
}

/* Only the generation is a condition of a write; it is none of a read. */
static void ignores_other_conditions(void** state) {
  S3L_SIGN(.op = S3L_S3_PUT, .key = "there", .if_match = "1", .body = "new");
  s3l_fakes3_bend("x-goog-if-generation-match: 1", "If-Match: \"0\"\r\nIf-None-Match: *");
  assert_int_equal(s3l_fakes3_exchange(false), 200);
  assert_null(s3l_fakes3_last()->if_match);
  assert_null(s3l_fakes3_last()->if_none_match);
  snprintf(now, sizeof(now), "%s", s3l_raw_header("x-goog-generation"));
  S3L_SIGN(.key = "there");
  char header[96];
  snprintf(header, sizeof(header), "\r\nx-goog-if-generation-not-match: %s\r\n\r\n", now);
  s3l_fakes3_bend("\r\n\r\n", header);
  assert_int_equal(s3l_fakes3_exchange(false), 200);
  S3L_SIGN(.key = "there");
  s3l_fakes3_bend("\r\n\r\n", "\r\nx-goog-if-generation-match: 1\r\n\r\n");
  s3l_said(s3l_fakes3_exchange(false), 412, "PreconditionFailed");
}

/* The log, and with it the rules, have S3's names for the conditions. */
static void logs_conditions(void** state) {
  (void)S3L_DO(.op = S3L_S3_PUT, .key = "k", .if_none_match = "*", .body = "x");
  assert_string_equal(s3l_fakes3_last()->if_none_match, "*");
  assert_string_equal(s3l_fakes3_last()->etag, s3l_raw_header("x-goog-generation"));
  s3l_fakes3_fault("{\"status\":599,\"match\":{\"condition\":\"if-match\"}}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .if_match = "7", .body = "x"), 599);
  assert_string_equal(s3l_fakes3_last()->if_match, "7");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .if_none_match = "*", .body = "x"), 412);
}

static void generations_grow(void** state) {
  char last[32];
  fakes3_set_clock_offset(rig.server, -100000); /* a clock that is put back */
  for (size_t i = 0; i < 8; i++) {
    memcpy(last, now, sizeof(now));
    put_old();
    assert_true(strlen(now) == strlen(last) && strcmp(now, last) > 0);
    if (i % 2 == 0)
      assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "there"), 204);
  }
}

static void lists_generations(void** state) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "they", .body = "x"), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "the", .max_keys = 1), 200);
  assert_string_equal(s3l_raw_tag("Key"), "there");
  assert_string_equal(s3l_raw_tag("Generation"), now);
  assert_string_equal(s3l_raw_tag("IsTruncated"), "true");
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST, .key = "the", .after = "there"), 200);
  assert_string_equal(s3l_raw_tag("Key"), "they");
}

static void limits_writes_if_told_to(void** state) {
  s3l_fakes3_fault("{\"write_interval_ms\":600000}");
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .body = "x"), 429, "SlowDown");
  s3l_said(S3L_DO(.op = S3L_S3_DELETE, .key = "there"), 429, "SlowDown");
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "another", .body = "x"), 200, NULL);
  s3l_said(S3L_DO(.key = "there"), 200, NULL);
}

static void knows_only_named_buckets(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.protocol = "gcs", .buckets = "one"});
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .bucket = "one", .key = "k", .body = "x"), 200, NULL);
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .bucket = "two", .key = "k", .body = "x"), 404, "NoSuchBucket");
  s3l_fakes3_close();
}

/* ---- Authorisation ---- */

typedef struct wish_s {
  const char* access;
  const char* secret;
  int64_t skew_ms;
} wish_t;

/* A PUT of k, signed by the library with an HMAC key. */
static void sign(wish_t w) {
  s3l_signer_t signer;
  const s3l_s3_target_t target = {.host = s3l_span_cstr(strstr(fakes3_url(rig.server), "//") + 2),
                                  .bucket = S3L_SPAN("bucket"),
                                  .user_agent = S3L_SPAN("rig")};
  const s3l_s3_keys_t keys = {
      .access_key = s3l_span_cstr(w.access != NULL ? w.access : FAKES3_ACCESS_KEY),
      .secret = s3l_span_cstr(w.secret != NULL ? w.secret : FAKES3_SECRET_KEY)};
  const s3l_s3_request_t request = {.op = S3L_S3_PUT,
                                    .key = S3L_SPAN("a b/\xC3\xA9"),
                                    .if_match = S3L_SPAN("0"),
                                    .body = S3L_SPAN("body-here")};
  assert_true(s3l_signer_open(&signer));
  assert_int_equal(s3l_gcs_request_write(&signer, &target, &keys, &request,
                                         s3l_clock_wall_ms() + w.skew_ms, rig.bytes,
                                         sizeof(rig.bytes) - 1, &rig.bytes_n),
                   0);
  rig.bytes[rig.bytes_n] = '\0';
  s3l_signer_close(&signer);
}

static void accepts_the_library(void** state) {
  sign((wish_t){0});
  s3l_said(s3l_fakes3_exchange(false), 200, NULL);
  assert_string_equal(s3l_fakes3_last()->key, "a b/\xC3\xA9");
  assert_string_equal(s3l_fakes3_last()->access_key, FAKES3_ACCESS_KEY);
  s3l_said(S3L_DO(.key = "a b/\xC3\xA9"), 200, NULL);
  assert_string_equal(rig.reply.body, "body-here");
}

static void refuses_wrong_keys_and_times(void** state) {
  static const struct {
    wish_t wish;
    int status;
    const char* code;
  } rows[] = {
      {{.access = "nobody"}, 403, "InvalidSecurity"},
      {{.access = "rig"}, 403, "InvalidSecurity"}, /* which is a token's name */
      {{.secret = "wrong"}, 403, "SignatureDoesNotMatch"},
      {{.skew_ms = 16 * 60 * 1000}, 403, "RequestTimeTooSkewed"},
      {{.skew_ms = -16 * 60 * 1000}, 403, "RequestTimeTooSkewed"},
      {{.skew_ms = 14 * 60 * 1000}, 200, NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    sign(rows[i].wish);
    s3l_said(s3l_fakes3_exchange(false), rows[i].status, rows[i].code);
  }
}

static void refuses_what_was_tampered_with(void** state) {
  static const struct {
    const char* from;
    const char* to;
    int status;
    const char* code;
  } bends[] = {
      {"/bucket/a", "/bucket/b", 403, "SignatureDoesNotMatch"},
      {"generation-match: 0", "generation-match: 1", 403, "SignatureDoesNotMatch"},
      {"x-goog-if-generation-match: 0\r\n", "", 403, "SignatureDoesNotMatch"},
      {"body-here", "body-HERE", 400, "XAmzContentSHA256Mismatch"},
      {"\r\n\r\n", "\r\nx-goog-meta-a: b\r\n\r\n", 403, "AccessDenied"},
      {"\r\n\r\n", "\r\nx-amz-meta-a: b\r\n\r\n", 400, "ExcessHeaderValues"},
      {"/storage/goog4", "/s3/goog4", 400, "MalformedSecurityHeader"},
      {"GOOG4-HMAC-SHA256", "AWS4-HMAC-SHA256", 400, "MalformedSecurityHeader"},
  };
  for (size_t i = 0; i < sizeof(bends) / sizeof(bends[0]); i++) {
    sign((wish_t){0});
    s3l_fakes3_bend(bends[i].from, bends[i].to);
    s3l_said(s3l_fakes3_exchange(false), bends[i].status, bends[i].code);
  }
}

/* S3's signature and headers are accepted; its conditions then mean nothing. */
static void accepts_s3_and_ignores_its_conditions(void** state) {
  rig.protocol = "s3"; /* of the requests that the rig writes */
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .if_none_match = "*", .body = "new"), 200,
           NULL);
  s3l_said(S3L_DO(.op = S3L_S3_PUT, .key = "there", .if_match = "\"0\"", .body = "new"), 200, NULL);
  S3L_SIGN(.key = "there", .secret = "wrong");
  s3l_said(s3l_fakes3_exchange(false), 403, "SignatureDoesNotMatch");
}

static void accepts_a_token(void** state) {
  s3l_said(S3L_DO(.key = "there"), 200, NULL);
  assert_string_equal(s3l_fakes3_last()->access_key, "rig");
  s3l_said(S3L_DO(.key = "there", .token = "wrong"), 401, "AuthenticationRequired");
  S3L_SIGN(.key = "there");
  s3l_fakes3_bend("Authorization:", "X-Nothing:");
  s3l_said(s3l_fakes3_exchange(false), 403, "AccessDenied");
}

static int exchange(const char* request) {
  rig.bytes_n = strlen(request);
  memcpy(rig.bytes, request, rig.bytes_n + 1);
  return s3l_fakes3_exchange(false);
}

#define POST "POST /token HTTP/1.1\r\nHost: x\r\nContent-Length: "

static void gives_tokens(void** state) {
  static const struct {
    const char* request;
    int status;
  } rows[] = {
      {POST "68\r\n\r\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&x=y", 400},
      {POST
       "76\r\n\r\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=e",
       200},
      {POST "75\r\n\r\ngrant_type=refresh_token&client_id=test&client_secret=testtest&refresh_tok=",
       200},
      {POST "62\r\n\r\ngrant_type=refresh_token&client_id=test&client_secret=wrong&x=", 401},
      {"GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1\r\nHost: "
       "x\r\n\r\n",
       403},
      {"GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1\r\nHost: x\r\n"
       "Metadata-Flavor: Google\r\n\r\n",
       200},
  };
  char token[64] = "";
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int status = exchange(rows[i].request);
    if (status != rows[i].status)
      fail_msg("row %zu: %d %s", i, status, rig.reply.body);
    if (status != 200)
      continue;
    const char* at = strstr(rig.reply.body, "\"access_token\":\"");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"access_token\":\"%63[^\"]", token), 1);
    s3l_said(S3L_DO(.key = "there", .token = token), 200, NULL);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, s3l_close_rig)
  const struct CMUnitTest tests[] = {
      TEST(follows_the_table),
      TEST(ignores_other_conditions),
      TEST(logs_conditions),
      TEST(generations_grow),
      TEST(lists_generations),
      TEST(limits_writes_if_told_to),
      cmocka_unit_test(knows_only_named_buckets),
      TEST(accepts_the_library),
      TEST(refuses_wrong_keys_and_times),
      TEST(refuses_what_was_tampered_with),
      TEST(accepts_s3_and_ignores_its_conditions),
      TEST(accepts_a_token),
      TEST(gives_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
