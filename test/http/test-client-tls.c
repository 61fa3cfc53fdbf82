/* The HTTP client over TLS: verification, truncation, resumption, and servers that are none. */
#include <stdio.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/http_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "s3lect/errno.h"

static const s3l_step_t good[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_SCRIPT_END};
static const s3l_step_t twice[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK),
                                   S3L_EXPECT("\r\n\r\n"), S3L_SPLIT(S3L_RIG_OK, 1),
                                   S3L_SCRIPT_END};

static void init(s3l_rig_t* rig, const s3l_step_t* const* scripts, size_t n, const char* cert) {
  s3l_rig_init(rig, scripts, n);
  if (cert != NULL)
    assert_int_equal(s3l_tls_context_server(cert, certs.key, &rig->server.tls, NULL), 0);
  rig->options.tls = true;
  rig->options.ca_file = certs.ca;
  rig->options.host = "localhost";
}

static void end(s3l_rig_t* rig) {
  s3l_tls_context_t* tls = rig->server.tls;
  s3l_rig_end(rig);
  s3l_tls_context_free(tls);
}

static void assert_ok(const s3l_rig_req_t* r) {
  if (r->status != 0)
    fail_msg("status %d: %s", r->status, r->message);
  assert_int_equal(r->done, 1);
  assert_int_equal(r->http_status, 200);
  assert_int_equal(r->body_len, 2);
  assert_memory_equal(r->body, "ok", 2);
}

static void assert_failed(const s3l_rig_req_t* r, int status, bool sent, const char* message) {
  if (r->status != status || strstr(r->message, message) == NULL)
    fail_msg("status %d (wanted %d): \"%s\" (wanted \"%s\")", r->status, status, r->message,
             message);
  assert_int_equal(r->done, 1);
  assert_int_equal(r->sent, sent);
}

/* Two requests on one connection; by name and by address. */
static void test_good(void** state) {
  static const char* const hosts[] = {"localhost", "127.0.0.1"};
  for (size_t i = 0; i < 2; i++) {
    s3l_rig_t rig;
    s3l_rig_req_t r[2];
    memset(r, 0, sizeof(r));
    init(&rig, S3L_SCRIPTS(twice), 1, certs.good);
    rig.options.host = hosts[i];
    s3l_rig_start(&rig);
    s3l_rig_do(&rig, &r[0]);
    s3l_rig_do(&rig, &r[1]);
    end(&rig);
    assert_ok(&r[0]);
    assert_ok(&r[1]);
    assert_int_equal(rig.server.accepted, 1);
    assert_int_equal(rig.server.failures, 0);
  }
}

/* A request of the largest size, and a reply of several records. */
static void test_large(void** state) {
  static char request[S3L_HTTP_SEND_MAX + 1];
  static char reply[60000];
  const char* head = "PUT / HTTP/1.1\r\n\r\n";
  s3l_rig_t rig;
  s3l_rig_req_t r = {.text = request, .req.body_max = sizeof(reply)};
  memset(request, 'q', S3L_HTTP_SEND_MAX);
  memcpy(request, head, strlen(head));
  memcpy(request + S3L_HTTP_SEND_MAX - 3, "END", 3);
  size_t n =
      (size_t)snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n");
  memset(reply + n, 'p', 50000);
  init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("END"), S3L_SEND(reply))), 1, certs.good);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  end(&rig);
  assert_int_equal(r.status, 0);
  assert_int_equal(r.body_len, 50000);
  for (size_t i = 0; i < sizeof(r.body); i++)
    assert_int_equal(r.body[i], 'p');
}

static void test_verification(void** state) {
  const struct {
    const char* cert;
    const char* ca;
    const char* host;
    int status;
    const char* message;
  } cases[] = {
      {certs.good, certs.other_ca, "localhost", S3LECT_ETLSCA, "not signed by a trusted authority"},
      {certs.good, NULL, "localhost", S3LECT_ETLSCA, "not signed by a trusted authority"},
      {certs.wrong, certs.ca, "localhost", S3LECT_ETLSNAME, "the certificate is for another name"},
      {certs.wrong, certs.ca, "127.0.0.1", S3LECT_ETLSNAME, "the certificate is for another name"},
      {certs.expired, certs.ca, "localhost", S3LECT_ETLSEXPIRED, "the certificate has expired"},
      {certs.future, certs.ca, "localhost", S3LECT_ETLSEXPIRED, "the certificate is not yet valid"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_rig_t rig;
    s3l_rig_req_t r = {0};
    char want[128];
    init(&rig, S3L_SCRIPTS(good), 1, cases[i].cert);
    rig.options.ca_file = cases[i].ca;
    rig.options.host = cases[i].host;
    s3l_rig_start(&rig);
    s3l_rig_do(&rig, &r);
    end(&rig);
    assert_failed(&r, cases[i].status, false, cases[i].message);
    snprintf(want, sizeof(want), "TLS handshake with %s:%u: ", cases[i].host, rig.options.port);
    assert_failed(&r, cases[i].status, false, want);
    assert_int_equal(r.composed, 0);
  }
}

/* Servers that do not speak TLS, in several ways. */
static void test_not_tls(void** state) {
  const struct {
    const s3l_step_t* script;
    int status;
    const char* message;
  } cases[] = {
      {S3L_SCRIPT(S3L_SEND("HTTP/1.1 400 Bad Request\r\n\r\n")), S3LECT_ETLS, "does not speak TLS"},
      {S3L_SCRIPT(S3L_EXPECT("\x16\x03"), S3L_CLOSE), 0, "TLS handshake with localhost:"},
      {S3L_SCRIPT(S3L_EXPECT("\x16\x03"), S3L_RESET), UV_ECONNRESET, "connection reset by peer"},
      {S3L_SCRIPT(S3L_EXPECT("\x16\x03"), S3L_BYTES("\x15\x03\x03\x00\x02\x02\x28", 7)),
       S3LECT_ETLS, "handshake failure"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_rig_t rig;
    s3l_rig_req_t r = {0};
    init(&rig, S3L_SCRIPTS(cases[i].script), 1, NULL);
    s3l_rig_start(&rig);
    s3l_rig_do(&rig, &r);
    end(&rig);
    if (cases[i].status == 0) /* an orderly end may turn into a reset, with bytes unread */
      assert_true(r.status == S3LECT_ETLS || r.status == UV_ECONNRESET);
    assert_failed(&r, cases[i].status != 0 ? cases[i].status : r.status, false, cases[i].message);
  }
}

static void test_silent(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  char want[128];
  for (int total = 0; total <= 1; total++) {
    r = (s3l_rig_req_t){0};
    init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("never"))), 1, NULL);
    if (total)
      r.timeout_ms = 300;
    else
      rig.options.tls_timeout_ms = 300;
    s3l_rig_start(&rig);
    s3l_rig_do(&rig, &r);
    end(&rig);
    snprintf(want, sizeof(want), "TLS handshake with localhost:%u: not complete within 300 ms",
             rig.options.port);
    assert_failed(&r, UV_ETIMEDOUT, false, want);
  }
}

/* The end of an unframed body must be authentic. */
static void test_truncation(void** state) {
  const char* unframed = "HTTP/1.1 200 OK\r\n\r\nok";
  s3l_rig_t rig;
  s3l_rig_req_t r = {0};
  init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(unframed), S3L_CLOSE)), 1,
       certs.good);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  end(&rig);
  assert_ok(&r);

  r = (s3l_rig_req_t){0};
  init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(unframed), S3L_CUT)), 1,
       certs.good);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  end(&rig);
  assert_failed(&r, S3LECT_EBADREPLY, true, "cut off");

  r = (s3l_rig_req_t){0};
  init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_CUT)), 1, certs.good);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  end(&rig);
  assert_failed(&r, UV_EOF, true, "closed the connection without a reply");
}

/* Kept-alive connections that have died, with and without a good-bye. */
static void test_replay(void** state) {
  const s3l_step_t* const stale[] = {
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_EXPECT("\r\n\r\n"), S3L_CLOSE),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_EXPECT("\r\n\r\n"), S3L_CUT),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_EXPECT("\r\n\r\n"), S3L_RESET),
  };
  for (size_t i = 0; i < 3; i++) {
    for (int replayable = 0; replayable <= 1; replayable++) {
      s3l_rig_t rig;
      s3l_rig_req_t warm = {0};
      s3l_rig_req_t r = {.req.replayable = replayable};
      init(&rig, S3L_SCRIPTS(stale[i], good), 2, certs.good);
      s3l_rig_start(&rig);
      s3l_rig_do(&rig, &warm);
      s3l_rig_do(&rig, &r);
      end(&rig);
      assert_ok(&warm);
      if (replayable)
        assert_ok(&r);
      else
        assert_failed(&r, i == 2 ? UV_ECONNRESET : UV_EOF, true, "");
      assert_int_equal(rig.server.accepted, 1 + replayable);
      assert_int_equal(r.composed, 1 + replayable);
    }
  }
}

/* The second connection resumes the session of the first, however that one ended. */
static void test_resumption(void** state) {
  const s3l_step_t* const firsts[] = {
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_CLOSE),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_CUT),
      S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK "junk")),
  };
  for (size_t i = 0; i < 3; i++) {
    for (int v12 = 0; v12 <= 1; v12++) {
      s3l_rig_t rig;
      s3l_rig_req_t r[2];
      memset(r, 0, sizeof(r));
      init(&rig, S3L_SCRIPTS(firsts[i], good), 2, certs.good);
      if (v12)
        assert_int_equal(SSL_CTX_set_max_proto_version(rig.server.tls->ssl_ctx, TLS1_2_VERSION), 1);
      s3l_rig_start(&rig);
      s3l_rig_do(&rig, &r[0]);
      s3l_rig_wait_alone(&rig);
      s3l_rig_do(&rig, &r[1]);
      end(&rig);
      assert_ok(&r[0]);
      assert_ok(&r[1]);
      assert_int_equal(rig.server.accepted, 2);
      assert_int_equal(rig.server.resumed, 1);
    }
  }
}

static void close_in_call(s3l_script_server_t* server) {
  s3l_rig_close_client(server->data);
}

static void cancel_in_compose(s3l_rig_req_t* r) {
  s3l_rig_cancel(r);
}

static void test_cancel_and_close(void** state) {
  s3l_rig_t rig;
  s3l_rig_req_t r = {.in_compose = cancel_in_compose};
  init(&rig, S3L_SCRIPTS(good), 1, certs.good);
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  end(&rig);
  assert_failed(&r, UV_ECANCELED, false, "");

  r = (s3l_rig_req_t){0}; /* closed when the server has the request */
  init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\r\n\r\n"), S3L_CALL)), 1, certs.good);
  rig.server.on_call = close_in_call;
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  end(&rig);
  assert_failed(&r, UV_ECANCELED, true, "");

  r = (s3l_rig_req_t){0}; /* closed in the handshake */
  init(&rig, S3L_SCRIPTS(S3L_SCRIPT(S3L_EXPECT("\x16\x03"), S3L_CALL)), 1, NULL);
  rig.server.on_call = close_in_call;
  s3l_rig_start(&rig);
  s3l_rig_do(&rig, &r);
  end(&rig);
  assert_failed(&r, UV_ECANCELED, false, "");
}

/* A server that wants a certificate, and a client that has one or has not. */
static void test_client_certificate(void** state) {
  const s3l_tls_server_options_t so = {.cert.file = certs.good,
                                       .key.file = certs.key,
                                       .client_auth = S3L_TLS_CLIENT_AUTH_REQUIRED,
                                       .client_ca.file = certs.ca};
  const s3l_tls_client_options_t with = {
      .ca.file = certs.ca, .cert.file = certs.good, .key.file = certs.key};
  const s3l_tls_client_options_t without = {.ca.file = certs.ca};
  s3l_rig_t rig;
  for (int v12 = 0; v12 <= 1; v12++) {
    for (int shown = 0; shown <= 1; shown++) {
      s3l_rig_req_t r = {0};
      init(&rig, S3L_SCRIPTS(good), 1, NULL);
      assert_int_equal(s3l_tls_context_new_server(&so, &rig.server.tls, NULL), 0);
      if (v12)
        assert_int_equal(SSL_CTX_set_max_proto_version(rig.server.tls->ssl_ctx, TLS1_2_VERSION), 1);
      rig.options.ca_file = NULL;
      rig.options.tls_options = shown ? &with : &without;
      s3l_rig_start(&rig);
      s3l_rig_do(&rig, &r);
      end(&rig);
      if (shown)
        assert_ok(&r);
      else
        assert_failed(&r, S3LECT_ETLS, !v12, v12 ? "handshake failure" : "certificate required");
    }
  }
}

static void test_ca_files(void** state) {
  s3l_rig_t rig;
  s3l_http_client_t* c = NULL;
  s3lect_error_t error = {0};
  init(&rig, NULL, 0, NULL);
  rig.options.ca_file = "/nonexistent/ca.pem";
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &c), S3LECT_ETLS);
  rig.options.error = &error;
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &c), S3LECT_ETLS);
  assert_non_null(strstr(error.text, "ca \"/nonexistent/ca.pem\": "));
  rig.options.ca_file = certs.key; /* PEM, but no certificate */
  assert_int_equal(s3l_http_client_create(&rig.loop, &rig.options, &c), S3LECT_ETLS);
  assert_null(c);
  assert_int_equal(uv_loop_close(&rig.loop), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_verification),
      cmocka_unit_test(test_not_tls),
      cmocka_unit_test(test_silent),
      cmocka_unit_test(test_truncation),
      cmocka_unit_test(test_replay),
      cmocka_unit_test(test_resumption),
      cmocka_unit_test(test_cancel_and_close),
      cmocka_unit_test(test_client_certificate),
      cmocka_unit_test(test_ca_files),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
