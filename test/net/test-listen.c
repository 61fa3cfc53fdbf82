/* The listening socket: addresses and turns. Clients are plain sockets: the kernel connects them
 * before anybody accepts. What it does where descriptors have run out:
 * http/test-server-descriptors.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/wait.h"
#include "net/listen.h"
#include "net/tcp.h"
#include "util/list.h"

static uv_loop_t loop;
static s3l_loop_t* runtime;
static s3l_listener_t listener;
static unsigned accepted;
static unsigned refused;
static unsigned closed;
static bool full;
static bool close_in_accept;

static bool admit(s3l_listener_t* l, const s3l_address_t* from) {
  assert_true(from->sa.sa_family == AF_INET || from->sa.sa_family == AF_INET6);
  assert_ptr_equal(l, &listener);
  refused += full;
  return !full;
}

static void on_accept(s3l_listener_t* l, uv_tcp_t* tcp, const s3l_address_t* from) {
  accepted++;
  s3l_tcp_close(tcp, NULL);
  if (close_in_accept)
    s3l_listen_close(l);
}

static void on_pause(s3l_listener_t* l, int error) {
  fail_msg("%s", uv_strerror(error));
}

static void on_closed(s3l_listener_t* l) {
  closed++;
}

static int try_start(s3l_listener_t* l, const char* text) {
  s3l_address_t address;
  const char* reason;
  assert_true(s3l_listen_parse(s3l_span_cstr(text), &address, &reason));
  *l = (s3l_listener_t){
      .admit = admit, .on_accept = on_accept, .on_pause = on_pause, .on_closed = on_closed};
  int rc = s3l_listen_open(l, &address);
  return rc == 0 ? s3l_listen_start(l, runtime) : rc;
}

static void start(const char* text) {
  accepted = refused = closed = 0;
  full = close_in_accept = false;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(s3l_loop_join(&loop, &runtime), 0);
  assert_int_equal(try_start(&listener, text), 0);
}

static void end(void) {
  s3l_listen_close(&listener);
  s3l_listen_close(&listener); /* twice is once */
  s3l_loop_leave(runtime, NULL);
  s3l_wait_loop_end(&loop);
  assert_int_equal(closed, 1);
}

/* 0, or errno's code. */
static int try_connect(const char* ip, int* out) {
  s3l_address_t a;
  assert_true(s3l_address_parse(ip, s3l_address_port(&listener.address), &a));
  int fd = socket(a.sa.sa_family, SOCK_STREAM, 0);
  assert_true(fd >= 0);
  *out = fd;
  return connect(fd, &a.sa, a.sa.sa_family == AF_INET6 ? sizeof(a.in6) : sizeof(a.in4));
}

static int dial(const char* ip) {
  int fd;
  assert_int_equal(try_connect(ip, &fd), 0);
  return fd;
}

static void test_parse(void** state) {
  static const struct {
    const char* text;
    const char* want; /* NULL: refused */
  } cases[] = {
      {"127.0.0.1:8443", "127.0.0.1:8443"},
      {"0.0.0.0:0", "0.0.0.0:0"},
      {"[::1]:65535", "[::1]:65535"},
      {"localhost:80", "127.0.0.1:80"},
      {":80", "[::]:80"},
      {"*:80", "[::]:80"},
      {"", NULL},
      {"127.0.0.1", NULL},
      {"127.0.0.1:", NULL},
      {"127.0.0.1:65536", NULL},
      {"127.0.0.1:-1", NULL},
      {"127.0.0.1:http", NULL},
      {"127.0.0.1:80 ", NULL},
      {"::1:80", NULL}, /* which part would be the port? */
      {"[127.0.0.1]:80", NULL},
      {"[::1:80", NULL},
      {"[]:80", NULL},
      {"example.com:80", NULL},
      {"256.0.0.1:80", NULL},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    s3l_address_t address;
    char text[S3L_ADDRESS_TEXT_MAX];
    const char* reason = NULL;
    bool ok = s3l_listen_parse(s3l_span_cstr(cases[i].text), &address, &reason);
    if (ok != (cases[i].want != NULL))
      fail_msg("\"%s\": %d", cases[i].text, ok);
    if (!ok) {
      assert_ptr_equal(strstr(reason, "must "), reason);
      continue;
    }
    s3l_address_format(&address, text, sizeof(text));
    assert_string_equal(text, cases[i].want);
  }
}

static bool has_ip6(void) {
  int fd = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  bool has = fd >= 0 && bind(fd, (struct sockaddr*)&a, sizeof(a)) == 0;
  if (fd >= 0)
    (void)close(fd);
  return has;
}

static void test_families(void** state) {
  static const struct {
    const char* on;
    const char* from;
    bool ip6;
  } cases[] = {
      {"127.0.0.1:0", "127.0.0.1", false},
      {"[::1]:0", "::1", true},
      {":0", "127.0.0.1", false},
      {":0", "::1", true},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    if (cases[i].ip6 && !has_ip6())
      continue;
    start(cases[i].on);
    assert_true(s3l_address_port(&listener.address) != 0);
    int fd = dial(cases[i].from);
    s3l_wait_count(&loop, &accepted, 1, "a connection");
    (void)close(fd);
    end();
  }
}

/* Who comes in crowds is let in a few at a time. */
static void test_turns(void** state) {
  enum { CROWD = 100 };
  int fds[CROWD];
  start("127.0.0.1:0");
  for (int i = 0; i < CROWD; i++)
    fds[i] = dial("127.0.0.1");
  while (accepted < CROWD) {
    unsigned before = accepted;
    (void)s3l_turn(&loop);
    assert_true(accepted - before <= S3L_LISTEN_ACCEPTS);
  }
  for (int i = 0; i < CROWD; i++)
    (void)close(fds[i]);
  end();
}

static void test_refused(void** state) {
  char byte;
  start("127.0.0.1:0");
  full = true;
  int fd = dial("127.0.0.1");
  s3l_wait_count(&loop, &refused, 1, "a refused connection");
  assert_int_equal(recv(fd, &byte, 1, 0), 0);
  (void)close(fd);
  assert_int_equal(accepted, 0);
  end();
}

/* The port is taken while it is open, and free the moment it is closed. */
static void test_port(void** state) {
  char text[S3L_ADDRESS_TEXT_MAX];
  s3l_listener_t second;
  int fd;
  start("127.0.0.1:0");
  s3l_address_format(&listener.address, text, sizeof(text));
  assert_int_equal(try_start(&second, text), UV_EADDRINUSE);
  s3l_listen_close(&listener);
  assert_int_not_equal(try_connect("127.0.0.1", &fd), 0);
  (void)close(fd);
  s3l_wait_count(&loop, &closed, 1, "the first one's closing");
  closed = 0;
  assert_int_equal(try_start(&listener, text), 0);
  fd = dial("127.0.0.1");
  s3l_wait_count(&loop, &accepted, 1, "a connection");
  (void)close(fd);
  end();
}

static void test_close_in_accept(void** state) {
  int fds[3];
  start("127.0.0.1:0");
  close_in_accept = true;
  for (int i = 0; i < 3; i++)
    fds[i] = dial("127.0.0.1");
  s3l_wait_count(&loop, &closed, 1, "its closing");
  assert_int_equal(accepted, 1);
  for (int i = 0; i < 3; i++)
    (void)close(fds[i]);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parse), cmocka_unit_test(test_families),
      cmocka_unit_test(test_turns), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_port),  cmocka_unit_test(test_close_in_accept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
