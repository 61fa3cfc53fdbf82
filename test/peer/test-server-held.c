/* When held requests are answered, seen from the store: behind the release, not before it, and also
 * where no release can be written.
 *
 * ctest labels: no-valgrind */
#include <stdio.h>
#include <string.h>

#include "lib/caller.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define GET  "GET " S3LECT_PEER_HEALTH_PATH " HTTP/1.1\r\nHost: x\r\n\r\n"
#define WAIT "GET " S3LECT_PEER_HEALTH_PATH " HTTP/1.1\r\nHost: x\r\nPrefer: wait=3600\r\n\r\n"

static s3l_election_t el;
static s3l_peered_t p;

static void begin(void) {
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_peered_init(&el, &p, "a", NULL);
  s3l_peered_start(&p);
  s3l_election_wait(&el, &p.c.started, 1, "a leader");
}

static void end(void) {
  s3l_peered_close(&p);
  s3l_election_end(&el);
}

static s3l_caller_t* call(const char* request) {
  s3l_caller_t* c = s3l_caller_make(&el.loop, (uint16_t)s3lect_peer_server_port(&p.server), NULL);
  s3l_caller_open(c);
  s3l_caller_send(c, request);
  return c;
}

/* Until a later request has been answered, so that these are held. */
static void settle(void) {
  s3l_caller_t* c = call("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
  s3l_caller_expect(c, "404 Not Found");
  s3l_caller_free(c);
}

typedef struct watch_s {
  s3l_caller_t* c[2];
  int64_t told_ns[2]; /* when it was answered */
} watch_t;

static bool all_are_told(void* arg) {
  watch_t* w = arg;
  for (int i = 0; i < 2; i++)
    if (w->told_ns[i] == 0 && w->c[i]->text[0] != '\0')
      w->told_ns[i] = s3lect_now_ns();
  return w->told_ns[0] != 0 && w->told_ns[1] != 0;
}

static const fakes3_entry_t* last_put(void) {
  const fakes3_entry_t* last = NULL;
  const fakes3_entry_t* e = NULL;
  while ((e = fakes3_log_after(el.server, e != NULL ? e->seq : 0)) != NULL)
    if (strcmp(e->method, "PUT") == 0)
      last = e;
  assert_non_null(last);
  return last;
}

/* Another value, and only that: a renewal answers nobody. */
static void test_behind_another_value(void** state) {
  begin();
  unsigned renewed = p.c.renewed;
  s3l_caller_t* c = call(WAIT);
  settle();
  s3l_election_wait(&el, &p.c.renewed, renewed + 3, "renewals");
  assert_string_equal(c->text, "");
  assert_int_equal(s3lect_elector_set_value(&p.c.e, "up \"1\"", 0), 0);
  s3l_caller_expect(c, "\"value\":\"up \\\"1\\\"\"");
  s3l_caller_free(c);
  /* This one may have been sent before the change. */
  c = call(WAIT);
  s3l_caller_expect(c, "\"value\":\"up \\\"1\\\"\"");
  assert_non_null(strstr(c->text, "Preference-Applied: wait"));
  s3l_caller_free(c);
  s3l_election_wait(&el, &p.c.renewed, p.c.renewed + 10, "renewals");
  c = call(WAIT);
  settle();
  assert_string_equal(c->text, "");
  assert_int_equal(s3lect_elector_set_value(&p.c.e, "", 1), 0);
  s3l_caller_expect(c, "validForMs");
  assert_null(strstr(c->text, "\"value\""));
  s3l_caller_free(c);
  assert_int_equal(p.c.stopped, 0);
  end();
}

/* One that waits, and one that asks while the release is on its way: neither is sent to a store
 * that does not show it yet. */
static void test_behind_the_release(void** state) {
  watch_t w = {{NULL}, {0}};
  begin();
  w.c[0] = call(WAIT);
  settle();
  s3l_election_fault(&el, "{\"match\":{\"method\":\"PUT\"},\"latency_ms\":250}");
  assert_int_equal(s3lect_elector_resign(&p.c.e), 0);
  w.c[1] = call(GET);
  s3l_wait(&el.loop, all_are_told, &w, "answers");
  const fakes3_entry_t* release = last_put();
  assert_int_equal(release->status, 200);
  for (int i = 0; i < 2; i++) {
    assert_non_null(strstr(w.c[i]->text, "404 Not Found"));
    assert_true((uint64_t)w.told_ns[i] >= release->effect_ns);
    assert_true(w.told_ns[i] >= p.c.told_ns); /* and behind on_stopped_leading */
  }
  s3l_election_heal(&el);
  assert_true(s3l_election_record(&el).released);
  s3l_caller_free(w.c[0]);
  s3l_caller_free(w.c[1]);
  end();
}

/* The store is deaf: validity ends by itself, nothing is released, and whoever waits is told. */
static void test_an_expiry_answers(void** state) {
  begin();
  s3l_caller_t* c = call(WAIT);
  settle();
  s3l_election_fault(&el, "{\"stall\":true}");
  s3l_caller_expect(c, "404 Not Found");
  assert_int_equal(p.c.stopped, 1);
  assert_int_equal(p.c.reason, S3LECT_REASON_EXPIRED);
  s3l_caller_free(c);
  s3l_election_heal(&el);
  end();
}

/* The application has a say about when the release is written, and with it about the answer. */
static void test_not_before_the_application_agrees(void** state) {
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_peered_init(&el, &p, "a", NULL);
  p.c.o.stop_ack_ms = 60000;
  s3l_peered_start(&p);
  s3l_election_wait(&el, &p.c.started, 1, "a leader");
  s3l_caller_t* c = call(WAIT);
  settle();
  assert_int_equal(s3lect_elector_resign(&p.c.e), 0);
  s3l_election_wait(&el, &p.c.stopped, 1, "the end of leadership");
  settle();
  assert_string_equal(c->text, "");
  s3lect_elector_ack(&p.c.e, p.c.epoch);
  s3l_caller_expect(c, "404 Not Found");
  assert_true(s3l_election_record(&el).released);
  s3l_caller_free(c);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_behind_another_value),
      cmocka_unit_test(test_behind_the_release),
      cmocka_unit_test(test_an_expiry_answers),
      cmocka_unit_test(test_not_before_the_application_agrees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
