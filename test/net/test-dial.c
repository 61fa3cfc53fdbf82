/* Several addresses: order, failure, and the stagger. The addresses are of 127.0.0.0/8, which Linux
 * serves as a whole. */
#include <stdio.h>
#include <string.h>

#include "lib/hung_port.h"
#include "lib/script_server.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "net/dial.h"
#include "net/tcp.h"

static uv_loop_t loop;
static s3l_loop_t* runtime;
static s3l_dial_t dial;
static unsigned called;
static int status;
static uv_tcp_t* tcp;
static s3l_script_server_t server; /* outlives a test: it is closed in teardown */
static const s3l_step_t idle[] = {S3L_SCRIPT_END};
static const s3l_step_t* const scripts[] = {idle};

static void on_dialed(s3l_dial_t* d, int rc, uv_tcp_t* connected) {
  assert_ptr_equal(d, &dial);
  called++;
  status = rc;
  tcp = connected;
}

static int setup(void** state) {
  called = 0;
  status = 1;
  tcp = NULL;
  memset(&server, 0, sizeof(server));
  server.scripts = scripts;
  server.scripts_len = 1;
  if (uv_loop_init(&loop) != 0 || s3l_loop_join(&loop, &runtime) != 0)
    return -1;
  return 0;
}

static int teardown(void** state) {
  if (tcp != NULL)
    s3l_tcp_close(tcp, NULL);
  s3l_loop_leave(runtime, NULL);
  uv_run(&loop, UV_RUN_DEFAULT);
  return uv_loop_close(&loop);
}

static void wait_called(void) {
  while (called == 0)
    assert_true(s3l_turn(&loop) != 0 || called != 0);
}

static s3l_address_t address(const char* ip, uint16_t port) {
  s3l_address_t a;
  assert_true(s3l_address_parse(ip, port, &a));
  return a;
}

/* Which address the connection goes to. */
static void assert_peer(const char* ip) {
  struct sockaddr_in peer;
  int len = sizeof(peer);
  char name[32];
  assert_non_null(tcp);
  assert_int_equal(uv_tcp_getpeername(tcp, (struct sockaddr*)&peer, &len), 0);
  assert_int_equal(uv_ip4_name(&peer, name, sizeof(name)), 0);
  assert_string_equal(name, ip);
}

static void test_parse(void** state) {
  static const char* const bad[] = {"",      "localhost", "127.0.0", "127.0.0.1:80",
                                    "[::1]", "1.2.3.256", ":::",     "0x7f000001"};
  s3l_address_t a;
  assert_true(s3l_address_parse("10.1.2.3", 80, &a));
  assert_int_equal(a.sa.sa_family, AF_INET);
  assert_true(s3l_address_parse("2001:db8::1", 80, &a));
  assert_int_equal(a.sa.sa_family, AF_INET6);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_false(s3l_address_parse(bad[i], 80, &a));
}

/* Refused, then unreachable, then good. */
static void test_next_after_failure(void** state) {
  server.ip = "127.0.0.3";
  s3l_script_server_start(&server, &loop);
  const s3l_address_t addresses[] = {address("127.0.0.2", server.port),
                                     address("255.255.255.255", server.port),
                                     address("127.0.0.3", server.port)};
  s3l_dial_start_addresses(&dial, runtime, addresses, 3, on_dialed);
  assert_int_equal(called, 0);
  wait_called();
  s3l_script_server_close(&server);
  assert_int_equal(status, 0);
  assert_peer("127.0.0.3");
}

/* The first address hangs: the second is tried beside it, and wins. */
static void test_next_after_stagger(void** state) {
  s3l_hung_port_t hung;
  s3l_script_server_start(&server, &loop);
  s3l_hung_port_open(&hung, "127.0.0.2", server.port);
  const s3l_address_t addresses[] = {address("127.0.0.2", server.port),
                                     address("127.0.0.1", server.port)};
  s3l_dial_start_addresses(&dial, runtime, addresses, 2, on_dialed);
  wait_called();
  s3l_hung_port_close(&hung);
  s3l_script_server_close(&server);
  assert_int_equal(status, 0);
  assert_peer("127.0.0.1");
  uv_run(&loop, UV_RUN_NOWAIT);
  assert_int_equal(called, 1);
}

/* The most telling failure is the one that is reported, with its address. */
static void test_all_fail(void** state) {
  char name[64];
  char want[64];
  s3l_script_server_start(&server, &loop); /* only to find a port that is free */
  s3l_script_server_close(&server);
  uv_run(&loop, UV_RUN_NOWAIT);
  const s3l_address_t addresses[] = {address("255.255.255.255", server.port),
                                     address("127.0.0.1", server.port),
                                     address("255.255.255.255", server.port)};
  s3l_dial_start_addresses(&dial, runtime, addresses, 3, on_dialed);
  assert_int_equal(called, 0);
  wait_called();
  assert_int_equal(status, UV_ECONNREFUSED);
  assert_null(tcp);
  s3l_dial_failed_address(&dial, name, sizeof(name));
  snprintf(want, sizeof(want), "127.0.0.1:%u", server.port);
  assert_string_equal(name, want);
}

/* With nothing that hangs or is refused, the failure still comes from the loop. */
static void test_fails_at_once(void** state) {
  const s3l_address_t a = address("255.255.255.255", 9);
  s3l_dial_start_addresses(&dial, runtime, &a, 1, on_dialed);
  assert_int_equal(called, 0);
  wait_called();
  assert_true(status < 0);
  assert_int_equal(called, 1);
}

static void test_cancel(void** state) {
  s3l_hung_port_t hung;
  s3l_hung_port_open(&hung, "127.0.0.1", 0);
  assert_int_equal(s3l_dial_start(&dial, runtime, NULL, "127.0.0.1", hung.port, on_dialed), 0);
  uv_run(&loop, UV_RUN_NOWAIT);
  s3l_dial_cancel(&dial);
  assert_int_equal(s3l_dial_start(&dial, runtime, NULL, "localhost", hung.port, on_dialed), 0);
  s3l_dial_cancel(&dial); /* in the look-up */
  memset(&dial, 0xa5, sizeof(dial));
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(called, 0);
  s3l_hung_port_close(&hung);
}

static void test_name(void** state) {
  s3l_script_server_start(&server, &loop);
  assert_int_equal(s3l_dial_start(&dial, runtime, NULL, "localhost", server.port, on_dialed), 0);
  assert_int_equal(called, 0);
  wait_called();
  s3l_script_server_close(&server);
  assert_int_equal(status, 0);
  assert_peer("127.0.0.1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parse),
      cmocka_unit_test_setup_teardown(test_next_after_failure, setup, teardown),
      cmocka_unit_test_setup_teardown(test_next_after_stagger, setup, teardown),
      cmocka_unit_test_setup_teardown(test_all_fail, setup, teardown),
      cmocka_unit_test_setup_teardown(test_fails_at_once, setup, teardown),
      cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
      cmocka_unit_test_setup_teardown(test_name, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
