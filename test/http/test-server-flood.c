/* The HTTP server under floods that cost the sender little: whatever a connection sends is read in
 * turns, a bounded number of bytes in each, so that the loop's other users go on; and clients that
 * only change their keys are dropped. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/server_conn.h"
#include "lib/certs.h"
#include "lib/server_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"

#define ATTACKERS 10
#define BODY      (1u << 20)
#define UPDATES   1000
#define GET       "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n"

static s3l_certs_t certs;
static s3l_server_rig_t rig;
static s3l_tls_context_t* server_tls;
static s3l_tls_context_t* client_tls;
static s3l_caller_t* attackers[ATTACKERS];

static void start(bool tls) {
  s3l_server_rig_init(&rig);
  rig.options.max_body_bytes = BODY;
  rig.options.tls = tls ? server_tls : NULL;
  s3l_server_rig_start(&rig);
  for (int i = 0; i < ATTACKERS; i++) {
    attackers[i] = s3l_caller_new(&rig, tls ? client_tls : NULL);
    s3l_caller_open(attackers[i]);
  }
}

static void end(void) {
  for (int i = 0; i < ATTACKERS; i++)
    s3l_caller_free(attackers[i]);
  s3l_server_rig_end(&rig);
}

static s3l_sconn_pool_t* pool(void) {
  return (s3l_sconn_pool_t*)rig.server;
}

/* ---- bodies ---- */

typedef struct turns_s {
  uv_prepare_t prepare;
  size_t before;
  size_t most;
} turns_t;

/* Of all bodies that are being read. */
static size_t bytes_read(void) {
  size_t n = 0;
  for (s3l_list_t* l = pool()->pending.next; l != &pool()->pending; l = l->next)
    n += S3L_CONTAINER_OF(l, s3l_sconn_t, link)->request.body_raw;
  return n;
}

static void on_turn(uv_prepare_t* prepare) {
  turns_t* t = S3L_CONTAINER_OF(prepare, turns_t, prepare);
  size_t now = bytes_read();
  if (now > t->before && now - t->before > t->most)
    t->most = now - t->before;
  t->before = now;
}

static void test_bodies(void** state) {
  static char body[BODY];
  for (int tls = 0; tls <= 1; tls++) {
    turns_t turns = {.most = 0};
    bool handed;
    start(tls != 0);
    assert_int_equal(uv_prepare_init(&rig.loop, &turns.prepare), 0);
    assert_int_equal(uv_prepare_start(&turns.prepare, on_turn), 0);
    for (int i = 0; i < ATTACKERS; i++) {
      s3l_caller_send(attackers[i], POST);
      assert_true(s3l_stream_write(&attackers[i]->stream, body, sizeof(body), &handed) >= 0);
    }
    for (int i = 0; i < ATTACKERS; i++)
      s3l_caller_expect(attackers[i], "405 Method Not Allowed");
    uv_close((uv_handle_t*)&turns.prepare, NULL);
    assert_true(turns.most > 0 && turns.most <= ATTACKERS * S3L_STREAM_READ_MAX);
    end();
  }
}

/* ---- key updates ---- */

static unsigned messages; /* of handshakes and after them, at the server */

static void on_info(const SSL* ssl, int where, int value) {
  if (where == SSL_CB_ACCEPT_LOOP)
    messages++;
}

static void test_key_updates(void** state) {
  bool handed;
  SSL_CTX_set_info_callback(server_tls->ssl_ctx, on_info);
  start(true);
  s3l_caller_t* honest = s3l_caller_new(&rig, client_tls);
  s3l_caller_open(honest);
  s3l_caller_send(honest, GET);
  s3l_caller_expect(honest, "hello");
  for (int i = 0; i < ATTACKERS; i++) {
    SSL* ssl = attackers[i]->stream.engine.ssl;
    s3l_stream_pause(&attackers[i]->stream); /* and reads none of the replies */
    for (int k = 0; k < UPDATES; k++) {
      assert_int_equal(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
      assert_int_equal(SSL_do_handshake(ssl), 1);
    }
    assert_true(s3l_stream_write(&attackers[i]->stream, "G", 1, &handed) >= 0);
  }
  messages = 0;
  s3l_caller_talk(honest, GET, "hello", false);
  s3l_server_rig_wait_connections(&rig, 1);
  assert_true(messages > 0 && messages <= ATTACKERS * 3 * S3L_TLS_QUIET_MAX);
  s3l_caller_talk(honest, GET, "hello", false);
  s3l_caller_free(honest);
  end();
  SSL_CTX_set_info_callback(server_tls->ssl_ctx, NULL);
}

/* ---- clients that do not read ---- */

#define SILENT 32

/* Sends a request for more than the kernel takes, and reads nothing of it. */
static int connect_silent(const char* from) {
  static const char request[] = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
  struct sockaddr_in to = {.sin_family = AF_INET};
  struct sockaddr_in own = {.sin_family = AF_INET};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(fd >= 0);
  assert_int_equal(inet_pton(AF_INET, from, &own.sin_addr), 1);
  assert_int_equal(bind(fd, (struct sockaddr*)&own, sizeof(own)), 0);
  to.sin_port = htons(s3l_http_server_port(rig.server));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_int_equal(connect(fd, (struct sockaddr*)&to, sizeof(to)), 0);
  (void)send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL);
  return fd;
}

static bool all_are_stalled(void* arg) {
  size_t n = 0;
  for (s3l_list_t* l = pool()->stalled.next; l != &pool()->stalled; l = l->next)
    n++;
  s3l_http_server_stats_t stats = s3l_server_rig_stats(&rig);
  return n == stats.connections && stats.accepted + stats.refused == SILENT;
}

/* As many as there are places, where 64 descriptors are allowed: an honest client is answered. One
 * from the same address may have to try again for half a second, others may not. */
static void test_clients_that_do_not_read(void** state) {
  static const char* const from[] = {"127.0.0.1", "127.0.0.2"};
  struct rlimit limit, low;
  int fds[SILENT];
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  low = (struct rlimit){.rlim_cur = 64, .rlim_max = limit.rlim_max};
  for (int other = 0; other <= 1; other++) {
    s3l_server_rig_init(&rig);
    rig.options.max_per_address = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    s3l_server_rig_start(&rig);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0); /* the attackers are here, too */
    assert_int_equal(pool()->options.max_connections, SILENT);
    for (int i = 0; i < SILENT; i++)
      fds[i] = connect_silent(from[other]);
    s3l_wait(&rig.loop, all_are_stalled, NULL, "clients that do not read");
    assert_int_equal(s3l_server_rig_stats(&rig).connections, SILENT - SILENT / 8);
    uint64_t evicted = s3l_server_rig_stats(&rig).evicted;
    for (bool answered = false; !answered;) {
      s3l_caller_t* c = s3l_caller_new(&rig, NULL);
      s3l_caller_open(c);
      s3l_caller_send(c, GET);
      while (!answered && c->ended == 0) {
        (void)s3l_turn(&rig.loop);
        answered = strstr(c->text, "hello") != NULL;
      }
      assert_true(answered || other == 0);
      s3l_caller_free(c);
    }
    assert_int_equal(s3l_server_rig_stats(&rig).evicted, other == 0 ? evicted + 1 : evicted);
    assert_int_equal(s3l_server_rig_stats(&rig).timeouts_write, 0);
    for (int i = 0; i < SILENT; i++)
      (void)close(fds[i]);
    s3l_server_rig_end(&rig);
  }
}

static int set_up(void** state) {
  return s3l_certs_make(&certs) != 0 ||
         s3l_tls_context_server(certs.good, certs.key, &server_tls, NULL) != 0 ||
         s3l_tls_context_client(certs.ca, &client_tls, NULL) != 0;
}

static int tear_down(void** state) {
  s3l_tls_context_free(server_tls);
  s3l_tls_context_free(client_tls);
  s3l_certs_remove(&certs);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bodies),
                                     cmocka_unit_test(test_key_updates),
                                     cmocka_unit_test(test_clients_that_do_not_read)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
