/* s3lect_verify_start on the fake S3, Azure and Google: an honest one, and each of its lies found
 * out for what it is.
 *
 * ctest labels: every-store slow */
#include <stdbool.h>
#include <string.h>

#include "fakes3/fakes3.h"
#include "lib/any_store.h"
#include "lib/test.h"
#include "lib/verify_rig.h"
#include "lib/wait.h"
#include "s3lect/store.h"

static uv_loop_t loop;
static fakes3_t* server;
static s3lect_store_t store;
static s3l_verify_rig_t rig;

static int open_plain(void** state) {
  char why[256] = "";
  const fakes3_options_t o = {.protocol = s3l_any_store()};
  assert_int_equal(uv_loop_init(&loop), 0);
  if (fakes3_start(&loop, &o, &server, why, sizeof(why)) != 0)
    fail_msg("%s", why);
  s3l_any_store_open(&loop, &store,
                     &(s3l_any_store_options_t){
                         .url = fakes3_url(server), .bucket = "bucket", .max_connections = 16});
  return 0;
}

static int close_all(void** state) {
  s3lect_store_close(&store, NULL);
  fakes3_stop(server, NULL, NULL);
  s3l_wait_loop_end(&loop);
  return 0;
}

static void lie(const char* json) {
  char why[200] = "";
  if (fakes3_fault(server, json, why, sizeof(why)) <= 0)
    fail_msg("%s: %s", json, why);
}

static s3lect_verify_options_t options(bool quick) {
  s3lect_verify_options_t o;
  s3lect_verify_options_init(&o, sizeof(o));
  o.store = &store;
  o.prefix = "locks/verify-";
  o.quick = quick;
  return o;
}

static void run(bool quick) {
  s3lect_verify_options_t o = options(quick);
  s3l_verify_rig_run(&rig, &o);
}

/* Objects left in the bucket: each key that was written must have been deleted last. */
static void nothing_is_left(void) {
  const fakes3_entry_t* e = NULL;
  char keys[64][128];
  bool there[64];
  size_t n = 0;
  for (uint64_t seq = 0; (e = fakes3_log_after(server, seq)) != NULL; seq = e->seq) {
    bool put = strcmp(e->method, "PUT") == 0 && e->status / 100 == 2;
    bool del = strcmp(e->method, "DELETE") == 0 && e->status / 100 == 2;
    size_t i = 0;
    if (!put && !del)
      continue;
    assert_int_equal(strncmp(e->key, "locks/verify-", 13), 0);
    while (i < n && strcmp(keys[i], e->key) != 0)
      i++;
    assert_true(i < 64 && strlen(e->key) < sizeof(keys[0]));
    memcpy(keys[i], e->key, strlen(e->key) + 1);
    there[i] = put;
    n = i == n ? n + 1 : n;
  }
  for (size_t i = 0; i < n; i++)
    assert_false(there[i]);
  assert_true(n > 0);
  assert_int_equal(rig.report.leftovers, 0);
}

#define FAILED(...) s3l_verify_rig_failed(&rig, (const char* const[]){__VA_ARGS__, NULL})
#define NONE_FAILED s3l_verify_rig_failed(&rig, (const char* const[]){NULL})

static void trusts_an_honest_store(void** state) {
  for (int quick = 0; quick < 2; quick++) {
    run(quick != 0);
    NONE_FAILED;
    assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
    assert_int_equal(rig.report.error, 0);
    assert_int_equal(rig.report.etag_dialect,
                     s3l_any_store_is("s3") ? S3LECT_ETAG_QUOTED : S3LECT_ETAG_UNKNOWN);
    assert_int_equal(rig.report.etags_weak, 0);
    nothing_is_left();
    for (size_t i = 0; i < rig.report.checks_len; i++) {
      bool skipped = quick != 0 && strcmp(rig.report.checks[i].name, "equal-bodies") == 0;
      /* The others' ETags are no hashes. */
      bool noted = quick == 0 && s3l_any_store_is("s3") &&
                   strcmp(rig.report.checks[i].name, "equal-bodies") == 0;
      assert_int_equal(rig.report.checks[i].verdict, skipped ? S3LECT_CHECK_SKIPPED
                                                     : noted ? S3LECT_CHECK_NOTED
                                                             : S3LECT_CHECK_PASSED);
    }
    assert_true(rig.report.requests < (quick != 0 ? 100u : 640u));
    fakes3_counters_t counters;
    fakes3_counters(server, &counters);
    if (quick == 0)
      assert_int_equal(counters.requests, rig.report.requests);
    assert_true(rig.report.latency_p50_us > 0 &&
                rig.report.latency_p50_us <= rig.report.latency_p90_us &&
                rig.report.latency_p90_us <= rig.report.latency_p99_us &&
                rig.report.latency_p99_us <= rig.report.latency_max_us);
  }
}

#define FULL_ONLY   1u /* a quick run need not find it */
#define EPOCHS_SAFE 2u

/* Lies, each found out for what it is, and nothing else. */
static const struct {
  const char* json;
  unsigned how;
  const char* failed[6];
  const char* reason[2]; /* the lockfile's, of a full run and of a quick one if it is another */
} findings[] = {
    {"{\"ignore_conditions\":true}",
     0,
     {"create-again", "swap-stale", "swap-missing", "one-create-wins", "one-swap-wins"},
     {"ignores If-None-Match"}},
    {"{\"match\":{\"condition\":\"if-match\"},\"ignore_conditions\":true}",
     FULL_ONLY | EPOCHS_SAFE,
     {"swap-stale", "swap-missing", "one-swap-wins"},
     {"ignores If-Match"}},
    {"{\"non_atomic\":20}",
     0,
     {"one-create-wins", "one-swap-wins"},
     {"not in one step with the write"}},
    /* For sure: in the first round every writer is let past the check before any body is whole. */
    {"{\"check_early\":true}",
     0,
     {"one-create-wins", "one-swap-wins"},
     {"8 of 8 writers", "4 of 4 writers"}},
    {"{\"constant_etag\":true}", 0, {"fresh-etag", "one-swap-wins"}, {"ETags do not change"}},
    {"{\"stale_reads\":2000}", 0, {"read-after-write"}, {"reads do not show the newest write"}},
    /* Stale only now and then, as behind several front ends. */
    {"{\"match\":{\"method\":\"GET\"},\"skip\":9,\"count\":1,\"stale_reads\":2000}",
     FULL_ONLY,
     {"read-after-write"},
     {""}},
    {"{\"no_etag\":true}", FULL_ONLY, {"create"}, {"ETag"}},
    {"{\"no_if_match\":true}", EPOCHS_SAFE, {"swap"}, {"501"}},
    /* Every condition is refused, as on B2. */
    {"{\"match\":{\"condition\":\"any\"},\"status\":501,\"code\":\"NotImplemented\"}",
     FULL_ONLY,
     {"create"},
     {"501"}},
};

static void finds_lies(void** state) {
  for (size_t i = 0; i < sizeof(findings) / sizeof(findings[0]); i++) {
    print_message("%s\n", findings[i].json);
    open_plain(NULL);
    lie(findings[i].json);
    for (int quick = 0; quick < ((findings[i].how & FULL_ONLY) != 0 ? 1 : 2); quick++) {
      run(quick != 0);
      s3l_verify_rig_failed(&rig, findings[i].failed);
      assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNSAFE);
      assert_int_equal(rig.report.epochs.safety, (findings[i].how & EPOCHS_SAFE) != 0
                                                     ? S3LECT_SAFETY_SAFE
                                                     : S3LECT_SAFETY_UNSAFE);
      bool other = quick != 0 && findings[i].reason[1] != NULL;
      assert_non_null(strstr(rig.report.lockfile.reason, findings[i].reason[other ? 1 : 0]));
      nothing_is_left();
    }
    close_all(NULL);
  }
}

static void does_without_if_match(void** state) {
  lie("{\"no_if_match\":true}");
  for (int quick = 0; quick < 2; quick++) {
    run(quick != 0);
    assert_int_equal(s3l_verify_rig_check(&rig, "one-create-wins"), S3LECT_CHECK_PASSED);
    assert_int_equal(s3l_verify_rig_check(&rig, "one-swap-wins"), S3LECT_CHECK_SKIPPED);
  }
}

/* Each protocol has a verdict of its own: a lockfile needs no listing. */
static void finds_listings_that_do_not_show_what_was_written(void** state) {
  static const char* const lies[] = {"{\"empty_lists\":true}",
                                     "{\"match\":{\"method\":\"LIST\"},\"status\":501}"};
  for (size_t i = 0; i < 2; i++) {
    lie(lies[i]);
    run(i == 0);
    FAILED("list");
    assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
    assert_int_equal(rig.report.epochs.safety, S3LECT_SAFETY_UNSAFE);
    assert_non_null(strstr(rig.report.epochs.reason, "listings do not show"));
    nothing_is_left();
    fakes3_fault_clear(server, 0);
  }
  lie(s3l_any_store_is("azure") ? "{\"match\":{\"method\":\"LIST\"},\"status\":403,"
                                  "\"code\":\"AuthorizationPermissionMismatch\"}"
                                : "{\"match\":{\"method\":\"LIST\"},\"status\":403}");
  run(true);
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(rig.report.epochs.safety, S3LECT_SAFETY_UNKNOWN);
  assert_int_equal(rig.report.error, S3LECT_EDENIED);
}

/* MinIO and VersityGW: what is written as "/jobs/..." is "jobs/...", and no listing shows it. */
static void finds_keys_that_are_normalised(void** state) {
  static const char* const prefixes[] = {"/jobs/", "a//jobs/", "./jobs/", "jobs/./"};
  lie("{\"normalise_keys\":true}");
  for (size_t i = 0; i < 4; i++) {
    s3lect_verify_options_t o = options(true);
    o.prefix = prefixes[i];
    s3l_verify_rig_run(&rig, &o);
    FAILED("list");
    assert_int_equal(rig.report.epochs.safety, S3LECT_SAFETY_UNSAFE);
  }
  run(true);
  NONE_FAILED;
  assert_int_equal(rig.report.epochs.safety, S3LECT_SAFETY_SAFE);
}

static void learns_the_bare_dialect(void** state) {
  lie("{\"bare_only\":true}");
  for (int again = 0; again < 2; again++) { /* the second time the store knows */
    run(false);
    NONE_FAILED;
    assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
    assert_int_equal(rig.report.etag_dialect, S3LECT_ETAG_BARE);
    nothing_is_left();
  }
}

/* The reply that would have proven it to the store is lost, and a read shows that the write was
 * done. */
static void learns_it_from_a_read(void** state) {
  lie("{\"bare_only\":true}");
  lie("{\"match\":{\"method\":\"PUT\",\"condition\":\"if-match\"},\"skip\":1,\"count\":1,"
      "\"status\":502,\"after_effect\":true}");
  run(false);
  NONE_FAILED;
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(rig.report.etag_dialect, S3LECT_ETAG_BARE);
}

static void knows_a_404_without_a_body(void** state) {
  lie("{\"plain_404\":true}");
  run(true);
  NONE_FAILED;
  nothing_is_left();
}

static void notes_weak_etags(void** state) {
  lie("{\"weak_etag\":true}");
  run(false);
  NONE_FAILED;
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(rig.report.etags_weak, 1);
}

/* A store that fails and throttles now and then, and loses replies, is not taken for a liar. */
static void is_patient(void** state) {
  lie("{\"match\":{\"method\":\"PUT\"},\"skip\":1,\"count\":1,\"drop_after\":true}");
  lie("{\"match\":{\"method\":\"PUT\"},\"skip\":3,\"count\":1,\"status\":503,\"code\":"
      "\"SlowDown\"}");
  lie("{\"match\":{\"method\":\"PUT\"},\"skip\":5,\"count\":2,\"status\":500,\"after_effect\":"
      "true}");
  lie("{\"match\":{\"method\":\"GET\"},\"skip\":2,\"count\":2,\"status\":429}");
  lie("{\"match\":{\"method\":\"DELETE\"},\"count\":2,\"status\":503}");
  run(false);
  NONE_FAILED;
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  nothing_is_left();
}

/* One write a second to a key: races that nobody wins are run again. */
static void waits_for_a_throttling_store(void** state) {
  lie("{\"match\":{\"method\":\"PUT\"},\"skip\":8,\"count\":4,\"status\":429}");
  run(true);
  NONE_FAILED;
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
}

/* What keeps a run from finding out is told as that, not as a verdict. */
static void denied(const char* json, int error, const char* check) {
  lie(json);
  run(false);
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNKNOWN);
  assert_int_equal(rig.report.error, error);
  assert_int_equal(s3l_verify_rig_check(&rig, check), S3LECT_CHECK_INCONCLUSIVE);
  assert_non_null(strstr(rig.report.lockfile.reason, "could not be examined"));
  fakes3_fault_clear(server, 0);
}

static void tells_errors(void** state) {
  denied("{\"match\":{\"method\":\"PUT\"},\"status\":403,\"code\":\"AccessDenied\"}",
         S3LECT_EDENIED, "create");
  denied("{\"match\":{\"method\":\"GET\"},\"status\":403,\"code\":\"AccessDenied\"}",
         S3LECT_EDENIED, "read-after-write");
  denied("{\"match\":{\"method\":\"PUT\"},\"count\":4,\"status\":409}", S3LECT_ECONFLICT, "create");
  denied("{\"match\":{\"method\":\"PUT\"},\"skip\":2,\"count\":4,\"status\":409}", S3LECT_ECONFLICT,
         "swap");
  nothing_is_left();
  denied("{\"status\":404,\"code\":\"NoSuchBucket\"}", S3LECT_ENOBUCKET, "create");
  /* An unknown access key on VersityGW, a gateway, encryption that the store does not have. */
  denied("{\"status\":404,\"code\":\"XAdminUserNotFound\"}", S3LECT_ESIGNATURE, "create");
  denied("{\"status\":404,\"html\":\"default backend - 404\"}", S3LECT_ESERVER, "create");
  denied("{\"match\":{\"method\":\"PUT\"},\"status\":501,\"code\":\"NotImplemented\"}",
         S3LECT_EUNSUPPORTED, "create");
}

/* No permission to delete: the verdict stands, and what is left is counted. */
static void counts_what_it_cannot_remove(void** state) {
  lie("{\"match\":{\"method\":\"DELETE\"},\"status\":403,\"code\":\"AccessDenied\"}");
  run(false);
  NONE_FAILED;
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(rig.report.leftovers, 4);
  assert_int_equal(s3l_verify_rig_check(&rig, "delete"), S3LECT_CHECK_NOTED);
}

static void measures_the_clock(void** state) {
  fakes3_set_clock_offset(server, 600 * 1000);
  run(false);
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_SAFE);
  assert_int_equal(rig.report.clock_known, 1);
  assert_in_range(rig.report.clock_error_ms, 0, 501);
  assert_true(rig.report.clock_offset_ms - rig.report.clock_error_ms <= 600 * 1000);
  assert_true(rig.report.clock_offset_ms + rig.report.clock_error_ms >= 600 * 1000);
}

/* Cancelled in the middle of a race: removes what it made. */
static void cleans_up_after_a_cancel(void** state) {
  s3lect_verify_options_t o = options(false);
  fakes3_counters_t counters = {0};
  s3l_verify_rig_start(&rig, &o);
  while (counters.put < 16) {
    s3l_turn(&loop);
    fakes3_counters(server, &counters);
  }
  s3lect_verify_cancel(&rig.verify);
  s3lect_verify_cancel(&rig.verify);
  assert_int_equal(rig.done, 0);
  s3l_wait_count(&loop, &rig.done, 1, "the end of a cancelled run");
  assert_int_equal(rig.report.lockfile.safety, S3LECT_SAFETY_UNKNOWN);
  assert_int_equal(rig.report.error, UV_ECANCELED);
  nothing_is_left();
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, open_plain, close_all)
      T(trusts_an_honest_store),
      cmocka_unit_test(finds_lies),
      T(does_without_if_match),
      T(finds_listings_that_do_not_show_what_was_written),
      T(finds_keys_that_are_normalised),
      T(learns_the_bare_dialect),
      T(learns_it_from_a_read),
      T(knows_a_404_without_a_body),
      T(notes_weak_etags),
      T(is_patient),
      T(waits_for_a_throttling_store),
      T(tells_errors),
      T(counts_what_it_cannot_remove),
      T(measures_the_clock),
      T(cleans_up_after_a_cancel),
  };
  const struct CMUnitTest of_all_stores[] = {
      T(trusts_an_honest_store),       cmocka_unit_test(finds_lies),
      T(does_without_if_match),        T(finds_listings_that_do_not_show_what_was_written),
      T(knows_a_404_without_a_body),   T(is_patient),
      T(waits_for_a_throttling_store), T(measures_the_clock),
      T(cleans_up_after_a_cancel),
  };
  return s3l_any_store_is("s3") ? cmocka_run_group_tests(tests, NULL, NULL)
                                : cmocka_run_group_tests(of_all_stores, NULL, NULL);
}
