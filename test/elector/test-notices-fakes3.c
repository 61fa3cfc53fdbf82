/* What a store finds out by itself reaches the application: the bucket's region, this machine's
 * clock, weak ETags; each once, through on_error. */
#include <string.h>

#include "lib/election.h"
#include "lib/test.h"

static s3l_election_t el;

static void assert_told(const s3l_candidate_t* c, int code, const char* message) {
  assert_int_equal(c->errors, 1);
  assert_int_equal(c->error, code);
  if (strstr(c->message, message) == NULL)
    fail_msg("\"%s\" does not hold \"%s\"", c->message, message);
}

static void lead(s3l_candidate_t* c) {
  s3l_candidate_init(&el, c, "a");
  s3l_candidate_start(c);
  s3l_election_wait(&el, &c->started, 1, "leadership");
  s3l_election_wait(&el, &c->renewed, 3, "renewals");
}

static void tells_of_the_region(void** state) {
  s3l_candidate_t a, b;
  fakes3_counters_t counters;
  s3l_election_init(&el, &(fakes3_options_t){.region = "eu-north-1"});
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  lead(&a);
  assert_told(&a, S3LECT_EREGION, "the bucket is in region eu-north-1, not in us-east-1");
  /* Another elector on the same store is right at once, and need not hear of it. */
  s3l_candidate_init(&el, &b, "b");
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.leaders, 1, "a leader to be seen");
  assert_int_equal(b.errors, 0);
  assert_int_equal(a.stopped, 0);
  fakes3_counters(el.server, &counters);
  assert_int_equal(counters.unauthorized, 1); /* of all that was asked so far */
  s3l_election_end(&el);
}

/* In the middle of a leadership: it goes on. */
static void tells_of_the_clock(void** state) {
  s3l_candidate_t c;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  lead(&c);
  assert_int_equal(c.errors, 0);
  fakes3_set_clock_offset(el.server, 3600 * 1000);
  s3l_election_wait(&el, &c.errors, 1, "the notice");
  s3l_election_wait(&el, &c.renewed, c.renewed + 3, "renewals");
  assert_told(&c, S3LECT_ESKEW, " s behind the store's: requests are signed with the store's time");
  assert_int_equal(c.stopped, 0);
  s3l_election_end(&el);
}

static void tells_of_weak_etags(void** state) {
  s3l_candidate_t c;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_election_fault(&el, "{\"weak_etag\":true}");
  lead(&c);
  assert_told(&c, S3LECT_EETAG, "ETags come weak");
  s3l_election_end(&el);
}

/* The examination before the first election finds out, and leaves the notice to the elector. */
static void verify_on_start_keeps_the_notice(void** state) {
  s3l_candidate_t c;
  s3l_election_init(&el, &(fakes3_options_t){.region = "eu-north-1"});
  s3l_election_begin(&el);
  s3l_candidate_init(&el, &c, "a");
  c.o.verify_on_start = 1;
  s3l_candidate_start(&c);
  s3l_election_wait(&el, &c.errors, 1, "the notice");
  assert_told(&c, S3LECT_EREGION, "the bucket is in region eu-north-1");
  s3l_election_end(&el);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_of_the_region),
      cmocka_unit_test(tells_of_the_clock),
      cmocka_unit_test(tells_of_weak_etags),
      cmocka_unit_test(verify_on_start_keeps_the_notice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
