/* The suite on the fake S3, over plain HTTP and over TLS, and the mistakes of a set-up that only a
 * store which checks signatures finds. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fakes3_store.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_suite_req_t r;

static s3lect_store_s3_options_t good_options(void) {
  return server_options("bucket", "eu-central-1");
}

/* A server, and a store that uses it with this region (NULL: none is set). */
static void begin(const fakes3_options_t* server_options, const char* region) {
  start_server(server_options);
  s3lect_store_s3_options_t o = good_options();
  o.region = region;
  open_store(&o);
}

static void end(void) {
  close_store();
  stop_server();
}

static int open_plain(void** state) {
  begin(&(fakes3_options_t){0}, "eu-central-1");
  *state = &suite;
  return 0;
}

static int open_tls(void** state) {
  open_tls_store("bucket", "eu-central-1");
  *state = &suite;
  return 0;
}

static int close_tls(void** state) {
  s3l_suite_clean(*state);
  close_tls_store();
  return 0;
}

/* What becomes of requests with these options. */
static void both_end(const s3lect_store_s3_options_t* o, int status, const char* says) {
  open_store(o);
  both_refused(status, says);
}

static void names_mistakes(void** state) {
  start_server(&(fakes3_options_t){.buckets = "bucket"});
  s3lect_store_s3_options_t o = good_options();
  o.secret_access_key = "wrong";
  both_end(&o, S3LECT_ESIGNATURE, "403 SignatureDoesNotMatch");
  o = good_options();
  o.access_key_id = "nobody";
  both_end(&o, S3LECT_ESIGNATURE, "403 InvalidAccessKeyId");
  o = good_options();
  o.bucket = "other";
  both_end(&o, S3LECT_ENOBUCKET, "404 NoSuchBucket");
  stop_server();
}

static size_t log_len(void) {
  const fakes3_entry_t* e;
  size_t n = 0;
  for (uint64_t seq = 0; (e = fakes3_log_after(server, seq)) != NULL; seq = e->seq)
    n++;
  return n;
}

/* One request, how many it took, and which notice came with it ("": none). */
static void takes(bool write, size_t requests, int code, const char* message) {
  size_t before = log_len();
  const s3lect_store_result_t* result =
      write ? s3l_suite_put(&suite, &r, "k", S3LECT_ALWAYS, NULL, "x")
            : s3l_suite_get(&suite, &r, "k", NULL);
  if (result->status != 0)
    fail_msg("%s: %s", s3lect_err_name(result->status), result->message);
  assert_int_equal(log_len() - before, requests);
  assert_int_equal(result->notice, code);
  assert_string_equal(result->message != NULL ? result->message : "", message);
}

#define IS_IN                                                                                      \
  "the bucket is in region eu-north-1, not in us-east-1: requests go there now; set "              \
  "AWS_REGION (or the option region) to it, which saves finding out"

/* By a store that checks signatures: a wrong region costs one request, once; a write is carried out
 * once. */
static void learns_the_region(void** state) {
  fakes3_counters_t counters;
  begin(&(fakes3_options_t){.region = "eu-north-1"}, NULL);
  takes(true, 2, S3LECT_EREGION, IS_IN);
  fakes3_counters(server, &counters);
  assert_int_equal(counters.writes, 1);
  takes(true, 1, 0, "");
  takes(false, 1, 0, "");
  end();
}

#define AT_ONCE 6

/* Those that are out while another one learns are refused, too, but do not learn it again. */
static void learns_together(void** state) {
  s3l_suite_req_t* all = calloc(AT_ONCE, sizeof(*all));
  fakes3_counters_t counters;
  char why[256];
  unsigned notice = 0;
  assert_non_null(all);
  begin(&(fakes3_options_t){.region = "eu-north-1"}, NULL);
  assert_true(fakes3_fault(server, "{\"reply_delay_ms\":100}", why, sizeof(why)) > 0);
  for (int i = 0; i < AT_ONCE; i++) {
    char name[8];
    snprintf(name, sizeof(name), "k%d", i);
    s3l_suite_prepare(&suite, &all[i], name);
    all[i].req.body = "x";
    all[i].req.body_len = 1;
    assert_int_equal(s3l_suite_start(&all[i], s3lect_store_put), 0);
  }
  for (int i = 0; i < AT_ONCE; i++) {
    s3l_suite_wait(&all[i]);
    assert_int_equal(all[i].result.status, 0);
    notice += all[i].result.notice != 0;
  }
  assert_int_equal(notice, 1);
  fakes3_counters(server, &counters);
  assert_int_equal(counters.writes, AT_ONCE);
  assert_int_equal(counters.unauthorized, AT_ONCE); /* all were out */
  assert_int_equal(counters.requests, 2 * AT_ONCE);
  end();
  free(all);
}

/* A bucket's name, and a profile that says all the rest. */
static void goes_by_a_profile(void** state) {
  char path[] = "/tmp/s3lect-config-XXXXXX";
  s3lect_store_s3_options_t o;
  start_server(&(fakes3_options_t){.region = "eu-north-1"});
  FILE* f = fdopen(mkstemp(path), "w");
  assert_non_null(f);
  fprintf(f,
          "[profile dev]\nregion = eu-north-1\naws_access_key_id = %s\n"
          "aws_secret_access_key = %s\nservices = here\n"
          "[services here]\ns3 =\n  endpoint_url = %s\n",
          FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, fakes3_url(server));
  assert_int_equal(fclose(f), 0);
  const char* kept = getenv("AWS_CONFIG_FILE");
  char before[256] = "";
  snprintf(before, sizeof(before), "%s", kept != NULL ? kept : "/dev/null");
  setenv("AWS_CONFIG_FILE", path, 1);
  setenv("AWS_PROFILE", "dev", 1);
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = "bucket";
  open_store(&o);
  takes(true, 1, 0, "");
  takes(false, 1, 0, "");
  close_store();
  unsetenv("AWS_PROFILE");
  setenv("AWS_CONFIG_FILE", before, 1);
  assert_int_equal(remove(path), 0);
  stop_server();
}

/* Both ways, and again when the clocks drift apart; small differences are left alone. */
static void corrects_the_clock(void** state) {
  begin(&(fakes3_options_t){0}, "eu-central-1");
  fakes3_set_clock_offset(server, 14 * 60 * 1000);
  takes(true, 1, 0, "");
  fakes3_set_clock_offset(server, 7200 * 1000);
  size_t before = log_len();
  s3l_suite_put(&suite, &r, "k", S3LECT_ALWAYS, NULL, "y");
  assert_int_equal(r.result.status, 0);
  assert_int_equal(log_len() - before, 2);
  assert_int_equal(r.result.notice, S3LECT_ESKEW);
  assert_non_null(strstr(r.message, " s behind the store's: requests are signed with the store's "
                                    "time; set the clock (NTP)"));
  takes(false, 1, 0, "");
  fakes3_set_clock_offset(server, -7200 * 1000);
  s3l_suite_get(&suite, &r, "k", NULL);
  assert_int_equal(r.result.status, 0);
  assert_int_equal(r.result.notice, S3LECT_ESKEW);
  assert_non_null(strstr(r.message, " s ahead of the store's"));
  fakes3_set_clock_offset(server, 0);
  takes(true, 2, S3LECT_ESKEW,
        "this machine's clock is right again: requests are signed with its time");
  takes(true, 1, 0, "");
  end();
}

/* News go to those who pass them on, and with replies that something has not changed, too. */
static void tells_news_to_who_listens(void** state) {
  begin(&(fakes3_options_t){.region = "eu-north-1"}, NULL);
  fakes3_set_clock_offset(server, 7200 * 1000);
  s3l_suite_prepare(&suite, &r, "k");
  r.req.flags = S3LECT_REQ_NO_NOTICES;
  r.req.body = "x";
  r.req.body_len = 1;
  size_t before = log_len();
  assert_int_equal(s3l_suite_do(&r, s3lect_store_put)->status, 0);
  assert_int_equal(r.result.notice, 0);
  assert_null(r.result.message);
  assert_int_equal(log_len() - before, 3); /* the clock, the region, done */
  char etag[64];
  assert_true(strlen(r.etag) < sizeof(etag));
  memcpy(etag, r.etag, strlen(r.etag) + 1);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", etag)->status, S3LECT_ENOTMODIFIED);
  assert_int_equal(r.result.notice, S3LECT_EREGION);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->notice, S3LECT_ESKEW);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->notice, 0);
  char why[256];
  assert_true(fakes3_fault(server, "{\"weak_etag\":true}", why, sizeof(why)) > 0);
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->notice, S3LECT_EETAG);
  assert_non_null(strstr(r.message, "ETags come weak (W/"));
  assert_int_equal(s3l_suite_get(&suite, &r, "k", NULL)->notice, 0);
  assert_true((r.result.notes & S3LECT_NOTE_ETAG_WEAK) != 0);
  end();
}

/* Temporary keys: the token is sent and signed. */
static void signs_with_a_token(void** state) {
  start_server(&(fakes3_options_t){.keys = {{"temporary", "secret", "TOKEN/+=="}}});
  s3lect_store_s3_options_t o = good_options();
  o.access_key_id = "temporary";
  o.secret_access_key = "secret";
  o.session_token = "TOKEN/+==";
  open_store(&o);
  assert_int_equal(s3l_suite_put(&suite, &r, "k", S3LECT_IF_ABSENT, NULL, "x")->status, 0);
  end();
}

/* ---- Versions ---- */

typedef struct page_s {
  unsigned done;
  int status;
  bool truncated;
  size_t len;
  char keys[8][32], versions[8][32];
} page_t;

static void on_page(s3lect_store_req_t* req, const s3lect_store_result_t* result) {
  page_t* page = req->data;
  page->done++;
  page->status = result->status;
  page->truncated = result->truncated != 0;
  page->len = result->entries_len;
  for (size_t i = 0; i < page->len && i < 8; i++) {
    snprintf(page->keys[i], sizeof(page->keys[i]), "%s", result->entries[i].key);
    snprintf(page->versions[i], sizeof(page->versions[i]), "%s", result->entries[i].version);
  }
}

/* Pages of two, over two keys; then each version as it was. */
static void lists_and_reads_versions(void** state) {
  static const char* const bodies[] = {"a3", "a2", "a1", "b1"}; /* the newest of a key first */
  begin(&(fakes3_options_t){.versioned = true}, NULL);
  suite.prefix[0] = '\0';
  s3l_suite_put(&suite, &r, "b", S3LECT_ALWAYS, NULL, "b1");
  for (size_t i = 3; i-- > 0;)
    s3l_suite_put(&suite, &r, "a", S3LECT_ALWAYS, NULL, bodies[i]);
  page_t page = {0};
  char after[32] = "", version[32] = "";
  size_t seen = 0;
  for (bool more = true; more; more = page.truncated) {
    page.done = 0;
    s3lect_store_req_t req = {.data = &page,
                              .key = "",
                              .after = after[0] != '\0' ? after : NULL,
                              .etag = version[0] != '\0' ? version : NULL,
                              .max_keys = 2,
                              .flags = S3LECT_REQ_VERSIONS,
                              .timeout_ms = 20000,
                              .cb = on_page};
    assert_int_equal(s3lect_store_list(&store, &req), 0);
    s3l_wait_count(&loop, &page.done, 1, "a page");
    assert_int_equal(page.status, 0);
    for (size_t i = 0; i < page.len; i++, seen++) {
      assert_true(seen < 4);
      memcpy(after, page.keys[i], sizeof(after));
      memcpy(version, page.versions[i], sizeof(version));
      s3l_suite_prepare(&suite, &r, after);
      r.req.etag = version;
      r.req.flags = S3LECT_REQ_VERSIONS;
      assert_int_equal(s3l_suite_do(&r, s3lect_store_get)->status, 0);
      assert_string_equal(r.body, bodies[seen]);
    }
  }
  assert_int_equal(seen, 4);
  s3l_suite_prepare(&suite, &r, "a");
  r.req.etag = "no-version";
  r.req.flags = S3LECT_REQ_VERSIONS;
  assert_int_equal(s3l_suite_do(&r, s3lect_store_get)->status, S3LECT_ENOTFOUND);
  end();
}

int main(void) {
  const struct CMUnitTest suite_tests[] = {S3L_STORE_SUITE_TESTS};
  const struct CMUnitTest own_tests[] = {
      cmocka_unit_test(names_mistakes),
      cmocka_unit_test(signs_with_a_token),
      cmocka_unit_test(learns_the_region),
      cmocka_unit_test(learns_together),
      cmocka_unit_test(goes_by_a_profile),
      cmocka_unit_test(corrects_the_clock),
      cmocka_unit_test(tells_news_to_who_listens),
      cmocka_unit_test(lists_and_reads_versions),
  };
  int failed = cmocka_run_group_tests_name("plain", suite_tests, open_plain, end_suite);
  failed += cmocka_run_group_tests_name("TLS", suite_tests, open_tls, close_tls);
  failed += cmocka_run_group_tests_name("own", own_tests, NULL, NULL);
  return failed;
}
