/* In steady state a renewal over a warm plain-HTTP connection takes nothing from the heap.
 *
 * ctest labels: no-valgrind */

#include "lib/election.h"
#include "lib/heap.h"
#include "lib/test.h"

static void test_renewals_do_not_allocate(void** state) {
  static s3l_election_t el;
  static s3l_candidate_t c;
  s3l_heap_install();
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &c, "a");
  s3l_candidate_start(&c);
  s3l_election_wait(&el, &c.renewed, 2, "the first renewals");
  size_t warm = s3l_heap_count();
  fakes3_counters_t before;
  fakes3_counters(el.server, &before);
  assert_true(warm > 0); /* the hook is in use */
  s3l_election_wait(&el, &c.renewed, 12, "ten more");
  assert_int_equal(s3l_heap_count(), warm);
  fakes3_counters_t after;
  fakes3_counters(el.server, &after);
  assert_int_equal(after.connections, before.connections); /* it was warm all along */
  /* One request per renewal, and with epoch files a listing behind it. */
  assert_int_equal(after.put, before.put + 10);
  assert_int_equal(after.list, before.list + (el.epochs ? 10 : 0));
  assert_int_equal(after.requests, before.requests + (el.epochs ? 20 : 10));
  s3l_election_end(&el);
  s3l_heap_remove();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_renewals_do_not_allocate)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
