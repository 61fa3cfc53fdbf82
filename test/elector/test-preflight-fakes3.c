/* verify_on_start over real sockets: an elector stands only on a store that keeps its conditions.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fakes3/fakes3.h"
#include "lib/protocol.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

#define LOCKFILE "locks/a.json"

static uv_loop_t loop;
static fakes3_t* server;
static s3lect_store_t store;
static s3lect_elector_t elector;
static unsigned started, stopped, errors, closed;
static int error;
static char message[600];
static void (*in_error)(void);

static void on_started(s3lect_elector_t* e, const s3lect_event_t* event) {
  started++;
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* event) {
  stopped++;
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* event) {
  errors++;
  error = event->error;
  snprintf(message, sizeof(message), "%s", event->message);
  if (in_error != NULL)
    in_error();
}

static void on_closed(s3lect_elector_t* e) {
  closed++;
}

static int open_all(void** state) {
  char why[256] = "";
  s3lect_store_s3_options_t s3;
  s3lect_elector_options_t o;
  s3l_wait_pace(S3L_PACE_SOCKETS);
  assert_int_equal(uv_loop_init(&loop), 0);
  if (fakes3_start(&loop, &(fakes3_options_t){0}, &server, why, sizeof(why)) != 0)
    fail_msg("%s", why);
  s3lect_store_s3_options_init(&s3, sizeof(s3));
  s3.bucket = "bucket";
  s3.endpoint = fakes3_url(server);
  s3.access_key_id = FAKES3_ACCESS_KEY;
  s3.secret_access_key = FAKES3_SECRET_KEY;
  assert_int_equal(s3lect_store_s3_init(&loop, &store, &s3, NULL), 0);
  s3lect_elector_options_init(&o, sizeof(o));
  o.lockfile_path = LOCKFILE;
  o.protocol = s3l_test_protocol();
  o.server_id = "a";
  o.store = &store;
  o.frequent_interval_ms = 50;
  o.renew_interval_ms = 500;
  o.leader_timeout_ms = 3000;
  o.request_timeout_ms = 600;
  o.on_started_leading = on_started;
  o.on_stopped_leading = on_stopped;
  o.on_error = on_error;
  o.verify_on_start = 1;
  assert_int_equal(s3lect_elector_init(&loop, &elector, &o, NULL), 0);
  started = stopped = errors = closed = 0;
  error = 0;
  in_error = NULL;
  return 0;
}

static int close_all(void** state) {
  if (closed == 0) {
    s3lect_elector_close(&elector, on_closed);
    s3l_wait_count(&loop, &closed, 1, "the elector's close");
  }
  s3lect_store_close(&store, NULL);
  fakes3_stop(server, NULL, NULL);
  s3l_wait_loop_end(&loop);
  return 0;
}

static void lie(const char* json) {
  assert_true(fakes3_fault(server, json, NULL, 0) > 0);
}

/* Requests so far: to the lockfile or epoch files, and to other keys before the first of those. */
static void count_requests(unsigned* to_lockfile, unsigned* others) {
  const fakes3_entry_t* e;
  *to_lockfile = *others = 0;
  for (uint64_t seq = 0; (e = fakes3_log_after(server, seq)) != NULL; seq = e->seq) {
    if (strcmp(e->key, LOCKFILE) == 0 || s3lect_epoch_file_number(LOCKFILE, e->key) > 0)
      ++*to_lockfile;
    else if (strncmp(e->key, LOCKFILE ".verify-", strlen(LOCKFILE ".verify-")) == 0)
      *others += *to_lockfile == 0 ? 1 : 0;
    else
      assert_string_equal(e->method, "LIST");
  }
}

static int role(void) {
  s3lect_status_t status = {.size = sizeof(status)};
  assert_int_equal(s3lect_elector_status(&elector, &status), 0);
  return status.role;
}

static int last_error(void) {
  s3lect_status_t status = {.size = sizeof(status)};
  assert_int_equal(s3lect_elector_status(&elector, &status), 0);
  return status.last_error;
}

static void stands_on_an_honest_store(void** state) {
  unsigned to_lockfile, others, again;
  fakes3_counters_t before, after;
  assert_int_equal(s3lect_elector_start(&elector), 0);
  assert_int_equal(s3lect_elector_start(&elector), UV_EALREADY);
  assert_int_equal(role(), S3LECT_ROLE_FOLLOWER);
  s3l_wait_count(&loop, &started, 1, "leadership");
  assert_int_equal(errors, 0);
  count_requests(&to_lockfile, &others);
  assert_in_range(others, 60, 100);
  /* The second time it is known. */
  assert_int_equal(s3lect_elector_stop(&elector), 0);
  s3l_wait_count(&loop, &stopped, 1, "the end of leadership");
  fakes3_counters(server, &before);
  while (s3lect_elector_start(&elector) == UV_EBUSY)
    s3l_turn(&loop);
  s3l_wait_count(&loop, &started, 2, "leadership again");
  fakes3_counters(server, &after);
  if (!s3l_test_epochs()) /* which are watched for a leader timeout */
    assert_in_range(after.requests - before.requests, 1, 10);
  count_requests(&to_lockfile, &again);
  assert_int_equal(again, others);
}

static void refuses(const char* json, const char* reason) {
  unsigned to_lockfile, others;
  lie(json);
  errors = 0;
  assert_int_equal(s3lect_elector_start(&elector), 0);
  s3l_wait_count(&loop, &errors, 1, "the refusal");
  assert_int_equal(error, S3LECT_EUNSAFE);
  if (strstr(message, reason) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", message, reason);
  assert_int_equal(role(), S3LECT_ROLE_STOPPED);
  assert_int_equal(last_error(), S3LECT_EUNSAFE);
  assert_int_equal(started, 0);
  count_requests(&to_lockfile, &others);
  assert_int_equal(to_lockfile, 0);
  fakes3_fault_clear(server, 0);
}

static void refuses_stores_that_lie(void** state) {
  refuses("{\"ignore_conditions\":true}", "ignores If-None-Match");
  refuses("{\"non_atomic\":30}", "not in one step");
  refuses("{\"constant_etag\":true}", "ETags do not change");
  refuses("{\"stale_reads\":2000}", "do not show the newest");
  if (s3l_test_epochs()) {
    refuses("{\"empty_lists\":true}", "listings do not show");
    lie("{\"no_if_match\":true}"); /* which epoch files do without, as the lockfile does here: */
  } else {
    refuses("{\"no_if_match\":true}", "cannot replace");
    lie("{\"empty_lists\":true}");
  }
  /* Each start asks again: the store may have been mended. */
  assert_int_equal(s3lect_elector_start(&elector), 0);
  s3l_wait_count(&loop, &started, 1, "leadership");
  assert_int_equal(last_error(), 0);
}

/* A store that cannot be reached is no liar: it is tried until it answers. */
static void waits_for_a_store_that_is_down(void** state) {
  lie("{\"status\":403,\"code\":\"AccessDenied\"}");
  assert_int_equal(s3lect_elector_start(&elector), 0);
  s3l_wait_count(&loop, &errors, 2, "two errors");
  assert_int_equal(error, S3LECT_EDENIED);
  assert_int_equal(last_error(), S3LECT_EDENIED);
  assert_int_equal(role(), S3LECT_ROLE_FOLLOWER);
  assert_int_equal(started, 0);
  fakes3_fault_clear(server, 0);
  s3l_wait_count(&loop, &started, 1, "leadership");
}

static void run_until_puts(unsigned n) {
  fakes3_counters_t counters = {0};
  while (counters.put < n) {
    s3l_turn(&loop);
    fakes3_counters(server, &counters);
  }
}

static void can_be_stopped_meanwhile(void** state) {
  unsigned to_lockfile, others;
  assert_int_equal(s3lect_elector_start(&elector), 0);
  run_until_puts(3);
  assert_int_equal(s3lect_elector_stop(&elector), 0);
  assert_int_equal(role(), S3LECT_ROLE_STOPPED);
  assert_int_equal(s3lect_elector_stop(&elector), UV_EALREADY);
  /* Started again while the first examination is still being called off. */
  assert_int_equal(s3lect_elector_start(&elector), 0);
  s3l_wait_count(&loop, &started, 1, "leadership");
  assert_int_equal(errors, 0);
  count_requests(&to_lockfile, &others);
  assert_true(others > 25);
}

static void can_be_closed_meanwhile(void** state) {
  assert_int_equal(s3lect_elector_start(&elector), 0);
  run_until_puts(3);
  assert_int_equal(s3lect_elector_close(&elector, on_closed), 0);
  assert_int_equal(closed, 0);
  s3l_wait_count(&loop, &closed, 1, "the close");
  assert_int_equal(errors, 0);
}

static void close_it(void) {
  assert_int_equal(s3lect_elector_close(&elector, on_closed), 0);
}

static void can_be_closed_in_the_refusal(void** state) {
  lie("{\"ignore_conditions\":true}");
  in_error = close_it;
  assert_int_equal(s3lect_elector_start(&elector), 0);
  s3l_wait_count(&loop, &closed, 1, "the close");
  assert_int_equal(errors, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)
      T(stands_on_an_honest_store), T(refuses_stores_that_lie), T(waits_for_a_store_that_is_down),
      T(can_be_stopped_meanwhile),  T(can_be_closed_meanwhile), T(can_be_closed_in_the_refusal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
