/* inspect/list: which elections a list finds on each kind of store, what later passes read, and
 * that hostile listings, failures, cancels and missing memory end a pass as they should.
 *
 * ctest labels: no-valgrind */
#include "s3lect/list.h"

#include <stdio.h>
#include <string.h>

#include "lib/clocks.h"
#include "lib/heap.h"
#include "lib/tap_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

#define LED(id, epoch) RECORD(id, epoch, "2026-01-01T00:00:00Z", "4000")
#define RECORD(id, epoch, updated, timeout)                                                        \
  "{\"leaderID\":\"" id "\",\"leaderAddr\":\"h:1\",\"lastUpdated\":\"" updated                     \
  "\",\"epoch\":" epoch ",\"leaderTimeoutMs\":" timeout ",\"value\":\"v-" id "\"}"
#define FILE(id, epoch)                                                                            \
  "{\"validity_ms\":4000,\"expired\":false,\"leaderID\":\"" id                                     \
  "\",\"leaderAddr\":\"h:1\",\"epoch\":" epoch ",\"value\":\"v-" id "\"}"
#define CLAIM                                                                                      \
  "{\"leaderID\":\"d\",\"leaderAddr\":\"\",\"lastUpdated\":\"2026-01-01T00:00:00Z\",\"epoch\":3,"  \
  "\"transitions\":0,\"incarnation\":\"00112233445566778899aabbccddeeff\"}"
#define RELEASED                                                                                   \
  "{\"leaderID\":\"c\",\"leaderAddr\":\"\",\"lastUpdated\":\"0001-01-01T00:00:00Z\",\"epoch\":2}"

static s3lect_list_t list;
static unsigned ends;
static int status;
static char message[600];

static void on_end(s3lect_list_t* l, int s, const char* text) {
  assert_ptr_equal(l, &list);
  ends++;
  status = s;
  snprintf(message, sizeof message, "%s", text);
}

static s3lect_list_options_t options(const char* prefix) {
  s3lect_list_options_t o;
  s3lect_list_options_init(&o, sizeof o);
  o.store = &s3l_tap.store;
  o.prefix = prefix;
  return o;
}

static s3lect_list_options_t one(const char* path, int protocol) {
  s3lect_list_options_t o = options(NULL);
  o.lockfile_path = path;
  o.protocol = protocol;
  return o;
}

static void begin(const s3lect_list_options_t* o) {
  ends = 0;
  assert_int_equal(s3lect_list_init(&list, o, NULL), 0);
}

/* One pass; gives its status. */
static int pass(void) {
  unsigned before = ends;
  assert_int_equal(s3lect_list_start(&list, on_end), 0);
  assert_int_equal(ends, before);
  s3l_wait_count(&s3l_tap.loop, &ends, before + 1, "the pass");
  return status;
}

static const s3lect_election_t* at(size_t i) {
  const s3lect_election_t* e = s3lect_list_at(&list, i);
  assert_non_null(e);
  return e;
}

static void assert_election(size_t i, const char* key, int protocol, int state) {
  assert_string_equal(at(i)->key, key);
  assert_int_equal(at(i)->protocol, protocol);
  assert_string_equal(s3lect_election_state_name(at(i)->state), s3lect_election_state_name(state));
}

static void end(void) {
  s3lect_list_free(&list);
  s3lect_list_free(&list); /* a no-op */
  assert_null(s3lect_list_at(&list, 0));
  s3l_tap_close();
}

/* ---- What is found ---- */

static void put_all(void) {
  s3l_tap_put("locks/a.json", LED("a", "7"));
  s3l_tap_put("locks/b/lock-0000000007.json", FILE("old", "7"));
  s3l_tap_put("locks/b/lock-0000000008.json", FILE("b", "8"));
  s3l_tap_put("locks/c", RELEASED);
  s3l_tap_put("locks/d", CLAIM);
  s3l_tap_put("locks/e", "no record");
  s3l_tap_put("locks/f.verify-1", LED("f", "1"));
  s3l_tap_put("other/g", LED("g", "1"));
}

static void finds_elections_on(s3l_tap_kind_t kind) {
  s3l_tap_open(kind);
  put_all();
  s3lect_list_options_t o = options("locks/");
  begin(&o);
  assert_int_equal(pass(), 0);
  assert_string_equal(message, "");
  assert_election(0, "locks/a.json", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_LED);
  assert_election(1, "locks/b/", S3LECT_PROTOCOL_EPOCHS, S3LECT_ELECTION_LED);
  assert_election(2, "locks/c", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_RELEASED);
  assert_election(3, "locks/d", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_CLAIMED);
  assert_election(4, "locks/e", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_FOREIGN);
  assert_null(s3lect_list_at(&list, 5));
  assert_int_equal(at(1)->size, sizeof(s3lect_election_t));
  assert_string_equal(at(1)->record.leader_id, "b");
  assert_string_equal(at(1)->record.leader_addr, "h:1");
  assert_string_equal(at(1)->record.value, "v-b");
  assert_int_equal(at(1)->record.epoch, 8);
  assert_int_equal(at(1)->leader_timeout_ms, 4000);
  assert_int_equal(at(2)->leader_timeout_ms, 15000);
  assert_true(at(0)->by_store && at(0)->age_ms >= 0 && at(0)->age_ms < S3L_WAIT_MS);
  assert_in_range(at(0)->read_ns, 1, s3lect_now_ns());
  end();
}

static void finds_elections(void** state) {
  for (s3l_tap_kind_t kind = 0; kind < S3L_TAP_KINDS; kind++)
    finds_elections_on(kind);
}

/* A later pass reads what has changed, and each election keeps its number. */
static void later_passes(void** state) {
  s3l_tap_open(S3L_TAP_S3);
  put_all();
  s3lect_list_options_t o = options("locks/");
  begin(&o);
  assert_int_equal(pass(), 0);
  assert_int_equal(s3l_tap.gets, 5);
  s3l_tap_put("locks/b/lock-0000000009.json", FILE("new", "9"));
  s3l_tap_put("locks/aa", LED("aa", "1"));
  s3l_tap_remove("locks/c");
  assert_int_equal(pass(), 0);
  assert_int_equal(s3l_tap.gets, 7);
  assert_election(1, "locks/aa", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_LED);
  assert_int_equal(at(1)->number, 5);
  assert_election(2, "locks/b/", S3LECT_PROTOCOL_EPOCHS, S3LECT_ELECTION_LED);
  assert_int_equal(at(2)->number, 1);
  assert_string_equal(at(2)->record.leader_id, "new");
  assert_election(3, "locks/c", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_ABSENT);
  s3l_tap_put("locks/c", LED("c", "3"));
  assert_int_equal(pass(), 0);
  assert_election(3, "locks/c", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_LED);
  assert_int_equal(at(3)->number, 2);
  end();
}

/* What has not changed for longer than its leader timeout and the grain of clocks is expired. */
static void expires(void** state) {
  if (!s3l_clocks_move())
    skip();
  s3l_tap_open(S3L_TAP_MEMORY);
  s3l_tap_put("a", LED("a", "7"));
  s3lect_list_options_t o = options(NULL);
  begin(&o);
  assert_int_equal(pass(), 0);
  s3l_clocks_skip(INT64_C(5500) * 1000000);
  assert_int_equal(pass(), 0);
  assert_election(0, "a", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_LED);
  s3l_clocks_skip(INT64_C(600) * 1000000);
  assert_int_equal(pass(), 0);
  assert_election(0, "a", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_EXPIRED);
  assert_int_equal(s3l_tap.gets, 1);
  s3l_tap_put("a", LED("a", "7"));
  assert_int_equal(pass(), 0);
  assert_election(0, "a", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_LED);
  end();
}

static void one_election_on(s3l_tap_kind_t kind) {
  s3l_tap_open(kind);
  s3lect_list_options_t o = one("locks/a.json", S3LECT_PROTOCOL_LOCKFILE);
  begin(&o);
  assert_int_equal(pass(), 0);
  assert_election(0, "locks/a.json", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_ABSENT);
  put_all();
  s3l_tap_put("locks/a.json.bak", LED("x", "1"));
  assert_int_equal(pass(), 0);
  assert_election(0, "locks/a.json", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_LED);
  assert_null(s3lect_list_at(&list, 1));
  assert_int_equal(s3l_tap.lists, 0);
  s3l_tap_put("locks/a.json", "no record");
  assert_int_equal(pass(), S3LECT_ERECORD);
  assert_string_equal(message, s3lect_strerror(S3LECT_ERECORD));
  s3lect_list_free(&list);

  o = one("locks/b/", S3LECT_PROTOCOL_EPOCHS);
  begin(&o);
  assert_int_equal(pass(), 0);
  assert_election(0, "locks/b/", S3LECT_PROTOCOL_EPOCHS, S3LECT_ELECTION_LED);
  assert_string_equal(at(0)->record.leader_id, "b");
  s3l_tap_remove("locks/b/lock-0000000007.json");
  s3l_tap_remove("locks/b/lock-0000000008.json");
  assert_int_equal(pass(), 0);
  assert_election(0, "locks/b/", S3LECT_PROTOCOL_EPOCHS, S3LECT_ELECTION_ABSENT);
  end();
}

static void one_election(void** state) {
  for (s3l_tap_kind_t kind = 0; kind < S3L_TAP_KINDS; kind++)
    one_election_on(kind);
}

/* ---- Hostile listings ---- */

static unsigned page_number;

/* Each page shows the same key. */
static int the_same_again(const s3lect_store_req_t* req, s3lect_store_entry_t* entries,
                          bool* more) {
  entries[0] = (s3lect_store_entry_t){.key = "a", .etag = "e"};
  *more = true;
  return 1;
}

static int nothing_and_more(const s3lect_store_req_t* req, s3lect_store_entry_t* entries,
                            bool* more) {
  *more = true;
  return 0;
}

static int a_long_key(const s3lect_store_req_t* req, s3lect_store_entry_t* entries, bool* more) {
  static char key[1026];
  memset(key, 'k', sizeof key - 1);
  entries[0] = (s3lect_store_entry_t){.key = key, .etag = "e"};
  return 1;
}

/* Pages of a thousand that never end. */
static int endless(s3lect_store_entry_t* entries, bool* more, const char* format) {
  static char keys[S3L_TAP_PAGE][32];
  for (int i = 0; i < S3L_TAP_PAGE; i++) {
    snprintf(keys[i], sizeof keys[i], format, page_number * S3L_TAP_PAGE + (unsigned)i + 1);
    entries[i] = (s3lect_store_entry_t){.key = keys[i], .etag = NULL};
  }
  page_number++;
  *more = true;
  return S3L_TAP_PAGE;
}

static int endless_elections(const s3lect_store_req_t* req, s3lect_store_entry_t* entries,
                             bool* more) {
  return endless(entries, more, "election-%010u");
}

static int endless_files(const s3lect_store_req_t* req, s3lect_store_entry_t* entries, bool* more) {
  return endless(entries, more, "lock-%010u.json");
}

static void hostile_listings(void** state) {
  const struct {
    int (*page)(const s3lect_store_req_t* req, s3lect_store_entry_t* entries, bool* more);
    int status;
    unsigned pages;
  } cases[] = {{the_same_again, S3LECT_ELISTING, 2},
               {nothing_and_more, S3LECT_ELISTING, 1},
               {a_long_key, S3LECT_ELISTING, 1},
               {endless_elections, S3LECT_ETOOBIG, S3LECT_LIST_MAX / S3L_TAP_PAGE + 1},
               {endless_files, S3LECT_ETOOBIG, 1001}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    s3l_tap_open(S3L_TAP_MEMORY);
    s3lect_list_options_t o = options("");
    begin(&o);
    page_number = 0;
    s3l_tap.page = cases[i].page;
    assert_int_equal(pass(), cases[i].status);
    assert_int_equal(s3l_tap.lists, cases[i].pages);
    assert_int_equal(s3l_tap.gets, 0);
    assert_string_equal(message, s3lect_strerror(cases[i].status));
    end();
  }
}

/* ---- Ends ---- */

static void fault(const char* rule) {
  char why[256];
  if (fakes3_fault(s3l_tap.server, rule, why, sizeof why) <= 0)
    fail_msg("%s", why);
}

/* What the store says is in the message; what was found before stays. */
static void failures(void** state) {
  s3l_tap_open(S3L_TAP_S3);
  put_all();
  s3lect_list_options_t o = options("locks/");
  begin(&o);
  assert_int_equal(pass(), 0);
  s3l_tap_put("locks/c", LED("c", "3"));
  fault("{\"match\":{\"method\":\"GET\",\"key\":\"locks/"
        "c\"},\"status\":403,\"code\":\"AccessDenied\"}");
  assert_int_equal(pass(), S3LECT_EDENIED);
  assert_non_null(strstr(message, "AccessDenied"));
  assert_election(2, "locks/c", S3LECT_PROTOCOL_LOCKFILE, S3LECT_ELECTION_RELEASED);
  assert_int_equal(s3lect_list_start(&list, NULL), UV_EINVAL);
  end();
}

static void on_end_frees(s3lect_list_t* l, int s, const char* text) {
  on_end(l, s, text);
  s3lect_list_free(l);
}

static void on_end_begins_again(s3lect_list_t* l, int s, const char* text) {
  on_end(l, s, text);
  assert_int_equal(s3lect_list_start(l, on_end_frees), 0);
  assert_int_equal(s3lect_list_start(l, on_end_frees), UV_EBUSY);
}

static void cancels(void** state) {
  s3l_tap_open(S3L_TAP_MEMORY);
  put_all();
  s3lect_list_options_t o = options("locks/");
  begin(&o);
  s3lect_list_cancel(&list); /* a no-op */
  for (int reading = 0; reading <= 1; reading++) {
    unsigned before = s3l_tap.cancels;
    assert_int_equal(s3lect_list_start(&list, on_end), 0);
    s3l_tap.hold = true; /* the listing is under way in the store, or the reads are held */
    while (reading && s3l_tap.gets == 0)
      s3l_turn(&s3l_tap.loop);
    s3lect_list_cancel(&list);
    assert_int_equal(s3l_tap.cancels, before + (reading ? 5 : 1));
    assert_int_equal(ends, reading);
    s3lect_list_cancel(&list);
    s3l_wait_count(&s3l_tap.loop, &ends, (unsigned)reading + 1, "the end");
    assert_int_equal(status, UV_ECANCELED);
    s3l_tap.hold = false;
  }
  assert_int_equal(s3lect_list_start(&list, on_end_begins_again), 0);
  s3l_wait_count(&s3l_tap.loop, &ends, 4, "two more passes");
  assert_int_equal(status, 0);
  assert_int_equal(s3lect_list_start(&list, on_end), UV_EINVAL);

  begin(&o); /* freed while a pass is under way */
  assert_int_equal(s3lect_list_start(&list, on_end_frees), 0);
  s3lect_list_free(&list);
  assert_null(s3lect_list_at(&list, 0));
  s3l_wait_count(&s3l_tap.loop, &ends, 1, "the end");
  assert_int_equal(status, UV_ECANCELED);
  end();
}

static void refuses(const s3lect_list_options_t* o, int code, const char* option) {
  s3lect_error_t error;
  assert_int_equal(s3lect_list_init(&list, o, &error), code);
  assert_int_equal(error.code, code);
  assert_string_equal(error.option, option);
  assert_non_null(strstr(error.text, option));
}

static void bad_options(void** state) {
  char path[1030];
  s3l_tap_open(S3L_TAP_MEMORY);
  s3lect_list_options_t o = options("a");
  o.store = NULL;
  refuses(&o, S3LECT_EOPTION, "store");
  o = options("a");
  o.lockfile_path = "b";
  refuses(&o, S3LECT_EOPTION, "prefix");
  o = one("", S3LECT_PROTOCOL_LOCKFILE);
  refuses(&o, S3LECT_EOPTION, "lockfile_path");
  o = one("a", 2);
  refuses(&o, S3LECT_EOPTION, "protocol");
  memset(path, 'p', sizeof path);
  path[1025] = '\0';
  o = options(path);
  refuses(&o, S3LECT_EOPTION, "prefix");
  path[1005] = '\0';
  o = one(path, S3LECT_PROTOCOL_EPOCHS);
  refuses(&o, S3LECT_EOPTION, "lockfile_path");
  o = options("a");
  o.size--;
  refuses(&o, UV_EINVAL, "size");
  s3l_tap_close();
}

/* One life, with allocation number n failing; false if the life had fewer. */
static bool live(size_t n, bool on) {
  s3l_heap_install();
  s3l_tap_open(S3L_TAP_MEMORY);
  put_all();
  s3lect_list_options_t o = options("locks/");
  s3l_heap_fail_at(n, on);
  ends = 0;
  int r = s3lect_list_init(&list, &o, NULL);
  if (r == 0) {
    r = s3lect_list_start(&list, on_end);
    if (r == 0) {
      s3l_wait_count(&s3l_tap.loop, &ends, 1, "the pass");
      r = status;
    }
    s3lect_list_free(&list);
  }
  bool met = s3l_heap_fail_end();
  assert_int_equal(r, met ? UV_ENOMEM : 0);
  s3l_tap_close();
  s3l_heap_remove();
  return met;
}

static void each_allocation_fails(void** state) {
  size_t once = 0, for_good = 0;
  while (live(once, false))
    once++;
  while (live(for_good, true))
    for_good++;
  assert_true(once >= 7 && for_good >= 7); /* the handle, the array, five elections */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_elections),
      cmocka_unit_test(later_passes),
      cmocka_unit_test(expires),
      cmocka_unit_test(one_election),
      cmocka_unit_test(hostile_listings),
      cmocka_unit_test(failures),
      cmocka_unit_test(cancels),
      cmocka_unit_test(bad_options),
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
