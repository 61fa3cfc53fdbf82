/* The public peer server: paths, methods, what is held and what ends it, and its own end. Over
 * plain HTTP, where the bytes can be looked at; TLS is in test-server-tls.c. */
#include <stdio.h>
#include <string.h>

#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define WAIT(path) "GET " path " HTTP/1.1\r\nHost: x\r\nPrefer: wait=3600\r\n\r\n"
#define HEALTH     S3LECT_PEER_HEALTH_PATH

static s3l_house_t h;

static void begin(void) {
  s3l_house_init(&h, NULL);
}

/* Elector 0 leads, under the default path. */
static void begin_leading(void) {
  begin();
  s3l_house_open_leading(&h);
}

static s3l_caller_t* call(const char* request) {
  s3l_caller_t* c = s3l_house_caller(&h, NULL);
  s3l_caller_open(c);
  s3l_caller_send(c, request);
  return c;
}

/* Whoever is held has not been answered: a request that came later has. */
static void assert_held(const s3l_caller_t* c) {
  (void)s3l_house_ask(&h, NULL, GET("/nowhere"), "404");
  assert_string_equal(c->text, "");
}

/* A caller whose request is held: the server reads in order of arrival. */
static s3l_caller_t* held(const char* request) {
  s3l_caller_t* c = call(request);
  assert_held(c);
  return c;
}

static void expect(s3l_caller_t* c, const char* text) {
  s3l_caller_expect(c, text);
  s3l_caller_free(c);
}

/* ---- Paths and methods ---- */

static void test_elections_by_path(void** state) {
  begin();
  s3l_house_open(&h);
  s3l_house_lead(&h, 0);
  s3l_house_lead(&h, 1);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], "/elections/a"), 0);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], "/elections"), 0);
  const char* text = s3l_house_ask(&h, NULL, GET("/elections/a"), "}");
  assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
  assert_non_null(strstr(text, "\r\nContent-Type: application/json\r\n"));
  assert_non_null(strstr(text, "\r\nCache-Control: no-store\r\n"));
  assert_non_null(strstr(text, "{\"leaderID\":\"a\""));
  assert_null(strstr(text, "Preference-Applied"));
  assert_non_null(strstr(s3l_house_ask(&h, NULL, GET("/elections"), "}"), "{\"leaderID\":\"b\""));
  assert_non_null(strstr(s3l_house_ask(&h, NULL, GET("/elections?x=1"), "}"), "\"b\""));
  (void)s3l_house_ask(&h, NULL, GET("/election"), "404 Not Found");
  (void)s3l_house_ask(&h, NULL, GET("/elections/"), "404 Not Found");
  (void)s3l_house_ask(&h, NULL, GET("/elections/ab"), "404 Not Found");
  (void)s3l_house_ask(&h, NULL, GET("/"), "404 Not Found");
  (void)s3l_house_ask(&h, NULL, GET(HEALTH), "404 Not Found");
  (void)s3l_house_ask(&h, NULL, GET("/metrics"), "404 Not Found"); /* not asked for */
  (void)s3l_house_ask(&h, NULL, GET("/livez"), "404 Not Found");
  s3l_house_end(&h);
}

static void test_who_can_be_added(void** state) {
  uv_loop_t other;
  s3lect_peer_server_t away;
  char long_path[1026];
  begin_leading();
  h.options.metrics = h.options.health = 1;
  assert_int_equal(uv_loop_init(&other), 0);
  assert_int_equal(s3lect_peer_server_init(&other, &away, &h.options, NULL), 0);
  s3l_house_stand(&h, 1);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], "/else"), UV_EALREADY);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], NULL), UV_EEXIST);
  assert_int_equal(s3lect_peer_server_add(&away, &h.e[1], NULL), UV_EINVAL);
  static const char* const bad[] = {"", "b", "/b c", "/b?c", "/b#c", "/b\r\nX: y", "/\xc3\xa9"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], bad[i]), S3LECT_EOPTION);
  memset(long_path, '/', sizeof long_path - 1);
  long_path[sizeof long_path - 1] = '\0';
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], long_path), S3LECT_EOPTION);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], long_path + 1), 0);
  assert_int_equal(s3lect_peer_server_remove(&h.server, &h.e[1]), 0);
  assert_int_equal(s3lect_peer_server_remove(&h.server, &h.e[1]), UV_ENOENT);
  assert_int_equal(s3lect_peer_server_remove(&away, &h.e[0]), UV_ENOENT);
  s3lect_peer_server_close(&away, NULL);
  assert_int_equal(s3lect_peer_server_add(&away, &h.e[1], NULL), UV_ECANCELED);
  assert_int_equal(s3lect_peer_server_port(&away), UV_ECANCELED);
  s3l_wait_loop_end(&other);
  /* A removed elector's path is free for another. */
  assert_int_equal(s3lect_peer_server_remove(&h.server, &h.e[0]), 0);
  (void)s3l_house_ask(&h, NULL, GET(HEALTH), "404 Not Found");
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[1], HEALTH), 0);
  s3l_house_end(&h);
}

static void test_pages_have_their_paths(void** state) {
  begin();
  h.options.metrics = h.options.health = 1;
  s3l_house_open(&h);
  s3l_house_stand(&h, 0);
  static const char* const taken[] = {"/metrics", "/livez", "/readyz"};
  for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
    assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], taken[i]), UV_EEXIST);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], "/metrics/x"), 0);
  s3l_house_end(&h);
}

static void test_methods(void** state) {
  static const char* const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
  char request[128];
  begin_leading();
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    snprintf(request, sizeof request,
             "%s " HEALTH " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", methods[i]);
    const char* text = s3l_house_ask(&h, NULL, request, "\r\n\r\n");
    assert_non_null(strstr(text, "HTTP/1.1 405 Method Not Allowed\r\n"));
    assert_non_null(strstr(text, "\r\nAllow: GET, HEAD\r\n"));
  }
  /* HEAD says what GET would, and is never held; the GET behind it shows that there is no body. */
  s3l_caller_t* c =
      call("HEAD " HEALTH " HTTP/1.1\r\nHost: x\r\nPrefer: wait=60\r\n\r\n" GET("/nowhere"));
  s3l_caller_expect(c, "404 Not Found");
  assert_ptr_equal(strstr(c->text, "HTTP/1.1 200 OK\r\n"), c->text);
  assert_non_null(strstr(c->text, "\r\nContent-Type: application/json\r\n"));
  assert_null(strchr(c->text, '{'));
  s3l_caller_free(c);
  s3l_house_end(&h);
}

static void test_who_does_not_lead_is_404(void** state) {
  begin();
  s3l_house_open(&h);
  assert_int_equal(s3lect_elector_init(&h.loop, &h.e[0], &h.o[0], NULL), 0);
  h.is_open[0] = true;
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], NULL), 0);
  (void)s3l_house_ask(&h, NULL, WAIT(HEALTH), "404 Not Found"); /* and does not wait */
  s3l_house_end(&h);
}

/* What net/http of Go sends for http.Get, and what it must find. */
static void test_a_go_follower(void** state) {
  begin_leading();
  s3l_caller_t* c = call("GET " HEALTH " HTTP/1.1\r\nHost: 127.0.0.1:8443\r\n"
                         "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n\r\n");
  s3l_caller_expect(c, "}");
  assert_ptr_equal(strstr(c->text, "HTTP/1.1 200 OK\r\n"), c->text);
  assert_non_null(strstr(c->text, "\r\nContent-Length: "));
  assert_null(strstr(c->text, "Content-Encoding"));
  const char* body = strstr(c->text, "\r\n\r\n") + 4;
  s3lect_record_t record;
  assert_int_equal(s3lect_record_parse(body, strlen(body), &record), 0);
  assert_string_equal(record.leader_id, "a");
  assert_false(record.released);
  /* The form that time.Time reads: RFC 3339, here in UTC. */
  const char* at = strstr(body, "\"lastUpdated\":\"");
  assert_non_null(at);
  at += strlen("\"lastUpdated\":\"");
  assert_int_equal(strspn(at, "0123456789-T:.Z"), strcspn(at, "\""));
  assert_int_equal(at[10], 'T');
  assert_int_equal(at[strcspn(at, "\"") - 1], 'Z');
  /* The connection is kept: Go asks again over it. */
  s3l_caller_talk(c, "GET " HEALTH " HTTP/1.1\r\nHost: x\r\n\r\n", "}", false);
  s3l_caller_free(c);
  s3l_house_end(&h);
}

/* ---- Holding ---- */

static void test_a_resignation_answers(void** state) {
  begin_leading();
  s3l_caller_t* c = held(WAIT(HEALTH));
  s3l_caller_t* more = held(WAIT(HEALTH));
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
  s3l_caller_expect(more, "404 Not Found");
  assert_int_equal(h.stopped[0], 1);
  expect(c, "404 Not Found");
  s3l_caller_free(more);
  s3l_house_end(&h);
}

static void test_a_transfer_answers(void** state) {
  begin_leading();
  s3l_caller_t* c = held(WAIT(HEALTH));
  assert_int_equal(s3lect_elector_transfer(&h.e[0], "z"), 0);
  expect(c, "404 Not Found");
  s3l_house_end(&h);
}

static void test_a_close_of_the_elector_answers(void** state) {
  begin_leading();
  s3l_caller_t* c = held(WAIT(HEALTH));
  s3l_house_close_elector(&h, 0);
  expect(c, "404 Not Found");
  (void)s3l_house_ask(&h, NULL, GET(HEALTH), "404 Not Found"); /* and it is gone from the server */
  s3l_house_end(&h);
}

static void test_a_removal_answers(void** state) {
  begin_leading();
  s3l_caller_t* c = held(WAIT(HEALTH));
  assert_int_equal(s3lect_peer_server_remove(&h.server, &h.e[0]), 0);
  expect(c, "404 Not Found");
  assert_int_equal(s3lect_elector_is_leader(&h.e[0]), 1);
  s3l_house_end(&h);
}

/* Proxies split lists into several fields. */
static void test_preferences_in_several_fields(void** state) {
  begin_leading();
  s3l_caller_t* c = held("GET " HEALTH " HTTP/1.1\r\nHost: x\r\nPrefer: respond-async; x=\"a,\"\r\n"
                         "Accept: */*\r\nprefer: wait=3600, wait=0\r\n\r\n");
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
  expect(c, "404 Not Found");
  s3l_house_end(&h);
}

static void test_a_close_of_the_server_answers(void** state) {
  begin_leading();
  s3l_caller_t* c = held(WAIT(HEALTH));
  s3l_house_close_server(&h);
  s3lect_peer_server_close(&h.server, NULL); /* nothing */
  s3l_caller_expect(c, "404 Not Found");
  s3l_caller_expect_end(c);
  s3l_caller_free(c);
  s3l_wait_count(&h.loop, &h.server_closed, 1, "the server to close");
  assert_null(h.server.internal);
  /* The elector stands on, and may go to another server. */
  assert_int_equal(s3lect_elector_is_leader(&h.e[0]), 1);
  h.server_closed = 0;
  s3l_house_open(&h);
  assert_int_equal(s3lect_peer_server_add(&h.server, &h.e[0], NULL), 0);
  (void)s3l_house_ask(&h, NULL, GET(HEALTH), "\"leaderID\":\"a\"");
  s3l_house_end(&h);
}

/* The client asks for an hour, the server allows a second. */
static void test_no_longer_than_max_wait(void** state) {
  begin();
  h.options.max_wait_ms = 1000;
  s3l_house_open_leading(&h);
  s3l_caller_t* c = held(WAIT(HEALTH));
  s3l_caller_expect(c, "}");
  assert_ptr_equal(strstr(c->text, "HTTP/1.1 200 OK\r\n"), c->text);
  assert_non_null(strstr(c->text, "\r\nPreference-Applied: wait\r\n"));
  assert_non_null(strstr(c->text, "\"leaderID\":\"a\""));
  s3l_caller_free(c);
  s3l_house_end(&h);
}

/* Whom there is no room to hold is answered at once, and told that there was no waiting. */
static void test_no_more_than_max_held(void** state) {
  begin();
  h.options.max_held = 2;
  s3l_house_open_leading(&h);
  s3l_caller_t* first = held(WAIT(HEALTH));
  s3l_caller_t* second = held(WAIT(HEALTH));
  const char* text = s3l_house_ask(&h, NULL, WAIT(HEALTH), "}");
  assert_non_null(strstr(text, "200 OK"));
  assert_null(strstr(text, "Preference-Applied"));
  s3l_caller_reset(second); /* its place is free again */
  s3l_caller_free(second);
  s3l_caller_t* third = held(WAIT(HEALTH));
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
  expect(third, "404 Not Found");
  expect(first, "404 Not Found");
  s3l_house_end(&h);
}

/* However many requests are held, there is a place for who is answered at once. */
static void test_pages_while_all_is_held(void** state) {
  static const uint32_t places[] = {2, 3, 8};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    begin();
    h.options.max_connections = places[i];
    h.options.health = 1;
    s3l_house_open_leading(&h);
    uint32_t quarter = places[i] / 4 > 0 ? places[i] / 4 : 1;
    s3l_caller_t* c[8];
    uint32_t n = places[i] - quarter;
    for (uint32_t k = 0; k < n; k++)
      c[k] = held(WAIT(HEALTH));
    assert_non_null(strstr(s3l_house_ask(&h, NULL, GET("/readyz"), "\r\n\r\n"), "200 OK"));
    assert_null(strstr(s3l_house_ask(&h, NULL, WAIT(HEALTH), "}"), "Preference-Applied"));
    for (uint32_t k = 0; k < n; k++)
      s3l_caller_free(c[k]);
    s3l_house_end(&h);
  }
}

/* ---- For a server of one's own ---- */

static void test_the_response_for_ones_own_server(void** state) {
  char body[S3LECT_PEER_BODY_MAX];
  size_t len = 99;
  s3lect_elector_t closed = {0};
  begin_leading();
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "GET", body, sizeof body, &len), 200);
  assert_true(len > 0);
  s3lect_record_t record;
  assert_int_equal(s3lect_record_parse(body, len, &record), 0);
  assert_string_equal(record.leader_id, "a");
  size_t fits = len;
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "HEAD", body, sizeof body, &len), 200);
  assert_in_range(len, fits - 1, fits + 1); /* what is left of the validity may lose a digit */
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "GET", body, fits - 8, &len), UV_ENOBUFS);
  assert_int_equal(len, 0);
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "GET", body, 0, &len), UV_ENOBUFS);
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "POST", body, sizeof body, &len), 405);
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "get", body, sizeof body, &len), 405);
  assert_int_equal(len, 0);
  assert_int_equal(s3lect_elector_peer_response(&closed, "GET", body, sizeof body, &len), 404);
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
  assert_int_equal(s3lect_elector_peer_response(&h.e[0], "GET", body, sizeof body, &len), 404);
  assert_int_equal(len, 0);
  s3l_house_end(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elections_by_path),
      cmocka_unit_test(test_who_can_be_added),
      cmocka_unit_test(test_pages_have_their_paths),
      cmocka_unit_test(test_methods),
      cmocka_unit_test(test_who_does_not_lead_is_404),
      cmocka_unit_test(test_a_go_follower),
      cmocka_unit_test(test_a_resignation_answers),
      cmocka_unit_test(test_a_transfer_answers),
      cmocka_unit_test(test_a_close_of_the_elector_answers),
      cmocka_unit_test(test_a_removal_answers),
      cmocka_unit_test(test_preferences_in_several_fields),
      cmocka_unit_test(test_a_close_of_the_server_answers),
      cmocka_unit_test(test_no_longer_than_max_wait),
      cmocka_unit_test(test_no_more_than_max_held),
      cmocka_unit_test(test_pages_while_all_is_held),
      cmocka_unit_test(test_the_response_for_ones_own_server),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
