/* The options of the command that are about epoch files, and how elect, status and watch speak of
 * them.
 *
 * ctest labels: one-protocol slow */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/proc.h"
#include "lib/s3proc.h"
#include "lib/test.h"

/* Two requests of a renewal must fit into the leader timeout. */
static const char* const epochs[] = {"--protocol", "epochs", "--request-timeout", "400ms", NULL};
static const char* const look[] = {"--protocol=epochs", NULL};
static const char* const json[] = {"--protocol=epochs", "--json", NULL};

static void elects_and_tells(s3proc_t* s3) {
  char line[2048];
  assert_int_equal(s3proc_status(s3, look, line), 3);
  assert_string_equal(line, "no leader: there is no epoch file");
  proc_t* a = s3proc_s3lect(s3, "elect", "a", epochs);
  int64_t epoch = proc_json_i64(proc_line(a, PROC_OUT, "started_leading"), "epoch");
  assert_true(epoch > 1700000000); /* the store's time */
  proc_t* watch = s3proc_s3lect(s3, "watch", NULL, look);
  assert_string_equal(proc_json_string(proc_line(watch, PROC_OUT, "new_leader"), "leader"), "a");
  assert_int_equal(s3proc_status(s3, look, line), 0);
  assert_string_equal(line, "leader   a");
  assert_int_equal(s3proc_status(s3, json, line), 0);
  assert_int_equal(proc_json_i64(line, "epoch"), epoch);
  assert_string_equal(proc_json_string(line, "state"), "led");
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 0);
  assert_int_equal(s3proc_status(s3, look, line), 3);
  assert_memory_equal(line, "no leader: a released the epoch file ", 37);
  proc_signal(watch, SIGTERM);
  (void)proc_wait(watch);
}

static void on_a_store(void** state) {
  s3proc_t s3;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  elects_and_tells(&s3);
  s3proc_end(&s3);
}

static void in_a_directory(void** state) {
  s3proc_t s3;
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  elects_and_tells(&s3);
  s3proc_end(&s3);
}

/* The files lie in the directory itself, as with s3://BUCKET/PREFIX/. */
static void in_a_directory_of_its_own(void** state) {
  s3proc_t s3;
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  *(strrchr(s3.store, '/') + 1) = '\0';
  elects_and_tells(&s3);
  s3proc_end(&s3);
}

/* Every page of the listing is the first one, empty or not: there would be no end to it. */
static void a_listing_without_end(void** state) {
  static const char no_end[] = "s3lect status: cannot read s3://test/lock.json: the store's "
                               "listing shows keys that were not asked for";
  s3proc_t s3;
  char line[2048];
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  s3proc_fault(&s3, "{\"endless_lists\":true,\"count\":1}");
  assert_int_equal(s3proc_status(&s3, look, line), 1);
  assert_memory_equal(line, no_end, sizeof no_end - 1);
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", epochs);
  proc_line(a, PROC_OUT, "started_leading");
  assert_int_equal(s3proc_status(&s3, look, line), 0);
  s3proc_fault(&s3, "{\"endless_lists\":true}");
  assert_int_equal(s3proc_status(&s3, look, line), 1);
  assert_memory_equal(line, no_end, sizeof no_end - 1);
  s3proc_end(&s3);
}

/* Two processes on a store whose listings do not show the files: neither leads, and both end and
 * say why. */
static void listings_without_the_files(void** state) {
  static const char text[] = "listings do not show the newest epoch file";
  s3proc_t s3;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
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
  s3proc_end(&s3);
}

/* Two electors of one key that use different protocols both lead. The one that starts later says
 * so: first the one with epoch files, then, started again, the one with the lockfile. */
static void with_the_other_protocol(s3proc_t* s3) {
  static const char what[] = "EPROTOCOL";
  static const char* const lockfile[] = {"--request-timeout", "400ms", NULL};
  static const char* const file[] = {
      "--protocol", "epochs", "--request-timeout", "400ms", "--", "sleep", "1000", NULL};
  proc_t* a = s3proc_s3lect(s3, "elect", "a", lockfile);
  proc_line(a, PROC_OUT, "started_leading");
  proc_t* b = s3proc_s3lect(s3, "run", "b", file);
  assert_non_null(strstr(proc_line(b, PROC_ERR, what),
                         "EPROTOCOL: lock.json says that \"a\" leads by protocol lockfile, and "
                         "this elector uses protocol epochs"));
  proc_rewind(b, PROC_ERR);
  proc_line(b, PROC_ERR, "s3lect run: leading");
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 0);
  proc_rewind(a, PROC_OUT);
  assert_null(proc_try_line(a, PROC_OUT, what, true));
  a = s3proc_s3lect(s3, "elect", "a", lockfile);
  const char* line = proc_line(a, PROC_OUT, what);
  assert_non_null(strstr(line, "lock.jsonlock-"));
  assert_non_null(
      strstr(line, "leads by protocol epochs, and this elector uses protocol lockfile"));
  proc_line(a, PROC_OUT, "renewed");
  proc_signal(b, SIGTERM);
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 0);
  (void)proc_wait(b);
}

static void both_protocols_on_a_store(void** state) {
  s3proc_t s3;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  with_the_other_protocol(&s3);
  s3proc_end(&s3);
}

static void both_protocols_in_a_directory(void** state) {
  s3proc_t s3;
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  with_the_other_protocol(&s3);
  s3proc_end(&s3);
}

/* The look for the other protocol gets no reply: the elector leads and ends regardless. */
static void the_other_protocol_is_not_found_out(void** state) {
  s3proc_t s3;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  s3proc_seed(&s3);
  s3proc_fault(&s3, "{\"match\":{\"method\":\"LIST\"},\"stall\":true}");
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", NULL);
  proc_line(a, PROC_OUT, "started_leading");
  proc_signal(a, SIGTERM);
  assert_int_equal(proc_wait(a), 0);
  proc_rewind(a, PROC_OUT);
  assert_null(proc_try_line(a, PROC_OUT, "\"error\"", true));
  s3proc_end(&s3);
}

static void says(s3proc_t* s3, const char* const* options, const char* text) {
  proc_t* p = s3proc_s3lect(s3, "elect", "a", options);
  assert_int_equal(proc_wait(p), 2);
  assert_non_null(strstr(proc_line(p, PROC_ERR, "s3lect elect: "), text));
}

static void slips(void** state) {
  s3proc_t s3;
  s3proc_begin(&s3, S3L_BUILD_DIR, NULL);
  says(&s3, (const char*[]){"--protocol", "epoch", NULL},
       "--protocol epoch is unknown: write lockfile or epochs");
  says(&s3, (const char*[]){"--keep-epochs", NULL}, "--keep-epochs is for epoch files");
  says(&s3, (const char*[]){"--protocol", "epochs", NULL}, "twice the");
  s3proc_end(&s3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_a_store),
      cmocka_unit_test(in_a_directory),
      cmocka_unit_test(in_a_directory_of_its_own),
      cmocka_unit_test(a_listing_without_end),
      cmocka_unit_test(listings_without_the_files),
      cmocka_unit_test(both_protocols_on_a_store),
      cmocka_unit_test(both_protocols_in_a_directory),
      cmocka_unit_test(the_other_protocol_is_not_found_out),
      cmocka_unit_test(slips),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
