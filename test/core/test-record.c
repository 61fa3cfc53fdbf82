#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "lib/test.h"
#include "s3lect/errno.h"

static int parse(const char* body, s3lect_record_t* r) {
  return s3l_record_parse(s3l_span_cstr(body), r);
}

static void test_reads_what_go_writes(void** state) {
  s3lect_record_t r;
  /* local offset, nine fraction digits; then without address; then released, the ID kept */
  assert_int_equal(parse("{\"leaderID\":\"server-001\",\"leaderAddr\":\"10.0.1.42:8443\","
                         "\"lastUpdated\":\"2024-10-27T12:30:45.123456789+02:00\"}",
                         &r),
                   0);
  assert_string_equal(r.leader_id, "server-001");
  assert_string_equal(r.leader_addr, "10.0.1.42:8443");
  assert_int_equal(r.last_updated_ms, INT64_C(1730025045123));
  assert_int_equal(r.epoch, 0);
  assert_int_equal(r.released, 0);
  assert_string_equal(r.incarnation, "");
  assert_int_equal(
      parse("{\"leaderID\":\"a\\u003cb\",\"lastUpdated\":\"2024-10-27T10:30:45Z\"}", &r), 0);
  assert_string_equal(r.leader_id, "a<b");
  assert_int_equal(parse("{\"leaderID\":\"s\",\"lastUpdated\":\"0001-01-01T00:00:00Z\"}\n", &r), 0);
  assert_int_equal(r.released, 1);
  assert_string_equal(r.leader_id, "s");
}

static void test_keys_in_any_order_and_case(void** state) {
  s3lect_record_t r;
  assert_int_equal(parse(" {\"unknown\":{\"a\":[1,2,{}]},\"EPOCH\":9,\"LASTUPDATED\":"
                         "\"2024-10-27T10:30:45Z\",\"leaderid\":\"x\",\"n\":null} ",
                         &r),
                   0);
  assert_string_equal(r.leader_id, "x");
  assert_int_equal(r.epoch, 9);
}

static void test_refuses_what_is_no_record(void** state) {
  static const char* const bad[] = {
      "",
      " ",
      "null",
      "[]",
      "\"x\"",
      "{}",
      "{",
      "<html><body>502 Bad Gateway</body></html>",
      "{\"leaderID\":\"a\"}",                                         /* no time */
      "{\"lastUpdated\":\"2024-10-27T10:30:45Z\"}",                   /* no leader */
      "{\"leaderID\":\"\",\"lastUpdated\":\"2024-10-27T10:30:45Z\"}", /* no leader */
      "{\"leaderID\":7,\"lastUpdated\":\"2024-10-27T10:30:45Z\"}",    /* wrong type */
      "{\"leaderID\":\"a\",\"lastUpdated\":1730025045}",              /* wrong type */
      "{\"leaderID\":\"a\",\"lastUpdated\":\"yesterday\"}",
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\"",    /* truncated */
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\"}{}", /* more behind it */
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"epoch\":-1}",
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"epoch\":1.5}",
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"epoch\":\"7\"}",
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"epoch\":"
      "18446744073709551615}",
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"incarnation\":\"short\"}",
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"leaderTimeoutMs\":"
      "99999999999}",
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    s3lect_record_t r;
    memset(&r, 1, sizeof r);
    if (parse(bad[i], &r) != S3LECT_ERECORD)
      fail_msg("accepted: %s", bad[i]);
    assert_string_equal(r.leader_id, "");
    assert_int_equal(r.epoch, 0);
  }
}

static void test_refuses_oversize(void** state) {
  size_t n = S3L_RECORD_BODY_MAX + 1;
  char* body = malloc(n);
  s3lect_record_t r;
  memset(body, ' ', n);
  assert_int_equal(s3l_record_parse((s3l_span_t){body, n}, &r), S3LECT_ETOOBIG);
  free(body);
  char id[S3LECT_ID_SIZE + 200];
  memset(id, 'x', S3LECT_ID_SIZE);
  snprintf(id + S3LECT_ID_SIZE, sizeof id - S3LECT_ID_SIZE, "\"");
  char text[1024];
  snprintf(text, sizeof text, "{\"leaderID\":\"%s,\"lastUpdated\":\"2024-10-27T10:30:45Z\"}", id);
  assert_int_equal(parse(text, &r), S3LECT_ERECORD);
}

static s3lect_record_t example(void) {
  s3lect_record_t r;
  memset(&r, 0, sizeof r);
  snprintf(r.leader_id, sizeof r.leader_id, "server-001 <\"\\\xc3\xa9>");
  snprintf(r.leader_addr, sizeof r.leader_addr, "10.0.1.42:8443");
  snprintf(r.incarnation, sizeof r.incarnation, "0123456789abcdef0123456789abcdef");
  r.last_updated_ms = INT64_C(1730025045123);
  r.epoch = UINT64_C(1730025045123);
  r.write = 17;
  r.leader_timeout_ms = 15000;
  r.renew_interval_ms = 5000;
  r.acquired_ms = INT64_C(1730023920000);
  r.transitions = 4;
  return r;
}

static void test_round_trip(void** state) {
  char body[1024];
  s3lect_record_t in = example();
  s3lect_record_t out;
  size_t n = s3l_record_encode(&in, body, sizeof body);
  assert_true(n > 0 && n <= s3l_record_encode_max(in.leader_id, in.leader_addr, in.successor));
  assert_int_equal(s3l_record_parse((s3l_span_t){body, n}, &out), 0);
  assert_memory_equal(&in, &out, sizeof in);
  in.released = 1;
  in.last_updated_ms = 0;
  n = s3l_record_encode(&in, body, sizeof body);
  assert_int_equal(s3l_record_parse((s3l_span_t){body, n}, &out), 0);
  assert_memory_equal(&in, &out, sizeof in);
  snprintf(in.successor, sizeof in.successor, "server-002 \"\xc3\xa9");
  n = s3l_record_encode(&in, body, sizeof body);
  assert_int_equal(s3l_record_parse((s3l_span_t){body, n}, &out), 0);
  assert_memory_equal(&in, &out, sizeof in);
}

static void test_exact_bytes(void** state) {
  char body[1024];
  s3lect_record_t r = example();
  snprintf(r.leader_id, sizeof r.leader_id, "a");
  size_t n = s3l_record_encode(&r, body, sizeof body - 1);
  body[n] = '\0';
  assert_string_equal(body, "{\"leaderID\":\"a\",\"leaderAddr\":\"10.0.1.42:8443\","
                            "\"lastUpdated\":\"2024-10-27T10:30:45.123Z\",\"epoch\":1730025045123,"
                            "\"incarnation\":\"0123456789abcdef0123456789abcdef\",\"write\":17,"
                            "\"leaderTimeoutMs\":15000,\"renewIntervalMs\":5000,"
                            "\"acquired\":\"2024-10-27T10:12:00Z\",\"transitions\":4}");
  for (size_t cap = 0; cap < n; cap++) /* never half a record */
    assert_int_equal(s3l_record_encode(&r, body, cap), 0);
}

static void test_longest_fits(void** state) {
  s3lect_record_t r = example();
  s3lect_record_t out;
  memset(r.leader_id, '<', sizeof r.leader_id - 1);
  memset(r.leader_addr, '&', sizeof r.leader_addr - 1);
  r.leader_id[sizeof r.leader_id - 1] = r.leader_addr[sizeof r.leader_addr - 1] = '\0';
  memset(r.successor, '>', sizeof r.successor - 1);
  r.epoch = UINT64_MAX >> 1;
  r.write = UINT64_MAX;
  r.transitions = UINT64_MAX - 1;
  r.leader_timeout_ms = 86400000;
  r.renew_interval_ms = 2419200000;
  char body[8192];
  size_t n =
      s3l_record_encode(&r, body, s3l_record_encode_max(r.leader_id, r.leader_addr, r.successor));
  assert_true(n > 0);
  assert_int_equal(s3l_record_parse((s3l_span_t){body, n}, &out), 0);
  assert_memory_equal(&r, &out, sizeof r);
}

static void test_what_is_wrong_is_named(void** state) {
  static const struct {
    const char* body;
    const char* fault;
  } rows[] = {
      {"<html>", "its JSON"},
      {"{}", "lastUpdated"},
      {"{\"lastUpdated\":\"2024-10-27T10:30:45Z\"}", "leaderID"},
      {"{\"leaderID\":7}", "leaderID"},
      {"{\"leaderID\":\"a\",\"epoch\":9223372036854775808}", "epoch"},
      {"{\"leaderID\":\"a\",\"leaderTimeoutMs\":86400001}", "leaderTimeoutMs"},
      {"{\"leaderID\":\"a\",\"transitions\":-1}", "transitions"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_string_equal(s3l_record_fault(s3l_span_cstr(rows[i].body), false), rows[i].fault);
  assert_string_equal(s3l_record_fault(S3L_SPAN("{\"validity_ms\":86400001}"), true),
                      "validity_ms");
  assert_null(s3l_record_fault(S3L_SPAN("{\"validity_ms\":86400000}"), true));
}

/* A claim says that it counts no leadership. A record that does not say how many it counts, of the
 * Go package or of another writer, is no claim. */
static void test_claims(void** state) {
#define WHO  "{\"leaderID\":\"a\",\"epoch\":7,\"lastUpdated\":\"2024-10-27T10:30:45Z\""
#define OURS WHO ",\"incarnation\":\"0123456789abcdef0123456789abcdef\""
  s3lect_record_t r;
  assert_int_equal(parse(OURS ",\"transitions\":0}", &r), 0);
  assert_int_equal(r.claim, 1);
  assert_int_equal(parse(OURS ",\"transitions\":1}", &r), 0);
  assert_int_equal(r.claim, 0);
  assert_int_equal(parse(OURS "}", &r), 0);
  assert_int_equal(r.claim, 0);
  assert_int_equal(parse(WHO ",\"transitions\":0}", &r), 0);
  assert_int_equal(r.claim, 0);
#undef OURS
#undef WHO
}

static int parse_file(const char* body, uint64_t number, s3lect_record_t* r) {
  return s3l_record_parse_file(s3l_span_cstr(body), number, r);
}

/* The value: whatever is in its place, the record stands. */
static void test_value(void** state) {
  static const char* const none[] = {"7", "null", "[\"a\"]", "\"a\\u0000b\""};
  char body[16384], text[2 * S3LECT_VALUE_SIZE];
  s3lect_record_t in = example(), out;
  memset(in.value, '\1', sizeof in.value - 1);
  size_t most = s3l_record_encode_max(in.leader_id, in.leader_addr, in.successor) +
                s3l_record_value_max(in.value);
  size_t n = s3l_record_encode(&in, body, most);
  assert_true(n > 6 * (S3LECT_VALUE_SIZE - 1) && most < S3L_RECORD_BODY_MAX);
  assert_int_equal(s3l_record_parse((s3l_span_t){body, n}, &out), 0);
  assert_memory_equal(&in, &out, sizeof in);
  memset(text, 'v', S3LECT_VALUE_SIZE);
  text[S3LECT_VALUE_SIZE] = '\0';
  snprintf(body, sizeof body, "{\"leaderID\":\"a\",\"lastUpdated\":\"%s\",\"value\":\"%s\"}",
           "2024-10-27T10:30:45Z", text);
  assert_int_equal(parse(body, &out), 0);
  assert_string_equal(out.leader_id, "a");
  assert_string_equal(out.value, "");
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    snprintf(body, sizeof body, "{\"leaderID\":\"a\",\"lastUpdated\":\"%s\",\"value\":%s}",
             "2024-10-27T10:30:45Z", none[i]);
    assert_int_equal(parse(body, &out), 0);
    assert_string_equal(out.value, "");
  }
  /* A release publishes nothing, and neither does a claim. */
  snprintf(body, sizeof body, "{\"leaderID\":\"a\",\"lastUpdated\":\"%s\",\"value\":\"v\"}",
           S3L_RECORD_RELEASED);
  assert_int_equal(parse(body, &out), 0);
  assert_string_equal(out.value, "");
  in = example();
  in.transitions = 0;
  snprintf(in.value, sizeof in.value, "v");
  n = s3l_record_encode(&in, body, sizeof body);
  assert_int_equal(s3l_record_parse((s3l_span_t){body, n}, &out), 0);
  assert_true(out.claim);
  assert_string_equal(out.value, "");
}

/* That of a file which somebody copied to another number belongs to the epoch of the original. */
static void test_value_of_files(void** state) {
  char body[4096];
  s3lect_record_t in = example(), out;
  in.epoch = 7;
  snprintf(in.value, sizeof in.value, "primary \"\xc3\xa9\"");
  size_t n = s3l_record_encode_file(&in, body, sizeof body);
  assert_int_equal(s3l_record_parse_file((s3l_span_t){body, n}, 7, &out), 0);
  assert_string_equal(out.value, in.value);
  assert_int_equal(s3l_record_parse_file((s3l_span_t){body, n}, 8, &out), 0);
  assert_string_equal(out.value, "");
  in.released = 1;
  n = s3l_record_encode_file(&in, body, sizeof body);
  assert_int_equal(s3l_record_parse_file((s3l_span_t){body, n}, 7, &out), 0);
  assert_string_equal(out.value, "");
}

static void test_files_of_others(void** state) {
  s3lect_record_t r;
  assert_int_equal(parse_file("{\"validity_ms\":60000,\"expired\":false}", 7, &r), 0);
  assert_int_equal(r.epoch, 7);
  assert_int_equal(r.leader_timeout_ms, 60000);
  assert_int_equal(r.released, 0);
  assert_string_equal(r.leader_id, "");
  assert_string_equal(r.incarnation, "");
  assert_int_equal(parse_file(" {\"expired\": true, \"validity_ms\": 5} ", 8, &r), 0);
  assert_int_equal(r.released, 1);
  assert_int_equal(parse_file("{\"expired\":false}", 8, &r), 0); /* as in the write-up */
  assert_int_equal(r.released, 0);
  assert_int_equal(r.leader_timeout_ms, 0); /* the reader's own counts */
  assert_int_equal(parse_file("{\"expired\":true}", 8, &r), 0);
  assert_int_equal(r.released, 1);
  assert_int_equal(parse_file("{\"validity_ms\":1,\"leader\":{\"x\":1}}", 8, &r), 0);
  assert_int_equal(r.released, 0);
}

static void test_files_that_are_none(void** state) {
  static const char* const bad[] = {
      "",
      "{}",
      "[]",
      "{\"validity_ms\":60000",
      "{\"expired\":null}",
      "{\"expired\":false,\"validity_ms\":\"1\"}",
      "{\"validity_ms\":\"60000\"}",
      "{\"validity_ms\":-1}",
      "{\"validity_ms\":1.5}",
      "{\"validity_ms\":86400001}", /* over a day */
      "{\"validity_ms\":null}",
      "{\"validity_ms\":60000,\"expired\":1}",
      "{\"validity_ms\":60000,\"expired\":\"false\"}",
      "{\"validity_ms\":60000,\"incarnation\":\"xyz\"}",
      "{\"leaderID\":\"a\",\"lastUpdated\":\"2024-10-27T10:30:45Z\"}", /* a lockfile's */
  };
  s3lect_record_t r;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (parse_file(bad[i], 1, &r) != S3LECT_ERECORD)
      fail_msg("taken for an epoch file: %s", bad[i]);
}

static s3lect_record_t some_file(void) {
  s3lect_record_t r;
  memset(&r, 0, sizeof r);
  memcpy(r.leader_id, "a", 2);
  r.last_updated_ms = INT64_C(1730025045000);
  r.epoch = 7;
  memset(r.incarnation, 'c', S3LECT_INCARNATION_SIZE - 1);
  r.write = 3;
  r.leader_timeout_ms = 15000;
  r.renew_interval_ms = 5000;
  r.acquired_ms = INT64_C(1730025045000);
  r.transitions = 2;
  return r;
}

static void test_files_round_trip(void** state) {
  char body[1024];
  s3lect_record_t in = some_file(), out;
  size_t n = s3l_record_encode_file(&in, body, sizeof body);
  assert_true(n > 0 && n <= s3l_record_encode_max("a", "", "") + S3L_RECORD_FILE_MORE);
  assert_memory_equal(body, "{\"validity_ms\":15000,\"expired\":false,\"leaderID\":\"a\",", 52);
  assert_int_equal(s3l_record_parse_file((s3l_span_t){body, n}, 7, &out), 0);
  assert_memory_equal(&in, &out, sizeof in);
  assert_int_equal(s3l_record_encode_file(&in, body, 40), 0);

  in.released = 1;
  in.last_updated_ms = 0;
  n = s3l_record_encode_file(&in, body, sizeof body);
  assert_int_equal(s3l_record_parse_file((s3l_span_t){body, n}, 7, &out), 0);
  assert_memory_equal(&in, &out, sizeof in);
}

/* The number in the key is the epoch. A file that was copied to another belongs to nobody. */
static void test_copied_files(void** state) {
  char body[1024];
  s3lect_record_t in = some_file(), out;
  size_t n = s3l_record_encode_file(&in, body, sizeof body);
  assert_int_equal(s3l_record_parse_file((s3l_span_t){body, n}, 8, &out), 0);
  assert_int_equal(out.epoch, 8);
  assert_string_equal(out.incarnation, "");
  assert_string_equal(out.leader_id, "a");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reads_what_go_writes),
      cmocka_unit_test(test_keys_in_any_order_and_case),
      cmocka_unit_test(test_refuses_what_is_no_record),
      cmocka_unit_test(test_refuses_oversize),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_exact_bytes),
      cmocka_unit_test(test_longest_fits),
      cmocka_unit_test(test_what_is_wrong_is_named),
      cmocka_unit_test(test_claims),
      cmocka_unit_test(test_value),
      cmocka_unit_test(test_value_of_files),
      cmocka_unit_test(test_files_of_others),
      cmocka_unit_test(test_files_that_are_none),
      cmocka_unit_test(test_files_round_trip),
      cmocka_unit_test(test_copied_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
