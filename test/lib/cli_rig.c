#include "lib/cli_rig.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/test.h"

cli_rig_t cli_rig;

int cli_rig_begin(const cli_rig_store_t* store, const char* program) {
  char why[200] = "";
  cli_rig.store = store;
  cli_rig.program = program;
  procs_begin(&cli_rig.procs);
  if (fakes3_start(&cli_rig.procs.loop, &store->fake, &cli_rig.fake, why, sizeof why) != 0)
    fail_msg("%s", why);
  return 0;
}

int cli_rig_end(void** state) {
  fakes3_stop(cli_rig.fake, NULL, NULL);
  procs_end(&cli_rig.procs);
  return 0;
}

int cli_rig_fault(const char* json) {
  char why[200] = "";
  int rule = fakes3_fault(cli_rig.fake, json, why, sizeof why);
  if (rule <= 0)
    fail_msg("%s", why);
  return rule;
}

proc_t* cli_rig_s3lect_as(const char* const* env, const char* command, const char* store,
                          const char* const* more) {
  const char* argv[24] = {cli_rig.program, command,      "--store",
                          store,           "--endpoint", fakes3_url(cli_rig.fake)};
  for (size_t n = 6; more != NULL && *more != NULL; n++)
    argv[n] = *more++;
  return proc_spawn(&cli_rig.procs, argv, env);
}

proc_t* cli_rig_s3lect(const char* command, const char* key, const char* const* more) {
  char store[128];
  snprintf(store, sizeof store, "%s%s", cli_rig.store->url, key);
  return cli_rig_s3lect_as(cli_rig.store->keys, command, store, more);
}

proc_t* cli_rig_elect(const char* id, const char* key, const char* protocol) {
  const char* more[10] = {"--id", id};
  size_t n = 2;
  if (protocol != NULL) {
    more[n++] = "--protocol";
    more[n++] = protocol;
  }
  for (const char* const* timing = cli_rig.store->timing; *timing != NULL; timing++)
    more[n++] = *timing;
  return cli_rig_s3lect("elect", key, more);
}

int64_t cli_rig_next_epoch(proc_t* p) {
  return proc_json_i64(proc_line(p, PROC_OUT, "\"event\":\"started_leading\""), "epoch");
}

void cli_rig_fails(proc_t* p, int status, const char* says) {
  proc_line(p, PROC_ERR, says);
  assert_int_equal(proc_wait(p), status);
}

static void limit(void) {
  if (cli_rig.store->limit != NULL)
    cli_rig_fault(cli_rig.store->limit);
}

/* Also under the limit, which turns away most writers of a race. */
void cli_rig_verify_says_lockfile(void** state) {
  bool quick = cli_rig.store->limit != NULL;
  limit();
  proc_t* p = cli_rig_s3lect("verify", "db", quick ? (const char*[]){"--quick", NULL} : NULL);
  for (const char* const(*row)[2] = cli_rig.store->checks; (*row)[0] != NULL; row++)
    assert_non_null(strstr(proc_line(p, PROC_OUT, (*row)[0]), (*row)[1]));
  assert_string_equal(proc_line(p, PROC_OUT, "lockfile"),
                      quick ? "lockfile  safe (6 races of writers)"
                            : "lockfile  safe (30 races of writers)");
  proc_line(p, PROC_OUT, cli_rig.store->epochs);
  proc_line(p, PROC_OUT, "use       --protocol lockfile");
  assert_int_equal(proc_wait(p), 0);
}

void cli_rig_verify_finds_lies(void** state) {
  static const char* const lies[] = {"\"ignore_conditions\":true", "\"constant_etag\":true",
                                     "\"non_atomic\":20", "\"stale_reads\":500"};
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    char json[128];
    snprintf(json, sizeof json, "{\"match\":{\"bucket\":\"%s\"},%s}", cli_rig.store->bucket,
             lies[i]);
    int rule = cli_rig_fault(json);
    proc_t* p = cli_rig_s3lect("verify", "db", NULL);
    assert_non_null(strstr(proc_line(p, PROC_OUT, "lockfile  "), "unsafe"));
    assert_int_equal(proc_wait(p), 1);
    proc_forget(p);
    assert_true(fakes3_fault_clear(cli_rig.fake, rule));
  }
}

/* With the limit, of which no elector may lose its leadership: a release comes soon after a
 * renewal, and a claim soon after the release. */
static void three_elect(const char* key, const char* protocol) {
  limit();
  proc_t* a = cli_rig_elect("a", key, protocol);
  int64_t epoch = cli_rig_next_epoch(a);
  proc_t* b = cli_rig_elect("b", key, protocol);
  proc_line(b, PROC_OUT, "\"event\":\"new_leader\"");
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  int64_t second = cli_rig_next_epoch(b); /* after the kill */
  assert_true(second > epoch);
  proc_t* c = cli_rig_elect("c", key, protocol);
  proc_line(c, PROC_OUT, "\"event\":\"new_leader\"");
  for (int i = 0; i < 3; i++)
    proc_line(b, PROC_OUT, "\"event\":\"renewed\"");
  assert_int_equal(proc_end(b, SIGTERM), 0); /* right after a renewal */
  int64_t third = cli_rig_next_epoch(c);     /* after the hand-over */
  assert_true(third > second);
  int rule = cli_rig_fault(cli_rig.store->outage);
  proc_line(c, PROC_OUT, "\"event\":\"stopped_leading\""); /* in the outage */
  assert_true(fakes3_fault_clear(cli_rig.fake, rule));
  assert_true(cli_rig_next_epoch(c) > third);
  assert_int_equal(proc_end(c, SIGTERM), 0);
}

void cli_rig_three_elect_with_a_lockfile(void** state) {
  three_elect("db", "lockfile");
}

void cli_rig_three_elect_with_epoch_files(void** state) {
  three_elect("db/", "epochs");
}

void cli_rig_lists_and_reads(void** state) {
  for (int i = 0; i < 2; i++) {
    proc_t* p =
        cli_rig_s3lect("put", i == 0 ? "x/a" : "x/b", (const char*[]){"--epoch", "7", NULL});
    assert_int_equal(proc_wait(p), 0);
  }
  assert_int_equal(proc_wait(cli_rig_s3lect("get", "x/a", NULL)), 0);
  assert_int_equal(proc_wait(cli_rig_s3lect("list", "x/", NULL)), 3);
}

void cli_rig_names_mistakes(void** state) {
  for (const cli_rig_mistake_t* row = cli_rig.store->mistakes; row->says != NULL; row++) {
    proc_t* p = cli_rig_s3lect_as(row->env, row->command, row->store, NULL);
    cli_rig_fails(p, row->status, row->says);
    proc_forget(p);
  }
}
