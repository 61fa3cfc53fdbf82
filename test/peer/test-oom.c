/* Memory runs out at each allocation in turn, of a question and of an answer: questions still end
 * exactly once, the server serves on, everything closes, and nothing leaks. Questions and
 * answers are the same for both protocols.
 *
 * ctest labels: one-protocol */
#include <stdlib.h>
#include <string.h>

#include "lib/ask_rig.h"
#include "lib/certs.h"
#include "lib/heap.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"
#include "s3lect/errno.h"

static s3l_certs_t certs;
static s3l_asks_t rig;
static s3l_house_t h;

/* ---- A question ---- */

/* Asks with a refusal at allocation number `at`, and then again; false if there were fewer. */
static bool ask(bool tls, size_t at, bool ever) {
  static const s3l_step_t script[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                      S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_ASK_PLAIN),
                                      S3L_SCRIPT_END};
  static const s3l_step_t* const scripts[] = {script};
  s3l_tls_context_t* server_tls = NULL;
  s3l_asked_t a = {0};
  memset(&rig, 0, sizeof rig);
  rig.config.tls = tls;
  rig.config.trust.ca.file = certs.ca;
  if (tls)
    assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &server_tls, NULL), 0);
  s3l_asks_begin(&rig, scripts, 1, server_tls);
  s3l_heap_fail_at(at, ever);
  int err = s3l_asks_try(&rig, &a, s3l_asks_addr(&rig.server), S3L_WAIT_MS, 0);
  if (err == 0)
    s3l_asks_wait(&rig, &a, 1);
  else
    assert_int_equal(err, UV_ENOMEM);
  bool met = s3l_heap_fail_end();
  if (err == 0 && a.kind == S3L_PEER_FAILED)
    assert_int_equal(a.status, UV_ENOMEM);
  assert_true(met || (err == 0 && a.kind == S3L_PEER_LEADING));
  unsigned done = a.done;
  s3l_asks_start(&rig, &a, 0);
  s3l_asks_wait(&rig, &a, done + 1);
  assert_int_equal(a.kind, S3L_PEER_LEADING);
  s3l_asks_end(&rig);
  s3l_tls_context_free(server_tls);
  return met;
}

static void test_each_allocation_of_a_question(void** state) {
  for (int tls = 0; tls <= 1; tls++) {
    size_t at = 0;
    for (; ask(tls, at, false); at++)
      (void)ask(tls, at, true);
    assert_true(at >= 3);
  }
}

/* ---- An answer ---- */

#define WAIT    "GET " S3LECT_PEER_HEALTH_PATH " HTTP/1.1\r\nHost: x\r\nPrefer: wait=3600\r\n\r\n"
#define METRICS "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"

static bool is_over(void* arg) {
  const s3l_caller_t* c = arg;
  return c->ended > 0 || c->text[0] != '\0';
}

/* What is answered with a refusal at allocation number `at`; false if there were fewer. */
static bool answer(const char* request, size_t at) {
  s3l_caller_t* c = s3l_house_caller(&h, NULL);
  s3l_caller_t* next = s3l_house_caller(&h, NULL);
  s3l_caller_open(c);
  s3l_caller_open(next);
  s3l_heap_fail_at(at, false);
  s3l_caller_send(c, request);
  s3l_caller_send(next, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
  s3l_wait(&h.loop, is_over, next, "the next one's answer");
  bool met = s3l_heap_fail_end();
  if (request[5] == 'm')
    s3l_wait(&h.loop, is_over, c, "an answer, or the end");
  s3l_caller_free(c); /* held, answered, or cut off: any will do */
  s3l_caller_free(next);
  /* With memory all is well again. */
  s3l_caller_t* later = s3l_house_caller(&h, NULL);
  s3l_caller_open(later);
  s3l_caller_talk(later, METRICS, "s3lect_is_leader", false);
  s3l_caller_free(later);
  return met;
}

static void test_each_allocation_of_an_answer(void** state) {
  static const char* const requests[] = {WAIT, METRICS};
  s3l_house_init(&h, NULL);
  h.options.metrics = 1;
  s3l_house_open_leading(&h);
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
    size_t at = 0;
    while (answer(requests[i], at))
      at++;
    assert_true(at >= 1);
  }
  assert_int_equal(s3lect_elector_is_leader(&h.e[0]), 1);
  s3l_house_end(&h);
}

/* ---- Opening ---- */

static void test_each_allocation_of_opening(void** state) {
  int r = UV_ENOMEM;
  for (size_t at = 0; r != 0; at++) {
    s3l_house_init(&h, &certs);
    h.options.pages_listen = "127.0.0.1:0";
    s3l_heap_fail_at(at, true);
    r = s3lect_peer_server_init(&h.loop, &h.server, &h.options, NULL);
    (void)s3l_heap_fail_end();
    assert_true(r == 0 || r == UV_ENOMEM);
    assert_true(at > 0 || r != 0);
    s3lect_store_close(&h.store, NULL);
    if (r == 0)
      s3lect_peer_server_close(&h.server, NULL);
    s3l_wait_loop_end(&h.loop);
  }
  r = UV_ENOMEM;
  for (size_t at = 0; r != 0; at++) {
    uv_loop_t loop;
    s3lect_peer_client_t client;
    s3lect_peer_client_options_t o;
    s3lect_peer_client_options_init(&o, sizeof o);
    o.ca_file = certs.ca;
    o.cert_file = certs.good;
    o.key_file = certs.key;
    assert_int_equal(uv_loop_init(&loop), 0);
    s3l_heap_fail_at(at, true);
    r = s3lect_peer_client_init(&loop, &client, &o, NULL);
    (void)s3l_heap_fail_end();
    assert_true(r == 0 || r == UV_ENOMEM);
    assert_true(at > 0 || r != 0);
    if (r == 0)
      s3lect_peer_client_close(&client, NULL);
    s3l_wait_loop_end(&loop);
  }
}

static int set_up(void** state) {
  s3l_heap_install();
  return s3l_certs_make(&certs);
}

static int tear_down(void** state) {
  s3l_certs_remove(&certs);
  s3l_heap_remove();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_allocation_of_a_question),
      cmocka_unit_test(test_each_allocation_of_an_answer),
      cmocka_unit_test(test_each_allocation_of_opening),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
