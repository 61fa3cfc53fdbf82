/* What elect, watch, status and list print on a terminal, and that nothing which stands in a bucket
 * can drive it; and `s3lect list`, on a terminal or not.
 *
 * ctest labels: no-valgrind. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/protocol.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

static const char* const colored[] = {"TERM=xterm", "NO_COLOR=", NULL};
static const char* const plain[] = {"TERM=xterm", "NO_COLOR=1", NULL};
static const char* const dumb[] = {"TERM=dumb", "NO_COLOR=", NULL};

#define RELEASED                                                                                   \
  "{\"leaderID\":\"x\",\"leaderAddr\":\"\",\"lastUpdated\":\"0001-01-01T00:00:00Z\","              \
  "\"epoch\":1000,\"expired\":true,\"validity_ms\":1000}"
#define LED(id)                                                                                    \
  "{\"leaderID\":\"" id "\",\"leaderAddr\":\"10.0.0.1:80\","                                       \
  "\"lastUpdated\":\"2024-01-01T00:00:00Z\",\"epoch\":1000,\"leaderTimeoutMs\":3600000,"           \
  "\"validity_ms\":3600000}"
/* Clears the screen in three ways, rings, and turns the direction of writing. */
#define HOSTILE    "a\\u001b[2J\\u009b2J\\u001bc\\u0007\\r\\u202eb"
#define WHAT_SHOWS "a?[2J??2J?c???b"

static void put_at(const char* key, const char* body) {
  char before[sizeof s3.store];
  memcpy(before, s3.store, sizeof before);
  snprintf(s3.store, sizeof s3.store, "s3://test/%s", key);
  s3proc_put(&s3, body);
  memcpy(s3.store, before, sizeof before);
}

/* list or watch at the prefix of all these keys. */
static proc_t* at_prefix(const char* command, const char* prefix, const char* more) {
  char program[512], store[128];
  snprintf(program, sizeof program, "%s/src/s3lect", s3.build_dir);
  snprintf(store, sizeof store, "s3://test/%s", prefix);
  const char* env[8] = {"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest"};
  for (size_t i = 0; s3.env != NULL && s3.env[i] != NULL; i++)
    env[2 + i] = s3.env[i];
  const char* argv[] = {program, command, "--store", store, "--endpoint", s3.url, more, NULL};
  return proc_spawn(&s3.procs, argv, env);
}

static proc_t* on_terminal(const char* const* env, const char* command, const char* id,
                           const char* const* more) {
  s3.env = env;
  s3.procs.terminal = true;
  proc_t* proc = s3proc_s3lect(&s3, command, id, more);
  s3.procs.terminal = false;
  return proc;
}

/* No byte of the output drives a terminal. JSON may turn the direction of writing. */
static void assert_harmless(proc_t* proc, bool turns) {
  proc_rewind(proc, PROC_OUT);
  for (const char* line; (line = proc_try_line(proc, PROC_OUT, "", true)) != NULL;)
    for (const unsigned char* p = (const unsigned char*)line; *p != '\0'; p++) {
      assert_true(*p >= 0x20 && *p != 0x7f);
      assert_false(p[0] == 0xc2 && p[1] < 0xa0);
      assert_true(turns || p[0] != 0xe2 || p[1] != 0x80 || p[2] != 0xae);
    }
}

static void elect_prints_lines(void** state) {
  proc_t* a = on_terminal(plain, "elect", "a", (const char*[]){"--addr", "10.0.0.1:80", NULL});
  proc_line(a, PROC_OUT, "  leader    a (10.0.0.1:80), epoch 1001");
  proc_line(a, PROC_OUT, "  leading   epoch 1001, valid for ");
  proc_line(a, PROC_OUT, "  renewed   epoch 1001, valid for ");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  proc_line(a, PROC_OUT, "  stopped   epoch 1001: closed");
  assert_harmless(a, false);
}

static void colours_by_the_rules(void** state) {
  proc_t* a = on_terminal(colored, "elect", "a", NULL);
  proc_line(a, PROC_OUT, "\x1b[32mleading  \x1b[0m epoch 1001");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  proc_t* b = on_terminal(dumb, "elect", "b", NULL);
  proc_line(b, PROC_OUT, "  leading   epoch 1002");
  assert_int_equal(proc_end(b, SIGTERM), 0);
  assert_harmless(b, false);
  proc_t* status = on_terminal(colored, "status", NULL, NULL);
  proc_line(status, PROC_OUT, "\x1b[33mno leader\x1b[0m: b released the ");
  assert_int_equal(proc_wait(status), 3);
}

static void json_where_it_is_asked_for(void** state) {
  proc_t* a = on_terminal(colored, "elect", "a", (const char*[]){"--json", NULL});
  proc_line(a, PROC_OUT, "{\"event\":\"started_leading\",\"id\":\"a\",\"epoch\":1001,");
  proc_t* w = on_terminal(colored, "watch", NULL, (const char*[]){"--json", NULL});
  proc_line(w, PROC_OUT, "{\"event\":\"new_leader\",\"leader\":\"a\",");
  assert_int_equal(proc_end(w, SIGTERM), 0);
  assert_harmless(w, false);
  assert_int_equal(proc_end(a, SIGTERM), 0);
  assert_harmless(a, false);
}

static void watch_keeps_a_view(void** state) {
  proc_t* w = on_terminal(plain, "watch", NULL, NULL);
  proc_line(w, PROC_OUT, "  no leader the last epoch is 1000");
  proc_line(w, PROC_OUT, "lock.json");
  proc_t* a = s3proc_s3lect(&s3, "elect", "a", (const char*[]){"--addr", "10.0.0.1:80", NULL});
  proc_line(w, PROC_OUT, "  leader    a (10.0.0.1:80), epoch 1001");
  proc_line(w, PROC_OUT, "lock.json  led    a (10.0.0.1:80)  1001   ");
  const char* row = proc_line(w, PROC_OUT, "lock.json  led    a (10.0.0.1:80)  1001   ");
  assert_non_null(strstr(row, "[#"));
  /* A frame takes the place of the one before it. */
  proc_line(w, PROC_OUT, "\x1b[2A\r\x1b[J");
  proc_signal(a, SIGKILL);
  proc_wait(a);
  proc_line(w, PROC_OUT, "  no leader the last epoch is 1001");
  proc_line(w, PROC_OUT, "[....................]");
  assert_int_equal(proc_end(w, SIGTERM), 0);
}

static void nothing_drives_the_terminal(void** state) {
  static const char* const commands[] = {"elect", "watch", "status"};
  s3proc_put(&s3, LED(HOSTILE));
  for (size_t i = 0; i < 3; i++)
    for (int json = 0; json <= 1; json++) {
      proc_t* p = on_terminal(dumb, commands[i], i == 0 ? "b" : NULL,
                              (const char*[]){json ? "--json" : NULL, NULL});
      proc_line(p, PROC_OUT, json ? "2J" : WHAT_SHOWS);
      (void)(i == 2 ? proc_wait(p) : proc_end(p, SIGTERM));
      assert_harmless(p, json);
      proc_forget(p);
    }
  static const char* const lists[] = {"list", "watch"};
  put_at("locks/\x1b[2Jx\xc2\x9b", LED(HOSTILE));
  for (size_t i = 0; i < 2; i++) {
    s3.env = dumb;
    s3.procs.terminal = true;
    proc_t* p = at_prefix(lists[i], "locks/", NULL);
    s3.procs.terminal = false;
    proc_line(p, PROC_OUT, "locks/?[2Jx??");
    (void)(i == 0 ? proc_wait(p) : proc_end(p, SIGTERM));
    assert_harmless(p, false);
  }
}

static void lists_elections(void** state) {
  static const char* const keys[] = {"locks/an-election-with-a-long-name.json",
                                     "locks/b/lock-000000042.json"}; /* a digit less */
  put_at(keys[0], LED("one"));
  put_at(keys[1], LED("two"));
  put_at("locks/none/a-longer-name.txt", "no record");
  put_at("locks/c.verify-1", LED("three"));
  put_at("other/d", LED("four"));
  proc_t* p = at_prefix("list", "locks/", NULL);
  static const char* const leaders[] = {"one", "two"};
  for (size_t i = 0; i < 2; i++) {
    const char* line = proc_line(p, PROC_OUT, "");
    assert_string_equal(proc_json_string(line, "election"), keys[i]);
    assert_string_equal(proc_json_string(line, "protocol"),
                        s3l_test_epochs() ? "epochs" : "lockfile");
    assert_string_equal(proc_json_string(line, "state"), "led");
    assert_string_equal(proc_json_string(line, "leader"), leaders[i]);
    assert_string_equal(proc_json_string(line, "address"), "10.0.0.1:80");
    assert_int_equal(proc_json_i64(line, "epoch"), 1000);
    assert_int_equal(proc_json_i64(line, "leader_timeout_ms"), 3600000);
  }
  assert_int_equal(proc_wait(p), 0);
  assert_null(proc_try_line(p, PROC_OUT, "", true));
  proc_line(p, PROC_ERR, "1 objects under s3://test/locks/ hold no record of a leader");
}

static void list_says_where_nobody_leads(void** state) {
  proc_t* p = at_prefix("list", "locks/", NULL);
  assert_int_equal(proc_wait(p), 3);
  proc_line(p, PROC_ERR, "no election under s3://test/locks/");
  put_at("locks/a/", LED("one"));
  put_at("locks/b/", RELEASED);
  s3.env = colored;
  s3.procs.terminal = true;
  p = at_prefix("list", "locks/", NULL);
  s3.procs.terminal = false;
  proc_line(p, PROC_OUT, "election  state     leader             epoch  age");
  proc_line(p, PROC_OUT, "locks/a/  \x1b[32mled       \x1b[0mone (10.0.0.1:80)  1000   ");
  proc_line(p, PROC_OUT, "locks/b/  \x1b[33mreleased  \x1b[0mx                  1000   ");
  assert_int_equal(proc_wait(p), 3);
  proc_signal(s3.fake, SIGKILL);
  proc_wait(s3.fake);
  p = at_prefix("list", "locks/", NULL);
  assert_int_equal(proc_wait(p), 1);
  proc_line(p, PROC_ERR, "s3lect list: cannot read s3://test/locks/: ");
}

static void watches_a_prefix(void** state) {
  put_at("locks/a/", LED("one"));
  put_at("locks/b/", RELEASED);
  proc_t* w = at_prefix("watch", "locks/", "--infrequent=100ms");
  const char* line = proc_line(w, PROC_OUT, "\"election\":\"locks/a/\"");
  assert_string_equal(proc_json_string(line, "event"), "new_leader");
  assert_string_equal(proc_json_string(line, "leader"), "one");
  line = proc_line(w, PROC_OUT, "\"election\":\"locks/b/\"");
  assert_string_equal(proc_json_string(line, "event"), "no_leader");
  put_at("locks/b/", LED("two"));
  line = proc_line(w, PROC_OUT, "\"election\":\"locks/b/\"");
  assert_string_equal(proc_json_string(line, "event"), "new_leader");
  put_at("locks/a/", RELEASED);
  line = proc_line(w, PROC_OUT, "\"election\":\"locks/a/\"");
  assert_string_equal(proc_json_string(line, "event"), "no_leader");
  assert_int_equal(proc_end(w, SIGTERM), 0);
}

static void views_a_prefix(void** state) {
  put_at("locks/a/", LED("one"));
  s3.env = plain;
  s3.procs.terminal = true;
  proc_t* w = at_prefix("watch", "locks/", "--infrequent=100ms");
  s3.procs.terminal = false;
  proc_line(w, PROC_OUT, "  leader    locks/a/: one (10.0.0.1:80), epoch 1000");
  proc_line(w, PROC_OUT, "locks/a/  led    one (10.0.0.1:80)  1000   ");
  put_at("locks/b/", LED("two"));
  proc_line(w, PROC_OUT, "  leader    locks/b/: two (10.0.0.1:80), epoch 1000");
  proc_line(w, PROC_OUT, "locks/a/  led    one (10.0.0.1:80)  1000   ");
  proc_line(w, PROC_OUT, "locks/b/  led    two (10.0.0.1:80)  1000   ");
  assert_int_equal(proc_end(w, SIGTERM), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define S(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
#define T(f) cmocka_unit_test_setup_teardown(f, begin_empty, end)
      S(elect_prints_lines),
      S(colours_by_the_rules),
      S(json_where_it_is_asked_for),
      S(watch_keeps_a_view),
      T(nothing_drives_the_terminal),
      T(lists_elections),
      T(list_says_where_nobody_leads),
      T(watches_a_prefix),
      T(views_a_prefix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
