/* The oracle must be able to say no: each check is fed a history that breaks it, and the same
 * history without the break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/oracle.h"

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

/* All clocks show true time, but node 2's, which runs 1 % slow. */
static int64_t boot(void* ctx, int node, int64_t t) {
  (void)ctx;
  return node == 2 ? t - t / 100 : t;
}

static oracle_t o;

static int setup(void** state) {
  (void)state;
  oracle_config_t config = {.leader_timeout_ms = 15000,
                            .renew_interval_ms = 5000,
                            .frequent_interval_ms = 5000,
                            .infrequent_interval_ms = 30000,
                            .drift_ppm = 10000};
  oracle_init(&o, 3, boot, NULL);
  for (int i = 0; i < 3; i++) {
    oracle_set_config(&o, i, &config);
    oracle_begins(&o, i, 0);
  }
  return 0;
}

static void assert_found(unsigned checks) {
  for (int i = 0; i < ORACLE_CHECKS_END; i++)
    if (((o.found ^ checks) & (1u << i)) != 0)
      fail_msg("%s: %s", oracle_check_name((oracle_check_t)i),
               o.violations[i].found ? o.violations[i].text : "was not noticed");
}

#define ONLY(check) (1u << ORACLE_##check)

static const char* const names[] = {"a", "b", "c"};

static oracle_write_t record(int node, int64_t t, uint64_t epoch, uint64_t number) {
  return (oracle_write_t){.node = node,
                          .life = o.nodes[node].life,
                          .sent_boot = boot(NULL, node, t),
                          .epoch = epoch,
                          .number = number,
                          .incarnation = 100 + (uint64_t)node,
                          .leader_id = names[node]};
}

static void writes(int node, int64_t t, uint64_t epoch, uint64_t number) {
  oracle_write_t w = record(node, t, epoch, number);
  oracle_write_sent(&o, t, &w);
  oracle_write_landed(&o, t, &w);
  oracle_write_done(&o, node, false);
}

static int64_t lease(int node, int64_t sent) {
  return boot(NULL, node, sent) + 14850 * MS;
}

static void tells(int node, int64_t t, oracle_note_kind_t kind, uint64_t epoch, int64_t valid) {
  oracle_note_t note = {.kind = kind, .epoch = epoch, .valid_until = valid, .leader_id = ""};
  oracle_note(&o, node, t, &note);
}

/* Takes the lease at t, and is told so. */
static void leads(int node, int64_t t, uint64_t epoch) {
  writes(node, t, epoch, 1);
  oracle_valid(&o, node, t, lease(node, t));
  tells(node, t, ORACLE_STARTED, epoch, lease(node, t));
}

static void stops(int node, int64_t t, uint64_t epoch) {
  oracle_valid(&o, node, t, 0);
  tells(node, t, ORACLE_STOPPED, epoch, t);
}

static void test_nothing_wrong(void** state) {
  (void)state;
  leads(0, S, 5);
  writes(0, 6 * S, 5, 2);
  oracle_valid(&o, 0, 6 * S, lease(0, 6 * S));
  tells(0, 6 * S, ORACLE_RENEWED, 5, lease(0, 6 * S));
  stops(0, 20 * S, 5);
  leads(1, 20 * S, 6);
  oracle_note_t named = {.kind = ORACLE_NEW_LEADER, .leader_id = "b"};
  oracle_note(&o, 0, 21 * S, &named);
  stops(1, 30 * S, 6);
  assert_found(0);
  assert_int_equal(o.leaderships, 2);
}

static void test_two_leaders(void** state) {
  (void)state;
  leads(0, S, 5);
  leads(1, S + 14850 * MS - 1, 6);
  assert_found(ONLY(EXCLUSION));
  assert_int_equal(o.violations[ORACLE_EXCLUSION].node, 1);
  assert_int_equal(o.violations[ORACLE_EXCLUSION].other, 0);
}

static void test_the_next_one_at_the_end_of_validity(void** state) {
  (void)state;
  leads(0, S, 5);
  oracle_blocked(&o, 0, 100 * S); /* paused: not told in time, and no longer leader all the same */
  leads(1, S + 14850 * MS, 6);
  assert_found(0);
}

static void test_a_slow_clock_believes_longer(void** state) {
  (void)state;
  leads(2, 0, 5);
  oracle_blocked(&o, 2, 100 * S);
  leads(1, 14990 * MS, 6); /* 14840.1 ms on the clock of node 2 */
  assert_found(ONLY(EXCLUSION));
}

static void test_a_dead_process_does_not_believe(void** state) {
  (void)state;
  leads(0, S, 5);
  oracle_dies(&o, 0, 2 * S);
  leads(1, 3 * S, 6);
  assert_found(0);
}

static void test_epochs(void** state) {
  (void)state;
  leads(0, S, 5);
  stops(0, 2 * S, 5);
  oracle_deleted(&o);
  leads(1, 3 * S, 4);
  assert_found(ONLY(EPOCH_ORDER));
  stops(1, 4 * S, 4);
  oracle_deleted(&o);
  leads(2, 5 * S, 5);
  assert_found(ONLY(EPOCH_ORDER) | ONLY(EPOCH_SHARED));
}

static void test_a_record_replaces_one_of_a_higher_epoch(void** state) {
  (void)state;
  writes(0, S, 5, 1);
  writes(1, 2 * S, 4, 1);
  assert_found(ONLY(EPOCH_ORDER));
}

static void test_two_write_records_of_one_epoch(void** state) {
  (void)state;
  writes(0, S, 5, 1);
  writes(1, 2 * S, 5, 1);
  assert_found(ONLY(EPOCH_SHARED));
}

static void test_started_twice(void** state) {
  (void)state;
  leads(0, S, 5);
  tells(0, 2 * S, ORACLE_STARTED, 6, lease(0, S));
  assert_found(ONLY(PAIRING));
}

static void test_stopped_without_start(void** state) {
  (void)state;
  stops(0, S, 5);
  assert_found(ONLY(PAIRING));
}

static void test_stopped_of_another_epoch(void** state) {
  (void)state;
  leads(0, S, 5);
  stops(0, 2 * S, 4);
  assert_found(ONLY(PAIRING));
}

static void test_stopped_yet_leader(void** state) {
  (void)state;
  leads(0, S, 5);
  tells(0, 2 * S, ORACLE_STOPPED, 5, 2 * S);
  assert_found(ONLY(PAIRING));
}

static void test_renewed_backwards(void** state) {
  (void)state;
  leads(0, S, 5);
  tells(0, 2 * S, ORACLE_RENEWED, 5, lease(0, S));
  assert_found(ONLY(PAIRING));
}

static void test_stopped_late(void** state) {
  (void)state;
  leads(0, S, 5);
  stops(0, 16 * S, 5);
  assert_found(ONLY(STOP_LATE));
}

static void test_stopped_late_after_a_pause(void** state) {
  (void)state;
  leads(0, S, 5);
  oracle_blocked(&o, 0, 16 * S);
  stops(0, 16 * S, 5);
  assert_found(0);
}

static void test_never_stopped(void** state) {
  (void)state;
  leads(0, S, 5);
  oracle_dies(&o, 0, 16 * S);
  assert_found(ONLY(STOP_LATE));
}

static void test_validity_without_a_write(void** state) {
  (void)state;
  oracle_write_t w = record(0, S, 5, 1);
  oracle_write_sent(&o, S, &w); /* and never landed */
  oracle_valid(&o, 0, 2 * S, lease(0, S));
  assert_found(ONLY(LEASE));
}

static void test_validity_from_the_reply(void** state) {
  (void)state;
  writes(0, S, 5, 1);
  oracle_valid(&o, 0, 2 * S, lease(0, S) + 1);
  assert_found(ONLY(LEASE));
}

static void test_validity_from_a_former_process(void** state) {
  (void)state;
  writes(0, S, 5, 1);
  oracle_dies(&o, 0, 2 * S);
  oracle_begins(&o, 0, 3 * S);
  oracle_valid(&o, 0, 4 * S, lease(0, S));
  assert_found(ONLY(LEASE));
}

static void test_resurrected(void** state) {
  (void)state;
  leads(0, S, 5);
  writes(0, 15 * S, 5, 2);
  oracle_blocked(&o, 0, 17 * S);
  oracle_valid(&o, 0, 17 * S, lease(0, 15 * S));
  assert_found(ONLY(RESURRECTED));
}

static void test_a_leader_who_never_wrote(void** state) {
  (void)state;
  oracle_note_t named = {.kind = ORACLE_NEW_LEADER, .leader_id = "b"};
  writes(0, S, 5, 1);
  oracle_note(&o, 0, 2 * S, &named);
  assert_found(ONLY(LEADER_NAME));
}

static void releases(int node, int64_t t, uint64_t epoch) {
  oracle_write_t w = record(node, t, epoch, 9);
  w.released = true;
  oracle_write_sent(&o, t, &w);
  oracle_write_landed(&o, t, &w);
}

static void test_released_while_leading(void** state) {
  (void)state;
  leads(0, S, 5);
  releases(0, 2 * S, 5);
  assert_found(ONLY(RELEASE));
}

static void test_led_after_its_release(void** state) {
  (void)state;
  writes(0, S, 5, 1);
  releases(0, 2 * S, 5);
  oracle_valid(&o, 0, 3 * S, lease(0, S));
  tells(0, 3 * S, ORACLE_STARTED, 5, lease(0, S));
  assert_found(ONLY(RELEASE));
}

static void test_acknowledgement(void** state) {
  (void)state;
  o.nodes[0].config.stop_ack_ms = 1000;
  leads(0, S, 5);
  stops(0, 2 * S, 5);
  oracle_acknowledged(&o, 0);
  releases(0, 3 * S, 5);
  assert_found(0);
  leads(0, 4 * S, 6);
  stops(0, 5 * S, 6);
  o.nodes[0].number = 0;
  releases(0, 6 * S, 6);
  assert_true((o.found & ONLY(RELEASE_ACK)) != 0);
}

static void test_written_while_uncertain(void** state) {
  (void)state;
  oracle_write_t w = record(0, S, 5, 1);
  oracle_write_sent(&o, S, &w);
  oracle_write_done(&o, 0, true);
  oracle_read_sent(&o, 0, 2 * S);
  oracle_read_done(&o, 0, true);
  w.number = 2;
  oracle_write_sent(&o, 3 * S, &w);
  assert_found(0);
  oracle_write_done(&o, 0, true);
  oracle_read_sent(&o, 0, 4 * S);
  oracle_read_done(&o, 0, false); /* it told nothing */
  w.number = 3;
  oracle_write_sent(&o, 5 * S, &w);
  assert_found(ONLY(READ_BACK));
}

static void test_a_write_number_twice(void** state) {
  (void)state;
  writes(0, S, 5, 3);
  writes(0, 2 * S, 5, 3);
  assert_found(ONLY(WRITE_NUMBER));
}

/* An hour in which node 0 leads, renewing each `renew`, and the others read each `poll`; 0: never.
 */
static void quiet_hour(int64_t renew, int64_t poll) {
  int64_t from = 100 * S;
  leads(0, from, 5);
  oracle_quiet_begins(&o, from);
  uint64_t n = 2;
  for (int64_t t = from + renew; t < from + 3600 * S; t += renew) {
    writes(0, t, 5, n++);
    oracle_valid(&o, 0, t, lease(0, t));
    tells(0, t, ORACLE_RENEWED, 5, lease(0, t));
  }
  for (int64_t t = from; poll > 0 && t < from + 3600 * S; t += poll)
    for (int i = 1; i < 3; i++) {
      oracle_read_sent(&o, i, t);
      oracle_read_done(&o, i, true);
    }
  oracle_quiet_ends(&o, from + 3600 * S);
}

static void test_quiet_hour(void** state) {
  (void)state;
  quiet_hour(4750 * MS, 30 * S);
  assert_found(0);
}

static void test_a_leader_that_writes_too_often(void** state) {
  (void)state;
  quiet_hour(4 * S, 30 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_read_too_often(void** state) {
  (void)state;
  quiet_hour(4750 * MS, 20 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_hardly_read(void** state) {
  (void)state;
  quiet_hour(4750 * MS, 60 * S);
  assert_found(ONLY(BUDGET));
}

static void all_in_peer_mode(bool proven) {
  for (int i = 0; i < 3; i++) {
    o.nodes[i].config.peer_mode = true;
    o.nodes[i].config.peer_proven = proven;
  }
}

static void test_followers_that_ask_a_proven_leader(void** state) {
  (void)state;
  all_in_peer_mode(true);
  quiet_hour(4750 * MS, 0);
  assert_found(0);
}

static void test_followers_that_ask_and_read(void** state) {
  (void)state;
  all_in_peer_mode(true);
  quiet_hour(4750 * MS, 1000 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_ask_whoever_it_is(void** state) {
  (void)state;
  all_in_peer_mode(false);
  quiet_hour(4750 * MS, 120 * S);
  assert_found(0);
}

static void test_followers_that_trust_whoever_it_is(void** state) {
  (void)state;
  all_in_peer_mode(false);
  quiet_hour(4750 * MS, 1000 * S);
  assert_found(ONLY(BUDGET));
}

static void test_followers_that_ask_in_vain(void** state) {
  (void)state;
  all_in_peer_mode(true);
  o.nodes[0].config.peer_mode = false;
  quiet_hour(4750 * MS, 5 * S);
  assert_found(0);
}

static void test_trial(void** state) {
  (void)state;
  leads(0, S, 5);
  stops(0, 10 * S, 5);
  leads(1, 11 * S, 6);
  oracle_trial_ends(&o, 12 * S, 0);
  assert_found(0);
  stops(1, 13 * S, 6);
  oracle_trial_ends(&o, 14 * S, 0);
  assert_found(ONLY(REPLACED));
}

static void test_trial_of_one_who_leads_on(void** state) {
  (void)state;
  leads(0, S, 5);
  oracle_trial_ends(&o, 12 * S, 0);
  assert_found(ONLY(REPLACED));
}

static void names_successor(int node, int64_t t, uint64_t epoch, const char* successor) {
  oracle_write_t w = record(node, t, epoch, 9);
  w.released = true;
  w.successor = successor;
  oracle_write_sent(&o, t, &w);
  oracle_write_landed(&o, t, &w);
}

static void test_head_start(void** state) {
  (void)state;
  names_successor(0, S, 5, "b");
  writes(1, S + MS, 6, 1);
  names_successor(1, 2 * S, 6, "a");
  writes(2, 4 * S, 7, 1); /* the head start is over: anybody */
  assert_found(0);
}

static void test_head_start_of_another(void** state) {
  (void)state;
  names_successor(0, S, 5, "b");
  writes(2, 2 * S, 6, 1);
  assert_found(ONLY(HEAD_START));
}

static void test_no_leader_in_quiet(void** state) {
  (void)state;
  oracle_quiet_begins(&o, S);
  assert_found(ONLY(LIVENESS));
}

static void test_a_change_of_leader_in_quiet(void** state) {
  (void)state;
  leads(0, S, 5);
  oracle_quiet_begins(&o, 2 * S);
  assert_found(0);
  stops(0, 3 * S, 5);
  assert_found(ONLY(LIVENESS));
}

#define T(test) cmocka_unit_test_setup(test, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_nothing_wrong),
      T(test_two_leaders),
      T(test_the_next_one_at_the_end_of_validity),
      T(test_a_slow_clock_believes_longer),
      T(test_a_dead_process_does_not_believe),
      T(test_epochs),
      T(test_a_record_replaces_one_of_a_higher_epoch),
      T(test_two_write_records_of_one_epoch),
      T(test_started_twice),
      T(test_stopped_without_start),
      T(test_stopped_of_another_epoch),
      T(test_stopped_yet_leader),
      T(test_renewed_backwards),
      T(test_stopped_late),
      T(test_stopped_late_after_a_pause),
      T(test_never_stopped),
      T(test_validity_without_a_write),
      T(test_validity_from_the_reply),
      T(test_validity_from_a_former_process),
      T(test_resurrected),
      T(test_a_leader_who_never_wrote),
      T(test_released_while_leading),
      T(test_led_after_its_release),
      T(test_acknowledgement),
      T(test_written_while_uncertain),
      T(test_a_write_number_twice),
      T(test_quiet_hour),
      T(test_a_leader_that_writes_too_often),
      T(test_followers_that_read_too_often),
      T(test_followers_that_hardly_read),
      T(test_followers_that_ask_a_proven_leader),
      T(test_followers_that_ask_and_read),
      T(test_followers_that_ask_whoever_it_is),
      T(test_followers_that_trust_whoever_it_is),
      T(test_followers_that_ask_in_vain),
      T(test_trial),
      T(test_trial_of_one_who_leads_on),
      T(test_head_start),
      T(test_head_start_of_another),
      T(test_no_leader_in_quiet),
      T(test_a_change_of_leader_in_quiet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
