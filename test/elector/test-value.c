/* s3lect_elector_set_value: what a leader publishes, when followers see it, and that it ends with
 * its epoch.
 *
 * ctest labels: tsan */
#include <stdio.h>
#include <string.h>

#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_election_t el;
static s3l_candidate_t a, b;

/* What a follower, or the leader itself, was told last. */
typedef struct told_s {
  unsigned times;
  uint64_t epoch;
  char text[S3LECT_VALUE_SIZE];
} told_t;

static told_t told_a, told_b;

static void on_value(s3lect_elector_t* e, const s3lect_event_t* ev) {
  told_t* told = e == &a.e ? &told_a : &told_b;
  assert_int_equal(ev->kind, S3LECT_EVENT_VALUE);
  told->times++;
  told->epoch = ev->epoch;
  (void)snprintf(told->text, sizeof told->text, "%s", ev->value);
  s3lect_status_t status = {.size = sizeof status};
  assert_int_equal(s3lect_elector_status(e, &status), 0);
  assert_string_equal(status.record.value, ev->value);
  assert_int_equal(status.record.epoch, ev->epoch);
}

static int setup(void** state) {
  (void)state;
  memset(&told_a, 0, sizeof told_a);
  memset(&told_b, 0, sizeof told_b);
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_init(&el, &b, "b");
  a.o.on_value = b.o.on_value = on_value;
  return 0;
}

static int teardown(void** state) {
  (void)state;
  s3l_election_end(&el);
  return 0;
}

/* Hands leadership over. A released epoch file invites only those who have watched for a leader
 * timeout. */
static void transfer(s3l_candidate_t* from, s3l_candidate_t* to) {
  unsigned started = to->started;
  if (el.epochs)
    s3l_election_wait(&el, &from->renewed, from->renewed + 12, "a leader timeout");
  assert_int_equal(s3lect_elector_transfer(&from->e, to->o.server_id), 0);
  s3l_election_wait(&el, &to->started, started + 1, to->o.server_id);
}

static void wait_b(unsigned times, const char* text) {
  s3l_election_wait(&el, &told_b.times, times, text[0] != '\0' ? text : "no value");
  assert_int_equal(told_b.times, times);
  assert_string_equal(told_b.text, text);
}

/* With the renewals that come anyway. */
static void test_set_while_leading(void** state) {
  char text[] = "writer of shard \xc3\xa9 \"7\"\n";
  s3l_election_lead(&el, &a, &b);
  assert_int_equal(told_a.times + told_b.times, 0);
  size_t writes = s3l_election_writes(&el);
  unsigned renewed = a.renewed;
  assert_int_equal(s3lect_elector_set_value(&a.e, text, 0), 0);
  memset(text, 'x', sizeof text - 1); /* it was copied */
  wait_b(1, "writer of shard \xc3\xa9 \"7\"\n");
  assert_int_equal(told_b.epoch, a.epoch);
  assert_string_equal(told_a.text, told_b.text);
  assert_string_equal(s3l_election_record(&el).value, told_b.text);
  s3l_election_wait(&el, &a.renewed, renewed + 4, "renewals");
  assert_in_range(s3l_election_writes(&el) - writes, a.renewed - renewed, a.renewed - renewed + 1);
  assert_int_equal(told_b.times, 1);
  assert_int_equal(s3lect_elector_set_value(&a.e, "first", 0), 0);
  assert_int_equal(s3lect_elector_set_value(&a.e, "second", 0), 0); /* in its place */
  wait_b(2, "second");
  assert_int_equal(s3lect_elector_set_value(&a.e, NULL, 0), 0);
  wait_b(3, "");
  assert_string_equal(s3l_election_record(&el).value, "");
  assert_int_equal(a.errors + b.errors + a.stopped, 0);
}

/* Set before leading, and for every leadership from then on; the other has none of its own. */
static void test_bound_to_the_epoch(void** state) {
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &b.started, 1, "b to lead");
  assert_int_equal(told_b.times, 0);
  s3l_candidate_start(&a);
  assert_int_equal(s3lect_elector_set_value(&a.e, "a leads", 0), 0);
  transfer(&b, &a);
  wait_b(1, "a leads");
  assert_int_equal(told_b.epoch, a.epoch);
  transfer(&a, &b);
  wait_b(2, "");
  assert_int_equal(told_b.epoch, b.epoch);
  s3l_election_wait(&el, &told_a.times, 2, "a to see that");
  assert_string_equal(told_a.text, "");
  transfer(&b, &a);
  wait_b(3, "a leads");
  assert_int_equal(told_b.epoch, a.epoch);
}

/* An early renewal: by the condition of every other one, and with a number of its own. */
static void test_at_once(void** state) {
  a.o.renew_interval_ms = 900;
  a.o.leader_timeout_ms = b.o.leader_timeout_ms = 4800;
  s3l_election_lead(&el, &a, &b);
  for (unsigned n = 1; n <= 5; n++) {
    char text[16];
    (void)snprintf(text, sizeof text, "step %u", n);
    s3lect_record_t before = s3l_election_record(&el);
    size_t writes = s3l_election_writes(&el);
    assert_int_equal(s3lect_elector_set_value(&a.e, text, 1), 0);
    s3l_election_wait(&el, &told_a.times, n, "the value to be written");
    s3lect_record_t after = s3l_election_record(&el);
    assert_string_equal(after.value, text);
    assert_int_equal(after.epoch, before.epoch);
    assert_int_equal(after.write, before.write + (s3l_election_writes(&el) - writes));
  }
  assert_int_equal(a.stopped + a.errors, 0);
  assert_string_equal(told_a.text, "step 5");
}

static void set_in_callback(s3lect_elector_t* e, const s3lect_event_t* ev) {
  s3l_candidate_t* c = e->data;
  c->valid_until_ns = ev->valid_until_ns;
  char text[S3LECT_VALUE_SIZE];
  size_t len = c->renewed++ * 97 % sizeof text;
  memset(text, c->renewed % 3 == 0 ? '\1' : 'v', len);
  text[len] = '\0';
  assert_int_equal(s3lect_elector_set_value(e, text, c->renewed % 2), 0);
}

/* At any time, of any length, beside changes of the address; replies get lost on the way. */
static void test_any_time(void** state) {
  static const char* const addrs[] = {"", "h:1", "some-name.example.com:443"};
  a.o.on_renewed = set_in_callback;
  s3l_candidate_start(&a);
  s3l_candidate_start(&b);
  s3l_election_wait(&el, &a.started, 1, "a to lead");
  for (unsigned n = 1; n < 40; n++) {
    s3l_election_wait(&el, &a.renewed, n, "a renewal");
    a.o.server_addr = addrs[n % 3];
    assert_int_equal(s3lect_elector_update(&a.e, &a.o, NULL), 0);
    if (n % 8 == 0)
      s3l_election_fault(&el, "{\"match\":{\"method\":\"PUT\"},\"count\":1,\"drop_after\":true}");
  }
  s3l_election_heal(&el);
  assert_int_equal(a.stopped, 0);
  assert_true(told_b.times > 0);
  assert_int_equal(told_b.epoch, a.epoch);
}

static void test_refusals(void** state) {
  char text[S3LECT_VALUE_SIZE + 1];
  memset(text, 'v', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  s3l_election_lead(&el, &a, &b);
  assert_int_equal(s3lect_elector_set_value(&a.e, text, 0), S3LECT_EOPTION);
  assert_int_equal(s3lect_elector_set_value(&a.e, "\xff", 0), S3LECT_EOPTION);
  text[sizeof text - 2] = '\0';
  assert_int_equal(s3lect_elector_set_value(&a.e, text, 0), 0);
  wait_b(1, text);
  s3l_candidate_close(&a);
  assert_int_equal(s3lect_elector_set_value(&a.e, "v", 0), UV_ECANCELED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
      T(test_set_while_leading), T(test_bound_to_the_epoch), T(test_at_once),
      T(test_any_time),          T(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
