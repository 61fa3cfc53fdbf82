/* s3lect_elector_update: what changes, when it shows, and what is refused without an effect.
 *
 * ctest labels: tsan */
#include <string.h>

#include "lib/election.h"
#include "lib/protocol.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_election_t el;
static s3l_candidate_t a, b;
static char addr_of_leader[S3LECT_ADDR_SIZE]; /* as b was told */

static void on_new_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = e->data;
  (void)snprintf(addr_of_leader, sizeof addr_of_leader, "%s", ev->leader_addr);
  c->leaders++;
}

static int setup(void** state) {
  (void)state;
  addr_of_leader[0] = '\0';
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_init(&el, &b, "b");
  a.o.server_addr = "10.0.0.1:80";
  b.o.on_new_leader = on_new_leader;
  return 0;
}

static int teardown(void** state) {
  (void)state;
  s3l_election_end(&el);
  return 0;
}

static int update(s3l_candidate_t* c) {
  return s3lect_elector_update(&c->e, &c->o, NULL);
}

static void test_address(void** state) {
  s3l_election_lead(&el, &a, &b);
  assert_string_equal(addr_of_leader, "10.0.0.1:80");
  unsigned told = a.leaders;
  char text[] = "a-much-longer-name.example.com:8080";
  a.o.server_addr = text;
  assert_int_equal(update(&a), 0);
  memset(text, 'x', sizeof text - 1); /* it was copied */
  s3l_election_wait(&el, &b.leaders, 2, "the other address");
  assert_string_equal(addr_of_leader, "a-much-longer-name.example.com:8080");
  a.o.server_addr = "10.0.0.3:80";
  assert_int_equal(update(&a), 0);
  a.o.server_addr = "10.0.0.4:80";
  assert_int_equal(update(&a), 0); /* in its place */
  s3l_election_wait(&el, &b.leaders, 3, "the last address");
  assert_string_equal(addr_of_leader, "10.0.0.4:80");
  assert_int_equal(a.leaders, told);
  assert_int_equal(a.stopped + a.errors + b.errors, 0);
  /* The record of a transfer has room for the address that it was asked for with. */
  a.o.server_addr = "another-much-longer-name.example.com:8080";
  assert_int_equal(s3lect_elector_transfer(&a.e, "b"), 0);
  assert_int_equal(update(&a), 0);
  s3l_election_wait(&el, &b.started, 1, "b to lead");
}

static void test_intervals(void** state) {
  s3l_election_lead(&el, &a, &b);
  a.o.renew_interval_ms = 200;
  a.o.request_timeout_ms = 450;
  a.o.warn_before_ms = 900;
  assert_int_equal(update(&a), 0);
  s3l_election_wait(&el, &a.renewed, a.renewed + 3, "renewals");
  assert_int_equal(s3l_election_record(&el).renew_interval_ms, 200);
  b.o.frequent_interval_ms = b.o.infrequent_interval_ms = 100;
  assert_int_equal(update(&b), 0);
  uint64_t reads = s3l_candidate_stats(&b).reads;
  unsigned renewed = a.renewed;
  s3l_election_wait(&el, &a.renewed, renewed + 10, "ten renewals");
  assert_true(s3l_candidate_stats(&b).reads >= reads + 10);
}

static void test_timeout(void** state) {
  s3l_election_lead(&el, &a, &b);
  a.o.leader_timeout_ms = b.o.leader_timeout_ms = 3000;
  s3lect_error_t error;
  assert_int_equal(s3lect_elector_update(&a.e, &a.o, &error), UV_EBUSY);
  assert_string_equal(error.option, "leader_timeout_ms");
  assert_int_equal(update(&b), 0);
  assert_int_equal(s3lect_elector_stop(&a.e), 0);
  s3l_election_wait(&el, &b.renewed, 2, "b to lead");
  assert_int_equal(s3l_election_record(&el).leader_timeout_ms, 3000);
  assert_int_equal(update(&a), 0);
}

static void refuses(int code, const char* option) {
  s3lect_error_t error;
  assert_int_equal(s3lect_elector_update(&a.e, &a.o, &error), code);
  assert_string_equal(error.option, option);
  assert_non_null(strstr(error.text, option));
}

static void test_refusals(void** state) {
  s3l_election_lead(&el, &a, &b);
  const s3lect_elector_options_t good = a.o;
#define REFUSES(member, value, code)                                                               \
  a.o = good;                                                                                      \
  a.o.server_addr = "10.0.0.9:80"; /* is not taken either */                                       \
  a.o.member = value;                                                                              \
  refuses(code, #member)
  REFUSES(server_id, "c", S3LECT_EOPTION);
  REFUSES(lockfile_path, "locks/y", S3LECT_EOPTION);
  REFUSES(drift_ppm, 20000, S3LECT_EOPTION);
  REFUSES(observer, 1, S3LECT_EOPTION);
  REFUSES(no_release, 1, S3LECT_EOPTION);
  REFUSES(peer_health_path, "/other", S3LECT_EOPTION);
  REFUSES(server_addr, "\xff", S3LECT_EOPTION);
  REFUSES(renew_deadline_ms, 2000, S3LECT_ETIMING);
  a.o = good;
  a.o.request_timeout_ms = 400;
  a.o.protocol = 1 - s3l_test_protocol();
  refuses(S3LECT_EOPTION, "protocol");
  a.o = good;
  a.o.renew_interval_ms = 2300;
  refuses(S3LECT_ETIMING, "leader_timeout_ms");
  a.o = good;
  s3l_election_wait(&el, &a.renewed, a.renewed + 2, "renewals");
  s3lect_record_t record = s3l_election_record(&el);
  assert_string_equal(record.leader_addr, "10.0.0.1:80");
  assert_int_equal(record.renew_interval_ms, 300);
}

/* At any time: before the start, in callbacks, while a write is under way, before the close. */
static void update_in_callback(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)ev;
  static const char* const addrs[] = {"10.0.0.1:80", "h:1", "some-name.example.com:443"};
  s3l_candidate_t* c = e->data;
  c->o.server_addr = addrs[c->renewed++ % 3];
  assert_int_equal(update(c), 0);
}

static void test_any_time(void** state) {
  a.o.on_renewed = update_in_callback;
  s3l_candidate_start(&a);
  assert_int_equal(update(&a), 0);
  s3l_election_wait(&el, &a.started, 1, "a to lead");
  for (unsigned n = 1; n < 8; n++) {
    s3l_election_wait(&el, &a.renewed, n, "a renewal");
    assert_int_equal(update(&a), 0);
  }
  assert_int_equal(s3lect_elector_stop(&a.e), 0);
  assert_int_equal(update(&a), 0);
  s3l_election_wait(&el, &a.stopped, 1, "a to stop");
  assert_int_equal(update(&a), 0);
  while (s3lect_elector_start(&a.e) == UV_EBUSY)
    s3l_turn(&el.loop);
  assert_int_equal(update(&a), 0);
  s3l_election_wait(&el, &a.started, 2, "a to lead again");
  assert_int_equal(update(&a), 0);
  s3l_candidate_close(&a);
  assert_int_equal(update(&a), UV_ECANCELED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(test_address), T(test_intervals), T(test_timeout), T(test_refusals), T(test_any_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
