/* The pages of --http, as curl sees them: of `elect` and `run`, on this machine only unless another
 * address is given, with and without peer mode.
 *
 * ctest labels: no-valgrind one-protocol. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/runproc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

#define TURNS "while :; do sleep 0.01; done"

/* The address that a process with port 0 says it serves its pages at. */
static void address_of(proc_t* proc, char address[64]) {
  const char* line = proc_line(proc, PROC_ERR, "--http: serving pages at ");
  snprintf(address, 64, "%s", strstr(line, " at ") + 4);
}

/* The status of a page; its text goes to the file "page". */
static int fetch(const char* address, const char* page) {
  char url[128], file[128];
  snprintf(url, sizeof url, "http://%s%s", address, page);
  snprintf(file, sizeof file, "%s", s3proc_path(&s3, "page"));
  proc_t* curl = proc_spawn(
      &s3.procs, (const char*[]){"curl", "-s", "-o", file, "-w", "%{http_code}\n", url, NULL},
      NULL);
  int status = atoi(proc_line(curl, PROC_OUT, ""));
  (void)proc_wait(curl);
  proc_forget(curl);
  return status;
}

static proc_t* elect(const char* id, const char* at) {
  return s3proc_s3lect(&s3, "elect", id, (const char*[]){"--http", at, NULL});
}

static void a_leader_and_a_follower(void** state) {
  char a_at[64], b_at[64];
  proc_t* a = elect("a", "0");
  address_of(a, a_at);
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, "\"event\":\"started_leading\""), "epoch");
  proc_t* b = elect("b", ":0");
  address_of(b, b_at);
  proc_line(b, PROC_OUT, "\"event\":\"new_leader\"");
  assert_memory_equal(a_at, "127.0.0.1:", 10);
  assert_memory_equal(b_at, "127.0.0.1:", 10);
  assert_int_equal(fetch(a_at, "/leader"), 200);
  char text[64]; /* what a program beside it sends along with its writes */
  snprintf(text, sizeof text, "leader %" PRId64 "\n", epoch);
  assert_string_equal(s3proc_text(&s3, "page"), text);
  assert_int_equal(fetch(b_at, "/leader"), 503);
  assert_int_equal(fetch(b_at, "/readyz"), 200);
  assert_int_equal(fetch(b_at, "/livez"), 200);
  assert_int_equal(fetch(a_at, "/health/leadership"), 404);
  assert_int_equal(fetch(a_at, "/metrics"), 200);
  assert_non_null(strstr(s3proc_text(&s3, "page"), "id=\"a\",path=\"/health/leadership\"} 1\n"));
  assert_int_equal(proc_end(a, SIGTERM), 0);
  proc_line(b, PROC_OUT, "\"event\":\"started_leading\"");
  assert_int_equal(fetch(b_at, "/leader"), 200);
  assert_int_equal(proc_end(b, SIGTERM), 0);
}

/* SIGHUP must not end it for want of certificates to read again. */
static void of_run(void** state) {
  char at[64];
  proc_t* a = s3proc_s3lect(&s3, "run", "a",
                            (const char*[]){"--http", "0", "--standby", "--", "/bin/sh", "-c",
                                            "trap 'echo hup' HUP; trap 'exit 0' TERM; "
                                            "echo ready; " TURNS,
                                            NULL});
  address_of(a, at);
  proc_line(a, PROC_OUT, "ready");
  assert_int_equal(fetch(at, "/leader"), 200);
  proc_signal(a, SIGHUP);
  proc_line(a, PROC_OUT, "hup");
  proc_signal(a, SIGUSR1);
  proc_line(a, PROC_ERR, "exited with status 0");
  do {
    assert_int_equal(fetch(at, "/livez"), 200);
  } while (fetch(at, "/leader") != 503);
  assert_int_equal(fetch(at, "/readyz"), 503); /* it takes no part */
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
}

static void beside_peers(void** state) {
  char at[64];
  proc_t* a = s3proc_s3lect(&s3, "elect", "a",
                            (const char*[]){"--http", "127.0.0.1:0", "--peer-listen", "127.0.0.1:0",
                                            "--peer-plain-http", NULL});
  address_of(a, at);
  proc_line(a, PROC_OUT, "\"event\":\"started_leading\"");
  assert_int_equal(fetch(at, "/leader"), 200);
  char line[2048];
  assert_int_equal(s3proc_status(&s3, (const char*[]){"--json", NULL}, line), 0);
  const char* peer = proc_json_string(line, "address"); /* peers do not ask at the pages' port */
  assert_string_not_equal(peer, at);
  char copy[64];
  snprintf(copy, sizeof copy, "%s", peer);
  assert_int_equal(fetch(copy, "/health/leadership"), 200);
  assert_int_equal(fetch(copy, "/leader"), 404);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void other_addresses(void** state) {
  char at[64];
  proc_t* a = elect("a", "*:0");
  address_of(a, at);
  assert_memory_equal(at, "*:", 2);
  char local[80];
  snprintf(local, sizeof local, "127.0.0.1%s", at + 1);
  assert_int_equal(fetch(local, "/livez"), 200);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

static void bad_addresses(void** state) {
  static const struct {
    const char* at;
    const char* says;
  } cases[] = {{"nowhere:1", "s3lect elect: --http \"nowhere:1\": "},
               {"127.0.0.1", "s3lect elect: --http \"127.0.0.1\": "},
               {"99999", "s3lect elect: --http \"127.0.0.1:99999\": "},
               {"metrics", "s3lect elect: --http \"metrics\": "}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    proc_t* a = elect("a", cases[i].at);
    proc_line(a, PROC_ERR, cases[i].says);
    assert_int_equal(proc_wait(a), 2);
  }
  char at[64];
  proc_t* a = elect("a", "0");
  address_of(a, at);
  proc_t* b = elect("b", strchr(at, ':'));
  proc_line(b, PROC_ERR, "address already in use");
  assert_int_equal(proc_wait(b), 1);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
  static const struct CMUnitTest tests[] = {
      T(a_leader_and_a_follower), T(of_run), T(beside_peers), T(other_addresses), T(bad_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
