/* What the oracle says of leaderships: exclusion, epochs, what is told when, validity, writes. */
#include "sim/history.h"

static void test_nothing_wrong(void** state) {
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
  leads(0, S, 5);
  leads(1, S + 14850 * MS - 1, 6);
  assert_found(ONLY(EXCLUSION));
  assert_int_equal(o.violations[ORACLE_EXCLUSION].node, 1);
  assert_int_equal(o.violations[ORACLE_EXCLUSION].other, 0);
}

static void test_the_next_one_at_the_end_of_validity(void** state) {
  leads(0, S, 5);
  oracle_blocked(&o, 0, 100 * S); /* paused: not told in time, and no longer leader all the same */
  leads(1, S + 14850 * MS, 6);
  assert_found(0);
}

static void test_a_slow_clock_believes_longer(void** state) {
  leads(2, 0, 5);
  oracle_blocked(&o, 2, 100 * S);
  leads(1, 14990 * MS, 6); /* 14840.1 ms on the clock of node 2 */
  assert_found(ONLY(EXCLUSION));
}

/* A machine that was paused believes for too long. Its epoch is still judged. */
static void test_a_clock_that_stood_still(void** state) {
  leads(0, S, 5);
  oracle_beyond(&o, 0, 12 * S);
  leads(1, 11 * S, 6);
  assert_found(0);
  stops(1, 11 * S, 6);
  leads(2, 12 * S, 6);
  assert_found(ONLY(EXCLUSION) | ONLY(EPOCH_SHARED));
}

static void test_a_dead_process_does_not_believe(void** state) {
  leads(0, S, 5);
  oracle_dies(&o, 0, 2 * S);
  leads(1, 3 * S, 6);
  assert_found(0);
}

static void test_epochs(void** state) {
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
  writes(0, S, 5, 1);
  writes(1, 2 * S, 4, 1);
  assert_found(ONLY(EPOCH_ORDER));
}

static void test_two_write_records_of_one_epoch(void** state) {
  writes(0, S, 5, 1);
  writes(1, 2 * S, 5, 1);
  assert_found(ONLY(EPOCH_SHARED));
}

static void test_started_twice(void** state) {
  leads(0, S, 5);
  tells(0, 2 * S, ORACLE_STARTED, 6, lease(0, S));
  assert_found(ONLY(PAIRING));
}

static void test_started_late(void** state) {
  writes(0, S, 5, 1);
  oracle_note_t note = {.kind = ORACLE_STARTED, .epoch = 5, .valid_until = lease(0, S)};
  note.stood_still = true;
  oracle_blocked(&o, 0, 60 * S);
  oracle_note(&o, 0, 60 * S, &note);
  assert_found(0);
  stops(0, 60 * S, 5);
  leads(1, 60 * S, 7);
  stops(1, 60 * S, 7);
  note.epoch = 6;
  oracle_note(&o, 0, 60 * S, &note);
  assert_found(0);
  stops(0, 60 * S, 6);
  note.stood_still = false;
  note.epoch = 8;
  oracle_note(&o, 0, 61 * S, &note);
  assert_found(ONLY(PAIRING));
}

static void test_no_leader_twice(void** state) {
  tells(1, S, ORACLE_NO_LEADER, 0, 0);
  leads(0, 2 * S, 5);
  stops(0, 3 * S, 5);
  tells(0, 3 * S, ORACLE_NO_LEADER, 5, 0);
  oracle_stands(&o, 1);
  tells(1, 4 * S, ORACLE_NO_LEADER, 5, 0);
  assert_found(0);
  tells(1, 5 * S, ORACLE_NO_LEADER, 5, 0);
  assert_found(ONLY(PAIRING));
}

static void test_no_leader_but_itself(void** state) {
  leads(0, S, 5);
  tells(0, 2 * S, ORACLE_NO_LEADER, 0, 0);
  assert_found(ONLY(PAIRING));
}

static void publishes(int node, int64_t t, uint64_t epoch, uint64_t number, const char* value) {
  oracle_write_t w = record(node, t, epoch, number);
  w.value = value;
  oracle_write_sent(&o, t, &w);
  oracle_write_landed(&o, t, &w);
  oracle_write_done(&o, node, false);
}

static void sees(int node, int64_t t, oracle_note_kind_t kind, uint64_t epoch, const char* value) {
  oracle_note_t note = {.kind = kind, .epoch = epoch, .leader_id = "a", .value = value};
  oracle_note(&o, node, t, &note);
}

static void test_a_value_of_another_epoch(void** state) {
  publishes(0, S, 5, 1, "x");
  sees(1, 2 * S, ORACLE_NEW_LEADER, 5, "");
  sees(1, 2 * S, ORACLE_VALUE_TOLD, 5, "x");
  oracle_told(&o, 1, 2 * S);
  publishes(0, 3 * S, 6, 2, "");
  sees(1, 4 * S, ORACLE_NEW_LEADER, 6, "");
  sees(1, 4 * S, ORACLE_VALUE_TOLD, 6, "");
  oracle_told(&o, 1, 4 * S);
  assert_found(0);
  sees(1, 5 * S, ORACLE_VALUE_TOLD, 6, "x");
  assert_found(ONLY(VALUE));
}

static void test_a_value_that_is_left(void** state) {
  publishes(0, S, 5, 1, "x");
  sees(1, 2 * S, ORACLE_NEW_LEADER, 5, "");
  sees(1, 2 * S, ORACLE_VALUE_TOLD, 5, "x");
  oracle_told(&o, 1, 2 * S);
  publishes(0, 3 * S, 6, 2, "");
  sees(1, 4 * S, ORACLE_NEW_LEADER, 6, "");
  assert_found(0);
  oracle_told(&o, 1, 4 * S);
  assert_found(ONLY(VALUE));
}

static void test_stopped_without_start(void** state) {
  stops(0, S, 5);
  assert_found(ONLY(PAIRING));
}

static void test_stopped_of_another_epoch(void** state) {
  leads(0, S, 5);
  stops(0, 2 * S, 4);
  assert_found(ONLY(PAIRING));
}

static void test_stopped_yet_leader(void** state) {
  leads(0, S, 5);
  tells(0, 2 * S, ORACLE_STOPPED, 5, 2 * S);
  assert_found(ONLY(PAIRING));
}

static void test_renewed_backwards(void** state) {
  leads(0, S, 5);
  tells(0, 2 * S, ORACLE_RENEWED, 5, lease(0, S));
  assert_found(ONLY(PAIRING));
}

static void test_stopped_late(void** state) {
  leads(0, S, 5);
  stops(0, 16 * S, 5);
  assert_found(ONLY(STOP_LATE));
}

static void test_stopped_late_after_a_pause(void** state) {
  leads(0, S, 5);
  oracle_blocked(&o, 0, 16 * S);
  stops(0, 16 * S, 5);
  assert_found(0);
}

static void test_never_stopped(void** state) {
  leads(0, S, 5);
  oracle_dies(&o, 0, 16 * S);
  assert_found(ONLY(STOP_LATE));
}

static void test_validity_without_a_write(void** state) {
  oracle_write_t w = record(0, S, 5, 1);
  oracle_write_sent(&o, S, &w); /* and never landed */
  oracle_valid(&o, 0, 2 * S, lease(0, S));
  assert_found(ONLY(LEASE));
}

static void test_validity_from_the_reply(void** state) {
  writes(0, S, 5, 1);
  oracle_valid(&o, 0, 2 * S, lease(0, S) + 1);
  assert_found(ONLY(LEASE));
}

static void test_validity_from_a_former_process(void** state) {
  writes(0, S, 5, 1);
  oracle_dies(&o, 0, 2 * S);
  oracle_begins(&o, 0, 3 * S);
  oracle_valid(&o, 0, 4 * S, lease(0, S));
  assert_found(ONLY(LEASE));
}

static void test_resurrected(void** state) {
  leads(0, S, 5);
  writes(0, 15 * S, 5, 2);
  oracle_blocked(&o, 0, 17 * S);
  oracle_valid(&o, 0, 17 * S, lease(0, 15 * S));
  assert_found(ONLY(RESURRECTED));
}

static void test_a_leader_who_never_wrote(void** state) {
  oracle_note_t named = {.kind = ORACLE_NEW_LEADER, .leader_id = "b"};
  writes(0, S, 5, 1);
  oracle_note(&o, 0, 2 * S, &named);
  assert_found(ONLY(LEADER_NAME));
}

static void test_a_claim_told_as_a_leader(void** state) {
  oracle_note_t named = {.kind = ORACLE_NEW_LEADER, .leader_id = "a", .epoch = 6};
  oracle_write_t w = record(0, S, 5, 1);
  w.claims = true;
  oracle_write_sent(&o, S, &w);
  oracle_write_landed(&o, S, &w);
  oracle_note(&o, 0, 2 * S, &named);
  assert_found(0);
  named.epoch = 5;
  oracle_note(&o, 0, 2 * S, &named);
  assert_found(ONLY(LEADER_NAME));
}

static void test_written_while_uncertain(void** state) {
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
  writes(0, S, 5, 3);
  writes(0, 2 * S, 5, 3);
  assert_found(ONLY(WRITE_NUMBER));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_nothing_wrong),
      T(test_two_leaders),
      T(test_the_next_one_at_the_end_of_validity),
      T(test_a_slow_clock_believes_longer),
      T(test_a_clock_that_stood_still),
      T(test_a_dead_process_does_not_believe),
      T(test_epochs),
      T(test_a_record_replaces_one_of_a_higher_epoch),
      T(test_two_write_records_of_one_epoch),
      T(test_started_twice),
      T(test_started_late),
      T(test_no_leader_twice),
      T(test_no_leader_but_itself),
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
      T(test_a_claim_told_as_a_leader),
      T(test_a_value_of_another_epoch),
      T(test_a_value_that_is_left),
      T(test_written_while_uncertain),
      T(test_a_write_number_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
