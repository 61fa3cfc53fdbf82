/* The stores that the command line names: what is wrong with a file, and S3 with what buckets
 * demand. No election is held; those in a file are in test-file.c.
 *
 * ctest labels: no-valgrind one-protocol */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/certs.h"
#include "lib/s3proc_case.h"
#include "lib/script_server.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"

/* ---- Files ---- */

static void refused(const char* command, const char* store, const char* option, const char* says) {
  proc_t* p = proc_spawn(&s3.procs,
                         (const char*[]){PROGRAM, command, "--store", store, option, NULL}, NULL);
  assert_string_equal(proc_line(p, PROC_ERR, ""), says);
  assert_int_equal(proc_wait(p), 2);
  assert_null(proc_try_line(p, PROC_ERR, "", true));
  proc_forget(p);
}

static void says_what_is_wrong_with_a_file(void** state) {
  char store[128], says[512];
  refused("status", "file:///nonexistent/dir/lock.json", NULL,
          "s3lect status: --store \"/nonexistent/dir\": there is no such directory; make it first");
  refused("verify", "file://lock.json", NULL,
          "s3lect verify: --store file://lock.json is no absolute path: write "
          "file:///DIRECTORY/NAME");
  refused("elect", "file:///dev/null/lock.json", NULL,
          "s3lect elect: --store \"/dev/null\": this is not a directory");
  snprintf(store, sizeof store, "file://%s/", s3.dir);
  snprintf(says, sizeof says,
           "s3lect elect: --store %s names no file: add the lockfile's name, %sleader.json", store,
           store);
  refused("elect", store, NULL, says);
  snprintf(says, sizeof says,
           "s3lect elect: --endpoint is for stores behind HTTP: with --store %s leave it away",
           s3.store);
  refused("elect", s3.store, "--endpoint=http://127.0.0.1:1", says);
}

static void refuses_a_directory_that_all_may_write_to(void** state) {
  char directory[256], says[1024];
  snprintf(directory, sizeof directory, "%s", s3proc_path(&s3, "open"));
  assert_int_equal(mkdir(directory, 0700), 0);
  assert_int_equal(chmod(directory, 0777), 0);
  char store[300];
  snprintf(store, sizeof store, "file://%s/lock.json", directory);
  snprintf(says, sizeof says,
           "s3lect elect: --store \"%s\": every user may write to it, and so make two leaders; use "
           "a directory that only the electors' user or group may write to (chmod o-w)",
           directory);
  refused("elect", store, "--leader-timeout=5s", says);
  assert_int_equal(rmdir(directory), 0);
}

/* FIFOs under the names of files: nothing waits for somebody at their other end. */
static void waits_for_no_fifo(void** state) {
  char fifo[256], option[300], says[400];
  snprintf(fifo, sizeof fifo, "%s", s3proc_path(&s3, "fifo"));
  assert_int_equal(mkfifo(fifo, 0600), 0);
  proc_t* p = proc_spawn(
      &s3.procs,
      (const char*[]){PROGRAM, "run", "--store", s3.store, "--events", fifo, "--", "true", NULL},
      NULL);
  snprintf(says, sizeof says, "s3lect run: --events %s cannot be opened: nobody reads from it",
           fifo);
  assert_string_equal(proc_line(p, PROC_ERR, ""), says);
  assert_int_equal(proc_wait(p), 2);
  proc_forget(p);
  snprintf(option, sizeof option, "--ca-file=%s", fifo);
  snprintf(says, sizeof says, "s3lect status: --ca-file \"%s\": not a regular file", fifo);
  refused("status", "s3://bucket/key", option, says);
  assert_int_equal(unlink(fifo), 0);
}

/* A pipe can be read once, but a key is needed by the server, the client, and again on SIGHUP. */
static void reads_a_pipe_that_has_a_writer(void** state) {
  char script[2048];
  s3l_certs_t certs;
  assert_int_equal(s3l_certs_make(&certs), 0);
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  snprintf(script, sizeof script,
           "cat %s | exec %s/src/s3lect elect --store %s --peer-listen 127.0.0.1:0 --peer-cert %s "
           "--peer-key /dev/stdin --peer-ca %s --leader-timeout 2500ms",
           certs.key, S3L_BUILD_DIR, s3.store, certs.good, certs.ca);
  proc_t* p = proc_spawn(&s3.procs, (const char*[]){"/bin/bash", "-c", script, NULL}, NULL);
  proc_line(p, PROC_OUT, "started_leading");
  s3proc_end(&s3);
  s3l_certs_remove(&certs);
}

/* Whatever the limit of open files is, it works or says that it cannot; below 10, where inherited
 * descriptors may take up all of it, perhaps the dynamic linker says so. */
static void says_when_too_few_files_can_be_opened(void** state) {
  static const char* const commands[] = {"elect", "run", "status", "verify", "watch"};
  char script[1024];
  for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++)
    for (int limit = 3; limit <= 26; limit++) {
      snprintf(script, sizeof script, "ulimit -n %d; exec %s/src/s3lect %s --store %s%s", limit,
               S3L_BUILD_DIR, commands[c], s3.store,
               strcmp(commands[c], "run") == 0 ? " true" : "");
      proc_t* p = proc_spawn(&s3.procs, (const char*[]){"/bin/sh", "-c", script, NULL},
                             (const char*[]){"ASAN_OPTIONS=detect_leaks=0", NULL});
      const char* line = proc_line(p, PROC_ERR, "");
      bool ours = strstr(line, "files can be opened, and 24 are needed") != NULL;
      assert_true(ours || limit < 10);
      assert_int_equal(proc_wait(p), ours ? 1 : 127);
      proc_forget(p);
    }
}

/* ---- S3 ---- */

static void note_call(s3l_script_server_t* server) {
  *(bool*)server->data = true;
}

static bool is_true(void* arg) {
  return *(const bool*)arg;
}

static void sends_what_buckets_demand(void** state) {
  char endpoint[64];
  bool arrived = false;
  procs_t procs;
  s3l_script_server_t server = {.on_call = note_call, .data = &arrived};
  const s3l_step_t* const* scripts = S3L_SCRIPTS(
      S3L_SCRIPT(S3L_EXPECT("GET /bucket/key HTTP/1.1\r\n"),
                 S3L_EXPECT("x-amz-expected-bucket-owner: 123456789012\r\n"),
                 S3L_EXPECT("Credential=PROFILEKEY/"), S3L_EXPECT("\r\n\r\n"),
                 S3L_SEND("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
                 S3L_EXPECT("PUT /bucket/key HTTP/1.1\r\n"), S3L_EXPECT("\r\nif-none-match: *\r\n"),
                 S3L_EXPECT("x-amz-checksum-sha256: "),
                 S3L_EXPECT("x-amz-expected-bucket-owner: 123456789012\r\n"),
                 S3L_EXPECT("x-amz-server-side-encryption: aws:kms\r\n"),
                 S3L_EXPECT("x-amz-server-side-encryption-aws-kms-key-id: 1234-ab\r\n"),
                 S3L_EXPECT("X-One: 1\r\n"), S3L_EXPECT("x-amz-tagging: team=a b\r\n"), S3L_CALL));
  procs_begin(&procs);
  server.scripts = scripts;
  server.scripts_len = 1;
  s3l_script_server_start(&server, &procs.loop);
  snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", server.port);
  char config[] = "/tmp/s3lect-test-XXXXXX", variable[128];
  int fd = mkstemp(config);
  static const char ini[] =
      "[mine]\naws_access_key_id = PROFILEKEY\naws_secret_access_key = secret\n";
  assert_int_equal(write(fd, ini, sizeof ini - 1), sizeof ini - 1);
  assert_int_equal(close(fd), 0);
  snprintf(variable, sizeof variable, "AWS_SHARED_CREDENTIALS_FILE=%s", config);
  proc_t* elect = proc_spawn(
      &procs,
      (const char*[]){PROGRAM, "elect", "--store", "s3://bucket/key", "--endpoint", endpoint,
                      "--profile", "mine", "--header", "X-One: 1", "--sse", "aws:kms",
                      "--sse-kms-key-id=1234-ab", "--header=x-amz-tagging: team=a b", "--checksum",
                      "--expected-bucket-owner", "123456789012", NULL},
      (const char*[]){variable, "AWS_CONFIG_FILE=/dev/null", NULL});
  procs_until(&procs, is_true, &arrived);
  assert_int_equal(proc_end(elect, SIGKILL), 128 + SIGKILL);
  assert_int_equal(unlink(config), 0);
  s3l_script_server_close(&server);
  procs_end(&procs);
}

/* A look at the lockfile through a proxy that plays the script. */
static int status_through(const s3l_step_t* steps, const char* const* options, const char* variable,
                          char line[512]) {
  char url[64];
  const char* argv[16];
  size_t n = 0;
  procs_t procs;
  s3l_script_server_t server = {.scripts = &steps, .scripts_len = 1};
  procs_begin(&procs);
  s3l_script_server_start(&server, &procs.loop);
  snprintf(url, sizeof url, "http://user:hushhush@127.0.0.1:%u", server.port);
  argv[n++] = PROGRAM;
  argv[n++] = "status";
  argv[n++] = "--store=s3://bucket/key";
  for (; *options != NULL; options++)
    argv[n++] = strcmp(*options, "URL") == 0 ? url : *options;
  argv[n] = NULL;
  proc_t* status = proc_spawn(
      &procs, argv,
      (const char*[]){"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest", variable, NULL});
  int exit_code = proc_wait(status);
  const char* said = proc_try_line(status, exit_code == 3 ? PROC_OUT : PROC_ERR, "", true);
  snprintf(line, 512, "%s", said != NULL ? said : "");
  s3l_script_server_close(&server);
  procs_end(&procs);
  return exit_code;
}

static void goes_through_a_proxy(void** state) {
  char line[512];
  int r = status_through(
      S3L_SCRIPT(S3L_EXPECT("GET http://store.invalid/bucket/key HTTP/1.1\r\n"),
                 S3L_EXPECT("proxy-authorization: Basic dXNlcjpodXNoaHVzaA==\r\n"),
                 S3L_EXPECT("\r\n\r\n"),
                 S3L_SEND("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")),
      (const char*[]){"--endpoint=http://store.invalid", "--proxy", "URL", NULL}, NULL, line);
  assert_string_equal(line, "no leader: there is no lockfile");
  assert_int_equal(r, 3);
  /* AWS's own host, with IPv6 addresses and without; it is the proxy's refusal that is said. */
  static const s3l_step_t dualstack[] = {
      S3L_EXPECT("CONNECT bucket.s3.dualstack.eu-west-1.amazonaws.com:443 HTTP/1.1\r\n"),
      S3L_EXPECT("\r\n\r\n"), S3L_SEND("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
      S3L_SCRIPT_END};
  r = status_through(dualstack,
                     (const char*[]){"--region=eu-west-1", "--dualstack", "--proxy", "URL", NULL},
                     NULL, line);
  assert_non_null(strstr(line, "does not connect to bucket.s3.dualstack.eu-west-1.amazonaws.com"));
  assert_null(strstr(line, "hush"));
  assert_int_equal(r, 1);
}

/* The variable's proxy is no proxy at all, and would be refused. */
static void goes_through_none(void** state) {
  char line[512];
  int r = status_through(
      S3L_SCRIPT(S3L_EXPECT("never")),
      (const char*[]){"--endpoint=http://127.0.0.1:9", "--proxy=ftp://user:hushhush@h", NULL}, NULL,
      line);
  assert_non_null(strstr(line, "s3lect status: --proxy"));
  assert_null(strstr(line, "hush"));
  assert_int_equal(r, 2);
  const char* options[] = {"--endpoint=http://store.invalid", NULL, NULL};
  r = status_through(S3L_SCRIPT(S3L_EXPECT("never")), options, "http_proxy=ftp://h", line);
  assert_non_null(strstr(line, "s3lect status: http_proxy: must begin with http://"));
  assert_int_equal(r, 2);
  options[1] = "--proxy=none";
  r = status_through(S3L_SCRIPT(S3L_EXPECT("never")), options, "http_proxy=ftp://h", line);
  assert_non_null(strstr(line, ": look-up of store.invalid: "));
  assert_int_equal(r, 1);
}

static void says_what_is_wrong_with_a_header(void** state) {
  refused("elect", "s3://bucket/key", "--header=X-One",
          "s3lect elect: --header \"X-One\": not a header; write it as \"Name: value\"");
  refused("status", "s3://bucket/key", "--header=content-md5: x server_side_encryption",
          "s3lect status: --header \"content-md5: x server_side_encryption\": cannot be the same "
          "for every write; set the option checksum in its place");
  refused("verify", "s3://bucket/key", "--header=x-amz-expected-bucket-owner: 1",
          "s3lect verify: --header \"x-amz-expected-bucket-owner: 1\": is wanted on every request; "
          "the bucket's owner is an option of its own");
  refused("elect", "s3://bucket/key", "--sse=des",
          "s3lect elect: --sse \"des\": not a kind of encryption; use AES256, aws:kms or "
          "aws:kms:dsse");
  refused("elect", "s3://bucket/key", "--sse-kms-key-id=k",
          "s3lect elect: --sse-kms-key-id \"k\": is for encryption with aws:kms or aws:kms:dsse; "
          "ask for one of them, too");
  refused("elect", "s3://bucket/key", "--expected-bucket-owner=me",
          "s3lect elect: --expected-bucket-owner \"me\": not an AWS account; give its 12 digits, "
          "without dashes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_file, end)
      T(says_what_is_wrong_with_a_file),
      T(refuses_a_directory_that_all_may_write_to),
      T(waits_for_no_fifo),
      cmocka_unit_test(reads_a_pipe_that_has_a_writer),
      T(says_when_too_few_files_can_be_opened),
      cmocka_unit_test(sends_what_buckets_demand),
      cmocka_unit_test(goes_through_a_proxy),
      cmocka_unit_test(goes_through_none),
      T(says_what_is_wrong_with_a_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
