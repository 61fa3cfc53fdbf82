/* The options of the command that are about epoch files, and how elect, status and watch speak of
 * them.
 *
 * ctest labels: one-protocol slow */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/proc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

/* Two requests of a renewal must fit into the leader timeout. */
static const char* const epochs[] = {"--protocol", "epochs", "--request-timeout", "400ms", NULL};
static const char* const look[] = {"--protocol=epochs", NULL};
static const char* const json[] = {"--protocol=epochs", "--json", NULL};

static void elects_and_tells(void** state) {
  char line[2048];
  assert_int_equal(s3proc_status(&s3, look, line), 3);
  assert_string_equal(line, "no leader: there is no epoch file");
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", epochs);
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, "started_leading"), "epoch");
  assert_true(epoch > 1700000000); /* the store's time */
  proc_t* watch = s3proc_s3lect(&s3, "watch", NULL, look);
  assert_string_equal(proc_json_string(proc_line(watch, PROC_OUT, "new_leader"), "leader"), "a");
  assert_int_equal(s3proc_status(&s3, look, line), 0);
  assert_string_equal(line, "leader   a");
  assert_int_equal(s3proc_status(&s3, json, line), 0);
  assert_int_equal(proc_json_i64(line, "epoch"), epoch);
  assert_string_equal(proc_json_string(line, "state"), "led");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_int_equal(s3proc_status(&s3, look, line), 3);
  assert_memory_equal(line, "no leader: a released the epoch file ", 37);
  proc_signal(watch, SIGTERM);
  (void)proc_wait(watch);
}

/* The files lie in the directory itself, as with s3://BUCKET/PREFIX/. */
static void in_a_directory_of_its_own(void** state) {
  *(strrchr(s3.store, '/') + 1) = '\0';
  elects_and_tells(state);
}

/* Every page of the listing is the first one, empty or not: there would be no end to it. */
static void a_listing_without_end(void** state) {
  static const char no_end[] = "s3lect status: cannot read s3://test/lock.json: the store's "
                               "listing shows keys that were not asked for";
  char line[2048];
  s3proc_fault(&s3, "{\"endless_lists\":true,\"count\":1}");
  assert_int_equal(s3proc_status(&s3, look, line), 1);
  assert_memory_equal(line, no_end, sizeof no_end - 1);
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", epochs);
  proc_line(a, PROC_OUT, "started_leading");
  assert_int_equal(s3proc_status(&s3, look, line), 0);
  s3proc_fault(&s3, "{\"endless_lists\":true}");
  assert_int_equal(s3proc_status(&s3, look, line), 1);
  assert_memory_equal(line, no_end, sizeof no_end - 1);
}

/* Two processes on a store whose listings do not show the files: neither leads, and both end and
 * say why. */
static void listings_without_the_files(void** state) {
  static const char text[] = "listings do not show the newest epoch file";
  s3proc_fault(&s3, "{\"empty_lists\":true}");
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", epochs);
  proc_t* b = s3proc_s3lect(&s3, "elect", "b", epochs);
  assert_non_null(strstr(proc_line(a, PROC_OUT, "EUNSAFE"), text));
  assert_non_null(strstr(proc_line(b, PROC_OUT, "EUNSAFE"), text));
  assert_int_equal(proc_wait(a), 1);
  assert_int_equal(proc_wait(b), 1);
  proc_rewind(a, PROC_OUT);
  proc_rewind(b, PROC_OUT);
  assert_null(proc_try_line(a, PROC_OUT, "started_leading", true));
  assert_null(proc_try_line(b, PROC_OUT, "started_leading", true));
}

/* Two electors of one key that use different protocols both lead. The one that starts later says
 * so: first the one with epoch files, then, started again, the one with the lockfile. */
static void with_the_other_protocol(void** state) {
  static const char what[] = "EPROTOCOL";
  static const char* const lockfile[] = {"--request-timeout", "400ms", NULL};
  static const char* const file[] = {
      "--protocol", "epochs", "--request-timeout", "400ms", "--", "sleep", "1000", NULL};
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", lockfile);
  proc_line(a, PROC_OUT, "started_leading");
  proc_t* b = s3proc_s3lect(&s3, "run", "b", file);
  assert_non_null(strstr(proc_line(b, PROC_ERR, what),
                         "EPROTOCOL: lock.json says that \"a\" leads by protocol lockfile, and "
                         "this elector uses protocol epochs"));
  proc_rewind(b, PROC_ERR);
  proc_line(b, PROC_ERR, "s3lect run: leading");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  proc_rewind(a, PROC_OUT);
  assert_null(proc_try_line(a, PROC_OUT, what, true));
  a = s3proc_s3lect(&s3, "elect", "a", lockfile);
  const char* line = proc_line(a, PROC_OUT, what);
  assert_non_null(strstr(line, "lock.jsonlock-"));
  assert_non_null(
      strstr(line, "leads by protocol epochs, and this elector uses protocol lockfile"));
  proc_line(a, PROC_OUT, "renewed");
  proc_signal(b, SIGTERM);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  (void)proc_wait(b);
}

/* The look for the other protocol gets no reply: the elector leads and ends regardless. */
static void the_other_protocol_is_not_found_out(void** state) {
  s3proc_seed(&s3);
  s3proc_fault(&s3, "{\"match\":{\"method\":\"LIST\"},\"stall\":true}");
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", NULL);
  proc_line(a, PROC_OUT, "started_leading");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  proc_rewind(a, PROC_OUT);
  assert_null(proc_try_line(a, PROC_OUT, "\"error\"", true));
}

static void says(const char* const* options, const char* text) {
  proc_t* p = s3proc_s3lect(&s3, "elect", "a", options);
  assert_int_equal(proc_wait(p), 2);
  assert_non_null(strstr(proc_line(p, PROC_ERR, "s3lect elect: "), text));
}

static void slips(void** state) {
  says((const char*[]){"--protocol", "epoch", NULL},
       "--protocol epoch is unknown: write lockfile or epochs");
  says((const char*[]){"--keep-epochs", NULL}, "--keep-epochs is for epoch files");
  says((const char*[]){"--protocol", "epochs", NULL}, "twice the");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_empty, end)
      T(elects_and_tells),
      cmocka_unit_test_setup_teardown(elects_and_tells, begin_file, end),
      cmocka_unit_test_setup_teardown(in_a_directory_of_its_own, begin_file, end),
      T(a_listing_without_end),
      T(listings_without_the_files),
      T(with_the_other_protocol),
      cmocka_unit_test_setup_teardown(with_the_other_protocol, begin_file, end),
      T(the_other_protocol_is_not_found_out),
      T(slips),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
