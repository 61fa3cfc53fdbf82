/* Hand-over through the command, with peers over TLS and client certificates: the leader that gets
 * SIGTERM writes the claim of a process that waits. From that write on the fake S3 answers no other
 * one, so that whoever leads next leads by it.
 *
 * ctest labels: no-valgrind one-protocol slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/peer_proc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

/* Long enough that no renewal comes between the fault and the signal. */
#define TIMING "--leader-timeout", "12s", "--renew", "3s", "--peer-interval", "1s"
#define PEERS                                                                                      \
  "--peer-listen", "127.0.0.1:0", "--peer-cert", certs.good, "--peer-key", certs.key, "--peer-ca", \
      certs.ca, "--peer-client-auth"
#define PROGRAM "/bin/sh", "-c", "echo ready $S3LECT_EPOCH; while :; do sleep 0.01; done"
#define LEADS   "{\"match\":{\"method\":\"PUT\"},\"skip\":1,\"stall\":true}"

static proc_t* elect(const char* id) {
  return s3proc_s3lect(&s3, "elect", id, (const char*[]){TIMING, PEERS, NULL});
}

static proc_t* run(const char* id) {
  return s3proc_s3lect(&s3, "run", id, (const char*[]){TIMING, PEERS, "--", PROGRAM, NULL});
}

/* Until the leader has renewed: its followers have asked it twice by then, and wait. */
static void await_renewal(void) {
  unsigned long since = 0;
  (void)s3l_peerproc_requests(&s3, &certs, &since);
  while (s3l_peerproc_requests(&s3, &certs, &since).puts == 0)
    continue;
}

typedef struct race_s {
  proc_t* const* p;
  const char* text;
  char line[2048];
} race_t;

static bool has_line(void* arg) {
  race_t* race = arg;
  for (int i = 1; i < 3 && race->line[0] == '\0'; i++) {
    const char* line = proc_try_line(race->p[i], PROC_OUT, race->text, true);
    if (line != NULL)
      snprintf(race->line, sizeof race->line, "%s", line);
  }
  return race->line[0] != '\0';
}

/* What one of the followers says first, once the leader has been told to end. */
static const char* hand_over(proc_t* const p[3], const char* text) {
  static race_t race;
  await_renewal();
  s3proc_fault(&s3, LEADS);
  proc_signal(p[0], SIGTERM);
  race = (race_t){.p = p, .text = text};
  procs_until(&s3.procs, has_line, &race);
  return race.line;
}

static void elect_hands_over_by_one_write(void** state) {
  proc_t* p[3] = {elect("a")};
  proc_line(p[0], PROC_OUT, S3L_STARTED);
  p[1] = elect("b");
  p[2] = elect("c");
  proc_line(p[1], PROC_OUT, S3L_NEW);
  proc_line(p[2], PROC_OUT, S3L_NEW);
  const char* line = hand_over(p, S3L_STARTED);
  const char* stopped = proc_line(p[0], PROC_OUT, S3L_STOPPED);
  assert_int_equal(proc_json_i64(line, "epoch"), 1002);
  assert_int_equal(proc_json_i64(stopped, "epoch"), 1001);
  assert_true(proc_json_i64(line, "lease_ns") >= proc_json_i64(stopped, "valid_until_ns"));
  assert_int_equal(proc_wait(p[0]), 0);
  /* The other follower reads who leads. */
  char leads[64];
  snprintf(leads, sizeof leads, "\"leader\":\"%s\"", proc_json_string(line, "leader"));
  proc_line(p[1], PROC_OUT, leads);
  proc_line(p[2], PROC_OUT, leads);
}

static void run_hands_over_by_one_write(void** state) {
  proc_t* p[3] = {run("a")};
  proc_line(p[0], PROC_OUT, "ready 1001");
  p[1] = run("b");
  p[2] = run("c");
  proc_line(p[1], PROC_ERR, "s3lect run: a leads");
  proc_line(p[2], PROC_ERR, "s3lect run: a leads");
  assert_string_equal(hand_over(p, "ready"), "ready 1002");
  assert_int_equal(proc_wait(p[0]), 128 + SIGTERM);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
      T(elect_hands_over_by_one_write),
      T(run_hands_over_by_one_write),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
