/* inspect/audit: what an audit finds in events, in kept epoch files on each kind of store and in
 * the versions of a lockfile, and how reading ends.
 *
 * ctest labels: no-valgrind */
#include "s3lect/audit.h"

#include <stdio.h>
#include <string.h>

#include "lib/heap.h"
#include "lib/tap_store.h"
#include "lib/test.h"
#include "lib/wait.h"
#include "s3lect.h"

static s3lect_audit_t audit;
static const s3lect_audit_report_t* report;
static unsigned ends;
static int status;
static char message[600];

static void begin(uint32_t clock_error_ms, bool one_machine, uint32_t max_versions) {
  s3lect_audit_options_t o;
  s3lect_audit_options_init(&o, sizeof o);
  o.clock_error_ms = clock_error_ms;
  o.one_machine = one_machine;
  o.max_versions = max_versions;
  ends = 0;
  assert_int_equal(s3lect_audit_init(&audit, &o, NULL), 0);
}

static void end(void) {
  s3lect_audit_free(&audit);
  s3lect_audit_free(&audit); /* a no-op */
  assert_null(s3lect_audit_leadership(&audit, 0));
  assert_int_equal(s3lect_audit_judge(&audit, &report), UV_EINVAL);
  assert_int_equal(s3lect_audit_add_event(&audit, 0, "{}", 2, NULL), UV_EINVAL);
}

static void judge(size_t overlaps, size_t possible, size_t same, size_t fell) {
  assert_int_equal(s3lect_audit_judge(&audit, &report), 0);
  assert_int_equal(report->size, sizeof *report);
  assert_int_equal(report->overlaps, overlaps);
  assert_int_equal(report->possible_overlaps, possible);
  assert_int_equal(report->same_epochs, same);
  assert_int_equal(report->epochs_fell, fell);
  assert_int_equal(report->findings, overlaps + possible + same + fell);
  assert_int_equal(report->wrong, overlaps + same + fell > 0);
  assert_null(s3lect_audit_finding(&audit, report->findings));
  assert_null(s3lect_audit_leadership(&audit, report->leaderships));
}

/* A finding, and the epochs of its two leaderships. */
static void assert_finding(size_t i, const char* name, uint64_t first, uint64_t second) {
  const s3lect_finding_t* f = s3lect_audit_finding(&audit, i);
  assert_non_null(f);
  assert_string_equal(s3lect_finding_name(f->kind), name);
  assert_int_equal(s3lect_audit_leadership(&audit, f->first)->epoch, first);
  assert_int_equal(s3lect_audit_leadership(&audit, f->second)->epoch, second);
}

/* ---- Events ---- */

static int ahead_ms; /* wall time less lease time */

/* `at` and `until` are ms of lease time. */
static int event(uint32_t log, const char* id, const char* kind, int epoch, int at, int until) {
  char line[512];
  int n = snprintf(line, sizeof line,
                   "{\"event\":\"%s\",\"id\":\"%s\",\"epoch\":%d,\"reason\":\"closed\","
                   "\"lease_ns\":%d000000,\"valid_until_ns\":%d000000,"
                   "\"time\":\"2026-01-01T00:00:%02d.%03dZ\"}",
                   kind, id, epoch, at, until, (at + ahead_ms) / 1000, (at + ahead_ms) % 1000);
  return s3lect_audit_add_event(&audit, log, line, (size_t)n, NULL);
}

static void leads(uint32_t log, const char* id, int epoch, int from, int until) {
  assert_int_equal(event(log, id, "started_leading", epoch, from, from + 3000), 0);
  assert_int_equal(event(log, id, "stopped_leading", epoch, until, until), 0);
}

static void good_events(void** state) {
  begin(0, false, 0);
  judge(0, 0, 0, 0);
  leads(0, "a", 7, 1000, 5000);
  leads(1, "b", 8, 8000, 9000);
  judge(0, 0, 0, 0);
  leads(0, "a", 9, 13000, 14000); /* judged again, with more */
  assert_int_equal(event(1, "b", "started_leading", 10, 20000, 23000), 0);
  judge(0, 0, 0, 0);
  assert_int_equal(report->leaderships, 4);
  assert_int_equal(report->sources, 2);
  assert_int_equal(report->unlogged_ends, 1);
  assert_int_equal(report->close, 0);
  const s3lect_leadership_t* l = s3lect_audit_leadership(&audit, 1);
  assert_int_equal(l->size, sizeof *l);
  assert_string_equal(l->id, "b");
  assert_string_equal(l->reason, "closed");
  assert_true(l->ended && l->source == 1);
  assert_int_equal(l->until_ms - l->from_ms, 1000);
  assert_int_equal(l->latest_ms, l->until_ms);
  l = s3lect_audit_leadership(&audit, 3);
  assert_false(l->ended);
  assert_int_equal(l->latest_ms - l->from_ms, 3000);
  end();
}

/* They lead together for 500 ms: more or less than what the clocks can hide. */
static void overlaps(void** state) {
  const struct {
    uint32_t clock_error_ms;
    bool one_machine;
    const char* name;
  } cases[] = {{0, true, "overlap"},
               {249, false, "overlap"},
               {250, false, "possible_overlap"},
               {0, false, "possible_overlap"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool certain = strcmp(cases[i].name, "overlap") == 0;
    begin(cases[i].clock_error_ms, cases[i].one_machine, 0);
    leads(0, "a", 7, 1000, 5000);
    leads(1, "b", 8, 4500, 6000);
    judge(certain, !certain, 0, 0);
    assert_finding(0, cases[i].name, 7, 8);
    assert_int_equal(s3lect_audit_finding(&audit, 0)->ms, 500);
    end();
  }
}

static void epochs_that_do_not_grow(void** state) {
  begin(0, false, 0);
  leads(0, "a", 7, 1000, 2000);
  leads(1, "b", 7, 10000, 11000);
  leads(0, "a", 6, 20000, 21000);
  judge(0, 0, 1, 1);
  assert_finding(0, "same_epoch", 7, 7);
  assert_finding(1, "epoch_fell", 7, 6);
  end();
}

/* One ID in two logs: two sources, whose lease times are not compared. */
static void sources(void** state) {
  begin(0, false, 0);
  leads(0, "a", 7, 10000, 11000);
  leads(1, "a", 8, 20000, 21000);
  judge(0, 0, 0, 0);
  assert_int_equal(report->sources, 2);
  ahead_ms = 22000;
  leads(1, "a", 9, 1000, 2000); /* started anew: lease time begins again */
  ahead_ms = 0;
  judge(0, 0, 0, 0);
  assert_int_equal(report->sources, 2);
  assert_int_equal(report->leaderships, 3);
  end();
}

static void assert_refused(const char* line, size_t len, const char* why) {
  s3lect_error_t error;
  assert_int_equal(s3lect_audit_add_event(&audit, 0, line, len, &error), S3LECT_ERECORD);
  assert_int_equal(error.code, S3LECT_ERECORD);
  assert_non_null(strstr(error.text, why));
}

static void what_is_no_event(void** state) {
  static char long_line[(1 << 20) + 64];
  static const char nul[] = "{\"event\":\"renewed\0\"}";
  const char* const lines[] = {"",
                               "hello",
                               "[]",
                               "{\"event\":5}",
                               "{\"event\":\"renewed\"",
                               "{\"event\":\"a name that is longer than any of an event\"}"};
  begin(0, false, 0);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    assert_refused(lines[i], strlen(lines[i]), "no event of s3lect elect");
  assert_refused(nul, sizeof nul - 1, "no event of s3lect elect");
  memset(long_line, ' ', sizeof long_line);
  memcpy(long_line, "{\"event\":\"renewed\"}", 19);
  assert_refused(long_line, sizeof long_line, "no event of s3lect elect");
  assert_refused(long_line, 19, "lacks id");
  const char negative[] =
      "{\"event\":\"started_leading\",\"id\":\"a\",\"epoch\":7,\"lease_ns\":1,"
      "\"valid_until_ns\":-9223372036854775808,\"time\":\"2026-11-23T00:00:00Z\"}";
  assert_refused(negative, sizeof negative - 1, "negative");
  judge(0, 0, 0, 0);
  assert_int_equal(report->leaderships, 0);
  end();
}

/* ---- Stores ---- */

static void on_read(s3lect_audit_t* a, int s, const char* text) {
  assert_ptr_equal(a, &audit);
  ends++;
  status = s;
  snprintf(message, sizeof message, "%s", text);
}

static s3lect_list_options_t election(const char* path, int protocol) {
  s3lect_list_options_t o;
  s3lect_list_options_init(&o, sizeof o);
  o.store = &s3l_tap.store;
  o.lockfile_path = path;
  o.protocol = protocol;
  return o;
}

static int read_all(const char* path, int protocol) {
  s3lect_list_options_t o = election(path, protocol);
  unsigned before = ends;
  assert_int_equal(s3lect_audit_read(&audit, &o, on_read, NULL), 0);
  assert_int_equal(ends, before);
  assert_int_equal(s3lect_audit_judge(&audit, &report), UV_EBUSY);
  s3l_wait_count(&s3l_tap.loop, &ends, before + 1, "the store to be read");
  return status;
}

/* An epoch file; the bodies differ, and the store's clock gives the end. */
static void put_file(int number, const char* id, bool expired) {
  char key[64], body[512];
  snprintf(key, sizeof key, "e/lock-%010d.json", number);
  snprintf(body, sizeof body,
           "{\"validity_ms\":4000,\"expired\":%s,\"leaderID\":\"%s\",\"leaderAddr\":\"\","
           "\"epoch\":%d}",
           expired ? "true" : "false", id, number);
  s3l_tap_put(key, body);
}

static void files_of(s3l_tap_kind_t kind) {
  s3l_tap_open(kind);
  for (int i = 0; i < 20; i++)
    put_file(1000 + i, i % 2 ? "b" : "a", i < 19);
  s3l_tap_put("e/lock-x.json", "other");
  begin(0, false, 0);
  assert_int_equal(read_all("e/", S3LECT_PROTOCOL_EPOCHS), 0);
  assert_string_equal(message, "");
  assert_int_equal(s3l_tap.gets, 20);
  judge(0, 0, 0, 0);
  assert_int_equal(report->leaderships, 20);
  assert_int_equal(report->sources, 1);
  assert_int_equal(report->unlogged_ends, 1);
  end();
  s3l_tap_put("e/lock-0000001003.json", "no record");
  begin(0, false, 0);
  assert_int_equal(read_all("e/", S3LECT_PROTOCOL_EPOCHS), S3LECT_ERECORD);
  assert_string_equal(message, s3lect_strerror(S3LECT_ERECORD));
  end();
  s3l_tap_close();
}

static void files_that_were_kept(void** state) {
  for (s3l_tap_kind_t kind = 0; kind < S3L_TAP_KINDS; kind++)
    files_of(kind);
}

static void put_version(const char* id, int epoch, bool released) {
  char body[512];
  snprintf(body, sizeof body,
           "{\"leaderID\":\"%s\",\"leaderAddr\":\"\",\"lastUpdated\":\"%s\",\"epoch\":%d,"
           "\"incarnation\":\"%032d\",\"transitions\":1,\"leaderTimeoutMs\":4000}",
           id, released ? "0001-01-01T00:00:00Z" : "2026-01-01T00:00:00Z", epoch, epoch);
  s3l_tap_put("lock", body);
}

static void versions(void** state) {
  s3l_tap_open(S3L_TAP_S3);
  put_version("a", 7, false);
  put_version("a", 7, true);
  s3l_tap_put("lock", "no record"); /* none of an elector's */
  put_version("b", 8, true);
  s3l_tap_put("lock.other", "after it");
  begin(0, false, 0);
  assert_int_equal(read_all("lock", S3LECT_PROTOCOL_LOCKFILE), 0);
  judge(0, 0, 0, 0);
  assert_int_equal(report->leaderships, 2);
  assert_false(report->more_versions);
  assert_string_equal(s3lect_audit_leadership(&audit, 0)->reason, "released");
  end();
  put_version("a", 7, false); /* a store that lets a deposed leader write again */
  begin(0, false, 0);
  assert_int_equal(read_all("lock", S3LECT_PROTOCOL_LOCKFILE), 0);
  judge(0, 0, 1, 1);
  end();
  begin(0, false, 2);
  assert_int_equal(read_all("lock", S3LECT_PROTOCOL_LOCKFILE), 0);
  judge(0, 0, 0, 1);
  assert_finding(0, "epoch_fell", 8, 7);
  assert_true(report->more_versions);
  end();
  begin(0, false, 1);
  s3l_tap.gets = 0;
  assert_int_equal(read_all("lock", S3LECT_PROTOCOL_LOCKFILE), 0);
  assert_int_equal(s3l_tap.gets, 1);
  end();
  s3l_tap_close();
}

/* A store whose clock is in the year 9900. */
static void versions_of_the_far_future(void** state) {
  s3l_tap_open(S3L_TAP_S3);
  fakes3_set_clock_offset(s3l_tap.server, INT64_C(7874) * 365 * 86400 * 1000);
  put_version("a", 7, true);
  put_version("b", 8, false);
  begin(0, false, 0);
  assert_int_equal(read_all("lock", S3LECT_PROTOCOL_LOCKFILE), 0);
  judge(0, 0, 0, 0);
  assert_int_equal(report->leaderships, 2);
  assert_true(s3lect_audit_leadership(&audit, 1)->latest_ms > INT64_C(240000000000000));
  end();
  s3l_tap_close();
}

/* ---- How reading ends ---- */

static int the_same_again(const s3lect_store_req_t* req, s3lect_store_entry_t* entries,
                          bool* more) {
  entries[0] = (s3lect_store_entry_t){.key = "e/lock-0000000001.json", .etag = "e"};
  *more = true;
  return 1;
}

/* Says that it keeps versions, and lists an object without one. */
static int no_version(const s3lect_store_req_t* req, s3lect_store_entry_t* entries, bool* more) {
  assert_true((req->flags & S3LECT_REQ_VERSIONS) != 0);
  entries[0] = (s3lect_store_entry_t){.key = "lock", .etag = "e"};
  return 1;
}

static void refusals(void** state) {
  s3lect_error_t error;
  s3l_tap_open(S3L_TAP_MEMORY);
  s3lect_list_options_t o = election("e/", S3LECT_PROTOCOL_EPOCHS);
  begin(0, false, 0);
  assert_int_equal(s3lect_audit_read(&audit, &o, NULL, &error), UV_EINVAL);
  o.lockfile_path = NULL;
  assert_int_equal(s3lect_audit_read(&audit, &o, on_read, &error), S3LECT_EOPTION);
  assert_string_equal(error.option, "lockfile_path");
  o = election("lock", S3LECT_PROTOCOL_LOCKFILE);
  assert_int_equal(s3lect_audit_read(&audit, &o, on_read, &error), UV_ENOSYS);
  s3l_tap.page = the_same_again;
  assert_int_equal(read_all("e/", S3LECT_PROTOCOL_EPOCHS), S3LECT_ELISTING);
  o = election("e/", S3LECT_PROTOCOL_EPOCHS);
  assert_int_equal(s3lect_audit_read(&audit, &o, on_read, NULL), UV_EINVAL); /* a second store */
  assert_int_equal(event(0, "a", "renewed", 1, 1, 1), UV_EINVAL);
  end();
  begin(0, false, 0);
  leads(0, "a", 7, 1000, 2000);
  assert_int_equal(s3lect_audit_read(&audit, &o, on_read, NULL), UV_EINVAL);
  end();
  s3l_tap_close();

  s3l_tap_open(S3L_TAP_S3);
  s3l_tap.page = no_version;
  begin(0, false, 0);
  assert_int_equal(read_all("lock", S3LECT_PROTOCOL_LOCKFILE), 0);
  judge(0, 0, 0, 0);
  end();
  s3l_tap_close();
}

static void on_read_frees(s3lect_audit_t* a, int s, const char* text) {
  on_read(a, s, text);
  s3lect_audit_free(a);
}

static void cancels(void** state) {
  s3lect_list_options_t o = election("e/", S3LECT_PROTOCOL_EPOCHS);
  for (int i = 0; i < 4; i++) { /* in the listing, in the reads; by cancel, by free */
    s3l_tap_open(S3L_TAP_MEMORY);
    for (int number = 1; number <= 12; number++)
      put_file(number, "a", true);
    begin(0, false, 0);
    s3lect_audit_cancel(&audit); /* a no-op */
    o.store = &s3l_tap.store;
    assert_int_equal(s3lect_audit_read(&audit, &o, i % 2 ? on_read_frees : on_read, NULL), 0);
    s3l_tap.hold = true;
    while (i >= 2 && s3l_tap.gets == 0)
      s3l_turn(&s3l_tap.loop);
    if (i % 2)
      s3lect_audit_free(&audit);
    else
      s3lect_audit_cancel(&audit);
    assert_int_equal(s3l_tap.cancels, i >= 2 ? 8 : 1);
    assert_int_equal(ends, 0);
    s3l_wait_count(&s3l_tap.loop, &ends, 1, "the end");
    assert_int_equal(status, UV_ECANCELED);
    end();
    s3l_tap_close();
  }
}

/* One life, with allocation number n failing; false if it had fewer. */
static bool live(size_t n, bool on, bool from_store) {
  s3lect_audit_options_t options;
  s3lect_audit_options_init(&options, sizeof options);
  s3l_heap_install();
  s3l_tap_open(S3L_TAP_MEMORY);
  for (int number = 1; number <= 10; number++)
    put_file(number, "a", true);
  s3lect_list_options_t o = election("e/", S3LECT_PROTOCOL_EPOCHS);
  s3l_heap_fail_at(n, on);
  ends = 0;
  int r = s3lect_audit_init(&audit, &options, NULL);
  if (r == 0 && from_store) {
    r = s3lect_audit_read(&audit, &o, on_read, NULL);
    if (r == 0) {
      s3l_wait_count(&s3l_tap.loop, &ends, 1, "the store to be read");
      r = status;
    }
  }
  for (int i = 0; r == 0 && !from_store && i < 10; i++) {
    r = event((uint32_t)i, "a", "started_leading", i, 1000, 5000);
  }
  if (r == 0)
    r = s3lect_audit_judge(&audit, &report);
  if (r == 0)
    assert_int_equal(report->leaderships, 10);
  s3lect_audit_free(&audit);
  bool met = s3l_heap_fail_end();
  assert_int_equal(r, met ? UV_ENOMEM : 0);
  s3l_tap_close();
  s3l_heap_remove();
  return met;
}

static void each_allocation_fails(void** state) {
  for (int i = 0; i < 4; i++) {
    size_t n = 0;
    while (live(n, i % 2, i >= 2))
      n++;
    assert_true(n >= 14); /* the audit, ten leaderships, lists of them and of what is judged */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_events),
      cmocka_unit_test(overlaps),
      cmocka_unit_test(epochs_that_do_not_grow),
      cmocka_unit_test(sources),
      cmocka_unit_test(what_is_no_event),
      cmocka_unit_test(files_that_were_kept),
      cmocka_unit_test(versions),
      cmocka_unit_test(versions_of_the_far_future),
      cmocka_unit_test(refusals),
      cmocka_unit_test(cancels),
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
