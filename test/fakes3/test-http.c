/* The server as HTTP: framing, limits, pipelining, connections. */

#include <string.h>

#include "fakes3/bytes.h"
#include "lib/fakes3_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

/* A bad request gets this answer, and then the end of the connection. */
static void refused(const char* text, int status, const char* code) {
  rig.bytes_n = strlen(text);
  assert_true(rig.bytes_n < sizeof(rig.bytes));
  memcpy(rig.bytes, text, rig.bytes_n + 1);
  assert_int_equal(s3l_fakes3_exchange(false), status);
  assert_string_equal(s3l_raw_tag("Code"), code);
  assert_string_equal(s3l_raw_header("Connection"), "close");
  assert_int_equal(s3l_raw_wait_end(&rig.raw), UV_EOF);
}

static void refuses_bad_framing(void** state) {
  refused("PUT /b/k HTTP/1.1\r\nHost: x\r\n\r\n", 411, "MissingContentLength");
  refused("PUT /b/k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
          501, "NotImplemented");
  assert_string_equal(s3l_raw_tag("Header"), "Transfer-Encoding");
  refused("PUT /b/k HTTP/1.1\r\nHost: x\r\nContent-Length: 5242881\r\n\r\nx", 400,
          "EntityTooLarge");
  refused("nonsense\r\n\r\n", 400, "BadRequest");
  refused("GET /b/k HTTP/1.1\r\nHost x\r\n\r\n", 400, "BadRequest");
  fakes3_counters_t counters;
  fakes3_counters(rig.server, &counters);
  assert_int_equal(counters.malformed, 2);
}

static void bounds_headers(void** state) {
  fakes3_bytes_t text = {NULL, 0, 0};
  fakes3_puts(&text, "GET /b/k HTTP/1.1\r\nHost: x\r\nX-Long: ");
  for (int i = 0; i < 20000; i++)
    fakes3_puts(&text, "a");
  fakes3_puts(&text, "\r\n\r\n");
  refused(fakes3_cstr(&text), 400, "RequestHeaderSectionTooLarge");
  text.n = 0;
  fakes3_puts(&text, "GET /b/k HTTP/1.1\r\n");
  for (int i = 0; i < 100; i++)
    fakes3_puts(&text, "A: b\r\n");
  fakes3_puts(&text, "\r\n");
  refused(fakes3_cstr(&text), 400, "RequestHeaderSectionTooLarge");
  text.n = 0;
  fakes3_puts(&text, "GET /b/");
  for (int i = 0; i < 1025; i++)
    fakes3_puts(&text, "k");
  fakes3_puts(&text, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  refused(fakes3_cstr(&text), 400, "KeyTooLongError");
  fakes3_bytes_free(&text);
}

static void refuses_bad_targets(void** state) {
  refused("GET /b/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, "InvalidURI");
  refused("GET /b/%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, "InvalidURI");
  refused("GET /b/k?a=%4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, "InvalidURI");
  refused("GET /B_/k HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, "InvalidBucketName");
}

/* Several requests on one connection, one after another. */
static void keeps_connections(void** state) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "x"), 200);
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_HEAD, .key = "k"), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "k"), 204);
  assert_int_equal(s3l_fakes3_last()->conn, 1);
  assert_int_equal(fakes3_connections(rig.server), 1);
}

/* Three requests in one write are answered in their order, even though the first takes longest. */
static void serves_pipelined_requests_in_order(void** state) {
  static char all[S3L_RAW_MAX];
  static s3l_raw_t raw;
  const char* const bodies[] = {"one", "two"};
  size_t n = 0;
  s3l_fakes3_fault("{\"latency_ms\":20,\"count\":1}");
  for (int i = 0; i < 2; i++) {
    S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = bodies[i]);
    memcpy(all + n, rig.bytes, rig.bytes_n);
    n += rig.bytes_n;
  }
  S3L_SIGN(.key = "k");
  memcpy(all + n, rig.bytes, rig.bytes_n);
  n += rig.bytes_n;
  assert_int_equal(s3l_raw_connect(&raw), 0);
  s3l_raw_send(&raw, all, n);
  assert_int_equal(s3l_raw_reply(&raw, false), 200);
  assert_int_equal(s3l_raw_reply(&raw, false), 200);
  assert_int_equal(s3l_raw_reply(&raw, false), 200);
  assert_string_equal(rig.reply.body, "two");
  s3l_raw_close(&raw);
}

/* The same request a byte at a time. */
static void reads_split_requests(void** state) {
  static s3l_raw_t raw;
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "split");
  s3l_fakes3_bend("\r\n\r\n", "\r\nX-Empty:\r\nX-Blank: \r\n\r\n");
  assert_int_equal(s3l_raw_connect(&raw), 0);
  for (size_t i = 0; i < rig.bytes_n; i++) {
    s3l_raw_send(&raw, rig.bytes + i, 1);
    uv_run(&rig.loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(s3l_raw_reply(&raw, false), 200);
  s3l_raw_close(&raw);
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(rig.reply.body, "split");
}

static void answers_expect(void** state) {
  static s3l_raw_t raw;
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "late");
  s3l_fakes3_bend("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
  size_t head = rig.bytes_n - 4;
  assert_int_equal(s3l_raw_connect(&raw), 0);
  s3l_raw_send(&raw, rig.bytes, head);
  assert_int_equal(s3l_raw_reply(&raw, false), 100);
  s3l_raw_send(&raw, rig.bytes + head, 4);
  assert_int_equal(s3l_raw_reply(&raw, false), 200);
  s3l_raw_close(&raw);
}

static void follows_the_clients_wish_to_close(void** state) {
  S3L_SIGN(.key = "k");
  s3l_fakes3_bend("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  assert_int_equal(s3l_fakes3_exchange(false), 404);
  assert_string_equal(s3l_raw_header("Connection"), "close");
  assert_int_equal(s3l_raw_wait_end(&rig.raw), UV_EOF);
  S3L_SIGN(.key = "k");
  s3l_fakes3_bend("HTTP/1.1", "HTTP/1.0");
  assert_int_equal(s3l_fakes3_exchange(false), 404);
  assert_int_equal(s3l_raw_wait_end(&rig.raw), UV_EOF);
}

/* A server with a connection in each state can be stopped, and a second one take its place. */
static void stops_at_any_time(void** state) {
  static s3l_raw_t idle, half, stalled, late;
  s3l_raw_t* const all[] = {&idle, &half, &stalled, &late};
  s3l_fakes3_open(&(fakes3_options_t){.port = 0});
  s3l_fakes3_fault("{\"stall\":true,\"match\":{\"key\":\"stalled\"}}");
  s3l_fakes3_fault("{\"latency_ms\":600000,\"match\":{\"key\":\"late\"}}");
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(s3l_raw_connect(all[i]), 0);
  s3l_raw_send(&half, "PUT /b/k HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", 54);
  S3L_SIGN(.key = "stalled");
  s3l_raw_send(&stalled, rig.bytes, rig.bytes_n);
  S3L_SIGN(.key = "late");
  s3l_raw_send(&late, rig.bytes, rig.bytes_n);
  fakes3_counters_t counters;
  do {
    s3l_turn(&rig.loop);
    fakes3_counters(rig.server, &counters);
  } while (counters.in_flight < 2);
  uint16_t port = fakes3_port(rig.server);
  fakes3_stop(rig.server, NULL, NULL);
  for (size_t i = 0; i < 4; i++) {
    assert_true(s3l_raw_wait_end(all[i]) < 0);
    s3l_raw_close(all[i]);
  }
  char why[256] = "";
  assert_int_equal(
      fakes3_start(&rig.loop, &(fakes3_options_t){.port = port}, &rig.server, why, sizeof(why)), 0);
  assert_int_equal(S3L_DO(.key = "k"), 404);
  s3l_fakes3_close();
}

static void refuses_bad_options(void** state) {
  uv_loop_t loop;
  fakes3_t* server = NULL;
  char why[256] = "";
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(
      fakes3_start(&loop, &(fakes3_options_t){.host = "nowhere"}, &server, why, sizeof(why)),
      UV_EINVAL);
  assert_non_null(strstr(why, "nowhere"));
  assert_int_equal(
      fakes3_start(&loop, &(fakes3_options_t){.tls_cert = "x"}, &server, why, sizeof(why)),
      UV_EINVAL);
  assert_int_equal(
      fakes3_start(&loop,
                   &(fakes3_options_t){.tls_cert = "/nonexistent/c", .tls_key = "/nonexistent/k"},
                   &server, why, sizeof(why)),
      UV_EINVAL);
  assert_non_null(strstr(why, "/nonexistent/c"));
  assert_int_equal(fakes3_start(&loop, &(fakes3_options_t){.log_file = "/nonexistent/log"}, &server,
                                why, sizeof(why)),
                   UV_ENOENT);
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void listens_on_ipv6(void** state) {
  uv_loop_t loop;
  fakes3_t* server = NULL;
  char why[256] = "";
  assert_int_equal(uv_loop_init(&loop), 0);
  int err = fakes3_start(&loop, &(fakes3_options_t){.host = "::1"}, &server, why, sizeof(why));
  if (err == UV_EADDRNOTAVAIL || err == UV_EAFNOSUPPORT) {
    print_message("no IPv6 here: %s\n", why);
  } else {
    assert_int_equal(err, 0);
    assert_int_equal(strncmp(fakes3_url(server), "http://[::1]:", 13), 0);
    fakes3_stop(server, NULL, NULL);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void) {
#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, s3l_open_rig, s3l_close_rig)
  const struct CMUnitTest tests[] = {
      WITH_RIG(refuses_bad_framing),
      WITH_RIG(bounds_headers),
      WITH_RIG(refuses_bad_targets),
      WITH_RIG(keeps_connections),
      WITH_RIG(serves_pipelined_requests_in_order),
      WITH_RIG(reads_split_requests),
      WITH_RIG(answers_expect),
      WITH_RIG(follows_the_clients_wish_to_close),
      cmocka_unit_test(stops_at_any_time),
      cmocka_unit_test(refuses_bad_options),
      cmocka_unit_test(listens_on_ipv6),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
