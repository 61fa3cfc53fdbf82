/* The command on a fake Google Cloud Storage that takes one write a second to an object: verify, an
 * election of three processes through a kill, a hand-over and an outage, credentials, and what is
 * refused.
 *
 * ctest labels: no-valgrind slow. */
#include <stdio.h>
#include <string.h>

#include "lib/cli_rig.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"
#define STORE   "gs://locks/"
#define ID      "GS_ACCESS_KEY_ID=" FAKES3_ACCESS_KEY
#define SECRET  "GS_SECRET_ACCESS_KEY=" FAKES3_SECRET_KEY

static const cli_rig_mistake_t mistakes[] = {
    {{ID, "GS_SECRET_ACCESS_KEY=wrong"}, "status", STORE "k", 1, "403 SignatureDoesNotMatch"},
    {{"GS_ACCESS_KEY_ID=nobody", SECRET}, "status", STORE "k", 1, "403 InvalidSecurity"},
    {{ID, SECRET}, "status", "gs://other/k", 1, "create the bucket"},
    {{ID}, "status", STORE "k", 2, "GS_SECRET_ACCESS_KEY: not set"},
    {{ID, SECRET}, "status", "gs://NO/k", 2, "the bucket in --store \"NO\": not a bucket name"},
    {{ID, SECRET},
     "elect",
     "gs://other/k",
     2,
     "there is no bucket other there: check its name, and --endpoint"},
    {.says = NULL},
};

static const cli_rig_store_t gcs = {
    .fake = {.protocol = "gcs",
             .buckets = "locks",
             .keys = {{FAKES3_ACCESS_KEY, FAKES3_SECRET_KEY, NULL}, {"anyone", "", "emulator"}}},
    .url = STORE,
    .bucket = "locks",
    .keys = {ID, SECRET},
    .timing = {"--leader-timeout=5s", "--renew=1s", "--frequent=300ms", "--infrequent=1s"},
    .limit = "{\"write_interval_ms\":1000}",
    .outage = "{\"status\":503,\"code\":\"ServiceUnavailable\"}",
    .checks = {{"create-again", "refused (412)"}, {"conditional-get", "not modified"}},
    .epochs = "epochs    safe",
    .mistakes = mistakes,
};

static int begin(void** state) {
  return cli_rig_begin(&gcs, PROGRAM);
}

/* An emulator is named as Google's own tools have it, and needs no credentials. */
static void finds_an_emulator(void** state) {
  char variable[80];
  snprintf(variable, sizeof variable, "STORAGE_EMULATOR_HOST=%s",
           fakes3_url(cli_rig.fake) + strlen("http://"));
  proc_t* p =
      proc_spawn(&cli_rig.procs, (const char*[]){PROGRAM, "status", "--store", STORE "k", NULL},
                 (const char*[]){variable, NULL});
  assert_int_equal(proc_wait(p), 3);
}

static void refuses_fast_renewals(void** state) {
  static const char* const commands[] = {"elect", "plan"};
  for (int i = 0; i < 2; i++) {
    proc_t* p = cli_rig_s3lect(commands[i], "k",
                               (const char*[]){"--leader-timeout", "5s", "--renew", "900ms", NULL});
    cli_rig_fails(p, 2,
                  "--renew: 900 ms is too short for this store, which takes one write a "
                  "second to an object; raise it to 1000 ms or more");
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_rig_end)
  const struct CMUnitTest tests[] = {
      TEST(cli_rig_verify_says_lockfile),
      TEST(cli_rig_verify_finds_lies),
      TEST(cli_rig_three_elect_with_a_lockfile),
      TEST(cli_rig_three_elect_with_epoch_files),
      TEST(cli_rig_lists_and_reads),
      TEST(finds_an_emulator),
      TEST(refuses_fast_renewals),
      TEST(cli_rig_names_mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
