/* Who keeps a loop alive. A follower on a loop of its own, apart from its leader's: what it asks
 * does so only as long as the elector does. A server: only while it closes.
 *
 * ctest labels: no-valgrind */
#include <stdio.h>
#include <string.h>

#include "lib/group_certs.h"
#include "lib/peer_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

static s3l_election_t el; /* the leader's loop, and the fake S3's */
static s3l_peered_t leader;
static uv_loop_t loop; /* the follower's */
static s3lect_store_t store;
static s3lect_peer_client_t client;
static s3lect_elector_t follower;

static s3lect_stats_t stats(void) {
  s3lect_stats_t s = {.size = sizeof s};
  assert_int_equal(s3lect_elector_stats(&follower, &s), 0);
  return s;
}

/* A question of the follower's is under way: held, since the one before was. */
static bool is_held(void* arg) {
  (void)uv_run(&loop, UV_RUN_NOWAIT);
  return stats().peer_answers >= 2 && stats().peer_checks > stats().peer_answers;
}

static void on_closed(s3lect_elector_t* e) {
  ++*(unsigned*)e->data;
}

static void on_client_closed(s3lect_peer_client_t* c) {
  ++*(unsigned*)c->data;
}

static void run(bool tls) {
  unsigned closed = 0;
  s3lect_elector_options_t o;
  s3lect_error_t error;
  s3l_election_init(&el, NULL);
  s3l_election_begin(&el);
  s3l_election_seed(&el);
  s3l_peered_init(&el, &leader, "a", tls ? &certs : NULL);
  s3l_peered_start(&leader);
  s3l_election_wait(&el, &leader.c.started, 1, "a leader");

  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_store_s3_init(&loop, &store, &el.s3, NULL), 0);
  assert_int_equal(s3lect_peer_client_init(&loop, &client, &leader.client_options, &error), 0);
  o = leader.c.o;
  o.server_id = "b";
  o.server_addr = NULL;
  o.store = &store;
  o.peer_client = &client;
  /* Nothing is due for long, so that only the question could keep the loop. */
  o.infrequent_interval_ms = o.peer_interval_ms = 30000;
  o.on_started_leading = o.on_stopped_leading = o.on_new_leader = o.on_error = NULL;
  o.on_renewed = NULL;
  client.data = follower.data = &closed;
  assert_int_equal(s3lect_elector_init(&loop, &follower, &o, NULL), 0);
  assert_int_equal(s3lect_elector_start(&follower), 0);
  assert_true(uv_loop_alive(&loop));
  s3l_wait(&el.loop, is_held, NULL, "a question that is held");

  assert_true(uv_loop_alive(&loop));
  s3lect_elector_unref(&follower);
  assert_false(uv_loop_alive(&loop));
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0); /* returns, with the question still there */
  assert_true(stats().peer_checks > stats().peer_answers);
  s3lect_elector_ref(&follower);
  assert_true(uv_loop_alive(&loop));

  assert_int_equal(s3lect_elector_close(&follower, on_closed), 0);
  s3lect_peer_client_close(&client, on_client_closed);
  s3l_wait_count(&loop, &closed, 2, "the follower to close");
  s3lect_store_close(&store, NULL);
  s3l_wait_loop_end(&loop);
  s3l_peered_close(&leader);
  s3l_election_end(&el);
}

static void test_a_held_question_keeps_no_loop(void** state) {
  run(false);
}

static void test_neither_over_tls(void** state) {
  run(true);
}

static void on_server_closed(s3lect_peer_server_t* s) {
  ++*(unsigned*)s->data;
}

static void test_a_server_keeps_no_loop(void** state) {
  unsigned closed = 0;
  s3lect_error_t error;
  s3lect_peer_server_t server = {.data = &closed};
  s3lect_peer_server_options_t o;
  s3lect_peer_server_options_init(&o, sizeof o);
  o.listen = "127.0.0.1:0";
  o.plain_http = 1;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3lect_peer_server_init(&loop, &server, &o, &error), 0);
  assert_false(uv_loop_alive(&loop));
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_true(s3lect_peer_server_port(&server) > 0);
  s3lect_peer_server_close(&server, on_server_closed);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(closed, 1);
  s3l_wait_loop_end(&loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_held_question_keeps_no_loop),
      cmocka_unit_test(test_neither_over_tls),
      cmocka_unit_test(test_a_server_keeps_no_loop),
  };
  return cmocka_run_group_tests(tests, s3l_make_certs, s3l_remove_certs);
}
