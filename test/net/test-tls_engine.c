/* Two engines, client and server, talk through memory in pieces of every size. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/tls_files.h"
#include <uv.h>

#include "lib/group_certs.h"
#include "lib/tls_pair.h"
#include "net/tls_engine.h"
#include "s3lect/errno.h"
#include "util/prng.h"

static void contexts(s3l_tls_context_t** client, s3l_tls_context_t** server) {
  assert_int_equal(s3l_tls_context_client(certs.ca, client, NULL), 0);
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, server, NULL), 0);
}

static void read_all(s3l_tls_engine_t* from, s3l_tls_engine_t* to, char* out, size_t n, size_t max,
                     s3l_prng_t* rng) {
  size_t at = 0;
  while (at < n) {
    bool moved = s3l_tls_carry(from, to, max, rng);
    ssize_t got = s3l_tls_read(to, out + at, n - at);
    assert_true(got >= 0);
    at += (size_t)got;
    assert_true(moved || got > 0 || at == n);
  }
}

static void test_talk(void** state) {
  enum { BIG = 50000 };
  static const size_t pieces[] = {0, 1, 7, 500};
  s3l_tls_context_t* cc;
  s3l_tls_context_t* sc;
  s3l_prng_t rng;
  char* text = malloc(BIG);
  char* got = malloc(BIG);
  assert_non_null(text);
  assert_non_null(got);
  s3l_prng_seed(&rng, 3);
  for (size_t i = 0; i < BIG; i++)
    text[i] = (char)s3l_prng_next(&rng);
  contexts(&cc, &sc);
  for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
    s3l_tls_engine_t client;
    s3l_tls_engine_t server;
    const unsigned char* alpn;
    unsigned alpn_len;
    assert_int_equal(s3l_tls_engine_init(&client, cc, "localhost"), 0);
    assert_int_equal(s3l_tls_engine_init(&server, sc, NULL), 0);
    assert_int_equal(s3l_tls_shake(&client, &server, pieces[i], &rng), 0);
    SSL_get0_alpn_selected(client.ssl, &alpn, &alpn_len);
    assert_int_equal(alpn_len, 8);
    assert_memory_equal(alpn, "http/1.1", 8);
    assert_string_equal(SSL_get_servername(server.ssl, TLSEXT_NAMETYPE_host_name), "localhost");
    assert_int_equal(s3l_tls_write(&client, text, BIG), 0);
    read_all(&client, &server, got, BIG, pieces[i], &rng);
    assert_memory_equal(got, text, BIG);
    assert_int_equal(s3l_tls_write(&server, text, 100), 0);
    read_all(&server, &client, got, 100, pieces[i], &rng);
    assert_memory_equal(got, text, 100);
    assert_int_equal(s3l_tls_read(&client, got, 1), 0);
    s3l_tls_shutdown(&server);
    while (s3l_tls_carry(&server, &client, pieces[i], &rng)) {
    }
    assert_int_equal(s3l_tls_read(&client, got, 1), UV_EOF);
    assert_true(client.ended);
    s3l_tls_engine_free(&client);
    s3l_tls_engine_free(&server);
  }
  s3l_tls_context_free(cc);
  s3l_tls_context_free(sc);
  free(text);
  free(got);
}

/* An address literal is verified as one, and is not sent as a name. */
static void test_address(void** state) {
  static const struct {
    const char* host;
    int rc;
  } cases[] = {{"127.0.0.1", 0}, {"::1", 0}, {"127.0.0.2", S3LECT_ETLSNAME}, {"LOCALHOST", 0}};
  s3l_tls_context_t* cc;
  s3l_tls_context_t* sc;
  s3l_prng_t rng;
  s3l_prng_seed(&rng, 4);
  contexts(&cc, &sc);
  for (size_t i = 0; i < 4; i++) {
    s3l_tls_engine_t client;
    s3l_tls_engine_t server;
    s3l_tls_context_forget(cc); /* verification happens in full handshakes */
    assert_int_equal(s3l_tls_engine_init(&client, cc, cases[i].host), 0);
    assert_int_equal(s3l_tls_engine_init(&server, sc, NULL), 0);
    assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng), cases[i].rc);
    const char* sni = SSL_get_servername(server.ssl, TLSEXT_NAMETYPE_host_name);
    if (i < 3)
      assert_null(sni);
    s3l_tls_engine_free(&client);
    s3l_tls_engine_free(&server);
  }
  s3l_tls_context_free(cc);
  s3l_tls_context_free(sc);
}

/* A common name is no name of a host (RFC 9525), whatever other names there are. */
static void test_common_name_is_no_host(void** state) {
  const char* const refused[] = {certs.cn_only, certs.cn_email};
  s3l_prng_t rng;
  s3l_prng_seed(&rng, 9);
  for (size_t i = 0; i < 2; i++) {
    s3l_tls_context_t* cc;
    s3l_tls_context_t* sc;
    s3l_tls_engine_t client;
    s3l_tls_engine_t server;
    assert_int_equal(s3l_tls_context_client(certs.ca, &cc, NULL), 0);
    assert_int_equal(s3l_tls_context_server(refused[i], certs.key, &sc, NULL), 0);
    assert_int_equal(s3l_tls_engine_init(&client, cc, "localhost"), 0);
    assert_int_equal(s3l_tls_engine_init(&server, sc, NULL), 0);
    assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng), S3LECT_ETLSNAME);
    assert_non_null(strstr(client.why, "the common name does not count"));
    s3l_tls_engine_free(&client);
    s3l_tls_engine_free(&server);
    s3l_tls_context_free(cc);
    s3l_tls_context_free(sc);
  }
}

static void test_old_protocol_is_refused(void** state) {
  s3l_tls_context_t* cc;
  s3l_tls_context_t* sc;
  s3l_tls_engine_t client;
  s3l_tls_engine_t server;
  s3l_prng_t rng;
  s3l_prng_seed(&rng, 5);
  contexts(&cc, &sc);
  /* TLS 1.1 with the security level that would allow it. */
  SSL_CTX_set_security_level(sc->ssl_ctx, 0);
  assert_int_equal(SSL_CTX_set_min_proto_version(sc->ssl_ctx, TLS1_VERSION), 1);
  assert_int_equal(SSL_CTX_set_max_proto_version(sc->ssl_ctx, TLS1_1_VERSION), 1);
  assert_int_equal(s3l_tls_engine_init(&client, cc, "localhost"), 0);
  assert_int_equal(s3l_tls_engine_init(&server, sc, NULL), 0);
  assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng),
                   1); /* the server finds nothing in common */
  while (s3l_tls_carry(&server, &client, 0, &rng)) {
  }
  assert_int_equal(s3l_tls_handshake(&client), S3LECT_ETLS);
  assert_non_null(strstr(client.why, "alert"));
  s3l_tls_engine_free(&client);
  s3l_tls_engine_free(&server);
  s3l_tls_context_free(cc);
  s3l_tls_context_free(sc);
}

/* One flipped bit in application data. */
static void test_tampered(void** state) {
  s3l_tls_context_t* cc;
  s3l_tls_context_t* sc;
  s3l_tls_engine_t client;
  s3l_tls_engine_t server;
  s3l_prng_t rng;
  char buf[500];
  s3l_prng_seed(&rng, 6);
  contexts(&cc, &sc);
  assert_int_equal(s3l_tls_engine_init(&client, cc, "localhost"), 0);
  assert_int_equal(s3l_tls_engine_init(&server, sc, NULL), 0);
  assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng), 0);
  assert_int_equal(s3l_tls_read(&client, buf, sizeof(buf)), 0); /* tickets */
  assert_int_equal(s3l_tls_write(&server, "secret", 6), 0);
  size_t n = s3l_tls_take(&server, buf, sizeof(buf));
  buf[n - 1] ^= 1;
  assert_int_equal(s3l_tls_feed(&client, buf, n), 0);
  assert_int_equal(s3l_tls_read(&client, buf, sizeof(buf)), S3LECT_ETLS);
  assert_true(client.failed);
  assert_true(client.why[0] != 0);
  s3l_tls_engine_free(&client);
  s3l_tls_engine_free(&server);
  s3l_tls_context_free(cc);
  s3l_tls_context_free(sc);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_talk),
      cmocka_unit_test(test_address),
      cmocka_unit_test(test_common_name_is_no_host),
      cmocka_unit_test(test_old_protocol_is_refused),
      cmocka_unit_test(test_tampered),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
