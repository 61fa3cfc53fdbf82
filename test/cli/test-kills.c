/* Three processes of `s3lect elect` on the real store that the environment names, or on the fake
 * Azure or Google store. The leader is killed, again and again, or ended, and the fake stands still
 * for longer than the leader timeout. What is judged at the end is all that all of them printed:
 * lease time is one clock for the processes of a machine.
 *
 * ctest labels: store full every-store no-valgrind slow */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/any_store.h"
#include "lib/s3proc.h"
#include "lib/test.h"

#define ELECTORS  3
#define ENDS      6
#define PROCESSES (ELECTORS + ENDS)

typedef struct term_s {
  int64_t epoch, begin_ns, end_ns;
} term_t;

static s3proc_t s3;
static proc_t* processes[PROCESSES];
static unsigned started;
static unsigned leader; /* who said last that it leads: index of a process */

static void start(void) {
  char id[16];
  snprintf(id, sizeof id, "e%u", started);
  processes[started++] = s3proc_s3lect(&s3, "elect", id, NULL);
}

static bool somebody_started(void* arg) {
  int64_t* epoch = arg;
  bool any = false;
  for (unsigned i = 0; i < started; i++)
    for (const char* line;
         (line = proc_try_line(processes[i], PROC_OUT, "\"started_leading\"", true)) != NULL;)
      if (proc_json_i64(line, "epoch") > *epoch) {
        *epoch = proc_json_i64(line, "epoch");
        leader = i;
        any = true;
      }
  return any;
}

/* The terms of one process, by its events. A term ends where the last of them says that it does. */
static unsigned add_terms(proc_t* p, term_t* terms, unsigned n, unsigned cap) {
  proc_rewind(p, PROC_OUT);
  for (const char* line; (line = proc_try_line(p, PROC_OUT, "{", true)) != NULL;) {
    if (strstr(line, "\"started_leading\"") != NULL) {
      assert_true(n < cap);
      terms[n].epoch = proc_json_i64(line, "epoch");
      terms[n++].begin_ns = proc_json_i64(line, "lease_ns");
    } else if (strstr(line, "\"renewed\"") == NULL && strstr(line, "\"stopped_leading\"") == NULL) {
      continue;
    }
    terms[n - 1].end_ns = proc_json_i64(line, "valid_until_ns");
  }
  return n;
}

static int by_epoch(const void* a, const void* b) {
  const term_t *x = a, *y = b;
  return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

/* One after the other, each with a greater epoch. */
static void judge(void) {
  static term_t terms[64];
  unsigned n = 0;
  for (unsigned i = 0; i < started; i++)
    n = add_terms(processes[i], terms, n, sizeof terms / sizeof terms[0]);
  qsort(terms, n, sizeof *terms, by_epoch);
  assert_true(n > ENDS);
  for (unsigned i = 1; i < n; i++) {
    assert_true(terms[i].epoch > terms[i - 1].epoch);
    assert_true(terms[i].begin_ns >= terms[i - 1].end_ns);
  }
}

/* The store does not answer: the leader ends by its own clock, and one leads when it answers. */
static void survive_outage(int64_t* epoch) {
  proc_signal(s3.fake, SIGSTOP);
  proc_line(processes[leader], PROC_OUT, "\"stopped_leading\"");
  proc_signal(s3.fake, SIGCONT);
  procs_until(&s3.procs, somebody_started, epoch);
}

static void one_leads_at_a_time_whoever_is_killed(void** state) {
  int64_t epoch = 0;
  if (s3l_any_store_is("s3"))
    s3proc_begin_real(&s3, S3L_BUILD_DIR);
  else
    s3proc_begin(&s3, S3L_BUILD_DIR, "test");
  while (started < ELECTORS)
    start();
  for (unsigned i = 0; i < ENDS; i++) {
    procs_until(&s3.procs, somebody_started, &epoch);
    proc_line(processes[leader], PROC_OUT, "\"renewed\"");
    const int signum = i % 3 == 2 ? SIGTERM : SIGKILL;
    assert_int_equal(proc_end(processes[leader], signum), signum == SIGKILL ? 128 + SIGKILL : 0);
    start();
  }
  procs_until(&s3.procs, somebody_started, &epoch);
  if (s3.fake != NULL)
    survive_outage(&epoch);
  judge();
  s3proc_end(&s3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_leads_at_a_time_whoever_is_killed)};
  if (s3l_any_store_is("s3") && getenv("S3LECT_TEST_BUCKET") == NULL) {
    puts("skipped: S3LECT_TEST_BUCKET names no bucket of a real store");
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
