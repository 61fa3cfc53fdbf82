/* OpenSSL runs out of memory at one of its allocations, once and from then on. New contexts (a
 * reload), handshakes of new and of old contexts, and signing fail with an error or succeed;
 * nothing crashes, the library's own memory is freed, and the next attempt works.
 *
 * LeakSanitizer is off, since some error paths of OpenSSL itself lose memory: one or two
 * blocks, where an engine that the library forgot to free would be 17 and a context 176.
 *
 * Some allocations fail, and many more with the argument "more" (net-tls_oom-more).
 *
 * ctest labels: no-valgrind slow computes */
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <uv.h>

#include "lib/group_certs.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "net/tls_engine.h"
#include "s3lect/errno.h"
#include "wire/sha256.h"

#define BLOCKS_LOST_MAX 8 /* by OpenSSL, in one failure */

static struct {
  size_t count;
  size_t live;
  size_t fail_in; /* 1: the next one; 0: none */
  bool fail_on;
} heap;

const char* __asan_default_options(void);
const char* __asan_default_options(void) {
  return "detect_leaks=0";
}

static bool refuses(void) {
  heap.count++;
  if (heap.fail_in == 0 || --heap.fail_in > 0)
    return false;
  heap.fail_in = heap.fail_on ? 1 : 0;
  return true;
}

static void* failing_malloc(size_t n, const char* file, int line) {
  void* p = n == 0 || refuses() ? NULL : malloc(n);
  heap.live += p != NULL;
  return p;
}

static void* failing_realloc(void* old, size_t n, const char* file, int line) {
  void* p = refuses() ? NULL : realloc(old, n);
  heap.live += p != NULL && old == NULL;
  return p;
}

static void plain_free(void* p, const char* file, int line) {
  heap.live -= p != NULL;
  free(p);
}

static size_t density = 16; /* how many of the allocations fail; see each_allocation */

static bool is_error(int rc) {
  return rc == UV_ENOMEM || rc == UV_EINVAL || (rc <= S3LECT_ETLS && rc >= S3LECT_ETLSEXPIRED);
}

/* False: no more. */
static bool carry(s3l_tls_engine_t* from, s3l_tls_engine_t* to) {
  char buf[4096];
  size_t n;
  bool any = false;
  while ((n = s3l_tls_take(from, buf, sizeof(buf))) > 0) {
    if (s3l_tls_feed(to, buf, n) != 0)
      return false;
    any = true;
  }
  return any;
}

static bool shake(s3l_tls_engine_t* e) {
  int rc = e->ready ? S3L_TLS_READY : s3l_tls_handshake(e);
  if (rc < 0)
    assert_true(is_error(rc) && e->why[0] != '\0');
  return rc >= 0;
}

/* Whether the text came over. */
static bool talk(s3l_tls_engine_t* client, s3l_tls_engine_t* server) {
  char text[32];
  bool moved;
  do {
    if (!shake(client) || !shake(server))
      return false;
    moved = carry(client, server);
    moved = carry(server, client) || moved;
  } while (moved);
  if (!client->ready || !server->ready || s3l_tls_write(server, "hello", 5) != 0)
    return false;
  (void)carry(server, client);
  ssize_t n = s3l_tls_read(client, text, sizeof(text)); /* takes the session, too */
  assert_true(n == 5 || n == 0 || is_error((int)n));
  assert_true(n != 5 || memcmp(text, "hello", 5) == 0);
  (void)s3l_tls_peer_is(server, "localhost");
  s3l_tls_shutdown(client);
  return n == 5;
}

static bool run_engines(s3l_tls_context_t* cc, s3l_tls_context_t* sc) {
  s3l_tls_engine_t client, server;
  bool good = false;
  int rc = s3l_tls_engine_init(&client, cc, "localhost");
  if (rc != 0) {
    assert_true(is_error(rc));
    return false;
  }
  rc = s3l_tls_engine_init(&server, sc, NULL);
  if (rc == 0) {
    good = talk(&client, &server);
    s3l_tls_engine_free(&server);
  }
  s3l_tls_engine_free(&client);
  return good;
}

/* ---- What is tried ---- */

/* 0, or the error with its text. */
static int make_contexts(s3l_tls_context_t** cc, s3l_tls_context_t** sc) {
  const s3l_tls_client_options_t co = {
      .ca.file = certs.ca, .cert.file = certs.good, .key.file = certs.key};
  const s3l_tls_server_options_t so = {.cert.file = certs.good,
                                       .key.file = certs.key,
                                       .client_auth = S3L_TLS_CLIENT_AUTH_REQUIRED,
                                       .client_ca.file = certs.ca};
  s3lect_error_t error = {0};
  int rc = s3l_tls_context_new_client(&co, cc, &error);
  if (rc == 0) {
    rc = s3l_tls_context_new_server(&so, sc, &error);
    if (rc != 0)
      s3l_tls_context_free(*cc);
  }
  assert_true(rc == 0 || (is_error(rc) && error.text[0] != '\0'));
  return rc;
}

/* Contexts, and engines where these are made. */
static bool run_new_contexts(void) {
  s3l_tls_context_t *cc, *sc;
  if (make_contexts(&cc, &sc) != 0)
    return false;
  bool good = run_engines(cc, sc);
  s3l_tls_context_free(cc);
  s3l_tls_context_free(sc);
  return good;
}

static s3l_tls_context_t *old_client, *old_server;

/* A full handshake, or one that resumes the session of the last. */
static bool run_old_contexts(void) {
  return run_engines(old_client, old_server);
}

static bool run_full_handshake(void) {
  s3l_tls_context_forget(old_client);
  return run_engines(old_client, old_server);
}

static bool run_signing(void) {
  s3l_sha256_t engine;
  s3l_hmac_key_t key;
  uint8_t mac[S3L_SHA256_SIZE];
  char hex[S3L_SHA256_HEX_SIZE + 1];
  if (!s3l_sha256_open(&engine))
    return false;
  bool good = s3l_sha256_hex(&engine, S3L_SPAN("text"), hex) &&
              s3l_hmac_prepare(&engine, S3L_SPAN("secret"), &key) &&
              s3l_hmac(&engine, &key, S3L_SPAN("text"), mac);
  s3l_sha256_close(&engine);
  return good;
}

/* ---- Failures ---- */

static void fail_at(bool (*run)(void), size_t at) {
  for (int on = 0; on <= 1; on++) {
    size_t before = heap.live;
    s3l_heap_install();
    heap.fail_in = at + 1;
    heap.fail_on = on != 0;
    (void)run();
    heap.fail_in = 0;
    s3l_heap_remove();
    s3l_tls_context_forget(old_client); /* a session is not lost, but kept */
    assert_true(heap.live <= before + BLOCKS_LOST_MAX);
  }
  assert_true(run());
}

/* The first `all`, and some of the many others. */
static void each_allocation(bool (*run)(void), size_t all) {
  assert_true(run()); /* what is made once is made */
  assert_true(run());
  heap.count = 0;
  assert_true(run());
  size_t n = heap.count;
  for (size_t at = 0; at < n; at += at < all ? 1 : 1 + at / density)
    fail_at(run, at);
}

/* All allocations behind SSL_CTX_new that are not yet those of a certificate, and some others. */
static void test_new_contexts(void** state) {
  assert_true(run_new_contexts());
  heap.count = 0;
  SSL_CTX_free(SSL_CTX_new(TLS_client_method()));
  size_t first = heap.count;
  for (size_t at = first; at < first + 50; at++)
    fail_at(run_new_contexts, at);
  each_allocation(run_new_contexts, 0);
}

static void test_old_contexts(void** state) {
  each_allocation(run_full_handshake, 0);
  each_allocation(run_old_contexts, 0);
}

/* By default it asks OpenSSL for no memory. */
static void test_signing(void** state) {
  each_allocation(run_signing, 100);
}

static int set_up(void** state) {
  return s3l_make_certs(state) != 0 || make_contexts(&old_client, &old_server) != 0;
}

static int tear_down(void** state) {
  s3l_tls_context_free(old_client);
  s3l_tls_context_free(old_server);
  return s3l_remove_certs(state);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_new_contexts),
                                     cmocka_unit_test(test_old_contexts),
                                     cmocka_unit_test(test_signing)};
  if (argc > 1 && strcmp(argv[1], "more") == 0)
    density = 1000;
  if (CRYPTO_set_mem_functions(failing_malloc, failing_realloc, plain_free) != 1)
    return 1;
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
