/* The HTTP server over TLS: with and without client certificates, reload, clients that do not speak
 * it, and our own HTTP client on the other side. */
#include <stdio.h>
#include <string.h>

#include "http/client.h"
#include "lib/group_certs.h"
#include "lib/server_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"
#include "s3lect/errno.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static s3l_server_rig_t rig;
static s3l_tls_context_t* server_tls;

static void start(const char* cert, s3l_tls_client_auth_t auth) {
  s3l_tls_server_options_t so = {.cert.file = cert, .key.file = certs.key, .client_auth = auth};
  if (auth != S3L_TLS_CLIENT_AUTH_NONE)
    so.client_ca.file = certs.ca;
  assert_int_equal(s3l_tls_context_new_server(&so, &server_tls, NULL), 0);
  s3l_server_rig_init(&rig);
  rig.options.tls = server_tls;
  s3l_server_rig_start(&rig);
  s3l_tls_context_free(server_tls); /* the server has its own */
}

static s3l_caller_t* call(s3l_tls_context_t* tls, const char* text) {
  s3l_caller_t* c = s3l_caller_new(&rig, tls);
  s3l_caller_open(c);
  if (text != NULL)
    s3l_caller_send(c, text);
  return c;
}

static void test_talk(void** state) {
  s3l_tls_context_t* tls = s3l_client_context(certs.ca, NULL);
  start(certs.good, S3L_TLS_CLIENT_AUTH_NONE);
  s3l_caller_t* c = call(tls, NULL);
  s3l_caller_talk(c, GET("/") GET("/2"), "404 Not Found", false);
  assert_non_null(strstr(c->text, "hello"));
  assert_false(rig.verified);
  assert_false(rig.client_is_localhost);
  s3l_caller_send(c, GET("/hold") GET("/4"));
  s3l_server_rig_wait_held(&rig, 1);
  s3l_server_rig_answer(&rig, "later");
  s3l_caller_expect(c, "later");
  s3l_caller_talk(c, "GET / HTTP/1.0\r\n\r\n", "Connection: close", true);
  assert_int_equal(c->status, UV_EOF); /* with close_notify */
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
  s3l_tls_context_free(tls);
}

/* A head of several records, and an answer that the kernel does not take at once. */
static void test_large(void** state) {
  s3l_tls_context_t* tls = s3l_client_context(certs.ca, NULL);
  start(certs.good, S3L_TLS_CLIENT_AUTH_NONE);
  s3l_caller_t* c = call(tls, "GET /big HTTP/1.1\r\n");
  s3l_caller_send(c, "Host: x\r\n");
  s3l_caller_send(c, "\r\n" GET("/after"));
  while (c->received < S3L_RIG_BIG)
    (void)s3l_turn(&rig.loop);
  s3l_server_rig_wait(&rig, &rig.requests, 2);
  s3l_caller_talk(c, GET("/nothing"), "404", false);
  s3l_caller_free(c);
  s3l_server_rig_end(&rig);
  s3l_tls_context_free(tls);
}

static void test_client_auth(void** state) {
  const struct {
    s3l_tls_client_auth_t auth;
    const char* cert;
    bool in;
    bool is_localhost;
  } cases[] = {
      {S3L_TLS_CLIENT_AUTH_OPTIONAL, NULL, true, false},
      {S3L_TLS_CLIENT_AUTH_OPTIONAL, certs.good, true, true},
      {S3L_TLS_CLIENT_AUTH_OPTIONAL, certs.stranger, false, false},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, NULL, false, false},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, certs.wrong, true, false},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, certs.stranger, false, false},
      {S3L_TLS_CLIENT_AUTH_REQUIRED, certs.expired, false, false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_tls_context_t* tls = s3l_client_context(certs.ca, cases[i].cert);
    start(certs.good, cases[i].auth);
    s3l_caller_t* c = call(tls, GET("/"));
    if (cases[i].in) {
      s3l_caller_expect(c, "hello");
      assert_int_equal(rig.client_is_localhost, cases[i].is_localhost);
      assert_int_equal(rig.verified, cases[i].cert != NULL);
      s3l_caller_close(c);
      c->ready = c->ended = c->closed =
          0; /* once more: the session is resumed, and says the same */
      s3l_caller_open(c);
      rig.verified = false;
      s3l_caller_talk(c, GET("/nothing"), "404", false);
      assert_true(c->stream.engine.resumed);
      assert_int_equal(rig.verified, cases[i].cert != NULL);
      assert_int_equal(rig.client_is_localhost, cases[i].is_localhost);
    } else {
      s3l_caller_expect_end(c);
      assert_int_equal(c->status, S3LECT_ETLS);
      assert_int_equal(rig.requests, 0);
      assert_int_equal(s3l_server_rig_stats(&rig).tls_failures, 1);
    }
    s3l_caller_free(c);
    s3l_server_rig_end(&rig);
    s3l_tls_context_free(tls);
  }
}

/* Who does not speak TLS gets no answer, and ends nothing but its own connection. */
static void test_not_tls(void** state) {
  static const s3l_span_t texts[] = {
      {GET("/"), sizeof(GET("/")) - 1}, {"\x16\x03\x01\x00\x05garbage", 12}, {"\x16\x03", 2}};
  start(certs.good, S3L_TLS_CLIENT_AUTH_NONE);
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    s3l_caller_t* c = call(NULL, NULL);
    s3l_caller_send_bytes(c, texts[i].p, texts[i].n);
    if (i == 2) /* cut off in the middle of it */
      s3l_stream_shutdown(&c->stream);
    s3l_caller_expect_end(c);
    assert_null(strstr(c->text, "HTTP"));
    s3l_caller_free(c);
  }
  s3l_server_rig_wait_connections(&rig, 0);
  assert_int_equal(s3l_server_rig_stats(&rig).tls_failures, 3);
  s3l_server_rig_end(&rig);
}

/* An open connection goes on when the server takes up another certificate; new ones see that. */
static void test_reload(void** state) {
  s3l_tls_context_t* tls = s3l_client_context(certs.ca, NULL);
  s3l_tls_context_t* next;
  start(certs.good, S3L_TLS_CLIENT_AUTH_NONE);
  s3l_caller_t* held = call(tls, GET("/hold"));
  s3l_caller_t* kept = call(tls, GET("/"));
  s3l_caller_expect(kept, "hello");
  s3l_server_rig_wait_held(&rig, 1);

  assert_int_equal(s3l_tls_context_server(certs.wrong, certs.key, &next, NULL), 0);
  s3l_http_server_set_tls(rig.server, next);
  s3l_tls_context_free(next);
  s3l_caller_t* fresh = call(tls, NULL);
  s3l_caller_expect_end(fresh);
  assert_int_equal(fresh->status, S3LECT_ETLSNAME);

  assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &next, NULL), 0);
  s3l_http_server_set_tls(rig.server, next);
  s3l_tls_context_free(next);
  s3l_caller_t* again = call(tls, GET("/"));
  s3l_caller_expect(again, "hello");

  s3l_caller_talk(kept, GET("/nothing"), "404", false);
  s3l_server_rig_answer(&rig, "as if nothing had been");
  s3l_caller_expect(held, "as if nothing had been");
  s3l_caller_talk(held, GET("/"), "hello", false);
  s3l_caller_free(held);
  s3l_caller_free(kept);
  s3l_caller_free(fresh);
  s3l_caller_free(again);
  s3l_server_rig_end(&rig);
  s3l_tls_context_free(tls);
}

/* Many handshakes at the same time, and all of them end well. */
static void test_many_handshakes(void** state) {
  enum { CALLERS = 80 };
  static s3l_caller_t* c[CALLERS];
  s3l_tls_context_t* tls = s3l_client_context(certs.ca, certs.good);
  start(certs.good, S3L_TLS_CLIENT_AUTH_REQUIRED);
  for (int i = 0; i < CALLERS; i++) {
    c[i] = s3l_caller_new(&rig, tls);
    s3l_caller_begin(c[i]);
  }
  for (int i = 0; i < CALLERS; i++) {
    s3l_wait_count(&rig.loop, &c[i]->ready, 1, "a handshake");
    s3l_caller_send(c[i], GET("/"));
  }
  for (int i = 0; i < CALLERS; i++) {
    s3l_caller_expect(c[i], "hello");
    s3l_caller_free(c[i]);
  }
  assert_int_equal(rig.requests, CALLERS);
  s3l_server_rig_end(&rig);
  s3l_tls_context_free(tls);
}

static void test_gone_and_closed(void** state) {
  s3l_tls_context_t* tls = s3l_client_context(certs.ca, NULL);
  for (int way = 0; way < 3; way++) {
    start(certs.good, S3L_TLS_CLIENT_AUTH_NONE);
    s3l_caller_t* c = call(tls, GET("/hold"));
    s3l_server_rig_wait_held(&rig, 1);
    if (way == 0)
      s3l_caller_close(c); /* with a good-bye */
    else if (way == 1)
      s3l_caller_reset(c);
    else
      s3l_server_rig_close(&rig, 20);
    s3l_server_rig_wait(&rig, &rig.gone, 1);
    s3l_caller_free(c);
    s3l_server_rig_end(&rig);
    assert_int_equal(rig.gone, 1);
  }
  s3l_tls_context_free(tls);
}

/* ---- our own client ---- */

typedef struct get_s {
  s3l_http_req_t req;
  const char* text;
  unsigned done;
  int status;
  int http_status;
  char body[16];
} get_t;

static ssize_t compose(s3l_http_req_t* req, char* buf, size_t cap) {
  const get_t* g = req->data;
  size_t n = strlen(g->text);
  assert_true(n <= cap);
  memcpy(buf, g->text, n);
  return (ssize_t)n;
}

static void done(s3l_http_req_t* req, const s3l_http_reply_t* reply) {
  get_t* g = req->data;
  g->done++;
  g->status = reply->status;
  g->http_status = reply->http_status;
  (void)s3l_span_copy(reply->body, g->body, sizeof(g->body));
  if (reply->status == 0)
    assert_true(s3l_span_eq(s3l_http_reply_header(reply, "cache-control"), S3L_SPAN("no-store")));
}

static void submit(s3l_http_client_t* client, get_t* g, const char* text) {
  *g = (get_t){.text = text, .req = {.compose = compose, .done = done, .body_max = 100}};
  g->req.until_ns = s3l_clock_in_ms(60000);
  g->req.data = g;
  assert_int_equal(s3l_http_client_submit(client, &g->req), 0);
}

static void test_own_client(void** state) {
  const s3l_tls_client_options_t co = {
      .ca.file = certs.ca, .cert.file = certs.good, .key.file = certs.key};
  start(certs.good, S3L_TLS_CLIENT_AUTH_REQUIRED);
  const s3l_http_client_options_t options = {.host = "127.0.0.1",
                                             .port = s3l_http_server_port(rig.server),
                                             .tls = true,
                                             .tls_options = &co,
                                             .max_connections = 1};
  s3l_http_client_t* client;
  get_t a, b;
  assert_int_equal(s3l_http_client_create(&rig.loop, &options, &client), 0);
  submit(client, &a, GET("/"));
  s3l_server_rig_wait(&rig, &a.done, 1);
  assert_int_equal(a.status, 0);
  assert_int_equal(a.http_status, 200);
  assert_string_equal(a.body, "hello");
  submit(client, &a, GET("/hold"));
  submit(client, &b, GET("/nothing"));
  s3l_server_rig_wait_held(&rig, 1);
  s3l_server_rig_answer(&rig, "new leader");
  s3l_server_rig_wait(&rig, &b.done, 1);
  assert_string_equal(a.body, "new leader");
  assert_int_equal(b.http_status, 404);
  assert_int_equal(s3l_server_rig_stats(&rig).accepted, 1);
  submit(client, &a, GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  s3l_http_client_cancel(&a.req);
  s3l_server_rig_wait(&rig, &rig.gone, 1);
  s3l_http_client_close(client, NULL, NULL);
  s3l_server_rig_end(&rig);
  assert_int_equal(a.status, UV_ECANCELED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_talk),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_client_auth),
      cmocka_unit_test(test_not_tls),
      cmocka_unit_test(test_reload),
      cmocka_unit_test(test_many_handshakes),
      cmocka_unit_test(test_gone_and_closed),
      cmocka_unit_test(test_own_client),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
