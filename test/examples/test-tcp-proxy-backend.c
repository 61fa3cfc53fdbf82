/* examples/tcp-proxy: backends that stop and restart. A proxy without a backend gives up leadership
 * and leaves the election, still forwards its clients to the leader, and rejoins the election when
 * its backend is back.
 *
 * The proxy runs with a lockfile only: its behaviour depends on who leads, not on the protocol.
 *
 * ctest labels: no-valgrind one-protocol */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/tcp_proxy_rig.h"
#include "lib/test.h"

/* The proxies connect to their backends ten times a second, whether these accept it or not. */
#define BACKLOG 4096

static s3proc_t s3;
static tcp_proxy_t proxies[2];
static int backends[2], ports[2];
static const char* const names[2] = {"a", "b"};

static void start(int i) {
  const char* more[] = {"--yield-after", "500ms", "--hold", "1m", NULL};
  tcp_proxy_start(&s3, &proxies[i], names[i], ports[i], more, NULL);
}

static int begin(void** state) {
  s3proc_begin_file(&s3, S3L_BUILD_DIR);
  for (int i = 0; i < 2; i++)
    backends[i] = sock_listen(&ports[i], BACKLOG);
  return 0;
}

static int end(void** state) {
  for (int i = 0; i < 2; i++)
    tcp_proxy_stop(&proxies[i]);
  s3proc_end(&s3);
  for (int i = 0; i < 2; i++)
    close(backends[i]);
  return 0;
}

static void kill_backend(int i) {
  close(backends[i]);
  backends[i] = -1;
}

static void revive_backend(int i) {
  backends[i] = sock_listen_at(ports[i], BACKLOG);
  proc_line(proxies[i].proc, PROC_OUT, "standing: ");
}

static int connect_saying(int by, const char* text) {
  int client = sock_connect(proxies[by].clients);
  assert_true(client >= 0);
  sock_send(client, text, strlen(text));
  return client;
}

/* Both clients reach that backend, in whichever order. */
static void reach(const int clients[2], int backend) {
  int upstreams[2];
  for (int i = 0; i < 2; i++) {
    upstreams[i] = sock_accept_speaking(backends[backend]);
    sock_expect(upstreams[i], "hello");
    sock_send(upstreams[i], "world", 5);
  }
  for (int i = 0; i < 2; i++)
    sock_expect(clients[i], "world");
  for (int i = 0; i < 2; i++) {
    close(clients[i]);
    close(upstreams[i]);
  }
}

/* A client of each proxy. */
static void both_reach(int backend) {
  const int clients[2] = {connect_saying(0, "hello"), connect_saying(1, "hello")};
  reach(clients, backend);
}

static uint64_t yields_to(int from, int to) {
  kill_backend(from);
  proc_line(proxies[from].proc, PROC_OUT, "aside: ");
  uint64_t epoch = tcp_proxy_leads(&proxies[to]);
  tcp_proxy_follows(&proxies[from], &proxies[to], epoch);
  assert_int_equal(tcp_proxy_metric(&proxies[from], "leader"), 0);
  assert_int_equal(tcp_proxy_metric(&proxies[from], "aside"), 1);
  both_reach(to);
  return epoch;
}

static void leadership_goes_to_where_a_backend_is(void** state) {
  start(0);
  uint64_t first = tcp_proxy_leads(&proxies[0]);
  start(1);
  tcp_proxy_follows(&proxies[1], &proxies[0], first);
  both_reach(0);

  uint64_t second = yields_to(0, 1);
  assert_true(second > first);
  revive_backend(0);
  assert_int_equal(tcp_proxy_metric(&proxies[0], "aside"), 0);
  both_reach(1); /* it takes nothing back */
  assert_int_equal(tcp_proxy_metric(&proxies[1], "leader"), 1);

  uint64_t third = yields_to(1, 0);
  assert_true(third > second);

  /* Nobody has one: nobody leads, and clients wait for the first that comes back. */
  kill_backend(0);
  proc_line(proxies[0].proc, PROC_OUT, "aside: ");
  assert_int_equal(tcp_proxy_metric(&proxies[0], "leader"), 0);
  int held[2] = {connect_saying(0, "hello"), connect_saying(1, "hello")};
  revive_backend(1);
  assert_true(tcp_proxy_leads(&proxies[1]) > third);
  reach(held, 1);
  backends[0] = sock_listen_at(ports[0], BACKLOG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(leadership_goes_to_where_a_backend_is, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
