/* Directory buckets (S3 Express One Zone) on the fake S3: the suite, over plain HTTP and over TLS,
 * then the sessions: replaced ahead of their end, ended by the bucket, refused, and closed. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fakes3_store.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "loop/clock.h"
#include "s3lect.h"

#define BUCKET  "locks--usw2-az1--x-s3"
#define SESSION "{\"match\":{\"method\":\"SESSION\"},"

static s3l_suite_req_t r;

/* ---- Set-up ---- */

static s3lect_store_s3_options_t good_options(void) {
  return server_options(BUCKET, "us-west-2");
}

static void begin(const fakes3_options_t* options) {
  start_server(options);
  s3lect_store_s3_options_t o = good_options();
  open_store(&o);
}

static void on_closed(s3lect_store_t* s) {
  ++*(unsigned*)s->data;
}

static void end(void) {
  close_store();
  stop_server();
}

static int open_plain(void** state) {
  begin(&(fakes3_options_t){.region = "us-west-2"});
  suite.fresh_etags = true;
  *state = &suite;
  return 0;
}

/* The session's own connections trust the store's authority. */
static int open_tls(void** state) {
  open_tls_store(BUCKET, "us-west-2");
  suite.fresh_etags = true;
  *state = &suite;
  return 0;
}

static int close_all(void** state) {
  end();
  return 0;
}

static int close_tls(void** state) {
  close_tls_store();
  return 0;
}

/* ---- Steps ---- */

static fakes3_counters_t counters(void) {
  fakes3_counters_t c;
  fakes3_counters(server, &c);
  return c;
}

static void fault(const char* json) {
  char why[256] = "";
  if (fakes3_fault(server, json, why, sizeof(why)) <= 0)
    fail_msg("%s", why);
}

static void puts_well(const char* body) {
  s3l_suite_put(&suite, &r, "k", S3LECT_ALWAYS, NULL, body);
  if (r.result.status != 0)
    fail_msg("%d: %s", r.result.status, r.result.message);
}

static void put_fails(int status, const char* message) {
  s3l_suite_put(&suite, &r, "k", S3LECT_ALWAYS, NULL, "x");
  assert_int_equal(r.result.status, status);
  assert_int_equal(r.result.outcome, S3LECT_NOT_APPLIED);
  if (strstr(r.result.message, message) == NULL)
    fail_msg("\"%s\" is not in \"%s\"", message, r.result.message);
}

/* ---- Sessions ---- */

static void one_session_serves_many(void** state) {
  begin(&(fakes3_options_t){0});
  for (int i = 0; i < 5; i++)
    puts_well("x");
  assert_int_equal(counters().sessions, 1);
  assert_int_equal(counters().unauthorized, 0);
  end();
}

static bool is_past(void* arg) {
  return s3l_clock_lease_ns() / 1000000 >= *(int64_t*)arg;
}

static bool has_another_session(void* arg) {
  return counters().sessions >= 2;
}

/* The next session is there while the first still serves, although nobody asks. */
static void sessions_are_replaced_ahead(void** state) {
  begin(&(fakes3_options_t){.session_ms = 30000});
  s3l_wait_pace(S3L_PACE_SOCKETS);
  puts_well("x");
  int64_t from_ms = s3l_clock_lease_ns() / 1000000;
  s3l_wait(&loop, has_another_session, NULL, "the session to be replaced");
  assert_true(s3l_clock_lease_ns() / 1000000 < from_ms + 23000); /* after three quarters */
  puts_well("y");
  int64_t until_ms = from_ms + 30500;
  s3l_wait(&loop, is_past, &until_ms, "the first session's end");
  puts_well("z");
  assert_int_equal(counters().unauthorized, 0);
  end();
}

/* A request that the bucket refuses for its session is sent once more, with another. */
static void ended_sessions_are_replaced(void** state) {
  begin(&(fakes3_options_t){0});
  puts_well("x");
  fakes3_end_sessions(server);
  puts_well("y");
  assert_int_equal(counters().sessions, 2);
  assert_int_equal(counters().unauthorized, 1);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->status, 0);
  assert_string_equal(r.result.body, "y");
  end();
}

static void sessions_are_retried_once(void** state) {
  begin(&(fakes3_options_t){0});
  fault("{\"match\":{\"method\":\"PUT\"},\"status\":400,\"code\":\"ExpiredToken\"}");
  put_fails(S3LECT_ESIGNATURE, "400 ExpiredToken");
  assert_int_equal(counters().put, 2);
  assert_int_equal(counters().sessions, 2);
  end();
}

/* Requests that wait for one session, all of which it serves. */
static void many_wait_for_one(void** state) {
  enum { MANY = 12 };
  s3l_suite_req_t* all = calloc(MANY, sizeof(*all));
  assert_non_null(all);
  begin(&(fakes3_options_t){0});
  fault(SESSION "\"latency_ms\":50}");
  for (int i = 0; i < MANY; i++) {
    s3l_suite_prepare(&suite, &all[i], "k");
    assert_int_equal(s3l_suite_start(&all[i], s3lect_store_get), 0);
  }
  for (int i = 0; i < MANY; i++) {
    s3l_suite_wait(&all[i]);
    assert_int_equal(all[i].result.status, S3LECT_ENOTFOUND);
  }
  assert_int_equal(counters().sessions, 1);
  end();
  free(all);
}

static void denials_say_what_to_allow(void** state) {
  begin(&(fakes3_options_t){0});
  fault(SESSION "\"status\":403,\"code\":\"AccessDenied\",\"message\":\"No\"}");
  put_fails(S3LECT_ECREDENTIALS, "CreateSession: 127.0.0.1:");
  put_fails(S3LECT_ECREDENTIALS, "answered 403 AccessDenied: No (request id ");
  put_fails(S3LECT_ECREDENTIALS, "; allow s3express:CreateSession on the directory bucket");
  assert_int_equal(counters().put, 0);
  end();
  /* A session that may only read. */
  begin(&(fakes3_options_t){0});
  fault("{\"match\":{\"method\":\"PUT\"},\"status\":403,\"code\":\"AccessDenied\"}");
  put_fails(S3LECT_EDENIED, "allow s3express:CreateSession, with the session mode ReadWrite");
  end();
}

/* A service that fails is asked again, and a wrong answer is named. */
static void failures_are_retried_or_named(void** state) {
  begin(&(fakes3_options_t){0});
  s3l_wait_pace(S3L_PACE_SOCKETS);
  fault(SESSION "\"count\":1,\"status\":503}");
  puts_well("x");
  assert_int_equal(counters().sessions, 2);
  end();
  begin(&(fakes3_options_t){0});
  fault(SESSION "\"garbage\":true}");
  put_fails(S3LECT_ECREDENTIALS, "CreateSession: ");
  end();
  begin(&(fakes3_options_t){.buckets = "other"});
  put_fails(S3LECT_ECREDENTIALS, "answered 404 NoSuchBucket");
  end();
}

static void wrong_keys_are_named(void** state) {
  start_server(&(fakes3_options_t){0});
  s3lect_store_s3_options_t o = good_options();
  o.secret_access_key = "wrong";
  open_store(&o);
  put_fails(S3LECT_ECREDENTIALS, "answered 403 SignatureDoesNotMatch");
  end();
}

/* This machine's clock is wrong: signatures and the session's end follow the bucket's. */
static void a_wrong_clock_is_corrected(void** state) {
  const int64_t offsets[] = {20 * 60000, -20 * 60000};
  for (size_t i = 0; i < 2; i++) {
    begin(&(fakes3_options_t){.clock_offset_ms = offsets[i]});
    s3l_wait_pace(S3L_PACE_SOCKETS);
    puts_well("x");
    assert_int_equal(counters().sessions, 2); /* the first one was refused */
    puts_well("y");
    assert_int_equal(counters().sessions, 2);
    end();
  }
}

/* Keys go in the clear nowhere but to loopback. */
static void plain_http_is_for_loopback(void** state) {
  start_server(&(fakes3_options_t){0});
  s3lect_store_s3_options_t o = good_options();
  o.endpoint = "http://192.0.2.1:9000";
  open_store(&o);
  put_fails(S3LECT_ECREDENTIALS, "http://192.0.2.1:9000: plain http is only for loopback");
  end();
}

/* ---- Providers ---- */

/* Two stores share the credentials of one provider; each bucket has a session of its own. */
static void stores_share_a_provider(void** state) {
  s3lect_credentials_provider_t provider;
  s3lect_store_t other;
  unsigned closed = 0;
  start_server(&(fakes3_options_t){.keys = {{"temporary", "secret", "TOKEN/+=="}}});
  assert_int_equal(
      s3lect_credentials_static_init(&loop, &provider, "temporary", "secret", "TOKEN/+==", NULL),
      0);
  s3lect_store_s3_options_t o = good_options();
  o.access_key_id = o.secret_access_key = NULL;
  o.credentials = &provider;
  open_store(&o);
  o.bucket = "other--usw2-az1--x-s3";
  assert_int_equal(s3lect_store_s3_init(&loop, &other, &o, NULL), 0);
  puts_well("x");
  suite.store = &other;
  puts_well("y");
  assert_int_equal(counters().sessions, 2);
  assert_int_equal(counters().unauthorized, 0);
  other.data = &closed;
  s3lect_store_close(&other, on_closed);
  s3l_wait_count(&loop, &closed, 1, "the other store to be closed");
  close_store();
  s3lect_credentials_close(&provider, NULL);
  stop_server();
}

typedef struct asked_s {
  s3lect_credentials_provider_t provider;
  unsigned asked;
} asked_t;

static void on_answer_now(uv_timer_t* timer) {
  s3lect_credentials_req_t* req = timer->data;
  asked_t* a = req->provider->data;
  const s3lect_credentials_t creds = {.size = sizeof(creds),
                                      .access_key_id = a->asked < 2 ? "revoked" : FAKES3_ACCESS_KEY,
                                      .secret_access_key = FAKES3_SECRET_KEY};
  uv_close((uv_handle_t*)timer, (uv_close_cb)(void*)free);
  req->cb(req, 0, &creds, NULL);
}

static int asked_get(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {
  uv_timer_t* timer = calloc(1, sizeof(*timer));
  assert_non_null(timer);
  ((asked_t*)provider->data)->asked++;
  req->provider = provider;
  timer->data = req;
  assert_int_equal(uv_timer_init(&loop, timer), 0);
  return uv_timer_start(timer, on_answer_now, 0, 0);
}

static void asked_cancel(s3lect_credentials_provider_t* provider, s3lect_credentials_req_t* req) {}

/* The keys that sign CreateSession are refused: their provider is asked for others. */
static void refused_keys_are_replaced(void** state) {
  static const s3lect_credentials_ops_t ops = {
      .version = S3LECT_CREDENTIALS_VERSION, .get = asked_get, .cancel = asked_cancel};
  asked_t asked = {.provider = {.ops = &ops}};
  start_server(&(fakes3_options_t){0});
  s3l_wait_pace(S3L_PACE_SOCKETS);
  asked.provider.loop = &loop;
  asked.provider.data = &asked;
  s3lect_store_s3_options_t o = good_options();
  o.access_key_id = o.secret_access_key = NULL;
  o.credentials = &asked.provider;
  open_store(&o);
  put_fails(S3LECT_ECREDENTIALS, "answered 403 InvalidAccessKeyId");
  do
    s3l_suite_put(&suite, &r, "k", S3LECT_ALWAYS, NULL, "x");
  while (r.result.status == S3LECT_ECREDENTIALS); /* the pause after a failure */
  assert_int_equal(r.result.status, 0);
  assert_int_equal(asked.asked, 2);
  end();
}

/* ---- The end ---- */

static bool has_asked(void* arg) {
  return counters().sessions >= 1;
}

/* The store is closed while a session is on its way, and while its keys are. */
static void closes_at_any_time(void** state) {
  start_server(&(fakes3_options_t){0});
  fault(SESSION "\"stall\":true}");
  for (int late = 0; late < 3; late++) {
    s3lect_store_s3_options_t o = good_options();
    open_store(&o);
    s3l_suite_prepare(&suite, &r, "k");
    assert_int_equal(s3l_suite_start(&r, s3lect_store_get), 0);
    if (late == 1)
      (void)s3l_turn(&loop);
    if (late == 2)
      s3l_wait(&loop, has_asked, NULL, "CreateSession");
    close_store();
    s3l_suite_wait(&r);
    assert_int_equal(r.result.status, UV_ECANCELED);
  }
  stop_server();
  start_server(&(fakes3_options_t){0}); /* before anybody has asked */
  s3lect_store_s3_options_t o = good_options();
  open_store(&o);
  end();
}

/* Each allocation of a first request fails once: the request succeeds, or says so. */
static void survives_a_lack_of_memory(void** state) {
  bool failed = true;
  for (size_t n = 0; failed; n++) {
    start_server(&(fakes3_options_t){0});
    s3l_wait_pace(S3L_PACE_SOCKETS);
    s3l_heap_install();
    s3l_heap_fail_at(n, false);
    s3lect_store_s3_options_t o = good_options();
    int err = s3lect_store_s3_init(&loop, &store, &o, NULL);
    assert_true(err == 0 || err == UV_ENOMEM);
    if (err == 0) {
      suite = (s3l_store_suite_t){.loop = &loop, .store = &store, .timeout_ms = 20000};
      s3l_suite_prepare(&suite, &r, "k");
      err = s3l_suite_start(&r, s3lect_store_get);
      assert_true(err == 0 || err == UV_ENOMEM);
      if (err == 0)
        s3l_suite_wait(&r);
      assert_true(err != 0 || r.result.status == S3LECT_ENOTFOUND || r.result.status == UV_ENOMEM ||
                  r.result.status == S3LECT_ECREDENTIALS);
      close_store();
    }
    failed = s3l_heap_fail_end();
    stop_server();
    s3l_heap_remove();
  }
}

int main(void) {
  const struct CMUnitTest suite_tests[] = {S3L_STORE_SUITE_TESTS};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_session_serves_many),
      cmocka_unit_test(sessions_are_replaced_ahead),
      cmocka_unit_test(ended_sessions_are_replaced),
      cmocka_unit_test(sessions_are_retried_once),
      cmocka_unit_test(many_wait_for_one),
      cmocka_unit_test(denials_say_what_to_allow),
      cmocka_unit_test(failures_are_retried_or_named),
      cmocka_unit_test(wrong_keys_are_named),
      cmocka_unit_test(a_wrong_clock_is_corrected),
      cmocka_unit_test(plain_http_is_for_loopback),
      cmocka_unit_test(stores_share_a_provider),
      cmocka_unit_test(refused_keys_are_replaced),
      cmocka_unit_test(closes_at_any_time),
      cmocka_unit_test(survives_a_lack_of_memory),
  };
  unsetenv("AWS_CA_BUNDLE");
  int failed = cmocka_run_group_tests_name("plain", suite_tests, open_plain, close_all);
  failed += cmocka_run_group_tests_name("TLS", suite_tests, open_tls, close_tls);
  return failed + cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
