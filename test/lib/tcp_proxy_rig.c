#include "lib/tcp_proxy_rig.h"

#include "lib/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Proxies ---- */

static ssize_t receive(int fd, void* bytes, size_t len, int flags);

static int port_after(const char* line, const char* text) {
  const char* at = strstr(line, text);
  assert_non_null(at);
  return (int)strtol(at + strlen(text), NULL, 10);
}

void tcp_proxy_start(s3proc_t* s3, tcp_proxy_t* proxy, const char* id, int backend,
                     const char* const* more, const char* const* env) {
  char program[512], address[32];
  snprintf(program, sizeof program, "%s/examples/tcp-proxy/example-tcp-proxy", s3->build_dir);
  snprintf(address, sizeof address, "127.0.0.1:%d", backend);
  const char* argv[48] = {program,  "--store",          s3->store,     "--id",
                          id,       "--listen",         "127.0.0.1:0", "--backend",
                          address,  "--metrics-listen", "127.0.0.1:0", "--leader-timeout",
                          "2500ms", "--renew",          "300ms",       "--request-timeout",
                          "700ms",  "--frequent",       "100ms",       "--infrequent",
                          "200ms",  "--yield-after",    "0s"}; /* backends count connections */
  size_t n = 0;
  while (argv[n] != NULL)
    n++;
  for (; more != NULL && *more != NULL; more++) {
    assert_true(n < 47);
    argv[n++] = *more;
  }
  proxy->id = id;
  proxy->proc = proc_spawn(&s3->procs, argv, env);
  const char* line = proc_line(proxy->proc, PROC_OUT, "listening: ");
  proxy->clients = port_after(line, "clients 127.0.0.1:");
  proxy->peers = port_after(line, "proxies 127.0.0.1:");
  proxy->metrics = port_after(line, "metrics 127.0.0.1:");
}

uint64_t tcp_proxy_leads(tcp_proxy_t* proxy) {
  const char* line = proc_line(proxy->proc, PROC_OUT, "leading: epoch ");
  uint64_t epoch = strtoull(strstr(line, "epoch ") + 6, NULL, 10);
  proc_line(proxy->proc, PROC_OUT, "open: ");
  return epoch;
}

void tcp_proxy_follows(tcp_proxy_t* proxy, const tcp_proxy_t* leader, uint64_t epoch) {
  char text[96];
  snprintf(text, sizeof text, "open: 127.0.0.1:%d, epoch %" PRIu64, leader->peers, epoch);
  proc_line(proxy->proc, PROC_OUT, text);
}

uint64_t tcp_proxy_metric(const tcp_proxy_t* proxy, const char* name) {
  static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  char page[16384], line[128];
  size_t len = 0;
  int fd = sock_connect(proxy->metrics);
  assert_true(fd >= 0);
  sock_send(fd, request, sizeof request - 1);
  for (ssize_t n; (n = receive(fd, page + len, sizeof page - 1 - len, 0)) > 0;)
    len += (size_t)n;
  page[len] = '\0';
  close(fd);
  assert_int_equal(strncmp(page, "HTTP/1.1 200 ", 13), 0);
  snprintf(line, sizeof line, "\ns3lect_proxy_%s ", name);
  const char* at = strstr(page, line);
  if (at == NULL)
    fail_msg("no %s in %s", name, page);
  return strtoull(at + strlen(line), NULL, 10);
}

typedef struct metric_s {
  const tcp_proxy_t* proxy;
  const char* name;
  uint64_t value;
} metric_t;

static bool metric_is_there(void* arg) {
  const metric_t* metric = arg;
  return tcp_proxy_metric(metric->proxy, metric->name) >= metric->value;
}

void tcp_proxy_await_metric(s3proc_t* s3, const tcp_proxy_t* proxy, const char* name,
                            uint64_t value) {
  metric_t metric = {proxy, name, value};
  procs_until(&s3->procs, metric_is_there, &metric);
}

void tcp_proxy_stop(tcp_proxy_t* proxy) {
  proc_signal(proxy->proc, SIGTERM);
  assert_int_equal(proc_wait(proxy->proc), 0);
}

void tcp_proxy_put_leader(s3proc_t* s3, int port, uint64_t epoch) {
  char body[512];
  snprintf(body, sizeof body,
           "{\"leaderID\":\"other\",\"leaderAddr\":\"127.0.0.1:%d\",\"lastUpdated\":"
           "\"2026-01-01T00:00:00Z\",\"epoch\":%" PRIu64
           ",\"incarnation\":\"0123456789abcdef0123456789abcdef\",\"write\":1,\"transitions\":1,"
           "\"leaderTimeoutMs\":60000,\"renewIntervalMs\":20000}",
           port, epoch);
  s3proc_put(s3, body);
}

void tcp_proxy_pair_begin(tcp_proxy_pair_t* pair, const char* build_dir,
                          const char* const* leader_more, const char* const* follower_more) {
  int port, idle_port;
  pair->backend = sock_listen(&port, 1024);
  pair->idle_backend = sock_listen(&idle_port, 16);
  s3proc_begin_file(&pair->s3, build_dir);
  tcp_proxy_start(&pair->s3, &pair->leader, "a", port, leader_more, NULL);
  pair->epoch = tcp_proxy_leads(&pair->leader);
  close(sock_accept(pair->backend)); /* the proxy's probe */
  tcp_proxy_start(&pair->s3, &pair->follower, "b", idle_port, follower_more, NULL);
  tcp_proxy_follows(&pair->follower, &pair->leader, pair->epoch);
}

void tcp_proxy_pair_end(tcp_proxy_pair_t* pair) {
  assert_true(sock_none_waits(pair->idle_backend));
  tcp_proxy_stop(&pair->follower);
  tcp_proxy_stop(&pair->leader);
  s3proc_end(&pair->s3);
  close(pair->backend);
  close(pair->idle_backend);
}

tcp_proxy_link_t tcp_proxy_connect(const tcp_proxy_t* proxy, int backend) {
  tcp_proxy_link_t link = {.client = sock_connect(proxy->clients)};
  assert_true(link.client >= 0);
  sock_send(link.client, "hello", 5);
  link.upstream = sock_accept_speaking(backend);
  sock_expect(link.upstream, "hello");
  return link;
}

void tcp_proxy_close_link(tcp_proxy_link_t link) {
  close(link.client);
  close(link.upstream);
}

/* ---- Sockets ---- */

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return addr;
}

static void set_patience(int fd) {
  struct timeval patience = {.tv_sec = PROC_PATIENCE_MS / 1000};
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
}

int sock_listen_at(int port, int backlog) {
  struct sockaddr_in addr = loopback(port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  assert_true(fd >= 0);
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
  assert_int_equal(bind(fd, (struct sockaddr*)&addr, sizeof addr), 0);
  assert_int_equal(listen(fd, backlog), 0);
  return fd;
}

int sock_listen(int* port, int backlog) {
  struct sockaddr_in addr;
  socklen_t len = sizeof addr;
  int fd = sock_listen_at(0, backlog);
  assert_int_equal(getsockname(fd, (struct sockaddr*)&addr, &len), 0);
  *port = ntohs(addr.sin_port);
  return fd;
}

int sock_free_port(void) {
  int port;
  close(sock_listen(&port, 1));
  return port;
}

static bool is_ready(int fd, int timeout_ms) {
  struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
  int n;
  do /* the end of a process interrupts all that waits with a limit */
    n = poll(&poll_fd, 1, timeout_ms);
  while (n < 0 && errno == EINTR);
  return n == 1;
}

bool sock_none_waits(int listener) {
  return !is_ready(listener, 0);
}

int sock_accept(int listener) {
  assert_true(is_ready(listener, PROC_PATIENCE_MS));
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  assert_true(fd >= 0);
  set_patience(fd);
  return fd;
}

int sock_accept_speaking(int listener) {
  for (;;) {
    int fd = sock_accept(listener);
    if (sock_next(fd) == SOCK_DATA)
      return fd;
    close(fd);
  }
}

int sock_connect(int port) {
  struct sockaddr_in addr = loopback(port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  set_patience(fd);
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  assert_int_equal(pthread_sigmask(SIG_BLOCK, &child, &before), 0);
  int r =
      connect(fd, (struct sockaddr*)&addr, sizeof addr); /* not to be interrupted, see is_ready */
  assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
  if (r == 0)
    return fd;
  close(fd);
  return -1;
}

void sock_send(int fd, const void* bytes, size_t len) {
  assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

static ssize_t receive(int fd, void* bytes, size_t len, int flags) {
  ssize_t n;
  do
    n = recv(fd, bytes, len, flags);
  while (n < 0 && errno == EINTR);
  return n;
}

void sock_recv(int fd, void* bytes, size_t len) {
  for (size_t got = 0; got < len;) {
    ssize_t n = receive(fd, (char*)bytes + got, len - got, 0);
    assert_true(n > 0);
    got += (size_t)n;
  }
}

void sock_expect(int fd, const char* text) {
  char got[256];
  size_t len = strlen(text);
  assert_true(len < sizeof got);
  sock_recv(fd, got, len);
  assert_memory_equal(got, text, len);
}

void sock_expect_text(int from, int to, const char* text) {
  sock_send(from, text, strlen(text));
  sock_expect(to, text);
  assert_true(sock_is_quiet(to));
}

sock_event_t sock_next(int fd) {
  char byte;
  ssize_t n = receive(fd, &byte, 1, MSG_PEEK);
  if (n < 0 && errno != ECONNRESET)
    fail_msg("nothing comes: %s", strerror(errno));
  return n > 0 ? SOCK_DATA : n == 0 ? SOCK_END : SOCK_RESET;
}

bool sock_is_quiet(int fd) {
  return !is_ready(fd, 0);
}

void sock_end_sending(int fd) {
  assert_int_equal(shutdown(fd, SHUT_WR), 0);
}

void sock_reset(int fd) {
  struct linger now = {.l_onoff = 1, .l_linger = 0};
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  close(fd);
}
