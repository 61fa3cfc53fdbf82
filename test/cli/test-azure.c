/* The command on a fake Azure Blob Storage: verify, an election of three processes through a kill,
 * a hand-over and an outage, each kind of static credentials, and what is refused.
 *
 * ctest labels: no-valgrind slow. */
#include "lib/cli_rig.h"
#include "lib/test.h"

#define STORE "az://devstoreaccount1/locks/"
#define KEY   "AZURE_STORAGE_KEY=" FAKES3_ACCOUNT_KEY

static const cli_rig_mistake_t mistakes[] = {
    {{"AZURE_STORAGE_KEY=d3Jvbmc="}, "status", STORE "k", 1, "403 AuthenticationFailed"},
    {{KEY}, "status", "az://devstoreaccount1/other/k", 1, "create the container"},
    {{"AZURE_STORAGE_KEY=no base64"},
     "status",
     STORE "k",
     2,
     "AZURE_STORAGE_KEY: not an account key, which is base64"},
    {{"AZURE_STORAGE_SAS_TOKEN=sv=1"},
     "status",
     STORE "k",
     2,
     "AZURE_STORAGE_SAS_TOKEN: not a shared access signature"},
    {{"AZURE_STORAGE_CONNECTION_STRING=AccountName=other;AccountKey=a2V5"},
     "status",
     STORE "k",
     2,
     "AZURE_STORAGE_CONNECTION_STRING: is of the account other, not of devstoreaccount1"},
    {{"AZURE_STORAGE_KEY=a2V5"},
     "status",
     "az://devstoreaccount1/NO/k",
     2,
     "the container in --store \"NO\": not a container's name"},
    {{"AZURE_STORAGE_KEY=a2V5"}, "status", "az://devstoreaccount1/locks", 2, "names no key"},
    {{"AZURE_STORAGE_KEY=a2V5"}, "status", "az:///locks/k", 2, "names no account"},
    {{KEY},
     "elect",
     "az://devstoreaccount1/other/k",
     2,
     "there is no container other there: check its name, the account"},
    {.says = NULL},
};

static const cli_rig_store_t azure = {
    .fake = {.protocol = "azure", .buckets = "locks"},
    .url = STORE,
    .bucket = "locks",
    .keys = {KEY},
    .timing = {"--leader-timeout=2500ms", "--renew=400ms", "--frequent=300ms", "--infrequent=1s"},
    .outage = "{\"status\":503,\"code\":\"ServerBusy\"}",
    .checks = {{"equal-bodies", "different ETags"}},
    .epochs = "epochs    safe",
    .mistakes = mistakes,
};

static int begin(void** state) {
  return cli_rig_begin(&azure, S3L_BUILD_DIR "/src/s3lect");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_rig_end)
  const struct CMUnitTest tests[] = {
      TEST(cli_rig_verify_says_lockfile),
      TEST(cli_rig_verify_finds_lies),
      TEST(cli_rig_three_elect_with_a_lockfile),
      TEST(cli_rig_three_elect_with_epoch_files),
      TEST(cli_rig_lists_and_reads),
      TEST(cli_rig_names_mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
