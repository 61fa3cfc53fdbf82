/* What the oracle says of who comes after a leader, and when: releases, the head start of a named
 * successor, a leader that is cut off. */
#include "sim/history.h"

static oracle_write_t release(int node, int64_t t, uint64_t epoch, const char* successor) {
  oracle_write_t w = record(node, t, epoch, 9);
  w.released = true;
  w.successor = successor;
  return w;
}

static void names_successor(int node, int64_t t, uint64_t epoch, const char* successor) {
  oracle_write_t w = release(node, t, epoch, successor);
  oracle_write_sent(&o, t, &w);
  oracle_write_landed(&o, t, &w);
}

static void releases(int node, int64_t t, uint64_t epoch) {
  names_successor(node, t, epoch, NULL);
}

static void lands_again(int node, int64_t t, uint64_t epoch, const char* successor) {
  oracle_write_t w = release(node, t, epoch, successor);
  oracle_write_landed(&o, t, &w);
}

static void test_released_while_leading(void** state) {
  leads(0, S, 5);
  releases(0, 2 * S, 5);
  assert_found(ONLY(RELEASE));
}

static void test_led_after_its_release(void** state) {
  writes(0, S, 5, 1);
  releases(0, 2 * S, 5);
  oracle_valid(&o, 0, 3 * S, lease(0, S));
  tells(0, 3 * S, ORACLE_STARTED, 5, lease(0, S));
  assert_found(ONLY(RELEASE));
}

static void test_acknowledgement(void** state) {
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

/* A later leadership, or a claim that never led, does not cover an earlier leadership. */
static void test_acknowledgement_of_an_earlier_leadership(void** state) {
  o.nodes[0].config.stop_ack_ms = 1000;
  leads(0, S, 5);
  stops(0, 2 * S, 5);
  o.nodes[0].number = 0;
  writes(0, 20 * S, 6, 1);
  releases(0, 21 * S, 6);
  assert_found(ONLY(RELEASE_ACK));
}

/* Creates the next file, having last looked at the one before at `looked`. */
static void creates(int node, int64_t t, uint64_t epoch, int64_t looked) {
  oracle_write_t w = record(node, t, epoch, 1);
  w.looked_at = looked;
  oracle_write_sent(&o, t, &w);
  oracle_write_landed(&o, t, &w);
}

static void test_head_start_by_files(void** state) {
  o.epochs = true;
  creates(0, 0, 5, 0);
  names_successor(0, S, 5, "b");
  creates(1, S + MS, 6, S);
  names_successor(1, 2 * S, 6, "a");
  lands_again(1, 3 * S, 6, "a");
  creates(2, 4 * S, 7, 3 * S); /* the head start is over: anybody */
  assert_found(0);
}

static void test_head_start_by_files_of_another(void** state) {
  o.epochs = true;
  creates(0, 0, 5, 0);
  names_successor(0, S, 5, "b");
  creates(2, 2 * S, 6, S + MS);
  assert_found(ONLY(HEAD_START));
}

/* He was on his way when the release landed, which stops nobody where creating is no swap. */
static void test_head_start_by_files_unseen(void** state) {
  o.epochs = true;
  creates(0, 0, 5, 0);
  names_successor(0, S, 5, "b");
  creates(2, S + MS, 6, S - MS);
  lands_again(0, S + 2 * MS, 5, "b"); /* of a file that is not the newest any more */
  creates(1, S + 3 * MS, 7, S + 2 * MS);
  assert_found(0);
}

/* A file that was made by hand stands above the one that is released then. */
static void test_head_start_by_files_below_another(void** state) {
  o.epochs = true;
  creates(0, 0, 5, 0);
  oracle_write_t by_hand = {.node = -1, .epoch = 6, .leader_id = ""};
  oracle_write_landed(&o, MS, &by_hand);
  names_successor(0, S, 5, "b");
  creates(2, 2 * S, 7, S + MS);
  assert_found(0);
}

static void test_trial(void** state) {
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
  leads(0, S, 5);
  oracle_trial_ends(&o, 12 * S, 0);
  assert_found(ONLY(REPLACED));
}

static void test_head_start(void** state) {
  names_successor(0, S, 5, "b");
  writes(1, S + MS, 6, 1);
  names_successor(1, 2 * S, 6, "a");
  writes(2, 4 * S, 7, 1); /* the head start is over: anybody */
  assert_found(0);
}

static void test_head_start_of_another(void** state) {
  names_successor(0, S, 5, "b");
  writes(2, 2 * S, 6, 1);
  assert_found(ONLY(HEAD_START));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_released_while_leading),
      T(test_led_after_its_release),
      T(test_acknowledgement),
      T(test_acknowledgement_of_an_earlier_leadership),
      T(test_trial),
      T(test_trial_of_one_who_leads_on),
      T(test_head_start),
      T(test_head_start_of_another),
      T(test_head_start_by_files),
      T(test_head_start_by_files_of_another),
      T(test_head_start_by_files_unseen),
      T(test_head_start_by_files_below_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
