/* Epoch files through the public API: files of another implementation, a fake S3 that lacks
 * If-Match, the options. What the core decides stands in test/core/golden/epochs-*.trace. What
 * holds for both protocols is tested for both, elsewhere.
 *
 * ctest labels: no-valgrind one-protocol */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/epochs.h"
#include "lib/election.h"
#include "lib/wait.h"

#define PREFIX "locks/"

typedef struct voter_s {
  s3lect_elector_t e;
  unsigned started, stopped, renewed, errors, closed, leaders;
  uint64_t epoch;
  int error;
  char leader[16];
  struct voter_s* other;
} voter_t;

static void check_exclusion(const voter_t* v) {
  assert_false(s3lect_is_leader(&v->e) && v->other != NULL && s3lect_is_leader(&v->other->e));
}

static void on_started(s3lect_elector_t* e, const s3lect_event_t* ev) {
  voter_t* v = e->data;
  check_exclusion(v);
  assert_true(v->other == NULL || ev->epoch > v->other->epoch);
  v->epoch = ev->epoch;
  v->started++;
}

static void on_stopped(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)ev;
  ((voter_t*)e->data)->stopped++;
}

static void on_renewed(s3lect_elector_t* e, const s3lect_event_t* ev) {
  (void)ev;
  check_exclusion(e->data);
  ((voter_t*)e->data)->renewed++;
}

static void on_new_leader(s3lect_elector_t* e, const s3lect_event_t* ev) {
  voter_t* v = e->data;
  snprintf(v->leader, sizeof v->leader, "%s", ev->leader_id);
  v->leaders++;
}

static void on_error(s3lect_elector_t* e, const s3lect_event_t* ev) {
  ((voter_t*)e->data)->errors++;
  ((voter_t*)e->data)->error = ev->error;
}

static void on_closed(s3lect_elector_t* e) {
  ((voter_t*)e->data)->closed++;
}

static s3lect_elector_options_t options(s3lect_store_t* store, const char* id) {
  s3lect_elector_options_t o;
  s3lect_elector_options_init(&o, sizeof o);
  o.lockfile_path = PREFIX;
  o.server_id = id;
  o.store = store;
  o.protocol = S3LECT_PROTOCOL_EPOCHS;
  o.leader_timeout_ms = S3L_ELECTION_T_MS;
  o.renew_interval_ms = 300;
  o.frequent_interval_ms = 300;
  o.infrequent_interval_ms = 600;
  o.request_timeout_ms = 450;
  o.on_started_leading = on_started;
  o.on_stopped_leading = on_stopped;
  o.on_renewed = on_renewed;
  o.on_new_leader = on_new_leader;
  o.on_error = on_error;
  return o;
}

static void start(uv_loop_t* loop, voter_t* v, const s3lect_elector_options_t* o) {
  char message[512];
  memset(v, 0, sizeof *v);
  v->e.data = v;
  if (s3lect_elector_options_check(o, message, sizeof message) != 0)
    fail_msg("%s", message);
  assert_int_equal(s3lect_elector_init(loop, &v->e, o), 0);
  assert_int_equal(s3lect_elector_start(&v->e), 0);
}

static void leave(uv_loop_t* loop, voter_t* v) {
  assert_int_equal(s3lect_elector_close(&v->e, on_closed), 0);
  s3l_wait_count(loop, &v->closed, 1, "an elector to close");
}

/* ---- Past the electors ---- */

typedef struct look_s {
  s3lect_store_req_t req;
  unsigned done;
  size_t files;
  uint64_t newest;
  int status;
  s3lect_record_t record;
} look_t;

static void on_listed(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  look_t* look = req->data;
  assert_int_equal(r->status, 0);
  look->files = r->entries_len;
  for (size_t i = 0; i < r->entries_len; i++) {
    uint64_t number = s3lect_epoch_file_number(PREFIX, r->entries[i].key);
    look->newest = number > look->newest ? number : look->newest;
  }
  look->done++;
}

static look_t list(uv_loop_t* loop, s3lect_store_t* store) {
  static look_t look; /* a request must not move */
  memset(&look, 0, sizeof look);
  look.req.data = &look;
  look.req.key = PREFIX;
  look.req.max_keys = 1000;
  look.req.timeout_ms = S3L_WAIT_MS;
  look.req.cb = on_listed;
  assert_int_equal(store->ops->list(store, &look.req), 0);
  s3l_wait_count(loop, &look.done, 1, "a listing");
  return look;
}

static void on_put(s3lect_store_req_t* req, const s3lect_store_result_t* r) {
  assert_int_equal(r->status, 0);
  ++*(unsigned*)req->data;
}

static void put(uv_loop_t* loop, s3lect_store_t* store, const char* key, const char* body) {
  static s3lect_store_req_t req;
  unsigned done = 0;
  memset(&req, 0, sizeof req);
  req.data = &done;
  req.key = key;
  req.body = body;
  req.body_len = strlen(body);
  req.timeout_ms = S3L_WAIT_MS;
  req.cb = on_put;
  assert_int_equal(store->ops->put(store, &req), 0);
  s3l_wait_count(loop, &done, 1, "a put");
}

/* ---- Elections ---- */

/* Another implementation's file that has ended: whoever watches for a leader timeout takes over. */
#define ENDED "{\"validity_ms\":2400,\"expired\":true}"

/* One leads, renews and leaves; the other takes over at once, and removes what is old. */
static void elect(uv_loop_t* loop, s3lect_store_t* store) {
  voter_t a, b;
  s3lect_elector_options_t o = options(store, "a");
  put(loop, store, PREFIX "lock-0000000005.json", ENDED);
  put(loop, store, PREFIX "lock-0000000007.json", ENDED);
  put(loop, store, PREFIX "readme.txt", "no epoch file");
  start(loop, &a, &o);
  s3l_wait_count(loop, &a.renewed, 2, "the first leader's renewals");
  assert_int_equal(a.epoch, 8);
  o = options(store, "b");
  start(loop, &b, &o);
  a.other = &b;
  b.other = &a;
  s3l_wait_count(loop, &b.leaders, 1, "the second to know the first");
  assert_string_equal(b.leader, "a");
  assert_int_equal(list(loop, store).newest, 8);
  unsigned renewed = a.renewed;
  s3l_wait_count(loop, &a.renewed, renewed + 10, "a leader timeout and more");
  leave(loop, &a);
  s3l_wait_count(loop, &b.renewed, 1, "the second to lead");
  assert_int_equal(b.epoch, 9);
  assert_int_equal(a.errors + b.errors, 0);
  leave(loop, &b);
}

static void end(uv_loop_t* loop, s3lect_store_t* store) {
  s3lect_store_close(store, NULL);
  s3l_wait_loop_end(loop);
}

static void test_without_if_match(void** state) {
  (void)state;
  s3l_election_t el;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_fault(&el, "{\"no_if_match\":true}");
  elect(&el.loop, &el.store);
  s3l_election_end(&el);
}

/* From nothing: the first file takes its number from the store's clock, and is not led. */
static void test_from_nothing(void** state) {
  (void)state;
  uv_loop_t loop;
  s3lect_store_t store;
  voter_t a;
  s3l_wait_pace(S3L_PACE_TIMERS);
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_memory_init(&loop, &store), 0);
  s3lect_elector_options_t o = options(&store, "a");
  o.keep_epochs = 1;
  uv_timeval64_t now;
  assert_int_equal(uv_gettimeofday(&now), 0);
  start(&loop, &a, &o);
  s3l_wait_count(&loop, &a.renewed, 3, "renewals");
  assert_true(a.epoch >= (uint64_t)now.tv_sec && a.epoch < (uint64_t)now.tv_sec + 100);
  look_t look = list(&loop, &store);
  assert_int_equal(look.files, 2); /* the claim, and the one that is led */
  assert_int_equal(look.newest, a.epoch);
  leave(&loop, &a);
  end(&loop, &store);
}

/* ---- Options ---- */

static void check(const s3lect_elector_options_t* o, int error, const char* part) {
  char message[512];
  assert_int_equal(s3lect_elector_options_check(o, message, sizeof message), error);
  if (strstr(message, part) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", message, part);
}

static void test_options(void** state) {
  (void)state;
  static char path[1100];
  static const s3lect_store_ops_t plain_ops = {.version = S3LECT_STORE_VERSION};
  s3lect_store_t store = {.ops = &plain_ops};
  s3lect_elector_options_t o = options(&store, "a");
  check(&o, S3LECT_EOPTION, "protocol: epoch files need a store that can list");
  o.protocol = S3LECT_PROTOCOL_LOCKFILE;
  check(&o, 0, "");
  o.protocol = 2;
  check(&o, S3LECT_EOPTION, "protocol: 2 is not an s3lect_protocol_t");
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_memory_init(&loop, &store), 0);
  o = options(&store, "a");
  memset(path, 'x', 1005);
  o.lockfile_path = path;
  check(&o, S3LECT_EOPTION, "has 1005 bytes; at most 1004 are allowed");
  path[1004] = '\0';
  check(&o, 0, "");
  o.request_timeout_ms = UINT32_MAX / 2 + 1;
  check(&o, S3LECT_ETIMING, "twice the request timeout 2147483648 ms");
  o.request_timeout_ms = 500;
  check(&o, S3LECT_ETIMING, "twice the request timeout 500 ms");
  o.protocol = S3LECT_PROTOCOL_LOCKFILE;
  check(&o, 0, "");
  /* What is left to the library fits. */
  o = options(&store, "a");
  o.request_timeout_ms = 0;
  o.leader_timeout_ms = 0;
  check(&o, 0, "");
  end(&loop, &store);
}

static void test_numbers_of_keys(void** state) {
  (void)state;
  assert_int_equal(s3lect_epoch_file_number("a/", "a/lock-0000000042.json"), 42);
  assert_int_equal(s3lect_epoch_file_number("", "lock-0000000042.json"), 42);
  assert_int_equal(s3lect_epoch_file_number("a/", "b/lock-0000000042.json"), 0);
  assert_int_equal(s3lect_epoch_file_number("a/", "a/lock-42.json"), 0);
  assert_int_equal(s3lect_epoch_file_number("a/b", "a/"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_without_if_match),
      cmocka_unit_test(test_from_nothing),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_numbers_of_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
