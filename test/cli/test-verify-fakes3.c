/* `s3lect verify` and --verify-on-start, from end to end: what they print and how they exit.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/cli_rig.h"
#include "lib/test.h"

static const cli_rig_store_t s3 = {.url = "s3://bucket/locks/", .keys = CLI_RIG_AWS_KEYS};

static int begin(void** state) {
  return cli_rig_begin(&s3, S3L_BUILD_DIR "/src/s3lect");
}

static proc_t* s3lect(const char* command, const char* option) {
  return cli_rig_s3lect(command, "a.json", (const char*[]){option, NULL});
}

/* Nothing was written but beside the lockfile, and as much deleted. */
static void leaves_the_lockfile_alone(void) {
  static const char prefix[] = "locks/a.json.verify-";
  const fakes3_entry_t* e;
  fakes3_counters_t c;
  for (uint64_t seq = 0; (e = fakes3_log_after(cli_rig.fake, seq)) != NULL; seq = e->seq)
    assert_true(strncmp(e->key, prefix, sizeof prefix - 1) == 0 || strcmp(e->method, "LIST") == 0);
  fakes3_counters(cli_rig.fake, &c);
  assert_true(c.put > 0 && c.del > 0);
}

static void prints_a_table(void** state) {
  proc_t* p = s3lect("verify", NULL);
  assert_non_null(strstr(proc_line(p, PROC_OUT, "check"), "verdict"));
  assert_non_null(strstr(proc_line(p, PROC_OUT, "create-again"), "passed"));
  assert_non_null(strstr(proc_line(p, PROC_OUT, "one-swap-wins"), "one of 8, 30 times"));
  assert_string_equal(proc_line(p, PROC_OUT, "lockfile"), "lockfile  safe (30 races of writers)");
  assert_string_equal(proc_line(p, PROC_OUT, "epochs"), "epochs    safe (30 races of writers)");
  assert_string_equal(proc_line(p, PROC_OUT, "use"), "use       --protocol lockfile");
  proc_line(p, PROC_OUT, "ETags     wanted as they are given");
  proc_line(p, PROC_OUT, "clock     the store's agrees with this machine's, to within ");
  proc_line(p, PROC_OUT, "latency   p50 ");
  proc_line(p, PROC_OUT, "requests  ");
  assert_int_equal(proc_wait(p), 0);
  assert_null(proc_try_line(p, PROC_ERR, "", true));
  leaves_the_lockfile_alone();
}

static void convicts_a_liar(void** state) {
  cli_rig_fault("{\"ignore_conditions\":true}");
  proc_t* p = s3lect("verify", "--quick");
  assert_non_null(strstr(proc_line(p, PROC_OUT, "create-again"), "200: it was overwritten"));
  proc_line(p, PROC_OUT, "lockfile  unsafe: the store ignores If-None-Match");
  proc_line(p, PROC_OUT, "epochs    unsafe: the store ignores If-None-Match");
  assert_int_equal(proc_wait(p), 1);
  leaves_the_lockfile_alone();
}

static void recommends_epoch_files(void** state) {
  cli_rig_fault("{\"no_if_match\":true}");
  proc_t* p = s3lect("verify", "--quick");
  proc_line(p, PROC_OUT, "lockfile  unsafe: the store cannot replace");
  proc_line(p, PROC_OUT, "epochs    safe");
  proc_line(p, PROC_OUT, "use       --protocol epochs");
  assert_int_equal(proc_wait(p), 1);
  /* Who asks for that protocol has what he needs. */
  p = s3lect("verify", "--protocol=epochs");
  proc_line(p, PROC_OUT, "use       --protocol epochs");
  assert_int_equal(proc_wait(p), 0);
}

/* A store that is safe for the lockfile only. */
static void judges_the_protocol_that_is_asked_for(void** state) {
  cli_rig_fault("{\"empty_lists\":true}");
  proc_t* p = s3lect("verify", "--quick");
  proc_line(p, PROC_OUT, "lockfile  safe (6 races of writers)");
  proc_line(p, PROC_OUT, "epochs    unsafe: the store's listings do not show what was written");
  assert_int_equal(proc_wait(p), 0);
  assert_int_equal(proc_wait(s3lect("verify", "--protocol=epochs")), 1);
}

static void prints_json(void** state) {
  fakes3_set_clock_offset(cli_rig.fake, -3600 * 1000 / 12);
  cli_rig_fault("{\"bare_only\":true}");
  proc_t* p = s3lect("verify", "--json");
  char line[8192];
  snprintf(line, sizeof line, "%s", proc_line(p, PROC_OUT, ""));
  assert_int_equal(proc_wait(p), 0);
  assert_string_equal(proc_json_string(line, "lockfile"), "safe");
  assert_string_equal(proc_json_string(line, "epochs_reason"), "");
  assert_string_equal(proc_json_string(line, "protocol"), "lockfile");
  assert_string_equal(proc_json_string(line, "etag_dialect"), "bare");
  assert_non_null(strstr(line, "\"checks\":[{\"name\":\"create\",\"expected\":\""));
  assert_non_null(strstr(line, "\"verdict\":\"passed\"},{\"name\":\"create-again\""));
  assert_non_null(strstr(line, "}],\"etag_dialect\""));
  assert_in_range(-proc_json_i64(line, "clock_offset_ms"), 298000, 302000);
  assert_true(proc_json_i64(line, "requests") > 60);
  assert_int_equal(proc_json_i64(line, "leftovers"), 0);
  assert_null(proc_try_line(p, PROC_OUT, "", true));
}

static void says_what_it_leaves_behind(void** state) {
  cli_rig_fault("{\"match\":{\"method\":\"DELETE\"},\"status\":403,\"code\":\"AccessDenied\"}");
  proc_t* p = s3lect("verify", "--quick");
  proc_line(p, PROC_OUT, "lockfile  safe (3 races of writers)");
  proc_line(p, PROC_ERR,
            "s3lect verify: 4 temporary objects s3://bucket/locks/a.json.verify-... "
            "could not be removed");
  assert_int_equal(proc_wait(p), 0);
}

static bool is_racing(void* arg) {
  fakes3_counters_t c;
  fakes3_counters(cli_rig.fake, &c);
  return c.put > 4;
}

static void cleans_up_when_interrupted(void** state) {
  cli_rig_fault("{\"latency_ms\":20}");
  proc_t* p = s3lect("verify", NULL);
  procs_until(&cli_rig.procs, is_racing, NULL);
  assert_int_equal(proc_end(p, SIGINT), 1);
  proc_line(p, PROC_ERR, "s3lect verify: interrupted");
  assert_null(proc_try_line(p, PROC_ERR, "", true));
  leaves_the_lockfile_alone();
}

static void elect_refuses_a_liar(void** state) {
  cli_rig_fault("{\"constant_etag\":true}");
  proc_t* p = s3lect("elect", "--verify-on-start");
  const char* line = proc_line(p, PROC_OUT, "\"event\":\"error\"");
  assert_string_equal(proc_json_string(line, "error"), "EUNSAFE");
  assert_int_equal(proc_wait(p), 1);
  proc_line(p, PROC_ERR, "s3lect elect: the store cannot hold an election: ");
  leaves_the_lockfile_alone();
}

static void elect_goes_on_where_all_is_well(void** state) {
  proc_t* p = s3lect("elect", "--verify-on-start");
  proc_line(p, PROC_OUT, "\"event\":\"started_leading\"");
  assert_int_equal(proc_end(p, SIGTERM), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, cli_rig_end)
      T(prints_a_table),
      T(convicts_a_liar),
      T(recommends_epoch_files),
      T(judges_the_protocol_that_is_asked_for),
      T(prints_json),
      T(says_what_it_leaves_behind),
      T(cleans_up_when_interrupted),
      T(elect_refuses_a_liar),
      T(elect_goes_on_where_all_is_well),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
