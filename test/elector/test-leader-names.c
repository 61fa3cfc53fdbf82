/* The names of the leader in view: what the callbacks, s3lect_elector_leader and the status call
 * say, and what they cost. Plays the store itself (lib/script_store.h). */
#include <stdio.h>
#include <string.h>

#include "lib/heap.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

typedef struct rig_s {
  uv_loop_t loop;
  s3l_script_store_t store;
  s3lect_elector_t e;
  unsigned leaders, started, stopped, errors, closed;
  char id[S3LECT_ID_SIZE]; /* as last told by on_new_leader or on_stopped_leading */
  char addr[S3LECT_ADDR_SIZE];
  int error;
  unsigned versions;
} rig_t;

static void keep_names(rig_t* rig, const s3lect_event_t* ev) {
  snprintf(rig->id, sizeof rig->id, "%s", ev->leader_id);
  snprintf(rig->addr, sizeof rig->addr, "%s", ev->leader_addr);
}

static void on_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  rig_t* rig = e->data;
  keep_names(rig, ev);
  rig->leaders++;
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  ((rig_t*)e->data)->started++;
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  rig_t* rig = e->data;
  keep_names(rig, ev);
  rig->stopped++;
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  rig_t* rig = e->data;
  rig->errors++;
  rig->error = ev->error;
}

static void on_closed(s3lect_elector_t* e) {
  ((rig_t*)e->data)->closed++;
}

static int setup(void** state) {
  static rig_t rig;
  memset(&rig, 0, sizeof rig);
  assert_int_equal(uv_loop_init(&rig.loop), 0);
  s3l_heap_install();
  s3l_script_store_init(&rig.loop, &rig.store);
  s3lect_elector_options_t o = s3l_script_store_options(&rig.store);
  o.server_addr = "127.0.0.1:1";
  o.frequent_interval_ms = o.infrequent_interval_ms = 100;
  o.on_new_leader = on_leader;
  o.on_started_leading = on_started;
  o.on_stopped_leading = on_stopped;
  o.on_error = on_error;
  rig.e.data = &rig;
  assert_int_equal(s3lect_elector_init(&rig.loop, &rig.e, &o, NULL), 0);
  assert_int_equal(s3lect_elector_start(&rig.e), 0);
  *state = &rig;
  return 0;
}

static int teardown(void** state) {
  rig_t* rig = *state;
  assert_int_equal(s3lect_elector_close(&rig->e, on_closed), 0);
  s3l_wait_count(&rig->loop, &rig->closed, 1, "the close callback");
  s3lect_store_close(&rig->store.store, NULL);
  s3l_wait_loop_end(&rig->loop);
  s3l_heap_remove();
  return 0;
}

/* What the lockfile holds is now another write by this leader. */
static void show(rig_t* rig, const char* id, const char* addr) {
  s3lect_record_t r = s3l_script_store_released();
  char etag[32];
  r.released = 0;
  r.last_updated_ms = INT64_C(1730025045000);
  r.write = ++rig->versions;
  snprintf(r.leader_id, sizeof r.leader_id, "%s", id);
  snprintf(r.leader_addr, sizeof r.leader_addr, "%s", addr);
  snprintf(etag, sizeof etag, "\"e%u\"", rig->versions);
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, etag);
}

static void check_status(const rig_t* rig, const char* id, const char* addr) {
  s3lect_status_t status = {.size = sizeof status};
  assert_int_equal(s3lect_elector_status(&rig->e, &status), 0);
  assert_string_equal(status.record.leader_id, id);
  assert_string_equal(status.record.leader_addr, addr);
  assert_string_equal(s3lect_elector_leader(&rig->e), status.record.released ? "" : id);
}

static void check_told(const rig_t* rig, unsigned leaders, const char* id, const char* addr) {
  assert_int_equal(rig->leaders, leaders);
  assert_string_equal(rig->id, id);
  assert_string_equal(rig->addr, addr);
}

/* As long as they may be, and an address of none. */
static void test_names_change(void** state) {
  rig_t* rig = *state;
  char id[S3LECT_ID_SIZE], addr[S3LECT_ADDR_SIZE];
  memset(id, 'i', sizeof id - 1);
  memset(addr, 'a', sizeof addr - 1);
  id[sizeof id - 1] = addr[sizeof addr - 1] = '\0';
  check_status(rig, "", "");
  show(rig, "b", "10.0.0.2:80");
  check_told(rig, 1, "b", "10.0.0.2:80");
  check_status(rig, "b", "10.0.0.2:80");
  show(rig, id, addr);
  check_told(rig, 2, id, addr);
  check_status(rig, id, addr);
  show(rig, "c", "");
  check_told(rig, 3, "c", "");
  check_status(rig, "c", "");
}

static void test_the_rest_of_the_record(void** state) {
  rig_t* rig = *state;
  s3lect_status_t status = {.size = sizeof status};
  s3lect_record_t r = s3l_script_store_released();
  r.released = 0;
  r.last_updated_ms = INT64_C(1730025045000);
  r.acquired_ms = INT64_C(1730025000000);
  r.renew_interval_ms = 4321;
  snprintf(r.leader_addr, sizeof r.leader_addr, "10.0.0.2:80");
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, "\"e1\"");
  assert_int_equal(s3lect_elector_status(&rig->e, &status), 0);
  assert_string_equal(status.record.leader_id, r.leader_id);
  assert_string_equal(status.record.leader_addr, r.leader_addr);
  assert_string_equal(status.record.incarnation, r.incarnation);
  assert_int_equal(status.record.last_updated_ms, r.last_updated_ms);
  assert_int_equal(status.record.acquired_ms, r.acquired_ms);
  assert_int_equal(status.record.epoch, r.epoch);
  assert_int_equal(status.record.write, r.write);
  assert_int_equal(status.record.transitions, r.transitions);
  assert_int_equal(status.record.leader_timeout_ms, r.leader_timeout_ms);
  assert_int_equal(status.record.renew_interval_ms, r.renew_interval_ms);
  assert_int_equal(status.record.released, 0);
}

/* A release may name who goes first. */
static void test_successor(void** state) {
  rig_t* rig = *state;
  s3lect_status_t status = {.size = sizeof status};
  s3lect_record_t r = s3l_script_store_released();
  snprintf(r.successor, sizeof r.successor, "c");
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, "\"e1\"");
  assert_int_equal(s3lect_elector_status(&rig->e, &status), 0);
  assert_string_equal(status.record.leader_id, "b");
  assert_string_equal(status.record.leader_addr, "");
  assert_string_equal(status.record.successor, "c");
}

static void test_renewals_of_another_do_not_allocate(void** state) {
  rig_t* rig = *state;
  show(rig, "b", "10.0.0.2:80");
  size_t before = s3l_heap_count();
  show(rig, "b", "10.0.0.2:80");
  show(rig, "b", "10.0.0.2:80");
  assert_int_equal(s3l_heap_count(), before);
  check_told(rig, 1, "b", "10.0.0.2:80");
  show(rig, "c", "10.0.0.3:80");
  assert_true(s3l_heap_count() > before); /* the count tells */
}

static void test_renewals_with_a_value_do_not_allocate(void** state) {
  rig_t* rig = *state;
  s3lect_status_t status = {.size = sizeof status};
  s3lect_record_t r = s3l_script_store_released();
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, "\"e1\"");
  assert_int_equal(s3lect_elector_set_value(&rig->e, "v", 0), 0);
  s3l_script_store_expect(&rig->store, true); /* without it: set when this was under way */
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e2\"");
  s3l_script_store_expect(&rig->store, true);
  assert_string_equal(rig->store.put.value, "v");
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e3\"");
  size_t before = s3l_heap_count();
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e4\"");
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e5\"");
  assert_int_equal(s3l_heap_count(), before);
  assert_int_equal(s3lect_elector_status(&rig->e, &status), 0);
  assert_string_equal(status.record.value, "v");
}

/* Its own names, and those of a record that is released, gone or unreadable. */
static void test_names_end(void** state) {
  rig_t* rig = *state;
  s3lect_record_t r = s3l_script_store_released();
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, "\"e1\"");
  check_status(rig, "b", "");
  size_t before = s3l_heap_count();
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e2\"");
  assert_int_equal(rig->started, 1);
  check_told(rig, 1, "a", "127.0.0.1:1");
  check_status(rig, "a", "127.0.0.1:1");
  assert_int_equal(s3l_heap_count(), before);
  s3l_script_store_expect(&rig->store, true); /* the renewal */
  s3l_script_store_answer(&rig->store, S3LECT_EPRECONDITION, S3LECT_SETTLED, NULL);
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_answer(&rig->store, S3LECT_ENOTFOUND, S3LECT_SETTLED, NULL);
  assert_int_equal(rig->stopped, 1);
  assert_string_equal(rig->id, "");
  check_status(rig, "", "");
}

/* The callback still has it; from then on the leader is unknown, until the record changes. */
static void test_no_memory_for_names(void** state) {
  rig_t* rig = *state;
  show(rig, "b", "10.0.0.2:80");
  s3l_heap_fail_at(0, true);
  show(rig, "c", "10.0.0.3:80");
  check_told(rig, 2, "c", "10.0.0.3:80");
  assert_int_equal(rig->errors, 1);
  assert_int_equal(rig->error, UV_ENOMEM);
  check_status(rig, "", "");
  assert_true(s3l_heap_fail_end());
  show(rig, "c", "10.0.0.3:80");
  check_status(rig, "c", "10.0.0.3:80");
  assert_int_equal(rig->errors, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_names_change, setup, teardown),
      cmocka_unit_test_setup_teardown(test_the_rest_of_the_record, setup, teardown),
      cmocka_unit_test_setup_teardown(test_successor, setup, teardown),
      cmocka_unit_test_setup_teardown(test_renewals_of_another_do_not_allocate, setup, teardown),
      cmocka_unit_test_setup_teardown(test_renewals_with_a_value_do_not_allocate, setup, teardown),
      cmocka_unit_test_setup_teardown(test_names_end, setup, teardown),
      cmocka_unit_test_setup_teardown(test_no_memory_for_names, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
