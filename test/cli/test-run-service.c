/* `s3lect run` as a service: --standby by signal, and what systemd is told (Type=notify).
 *
 * ctest labels: no-valgrind one-protocol slow. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/runproc.h"
#include "lib/s3proc_case.h"
#include "lib/test.h"

#define TURNS  "while :; do sleep 0.01; done"
#define READY  "echo ready $S3LECT_EPOCH; " TURNS
#define GENTLE "trap 'echo asked; sleep 0.2; exit 0' TERM; " READY

static proc_t* run(const char* id, const char* script) {
  return s3proc_s3lect(&s3, "run", id,
                       (const char*[]){"--standby", "--", "/bin/sh", "-c", script, NULL});
}

/* ---- --standby ---- */

static void a_leader_stands_aside_and_comes_back(void** state) {
  proc_t* a = run("a", GENTLE);
  proc_line(a, PROC_OUT, "ready");
  proc_t* b = run("b", GENTLE);
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(a, SIGUSR1);
  proc_line(a, PROC_ERR, "s3lect run: standing aside: SIGUSR2 takes part in the election again");
  proc_line(a, PROC_OUT, "asked");
  proc_line(a, PROC_ERR, "/bin/sh exited with status 0");
  proc_line(b, PROC_OUT, "ready");
  proc_signal(a, SIGUSR1); /* once is enough */
  proc_signal(a, SIGUSR2);
  proc_line(a, PROC_ERR, "s3lect run: taking part in the election again");
  proc_line(a, PROC_ERR, "s3lect run: b leads");
  proc_signal(b, SIGUSR1);
  proc_line(a, PROC_OUT, "ready");
  assert_int_equal(proc_end(b, SIGTERM), 128 + SIGTERM);
  assert_int_equal(proc_end(a, SIGTERM), 0);
}

/* Alone it leads again only when it may. */
static void nobody_leads_while_the_only_one_stands_aside(void** state) {
  proc_t* a = run("a", READY);
  proc_line(a, PROC_OUT, "ready 1001");
  proc_signal(a, SIGUSR1);
  proc_line(a, PROC_ERR, "/bin/sh ended by signal 15");
  char line[2048];
  do {
    assert_true(s3proc_status(&s3, (const char*[]){"--json", NULL}, line) != 1);
  } while (strcmp(proc_json_string(line, "state"), "released") != 0);
  proc_signal(a, SIGUSR2);
  proc_line(a, PROC_OUT, "ready 1002");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
}

/* SIGUSR2 comes while the command is still being ended: it ends, and the leadership does. */
static void comes_back_while_the_command_ends(void** state) {
  proc_t* a = run("a", "trap 'echo asked' TERM; " READY);
  proc_line(a, PROC_OUT, "ready 1001");
  proc_signal(a, SIGUSR1);
  proc_line(a, PROC_OUT, "asked");
  proc_signal(a, SIGUSR2);
  proc_line(a, PROC_ERR, "/bin/sh ended by signal 9");
  proc_line(a, PROC_OUT, "ready 1002");
  proc_signal(a, SIGUSR2); /* no effect */
  proc_signal(a, SIGTERM);
  proc_line(a, PROC_OUT, "asked");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGKILL);
}

static void a_follower_stands_aside(void** state) {
  proc_t* a = run("a", GENTLE);
  proc_line(a, PROC_OUT, "ready");
  proc_t* b = run("b", READY);
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(b, SIGUSR1);
  proc_line(b, PROC_ERR, "s3lect run: standing aside");
  assert_int_equal(proc_end(a, SIGTERM), 0);
  proc_t* c = run("c", GENTLE);
  proc_line(c, PROC_OUT, "ready");
  assert_int_equal(proc_end(b, SIGTERM), 128 + SIGTERM);
  assert_int_equal(proc_end(c, SIGTERM), 0);
}

/* The signal comes while the leadership is being lost. */
static void stands_aside_when_leadership_is_lost(void** state) {
  proc_t* a = run("a", "trap 'echo asked' TERM; " READY);
  proc_line(a, PROC_OUT, "ready");
  proc_signal(s3.fake, SIGSTOP);
  proc_line(a, PROC_OUT, "asked");
  proc_signal(a, SIGUSR1);
  proc_line(a, PROC_ERR, "/bin/sh ended by signal 9");
  proc_signal(s3.fake, SIGCONT);
  proc_t* b = run("b", GENTLE);
  proc_line(b, PROC_OUT, "ready");
  proc_signal(a, SIGUSR2);
  proc_line(a, PROC_ERR, "s3lect run: b leads");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
  assert_int_equal(proc_end(b, SIGTERM), 0);
}

/* ---- systemd ---- */

static int service; /* the socket on which systemd would listen */
static char heard[4096];

static void listen_at(const struct sockaddr_un* at, size_t len) {
  service = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  assert_true(service >= 0);
  assert_int_equal(bind(service, (const struct sockaddr*)at, (socklen_t)len), 0);
}

/* At a path in the scratch folder; `environment` becomes what a shell sets for s3lect. */
static struct sockaddr_un listen_at_path(char environment[256], const char* more) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  snprintf(at.sun_path, sizeof at.sun_path, "%s/notify", s3.dir);
  listen_at(&at, sizeof at);
  snprintf(environment, 256, "NOTIFY_SOCKET=%s %s exec \"$@\"", at.sun_path, more);
  return at;
}

static bool has_heard(void* arg) {
  ssize_t n;
  while ((n = recv(service, heard, sizeof heard - 1, 0)) >= 0) {
    heard[n] = '\0';
    if (strstr(heard, arg) != NULL)
      return true;
  }
  assert_true(errno == EAGAIN);
  return false;
}

static void await_datagram(const char* text) {
  procs_until(&s3.procs, has_heard, (void*)(uintptr_t)text);
}

/* The whole life of a service. What it runs is not told of the socket. */
static void live(const char* environment) {
  s3.through = environment;
  proc_t* a = run("a", "echo socket $NOTIFY_SOCKET watchdog $WATCHDOG_USEC; " GENTLE);
  await_datagram("READY=1\nSTATUS=waiting to lead");
  await_datagram("READY=1\nSTATUS=leading with epoch 1001");
  proc_line(a, PROC_OUT, "ready");
  proc_rewind(a, PROC_OUT);
  assert_string_equal(proc_line(a, PROC_OUT, "socket"), "socket watchdog");
  s3.through = NULL;
  proc_t* b = run("b", GENTLE);
  proc_line(b, PROC_ERR, "s3lect run: a leads");
  proc_signal(a, SIGUSR1);
  await_datagram("READY=1\nSTATUS=standing aside");
  proc_line(b, PROC_OUT, "ready");
  proc_signal(a, SIGUSR2);
  await_datagram("READY=1\nSTATUS=following: b leads");
  proc_signal(a, SIGTERM);
  await_datagram("STOPPING=1\n");
  assert_int_equal(proc_wait(a), 128 + SIGTERM);
  assert_int_equal(proc_end(b, SIGTERM), 0);
  close(service);
}

static void tells_systemd(void** state) {
  char environment[256];
  (void)listen_at_path(environment, "WATCHDOG_USEC=0 WATCHDOG_PID=1");
  live(environment);
}

static void tells_systemd_by_an_abstract_name(void** state) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  char environment[256];
  int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "s3lect-test-%d", (int)getpid());
  listen_at(&at, offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
  snprintf(environment, sizeof environment, "NOTIFY_SOCKET=@%s exec \"$@\"", at.sun_path + 1);
  live(environment);
}

static void feeds_the_watchdog(void** state) {
  char environment[256];
  (void)listen_at_path(environment, "WATCHDOG_USEC=40000 WATCHDOG_PID=$$");
  s3.through = environment;
  proc_t* a = run("a", READY);
  for (int i = 0; i < 5; i++)
    await_datagram("WATCHDOG=1");
  assert_int_equal(proc_end(a, SIGKILL), 128 + SIGKILL);
  close(service);
}

/* Nobody reads: what is lost is said again, and nothing waits for it. */
static void a_full_socket_holds_nothing_up(void** state) {
  char environment[256];
  struct sockaddr_un at = listen_at_path(environment, "");
  int filler = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  while (sendto(filler, "x", 1, 0, (const struct sockaddr*)&at, sizeof at) == 1)
    continue;
  close(filler);
  s3.through = environment;
  proc_t* a = run("a", READY);
  proc_line(a, PROC_OUT, "ready");
  await_datagram("READY=1\nSTATUS=leading with epoch 1001");
  assert_int_equal(proc_end(a, SIGTERM), 128 + SIGTERM);
  close(service);
}

/* Another address than systemd's, or nobody there. */
static void a_socket_that_is_none_is_ignored(void** state) {
  static const char* const sockets[] = {
      "NOTIFY_SOCKET=vsock:2:1234 exec \"$@\"", "NOTIFY_SOCKET=@ exec \"$@\"",
      "NOTIFY_SOCKET=/nonexistent/socket WATCHDOG_USEC=x exec \"$@\""};
  for (size_t i = 0; i < 3; i++) {
    s3.through = sockets[i];
    proc_t* a = run("a", "exit 6");
    if (i < 2)
      proc_line(a, PROC_ERR, "is ignored: it is neither /PATH nor @NAME");
    assert_int_equal(proc_wait(a), 6);
  }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin_seeded, end)
  static const struct CMUnitTest tests[] = {
      T(a_leader_stands_aside_and_comes_back), T(nobody_leads_while_the_only_one_stands_aside),
      T(comes_back_while_the_command_ends),    T(a_follower_stands_aside),
      T(stands_aside_when_leadership_is_lost), T(tells_systemd),
      T(tells_systemd_by_an_abstract_name),    T(feeds_the_watchdog),
      T(a_full_socket_holds_nothing_up),       T(a_socket_that_is_none_is_ignored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
