/* `s3lect plan`: what it prints, what it warns of, and how it exits. Whether its times and requests
 * are right is shown by test/sim/test-plan.c. */
#include <stdio.h>
#include <string.h>

#include "lib/proc.h"
#include "lib/test.h"

#define PROGRAM S3L_BUILD_DIR "/src/s3lect"
#define STORE   "--store", "s3://bucket/locks/db.json"

static procs_t procs;

static int begin(void** state) {
  procs_begin(&procs);
  return 0;
}

static int end(void** state) {
  procs_end(&procs);
  return 0;
}

static proc_t* plan(const char* const* more) {
  const char* argv[24] = {PROGRAM, "plan"};
  for (size_t n = 2; *more != NULL; n++)
    argv[n] = *more++;
  return proc_spawn(&procs, argv,
                    (const char*[]){"AWS_ENDPOINT_URL=", "AWS_ENDPOINT_URL_S3=", NULL});
}

static const char* json(const char* const* more, int status) {
  static char line[16384];
  const char* args[20] = {"--json"};
  for (size_t n = 1; *more != NULL; n++)
    args[n] = *more++;
  proc_t* p = plan(args);
  assert_int_equal(proc_wait(p), status);
  snprintf(line, sizeof line, "%s", proc_line(p, PROC_OUT, ""));
  assert_null(proc_try_line(p, PROC_OUT, "", true));
  proc_forget(p);
  return line;
}

static void the_defaults(void** state) {
  const char* line = json((const char*[]){STORE, NULL}, 0);
  assert_int_equal(proc_json_i64(line, "crash_worst_ms"), 21100);
  assert_int_equal(proc_json_i64(line, "lost_machine_worst_ms"), 21100);
  assert_int_equal(proc_json_i64(line, "hand_over_worst_ms"), 5950);
  assert_int_equal(proc_json_i64(line, "first_start_worst_ms"), 17100);
  assert_int_equal(proc_json_i64(line, "leader_puts"), 576000); /* 518,400 and a tenth early */
  assert_int_equal(proc_json_i64(line, "leader_lists"), 0);
  assert_int_equal(proc_json_i64(line, "follower_gets"), 576000);
  assert_non_null(strstr(line, "\"leader_usd\":2.88,"));
  assert_non_null(strstr(line, "\"follower_usd\":0.23,"));
  assert_non_null(strstr(line, "\"advice\":[]}"));
}

/* A directory bucket: its own prices, and one action, which the requests need. */
static void express(void** state) {
  const char* line = json((const char*[]){"--store", "s3://locks--usw2-az1--x-s3/db", NULL}, 0);
  assert_int_equal(proc_json_i64(line, "leader_puts"), 576000);
  assert_non_null(strstr(line, "\"leader_usd\":0.65,"));
  assert_non_null(strstr(line, "\"follower_usd\":0.02,"));
  assert_non_null(strstr(line, "\"prices\":\"AWS S3 Express One Zone, us-east-1, "));
  assert_non_null(strstr(line, "\"Action\": [\"s3express:CreateSession\"], \"Resource\": "
                               "\"arn:aws:s3express:*:*:bucket/locks--usw2-az1--x-s3\""));
  assert_null(strstr(line, "s3:GetObject"));
}

/* A role in place of a policy; the prices are those of the hot tier. */
static void azure(void** state) {
  const char* line = json((const char*[]){"--store", "az://account/container/db", NULL}, 0);
  assert_non_null(strstr(line, "\"leader_usd\":2.88,"));
  assert_non_null(strstr(line, "\"prices\":\"Azure Blob Storage, hot LRS, eastus, "));
  assert_non_null(strstr(line, "containers/blobs/write\"   ],   \"AssignableScopes\""));
  proc_t* p = plan((const char*[]){"--store", "az://account/container/db", NULL});
  proc_line(p, PROC_OUT, "Azure role of an elector, to be assigned at the container:");
  assert_int_equal(proc_wait(p), 0);
}

/* The same, and the limit of one write a second: refused below it, advised near it. */
static void google(void** state) {
#define GOOGLE "--store", "gs://bucket/db", "--leader-timeout", "8s"
  const char* line = json((const char*[]){GOOGLE, "--renew", "1112ms", NULL}, 0);
  assert_non_null(strstr(line, "\"prices\":\"Google Cloud Storage Standard, one region, "));
  assert_non_null(strstr(line, "\"storage.objects.create\",     \"storage.objects.delete\""));
  assert_non_null(strstr(line, "\"advice\":[]}"));
  line = json((const char*[]){GOOGLE, "--renew", "1111ms", NULL}, 0);
  assert_non_null(strstr(line, "\"wasteful\",\"text\":\"--renew: 1111 ms: some renewals come"));
  proc_t* p = plan((const char*[]){GOOGLE, "--renew", "999ms", NULL});
  proc_line(p, PROC_ERR, "s3lect plan: --renew: 999 ms is too short for this store");
  assert_int_equal(proc_wait(p), 2);
  p = plan((const char*[]){GOOGLE, NULL});
  proc_line(p, PROC_OUT, "Google role of an elector, to be granted on the bucket:");
  assert_int_equal(proc_wait(p), 0);
}

static void in_text(void** state) {
  proc_t* p = plan((const char*[]){STORE, "--electors", "10000", "--latency", "20ms", NULL});
  proc_line(p, PROC_OUT, "Time without a leader, if requests take at most 20 ms:");
  proc_line(p, PROC_OUT, "  crash of the process       at most 20.7 s");
  proc_line(p, PROC_OUT, "  leader                     576000 PUT, 0 LIST, 0 GET: at most $2.88");
  proc_line(p, PROC_OUT, "  (prices: AWS S3 Standard, us-east-1, aws.amazon.com/s3/pricing");
  proc_line(p, PROC_OUT, "10000 electors, requests of 20 ms: 40 connections");
  proc_line(p, PROC_OUT, "IAM policy of an elector:");
  assert_int_equal(proc_wait(p), 0);
}

/* With peers a hand-over takes some requests, or once in thousands of times a frequent interval
 * more; and a follower sends none to the store. */
static void peers(void** state) {
  const char* line =
      json((const char*[]){STORE, "--peer-ca", "ca.pem", "--latency", "20ms", NULL}, 0);
  assert_int_equal(proc_json_i64(line, "hand_over_worst_ms"), 5650);
  assert_int_equal(proc_json_i64(line, "hand_over_mean_ms"), 50);
  assert_int_equal(proc_json_i64(line, "follower_gets"), 0);
  assert_true(proc_json_i64(line, "lost_machine_worst_ms") >
              proc_json_i64(line, "crash_worst_ms") + 3000);
}

static void policies(void** state) {
  const char* line = json((const char*[]){STORE, NULL}, 0);
  assert_non_null(strstr(line, "[\"s3:GetObject\", \"s3:PutObject\"], \"Resource\": "
                               "\"arn:aws:s3:::bucket/locks/db.json\"}"));
  assert_non_null(strstr(line, "[\"s3:ListBucket\"], \"Resource\": \"arn:aws:s3:::bucket\"}"));
  assert_null(strstr(line, "Delete"));
  line = json((const char*[]){"--store", "s3://bucket/db/", "--protocol", "epochs", "--endpoint",
                              "http://x", "--verify-on-start", NULL},
              0);
  assert_non_null(strstr(line, "\"s3:DeleteObject\"], \"Resource\": "
                               "\"arn:aws:s3:::bucket/db/lock-*\"}"));
  assert_non_null(strstr(line, "\"arn:aws:s3:::bucket/db/.verify-*\"}"));
  line = json((const char*[]){STORE, "--sse", "aws:kms", "--sse-kms-key-id", "k", NULL}, 0);
  assert_non_null(strstr(line, "[\"kms:GenerateDataKey\", \"kms:Decrypt\"], \"Resource\": "
                               "\"arn:aws:kms:*:*:key/k\"}"));
  line = json((const char*[]){"--store", "file:///tmp/x", NULL}, 0);
  assert_null(strstr(line, "policy"));
  assert_null(strstr(line, "usd"));
}

static void advice(void** state) {
  static const struct {
    const char* args[6];
    int status;
    const char* says;
  } rows[] = {
      {{"--drift", "1ppm"}, 1, "{\"kind\":\"unsafe\",\"text\":\"--drift: 1 is less than"},
      {{"--expiry", "store-clock"},
       1,
       "\"unsafe\",\"text\":\"--expiry: store-clock makes two leaders"},
      {{"--peer-plain-http"}, 1, "\"unsafe\",\"text\":\"--peer-plain-http: "},
      {{"--latency", "5s"},
       1,
       "\"unsafe\",\"text\":\"--request-timeout: 3000 ms is less than the 5000 ms"},
      {{"--leader-timeout", "30s", "--renew", "20s"},
       1,
       "\"unsafe\",\"text\":\"--renew: 20000 ms leaves room for one renewal"},
      {{"--electors", "10000", "--latency", "50ms"},
       1,
       "\"--electors: need 100 connections, and the store has 64"},
      {{"--electors", "100000", "--latency", "100ms"},
       1,
       "need 2000 connections, and the store has 64"},
      {{"--infrequent", "1m"},
       0,
       "\"wasteful\",\"text\":\"--infrequent: 60000 ms makes a hand-over take as long"},
      {{"--frequent", "8s", "--infrequent", "5s"}, 0, "\"--frequent: 8000 ms is longer than"},
      {{"--infrequent", "500ms"}, 0, "\"--infrequent: 500 ms makes more than five reads"},
      {{"--renew", "1s"},
       0,
       "\"wasteful\",\"text\":\"--renew: 1000 ms makes more than ten renewals"},
      {{"--leader-timeout", "10m"}, 0, "\"--leader-timeout: nobody leads for 600000 ms"},
      {{"--no-release"}, 0, "\"wasteful\",\"text\":\"--no-release: "},
      {{"--grace", "2s"}, 0, "\"wasteful\",\"text\":\"--grace: nobody leads for 2000 ms more"},
      {{"--protocol", "epochs"}, 0, "\"wasteful\",\"text\":\"--protocol: epoch files cost"},
      {{"--protocol", "epochs", "--keep-epochs"}, 0, "\"--keep-epochs: files are never removed"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char* args[10] = {STORE};
    for (size_t n = 0; rows[i].args[n] != NULL; n++)
      args[2 + n] = rows[i].args[n];
    const char* line = json(args, rows[i].status);
    if (strstr(line, rows[i].says) == NULL)
      fail_msg("%s is not in %s", rows[i].says, line);
  }
}

static void what_cannot_be_planned(void** state) {
  proc_t* p = plan((const char*[]){STORE, "--leader-timeout", "1s", NULL});
  proc_line(p, PROC_ERR, "s3lect plan: --leader-timeout: 1000 ms is unsafe: ");
  assert_int_equal(proc_wait(p), 1);
  p = plan(
      (const char*[]){"--store", "s3://locks--usw2-az1--x-s3/db/", "--protocol", "epochs", NULL});
  proc_line(p, PROC_ERR, "--protocol: epoch files need a store that can list");
  assert_int_equal(proc_wait(p), 2);
  p = plan((const char*[]){STORE, "--electors", "many", NULL});
  proc_line(p, PROC_ERR, "--electors many is no count: write a number from 1 to 10000000");
  assert_int_equal(proc_wait(p), 2);
  p = plan((const char*[]){STORE, "--peer-listen", "127.0.0.1:1", NULL});
  proc_line(p, PROC_ERR, "--peer-listen needs a certificate");
  assert_int_equal(proc_wait(p), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
      T(the_defaults), T(express), T(azure),
      T(google),       T(in_text), T(peers),
      T(policies),     T(advice),  T(what_cannot_be_planned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
