/* `s3lect verify` and --verify-on-start, from end to end: what they print and how they exit.
 *
 * ctest labels: no-valgrind slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fakes3/fakes3.h"
#include "lib/proc.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"

static procs_t procs;
static fakes3_t* server;

static int begin(void** state) {
  char why[200] = "";
  procs_begin(&procs);
  if (fakes3_start(&procs.loop, &(fakes3_options_t){0}, &server, why, sizeof why) != 0)
    fail_msg("%s", why);
  return 0;
}

static int end(void** state) {
  fakes3_stop(server, NULL, NULL);
  procs_end(&procs);
  return 0;
}

static proc_t* s3lect(const char* command, const char* option) {
  static const char* const env[] = {"AWS_ACCESS_KEY_ID=" FAKES3_ACCESS_KEY,
                                    "AWS_SECRET_ACCESS_KEY=" FAKES3_SECRET_KEY, NULL};
  const char* argv[] = {
      PROGRAM, command, "--store", "s3://bucket/locks/a.json", "--endpoint", fakes3_url(server),
      option,  NULL};
  return proc_spawn(&procs, argv, env);
}

static void lie(const char* json) {
  assert_true(fakes3_fault(server, json, NULL, 0) > 0);
}

/* Nothing was written but beside the lockfile, and as much deleted. */
static void leaves_the_lockfile_alone(void) {
  static const char prefix[] = "locks/a.json.verify-";
  const fakes3_entry_t* e;
  fakes3_counters_t c;
  for (uint64_t seq = 0; (e = fakes3_log_after(server, seq)) != NULL; seq = e->seq)
    assert_true(strncmp(e->key, prefix, sizeof prefix - 1) == 0 || strcmp(e->method, "LIST") == 0);
  fakes3_counters(server, &c);
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
  lie("{\"ignore_conditions\":true}");
  proc_t* p = s3lect("verify", "--quick");
  assert_non_null(strstr(proc_line(p, PROC_OUT, "create-again"), "200: it was overwritten"));
  proc_line(p, PROC_OUT, "lockfile  unsafe: the store ignores If-None-Match");
  proc_line(p, PROC_OUT, "epochs    unsafe: the store ignores If-None-Match");
  assert_int_equal(proc_wait(p), 1);
  leaves_the_lockfile_alone();
}

static void recommends_epoch_files(void** state) {
  lie("{\"no_if_match\":true}");
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
  lie("{\"empty_lists\":true}");
  proc_t* p = s3lect("verify", "--quick");
  proc_line(p, PROC_OUT, "lockfile  safe (6 races of writers)");
  proc_line(p, PROC_OUT, "epochs    unsafe: the store's listings do not show what was written");
  assert_int_equal(proc_wait(p), 0);
  assert_int_equal(proc_wait(s3lect("verify", "--protocol=epochs")), 1);
}

static void prints_json(void** state) {
  fakes3_set_clock_offset(server, -3600 * 1000 / 12);
  lie("{\"bare_only\":true}");
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
  lie("{\"match\":{\"method\":\"DELETE\"},\"status\":403,\"code\":\"AccessDenied\"}");
  proc_t* p = s3lect("verify", "--quick");
  proc_line(p, PROC_OUT, "lockfile  safe (3 races of writers)");
  proc_line(p, PROC_ERR,
            "s3lect verify: 4 temporary objects s3://bucket/locks/a.json.verify-... "
            "could not be removed");
  assert_int_equal(proc_wait(p), 0);
}

static bool is_racing(void* arg) {
  fakes3_counters_t c;
  fakes3_counters(server, &c);
  return c.put > 4;
}

static void cleans_up_when_interrupted(void** state) {
  lie("{\"latency_ms\":20}");
  proc_t* p = s3lect("verify", NULL);
  procs_until(&procs, is_racing, NULL);
  assert_int_equal(proc_end(p, SIGINT), 1);
  proc_line(p, PROC_ERR, "s3lect verify: interrupted");
  assert_null(proc_try_line(p, PROC_ERR, "", true));
  leaves_the_lockfile_alone();
}

static void elect_refuses_a_liar(void** state) {
  lie("{\"constant_etag\":true}");
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
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
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
