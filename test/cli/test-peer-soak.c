/* Ten minutes for real of three processes with TLS and client certificates: the followers ask the
 * store for nothing, the leader writes once for each renewal. Only if S3LECT_SOAK is set
 * (test/run.sh --full), or S3LECT_SOAK_SECONDS, which says for how long.
 *
 * ctest labels: no-valgrind full */
#include <stdio.h>
#include <stdlib.h>

#include "lib/group_certs.h"
#include "lib/peer_proc.h"
#include "lib/protocol.h"
#include "lib/test.h"

#define SECONDS 600

static int64_t seconds = SECONDS;

/* Number of the fake's newest request. */
static unsigned long newest(s3proc_t* s3, unsigned long since) {
  (void)s3l_peerproc_requests(s3, &certs, &since);
  return since;
}

static void followers_cost_nothing_for_long(void** state) {
  s3proc_t s3;
  proc_t* p[3];
  unsigned puts = 0, lists = 0, renewals = 0;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  s3proc_seed(&s3);
  s3l_peerproc_settle(&s3, &certs, p);
  while (proc_try_line(p[0], PROC_OUT, S3L_RENEWED, true) != NULL)
    continue; /* what has been said by now */
  unsigned long first = newest(&s3, 0), since = first;
  int64_t begin = 0, now = 0;
  while (now - begin < seconds * INT64_C(1000000000)) {
    for (int i = 0; i < 20; i++) {
      now = proc_json_i64(proc_line(p[0], PROC_OUT, S3L_RENEWED), "lease_ns");
      begin = begin != 0 ? begin : now;
      renewals++;
    }
    s3l_requests_t n = s3l_peerproc_requests(&s3, &certs, &since);
    puts += n.puts;
    lists += n.lists;
  }
  while (proc_try_line(p[0], PROC_OUT, S3L_RENEWED, true) != NULL)
    renewals++;
  print_message("%u renewals, %lu requests to the store, of them %u PUT\n", renewals, since - first,
                puts);
  /* Nobody asked for anything else than, with epoch files, the leader behind each renewal. */
  assert_int_equal(since - first, puts + lists);
  assert_in_range(lists, s3l_test_epochs() ? puts - 2 : 0, s3l_test_epochs() ? puts + 2 : 0);
  /* One for each renewal: the first or the last may have been under way as one looked. */
  assert_in_range(puts, renewals - 2, renewals + 2);
  for (int i = 0; i < 3; i++) {
    proc_rewind(p[i], PROC_OUT);
    assert_null(proc_try_line(p[i], PROC_OUT, S3L_STOPPED, true));
    proc_rewind(p[i], PROC_OUT);
    assert_null(proc_try_line(p[i], PROC_OUT, "\"event\":\"error\"", true));
  }
  s3proc_end(&s3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(followers_cost_nothing_for_long)};
  const char* other = getenv("S3LECT_SOAK_SECONDS");
  if (getenv("S3LECT_SOAK") == NULL && other == NULL) {
    printf("skipped: it takes ten minutes; set S3LECT_SOAK\n");
    return 77;
  }
  if (other != NULL)
    seconds = strtol(other, NULL, 10);
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
