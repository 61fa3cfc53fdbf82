/* Each fault: what the client sees, and whether the effect took place. In all protocols. */

#include <string.h>

#include "lib/fakes3_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define MILLISECOND 1000000u

static int open_rig(void** state) {
  s3l_fakes3_open(&(fakes3_options_t){.port = 0});
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "old"), rig.written);
  return 0;
}

static bool speaks(const char* protocol) {
  return strcmp(rig.protocol, protocol) == 0;
}

/* The status of a create that lost. */
static int lost(void) {
  return speaks("azure") ? 409 : 412;
}

/* What is stored now, seen past all faults. */
static void stored(const char* body) {
  fakes3_fault_clear(rig.server, 0);
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(rig.reply.body, body);
}

static int put_new(void) {
  return S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "new");
}

/* Clocks of timers count whole milliseconds, so that one may be missing at either end. */
static void at_least(uint64_t from, uint64_t to, uint64_t ms) {
  assert_true(from > 0 && to >= from && to - from + 2 * MILLISECOND >= ms * MILLISECOND);
}

static void delays_the_effect(void** state) {
  s3l_fakes3_fault("{\"latency_ms\":30}");
  assert_int_equal(put_new(), rig.written);
  const fakes3_entry_t* e = s3l_fakes3_last();
  at_least(e->arrived_ns, e->effect_ns, 30);
  assert_string_equal(e->fault, "latency_ms");
  stored("new");
}

static void delays_the_reply(void** state) {
  s3l_fakes3_fault("{\"reply_delay_ms\":30}");
  assert_int_equal(put_new(), rig.written);
  const fakes3_entry_t* e = s3l_fakes3_last();
  at_least(e->effect_ns, e->replied_ns, 30);
  stored("new");
}

/* A client that does not wait for its reply does not undo its request. */
static void goes_on_without_its_client(void** state) {
  static s3l_raw_t raw;
  s3l_fakes3_fault("{\"latency_ms\":30,\"match\":{\"method\":\"PUT\"}}");
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "new");
  s3l_raw_start(&raw);
  /* Request and end are there before the loop runs again, so before any timer. */
  s3l_raw_close(&raw);
  while (s3l_fakes3_last()->fault == NULL || !s3l_fakes3_last()->ended)
    s3l_turn(&rig.loop);
  assert_true(s3l_fakes3_last()->client_gone);
  assert_int_equal(s3l_fakes3_last()->replied_ns, 0);
  stored("new");
}

static void answers_errors(void** state) {
  static const struct {
    const char* rule;
    int status;
    const char* code;
    const char* azure; /* NULL: the same */
    const char* google;
  } rows[] = {
      {"{\"status\":500}", 500, "InternalError", NULL, NULL},
      {"{\"status\":503}", 503, "SlowDown", "ServerBusy", "ServiceUnavailable"},
      {"{\"status\":409}", 409, "ConditionalRequestConflict", "BlobAlreadyExists", NULL},
      {"{\"status\":404}", 404, "NoSuchKey", "BlobNotFound", NULL},
      {"{\"status\":403}", 403, "AccessDenied", "AuthenticationFailed", NULL},
      {"{\"status\":400}", 400, "RequestTimeout", "InvalidInput", "InvalidArgument"},
      {"{\"status\":429}", 429, "TooManyRequests", NULL, "SlowDown"},
      {"{\"status\":504,\"code\":\"Late\",\"message\":\"too <late>\"}", 504, "Late", NULL, NULL},
      {"{\"status\":400,\"code\":\"ExpiredToken\"}", 400, "ExpiredToken", NULL, NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const char* own = speaks("azure") ? rows[i].azure : speaks("gcs") ? rows[i].google : NULL;
    const char* code = own != NULL ? own : rows[i].code;
    s3l_fakes3_fault(rows[i].rule);
    assert_int_equal(put_new(), rows[i].status);
    assert_string_equal(s3l_raw_tag("Code"), code);
    if (speaks("azure"))
      assert_string_equal(s3l_raw_header("x-ms-error-code"), code);
    assert_int_equal(s3l_fakes3_last()->order, 0);
    stored("old");
  }
}

static void words_errors_as_told(void** state) {
  s3l_fakes3_fault("{\"status\":504,\"code\":\"Late\",\"message\":\"too <late>\"}");
  assert_int_equal(put_new(), 504);
  assert_int_equal(strncmp(s3l_raw_tag("Message"), "too <late>", 10), 0);
}

static void answers_as_a_proxy(void** state) {
  s3l_fakes3_fault("{\"status\":502,\"html\":\"<html><h1>Bad Gateway</h1></html>\"}");
  assert_int_equal(put_new(), 502);
  assert_string_equal(rig.reply.body, "<html><h1>Bad Gateway</h1></html>");
  assert_string_equal(s3l_raw_header("Content-Type"), "text/html");
  stored("old");
}

static void fails_after_the_effect(void** state) {
  s3l_fakes3_fault("{\"status\":503,\"after_effect\":true}");
  assert_int_equal(put_new(), 503);
  assert_non_null(s3l_raw_tag("Code"));
  stored("new");
}

static void drops(void** state) {
  s3l_fakes3_fault("{\"drop_before\":true}");
  assert_int_equal(put_new(), UV_EOF);
  assert_int_equal(s3l_fakes3_last()->order, 0);
  stored("old");
  s3l_fakes3_fault("{\"drop_after\":true}");
  assert_int_equal(put_new(), UV_EOF);
  assert_int_equal(s3l_fakes3_last()->replied_ns, 0);
  stored("new");
}

static void resets_within_the_reply(void** state) {
  s3l_fakes3_fault("{\"reset_mid_reply\":true}");
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "new");
  s3l_raw_close(&rig.raw);
  s3l_raw_start(&rig.raw);
  /* libuv makes an EOF of a reset that it meets together with the last bytes. */
  int end = s3l_raw_wait_end(&rig.raw);
  assert_true(end == UV_ECONNRESET || end == UV_EOF);
  assert_true(rig.raw.n > 0);
  assert_int_equal(strncmp(rig.raw.in, "HTTP/1.1 20", 11), 0);
  assert_null(strstr(rig.raw.in, "\r\n\r\n"));
  stored("new");
}

/* A stall has no end; that a reply does not come before another client's later request is served is
 * all that can be seen. */
static void stalls(const char* rule, bool effect) {
  static s3l_raw_t raw;
  s3l_fakes3_fault(rule);
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "new");
  s3l_raw_start(&raw);
  while (s3l_fakes3_last()->fault == NULL)
    s3l_turn(&rig.loop);
  stored(effect ? "new" : "old");
  assert_int_equal(raw.n, 0);
  assert_int_equal(raw.ended, 0);
  fakes3_counters_t counters;
  fakes3_counters(rig.server, &counters);
  assert_int_equal(counters.in_flight, 1);
  s3l_raw_close(&raw);
  while (fakes3_counters(rig.server, &counters), counters.in_flight > 0)
    s3l_turn(&rig.loop);
}

static void stalls_before(void** state) {
  stalls("{\"stall\":true}", false);
}

static void stalls_after(void** state) {
  stalls("{\"stall_after\":true}", true);
}

/* The client is sent away at once; the write lands later, and by the conditions of that time. */
static void lands_late(void** state) {
  s3l_fakes3_fault("{\"late_ms\":20}");
  assert_int_equal(put_new(), UV_EOF);
  while (!s3l_fakes3_last()->ended)
    s3l_turn(&rig.loop);
  const fakes3_entry_t* e = s3l_fakes3_last();
  at_least(e->arrived_ns, e->effect_ns, 20);
  assert_int_equal(e->replied_ns, 0);
  assert_int_equal(e->status, rig.written);
  stored("new");
}

static void lands_in_another_world(void** state) {
  s3l_fakes3_fault("{\"late_ms\":600000,\"count\":1}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "absent", .if_none_match = "*", .body = "x"),
                   UV_EOF);
  assert_int_equal(S3L_DO(.key = "absent"), 404);
  fakes3_reset(rig.server);
  s3l_fakes3_fault("{\"late_ms\":20,\"count\":1}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "absent", .if_none_match = "*", .body = "a"),
                   UV_EOF);
  uint64_t late = s3l_fakes3_last()->seq;
  const fakes3_entry_t* e;
  do {
    assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "other", .body = "b"), rig.written);
    e = fakes3_log_after(rig.server, late - 1);
  } while (!e->ended);
  assert_int_equal(e->status, rig.written);
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "absent", .if_none_match = "*", .body = "c"),
                   lost());
}

/* A proxy that has given the answer sends the request again. */
static void replays_after_the_answer(void** state) {
  fakes3_counters_t counters;
  s3l_fakes3_fault("{\"replay_ms\":20,\"count\":1}");
  assert_int_equal(put_new(), rig.written);
  uint64_t seq = s3l_fakes3_last()->seq;
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "newer"), rig.written);
  while (!fakes3_log_after(rig.server, seq - 1)->ended)
    s3l_turn(&rig.loop);
  fakes3_counters(rig.server, &counters);
  assert_int_equal(counters.writes, 4);
  stored("new");
}

/* The client gets the answer to the second one, whose condition does not hold any more. */
static void replays_before_the_answer(void** state) {
  s3l_fakes3_fault("{\"replay_answer_ms\":20,\"count\":1}");
  assert_int_equal(S3L_DO(.op = S3L_S3_PUT, .key = "absent", .if_none_match = "*", .body = "x"),
                   lost());
  assert_int_equal(S3L_DO(.key = "absent"), 200);
  assert_string_equal(rig.reply.body, "x");
}

/* What a proxy keeps is given again with its Date, and answers conditions. */
static void caches_replies(void** state) {
  char etag[64], date[64];
  s3l_fakes3_fault("{\"cached_ms\":600000}");
  assert_int_equal(S3L_DO(.key = "k"), 200);
  snprintf(etag, sizeof(etag), "%s", s3l_raw_header("ETag"));
  snprintf(date, sizeof(date), "%s", s3l_raw_header("Date"));
  fakes3_set_clock_offset(rig.server, 5000);
  assert_int_equal(put_new(), rig.written);
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(rig.reply.body, "old");
  assert_string_equal(s3l_raw_header("ETag"), etag);
  assert_string_equal(s3l_raw_header("Date"), date);
  assert_int_equal(S3L_DO(.key = "k", .if_none_match = etag), 304);
  stored("new");
}

static void changes_etags(void** state) {
  s3l_fakes3_fault("{\"gzip_etag\":true}");
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_non_null(strstr(s3l_raw_header("ETag"), "-gzip\""));
  fakes3_fault_clear(rig.server, 0);
  s3l_fakes3_fault("{\"added_etag\":true}");
  assert_int_equal(S3L_DO(.key = "absent"), 404);
  assert_string_equal(s3l_raw_header("ETag"), "\"added\"");
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_not_equal(s3l_raw_header("ETag"), "\"added\"");
}

static void breaks_replies(void** state) {
  s3l_fakes3_fault("{\"truncate\":true}");
  assert_int_equal(S3L_DO(.key = "k"), UV_EOF);
  S3L_SIGN(.op = S3L_S3_PUT, .key = "k", .body = "new");
  assert_int_equal(s3l_fakes3_exchange(false), UV_EOF);
  assert_string_equal(s3l_raw_header("Content-Length"), "16");
  stored("new");
  s3l_fakes3_fault("{\"garbage\":true}");
  int status = S3L_DO(.op = S3L_S3_PUT, .key = "k", .body = "newer");
  assert_true(status == UV_EPROTO || status == UV_EOF);
  stored("newer");
}

static void frames_otherwise(void** state) {
  s3l_fakes3_fault("{\"chunked\":true}");
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_string_equal(rig.reply.body, "1\r\no\r\n2;piece=2\r\nld\r\n0\r\n\r\n");
  assert_null(s3l_raw_header("Content-Length"));
  assert_int_equal(put_new(), rig.written);
  assert_string_equal(rig.reply.body, "0\r\n\r\n");
  stored("new");
  s3l_fakes3_fault("{\"http10\":true}");
  assert_int_equal(S3L_DO(.key = "k"), 200);
  assert_int_equal(strncmp(rig.reply.head, "HTTP/1.0 200", 12), 0);
  assert_null(s3l_raw_header("Content-Length"));
  assert_string_equal(rig.reply.body, "new");
  assert_int_equal(s3l_raw_wait_end(&rig.raw), UV_EOF);
}

static void sends_interim_replies(void** state) {
  s3l_fakes3_fault("{\"continue\":103}");
  assert_int_equal(put_new(), 103);
  assert_int_equal(s3l_raw_reply(&rig.raw, false), rig.written);
  assert_non_null(s3l_raw_header("ETag"));
}

static void closes_kept_connections(void** state) {
  s3l_fakes3_fault("{\"close_after\":true}");
  assert_int_equal(put_new(), rig.written);
  assert_null(s3l_raw_header("Connection"));
  assert_int_equal(s3l_raw_wait_end(&rig.raw), UV_EOF);
}

/* ---- Refusing ---- */

static void refuses_until_cleared(void** state) {
  static s3l_raw_t before;
  assert_int_equal(s3l_raw_connect(&before), 0);
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/faults", "{\"refuse\":true}"), 200);
  assert_int_equal(s3l_raw_wait_end(&before), UV_ECONNRESET);
  s3l_raw_close(&before);
  s3l_raw_close(&rig.raw);
  uint64_t seq = s3l_fakes3_last()->seq;
  assert_int_equal(put_new(), UV_ECONNRESET);
  assert_int_equal(s3l_fakes3_last()->seq, seq);
  assert_int_equal(s3l_fakes3_control("DELETE", "/_fakes3/faults", ""), 204);
  assert_int_equal(put_new(), rig.written);
}

static void refuses_for_a_while(void** state) {
  assert_int_equal(s3l_fakes3_control("POST", "/_fakes3/faults", "{\"refuse_ms\":600000}"), 200);
  s3l_raw_close(&rig.raw);
  assert_int_equal(put_new(), UV_ECONNREFUSED);
  fakes3_fault_clear(rig.server, 0);
  assert_int_equal(put_new(), rig.written);
  s3l_fakes3_fault("{\"refuse_ms\":20}");
  s3l_raw_close(&rig.raw);
  int status;
  do
    status = put_new();
  while (status == UV_ECONNREFUSED);
  assert_int_equal(status, rig.written);
  assert_int_equal(s3l_fakes3_control("GET", "/_fakes3/state", ""), 200);
  assert_non_null(strstr(rig.reply.body, "\"rules\":[]"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, s3l_close_rig)
  const struct CMUnitTest tests[] = {
      TEST(delays_the_effect),
      TEST(delays_the_reply),
      TEST(goes_on_without_its_client),
      TEST(answers_errors),
      TEST(words_errors_as_told),
      TEST(answers_as_a_proxy),
      TEST(fails_after_the_effect),
      TEST(drops),
      TEST(resets_within_the_reply),
      TEST(stalls_before),
      TEST(stalls_after),
      TEST(lands_late),
      TEST(lands_in_another_world),
      TEST(replays_after_the_answer),
      TEST(replays_before_the_answer),
      TEST(caches_replies),
      TEST(changes_etags),
      TEST(breaks_replies),
      TEST(frames_otherwise),
      TEST(sends_interim_replies),
      TEST(closes_kept_connections),
      TEST(refuses_until_cleared),
      TEST(refuses_for_a_while),
  };
  static const char* const protocols[] = {"s3", "azure", "gcs"};
  int failed = 0;
  for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
    rig.protocol = protocols[i];
    failed += cmocka_run_group_tests_name(protocols[i], tests, NULL, NULL);
  }
  return failed;
}
