/* examples/tcp-proxy: forwarding while the leader stays the same. This program acts as the backends
 * of two proxies: all data arrives at the leader's backend, whichever proxy a client connects to.
 *
 * The proxy runs with a lockfile only: its behaviour depends on who leads, not on the protocol.
 *
 * ctest labels: no-valgrind one-protocol slow */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tcp_proxy_rig.h"
#include "lib/test.h"

#define MANY  5000
#define LIMIT 5100  /* of the follower */
#define FILES 12000 /* that this program, and each proxy, may have to open */
#define BLOCK (64 * 1024)

static tcp_proxy_pair_t pair;
static const tcp_proxy_t* const both[] = {&pair.leader, &pair.follower};

static int begin(void** state) {
  const char* few[] = {"--max-connections", "5100", NULL};
  tcp_proxy_pair_begin(&pair, S3L_BUILD_DIR, NULL, few);
  return 0;
}

static int end(void** state) {
  tcp_proxy_pair_end(&pair);
  return 0;
}

/* ---- Tests ---- */

static void passes_both_ways(void** state) {
  for (size_t i = 0; i < 2; i++) {
    tcp_proxy_link_t link = tcp_proxy_connect(both[i], pair.backend);
    sock_expect_text(link.client, link.upstream, "SET x 1\r\n");
    sock_expect_text(link.upstream, link.client, "+OK\r\n");
    sock_expect_text(link.client, link.upstream, "GET x\r\n");
    tcp_proxy_close_link(link);
  }
}

/* A backend that speaks first is heard by a client that has said nothing. */
static void server_speaks_first(void** state) {
  for (size_t i = 0; i < 2; i++) {
    int client = sock_connect(both[i]->clients);
    int upstream = sock_accept(pair.backend);
    sock_expect_text(upstream, client, "220 ready\r\n");
    close(client);
    assert_int_equal(sock_next(upstream), SOCK_END);
    close(upstream);
  }
}

static void half_close_is_passed_on(void** state) {
  for (size_t i = 0; i < 4; i++) {
    tcp_proxy_link_t link = tcp_proxy_connect(both[i % 2], pair.backend);
    int first = i < 2 ? link.client : link.upstream;
    int second = i < 2 ? link.upstream : link.client;
    sock_expect_text(first, second, "the last word");
    sock_end_sending(first);
    assert_int_equal(sock_next(second), SOCK_END);
    sock_expect_text(second, first, "an answer");
    sock_expect_text(second, first, "and more");
    sock_end_sending(second);
    assert_int_equal(sock_next(first), SOCK_END);
    tcp_proxy_close_link(link);
  }
}

static void reset_is_passed_on(void** state) {
  for (size_t i = 0; i < 4; i++) {
    tcp_proxy_link_t link = tcp_proxy_connect(both[i % 2], pair.backend);
    int first = i < 2 ? link.client : link.upstream;
    int second = i < 2 ? link.upstream : link.client;
    sock_reset(first);
    assert_int_equal(sock_next(second), SOCK_RESET);
    close(second);
  }
}

/* What a backend has said before it breaks off is still heard. */
static void words_before_a_reset_arrive(void** state) {
  char text[8];
  tcp_proxy_link_t link = tcp_proxy_connect(&pair.leader, pair.backend);
  sock_send(link.client, "unread", 6);
  while (sock_is_quiet(link.upstream))
    sched_yield();
  sock_send(link.upstream, "goodbye", 7);
  close(link.upstream); /* with bytes unread: a reset behind the words */
  sock_recv(link.client, text, 7);
  assert_memory_equal(text, "goodbye", 7);
  sock_event_t event = sock_next(link.client);
  assert_true(event == SOCK_RESET || event == SOCK_END);
  close(link.client);
}

/* Sends until the way is full, without waiting: true once nothing has been taken for a while. */
static size_t fill(int fd) {
  static char block[BLOCK];
  struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
  size_t sent = 0;
  while (poll(&poll_fd, 1, 300) == 1) {
    for (size_t i = 0; i < BLOCK; i++)
      block[i] = (char)((sent + i) * 31 >> 3);
    ssize_t n = send(fd, block, BLOCK, MSG_NOSIGNAL | MSG_DONTWAIT);
    assert_true(n > 0);
    sent += (size_t)n;
    assert_true(sent < (size_t)256 << 20); /* somebody keeps it all */
  }
  return sent;
}

static void empty(int fd, size_t len) {
  static char block[BLOCK];
  for (size_t got = 0; got < len;) {
    ssize_t n = recv(fd, block, len - got < BLOCK ? len - got : BLOCK, 0);
    assert_true(n > 0);
    for (size_t i = 0; i < (size_t)n; i++)
      assert_int_equal(block[i], (char)((got + i) * 31 >> 3));
    got += (size_t)n;
  }
}

static void slow_reader_slows_its_sender(void** state) {
  for (size_t i = 0; i < 4; i++) {
    tcp_proxy_link_t link = tcp_proxy_connect(both[i % 2], pair.backend);
    int from = i < 2 ? link.client : link.upstream;
    int to = i < 2 ? link.upstream : link.client;
    size_t sent = fill(from);
    assert_int_equal(tcp_proxy_metric(both[i % 2], "buffered"), 1);
    sock_expect_text(to, from, "the other way is free"); /* both are served apart */
    sock_end_sending(from);
    empty(to, sent);
    assert_int_equal(sock_next(to), SOCK_END);
    sock_expect_text(to, from, "done");
    tcp_proxy_close_link(link);
    assert_int_equal(tcp_proxy_metric(both[i % 2], "buffered"), 0);
  }
}

typedef struct sender_s {
  int fd;
  size_t len;
} sender_t;

static void* send_much(void* arg) {
  const sender_t* sender = arg;
  static char block[2][BLOCK];
  static int which;
  char* mine = block[__atomic_fetch_add(&which, 1, __ATOMIC_RELAXED) % 2];
  for (size_t sent = 0; sent < sender->len;) {
    size_t want = sender->len - sent < BLOCK ? sender->len - sent : BLOCK;
    for (size_t i = 0; i < want; i++)
      mine[i] = (char)((sent + i) * 31 >> 3);
    ssize_t n = send(sender->fd, mine, want, MSG_NOSIGNAL);
    if (n <= 0)
      break; /* what is missing is missed by the reader */
    sent += (size_t)n;
  }
  (void)shutdown(sender->fd, SHUT_WR);
  return NULL;
}

static void much_passes_both_ways_at_once(void** state) {
  for (size_t i = 0; i < 2; i++) {
    tcp_proxy_link_t link = tcp_proxy_connect(both[i], pair.backend);
    sender_t up = {link.client, 16 << 20}, down = {link.upstream, 16 << 20};
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, send_much, &up), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, send_much, &down), 0);
    empty(link.upstream, up.len);
    assert_int_equal(sock_next(link.upstream), SOCK_END);
    empty(link.client, down.len);
    assert_int_equal(sock_next(link.client), SOCK_END);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    tcp_proxy_close_link(link);
  }
}

static void thousands_at_once(void** state) {
  static tcp_proxy_link_t links[MANY];
  for (int i = 0; i < MANY; i++)
    links[i] = tcp_proxy_connect(&pair.follower, pair.backend);
  assert_int_equal(tcp_proxy_metric(&pair.follower, "passing"), MANY);
  assert_int_equal(tcp_proxy_metric(&pair.leader, "passing"), MANY);
  for (int i = 0; i < MANY; i++) {
    char text[16];
    snprintf(text, sizeof text, "number %d", i);
    sock_expect_text(links[i].client, links[i].upstream, text);
    sock_expect_text(links[i].upstream, links[i].client, text);
  }
  for (int i = 0; i < MANY; i++)
    tcp_proxy_close_link(links[i]);
  for (size_t i = 0; i < 2; i++) {
    while (tcp_proxy_metric(both[i], "connections") > 0)
      sched_yield();
    assert_int_equal(tcp_proxy_metric(both[i], "buffered"), 0);
  }
}

static void too_many_are_refused(void** state) {
  static int clients[LIMIT];
  for (int i = 0; i < LIMIT; i++) {
    clients[i] = sock_connect(pair.follower.clients);
    /* This ends one side: the connection stays until the client ends it, too. */
    close(sock_accept(pair.backend));
    assert_int_equal(sock_next(clients[i]), SOCK_END);
  }
  uint64_t refused = tcp_proxy_metric(&pair.follower, "refused_total{why=\"limit\"}");
  int one_more = sock_connect(pair.follower.clients);
  assert_int_equal(sock_next(one_more), SOCK_RESET);
  close(one_more);
  assert_int_equal(tcp_proxy_metric(&pair.follower, "refused_total{why=\"limit\"}"), refused + 1);
  for (int i = 0; i < LIMIT; i++)
    close(clients[i]);
  while (tcp_proxy_metric(&pair.follower, "connections") > 0)
    sched_yield();
  tcp_proxy_close_link(tcp_proxy_connect(&pair.follower, pair.backend));
}

static void metrics_only(void** state) {
  static const struct {
    const char *request, *status;
  } cases[] = {{"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
               {"nonsense\r\n\r\n", "HTTP/1.1 404 "},
               {"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "}};
  char reply[16];
  for (size_t i = 0; i < 3; i++) {
    int fd = sock_connect(pair.leader.metrics);
    sock_send(fd, cases[i].request, strlen(cases[i].request));
    sock_recv(fd, reply, strlen(cases[i].status));
    assert_memory_equal(reply, cases[i].status, strlen(cases[i].status));
    close(fd);
  }
  char much[2048];
  memset(much, 'x', sizeof much);
  int fd = sock_connect(pair.leader.metrics);
  sock_send(fd, much, sizeof much);
  sock_recv(fd, reply, 13);
  assert_memory_equal(reply, "HTTP/1.1 431 ", 13);
  close(fd);
  assert_int_equal(tcp_proxy_metric(&pair.leader, "leader"), 1);
  assert_int_equal(tcp_proxy_metric(&pair.leader, "epoch"), pair.epoch);
  assert_int_equal(tcp_proxy_metric(&pair.leader, "leaderships_total"), 1);
  assert_int_equal(tcp_proxy_metric(&pair.follower, "leader"), 0);
  assert_int_equal(tcp_proxy_metric(&pair.follower, "epoch"), pair.epoch);
  assert_int_equal(tcp_proxy_metric(&pair.follower, "route_open"), 1);
}

/* The proxies inherit it. */
static bool raise_limit(void) {
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  return limit.rlim_max >= FILES && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_both_ways),
      cmocka_unit_test(server_speaks_first),
      cmocka_unit_test(half_close_is_passed_on),
      cmocka_unit_test(reset_is_passed_on),
      cmocka_unit_test(words_before_a_reset_arrive),
      cmocka_unit_test(slow_reader_slows_its_sender),
      cmocka_unit_test(much_passes_both_ways_at_once),
      cmocka_unit_test(thousands_at_once),
      cmocka_unit_test(too_many_are_refused),
      cmocka_unit_test(metrics_only),
  };
  if (!raise_limit()) {
    printf("skipped: fewer than %d open files are allowed here (ulimit -Hn)\n", FILES);
    return 77;
  }
  return cmocka_run_group_tests(tests, begin, end);
}
