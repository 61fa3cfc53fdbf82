/* examples/tcp-proxy: bad usage, and few open files.
 *
 * The proxy runs with a lockfile only: its behaviour depends on who leads, not on the protocol.
 *
 * ctest labels: no-valgrind one-protocol */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/s3proc_case.h"
#include "lib/tcp_proxy_rig.h"
#include "lib/test.h"

#define PROGRAM TCP_PROXY(S3L_BUILD_DIR)

/* ---- Few files ---- */

static const char with_limit[] = "ulimit -n \"$1\"; shift; exec \"$@\"";

/* However many connect, the store finds a file, and leadership stays. */
static void open_files_limit_connections(void** state) {
  tcp_proxy_t a;
  char address[32];
  int port, listener = sock_listen(&port, 64), clients[60];
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  const char* argv[] = {"/bin/bash",
                        "-c",
                        with_limit,
                        "bash",
                        "400",
                        PROGRAM,
                        "--store",
                        s3.store,
                        "--id",
                        "a",
                        "--listen",
                        "127.0.0.1:0",
                        "--backend",
                        address,
                        "--renew",
                        "300ms",
                        "--leader-timeout",
                        "2500ms",
                        "--request-timeout",
                        "700ms",
                        "--metrics-listen",
                        "127.0.0.1:0",
                        NULL,
                        NULL,
                        NULL};
  a.proc = proc_spawn(&s3.procs, argv, NULL);
  const char* line = proc_line(a.proc, PROC_OUT, "listening: ");
  a.clients = (int)strtol(strstr(line, "clients 127.0.0.1:") + 18, NULL, 10);
  a.metrics = (int)strtol(strstr(line, "metrics 127.0.0.1:") + 18, NULL, 10);
  tcp_proxy_leads(&a);
  for (int i = 0; i < 60; i++)
    clients[i] = sock_connect(a.clients);
  tcp_proxy_await_metric(&s3, &a, "refused_total{why=\"limit\"}", 20);
  assert_int_equal(tcp_proxy_metric(&a, "connections"), 40); /* (400 - 320) / 2 */
  assert_int_equal(tcp_proxy_metric(&a, "leader"), 1);
  for (int i = 0; i < 60; i++)
    close(clients[i]);

  argv[20] = "--max-connections";
  argv[21] = "1000";
  proc_t* proc = proc_spawn(&s3.procs, argv, NULL);
  proc_line(proc, PROC_ERR, "--max-connections 1000: 400 open files allow no more than 40");
  assert_int_equal(proc_wait(proc), 2);
  close(listener);
}

/* ---- Usage ---- */

static void bad_usage_is_told(void** state) {
  static const struct {
    const char *option, *value, *says;
  } cases[] = {
      {"--listen", "nowhere", "--listen nowhere: write IP:PORT"},
      {"--listen", "127.0.0.1:65536", "--listen 127.0.0.1:65536: write IP:PORT"},
      {"--listen", "::1:80", "--listen ::1:80: write IP:PORT"},
      {"--backend", "host", "--backend host: write HOST:PORT"},
      {"--backend", "host:0", "--backend host:0: write HOST:PORT"},
      {"--hold", "5", "--hold 5: write a duration with its unit"},
      {"--hold", "9999999999m", "--hold 9999999999m: write a duration"},
      {"--drain", "-1s", "--drain -1s: write a duration"},
      {"--yield-after", "400ms", "--yield-after: write 500ms or more"},
      {"--buffer", "1k", "--buffer 1k: write a size from 4k to 16m"},
      {"--max-connections", "0", "--max-connections 0: write a number from 1"},
      {"--peer-listen", "0.0.0.0:0", "--advertise: is required"},
      {"--store", "http://x/y", "--store: write s3://BUCKET/KEY or file:///DIRECTORY/NAME"},
      {"--store", "file:///no/such/place", "directory \"/no/such\": there is no such directory"},
      {"--leader-timeout", "900ms", "leader_timeout_ms: 900 ms is unsafe"},
      {"--id", "", "--id: must not be empty"},
      {"--nonsense", "x", "--nonsense: unknown option"},
      {"--metrics-listen", "127.0.0.1:1x", "--metrics-listen 127.0.0.1:1x: write IP:PORT"},
      {"--hold", NULL, "--hold: needs a value"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char* argv[] = {PROGRAM,       "--store",       s3.store,       "--id",
                          "x",           "--listen",      "127.0.0.1:0",  "--backend",
                          "localhost:1", cases[i].option, cases[i].value, NULL};
    proc_t* proc = proc_spawn(&s3.procs, argv, NULL);
    proc_line(proc, PROC_ERR, cases[i].says);
    int status = proc_wait(proc);
    assert_true(status == 1 || status == 2);
    proc_forget(proc);
  }
}

static void what_is_missing_is_told(void** state) {
  static const char* const given[] = {"--store",  "file:///tmp/x", "--id",      "x",
                                      "--listen", "127.0.0.1:0",   "--backend", "h:1"};
  for (size_t left_out = 0; left_out < 4; left_out++) {
    const char* argv[8] = {PROGRAM};
    char says[32];
    size_t n = 1;
    for (size_t i = 0; i < 4; i++) {
      if (i != left_out) {
        argv[n++] = given[2 * i];
        argv[n++] = given[2 * i + 1];
      }
    }
    snprintf(says, sizeof says, "%s: is required", given[2 * left_out]);
    proc_t* proc = proc_spawn(&s3.procs, argv, NULL);
    proc_line(proc, PROC_ERR, says);
    assert_int_equal(proc_wait(proc), 2);
    proc_forget(proc);
  }
  const char* help[] = {PROGRAM, "--help", NULL};
  proc_t* proc = proc_spawn(&s3.procs, help, NULL);
  proc_line(proc, PROC_OUT, "usage: example-tcp-proxy");
  assert_int_equal(proc_wait(proc), 0);
  proc_forget(proc);
}

static void taken_address_is_told(void** state) {
  char address[32];
  int taken, listener = sock_listen(&taken, 1);
  snprintf(address, sizeof address, "127.0.0.1:%d", taken);
  static const char* const options[] = {"--listen", "--peer-listen", "--metrics-listen"};
  for (size_t i = 0; i < 3; i++) {
    const char* argv[] = {PROGRAM,       "--store",   s3.store,      "--id",
                          "x",           "--backend", "localhost:1", "--listen",
                          "127.0.0.1:0", options[i],  address,       NULL};
    char says[96];
    snprintf(says, sizeof says, "%s %s: address already in use", options[i], address);
    proc_t* proc = proc_spawn(&s3.procs, argv, NULL);
    proc_line(proc, PROC_ERR, says);
    assert_int_equal(proc_wait(proc), 1);
    proc_forget(proc);
  }
  close(listener);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(open_files_limit_connections, begin_file, end),
      cmocka_unit_test_setup_teardown(bad_usage_is_told, begin_file, end),
      cmocka_unit_test_setup_teardown(what_is_missing_is_told, begin_file, end),
      cmocka_unit_test_setup_teardown(taken_address_is_told, begin_file, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
