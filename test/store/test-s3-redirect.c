/* store/s3/redirect: a 307 is followed once, signed anew, to a place that may be trusted with the
 * request; and the next request goes where it always went. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/s3_rig.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "store/remote.h"
#include "store/s3/endpoint.h"

/* ---- Over sockets ---- */

#define HOME "store.test"    /* 127.0.0.1 */
#define AWAY "n1.store.test" /* 127.0.0.2 */

/* In place of libuv's: only these two names can be looked up. */
int uv_getaddrinfo(uv_loop_t* loop, uv_getaddrinfo_t* req, uv_getaddrinfo_cb cb, const char* node,
                   const char* service, const struct addrinfo* hints);

typedef struct answer_s {
  uv_timer_t soon;
  uv_getaddrinfo_t* req;
  uv_getaddrinfo_cb cb;
  struct addrinfo* found;
} answer_t;

static void on_answer_closed(uv_handle_t* handle) {
  free(handle->data);
}

static void on_soon(uv_timer_t* timer) {
  answer_t* answer = timer->data;
  uv_close((uv_handle_t*)timer, on_answer_closed);
  answer->cb(answer->req, 0, answer->found);
}

int uv_getaddrinfo(uv_loop_t* loop, uv_getaddrinfo_t* req, uv_getaddrinfo_cb cb, const char* node,
                   const char* service, const struct addrinfo* hints) {
  struct addrinfo numeric = *hints;
  answer_t* answer = calloc(1, sizeof(*answer));
  bool home = strcmp(node, HOME) == 0;
  assert_non_null(answer);
  assert_true(home || strcmp(node, AWAY) == 0);
  answer->req = req;
  answer->cb = cb;
  numeric.ai_flags |= AI_NUMERICHOST;
  assert_int_equal(getaddrinfo(home ? "127.0.0.1" : "127.0.0.2", service, &numeric, &answer->found),
                   0);
  assert_int_equal(uv_timer_init(loop, &answer->soon), 0);
  answer->soon.data = answer;
  return uv_timer_start(&answer->soon, on_soon, 0, 0);
}

/* The place that the store redirects to: a host below the endpoint's, at the same port. */
static s3l_script_server_t other;
static char to_other[256];  /* a 307 that names it */
static char other_host[64]; /* its Host line */

static uint32_t connections = 1; /* of the stores that are opened */

static const s3l_step_t redirects[] = {S3L_EXPECT("GET /"), S3L_EXPECT("\r\n\r\n"),
                                       S3L_SEND(to_other), S3L_SCRIPT_END};
static const s3l_step_t answers[] = {S3L_EXPECT("GET /"), S3L_EXPECT("\r\n\r\n"),
                                     S3L_SEND(S3_GET_OK), S3L_SCRIPT_END};

static void adjust(s3lect_store_s3_options_t* o) {
  static char endpoint[64];
  snprintf(endpoint, sizeof(endpoint), "http://" HOME "%s", strrchr(o->endpoint, ':'));
  o->endpoint = endpoint;
  o->max_connections = connections;
}

static s3_rig_t* begin(const s3l_step_t* const* home, size_t home_len,
                       const s3l_step_t* const* away) {
  s3_rig_t* rig = s3_rig_open(home, home_len, adjust);
  memset(&other, 0, sizeof(other));
  other.ip = "127.0.0.2";
  other.port = rig->server.port;
  other.scripts = away;
  other.scripts_len = 1;
  other.unref = true;
  s3l_script_server_start(&other, &rig->loop);
  snprintf(to_other, sizeof(to_other),
           "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://" AWAY ":%u/bucket/leases/k\r\n"
           "Content-Length: 0\r\n\r\n",
           other.port);
  snprintf(other_host, sizeof(other_host), "\r\nhost: " AWAY ":%u\r\n", other.port);
  return rig;
}

static void end(s3_rig_t* rig) {
  s3lect_store_close(&rig->store, NULL);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(rig->server.failures + other.failures, 0);
  s3l_script_server_close(&rig->server);
  s3l_script_server_close(&other);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&rig->loop), 0);
  free(rig);
}

static void goes_there_and_back_again(void** state) {
  static const s3l_step_t home[] = {S3L_EXPECT("GET /bucket/leases/k HTTP/1.1\r\n"),
                                    S3L_EXPECT("\r\n\r\n"), S3L_SEND(to_other), S3L_SCRIPT_END};
  static const s3l_step_t later[] = {S3L_EXPECT("PUT /bucket/leases/k HTTP/1.1\r\n"),
                                     S3L_EXPECT("\r\n\r\n" S3_BODY), S3L_SEND(to_other),
                                     S3L_SCRIPT_END};
  static const s3l_step_t away[] = {S3L_EXPECT("GET /bucket/leases/k HTTP/1.1"),
                                    S3L_EXPECT(other_host),
                                    S3L_EXPECT("SignedHeaders=host;"),
                                    S3L_EXPECT("\r\n\r\n"),
                                    S3L_SEND(S3_GET_OK),
                                    S3L_SCRIPT_END};
  static const s3l_step_t away_put[] = {S3L_EXPECT("PUT /bucket/leases/k HTTP/1.1"),
                                        S3L_EXPECT(other_host),
                                        S3L_EXPECT("\r\nif-match: " S3_ETAG "\r\n"),
                                        S3L_EXPECT("\r\n\r\n" S3_BODY),
                                        S3L_SEND(S3_PUT_OK),
                                        S3L_SCRIPT_END};
  const s3l_step_t* const homes[] = {home, later, answers};
  const s3l_step_t* const aways[] = {away, away_put};
  s3_rig_t* rig = begin(homes, 3, aways);
  other.scripts_len = 2;
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  assert_string_equal(rig->r.result.body, "body");
  assert_int_equal(other.accepted, 1);
  s3_assert_result(s3_rig_put(rig, S3LECT_IF_MATCH, 0), 0, S3LECT_SETTLED, 200);
  assert_int_equal(other.accepted, 2);
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  assert_int_equal(other.accepted, 2); /* which needed no redirect */
  assert_int_equal(rig->server.accepted, 3);
  assert_int_equal(rig->r.done, 1);
  end(rig);
}

static void follows_once(void** state) {
  const s3l_step_t* const homes[] = {redirects, answers};
  const s3l_step_t* const aways[] = {redirects}; /* which sends it to itself */
  s3_rig_t* rig = begin(homes, 2, aways);
  s3_assert_result(s3_rig_get(rig, NULL), S3LECT_EREDIRECT, S3LECT_NOT_APPLIED, 307);
  assert_non_null(
      strstr(rig->r.result.message, "a redirect is followed only to the endpoint's own host"));
  assert_int_equal(other.accepted, 1);
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  end(rig);
}

/* Two at once, over one connection, where the second goes along unasked, and over two, where both
 * are redirected. The way back is taken when both have ended. */
static void many_go_together(void** state) {
  static const s3l_step_t away[] = {
      S3L_EXPECT("GET /"),    S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK), S3L_EXPECT("GET /"),
      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3_GET_OK),    S3L_SCRIPT_END};
  const s3l_step_t* const homes[] = {redirects, redirects, answers};
  const s3l_step_t* const aways[] = {away, answers};
  for (connections = 1; connections <= 2; connections++) {
    s3l_suite_req_t* second = calloc(1, sizeof(*second));
    assert_non_null(second);
    s3_rig_t* rig = begin(homes + 2 - connections, 1 + connections, aways + connections - 1);
    s3l_suite_prepare(&rig->suite, &rig->r, "leases/k");
    s3l_suite_prepare(&rig->suite, second, "leases/k");
    assert_int_equal(s3l_suite_start(&rig->r, s3lect_store_get), 0);
    while (connections == 1 && !((s3l_remote_req_t*)rig->r.req.internal)->http.sent)
      (void)s3l_turn(&rig->loop);
    second->req.due_ns = 1; /* before the first, when that is sent again */
    assert_int_equal(s3l_suite_start(second, s3lect_store_get), 0);
    s3l_suite_wait(&rig->r);
    s3l_suite_wait(second);
    s3_assert_result(&rig->r.result, 0, S3LECT_SETTLED, 200);
    s3_assert_result(&second->result, 0, S3LECT_SETTLED, 200);
    assert_int_equal(s3_rig_get(rig, NULL)->status, 0);
    assert_int_equal(rig->server.accepted, 1 + connections);
    free(second);
    end(rig);
  }
  connections = 1;
}

static void a_cancelled_one_comes_back_too(void** state) {
  static const s3l_step_t silent[] = {S3L_EXPECT("\r\n\r\n"), S3L_SCRIPT_END};
  const s3l_step_t* const homes[] = {redirects, answers};
  const s3l_step_t* const aways[] = {silent};
  s3_rig_t* rig = begin(homes, 2, aways);
  s3l_suite_prepare(&rig->suite, &rig->r, "leases/k");
  assert_int_equal(s3l_suite_start(&rig->r, s3lect_store_get), 0);
  while (other.accepted == 0)
    s3l_turn(&rig->loop);
  s3lect_store_cancel(&rig->store, &rig->r.req);
  s3l_suite_wait(&rig->r);
  s3_assert_result(&rig->r.result, UV_ECANCELED, S3LECT_NOT_APPLIED, 0);
  s3_assert_result(s3_rig_get(rig, NULL), 0, S3LECT_SETTLED, 200);
  end(rig);
}

/* Each of these ends the request, without a word to anybody else. */
static void goes_nowhere_else(void** state) {
  static const char* const locations[] = {
      "Location: http://evil" HOME ":%u/bucket/leases/k\r\n",
      "Location: http://" AWAY ".other:%u/bucket/leases/k\r\n",
      "Location: http://127.0.0.2:%u/bucket/leases/k\r\n",
      "Location: http://" AWAY "/bucket/leases/k\r\n",
      "Location: http://" HOME ":1/bucket/leases/k\r\n",
      "Location: https://" AWAY ":%u/bucket/leases/k\r\n",
      "Location: http://" AWAY ":%u/bucket/leases/other\r\n",
      "Location: http://" AWAY ":%u/other/leases/k\r\n",
      "Location: http://" AWAY ":%u/\r\n",
      "Location: http://user@" AWAY ":%u/bucket/leases/k\r\n",
      "Location: /bucket/leases/k\r\n",
      "",
  };
  static char reply[512];
  static const s3l_step_t home[] = {S3L_EXPECT("GET /"), S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply),
                                    S3L_SCRIPT_END};
  static const s3l_step_t away[] = {S3L_EXPECT("never"), S3L_SCRIPT_END};
  const s3l_step_t* const homes[] = {home};
  const s3l_step_t* const aways[] = {away};
  for (size_t i = 0; i < sizeof(locations) / sizeof(locations[0]); i++) {
    char location[128];
    s3_rig_t* rig = begin(homes, 1, aways);
    snprintf(location, sizeof(location), "%s", locations[i]);
    char* port = strstr(location, "%u");
    if (port != NULL) {
      char rest[64], number[16];
      snprintf(rest, sizeof(rest), "%s", port + 2);
      snprintf(number, sizeof(number), "%u", other.port);
      snprintf(port, sizeof(location) - (size_t)(port - location), "%s%s", number, rest);
    }
    snprintf(reply, sizeof(reply), "HTTP/1.1 307 Temporary Redirect\r\n%sContent-Length: 0\r\n\r\n",
             location);
    s3_assert_result(s3_rig_get(rig, NULL), S3LECT_EREDIRECT, S3LECT_NOT_APPLIED, 307);
    assert_int_equal(other.accepted, 0);
    assert_int_equal(rig->server.accepted, 1);
    end(rig);
  }
}

/* ---- By name ---- */

static s3l_s3_endpoint_t endpoint(const char* host, bool tls, bool path_style, bool aws) {
  s3l_s3_endpoint_t e = {.aws = aws, .tls = tls, .port = tls ? 443 : 80, .path_style = path_style};
  snprintf(e.host, sizeof(e.host), "%s", host);
  snprintf(e.host_header, sizeof(e.host_header), "%s", host);
  snprintf(e.bucket, sizeof(e.bucket), "my-bucket");
  snprintf(e.region, sizeof(e.region), "eu-west-1");
  return e;
}

static void may(const s3l_s3_endpoint_t* from, const char* location, const char* host_header,
                bool path_style) {
  s3l_s3_endpoint_t to;
  if (!s3l_s3_redirect(from, s3l_span_cstr(location), S3L_SPAN("a b/k"), &to))
    fail_msg("%s is not followed", location);
  assert_string_equal(to.host_header, host_header);
  assert_int_equal(to.path_style, path_style);
  assert_int_equal(to.tls, from->tls);
  assert_string_equal(to.bucket, from->bucket);
  assert_string_equal(to.region, from->region);
}

static void may_not(const s3l_s3_endpoint_t* from, const char* location) {
  s3l_s3_endpoint_t to;
  if (s3l_s3_redirect(from, s3l_span_cstr(location), S3L_SPAN("a b/k"), &to))
    fail_msg("%s is followed", location);
}

static void keeps_to_the_endpoints_own(void** state) {
  const s3l_s3_endpoint_t path = endpoint("store.example", true, true, false);
  const s3l_s3_endpoint_t virtual = endpoint("my-bucket.store.example", true, false, false);
  const s3l_s3_endpoint_t ip = endpoint("10.0.0.1", false, true, false);
  const s3l_s3_endpoint_t ip6 = endpoint("::1", false, true, false);
  s3l_s3_endpoint_t to;
  may_not(&path, "https://store.example:8443/my-bucket/a%20b/k");
  may(&path, "https://n1.STORE.example/my-bucket/a%20b/k?x", "n1.STORE.example", true);
  may(&path, "https://my-bucket.n1.store.example/a%20b/k", "my-bucket.n1.store.example", false);
  may_not(&virtual, "https://my-bucket.store.example:1/a%20b/k");
  may(&virtual, "https://my-bucket.store.example/a%20b/k", "my-bucket.store.example", false);
  may(&virtual, "https://store.example/my-bucket/a%20b/k", "store.example", true);
  may(&ip, "http://10.0.0.1/my-bucket/a%20b/k", "10.0.0.1", true);
  may(&ip6, "http://[::1]/my-bucket/a%20b/k", "[::1]", true);
  may_not(&ip, "http://10.0.0.1:7480/my-bucket/a%20b/k");
  may_not(&ip6, "http://[::1]:7480/my-bucket/a%20b/k");
  may_not(&path, "https://evilstore.example/my-bucket/a%20b/k");
  may_not(&path, "https://store.example.evil/my-bucket/a%20b/k");
  may_not(&path, "https://example/my-bucket/a%20b/k");
  may_not(&path, "http://store.example/my-bucket/a%20b/k");
  may_not(&path, "https://store.example/my-bucket/a%20b/k/");
  may_not(&path, "https://store.example/a%20b/k");
  may_not(&path, "https://my-bucketx.store.example/a%20b/k");
  may_not(&ip, "http://1.10.0.0.1/my-bucket/a%20b/k");
  may_not(&ip, "http://10.0.0.2/my-bucket/a%20b/k");
  /* A listing is of the bucket. */
  assert_true(s3l_s3_redirect(&path, S3L_SPAN("https://n.store.example/my-bucket?list-type=2"),
                              S3L_SPAN(""), &to));
  assert_true(to.path_style);
  assert_true(s3l_s3_redirect(&path, S3L_SPAN("https://my-bucket.n.store.example?list-type=2"),
                              S3L_SPAN(""), &to));
  assert_false(to.path_style);
  assert_false(s3l_s3_redirect(&path, S3L_SPAN("https://n.store.example/"), S3L_SPAN(""), &to));
}

static void of_aws_only_s3_in_the_region(void** state) {
  const s3l_s3_endpoint_t aws = endpoint("my-bucket.s3.eu-west-1.amazonaws.com", true, false, true);
  may(&aws, "https://my-bucket.s3-eu-west-1.amazonaws.com/a%20b/k",
      "my-bucket.s3-eu-west-1.amazonaws.com", false);
  may(&aws, "https://s3.eu-west-1.amazonaws.com/my-bucket/a%20b/k", "s3.eu-west-1.amazonaws.com",
      true);
  may_not(&aws, "https://my-bucket.s3.eu-west-2.amazonaws.com/a%20b/k");
  may_not(&aws, "https://my-bucket.eu-west-1.elb.amazonaws.com/a%20b/k");
  may_not(&aws, "https://my-bucket.s3.eu-west-1.amazonaws.com:444/a%20b/k");
  may_not(&aws, "https://my-bucket.s3.eu-west-1.amazonaws.com.evil.example/a%20b/k");
  may_not(&aws, "https://other.s3.eu-west-1.amazonaws.com/a%20b/k");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(goes_there_and_back_again),
      cmocka_unit_test(follows_once),
      cmocka_unit_test(many_go_together),
      cmocka_unit_test(a_cancelled_one_comes_back_too),
      cmocka_unit_test(goes_nowhere_else),
      cmocka_unit_test(keeps_to_the_endpoints_own),
      cmocka_unit_test(of_aws_only_s3_in_the_region),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
