/* examples/tcp-proxy: headers, loops and limits. Invalid data from clients and proxies, the header
 * for the backend (--proxy-protocol), and that connections never loop, whatever the record says.
 *
 * The proxy runs with a lockfile only: its behaviour depends on who leads, not on the protocol.
 *
 * ctest labels: no-valgrind one-protocol */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tcp_proxy_rig.h"
#include "lib/test.h"

#define PROGRAM TCP_PROXY(S3L_BUILD_DIR)

/* Both proxies begin connections to their backends with a header. */
static tcp_proxy_pair_t pair;

static int begin(void** state) {
  const char* more[] = {"--proxy-protocol", "--half-closed", "200ms", NULL};
  tcp_proxy_pair_begin(&pair, S3L_BUILD_DIR, more, more);
  return 0;
}

static int end(void** state) {
  tcp_proxy_pair_end(&pair);
  return 0;
}

/* ---- What goes before the bytes ---- */

static const uint8_t signature[12] = {13, 10, 13, 10, 0, 13, 10, 'Q', 'U', 'I', 'T', 10};

/* A header as another proxy would send it. `peer`: with the record that says so. */
static size_t make_header(uint8_t out[64], uint8_t command, uint64_t of_epoch, bool peer) {
  memcpy(out, signature, sizeof signature);
  out[12] = command;
  out[13] = 0;
  out[14] = 0;
  out[15] = peer ? 15 : 11;
  memcpy(out + 16, "\xE3\0\x8", 3);
  for (int i = 0; i < 8; i++)
    out[19 + i] = (uint8_t)(of_epoch >> (56 - 8 * i));
  memcpy(out + 27, "\xE4\0\1\1", 4);
  return peer ? 31 : 27;
}

/* Reads the header that a backend gets, of a connection from `client` to `proxy`. */
static void expect_header(int upstream, int client, const tcp_proxy_t* proxy) {
  uint8_t h[39], want[39];
  struct sockaddr_in from;
  socklen_t len = sizeof from;
  uint16_t to = htons((uint16_t)proxy->clients);
  assert_int_equal(getsockname(client, (struct sockaddr*)&from, &len), 0);
  memcpy(want, signature, sizeof signature);
  memcpy(want + 12, "\x21\x11\0\x17", 4); /* version 2, PROXY; TCP over IPv4; 12 + 11 bytes */
  memcpy(want + 16, &from.sin_addr, 4);
  memcpy(want + 20, &from.sin_addr, 4); /* loopback, too */
  memcpy(want + 24, &from.sin_port, 2);
  memcpy(want + 26, &to, 2);
  memcpy(want + 28, "\xE3\0\x8", 3);
  for (int i = 0; i < 8; i++)
    want[31 + i] = (uint8_t)(pair.epoch >> (56 - 8 * i));
  sock_recv(upstream, h, sizeof h);
  assert_memory_equal(h, want, sizeof h);
}

static void backend_is_told_the_client_and_the_epoch(void** state) {
  const tcp_proxy_t* both[] = {&pair.leader, &pair.follower};
  for (size_t i = 0; i < 2; i++) {
    int client = sock_connect(both[i]->clients);
    sock_send(client, "first words", 11);
    int upstream = sock_accept(pair.backend);
    char text[11];
    expect_header(upstream, client, both[i]);
    sock_recv(upstream, text, 11);
    assert_memory_equal(text, "first words", 11);
    sock_expect_text(upstream, client, "answer");
    sock_expect_text(client, upstream, "more");
    close(client);
    close(upstream);
  }
}

/* A client's own PROXY header is the backend's affair, unless it is a proxy's of ours. */
static void clients_header_passes_unless_it_is_a_proxys(void** state) {
  uint8_t header[64], got[64];
  size_t len = make_header(header, 0x21, pair.epoch, false);
  int client = sock_connect(pair.leader.clients);
  sock_send(client, header, len);
  int upstream = sock_accept(pair.backend);
  expect_header(upstream, client, &pair.leader);
  sock_recv(upstream, got, len);
  assert_memory_equal(got, header, len);
  close(client);
  close(upstream);

  uint64_t refused = tcp_proxy_metric(&pair.leader, "refused_total{why=\"loop\"}");
  len = make_header(header, 0x21, pair.epoch, true);
  client = sock_connect(pair.leader.clients);
  upstream = sock_accept(pair.backend);
  expect_header(upstream, client, &pair.leader);
  sock_send(client, header, len);
  assert_int_equal(sock_next(client), SOCK_RESET);
  assert_int_equal(sock_next(upstream), SOCK_RESET); /* nothing of it arrived */
  close(client);
  close(upstream);
  assert_int_equal(tcp_proxy_metric(&pair.leader, "refused_total{why=\"loop\"}"), refused + 1);
}

/* The same header cut in two, anywhere: its end does not arrive. */
static void a_proxys_header_is_found_in_pieces(void** state) {
  uint8_t header[64], got[64];
  uint64_t refused = tcp_proxy_metric(&pair.leader, "refused_total{why=\"loop\"}");
  size_t len = make_header(header, 0x21, pair.epoch, true);
  for (size_t cut = 1; cut < len; cut++) {
    int client = sock_connect(pair.leader.clients), upstream = sock_accept(pair.backend);
    expect_header(upstream, client, &pair.leader);
    sock_send(client, header, cut);
    sock_recv(upstream, got, cut);
    assert_memory_equal(got, header, cut);
    sock_send(client, header + cut, len - cut);
    assert_int_equal(sock_next(client), SOCK_RESET);
    assert_int_equal(sock_next(upstream), SOCK_RESET);
    close(client);
    close(upstream);
  }
  assert_int_equal(tcp_proxy_metric(&pair.leader, "refused_total{why=\"loop\"}"),
                   refused + len - 1);
}

/* What only begins like one passes, at once and as it is. */
static void what_begins_like_a_header_passes(void** state) {
  uint8_t header[64];
  size_t len = make_header(header, 0x21, pair.epoch, true);
  for (size_t cut = 1; cut < len; cut++) {
    int client = sock_connect(pair.leader.clients), upstream = sock_accept(pair.backend);
    expect_header(upstream, client, &pair.leader);
    sock_send(client, header, cut);
    uint8_t got[64];
    sock_recv(upstream, got, cut);
    assert_memory_equal(got, header, cut);
    sock_expect_text(client, upstream, "and goes on in another way");
    sock_expect_text(upstream, client, "answer");
    close(client);
    close(upstream);
  }
}

static void expect_answer(int fd, uint8_t status) {
  uint8_t bytes[16];
  sock_recv(fd, bytes, sizeof bytes);
  assert_memory_equal(bytes, "S3LECT\1", 7);
  assert_int_equal(bytes[7], status);
}

static void proxies_are_answered(void** state) {
  uint8_t header[64];
  /* A question, one byte at a time. */
  size_t len = make_header(header, 0x20, pair.epoch, true);
  int fd = sock_connect(pair.leader.peers);
  for (size_t i = 0; i < len; i++)
    sock_send(fd, header + i, 1);
  expect_answer(fd, 1);
  assert_int_equal(sock_next(fd), SOCK_END);
  close(fd);

  /* A connection, without a client's address. */
  len = make_header(header, 0x21, pair.epoch, true);
  fd = sock_connect(pair.leader.peers);
  sock_send(fd, header, len);
  expect_answer(fd, 1);
  int upstream = sock_accept(pair.backend);
  uint8_t got[27], want[64];
  make_header(want, 0x21, pair.epoch, false);
  sock_recv(upstream, got, sizeof got);
  assert_memory_equal(got, want, sizeof got);
  sock_expect_text(fd, upstream, "passed on");
  close(fd);
  close(upstream);

  /* Who does not lead sends nothing on, least of all to a third one. */
  for (int i = 0; i < 2; i++) {
    len = make_header(header, i == 0 ? 0x20 : 0x21, pair.epoch, true);
    fd = sock_connect(pair.follower.peers);
    sock_send(fd, header, len);
    expect_answer(fd, 2);
    assert_int_equal(sock_next(fd), SOCK_END);
    close(fd);
  }
  assert_true(sock_none_waits(pair.backend));
}

static void no_proxy_is_refused(void** state) {
  static const struct {
    const char* bytes;
    size_t len;
  } cases[] = {
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27},              /* another protocol */
      {"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16},           /* too long */
      {"\r\n\r\n\0\r\nQUIT\n\x31\0\0\0", 16},                 /* another version */
      {"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\4abcd", 20},           /* half an address */
      {"\r\n\r\n\0\r\nQUIT\n\x21\0\0\4\xE4\0\2\1", 20},       /* a record beyond the end */
      {"\r\n\r\n\0\r\nQUIT\n\x21\0\0\2\xE4\0", 18},           /* half a record */
      {"\r\n\r\n\0\r\nQUIT\n\x21\0\0\5\xE4\0\1\1\xE3", 21},   /* a record cut short, */
      {"\r\n\r\n\0\r\nQUIT\n\x21\0\0\6\xE4\0\1\1\xE3\0", 22}, /* in its type and length */
      {"\r\n\r\n\0\r\nQUIT\n\x21\0\0\0", 16},                 /* not from a proxy */
      {"\r\n\r\n\0\r\nQUIT\n\x21\0\0\4\xE4\0\1\2", 20},       /* nor this one */
      {"\r\n\r\n", 4},                                        /* nothing more comes */
  };
  const size_t count = sizeof cases / sizeof cases[0];
  uint64_t refused = tcp_proxy_metric(&pair.leader, "refused_total{why=\"header\"}");
  for (size_t i = 0; i < count; i++) {
    int fd = sock_connect(pair.leader.peers);
    sock_send(fd, cases[i].bytes, cases[i].len);
    assert_int_equal(sock_next(fd), SOCK_RESET);
    close(fd);
  }
  assert_int_equal(tcp_proxy_metric(&pair.leader, "refused_total{why=\"header\"}"),
                   refused + count);
  assert_true(sock_none_waits(pair.backend));
}

/* ---- Addresses ---- */

/* Names are looked up, and all that they mean is tried: localhost is ::1, too, where nobody
 * listens. */
static void names_are_looked_up(void** state) {
  static s3proc_t s3b; /* not on the stack: a test that fails jumps out of here */
  tcp_proxy_t a, b;
  char by_name[32], advertise[32], peer_listen[32], text[64];
  int port, listener = sock_listen(&port, 16), peers = sock_free_port();
  snprintf(by_name, sizeof by_name, "localhost:%d", port);
  snprintf(advertise, sizeof advertise, "localhost:%d", peers);
  snprintf(peer_listen, sizeof peer_listen, "127.0.0.1:%d", peers);
  const char* more[] = {"--backend", by_name, "--peer-listen", peer_listen, "--advertise",
                        advertise,   NULL};
  s3proc_begin_file(&s3b, S3L_BUILD_DIR);
  tcp_proxy_start(&s3b, &a, "a", 1, more, NULL);
  uint64_t of_epoch = tcp_proxy_leads(&a);
  close(sock_accept(listener));
  tcp_proxy_start(&s3b, &b, "b", 1, NULL, NULL);
  snprintf(text, sizeof text, "open: %s, epoch %" PRIu64, advertise, of_epoch);
  proc_line(b.proc, PROC_OUT, text);
  int client = sock_connect(b.clients), upstream = sock_accept(listener);
  sock_expect_text(client, upstream, "found");
  close(client);
  close(upstream);
  close(listener);
  s3proc_end(&s3b);
}

static int connect_v6(int port) {
  struct sockaddr_in6 addr = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr*)&addr, sizeof addr) == 0)
    return fd;
  close(fd);
  return -1;
}

/* By a proxy that is not the leader: its header between the two carries them as well. */
static void addresses_of_ipv6_are_told(void** state) {
  struct sockaddr_in6 from;
  socklen_t len = sizeof from;
  tcp_proxy_t by;
  char listen_at[32];
  uint8_t h[63], want[63];
  int port = sock_free_port();
  int probe = connect_v6(port);
  if (probe < 0 && errno != ECONNREFUSED)
    skip(); /* no IPv6 here */
  snprintf(listen_at, sizeof listen_at, "[::1]:%d", port);
  const char* argv[] = {PROGRAM,   "--store",           pair.s3.store, "--id",
                        "six",     "--listen",          listen_at,     "--backend",
                        "[::1]:1", "--leader-timeout",  "2500ms",      "--renew",
                        "300ms",   "--request-timeout", "700ms",       NULL};
  by.proc = proc_spawn(&pair.s3.procs, argv, NULL);
  proc_line(by.proc, PROC_OUT, listen_at);
  proc_line(by.proc, PROC_OUT, "open: ");
  int client = connect_v6(port);
  assert_true(client >= 0);
  int upstream = sock_accept(pair.backend);
  uint16_t to = htons((uint16_t)port);
  assert_int_equal(getsockname(client, (struct sockaddr*)&from, &len), 0);
  memcpy(want, signature, sizeof signature);
  memcpy(want + 12, "\x21\x21\0\x2f", 4); /* TCP over IPv6; 36 + 11 bytes */
  memcpy(want + 16, &from.sin6_addr, 16);
  memcpy(want + 32, &from.sin6_addr, 16);
  memcpy(want + 48, &from.sin6_port, 2);
  memcpy(want + 50, &to, 2);
  memcpy(want + 52, "\xE3\0\x8", 3);
  for (int i = 0; i < 8; i++)
    want[55 + i] = (uint8_t)(pair.epoch >> (56 - 8 * i));
  sock_recv(upstream, h, sizeof h);
  assert_memory_equal(h, want, sizeof h);
  close(client);
  close(upstream);
  tcp_proxy_stop(&by);
  proc_forget(by.proc);
}

/* ---- Ends that do not come ---- */

static void half_closed_silence_ends(void** state) {
  int open_client = sock_connect(pair.leader.clients), open_upstream = sock_accept(pair.backend);
  expect_header(open_upstream, open_client, &pair.leader);
  int client = sock_connect(pair.leader.clients), upstream = sock_accept(pair.backend);
  expect_header(upstream, client, &pair.leader);
  sock_end_sending(client);
  assert_int_equal(sock_next(upstream), SOCK_END);
  assert_int_equal(sock_next(client), SOCK_RESET);
  assert_int_equal(tcp_proxy_metric(&pair.leader, "closed_total{why=\"half_closed\"}"), 1);
  sock_expect_text(open_client, open_upstream, "silence alone is no end");
  close(client);
  close(upstream);
  close(open_client);
  close(open_upstream);
}

/* A backend that does not read, and a client that gives up behind what it has sent: nothing moves
 * any more, and nobody reads the end. */
static void failure_behind_unread_bytes_ends(void** state) {
  static char block[64 * 1024];
  const tcp_proxy_t* both[] = {&pair.leader, &pair.follower};
  for (size_t i = 0; i < 2; i++) {
    int client = sock_connect(both[i]->clients), upstream = sock_accept(pair.backend);
    expect_header(upstream, client, both[i]);
    while (tcp_proxy_metric(both[i], "buffered") == 0)
      while (send(client, block, sizeof block, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        ;
    assert_int_equal(tcp_proxy_metric(both[i], "passing"), 1);
    sock_reset(client);
    for (size_t k = 0; k <= i; k++)
      while (tcp_proxy_metric(both[k], "connections") > 0)
        sched_yield();
    assert_int_equal(tcp_proxy_metric(both[i], "buffered"), 0);
    close(upstream);
  }
}

/* ---- Circles ---- */

/* The record names an address at which no proxy listens for others: a proxy's own for clients, its
 * own for proxies, that of another one's clients. Whatever arrives there is held, or refused, and
 * nothing multiplies. */
static void records_cannot_make_circles(void** state) {
  static s3proc_t s3b; /* not on the stack: a test that fails jumps out of here */
  tcp_proxy_t a, b;
  const char* more[] = {"--hold", "1500ms", "--connect-timeout", "300ms", NULL};
  int port, listener = sock_listen(&port, 16);
  s3proc_begin_file(&s3b, S3L_BUILD_DIR);
  tcp_proxy_put_leader(&s3b, 1, 1);
  tcp_proxy_start(&s3b, &a, "a", port, more, NULL);
  tcp_proxy_start(&s3b, &b, "b", port, more, NULL);
  const int places[] = {a.clients, a.peers, b.clients};
  for (size_t i = 0; i < 3; i++) {
    char text[64];
    tcp_proxy_put_leader(&s3b, places[i], i + 2);
    snprintf(text, sizeof text, "127.0.0.1:%d, epoch %zu: ", places[i], i + 2);
    proc_line(a.proc, PROC_ERR, text); /* it has been asked, and it is none */
    proc_line(b.proc, PROC_ERR, text);
    uint64_t before = tcp_proxy_metric(&a, "refused_total{why=\"no_leader\"}");
    int clients[2] = {sock_connect(a.clients), sock_connect(b.clients)};
    sock_send(clients[0], "round and round", 15);
    sock_send(clients[1], "round and round", 15);
    for (int c = 0; c < 2; c++) {
      assert_int_equal(sock_next(clients[c]), SOCK_RESET);
      close(clients[c]);
    }
    assert_true(tcp_proxy_metric(&a, "refused_total{why=\"no_leader\"}") > before);
    assert_int_equal(tcp_proxy_metric(&a, "passing"), 0);
    assert_int_equal(tcp_proxy_metric(&b, "passing"), 0);
    assert_int_equal(tcp_proxy_metric(&a, "route_open"), 0);
    /* One question at a time each, every 400 ms, held for 1.5 s, plus this client. */
    assert_true(tcp_proxy_metric(&a, "connections") < 20);
  }
  assert_int_equal(tcp_proxy_metric(&a, "bytes_total{to=\"backend\"}"), 0);
  assert_true(sock_none_waits(listener));
  s3proc_end(&s3b);
  close(listener);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(backend_is_told_the_client_and_the_epoch),
      cmocka_unit_test(clients_header_passes_unless_it_is_a_proxys),
      cmocka_unit_test(a_proxys_header_is_found_in_pieces),
      cmocka_unit_test(what_begins_like_a_header_passes),
      cmocka_unit_test(proxies_are_answered),
      cmocka_unit_test(no_proxy_is_refused),
      cmocka_unit_test(names_are_looked_up),
      cmocka_unit_test(addresses_of_ipv6_are_told),
      cmocka_unit_test(half_closed_silence_ends),
      cmocka_unit_test(failure_behind_unread_bytes_ends),
      cmocka_unit_test(records_cannot_make_circles),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
