/* A peer that makes the TLS engine work for nothing: key updates, attempts to renegotiate, a
 * handshake in records of one byte. The engine gives up after a bounded number of records, however
 * many were fed at once, and what it wants to send meanwhile is bounded, too. */
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <uv.h>

#include "lib/group_certs.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/tls_pair.h"
#include "s3lect/errno.h"

#define FLOOD 2000

/* The largest record that is sent in reply to one of the flood. */
#define REPLY_MAX 64

static s3l_tls_context_t* client_context;
static s3l_tls_context_t* server_context;
static s3l_tls_engine_t client;
static s3l_tls_engine_t server;
static s3l_prng_t rng;

static void begin(void) {
  s3l_prng_seed(&rng, 8);
  assert_int_equal(s3l_tls_context_client(certs.ca, &client_context, NULL), 0);
  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &server_context, NULL), 0);
  assert_int_equal(s3l_tls_engine_init(&client, client_context, "localhost"), 0);
  assert_int_equal(s3l_tls_engine_init(&server, server_context, NULL), 0);
}

static void end(void) {
  s3l_tls_engine_free(&client);
  s3l_tls_engine_free(&server);
  s3l_tls_context_free(client_context);
  s3l_tls_context_free(server_context);
}

static void feed_all(s3l_tls_engine_t* from, s3l_tls_engine_t* to) {
  while (s3l_tls_carry(from, to, 0, &rng)) {
  }
}

/* `e` has been fed a flood: it gives up, and has not replied to all of it. */
static void gives_up(s3l_tls_engine_t* e) {
  char plain[100];
  assert_int_equal(s3l_tls_read(e, plain, sizeof(plain)), S3LECT_ETLS);
  assert_true(e->failed);
  assert_non_null(strstr(e->why, "too many records"));
  assert_true(BIO_ctrl_pending(e->out) <= (S3L_TLS_QUIET_MAX + 1) * REPLY_MAX);
  assert_int_equal(s3l_tls_read(e, plain, sizeof(plain)), S3LECT_ETLS);
}

static void update_keys(s3l_tls_engine_t* e) {
  assert_int_equal(SSL_key_update(e->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
  assert_int_equal(SSL_do_handshake(e->ssl), 1);
}

static void test_key_updates(void** state) {
  for (int way = 0; way < 2; way++) {
    s3l_tls_engine_t* from = way == 0 ? &client : &server;
    begin();
    assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng), 0);
    for (int i = 0; i < FLOOD; i++)
      update_keys(from);
    feed_all(from, way == 0 ? &server : &client);
    gives_up(way == 0 ? &server : &client);
    end();
  }
}

/* A peer that sends data may change its keys every few kilobytes. */
static void test_key_updates_among_data(void** state) {
  static char data[4 * S3L_TLS_QUIET_BYTES];
  char got[sizeof(data)];
  begin();
  assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng), 0);
  for (int i = 0; i < 20 * S3L_TLS_QUIET_MAX; i++) {
    memset(data, i, sizeof(data));
    update_keys(&client);
    assert_int_equal(s3l_tls_write(&client, data, sizeof(data)), 0);
    feed_all(&client, &server);
    assert_int_equal(s3l_tls_read(&server, got, sizeof(got)), sizeof(got));
    assert_memory_equal(got, data, sizeof(got));
    while (s3l_tls_take(&server, got, sizeof(got)) > 0) { /* replies; the client does not look */
    }
  }
  end();
}

/* A byte of data for each update is too little. */
static void test_key_updates_among_bytes(void** state) {
  char plain[100];
  ssize_t n = 1;
  int sent = 0;
  begin();
  assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng), 0);
  for (; n > 0; sent++) {
    assert_true(sent <= S3L_TLS_QUIET_MAX);
    update_keys(&client);
    assert_int_equal(s3l_tls_write(&client, "x", 1), 0);
    feed_all(&client, &server);
    n = s3l_tls_read(&server, plain, sizeof(plain));
  }
  assert_int_equal(n, S3LECT_ETLS);
  end();
}

/* ---- TLS 1.2 ---- */

/* Records of a TLS 1.2 client with AES-128-GCM, encrypted with its keys but behind its back. */
typedef struct forger_s {
  EVP_CIPHER_CTX* cipher;
  unsigned char iv[4];
  uint64_t seq;
} forger_t;

static void forger_init(forger_t* f, SSL* ssl) {
  unsigned char master[SSL_MAX_MASTER_KEY_LENGTH], seed[2 * SSL3_RANDOM_SIZE],
      block[2 * 16 + 2 * 4];
  size_t master_len = SSL_SESSION_get_master_key(SSL_get_session(ssl), master, sizeof(master));
  assert_int_equal(SSL_get_server_random(ssl, seed, SSL3_RANDOM_SIZE), SSL3_RANDOM_SIZE);
  assert_int_equal(SSL_get_client_random(ssl, seed + SSL3_RANDOM_SIZE, SSL3_RANDOM_SIZE),
                   SSL3_RANDOM_SIZE);
  static char digest[] = "SHA256", label[] = "key expansion";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, master, master_len),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, label, sizeof(label) - 1),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed, sizeof(seed)),
      OSSL_PARAM_construct_end()};
  EVP_KDF* kdf = EVP_KDF_fetch(NULL, "TLS1-PRF", NULL);
  EVP_KDF_CTX* prf = EVP_KDF_CTX_new(kdf);
  assert_int_equal(EVP_KDF_derive(prf, block, sizeof(block), params), 1);
  EVP_KDF_CTX_free(prf);
  EVP_KDF_free(kdf);
  memcpy(f->iv, block + 2 * 16, sizeof(f->iv));
  f->seq = 1; /* Finished was 0 */
  f->cipher = EVP_CIPHER_CTX_new();
  assert_int_equal(EVP_EncryptInit_ex(f->cipher, EVP_aes_128_gcm(), NULL, block, NULL), 1);
}

static void put_u64(unsigned char* p, uint64_t v) {
  for (int i = 0; i < 8; i++)
    p[i] = (unsigned char)(v >> (56 - 8 * i));
}

static void forge(forger_t* f, s3l_tls_engine_t* to, unsigned char type, const void* data,
                  unsigned char n) {
  unsigned char record[5 + 8 + 255 + 16] = {type, 3, 3, 0, 0};
  unsigned char aad[13] = {0}, nonce[12];
  size_t len = (size_t)n + 8 + 16;
  int did;
  record[3] = (unsigned char)(len >> 8);
  record[4] = (unsigned char)len;
  put_u64(record + 5, f->seq);
  put_u64(aad, f->seq++);
  memcpy(aad + 8, record, 3);
  aad[12] = n;
  memcpy(nonce, f->iv, 4);
  memcpy(nonce + 4, record + 5, 8);
  assert_int_equal(EVP_EncryptInit_ex(f->cipher, NULL, NULL, NULL, nonce), 1);
  assert_int_equal(EVP_EncryptUpdate(f->cipher, NULL, &did, aad, sizeof(aad)), 1);
  assert_int_equal(EVP_EncryptUpdate(f->cipher, record + 13, &did, data, n), 1);
  assert_int_equal(EVP_EncryptFinal_ex(f->cipher, record + 13 + n, &did), 1);
  assert_int_equal(EVP_CIPHER_CTX_ctrl(f->cipher, EVP_CTRL_GCM_GET_TAG, 16, record + 13 + n), 1);
  assert_int_equal(s3l_tls_feed(to, (const char*)record, 5 + len), 0);
}

static void begin_12(forger_t* f) {
  begin();
  assert_int_equal(SSL_set_max_proto_version(client.ssl, TLS1_2_VERSION), 1);
  assert_int_equal(SSL_set_cipher_list(client.ssl, "ECDHE-ECDSA-AES128-GCM-SHA256"), 1);
  assert_int_equal(s3l_tls_shake(&client, &server, 0, &rng), 0);
  forger_init(f, client.ssl);
}

static void end_12(forger_t* f) {
  EVP_CIPHER_CTX_free(f->cipher);
  end();
}

/* The forger's records are what the server expects. */
static void test_forger(void** state) {
  forger_t f;
  char plain[100];
  begin_12(&f);
  forge(&f, &server, SSL3_RT_APPLICATION_DATA, "hello", 5);
  forge(&f, &server, SSL3_RT_APPLICATION_DATA, "again", 5);
  assert_int_equal(s3l_tls_read(&server, plain, sizeof(plain)), 5);
  assert_int_equal(s3l_tls_read(&server, plain, sizeof(plain)), 5);
  assert_memory_equal(plain, "again", 5);
  end_12(&f);
}

/* Each attempt is refused with an alert, and the connection would live on. */
static void test_renegotiations(void** state) {
  static const unsigned char hello[4] = {SSL3_MT_CLIENT_HELLO, 0, 0, 0};
  forger_t f;
  begin_12(&f);
  for (int i = 0; i < FLOOD; i++)
    forge(&f, &server, SSL3_RT_HANDSHAKE, hello, sizeof(hello));
  gives_up(&server);
  end_12(&f);
}

/* What OpenSSL bounds by itself; should it cease to, we do not depend on it. */
static void test_empty_records_and_warnings(void** state) {
  static const unsigned char warning[2] = {SSL3_AL_WARNING, SSL_AD_USER_CANCELLED};
  forger_t f;
  char plain[100];
  for (int way = 0; way < 2; way++) {
    begin_12(&f);
    for (int i = 0; i < FLOOD; i++) {
      if (way == 0)
        forge(&f, &server, SSL3_RT_APPLICATION_DATA, "", 0);
      else
        forge(&f, &server, SSL3_RT_ALERT, warning, sizeof(warning));
    }
    assert_int_equal(s3l_tls_read(&server, plain, sizeof(plain)), S3LECT_ETLS);
    assert_true(server.quiet <= S3L_TLS_QUIET_MAX + 1);
    end_12(&f);
  }
}

/* ---- The handshake ---- */

/* A hello whose bytes come in a record each. */
static void test_dribbled_handshake(void** state) {
  char hello[2000];
  int rc;
  begin();
  assert_int_equal(s3l_tls_handshake(&client), S3L_TLS_MORE);
  size_t n = s3l_tls_take(&client, hello, sizeof(hello));
  assert_true(n > 5 + S3L_TLS_QUIET_MAX);
  for (size_t i = 5; i < n; i++) {
    const char record[] = {hello[0], hello[1], hello[2], 0, 1, hello[i]};
    assert_int_equal(s3l_tls_feed(&server, record, sizeof(record)), 0);
  }
  rc = s3l_tls_handshake(&server);
  assert_int_equal(rc, S3LECT_ETLS);
  assert_non_null(strstr(server.why, "too many records"));
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_key_updates),
      cmocka_unit_test(test_key_updates_among_data),
      cmocka_unit_test(test_key_updates_among_bytes),
      cmocka_unit_test(test_forger),
      cmocka_unit_test(test_renegotiations),
      cmocka_unit_test(test_empty_records_and_warnings),
      cmocka_unit_test(test_dribbled_handshake),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
