/* What the system has runs out in whatever opens something: a dial, a look-up, accept, a program
 * that prints keys, the file of authorities, and the file store.
 *
 *   descriptors   the process may have so many more (EMFILE), from none on
 *   sockets       one call after the other fails with ENFILE, ENOBUFS or EMFILE
 *   libuv         one allocation of libuv after the other fails
 *
 * Each ends with a clear error or succeeds, nothing is left open or allocated, and the next attempt
 * works. Not under valgrind, which gives a process descriptors beyond its limit.
 *
 * libuv itself aborts where it cannot enlarge its table of descriptors, so that is done before.
 *
 * ctest labels: no-valgrind */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "credentials/process.h"
#include "lib/dir_rig.h"
#include "lib/group_certs.h"
#include "lib/test.h"
#include "lib/tls_files.h"
#include "lib/wait.h"
#include "net/dial.h"
#include "net/listen.h"
#include "net/tcp.h"
#include "s3lect/errno.h"

#define CALLS_MAX 200

/* ---- What runs out ---- */

static struct {
  int error; /* of the system calls below */
  size_t in; /* 1: the next one; 0: none */
  bool met;
} calls;

static struct {
  size_t live;
  size_t in; /* 1: the next one; 0: none */
  bool met;
} uv_heap;

static bool count_down(size_t* in, bool* met) {
  if (*in == 0 || --*in > 0)
    return false;
  *met = true;
  return true;
}

#ifdef __linux__
#  define OURS __attribute__((visibility("default"))) /* for libuv */

static bool call_fails(void) {
  if (!count_down(&calls.in, &calls.met))
    return false;
  errno = calls.error;
  return true;
}

OURS int socket(int domain, int type, int protocol) {
  return call_fails() ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

OURS int accept4(int fd, struct sockaddr* from, socklen_t* len, int flags) {
  return call_fails() ? -1 : (int)syscall(SYS_accept4, fd, from, len, flags);
}

OURS int socketpair(int domain, int type, int protocol, int fds[2]) {
  return call_fails() ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, fds);
}

OURS int pipe2(int fds[2], int flags) {
  return call_fails() ? -1 : (int)syscall(SYS_pipe2, fds, flags);
}
#endif

static bool uv_refuses(void) {
  return count_down(&uv_heap.in, &uv_heap.met);
}

static void* uv_gets(void* p) {
  uv_heap.live += p != NULL;
  return p;
}

static void* failing_malloc(size_t n) {
  return uv_refuses() ? NULL : uv_gets(malloc(n));
}

static void* failing_calloc(size_t count, size_t n) {
  return uv_refuses() ? NULL : uv_gets(calloc(count, n));
}

static void* failing_realloc(void* old, size_t n) {
  if (uv_refuses())
    return NULL;
  return old == NULL ? uv_gets(malloc(n)) : realloc(old, n);
}

static void plain_free(void* p) {
  uv_heap.live -= p != NULL;
  free(p);
}

/* ---- What opens something: each gives 0 or an error, which is a clear one ---- */

static uv_loop_t loop;
static s3l_loop_t* runtime;
static int target = -1; /* a listening socket; the kernel connects whoever comes */
static uint16_t target_port;

static struct {
  unsigned done;
  int status;
} end;

static void await_end(void) {
  s3l_wait_count(&loop, &end.done, 1, "an end");
}

static void on_dialed(s3l_dial_t* d, int status, uv_tcp_t* tcp) {
  end.done++;
  end.status = status;
  if (tcp != NULL)
    s3l_tcp_close(tcp, NULL);
}

static int dial(const char* host) {
  s3l_dial_t d;
  end.done = 0;
  int rc = s3l_dial_start(&d, runtime, NULL, host, target_port, on_dialed);
  if (rc != 0)
    return rc;
  await_end();
  return end.status;
}

static int dial_an_address(void) {
  int rc = dial("127.0.0.1");
  assert_true(rc == 0 || rc == UV_ENOMEM || rc == UV_EMFILE || rc == -calls.error);
  return rc;
}

/* Without a descriptor glibc says that there is no such name, or to try again. */
static int dial_a_name(void) {
  int rc = dial("localhost");
  assert_true(rc <= 0);
  return rc;
}

static int read_authorities(void) {
  s3l_tls_context_t* context;
  s3lect_error_t error = {0};
  int rc = s3l_tls_context_client(certs.ca, &context, &error);
  if (rc == 0)
    s3l_tls_context_free(context);
  else
    assert_non_null(strstr(error.text, uv_strerror(UV_EMFILE)));
  return rc;
}

static void on_keys(void* arg, int status, s3lect_credentials_t* creds) {
  end.done++;
  end.status = status;
  s3l_creds_free(creds);
}

static int run_program(void) {
  static const char command[] =
      "printf %s '{\"Version\":1,\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK\"}'";
  char text[512];
  s3l_buf_t why;
  s3l_process_t* p;
  end.done = 0;
  s3l_buf_init(&why, text, sizeof(text));
  int rc = s3l_process_start(runtime, s3l_span_cstr(command), 30000, on_keys, NULL, &why, &p);
  assert_int_equal(rc, 0);
  await_end();
  if (end.status != 0) {
    assert_true(end.status == S3LECT_ECREDENTIALS || end.status == UV_ENOMEM);
    assert_memory_equal(s3l_buf_cstr(&why), "credential_process ", 19);
  }
  return end.status;
}

static int write_object(void) {
  int rc = s3l_dir_put("lock.json", 0, NULL, "{}")->status;
  assert_true(rc == 0 || rc == UV_EMFILE || rc == UV_ENOMEM);
  return rc;
}

typedef int (*open_fn)(void);

static const open_fn all[] = {dial_an_address, dial_a_name, read_authorities, run_program,
                              write_object};
#define ALL_LEN (sizeof(all) / sizeof(all[0]))

/* ---- Nothing is left ---- */

static size_t open_descriptors(void) {
  size_t n = 0;
  DIR* dir = opendir("/dev/fd");
  assert_non_null(dir);
  while (readdir(dir) != NULL)
    n++;
  closedir(dir);
  return n;
}

/* Lets libuv close what it closes later. */
static void drain(void) {
  for (int i = 0; i < 5; i++)
    (void)uv_run(&loop, UV_RUN_NOWAIT);
}

static void works_again(open_fn run, size_t descriptors, size_t blocks) {
  drain();
  assert_int_equal(open_descriptors(), descriptors);
  assert_int_equal(uv_heap.live, blocks);
  assert_int_equal(run(), 0);
  drain();
}

/* ---- Tests ---- */

/* True if it succeeded with so many more descriptors. */
static bool run_with(open_fn run, rlim_t more) {
  struct rlimit before;
  int next = dup(target);
  assert_true(next > 0 && close(next) == 0);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit low = {.rlim_cur = (rlim_t)next + more, .rlim_max = before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
  calls.error = EMFILE;
  int rc = run();
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  return rc == 0;
}

static void test_descriptors(void** state) {
  for (size_t i = 0; i < ALL_LEN; i++) {
    size_t descriptors = open_descriptors(), blocks = uv_heap.live;
    rlim_t more = 0;
    while (!run_with(all[i], more)) {
      works_again(all[i], descriptors, blocks);
      assert_true(++more < CALLS_MAX);
    }
    assert_true(more > 0);
  }
}

static void test_calls(void** state) {
  static const int errors[] = {ENFILE, ENOBUFS, EMFILE};
  size_t met = 0;
  for (size_t i = 0; i < ALL_LEN; i++) {
    for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
      size_t descriptors = open_descriptors(), blocks = uv_heap.live, n = 0;
      do {
        calls.error = errors[e];
        calls.in = ++n;
        calls.met = false;
        (void)all[i]();
        calls.in = 0;
        met += calls.met;
        works_again(all[i], descriptors, blocks);
      } while (calls.met && n < CALLS_MAX);
      assert_true(n < CALLS_MAX);
    }
  }
#ifdef __linux__
  assert_true(met >= 9); /* socket, socketpair and pipe2 */
#endif
}

static void test_libuv(void** state) {
  size_t met = 0;
  for (size_t i = 0; i < ALL_LEN; i++) {
    size_t descriptors = open_descriptors(), blocks = uv_heap.live, n = 0;
    do {
      uv_heap.in = ++n;
      uv_heap.met = false;
      int rc = all[i]();
      uv_heap.in = 0;
      met += uv_heap.met;
      assert_true(uv_heap.met || rc == 0);
      works_again(all[i], descriptors, blocks);
    } while (uv_heap.met && n < CALLS_MAX);
    assert_true(n < CALLS_MAX);
  }
  assert_true(met >= 1); /* a look-up */
}

/* ---- accept ---- */

static struct {
  s3l_listener_t listener;
  unsigned accepted, pauses, closed;
  int error;
} door;

static bool admit(s3l_listener_t* l, const s3l_address_t* from) {
  return true;
}

static void on_accept(s3l_listener_t* l, uv_tcp_t* tcp, const s3l_address_t* from) {
  door.accepted++;
  s3l_tcp_close(tcp, NULL);
}

static void on_pause(s3l_listener_t* l, int error) {
  door.pauses++;
  door.error = error;
}

static void on_closed(s3l_listener_t* l) {
  door.closed++;
}

/* The connection waits until there is room, whatever has run out. */
static void test_accept(void** state) {
#ifdef __linux__
  static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
  s3l_address_t any;
  assert_true(s3l_address_parse("127.0.0.1", 0, &any));
  door.listener.admit = admit;
  door.listener.on_accept = on_accept;
  door.listener.on_pause = on_pause;
  door.listener.on_closed = on_closed;
  assert_int_equal(s3l_listen_open(&door.listener, &any), 0);
  assert_int_equal(s3l_listen_start(&door.listener, runtime), 0);
  for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(client >= 0);
    calls.error = errors[i];
    calls.in = 1;
    assert_int_equal(connect(client, &door.listener.address.sa, sizeof(struct sockaddr_in)), 0);
    s3l_wait_count(&loop, &door.accepted, i + 1, "a connection");
    assert_int_equal(door.pauses, i + 1);
    assert_int_equal(door.error, -errors[i]);
    assert_int_equal(close(client), 0);
  }
  s3l_listen_close(&door.listener);
  s3l_wait_count(&loop, &door.closed, 1, "the listener");
#else
  skip();
#endif
}

/* ---- Set-up ---- */

static void on_nothing(uv_poll_t* poll, int status, int events) {}

static void enlarge_tables(uv_loop_t* of) {
  uv_poll_t poll;
  int high = fcntl(target, F_DUPFD, 300);
  assert_true(high >= 300);
  assert_int_equal(uv_poll_init(of, &poll, high), 0);
  assert_int_equal(uv_poll_start(&poll, UV_READABLE, on_nothing), 0);
  uv_close((uv_handle_t*)&poll, NULL);
  (void)uv_run(of, UV_RUN_NOWAIT);
  assert_int_equal(close(high), 0);
}

static int set_up(void** state) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t len = sizeof(at);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  target = socket(AF_INET, SOCK_STREAM, 0);
  if (target < 0 || bind(target, (struct sockaddr*)&at, len) != 0 || listen(target, 511) != 0 ||
      getsockname(target, (struct sockaddr*)&at, &len) != 0 || s3l_make_certs(state) != 0)
    return -1;
  target_port = ntohs(at.sin_port);
  if (uv_loop_init(&loop) != 0 || s3l_loop_join(&loop, &runtime) != 0)
    return -1;
  s3l_dir_make(state);
  s3l_dir_open();
  enlarge_tables(&loop);
  enlarge_tables(&s3l_dir.loop);
  for (size_t i = 0; i < ALL_LEN; i++)
    assert_int_equal(all[i](), 0); /* what is made once is made */
  drain();
  return 0;
}

static int tear_down(void** state) {
  s3l_dir_close();
  (void)s3l_dir_remove(state);
  s3l_loop_leave(runtime, NULL);
  s3l_wait_loop_end(&loop);
  (void)close(target);
  return s3l_remove_certs(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_descriptors),
                                     cmocka_unit_test(test_calls), cmocka_unit_test(test_libuv),
                                     cmocka_unit_test(test_accept)};
  if (uv_replace_allocator(failing_malloc, failing_realloc, failing_calloc, plain_free) != 0)
    return 1;
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
