/* examples/tcp-proxy: connections when the leader changes, or when there is none, are held,
 * refused, closed or drained. A proxy that has lost leadership without noticing forwards no byte.
 *
 * The proxy runs with a lockfile only: its behaviour depends on who leads, not on the protocol.
 *
 * ctest labels: no-valgrind one-protocol slow */

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tcp_proxy_rig.h"
#include "lib/test.h"

#define FLOODS 4
#define ROUNDS 8

/* Two replicas. */
static s3proc_t s3;
static tcp_proxy_t proxies[2];
static int backends[2], ports[2];
static const char* const names[2] = {"a", "b"};

static int begin(void** state) {
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  for (int i = 0; i < 2; i++)
    backends[i] = sock_listen(&ports[i], 64);
  return 0;
}

static int end(void** state) {
  s3proc_end(&s3);
  for (int i = 0; i < 2; i++)
    close(backends[i]);
  return 0;
}

static void start(int i, const char* const* more) {
  tcp_proxy_start(&s3, &proxies[i], names[i], ports[i], more, NULL);
}

/* Both, and a leads. */
static uint64_t start_both(const char* const* more) {
  start(0, more);
  uint64_t epoch = tcp_proxy_leads(&proxies[0]);
  start(1, more);
  tcp_proxy_follows(&proxies[1], &proxies[0], epoch);
  return epoch;
}

/* Connects by one proxy; the connection arrives at the backend of another one. */
static tcp_proxy_link_t connect_by(int by, int leader) {
  return tcp_proxy_connect(&proxies[by], backends[leader]);
}

/* ---- Without a leader ---- */

static void held_until_somebody_leads(void** state) {
  const char* long_hold[] = {"--hold", "1m", NULL};
  start(0, long_hold);
  int speaks = sock_connect(proxies[0].clients), ends = sock_connect(proxies[0].clients);
  int leaves = sock_connect(proxies[0].clients), breaks_off = sock_connect(proxies[0].clients);
  sock_send(speaks, "early", 5);
  sock_send(ends, "once", 4);
  sock_end_sending(ends);
  sock_send(breaks_off, "never mind", 10);
  tcp_proxy_await_metric(&s3, &proxies[0], "held", 4);
  close(leaves);
  sock_reset(breaks_off); /* what it has said is nobody's any more */
  tcp_proxy_await_metric(&s3, &proxies[0], "closed_total{why=\"error\"}", 2);
  assert_int_equal(tcp_proxy_metric(&proxies[0], "held"), 2);
  assert_int_equal(tcp_proxy_metric(&proxies[0], "leader"), 0);
  tcp_proxy_leads(&proxies[0]);
  for (int i = 0; i < 2; i++) { /* in whatever order */
    char first;
    int fd = sock_accept_speaking(backends[0]);
    sock_recv(fd, &first, 1);
    sock_expect(fd, first == 'e' ? "arly" : "nce");
    if (first == 'o')
      assert_int_equal(sock_next(fd), SOCK_END);
    sock_expect_text(fd, first == 'e' ? speaks : ends, "welcome");
    close(fd);
  }
  close(speaks);
  close(ends);
}

static void refused_after_the_hold(void** state) {
  const char* short_hold[] = {"--hold", "200ms", NULL};
  const char* none[] = {"--hold", "0s", NULL};
  tcp_proxy_put_leader(&s3, 1, 7); /* nobody is there */
  start(0, short_hold);
  start(1, none);
  for (int i = 0; i < 2; i++) {
    int fd = sock_connect(proxies[i].clients);
    assert_int_equal(sock_next(fd), SOCK_RESET);
    close(fd);
    assert_int_equal(tcp_proxy_metric(&proxies[i], "refused_total{why=\"no_leader\"}"), 1);
    assert_int_equal(tcp_proxy_metric(&proxies[i], "connections"), 0);
    assert_true(sock_none_waits(backends[i]));
  }
}

static void waits_for_its_backend(void** state) {
  start(0, NULL);
  close(backends[0]);
  proc_line(proxies[0].proc, PROC_OUT, "leading: ");
  proc_line(proxies[0].proc, PROC_ERR, "connection refused");
  int client = sock_connect(proxies[0].clients);
  sock_send(client, "patient", 7);
  tcp_proxy_await_metric(&s3, &proxies[0], "held", 1);
  int again = sock_listen_at(ports[0], 16);
  proc_line(proxies[0].proc, PROC_OUT, "open: ");
  backends[0] = again;
  int upstream = sock_accept_speaking(backends[0]);
  sock_expect(upstream, "patient");

  /* It goes away again, and the next client waits. */
  close(backends[0]);
  int next = sock_connect(proxies[0].clients);
  proc_line(proxies[0].proc, PROC_OUT, "closed: ");
  sock_send(next, "next", 4);
  sock_expect_text(client, upstream, "still here");
  backends[0] = sock_listen_at(ports[0], 16);
  int second = sock_accept_speaking(backends[0]);
  sock_expect(second, "next");
  close(client);
  close(upstream);
  close(next);
  close(second);
}

/* ---- A change ---- */

static void killed_leader_is_replaced(void** state) {
  const char* long_hold[] = {"--hold", "1m", NULL};
  uint64_t first = start_both(long_hold);
  tcp_proxy_link_t by_b = connect_by(1, 0);
  proc_signal(proxies[0].proc, SIGKILL);
  assert_int_not_equal(sock_next(by_b.client), SOCK_DATA); /* the system ends it, or resets it */
  int held = sock_connect(proxies[1].clients);
  assert_true(held >= 0);
  sock_send(held, "held", 4);
  uint64_t second = tcp_proxy_leads(&proxies[1]);
  assert_true(second > first);
  int upstream = sock_accept_speaking(backends[1]);
  sock_expect(upstream, "held");
  assert_true(sock_none_waits(backends[0]));
  close(held);
  close(upstream);
  tcp_proxy_close_link(by_b);

  /* Back again, it follows. */
  start(0, NULL);
  tcp_proxy_follows(&proxies[0], &proxies[1], second);
  tcp_proxy_link_t by_a = connect_by(0, 1);
  sock_expect_text(by_a.client, by_a.upstream, "all is well");
  tcp_proxy_close_link(by_a);
  tcp_proxy_stop(&proxies[0]);
  tcp_proxy_stop(&proxies[1]);
}

/* The record names another one: the leader stops, and the other proxy leaves it. */
static void connections_to_an_old_leader_are_closed(void** state) {
  uint64_t epoch = start_both(NULL);
  tcp_proxy_link_t links[2] = {connect_by(0, 0), connect_by(1, 0)};
  tcp_proxy_put_leader(&s3, 1, epoch + 1);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sock_next(links[i].client), SOCK_RESET);
    assert_int_equal(sock_next(links[i].upstream), SOCK_RESET);
    tcp_proxy_close_link(links[i]);
  }
  proc_line(proxies[0].proc, PROC_OUT, "stopped: ");
  assert_int_equal(tcp_proxy_metric(&proxies[0], "passing"), 0);
}

static void drained_connections_hear_the_end(void** state) {
  const char* drain[] = {"--drain", "1s", NULL};
  uint64_t epoch = start_both(drain);
  tcp_proxy_link_t answered[2] = {connect_by(0, 0), connect_by(1, 0)};
  tcp_proxy_link_t silent[2] = {connect_by(0, 0), connect_by(1, 0)};
  tcp_proxy_put_leader(&s3, 1, epoch + 1);
  tcp_proxy_await_metric(&s3, &proxies[0], "draining", 4);
  tcp_proxy_await_metric(&s3, &proxies[1], "draining", 2);
  for (int i = 0; i < 2; i++) {
    sock_send(answered[i].client, "too late", 8);
    sock_expect_text(answered[i].upstream, answered[i].client, "the answer");
    sock_end_sending(answered[i].upstream);
    assert_int_equal(sock_next(answered[i].client), SOCK_END);
  }
  for (int i = 0; i < 2; i++) {
    sock_event_t event = sock_next(answered[i].upstream); /* not a byte, whatever else */
    assert_true(event == SOCK_RESET || event == SOCK_END);
    assert_int_equal(sock_next(silent[i].client), SOCK_RESET);
    assert_int_equal(sock_next(silent[i].upstream), SOCK_RESET);
    tcp_proxy_close_link(answered[i]);
    tcp_proxy_close_link(silent[i]);
  }
}

static void ends_in_good_order(void** state) {
  const char* drain[] = {"--drain", "20s", NULL};
  start(0, drain);
  tcp_proxy_leads(&proxies[0]);
  tcp_proxy_link_t link = connect_by(0, 0), silent = connect_by(0, 0);
  proc_signal(proxies[0].proc, SIGTERM);
  proc_line(proxies[0].proc, PROC_OUT, "stopped: ");
  assert_int_equal(sock_connect(proxies[0].clients), -1);
  sock_send(link.client, "too late", 8);
  sock_expect_text(link.upstream, link.client, "the answer");
  s3proc_await_text(&s3, "lock.json", "0001-01-01T00:00:00Z"); /* released meanwhile */
  proc_signal(proxies[0].proc, SIGTERM);                       /* at once */
  assert_int_equal(proc_wait(proxies[0].proc), 0);
  assert_int_equal(sock_next(link.upstream), SOCK_RESET);
  assert_int_equal(sock_next(silent.client), SOCK_RESET);
  tcp_proxy_close_link(link);
  tcp_proxy_close_link(silent);
}

/* ---- A leader that is stopped in the midst of passing on ---- */

typedef struct flood_s {
  tcp_proxy_link_t link;
  pthread_t sender, reader;
  atomic_uint_fast64_t arrived;
} flood_t;

static void* send_all_the_time(void* arg) {
  static const char block[256 * 1024];
  const flood_t* flood = arg;
  while (send(flood->link.client, block, sizeof block, MSG_NOSIGNAL) > 0)
    ;
  return NULL;
}

static void* read_all_the_time(void* arg) {
  flood_t* flood = arg;
  char* block = malloc(256 * 1024);
  for (ssize_t n; (n = recv(flood->link.upstream, block, 256 * 1024, 0)) > 0;)
    atomic_fetch_add(&flood->arrived, (uint_fast64_t)n);
  free(block);
  return NULL;
}

static void start_flood(flood_t* flood, int leader) {
  atomic_store(&flood->arrived, 0);
  flood->link = connect_by(leader, leader);
  assert_int_equal(pthread_create(&flood->sender, NULL, send_all_the_time, flood), 0);
  assert_int_equal(pthread_create(&flood->reader, NULL, read_all_the_time, flood), 0);
  while (atomic_load(&flood->arrived) < 4u << 20)
    sched_yield();
}

/* One round: the leader is stopped while it passes bytes on, the other one leads, the first one
 * wakes up with its blocks full. Returns how many writes it did not do. */
static uint64_t stop_amid_a_flood(int leader, uint64_t* epoch) {
  static flood_t floods[FLOODS];
  uint64_t before[FLOODS];
  uint64_t fenced = tcp_proxy_metric(&proxies[leader], "fenced_total");
  for (int i = 0; i < FLOODS; i++)
    start_flood(&floods[i], leader);
  proc_signal(proxies[leader].proc, SIGSTOP);
  uint64_t next = tcp_proxy_leads(&proxies[!leader]);
  assert_true(next > *epoch);
  *epoch = next;
  tcp_proxy_link_t fresh = connect_by(!leader, !leader);
  sock_expect_text(fresh.client, fresh.upstream, "of the new epoch");
  for (int i = 0; i < FLOODS; i++)
    before[i] = atomic_load(&floods[i].arrived);
  proc_signal(proxies[leader].proc, SIGCONT);
  for (int i = 0; i < FLOODS; i++) {
    assert_int_equal(pthread_join(floods[i].sender, NULL), 0);
    assert_int_equal(pthread_join(floods[i].reader, NULL), 0);
    assert_int_equal(atomic_load(&floods[i].arrived), before[i]);
    tcp_proxy_close_link(floods[i].link);
  }
  proc_line(proxies[leader].proc, PROC_OUT, "stopped: ");
  tcp_proxy_follows(&proxies[leader], &proxies[!leader], next);
  tcp_proxy_close_link(fresh);
  return tcp_proxy_metric(&proxies[leader], "fenced_total") - fenced;
}

/* Where it was stopped is chance, and it must be between a read and a write, or within, for the
 * question before the write to matter: tried until it was. */
static void stopped_leader_passes_nothing_on(void** state) {
  uint64_t epoch = start_both(NULL), fenced = 0;
  for (int round = 0; round < ROUNDS && fenced == 0; round++)
    fenced += stop_amid_a_flood(round % 2, &epoch);
  assert_true(fenced > 0);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(held_until_somebody_leads, begin, end),
      cmocka_unit_test_setup_teardown(refused_after_the_hold, begin, end),
      cmocka_unit_test_setup_teardown(waits_for_its_backend, begin, end),
      cmocka_unit_test_setup_teardown(killed_leader_is_replaced, begin, end),
      cmocka_unit_test_setup_teardown(connections_to_an_old_leader_are_closed, begin, end),
      cmocka_unit_test_setup_teardown(drained_connections_hear_the_end, begin, end),
      cmocka_unit_test_setup_teardown(ends_in_good_order, begin, end),
      cmocka_unit_test_setup_teardown(stopped_leader_passes_nothing_on, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
