/* How the peer client reaches leaders: forms of addresses, TLS, and the public options for it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elector/peer_client.h"
#include "lib/ask_rig.h"
#include "lib/group_certs.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect/errno.h"
#include "s3lect/peer.h"

static s3l_asks_t rig;

static void begin(const s3l_step_t* const* scripts, size_t n) {
  memset(&rig, 0, sizeof rig);
  s3l_asks_begin(&rig, scripts, n, NULL);
}

/* ---- Addresses ---- */

static void test_addresses(void** state) {
  static const char* const bad[] = {
      "",          ":80",         "host:",      "host:0",      "host:65536",  "host:http",
      "host:80/",  "host:80/x",   "host:80?",   "user@host:1", "a b:80",      "::1:80",
      "[::1",      "[::1]80",     "[]:80",      "host:80#f",   "h\r\nX: y:1", "-h:1",
      "h:80,g:81", "http://h:80", "\xc3\xa9:80"};
  static const s3l_step_t reply[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                     S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {reply};
  s3l_asked_t a = {0};
  char addr[S3LECT_ADDR_SIZE + 16];
  begin(scripts, 1);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (s3l_asks_try(&rig, &a, bad[i], 1000, 0) != UV_EINVAL)
      fail_msg("\"%s\" was taken", bad[i]);
  memset(addr, 'a', sizeof addr);
  addr[sizeof addr - 1] = '\0';
  assert_int_equal(s3l_asks_try(&rig, &a, addr, 1000, 0), UV_EINVAL);
  assert_int_equal(a.done, 0);
  snprintf(addr, sizeof addr, "localhost:%u", rig.server.port);
  assert_int_equal(s3l_asks_try(&rig, &a, addr, S3L_WAIT_MS, 0), 0);
  s3l_asks_wait(&rig, &a, 1);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  assert_int_equal(s3l_asks_try(&rig, &a, "name.invalid:80", S3L_WAIT_MS, 0), 0);
  s3l_asks_wait(&rig, &a, 2);
  assert_int_equal(a.kind, S3L_PEER_FAILED);
  assert_non_null(strstr(a.message, "name.invalid"));
  s3l_asks_end(&rig);
}

static void test_an_ipv6_address(void** state) {
  static const s3l_step_t reply[] = {S3L_EXPECT("\r\nHost: [::1]:"), S3L_EXPECT("\r\n\r\n"),
                                     S3L_SEND(S3L_ASK_PLAIN), S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {reply};
  s3l_script_server_t six = {.ip = "::1", .scripts = scripts, .scripts_len = 1};
  struct sockaddr_in6 to;
  uv_tcp_t probe;
  s3l_asked_t a = {0};
  char addr[64];
  begin(scripts, 1);
  assert_int_equal(uv_ip6_addr("::1", 0, &to), 0);
  assert_int_equal(uv_tcp_init(&rig.loop, &probe), 0);
  bool has_six = uv_tcp_bind(&probe, (const struct sockaddr*)&to, 0) == 0;
  uv_close((uv_handle_t*)&probe, NULL);
  if (has_six) {
    s3l_script_server_start(&six, &rig.loop);
    snprintf(addr, sizeof addr, "[::1]:%u", six.port);
    assert_int_equal(s3l_asks_try(&rig, &a, addr, S3L_WAIT_MS, 0), 0);
    s3l_asks_wait(&rig, &a, 1);
    assert_int_equal(a.kind, S3L_PEER_LEADING);
    s3l_script_server_close(&six);
  }
  s3l_asks_end(&rig);
  if (!has_six) {
    print_message("no ::1 here\n");
    skip();
  }
}

/* ---- TLS ---- */

/* Asks a server that shows `cert` to clients of `client_cert` (NULL: it shows none). */
static s3l_asked_t ask_over_tls(const char* cert, const char* client_cert, const char* host) {
  static const s3l_step_t reply[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_HELD),
                                     S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {reply};
  const s3l_tls_server_options_t o = {.cert.file = cert,
                                      .key.file = certs.key,
                                      .client_auth = S3L_TLS_CLIENT_AUTH_REQUIRED,
                                      .client_ca.file = certs.ca};
  s3l_tls_context_t* tls;
  s3l_asked_t a = {0};
  char addr[64];
  assert_int_equal(s3l_tls_context_new_server(&o, &tls, NULL), 0);
  memset(&rig, 0, sizeof rig);
  rig.config.tls = true;
  rig.config.trust.ca.file = certs.ca;
  if (client_cert != NULL) {
    rig.config.trust.cert.file = client_cert;
    rig.config.trust.key.file = certs.key;
  }
  s3l_asks_begin(&rig, scripts, 1, tls);
  snprintf(addr, sizeof addr, "%s:%u", host, rig.server.port);
  assert_int_equal(s3l_asks_try(&rig, &a, addr, S3L_WAIT_MS, 0), 0);
  s3l_asks_wait(&rig, &a, 1);
  s3l_asks_end(&rig);
  s3l_tls_context_free(tls);
  return a;
}

/* It takes the connection, and says nothing: an ask that may be held for a minute ends long before.
 */
static void test_a_handshake_that_hangs(void** state) {
  s3l_asked_t a = {0};
  memset(&rig, 0, sizeof rig);
  rig.config.tls = true;
  rig.config.trust.ca.file = certs.ca;
  rig.config.tls_timeout_ms = 50;
  s3l_asks_begin(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("never"))), 1, NULL);
  s3l_asks_start(&rig, &a, 60000);
  s3l_asks_wait(&rig, &a, 1);
  assert_int_equal(a.status, UV_ETIMEDOUT);
  assert_non_null(strstr(a.message, "TLS handshake"));
  s3l_asks_end(&rig);
}

static void test_tls(void** state) {
  s3l_asked_t a = ask_over_tls(certs.good, certs.good, "127.0.0.1");
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  assert_true(a.authenticated);
  assert_int_equal(ask_over_tls(certs.good, certs.good, "localhost").kind, S3L_PEER_LEADING);
  const struct {
    const char* cert;
    const char* client_cert;
    int status;
  } bad[] = {
      {certs.stranger, certs.good, S3LECT_ETLSCA},
      {certs.expired, certs.good, S3LECT_ETLSEXPIRED},
      {certs.future, certs.good, S3LECT_ETLSEXPIRED},
      {certs.wrong, certs.good, S3LECT_ETLSNAME},
      {certs.good, certs.stranger, S3LECT_ETLS},
      {certs.good, certs.expired, S3LECT_ETLS},
      {certs.good, NULL, S3LECT_ETLS},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    a = ask_over_tls(bad[i].cert, bad[i].client_cert, "127.0.0.1");
    if (a.kind != S3L_PEER_FAILED || a.status != bad[i].status || a.message[0] == '\0')
      fail_msg("case %zu: kind %d, %d (%s), \"%s\"", i, (int)a.kind, a.status,
               s3lect_err_name(a.status), a.message);
    assert_false(a.authenticated);
  }
}

/* ---- New certificates ---- */

/* What is asked anew goes over a new connection; what is held ends over the old one. */
static void test_a_question_outlives_its_certificates(void** state) {
  static const s3l_step_t silent[] = {S3L_EXPECT("\r\n\r\n"), S3L_SCRIPT_END};
  static const s3l_step_t reply[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                     S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                     S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {silent, reply};
  const s3l_tls_client_options_t none = {.ca.file = NULL};
  s3l_asked_t held = {0}, a = {0};
  begin(scripts, 2);
  s3l_asks_start(&rig, &held, 60000);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 1);
  assert_int_equal(rig.server.accepted, 2);
  s3l_peer_client_trust(rig.client, &none);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 2);
  assert_int_equal(rig.server.accepted, 3);
  assert_int_equal(held.done, 0);
  s3l_peer_client_trust(rig.client, &none);
  s3l_wait_count(&rig.loop, &rig.server.ended, 1, "the end of the idle connection");
  s3l_peer_probe_cancel(&held.ask);
  s3l_asks_wait(&rig, &held, 1);
  s3l_wait_count(&rig.loop, &rig.server.ended, 3, "the end of the old connections");
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 3);
  assert_int_equal(rig.server.accepted, 4);
  s3l_asks_end(&rig);
}

/* A client that holds a question on certificates of before closes as any other. */
static void test_a_close_with_old_certificates(void** state) {
  static const s3l_step_t silent[] = {S3L_EXPECT("\r\n\r\n"), S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {silent};
  const s3l_tls_client_options_t none = {.ca.file = NULL};
  s3l_asked_t held = {0};
  begin(scripts, 1);
  s3l_asks_start(&rig, &held, 60000);
  s3l_peer_client_trust(rig.client, &none);
  s3l_asks_close(&rig);
  s3l_asks_wait(&rig, &held, 1);
  assert_int_equal(held.status, UV_ECANCELED);
  s3l_asks_end(&rig);
}

/* ---- Options of the public client ---- */

static void test_bad_options(void** state) {
  s3lect_error_t error;
  uv_loop_t loop;
  s3lect_peer_client_t client;
  char fifo[64];
  assert_int_equal(uv_loop_init(&loop), 0);
  snprintf(fifo, sizeof fifo, "/tmp/s3lect-fifo-%d", (int)getpid());
  assert_int_equal(mkfifo(fifo, 0600), 0);
  const struct {
    s3lect_peer_client_options_t o;
    int error;
    const char* says;
  } bad[] = {
      {{.ca_file = "/nonexistent.pem"},
       S3LECT_ETLS,
       "ca_file \"/nonexistent.pem\": cannot be read"},
      {{.ca_file = "/"}, S3LECT_ETLS, "ca_file \"/\": cannot be read"},
      {{.ca_file = fifo}, S3LECT_ETLS, "cannot be read (it is empty, or not a regular file)"},
      {{.ca_file = certs.key}, S3LECT_ETLS, "ca_file \""},
      {{.ca_pem = "no"}, S3LECT_ETLS, "ca_pem: "},
      {{.ca_pem = ""}, S3LECT_ETLS, "ca_pem: "},
      {{.ca_file = certs.ca, .ca_pem = "x"}, S3LECT_EOPTION, "ca_pem: given as a file, too"},
      {{.cert_file = certs.good}, S3LECT_EOPTION, "key_file: missing"},
      {{.key_file = certs.key}, S3LECT_EOPTION, "cert_file: missing"},
      {{.cert_file = certs.good, .key_file = certs.good}, S3LECT_ETLS, "key"},
      {{.cert_file = certs.ca, .key_file = certs.key}, S3LECT_ETLS, "key"},
      {{.plain_http = 1, .ca_file = certs.ca}, S3LECT_EOPTION, "plain_http: set beside"},
      {{.plain_http = 1, .idle_timeout_ms = 2419200001},
       S3LECT_EOPTION,
       "idle_timeout_ms: 2419200001 ms is over"},
      {{.connect_timeout_ms = 2419200001},
       S3LECT_EOPTION,
       "connect_timeout_ms: 2419200001 ms is over"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    s3lect_peer_client_options_t o = bad[i].o;
    o.size = sizeof o;
    int r = s3lect_peer_client_init(&loop, &client, &o, &error);
    if (r != bad[i].error || strstr(error.text, bad[i].says) == NULL)
      fail_msg("case %zu, \"%s\": %d, \"%s\"", i, bad[i].says, r, error.text);
    assert_int_equal(s3lect_peer_client_init(&loop, &client, &o, NULL), bad[i].error);
  }
  s3lect_peer_client_options_t o = {.size = 3};
  assert_int_equal(s3lect_peer_client_init(&loop, &client, &o, &error), UV_EINVAL);
  assert_non_null(strstr(error.text, "size"));
  assert_int_equal(unlink(fifo), 0);
  s3l_wait_loop_end(&loop);
}

static int reload(s3lect_peer_client_t* client, const s3lect_peer_client_options_t* o,
                  const char* says) {
  s3lect_error_t error;
  int r = s3lect_peer_client_reload(client, o, &error);
  if (strstr(error.text, says) == NULL)
    fail_msg("\"%s\" says nothing of \"%s\"", error.text, says);
  return r;
}

/* The public client, with files that change under it. */
static void test_reload(void** state) {
  static const s3l_step_t reply[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_HELD),
                                     S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {reply};
  const s3l_tls_server_options_t so = {.cert.file = certs.good,
                                       .key.file = certs.key,
                                       .client_auth = S3L_TLS_CLIENT_AUTH_REQUIRED,
                                       .client_ca.file = certs.ca};
  char cert[256], ca[256];
  s3l_tls_context_t* tls;
  s3lect_peer_client_t client;
  s3lect_peer_client_options_t o;
  s3l_asked_t a = {0};
  snprintf(cert, sizeof cert, "%s/in-use.pem", certs.dir);
  snprintf(ca, sizeof ca, "%s/in-use-ca.pem", certs.dir);
  s3l_certs_replace(cert, certs.stranger);
  s3l_certs_replace(ca, certs.ca);
  assert_int_equal(s3l_tls_context_new_server(&so, &tls, NULL), 0);
  memset(&rig, 0, sizeof rig);
  s3l_asks_begin(&rig, scripts, 1, tls);
  s3l_peer_client_t* plain = rig.client;
  s3lect_peer_client_options_init(&o, sizeof o);
  o.ca_file = ca;
  o.cert_file = cert;
  o.key_file = certs.key;
  assert_int_equal(s3lect_peer_client_init(&rig.loop, &client, &o, NULL), 0);
  rig.client = s3l_peer_client_of(&client);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 1);
  assert_int_equal(a.status, S3LECT_ETLS); /* the server does not know who signed it */
  s3l_certs_replace(cert, certs.good);
  assert_int_equal(reload(&client, NULL, ""), 0);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 2);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  s3l_certs_replace(ca, certs.other_ca);
  assert_int_equal(reload(&client, NULL, ""), 0);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 3);
  assert_int_equal(a.status, S3LECT_ETLSCA);
  /* What cannot be used changes nothing. */
  s3l_certs_replace(ca, certs.ca);
  assert_int_equal(reload(&client, NULL, ""), 0);
  s3l_certs_replace(ca, certs.key);
  assert_int_equal(reload(&client, NULL, "ca_file \""), S3LECT_ETLS);
  (void)remove(ca);
  assert_int_equal(reload(&client, NULL, "in-use-ca.pem"), S3LECT_ETLS);
  o.ca_file = NULL;
  assert_int_equal(reload(&client, &o, "ca_file: missing"), S3LECT_EOPTION);
  o.ca_file = certs.ca;
  o.key_file = NULL;
  assert_int_equal(reload(&client, &o, "key_file: missing"), S3LECT_EOPTION);
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, 4);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  o.key_file = certs.key;
  assert_int_equal(reload(&client, &o, ""), 0);
  (void)remove(cert);
  s3lect_peer_client_close(&client, NULL);
  assert_int_equal(s3lect_peer_client_reload(&client, NULL, NULL), UV_ECANCELED);
  rig.client = plain;
  s3l_asks_end(&rig);
  s3l_tls_context_free(tls);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_an_ipv6_address),
      cmocka_unit_test(test_tls),
      cmocka_unit_test(test_a_handshake_that_hangs),
      cmocka_unit_test(test_a_question_outlives_its_certificates),
      cmocka_unit_test(test_a_close_with_old_certificates),
      cmocka_unit_test(test_reload),
      cmocka_unit_test(test_bad_options),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
