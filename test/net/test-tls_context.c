/* Contexts from files and from memory, client certificates, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/tls_files.h"
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <uv.h>

#include "lib/group_certs.h"
#include "lib/tls_pair.h"
#include "net/tls_context.h"
#include "s3lect/errno.h"

/* A file's text; lives until the next one in the same slot. */
static s3l_pem_t memory(int slot, const char* file) {
  static char text[4][8192];
  FILE* f = fopen(file, "r");
  assert_non_null(f);
  size_t n = fread(text[slot], 1, sizeof(text[slot]), f);
  assert_true(n > 0 && n < sizeof(text[slot]));
  assert_int_equal(fclose(f), 0);
  return (s3l_pem_t){.text = {text[slot], n}};
}

static s3l_pem_t file(const char* name) {
  return (s3l_pem_t){.file = name};
}

static s3l_tls_server_options_t server_options(s3l_tls_client_auth_t auth) {
  s3l_tls_server_options_t o = {
      .cert = file(certs.good), .key = file(certs.key), .client_auth = auth};
  if (auth != S3L_TLS_CLIENT_AUTH_NONE)
    o.client_ca = file(certs.ca);
  return o;
}

typedef struct pair_s {
  s3l_tls_engine_t client;
  s3l_tls_engine_t server;
} pair_t;

/* Shakes hands; the contexts are gone before, and live on in the engines. */
static int meet(pair_t* pair, const s3l_tls_client_options_t* co,
                const s3l_tls_server_options_t* so) {
  s3l_tls_context_t* cc = NULL;
  s3l_tls_context_t* sc = NULL;
  s3l_prng_t rng;
  s3lect_error_t error;
  s3l_prng_seed(&rng, 5);
  if (s3l_tls_context_new_client(co, &cc, &error) != 0 ||
      s3l_tls_context_new_server(so, &sc, &error) != 0)
    fail_msg("%s", error.text);
  assert_int_equal(s3l_tls_engine_init(&pair->client, cc, "localhost"), 0);
  assert_int_equal(s3l_tls_engine_init(&pair->server, sc, NULL), 0);
  s3l_tls_context_free(cc);
  s3l_tls_context_free(sc);
  return s3l_tls_shake(&pair->client, &pair->server, 0, &rng);
}

static void part(pair_t* pair) {
  s3l_tls_engine_free(&pair->client);
  s3l_tls_engine_free(&pair->server);
}

static void test_memory(void** state) {
  pair_t pair;
  const s3l_tls_client_options_t co = {
      .ca = memory(0, certs.ca), .cert = memory(1, certs.good), .key = memory(2, certs.key)};
  const s3l_tls_server_options_t so = {.cert = co.cert,
                                       .key = co.key,
                                       .client_auth = S3L_TLS_CLIENT_AUTH_REQUIRED,
                                       .client_ca = co.ca};
  assert_int_equal(meet(&pair, &co, &so), 0);
  assert_true(s3l_tls_peer_verified(&pair.server));
  assert_true(s3l_tls_peer_is(&pair.server, "localhost"));
  assert_true(s3l_tls_peer_is(&pair.server, "127.0.0.1"));
  assert_true(s3l_tls_peer_is(&pair.client, "localhost"));
  assert_false(s3l_tls_peer_is(&pair.server, "localhost.example"));
  assert_false(s3l_tls_peer_is(&pair.server, "127.0.0.2"));
  assert_false(s3l_tls_peer_is(&pair.server, ""));
  part(&pair);
}

/* Memory counts where a file is named too. */
static void test_memory_first(void** state) {
  pair_t pair;
  s3l_tls_client_options_t co = {.ca = memory(0, certs.ca)};
  co.ca.file = "/nonexistent";
  const s3l_tls_server_options_t so = server_options(S3L_TLS_CLIENT_AUTH_NONE);
  assert_int_equal(meet(&pair, &co, &so), 0);
  assert_false(s3l_tls_peer_verified(&pair.server));
  part(&pair);
}

/* Which client may in, by what it shows and what is asked. */
static void test_client_auth(void** state) {
  const struct {
    s3l_tls_client_auth_t auth;
    const char* cert;
    bool in;
    bool verified;
    const char* why;
  } cases[] = {
      {S3L_TLS_CLIENT_AUTH_NONE, NULL, true, false, NULL},
      {S3L_TLS_CLIENT_AUTH_NONE, certs.good, true, false, NULL},
      {S3L_TLS_CLIENT_AUTH_OPTIONAL, NULL, true, false, NULL},
      {S3L_TLS_CLIENT_AUTH_OPTIONAL, certs.good, true, true, NULL},
      {S3L_TLS_CLIENT_AUTH_OPTIONAL, certs.stranger, false, false, "certificate is refused"},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, NULL, false, false, "peer did not return a certificate"},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, certs.good, true, true, NULL},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, certs.stranger, false, false, "certificate is refused"},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, certs.expired, false, false, "has expired"},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, certs.future, false, false, "not yet valid"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    pair_t pair;
    s3l_tls_client_options_t co = {.ca = file(certs.ca)};
    const s3l_tls_server_options_t so = server_options(cases[i].auth);
    if (cases[i].cert != NULL) {
      co.cert = file(cases[i].cert);
      co.key = file(certs.key);
    }
    int rc = meet(&pair, &co, &so);
    assert_int_equal(rc, cases[i].in ? 0 : 1);
    assert_int_equal(pair.server.ready, cases[i].in);
    assert_int_equal(s3l_tls_peer_verified(&pair.server), cases[i].verified);
    assert_int_equal(s3l_tls_peer_is(&pair.server, "localhost"), cases[i].verified);
    if (!cases[i].in && strstr(pair.server.why, cases[i].why) == NULL)
      fail_msg("case %zu: %s", i, pair.server.why);
    part(&pair);
  }
}

/* A session of one context is worth nothing to the next one, whoever may ask. */
static void test_reload_ends_sessions(void** state) {
  s3l_tls_context_t* cc;
  s3l_prng_t rng;
  char buf[8];
  const s3l_tls_server_options_t so = server_options(S3L_TLS_CLIENT_AUTH_NONE);
  s3l_prng_seed(&rng, 5);
  assert_int_equal(s3l_tls_context_client(certs.ca, &cc, NULL), 0);
  for (int reload = 0; reload <= 1; reload++) {
    s3l_tls_context_t* sc;
    assert_int_equal(s3l_tls_context_new_server(&so, &sc, NULL), 0);
    for (int turn = 0; turn < 2; turn++) {
      pair_t p;
      assert_int_equal(s3l_tls_engine_init(&p.client, cc, "localhost"), 0);
      assert_int_equal(s3l_tls_engine_init(&p.server, sc, NULL), 0);
      assert_int_equal(s3l_tls_shake(&p.client, &p.server, 0, &rng), 0);
      assert_int_equal(p.server.resumed, turn == 1);
      assert_int_equal(s3l_tls_read(&p.client, buf, sizeof(buf)), 0); /* tickets */
      s3l_tls_shutdown(&p.client);
      part(&p);
    }
    s3l_tls_context_free(sc);
  }
  s3l_tls_context_free(cc);
}

static const char* make_key(bool encrypted) {
  static char text[2][2048];
  char password[] = "password";
  EVP_PKEY* key = EVP_EC_gen("P-256");
  BIO* bio = BIO_new(BIO_s_mem());
  assert_non_null(key);
  assert_non_null(bio);
  assert_int_equal(PEM_write_bio_PrivateKey(bio, key, encrypted ? EVP_aes_128_cbc() : NULL, NULL, 0,
                                            NULL, encrypted ? password : NULL),
                   1);
  int n = BIO_read(bio, text[encrypted], (int)sizeof(text[0]) - 1);
  assert_true(n > 0);
  text[encrypted][n] = '\0';
  BIO_free(bio);
  EVP_PKEY_free(key);
  return text[encrypted];
}

static void test_bad_server_options(void** state) {
  const s3l_pem_t good = file(certs.good);
  const s3l_pem_t key = file(certs.key);
  const s3l_pem_t none = {0};
  const s3l_pem_t garbage = {.text = S3L_SPAN("-----BEGIN CERTIFICATE-----\nAAAA\n")};
  const s3l_pem_t encrypted = {.text = s3l_span_cstr(make_key(true))};
  const s3l_pem_t another = {.text = s3l_span_cstr(make_key(false))};
  const struct {
    s3l_tls_server_options_t o;
    int rc;
    const char* says;
  } cases[] = {
      {{.cert = good}, UV_EINVAL, ": a TLS server needs a certificate and its key"},
      {{.key = key}, UV_EINVAL, ": a TLS server needs a certificate and its key"},
      {{good, key, S3L_TLS_CLIENT_AUTH_REQUIRED, none}, UV_EINVAL, "needs the authority"},
      {{good, key, S3L_TLS_CLIENT_AUTH_NONE, good}, UV_EINVAL, "is of no use"},
      {{.cert = {.file = "/nonexistent"}, .key = key},
       S3LECT_ETLS,
       "cert \"/nonexistent\": no such file"},
      {{.cert = {.file = "/"}, .key = key}, S3LECT_ETLS, "cert \"/\": not a regular file"},
      {{.cert = key, .key = key}, S3LECT_ETLS, ": there is no certificate in it"},
      {{.cert = {.text = S3L_SPAN("")}, .key = key},
       S3LECT_ETLS,
       "cert: there is no certificate in it"},
      {{.cert = garbage, .key = key}, S3LECT_ETLS, "cert: "},
      {{.cert = good, .key = good}, S3LECT_ETLS, ": there is no usable key in it"},
      {{.cert = good, .key = another}, S3LECT_ETLS, "key: key values mismatch"},
      {{.cert = good, .key = encrypted}, S3LECT_ETLS, "the key is encrypted"},
      {{good, key, S3L_TLS_CLIENT_AUTH_OPTIONAL, key},
       S3LECT_ETLS,
       "there is no certificate in it"},
      {{good, key, S3L_TLS_CLIENT_AUTH_OPTIONAL, {.file = "/nonexistent"}},
       S3LECT_ETLS,
       "client_ca \"/nonexistent\": "},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_tls_context_t* c = (void*)&c;
    s3lect_error_t error;
    int rc = s3l_tls_context_new_server(&cases[i].o, &c, &error);
    if (rc != cases[i].rc || strstr(error.text, cases[i].says) == NULL)
      fail_msg("case %zu: %d, \"%s\"", i, rc, error.text);
    assert_null(c);
    assert_int_equal(s3l_tls_context_new_server(&cases[i].o, &c, NULL), rc);
  }
}

static void test_bad_client_options(void** state) {
  const s3l_tls_client_options_t half = {.cert = file(certs.good)};
  const s3l_tls_client_options_t wrong = {.cert = file(certs.good), .key = file(certs.ca)};
  const s3l_tls_client_options_t no_ca = {.ca = {.text = S3L_SPAN("none")}};
  s3l_tls_context_t* c;
  s3lect_error_t error;
  assert_int_equal(s3l_tls_context_new_client(&half, &c, &error), UV_EINVAL);
  assert_string_equal(error.text,
                      "key: a client certificate needs its key, and a key its certificate");
  assert_int_equal(s3l_tls_context_new_client(&wrong, &c, &error), S3LECT_ETLS);
  assert_non_null(strstr(error.text, "key \"/"));
  assert_int_equal(s3l_tls_context_new_client(&no_ca, &c, &error), S3LECT_ETLS);
  assert_string_equal(error.text, "ca: there is no certificate in it; give PEM text");
  assert_null(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_memory_first),
      cmocka_unit_test(test_client_auth),
      cmocka_unit_test(test_reload_ends_sessions),
      cmocka_unit_test(test_bad_server_options),
      cmocka_unit_test(test_bad_client_options),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
