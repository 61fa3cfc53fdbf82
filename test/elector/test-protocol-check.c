/* Once per start an elector looks for an election of the other protocol at the same key, and
 * reports it. Whatever happens to that look, the election goes on.
 *
 * ctest labels: no-valgrind */
#include <stdio.h>
#include <string.h>

#include "lib/election.h"
#include "lib/test.h"
#include "lib/wait.h"

#define LOCKFILE  "{\"leaderID\":\"other\",\"leaderAddr\":\"\",\"lastUpdated\":\"%s\",\"epoch\":7}"
#define FILE_BODY "{\"validity_ms\":2400,\"leaderID\":\"other\",\"expired\":%s}"

static s3l_election_t el;
static s3l_candidate_t a;
static s3lect_store_ops_t ops; /* the store in memory, with `get` and `list` of this test */
static const s3lect_store_ops_t* in_memory;
static unsigned checks; /* requests of the check */
static bool hold;       /* keep the next one */
static s3lect_store_req_t* held;

static bool is_check(const s3lect_store_req_t* req, bool list) {
  return el.candidates_len > 0 && (el.epochs ? strcmp(req->key, "locks/x") == 0 : list);
}

static bool is_held(s3lect_store_req_t* req, bool list) {
  if (!is_check(req, list))
    return false;
  checks++;
  if (!hold)
    return false;
  hold = false;
  held = req;
  return true;
}

static int get(s3lect_store_t* store, s3lect_store_req_t* req) {
  return is_held(req, false) ? 0 : in_memory->get(store, req);
}

static int list(s3lect_store_t* store, s3lect_store_req_t* req) {
  return is_held(req, true) ? 0 : in_memory->list(store, req);
}

static void cancel(s3lect_store_t* store, s3lect_store_req_t* req) {
  if (req == held) {
    held = NULL;
    assert_int_equal(in_memory->get(store, req), 0);
  }
  in_memory->cancel(store, req);
}

static int set_up(void** state) {
  s3l_election_init(&el, NULL); /* its fake S3 is not used */
  s3l_wait_pace(S3L_PACE_TIMERS);
  assert_int_equal(s3lect_store_memory_init(&el.loop, &el.store, NULL), 0);
  in_memory = el.store.ops;
  ops = *in_memory;
  ops.get = get;
  ops.list = list;
  ops.cancel = cancel;
  el.store.ops = &ops;
  checks = 0;
  hold = false;
  held = NULL;
  s3l_election_seed(&el);
  return 0;
}

static int tear_down(void** state) {
  assert_null(held);
  s3l_election_end(&el);
  return 0;
}

/* Puts an object of the other protocol; `more` is added to the prefix of epoch files. */
static void put_other(const char* more, bool released) {
  char body[256], key[64];
  const char* own_key = el.key;
  if (el.epochs)
    snprintf(body, sizeof body, LOCKFILE,
             released ? "0001-01-01T00:00:00Z" : "2026-01-01T00:00:00Z");
  else
    snprintf(body, sizeof body, FILE_BODY, released ? "true" : "false");
  snprintf(key, sizeof key, "%s%s", own_key, more);
  el.key = key;
  el.epochs = !el.epochs;
  s3l_election_put(&el, body, strlen(body));
  el.epochs = !el.epochs;
  el.key = own_key;
}

static void lead(void) {
  s3l_candidate_init(&el, &a, "a");
  s3l_candidate_start(&a);
  s3l_election_wait(&el, &a.renewed, 3, "renewals");
}

static void assert_told(const char* key) {
  assert_int_equal(a.errors, 1);
  assert_int_equal(a.error, S3LECT_EPROTOCOL);
  assert_memory_equal(a.message, key, strlen(key));
  assert_non_null(strstr(a.message, el.epochs ? " says that \"other\" leads by protocol lockfile"
                                              : " says that \"other\" leads by protocol epochs"));
  s3l_candidate_close(&a);
}

static void a_leader_is_told_of(void** state) {
  put_other("", false);
  lead();
  assert_int_equal(checks, 1);
  assert_told(el.epochs ? "locks/x says" : "locks/xlock-0000000007.json says");
}

/* Epoch files in a folder of the lockfile's name: prefix "locks/x/". */
static void a_leader_in_the_folder_is_told_of(void** state) {
  char key[64];
  if (el.epochs) {
    put_other("", false);
    snprintf(key, sizeof key, "%s/", el.key);
    el.key = key;
    s3l_election_seed(&el);
  } else {
    put_other("/", false);
  }
  lead();
  assert_told(el.epochs ? "locks/x says" : "locks/x/lock-0000000007.json says");
}

/* The newest of more files than one page of a listing has. */
static void the_newest_file_counts(void** state) {
  static const char body[] = "{\"validity_ms\":2400,\"leaderID\":\"other\"}";
  char key[64];
  if (el.epochs)
    skip();
  const char* own_key = el.key;
  el.key = key;
  for (unsigned i = 1; i <= 120; i++) {
    snprintf(key, sizeof key, "locks/xlock-%010u.json", i);
    s3l_election_put(&el, body, i < 120 ? 1 : sizeof body - 1);
  }
  el.key = own_key;
  lead();
  assert_told("locks/xlock-0000000120.json says");
}

static void nothing_is_told_of_a_released_object(void** state) {
  put_other("", true);
  lead();
  assert_int_equal(checks, el.epochs ? 1 : 2);
  assert_int_equal(a.errors, 0);
}

static void nothing_is_told_without_one(void** state) {
  lead();
  assert_int_equal(checks, el.epochs ? 1 : 2);
  assert_int_equal(a.errors, 0);
}

static bool has_read(void* arg) {
  return s3l_candidate_stats(arg).reads >= 3;
}

static void an_observer_does_not_look(void** state) {
  put_other("", false);
  s3l_candidate_init(&el, &a, "a");
  a.o.observer = 1;
  s3l_candidate_start(&a);
  s3l_wait(&el.loop, has_read, &a, "reads");
  assert_int_equal(checks, 0);
}

/* It neither delays the election nor outlives the elector. */
static void a_close_cancels_it(void** state) {
  put_other("", false);
  hold = true;
  lead();
  assert_non_null(held);
  s3l_candidate_close(&a);
  assert_int_equal(a.errors, 0);
  assert_int_equal(checks, 1);
}

static bool is_stopped(void* arg) {
  s3lect_status_t status = {.size = sizeof status};
  assert_int_equal(s3lect_elector_status(arg, &status), 0);
  return status.role == S3LECT_ROLE_STOPPED && a.stopped == 1;
}

/* A stop cancels it; the next start looks again. */
static void a_restart_looks_again(void** state) {
  put_other("", false);
  hold = true;
  lead();
  assert_int_equal(s3lect_elector_stop(&a.e), 0);
  s3l_wait(&el.loop, is_stopped, &a.e, "the end of the leadership");
  while (s3lect_elector_start(&a.e) == UV_EBUSY)
    (void)s3l_turn(&el.loop);
  s3l_election_wait(&el, &a.errors, 1, "the error");
  assert_int_equal(checks, 2);
  assert_told(el.epochs ? "locks/x says" : "locks/xlock-0000000007.json says");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_leader_is_told_of),         TEST(a_leader_in_the_folder_is_told_of),
      TEST(the_newest_file_counts),      TEST(nothing_is_told_of_a_released_object),
      TEST(nothing_is_told_without_one), TEST(an_observer_does_not_look),
      TEST(a_close_cancels_it),          TEST(a_restart_looks_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
