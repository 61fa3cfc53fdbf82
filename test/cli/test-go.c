/* A mixed fleet: `s3lect elect` and a candidate written in Go by the rules of the Go package S3lect
 * (go/candidate.go), on one lockfile, with peers over TLS. Skipped where there is no Go, which
 * knows the lockfile only.
 *
 * ctest labels: full no-valgrind one-protocol slow */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/group_certs.h"
#include "lib/peer_proc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

static char program[256], addr[64];

/* A port that is free now. */
static int begin(void** state) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(fd, (struct sockaddr*)&at, size), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr*)&at, &size), 0);
  close(fd);
  snprintf(addr, sizeof addr, "127.0.0.1:%u", ntohs(at.sin_port));
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  s3proc_seed(&s3);
  return 0;
}

static proc_t* go(void) {
  char url[256];
  snprintf(url, sizeof url, "%s/test/lock.json", s3.url);
  return proc_spawn(
      &s3.procs, (const char*[]){program, url, "go", addr, certs.good, certs.key, certs.ca, NULL},
      NULL);
}

static proc_t* elect(const char* id) {
  return s3proc_s3lect(&s3, "elect", id,
                       (const char*[]){"--peer-listen", "127.0.0.1:0", "--peer-cert", certs.good,
                                       "--peer-key", certs.key, "--peer-ca", certs.ca, NULL});
}

/* For longer than a leader timeout the leader renews, and the other does not lead. */
static void lead_alone(proc_t* leader, const char* renewed, proc_t* other, const char* leads) {
  while (proc_try_line(other, PROC_OUT, "", true) != NULL)
    continue;
  for (int i = 0; i < 12; i++)
    proc_line(leader, PROC_OUT, renewed);
  assert_null(proc_try_line(other, PROC_OUT, leads, true));
}

static proc_t* go_leads(proc_t** c) {
  proc_t* g = go();
  proc_line(g, PROC_OUT, "leads");
  *c = elect("c");
  assert_string_equal(proc_json_string(proc_line(*c, PROC_OUT, S3L_NEW), "leader"), "go");
  proc_line(g, PROC_OUT, "asked"); /* the endpoint's answer is what c waits on */
  lead_alone(g, "renewed", *c, S3L_STARTED);
  return g;
}

static proc_t* c_leads(proc_t** g) {
  proc_t* c = elect("c");
  proc_line(c, PROC_OUT, S3L_STARTED);
  *g = go();
  proc_line(*g, PROC_OUT, "follows c");
  proc_line(*g, PROC_OUT, "told by c");
  lead_alone(c, S3L_RENEWED, *g, "leads");
  return c;
}

static void c_replaces_a_go_leader_that_died(void** state) {
  proc_t *c, *g = go_leads(&c);
  assert_int_equal(proc_end(g, SIGKILL), 128 + SIGKILL);
  int64_t epoch = proc_json_i64(proc_line(c, PROC_OUT, S3L_STARTED), "epoch");
  assert_true(epoch > 1000); /* that of the record before Go's, which has none */
  g = go();
  proc_line(g, PROC_OUT, "follows c");
}

static void c_takes_a_go_leaders_release(void** state) {
  proc_t *c, *g = go_leads(&c);
  assert_int_equal(proc_end(g, SIGTERM), 0);
  proc_line(g, PROC_OUT, "released");
  proc_line(c, PROC_OUT, S3L_STARTED);
}

static void go_replaces_a_c_leader_that_died(void** state) {
  proc_t *g, *c = c_leads(&g);
  assert_int_equal(proc_end(c, SIGKILL), 128 + SIGKILL);
  proc_line(g, PROC_OUT, "leads");
  c = elect("c2");
  assert_string_equal(proc_json_string(proc_line(c, PROC_OUT, S3L_NEW), "leader"), "go");
}

static void go_takes_a_c_leaders_release(void** state) {
  proc_t *g, *c = c_leads(&g);
  assert_int_equal(proc_end(c, SIGTERM), 0);
  proc_line(g, PROC_OUT, "leads");
}

/* A Go leader goes on although it was stopped for longer than the leader timeout; c, which leads
 * then, does so by the store's record alone, and Go sees it at its next look. */
static void go_yields_to_the_record_after_a_stop(void** state) {
  proc_t *c, *g = go_leads(&c);
  proc_signal(g, SIGSTOP);
  proc_line(c, PROC_OUT, S3L_STARTED);
  proc_signal(g, SIGCONT);
  proc_line(g, PROC_OUT, "follows c");
  lead_alone(c, S3L_RENEWED, g, "leads");
}

/* Go prints each package that it compiles: the first time that takes a while. */
static int build(void** state) {
  char cache[512];
  procs_t procs;
  procs_begin(&procs);
  snprintf(program, sizeof program, "%s/test/go-candidate", S3L_BUILD_DIR);
  snprintf(cache, sizeof cache, "GOCACHE=%s/go-cache", S3L_BUILD_DIR);
  proc_t* p = proc_spawn(&procs,
                         (const char*[]){"go", "build", "-v", "-o", program,
                                         S3L_TEST_DIR "/cli/go/candidate.go", NULL},
                         (const char*[]){"GO111MODULE=off", "GOFLAGS=", "GOTOOLCHAIN=local",
                                         "CGO_ENABLED=0", cache, NULL});
  while (proc_try_line(p, PROC_ERR, "", false) != NULL)
    continue;
  int status = proc_wait(p);
  procs_end(&procs);
  return status != 0 ? -1 : s3l_make_certs(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
      T(c_replaces_a_go_leader_that_died),     T(c_takes_a_go_leaders_release),
      T(go_replaces_a_c_leader_that_died),     T(go_takes_a_c_leaders_release),
      T(go_yields_to_the_record_after_a_stop),
  };
  if (!proc_on_path("go")) {
    puts("skipped: there is no go on the PATH");
    return 77;
  }
  return cmocka_run_group_tests(tests, build, s3l_remove_certs);
}
