/* cli/pipes.c: option files that are pipes.
 *
 * A pipe can be read only once, but certificates and keys are read by several users and again on
 * SIGHUP. So the pipe is copied into a file in memory, whose name replaces the pipe's. Waits at
 * most ten seconds for the writers; nothing else runs yet. A pipe without a writer stays as it is,
 * and is refused like other special files. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "options.h"
#include "text.h"

#define PIPES     4
#define NAME_SIZE 32
#define PIPE_MAX  1048576
#define WAIT_MS   10000

/* 0, or an errno. Nothing is copied from a pipe that has no writer. */
static int copy(int from, int to) {
  char block[4096];
  uint64_t end = uv_hrtime() / 1000000 + WAIT_MS;
  for (size_t len = 0; len <= PIPE_MAX;) {
    ssize_t n = read(from, block, sizeof block);
    if (n == 0)
      return 0;
    if (n > 0) {
      if (write(to, block, (size_t)n) != n)
        return ENOMEM;
      len += (size_t)n;
      continue;
    }
    if (errno != EAGAIN && errno != EINTR)
      return errno;
    uint64_t now = uv_hrtime() / 1000000;
    struct pollfd readable = {.fd = from, .events = POLLIN};
    if (now >= end || poll(&readable, 1, (int)(end - now)) == 0)
      return ETIMEDOUT;
  }
  return EFBIG;
}

/* *path becomes `name`, if it is the path of a pipe. */
static int replace(const char** path, char name[NAME_SIZE]) {
  struct stat st;
  if (*path == NULL || stat(*path, &st) != 0 || !S_ISFIFO(st.st_mode))
    return 0;
  int from = open(*path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  int to = from < 0 ? -1 : memfd_create("s3lect-pipe", MFD_CLOEXEC);
  int err = to < 0 ? errno : copy(from, to);
  if (from >= 0)
    close(from);
  if (err == 0 && fstat(to, &st) == 0 && st.st_size > 0) {
    snprintf(name, NAME_SIZE, "/dev/fd/%d", to);
    *path = name;
  } else if (to >= 0) {
    close(to);
  }
  return err;
}

int cli_pipes_copy(cli_options_t* options, s3lect_error_t* error) {
  static char names[PIPES][NAME_SIZE];
  const struct {
    const char* option;
    const char** path;
  } files[PIPES] = {{"--ca-file", &options->s3.ca_file},
                    {"--peer-cert", &options->client.cert_file},
                    {"--peer-key", &options->client.key_file},
                    {"--peer-ca", &options->client.ca_file}};
  for (size_t i = 0; i < PIPES; i++) {
    int err = replace(files[i].path, names[i]);
    if (err == 0)
      continue;
    return cli_refuse(error, "%s %.200s: cannot read from the pipe: %s", files[i].option,
                      *files[i].path,
                      err == ETIMEDOUT ? "its writer did not finish within 10 seconds"
                      : err == EFBIG   ? "it gives more than 1 MiB"
                                       : strerror(err));
  }
  return 0;
}
