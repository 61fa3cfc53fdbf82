/* wire/s3_reply: what each status and code comes to, for each operation. */
#include <string.h>

#include "lib/test.h"
#include "s3lect/errno.h"
#include "s3lect/store.h"
#include "wire/s3_reply.h"

static void expect(s3l_s3_op_t op, int http, const char* code, int status, int outcome) {
  s3l_store_verdict_t v = s3l_s3_verdict(op, http, s3l_span_cstr(code), false);
  if (v.status != status || v.outcome != outcome)
    fail_msg("op %d, %d %s: got %d/%d, want %d/%d", op, http, code, v.status, v.outcome, status,
             outcome);
}

static void judges_puts(void** state) {
  static const struct {
    int http;
    const char* code;
    int status, outcome;
  } rows[] = {
      {200, "", 0, S3LECT_SETTLED},
      {204, "", 0, S3LECT_SETTLED},
      {200, "InternalError", S3LECT_ESERVER, S3LECT_UNCERTAIN},
      {202, "", S3LECT_EBADREPLY, S3LECT_UNCERTAIN},
      {206, "", S3LECT_EBADREPLY, S3LECT_UNCERTAIN},
      {100, "", S3LECT_EBADREPLY, S3LECT_UNCERTAIN},
      {0, "", S3LECT_EBADREPLY, S3LECT_UNCERTAIN},
      {999, "", S3LECT_EBADREPLY, S3LECT_UNCERTAIN},
      {412, "PreconditionFailed", S3LECT_EPRECONDITION, S3LECT_SETTLED},
      {412, "", S3LECT_EPRECONDITION, S3LECT_SETTLED},
      {304, "", S3LECT_EPRECONDITION, S3LECT_SETTLED},
      {409, "ConditionalRequestConflict", S3LECT_ECONFLICT, S3LECT_SETTLED},
      {409, "OperationAborted", S3LECT_ECONFLICT, S3LECT_SETTLED},
      {404, "NoSuchKey", S3LECT_ENOTFOUND, S3LECT_SETTLED},
      {404, "", S3LECT_ENOTFOUND, S3LECT_SETTLED},
      {404, "InternalError", S3LECT_ESERVER, S3LECT_UNCERTAIN},
      {404, "XAdminUserNotFound", S3LECT_ESIGNATURE, S3LECT_NOT_APPLIED},
      {404, "NoSuchBucket", S3LECT_ENOBUCKET, S3LECT_NOT_APPLIED},
      {301, "PermanentRedirect", S3LECT_EREGION, S3LECT_NOT_APPLIED},
      {301, "", S3LECT_EREDIRECT, S3LECT_NOT_APPLIED},
      {302, "", S3LECT_EREDIRECT, S3LECT_NOT_APPLIED},
      {307, "TemporaryRedirect", S3LECT_EREDIRECT, S3LECT_NOT_APPLIED},
      {308, "", S3LECT_EREDIRECT, S3LECT_NOT_APPLIED},
      {400, "", S3LECT_EREFUSED, S3LECT_NOT_APPLIED},
      {400, "RequestTimeout", S3LECT_ESERVER, S3LECT_NOT_APPLIED},
      {400, "AuthorizationHeaderMalformed", S3LECT_EREFUSED, S3LECT_NOT_APPLIED},
      {400, "ExpiredToken", S3LECT_ESIGNATURE, S3LECT_NOT_APPLIED},
      {400, "NotImplemented", S3LECT_EUNSUPPORTED, S3LECT_NOT_APPLIED},
      {401, "", S3LECT_EDENIED, S3LECT_NOT_APPLIED},
      {403, "AccessDenied", S3LECT_EDENIED, S3LECT_NOT_APPLIED},
      {403, "", S3LECT_EDENIED, S3LECT_NOT_APPLIED},
      {403, "RequestTimeTooSkewed", S3LECT_ESKEW, S3LECT_NOT_APPLIED},
      {403, "SignatureDoesNotMatch", S3LECT_ESIGNATURE, S3LECT_NOT_APPLIED},
      {403, "InvalidAccessKeyId", S3LECT_ESIGNATURE, S3LECT_NOT_APPLIED},
      {408, "RequestCanceled", S3LECT_ESERVER, S3LECT_UNCERTAIN},
      {499, "", S3LECT_ESERVER, S3LECT_UNCERTAIN},
      {411, "MissingContentLength", S3LECT_EREFUSED, S3LECT_NOT_APPLIED},
      {429, "", S3LECT_ETHROTTLED, S3LECT_NOT_APPLIED},
      {500, "InternalError", S3LECT_ESERVER, S3LECT_UNCERTAIN},
      {501, "NotImplemented", S3LECT_EUNSUPPORTED, S3LECT_NOT_APPLIED},
      {501, "", S3LECT_EUNSUPPORTED, S3LECT_NOT_APPLIED},
      {502, "", S3LECT_ESERVER, S3LECT_UNCERTAIN},
      {503, "SlowDown", S3LECT_ETHROTTLED, S3LECT_UNCERTAIN},
      {503, "ServiceUnavailable", S3LECT_ESERVER, S3LECT_UNCERTAIN},
      {400, "KMS.DisabledException", S3LECT_EDENIED, S3LECT_NOT_APPLIED},
      {400, "KMSx", S3LECT_EREFUSED, S3LECT_NOT_APPLIED},
      {407, "", S3LECT_EPROXY, S3LECT_NOT_APPLIED},
      {504, "", S3LECT_ESERVER, S3LECT_UNCERTAIN},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    expect(S3L_S3_PUT, rows[i].http, rows[i].code, rows[i].status, rows[i].outcome);
}

static void judges_the_others(void** state) {
  expect(S3L_S3_GET, 200, "", 0, S3LECT_SETTLED);
  expect(S3L_S3_GET, 304, "", S3LECT_ENOTMODIFIED, S3LECT_SETTLED);
  expect(S3L_S3_HEAD, 304, "", S3LECT_ENOTMODIFIED, S3LECT_SETTLED);
  expect(S3L_S3_GET, 404, "NoSuchKey", S3LECT_ENOTFOUND, S3LECT_SETTLED);
  expect(S3L_S3_GET, 404, "NoSuchBucket", S3LECT_ENOBUCKET, S3LECT_NOT_APPLIED);
  expect(S3L_S3_GET, 204, "", S3LECT_EBADREPLY, S3LECT_NOT_APPLIED);
  expect(S3L_S3_LIST, 200, "", 0, S3LECT_SETTLED);
  expect(S3L_S3_LIST, 200, "InternalError", S3LECT_ESERVER, S3LECT_NOT_APPLIED);
  expect(S3L_S3_LIST, 404, "NoSuchBucket", S3LECT_ENOBUCKET, S3LECT_NOT_APPLIED);
  expect(S3L_S3_LIST, 404, "", S3LECT_ESERVER, S3LECT_NOT_APPLIED);
  expect(S3L_S3_DELETE, 204, "", 0, S3LECT_SETTLED);
  expect(S3L_S3_DELETE, 200, "", 0, S3LECT_SETTLED);
  expect(S3L_S3_DELETE, 404, "", S3LECT_ENOTFOUND, S3LECT_SETTLED);
  expect(S3L_S3_DELETE, 412, "", S3LECT_EPRECONDITION, S3LECT_SETTLED);
  expect(S3L_S3_DELETE, 500, "", S3LECT_ESERVER, S3LECT_UNCERTAIN);
  /* A read has no effect, so that its outcome is never unknown; whatever the status. */
  for (int http = -1; http < 1000; http++) {
    assert_int_not_equal(s3l_s3_verdict(S3L_S3_GET, http, S3L_SPAN(""), false).outcome,
                         S3LECT_UNCERTAIN);
    s3l_store_verdict_t v = s3l_s3_verdict(S3L_S3_PUT, http, S3L_SPAN(""), false);
    assert_true(v.status != 0 || (http >= 200 && http <= 204));
  }
}

static void a_named_region_is_the_reason(void** state) {
  s3l_store_verdict_t v =
      s3l_s3_verdict(S3L_S3_PUT, 400, S3L_SPAN("AuthorizationHeaderMalformed"), true);
  assert_int_equal(v.status, S3LECT_EREGION);
  assert_int_equal(v.outcome, S3LECT_NOT_APPLIED);
  assert_int_equal(s3l_s3_verdict(S3L_S3_HEAD, 301, S3L_SPAN(""), true).status, S3LECT_EREGION);
  /* S3 names the region on other replies too. */
  assert_int_equal(s3l_s3_verdict(S3L_S3_GET, 200, S3L_SPAN(""), true).status, 0);
  assert_int_equal(s3l_s3_verdict(S3L_S3_GET, 403, S3L_SPAN(""), true).status, S3LECT_EDENIED);
  assert_int_equal(s3l_s3_verdict(S3L_S3_GET, 404, S3L_SPAN(""), true).status, S3LECT_ENOTFOUND);
}

static void reads_error_bodies(void** state) {
  s3l_store_error_t e;
  char line[600];
  s3l_buf_t b;
  assert_true(s3l_store_error_parse(
      S3L_SPAN("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><HostId>h</HostId>"
               "<Message>At least\none &lt;of&gt; them</Message><Code>PreconditionFailed</Code>"
               "<RequestId>4442587FB7D0A2F9</RequestId></Error>"),
      &e));
  assert_string_equal(e.code, "PreconditionFailed");
  assert_string_equal(e.message, "At least?one <of> them");
  s3l_buf_init(&b, line, sizeof(line));
  s3l_store_error_describe(&b, 412, &e, NULL);
  assert_string_equal(
      s3l_buf_cstr(&b),
      "412 PreconditionFailed: At least?one <of> them (request id 4442587FB7D0A2F9)");
  assert_true(s3l_store_error_parse(
      S3L_SPAN(
          "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>"),
      &e));
  assert_string_equal(e.region, "eu-west-1");
  /* Nothing of it can break the line, or drive a terminal. */
  assert_true(s3l_store_error_parse(S3L_SPAN("<Error><Code>A&#10;B</Code><Region>c&#9;d</Region>"
                                             "<RequestId>&#27;[2J</RequestId></Error>"),
                                    &e));
  assert_string_equal(e.code, "A?B");
  assert_string_equal(e.region, "c?d");
  assert_string_equal(e.request_id, "?[2J");
  assert_true(s3l_store_error_parse(S3L_SPAN("<Error/>"), &e));
  assert_string_equal(e.code, "");
  /* A proxy's page is no error document, even if it talks of codes. */
  assert_false(
      s3l_store_error_parse(S3L_SPAN("<html><body><Code>NoSuchKey</Code></body></html>"), &e));
  assert_string_equal(e.code, "");
  assert_false(s3l_store_error_parse(S3L_SPAN("502 Bad Gateway"), &e));
  assert_false(s3l_store_error_parse(S3L_SPAN("<Error><Code>x</Code>"), &e));
  assert_false(s3l_store_error_parse((s3l_span_t){NULL, 0}, &e));
  s3l_buf_init(&b, line, sizeof(line));
  s3l_store_error_describe(&b, 502, &e, NULL);
  assert_string_equal(s3l_buf_cstr(&b), "502");
  s3l_buf_init(&b, line, sizeof(line));
  s3l_store_error_describe(&b, 502, &e, "look there");
  assert_string_equal(s3l_buf_cstr(&b), "502; look there");
}

static void takes_etags_as_they_are(void** state) {
  char out[S3LECT_ETAG_SIZE];
  char longest[S3LECT_ETAG_SIZE];
  assert_true(s3l_store_etag(S3L_SPAN("\"d41d8\""), out));
  assert_string_equal(out, "\"d41d8\"");
  assert_true(s3l_store_etag(S3L_SPAN("bare"), out));
  assert_string_equal(out, "bare");
  assert_true(s3l_store_etag(S3L_SPAN(" W/\"weak\" "), out));
  assert_string_equal(out, "\"weak\"");
  memset(longest, 'e', sizeof(longest));
  assert_true(s3l_store_etag((s3l_span_t){longest, S3LECT_ETAG_SIZE - 1}, out));
  assert_int_equal(strlen(out), S3LECT_ETAG_SIZE - 1);
  static const s3l_span_t bad[] = {{NULL, 0},    {"", 0},       {"\"\"", 2},
                                   {"W/", 2},    {"W/\"\"", 4}, {"a b", 3},
                                   {"a\x01", 2}, {"a\0b", 3},   {"a\x7f", 2}};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    assert_false(s3l_store_etag(bad[i], out));
    assert_string_equal(out, "");
  }
  assert_false(s3l_store_etag((s3l_span_t){longest, S3LECT_ETAG_SIZE}, out));
}

static void reads_retry_after(void** state) {
  assert_int_equal(s3l_store_retry_after(S3L_SPAN("2"), 0), 2000);
  assert_int_equal(s3l_store_retry_after(S3L_SPAN("99999999999"), 0), 3600000);
  assert_int_equal(s3l_store_retry_after(S3L_SPAN("Sun, 06 Nov 1994 08:49:37 GMT"), 784111772000),
                   5000);
  assert_int_equal(s3l_store_retry_after(S3L_SPAN("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777000),
                   0);
  assert_int_equal(s3l_store_retry_after(S3L_SPAN("Sun, 06 Nov 1994 08:49:37 GMT"), 0), 0);
  assert_int_equal(s3l_store_retry_after(S3L_SPAN("soon"), 1), 0);
  assert_int_equal(s3l_store_retry_after((s3l_span_t){NULL, 0}, 1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(judges_puts),
      cmocka_unit_test(judges_the_others),
      cmocka_unit_test(a_named_region_is_the_reason),
      cmocka_unit_test(reads_error_bodies),
      cmocka_unit_test(takes_etags_as_they_are),
      cmocka_unit_test(reads_retry_after),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
