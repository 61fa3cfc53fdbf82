/* The public peer server over TLS: who is answered, new certificates while requests are held, and
 * options that cannot be. TLS knows nothing of the protocol.
 *
 * ctest labels: one-protocol */
#include <stdio.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define HEALTH S3LECT_PEER_HEALTH_PATH
#define GET    "GET " HEALTH " HTTP/1.1\r\nHost: x\r\n\r\n"
#define WAIT   "GET " HEALTH " HTTP/1.1\r\nHost: x\r\nPrefer: wait=3600\r\n\r\n"

static s3l_house_t h;

static const char* text_of(const char* path) {
  static char text[3][8192];
  static unsigned next;
  char* out = text[next++ % 3];
  FILE* f = fopen(path, "r");
  assert_non_null(f);
  size_t n = fread(out, 1, sizeof text[0] - 1, f);
  out[n] = '\0';
  fclose(f);
  return out;
}

static void answered(const char* ca, const char* cert) {
  s3l_tls_context_t* tls = s3l_client_context(ca, cert);
  assert_non_null(strstr(s3l_house_ask(&h, tls, GET, "}"), "\"leaderID\":\"a\""));
  s3l_tls_context_free(tls);
}

/* The connection ends without an answer. */
static void turned_away(const char* ca, const char* cert) {
  s3l_tls_context_t* tls = s3l_client_context(ca, cert);
  s3l_caller_t* c = s3l_house_caller(&h, tls);
  s3l_caller_open(c); /* with TLS 1.3 a client learns only later that it is not wanted */
  if (c->ended == 0)
    s3l_caller_send(c, GET);
  s3l_caller_expect_end(c);
  assert_string_equal(c->text, "");
  s3l_caller_free(c);
  s3l_tls_context_free(tls);
}

static void test_who_is_answered(void** state) {
  s3l_house_init(&h, &certs);
  s3l_house_open_leading(&h);
  answered(certs.ca, certs.good);
  turned_away(certs.ca, NULL);
  turned_away(certs.ca, certs.stranger);
  turned_away(certs.ca, certs.expired);
  turned_away(certs.ca, certs.future);
  turned_away(certs.other_ca, certs.good); /* it is the client who does not trust the server */
  s3l_caller_t* plain = s3l_house_caller(&h, NULL);
  s3l_caller_open(plain);
  s3l_caller_send(plain, GET);
  s3l_caller_expect_end(plain);
  assert_null(strstr(plain->text, "leaderID"));
  s3l_caller_free(plain);
  answered(certs.ca, certs.good);
  s3l_house_end(&h);
}

static void test_from_memory(void** state) {
  s3l_house_init(&h, &certs);
  h.options.cert_pem = text_of(h.options.cert_file);
  h.options.key_pem = text_of(h.options.key_file);
  h.options.client_ca_pem = text_of(h.options.client_ca_file);
  h.options.cert_file = h.options.key_file = h.options.client_ca_file = NULL;
  s3l_house_open_leading(&h);
  answered(certs.ca, certs.good);
  turned_away(certs.ca, certs.stranger);
  s3l_house_end(&h);
}

/* ---- Reload ---- */

static int reload(const s3lect_peer_server_options_t* options, const char* says) {
  s3lect_error_t error;
  int r = s3lect_peer_server_reload(&h.server, options, &error);
  if (strstr(error.text, says) == NULL)
    fail_msg("\"%s\" says nothing of \"%s\"", error.text, says);
  assert_true(r == 0 || error.text[0] != '\0');
  return r;
}

static s3lect_peer_server_options_t no_options(void) {
  s3lect_peer_server_options_t o;
  s3lect_peer_server_options_init(&o, sizeof o);
  return o;
}

/* The files change under a server that holds requests of old connections. */
static void test_the_files_again(void** state) {
  char cert[256];
  snprintf(cert, sizeof cert, "%s/in-use.pem", certs.dir);
  s3l_certs_replace(cert, certs.good);
  s3l_house_init(&h, &certs);
  h.options.cert_file = cert;
  s3l_house_open_leading(&h);
  s3l_tls_context_t* tls = s3l_client_context(certs.ca, certs.good);
  s3l_caller_t* old = s3l_house_caller(&h, tls);
  s3l_caller_open(old);
  s3l_caller_send(old, WAIT);
  answered(certs.ca, certs.good);

  s3l_certs_replace(cert, certs.stranger); /* signed by the other authority */
  answered(certs.ca, certs.good);
  assert_int_equal(reload(NULL, ""), 0);
  answered(certs.other_ca, certs.good);
  turned_away(certs.ca, certs.good);
  turned_away(certs.other_ca, certs.stranger); /* clients are still looked at */
  turned_away(certs.other_ca, NULL);

  s3l_certs_replace(cert, certs.key); /* what cannot be used changes nothing */
  assert_int_equal(reload(NULL, "in-use.pem"), S3LECT_ETLS);
  answered(certs.other_ca, certs.good);
  remove(cert);
  assert_int_equal(reload(NULL, "in-use.pem"), S3LECT_ETLS);
  answered(certs.other_ca, certs.good);

  assert_string_equal(old->text, ""); /* held all the while, and answered in the end */
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
  s3l_caller_expect(old, "404 Not Found");
  s3l_caller_free(old);
  s3l_tls_context_free(tls);
  s3l_house_end(&h);
}

static void test_other_certificates(void** state) {
  s3lect_peer_server_options_t o = no_options();
  s3l_house_init(&h, &certs);
  s3l_house_open_leading(&h);
  o.cert_pem = text_of(certs.stranger);
  o.key_pem = text_of(certs.key);
  /* A server that looks at its clients does not cease to because somebody forgot to say so. */
  assert_int_equal(reload(&o, "client_ca_file: missing"), S3LECT_EOPTION);
  answered(certs.ca, certs.good);
  o.client_ca_file = certs.other_ca;
  assert_int_equal(reload(&o, ""), 0);
  answered(certs.other_ca, certs.stranger);
  turned_away(certs.other_ca, certs.good);
  /* Text cannot be read again, ... */
  assert_int_equal(reload(NULL, "give the new text"), S3LECT_EOPTION);
  answered(certs.other_ca, certs.stranger);
  /* ... but files can, and it is those that were given last. */
  o = no_options();
  o.cert_file = certs.good;
  o.key_file = certs.key;
  o.client_ca_file = certs.other_ca;
  assert_int_equal(reload(&o, ""), 0);
  assert_int_equal(reload(NULL, ""), 0);
  answered(certs.ca, certs.stranger);
  turned_away(certs.ca, certs.good);
  o.cert_pem = o.cert_file;
  assert_int_equal(reload(&o, "cert_pem: given as a file, too"), S3LECT_EOPTION);
  o.size = 3;
  assert_int_equal(reload(&o, "size"), UV_EINVAL);
  s3l_house_end(&h);
}

static void test_clients_are_looked_at_from_now_on(void** state) {
  s3lect_peer_server_options_t o = no_options();
  s3l_house_init(&h, &certs);
  h.options.client_ca_file = NULL;
  s3l_house_open_leading(&h);
  answered(certs.ca, NULL);
  o.cert_file = certs.good;
  o.key_file = certs.key;
  o.client_ca_pem = text_of(certs.ca);
  assert_int_equal(reload(&o, ""), 0);
  turned_away(certs.ca, NULL);
  answered(certs.ca, certs.good);
  o.client_ca_pem = NULL;
  assert_int_equal(reload(&o, "client_ca_file: missing"), S3LECT_EOPTION);
  turned_away(certs.ca, NULL);
  s3l_house_close_server(&h);
  assert_int_equal(s3lect_peer_server_reload(&h.server, &o, NULL), UV_ECANCELED);
  s3l_house_end(&h);
}

static void test_nothing_to_reload(void** state) {
  s3l_house_init(&h, NULL);
  s3l_house_open(&h);
  assert_int_equal(reload(NULL, "plain_http"), UV_EINVAL);
  s3l_house_end(&h);
}

/* ---- Options ---- */

static void on_nobody(uv_stream_t* stream, int status) {}

static void test_bad_options(void** state) {
  s3lect_error_t error;
  char pem[128];
  uv_loop_t loop;
  s3lect_peer_server_t server;
  uv_tcp_t taken;
  struct sockaddr_in any;
  int any_len = sizeof any;
  char taken_port[32];
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(uv_tcp_init(&loop, &taken), 0);
  assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &any), 0);
  assert_int_equal(uv_tcp_bind(&taken, (struct sockaddr*)&any, 0), 0);
  assert_int_equal(uv_listen((uv_stream_t*)&taken, 1, on_nobody), 0);
  assert_int_equal(uv_tcp_getsockname(&taken, (struct sockaddr*)&any, &any_len), 0);
  snprintf(taken_port, sizeof taken_port, "127.0.0.1:%d", ntohs(any.sin_port));
  snprintf(pem, sizeof pem, "not a certificate");
#define PLAIN .plain_http = 1, .listen = "127.0.0.1:0"
#define TLS   .listen = "127.0.0.1:0", .cert_file = certs.good, .key_file = certs.key
  const struct {
    s3lect_peer_server_options_t o;
    int error;
    const char* says;
  } bad[] = {
      {{.plain_http = 1}, S3LECT_EOPTION, "listen: missing"},
      {{.plain_http = 1, .listen = ""}, S3LECT_EOPTION, "listen: missing"},
      {{.plain_http = 1, .listen = "example.com:80"}, S3LECT_EOPTION, "\"example.com:80\""},
      {{.plain_http = 1, .listen = "127.0.0.1"}, S3LECT_EOPTION, "listen \"127.0.0.1\": "},
      {{.plain_http = 1, .listen = "127.0.0.1:65536"}, S3LECT_EOPTION, "\"127.0.0.1:65536\""},
      {{.plain_http = 1, .listen = taken_port}, UV_EADDRINUSE, taken_port},
      {{.plain_http = 1, .listen = "192.0.2.1:0"}, UV_EADDRNOTAVAIL, "192.0.2.1:0"},
      {{.listen = "127.0.0.1:0"}, S3LECT_EOPTION, "cert_file: missing"},
      {{.listen = "127.0.0.1:0", .cert_file = certs.good}, S3LECT_EOPTION, "key_file: missing"},
      {{.listen = "127.0.0.1:0", .key_file = certs.key}, S3LECT_EOPTION, "cert_file: missing"},
      {{TLS, .cert_pem = pem}, S3LECT_EOPTION, "cert_pem: given as a file, too"},
      {{TLS, .key_pem = pem}, S3LECT_EOPTION, "key_pem: given as a file, too"},
      {{TLS, .client_ca_file = certs.ca, .client_ca_pem = pem},
       S3LECT_EOPTION,
       "client_ca_pem: given as a file, too"},
      {{TLS, .plain_http = 1}, S3LECT_EOPTION, "plain_http: set beside certificates"},
      {{PLAIN, .client_ca_file = certs.ca}, S3LECT_EOPTION, "plain_http: set beside certificates"},
      {{TLS, .client_ca_pem = pem}, S3LECT_ETLS, "client_ca_pem: "},
      {{TLS, .client_ca_pem = ""}, S3LECT_ETLS, "client_ca_pem: "},
      {{TLS, .client_ca_file = "/nonexistent.pem"}, S3LECT_ETLS, "/nonexistent.pem"},
      {{.listen = "127.0.0.1:0", .cert_pem = pem, .key_file = certs.key},
       S3LECT_ETLS,
       "cert_pem: "},
      {{.listen = "127.0.0.1:0", .cert_file = "", .key_file = certs.key}, S3LECT_ETLS, "cert"},
      {{.listen = "127.0.0.1:0", .cert_file = certs.good, .key_pem = pem},
       S3LECT_ETLS,
       "key_pem: "},
      {{.listen = "127.0.0.1:0", .cert_file = certs.ca, .key_file = certs.key},
       S3LECT_ETLS,
       "key"}, /* not the key of this certificate */
      {{PLAIN, .max_header_bytes = 255}, S3LECT_EOPTION, "max_header_bytes: 255"},
      {{PLAIN, .max_header_bytes = 2 << 20}, S3LECT_EOPTION, "max_header_bytes"},
      {{PLAIN, .header_timeout_ms = 2419200001},
       S3LECT_EOPTION,
       "header_timeout_ms: 2419200001 ms is over"},
      {{PLAIN, .idle_timeout_ms = 2419200001},
       S3LECT_EOPTION,
       "idle_timeout_ms: 2419200001 ms is over"},
      {{PLAIN, .max_wait_ms = 2419200001}, S3LECT_EOPTION, "max_wait_ms: 2419200001 ms is over"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    s3lect_peer_server_options_t o = bad[i].o;
    o.size = sizeof o;
    int r = s3lect_peer_server_init(&loop, &server, &o, &error);
    if (r != bad[i].error || strstr(error.text, bad[i].says) == NULL)
      fail_msg("case %zu, \"%s\": %d, \"%s\"", i, bad[i].says, r, error.text);
    assert_int_equal(s3lect_peer_server_init(&loop, &server, &o, NULL), bad[i].error);
    assert_null(strstr(error.text, pem)); /* a key is not shown */
  }
  s3lect_peer_server_options_t o = {.size = 3};
  assert_int_equal(s3lect_peer_server_init(&loop, &server, &o, &error), UV_EINVAL);
  assert_non_null(strstr(error.text, "size"));
  uv_close((uv_handle_t*)&taken, NULL);
  s3l_wait_loop_end(&loop); /* nothing was left behind */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_who_is_answered),
      cmocka_unit_test(test_from_memory),
      cmocka_unit_test(test_the_files_again),
      cmocka_unit_test(test_other_certificates),
      cmocka_unit_test(test_clients_are_looked_at_from_now_on),
      cmocka_unit_test(test_nothing_to_reload),
      cmocka_unit_test(test_bad_options),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
