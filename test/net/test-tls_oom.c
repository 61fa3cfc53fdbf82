/* OpenSSL runs out of memory at one of its allocations, once and from then on: contexts, engines
 * and the handshake fail with an error or succeed, and nothing crashes.
 *
 * Leaks are not looked for: some error paths of OpenSSL itself lose memory.
 *
 * ctest labels: no-valgrind slow computes */
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <uv.h>

#include "lib/group_certs.h"
#include "lib/test.h"
#include "net/tls_engine.h"
#include "s3lect/errno.h"

static struct {
  size_t count;
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
  return n == 0 || refuses() ? NULL : malloc(n);
}

static void* failing_realloc(void* p, size_t n, const char* file, int line) {
  return refuses() ? NULL : realloc(p, n);
}

static void plain_free(void* p, const char* file, int line) {
  free(p);
}

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

static void talk(s3l_tls_engine_t* client, s3l_tls_engine_t* server) {
  char text[32];
  bool moved;
  do {
    if (!shake(client) || !shake(server))
      return;
    moved = carry(client, server);
    moved = carry(server, client) || moved;
  } while (moved);
  if (!client->ready || !server->ready || s3l_tls_write(server, "hello", 5) != 0)
    return;
  (void)carry(server, client);
  ssize_t n = s3l_tls_read(client, text, sizeof(text)); /* takes the session, too */
  assert_true(n == 5 || n == 0 || is_error((int)n));
  (void)s3l_tls_peer_name(server, text, sizeof(text));
  s3l_tls_shutdown(client);
}

static void run_engines(s3l_tls_context_t* cc, s3l_tls_context_t* sc) {
  s3l_tls_engine_t client, server;
  int rc = s3l_tls_engine_init(&client, cc, "localhost");
  if (rc != 0) {
    assert_true(is_error(rc));
    return;
  }
  rc = s3l_tls_engine_init(&server, sc, NULL);
  if (rc == 0) {
    talk(&client, &server);
    s3l_tls_engine_free(&server);
  }
  s3l_tls_engine_free(&client);
}

/* Contexts, and engines where these are made. */
static void run(void) {
  const s3l_tls_client_options_t co = {
      .ca.file = certs.ca, .cert.file = certs.good, .key.file = certs.key};
  const s3l_tls_server_options_t so = {.cert.file = certs.good,
                                       .key.file = certs.key,
                                       .client_auth = S3L_TLS_CLIENT_AUTH_REQUIRED,
                                       .client_ca.file = certs.ca};
  s3l_tls_context_t *cc, *sc;
  s3lect_error_t error = {0};
  int rc = s3l_tls_context_new_client(&co, &cc, &error);
  if (rc != 0) {
    assert_true(is_error(rc) && error.text[0] != '\0');
    return;
  }
  rc = s3l_tls_context_new_server(&so, &sc, &error);
  if (rc == 0) {
    run_engines(cc, sc);
    s3l_tls_context_free(sc);
  }
  s3l_tls_context_free(cc);
}

static void fail_at(size_t at) {
  for (int on = 0; on <= 1; on++) {
    heap.fail_in = at + 1;
    heap.fail_on = on != 0;
    run();
    heap.fail_in = 0;
  }
}

/* All allocations behind SSL_CTX_new that are not yet those of a certificate, and some of the many
 * others. */
static void test_allocations(void** state) {
  run(); /* what is made once is made */
  heap.count = 0;
  SSL_CTX_free(SSL_CTX_new(TLS_client_method()));
  size_t first = heap.count;
  for (size_t at = first; at < first + 50; at++)
    fail_at(at);
  heap.count = 0;
  run();
  size_t n = heap.count;
  assert_true(n > first + 50);
  for (size_t at = 0; at < n; at += 1 + at / 100)
    fail_at(at);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocations)};
  if (CRYPTO_set_mem_functions(failing_malloc, failing_realloc, plain_free) != 1)
    return 1;
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
