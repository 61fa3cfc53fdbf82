/* The HTTP client through a proxy: CONNECT, then TLS with the origin itself; and proxies that will
 * not. */
#include <stdio.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/http_rig.h"
#include "lib/proxy_server.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "s3lect/errno.h"

static s3l_rig_t rig;
static s3l_proxy_server_t proxy_server;
static s3l_proxy_t proxy;

static const s3l_step_t twice[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
                                   S3L_EXPECT("\r\n\r\n"), S3L_SPLIT(S3L_RIG_OK, 1),
                                   S3L_SCRIPT_END};
static const s3l_step_t* const scripts[] = {twice};

static void set_proxy(const char* user, uint16_t port) {
  char url[128];
  const char* reason;
  snprintf(url, sizeof(url), "http://%s127.0.0.1:%u", user, port);
  assert_true(s3l_proxy_parse(s3l_span_cstr(url), &proxy, &reason));
  rig.options.proxy = &proxy;
}

/* A TLS origin, and a proxy before it. */
static void start(const char* cert, const char* user, const char* authorization,
                  const char* reply) {
  s3l_rig_init(&rig, scripts, 1);
  assert_int_equal(s3l_tls_context_server(cert, certs.key, &rig.server.tls, NULL), 0);
  rig.options.tls = true;
  rig.options.ca_file = certs.ca;
  rig.options.host = "localhost";
  s3l_script_server_start(&rig.server, &rig.loop);
  rig.options.port = rig.server.port;
  proxy_server = (s3l_proxy_server_t){
      .authorization = authorization, .reply = reply, .target = rig.server.port};
  s3l_proxy_server_start(&proxy_server, &rig.loop);
  set_proxy(user, proxy_server.port);
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &rig.client), 0);
}

static void end(void) {
  s3l_tls_context_t* tls = rig.server.tls;
  s3l_proxy_server_close(&proxy_server);
  s3l_rig_end(&rig);
  s3l_tls_context_free(tls);
}

static void assert_ok(const s3l_rig_req_t* r) {
  if (r->status != 0)
    fail_msg("status %d: %s", r->status, r->message);
  assert_int_equal(r->http_status, 200);
  assert_memory_equal(r->body, "ok", 2);
}

static void assert_failed(const s3l_rig_req_t* r, int status, const char* message) {
  if (r->status != status || strstr(r->message, message) == NULL)
    fail_msg("status %d (wanted %d): \"%s\" (wanted \"%s\")", r->status, status, r->message,
             message);
  assert_int_equal(r->done, 1);
  assert_false(r->sent);
}

static void goes_through_a_tunnel(void** state) {
  char expected[128];
  s3l_rig_req_t r[2];
  memset(r, 0, sizeof(r));
  start(certs.good, "", NULL, NULL);
  s3l_rig_do(&rig, &r[0]);
  s3l_rig_do(&rig, &r[1]);
  assert_ok(&r[0]);
  assert_ok(&r[1]);
  assert_int_equal(proxy_server.tunnels, 1);
  assert_int_equal(rig.server.accepted, 1);
  snprintf(expected, sizeof(expected),
           "CONNECT localhost:%u HTTP/1.1\r\nhost: localhost:%u\r\n\r\n", rig.server.port,
           rig.server.port);
  assert_string_equal(proxy_server.head, expected);
  end();
}

static void shows_user_and_password(void** state) {
  s3l_rig_req_t r[2];
  memset(r, 0, sizeof(r));
  start(certs.good, "Aladdin:open%20sesame@", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", NULL);
  s3l_rig_do(&rig, &r[0]);
  assert_ok(&r[0]);
  end();
  start(certs.good, "Aladdin:wrong@", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", NULL);
  s3l_rig_do(&rig, &r[1]);
  assert_failed(&r[1], S3LECT_EPROXY, "wants a user and a password (407)");
  assert_int_equal(rig.server.accepted, 0);
  end();
}

/* The proxy is no authority: the origin's certificate is looked at as ever. */
static void trusts_the_origin_only(void** state) {
  s3l_rig_req_t r;
  memset(&r, 0, sizeof(r));
  start(certs.wrong, "", NULL, NULL);
  s3l_rig_do(&rig, &r);
  assert_failed(&r, S3LECT_ETLSNAME, "TLS handshake with localhost:");
  end();
}

static void tells_what_the_proxy_said(void** state) {
  static const struct {
    const char* reply;
    int status;
    const char* message;
  } cases[] = {
      {"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n", S3LECT_EPROXY, " (503)"},
      {"HTTP/1.0 403 Forbidden\r\n\r\n<html>", S3LECT_EPROXY, "does not connect to localhost:"},
      {"HTTP/1.1 302 Found\r\nLocation: http://login/\r\n\r\n", S3LECT_EPROXY, " (302)"},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", S3LECT_EBADREPLY, "reply of proxy 127.0.0.1:"},
      {"HTTP/1.1 200 OK\r\n\r\nhello", S3LECT_EPROXY, "speaks before it is asked"},
      {"HTTP/1.1 200 OK\r\n", S3LECT_EPROXY, "closed the connection without a tunnel"},
      {"", S3LECT_EPROXY, "closed the connection without a tunnel"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_rig_req_t r;
    memset(&r, 0, sizeof(r));
    start(certs.good, "", NULL, cases[i].reply);
    s3l_rig_do(&rig, &r);
    assert_failed(&r, cases[i].status, cases[i].message);
    end();
  }
}

/* HTTP/1.0, an interim reply, headers about a body that is none: all of it is a tunnel. */
static void takes_a_granted_tunnel_in_any_form(void** state) {
  static const s3l_step_t forms[][6] = {
      {S3L_EXPECT("\r\n\r\n"), S3L_SPLIT("HTTP/1.0 200 Connection established\r\n\r\n", 3),
       S3L_SCRIPT_END},
      {S3L_EXPECT("\r\n\r\n"), S3L_SEND("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"),
       S3L_SCRIPT_END},
      {S3L_EXPECT("\r\n\r\n"), S3L_SEND("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n"),
       S3L_SCRIPT_END},
  };
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
    /* The "proxy" is a script that ends where TLS begins: the handshake runs into its silence. */
    s3l_rig_req_t r;
    memset(&r, 0, sizeof(r));
    const s3l_step_t* script = forms[i];
    s3l_rig_init(&rig, &script, 1);
    s3l_script_server_start(&rig.server, &rig.loop);
    rig.options.tls = true;
    rig.options.ca_file = certs.ca;
    rig.options.host = "s3.test";
    rig.options.port = 443;
    rig.options.tls_timeout_ms = 100;
    set_proxy("", rig.server.port);
    assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &rig.client), 0);
    s3l_rig_do(&rig, &r);
    assert_failed(&r, UV_ETIMEDOUT, "TLS handshake with s3.test:443: not complete within 100 ms");
    s3l_rig_end(&rig);
  }
}

static void tells_of_a_proxy_that_is_down(void** state) {
  uv_tcp_t probe;
  struct sockaddr_in addr;
  int len = sizeof(addr);
  s3l_rig_req_t r;
  memset(&r, 0, sizeof(r));
  s3l_rig_init(&rig, NULL, 0);
  /* A port that was free a moment ago. */
  assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &addr), 0);
  assert_int_equal(uv_tcp_init(&rig.loop, &probe), 0);
  assert_int_equal(uv_tcp_bind(&probe, (const struct sockaddr*)&addr, 0), 0);
  assert_int_equal(uv_tcp_getsockname(&probe, (struct sockaddr*)&addr, &len), 0);
  rig.options.tls = true;
  rig.options.host = "s3.test";
  rig.options.port = 443;
  set_proxy("", ntohs(addr.sin_port));
  uv_close((uv_handle_t*)&probe, NULL);
  uv_run(&rig.loop, UV_RUN_DEFAULT);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  assert_failed(&r, UV_ECONNREFUSED, "connect to proxy 127.0.0.1:");
  s3l_rig_end(&rig);
}

static void waits_no_longer_for_a_silent_proxy(void** state) {
  static const s3l_step_t silent[] = {S3L_EXPECT("\r\n\r\n"), S3L_SCRIPT_END};
  s3l_rig_req_t r[2];
  memset(r, 0, sizeof(r));
  s3l_rig_init(&rig, S3L_SCRIPTS(silent), 1);
  s3l_script_server_start(&rig.server, &rig.loop);
  rig.options.tls = true;
  rig.options.ca_file = certs.ca;
  rig.options.host = "s3.test";
  rig.options.port = 443;
  rig.options.connect_timeout_ms = 50;
  set_proxy("", rig.server.port);
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &rig.client), 0);
  s3l_rig_do(&rig, &r[0]);
  assert_failed(&r[0], UV_ETIMEDOUT, "connect to proxy 127.0.0.1:");
  /* Closed while it waits. */
  s3l_rig_submit(&rig, &r[1]);
  s3l_rig_wait_for(&rig, &rig.server.accepted, 2);
  s3l_rig_close_client(&rig);
  s3l_rig_wait(&rig, &r[1]);
  assert_int_equal(r[1].status, UV_ECANCELED);
  s3l_rig_end(&rig);
}

/* A plain origin: the proxy is dialled, and compose says the rest. */
static void speaks_to_the_proxy_of_a_plain_origin(void** state) {
  s3l_rig_req_t r;
  memset(&r, 0, sizeof(r));
  s3l_rig_init(&rig, S3L_SCRIPTS(twice), 1);
  s3l_script_server_start(&rig.server, &rig.loop);
  proxy_server = (s3l_proxy_server_t){.target = rig.server.port};
  s3l_proxy_server_start(&proxy_server, &rig.loop);
  rig.options.host = "s3.test";
  rig.options.port = 80;
  set_proxy("", proxy_server.port);
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &rig.client), 0);
  r.text = "GET http://s3.test/k HTTP/1.1\r\nhost: s3.test\r\n\r\n";
  s3l_rig_do(&rig, &r);
  assert_ok(&r);
  assert_int_equal(proxy_server.forwarded, 1);
  assert_string_equal(proxy_server.head, r.text);
  s3l_proxy_server_close(&proxy_server);
  s3l_rig_end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(goes_through_a_tunnel),
      cmocka_unit_test(shows_user_and_password),
      cmocka_unit_test(trusts_the_origin_only),
      cmocka_unit_test(tells_what_the_proxy_said),
      cmocka_unit_test(takes_a_granted_tunnel_in_any_form),
      cmocka_unit_test(tells_of_a_proxy_that_is_down),
      cmocka_unit_test(waits_no_longer_for_a_silent_proxy),
      cmocka_unit_test(speaks_to_the_proxy_of_a_plain_origin),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
