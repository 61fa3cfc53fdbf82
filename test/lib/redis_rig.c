#include "lib/redis_rig.h"

#include "lib/test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROGRAM "/usr/bin/redis-server"

bool redis_is_there(void) {
  return access(PROGRAM, X_OK) == 0;
}

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return addr;
}

proc_t* redis_start(procs_t* procs, int port, const char* dir) {
  char number[16], name[32];
  snprintf(number, sizeof number, "%d", port);
  snprintf(name, sizeof name, "redis-%d.rdb", port);
  /* What a failed machine loses shall be lost: nothing is kept on disk. */
  const char* argv[] = {PROGRAM,     "--port",
                        number,      "--bind",
                        "127.0.0.1", "--dir",
                        dir,         "--dbfilename",
                        name,        "--save",
                        "",          "--appendonly",
                        "no",        "--repl-diskless-sync-delay",
                        "0",         "--repl-backlog-size",
                        "64mb",      NULL};
  proc_t* proc = proc_spawn(procs, argv, NULL);
  proc_line(proc, PROC_OUT, "Ready to accept connections");
  return proc;
}

bool redis_open(redis_conn_t* conn, int port, int patience_ms) {
  struct sockaddr_in addr = loopback(port);
  struct timeval patience = {.tv_sec = patience_ms / 1000,
                             .tv_usec = (suseconds_t)(patience_ms % 1000) * 1000};
  conn->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (conn->fd < 0)
    return false;
  (void)setsockopt(conn->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)setsockopt(conn->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(conn->fd, (struct sockaddr*)&addr, sizeof addr) == 0 &&
      (conn->in = fdopen(conn->fd, "r")) != NULL)
    return true;
  close(conn->fd);
  return false;
}

void redis_close(redis_conn_t* conn) {
  fclose(conn->in);
}

bool redis_send(redis_conn_t* conn, const char* const* words) {
  char text[4096];
  size_t count = 0, len;
  while (words[count] != NULL)
    count++;
  len = (size_t)snprintf(text, sizeof text, "*%zu\r\n", count);
  for (size_t i = 0; i < count; i++)
    len += (size_t)snprintf(text + len, sizeof text - len, "$%zu\r\n%s\r\n", strlen(words[i]),
                            words[i]);
  assert_true(len < sizeof text);
  return send(conn->fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool read_line(redis_conn_t* conn, char* text, size_t size) {
  if (fgets(text, (int)size, conn->in) == NULL)
    return false;
  size_t len = strlen(text);
  if (len < 3 || text[len - 2] != '\r')
    return false;
  text[len - 2] = '\0';
  return true;
}

char redis_reply(redis_conn_t* conn, char* text, size_t size) {
  char line[512];
  if (!read_line(conn, line, sizeof line))
    return '\0';
  if (line[0] != '$') {
    snprintf(text, size, "%s", line + 1);
    return line[0];
  }
  long len = strtol(line + 1, NULL, 10);
  if (len < 0)
    return '_';
  if ((size_t)len + 2 >= size || fread(text, 1, (size_t)len + 2, conn->in) != (size_t)len + 2)
    return '\0';
  text[len] = '\0';
  return '$';
}

long redis_array(redis_conn_t* conn) {
  char line[64];
  return read_line(conn, line, sizeof line) && line[0] == '*' ? strtol(line + 1, NULL, 10) : -1;
}

const char* redis_ask(int port, const char* const* words) {
  static char text[16384];
  redis_conn_t conn;
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD); /* would interrupt what waits with a limit */
  assert_int_equal(pthread_sigmask(SIG_BLOCK, &child, &before), 0);
  bool open = redis_open(&conn, port, PROC_PATIENCE_MS);
  char kind = open && redis_send(&conn, words) ? redis_reply(&conn, text, sizeof text) : '\0';
  if (open)
    redis_close(&conn);
  assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
  if (kind == '\0' || kind == '-')
    fail_msg("redis %d, %s: %s", port, words[0], kind == '-' ? text : "no answer");
  return text;
}

static bool is_synced(void* arg) {
  const char* const info[] = {"INFO", "replication", NULL};
  const char* text = redis_ask(*(int*)arg, info);
  return strstr(text, "role:slave") != NULL && strstr(text, "master_link_status:up") != NULL;
}

void redis_await_synced(procs_t* procs, int port) {
  procs_until(procs, is_synced, &port);
}
