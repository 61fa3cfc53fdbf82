/* examples/embed: two instances on one store in a directory, and a register that they share.
 *
 * A leader that is suspended between its leadership check and its write resumes with an old epoch,
 * and the register refuses the write. This is deterministic: the test holds the register's file
 * lock, so the leader is suspended exactly there. The register's epochs never decrease.
 *
 * ctest labels: tsan no-valgrind slow */

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/proc.h"
#include "lib/protocol.h"
#include "lib/test.h"

#define PROGRAM      S3L_BUILD_DIR "/examples/embed/example-embed"
#define REGISTER_MAX (256 * 1024)

typedef struct instance_s {
  proc_t* proc;
  const char* id;
  int port;
} instance_t;

static procs_t procs;
static char dir[64], register_path[96];

static uint64_t number_after(const char* line, const char* text) {
  const char* at = strstr(line, text);
  assert_non_null(at);
  return strtoull(at + strlen(text), NULL, 10);
}

static instance_t launch(const char* id) {
  char store[96];
  snprintf(store, sizeof store, "file://%s/lock.json", dir);
  const char* argv[] = {PROGRAM,
                        "--store",
                        store,
                        "--register",
                        register_path,
                        "--id",
                        id,
                        "--leader-timeout",
                        "2500",
                        "--protocol",
                        s3l_test_epochs() ? "epochs" : "lockfile",
                        NULL};
  instance_t instance = {.proc = proc_spawn(&procs, argv, NULL), .id = id};
  const char* line = proc_line(instance.proc, PROC_OUT, "listening: http://127.0.0.1:");
  instance.port = (int)number_after(line, "127.0.0.1:");
  return instance;
}

static int connect_to(const instance_t* instance) {
  struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)instance->port)};
  addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  assert_int_equal(connect(fd, (struct sockaddr*)&addr, sizeof addr), 0);
  return fd;
}

/* Sends `request`, and reads until the server closes. */
static void talk(const instance_t* instance, const char* request, char reply[4096]) {
  size_t len = 0;
  ssize_t n;
  int fd = connect_to(instance);
  assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
  while (len < 4095 && (n = recv(fd, reply + len, 4095 - len, 0)) > 0)
    len += (size_t)n;
  reply[len] = '\0';
  close(fd);
}

static int status_of(const instance_t* instance, const char* request) {
  char reply[4096];
  talk(instance, request, reply);
  assert_int_equal(strncmp(reply, "HTTP/1.1 ", 9), 0);
  return (int)strtol(reply + 9, NULL, 10);
}

static int leader_status(const instance_t* instance) {
  return status_of(instance, "GET /leader HTTP/1.1\r\nHost: x\r\n\r\n");
}

/* Reads the register, checks it as a whole, and counts the writes of one instance. */
static unsigned writes_of(const char* id) {
  static char text[REGISTER_MAX];
  FILE* file = fopen(register_path, "r");
  unsigned count = 0;
  uint64_t last_epoch = 0, last_value = 0;
  if (file == NULL)
    return 0;
  size_t len = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[len] = '\0';
  for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    uint64_t epoch, value;
    char writer[16];
    assert_int_equal(sscanf(line, "%" SCNu64 " %" SCNu64 " %15s", &epoch, &value, writer), 3);
    assert_true(epoch >= last_epoch);
    assert_int_equal(value, last_value + 1);
    last_epoch = epoch;
    last_value = value;
    count += strcmp(writer, id) == 0;
  }
  return count;
}

/* Whether the leader of that epoch has left in good order. */
static bool is_released(uint64_t epoch) {
  char path[128], record[4096];
  snprintf(path, sizeof path, "%s/lock.json", dir);
  if (s3l_test_epochs())
    snprintf(path, sizeof path, "%s/lock.jsonlock-%010" PRIu64 ".json", dir, epoch);
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  record[fread(record, 1, sizeof record - 1, file)] = '\0';
  fclose(file);
  return strstr(record, "0001-01-01T00:00:00Z") != NULL;
}

static int setup(void** state) {
  snprintf(dir, sizeof dir, "/tmp/s3lect-embed-XXXXXX");
  assert_non_null(mkdtemp(dir));
  snprintf(register_path, sizeof register_path, "%s/register", dir);
  procs_begin(&procs);
  return 0;
}

static int teardown(void** state) {
  procs_end(&procs);
  const char* argv[] = {"/bin/rm", "-r", dir, NULL};
  procs_begin(&procs);
  assert_int_equal(proc_wait(proc_spawn(&procs, argv, NULL)), 0);
  procs_end(&procs);
  return 0;
}

static void answers_http(void** state) {
  char reply[4096], request[8192];
  instance_t a = launch("a");
  assert_int_equal(status_of(&a, "GET / HTTP/1.1\r\n\r\n"), 200);
  assert_int_equal(status_of(&a, "GET /other HTTP/1.1\r\n\r\n"), 404);
  assert_int_equal(status_of(&a, "POST /leader HTTP/1.1\r\n\r\n"), 405);
  assert_int_equal(status_of(&a, "nonsense\r\n\r\n"), 400);
  memset(request, 'x', sizeof request);
  memcpy(request, "GET /", 5);
  request[4096] = '\0';
  assert_int_equal(status_of(&a, request), 431);
  assert_int_equal(leader_status(&a), 503); /* nobody leads at once where no lockfile is */
  proc_line(a.proc, PROC_OUT, "leading: epoch ");
  talk(&a, "HEAD /leader HTTP/1.1\r\n\r\n", reply);
  assert_non_null(strstr(reply, "HTTP/1.1 200 "));
  assert_string_equal(strstr(reply, "\r\n\r\n"), "\r\n\r\n");
  proc_signal(a.proc, SIGTERM);
  assert_int_equal(proc_wait(a.proc), 0);
}

/* Connections that are reset before they are answered end no process: the answer would raise
 * SIGPIPE.
 */
static void survives_resets(void** state) {
  static const char request[] = "GET /leader HTTP/1.1\r\n\r\n";
  const struct linger reset = {.l_onoff = 1};
  instance_t a = launch("a");
  proc_signal(a.proc, SIGSTOP);
  for (int i = 0; i < 5; i++) {
    int fd = connect_to(&a);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    close(fd);
  }
  proc_signal(a.proc, SIGCONT);
  assert_int_equal(status_of(&a, "GET / HTTP/1.1\r\n\r\n"), 200);
  proc_signal(a.proc, SIGTERM);
  assert_int_equal(proc_wait(a.proc), 0);
}

static bool has_asked_the_leader(void* arg) {
  char reply[4096];
  talk(arg, "GET / HTTP/1.1\r\n\r\n", reply);
  return number_after(reply, "has answered ") > 0;
}

static void peers_ask_each_other(void** state) {
  char reply[4096];
  static const char request[] = "GET /health/leadership HTTP/1.1\r\n\r\n";
  instance_t a = launch("a");
  proc_line(a.proc, PROC_OUT, "leading: epoch ");
  instance_t b = launch("b");
  talk(&a, request, reply);
  assert_int_equal(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
  assert_non_null(strstr(reply, "application/json"));
  assert_non_null(strstr(reply, "\"leaderID\":\"a\""));
  assert_int_equal(status_of(&b, request), 404);
  assert_int_equal(status_of(&a, "POST /health/leadership HTTP/1.1\r\n\r\n"), 405);
  procs_until(&procs, has_asked_the_leader, &b);
  proc_signal(b.proc, SIGTERM);
  proc_signal(a.proc, SIGTERM);
  assert_int_equal(proc_wait(b.proc), 0);
  assert_int_equal(proc_wait(a.proc), 0);
}

/* Waits until a job of the leader has asked whether it leads, and cannot write: returns the lock
 * that keeps it from doing so. Every "writing" makes one line in the register, or none yet. */
static int catch_between_check_and_write(const instance_t* leader) {
  int fd = open(register_path, O_RDWR | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  unsigned written = writes_of(leader->id);
  proc_rewind(leader->proc, PROC_OUT);
  for (unsigned i = 0; i <= written; i++)
    proc_line(leader->proc, PROC_OUT, "writing: ");
  return fd;
}

static void paused_leader_is_refused(void** state) {
  instance_t a = launch("a");
  uint64_t first = number_after(proc_line(a.proc, PROC_OUT, "leading: epoch "), "epoch ");
  instance_t b = launch("b");
  proc_line(a.proc, PROC_OUT, "accepted: ");
  assert_int_equal(leader_status(&a), 200);
  assert_int_equal(leader_status(&b), 503);

  int lock = catch_between_check_and_write(&a);
  proc_signal(a.proc, SIGSTOP);
  uint64_t second = number_after(proc_line(b.proc, PROC_OUT, "leading: epoch "), "epoch ");
  assert_true(second > first);
  assert_int_equal(leader_status(&b), 200);
  close(lock);
  const char* line = proc_line(b.proc, PROC_OUT, "accepted: ");
  assert_int_equal(number_after(line, "epoch "), second);

  proc_signal(a.proc, SIGCONT);
  line = proc_line(a.proc, PROC_OUT, "refused: ");
  assert_int_equal(number_after(line, "epoch "), first);
  assert_int_equal(number_after(line, "has seen "), second);
  proc_rewind(a.proc, PROC_OUT);
  proc_line(a.proc, PROC_OUT, "stopped: ");
  assert_int_equal(leader_status(&a), 503);

  /* A writer that dies leaves half a line behind; the leader is killed, the other one goes on. */
  proc_signal(b.proc, SIGKILL);
  assert_int_equal(proc_wait(b.proc), 128 + SIGKILL);
  int fd = open(register_path, O_WRONLY | O_APPEND | O_CLOEXEC);
  assert_int_equal(write(fd, "99", 2), 2);
  close(fd);
  uint64_t third = number_after(proc_line(a.proc, PROC_OUT, "leading: epoch "), "epoch ");
  assert_true(third > second);
  line = proc_line(a.proc, PROC_OUT, "accepted: ");
  assert_int_equal(number_after(line, "epoch "), third);
  assert_int_equal(leader_status(&a), 200);

  proc_signal(a.proc, SIGTERM);
  assert_int_equal(proc_wait(a.proc), 0);
  assert_true(writes_of("a") > 1 && writes_of("b") > 0);
  assert_true(is_released(third));
}

static void ends_while_a_job_is_under_way(void** state) {
  instance_t a = launch("a");
  proc_line(a.proc, PROC_OUT, "accepted: ");
  int lock = catch_between_check_and_write(&a);
  proc_signal(a.proc, SIGTERM);
  proc_line(a.proc, PROC_OUT, "stopped: stopped");
  close(lock); /* nobody else has led: the job is still accepted, and only then it ends */
  proc_line(a.proc, PROC_OUT, "accepted: ");
  assert_int_equal(proc_wait(a.proc), 0);
  writes_of("a");
}

static void says_what_is_wrong(void** state) {
  const char* const usage[] = {PROGRAM, "--store", "file:///tmp/x", NULL};
  proc_t* proc = proc_spawn(&procs, usage, NULL);
  proc_line(proc, PROC_ERR, "usage: ");
  assert_int_equal(proc_wait(proc), 2);
  const char* const protocol[] = {PROGRAM, "--store",    "file:///tmp/x", "--register", "x",
                                  "--id",  "--protocol", "--protocol",    "epoch",      NULL};
  proc = proc_spawn(&procs, protocol, NULL);
  proc_line(proc, PROC_ERR, "usage: ");
  assert_int_equal(proc_wait(proc), 2);
  const char* const timing[] = {PROGRAM, "--store", "file:///tmp/x",    "--register",
                                "x",     "--id",    "--leader-timeout", "--leader-timeout",
                                "900",   NULL};
  proc = proc_spawn(&procs, timing, NULL);
  proc_line(proc, PROC_ERR, "leader_timeout_ms: 900 ms is unsafe");
  assert_int_equal(proc_wait(proc), 1);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(answers_http, setup, teardown),
      cmocka_unit_test_setup_teardown(survives_resets, setup, teardown),
      cmocka_unit_test_setup_teardown(peers_ask_each_other, setup, teardown),
      cmocka_unit_test_setup_teardown(paused_leader_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(ends_while_a_job_is_under_way, setup, teardown),
      cmocka_unit_test_setup_teardown(says_what_is_wrong, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
