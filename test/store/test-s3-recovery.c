/* store/s3/recovery against scripts: each way of naming the region, refusals that go on, and what
 * is not believed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/s3_rig.h"
#include "lib/test.h"

#define ETAG     "\"0123456789abcdef0123456789abcdef\""
#define GET_OK   "HTTP/1.1 200 OK\r\nETag: " ETAG "\r\nContent-Length: 4\r\n\r\nbody"
#define PUT_OK   "HTTP/1.1 200 OK\r\nETag: " ETAG "\r\nContent-Length: 0\r\n\r\n"
#define BODY     "{\"epoch\":1}"
#define IN(r)    S3L_EXPECT("/" r "/s3/aws4_request"), S3L_EXPECT("\r\n\r\n")
#define EMPTY    "Content-Length: 0\r\n\r\n"
#define NAMED(r) "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: " r "\r\n" EMPTY

static s3_rig_t* rig;

#define BEGIN(...) (rig = S3_RIG(__VA_ARGS__))

static int get(void) {
  return s3l_suite_get(&rig->suite, &rig->r, "k", NULL)->status;
}

static int put(void) {
  return s3l_suite_put(&rig->suite, &rig->r, "k", S3LECT_IF_ABSENT, NULL, BODY)->status;
}

static void assert_message(const char* wanted) {
  if (rig->r.result.message == NULL || strstr(rig->r.message, wanted) == NULL)
    fail_msg("\"%s\" does not hold \"%s\"", rig->r.message, wanted);
}

/* Wherever the reply names it: the request goes out again, and later ones are right at once. */
static void hears_of_the_region(void** state) {
  static const char* const replies[] = {
      NAMED("eu-west-1"),
      "HTTP/1.1 301 Moved\r\nConnection: close\r\n\r\n<Error><Code>PermanentRedirect</Code>"
      "<Endpoint>bucket.s3-eu-west-1.amazonaws.com</Endpoint></Error>",
      "HTTP/1.1 301 Moved\r\nConnection: close\r\n\r\n<Error><Code>PermanentRedirect</Code>"
      "<Endpoint>bucket.s3.eu-west-1.amazonaws.com</Endpoint></Error>",
      "HTTP/1.1 307 Temporary Redirect\r\nLocation: "
      "https://bucket.s3.eu-west-1.amazonaws.com/k\r\n" EMPTY,
      "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<Error><Code>Authorization"
      "HeaderMalformed</Code><Region>eu-west-1</Region></Error>",
      /* the header comes first */
      "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nx-amz-bucket-region: eu-west-1\r\n\r\n"
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-2</Region></Error>",
  };
  for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
    const s3l_step_t* const scripts[] = {
        S3L_SCRIPT(IN("us-east-1"), S3L_SEND(replies[i]), S3L_CLOSE),
        S3L_SCRIPT(IN("eu-west-1"), S3L_SEND(GET_OK), IN("eu-west-1"), S3L_SEND(GET_OK))};
    rig = s3_rig_open(scripts, 2, NULL);
    assert_int_equal(get(), 0);
    assert_int_equal(rig->r.result.notice, S3LECT_EREGION);
    assert_message("the bucket is in region eu-west-1, not in us-east-1");
    assert_int_equal(get(), 0);
    assert_int_equal(rig->r.result.notice, 0);
    s3_rig_close(rig);
  }
}

static void sends_a_write_once_more(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("PUT /bucket/k"), S3L_EXPECT("if-none-match: *\r\n"),
                   S3L_EXPECT("/us-east-1/s3/"), S3L_EXPECT("\r\n\r\n" BODY),
                   S3L_SEND(NAMED("eu-west-1")), S3L_EXPECT("PUT /bucket/k"),
                   S3L_EXPECT("if-none-match: *\r\n"), S3L_EXPECT("/eu-west-1/s3/"),
                   S3L_EXPECT("\r\n\r\n" BODY), S3L_SEND(PUT_OK)));
  assert_int_equal(put(), 0);
  assert_int_equal(rig->r.done, 1);
  s3_rig_close(rig);
}

static void follows_once(void** state) {
  BEGIN(S3L_SCRIPT(IN("us-east-1"), S3L_SEND(NAMED("eu-west-1")), IN("eu-west-1"),
                   S3L_SEND(NAMED("eu-north-1")), /* the end of it */
                   IN("eu-west-1"), S3L_SEND(NAMED("eu-north-1")), IN("eu-north-1"),
                   S3L_SEND(GET_OK)));
  assert_int_equal(get(), S3LECT_EREGION);
  assert_int_equal(rig->r.result.outcome, S3LECT_NOT_APPLIED);
  assert_message("301 (region eu-north-1)");
  assert_message("this is what it says in region eu-west-1; which it had named itself: set "
                 "AWS_REGION (or the option region) to the bucket's, and check the endpoint");
  assert_int_equal(get(), 0); /* a new request, a new try */
  s3_rig_close(rig);
  /* A store that names the very region that it was asked in. */
  BEGIN(S3L_SCRIPT(IN("us-east-1"), S3L_SEND(NAMED("eu-west-1")), IN("eu-west-1"),
                   S3L_SEND(NAMED("eu-west-1"))));
  assert_int_equal(get(), S3LECT_EREGION);
  assert_message("this is what it says in region eu-west-1");
  s3_rig_close(rig);
}

static void believes_no_nonsense(void** state) {
  static const char* const names[] = {
      "a/b", "x y", "", "..",
      "a-name-longer-than-any-region-can-be-in-the-name-of-a-host-1-1-1-1-1-1"};
  char reply[256];
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    snprintf(reply, sizeof(reply), "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: %s\r\n" EMPTY,
             names[i]);
    BEGIN(S3L_SCRIPT(IN("us-east-1"), S3L_SEND(reply)));
    assert_int_equal(get(), S3LECT_EREDIRECT);
    s3_rig_close(rig);
  }
  /* An error behind which the write may have happened is none to be mended. */
  BEGIN(S3L_SCRIPT(S3L_EXPECT(BODY),
                   S3L_SEND("HTTP/1.1 500 Oops\r\nx-amz-bucket-region: eu-west-1\r\n" EMPTY)));
  assert_int_equal(put(), S3LECT_ESERVER);
  assert_int_equal(rig->r.result.outcome, S3LECT_UNCERTAIN);
  s3_rig_close(rig);
}

/* ---- The clock ---- */

/* A refusal by a server whose clock is so far ahead of ours. */
static const char* refusal(const char* code, int64_t ahead_ms) {
  static char text[4][320];
  static unsigned next;
  char date[64] = "";
  struct tm tm;
  uv_timeval64_t now;
  assert_int_equal(uv_gettimeofday(&now), 0);
  time_t s = (time_t)(now.tv_sec + ahead_ms / 1000);
  assert_non_null(gmtime_r(&s, &tm));
  assert_true(strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm) > 0);
  char* out = text[next++ % 4];
  char body[128];
  snprintf(body, sizeof(body), "<Error><Code>%s</Code></Error>", code);
  snprintf(out, sizeof(text[0]), "HTTP/1.1 403 Forbidden\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
           ahead_ms != 0 ? "Date: " : "", ahead_ms != 0 ? date : "", ahead_ms != 0 ? "\r\n" : "",
           strlen(body), body);
  return out;
}

static void corrects_the_clock_once(void** state) {
  const int64_t hour = 3600 * 1000;
  BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(refusal("RequestTimeTooSkewed", 5 * hour)),
                   S3L_EXPECT("\r\n\r\n"), S3L_SEND(refusal("RequestTimeTooSkewed", 9 * hour))));
  assert_int_equal(get(), S3LECT_ESKEW);
  assert_message("403 RequestTimeTooSkewed");
  s3_rig_close(rig);
  /* Without a Date, or with one that is our own time, there is nothing to be corrected. */
  BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(refusal("RequestTimeTooSkewed", 0))));
  assert_int_equal(get(), S3LECT_ESKEW);
  s3_rig_close(rig);
  BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(refusal("RequestTimeTooSkewed", 20000))));
  assert_int_equal(get(), S3LECT_ESKEW);
  s3_rig_close(rig);
}

/* It may be the secret: only where the clocks are far apart is it worth another request. */
static void suspects_the_clock_of_bad_signatures(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(refusal("SignatureDoesNotMatch", 240000)),
                   S3L_EXPECT("\r\n\r\n"), S3L_SEND(refusal("SignatureDoesNotMatch", -600000)),
                   S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK)));
  assert_int_equal(get(), S3LECT_ESIGNATURE);
  assert_int_equal(get(), 0);
  assert_int_equal(rig->r.result.notice, S3LECT_ESKEW);
  s3_rig_close(rig);
}

static void on_call(s3l_script_server_t* srv) {
  s3lect_store_cancel(&rig->store, &rig->r.req);
}

/* Cancelled, or left without an answer, after it has been sent again: a write may have happened
 * then, whatever was said of its first sending. */
static void forgets_no_second_sending(void** state) {
  BEGIN(S3L_SCRIPT(S3L_EXPECT(BODY), S3L_SEND(NAMED("eu-west-1")), S3L_EXPECT(BODY), S3L_CALL));
  rig->server.on_call = on_call;
  assert_int_equal(put(), UV_ECANCELED);
  assert_int_equal(rig->r.result.outcome, S3LECT_UNCERTAIN);
  s3_rig_close(rig);
  BEGIN(S3L_SCRIPT(S3L_EXPECT(BODY), S3L_SEND(NAMED("eu-west-1")), S3L_EXPECT(BODY)));
  rig->suite.timeout_ms = 1000;
  assert_int_equal(put(), UV_ETIMEDOUT); /* of the whole request */
  assert_int_equal(rig->r.result.outcome, S3LECT_UNCERTAIN);
  s3_rig_close(rig);
  BEGIN(S3L_SCRIPT(S3L_EXPECT(BODY), S3L_SEND(NAMED("eu-west-1")), S3L_EXPECT(BODY), S3L_CLOSE));
  assert_int_equal(put(), UV_EOF);
  assert_int_equal(rig->r.result.outcome, S3LECT_UNCERTAIN);
  s3_rig_close(rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hears_of_the_region),
      cmocka_unit_test(sends_a_write_once_more),
      cmocka_unit_test(follows_once),
      cmocka_unit_test(believes_no_nonsense),
      cmocka_unit_test(corrects_the_clock_once),
      cmocka_unit_test(suspects_the_clock_of_bad_signatures),
      cmocka_unit_test(forgets_no_second_sending),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
