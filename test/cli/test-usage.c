/* The command line as people meet it: the real command, its one line on stderr, its exit status.
 * (What the parser says in each case is in test-options.c.)
 *
 * ctest labels: no-valgrind. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "lib/proc.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"
#define STORE   "--store", "s3://bucket/key"

static const char* const keys[] = {"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest",
                                   NULL};
static const char* const no_keys[] = {"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=",
                                      "AWS_EC2_METADATA_DISABLED=true", "HOME=/nonexistent", NULL};

static procs_t procs;

static int begin(void** state) {
  procs_begin(&procs);
  return 0;
}

static int end(void** state) {
  procs_end(&procs);
  return 0;
}

typedef struct case_s {
  const char* args[12];
  const char* says; /* the line, or how it begins if it ends with "..." */
} case_t;

static void assert_says(const char* line, const char* says) {
  size_t n = strlen(says);
  if (n > 3 && strcmp(says + n - 3, "...") == 0 && strlen(line) >= n - 3)
    assert_memory_equal(line, says, n - 3);
  else
    assert_string_equal(line, says);
}

static void expect(const case_t* c, const char* const* env) {
  const char* argv[16] = {PROGRAM};
  for (size_t i = 0; i < 12 && c->args[i] != NULL; i++)
    argv[i + 1] = c->args[i];
  proc_t* proc = proc_spawn(&procs, argv, env);
  assert_says(proc_line(proc, PROC_ERR, ""), c->says);
  assert_int_equal(proc_wait(proc), 2);
  assert_null(proc_try_line(proc, PROC_ERR, "", true)); /* one line */
  assert_null(proc_try_line(proc, PROC_OUT, "", true));
  proc_forget(proc);
}

#define COMMANDS                                                                                   \
  "the commands are elect, run, watch, status, list, verify, audit, plan, put and get "            \
  "(s3lect --help)"

static void bad_input(void** state) {
  static const case_t cases[] = {
      {{NULL}, "s3lect: no command: " COMMANDS},
      {{"stauts"}, "s3lect: unknown command stauts: did you mean status?"},
      {{"lead"}, "s3lect: unknown command lead: " COMMANDS},
      {{"--store", "x"}, "s3lect: unknown option --store: " COMMANDS},
      {{"help", "rum"}, "s3lect: unknown command rum: did you mean run?"},
      {{"elect"},
       "s3lect elect: --store is missing: name the lockfile, s3://BUCKET/KEY, "
       "az://ACCOUNT/CONTAINER/KEY, gs://BUCKET/KEY or file:///DIRECTORY/NAME"},
      {{"status", "--store", "s3://b//jobs/x", "--endpoint", "http://127.0.0.1:1"},
       "s3lect status: the key in --store \"/jobs/x\": has an empty segment..."},
      {{"verify", "--store", "s3://b/locks/tr/"},
       "s3lect verify: the key in --store \"locks/tr/\": has an empty segment..."},
      {{"elect", "--store", "s3://b//jobs/", "--protocol", "epochs"},
       "s3lect elect: the key in --store \"/jobs/\": has an empty segment..."},
      {{"run", "--store", "s3://b/locks/.", "--", "true"},
       "s3lect run: the key in --store \"locks/.\": has a segment..."},
      {{"watch", "--store", "s3://b/locks//x"},
       "s3lect watch: the key in --store \"locks//x\": has an empty segment..."},
      {{"audit"}, "s3lect audit: nothing to audit: give event logs, or --store"},
      {{"audit", "--store", "file:///tmp/x"},
       "s3lect audit: --store file:///tmp/x: of a lockfile there, no versions can be read: give "
       "event logs"},
      {{"audit", "--store", "gs://bucket/x"},
       "s3lect audit: --store gs://bucket/x: of a lockfile there, no versions can be read..."},
      {{"audit", STORE, "a.log"},
       "s3lect audit: --store s3://bucket/key and event logs are both given: audit one of them"},
      {{"status", "--store", "s3:///key"},
       "s3lect status: --store s3:///key names no bucket: write s3://BUCKET/KEY"},
      {{"run", STORE, "--kil-after", "5s", "--", "true"},
       "s3lect run: unknown option --kil-after: did you mean --kill-after?"},
      {{"elect", STORE, "--renew", "5"}, "s3lect elect: --renew 5 has no unit: write 5s or 5ms"},
      {{"elect", STORE, "--leader-timeout", "2s", "--renew", "1s"},
       "s3lect elect: --leader-timeout: 2000 ms is unsafe: ..."},
      {{"run", STORE, "--leader-timeout", "15s", "--kill-after", "10s", "--", "true"},
       "s3lect run: --kill-after 10000ms does not fit: with --leader-timeout 15000ms, ..."},
      {{"run", STORE, "--warn-signal", "TREM", "--", "true"},
       "s3lect run: --warn-signal TREM is unknown: write HUP, INT, QUIT, USR1, USR2, TERM or ..."},
      {{"run", STORE, "--warn-signal", "USR1", "--", "true"},
       "s3lect run: --warn-signal needs --warn-before: say how early it is to come"},
      {{"run", STORE, "--warn-before", "4s", "--", "true"},
       "s3lect run: --warn-before 4000ms is too late: the command gets SIGTERM 4500ms before ..."},
      {{"elect", STORE, "--priority", "4"},
       "s3lect elect: --priority 4 is unknown: write 1|2 or 3"},
      {{"elect", STORE, "--warn-before", "11s"},
       "s3lect elect: --warn-before: 11000 ms before the end is before the next renewal is due; "
       "..."},
      {{"elect", STORE, "--renew-deadline", "9s", "--request-timeout", "3s"},
       "s3lect elect: --renew-deadline: 9000 ms does not fit into the leader timeout of 15000 ms "
       "..."},
      {{"run", STORE, "--within", "5s", "--", "true"},
       "s3lect run: --within is for an attempt that may fail: add --try"},
      {{"run", STORE, "--try", "--within", "0s", "--", "true"},
       "s3lect run: --within 0s is out of range: from 1ms to 24h"},
      {{"run", STORE, "--conflict-exit", "5", "--", "true"},
       "s3lect run: --conflict-exit is for an attempt that may fail: add --try"},
      {{"run", STORE, "--try", "--conflict-exit", "256", "--", "true"},
       "s3lect run: --conflict-exit 256 is no exit status: write a number from 0 to 255"},
      {{"run", STORE, "--try", "--conflict-exit", "-1", "--", "true"},
       "s3lect run: --conflict-exit -1 is no exit status: write a number from 0 to 255"},
      {{"run", STORE, "--quiet", "--standby", "--once", "--", "true"},
       "s3lect run: --standby is for a service that is started again, and --once for a job that "
       "runs once: leave one of them away"},
      {{"run", STORE, "--standby", "--try", "--", "true"},
       "s3lect run: --standby is for a service that is started again, and --try for a job..."},
      {{"run", STORE, "--standby", "--min-hold", "1m", "--", "true"},
       "s3lect run: --standby is for a service that is started again, and --min-hold for..."},
      {{"elect", STORE, "--try"},
       "s3lect elect: --try is no option of this command: it belongs to s3lect run"},
      {{"elect", STORE, "--addr", "a host:80"},
       "s3lect elect: --addr a host:80 is no address: ..."},
      {{"elect", STORE, "--endpoint", "ftp://host"}, "s3lect elect: --endpoint..."},
      {{"elect", STORE, "--endpoint", "http://"}, "s3lect elect: --endpoint..."},
      {{"elect", STORE, "--ca-file", "/nonexistent/ca.pem", "--endpoint", "https://localhost"},
       "s3lect elect: --ca-file..."},
      {{"elect", "--store", "s3://Not_A_Bucket!/key"}, "s3lect elect: the bucket in --store..."},
      {{"run", STORE, "--events", "/nonexistent/dir/events", "--", "true"},
       "s3lect run: --events /nonexistent/dir/events cannot be opened: No such file or directory"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    expect(&cases[i], keys);
}

static void no_credentials(void** state) {
  proc_t* status = proc_spawn(&procs, (const char*[]){PROGRAM, "status", STORE, NULL}, no_keys);
  const char* line = proc_line(status, PROC_ERR, "");
  assert_says(line, "s3lect status: cannot read s3://bucket/key: no credentials: ...");
  assert_non_null(strstr(line, "environment: AWS_ACCESS_KEY_ID is not set; web identity: "));
  assert_int_equal(proc_wait(status), 1);
  /* There may be some later: a file, a role. */
  proc_t* elect = proc_spawn(&procs, (const char*[]){PROGRAM, "elect", STORE, NULL}, no_keys);
  proc_line(elect, PROC_OUT, "\"error\":\"ECREDENTIALS\"");
  proc_line(elect, PROC_OUT, "\"error\":\"ECREDENTIALS\"");
  assert_int_equal(proc_end(elect, SIGTERM), 0);
}

static void prints(const char* const* args, const char* first, const char* later) {
  const char* argv[8] = {PROGRAM};
  for (size_t i = 0; args[i] != NULL; i++)
    argv[i + 1] = args[i];
  proc_t* proc = proc_spawn(&procs, argv, no_keys);
  assert_says(proc_line(proc, PROC_OUT, ""), first);
  if (later != NULL)
    proc_line(proc, PROC_OUT, later);
  assert_int_equal(proc_wait(proc), 0);
  proc_rewind(proc, PROC_OUT);
  for (const char* line; (line = proc_try_line(proc, PROC_OUT, "", true)) != NULL;)
    assert_true(strlen(line) <= 96);
  assert_null(proc_try_line(proc, PROC_ERR, "", true));
}

static void help_and_version(void** state) {
  static const char general[] = "s3lect: elects one leader among many processes...";
  prints((const char*[]){"--help", NULL}, general, "  status   print who leads");
  prints((const char*[]){"-h", NULL}, general, "Examples:");
  prints((const char*[]){"help", NULL}, general, "Environment: AWS_ACCESS_KEY_ID");
  prints((const char*[]){"help", "run", NULL}, "Usage: s3lect run ...", "--kill-after DUR");
  prints((const char*[]){"run", "--help", NULL}, "Usage: s3lect run ...", "--events FILE");
  prints((const char*[]){"elect", "--help", NULL}, "Usage: s3lect elect ...", "--infrequent DUR");
  prints((const char*[]){"status", "-h", NULL}, "Usage: s3lect status ...", "--json");
  prints((const char*[]){"verify", "-h", NULL}, "Usage: s3lect verify ...", "--quick");
  prints((const char*[]){"--version", NULL}, "s3lect 0.1.0", NULL);
  prints((const char*[]){"version", NULL}, "s3lect 0.1.0", NULL);
}

/* Every page has its options in groups, and three examples. */
static void pages_have_groups_and_examples(void** state) {
  for (int command = 1; strcmp(cli_command_name(command), "elect") != 0 || command == CLI_ELECT;
       command *= 2) {
    const char* name = cli_command_name(command);
    char example[32];
    int examples = 0;
    snprintf(example, sizeof example, "  s3lect %s ", name);
    proc_t* proc = proc_spawn(&procs, (const char*[]){PROGRAM, name, "--help", NULL}, no_keys);
    proc_line(proc, PROC_OUT, " options:");
    proc_line(proc, PROC_OUT, "  --help");
    proc_line(proc, PROC_OUT, "Examples:");
    for (const char* line; (line = proc_line(proc, PROC_OUT, ""))[0] != '\0'; examples++)
      assert_memory_equal(line, example, strlen(example));
    assert_int_equal(examples, 3);
    assert_int_equal(proc_wait(proc), 0);
    proc_forget(proc);
  }
}

static void a_full_disk_is_an_error(void** state) {
  proc_t* proc = proc_spawn(
      &procs, (const char*[]){"/bin/sh", "-c", PROGRAM " --help >/dev/full", NULL}, NULL);
  proc_line(proc, PROC_ERR, "s3lect: cannot write to standard output");
  assert_int_equal(proc_wait(proc), 1);
}

/* Closed standard descriptors do not become the loop's own. */
static void closed_descriptors(void** state) {
  proc_t* proc = proc_spawn(
      &procs, (const char*[]){"/bin/sh", "-c", PROGRAM " status --store x <&- >&- 2>&-", NULL},
      NULL);
  assert_int_equal(proc_wait(proc), 2);
  proc = proc_spawn(
      &procs, (const char*[]){"/bin/sh", "-c", PROGRAM " status --store x <&- >&-", NULL}, NULL);
  proc_line(proc, PROC_ERR, "--store x is no store");
  assert_int_equal(proc_wait(proc), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
      T(bad_input),
      T(no_credentials),
      T(help_and_version),
      T(pages_have_groups_and_examples),
      T(a_full_disk_is_an_error),
      T(closed_descriptors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
