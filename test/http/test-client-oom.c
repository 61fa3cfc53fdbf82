/* Memory runs out at each allocation in turn, once and from then on: every request still ends
 * exactly once, everything closes, and nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/certs.h"
#include "lib/http_rig.h"
#include "s3lect/errno.h"
#include "util/mem.h"

static s3l_certs_t certs;
static long countdown; /* allocations that still succeed; -1: all */
static bool for_ever;
static unsigned seen;
static s3l_rig_t rig;

static bool refuse(void) {
  seen++;
  if (countdown < 0)
    return false;
  if (countdown > 0) {
    countdown--;
    return false;
  }
  if (!for_ever)
    countdown = -1;
  return true;
}

static void* failing_malloc(size_t n) {
  return refuse() ? NULL : malloc(n);
}
static void* failing_calloc(size_t n, size_t size) {
  return refuse() ? NULL : calloc(n, size);
}
static void* failing_realloc(void* p, size_t n) {
  return refuse() ? NULL : realloc(p, n);
}

static const s3l_step_t script[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_SCRIPT_END};
static const s3l_step_t* const scripts[] = {script};

/* Runs one request with a refusal at allocation number `at`. */
static void run(bool tls, long at, bool ever) {
  s3l_rig_req_t r = {0};
  s3l_tls_context_t* server_tls = NULL;
  s3l_rig_init(&rig, scripts, 1);
  if (tls)
    assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &server_tls, NULL), 0);
  rig.server.tls = server_tls;
  rig.options.tls = tls;
  rig.options.ca_file = certs.ca;
  rig.options.host = "localhost";
  s3l_script_server_start(&rig.server, &rig.loop);
  rig.options.port = rig.server.port;
  seen = 0;
  for_ever = ever;
  countdown = at;
  int rc = s3l_http_client_create(&rig.loop, &rig.options, &rig.client);
  if (rc == 0) {
    s3l_rig_do(&rig, &r);
    countdown = -1;
    if (r.status != 0) {
      assert_int_equal(r.status, UV_ENOMEM);
      assert_true(r.message[0] != 0);
    }
    s3l_rig_end(&rig);
    assert_int_equal(r.done, 1);
  } else {
    countdown = -1;
    assert_int_equal(rc, UV_ENOMEM);
    assert_null(rig.client);
    s3l_script_server_close(&rig.server);
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig.loop), 0);
  }
  s3l_tls_context_free(server_tls);
}

static void test_each_allocation(void** state) {
  static const s3l_mem_hooks_t hooks = {failing_malloc, failing_realloc, failing_calloc, free};
  (void)state;
  s3l_mem_set(&hooks);
  for (int tls = 0; tls <= 1; tls++) {
    run(tls, -1, false); /* counts */
    unsigned n = seen;
    assert_true(n >= 4);
    for (unsigned at = 0; at < n; at++) {
      run(tls, at, false);
      run(tls, at, true);
    }
  }
  s3l_mem_set(NULL);
}

static int make_certs(void** state) {
  (void)state;
  return s3l_certs_make(&certs);
}

static int remove_certs(void** state) {
  (void)state;
  s3l_certs_remove(&certs);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
  return cmocka_run_group_tests(tests, make_certs, remove_certs);
}
