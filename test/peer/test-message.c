#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "lib/test.h"
#include "peer/message.h"
#include "s3lect/errno.h"
#include "s3lect/peer.h"

static s3lect_record_t sample(void) {
  s3lect_record_t r = {.last_updated_ms = INT64_C(1730025045000),
                       .epoch = 7,
                       .write = 17,
                       .leader_timeout_ms = 15000,
                       .renew_interval_ms = 5000,
                       .acquired_ms = INT64_C(1730023920000),
                       .transitions = 4};
  strcpy(r.leader_id, "server-001");
  strcpy(r.leader_addr, "10.0.1.42:8443");
  strcpy(r.incarnation, "0123456789abcdef0123456789abcdef");
  return r;
}

static int parse(const char* body, s3l_peer_answer_t* a) {
  return s3l_peer_answer_parse(s3l_span_cstr(body), a);
}

static void test_an_answer_in_bytes(void** state) {
  char buf[S3LECT_PEER_BODY_MAX];
  s3lect_record_t r = sample();
  size_t n = s3l_peer_answer_encode(&r, "\"abc\"", 9042, buf, sizeof buf);
  static const char want[] = "{\"leaderID\":\"server-001\",\"leaderAddr\":\"10.0.1.42:8443\","
                             "\"lastUpdated\":\"2024-10-27T10:30:45Z\",\"epoch\":7,"
                             "\"incarnation\":\"0123456789abcdef0123456789abcdef\",\"write\":17,"
                             "\"leaderTimeoutMs\":15000,\"renewIntervalMs\":5000,"
                             "\"acquired\":\"2024-10-27T10:12:00Z\",\"transitions\":4,"
                             "\"etag\":\"\\\"abc\\\"\",\"validForMs\":9042}";
  assert_int_equal(n, sizeof want - 1);
  assert_memory_equal(buf, want, n);
}

static void test_an_answer_comes_back_as_it_was(void** state) {
  char buf[S3LECT_PEER_BODY_MAX];
  s3l_peer_answer_t a;
  s3lect_record_t r = sample();
  size_t n = s3l_peer_answer_encode(&r, "\"abc\"", 9042, buf, sizeof buf);
  assert_int_equal(s3l_peer_answer_parse((s3l_span_t){buf, n}, &a), 0);
  assert_string_equal(a.etag, "\"abc\"");
  assert_int_equal(a.valid_for_ms, 9042);
  assert_memory_equal(&a.record, &r, sizeof r);
}

static void test_every_answer_fits(void** state) {
  char buf[S3LECT_PEER_BODY_MAX];
  char etag[S3LECT_ETAG_SIZE];
  s3l_peer_answer_t a;
  s3lect_record_t r = sample();
  memset(r.leader_id, '<', sizeof r.leader_id - 1); /* each takes six bytes in JSON */
  memset(r.leader_addr, '&', sizeof r.leader_addr - 1);
  memset(etag, '>', sizeof etag - 1);
  etag[sizeof etag - 1] = '\0';
  r.last_updated_ms = r.acquired_ms = INT64_C(253402300799999);
  r.epoch = UINT64_MAX >> 1;
  r.write = UINT64_MAX;
  r.transitions = UINT64_MAX - 1;
  r.leader_timeout_ms = 86400000;
  r.renew_interval_ms = 2419200000u;
  size_t n = s3l_peer_answer_encode(&r, etag, 2419200000u, buf, sizeof buf);
  assert_true(n > 0 && n <= S3L_PEER_ANSWER_MAX);
  assert_int_equal(s3l_peer_answer_parse((s3l_span_t){buf, n}, &a), 0);
  assert_string_equal(a.etag, etag);
  assert_int_equal(s3l_peer_answer_encode(&r, etag, 1, buf, n - 10), 0);
}

/* As a process of the Go package answers: local offset, fraction, three fields. */
static void test_reads_what_go_answers(void** state) {
  s3l_peer_answer_t a;
  assert_int_equal(parse("{\"leaderID\":\"go-1\",\"leaderAddr\":\"10.0.0.9:8443\","
                         "\"lastUpdated\":\"2024-10-27T12:30:45.123456789+02:00\"}\n",
                         &a),
                   0);
  assert_string_equal(a.record.leader_id, "go-1");
  assert_int_equal(a.record.last_updated_ms, INT64_C(1730025045123));
  assert_string_equal(a.etag, "");
  assert_int_equal(a.valid_for_ms, -1);
}

static void test_refuses_what_is_no_answer(void** state) {
  static const char time[] = "\"lastUpdated\":\"2024-10-27T10:30:45Z\"";
  static const char* const bad[] = {
      "",
      "{}",
      "null",
      "\"etag\":\"x\",\"leaderID\":\"\"",
      "\"leaderID\":\"a\",\"etag\":7",
      "\"leaderID\":\"a\",\"etag\":\"a\\r\\nX: y\"",
      "\"leaderID\":\"a\",\"etag\":\"a b\"",
      "\"leaderID\":\"a\",\"validForMs\":-1",
      "\"leaderID\":\"a\",\"validForMs\":\"9\"",
      "\"leaderID\":\"a\",\"validForMs\":1.5",
      "\"leaderID\":\"a\",\"validForMs\":2419200001",
  };
  s3l_peer_answer_t a;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char body[256];
    snprintf(body, sizeof body, "{%s%s%s}", bad[i], bad[i][0] != '\0' ? "," : "", time);
    assert_int_equal(parse(body, &a), S3LECT_ERECORD);
    assert_int_equal(a.valid_for_ms, -1);
  }
  /* who has released does not lead */
  assert_int_equal(parse("{\"leaderID\":\"a\",\"lastUpdated\":\"0001-01-01T00:00:00Z\"}", &a),
                   S3LECT_ERECORD);
  static char huge[S3L_PEER_ANSWER_MAX + 2];
  memset(huge, ' ', sizeof huge - 1);
  assert_int_equal(parse(huge, &a), S3LECT_ETOOBIG);
  memset(huge, 'e', sizeof huge - 1);
  memcpy(huge, "{\"etag\":\"", 9);
  huge[300] = '\0';
  char body[800];
  snprintf(body, sizeof body, "%.300s\",\"leaderID\":\"a\",%s}", huge, time);
  assert_int_equal(parse(body, &a), S3LECT_ERECORD); /* no ETag is that long */
}

static void test_a_request_in_bytes(void** state) {
  char buf[512];
  size_t n = s3l_peer_request_encode("h:1", "/health/leadership", 7999, NULL, buf, sizeof buf);
  buf[n] = '\0';
  assert_non_null(strstr(buf, "GET /health/leadership HTTP/1.1\r\nHost: h:1\r\n"));
  assert_non_null(strstr(buf, "\r\nPrefer: wait=7\r\n\r\n"));
  n = s3l_peer_request_encode("h:1", "/", 999, NULL, buf, sizeof buf);
  buf[n] = '\0';
  assert_null(strstr(buf, "Prefer"));
  assert_int_equal(s3l_peer_request_encode("h:1", "/", 0, NULL, buf, n - 1), 0);
}

/* ---- Candidacies ---- */

/* As one line of a header, and back. */
static void comes_back(const s3lect_record_t* r, unsigned priority) {
  char buf[S3LECT_PEER_BODY_MAX], request[S3LECT_PEER_BODY_MAX];
  s3l_peer_candidacy_t c;
  size_t n = s3l_peer_candidacy_encode(r, priority, buf, sizeof buf);
  assert_true(n > 0 && strlen(buf) == n);
  for (size_t i = 0; i < n; i++)
    assert_true((unsigned char)buf[i] >= 0x20 && buf[i] != 0x7f);
  assert_true(s3l_peer_candidacy_parse((s3l_span_t){buf, n}, &c));
  assert_memory_equal(&c.record, r, sizeof *r);
  assert_int_equal(c.priority, priority);
  assert_true(s3l_peer_request_encode("h:1", "/", 5000, buf, request, sizeof request) > 0);
  assert_non_null(strstr(request, "\r\nS3lect-Candidacy: {\"leaderID\":"));
}

static void test_a_candidacy_comes_back_as_it_was(void** state) {
  static const char* const ids[] = {
      "b", "b \"\\/ x", "\xc3\xa9\xf0\x9f\x90\x98", "<&>", "a\r\nX: y", "a\x7f", "\xc2\x85"};
  s3lect_record_t r = sample();
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
    memset(r.leader_id, 0, sizeof r.leader_id);
    strcpy(r.leader_id, ids[i]);
    comes_back(&r, 1);
  }
  r = sample();
  r.released = 1; /* a withdrawal */
  r.last_updated_ms = 0;
  char buf[S3LECT_PEER_BODY_MAX];
  s3l_peer_candidacy_t c;
  size_t n = s3l_peer_candidacy_encode(&r, S3L_PRIORITY_MAX, buf, sizeof buf);
  assert_true(s3l_peer_candidacy_parse((s3l_span_t){buf, n}, &c));
  assert_int_equal(c.record.released, 1);
  assert_int_equal(c.priority, S3L_PRIORITY_MAX);
}

static void test_every_candidacy_fits(void** state) {
  char buf[S3LECT_PEER_BODY_MAX];
  s3lect_record_t r = sample();
  memset(r.leader_id, '<', sizeof r.leader_id - 1);
  memset(r.leader_addr, '&', sizeof r.leader_addr - 1);
  r.last_updated_ms = r.acquired_ms = INT64_C(253402300799999);
  r.epoch = UINT64_MAX >> 1;
  r.write = UINT64_MAX;
  r.transitions = UINT64_MAX - 1;
  r.leader_timeout_ms = 86400000;
  r.renew_interval_ms = 2419200000u;
  size_t cap = s3l_record_encode_max(r.leader_id, r.leader_addr, "") + S3L_PEER_CANDIDACY_MORE;
  assert_true(cap <= sizeof buf);
  size_t n = s3l_peer_candidacy_encode(&r, S3L_PRIORITY_MAX, buf, cap);
  assert_true(n > 0 && n < cap);
  assert_true(n < S3LECT_PEER_HEADER_BYTES / 2); /* a server's default leaves room for it */
  comes_back(&r, S3L_PRIORITY_MAX);
  assert_int_equal(s3l_peer_candidacy_encode(&r, S3L_PRIORITY_MAX, buf, n), 0); /* no NUL */
  assert_int_equal(s3l_peer_candidacy_encode(&r, S3L_PRIORITY_MAX, buf, n + 1), n);
}

static void test_which_field_has_the_candidacy(void** state) {
  const s3l_http_header_t headers[] = {{S3L_SPAN("X-S3lect-Candidacy"), S3L_SPAN("0")},
                                       {S3L_SPAN("s3LECT-candidacy"), S3L_SPAN("1")},
                                       {S3L_SPAN("S3lect-Candidacy"), S3L_SPAN("2")}};
  s3l_span_t text;
  assert_true(s3l_peer_candidacy_find(headers, 3, &text));
  assert_true(s3l_span_eq(text, S3L_SPAN("1")));
  assert_false(s3l_peer_candidacy_find(headers, 1, &text));
  assert_false(s3l_peer_candidacy_find(NULL, 0, &text));
}

/* ---- Preferences ---- */

/* What one or two fields of that name ask for, among others. */
static uint32_t prefer(const char* name, const char* first, const char* second) {
  const s3l_http_header_t headers[] = {{S3L_SPAN("Host"), S3L_SPAN("wait=1")},
                                       {s3l_span_cstr(name), s3l_span_cstr(first)},
                                       {S3L_SPAN("Accept"), S3L_SPAN("wait=2")},
                                       {s3l_span_cstr(name), s3l_span_cstr(second)}};
  return s3l_peer_prefer_wait(headers, second != NULL ? 4 : 3);
}

static bool applied(const char* first, const char* second) {
  const s3l_http_header_t headers[] = {{S3L_SPAN("Prefer"), S3L_SPAN("wait")},
                                       {S3L_SPAN("preference-applied"), s3l_span_cstr(first)},
                                       {S3L_SPAN("Preference-Applied"), s3l_span_cstr(second)}};
  return s3l_peer_wait_applied(headers, second != NULL ? 3 : 2);
}

static void test_prefer(void** state) {
  static const struct {
    const char* value;
    uint32_t wait;
  } rows[] = {
      {"wait=5", 5},
      {"WAIT = 5 ", 5},
      {"respond-async, wait=10", 10},
      {"foo=\"a, wait=9\"; x=y , wait=\"3\"; bar", 3},
      {"wait=2, wait=9", 2},
      {"wait=99999999999", S3L_PEER_WAIT_MAX_S},
      {"", 0},
      {"wait", 0},
      {"wait=", 0},
      {"wait=-1", 0},
      {"wait=1.5", 0},
      {"waits=4", 0},
      {"foo=\"wait=4", 0},
      {",,;,", 0},
      {"foo=\"\\", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_int_equal(prefer("Prefer", rows[i].value, NULL), rows[i].wait);
  assert_true(applied("wait", NULL));
  assert_true(applied("handling=lenient, wait=5", NULL));
  assert_false(applied("handling=lenient", NULL));
  assert_false(s3l_peer_wait_applied(NULL, 0));
}

/* As if they were one list. */
static void test_prefer_in_several_fields(void** state) {
  assert_int_equal(prefer("prefer", "respond-async", "wait=7"), 7);
  assert_int_equal(prefer("PREFER", "wait=7; x=\"1, wait=8\"", "wait=9"), 7);
  assert_int_equal(prefer("Prefer", "", "wait=7"), 7);
  assert_int_equal(prefer("Prefer", "wait=soon", "wait=7"), 0);  /* the first counts */
  assert_int_equal(prefer("Prefer", "foo=\"open", "wait=7"), 7); /* quotes end with their field */
  assert_int_equal(prefer("Prefers", "wait=7", "wait=7"), 0);
  assert_true(applied("handling=lenient", "wait"));
  assert_false(applied("handling=lenient", "respond-async"));
}

static void test_paths(void** state) {
  assert_true(s3l_peer_is_path("/"));
  assert_true(s3l_peer_is_path("/health/leadership?x=%20~!"));
  assert_false(s3l_peer_is_path(""));
  assert_false(s3l_peer_is_path("health"));
  assert_false(s3l_peer_is_path("/a b"));
  assert_false(s3l_peer_is_path("/a\x7f"));
  assert_false(s3l_peer_is_path("/\xc3\xa9"));
  assert_false(s3l_peer_is_path("/a#b"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_answer_in_bytes),
      cmocka_unit_test(test_an_answer_comes_back_as_it_was),
      cmocka_unit_test(test_every_answer_fits),
      cmocka_unit_test(test_reads_what_go_answers),
      cmocka_unit_test(test_refuses_what_is_no_answer),
      cmocka_unit_test(test_a_request_in_bytes),
      cmocka_unit_test(test_a_candidacy_comes_back_as_it_was),
      cmocka_unit_test(test_every_candidacy_fits),
      cmocka_unit_test(test_which_field_has_the_candidacy),
      cmocka_unit_test(test_prefer),
      cmocka_unit_test(test_prefer_in_several_fields),
      cmocka_unit_test(test_paths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
