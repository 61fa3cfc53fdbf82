/* A leader of the Go package, as it looks from here: its lockfile has three fields and a local
 * offset, its endpoint stamps "now" whatever its store says, and never heard of waiting. Written by
 * hand from the format. It knows the lockfile only.
 *
 * ctest labels: no-valgrind one-protocol */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/group_certs.h"
#include "lib/peer_rig.h"
#include "lib/script_server.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"

#define ASKS 256

static s3l_election_t el;
static s3l_script_server_t go;
static s3l_peered_t p;
static s3l_step_t script[3 * ASKS + 1];
static const s3l_step_t* const scripts[] = {script};
static char reply[1024];
static unsigned answers;

/* time.Time of Go: RFC 3339 with nanoseconds, in the zone of the machine. No two are equal, so that
 * whoever writes one renews. */
static void stamp(char* out, size_t size, const char* id) {
  static unsigned nanoseconds = 123456789;
  time_t now = time(NULL) + 2 * 3600;
  struct tm at;
  char text[64];
  assert_non_null(gmtime_r(&now, &at));
  assert_true(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &at) > 0);
  snprintf(out, size,
           "{\"leaderID\":\"%s\",\"leaderAddr\":\"127.0.0.1:%u\",\"lastUpdated\":\"%s.%09u"
           "+02:00\"}",
           id, go.port, text, nanoseconds++);
}

static void on_ask(s3l_script_server_t* server) {
  char body[512];
  answers++;
  stamp(body, sizeof body, "go-1");
  snprintf(reply, sizeof reply,
           "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sun, 27 Oct 2024 10:30:45 "
           "GMT\r\nContent-Length: %zu\r\n\r\n%s\n",
           strlen(body) + 1, body);
}

static void begin(bool tls) {
  s3l_tls_context_t* context = NULL;
  char body[512];
  for (size_t i = 0; i < ASKS; i++) {
    script[3 * i] = (s3l_step_t)S3L_EXPECT("\r\n\r\n");
    script[3 * i + 1] = (s3l_step_t)S3L_CALL;
    script[3 * i + 2] = (s3l_step_t)S3L_SEND(reply);
  }
  memset(&go, 0, sizeof go);
  answers = 0;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  if (tls)
    assert_int_equal(s3l_tls_context_server(certs.good, certs.key, &context, NULL), 0);
  go.tls = context;
  go.scripts = scripts;
  go.scripts_len = 1;
  go.on_call = on_ask;
  s3l_script_server_start(&go, &el.loop);
  stamp(body, sizeof body, "go-1");
  s3l_election_put(&el, body, strlen(body));
  s3l_peered_init(&el, &p, "c-1", tls ? &certs : NULL);
}

static void end(void) {
  s3l_peered_close(&p);
  s3l_script_server_close(&go);
  s3l_election_end(&el);
  s3l_tls_context_free(go.tls);
}

/* Go renews: its own client writes these very bytes. */
static void renew(void) {
  char body[512];
  stamp(body, sizeof body, "go-1");
  s3l_election_put(&el, body, strlen(body));
}

static bool has_asked(void* arg) {
  return s3l_candidate_stats(&p.c).peer_answers >= 1;
}

static void test_it_is_followed(void** state) {
  begin(false);
  s3l_peered_start(&p);
  s3l_election_wait(&el, &p.c.leaders, 1, "the leader's name");
  renew(); /* seen to renew, it is somebody to ask */
  s3l_wait(&el.loop, has_asked, NULL, "an answer");
  assert_string_equal(p.c.leader, "go-1");
  assert_int_equal(p.c.errors, 0);
  assert_int_equal(p.c.started, 0);
  end();
}

/* Its endpoint says for ever that it leads, but it cannot write any more: the end of a dead
 * election in the Go package, whose followers believe it. */
static void dead_at_the_store(bool tls) {
  begin(tls);
  s3l_peered_start(&p);
  s3l_election_wait(&el, &p.c.leaders, 1, "the leader's name");
  renew();
  int64_t renewed_ns = s3lect_now_ns();
  s3l_wait(&el.loop, has_asked, NULL, "an answer");
  s3l_election_wait(&el, &p.c.started, 1, "leadership all the same");
  assert_true(answers >= 1);
  /* Not before a whole leader timeout without a renewal. */
  assert_true(s3lect_now_ns() - renewed_ns >= S3L_ELECTION_T_MS * INT64_C(1000000));
  assert_int_equal(p.c.stopped, 0);
  /* Go's record has no epoch: the store's clock gives one, far above what Go may have counted. */
  assert_true(p.c.epoch > UINT64_C(1600000000000));
  s3lect_record_t r = s3l_election_record(&el);
  assert_string_equal(r.leader_id, "c-1");
  assert_true(r.epoch == p.c.epoch);
  end();
}

static void test_it_is_replaced_whatever_it_answers(void** state) {
  dead_at_the_store(false);
}

static void test_its_certificate_proves_no_validity(void** state) {
  dead_at_the_store(true);
}

/* Its release: the zero time.Time, all else as it was. */
static void test_its_release_is_taken_at_once(void** state) {
  char body[512];
  begin(false);
  s3l_peered_start(&p);
  s3l_election_wait(&el, &p.c.leaders, 1, "the leader's name");
  snprintf(body, sizeof body,
           "{\"leaderID\":\"go-1\",\"leaderAddr\":\"127.0.0.1:%u\",\"lastUpdated\":"
           "\"0001-01-01T00:00:00Z\"}",
           go.port);
  s3l_election_put(&el, body, strlen(body));
  s3l_election_wait(&el, &p.c.started, 1, "leadership");
  assert_int_equal(p.c.errors, 0);
  assert_true(p.c.epoch > UINT64_C(1600000000000));
  end();
}

/* Another Go process took over: the follower asks that one, and not the old one any more. */
static void test_another_go_leader(void** state) {
  char body[512];
  begin(false);
  s3l_peered_start(&p);
  s3l_election_wait(&el, &p.c.leaders, 1, "the leader's name");
  stamp(body, sizeof body, "go-2"); /* whose address answers still as go-1 */
  s3l_election_put(&el, body, strlen(body));
  s3l_election_wait(&el, &p.c.leaders, 2, "the next leader's name");
  s3l_election_wait(&el, &p.c.errors, 1, "a complaint");
  assert_string_equal(p.c.leader, "go-2");
  assert_int_equal(p.c.error, S3LECT_EPEER);
  assert_non_null(strstr(p.c.message, "another leader answers"));
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_is_followed),
      cmocka_unit_test(test_it_is_replaced_whatever_it_answers),
      cmocka_unit_test(test_its_certificate_proves_no_validity),
      cmocka_unit_test(test_its_release_is_taken_at_once),
      cmocka_unit_test(test_another_go_leader),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
