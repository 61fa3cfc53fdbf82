/* store/gcs on the fake server as Google Cloud Storage: the suite, with an HMAC key over plain HTTP
 * and with a token over TLS, and what only a server that checks signatures finds. */
#include <stdlib.h>
#include <string.h>

#include "lib/fakes3_store.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/store_gcs.h"

#define TOKEN "emulator"

static s3l_suite_req_t r;
static s3lect_credentials_provider_t provider;

static const fakes3_options_t as_google = {
    .protocol = "gcs",
    .buckets = "bucket",
    .keys = {{FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL}, {"someone", "", TOKEN}}};

static s3lect_store_gcs_options_t good_options(void) {
  s3lect_store_gcs_options_t o;
  s3lect_store_gcs_options_init(&o, sizeof(o));
  o.bucket = "bucket";
  o.endpoint = fakes3_url(server);
  o.access_key_id = FAKES3_ACCESS_KEY;
  o.secret_access_key = FAKES3_SECRET_KEY;
  return o;
}

static void open_gcs(const s3lect_store_gcs_options_t* o) {
  s3lect_error_t error;
  if (s3lect_store_gcs_options_check(o, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(s3lect_store_gcs_init(&loop, &store, o, NULL), 0);
  use_store();
  suite.fresh_etags = true;
}

static void begin(void) {
  start_server(&as_google);
  s3lect_store_gcs_options_t o = good_options();
  open_gcs(&o);
}

static void end(void) {
  close_store();
  stop_server();
}

static int open_plain(void** state) {
  begin();
  *state = &suite;
  return 0;
}

static int open_tls(void** state) {
  const char* ca_file = start_tls_server(&as_google);
  s3lect_store_gcs_options_t o = good_options();
  assert_int_equal(s3lect_credentials_static_init(&loop, &provider, NULL, NULL, TOKEN, NULL), 0);
  o.access_key_id = o.secret_access_key = NULL;
  o.credentials = &provider;
  o.ca_file = ca_file;
  open_gcs(&o);
  *state = &suite;
  return 0;
}

static int close_tls(void** state) {
  s3l_suite_clean(*state);
  close_store();
  s3lect_credentials_close(&provider, NULL);
  stop_tls_server();
  return 0;
}

/* What becomes of requests with these options. */
static void both_end(const s3lect_store_gcs_options_t* o, int status, const char* says) {
  open_gcs(o);
  both_refused(status, says);
}

static void names_mistakes(void** state) {
  start_server(&as_google);
  s3lect_store_gcs_options_t o = good_options();
  o.secret_access_key = "wrong";
  both_end(&o, S3LECT_ESIGNATURE, "403 SignatureDoesNotMatch");
  o = good_options();
  o.access_key_id = "nobody";
  both_end(&o, S3LECT_ESIGNATURE, "403 InvalidSecurity");
  o = good_options();
  o.bucket = "other";
  both_end(&o, S3LECT_ENOBUCKET, "404 NoSuchBucket");
  stop_server();
}

/* With an HMAC key, by the store's own time; the write is carried out once. */
static void corrects_the_clock(void** state) {
  fakes3_counters_t counters;
  begin();
  fakes3_set_clock_offset(server, 7200 * 1000);
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
  assert_int_equal(r.result.notice, S3LECT_ESKEW);
  fakes3_counters(server, &counters);
  assert_int_equal(counters.requests, 2);
  assert_int_equal(counters.writes, 1);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->status, 0);
  fakes3_counters(server, &counters);
  assert_int_equal(counters.requests, 3);
  end();
}

/* A second write within the limit has no effect, and the reply says when to try again. */
static void hears_of_the_limit(void** state) {
  char why[256], generation[64];
  begin();
  assert_true(fakes3_fault(server, "{\"write_interval_ms\":600000}", why, sizeof(why)) > 0);
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "one")->status, 0);
  assert_true(strlen(r.etag) < sizeof(generation));
  memcpy(generation, r.etag, strlen(r.etag) + 1);
  s3l_suite_put(&suite, &r, "k", S3LECT_IF_MATCH, generation, "two");
  assert_int_equal(r.result.status, S3LECT_ETHROTTLED);
  assert_int_equal(r.result.outcome, S3LECT_NOT_APPLIED);
  assert_true(r.result.retry_after_ms >= 1000);
  s3l_suite_get(&suite, &r, "k", NULL);
  assert_string_equal(r.body, "one");
  assert_string_equal(r.etag, generation);
  end();
}

/* An object that was deleted and created again never has the ETag that it had before. */
static void generations_never_come_back(void** state) {
  char first[64];
  begin();
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "same")->status, 0);
  assert_true(strlen(r.etag) < sizeof(first));
  memcpy(first, r.etag, strlen(r.etag) + 1);
  s3l_suite_prepare(&suite, &r, "k");
  assert_int_equal(s3l_suite_do(&r, s3lect_store_del)->status, 0);
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "same")->status, 0);
  assert_string_not_equal(r.etag, first);
  s3l_suite_put(&suite, &r, "k", S3LECT_IF_MATCH, first, "late");
  assert_int_equal(r.result.status, S3LECT_EPRECONDITION);
  end();
}

/* What a request that was short of memory may end in. */
static bool ends_well(int status) {
  return status == 0 || status == S3LECT_ENOTFOUND || status == UV_ENOMEM ||
         status == S3LECT_ECREDENTIALS;
}

/* Each allocation of the first requests fails once: they succeed, or say so. */
static void lacks_memory(const s3lect_store_gcs_options_t* o) {
  bool failed = true;
  for (size_t n = 0; failed; n++) {
    s3l_heap_install();
    s3l_heap_fail_at(n, false);
    int err = s3lect_store_gcs_init(&loop, &store, o, NULL);
    assert_true(err == 0 || err == UV_ENOMEM);
    if (err == 0) {
      use_store();
      s3l_suite_prepare(&suite, &r, "k");
      r.req.max_keys = 10;
      err = s3l_suite_start(&r, n % 2 == 0 ? s3lect_store_get : s3lect_store_list);
      assert_true(err == 0 || err == UV_ENOMEM);
      if (err == 0)
        s3l_suite_wait(&r);
      assert_true(err != 0 || ends_well(r.result.status));
      close_store();
    }
    failed = s3l_heap_fail_end();
    s3l_heap_remove();
  }
}

/* With an HMAC key, and with the token of an emulator. */
static void survives_a_lack_of_memory(void** state) {
  start_server(&as_google);
  s3lect_store_gcs_options_t o = good_options();
  open_gcs(&o);
  suite.prefix[0] = '\0';
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
  close_store();
  s3l_wait_pace(S3L_PACE_SOCKETS);
  lacks_memory(&o);
  o.access_key_id = o.secret_access_key = o.endpoint = NULL;
  setenv("STORAGE_EMULATOR_HOST", fakes3_url(server), 1);
  lacks_memory(&o);
  unsetenv("STORAGE_EMULATOR_HOST");
  stop_server();
}

int main(void) {
  const struct CMUnitTest suite_tests[] = {S3L_STORE_SUITE_TESTS};
  const struct CMUnitTest own_tests[] = {
      cmocka_unit_test(names_mistakes),
      cmocka_unit_test(corrects_the_clock),
      cmocka_unit_test(hears_of_the_limit),
      cmocka_unit_test(generations_never_come_back),
      cmocka_unit_test(survives_a_lack_of_memory),
  };
  int failed = cmocka_run_group_tests_name("HMAC", suite_tests, open_plain, end_suite);
  failed += cmocka_run_group_tests_name("token", suite_tests, open_tls, close_tls);
  failed += cmocka_run_group_tests_name("own", own_tests, NULL, NULL);
  return failed;
}
