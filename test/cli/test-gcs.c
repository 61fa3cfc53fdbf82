/* The command on a fake Google Cloud Storage that takes one write a second to an object: verify, an
 * election of three processes through a kill, a hand-over and an outage, credentials, and what is
 * refused.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fakes3/fakes3.h"
#include "lib/proc.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"
#define STORE   "gs://locks/"
#define STARTED "\"event\":\"started_leading\""
#define ID      "GS_ACCESS_KEY_ID=" FAKES3_ACCESS_KEY
#define SECRET  "GS_SECRET_ACCESS_KEY=" FAKES3_SECRET_KEY

static procs_t procs;
static fakes3_t* server;

static void fault(const char* json) {
  char why[200] = "";
  if (fakes3_fault(server, json, why, sizeof why) <= 0)
    fail_msg("%s", why);
}

static int begin(void** state) {
  const fakes3_options_t options = {
      .protocol = "gcs",
      .buckets = "locks",
      .keys = {{FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL}, {"anyone", "", "emulator"}}};
  char why[200] = "";
  procs_begin(&procs);
  if (fakes3_start(&procs.loop, &options, &server, why, sizeof why) != 0)
    fail_msg("%s", why);
  return 0;
}

static int end(void** state) {
  fakes3_stop(server, NULL, NULL);
  procs_end(&procs);
  return 0;
}

static proc_t* s3lect_as(const char* const* env, const char* command, const char* store,
                         const char* const* more) {
  const char* argv[24] = {PROGRAM, command, "--store", store};
  for (size_t n = 4; more != NULL && *more != NULL; n++)
    argv[n] = *more++;
  return proc_spawn(&procs, argv, env);
}

/* By an HMAC key. */
static proc_t* s3lect(const char* command, const char* store, const char* const* more) {
  static char endpoint[80];
  const char* all[24] = {endpoint};
  snprintf(endpoint, sizeof endpoint, "--endpoint=%s", fakes3_url(server));
  for (size_t n = 1; more != NULL && *more != NULL; n++)
    all[n] = *more++;
  return s3lect_as((const char*[]){ID, SECRET, NULL}, command, store, all);
}

static proc_t* elect(const char* id, const char* protocol) {
  return s3lect("elect", strcmp(protocol, "epochs") == 0 ? STORE "db/" : STORE "db",
                (const char*[]){"--id", id, "--leader-timeout", "5s", "--renew", "1s", "--frequent",
                                "300ms", "--infrequent", "1s", "--protocol", protocol, NULL});
}

/* Also under the limit, which turns away most writers of a race. */
static void verify_says_lockfile(void** state) {
  fault("{\"write_interval_ms\":1000}");
  proc_t* p = s3lect("verify", STORE "db", (const char*[]){"--quick", NULL});
  assert_non_null(strstr(proc_line(p, PROC_OUT, "create-again"), "refused (412)"));
  assert_non_null(strstr(proc_line(p, PROC_OUT, "conditional-get"), "not modified"));
  assert_string_equal(proc_line(p, PROC_OUT, "lockfile"), "lockfile  safe (6 races of writers)");
  assert_non_null(strstr(proc_line(p, PROC_OUT, "epochs"), "safe"));
  proc_line(p, PROC_OUT, "use       --protocol lockfile");
  assert_int_equal(proc_wait(p), 0);
}

/* Each condition is taken away, and found out. */
static void verify_finds_lies(void** state) {
  static const char* const lies[] = {"\"ignore_conditions\":true", "\"constant_etag\":true",
                                     "\"non_atomic\":20", "\"stale_reads\":500"};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    char json[128];
    snprintf(json, sizeof json, "{\"match\":{\"bucket\":\"locks\"},%s}", lies[i]);
    fault(json);
    proc_t* p = s3lect("verify", STORE "db", NULL);
    assert_non_null(strstr(proc_line(p, PROC_OUT, "lockfile  "), "unsafe"));
    assert_int_equal(proc_wait(p), 1);
    proc_forget(p);
    assert_true(fakes3_fault_clear(server, 0));
  }
}

static int64_t next_epoch(proc_t* p) {
  return proc_json_i64(proc_line(p, PROC_OUT, STARTED), "epoch");
}

/* With the limit, of which no elector may lose its leadership: a release comes soon after a
 * renewal, and a claim soon after the release. */
static void three_elect(const char* protocol) {
  fault("{\"write_interval_ms\":1000}");
  proc_t* a = elect("a", protocol);
  int64_t epoch = next_epoch(a);
  proc_t* b = elect("b", protocol);
  proc_line(b, PROC_OUT, "\"event\":\"new_leader\"");
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  int64_t second = next_epoch(b); /* after the kill */
  assert_true(second > epoch);
  proc_t* c = elect("c", protocol);
  proc_line(c, PROC_OUT, "\"event\":\"new_leader\"");
  for (int i = 0; i < 3; i++)
    proc_line(b, PROC_OUT, "\"event\":\"renewed\"");
  assert_int_equal(proc_end(b, SIGTERM), 0); /* right after a renewal */
  int64_t third = next_epoch(c);             /* after the hand-over */
  assert_true(third > second);
  fault("{\"status\":503,\"code\":\"ServiceUnavailable\"}");
  proc_line(c, PROC_OUT, "\"event\":\"stopped_leading\""); /* in the outage */
  assert_true(fakes3_fault_clear(server, 0));
  assert_true(next_epoch(c) > third);
  assert_int_equal(proc_end(c, SIGTERM), 0);
}

static void three_elect_with_a_lockfile(void** state) {
  three_elect("lockfile");
}

static void three_elect_with_epoch_files(void** state) {
  three_elect("epochs");
}

static void lists_and_reads(void** state) {
  for (int i = 0; i < 2; i++) {
    proc_t* p =
        s3lect("put", i == 0 ? STORE "x/a" : STORE "x/b", (const char*[]){"--epoch", "7", NULL});
    assert_int_equal(proc_wait(p), 0);
  }
  proc_t* p = s3lect("get", STORE "x/a", NULL);
  assert_int_equal(proc_wait(p), 0);
  p = s3lect("list", STORE "x/", NULL);
  assert_int_equal(proc_wait(p), 3);
}

/* An emulator is named as Google's own tools have it, and needs no credentials. */
static void finds_an_emulator(void** state) {
  char variable[80];
  snprintf(variable, sizeof variable, "STORAGE_EMULATOR_HOST=%s",
           fakes3_url(server) + strlen("http://"));
  proc_t* p = s3lect_as((const char*[]){variable, NULL}, "status", STORE "k", NULL);
  assert_int_equal(proc_wait(p), 3);
}

static void refuses_fast_renewals(void** state) {
  static const char* const commands[] = {"elect", "plan"};
  for (int i = 0; i < 2; i++) {
    proc_t* p = s3lect(commands[i], STORE "k",
                       (const char*[]){"--leader-timeout", "5s", "--renew", "900ms", NULL});
    proc_line(p, PROC_ERR,
              "--renew: 900 ms is too short for this store, which takes one write a "
              "second to an object; raise it to 1000 ms or more");
    assert_int_equal(proc_wait(p), 2);
  }
}

static void names_mistakes(void** state) {
  static const struct {
    const char* id;
    const char* secret;
    const char* store;
    int status;
    const char* says;
  } rows[] = {
      {ID, "GS_SECRET_ACCESS_KEY=wrong", STORE "k", 1, "403 SignatureDoesNotMatch"},
      {"GS_ACCESS_KEY_ID=nobody", SECRET, STORE "k", 1, "403 InvalidSecurity"},
      {ID, SECRET, "gs://other/k", 1, "create the bucket"},
      {ID, "X=y", STORE "k", 2, "GS_SECRET_ACCESS_KEY: not set"},
      {ID, SECRET, "gs://NO/k", 2, "the bucket in --store \"NO\": not a bucket name"},
  };
  char endpoint[80];
  snprintf(endpoint, sizeof endpoint, "--endpoint=%s", fakes3_url(server));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    proc_t* p = s3lect_as((const char*[]){rows[i].id, rows[i].secret, NULL}, "status",
                          rows[i].store, (const char*[]){endpoint, NULL});
    proc_line(p, PROC_ERR, rows[i].says);
    assert_int_equal(proc_wait(p), rows[i].status);
    proc_forget(p);
  }
  proc_t* p = s3lect("elect", "gs://other/k", NULL);
  proc_line(p, PROC_ERR, "there is no bucket other there: check its name, and --endpoint");
  assert_int_equal(proc_wait(p), 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(verify_says_lockfile),
      TEST(verify_finds_lies),
      TEST(three_elect_with_a_lockfile),
      TEST(three_elect_with_epoch_files),
      TEST(lists_and_reads),
      TEST(finds_an_emulator),
      TEST(refuses_fast_renewals),
      TEST(names_mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
