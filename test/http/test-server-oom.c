/* Memory runs out in the HTTP server at each allocation in turn, once and from then on: the client
 * is answered or sees the end of its connection, every exchange ends once, everything closes, and
 * nothing leaks. The client allocates nothing of the library's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/server.h"
#include "lib/certs.h"
#include "lib/heap.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"
#include "net/tls_engine.h"

#define REQUESTS                                                                                   \
  "GET / HTTP/1.1\r\nHost: x\r\n\r\n"                                                              \
  "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static s3l_certs_t certs;
static s3l_tls_context_t* server_tls;
static s3l_tls_context_t* client_tls;

/* ---- the client ---- */

static struct {
  int fd;
  bool tls;
  bool asked;
  bool ended;
  s3l_tls_engine_t engine;
  char text[2048];
  size_t len;
} client;

static void flush_tls(void) {
  char buf[4096];
  size_t n;
  while ((n = s3l_tls_take(&client.engine, buf, sizeof(buf))) > 0)
    if (send(client.fd, buf, n, MSG_NOSIGNAL) != (ssize_t)n)
      client.ended = true;
}

static void client_asks(void) {
  static const char text[] = REQUESTS;
  client.asked = true;
  if (client.tls) {
    assert_int_equal(s3l_tls_write(&client.engine, text, sizeof(text) - 1), 0);
    flush_tls();
  } else if (send(client.fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0) {
    client.ended = true;
  }
}

static void client_starts(uint16_t port, bool tls) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  memset(&client, 0, sizeof(client));
  client.tls = tls;
  client.fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(client.fd >= 0);
  assert_int_equal(connect(client.fd, (struct sockaddr*)&to, sizeof(to)), 0);
  assert_int_equal(fcntl(client.fd, F_SETFL, O_NONBLOCK), 0);
  if (tls)
    assert_int_equal(s3l_tls_engine_init(&client.engine, client_tls, "localhost"), 0);
  else
    client_asks();
}

static void client_decrypts(void) {
  ssize_t n = 0;
  if (!client.engine.ready) {
    int rc = s3l_tls_handshake(&client.engine);
    client.ended |= rc < 0;
    flush_tls();
    if (rc != S3L_TLS_READY)
      return;
  }
  if (!client.asked)
    client_asks();
  while ((n = s3l_tls_read(&client.engine, client.text + client.len,
                           sizeof(client.text) - 1 - client.len)) > 0)
    client.len += (size_t)n;
  client.ended |= n < 0;
}

/* Takes what there is. */
static void client_turns(void) {
  char buf[2048];
  ssize_t n = recv(client.fd, buf, sizeof(buf), 0);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    if (client.tls && !client.asked)
      client_decrypts(); /* says hello */
    return;
  }
  if (n <= 0) {
    client.ended = true;
    return;
  }
  if (client.tls) {
    assert_int_equal(s3l_tls_feed(&client.engine, buf, (size_t)n), 0);
    client_decrypts();
    return;
  }
  assert_true((size_t)n < sizeof(client.text) - client.len);
  memcpy(client.text + client.len, buf, (size_t)n);
  client.len += (size_t)n;
}

static void client_ends(void) {
  if (client.tls)
    s3l_tls_engine_free(&client.engine);
  assert_int_equal(close(client.fd), 0);
}

/* ---- the server ---- */

static s3l_http_exchange_t* held;
static unsigned requests;
static unsigned ends;
static unsigned closed;

static void on_abort(s3l_http_exchange_t* ex) {
  assert_ptr_equal(ex, held);
  held = NULL;
  ends++;
}

static void reply(s3l_http_exchange_t* ex, const char* body) {
  const s3l_http_answer_t answer = {.status = 200, .body = s3l_span_cstr(body)};
  int rc = s3l_http_reply(ex, &answer);
  assert_true(rc == 0 || rc == UV_ENOMEM);
  ends++;
}

static void on_request(s3l_http_server_t* server, s3l_http_exchange_t* ex) {
  requests++;
  if (s3l_span_eq(ex->request->path, S3L_SPAN("/hold"))) {
    assert_int_equal(s3l_http_hold(ex, on_abort), 0);
    held = ex;
  } else {
    reply(ex, "hello");
  }
}

static void on_closed(void* arg) {
  closed++;
}

static void talk(uv_loop_t* loop, s3l_http_server_t* server, bool tls) {
  uint64_t limit = uv_hrtime() + (uint64_t)S3L_WAIT_MS * 1000000u;
  client_starts(s3l_http_server_port(server), tls);
  while (!client.ended) {
    assert_true(uv_hrtime() < limit);
    (void)uv_run(loop, UV_RUN_NOWAIT);
    client_turns();
    if (held != NULL && strstr(client.text, "hello") != NULL) {
      s3l_http_exchange_t* ex = held;
      held = NULL;
      reply(ex, "later");
    }
  }
  client_ends();
}

/* Refuses allocation number `at`; gives how many there were. */
static size_t run(bool tls, size_t at, bool on, bool fails) {
  uv_loop_t loop;
  s3l_http_server_t* server;
  const s3l_http_server_options_t options = {
      .listen = "127.0.0.1:0", .tls = tls ? server_tls : NULL, .on_request = on_request};
  requests = ends = closed = 0;
  assert_int_equal(uv_loop_init(&loop), 0);
  s3l_heap_install();
  if (fails)
    s3l_heap_fail_at(at, on);
  int rc = s3l_http_server_create(&loop, &options, &server);
  if (rc == 0) {
    talk(&loop, server, tls);
    s3l_http_server_close(server, 0, on_closed, NULL);
    s3l_wait_count(&loop, &closed, 1, "the server's closing");
  } else {
    assert_int_equal(rc, UV_ENOMEM);
    assert_null(server);
  }
  assert_int_equal(s3l_heap_fail_end(), fails);
  size_t count = s3l_heap_count();
  if (!fails) {
    assert_non_null(strstr(client.text, "hello"));
    assert_non_null(strstr(client.text, "later"));
  }
  s3l_wait_loop_end(&loop);
  s3l_heap_remove(); /* nothing is left */
  assert_int_equal(requests, ends);
  assert_null(held);
  return count;
}

static void each_allocation(bool tls) {
  size_t n = run(tls, 0, false, false);
  assert_true(n >= 6);
  for (size_t at = 0; at < n; at++) {
    (void)run(tls, at, false, true);
    (void)run(tls, at, true, true);
  }
}

static void test_plain(void** state) {
  each_allocation(false);
}

static void test_tls(void** state) {
  each_allocation(true);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_tls)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
