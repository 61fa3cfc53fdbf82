/* The command on a fake Azure Blob Storage: verify, an election of three processes through a kill,
 * a hand-over and an outage, each kind of static credentials, and what is refused.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fakes3/fakes3.h"
#include "lib/proc.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"
#define STORE   "az://devstoreaccount1/locks/"
#define STARTED "\"event\":\"started_leading\""

static procs_t procs;
static fakes3_t* server;

static int begin(void** state) {
  const fakes3_options_t options = {.protocol = "azure", .buckets = "locks"};
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

static proc_t* s3lect_as(const char* credentials, const char* command, const char* store,
                         const char* const* more) {
  const char* env[] = {credentials, NULL};
  const char* argv[24] = {PROGRAM, command, "--store", store, "--endpoint", fakes3_url(server)};
  for (size_t n = 6; more != NULL && *more != NULL; n++)
    argv[n] = *more++;
  return proc_spawn(&procs, argv, env);
}

static proc_t* s3lect(const char* command, const char* store, const char* const* more) {
  return s3lect_as("AZURE_STORAGE_KEY=" FAKES3_ACCOUNT_KEY, command, store, more);
}

static proc_t* elect(const char* id, const char* protocol) {
  return s3lect("elect", strcmp(protocol, "epochs") == 0 ? STORE "db/" : STORE "db",
                (const char*[]){"--id", id, "--leader-timeout", "2500ms", "--renew", "400ms",
                                "--frequent", "300ms", "--infrequent", "1s", "--protocol", protocol,
                                NULL});
}

static void verify_says_lockfile(void** state) {
  proc_t* p = s3lect("verify", STORE "db", NULL);
  assert_non_null(strstr(proc_line(p, PROC_OUT, "equal-bodies"), "different ETags"));
  assert_string_equal(proc_line(p, PROC_OUT, "lockfile"), "lockfile  safe (30 races of writers)");
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
    int rule = fakes3_fault(server, json, NULL, 0);
    assert_true(rule > 0);
    proc_t* p = s3lect("verify", STORE "db", NULL);
    assert_non_null(strstr(proc_line(p, PROC_OUT, "lockfile  "), "unsafe"));
    assert_int_equal(proc_wait(p), 1);
    proc_forget(p);
    assert_true(fakes3_fault_clear(server, rule));
  }
}

static int64_t next_epoch(proc_t* p) {
  return proc_json_i64(proc_line(p, PROC_OUT, STARTED), "epoch");
}

static void three_elect(const char* protocol) {
  proc_t* a = elect("a", protocol);
  int64_t epoch = next_epoch(a);
  proc_t* b = elect("b", protocol);
  proc_line(b, PROC_OUT, "\"event\":\"new_leader\"");
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  int64_t second = next_epoch(b); /* after the kill */
  assert_true(second > epoch);
  proc_t* c = elect("c", protocol);
  proc_line(c, PROC_OUT, "\"event\":\"new_leader\"");
  proc_line(b, PROC_OUT, "\"event\":\"renewed\"");
  assert_int_equal(proc_end(b, SIGTERM), 0);
  int64_t third = next_epoch(c); /* after the hand-over */
  assert_true(third > second);
  int rule = fakes3_fault(server, "{\"status\":503,\"code\":\"ServerBusy\"}", NULL, 0);
  assert_true(rule > 0);
  proc_line(c, PROC_OUT, "\"event\":\"stopped_leading\""); /* in the outage */
  assert_true(fakes3_fault_clear(server, rule));
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

static void names_mistakes(void** state) {
  static const struct {
    const char* credentials;
    const char* store;
    int status;
    const char* says;
  } rows[] = {
      {"AZURE_STORAGE_KEY=d3Jvbmc=", STORE "k", 1, "403 AuthenticationFailed"},
      {"AZURE_STORAGE_KEY=" FAKES3_ACCOUNT_KEY, "az://devstoreaccount1/other/k", 1,
       "create the container"},
      {"AZURE_STORAGE_KEY=no base64", STORE "k", 2,
       "AZURE_STORAGE_KEY: not an account key, which is base64"},
      {"AZURE_STORAGE_SAS_TOKEN=sv=1", STORE "k", 2,
       "AZURE_STORAGE_SAS_TOKEN: not a shared access signature"},
      {"AZURE_STORAGE_CONNECTION_STRING=AccountName=other;AccountKey=a2V5", STORE "k", 2,
       "AZURE_STORAGE_CONNECTION_STRING: is of the account other, not of devstoreaccount1"},
      {"AZURE_STORAGE_KEY=a2V5", "az://devstoreaccount1/NO/k", 2,
       "the container in --store \"NO\": not a container's name"},
      {"AZURE_STORAGE_KEY=a2V5", "az://devstoreaccount1/locks", 2, "names no key"},
      {"AZURE_STORAGE_KEY=a2V5", "az:///locks/k", 2, "names no account"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    proc_t* p = s3lect_as(rows[i].credentials, "status", rows[i].store, NULL);
    proc_line(p, PROC_ERR, rows[i].says);
    assert_int_equal(proc_wait(p), rows[i].status);
    proc_forget(p);
  }
  proc_t* p = s3lect("elect", "az://devstoreaccount1/other/k", NULL);
  proc_line(p, PROC_ERR, "there is no container other there: check its name, the account");
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
      TEST(names_mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
