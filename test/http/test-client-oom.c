/* Memory runs out at each allocation in turn, once and from then on: every request still ends
 * exactly once, everything closes, and nothing leaks. */
#include <string.h>

#include "lib/group_certs.h"
#include "lib/heap.h"
#include "lib/http_rig.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "s3lect/errno.h"

static s3l_rig_t rig;

static const s3l_step_t script[] = {S3L_EXPECT("\r\n\r\n"), S3L_SEND(S3L_RIG_OK), S3L_SCRIPT_END};
static const s3l_step_t* const scripts[] = {script};

/* Runs one request with a refusal at allocation number `at`; false if there were fewer. */
static bool run(bool tls, size_t at, bool ever) {
  s3l_rig_req_t r = {0};
  s3l_tls_context_t* server_tls = NULL;
  bool met;
  s3l_rig_init(&rig, scripts, 1);
  if (tls)
    assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &server_tls, NULL), 0);
  rig.server.tls = server_tls;
  rig.options.tls = tls;
  rig.options.ca_file = certs.ca;
  rig.options.host = "localhost";
  s3l_script_server_start(&rig.server, &rig.loop);
  rig.options.port = rig.server.port;
  s3l_heap_fail_at(at, ever);
  int rc = s3l_http_client_create(&rig.loop, &rig.options, &rig.client);
  if (rc == 0) {
    s3l_rig_do(&rig, &r);
    met = s3l_heap_fail_end();
    if (r.status != 0) {
      assert_int_equal(r.status, UV_ENOMEM);
      assert_true(r.message[0] != 0);
    }
    s3l_rig_end(&rig);
    assert_int_equal(r.done, 1);
  } else {
    met = s3l_heap_fail_end();
    assert_int_equal(rc, UV_ENOMEM);
    assert_null(rig.client);
    s3l_script_server_close(&rig.server);
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig.loop), 0);
  }
  s3l_tls_context_free(server_tls);
  return met;
}

static void test_each_allocation(void** state) {
  s3l_heap_install();
  for (int tls = 0; tls <= 1; tls++) {
    size_t at = 0;
    while (run(tls, at, false)) {
      assert_true(run(tls, at, true));
      at++;
    }
    assert_true(at >= 4);
  }
  s3l_heap_remove();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
