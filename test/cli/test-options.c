/* The command line: what is accepted, and the one line that each problem gets. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cli/options_table.h"
#include "cli/run.h"
#include "lib/test.h"

#define STORE "--store", "s3://bucket/path/to/lock.json"

static s3lect_error_t error;
static cli_options_t o;

/* Parses a NULL-terminated list of words. */
static int parse(cli_command_t command, const char* const* words) {
  static char text[64][512];
  static char* argv[65];
  int argc = 0;
  for (; words[argc] != NULL; argc++) {
    snprintf(text[argc], sizeof text[argc], "%s", words[argc]);
    argv[argc] = text[argc];
  }
  argv[argc] = NULL;
  return cli_options_parse(&o, command, argc, argv, &error);
}

/* Parses one option more than is required. */
static int parse_value(const char* name, const char* value) {
  char word[100];
  snprintf(word, sizeof word, "--%s=%s", name, value);
  return parse(CLI_ELECT, (const char*[]){STORE, word, NULL});
}

static void all_options(void** state) {
  const char* words[] = {STORE,
                         "--endpoint",
                         "http://127.0.0.1:9000",
                         "--region=eu-west-3",
                         "--path-style",
                         "--ca-file",
                         "/etc/ca.pem",
                         "--id",
                         "node-7",
                         "--addr=10.0.0.7:8443",
                         "--leader-timeout",
                         "10s",
                         "--renew=1.5s",
                         "--frequent",
                         "500ms",
                         "--infrequent",
                         "2m",
                         "--request-timeout=900ms",
                         NULL};
  assert_int_equal(parse(CLI_ELECT, words), 0);
  assert_string_equal(o.bucket, "bucket");
  assert_string_equal(o.elector.lockfile_path, "path/to/lock.json");
  assert_string_equal(o.s3.endpoint, "http://127.0.0.1:9000");
  assert_string_equal(o.s3.region, "eu-west-3");
  assert_int_equal(o.s3.addressing, S3LECT_ADDRESSING_PATH);
  assert_string_equal(o.s3.ca_file, "/etc/ca.pem");
  assert_string_equal(o.elector.server_id, "node-7");
  assert_string_equal(o.elector.server_addr, "10.0.0.7:8443");
  assert_int_equal(o.elector.leader_timeout_ms, 10000);
  assert_int_equal(o.elector.renew_interval_ms, 1500);
  assert_int_equal(o.elector.frequent_interval_ms, 500);
  assert_int_equal(o.elector.infrequent_interval_ms, 120000);
  assert_int_equal(o.elector.request_timeout_ms, 900);
}

static void files(void** state) {
  const char* words[] = {"--store", "file:///var/lib/my app/lock.json", NULL};
  assert_int_equal(parse(CLI_STATUS, words), 0);
  assert_string_equal(o.directory, "/var/lib/my app");
  assert_string_equal(o.elector.lockfile_path, "lock.json");
  assert_string_equal(o.bucket, "");
  const char* root[] = {"--store=file:///lock.json", NULL};
  assert_int_equal(parse(CLI_STATUS, root), 0);
  assert_string_equal(o.directory, "/");
  assert_string_equal(o.elector.lockfile_path, "lock.json");
}

/* list and watch take a prefix; with epoch files, watch takes one election's. */
static void prefixes(void** state) {
  static const struct {
    cli_command_t command;
    const char* store;
    const char* more;
    int result;
    bool prefix;
  } rows[] = {
      {CLI_LIST, "s3://bucket/", NULL, 0, true},
      {CLI_LIST, "s3://bucket/locks/", NULL, 0, true},
      {CLI_LIST, "s3://bucket/locks/db-", NULL, 0, true},
      {CLI_LIST, "file:///var/lib/locks/", NULL, 0, true},
      {CLI_WATCH, "s3://bucket/", NULL, 0, true},
      {CLI_WATCH, "s3://bucket/locks/", NULL, 0, true},
      {CLI_WATCH, "s3://bucket/locks/db.json", NULL, 0, false},
      {CLI_WATCH, "s3://bucket/locks/", "--protocol=epochs", 0, false},
      {CLI_STATUS, "s3://bucket/locks/", NULL, 0, false},
      {CLI_STATUS, "s3://bucket/", NULL, S3LECT_EOPTION, false},
      {CLI_LIST, "s3://bucket", NULL, S3LECT_EOPTION, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char* words[] = {"--store", rows[i].store, rows[i].more, NULL};
    assert_int_equal(parse(rows[i].command, words), rows[i].result);
    assert_int_equal(o.prefix, rows[i].prefix);
  }
}

static void options_that_are_given_again(void** state) {
  const char* words[2 * CLI_LIST_MAX + 5] = {STORE};
  for (size_t i = 0; i <= CLI_LIST_MAX; i++) {
    words[2 + 2 * i] = "--header";
    words[3 + 2 * i] = i % 2 == 0 ? "X-A: b" : "X-C: d";
  }
  assert_int_equal(parse(CLI_ELECT, words), S3LECT_EOPTION);
  assert_string_equal(error.text, "--header is given too often: at most 16 times");
  words[2 + 2 * CLI_LIST_MAX] = NULL;
  assert_int_equal(parse(CLI_ELECT, words), 0);
  assert_int_equal(o.headers.len, CLI_LIST_MAX);
  assert_string_equal(o.headers.all[0], "X-A: b");
  assert_string_equal(o.headers.all[CLI_LIST_MAX - 1], "X-C: d");
}

static void defaults(void** state) {
  const char* words[] = {STORE, NULL};
  assert_int_equal(parse(CLI_ELECT, words), 0);
  assert_ptr_equal(o.elector.server_id, o.default_id);
  assert_non_null(strrchr(o.elector.server_id, '-'));
  assert_int_equal(o.elector.leader_timeout_ms, 0);
  assert_int_equal(o.s3.addressing, S3LECT_ADDRESSING_AUTO);
  assert_null(o.s3.endpoint);
}

/* What --help calls defaults are the library's. */
static void defaults_are_the_librarys(void** state) {
  s3lect_elector_options_t given, all = {.size = sizeof all};
  s3lect_store_t store;
  memset(&store, 0, sizeof store);
  s3lect_elector_options_init(&given, sizeof given);
  given.lockfile_path = "x";
  given.server_id = "a";
  given.store = &store;
  assert_int_equal(s3lect_elector_options_resolve(&given, &all, NULL), 0);
  const struct {
    const char* option;
    uint32_t ms;
  } rows[] = {
      {"leader-timeout", all.leader_timeout_ms},   {"renew", all.renew_interval_ms},
      {"frequent", all.frequent_interval_ms},      {"infrequent", all.infrequent_interval_ms},
      {"request-timeout", all.request_timeout_ms}, {"peer-timeout", all.peer_timeout_ms}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[32];
    assert_int_equal(rows[i].ms % 1000, 0);
    snprintf(text, sizeof text, "%us", rows[i].ms / 1000);
    const cli_option_t* option = cli_option_find(rows[i].option, strlen(rows[i].option));
    const char* brackets = strrchr(option->help, '(');
    if (brackets == NULL || strstr(brackets, text) == NULL)
      fail_msg("--%s is %s by default: \"%s\"", rows[i].option, text, option->help);
  }
  const cli_option_t* path = cli_option_find("peer-path", strlen("peer-path"));
  assert_non_null(strstr(path->help, all.peer_health_path));
}

static void the_last_of_two_counts(void** state) {
  const char* words[] = {STORE, "--path-style", "--virtual-host", "--id", "a", "--id=b", NULL};
  assert_int_equal(parse(CLI_ELECT, words), 0);
  assert_int_equal(o.s3.addressing, S3LECT_ADDRESSING_VIRTUAL_HOST);
  assert_string_equal(o.elector.server_id, "b");
}

static void commands_of_run(void** state) {
  const char* dashes[] = {STORE, "--kill-after", "2s", "--", "server", "--store", "x", NULL};
  assert_int_equal(parse(CLI_RUN, dashes), 0);
  assert_string_equal(o.child_argv[0], "server");
  assert_string_equal(o.child_argv[1], "--store");
  assert_int_equal(o.kill_after_ms, 2000);
  const char* bare[] = {STORE, "server", "--id", "x", NULL};
  assert_int_equal(parse(CLI_RUN, bare), 0);
  assert_string_equal(o.child_argv[0], "server");
  assert_string_not_equal(o.elector.server_id, "x");
}

static void jobs(void** state) {
  const char* plain[] = {STORE, "--", "job", NULL};
  assert_int_equal(parse(CLI_RUN, plain), 0);
  assert_int_equal(o.try_only, 0);
  assert_int_equal(o.conflict_exit, 75);
  const char* job[] = {STORE,    "--try",   "--within",   "2s", "--conflict-exit=0",
                       "--once", "--quiet", "--min-hold", "1m", "--",
                       "job",    NULL};
  assert_int_equal(parse(CLI_RUN, job), 0);
  assert_int_equal(o.try_only, 1);
  assert_int_equal(o.within_ms, 2000);
  assert_int_equal(o.conflict_exit, 0);
  assert_int_equal(o.once, 1);
  assert_int_equal(o.quiet, 1);
  assert_int_equal(o.min_hold_ms, 60000);
}

/* Attempts read so often that they see a leader that only holds. */
static void attempts_read_within_a_hold(void** state) {
  static const struct {
    const char* words[5];
    uint32_t infrequent_ms, frequent_ms;
  } cases[] = {
      {{"--try", "--min-hold=1m"}, 5000, 0},
      {{"--try", "--min-hold=3s"}, 1000, 0},
      {{"--try", "--min-hold=3s", "--infrequent=500ms", "--frequent=5s"}, 500, 1000},
      {{"--try", "--min-hold=1m", "--infrequent=9s", "--leader-timeout=3s"}, 3000, 0},
      {{"--try", "--min-hold=1ms"}, 100, 0},
      {{"--try"}, 0, 0},
      {{"--min-hold=1ms", "--infrequent=9s"}, 9000, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char* words[10] = {STORE};
    size_t n = 2;
    for (size_t k = 0; cases[i].words[k] != NULL; k++)
      words[n++] = cases[i].words[k];
    words[n] = "job";
    assert_int_equal(parse(CLI_RUN, words), 0);
    assert_int_equal(o.elector.infrequent_interval_ms, cases[i].infrequent_ms);
    assert_int_equal(o.elector.frequent_interval_ms, cases[i].frequent_ms);
  }
}

static void help_comes_before_all_checks(void** state) {
  const char* words[] = {"--help", "--nonsense", NULL};
  assert_int_equal(parse(CLI_STATUS, words), 0);
  assert_true(o.help);
}

#define NO_LENGTH "is no length of time: write 500ms, 5s, 2m or 1h"

static void numbers(void** state) {
  static const struct {
    const char* text;
    uint32_t value;
  } durations[] = {{"1ms", 1},        {"500ms", 500},    {"5s", 5000},   {"2m", 120000},
                   {"1h", 3600000},   {"24h", 86400000}, {"1.5s", 1500}, {"0.25s", 250},
                   {"1.2345s", 1234}, {"00007s", 7000}},
    rates[] = {{"1%", 10000}, {"0.05%", 500}, {"200ppm", 200}};
  static const struct {
    const char* option;
    const char* text;
    const char* says;
  } bad[] = {
      {"renew", "5", "has no unit: write 5s or 5ms"},
      {"renew", "1.5", "has no unit: write 1.5s or 1.5ms"},
      {"renew", "s", NO_LENGTH},
      {"renew", "-5s", NO_LENGTH},
      {"renew", "+5s", NO_LENGTH},
      {"renew", " 5s", NO_LENGTH},
      {"renew", "5 s", NO_LENGTH},
      {"renew", "5S", NO_LENGTH},
      {"renew", "5.s", NO_LENGTH},
      {"renew", ".5s", NO_LENGTH},
      {"renew", "1e3s", NO_LENGTH},
      {"renew", "5sec", NO_LENGTH},
      {"renew", "0s", "is out of range: from 1ms to 24h"},
      {"renew", "0.1ms", "is out of range: from 1ms to 24h"},
      {"renew", "25h", "is out of range: from 1ms to 24h"},
      {"renew", "99999999999h", "is out of range: from 1ms to 24h"},
      {"renew", "18446744073709551617ms", NO_LENGTH},
      {"drift", "1", "has no unit: write 1% or 1ppm"},
      {"drift", "1s", "is no rate: write 1% or 10000ppm"},
      {"drift", "0%", "is out of range: from 1ppm to 100%"},
      {"protocol", "lockfiles", "is unknown: write lockfile or epochs"},
      {"expiry", "lock", "is unknown: write observed or store-clock"},
  };
  for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
    assert_int_equal(parse_value("renew", durations[i].text), 0);
    assert_int_equal(o.elector.renew_interval_ms, durations[i].value);
  }
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
    assert_int_equal(parse_value("drift", rates[i].text), 0);
    assert_int_equal(o.elector.drift_ppm, rates[i].value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char says[128];
    snprintf(says, sizeof says, "--%s %s %s", bad[i].option, bad[i].text, bad[i].says);
    assert_int_equal(parse_value(bad[i].option, bad[i].text), S3LECT_EOPTION);
    assert_string_equal(error.text, says);
  }
}

static void choices(void** state) {
  assert_int_equal(parse_value("protocol", "lockfile"), 0);
  assert_int_equal(o.elector.protocol, S3LECT_PROTOCOL_LOCKFILE);
  assert_int_equal(parse_value("protocol", "epochs"), 0);
  assert_int_equal(o.elector.protocol, S3LECT_PROTOCOL_EPOCHS);
  assert_int_equal(parse_value("expiry", "observed"), 0);
  assert_int_equal(o.elector.expiry, S3LECT_EXPIRY_OBSERVED);
  assert_int_equal(parse_value("expiry", "store-clock"), 0);
  assert_int_equal(o.elector.expiry, S3LECT_EXPIRY_STORE_CLOCK);
}

/* A store, and words behind it. */
#define FORMS                                                                                      \
  "s3://BUCKET/KEY, az://ACCOUNT/CONTAINER/KEY, gs://BUCKET/KEY or file:///DIRECTORY/NAME"
#define GOOD "--store s3://bucket/path/to/lock.json"

static void each_problem_gets_its_line(void** state) {
  static const struct {
    cli_command_t command;
    const char* words; /* with one blank between */
    const char* says;
  } bad[] = {
      {CLI_ELECT, "", "--store is missing: name the lockfile, " FORMS},
      {CLI_ELECT, "--store", "--store needs a value: --store s3://BUCKET/KEY"},
      {CLI_ELECT, "--store --id a", "--store needs a value: --store s3://BUCKET/KEY"},
      {CLI_ELECT, "--store=", "--store is empty: give it a value, --store s3://BUCKET/KEY"},
      {CLI_ELECT, "--store bucket/key", "--store bucket/key is no store: write " FORMS},
      {CLI_ELECT, "--store file:/lock.json", "--store file:/lock.json is no store: write " FORMS},
      {CLI_ELECT, "--store file://dir/lock.json",
       "--store file://dir/lock.json is no absolute path: write file:///DIRECTORY/NAME"},
      {CLI_ELECT, "--store file:///dir/",
       "--store file:///dir/ names no file: add the lockfile's name, file:///dir/leader.json"},
      {CLI_ELECT, "--store file:///dir/x --virtual-host",
       "--virtual-host is for stores that speak S3: with --store file:///dir/x leave it away"},
      {CLI_ELECT, "--store file:///dir/x --header X-A:b",
       "--header is for stores that speak S3: with --store file:///dir/x leave it away"},
      {CLI_ELECT, "--store az://acct/locks/k --region x",
       "--region is for stores that speak S3: with --store az://acct/locks/k leave it away"},
      {CLI_ELECT, "--store gs://locks/k --path-style",
       "--path-style is for stores that speak S3: with --store gs://locks/k leave it away"},
      {CLI_ELECT, "--store gs://locks",
       "--store gs://locks names no key: add the lockfile's, gs://locks/leader.json"},
      {CLI_ELECT, "--store gs:///k", "--store gs:///k names no bucket: write gs://BUCKET/KEY"},
      {CLI_ELECT, "--store az://acct/locks",
       "--store az://acct/locks names no key: add the lockfile's, az://acct/locks/leader.json"},
      {CLI_ELECT, "--store az://acct",
       "--store az://acct names no container: write az://ACCOUNT/CONTAINER/KEY"},
      {CLI_ELECT, GOOD " -store x", "unknown option -store: did you mean --store?"},
      {CLI_ELECT, "--store s3:///key", "--store s3:///key names no bucket: write s3://BUCKET/KEY"},
      {CLI_ELECT, "--store s3://", "--store s3:// names no bucket: write s3://BUCKET/KEY"},
      {CLI_STATUS, "--store s3://bucket",
       "--store s3://bucket names no key: add the lockfile's, s3://bucket/leader.json"},
      {CLI_STATUS, "--store s3://bucket/",
       "--store s3://bucket/ names no key: add the lockfile's, s3://bucket/leader.json"},
      {CLI_ELECT, GOOD " --leader-timout 5s",
       "unknown option --leader-timout: did you mean --leader-timeout?"},
      {CLI_ELECT, GOOD " --freq=5s", "unknown option --freq: did you mean --frequent?"},
      {CLI_ELECT, GOOD " --xyzzy", "unknown option --xyzzy: s3lect elect --help lists them"},
      {CLI_ELECT, GOOD " -i x", "unknown option -i: did you mean --id?"},
      {CLI_RUN, GOOD " --json", "--json is no option of this command: it belongs to s3lect elect"},
      {CLI_LIST, GOOD " --protocol epochs",
       "--protocol is no option of this command: it belongs to s3lect run"},
      {CLI_STATUS, GOOD " --kill-after 5s",
       "--kill-after is no option of this command: it belongs to s3lect run"},
      {CLI_STATUS, GOOD " --json=yes", "--json takes no value: leave =yes away"},
      {CLI_ELECT, GOOD " --renew 5", "--renew 5 has no unit: write 5s or 5ms"},
      {CLI_ELECT, GOOD " --renew soon",
       "--renew soon is no length of time: write 500ms, 5s, 2m or 1h"},
      {CLI_ELECT, GOOD " --renew", "--renew needs a value: --renew DUR"},
      {CLI_ELECT, GOOD " --id ", "--id is empty: give it a value, --id ID"},
      {CLI_ELECT, GOOD " --addr 10.0.0.1",
       "--addr 10.0.0.1 is no address: write HOST:PORT, such as 10.0.1.42:8443"},
      {CLI_ELECT, GOOD " --addr host:0",
       "--addr host:0 is no address: write HOST:PORT, such as 10.0.1.42:8443"},
      {CLI_ELECT, GOOD " --addr host:65536",
       "--addr host:65536 is no address: write HOST:PORT, such as 10.0.1.42:8443"},
      {CLI_ELECT, GOOD " --addr fe80::1:80",
       "--addr fe80::1:80 is no address: write HOST:PORT, such as 10.0.1.42:8443"},
      {CLI_ELECT, GOOD " --addr https://host:80",
       "--addr https://host:80 is no address: write HOST:PORT, such as 10.0.1.42:8443"},
      {CLI_ELECT, GOOD " server", "unexpected argument server: s3lect elect takes options only"},
      {CLI_STATUS, GOOD " -- server",
       "unexpected argument server: s3lect status takes options only"},
      {CLI_RUN, GOOD,
       "no command to run: add it after --, as in: s3lect run --store s3://BUCKET/KEY -- COMMAND "
       "ARG"},
      {CLI_RUN, GOOD " --",
       "no command to run: add it after --, as in: s3lect run --store s3://BUCKET/KEY -- COMMAND "
       "ARG"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[256];
    const char* words[9] = {NULL};
    snprintf(text, sizeof text, "%s", bad[i].words);
    char* rest = text[0] != '\0' ? text : NULL;
    for (size_t n = 0; n < 8 && rest != NULL; n++)
      words[n] = strsep(&rest, " ");
    assert_int_equal(parse(bad[i].command, words), S3LECT_EOPTION);
    assert_string_equal(error.text, bad[i].says);
    assert_null(strchr(error.text, '\n'));
  }
}

static void too_long_values(void** state) {
  char id[400], store[500];
  memset(id, 'i', sizeof id);
  id[S3LECT_ID_SIZE] = '\0';
  const char* words[] = {STORE, "--id", id, NULL};
  assert_int_equal(parse(CLI_ELECT, words), S3LECT_EOPTION);
  assert_non_null(strstr(error.text, "is too long: at most 255 bytes"));
  id[S3LECT_ID_SIZE - 1] = '\0';
  assert_int_equal(parse(CLI_ELECT, words), 0);
  snprintf(store, sizeof store, "s3://%.255sx/key", id);
  const char* bucket[] = {"--store", store, NULL};
  assert_int_equal(parse(CLI_ELECT, bucket), S3LECT_EOPTION);
  assert_non_null(strstr(error.text, "names too long a bucket"));
  static char path[CLI_DIRECTORY_SIZE + 32];
  static char* argv[] = {path};
  memset(path, 'd', sizeof path - 1);
  memcpy(path, "--store=file:///", 16);
  memcpy(path + 16 + CLI_DIRECTORY_SIZE - 2, "/x", 3);
  assert_int_equal(cli_options_parse(&o, CLI_ELECT, 1, argv, &error), 0);
  assert_int_equal(strlen(o.directory), CLI_DIRECTORY_SIZE - 1);
  memcpy(path + 16 + CLI_DIRECTORY_SIZE - 2, "d/x", 4);
  assert_int_equal(cli_options_parse(&o, CLI_ELECT, 1, argv, &error), S3LECT_EOPTION);
  assert_non_null(strstr(error.text, "is too long: a path has at most 4095 bytes"));
}

static void addresses(void** state) {
  static const char* const good[] = {"host:1", "10.0.1.42:65535", "[fe80::1]:8443", "a.b.c:443"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    const char* words[] = {STORE, "--addr", good[i], NULL};
    assert_int_equal(parse(CLI_ELECT, words), 0);
  }
}

static void names_of_commands(void** state) {
  const char* hint;
  assert_int_equal(cli_command_find("elect", &hint), CLI_ELECT);
  assert_int_equal(cli_command_find("run", &hint), CLI_RUN);
  assert_int_equal(cli_command_find("status", &hint), CLI_STATUS);
  assert_int_equal(cli_command_find("statsu", &hint), 0);
  assert_string_equal(hint, "status");
  assert_int_equal(cli_command_find("elections", &hint), 0);
  assert_int_equal(cli_command_find("frobnicate", &hint), 0);
  assert_null(hint);
}

/* Whatever the options: the bound lies before validity, and a renewal that comes in at its slowest
 * still comes before the SIGTERM. */
static void fit_kill_times(int32_t protocol, unsigned requests) {
  for (uint32_t t = 2000; t <= 120000; t += 500) {
    o = (cli_options_t){.elector = {.size = sizeof o.elector,
                                    .lockfile_path = "k",
                                    .server_id = "a",
                                    .protocol = protocol,
                                    .leader_timeout_ms = t}};
    cli_kill_times_t times;
    s3lect_elector_options_t timing;
    assert_int_equal(cli_timing(&o, &timing, NULL), 0);
    assert_int_equal(cli_kill_times(&o, &times, &error), 0);
    assert_true(times.margin_ms >= 100 && times.grace_ms <= 5000);
    assert_true(times.grace_ms > 0);
    assert_true(timing.renew_interval_ms + requests * timing.request_timeout_ms + times.grace_ms +
                    times.margin_ms <=
                t * 99ull / 100);
  }
}

static void kill_times(void** state) {
  fit_kill_times(S3LECT_PROTOCOL_LOCKFILE, 1);
  fit_kill_times(S3LECT_PROTOCOL_EPOCHS, 2);
  o = (cli_options_t){.elector = {.size = sizeof o.elector,
                                  .lockfile_path = "k",
                                  .server_id = "a",
                                  .leader_timeout_ms = 15000},
                      .kill_after_ms = 6000};
  cli_kill_times_t times;
  assert_int_equal(cli_kill_times(&o, &times, &error), 0);
  assert_int_equal(times.grace_ms, 6000);
  assert_int_equal(times.margin_ms, 750);
  o.kill_after_ms = 6101;
  assert_int_equal(cli_kill_times(&o, &times, &error), S3LECT_ETIMING);
  assert_string_equal(error.text,
                      "--kill-after 6101ms does not fit: with --leader-timeout 15000ms, --renew "
                      "5000ms and --request-timeout 3000ms it may be 6100ms at most; raise "
                      "--leader-timeout");
  o.elector.protocol = S3LECT_PROTOCOL_EPOCHS;
  o.kill_after_ms = 3101;
  assert_int_equal(cli_kill_times(&o, &times, &error), S3LECT_ETIMING);
  assert_non_null(strstr(error.text, "twice --request-timeout 3000ms it may be 3100ms at most"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_options),
      cmocka_unit_test(files),
      cmocka_unit_test(prefixes),
      cmocka_unit_test(options_that_are_given_again),
      cmocka_unit_test(defaults),
      cmocka_unit_test(the_last_of_two_counts),
      cmocka_unit_test(defaults_are_the_librarys),
      cmocka_unit_test(commands_of_run),
      cmocka_unit_test(help_comes_before_all_checks),
      cmocka_unit_test(jobs),
      cmocka_unit_test(attempts_read_within_a_hold),
      cmocka_unit_test(numbers),
      cmocka_unit_test(choices),
      cmocka_unit_test(each_problem_gets_its_line),
      cmocka_unit_test(too_long_values),
      cmocka_unit_test(addresses),
      cmocka_unit_test(names_of_commands),
      cmocka_unit_test(kill_times),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
