/* What an elector meets in the world: damaged lockfiles, odd HTTP, proxies, broken TLS, endpoints
 * that do not answer. Each ends in a named error, and the elector goes on by its rules. */
#include <stdio.h>
#include <string.h>

#include "lib/certs.h"
#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

static int setup(void** state) {
  static s3l_election_t el;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  *state = &el;
  return 0;
}

static int setup_server_only(void** state) {
  static s3l_election_t el;
  s3l_election_init(&el, NULL);
  *state = &el;
  return 0;
}

/* ---- Lockfiles ---- */

/* It is reported, and is never taken for "no leader": nobody leads before a whole timeout. */
static void foreign(s3l_election_t* el, const char* body, size_t len) {
  s3l_candidate_t c;
  s3l_election_put(el, body, len);
  size_t writes = s3l_election_writes(el);
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.errors, 1, "the report of a foreign lockfile");
  assert_int_equal(c.error, S3LECT_ERECORD);
  assert_int_equal(c.started, 0);
  assert_int_equal(s3l_election_writes(el), writes);
  s3l_candidate_close(&c);
  el->candidates_len = 0;
}

static void test_damaged_lockfiles(void** state) {
  s3l_election_t* el = *state;
  static const char* const bodies[] = {
      "",
      "{\"leaderID\":\"a\",\"lastUpd",
      "<html><body>It works!</body></html>",
      "[1,2,3]",
      "{\"leaderID\":[],\"lastUpdated\":\"2024-10-27T10:30:45Z\"}",
      "{\"owner\":\"another program\"}",
      "\x00\xff\xfe",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    foreign(el, bodies[i], strlen(bodies[i]));
  /* The last one is replaced, when it has stood for a whole timeout. */
  s3l_candidate_t c;
  s3l_candidate_init(el, &c, "b");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.started, 1, "leadership");
  s3lect_record_t r = s3l_election_record(el);
  assert_string_equal(r.leader_id, "b");
  s3l_election_end(el);
}

/* ---- HTTP that is odd but right: it leads and renews ---- */

static void leads_with(s3l_election_t* el, const char* rule) {
  s3l_candidate_t c;
  s3l_election_seed(el);
  s3l_election_fault(el, rule);
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.renewed, 3, "renewals");
  assert_int_equal(c.stopped, 0);
  s3l_election_end(el);
}

static void leads_under(void** state, const char* rule) {
  leads_with(*state, rule);
}

static void test_interim_replies(void** state) {
  leads_under(state, "{\"continue\":103}");
}

static void test_chunked_replies(void** state) {
  leads_under(state, "{\"chunked\":true}");
}

static void test_unframed_replies(void** state) {
  leads_under(state, "{\"http10\":true}");
}

static void test_connection_closed_after_each(void** state) {
  leads_under(state, "{\"close_after\":true}");
}

/* The same where only one connection is allowed: the used one makes room for a fresh one. */
static void test_one_connection_closed_after_each(void** state) {
  s3l_election_t* el = *state;
  el->s3.max_connections = 1;
  s3l_election_begin(el);
  leads_with(el, "{\"close_after\":true}");
}

static void test_404_without_a_body(void** state) {
  leads_under(state, "{\"plain_404\":true}");
}

static void test_weak_etags(void** state) {
  leads_under(state, "{\"weak_etag\":true}");
}

/* ---- HTTP that is wrong: a named error, nobody leads ---- */

static void fails_under(void** state, const char* rule, int error) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  s3l_election_seed(el);
  s3l_election_fault(el, rule);
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.errors, 1, "an error");
  if (c.error != error)
    fail_msg("%s: %s", s3lect_err_name(c.error), c.message);
  assert_true(c.message[0] != '\0');
  assert_int_equal(c.started, 0);
  s3l_election_heal(el); /* it has not given up */
  s3l_election_wait(el, &c.started, 1, "leadership after all");
  s3l_election_end(el);
}

static void test_html_from_a_proxy(void** state) {
  fails_under(state, "{\"status\":502,\"html\":\"<html><h1>502 Bad Gateway</h1></html>\"}",
              S3LECT_ESERVER);
}

static void test_forbidden(void** state) {
  fails_under(state, "{\"status\":403,\"code\":\"AccessDenied\"}", S3LECT_EDENIED);
}

static void test_no_such_bucket(void** state) {
  fails_under(state, "{\"status\":404,\"code\":\"NoSuchBucket\"}", S3LECT_ENOBUCKET);
}

static void test_404_of_a_gateway(void** state) {
  fails_under(state, "{\"status\":404,\"html\":\"default backend - 404\"}", S3LECT_ESERVER);
}

static void test_unknown_access_key(void** state) {
  fails_under(state, "{\"status\":404,\"code\":\"XAdminUserNotFound\"}", S3LECT_ESIGNATURE);
}

static void test_slow_down(void** state) {
  fails_under(state, "{\"status\":429,\"code\":\"TooManyRequests\"}", S3LECT_ETHROTTLED);
}

static void test_truncated_reply(void** state) {
  fails_under(state, "{\"truncate\":true}", S3LECT_EBADREPLY);
}

static void test_garbage(void** state) {
  fails_under(state, "{\"garbage\":true}", S3LECT_EBADREPLY);
}

static void test_missing_etag(void** state) {
  fails_under(state, "{\"no_etag\":true}", S3LECT_EETAG);
}

/* What is read of a reset connection may be the reset itself or an end that comes too early. */
static void test_reset_in_the_reply(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  s3l_election_seed(el);
  s3l_election_fault(el, "{\"reset_mid_reply\":true}");
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.errors, 1, "an error");
  assert_true(c.error == UV_ECONNRESET || c.error == S3LECT_EBADREPLY);
  s3l_election_end(el);
}

static void test_silent_store(void** state) {
  fails_under(state, "{\"stall\":true}", UV_ETIMEDOUT);
}

/* ---- Credentials and time ---- */

static void test_wrong_secret(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  el->s3.secret_access_key = "wrong";
  s3l_election_begin(el);
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.errors, 1, "an error");
  assert_int_equal(c.error, S3LECT_ESIGNATURE);
  s3l_election_end(el);
}

static void test_skewed_wall_clock(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  fakes3_set_clock_offset(el->server, 20 * 60 * 1000);
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.errors, 1, "an error");
  assert_int_equal(c.error, S3LECT_ESKEW);
  s3l_election_end(el);
}

/* ---- Endpoints ---- */

static void expect_error(s3l_election_t* el, const char* endpoint, int error) {
  s3l_candidate_t c;
  el->s3.endpoint = endpoint;
  s3l_election_begin(el);
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.errors, 1, "an error");
  if (c.error != error)
    fail_msg("%s: %s", s3lect_err_name(c.error), c.message);
  s3l_election_end(el);
}

static void test_refusing_endpoint(void** state) {
  s3l_election_t* el = *state;
  assert_int_equal(fakes3_listen(el->server, false), 0);
  expect_error(el, fakes3_url(el->server), UV_ECONNREFUSED);
}

static void test_unknown_host(void** state) {
  s3l_election_t* el = *state;
  s3l_candidate_t c;
  el->s3.endpoint = "http://nobody.invalid:9000";
  s3l_wait_pace(S3L_PACE_REAL); /* names are looked up in a thread */
  s3l_election_begin(el);
  s3l_candidate_init(el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(el, &c.errors, 1, "an error");
  assert_true(c.error == UV_EAI_NONAME || c.error == UV_EAI_AGAIN || c.error == UV_EAI_NODATA ||
              c.error == UV_ETIMEDOUT);
  s3l_election_end(el);
}

/* ---- TLS ---- */

static void tls(const char* cert, const char* key, const char* ca, int error) {
  s3l_election_t el;
  fakes3_options_t options = {.tls_cert = cert, .tls_key = key};
  s3l_election_init(&el, &options);
  el.s3.ca_file = ca;
  if (error != 0) {
    expect_error(&el, fakes3_url(el.server), error);
    return;
  }
  s3l_candidate_t c;
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(&el, &c.renewed, 2, "renewals over TLS");
  s3l_election_end(&el);
}

static void test_tls(void** state) {
  s3l_certs_t certs;
  assert_int_equal(s3l_certs_make(&certs), 0);
  tls(certs.good, certs.key, certs.ca, 0);
  tls(certs.good, certs.key, certs.other_ca, S3LECT_ETLSCA);
  tls(certs.wrong, certs.key, certs.ca, S3LECT_ETLSNAME);
  tls(certs.expired, certs.key, certs.ca, S3LECT_ETLSEXPIRED);
  tls(certs.future, certs.key, certs.ca, S3LECT_ETLSEXPIRED);
  s3l_certs_remove(&certs);
}

#define T(test) cmocka_unit_test_setup(test, setup)
#define U(test) cmocka_unit_test_setup(test, setup_server_only)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_damaged_lockfiles),
      T(test_interim_replies),
      T(test_chunked_replies),
      T(test_unframed_replies),
      T(test_connection_closed_after_each),
      U(test_one_connection_closed_after_each),
      T(test_weak_etags),
      T(test_html_from_a_proxy),
      T(test_forbidden),
      T(test_no_such_bucket),
      T(test_404_of_a_gateway),
      T(test_unknown_access_key),
      T(test_404_without_a_body),
      T(test_slow_down),
      T(test_truncated_reply),
      T(test_garbage),
      T(test_missing_etag),
      T(test_reset_in_the_reply),
      T(test_silent_store),
      U(test_wrong_secret),
      T(test_skewed_wall_clock),
      U(test_refusing_endpoint),
      U(test_unknown_host),
      cmocka_unit_test(test_tls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
