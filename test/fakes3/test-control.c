/* The control path over HTTP. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"
#include "util/json.h"

static void adds_and_removes_rules(void** state) {
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/faults", "{\"status\":503}"), 200);
  assert_string_equal(rig.reply.body, "{\"id\":1}\n");
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/faults", "{\"latency_ms\":1}"), 200);
  assert_int_equal(S3L_DO(.key = "k"), 503);
  assert_int_equal(s3l_fakes3_control("DELETE", "/_fakes3/faults/1", ""), 204);
  assert_int_equal(S3L_DO(.key = "k"), 404);
  assert_string_equal(s3l_fakes3_last()->fault, "latency_ms");
  assert_int_equal(s3l_fakes3_control("DELETE", "/_fakes3/faults/1", ""), 404);
  assert_int_equal(s3l_fakes3_control("DELETE", "/_fakes3/faults/x", ""), 404);
  assert_int_equal(s3l_fakes3_control("DELETE", "/_fakes3/faults", ""), 204);
  assert_int_equal(S3L_DO(.key = "k"), 404);
  assert_null(s3l_fakes3_last()->fault);
}

/* Each with the word that the answer must name. */
static void names_what_it_does_not_understand(void** state) {
  static const struct {
    const char* rule;
    const char* named;
  } rows[] = {
      {"", "JSON"},
      {"[]", "JSON"},
      {"{\"status\":500", "JSON"},
      {"{}", "no action"},
      {"{\"count\":1}", "no action"},
      {"{\"latency\":1}", "latency"},
      {"{\"status\":500,\"stall\":true}", "stall"},
      {"{\"status\":\"500\"}", "status"},
      {"{\"status\":200}", "status"},
      {"{\"continue\":200}", "continue"},
      {"{\"latency_ms\":-1}", "latency_ms"},
      {"{\"latency_ms\":99999999999}", "latency_ms"},
      {"{\"stall\":false}", "stall"},
      {"{\"stall\":1}", "stall"},
      {"{\"stall\":true,\"code\":\"SlowDown\"}", "stall"},
      {"{\"status\":502,\"html\":\"x\",\"code\":\"y\"}", "html"},
      {"{\"status\":500,\"count\":\"1\"}", "count"},
      {"{\"status\":500,\"count\":null}", "count"},
      {"{\"status\":500,\"skip\":1.5}", "skip"},
      {"{\"status\":500,\"match\":1}", "match"},
      {"{\"status\":500,\"match\":{\"path\":\"k\"}}", "path"},
      {"{\"status\":500,\"match\":{\"method\":\"put\"}}", "method"},
      {"{\"status\":500,\"match\":{\"condition\":\"if\"}}", "condition"},
      {"{\"status\":500,\"match\":{\"header\":{\"name\":\"a\"}}}", "value"},
      {"{\"status\":500,\"match\":{\"header\":{\"name\":\"a\",\"value\":\"b\",\"is\":\"c\"}}}",
       "is"},
      {"{\"refuse\":true,\"count\":1}", "refuse"},
      {"{\"refuse_ms\":1,\"match\":{\"key\":\"k\"}}", "refuse_ms"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (s3l_fakes3_control("POST", "/_fakes3/faults", rows[i].rule) != 400 ||
        strstr(rig.reply.body, rows[i].named) == NULL)
      fail_msg("%s: %s", rows[i].rule, rig.reply.body);
  }
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/state", ""), 200);
  assert_non_null(strstr(rig.reply.body, "\"rules\":[]"));
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/nothing", ""), 404);
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/faults", ""), 404);
}

static uint64_t number(const s3l_json_t* j, int object, const char* name) {
  uint64_t value = 0;
  if (s3l_json_get_u64(j, object, name, &value) != 0)
    fail_msg("no %s in %s", name, rig.reply.body);
  return value;
}

static void gives_its_state(void** state) {
  static s3l_json_t j;
  int counters;
  s3l_fakes3_fault("{\"status\":500,\"count\":3}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "x"), 500);
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"status\":500,\"count\":3,\"match\":{\"method\":\"HEAD\"}}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "x"), 200);
  assert_int_equal(S3L_DO(.op = S3L_S3_HEAD, .key = "k"), 500);
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_int_equal(S3L_DO(.key = "k", .secret = "wrong"), 403);
  assert_int_equal(S3L_DO(.op = S3L_S3_DELETE, .key = "none"), 204);
  assert_int_equal(S3L_DO(.op = S3L_S3_LIST), 200);
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/state", ""), 200);
  assert_int_equal(s3l_json_parse(&j, s3l_span_cstr(rig.reply.body)), 0);
  assert_int_equal(number(&j, S3L_JSON_ROOT, "connections_open"), 2);
  assert_int_equal(number(&j, S3L_JSON_ROOT, "objects"), 1);
  assert_int_equal(s3l_json_get_object(&j, S3L_JSON_ROOT, "counters", &counters), 0);
  assert_int_equal(number(&j, counters, "requests"), 7);
  assert_int_equal(number(&j, counters, "put"), 2);
  assert_int_equal(number(&j, counters, "get"), 2);
  assert_int_equal(number(&j, counters, "head"), 1);
  assert_int_equal(number(&j, counters, "list"), 1);
  assert_int_equal(number(&j, counters, "delete"), 1);
  assert_int_equal(number(&j, counters, "writes"), 1);
  assert_int_equal(number(&j, counters, "effects"), 4);
  assert_int_equal(number(&j, counters, "faults"), 2);
  assert_int_equal(number(&j, counters, "unauthorized"), 1);
  assert_int_equal(number(&j, counters, "in_flight"), 0);
  assert_non_null(strstr(rig.reply.body, "\"applied\":1,\"skip_left\":0,\"count_left\":2,"));
}

static void gives_its_log(void** state) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k\"1", .if_none_match = "*", .body = "x"), 200);
  assert_int_equal(S3L_DO(.key = "none"), 404);
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/log", ""), 200);
  assert_non_null(strstr(rig.reply.body, "\"key\":\"k\\\"1\",\"if_match\":null,"
                                         "\"if_none_match\":\"*\""));
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/log?since=1", ""), 200);
  static s3l_json_t j;
  assert_int_equal(s3l_json_parse(&j, s3l_span_cstr(rig.reply.body)), 0);
  assert_null(strstr(rig.reply.body, "\"seq\":1,"));
  assert_non_null(strstr(rig.reply.body, "\"seq\":2,"));
  assert_non_null(strstr(rig.reply.body, "\"status\":404,\"code\":\"NoSuchKey\""));
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/log?since=x", ""), 400);
}

/* Entries tell the order of effects, which need not be that of arrival. */
static void logs_the_order_of_effects(void** state) {
  static s3l_raw_t slow, quick;
  s3l_fakes3_fault("{\"latency_ms\":30,\"match\":{\"method\":\"PUT\"}}");
  assert_int_equal(s3l_raw_connect(&slow), 0);
  assert_int_equal(s3l_raw_connect(&quick), 0);
  /* Both are sent before the loop runs again, so before any timer. */
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "slow");
  s3l_raw_send(&slow, rig.bytes, rig.bytes_n);
  S3L_SIGN(.key = "k");
  s3l_raw_send(&quick, rig.bytes, rig.bytes_n);
  assert_int_equal(s3l_raw_reply(&quick, false), 404);
  assert_int_equal(s3l_raw_reply(&slow, false), 200);
  const fakes3_entry_t* first = fakes3_log_after(rig.server, 0);
  const fakes3_entry_t* second = fakes3_log_after(rig.server, first->seq);
  assert_true(second->arrived_ns >= first->arrived_ns);
  assert_string_equal(first->method, "PUT");
  assert_int_equal(first->order, 2);
  assert_int_equal(second->order, 1);
  assert_true(first->effect_ns >= second->effect_ns);
  s3l_raw_close(&slow);
  s3l_raw_close(&quick);
}

static void bounds_its_log(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.log_entries = 3});
  for (int i = 0; i < 10; i++)
    assert_int_equal(S3L_DO(.key = "k"), 404);
  uint64_t seq = 0;
  int entries = 0;
  const fakes3_entry_t* e;
  while ((e = fakes3_log_after(rig.server, seq)) != NULL) {
    seq = e->seq;
    entries++;
  }
  assert_int_equal(entries, 3);
  assert_int_equal(seq, 10);
  s3l_fakes3_close();
}

static void writes_its_log(void** state) {
  static s3l_json_t j;
  char path[] = "/tmp/s3lect-log-XXXXXX";
  char line[2048];
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  s3l_fakes3_open(&(fakes3_options_t){.log_file = path});
  s3l_fakes3_fault("{\"drop_after\":true}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "x"), UV_EOF);
  s3l_fakes3_close();
  FILE* file = fdopen(fd, "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof(line), file));
  assert_int_equal(s3l_json_parse(&j, s3l_span_cstr(line)), 0);
  assert_int_equal(number(&j, S3L_JSON_ROOT, "seq"), 1);
  assert_int_equal(number(&j, S3L_JSON_ROOT, "status"), 200);
  assert_true(number(&j, S3L_JSON_ROOT, "effect_ns") >= number(&j, S3L_JSON_ROOT, "arrived_ns"));
  assert_false(s3l_json_has(&j, S3L_JSON_ROOT, "replied_ns"));
  assert_null(fgets(line, sizeof(line), file));
  fclose(file);
  unlink(path);
}

static void resets_and_sets_its_clock(void** state) {
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "x"), 200);
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/reset", ""), 204);
  assert_int_equal(S3L_DO(.key = "k"), 404);
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/clock", "{\"offset_ms\":-3600000}"), 204);
  assert_int_equal(S3L_DO(.key = "k"), 403);
  assert_int_equal(S3L_DO(.key = "k", .skew_ms = -3600000), 404);
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/clock", "{\"offset\":1}"), 400);
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/clock", "{\"offset_ms\":0,\"x\":1}"), 400);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, s3l_open_rig, s3l_close_rig)
  const struct CMUnitTest tests[] = {
      TEST(adds_and_removes_rules),
      TEST(names_what_it_does_not_understand),
      TEST(gives_its_state),
      TEST(gives_its_log),
      TEST(logs_the_order_of_effects),
      cmocka_unit_test(bounds_its_log),
      cmocka_unit_test(writes_its_log),
      TEST(resets_and_sets_its_clock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
