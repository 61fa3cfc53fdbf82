/* The HTTP server where the process has no file descriptor left for another connection: it neither
 * spins nor throws the connection away, and gives it the place of one that is idle. Not under
 * valgrind, which gives a process descriptors beyond its limit.
 *
 * ctest labels: no-valgrind */
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/server_rig.h"
#include "lib/test.h"
#include "lib/wait.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static s3l_server_rig_t rig;
static struct rlimit before;
static int waiting; /* a socket made while that was possible */

static void note_polled(uv_handle_t* handle, void* arg) {
  uv_os_fd_t fd;
  int listens = 0;
  socklen_t len = sizeof(listens);
  if (handle->type == UV_POLL && uv_fileno(handle, &fd) == 0 &&
      getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0)
    *(bool*)arg = uv_is_active(handle) != 0;
}

/* Whether the loop looks for connections to accept. */
static bool polls(void) {
  bool polled = false;
  uv_walk(&rig.loop, note_polled, &polled);
  return polled;
}

static bool has_paused_twice(void* arg) {
  return s3l_server_rig_stats(&rig).pauses >= 2;
}

/* From here on not one more descriptor can be had. */
static void use_up(void) {
  waiting = socket(AF_INET, SOCK_STREAM, 0);
  int next = dup(waiting);
  assert_true(waiting >= 0 && next > waiting);
  assert_int_equal(close(next), 0);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit low = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
}

/* The kernel connects; nobody has accepted yet. */
static void connect_waiting(void) {
  static const char request[] = GET("/");
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons(s3l_http_server_port(rig.server))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_int_equal(connect(waiting, (struct sockaddr*)&to, sizeof(to)), 0);
  assert_int_equal(send(waiting, request, sizeof(request) - 1, 0), sizeof(request) - 1);
}

static void start(void) {
  s3l_server_rig_init(&rig);
  s3l_server_rig_start(&rig);
}

static void test_nothing_idle(void** state) {
  start();
  s3l_caller_t* held = s3l_caller_new(&rig, NULL);
  s3l_caller_open(held);
  s3l_caller_send(held, GET("/hold"));
  s3l_server_rig_wait_held(&rig, 1);
  use_up();
  connect_waiting();
  s3l_wait(&rig.loop, has_paused_twice, NULL, "pauses"); /* it tries again by itself */
  assert_false(polls());
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  s3l_server_rig_wait(&rig, &rig.requests, 2);
  assert_true(polls());
  s3l_server_rig_answer(&rig, "held all the while");
  s3l_caller_expect(held, "held all the while");
  assert_int_equal(s3l_server_rig_stats(&rig).evicted, 0);
  s3l_caller_free(held);
  s3l_server_rig_end(&rig);
  assert_int_equal(close(waiting), 0);
}

static void test_idle_makes_room(void** state) {
  start();
  s3l_caller_t* idle = s3l_caller_new(&rig, NULL);
  s3l_caller_open(idle);
  s3l_caller_talk(idle, GET("/"), "hello", false);
  use_up();
  connect_waiting();
  s3l_server_rig_wait(&rig, &rig.requests, 2);
  s3l_caller_expect_end(idle);
  assert_int_equal(s3l_server_rig_stats(&rig).evicted, 1);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  s3l_caller_free(idle);
  s3l_server_rig_end(&rig);
  assert_int_equal(close(waiting), 0);
}

static void test_close_while_paused(void** state) {
  start();
  use_up();
  connect_waiting();
  s3l_wait(&rig.loop, has_paused_twice, NULL, "pauses");
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  s3l_server_rig_end(&rig);
  assert_int_equal(close(waiting), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_idle),
                                     cmocka_unit_test(test_idle_makes_room),
                                     cmocka_unit_test(test_close_while_paused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
