/* bench/common.c: processes, the fake S3 and a store on it, and memory use. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

extern char** environ;

void bench_require(bool ok, const char* what) {
  if (ok)
    return;
  fprintf(stderr, "s3lect-bench: %s\n", what);
  exit(1);
}

/* ---- Other processes ---- */

void bench_child_start(bench_child_t* child, const char* const* argv,
                       const char* const* environment) {
  posix_spawn_file_actions_t actions;
  int fds[2];
  bench_require(pipe2(fds, O_CLOEXEC) == 0 && posix_spawn_file_actions_init(&actions) == 0 &&
                    posix_spawn_file_actions_adddup2(&actions, fds[1], 1) == 0,
                "cannot make a pipe");
  /* posix_spawn does not write to what it is given. */
  char* const* args = (char* const*)(uintptr_t)argv;
  char* const* env = environment != NULL ? (char* const*)(uintptr_t)environment : environ;
  bench_require(posix_spawn(&child->pid, argv[0], &actions, NULL, args, env) == 0,
                "cannot start a program");
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  child->out = fdopen(fds[0], "r");
  bench_require(child->out != NULL, "cannot read from a pipe");
}

void bench_child_stop(const bench_child_t* child) {
  int status;
  kill(child->pid, SIGTERM);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
    ;
  fclose(child->out);
}

void bench_server_start(bench_server_t* server, const char* const* options) {
  const char* argv[16] = {BENCH_FAKES3, "--die-with-parent", "--log-entries", "1"};
  for (size_t n = 4; *options != NULL; options++)
    argv[n++] = *options;
  bench_child_start(&server->child, argv, NULL);
  bench_require(fgets(server->url, sizeof(server->url), server->child.out) != NULL,
                "the server did not start");
  server->url[strcspn(server->url, "\n")] = '\0';
}

void bench_server_stop(const bench_server_t* server) {
  bench_child_stop(&server->child);
}

/* Reads a whole reply, which ends with its connection. */
static size_t exchange(int fd, const char* request, char* reply, size_t cap) {
  size_t len = strlen(request);
  size_t n = 0;
  bench_require(send(fd, request, len, MSG_NOSIGNAL) == (ssize_t)len, "the server does not listen");
  for (;;) {
    ssize_t got = read(fd, reply + n, cap - n);
    bench_require(got > 0 || (got == 0 || errno == EINTR), "the server does not answer");
    if (got == 0)
      return n;
    n += got > 0 ? (size_t)got : 0;
    bench_require(n < cap, "the server's answer is too long");
  }
}

size_t bench_server_state(const bench_server_t* server, char* reply, size_t cap) {
  static const char request[] =
      "GET /_fakes3/state HTTP/1.1\r\nHost: fakes3\r\nConnection: close\r\n\r\n";
  const char* colon = strrchr(server->url, ':');
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bench_require(fd >= 0 && connect(fd, (const struct sockaddr*)&to, sizeof(to)) == 0,
                "the server cannot be reached");
  size_t n = exchange(fd, request, reply, cap);
  close(fd);
  const char* end = memmem(reply, n, "\r\n\r\n", 4);
  bench_require(end != NULL && n > 12 && memcmp(reply + 9, "200", 3) == 0, "the server refuses");
  n -= (size_t)(end + 4 - reply);
  memmove(reply, end + 4, n);
  return n;
}

void bench_store_open(uv_loop_t* loop, s3lect_store_t* store, const bench_server_t* server,
                      const char* ca_file, unsigned max_connections) {
  s3lect_store_s3_options_t o;
  s3lect_store_s3_options_init(&o, sizeof(o));
  o.bucket = BENCH_BUCKET;
  o.endpoint = server->url;
  o.region = "us-east-1";
  o.access_key_id = "test";
  o.secret_access_key = "testtest";
  o.ca_file = ca_file;
  if (max_connections > 0)
    o.max_connections = max_connections;
  bench_require(s3lect_store_s3_init(loop, store, &o, NULL) == 0, "cannot open the store");
}

/* ---- Memory ---- */

static size_t heap_live;

static void* counted(void* p) {
  heap_live += p != NULL ? malloc_usable_size(p) : 0;
  return p;
}

static void forget(void* p) {
  heap_live -= p != NULL ? malloc_usable_size(p) : 0;
}

static void* counting_malloc(size_t size) {
  return counted(malloc(size));
}

static void* counting_calloc(size_t count, size_t size) {
  return counted(calloc(count, size));
}

static void* counting_realloc(void* p, size_t size) {
  size_t before = p != NULL ? malloc_usable_size(p) : 0;
  void* grown = realloc(p, size);
  if (grown != NULL)
    heap_live -= before;
  return counted(grown);
}

static void counting_free(void* p) {
  forget(p);
  free(p);
}

void bench_heap_install(void) {
  bench_require(
      s3lect_set_allocator(counting_malloc, counting_realloc, counting_calloc, counting_free) == 0,
      "cannot set the allocator");
}

size_t bench_heap_live(void) {
  return heap_live;
}

size_t bench_proc_kb(int pid, const char* name) {
  char line[256];
  unsigned long kb = 0;
  snprintf(line, sizeof(line), "/proc/%d/status", pid);
  FILE* file = fopen(line, "r");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%lu", &kb) == 1)
      break;
  }
  if (file != NULL)
    fclose(file);
  return kb;
}
