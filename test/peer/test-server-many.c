/* A thousand followers wait at one leader, plain and under TLS: while nothing happens they cost it
 * nothing to speak of (measured, and printed), and one hand-over answers all of them. What is
 * held knows nothing of the protocol.
 *
 * ctest labels: no-valgrind one-protocol */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/group_certs.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define FOLLOWERS 1000
/* Both ends of each connection are here. */
#define DESCRIPTORS (2 * FOLLOWERS + 200)
#define WAIT        "GET " S3LECT_PEER_HEALTH_PATH " HTTP/1.1\r\nHost: x\r\nPrefer: wait=3600\r\n\r\n"
#define RENEWALS    10

static s3l_house_t h;
static s3l_caller_t* callers[FOLLOWERS];

static uint64_t renewals(void) {
  s3lect_stats_t s = {.size = sizeof s};
  assert_int_equal(s3lect_elector_stats(&h.e[0], &s), 0);
  return s.renewals;
}

static bool has_renewed(void* arg) {
  return renewals() >= *(const uint64_t*)arg;
}

static double cpu_ms(void) {
  struct rusage u;
  assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* What so many renewals take of the processor. */
static double cost(void) {
  uint64_t until = renewals() + RENEWALS;
  double before = cpu_ms();
  s3l_wait(&h.loop, has_renewed, &until, "renewals");
  return cpu_ms() - before;
}

static size_t told;

static bool all_are_told(void* arg) {
  const char* text = arg;
  while (told < FOLLOWERS && strstr(callers[told]->text, text) != NULL) {
    assert_int_equal(callers[told]->ended, 0);
    told++;
  }
  return told == FOLLOWERS;
}

static void run(s3l_tls_context_t* tls) {
  h.options.max_connections = h.options.max_held = h.options.max_per_address = FOLLOWERS + 10;
  h.o[0].frequent_interval_ms = h.o[0].infrequent_interval_ms = 200;
  s3l_house_open_leading(&h);
  s3l_wait_pace(S3L_PACE_REAL); /* what it costs is measured */
  double alone = cost();
  for (size_t i = 0; i < FOLLOWERS; i++) {
    callers[i] = s3l_house_caller(&h, tls);
    s3l_caller_open(callers[i]);
    s3l_caller_send(callers[i], WAIT);
  }
  (void)s3l_house_ask(&h, tls, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found");
  double waited_on = cost();
  print_message("%d renewals%s: %.1f ms of CPU alone, %.1f ms with %d held\n", RENEWALS,
                tls != NULL ? ", TLS" : "", alone, waited_on, FOLLOWERS);
  for (size_t i = 0; i < FOLLOWERS; i++)
    assert_string_equal(callers[i]->text, "");
  double before = cpu_ms();
  int64_t begin = s3lect_now_ns();
  told = 0;
  assert_int_equal(s3lect_elector_resign(&h.e[0]), 0);
  s3l_wait(&h.loop, all_are_told, (void*)(uintptr_t) "404 Not Found", "answers for all");
  print_message("a hand-over told to all of them: %.1f ms, of CPU %.1f ms, both ends\n",
                (double)(s3lect_now_ns() - begin) / 1e6, cpu_ms() - before);
  for (size_t i = 0; i < FOLLOWERS; i++)
    s3l_caller_free(callers[i]);
  s3l_house_end(&h);
}

static void test_plain(void** state) {
  s3l_house_init(&h, NULL);
  run(NULL);
}

static void test_tls(void** state) {
  s3l_tls_context_t* tls = s3l_client_context(certs.ca, certs.good);
  s3l_house_init(&h, &certs);
  run(tls);
  s3l_tls_context_free(tls);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain),
      cmocka_unit_test(test_tls),
  };
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 1;
  if (limit.rlim_cur < DESCRIPTORS) {
    limit.rlim_cur = DESCRIPTORS;
    if (limit.rlim_max < DESCRIPTORS || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      printf("skipped: %d descriptors are needed, and %llu allowed\n", DESCRIPTORS,
             (unsigned long long)limit.rlim_max);
      return 77;
    }
  }
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
