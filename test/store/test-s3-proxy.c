/* The S3 store through HTTP proxies: AWS's own hosts over TLS, other regions, plain endpoints, and
 * proxies that will not. All hosts end at a script on loopback, which shows a certificate of
 * theirs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/certs.h"
#include "lib/proxy_server.h"
#include "lib/s3_config.h"
#include "lib/script_server.h"
#include "lib/store_suite.h"
#include "lib/test.h"
#include "lib/tls_files.h"

#define GET_OK "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 4\r\n\r\nbody"
#define PUT_OK "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 0\r\n\r\n"
#define MOVED  "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: eu-west-1\r\nContent-Length: 0\r\n\r\n"
#define BODY   "{\"epoch\":1}"

static const s3l_step_t* const silent = (const s3l_step_t[]){S3L_SCRIPT_END};
static s3l_certs_t certs;
static uv_loop_t loop;
static s3l_script_server_t server;
static s3l_proxy_server_t proxy;
static s3lect_store_t store;
static s3l_store_suite_t suite;
static s3l_suite_req_t r;
static char proxy_url[128];

/* A server, and a proxy that leads to it. */
static void begin(const s3l_step_t* const* scripts, size_t n, bool tls) {
  memset(&r, 0, sizeof(r));
  assert_int_equal(uv_loop_init(&loop), 0);
  server = (s3l_script_server_t){.scripts = scripts, .scripts_len = n, .unref = true};
  if (tls)
    assert_int_equal(s3l_tls_context_server(certs.aws, certs.key, &server.tls, NULL), 0);
  s3l_script_server_start(&server, &loop);
  proxy = (s3l_proxy_server_t){.target = server.port};
  s3l_proxy_server_start(&proxy, &loop);
  snprintf(proxy_url, sizeof(proxy_url), "http://127.0.0.1:%u", proxy.port);
}

static s3lect_store_s3_options_t options(void) {
  s3lect_store_s3_options_t o = s3l_config_good();
  o.ca_file = certs.ca;
  o.max_connections = 1;
  return o;
}

static void open_store(const s3lect_store_s3_options_t* o) {
  s3lect_error_t error;
  if (s3lect_store_s3_options_check(o, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(s3lect_store_s3_init(&loop, &store, o, NULL), 0);
  suite = (s3l_store_suite_t){.loop = &loop, .store = &store, .timeout_ms = 20000};
}

static void end(void) {
  s3l_tls_context_t* tls = server.tls;
  s3lect_store_close(&store, NULL);
  s3l_proxy_server_close(&proxy);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(server.failures, 0);
  s3l_script_server_close(&server);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  s3l_tls_context_free(tls);
}

static int get(void) {
  return s3l_suite_get(&suite, &r, "k", NULL)->status;
}

static void assert_ok(int status) {
  if (status != 0)
    fail_msg("%s: %s", s3lect_err_name(status), r.message);
}

static void assert_message(const char* wanted) {
  if (r.result.message == NULL || strstr(r.message, wanted) == NULL)
    fail_msg("\"%s\" does not hold \"%s\"", r.message, wanted);
  assert_null(strstr(r.message, "secret"));
}

/* With nothing but a bucket, keys and a proxy: the region is learned, the host changes with it, and
 * so does the tunnel. */
static void moves_to_the_region(void** state) {
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("PUT /k HTTP/1.1\r\n"
                                          "host: my-bucket.s3.us-east-1.amazonaws.com\r\n"),
                               S3L_EXPECT("\r\n\r\n" BODY), S3L_SEND(MOVED)),
                    S3L_SCRIPT(S3L_EXPECT("PUT /k HTTP/1.1\r\n"
                                          "host: my-bucket.s3.eu-west-1.amazonaws.com\r\n"),
                               S3L_EXPECT("/eu-west-1/s3/aws4_request"),
                               S3L_EXPECT("\r\n\r\n" BODY), S3L_SEND(PUT_OK),
                               S3L_EXPECT("GET /k HTTP/1.1\r\n"
                                          "host: my-bucket.s3.eu-west-1.amazonaws.com\r\n"),
                               S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK))),
        2, true);
  s3lect_store_s3_options_t o = options();
  setenv("HTTPS_PROXY", proxy_url, 1);
  open_store(&o);
  assert_ok(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, BODY)->status);
  assert_int_equal(r.result.notice, S3LECT_EREGION);
  assert_int_equal(proxy.tunnels, 2);
  assert_non_null(strstr(proxy.head, "CONNECT my-bucket.s3.eu-west-1.amazonaws.com:443 HTTP/1.1"));
  assert_ok(get());
  assert_int_equal(r.result.notice, 0);
  assert_int_equal(proxy.tunnels, 2); /* over the same connection */
  end();
}

/* The host with both kinds of addresses, in the next region too. */
static void keeps_to_dual_stack(void** state) {
  begin(
      S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("host: my-bucket.s3.dualstack.us-east-1.amazonaws.com\r\n"),
                             S3L_EXPECT("\r\n\r\n"), S3L_SEND(MOVED)),
                  S3L_SCRIPT(S3L_EXPECT("host: my-bucket.s3.dualstack.eu-west-1.amazonaws.com\r\n"),
                             S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK))),
      2, true);
  s3lect_store_s3_options_t o = options();
  o.proxy = proxy_url;
  setenv("AWS_USE_DUALSTACK_ENDPOINT", "true", 1);
  open_store(&o);
  assert_ok(get());
  assert_int_equal(proxy.tunnels, 2);
  assert_non_null(
      strstr(proxy.head, "CONNECT my-bucket.s3.dualstack.eu-west-1.amazonaws.com:443 HTTP/1.1"));
  end();
}

/* The variables are read once; which hosts they are for is asked again for another region's. */
static void asks_no_proxy_again(void** state) {
  begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(MOVED))), 1, true);
  s3lect_store_s3_options_t o = options();
  setenv("HTTPS_PROXY", proxy_url, 1);
  setenv("NO_PROXY", ".eu-west-1.amazonaws.com", 1);
  open_store(&o);
  unsetenv("HTTPS_PROXY");
  unsetenv("NO_PROXY");
  /* Nobody is there whom our authority vouches for. */
  assert_int_not_equal(get(), 0);
  assert_message("my-bucket.s3.eu-west-1.amazonaws.com");
  assert_null(strstr(r.message, "proxy"));
  assert_int_equal(proxy.tunnels, 1);
  assert_int_equal(proxy.accepted, 1);
  end();
}

/* A redirect to another partition, or to no region of AWS, is not followed. */
static void stays_in_its_partition(void** state) {
  static const char* const names[] = {"cn-north-1", "evil", "eu_west-1"};
  char reply[256];
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    snprintf(reply, sizeof(reply),
             "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: %s\r\nContent-Length: 0\r\n\r\n",
             names[i]);
    begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(reply))), 1, true);
    s3lect_store_s3_options_t o = options();
    o.proxy = proxy_url;
    open_store(&o);
    assert_int_equal(get(), S3LECT_EREGION);
    assert_message(names[i]);
    assert_int_equal(proxy.accepted, 1);
    end();
  }
}

/* Absolute-form, with the proxy's password, which the signature does not cover. */
static void reaches_plain_endpoints(void** state) {
  char url[160];
  begin(S3L_SCRIPTS(S3L_SCRIPT(
            S3L_EXPECT(
                "GET http://store.test:9000/my-bucket/k HTTP/1.1\r\nhost: store.test:9000\r\n"),
            S3L_EXPECT("proxy-authorization: Basic dTpzZWNyZXQ=\r\n"), S3L_EXPECT("\r\n\r\n"),
            S3L_SEND(GET_OK))),
        1, false);
  s3lect_store_s3_options_t o = options();
  snprintf(url, sizeof(url), "http://u:secret@127.0.0.1:%u", proxy.port);
  proxy.authorization = "Basic dTpzZWNyZXQ=";
  o.endpoint = "http://store.test:9000";
  setenv("http_proxy", url, 1);
  open_store(&o);
  assert_ok(get());
  assert_int_equal(proxy.forwarded, 1);
  end();
}

static void goes_direct_where_told(void** state) {
  char endpoint[64];
  for (int i = 0; i < 2; i++) {
    begin(S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("GET /my-bucket/k HTTP/1.1\r\n"),
                                 S3L_EXPECT("\r\n\r\n"), S3L_SEND(GET_OK))),
          1, false);
    s3lect_store_s3_options_t o = options();
    snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", server.port);
    o.endpoint = endpoint;
    setenv("http_proxy", proxy_url, 1); /* is not for loopback */
    o.proxy = i == 0 ? NULL : "";
    open_store(&o);
    assert_ok(get());
    assert_int_equal(proxy.accepted, 0);
    end();
  }
}

/* ---- Proxies that will not ---- */

static void refused(const char* endpoint, const char* reply, int status, const char* message) {
  char url[160];
  begin(&silent, 1, false);
  s3lect_store_s3_options_t o = options();
  snprintf(url, sizeof(url), "http://u:secret@127.0.0.1:%u", proxy.port);
  proxy.reply = reply;
  o.endpoint = endpoint;
  o.proxy = url;
  open_store(&o);
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_ALWAYS, NULL, BODY)->status, status);
  assert_message(message);
  assert_int_equal(server.accepted, 0);
  end();
}

static void names_refusals(void** state) {
  char nobody[64];
  refused(NULL, "HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n", S3LECT_EPROXY,
          " wants a user and a password (407)");
  assert_int_equal(r.result.outcome, S3LECT_NOT_APPLIED);
  refused(NULL, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", S3LECT_EPROXY,
          "does not connect to my-bucket.s3.us-east-1.amazonaws.com:443 (502)");
  assert_int_equal(r.result.outcome, S3LECT_NOT_APPLIED);
  refused("http://store.test", "HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n", S3LECT_EPROXY,
          "407; the HTTP proxy wants a user and a password");
  assert_int_equal(r.result.outcome, S3LECT_NOT_APPLIED);
  refused("http://store.test", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
          S3LECT_ESERVER, "502; a proxy could not reach the store");
  assert_int_equal(r.result.outcome, S3LECT_UNCERTAIN); /* it has seen the request */
  /* A port where nobody listens any more. */
  begin(&silent, 1, false);
  snprintf(nobody, sizeof(nobody), "http://u:secret@127.0.0.1:%u", proxy.port);
  s3l_test_server_unlisten(&proxy.tcp);
  uv_run(&loop, UV_RUN_NOWAIT);
  s3lect_store_s3_options_t o = options();
  o.proxy = nobody;
  open_store(&o);
  assert_int_equal(get(), UV_ECONNREFUSED);
  assert_message("connect to proxy 127.0.0.1:");
  s3lect_store_close(&store, NULL);
  uv_run(&loop, UV_RUN_DEFAULT);
  s3l_script_server_close(&server);
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static int make_certs(void** state) {
  return s3l_certs_make(&certs);
}

static int remove_certs(void** state) {
  s3l_certs_remove(&certs);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moves_to_the_region),     cmocka_unit_test(keeps_to_dual_stack),
      cmocka_unit_test(asks_no_proxy_again),     cmocka_unit_test(stays_in_its_partition),
      cmocka_unit_test(reaches_plain_endpoints), cmocka_unit_test(goes_direct_where_told),
      cmocka_unit_test(names_refusals),
  };
  return cmocka_run_group_tests(tests, make_certs, remove_certs);
}
