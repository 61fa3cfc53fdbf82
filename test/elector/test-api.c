/* The elector's handle: what may be called when, and which callbacks run in which order. Plays the
 * store itself (lib/script_store.h), so that every moment can be held still. */
#include <stdio.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/script_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

typedef struct rig_s {
  uv_loop_t loop;
  s3l_script_store_t store;
  s3lect_elector_t e;
  s3lect_elector_options_t o;
  char log[1024]; /* one letter per callback */
  unsigned started, stopped, leaders, renewed, errors, closed;
  s3lect_event_t last;
  char last_leader[64];
  int last_error;
  void (*on_start)(struct rig_s* rig);
  void (*on_stop)(struct rig_s* rig);
  bool in_call;
} rig_t;

static rig_t* rig_of(s3lect_elector_t* e) {
  return e->data;
}

static void note(rig_t* rig, char letter, const s3lect_event_t* ev) {
  size_t n = strlen(rig->log);
  assert_false(rig->in_call); /* never inside a call of the API */
  assert_int_equal(rig->closed, 0);
  assert_true(n + 1 < sizeof rig->log);
  rig->log[n] = letter;
  rig->last = *ev;
  snprintf(rig->last_leader, sizeof rig->last_leader, "%s", ev->leader_id);
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  rig_t* rig = rig_of(e);
  note(rig, 'S', ev);
  rig->started++;
  assert_int_equal(ev->kind, S3LECT_EVENT_STARTED_LEADING);
  assert_true(ev->valid_until_ns > s3lect_now_ns());
  if (rig->on_start != NULL)
    rig->on_start(rig);
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  rig_t* rig = rig_of(e);
  note(rig, 'X', ev);
  rig->stopped++;
  assert_int_equal(s3lect_elector_is_leader(e), 0);
  assert_true(ev->valid_until_ns <= s3lect_now_ns());
  if (rig->on_stop != NULL)
    rig->on_stop(rig);
}

static void on_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  note(rig_of(e), 'L', ev);
  rig_of(e)->leaders++;
}

static void on_renewed(s3lect_elector_t* e, const s3lect_event_t* ev) {
  note(rig_of(e), 'R', ev);
  rig_of(e)->renewed++;
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  note(rig_of(e), 'E', ev);
  rig_of(e)->errors++;
  rig_of(e)->last_error = ev->error;
  assert_true(ev->error < 0);
  assert_true(ev->message[0] != '\0');
}

static void on_closed(s3lect_elector_t* e) {
  assert_false(rig_of(e)->in_call);
  rig_of(e)->closed++;
}

static int setup(void** state) {
  static rig_t rig;
  memset(&rig, 0, sizeof rig);
  assert_int_equal(uv_loop_init(&rig.loop), 0);
  s3l_script_store_init(&rig.loop, &rig.store);
  rig.o = s3l_script_store_options(&rig.store);
  rig.o.server_addr = "127.0.0.1:1";
  rig.o.on_started_leading = on_started;
  rig.o.on_stopped_leading = on_stopped;
  rig.o.on_new_leader = on_leader;
  rig.o.on_renewed = on_renewed;
  rig.o.on_error = on_error;
  rig.e.data = &rig;
  *state = &rig;
  return 0;
}

static void begin(rig_t* rig) {
  assert_int_equal(s3lect_elector_init(&rig->loop, &rig->e, &rig->o, NULL), 0);
  rig->in_call = true;
  assert_int_equal(s3lect_elector_start(&rig->e), 0);
  rig->in_call = false;
}

/* With epoch files the listing behind a take-over renews it, as one behind a renewal does. */
static void check_log(const rig_t* rig, const char* expected) {
  char log[sizeof rig->log];
  size_t n = 0;
  for (const char* p = rig->log; *p != '\0'; p++)
    if (*p != 'R' || !s3l_test_epochs())
      log[n++] = *p;
  log[n] = '\0';
  assert_string_equal(log, expected);
}

/* Takes over from a released record; afterwards it leads epoch 8 with ETag e2. */
static void lead(rig_t* rig) {
  s3lect_record_t r = s3l_script_store_released();
  begin(rig);
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, "\"e1\"");
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_check_over(&rig->store, "\"e1\"");
  assert_int_equal(rig->store.put.epoch, 8);
  assert_string_equal(rig->store.put.leader_id, "a");
  assert_string_equal(rig->store.put.leader_addr, "127.0.0.1:1");
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e2\"");
  assert_int_equal(rig->started, 1);
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 1);
}

static void close_elector(rig_t* rig) {
  rig->in_call = true;
  assert_int_equal(s3lect_elector_close(&rig->e, on_closed), 0);
  assert_int_equal(s3lect_elector_close(&rig->e, on_closed), UV_EALREADY);
  rig->in_call = false;
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 0);
}

static void end(rig_t* rig) {
  s3l_wait_count(&rig->loop, &rig->closed, 1, "the close callback");
  s3lect_store_close(&rig->store.store, NULL);
  s3l_wait_loop_end(&rig->loop);
  assert_int_equal(rig->closed, 1);
}

static void test_close_before_start(void** state) {
  rig_t* rig = *state;
  s3lect_status_t status = {.size = sizeof status};
  assert_int_equal(s3lect_elector_init(&rig->loop, &rig->e, &rig->o, NULL), 0);
  assert_int_equal(s3lect_elector_status(&rig->e, &status), 0);
  assert_int_equal(status.observed, 0);
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 0);
  assert_int_equal(s3lect_elector_resign(&rig->e), UV_EINVAL);
  assert_int_equal(s3lect_elector_stop(&rig->e), UV_EALREADY);
  close_elector(rig);
  end(rig);
  check_log(rig, "");
  /* What is asked of a closed handle is answered, as long as its memory is left alone. */
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 0);
  assert_int_equal(s3lect_elector_valid_for_ms(&rig->e), 0);
  assert_int_equal(s3lect_elector_epoch(&rig->e), 0);
  assert_int_equal(s3lect_elector_start(&rig->e), UV_ECANCELED);
  assert_int_equal(s3lect_elector_stop(&rig->e), UV_EALREADY);
  assert_int_equal(s3lect_elector_resign(&rig->e), UV_EINVAL);
  assert_int_equal(s3lect_elector_close(&rig->e, NULL), UV_EALREADY);
  s3lect_elector_ack(&rig->e, 8);
  s3lect_stats_t stats = {.size = sizeof stats};
  assert_int_equal(s3lect_elector_stats(&rig->e, &stats), UV_ECANCELED);
  assert_int_equal(s3lect_elector_status(&rig->e, &status), UV_ECANCELED);
  assert_string_equal(s3lect_elector_leader(&rig->e), "");
  s3lect_elector_unref(&rig->e);
  s3lect_elector_ref(&rig->e);
}

static void test_close_in_the_same_turn_as_start(void** state) {
  rig_t* rig = *state;
  begin(rig);
  assert_int_equal(s3lect_elector_start(&rig->e), UV_EALREADY);
  close_elector(rig);
  assert_int_equal(s3lect_elector_start(&rig->e), UV_ECANCELED);
  end(rig);
  assert_int_equal(rig->store.requests, 0);
}

static void test_leads_then_close_releases(void** state) {
  rig_t* rig = *state;
  s3lect_status_t status = {.size = sizeof status};
  lead(rig);
  check_log(rig, "LS");
  assert_int_equal(s3lect_elector_epoch(&rig->e), 8);
  uint64_t valid = s3lect_elector_valid_for_ms(&rig->e);
  assert_true(valid > 0 && valid <= 14850);
  assert_string_equal(s3lect_elector_leader(&rig->e), "a");
  assert_int_equal(s3lect_elector_status(&rig->e, &status), 0);
  assert_int_equal(status.role, S3LECT_ROLE_LEADER);
  assert_int_equal(status.record.transitions, 2);
  close_elector(rig);
  assert_int_equal(s3lect_elector_valid_for_ms(&rig->e), 0);
  /* The application is told first, then the record is released, by CAS on the newest ETag. */
  s3l_script_store_expect(&rig->store, true);
  check_log(rig, "LSX");
  assert_int_equal(rig->last.reason, S3LECT_REASON_CLOSED);
  s3l_script_store_check_over(&rig->store, "\"e2\"");
  assert_int_equal(rig->store.put.released, 1);
  assert_int_equal(rig->store.put.epoch, 8);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e3\"");
  end(rig);
}

static void test_close_with_a_silent_store_is_bounded(void** state) {
  rig_t* rig = *state;
  rig->o.release_timeout_ms = 20;
  rig->store.answer_cancel = true;
  lead(rig);
  close_elector(rig);
  s3l_script_store_expect(&rig->store, true);
  end(rig); /* without an answer */
  assert_int_equal(rig->store.cancels, 1);
}

static void test_no_release(void** state) {
  rig_t* rig = *state;
  rig->o.no_release = 1;
  lead(rig);
  close_elector(rig);
  end(rig);
  check_log(rig, "LSX");
  assert_int_equal(rig->store.requests, 2);
}

static void test_follower_close_cancels(void** state) {
  rig_t* rig = *state;
  begin(rig);
  s3l_script_store_expect(&rig->store, false);
  close_elector(rig);
  end(rig);
  assert_int_equal(rig->store.cancels, 1);
  check_log(rig, "");
}

static void close_in_callback(rig_t* rig) {
  assert_int_equal(s3lect_elector_close(&rig->e, on_closed), 0);
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 0);
}

static void test_close_inside_started_leading(void** state) {
  rig_t* rig = *state;
  s3lect_record_t r = s3l_script_store_released();
  rig->on_start = close_in_callback;
  begin(rig);
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, "\"e1\"");
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e2\"");
  s3l_script_store_expect(&rig->store, true);
  assert_int_equal(rig->store.put.released, 1);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e3\"");
  end(rig);
  check_log(rig, "LSX");
}

/* The answer to a take-over and the wish to close come in the same turn of the loop: the request
 * has ended, so it must not be cancelled (the store asserts that). */
static void test_close_as_the_answer_comes(void** state) {
  rig_t* rig = *state;
  begin(rig);
  s3l_script_store_expect(&rig->store, false);
  rig->store.answer_cancel = false;
  close_elector(rig);
  s3l_script_store_answer(&rig->store, S3LECT_ENOTFOUND, S3LECT_SETTLED, NULL);
  end(rig);
  check_log(rig, "");
}

static void test_stop_and_start_again(void** state) {
  rig_t* rig = *state;
  lead(rig);
  char first[S3LECT_INCARNATION_SIZE];
  memcpy(first, rig->store.put.incarnation, sizeof first);
  assert_int_equal(s3lect_elector_stop(&rig->e), 0);
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 0);
  assert_int_equal(s3lect_elector_stop(&rig->e), UV_EALREADY);
  assert_int_equal(s3lect_elector_start(&rig->e), UV_EBUSY);
  s3l_script_store_expect(&rig->store, true);
  assert_int_equal(rig->last.reason, S3LECT_REASON_STOPPED);
  s3lect_record_t released = rig->store.put;
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e3\"");
  assert_int_equal(s3lect_elector_start(&rig->e), 0);
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &released, "\"e3\"");
  s3l_script_store_expect(&rig->store, true);
  assert_int_equal(rig->store.put.epoch, 9);
  assert_string_not_equal(rig->store.put.incarnation, first);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e4\"");
  check_log(rig, "LSXLS");
  close_elector(rig);
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e5\"");
  end(rig);
}

static void test_resign_waits_for_the_application(void** state) {
  rig_t* rig = *state;
  rig->o.stop_ack_ms = S3L_WAIT_MS;
  lead(rig);
  rig->in_call = true;
  assert_int_equal(s3lect_elector_resign(&rig->e), 0);
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 0);
  assert_int_equal(s3lect_elector_resign(&rig->e), UV_EINVAL);
  rig->in_call = false;
  s3l_wait_count(&rig->loop, &rig->stopped, 1, "on_stopped_leading");
  assert_int_equal(rig->last.reason, S3LECT_REASON_RESIGNED);
  assert_int_equal(rig->store.requests, 2); /* nothing is released yet */
  s3lect_elector_ack(&rig->e, rig->last.epoch);
  s3l_script_store_expect(&rig->store, true);
  assert_int_equal(rig->store.put.released, 1);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e3\"");
  close_elector(rig);
  end(rig);
  check_log(rig, "LSX");
}

static void test_grace_period(void** state) {
  rig_t* rig = *state;
  s3lect_record_t r = s3l_script_store_released();
  rig->o.grace_period_ms = 30;
  begin(rig);
  s3l_script_store_expect(&rig->store, false);
  s3l_script_store_show(&rig->store, &r, "\"e1\"");
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e2\"");
  check_log(rig, "L"); /* it holds the lease, but does not lead yet */
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 0);
  s3l_wait_count(&rig->loop, &rig->started, 1, "the end of the grace period");
  assert_int_equal(s3lect_elector_is_leader(&rig->e), 1);
  close_elector(rig);
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e3\"");
  end(rig);
}

/* A store that does not take a request is one more failed attempt, and is asked again. */
static void test_store_refuses_to_submit(void** state) {
  rig_t* rig = *state;
  rig->store.refuse = UV_ENOMEM;
  begin(rig);
  s3l_script_store_expect(&rig->store, false);
  assert_int_equal(rig->errors, 0);
  close_elector(rig);
  end(rig);
}

static void test_failures_are_reported_once_per_operation(void** state) {
  rig_t* rig = *state;
  begin(rig);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(rig->errors, 0);
    s3l_script_store_expect(&rig->store, false);
    s3l_script_store_answer(&rig->store, UV_ECONNREFUSED, S3LECT_NOT_APPLIED, NULL);
  }
  assert_int_equal(rig->errors, 1);
  assert_int_equal(rig->last_error, UV_ECONNREFUSED);
  close_elector(rig);
  end(rig);
  check_log(rig, "E");
}

static void test_unref_lets_the_loop_end(void** state) {
  rig_t* rig = *state;
  begin(rig);
  s3lect_elector_unref(&rig->e);
  uv_unref((uv_handle_t*)&rig->store.pump);
  assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0); /* returns, though it still stands */
  s3lect_elector_ref(&rig->e);
  uv_ref((uv_handle_t*)&rig->store.pump);
  close_elector(rig);
  end(rig);
}

static void test_stats_and_sizes(void** state) {
  rig_t* rig = *state;
  s3lect_stats_t stats = {.size = sizeof stats};
  s3lect_status_t status = {.size = 3};
  lead(rig);
  assert_int_equal(s3lect_elector_stats(&rig->e, &stats), 0);
  assert_true(s3l_test_epochs() ? stats.reads > 1 : stats.reads == 1);
  assert_int_equal(stats.writes, 1);
  assert_int_equal(stats.leaderships, 1);
  assert_int_equal(s3lect_elector_status(&rig->e, &status), UV_EINVAL);
  status.size = sizeof status;
  assert_int_equal(s3lect_elector_status(&rig->e, &status), 0);
  assert_int_equal(status.role, S3LECT_ROLE_LEADER);
  assert_int_equal(status.observed, 1);
  stats.size = 1;
  assert_int_equal(s3lect_elector_stats(&rig->e, &stats), UV_EINVAL);
  close_elector(rig);
  s3l_script_store_expect(&rig->store, true);
  s3l_script_store_answer(&rig->store, 0, S3LECT_SETTLED, "\"e3\"");
  end(rig);
}

#define T(test) cmocka_unit_test_setup(test, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(test_close_before_start),
      T(test_close_in_the_same_turn_as_start),
      T(test_leads_then_close_releases),
      T(test_close_with_a_silent_store_is_bounded),
      T(test_no_release),
      T(test_follower_close_cancels),
      T(test_close_inside_started_leading),
      T(test_close_as_the_answer_comes),
      T(test_stop_and_start_again),
      T(test_resign_waits_for_the_application),
      T(test_grace_period),
      T(test_store_refuses_to_submit),
      T(test_failures_are_reported_once_per_operation),
      T(test_unref_lets_the_loop_end),
      T(test_stats_and_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
